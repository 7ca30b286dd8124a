package sqlerr_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"loopbroker/engine/sqlerr"
)

// A raiser is a function that takes the number of a message: New, WithState and
// what the stages of the engine wrap around them.
type raiser struct {
	number   int // which argument is the number
	args     int // which argument is the first for the text
	variadic bool
}

// raiserOf tells whether a function takes the number of a message: an int32
// parameter of the name "number" or "missing". One that takes a text with it
// brings its own.
func raiserOf(f *ast.FuncDecl) (raiser, bool) {
	r, found, at := raiser{}, false, 0
	for _, field := range f.Type.Params.List {
		typ, _ := field.Type.(*ast.Ident)
		for _, name := range field.Names {
			if typ != nil && typ.Name == "int32" && (name.Name == "number" || name.Name == "missing") {
				r.number, found = at, true
			}
			if _, ok := field.Type.(*ast.Ellipsis); ok {
				r.args, r.variadic = at, true
			}
			if name.Name == "text" {
				return raiser{}, false
			}
			at++
		}
	}
	return r, found
}

// source is what the test needs of the engine's source: the files by their
// folder, and in each folder the functions that take a number.
type source struct {
	fset    *token.FileSet
	files   map[string][]*ast.File
	raisers map[string]map[string]raiser
}

func (s *source) add(dir string, f *ast.File) {
	s.files[dir] = append(s.files[dir], f)
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			if r, ok := raiserOf(fn); ok {
				if s.raisers[dir] == nil {
					s.raisers[dir] = map[string]raiser{}
				}
				s.raisers[dir][fn.Name.Name] = r
			}
		}
	}
}

// raiser returns what a call in dir calls, if that takes the number of a message.
func (s *source) raiser(dir string, call *ast.CallExpr) (raiser, bool) {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		r, ok := s.raisers[dir][f.Name]
		return r, ok
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok && x.Name == "sqlerr" {
			r, ok := s.raisers["sqlerr"][f.Sel.Name]
			return r, ok
		}
		r, ok := s.raisers[dir][f.Sel.Name]
		return r, ok
	}
	return raiser{}, false
}

var verb = regexp.MustCompile(`%(?:\[(\d+)\])?[a-zA-Z]`)

// arguments is how many arguments a text takes.
func arguments(text string) int {
	most, next := 0, 0
	for _, m := range verb.FindAllStringSubmatch(strings.ReplaceAll(text, "%%", ""), -1) {
		next++
		if m[1] != "" {
			next, _ = strconv.Atoi(m[1])
		}
		most = max(most, next)
	}
	return most
}

// fault says what is wrong with a call, or nothing. checked tells whether the
// call's number is a literal, which is all that source can tell.
func fault(r raiser, call *ast.CallExpr) (text string, checked bool) {
	if len(call.Args) <= r.number {
		return "", false
	}
	lit, ok := call.Args[r.number].(*ast.BasicLit)
	if !ok || lit.Kind != token.INT {
		return "", false
	}
	number, err := strconv.ParseInt(lit.Value, 10, 32)
	if err != nil {
		return err.Error(), true
	}
	_, template, ok := sqlerr.Template(int32(number))
	if !ok {
		return "message " + lit.Value + " is not registered", true
	}
	if got, want := len(call.Args)-r.args, arguments(template); r.variadic && !call.Ellipsis.IsValid() && got != want {
		return "message " + lit.Value + " takes " + strconv.Itoa(want) + " arguments, not " + strconv.Itoa(got), true
	}
	return "", true
}

// TestMessagesRaised finds every message that the engine raises by a literal
// number: each is registered, since New panics on one that is not, and gets as
// many arguments as its text takes.
func TestMessagesRaised(t *testing.T) {
	t.Parallel()
	s := &source{fset: token.NewFileSet(), files: map[string][]*ast.File{}, raisers: map[string]map[string]raiser{}}
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(s.fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s.add(filepath.Base(filepath.Dir(file)), f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for dir, files := range s.files {
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if r, ok := s.raiser(dir, call); ok {
					text, checked := fault(r, call)
					if text != "" {
						t.Errorf("%s: %s", s.fset.Position(call.Pos()), text)
					}
					if checked {
						calls++
					}
				}
				return true
			})
		}
	}
	if calls < 400 {
		t.Errorf("found %d calls that raise a message, want all of the engine's: hundreds", calls)
	}
}

// TestMessagesRaisedBites plants each fault that TestMessagesRaised is for.
func TestMessagesRaisedBites(t *testing.T) {
	t.Parallel()
	newError, withState := raiser{number: 0, args: 1, variadic: true}, raiser{number: 0, args: 2, variadic: true}
	for _, tt := range []struct {
		name, call string
		r          raiser
		want       string
		unchecked  bool
	}{
		{name: "sound", call: `New(208, "t")`, r: newError},
		{name: "sound with state", call: `WithState(245, 2, a, b, c)`, r: withState},
		{name: "named twice by index", call: `New(3708, "drop", "database", "d")`, r: newError},
		{name: "no arguments", call: `New(8134)`, r: newError},
		{name: "number only", call: `count(1060)`, r: raiser{}},
		{name: "passed on", call: `New(208, args...)`, r: newError},
		{name: "computed", call: `New(number, "t")`, r: newError, unchecked: true},
		{name: "not registered", call: `New(9, "t")`, r: newError, want: "message 9 is not registered"},
		{name: "number only, not registered", call: `count(9)`, r: raiser{}, want: "message 9 is not registered"},
		{name: "too few", call: `New(208)`, r: newError, want: "message 208 takes 1 arguments, not 0"},
		{name: "too many", call: `New(8134, "x")`, r: newError, want: "message 8134 takes 0 arguments, not 1"},
		{name: "state taken for an argument", call: `WithState(245, a, b, c)`, r: withState, want: "message 245 takes 3 arguments, not 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, err := parser.ParseExpr(tt.call)
			if err != nil {
				t.Fatal(err)
			}
			got, checked := fault(tt.r, e.(*ast.CallExpr))
			if got != tt.want || checked == tt.unchecked {
				t.Errorf("got %q, checked %v; want %q, checked %v", got, checked, tt.want, !tt.unchecked)
			}
		})
	}
}

// TestMessageTemplates looks at the messages themselves.
func TestMessageTemplates(t *testing.T) {
	t.Parallel()
	for number := range int32(50000) {
		class, text, ok := sqlerr.Template(number)
		if !ok {
			continue
		}
		if class < 10 || class > 25 || text == "" {
			t.Errorf("message %d has severity %d and text %q, want 10 to 25 and a text", number, class, text)
		}
		args := make([]any, arguments(text))
		for i, m := range verb.FindAllStringSubmatch(text, -1) {
			if m[1] == "" && i < len(args) {
				args[i] = argument(m[0])
			}
		}
		e := sqlerr.New(number, args...)
		if strings.Contains(e.Message, "%!") {
			t.Errorf("message %d comes out as %q", number, e.Message)
		}
		if e.Number != number || e.Class != class || e.Line != 0 {
			t.Errorf("New(%d) is number %d, severity %d, line %d", number, e.Number, e.Class, e.Line)
		}
	}
}

// argument is a value for a verb.
func argument(verb string) any {
	if strings.HasSuffix(verb, "d") || strings.HasSuffix(verb, "x") {
		return 1
	}
	return "x"
}

func TestErrorAt(t *testing.T) {
	t.Parallel()
	e := sqlerr.WithState(208, 7, "dbo.t")
	if e.State != 7 {
		t.Errorf("state %d, want 7", e.State)
	}
	if got, want := e.At(3).At(4).Error(), "Msg 208, Level 16, State 7, Line 3: Invalid object name 'dbo.t'."; got != want {
		t.Errorf("got %q, want %q: the first line stays", got, want)
	}
	if e.Line != 0 {
		t.Errorf("At changed the error itself to line %d", e.Line)
	}
	if got := sqlerr.Unsupported("PIVOT"); got.Number != 40510 || !strings.Contains(got.Message, "PIVOT") {
		t.Errorf("got %v, want 40510 with the feature", got)
	}
}

package syntax_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
)

// quotedOn is how every driver but DB-Library connects.
var quotedOn = syntax.Options{QuotedIdentifier: true}

// separator is a line that a client takes as the end of a batch.
var separator = regexp.MustCompile(`(?mi)^GO( \d+)?[ \t\r]*$`)

// corpusFile is one file of testdata, cut into batches.
type corpusFile struct {
	name    string
	batches []string
}

func corpus(t testing.TB, dir string) []corpusFile {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.sql"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatalf("no files in testdata/%s", dir)
	}
	var files []corpusFile
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := corpusFile{name: strings.TrimSuffix(filepath.Base(path), ".sql")}
		for _, batch := range separator.Split(string(text), -1) {
			if strings.TrimSpace(batch) != "" {
				f.batches = append(f.batches, batch)
			}
		}
		files = append(files, f)
	}
	return files
}

func mustParse(t testing.TB, text string) *syntax.Batch {
	t.Helper()
	b, err := syntax.Parse(text, quotedOn)
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return b
}

// asError returns err as the engine's own error.
func asError(t testing.TB, err error) *sqlerr.Error {
	t.Helper()
	e, ok := errors.AsType[*sqlerr.Error](err)
	if !ok {
		t.Fatalf("error is %T (%v), want *sqlerr.Error", err, err)
	}
	return e
}

func TestAcceptedCorpus(t *testing.T) {
	t.Parallel()
	files := corpus(t, "accept")
	if len(files) < 64 {
		t.Fatalf("testdata/accept has %d files, want at least 64", len(files))
	}
	for _, f := range files {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for _, text := range f.batches {
				b := mustParse(t, text)
				if len(b.Statements) == 0 {
					t.Errorf("Parse(%q) gave no statement", text)
				}
				checkNothingLost(t, text, b)
			}
		})
	}
}

// wordPattern finds the parts of a batch that a tree must hold: variables, words,
// quoted names, strings and numbers.
var wordPattern = regexp.MustCompile(`(?s)--[^\n]*|/\*.*\*/|'(?:[^']|'')*'|\[(?:[^\]]|\]\])*\]|"[^"]*"|0[xX][0-9A-Fa-f]*|\$\d+(?:\.\d*)?|[@$#\pL_][@$#\pL\d_]*|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?`)

// checkNothingLost fails when a variable, a constant or a name of the text is
// nowhere in the tree. Words that are only grammar are not looked for: a word
// counts when it is quoted, or written as a variable or a constant, or not in
// upper case as our corpus writes its keywords.
func checkNothingLost(t *testing.T, text string, b *syntax.Batch) {
	t.Helper()
	have := treeStrings{exact: map[string]bool{}}
	have.collect(reflect.ValueOf(b.Statements))
	for _, word := range wordPattern.FindAllString(text, -1) {
		if strings.HasPrefix(word, "--") || strings.HasPrefix(word, "/*") || isGrammar(word) {
			continue
		}
		want := strings.ToUpper(plain(word))
		if want != "" && !have.exact[want] && !strings.Contains(have.sources.String(), want) {
			t.Errorf("%q of the text is not in the tree of\n%s", word, text)
		}
	}
}

// plain takes the quotes off a word.
func plain(word string) string {
	switch word[0] {
	case '\'':
		return strings.ReplaceAll(word[1:len(word)-1], "''", "'")
	case '[':
		return strings.ReplaceAll(word[1:len(word)-1], "]]", "]")
	case '"':
		return word[1 : len(word)-1]
	}
	if strings.HasPrefix(word, "0x") || strings.HasPrefix(word, "0X") {
		return word[2:]
	}
	if len(word) > 1 && word[0] == '$' && '0' <= word[1] && word[1] <= '9' {
		return word[1:]
	}
	return word
}

// lowerGrammar are words of the grammar that some files write in lower case.
var lowerGrammar = regexp.MustCompile(`(?i)^(and|as|begin|by|commit|declare|else|end|exec|exists|from|if|is|join|left|like|null|on|or|output|print|proc|return|select|set|tran|update|where|insert|fn|N|master|sp_who|ymd)$`)

func isGrammar(word string) bool {
	switch {
	case word[0] == '@', word[0] == '\'', word[0] == '[', word[0] == '"', word[0] == '$', '0' <= word[0] && word[0] <= '9':
		return false
	}
	return word == strings.ToUpper(word) || lowerGrammar.MatchString(word)
}

// treeStrings are the strings and numbers of a tree, in upper case. sources
// holds the parts that a tree keeps as source text.
type treeStrings struct {
	exact   map[string]bool
	sources strings.Builder
}

func (h *treeStrings) collect(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		h.exact[strings.ToUpper(v.String())] = true
	case reflect.Int, reflect.Int32, reflect.Int64:
		h.exact[strconv.FormatInt(v.Int(), 10)] = true
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			h.collect(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			h.collect(v.Index(i))
		}
	case reflect.Struct:
		h.collectStruct(v)
	}
}

func (h *treeStrings) collectStruct(v reflect.Value) {
	switch n := v.Interface().(type) {
	case syntax.Pos:
		return
	case syntax.Unsupported:
		h.sources.WriteString(strings.ToUpper(n.Text) + "\n")
		return
	case syntax.IndexOption:
		h.sources.WriteString(n.Name + " " + n.Value + "\n")
		return
	case syntax.DataType:
		if n.Max {
			h.exact["MAX"] = true
		}
	}
	for i := range v.NumField() {
		switch name := v.Type().Field(i).Name; {
		case name == "Text" && !isLiteral(v), name == "WhereText", name == "ComputedText":
			// The source text would hide what the tree lost.
		default:
			h.collect(v.Field(i))
		}
	}
}

func isLiteral(v reflect.Value) bool { return v.Type() == reflect.TypeFor[syntax.Literal]() }

func TestRefusedCorpus(t *testing.T) {
	t.Parallel()
	// The number that SQL Server gives each file of testdata/refuse; all faults
	// stand on line 1.
	want := map[string]int32{
		"b01": 156, "b02": 156, "b03": 156, "b04": 156, "b05": 102, "b06": 102, "b07": 105, "b08": 156, "b09": 102,
		"b10": 102, "b11": 102, "b12": 102, "b13": 102, "b14": 156, "b15": 102, "b16": 102, "b17": 102, "b18": 156,
		"b19": 156, "b20": 102, "b21": 102, "b22": 156, "b23": 102, "b24": 113, "b25": 156, "b26": 321, "b27": 102,
		"b28": 156, "b29": 102, "b30": 156,
	}
	files := corpus(t, "refuse")
	if len(files) != len(want) {
		t.Errorf("testdata/refuse has %d files, want %d", len(files), len(want))
	}
	for _, f := range files {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			_, err := syntax.Parse(strings.Join(f.batches, ""), quotedOn)
			if err == nil {
				t.Fatalf("%q was accepted", f.batches)
			}
			if e := asError(t, err); e.Number != want[f.name] || e.Line != 1 {
				t.Errorf("%q: got %v, want number %d on line 1", f.batches, e, want[f.name])
			}
		})
	}
}

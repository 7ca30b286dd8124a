package loopbroker_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "loopbroker"

// siblings are the packages around the vocabulary. They meet in it, not in each
// other.
var siblings = []string{"tsql", "worker", "httpfetch", "filefetch", "render", "correlation", "loopback", "flow", "console"}

// stages are the packages of the engine: each may import those above it. (The
// wire's encoding needs the types, and the connections need the encoding; what
// they carry to the sessions goes through an interface of theirs.)
var stages = []string{
	"engine/sqlerr", "engine/syntax", "engine/types", "engine/tds", "engine/builtin/json", "engine/builtin",
	"engine/storage", "engine/catalog", "engine/plan", "engine/exec", "engine/wire", "engine/session", "engine",
}

// top returns the first element of a package's path within the module, or "" for
// the root package.
func top(pkg string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/"), "/")
	return first
}

// forbidden says what is wrong with an import, or nothing. It is asked about
// shipped code only; tests may import what they like.
func forbidden(pkg, imp string) string {
	from, ours := top(pkg), imp == module || strings.HasPrefix(imp, module+"/")
	if pkg == module {
		if ours || strings.Contains(imp, ".") {
			return "the root package imports only the standard library"
		}
		return ""
	}
	if !ours {
		return ""
	}
	to := top(imp)
	switch {
	case to == "cmd":
		return "nothing imports a command"
	case from == "cmd" || from == "enginetest":
		return ""
	case to == "enginetest":
		return "only tests import enginetest"
	case from == "engine":
		return forbiddenStage(strings.TrimPrefix(pkg, module+"/"), strings.TrimPrefix(imp, module+"/"))
	case to == "engine":
		return "only commands, enginetest and tests import the engine"
	case from == "examples" && to == "internal":
		return "examples show what users can import"
	case from == "examples" && !strings.Contains(strings.TrimPrefix(imp, module+"/"), "/"):
		return ""
	case to == "" || to == from || to == "internal":
		return ""
	case from == "internal" && to == "tsql":
		return ""
	case from == "internal":
		return "internal packages are leaves: they import the root, tsql and each other"
	case slices.Contains(siblings, from) && to == "tsql":
		return ""
	case slices.Contains(siblings, from):
		return "siblings meet in the root's vocabulary, not in each other"
	}
	return "a package that the architecture does not name"
}

// forbiddenStage says what is wrong with an import by a stage of the engine.
func forbiddenStage(stage, imp string) string {
	from, to := slices.Index(stages, stage), slices.Index(stages, imp)
	switch {
	case !strings.HasPrefix(imp, "engine/"):
		return "the engine imports nothing outside itself"
	case from < 0 || to < 0:
		return "a stage that is not in the list of this test"
	case to >= from:
		return "a stage imports only stages above it"
	}
	return ""
}

// TestArchitecture keeps the arrows of the design. It reads the files itself: what
// a subprocess such as go list reads is unknown to the test cache, and a stale
// pass would hide a new import.
func TestArchitecture(t *testing.T) {
	t.Parallel()

	documented := map[string]bool{} // by import path
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || (file != "." && strings.HasPrefix(d.Name(), "."))) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		pkg := path.Join(module, filepath.ToSlash(filepath.Dir(file)))
		documented[pkg] = documented[pkg] || f.Doc != nil
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if fault := forbidden(pkg, imp); fault != "" {
				t.Errorf("%s imports %s: %s", file, imp, fault)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment", pkg)
		}
	}
	for _, pkg := range []string{module, module + "/engine", module + "/tsql", module + "/cmd/loopbroker"} {
		if _, ok := documented[pkg]; !ok {
			t.Errorf("%s was not looked at", pkg)
		}
	}
}

// TestArchitectureBites plants each fault that TestArchitecture is for.
func TestArchitectureBites(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pkg, imp string
		ok       bool
	}{
		{"loopbroker", "context", true},
		{"loopbroker", "loopbroker/tsql", false},
		{"loopbroker", "github.com/rs/zerolog", false},
		{"loopbroker/worker", "github.com/rs/zerolog", true},
		{"loopbroker/worker", "loopbroker/tsql", true},
		{"loopbroker/worker", "loopbroker/internal/backoff", true},
		{"loopbroker/worker", "loopbroker/httpfetch", false},
		{"loopbroker/worker", "loopbroker/engine", false},
		{"loopbroker/worker", "loopbroker/enginetest", false},
		{"loopbroker/worker/workertest", "loopbroker/worker", true},
		{"loopbroker/tsql", "loopbroker/worker", false},
		{"loopbroker/tsql", "loopbroker/cmd/loopbroker", false},
		{"loopbroker/internal/backoff", "loopbroker/worker", false},
		{"loopbroker/internal/backoff", "loopbroker/engine/types", false},
		{"loopbroker/engine", "loopbroker/engine/session", true},
		{"loopbroker/engine", "loopbroker", false},
		{"loopbroker/engine/types", "loopbroker/engine/sqlerr", true},
		{"loopbroker/engine/storage", "loopbroker/engine/catalog", false},
		{"loopbroker/engine/tds", "loopbroker/engine/session", false},
		{"loopbroker/engine/tds", "loopbroker/internal/backoff", false},
		{"loopbroker/engine/session", "loopbroker/engine", false},
		{"loopbroker/engine/new", "loopbroker/engine/types", false},
		{"loopbroker/cmd/loopbroker", "loopbroker/engine", true},
		{"loopbroker/enginetest", "loopbroker/engine", true},
		{"loopbroker/examples/x", "loopbroker/correlation", true},
		{"loopbroker/examples/x", "loopbroker", true},
		{"loopbroker/examples/x", "loopbroker/internal/backoff", false},
		{"loopbroker/examples/x", "loopbroker/engine", false},
		{"loopbroker/stray", "loopbroker/worker", false},
	} {
		t.Run(fmt.Sprintf("%s imports %s", tt.pkg, tt.imp), func(t *testing.T) {
			t.Parallel()
			if fault := forbidden(tt.pkg, tt.imp); (fault == "") != tt.ok {
				t.Errorf("got %q, want allowed = %v", fault, tt.ok)
			}
		})
	}
}

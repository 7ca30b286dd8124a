package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// example is a script of the folder examples, with what it must print.
type example struct {
	name, text string
	expected   []string
}

// exampleTarget is the service that the scripts call, as the quick start sets it up.
const exampleTarget = "http://127.0.0.1:8080"

// render puts the test's own service in the place of the quick start's.
func (e example) render(url string) string { return strings.ReplaceAll(e.text, exampleTarget, url) }

// examples reads the scripts. Each says in lines "-- prints: text" what it prints.
func examples(t *testing.T) []example {
	t.Helper()
	files, err := filepath.Glob("../../examples/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	re := regexp.MustCompile(`(?m)^-- prints: (.+)$`)
	var out []example
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		e := example{name: filepath.Base(f), text: string(b)}
		for _, m := range re.FindAllStringSubmatch(e.text, -1) {
			e.expected = append(e.expected, m[1])
		}
		if len(e.expected) == 0 || !strings.Contains(e.text, exampleTarget) {
			t.Errorf("%s says not what it prints, or calls another service than %s", f, exampleTarget)
		}
		out = append(out, e)
	}
	return out
}

// TestExamples runs the scripts with the command of this project.
func TestExamples(t *testing.T) {
	t.Parallel()
	_, stubURL, port, password := serveForTest(t)
	for _, e := range examples(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), e.name)
			if err := os.WriteFile(file, []byte(e.render(stubURL)), 0o600); err != nil {
				t.Fatal(err)
			}
			dsn := "sqlserver://sa:" + password + "@127.0.0.1:" + port + "?database=loopbroker&TrustServerCertificate=true"
			code, out, errs := command(t, "sql", "--dsn", dsn, "-i", file)
			if code != exitOK {
				t.Fatalf("got code %d; %s%s", code, errs, out)
			}
			wantAll(t, out, e.expected...)
		})
	}
}

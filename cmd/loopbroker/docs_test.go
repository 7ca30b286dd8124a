package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker"
	"loopbroker/engine"
	"loopbroker/tsql"
)

// page reads a file of the documentation.
func page(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestReadmeCommands holds the README to its promise of two commands.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	got := regexp.MustCompile(`(?m)^    (\S.*)$`).FindAllStringSubmatch(strings.Split(page(t, "README.md"), "```")[0], -1)
	var commands []string
	for _, m := range got {
		commands = append(commands, m[1])
	}
	if want := []string{"go run ./cmd/loopbroker demo", "go test ./..."}; !slices.Equal(commands, want) {
		t.Errorf("got %q, want %q", commands, want)
	}
}

// TestLinks follows the links between the pages.
func TestLinks(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "../../README.md", "../../CHANGELOG.md")
	link := regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]*))?\)`)
	for _, p := range pages {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			file := p
			if m[1] != "" {
				file = filepath.Join(filepath.Dir(p), m[1])
			}
			target, err := os.Stat(file)
			if err != nil {
				t.Errorf("%s: link to %s: %v", p, m[1], err)
				continue
			}
			if m[2] == "" || target.IsDir() {
				continue
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(anchors(string(b)), m[2]) {
				t.Errorf("%s: %s has no heading #%s", p, file, m[2])
			}
		}
	}
}

// anchors are the names of a page's headings.
func anchors(text string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		a := regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, strings.ReplaceAll(a, " ", "-"))
	}
	return out
}

// TestReferenceIsComplete looks for everything that the T-SQL has.
func TestReferenceIsComplete(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/tsql.md")
	for _, c := range tsql.Causes() {
		if !strings.Contains(text, fmt.Sprintf("| %d | %s |", c.Number, c.What)) {
			t.Errorf("no row for %d, %s", c.Number, c.What)
		}
	}
	for _, c := range loopbroker.ErrorClasses() {
		stored := c != loopbroker.ErrorClassStatus && c != loopbroker.ErrorClassLeaseLost
		if strings.Contains(text, fmt.Sprintf("| `%s` |", c)) != stored {
			t.Errorf("class %s: in the table or not, want %v", c, stored)
		}
	}
	callers := []string{tsql.ProcRequest, tsql.ProcBrokerRequest, tsql.ProcCollect, tsql.ProcFetch, tsql.ProcSetup}
	parameter := regexp.MustCompile(`(?m)^    (@\w+) `)
	for _, o := range tsql.Objects() {
		if o.Kind != tsql.KindProcedure {
			continue
		}
		if !strings.Contains(text, "`"+o.Name+"`") && !strings.Contains(text, "\n## "+o.Name+"\n") {
			t.Errorf("%s is not there", o.Name)
		}
		if !slices.Contains(callers, o.Name) {
			continue
		}
		_, section, ok := strings.Cut(text, "\n## "+o.Name+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if !ok {
			t.Errorf("%s has no section", o.Name)
		}
		declared, _, _ := strings.Cut(o.Text[strings.Index(o.Text, "CREATE OR ALTER"):], "\nAS\n")
		for _, m := range parameter.FindAllStringSubmatch(declared, -1) {
			if !strings.Contains(section, "`"+m[1]+"`") {
				t.Errorf("%s: no %s", o.Name, m[1])
			}
		}
	}
}

// TestSettingsAreDocumented looks for every column that an admin may change.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/operations.md")
	setting := page(t, "tsql/tables/api_broker_setting.sql")
	columns := regexp.MustCompile(`(?m)^        (\w+) (?:int|bit|nvarchar\(128\)) `).FindAllStringSubmatch(setting, -1)
	if len(columns) < 10 {
		t.Fatalf("found only %d columns", len(columns))
	}
	defaults := regexp.MustCompile(`DEFAULT \((\d+)\)`)
	for _, c := range columns {
		if c[1] == "schema_version" {
			continue
		}
		row := regexp.MustCompile("(?m)^\\| `" + c[1] + "` \\| (\\S+) \\|").FindStringSubmatch(text)
		want := tsql.DefaultLinkServer
		if m := defaults.FindStringSubmatch(setting[strings.Index(setting, "\n        "+c[1]+" "):]); m != nil && c[1] != "link_server" {
			want = m[1]
		}
		if row == nil || row[1] != want {
			t.Errorf("%s: got %v, want a row with the default %s", c[1], row, want)
		}
	}
}

// TestEnginePage runs the examples of what is there and of what is refused.
func TestEnginePage(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/engine.md")
	there, refused, ok := strings.Cut(text, "\n## What is refused\n")
	if !ok {
		t.Fatal("the page has no list of what is refused")
	}
	example := regexp.MustCompile("(?m)^\\| ([^|]+) \\| `([^`]+)` \\|$")
	count := 0
	check := func(part string, want int32) {
		for _, m := range example.FindAllStringSubmatch(part, -1) {
			count++
			t.Run(m[1], func(t *testing.T) {
				t.Parallel()
				srv, err := engine.Open(t.Context(), engine.Options{})
				if err != nil {
					t.Fatal(err)
				}
				db := sql.OpenDB(srv.Connector())
				t.Cleanup(func() {
					db.Close()
					if err := srv.Close(context.WithoutCancel(t.Context())); err != nil {
						t.Error(err)
					}
				})
				_, err = db.ExecContext(t.Context(), m[2])
				var server mssql.Error
				if errors.As(err, &server); server.Number != want {
					t.Errorf("%s: got %v, want message %d", m[2], err, want)
				}
			})
		}
	}
	check(there, 0)
	check(refused, 40510)
	if count < 40 {
		t.Errorf("found only %d examples", count)
	}
}

package tsql_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"loopbroker"
	"loopbroker/tsql"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script string
		want   []tsql.Batch
	}{
		{"empty", "", nil},
		{"blanks only", " \n\t\n", nil},
		{"one batch", "SELECT 1", []tsql.Batch{{"SELECT 1", 1, 1}}},
		{"two batches", "SELECT 1\nGO\nSELECT 2\n", []tsql.Batch{{"SELECT 1\n", 1, 1}, {"SELECT 2\n", 3, 1}}},
		{"carriage returns", "SELECT 1\r\nGO\r\nSELECT 2", []tsql.Batch{{"SELECT 1\r\n", 1, 1}, {"SELECT 2", 3, 1}}},
		{"any case, blanks around", "SELECT 1\n\t gO  \nSELECT 2", []tsql.Batch{{"SELECT 1\n", 1, 1}, {"SELECT 2", 3, 1}}},
		{"a count", "SELECT 1\nGO 3\n", []tsql.Batch{{"SELECT 1\n", 1, 3}}},
		{"a count and a comment", "SELECT 1\nGO 3 -- thrice\n", []tsql.Batch{{"SELECT 1\n", 1, 3}}},
		{"a comment behind", "SELECT 1\nGO--x\nSELECT 2", []tsql.Batch{{"SELECT 1\n", 1, 1}, {"SELECT 2", 3, 1}}},
		{"empty batches are dropped", "GO\nGO\nSELECT 1\nGO\n\nGO\n", []tsql.Batch{{"SELECT 1\n", 3, 1}}},
		{"in a string", "SELECT '\nGO\n'", []tsql.Batch{{"SELECT '\nGO\n'", 1, 1}}},
		{"after a doubled quote", "SELECT 'it''s\nGO\n'", []tsql.Batch{{"SELECT 'it''s\nGO\n'", 1, 1}}},
		{"in a quoted name", "SELECT [a\nGO\n]", []tsql.Batch{{"SELECT [a\nGO\n]", 1, 1}}},
		{"after a doubled bracket", "SELECT [a]]\nGO\n]", []tsql.Batch{{"SELECT [a]]\nGO\n]", 1, 1}}},
		{"in double quotes", "SELECT \"\nGO\n\"", []tsql.Batch{{"SELECT \"\nGO\n\"", 1, 1}}},
		{"in a comment", "/*\nGO\n*/", []tsql.Batch{{"/*\nGO\n*/", 1, 1}}},
		{"in a nested comment", "/* /*\n*/\nGO\n*/", []tsql.Batch{{"/* /*\n*/\nGO\n*/", 1, 1}}},
		{"a quote in a line comment", "-- it's\nGO\nSELECT 1", []tsql.Batch{{"-- it's\n", 1, 1}, {"SELECT 1", 3, 1}}},
		{"a comment mark in a string", "SELECT '--'\nGO\nSELECT '/*'\nGO\n", []tsql.Batch{{"SELECT '--'\n", 1, 1}, {"SELECT '/*'\n", 3, 1}}},
		{"a bracket in a string", "SELECT '['\nGO\n", []tsql.Batch{{"SELECT '['\n", 1, 1}}},
		{"not alone on its line", "SELECT 1 GO\nSELECT 2", []tsql.Batch{{"SELECT 1 GO\nSELECT 2", 1, 1}}},
		{"a longer word", "GOTO done\ndone:", []tsql.Batch{{"GOTO done\ndone:", 1, 1}}},
		{"a variable of that name", "SELECT\ngo = 1", []tsql.Batch{{"SELECT\ngo = 1", 1, 1}}},
		{"with a semicolon it is for the server", "SELECT 1\nGO;\n", []tsql.Batch{{"SELECT 1\nGO;\n", 1, 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tsql.Split(tt.script)
			if err != nil {
				t.Fatalf("Split(%q): %v", tt.script, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Split(%q): -want +got\n%s", tt.script, diff)
			}
		})
	}
}

func TestSplitRefusesABadCount(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"GO 0", "SELECT 1\nGO -1", "GO x", "GO 1 2", "GO 99999999999999999999"} {
		if got, err := tsql.Split(script); !errors.Is(err, loopbroker.ErrInvalid) {
			t.Errorf("Split(%q) = %v, %v, want %v", script, got, err, loopbroker.ErrInvalid)
		}
	}
}

// TestSplitLosesNothing joins the batches again: every line of the script is in a
// batch, is a separator, or was a blank batch.
func TestSplitLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.SampledFrom([]string{
			"SELECT 1", "GO", "go 2", "SELECT 'a''b", "'", "/*", "*/", "-- '", "[x", "]", "\"", "",
		})).Draw(t, "lines")
		script := strings.Join(lines, "\n")
		batches, err := tsql.Split(script)
		if err != nil {
			t.Fatalf("Split(%q): %v", script, err)
		}
		next := 1
		for _, b := range batches {
			n := strings.Count(strings.TrimSuffix(b.Text, "\n"), "\n") + 1
			want := strings.Join(lines[b.Line-1:b.Line-1+n], "\n")
			if got := strings.TrimSuffix(b.Text, "\n"); got != want {
				t.Fatalf("batch at line %d: got %q, want %q", b.Line, got, want)
			}
			for _, skipped := range lines[next-1 : b.Line-1] {
				if s := strings.ToUpper(strings.TrimSpace(skipped)); s != "" && !strings.HasPrefix(s, "GO") {
					t.Fatalf("line %q is in no batch", skipped)
				}
			}
			next = b.Line + n
		}
	})
}

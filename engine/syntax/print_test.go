package syntax_test

import (
	"strings"
	"testing"

	"loopbroker/engine/syntax"
)

// formatBatch prints a batch, one statement a line.
func formatBatch(b *syntax.Batch) string {
	var out strings.Builder
	for _, s := range b.Statements {
		text := syntax.Format(s)
		out.WriteString(text)
		if !strings.HasSuffix(text, ";") {
			out.WriteByte(';')
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// TestRoundTrip prints every batch of the corpus and reads it again: the tree
// must be the same.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, f := range corpus(t, "accept") {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for _, text := range f.batches {
				roundTrip(t, text)
			}
		})
	}
}

func roundTrip(t testing.TB, text string) {
	t.Helper()
	first := mustParse(t, text)
	printed := formatBatch(first)
	second, err := syntax.Parse(printed, quotedOn)
	if err != nil {
		t.Fatalf("%v\nin  %s\nfor %s", err, printed, text)
	}
	if got, want := dump(second.Statements), dump(first.Statements); got != want {
		t.Errorf("printed %s\n got %s\nwant %s", printed, got, want)
	}
}

func FuzzFormat(f *testing.F) {
	for _, file := range corpus(f, "accept") {
		for _, text := range file.batches {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := syntax.Parse(text, quotedOn); err == nil {
			roundTrip(t, text)
		}
	})
}

package syntax_test

import (
	"strings"
	"testing"

	"loopbroker/engine/syntax"
)

// formatBatch prints a batch, one statement a line.
func formatBatch(b *syntax.Batch) string {
	var out strings.Builder
	for i, s := range b.Statements {
		text := syntax.Format(s)
		out.WriteString(text)
		// The last statement may be one that is taken up to the end of the batch.
		_, skipped := s.(*syntax.Unsupported)
		if !strings.HasSuffix(text, ";") && !(skipped && i == len(b.Statements)-1) {
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

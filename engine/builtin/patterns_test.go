package builtin_test

import (
	"fmt"
	"testing"

	"loopbroker/engine/builtin"
	"loopbroker/engine/types"
)

// TestLikeManyPatterns matches with more patterns than are kept compiled, twice:
// none may be taken for another, whatever is kept.
func TestLikeManyPatterns(t *testing.T) {
	t.Parallel()
	for range 2 {
		for i := range 600 {
			for _, unicode := range []bool{false, true} {
				pattern := fmt.Sprintf("a%d[x-z]%%", i)
				for _, tt := range []struct {
					text string
					want bool
				}{
					{fmt.Sprintf("a%dy and more", i), true},
					{fmt.Sprintf("a%dw", i), false},
					{fmt.Sprintf("a%dy", i+1), false},
				} {
					got, err := builtin.Like(tt.text, pattern, nil, types.DefaultCollation, unicode)
					if err != nil || got != tt.want {
						t.Fatalf("%q LIKE %q: got %v, %v, want %v", tt.text, pattern, got, err, tt.want)
					}
				}
			}
		}
	}
}

// TestLikeTrailingBlanks tells the pattern of two kinds of text apart: blanks at
// the end of varchar data do not count.
func TestLikeTrailingBlanks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ unicode, want bool }{{false, true}, {true, false}, {false, true}} {
		got, err := builtin.Like("ab  ", "ab", nil, types.DefaultCollation, tt.unicode)
		if err != nil || got != tt.want {
			t.Errorf("unicode %v: got %v, %v, want %v", tt.unicode, got, err, tt.want)
		}
	}
}

package builtin_test

import (
	"errors"
	"testing"

	"loopbroker/engine/builtin"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

func TestLike(t *testing.T) {
	t.Parallel()
	ci, bin := types.DefaultCollation, types.BinaryCollation
	escape := func(s string) *string { return &s }
	tests := []struct {
		s, pattern string
		escape     *string
		collation  *types.Collation
		unicode    bool
		want       bool
	}{
		{"abc", "abc", nil, ci, false, true},
		{"abc", "ABC", nil, ci, false, true},
		{"abc", "ABC", nil, bin, false, false},
		{"abc", "a%", nil, ci, false, true},
		{"abc", "%c", nil, ci, false, true},
		{"abc", "%b%", nil, ci, false, true},
		{"abc", "a_c", nil, ci, false, true},
		{"abc", "a_", nil, ci, false, false},
		{"", "%", nil, ci, false, true},
		{"", "", nil, ci, false, true},
		{"abc", "", nil, ci, false, false},
		{"aXbXc", "%x_x%", nil, ci, false, true},
		{"mississippi", "%is%ip%i", nil, ci, false, true},
		{"mississippi", "%is%ip%s", nil, ci, false, false},
		// The table "Using wildcards as literals" in "LIKE (Transact-SQL)".
		{"5%", "5[%]", nil, ci, false, true},
		{"5x", "5[%]", nil, ci, false, false},
		{"_n", "[_]n", nil, ci, false, true},
		{"d", "[a-cdf]", nil, ci, false, true},
		{"e", "[a-cdf]", nil, ci, false, false},
		{"-", "[-acdf]", nil, ci, false, true},
		{"[", "[[]", nil, ci, false, true},
		{"]", "]", nil, ci, false, true},
		{"abc_d", "abc[_]d%", nil, ci, false, true},
		{"abcde", "abc[def]%", nil, ci, false, true},
		{"B", "[a-c]", nil, ci, false, true},
		{"B", "[a-c]", nil, bin, false, false},
		{"é", "[a-f]", nil, ci, false, true},
		{"x", "[^a-f]", nil, ci, false, true},
		{"c", "[^a-f]", nil, ci, false, false},
		{"a", "[]", nil, ci, false, false},
		{"[abc", "[abc", nil, ci, false, false},
		// ESCAPE
		{"10-15% off", "%10-15!% off%", escape("!"), ci, false, true},
		{"10-15x off", "%10-15!% off%", escape("!"), ci, false, false},
		{"a!b", "a!!b", escape("!"), ci, false, true},
		{"ab", "a!b", escape("!"), ci, false, true},
		{"a!", "a!", escape("!"), ci, false, false},
		{"]", "[!]]", escape("!"), ci, false, true},
		// Trailing blanks: of the pattern they count always, of the text only
		// for Unicode data.
		{"abc  ", "abc", nil, ci, false, true},
		{"abc  ", "abc", nil, ci, true, false},
		{"abc", "abc ", nil, ci, false, false},
		{"abc ", "abc ", nil, ci, false, true},
		{"Robert King   ", "% King", nil, ci, false, true},
		{"Robert King   ", "% King", nil, ci, true, false},
		// Code units.
		{"😀", "_", nil, ci, true, false},
		{"😀", "__", nil, ci, true, true},
		{"日本", "日_", nil, ci, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.s+" LIKE "+tt.pattern, func(t *testing.T) {
			t.Parallel()
			got, err := builtin.Like(tt.s, tt.pattern, tt.escape, tt.collation, tt.unicode)
			if err != nil || got != tt.want {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestLikeEscapeLength(t *testing.T) {
	t.Parallel()
	for _, escape := range []string{"", "ab"} {
		_, err := builtin.CompileLike("a", &escape, types.DefaultCollation, false)
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.Number != 506 {
			t.Errorf("escape %q: got %v", escape, err)
		}
	}
}

func TestLikePrefix(t *testing.T) {
	t.Parallel()
	escape := "!"
	for pattern, want := range map[string]string{"abc%": "abc", "a!%b_": "a%b", "%a": "", "abc": "abc", "ab[c]": "ab"} {
		p, err := builtin.CompileLike(pattern, &escape, types.DefaultCollation, false)
		if err != nil || p.Prefix() != want {
			t.Errorf("%s: got %q, %v, want %q", pattern, p.Prefix(), err, want)
		}
	}
}

func BenchmarkLike(b *testing.B) {
	p, err := builtin.CompileLike("%needle[0-9]%", nil, types.DefaultCollation, false)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if !p.Match("a haystack of some length that has a Needle7 in it") {
			b.Fatal("no match")
		}
	}
}

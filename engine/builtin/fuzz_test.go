package builtin_test

import (
	"strings"
	"testing"

	"loopbroker/engine/builtin"
	"loopbroker/engine/types"
)

// FuzzFormat looks for formats that make FORMAT panic.
func FuzzFormat(f *testing.F) {
	for _, s := range []string{"N2", "#,##0.00;(0)", "0.0e+0", "yyyy-MM-dd", "'a", "\\", "%%", "0,,.#"} {
		f.Add(s, 1234.5)
	}
	format, _ := builtin.Lookup("FORMAT")
	day, err := types.Convert(types.NewVarChar("2020-02-29 23:59:59.999"), types.DateTime2(7), 0)
	if err != nil {
		f.Fatal(err)
	}
	clock := types.NewTime(863999999999, 7)
	f.Fuzz(func(t *testing.T, s string, n float64) {
		for _, v := range []types.Value{types.NewFloat(n), types.NewInt(int64(int32(n))), day, clock} {
			args := []types.Value{v, types.NewNVarChar(s)}
			argTypes := []types.Type{types.TypeOf(v), types.NVarChar(4000)}
			if _, err := format.Eval(newSession(), args, argTypes, types.NVarChar(4000)); err != nil {
				t.Skip()
			}
		}
	})
}

// FuzzFormatMessage looks for messages that make FormatMessage panic or grow.
func FuzzFormatMessage(f *testing.F) {
	f.Add("%*.*d %-5s %#x %%", int64(7), "x")
	f.Fuzz(func(t *testing.T, format string, n int64, s string) {
		got, err := builtin.FormatMessage(format, []types.Value{types.NewInt(int64(int32(n))), types.NewVarChar(s), types.NewBigInt(n)})
		if err == nil && types.UTF16Len(got) > builtin.MaxMessage {
			t.Errorf("%d characters", types.UTF16Len(got))
		}
	})
}

// FuzzLike compares a pattern without brackets with a matcher that follows the
// definition.
func FuzzLike(f *testing.F) {
	f.Add("abcab", "a%b")
	f.Add("aab", "%_b")
	f.Fuzz(func(t *testing.T, s, pattern string) {
		if strings.Contains(pattern, "[") || len(s) > 30 || len(pattern) > 12 {
			t.Skip()
		}
		for _, x := range s + pattern {
			if x < 32 || x > 126 {
				t.Skip()
			}
		}
		got, err := builtin.Like(s, pattern, nil, types.BinaryCollation, true)
		if err != nil || got != likeByDefinition(s, pattern) {
			t.Errorf("%q LIKE %q: got %v, %v", s, pattern, got, err)
		}
	})
}

func likeByDefinition(s, pattern string) bool {
	if pattern == "" {
		return s == ""
	}
	switch pattern[0] {
	case '%':
		return likeByDefinition(s, pattern[1:]) || s != "" && likeByDefinition(s[1:], pattern)
	case '_':
		return s != "" && likeByDefinition(s[1:], pattern[1:])
	}
	return s != "" && s[0] == pattern[0] && likeByDefinition(s[1:], pattern[1:])
}

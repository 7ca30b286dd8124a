package types_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"pgregory.net/rapid"

	"loopbroker/engine/types"
)

// toUnits is utf16.Encode that keeps half a surrogate pair at the end of s.
func toUnits(s string) []uint16 {
	head, half := strings.CutSuffix(s, "\xED\xA0\xBD")
	units := utf16.Encode([]rune(head))
	if half {
		units = append(units, 0xD83D)
	}
	return units
}

// Lengths, parts and the wire form agree with unicode/utf16, also where a
// surrogate pair is cut in two and put together again.
func TestUTF16Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := genText().Draw(t, "s")
		units := toUnits(s)
		if got := types.UTF16Len(s); got != len(units) {
			t.Fatalf("UTF16Len(%q) = %d, want %d", s, got, len(units))
		}
		wire := types.EncodeUTF16(s)
		if back := types.DecodeUTF16(wire); back != s {
			t.Fatalf("DecodeUTF16(EncodeUTF16(%q)) = %q", s, back)
		}
		start := rapid.IntRange(0, len(units)).Draw(t, "start")
		n := rapid.IntRange(0, len(units)-start).Draw(t, "n")
		part := types.UTF16Substring(s, start, n)
		if got := types.EncodeUTF16(part); !slices.Equal(got, wire[2*start:2*(start+n)]) {
			t.Fatalf("UTF16Substring(%q, %d, %d) = % x, want % x", s, start, n, got, wire[2*start:2*(start+n)])
		}
		head, tail := types.UTF16Substring(s, 0, start), types.UTF16Substring(s, start, len(units))
		if got := types.ConcatText(head, tail); got != s {
			t.Fatalf("ConcatText(%q, %q) = %q, want %q", head, tail, got, s)
		}
	})
}

func TestDecodeUTF16AnyBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.SliceOfN(rapid.SampledFrom([]uint16{'a', 0x80, 0xD83D, 0xDE00, 0xFFFF, 0}), 0, 6).Draw(t, "units")
		var b []byte
		for _, u := range units {
			b = append(b, byte(u), byte(u>>8))
		}
		s := types.DecodeUTF16(b)
		if got := types.EncodeUTF16(s); !slices.Equal(got, b) {
			t.Fatalf("% x comes back as % x", b, got)
		}
		if types.UTF16Len(s) != len(units) {
			t.Fatalf("UTF16Len of % x = %d, want %d", b, types.UTF16Len(s), len(units))
		}
		if types.ValidText(s) != s {
			t.Fatalf("ValidText changes % x", s)
		}
	})
}

func TestVarCharBytes(t *testing.T) {
	t.Parallel()
	var all []byte
	for b := range 256 {
		all = append(all, byte(b))
	}
	s := types.DecodeVarChar(all)
	if got := types.EncodeVarChar(s); !slices.Equal(got, all) {
		t.Errorf("the 256 bytes come back as % x", got)
	}
	for i, r := range []rune(s) {
		// x/text leaves five bytes undefined, which Windows does not.
		if want := charmap.Windows1252.DecodeByte(byte(i)); r != want && want != utf8.RuneError {
			t.Errorf("byte %02X = %q, want %q", i, r, want)
		}
	}
	if got := types.DecodeVarChar([]byte{0x80, 0x99, 0xE9}); got != "€™é" {
		t.Errorf("80 99 E9 = %q, want €™é", got)
	}
	if got := string(types.EncodeVarChar("aж😀")); got != "a???" {
		t.Errorf("characters outside of the page = %q, want a???", got)
	}
	if got := types.ValidText("a\xFFb"); got != "a\uFFFDb" {
		t.Errorf("ValidText = %q", got)
	}
}

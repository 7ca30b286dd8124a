package types_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"loopbroker/engine/types"
)

func collation(t *testing.T, name string) *types.Collation {
	t.Helper()
	c, ok := types.LookupCollation(name)
	if !ok {
		t.Fatalf("collation %s is not known", name)
	}
	return c
}

// The five bytes of the default are in [MS-TDS] 4.2 (09 04 D0 00 34); the sort
// orders are those of "SQL Server collation name (Transact-SQL)".
func TestCollationTDS(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		want [5]byte
	}{
		{"SQL_Latin1_General_CP1_CI_AS", [5]byte{0x09, 0x04, 0xD0, 0x00, 0x34}},
		{"sql_latin1_general_cp1_cs_as", [5]byte{0x09, 0x04, 0xC0, 0x00, 0x33}},
		{"Latin1_General_CI_AS", [5]byte{0x09, 0x04, 0xD0, 0x00, 0x00}},
		{"Latin1_General_CI_AI", [5]byte{0x09, 0x04, 0xF0, 0x00, 0x00}},
		{"Latin1_General_100_CI_AS", [5]byte{0x09, 0x04, 0xD0, 0x20, 0x00}},
		{"Latin1_General_BIN", [5]byte{0x09, 0x04, 0x00, 0x01, 0x00}},
		{"Latin1_General_BIN2", [5]byte{0x09, 0x04, 0x00, 0x02, 0x00}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := collation(t, tc.name)
			if got := c.TDS(); got != tc.want {
				t.Errorf("TDS() = % X, want % X", got, tc.want)
			}
		})
	}
	for _, c := range types.Collations() {
		if back, ok := types.CollationFromTDS(c.TDS()); !ok || back != c {
			t.Errorf("%s is not found by its bytes", c.Name)
		}
	}
	if _, ok := types.LookupCollation("Latin1_General_100_CI_AS_SC_UTF8"); ok {
		t.Error("a UTF-8 collation is found")
	}
}

// Examples of "Collation and Unicode support": word sort of Unicode data against
// SQL sort orders, accents, case, expansions; blanks at the end do not count.
func TestCollationCompare(t *testing.T) {
	t.Parallel()
	const (
		sqlCI = "SQL_Latin1_General_CP1_CI_AS"
		sqlCS = "SQL_Latin1_General_CP1_CS_AS"
		ci    = "Latin1_General_CI_AS"
		cs    = "Latin1_General_100_CS_AS"
		ai    = "Latin1_General_CI_AI"
		bin   = "Latin1_General_BIN"
		bin2  = "Latin1_General_100_BIN2"
	)
	for _, tc := range []struct {
		name, collation, a, b string
		unicode               bool
		want                  int
	}{
		{"case", sqlCI, "abc", "ABC", false, 0},
		{"blanks", sqlCI, "abc", "abc   ", true, 0},
		{"blanks binary", bin2, "abc", "abc   ", true, 0},
		{"blank inside", ci, "a b", "ab", true, -1},
		{"below blank", sqlCI, "a\x01", "a", false, -1},
		{"below blank binary", bin2, "a\x01", "a", true, -1},
		{"tab above blank", ci, "a\t", "a", true, 1},
		{"hyphen is a sign in a SQL sort order", sqlCI, "a-c", "ab", false, -1},
		{"hyphen is passed over in Unicode data", sqlCI, "a-c", "ab", true, 1},
		{"hyphen decides at last", ci, "co-op", "coop", true, 1},
		{"apostrophe", ci, "it's", "its", true, 1},
		{"accent counts", ci, "e", "é", true, -1},
		{"accent after letters", ci, "éa", "eb", true, -1},
		{"accent does not count", ai, "e", "é", true, 0},
		{"accent composed or not", ci, "e\u0301", "é", true, 0},
		{"sharp s", ci, "straße", "strasse", true, 0},
		{"sharp s in a SQL sort order", sqlCI, "ß", "ss", false, 1},
		{"ae", ci, "Æ", "ae", true, 0},
		{"thorn", ci, "þ", "TH", true, 0},
		{"superscript", sqlCI, "x²", "x2", true, 0},
		{"ligature", ci, "ﬁn", "fin", true, 0},
		{"width", ci, "Ａ", "a", true, 0},
		{"kana", ci, "ア", "あ", true, 0},
		{"NUL has no weight", ci, "a\x00", "a", true, 0},
		{"NUL in a binary collation", bin2, "a\x00", "a", true, -1},
		{"no supplementary characters at first", ci, "a😀", "a", true, 0},
		{"supplementary characters", cs, "a😀", "a漢", true, 1},
		{"a blank before what has no weight", ci, "a \x00", "ab", true, -1},
		{"small letter first", cs, "a", "A", true, -1},
		{"capital first in a SQL sort order", sqlCS, "a", "A", false, 1},
		{"case decides last", cs, "aB", "Ab", true, -1},
		{"digits before letters", ci, "9", "a", true, -1},
		{"signs before digits", ci, "_", "0", true, -1},
		{"plus after tilde", ci, "+", "~", true, 1},
		{"code units", bin2, "\U0001F600", "\uE000", true, -1},
		{"binary case", bin2, "B", "a", true, -1},
		{"low byte first behind the first character", bin, "xĀ", "xA", true, -1},
		{"first character as a code unit", bin, "Ā", "A", true, 1},
		{"code page", bin2, "€", "é", false, -1}, // 0x80 and 0xE9
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := collation(t, tc.collation)
			if got := sign(c.Compare(tc.a, tc.b, tc.unicode)); got != tc.want {
				t.Errorf("Compare(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
			}
			if got := sign(c.Compare(tc.b, tc.a, tc.unicode)); got != -tc.want {
				t.Errorf("Compare(%q, %q) = %d, want %d", tc.b, tc.a, got, -tc.want)
			}
		})
	}
}

// The short cuts for ASCII and the sort keys agree, equal texts hash alike, and
// no key is the beginning of another one.
func TestCollationProperties(t *testing.T) {
	t.Parallel()
	for _, c := range types.Collations() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				unicode := rapid.Bool().Draw(t, "unicode")
				gen := genVarCharText()
				if unicode {
					gen = genText()
				}
				a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
				d := sign(c.Compare(a, b, unicode))
				ka, kb := c.AppendKey(nil, a, unicode), c.AppendKey(nil, b, unicode)
				if k := bytes.Compare(ka, kb); k != d {
					t.Fatalf("Compare(%q, %q) = %d, keys % x and % x compare as %d", a, b, d, ka, kb, k)
				}
				if d == 0 && c.Hash(a, unicode) != c.Hash(b, unicode) {
					t.Fatalf("%q and %q are equal but hash differently", a, b)
				}
				if d != 0 && (bytes.HasPrefix(ka, kb) || bytes.HasPrefix(kb, ka)) {
					t.Fatalf("one of the keys % x and % x begins with the other", ka, kb)
				}
				if c.Compare(a, a+"  ", unicode) != 0 {
					t.Fatalf("blanks at the end of %q count", a)
				}
			})
		})
	}
}

func TestEqualRune(t *testing.T) {
	t.Parallel()
	ci, cs, ai := types.DefaultCollation, collation(t, "Latin1_General_CS_AS"), collation(t, "Latin1_General_CI_AI")
	for _, tc := range []struct {
		c    *types.Collation
		a, b rune
		want bool
	}{
		{ci, 'a', 'A', true}, {cs, 'a', 'A', false}, {ci, '@', '`', false}, {ci, 'e', 'é', false}, {ai, 'E', 'é', true},
		{ci, 'é', 'É', true}, {ci, '[', '{', false}, {ci, ' ', '\u0301', false},
		{ci, 'x', '😀', false},
	} {
		if got := tc.c.EqualRune(tc.a, tc.b, true); got != tc.want {
			t.Errorf("%s: EqualRune(%q, %q) = %t, want %t", tc.c.Name, tc.a, tc.b, got, tc.want)
		}
	}
}

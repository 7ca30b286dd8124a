package types

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"strings"
	"sync"
	"unicode/utf8"
)

// bySortOrder reports whether text is compared by the rules of a SQL_ sort
// order: non-Unicode data in a SQL_ collation.
func (c *Collation) bySortOrder(unicodeData bool) bool { return c.sortID != 0 && !unicodeData }

// Compare compares two texts: negative if a sorts before b, zero if they are
// equal in c, positive if a sorts after b. Trailing blanks do not count.
// unicodeData tells nchar and nvarchar data from char and varchar data, which
// the SQL_ collations compare by other rules. Compare may be used by any number
// of goroutines.
func (c *Collation) Compare(a, b string, unicodeData bool) int {
	if a == b {
		return 0
	}
	if c.Binary {
		return c.compareBinary(a, b, unicodeData)
	}
	table := windowsWeights
	if c.bySortOrder(unicodeData) {
		table = sqlWeights
	}
	n := min(len(a), len(b))
	byCase := 0
	for i := range n {
		x, y := a[i], b[i]
		if x|y >= utf8.RuneSelf {
			return c.compareKeys(a, b, unicodeData)
		}
		if x == y {
			continue
		}
		p, q := table[x], table[y]
		if p == 0 || q == 0 || !plainNext(a, i, table) || !plainNext(b, i, table) {
			return c.compareKeys(a, b, unicodeData)
		}
		if p != q {
			return cmp.Compare(p, q)
		}
		if byCase == 0 {
			byCase = cmp.Compare(y, x) // small letters first
			if table == sqlWeights {
				byCase = -byCase
			}
		}
	}
	if rest := a[n:] + b[n:]; rest != "" { // one of them is empty
		d, ok := compareRest(rest, table)
		if !ok {
			return c.compareKeys(a, b, unicodeData)
		}
		if d != 0 {
			if len(b) > n {
				return -d
			}
			return d
		}
	}
	if c.CaseSensitive {
		return byCase
	}
	return 0
}

// plainNext reports whether the weight of byte i stands for itself. A blank
// before a hyphen or a character outside of ASCII needs the whole key: blanks at
// the end of what has a weight do not count.
func plainNext(s string, i int, table *weights) bool {
	if s[i] != ' ' {
		return true
	}
	for _, c := range []byte(s[i+1:]) {
		if c != ' ' {
			return c < utf8.RuneSelf && table[c] != 0
		}
	}
	return true
}

// compareRest compares what the longer text has more with blanks.
func compareRest(rest string, table *weights) (int, bool) {
	for _, c := range []byte(rest) {
		if c == ' ' {
			continue
		}
		if c >= utf8.RuneSelf || table[c] == 0 {
			return 0, false
		}
		return cmp.Compare(table[c], weightEnd), true
	}
	return 0, true
}

var keyBuilders = sync.Pool{New: func() any { return new(keyBuilder) }}

// keyBuffers are reused: a comparison of texts outside of ASCII builds two keys.
var keyBuffers = sync.Pool{New: func() any { return new([2][]byte) }}

func (c *Collation) compareKeys(a, b string, unicodeData bool) int {
	buf := keyBuffers.Get().(*[2][]byte)
	buf[0] = c.AppendKey(buf[0][:0], a, unicodeData)
	buf[1] = c.AppendKey(buf[1][:0], b, unicodeData)
	d := bytes.Compare(buf[0], buf[1])
	keyBuffers.Put(buf)
	return d
}

// AppendKey appends the sort key of s: the order of the bytes of two keys is the
// order of the texts. No key is the beginning of another one.
func (c *Collation) AppendKey(dst []byte, s string, unicodeData bool) []byte {
	s = strings.TrimRight(s, " ")
	if c.Binary {
		return c.appendBinaryKey(dst, s, unicodeData)
	}
	if c.asciiKey(s, unicodeData) {
		return c.appendASCIIKey(dst, s, unicodeData)
	}
	k := keyBuilders.Get().(*keyBuilder)
	k.reset(c, c.bySortOrder(unicodeData))
	k.text(s)
	dst = append(append(dst, k.primary...), weightEnd)
	if c.AccentSensitive {
		dst = append(append(dst, k.secondary...), levelEnd)
	}
	if c.CaseSensitive {
		dst = append(append(dst, k.tertiary...), levelEnd)
	}
	if !k.sql {
		dst = append(append(dst, k.punct...), levelEnd)
	}
	keyBuilders.Put(k)
	return dst
}

// asciiKey reports whether each character of s has a weight of one byte, and s
// has no blank that may need another weight than weightBlankHigh.
func (c *Collation) asciiKey(s string, unicodeData bool) bool {
	if c.CaseSensitive {
		return false
	}
	for _, x := range []byte(s) {
		if x >= utf8.RuneSelf || windowsWeights[x] == 0 {
			return false
		}
	}
	return !c.bySortOrder(unicodeData) || !hasControl(s)
}

func hasControl(s string) bool {
	for _, x := range []byte(s) {
		if x < ' ' {
			return true
		}
	}
	return false
}

func (c *Collation) appendASCIIKey(dst []byte, s string, unicodeData bool) []byte {
	table := windowsWeights
	sql := c.bySortOrder(unicodeData)
	if sql {
		table = sqlWeights
	}
	for _, x := range []byte(s) {
		if x == ' ' {
			dst = append(dst, weightBlankHigh)
			continue
		}
		dst = append(dst, table[x])
	}
	dst = append(dst, weightEnd)
	if c.AccentSensitive {
		dst = append(dst, levelEnd)
	}
	if !sql {
		dst = append(dst, levelEnd)
	}
	return dst
}

var hashSeed = maphash.MakeSeed()

// Hash returns a number that is the same for texts that Compare finds equal. It
// holds for this process only.
func (c *Collation) Hash(s string, unicodeData bool) uint64 {
	buf := keyBuffers.Get().(*[2][]byte)
	buf[0] = c.AppendKey(buf[0][:0], s, unicodeData)
	h := maphash.Bytes(hashSeed, buf[0])
	keyBuffers.Put(buf)
	return h
}

// EqualRune reports whether two characters are equal in c, for LIKE and the
// functions that search.
func (c *Collation) EqualRune(a, b rune, unicodeData bool) bool {
	if a == b {
		return true
	}
	if c.Binary {
		return false
	}
	if a < utf8.RuneSelf && b < utf8.RuneSelf {
		return !c.CaseSensitive && a|0x20 == b|0x20 && a|0x20 >= 'a' && a|0x20 <= 'z'
	}
	if a == ' ' || b == ' ' {
		return false
	}
	return c.compareKeys(string(appendRune(nil, a)), string(appendRune(nil, b)), unicodeData) == 0
}

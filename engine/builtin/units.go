package builtin

import (
	"unicode/utf8"

	"loopbroker/engine/types"
)

// appendUnits appends the UTF-16 code units of s, the unit in which SQL Server
// counts and matches characters.
func appendUnits(dst []uint16, s string) []uint16 {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			dst = append(dst, uint16(c))
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 && len(s)-i >= 3 { // an unpaired surrogate
			r = rune(c&0x0F)<<12 | rune(s[i+1]&0x3F)<<6 | rune(s[i+2]&0x3F)
			size = 3
		}
		i += size
		if r > 0xFFFF {
			r -= 0x10000
			dst = append(dst, uint16(0xD800+r>>10), uint16(0xDC00+r&0x3FF))
			continue
		}
		dst = append(dst, uint16(r))
	}
	return dst
}

// unitText is the text of UTF-16 code units.
func unitText(u []uint16) string {
	b := make([]byte, 0, len(u))
	for i := 0; i < len(u); i++ {
		r := rune(u[i])
		switch {
		case r < 0xD800 || r > 0xDFFF:
			b = utf8.AppendRune(b, r)
		case r < 0xDC00 && i+1 < len(u) && u[i+1] >= 0xDC00 && u[i+1] <= 0xDFFF:
			b = utf8.AppendRune(b, (r-0xD800)<<10+(rune(u[i+1])-0xDC00)+0x10000)
			i++
		default:
			b = append(b, 0xE0|byte(r>>12), 0x80|byte(r>>6&0x3F), 0x80|byte(r&0x3F))
		}
	}
	return string(b)
}

// isASCII reports whether s has no byte of 0x80 or more.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// matcher compares code units under a collation.
type matcher struct {
	collation *types.Collation
	unicode   bool
}

func (m matcher) equal(a, b uint16) bool {
	return a == b || m.collation.EqualRune(rune(a), rune(b), m.unicode)
}

// between reports whether x sorts from lo to hi.
func (m matcher) between(x, lo, hi uint16) bool {
	if m.collation.Binary {
		return lo <= x && x <= hi
	}
	s := unitText([]uint16{x})
	return m.collation.Compare(unitText([]uint16{lo}), s, m.unicode) <= 0 &&
		m.collation.Compare(s, unitText([]uint16{hi}), m.unicode) <= 0
}

// index is the first place at or after from where part is in u, or -1.
func (m matcher) index(u, part []uint16, from int) int {
next:
	for i := from; i+len(part) <= len(u); i++ {
		for j, p := range part {
			if !m.equal(u[i+j], p) {
				continue next
			}
		}
		return i
	}
	return -1
}

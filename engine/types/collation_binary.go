package types

import (
	"cmp"
	"unicode/utf8"
)

// units reads the code units of a text one after the other: UTF-16 for Unicode
// data, bytes of the code page for all else. Behind the end come blanks.
type units struct {
	s           string
	low         rune // second half of a pair that is still to come
	index       int
	unicodeData bool
	firstUnit   bool // _BIN: all units but the first are compared low byte first
}

// next returns the next code unit, turned so that units compare as numbers, and
// what a blank is at this place.
func (u *units) next() (unit, blank uint16) {
	unit, blank = ' ', ' '
	switch {
	case u.low != 0:
		unit, u.low = uint16(u.low), 0
	case u.s != "":
		r, size := decodeRune(u.s)
		u.s = u.s[size:]
		if !u.unicodeData {
			b, ok := varCharByte(r)
			if !ok {
				b = '?'
			}
			unit = uint16(b)
			break
		}
		if r > 0xFFFF {
			r -= 0x10000
			u.low = lowSurrogate + r&0x3FF
			r = surrogateMin + r>>10
		}
		unit = uint16(r)
	}
	if u.firstUnit && u.unicodeData && u.index > 0 {
		unit, blank = unit<<8|unit>>8, blank<<8
	}
	u.index++
	return unit, blank
}

func (u *units) more() bool { return u.s != "" || u.low != 0 }

func (c *Collation) compareBinary(a, b string, unicodeData bool) int {
	// The longest common beginning does not count, up to a whole character.
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n < len(a) && n < len(b) && a[n]|b[n] < utf8.RuneSelf {
		return cmp.Compare(a[n], b[n])
	}
	x := units{s: a, unicodeData: unicodeData, firstUnit: c.firstUnit}
	y := units{s: b, unicodeData: unicodeData, firstUnit: c.firstUnit}
	for x.more() || y.more() {
		p, _ := x.next()
		q, _ := y.next()
		if p != q {
			return cmp.Compare(p, q)
		}
	}
	return 0
}

// appendBinaryKey appends the key of s, which has no trailing blanks.
func (c *Collation) appendBinaryKey(dst []byte, s string, unicodeData bool) []byte {
	u := units{s: s, unicodeData: unicodeData, firstUnit: c.firstUnit}
	blanks := 0
	for u.more() {
		compact := !c.firstUnit || !unicodeData || u.index == 0
		unit, blank := u.next()
		if unit == blank {
			blanks++
			continue
		}
		w := byte(weightBlankHigh)
		if unit < blank {
			w = weightBlankLow
		}
		for ; blanks > 0; blanks-- {
			dst = append(dst, w)
		}
		switch {
		case compact && unit < blank:
			dst = append(dst, weightBinaryLow+byte(unit))
		case compact && unit < 0x7F:
			dst = append(dst, weightBinaryHigh+byte(unit-0x21))
		case unit < blank:
			dst = append(dst, weightBinaryLow, byte(unit>>8), byte(unit))
		default:
			dst = append(dst, weightBinaryUnit, byte(unit>>8), byte(unit))
		}
	}
	return append(dst, weightEnd)
}

package types

import (
	"strings"
	"unicode/utf8"
)

// Character data is kept as UTF-8. SQL Server's unit is the UTF-16 code unit, so
// that a value may hold half of a surrogate pair: it is kept as the three bytes
// that UTF-8 would have for it ("WTF-8"), and two halves that come together
// become one character again.

const (
	surrogateMin = 0xD800
	lowSurrogate = 0xDC00
	surrogateMax = 0xDFFF
)

func isHigh(r rune) bool { return r >= surrogateMin && r < lowSurrogate }
func isLow(r rune) bool  { return r >= lowSurrogate && r <= surrogateMax }

// decodeRune is utf8.DecodeRuneInString that accepts unpaired surrogates.
func decodeRune(s string) (rune, int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 && len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF && s[2]&0xC0 == 0x80 {
		return rune(s[0]&0x0F)<<12 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	}
	return r, size
}

// appendRune is utf8.AppendRune that keeps unpaired surrogates.
func appendRune(dst []byte, r rune) []byte {
	if r >= surrogateMin && r <= surrogateMax {
		return append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0xBF, 0x80|byte(r)&0xBF)
	}
	return utf8.AppendRune(dst, r)
}

// UTF16Len returns the number of UTF-16 code units of s: the length of
// nvarchar data, without allocating.
func UTF16Len(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c < 0x80 || (c >= 0xC0 && c < 0xF0):
			n++
		case c >= 0xF0:
			n += 2
		}
	}
	return n
}

// UTF16Substring returns n code units of s from the zero-based code unit start,
// or what there is of them. A surrogate pair may be cut in two.
func UTF16Substring(s string, start, n int) string {
	if n <= 0 || start < 0 {
		return ""
	}
	if isASCII(s) {
		if start >= len(s) {
			return ""
		}
		return s[start:min(len(s), start+n)]
	}
	from, lead := utf16Offset(s, start)
	rest := s[from:]
	if lead != 0 { // the second half of a pair comes first
		if n == 1 {
			return string(appendRune(nil, lead))
		}
		to, tail := utf16Offset(rest, n-1)
		b := append(appendRune(nil, lead), rest[:to]...)
		return string(cutTail(b, rest[:to], tail))
	}
	to, tail := utf16Offset(rest, n)
	if tail == 0 {
		return rest[:to]
	}
	return string(cutTail([]byte(rest[:to]), rest[:to], tail))
}

// cutTail replaces the last character of b, which is the pair that ends whole,
// by its first half.
func cutTail(b []byte, whole string, tail rune) []byte {
	if tail == 0 {
		return b
	}
	r, size := lastRune(whole)
	return appendRune(b[:len(b)-size], surrogateMin+(r-0x10000)>>10)
}

// utf16Offset returns the byte offset of code unit n of s, or len(s). If the
// unit is the second half of a pair, the offset is behind the pair, and half is
// that second half.
func utf16Offset(s string, n int) (offset int, half rune) {
	i := 0
	for n > 0 && i < len(s) {
		r, size := decodeRune(s[i:])
		i += size
		n--
		if r > 0xFFFF {
			if n == 0 {
				return i, lowSurrogate + (r-0x10000)&0x3FF
			}
			n--
		}
	}
	return i, 0
}

// lastRune returns the last character of s, which is not empty.
func lastRune(s string) (rune, int) {
	i := len(s) - 1
	for i > 0 && len(s)-i < utf8.UTFMax && !utf8.RuneStart(s[i]) {
		i--
	}
	return decodeRune(s[i:])
}

// ConcatText returns a+b; the two halves of a surrogate pair that meet become
// one character.
func ConcatText(a, b string) string {
	if len(a) >= 3 && len(b) >= 3 && a[len(a)-3] == 0xED && b[0] == 0xED {
		hi, n := lastRune(a)
		lo, m := decodeRune(b)
		if isHigh(hi) && isLow(lo) {
			return a[:len(a)-n] + string((hi-surrogateMin)<<10+(lo-lowSurrogate)+0x10000) + b[m:]
		}
	}
	return a + b
}

// EncodeUTF16 returns s as UTF-16, little endian: the form of nchar and
// nvarchar data on the wire.
func EncodeUTF16(s string) []byte { return AppendUTF16(make([]byte, 0, 2*len(s)), s) }

// AppendUTF16 appends what EncodeUTF16 returns.
func AppendUTF16(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			dst = append(dst, c, 0)
			i++
			continue
		}
		r, size := decodeRune(s[i:])
		i += size
		if r > 0xFFFF {
			r -= 0x10000
			hi, lo := surrogateMin+r>>10, lowSurrogate+r&0x3FF
			dst = append(dst, byte(hi), byte(hi>>8), byte(lo), byte(lo>>8))
			continue
		}
		dst = append(dst, byte(r), byte(r>>8))
	}
	return dst
}

// DecodeUTF16 returns the text of UTF-16, little endian. An odd last byte counts
// as a code unit whose upper byte is zero.
func DecodeUTF16(b []byte) string {
	ascii := true
	for i := 0; i+1 < len(b); i += 2 {
		if b[i] >= utf8.RuneSelf || b[i+1] != 0 {
			ascii = false
			break
		}
	}
	var sb strings.Builder
	if ascii {
		sb.Grow(len(b)/2 + 1)
		for i := 0; i+1 < len(b); i += 2 {
			sb.WriteByte(b[i])
		}
		if len(b)%2 == 1 {
			sb.WriteRune(rune(b[len(b)-1]))
		}
		return sb.String()
	}
	return string(appendUTF16Text(make([]byte, 0, len(b)), b))
}

func appendUTF16Text(dst, b []byte) []byte {
	for i := 0; i < len(b); i += 2 {
		r := rune(b[i])
		if i+1 < len(b) {
			r |= rune(b[i+1]) << 8
		}
		if isHigh(r) && i+3 < len(b) {
			if lo := rune(b[i+2]) | rune(b[i+3])<<8; isLow(lo) {
				r = (r-surrogateMin)<<10 + (lo - lowSurrogate) + 0x10000
				i += 2
			}
		}
		dst = appendRune(dst, r)
	}
	return dst
}

// ValidText returns s with each byte that is not part of UTF-8 (or of an
// unpaired surrogate's three bytes) replaced by U+FFFD, so that text from
// outside is fit to be a value.
func ValidText(s string) string {
	if utf8.ValidString(s) || wellFormed(s) {
		return s
	}
	var b []byte
	for i := 0; i < len(s); {
		r, size := decodeRune(s[i:])
		b = appendRune(b, r)
		i += size
	}
	return string(b)
}

// wellFormed reports whether s is UTF-8 with unpaired surrogates allowed.
func wellFormed(s string) bool {
	for i := 0; i < len(s); {
		r, size := decodeRune(s[i:])
		if r == utf8.RuneError && size == 1 {
			return false
		}
		i += size
	}
	return true
}

package types

import (
	"strings"
	"unicode/utf8"
)

// cp1252High holds the characters of bytes 0x80 to 0x9F in code page 1252; all
// other bytes are the character of the same number. The five bytes that the
// page leaves undefined map to the control of the same number, as Windows does.
var cp1252High = [32]rune{
	0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D, 0x017D, 0x8F,
	0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D, 0x017E, 0x0178,
}

var cp1252Back = func() map[rune]byte {
	m := make(map[rune]byte, len(cp1252High))
	for i, r := range cp1252High {
		m[r] = byte(0x80 + i)
	}
	return m
}()

// varCharByte returns the byte of a character in code page 1252, or of the
// character that Windows takes in its place ("best fit").
func varCharByte(r rune) (byte, bool) {
	if r < 0x80 || (r >= 0xA0 && r <= 0xFF) {
		return byte(r), true
	}
	if b, ok := cp1252Back[r]; ok {
		return b, true
	}
	b := bestFit(r)
	return b, b != 0
}

// varCharRune returns the character of a byte of code page 1252.
func varCharRune(b byte) rune {
	if b >= 0x80 && b < 0xA0 {
		return cp1252High[b-0x80]
	}
	return rune(b)
}

// EncodeVarChar returns s in code page 1252, the form of char and varchar data
// on the wire and in conversions to binary. A character outside of the code
// page becomes the one that Windows takes in its place, such as A for Ā, or a
// question mark for each UTF-16 code unit.
func EncodeVarChar(s string) []byte { return AppendVarChar(make([]byte, 0, len(s)), s) }

// AppendVarChar appends what EncodeVarChar returns.
func AppendVarChar(dst []byte, s string) []byte {
	if isASCII(s) {
		return append(dst, s...)
	}
	for i := 0; i < len(s); {
		r, size := decodeRune(s[i:])
		i += size
		if b, ok := varCharByte(r); ok {
			dst = append(dst, b)
			continue
		}
		dst = append(dst, '?')
		if r > 0xFFFF {
			dst = append(dst, '?')
		}
	}
	return dst
}

// DecodeVarChar returns the text of bytes in code page 1252.
func DecodeVarChar(b []byte) string {
	for i, c := range b {
		if c >= utf8.RuneSelf {
			return decodeVarCharFrom(b, i)
		}
	}
	return string(b)
}

func decodeVarCharFrom(b []byte, ascii int) string {
	var sb strings.Builder
	sb.Grow(len(b) + len(b)/4 + 4)
	sb.Write(b[:ascii])
	for _, c := range b[ascii:] {
		sb.WriteRune(varCharRune(c))
	}
	return sb.String()
}

// toVarChar replaces the characters of s that code page 1252 lacks.
func toVarChar(s string) string {
	for i := 0; i < len(s); {
		r, size := decodeRune(s[i:])
		if b, ok := varCharByte(r); !ok || varCharRune(b) != r {
			return DecodeVarChar(EncodeVarChar(s))
		}
		i += size
	}
	return s
}

// VarCharLen returns the number of bytes of s in code page 1252.
func VarCharLen(s string) int { return UTF16Len(s) }

// isASCII reports whether s has no byte of 0x80 or more.
func isASCII(s string) bool {
	for len(s) >= 8 {
		if (uint64(s[0])|uint64(s[1])|uint64(s[2])|uint64(s[3])|uint64(s[4])|uint64(s[5])|uint64(s[6])|uint64(s[7]))&0x80 != 0 {
			return false
		}
		s = s[8:]
	}
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

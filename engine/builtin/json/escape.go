package json

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// hex4 decodes the four hexadecimal digits that s begins with.
func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var n rune
	for i := range 4 {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			n = n<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

// unescape decodes the escape sequences of a valid string without its quotes.
func unescape(s string) string { return decode(s, false) }

// canonical is the form in which names are compared: \u sequences are decoded,
// short escapes stay as they are written.
func canonical(s string) string { return decode(s, true) }

func decode(s string, keepShort bool) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for {
		b = append(b, s[:i]...)
		s = s[i:]
		switch c := s[1]; {
		case c == 'u':
			var size int
			b, size = appendUnit(b, s)
			s = s[size:]
		case keepShort:
			b = append(b, '\\', c)
			s = s[2:]
		default:
			b = append(b, shortEscape(c))
			s = s[2:]
		}
		if i = strings.IndexByte(s, '\\'); i < 0 {
			return string(append(b, s...))
		}
	}
}

// appendUnit appends what the \u sequence at the start of s stands for, with
// the one after it if the two are a surrogate pair, and returns how many bytes
// of s that took.
func appendUnit(b []byte, s string) ([]byte, int) {
	c, _ := hex4(s[2:])
	if utf16.IsSurrogate(c) {
		if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
			low, ok := hex4(s[8:])
			if pair := utf16.DecodeRune(c, low); ok && pair != utf8.RuneError {
				return utf8.AppendRune(b, pair), 12
			}
		}
		// An unpaired surrogate is kept in its three-byte form.
		return append(b, 0xE0|byte(c>>12), 0x80|byte(c>>6&0x3F), 0x80|byte(c&0x3F)), 6
	}
	return utf8.AppendRune(b, c), 6
}

func shortEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// AppendEscaped appends s with the characters escaped that SQL Server escapes:
// quotation mark, both slashes and control characters.
func AppendEscaped(dst []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c != '/' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\', '/':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(dst, s[from:]...)
}

// AppendString appends s as a JSON string.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = AppendEscaped(dst, s)
	return append(dst, '"')
}

// Escape is STRING_ESCAPE(s, 'json').
func Escape(s string) string { return string(AppendEscaped(make([]byte, 0, len(s)+8), s)) }

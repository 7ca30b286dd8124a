package json

import (
	"errors"
	"unicode/utf8"

	"loopbroker/engine/sqlerr"
)

// Kind is the kind of a JSON value. The numbers are those of OPENJSON's type
// column.
type Kind uint8

// The kinds of JSON values.
const (
	Null Kind = iota
	String
	Number
	Bool
	Array
	Object
)

// maxDepth is the number of arrays and objects that may enclose a value.
const maxDepth = 128

// Element is one value of a JSON text.
type Element struct {
	Kind Kind
	// Raw is the value as it stands in the text; a string has its quotes.
	Raw string
}

// Scalar reports whether the element is neither an object nor an array.
func (e Element) Scalar() bool { return e.Kind < Array }

// Text is the decoded string for a string and the raw text for all others.
func (e Element) Text() string {
	if e.Kind != String {
		return e.Raw
	}
	return unescape(e.Raw[1 : len(e.Raw)-1])
}

// reader reads JSON text from left to right.
type reader struct {
	s     string
	pos   int
	depth int   // containers around the value that is read next
	state uint8 // of error 13609
}

// fail is error 13609 for the character at byte offset at.
func (r *reader) fail(at int) error {
	return formatError(13609, r.state, r.s, at)
}

// formatError is 13609 or 13607: the character at byte offset at is unexpected.
func formatError(number int32, state uint8, s string, at int) error {
	char := "."
	if at < len(s) {
		_, size := utf8.DecodeRuneInString(s[at:])
		char = s[at : at+size]
	} else {
		at = len(s)
	}
	return sqlerr.WithState(number, state, char, units(s[:at]))
}

// units is the number of UTF-16 code units of s.
func units(s string) int {
	n := 0
	for i := range len(s) {
		n += unitsOf(s[i])
	}
	return n
}

// unitsOf is the number of UTF-16 code units of a character that begins with b;
// zero if b is inside a character.
func unitsOf(b byte) int {
	switch {
	case b&0xC0 == 0x80:
		return 0
	case b >= 0xF0:
		return 2
	}
	return 1
}

func tooDeep(state uint8) error { return sqlerr.WithState(13606, state) }

// space skips white space.
func (r *reader) space() {
	for r.pos < len(r.s) {
		switch r.s[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, zero at the end.
func (r *reader) peek() byte {
	r.space()
	if r.pos == len(r.s) {
		return 0
	}
	return r.s[r.pos]
}

// root places the reader at the text's value, which must be an object or an
// array.
func (r *reader) root() error {
	if c := r.peek(); c != '{' && c != '[' {
		return r.fail(r.pos)
	}
	return nil
}

// end checks that nothing but white space follows.
func (r *reader) end() error {
	r.space()
	if r.pos < len(r.s) {
		return r.fail(r.pos)
	}
	return nil
}

// value reads the value that follows, whole.
func (r *reader) value() (Element, error) {
	c := r.peek()
	if r.depth > maxDepth {
		return Element{}, tooDeep(1)
	}
	start := r.pos
	switch c {
	case '{', '[':
		kind := Array
		if c == '{' {
			kind = Object
		}
		if err := r.skipContainer(kind); err != nil {
			return Element{}, err
		}
		return Element{kind, r.s[start:r.pos]}, nil
	case '"':
		raw, err := r.str()
		return Element{String, raw}, err
	}
	return r.word()
}

// skipContainer reads the object or array that follows.
func (r *reader) skipContainer(kind Kind) error {
	for first := true; ; first = false {
		more, err := r.next(kind, first)
		if err != nil || !more {
			return err
		}
		if kind == Object {
			if _, err := r.key(); err != nil {
				return err
			}
		}
		if _, err := r.value(); err != nil {
			return err
		}
	}
}

// next moves to the next member of a container: with first it reads the opening
// bracket, otherwise what follows a member. It reports false after it has read
// the closing bracket.
func (r *reader) next(kind Kind, first bool) (bool, error) {
	closing := byte(']')
	if kind == Object {
		closing = '}'
	}
	if first {
		r.space()
		r.pos++
		r.depth++
		if r.peek() == closing {
			r.pos++
			r.depth--
			return false, nil
		}
		return true, nil
	}
	switch r.peek() {
	case ',':
		r.pos++
		r.space()
		return true, nil
	case closing:
		r.pos++
		r.depth--
		return false, nil
	}
	return false, r.fail(r.pos)
}

// key reads the name of a member and the colon, and returns the name in the
// form in which names are compared.
func (r *reader) key() (string, error) {
	if r.peek() != '"' {
		return "", r.fail(r.pos)
	}
	raw, err := r.str()
	if err != nil {
		return "", err
	}
	if r.peek() != ':' {
		return "", r.fail(r.pos)
	}
	r.pos++
	return canonical(raw[1 : len(raw)-1]), nil
}

// str reads a string and returns it with its quotes. A fault anywhere in it is
// reported at the opening quote.
func (r *reader) str() (string, error) {
	start := r.pos
	for i := start + 1; i < len(r.s); i++ {
		switch c := r.s[i]; {
		case c == '"':
			r.pos = i + 1
			return r.s[start:r.pos], nil
		case c < 0x20:
			return "", r.fail(start)
		case c == '\\':
			size := escapeLen(r.s[i:])
			if size == 0 {
				return "", r.fail(start)
			}
			i += size - 1
		}
	}
	return "", r.fail(start)
}

// escapeLen is the length of the escape sequence at the start of s, zero if it
// is none.
func escapeLen(s string) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(s[2:]); ok {
			return 6
		}
	}
	return 0
}

// word reads a number, true, false or null. A fault is reported at its first
// character.
func (r *reader) word() (Element, error) {
	start := r.pos
	for r.pos < len(r.s) && !delimiter(r.s[r.pos]) {
		r.pos++
	}
	raw := r.s[start:r.pos]
	switch {
	case raw == "null":
		return Element{Null, raw}, nil
	case raw == "true", raw == "false":
		return Element{Bool, raw}, nil
	case isNumber(raw):
		return Element{Number, raw}, nil
	}
	r.pos = start
	return Element{}, r.fail(start)
}

func delimiter(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', ',', ':', '[', ']', '{', '}', '"':
		return true
	}
	return false
}

// isNumber reports whether s is a number by JSON's grammar.
func isNumber(s string) bool {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	n := digits(s[i:])
	if n == 0 || n > 1 && s[i] == '0' {
		return false
	}
	i += n
	if i < len(s) && s[i] == '.' {
		n := digits(s[i+1:])
		if n == 0 {
			return false
		}
		i += 1 + n
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		n := digits(s[i:])
		if n == 0 {
			return false
		}
		i += n
	}
	return i == len(s)
}

// digits is the number of decimal digits that s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// IsJSON reports whether text is one object or array and nothing else. The
// error is 13606, for text that is nested too deeply.
func IsJSON(text string) (bool, error) {
	r := reader{s: text}
	if r.root() != nil {
		return false, nil
	}
	if _, err := r.value(); err != nil {
		var e *sqlerr.Error
		if errors.As(err, &e) && e.Number == 13606 {
			return false, err
		}
		return false, nil
	}
	return r.end() == nil, nil
}

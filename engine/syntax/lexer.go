package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"loopbroker/engine/sqlerr"
)

// lexer cuts a text into tokens, one a call.
type lexer struct {
	text   string
	pos    int
	line   int32
	quoted bool // QUOTED_IDENTIFIER is on
}

// next returns the next token. At the end of the text it returns tEOF for ever.
func (l *lexer) next() token {
	if bad, ok := l.skipBlank(); !ok {
		return bad
	}
	t := token{off: int32(l.pos), line: l.line}
	if l.pos >= len(l.text) {
		t.end = t.off
		return t
	}
	c := l.text[l.pos]
	switch {
	case isWordStart(c):
		if (c == 'N' || c == 'n') && l.pos+1 < len(l.text) {
			if q := l.text[l.pos+1]; q == '\'' || q == '"' && !l.quoted {
				l.pos++
				l.quotedText(&t, tNString, q)
				break
			}
		}
		l.wordText(&t)
	case '0' <= c && c <= '9', c == '.' && isDigit(l.at(1)):
		l.number(&t)
	case c == '@':
		l.variable(&t)
	case c == '\'':
		l.quotedText(&t, tString, c)
	case c == '"':
		kind := tString
		if l.quoted {
			kind = tQuoted
		}
		l.quotedText(&t, kind, c)
	case c == '[':
		l.quotedText(&t, tQuoted, ']')
	case c == '$':
		l.dollar(&t)
	case c >= utf8.RuneSelf:
		l.wide(&t)
	default:
		l.operator(&t, c)
	}
	t.end = int32(l.pos)
	return t
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWordStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '#'
}

func isWordPart(c byte) bool {
	return isWordStart(c) || isDigit(c) || c == '@' || c == '$'
}

// at returns the byte n places ahead, or 0 past the end.
func (l *lexer) at(n int) byte {
	if l.pos+n < len(l.text) {
		return l.text[l.pos+n]
	}
	return 0
}

// skipBlank skips white space and comments. It is not ok, and returns the error
// token, when a comment does not end.
func (l *lexer) skipBlank() (token, bool) {
	for l.pos < len(l.text) {
		c := l.text[l.pos]
		switch {
		case c == '\n':
			l.line++
			l.pos++
		case c <= ' ':
			l.pos++
		case c == '-' && l.at(1) == '-':
			if n := strings.IndexByte(l.text[l.pos:], '\n'); n >= 0 {
				l.pos += n
			} else {
				l.pos = len(l.text)
			}
		case c == '/' && l.at(1) == '*':
			t := token{kind: tBadComment, off: int32(l.pos), line: l.line}
			if !l.comment() {
				t.end = int32(l.pos)
				return t, false
			}
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(l.text[l.pos:])
			if !unicode.IsSpace(r) {
				return token{}, true
			}
			l.pos += n
		default:
			return token{}, true
		}
	}
	return token{}, true
}

// comment skips a block comment, nested ones included, and reports whether it
// ends.
func (l *lexer) comment() bool {
	depth := 0
	for l.pos < len(l.text) {
		switch c := l.text[l.pos]; {
		case c == '\n':
			l.line++
			l.pos++
		case c == '/' && l.at(1) == '*':
			depth++
			l.pos += 2
		case c == '*' && l.at(1) == '/':
			depth--
			l.pos += 2
			if depth == 0 {
				return true
			}
		default:
			l.pos++
		}
	}
	return false
}

// wordText reads an unquoted identifier that begins at pos.
func (l *lexer) wordText(t *token) {
	t.kind = tWord
	start := l.pos
	l.wordRest()
	t.word = lookupWord(l.text[start:l.pos])
}

// wordRest skips the characters that may continue an identifier.
func (l *lexer) wordRest() {
	for l.pos < len(l.text) {
		c := l.text[l.pos]
		if c < utf8.RuneSelf {
			if !isWordPart(c) {
				return
			}
			l.pos++
			continue
		}
		r, n := utf8.DecodeRuneInString(l.text[l.pos:])
		if !unicode.In(r, unicode.L, unicode.Nd, unicode.Mn, unicode.Mc, unicode.Pc, unicode.Nl) {
			return
		}
		l.pos += n
	}
}

// wide reads a token that begins with a character outside ASCII: an identifier
// or a money literal with another sign than $.
func (l *lexer) wide(t *token) {
	r, n := utf8.DecodeRuneInString(l.text[l.pos:])
	switch {
	case unicode.In(r, unicode.L, unicode.Nl):
		l.pos += n
		l.wordRest()
		t.kind = tWord
	case unicode.Is(unicode.Sc, r):
		l.pos += n
		l.amount()
		t.kind = tMoney
	default:
		l.pos += n
		t.kind = tOther
	}
}

func (l *lexer) variable(t *token) {
	t.kind = tVariable
	if l.at(1) == '@' {
		t.kind = tGlobal
		l.pos++
	}
	l.pos++
	l.wordRest()
}

// dollar reads a money literal, or a pseudo-column such as $action.
func (l *lexer) dollar(t *token) {
	l.pos++
	if isWordStart(l.at(0)) {
		l.wordRest()
		t.kind = tWord
		return
	}
	l.amount()
	t.kind = tMoney
}

// amount skips digits with at most one point.
func (l *lexer) amount() {
	l.digits()
	if l.at(0) == '.' {
		l.pos++
		l.digits()
	}
}

func (l *lexer) digits() {
	for l.pos < len(l.text) && isDigit(l.text[l.pos]) {
		l.pos++
	}
}

func (l *lexer) number(t *token) {
	if l.text[l.pos] == '0' && (l.at(1) == 'x' || l.at(1) == 'X') {
		l.binary(t)
		return
	}
	start := l.pos
	l.digits()
	t.kind = tInt
	if l.at(0) == '.' {
		t.kind = tDecimal
		l.pos++
		l.digits()
	}
	if c := l.at(0); (c == 'e' || c == 'E') && l.pos > start {
		// T-SQL reads 1e as 1e0.
		t.kind = tFloat
		l.pos++
		if s := l.at(0); s == '+' || s == '-' {
			l.pos++
		}
		l.digits()
	}
}

// binary reads 0x and its digits; a backslash at the end of a line continues
// the literal on the next line.
func (l *lexer) binary(t *token) {
	t.kind = tBinary
	l.pos += 2
	for {
		switch c := l.at(0); {
		case isDigit(c), 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
			l.pos++
		case c == '\\' && l.at(1) == '\n':
			l.pos += 2
			l.line++
			t.escaped = true
		case c == '\\' && l.at(1) == '\r' && l.at(2) == '\n':
			l.pos += 3
			l.line++
			t.escaped = true
		default:
			return
		}
	}
}

// quotedText reads from the opening quote at pos to the closing one, which is
// doubled to stand for itself.
func (l *lexer) quotedText(t *token, kind tokenKind, closing byte) {
	t.kind = kind
	l.pos++
	for {
		n := strings.IndexByte(l.text[l.pos:], closing)
		if n < 0 {
			l.pos = len(l.text)
			t.kind = tBadQuote
			return
		}
		part := l.text[l.pos : l.pos+n]
		if lines := strings.Count(part, "\n"); lines > 0 {
			l.line += int32(lines)
			if kind != tQuoted && (strings.Contains(part, "\\\n") || strings.Contains(part, "\\\r\n")) {
				t.escaped = true
			}
		}
		l.pos += n + 1
		if l.at(0) != closing {
			return
		}
		t.escaped = true
		l.pos++
	}
}

func (l *lexer) operator(t *token, c byte) {
	t.kind = singles[c]
	l.pos++
	if t.kind == tEOF {
		t.kind = tOther
		return
	}
	if kind := pair(c, l.at(0)); kind != tEOF {
		t.kind = kind
		l.pos++
	}
}

// continuation joins the lines of a literal that a backslash at the end of a
// line breaks.
var continuation = strings.NewReplacer("\\\r\n", "", "\\\n", "")

// decode returns what a quoted token stands for.
func (l *lexer) decode(t token) string {
	raw := l.text[t.off:t.end]
	closing := raw[len(raw)-1]
	raw = raw[1 : len(raw)-1]
	if t.kind == tNString {
		raw = raw[1:]
	}
	if !t.escaped {
		return raw
	}
	if t.kind != tQuoted {
		raw = continuation.Replace(raw)
	}
	q := string(closing)
	return strings.ReplaceAll(raw, q+q, q)
}

// near returns the words in which an error message names the token.
func (l *lexer) near(t token) string {
	switch t.kind {
	case tString, tNString, tQuoted:
		return l.decode(t)
	case tBadQuote:
		return strings.TrimLeft(l.text[t.off:t.end], "nN")[1:]
	}
	return l.text[t.off:t.end]
}

// maxNear bounds the part of the batch that a message quotes, in runes.
const maxNear = 512

// clip shortens a quoted part of the batch.
func clip(s string) string {
	n := 0
	for i := range s {
		if n == maxNear {
			return s[:i]
		}
		n++
	}
	return s
}

// lexError returns the error of a token that the lexer could not read.
func (l *lexer) lexError(t token) *sqlerr.Error {
	if t.kind == tBadComment {
		return sqlerr.New(113).At(t.line)
	}
	return sqlerr.New(105, clip(l.near(t))).At(t.line)
}

package json

import (
	"strings"
	"unicode/utf8"
)

// maxSteps is the number of steps that a path may have.
const maxSteps = 128

// Path is a parsed SQL path, such as lax $.a[0]."b c".
type Path struct {
	// Strict makes an absent value an error instead of NULL.
	Strict bool
	// Append makes Modify add to the array that the path names.
	Append bool
	steps  []step
}

// step is one step of a path: a name, or an index if name is not used.
type step struct {
	name    string // in canonical form
	index   uint32
	isIndex bool
}

// Root reports whether the path is $ alone.
func (p *Path) Root() bool { return len(p.steps) == 0 }

// RootPath is the path $.
func RootPath() *Path { return &Path{} }

// KeyPath is the path $."name" for the given name, which is taken literally.
func KeyPath(name string) *Path { return &Path{steps: []step{{name: name}}} }

// ParsePath parses the path of JSON_VALUE, JSON_QUERY and OPENJSON. Errors are
// 13607 and 13606.
func ParsePath(text string) (*Path, error) { return parsePath(text, false) }

// ParseModifyPath parses the path of JSON_MODIFY, which may begin with append.
func ParseModifyPath(text string) (*Path, error) { return parsePath(text, true) }

// pathParser reads a path. The states of its errors are SQL Server's: they say
// what was read when the parser stopped.
type pathParser struct {
	s   string
	pos int
}

const (
	stateEnd        = 14 // the end, punctuation or a digit
	stateAfterIndex = 15
	stateIndexRange = 16
	stateEscape     = 17
	stateUnclosed   = 20
	stateIndex      = 21
	stateSegment    = 22
)

func parsePath(text string, modify bool) (*Path, error) {
	p := pathParser{s: text}
	path := &Path{}
	p.space()
	if modify && p.keyword("append") {
		path.Append = true
		p.space()
	}
	if p.keyword("strict") {
		path.Strict = true
	} else {
		p.keyword("lax")
	}
	p.space()
	if p.pos >= len(p.s) || p.s[p.pos] != '$' {
		if p.keyword("append") {
			p.pos -= len("append")
			return nil, p.failAt(p.pos, stateEnd)
		}
		return nil, p.fail(stateSegment)
	}
	p.pos++
	for {
		p.space()
		if p.pos == len(p.s) {
			return path, nil
		}
		s, err := p.step()
		if err != nil {
			return nil, err
		}
		if len(path.steps) == maxSteps {
			return nil, tooDeep(4)
		}
		path.steps = append(path.steps, s)
	}
}

func (p *pathParser) failAt(at int, state uint8) error { return formatError(13607, state, p.s, at) }

// fail reports the character at the current position. The grammar's own
// characters and the end have a state of their own.
func (p *pathParser) fail(state uint8) error {
	if p.pos >= len(p.s) || strings.IndexByte(`$.[]"0123456789`, p.s[p.pos]) >= 0 {
		state = stateEnd
	}
	return p.failAt(p.pos, state)
}

func (p *pathParser) space() {
	for p.pos < len(p.s) {
		switch p.s[p.pos] {
		case ' ', '\t', '\n', '\f', '\r':
			p.pos++
		default:
			return
		}
	}
}

// keyword reads word if it stands here as a whole word.
func (p *pathParser) keyword(word string) bool {
	rest := p.s[p.pos:]
	if !strings.HasPrefix(rest, word) || len(rest) > len(word) && nameByte(rest[len(word)]) {
		return false
	}
	p.pos += len(word)
	return true
}

func nameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (p *pathParser) step() (step, error) {
	switch p.s[p.pos] {
	case '.':
		p.pos++
		p.space()
		if p.pos < len(p.s) && p.s[p.pos] == '"' {
			return p.quoted()
		}
		start := p.pos
		if p.pos == len(p.s) || !nameByte(p.s[p.pos]) || digits(p.s[p.pos:]) > 0 {
			return step{}, p.fail(stateSegment)
		}
		for p.pos < len(p.s) && nameByte(p.s[p.pos]) {
			p.pos++
		}
		return step{name: p.s[start:p.pos]}, nil
	case '[':
		p.pos++
		return p.index()
	}
	return step{}, p.fail(stateSegment)
}

func (p *pathParser) quoted() (step, error) {
	start := p.pos + 1
	for i := start; i < len(p.s); i++ {
		switch p.s[i] {
		case '"':
			p.pos = i + 1
			p.space()
			if p.pos < len(p.s) && p.s[p.pos] != '.' && p.s[p.pos] != '[' {
				return step{}, p.failAt(p.pos, stateEnd)
			}
			return step{name: canonical(p.s[start:i])}, nil
		case '\\':
			size := escapeLen(p.s[i:])
			if size == 0 {
				return step{}, p.badEscape(i + 1)
			}
			i += size - 1
		}
	}
	return step{}, p.failAt(len(p.s), stateUnclosed)
}

// badEscape reports the escape whose letter is at byte offset at; a \u sequence
// is read whole before it is judged.
func (p *pathParser) badEscape(at int) error {
	if at < len(p.s) && p.s[at] == 'u' {
		for range 4 {
			_, size := utf8.DecodeRuneInString(p.s[min(at, len(p.s)):])
			at += max(size, 1)
		}
	}
	return p.failAt(min(at, len(p.s)), stateEscape)
}

func (p *pathParser) index() (step, error) {
	p.space()
	if p.pos == len(p.s) || digits(p.s[p.pos:]) == 0 {
		return step{}, p.fail(stateIndex)
	}
	var n uint32
	for p.pos < len(p.s) && digits(p.s[p.pos:p.pos+1]) == 1 {
		m := n*10 + uint32(p.s[p.pos]-'0')
		if m < n {
			return step{}, p.failAt(p.pos, stateIndexRange)
		}
		n = m
		p.pos++
	}
	p.space()
	if p.pos == len(p.s) || p.s[p.pos] != ']' {
		return step{}, p.fail(stateAfterIndex)
	}
	p.pos++
	return step{index: n, isIndex: true}, nil
}

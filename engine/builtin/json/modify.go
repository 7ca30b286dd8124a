package json

import (
	"strings"

	"loopbroker/engine/sqlerr"
)

// modifyState is the state that JSON_MODIFY gives to error 13609.
const modifyState = 7

// Modify is JSON_MODIFY: text with the value at p replaced by value, which is
// JSON text; null says that the new value is SQL's NULL. Every other character
// stays as it is. What a path does that names nothing, and what NULL does,
// is documented for JSON_MODIFY:
//
//	                lax                          strict
//	name exists     replace; NULL deletes        replace; NULL stores null
//	name absent     insert; NULL does nothing    error 13608
//	index exists    replace; NULL stores null    replace; NULL stores null
//	index absent    nothing                      error 13608
func Modify(text string, p *Path, value string, null bool) (string, error) {
	if p.Root() && !p.Append {
		return "", sqlerr.New(13619)
	}
	if null {
		value = "null"
	}
	m := modifier{reader: reader{s: text, state: modifyState}, path: p, json: value, null: null}
	if err := m.root(); err != nil {
		return "", err
	}
	applied, err := m.apply(p.steps)
	if err != nil {
		return "", err
	}
	if !applied {
		if p.Strict {
			return "", sqlerr.WithState(13608, 2)
		}
		return text, nil
	}
	if err := m.end(); err != nil {
		return "", err
	}
	return text[:m.from] + m.with + text[m.to:], nil
}

// modifier reads a whole text and notes the one edit that the path asks for.
type modifier struct {
	reader
	path *Path
	json string
	null bool

	from, to int // what the edit replaces
	with     string
}

func (m *modifier) edit(from, to int, with string) { m.from, m.to, m.with = from, to, with }

// apply reads the value that follows and reports whether the path could be
// applied to it. If not, the text may be left half read.
func (m *modifier) apply(steps []step) (bool, error) {
	if len(steps) == 0 {
		return m.target()
	}
	c := m.peek()
	if c != '{' && c != '[' {
		_, err := m.value()
		return false, err
	}
	kind := Array
	if c == '{' {
		kind = Object
	}
	if steps[0].isIndex != (kind == Array) {
		return false, nil
	}
	if kind == Array {
		return m.inArray(steps)
	}
	return m.inObject(steps)
}

// target is the value that the path names.
func (m *modifier) target() (bool, error) {
	m.space()
	start := m.pos
	e, err := m.value()
	if err != nil {
		return false, err
	}
	if !m.path.Append {
		m.edit(start, m.pos, m.json)
		return true, nil
	}
	if e.Kind != Array {
		if m.path.Strict {
			return false, sqlerr.New(13621)
		}
		m.edit(start, start, "")
		return true, nil
	}
	with := m.json
	if strings.TrimSpace(e.Raw[1:len(e.Raw)-1]) != "" {
		with = "," + with
	}
	m.edit(m.pos-1, m.pos-1, with)
	return true, nil
}

func (m *modifier) inArray(steps []step) (bool, error) {
	applied := false
	for i, first := uint32(0), true; ; i, first = i+1, false {
		more, err := m.next(Array, first)
		if err != nil || !more {
			return applied, err
		}
		if i != steps[0].index {
			_, err = m.value()
		} else if applied, err = m.apply(steps[1:]); !applied && err == nil {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// inObject applies the path to the first member of its name.
func (m *modifier) inObject(steps []step) (bool, error) {
	applied, empty := false, true
	comma := -1 // the comma before the member that is read
	for first := true; ; first = false {
		before := m.afterSpace()
		more, err := m.next(Object, first)
		if err != nil {
			return false, err
		}
		if !more {
			if !applied {
				applied = m.insert(steps, empty)
			}
			return applied, nil
		}
		empty = false
		if !first {
			comma = before
		}
		start := m.pos
		name, err := m.key()
		if err != nil {
			return false, err
		}
		if applied || name != steps[0].name {
			if _, err := m.value(); err != nil {
				return false, err
			}
			continue
		}
		if len(steps) == 1 && m.null && !m.path.Strict && !m.path.Append {
			if err := m.remove(comma, start); err != nil {
				return false, err
			}
			applied = true
			continue
		}
		if applied, err = m.apply(steps[1:]); err != nil || !applied {
			return false, err
		}
	}
}

// afterSpace is the offset of the next character that is not white space.
func (m *modifier) afterSpace() int {
	m.space()
	return m.pos
}

// remove deletes the member that starts at start, with one comma.
func (m *modifier) remove(comma, start int) error {
	if _, err := m.value(); err != nil {
		return err
	}
	switch {
	case comma >= 0:
		m.edit(comma, m.pos, "")
	case m.peek() == ',':
		m.edit(start, m.pos+1, "")
	default:
		m.edit(start, m.pos, "")
	}
	return nil
}

// insert adds a member at the closing brace, which has just been read. It
// reports whether the path allows that.
func (m *modifier) insert(steps []step, empty bool) bool {
	if len(steps) > 1 || m.path.Strict {
		return false
	}
	at := m.pos - 1
	if m.null && !m.path.Append {
		m.edit(at, at, "")
		return true
	}
	with := `"` + steps[0].name + `":`
	if m.path.Append {
		with += "[" + m.json + "]"
	} else {
		with += m.json
	}
	if !empty {
		with = "," + with
	}
	m.edit(at, at, with)
	return true
}

package json

import "loopbroker/engine/sqlerr"

// MaxValue is the number of characters that JSON_VALUE returns at most.
const MaxValue = 4000

// outcome says how the search for a path ended.
type outcome uint8

const (
	found   outcome = iota
	settled         // absent, known without reading on
	passed          // absent, known after reading a whole value; the next token is judged too
)

// find looks for steps in the value that follows.
func (r *reader) find(steps []step, inside uint8) (Element, outcome, error) {
	if len(steps) == 0 {
		r.state = inside
		e, err := r.value()
		return e, found, err
	}
	c := r.peek()
	if c != '{' && c != '[' {
		_, err := r.value()
		return Element{}, passed, err
	}
	if r.depth > maxDepth {
		return Element{}, settled, tooDeep(1)
	}
	kind := Array
	if c == '{' {
		kind = Object
	}
	if steps[0].isIndex != (kind == Array) {
		return r.wrongKind(kind)
	}
	for i, first := uint32(0), true; ; i, first = i+1, false {
		more, err := r.next(kind, first)
		if err != nil {
			return Element{}, settled, err
		}
		if !more {
			return Element{}, passed, nil
		}
		match := i == steps[0].index
		if kind == Object {
			match, err = r.keyIs(steps, inside)
			if err != nil {
				return Element{}, settled, err
			}
		}
		if match {
			return r.member(kind, steps[1:], inside)
		}
		if _, err := r.value(); err != nil {
			return Element{}, settled, err
		}
	}
}

// keyIs reads a member's name and reports whether it is the one that steps begin with.
func (r *reader) keyIs(steps []step, inside uint8) (bool, error) {
	if r.peek() != '"' {
		return false, r.fail(r.pos)
	}
	raw, err := r.str()
	if err != nil {
		return false, err
	}
	match := canonical(raw[1:len(raw)-1]) == steps[0].name
	if match && len(steps) == 1 {
		r.state = inside
	}
	if r.peek() != ':' {
		return false, r.fail(r.pos)
	}
	r.pos++
	return match, nil
}

// member goes on in the member of a container that the path names.
func (r *reader) member(kind Kind, steps []step, inside uint8) (Element, outcome, error) {
	e, how, err := r.find(steps, inside)
	if err != nil || how != passed {
		return e, how, err
	}
	more, err := r.next(kind, false)
	if err != nil || !more {
		return e, passed, err
	}
	if kind == Object {
		if r.peek() != '"' {
			return e, settled, r.fail(r.pos)
		}
		_, err = r.str()
	} else if c := r.peek(); c == ']' || c == 0 {
		err = r.fail(r.pos)
	}
	return e, settled, err
}

// wrongKind settles a step that the container which follows cannot have: its
// first member is looked at, nothing more.
func (r *reader) wrongKind(kind Kind) (Element, outcome, error) {
	more, err := r.next(kind, true)
	if err != nil || !more {
		return Element{}, passed, err
	}
	switch c := r.peek(); {
	case c == '"':
		_, err = r.str()
	case kind == Object:
		err = r.fail(r.pos)
	case c != '{' && c != '[':
		_, err = r.word()
	}
	return Element{}, settled, err
}

// lookup finds p in text. inside is the state of error 13609 once the reader is
// in the value that the path names, before is the state until then.
func lookup(text string, p *Path, before, inside uint8) (Element, bool, error) {
	r := reader{s: text, state: before}
	if p.Root() {
		r.state = inside
	}
	if err := r.root(); err != nil {
		return Element{}, false, err
	}
	e, how, err := r.find(p.steps, inside)
	if err == nil && how == passed {
		err = r.end()
	}
	return e, err == nil && how == found, err
}

// within finds p in an element that has been read and is known to be valid.
func within(e Element, p *Path) (Element, bool, error) {
	r := reader{s: e.Raw, state: 1}
	got, how, err := r.find(p.steps, 1)
	return got, err == nil && how == found, err
}

// Value is JSON_VALUE: the scalar at p as text; ok is false for NULL. A text of
// more than MaxValue characters is NULL, an error in strict mode, or cut if cut
// is set, which is how a document of a bounded type is treated.
func Value(text string, p *Path, cut bool) (value string, ok bool, err error) {
	e, exists, err := lookup(text, p, 1, 1)
	if err != nil {
		return "", false, err
	}
	value, ok, err = scalar(e, exists, p.Strict, 1, 2)
	if err != nil || !ok || len(value) <= MaxValue || units(value) <= MaxValue {
		return value, ok, err
	}
	if cut {
		return cutUnits(value, MaxValue), true, nil
	}
	if p.Strict {
		return "", false, sqlerr.New(13625)
	}
	return "", false, nil
}

// scalar turns a found or absent element into the text of a scalar. The two
// states are those of errors 13608 and 13623.
func scalar(e Element, exists, strict bool, absent, other uint8) (string, bool, error) {
	switch {
	case !exists && strict:
		return "", false, sqlerr.WithState(13608, absent)
	case !exists || e.Kind == Null:
		return "", false, nil
	case e.Scalar():
		return e.Text(), true, nil
	case strict:
		return "", false, sqlerr.WithState(13623, other)
	}
	return "", false, nil
}

// Query is JSON_QUERY: the object or array at p as it stands in text; ok is
// false for NULL.
func Query(text string, p *Path) (value string, ok bool, err error) {
	e, exists, err := lookup(text, p, 1, 1)
	if err != nil {
		return "", false, err
	}
	return container(e, exists, p.Strict, 1, 2)
}

// container is scalar's counterpart; the states are those of 13608 and 13624.
func container(e Element, exists, strict bool, absent, other uint8) (string, bool, error) {
	switch {
	case !exists && strict:
		return "", false, sqlerr.WithState(13608, absent)
	case !exists || e.Kind == Null:
		return "", false, nil
	case !e.Scalar():
		return e.Raw, true, nil
	case strict:
		return "", false, sqlerr.WithState(13624, other)
	}
	return "", false, nil
}

// Exists is JSON_PATH_EXISTS: it reports whether text is JSON that has a value
// at p.
func Exists(text string, p *Path) (bool, error) {
	valid, err := IsJSON(text)
	if err != nil || !valid {
		return false, err
	}
	_, ok, err := lookup(text, p, 1, 1)
	return ok, err
}

// cutUnits cuts s to n UTF-16 code units, never in the middle of a character.
func cutUnits(s string, n int) string {
	for i := range len(s) {
		if size := unitsOf(s[i]); size > 0 {
			if n < size {
				return s[:i]
			}
			n -= size
		}
	}
	return s
}

package json

import (
	"strconv"

	"loopbroker/engine/sqlerr"
)

// States of error 13609 in OPENJSON: until the value is reached, and in it.
const (
	openBefore = 3
	openInside = 4
)

// Rows are the rows of OPENJSON. The text of the value has been read whole, so
// that iterating cannot fail.
type Rows struct {
	reader
	kind   Kind
	single bool // WITH over an object: the object itself is the row
	first  bool
	done   bool
	index  int
}

// Item is one row of OPENJSON.
type Item struct {
	// Key is the name of the member, or its index in an array.
	Key string
	Element
}

// Open starts OPENJSON(text, p). With columns (a WITH clause) an object gives
// one row and an array one for each element; without, each member gives one.
// A path that leads nowhere gives no rows, in strict mode error 13608, or 13611
// if it leads to a scalar.
func Open(text string, p *Path, columns bool) (*Rows, error) {
	e, exists, err := lookup(text, p, openBefore, openInside)
	if err != nil {
		return nil, err
	}
	if !exists || e.Scalar() {
		if !p.Strict {
			return &Rows{done: true}, nil
		}
		if !exists {
			return nil, sqlerr.New(13608)
		}
		state := uint8(1)
		if columns {
			state = 2
		}
		return nil, sqlerr.WithState(13611, state)
	}
	return &Rows{reader: reader{s: e.Raw}, kind: e.Kind, single: columns && e.Kind == Object, first: true}, nil
}

// Next returns the next row; ok is false after the last.
func (r *Rows) Next() (item Item, ok bool) {
	if r.done {
		return Item{}, false
	}
	if r.single {
		r.done = true
		return Item{Key: "0", Element: Element{Object, r.s}}, true
	}
	more, err := r.next(r.kind, r.first)
	if err != nil || !more {
		r.done = true
		return Item{}, false
	}
	r.first = false
	if r.kind == Array {
		item.Key = strconv.Itoa(r.index)
		r.index++
	} else {
		r.space()
		start := r.pos + 1
		if _, err := r.key(); err != nil {
			r.done = true
			return Item{}, false
		}
		raw, _ := (&reader{s: r.s, pos: start - 1}).str()
		item.Key = unescape(raw[1 : len(raw)-1])
	}
	item.Element, err = r.value()
	return item, err == nil
}

// Default is the value column of the default schema; ok is false for NULL.
func (i Item) Default() (value string, ok bool) {
	if i.Kind == Null {
		return "", false
	}
	return i.Text(), true
}

// Column is the text of a column of a WITH clause; ok is false for NULL. With
// asJSON the column takes an object or array, otherwise a scalar.
func (i Item) Column(p *Path, asJSON bool) (value string, ok bool, err error) {
	e, exists, err := within(i.Element, p)
	if err != nil {
		return "", false, err
	}
	if asJSON {
		return container(e, exists, p.Strict, 6, 1)
	}
	return scalar(e, exists, p.Strict, 6, 1)
}

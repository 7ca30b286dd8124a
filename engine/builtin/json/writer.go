package json

import (
	"strings"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// ResultColumn is the name of the column that FOR JSON returns to a client.
const ResultColumn = "JSON_F52E2B61-18A1-11d1-B105-00805F49916B"

// Column is one column of a query with FOR JSON.
type Column struct {
	// Name is the alias; FOR JSON PATH makes nested objects of its dots.
	Name string
	// Raw says that the value is JSON text already: the column is JSON_QUERY,
	// JSON_MODIFY or a subquery with FOR JSON.
	Raw bool
	// Source is the exposed name of the column's table for FOR JSON AUTO, empty
	// for an expression.
	Source string
}

// Options are the options of FOR JSON.
type Options struct {
	// Auto is FOR JSON AUTO.
	Auto bool
	// Root is the name of ROOT, nil without it.
	Root *string
	// IncludeNulls is INCLUDE_NULL_VALUES.
	IncludeNulls bool
	// NoWrapper is WITHOUT_ARRAY_WRAPPER.
	NoWrapper bool
}

// node is one property of the object that a row becomes.
type node struct {
	name     string
	column   int // -1 for an object
	children []*node
}

// level is one nesting level of FOR JSON AUTO; FOR JSON PATH has one.
type level struct {
	name string // the property that holds the array of this level
	root node
	last string // the members of the object that is open
	rows int    // objects in the open array
}

// Writer makes the text of FOR JSON from rows.
type Writer struct {
	columns []Column
	options Options
	levels  []*level
	buf     []byte
	rows    int
}

// NewWriter returns a writer for the given columns. It reports what SQL Server
// refuses: 13600, 13601, 13603, 13605 and 13620.
func NewWriter(columns []Column, options Options) (*Writer, error) {
	if options.Root != nil && options.NoWrapper {
		return nil, sqlerr.New(13620)
	}
	for _, c := range columns {
		if c.Name == "" {
			return nil, sqlerr.New(13605)
		}
	}
	w := &Writer{columns: columns, options: options}
	var err error
	if options.Auto {
		err = w.planAuto()
	} else {
		err = w.planPath()
	}
	if err != nil {
		return nil, err
	}
	if options.Root != nil {
		w.buf = append(AppendString(append(w.buf, '{'), *options.Root), ':')
	}
	if !options.NoWrapper {
		w.buf = append(w.buf, '[')
	}
	return w, nil
}

// planPath makes the tree of properties from the names.
func (w *Writer) planPath() error {
	l := &level{root: node{column: -1}}
	for i, c := range w.columns {
		parts := strings.Split(c.Name, ".")
		at := &l.root
		for j, part := range parts {
			if part == "" {
				return sqlerr.New(13603, c.Name)
			}
			leaf := j == len(parts)-1
			next, ok := at.child(part, leaf)
			if !ok {
				return sqlerr.New(13601, c.Name)
			}
			if leaf {
				next.column = i
			}
			at = next
		}
	}
	w.levels = []*level{l}
	return nil
}

// child returns the property to put a column into. The columns of one object
// must follow each other.
func (n *node) child(name string, leaf bool) (*node, bool) {
	for i, c := range n.children {
		if c.name != name {
			continue
		}
		return c, !leaf && c.column < 0 && i == len(n.children)-1
	}
	c := &node{name: name, column: -1}
	n.children = append(n.children, c)
	return c, true
}

// planAuto makes a level of each table, in the order of their first columns. An
// expression belongs to the table before it.
func (w *Writer) planAuto() error {
	byName := map[string]*level{}
	var pending []*node
	var at *level
	for i, c := range w.columns {
		n := &node{name: c.Name, column: i}
		if c.Source == "" && at == nil {
			pending = append(pending, n)
			continue
		}
		if c.Source != "" {
			if at = byName[c.Source]; at == nil {
				at = &level{name: c.Source, root: node{column: -1, children: pending}}
				byName[c.Source], pending = at, nil
				w.levels = append(w.levels, at)
			}
		}
		for _, o := range at.root.children {
			if o.name == c.Name {
				return sqlerr.New(13601, c.Name)
			}
		}
		at.root.children = append(at.root.children, n)
	}
	if len(w.levels) == 0 {
		return sqlerr.New(13600)
	}
	return nil
}

// Row adds a row.
func (w *Writer) Row(row types.Row) error {
	text := make([]string, len(w.levels))
	for i, l := range w.levels {
		b, _, err := w.members(nil, &l.root, row)
		if err != nil {
			return err
		}
		text[i] = string(b)
	}
	from := 0
	if w.rows > 0 {
		for from < len(w.levels)-1 && w.levels[from].last == text[from] {
			from++
		}
		w.closeTo(from)
	}
	w.rows++
	for i := from; i < len(w.levels); i++ {
		l := w.levels[i]
		if i > from {
			if w.levels[i-1].last != "" {
				w.buf = append(w.buf, ',')
			}
			w.buf = append(AppendString(w.buf, l.name), ':', '[')
			l.rows = 0
		}
		if l.rows > 0 {
			w.buf = append(w.buf, ',')
		}
		l.rows++
		l.last = text[i]
		w.buf = append(append(w.buf, '{'), l.last...)
	}
	return nil
}

// closeTo closes the open objects down to that of level i, and the arrays that
// are in it.
func (w *Writer) closeTo(i int) {
	for j := len(w.levels) - 1; j >= i; j-- {
		w.buf = append(w.buf, '}')
		if j > i {
			w.buf = append(w.buf, ']')
		}
	}
}

// members appends the members of an object without its braces; n is how many
// there are.
func (w *Writer) members(dst []byte, of *node, row types.Row) (b []byte, n int, err error) {
	for _, c := range of.children {
		mark := len(dst)
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, c.name), ':')
		written := true
		if c.column < 0 {
			dst = append(dst, '{')
			var inner int
			if dst, inner, err = w.members(dst, c, row); err != nil {
				return nil, 0, err
			}
			dst = append(dst, '}')
			written = inner > 0
		} else if v := row[c.column]; v.IsNull() && !w.options.IncludeNulls {
			written = false
		} else if w.columns[c.column].Raw && !v.IsNull() {
			dst = append(dst, v.Text()...)
		} else if dst, err = AppendValue(dst, v); err != nil {
			return nil, 0, err
		}
		if written {
			n++
		} else {
			dst = dst[:mark]
		}
	}
	return dst, n, nil
}

// Text ends the document and returns it; ok is false if there was no row, for
// which FOR JSON gives no text at all.
func (w *Writer) Text() (text string, ok bool) {
	if w.rows == 0 {
		return "", false
	}
	w.closeTo(0)
	if !w.options.NoWrapper {
		w.buf = append(w.buf, ']')
	}
	if w.options.Root != nil {
		w.buf = append(w.buf, '}')
	}
	text = string(w.buf)
	w.buf, w.rows = nil, 0
	return text, true
}

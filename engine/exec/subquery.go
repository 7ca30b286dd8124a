package exec

import (
	"errors"

	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// errStop ends a relation early: its consumer has all it wants. It never leaves
// the package.
var errStop = errors.New("exec: enough rows")

// query is a compiled query.
type query struct {
	id         int
	root       node
	items      []evalFunc
	types      []types.Type
	correlated bool
	forClause  *forWriter
}

func (c *compiler) query(q *plan.Query) *query {
	out := &query{id: q.ID, root: c.rel(q.Root), items: c.exprs(q.Items), correlated: q.Correlated}
	for _, x := range q.Items {
		out.types = append(out.types, x.Type())
	}
	if q.For != nil {
		out.forClause = c.forWriter(q)
	}
	return out
}

// row computes the items in the current frame.
func (q *query) row(r *run) (types.Row, error) {
	r.row++
	row := make(types.Row, len(q.items))
	for i, f := range q.items {
		v, err := f(r)
		if err != nil {
			return nil, err
		}
		row[i] = v
	}
	return row, nil
}

// rows runs the query and hands over each row.
func (q *query) rows(r *run, sink func(types.Row) error) error {
	if q.forClause != nil {
		v, err := q.forClause.text(r, q)
		if err != nil || v.IsNull() {
			return err
		}
		return sink(types.Row{v})
	}
	return q.root.run(r, func() error {
		row, err := q.row(r)
		if err != nil {
			return err
		}
		return sink(row)
	})
}

// single returns the one value of a query used as a value. Error 512.
func (q *query) single(r *run) (types.Value, error) {
	if q.forClause != nil {
		return q.forClause.text(r, q)
	}
	out, n := types.Null, 0
	err := q.root.run(r, func() error {
		if n++; n > 1 {
			return sqlerr.New(512)
		}
		v, err := q.items[0](r)
		out = v
		return err
	})
	return out, err
}

// cachedValue is the state of a query that does not depend on rows around it.
type cachedValue struct{ v types.Value }

func (c *compiler) scalarQuery(n *plan.ScalarQuery) evalFunc {
	q := c.query(n.Query)
	if q.correlated {
		return q.single
	}
	return func(r *run) (types.Value, error) {
		if s, ok := r.states[q.id].(*cachedValue); ok {
			return s.v, nil
		}
		v, err := q.single(r)
		if err == nil {
			r.states[q.id] = &cachedValue{v}
		}
		return v, err
	}
}

// any reports whether the query has a row.
func (q *query) any(r *run) (bool, error) {
	found := false
	err := q.root.run(r, func() error {
		found = true
		return errStop
	})
	if found && errors.Is(err, errStop) {
		err = nil
	}
	return found, err
}

func (c *compiler) exists(n *plan.Exists) condFunc {
	q := c.query(n.Query)
	return func(r *run) (tri, error) {
		if !q.correlated {
			if s, ok := r.states[q.id].(tri); ok {
				return s, nil
			}
		}
		found, err := q.any(r)
		if err != nil {
			return isUnknown, err
		}
		if !q.correlated {
			r.states[q.id] = truth(found)
		}
		return truth(found), nil
	}
}

// valueSet holds the values of a query that IN asks for.
type valueSet struct {
	keys   map[string]struct{}
	null   bool
	values []types.Value // without duplicates, in order of appearance
}

// set collects the values of a query of one column as keys of type t.
func (q *query) set(r *run, t types.Type) (*valueSet, error) {
	if s, ok := r.states[q.id].(*valueSet); ok && !q.correlated {
		return s, nil
	}
	s := &valueSet{keys: map[string]struct{}{}}
	var key []byte
	err := q.root.run(r, func() error {
		v, err := q.items[0](r)
		if err != nil {
			return err
		}
		if v.IsNull() {
			s.null = true
			return nil
		}
		if key, err = appendKeyOf(key[:0], v, t); err != nil {
			return err
		}
		if _, ok := s.keys[string(key)]; !ok {
			s.keys[string(key)] = struct{}{}
			s.values = append(s.values, v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !q.correlated {
		r.states[q.id] = s
	}
	return s, nil
}

// appendKeyOf appends the key of v as a value of t, converting it first if it
// is of another kind.
func appendKeyOf(dst []byte, v types.Value, t types.Type) ([]byte, error) {
	if !v.IsNull() && v.Kind() != t.Kind && t.Kind != types.KindVariant && (!v.Kind().IsInteger() || !t.Kind.IsInteger()) {
		var err error
		if v, err = types.Convert(v, t, 0); err != nil {
			return dst, err
		}
	}
	return types.AppendKey(dst, v, t, false), nil
}

// keyType is the type under which values are compared by their keys.
func keyType(t types.Type, coll *types.Collation) types.Type {
	switch {
	case t.Kind.IsInteger():
		return types.TypeBigInt
	case t.Kind.IsChar():
		if t.Kind.IsUnicode() {
			t.Kind = types.KindNVarChar
		} else {
			t.Kind = types.KindVarChar
		}
		t.Length = types.Max
		if coll != nil {
			t = t.WithCollation(coll)
		}
	}
	return t
}

func (c *compiler) inQuery(n *plan.InQuery) condFunc {
	x, q, not := c.expr(n.X), c.query(n.Query), n.Not
	if q.correlated {
		return c.inCorrelated(n, x, q)
	}
	t := keyType(n.Compare, n.Collation)
	return func(r *run) (tri, error) {
		v, err := x(r)
		if err != nil {
			return isUnknown, err
		}
		s, err := q.set(r, t)
		if err != nil {
			return isUnknown, err
		}
		if len(s.keys) == 0 && !s.null {
			return truth(not), nil
		}
		if v.IsNull() {
			return isUnknown, nil
		}
		if r.keyBuf, err = appendKeyOf(r.keyBuf[:0], v, t); err != nil {
			return isUnknown, err
		}
		if _, ok := s.keys[string(r.keyBuf)]; ok {
			return truth(!not), nil
		}
		if s.null {
			return isUnknown, nil
		}
		return truth(not), nil
	}
}

func (c *compiler) inCorrelated(n *plan.InQuery, x evalFunc, q *query) condFunc {
	coll, not := n.Collation, n.Not
	return func(r *run) (tri, error) {
		v, err := x(r)
		if err != nil {
			return isUnknown, err
		}
		out, rows := isFalse, 0
		err = q.root.run(r, func() error {
			rows++
			w, err := q.items[0](r)
			switch {
			case err != nil:
				return err
			case v.IsNull() || w.IsNull():
				out = isUnknown
			case compareValues(v, w, coll) == 0:
				out = isTrue
				return errStop
			}
			return nil
		})
		if err != nil && !(errors.Is(err, errStop) && out == isTrue) {
			return isUnknown, err
		}
		if out != isUnknown && not {
			out ^= 1
		}
		return out, nil
	}
}

func (c *compiler) quantified(n *plan.Quantified) condFunc {
	l, q, op, all, coll := c.expr(n.L), c.query(n.Query), n.Op, n.All, n.Collation
	return func(r *run) (tri, error) {
		v, err := l(r)
		if err != nil {
			return isUnknown, err
		}
		out, done := truth(all), false
		err = q.root.run(r, func() error {
			w, err := q.items[0](r)
			if err != nil {
				return err
			}
			if v.IsNull() || w.IsNull() {
				out = isUnknown
				return nil
			}
			if holds(op, compareValues(v, w, coll)) != all {
				out, done = truth(!all), true
				return errStop
			}
			return nil
		})
		if err != nil && !(done && errors.Is(err, errStop)) {
			return isUnknown, err
		}
		return out, nil
	}
}

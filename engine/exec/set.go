package exec

import (
	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// rowSet finds equal rows; NULLs are equal to each other.
type rowSet struct {
	types []types.Type
	seen  map[string]struct{}
	buf   []byte
}

func newRowSet(list []types.Type) *rowSet {
	s := &rowSet{seen: map[string]struct{}{}}
	for _, t := range list {
		s.types = append(s.types, keyType(t, t.Collation))
	}
	return s
}

func (s *rowSet) key(row types.Row) error {
	s.buf = s.buf[:0]
	for i, v := range row {
		var err error
		if s.buf, err = appendKeyOf(s.buf, v, s.types[i]); err != nil {
			return err
		}
	}
	return nil
}

// add reports whether the row is new, and remembers it.
func (s *rowSet) add(row types.Row) (bool, error) {
	if err := s.key(row); err != nil {
		return false, err
	}
	if _, ok := s.seen[string(s.buf)]; ok {
		return false, nil
	}
	s.seen[string(s.buf)] = struct{}{}
	return true, nil
}

func (s *rowSet) has(row types.Row) (bool, error) {
	err := s.key(row)
	_, ok := s.seen[string(s.buf)]
	return ok, err
}

func exprTypes(list []plan.Expr) []types.Type {
	out := make([]types.Type, len(list))
	for i, x := range list {
		out[i] = x.Type()
	}
	return out
}

// dedupNode is DISTINCT.
type dedupNode struct {
	x     node
	src   int
	items []evalFunc
	types []types.Type
}

func (c *compiler) dedup(n *plan.Dedup) node {
	return &dedupNode{x: c.rel(n.X), src: n.Src, items: c.exprs(n.Items), types: exprTypes(n.Items)}
}

func (n *dedupNode) run(r *run, sink func() error) error {
	set := newRowSet(n.types)
	return n.x.run(r, func() error {
		row := make(types.Row, len(n.items))
		for i, f := range n.items {
			v, err := f(r)
			if err != nil {
				return err
			}
			row[i] = v
		}
		if ok, err := set.add(row); err != nil || !ok {
			return err
		}
		r.rows[n.src] = row
		return sink()
	})
}

// setNode is UNION, EXCEPT and INTERSECT.
type setNode struct {
	src    int
	kind   syntax.SetOpKind
	l, r   *query
	types  []types.Type
	filter condFunc
}

func (c *compiler) setOp(n *plan.SetOp) node {
	return &setNode{src: n.Src, kind: n.Kind, l: c.query(n.L), r: c.query(n.R), types: n.Columns, filter: c.conds(n.Filter)}
}

func (n *setNode) run(r *run, sink func() error) error {
	emit := func(row types.Row) error {
		r.rows[n.src] = row
		return pass(r, n.filter, sink)
	}
	if n.kind == syntax.UnionAll {
		if err := n.l.rows(r, emit); err != nil {
			return err
		}
		return n.r.rows(r, emit)
	}
	out := newRowSet(n.types)
	unique := func(row types.Row) error {
		if ok, err := out.add(row); err != nil || !ok {
			return err
		}
		return emit(row)
	}
	if n.kind == syntax.Union {
		if err := n.l.rows(r, unique); err != nil {
			return err
		}
		return n.r.rows(r, unique)
	}
	right := newRowSet(n.types)
	if err := n.r.rows(r, func(row types.Row) error {
		_, err := right.add(row)
		return err
	}); err != nil {
		return err
	}
	return n.l.rows(r, func(row types.Row) error {
		ok, err := right.has(row)
		if err != nil || ok != (n.kind == syntax.Intersect) {
			return err
		}
		return unique(row)
	})
}

// recursiveNode is a recursive common table expression, a level at a time.
type recursiveNode struct {
	id, src int
	anchor  *query
	steps   []*query
	max     int64
	filter  condFunc
}

func (c *compiler) recursive(n *plan.Recursive) node {
	out := &recursiveNode{id: n.ID, src: n.Src, anchor: c.query(n.Anchor), max: n.Max, filter: c.conds(n.Filter)}
	for _, s := range n.Steps {
		out.steps = append(out.steps, c.query(s))
	}
	return out
}

// workRows are the rows that a recursive query refers to by its own name.
type workRows struct{ rows []types.Row }

func (n *recursiveNode) run(r *run, sink func() error) error {
	var level []types.Row
	collect := func(row types.Row) error {
		level = append(level, row)
		return r.tick()
	}
	if err := n.anchor.rows(r, collect); err != nil {
		return err
	}
	for depth := int64(0); len(level) > 0; depth++ {
		for _, row := range level {
			r.rows[n.src] = row
			if err := pass(r, n.filter, sink); err != nil {
				return err
			}
		}
		work := &workRows{rows: level}
		level = nil
		for _, s := range n.steps {
			saved := r.states[n.id]
			r.states[n.id] = work
			err := s.rows(r, collect)
			r.states[n.id] = saved
			if err != nil {
				return err
			}
		}
		if n.max > 0 && depth >= n.max && len(level) > 0 {
			return sqlerr.New(530, n.max)
		}
	}
	return nil
}

// workNode reads the rows of the level before.
type workNode struct{ src, id int }

func (n *workNode) run(r *run, sink func() error) error {
	work, ok := r.states[n.id].(*workRows)
	if !ok {
		return nil
	}
	for _, row := range work.rows {
		r.rows[n.src] = row
		if err := sink(); err != nil {
			return err
		}
	}
	return nil
}

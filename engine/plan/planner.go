package plan

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// planner turns bound queries into relations that can be run.
type planner struct{ b *binder }

// query plans q. pushed are conditions on its frames from outside; repeated
// says that it runs once for each row of something.
func (p *planner) query(q *Query, repeated bool) {
	if q.planned {
		return
	}
	b := q.block
	var rel Rel
	ordered := false
	switch {
	case b.set != nil:
		rel = p.set(b)
	default:
		rel, ordered = p.block(b, repeated)
	}
	if len(b.order) > 0 && !ordered {
		rel = &Sort{X: rel, Keys: b.order, Sources: sorted(definedBy(rel)), Limit: sortLimit(b)}
	}
	rel = limit(b, rel)
	q.Root, q.planned = rel, true
	p.nested(q)
}

// sortLimit is the number of rows that a sort has to deliver, if it is known.
func sortLimit(b *block) Expr {
	if b.top != nil && !b.top.Percent && !b.top.Ties {
		return b.top.N
	}
	if b.fetch != nil && b.offset != nil {
		c, ok := b.offset.(*Const)
		if ok && !c.Value.IsNull() && c.Value.Int() == 0 {
			return b.fetch
		}
	}
	return nil
}

func limit(b *block, rel Rel) Rel {
	if b.top == nil && b.offset == nil && b.fetch == nil {
		return rel
	}
	if s, ok := rel.(*Scan); ok && s.Path.Single && b.top != nil && !b.top.Percent && atLeastOne(b.top.N) {
		return rel // a seek of one row needs no limit
	}
	l := &Limit{X: rel, Offset: b.offset, Fetch: b.fetch, Sources: sorted(definedBy(rel))}
	if b.top != nil {
		l.Top, l.Percent = b.top.N, b.top.Percent
		if b.top.Ties {
			l.Ties = b.order
		}
	}
	return l
}

func atLeastOne(x Expr) bool {
	c, ok := x.(*Const)
	return ok && !c.Value.IsNull() && c.Value.Int() >= 1
}

// nested plans the queries inside the expressions of a planned query.
func (p *planner) nested(q *Query) {
	for i := range q.Items {
		p.exprQueries(&q.Items[i])
	}
	p.relQueries(&q.Root)
}

func (p *planner) exprQueries(x *Expr) {
	(*x).visit(p.exprQueries, func(q *Query) { p.query(q, q.Correlated) })
}

func (p *planner) relQueries(r *Rel) {
	(*r).parts(p.relQueries, p.exprQueries, func(q *Query) { p.query(q, q.Correlated) })
}

// block plans a SELECT up to its order.
func (p *planner) block(b *block, repeated bool) (Rel, bool) {
	from := b.from
	if from == nil {
		from = &OneRow{}
	}
	want := b.order
	conds := b.where
	if b.grouped || b.distinct || len(b.windows) > 0 {
		want = nil
	}
	extreme := extremeOf(b)
	if extreme != nil {
		want = []SortKey{*extreme}
		conds = append(append([]Expr(nil), conds...), &IsNull{X: extreme.X.clone(), Not: true})
	}
	f := &fromPlan{planner: p, repeated: repeated, forceOrder: b.option.forceOrder}
	rel, ordered := f.plan(from, conds, want)
	if extreme != nil && ordered {
		one := &Const{Value: types.NewBigInt(1), T: types.TypeBigInt}
		rel = &Limit{X: rel, Top: one, Sources: sorted(definedBy(rel))}
	}
	if b.grouped {
		ordered = false
		rel = &Aggregation{X: rel, Src: b.aggSrc, Group: b.groups, Aggs: b.aggs, Scalar: len(b.groups) == 0}
		if len(b.having) > 0 {
			rel = &Filter{X: rel, Conds: b.having}
		}
	}
	if len(b.windows) > 0 {
		ordered = false
		rel = &Windowing{X: rel, Src: b.winSrc, Sources: sorted(definedBy(rel)), Calls: b.windows}
	}
	if b.distinct {
		ordered = false
		rel = &Dedup{X: rel, Src: b.distSrc, Items: b.rows}
	}
	return rel, ordered
}

// extremeOf returns the order in which the first row answers a query for one
// MIN or MAX of a column, nil for other queries.
func extremeOf(b *block) *SortKey {
	if !b.grouped || len(b.groups) > 0 || len(b.aggs) != 1 || len(b.aggs[0].Args) != 1 {
		return nil
	}
	a := b.aggs[0]
	c, ok := a.Args[0].(*Column)
	if !ok || (a.Name != "MIN" && a.Name != "MAX") {
		return nil
	}
	return &SortKey{X: c.clone(), Desc: a.Name == "MAX"}
}

// set plans the relation of a combined query.
func (p *planner) set(b *block) Rel {
	switch r := b.set.(type) {
	case *SetOp:
		r.Filter = append(r.Filter, b.where...)
		p.query(r.L, false)
		p.query(r.R, false)
	case *Values:
		if len(b.where) > 0 {
			return &Filter{X: r, Conds: b.where}
		}
	}
	return b.set
}

// push moves a condition on the columns of a derived table into its query.
func (p *planner) push(d *Derived, cond Expr) bool {
	if d.Query.planned || d.Query.For != nil {
		return false
	}
	return pushInto(d.Query, cond, d.Src)
}

// pushInto adds a condition, written over source src, to query q. The columns
// of src are the items of q.
func pushInto(q *Query, cond Expr, src int) bool {
	b := q.block
	if b.top != nil || b.offset != nil || b.fetch != nil || len(b.windows) > 0 || hasQuery(cond) || volatile(cond) {
		return false
	}
	ok := true
	pushed, good := substitute(cond, func(c *Column) Expr {
		if c.Src != src {
			return nil
		}
		x, fine := substitute(q.Items[c.Col], func(*Column) Expr { return nil })
		if !fine || volatile(x) {
			ok = false
			return nil
		}
		return x
	})
	if !ok || !good {
		return false
	}
	switch {
	case b.set != nil:
		return pushSet(b, pushed)
	case b.grouped:
		return pushGroup(b, pushed)
	case b.distinct:
		pushed, ok = substitute(pushed, func(c *Column) Expr {
			if c.Src != b.distSrc {
				return nil
			}
			x, fine := substitute(b.rows[c.Col], func(*Column) Expr { return nil })
			ok = ok && fine
			return x
		})
		if !ok || pushed == nil {
			return false
		}
	}
	b.where = append(b.where, pushed)
	return true
}

func pushSet(b *block, cond Expr) bool {
	s, ok := b.set.(*SetOp)
	if !ok {
		b.where = append(b.where, cond)
		_, values := b.set.(*Values)
		if !values {
			b.where = b.where[:len(b.where)-1]
		}
		return values
	}
	if s.Kind == syntax.Except {
		// Equal rows fail alike, but one side alone would let rows through.
		return false
	}
	copied, fine := substitute(cond, func(*Column) Expr { return nil })
	if !fine {
		return false
	}
	if !pushInto(s.L, cond, s.Src) {
		return false
	}
	if !pushInto(s.R, copied, s.Src) {
		s.Filter = append(s.Filter, copied)
	}
	return true
}

// pushGroup puts a condition on group columns below the grouping, others above.
func pushGroup(b *block, cond Expr) bool {
	below := true
	moved, ok := substitute(cond, func(c *Column) Expr {
		if c.Src != b.aggSrc {
			return nil
		}
		if c.Col >= len(b.groups) {
			below = false
			return nil
		}
		x, fine := substitute(b.groups[c.Col], func(*Column) Expr { return nil })
		below = below && fine
		return x
	})
	if below && ok && len(b.groups) > 0 {
		b.where = append(b.where, moved)
		return true
	}
	b.having = append(b.having, cond)
	return true
}

// filterImplied reports whether the conditions of a query make the filter of an
// index true.
func (p *planner) filterImplied(s *Scan, ix *catalog.Index, conds []Expr) bool {
	x, err := p.b.tableCondition(s.Table, s.Src, s.Name, ix.Filter)
	if err != nil {
		return false
	}
	have := map[string]bool{}
	for _, c := range conds {
		have[text(c)] = true
	}
	for _, c := range conjuncts(x) {
		if have[text(c)] {
			continue
		}
		n, ok := c.(*IsNull)
		if !ok || !n.Not || !comparesColumn(conds, text(n.X)) {
			return false
		}
	}
	return true
}

// comparesColumn reports whether a condition is true only if the column is not
// NULL.
func comparesColumn(conds []Expr, column string) bool {
	for _, c := range conds {
		switch n := c.(type) {
		case *Compare:
			if text(n.L) == column || text(n.R) == column {
				return true
			}
		case *InList:
			if !n.Not && text(n.X) == column {
				return true
			}
		}
	}
	return false
}

// tableCondition binds a condition in the text of a table definition over a
// source.
func (b *binder) tableCondition(t *catalog.Table, src int, name, condition string) (Expr, error) {
	tree, err := syntax.ParseExpr(condition, syntax.Options{QuotedIdentifier: true})
	if err != nil {
		return nil, err
	}
	in, err := b.overTable(t, src, name)
	if err != nil {
		return nil, err
	}
	return in.condition(tree)
}

// overTable returns a binder that sees the columns of t in source src.
func (b *binder) overTable(t *catalog.Table, src int, name string) (*binder, error) {
	r, err := b.tableRelation(t, src, name)
	if err != nil {
		return nil, err
	}
	in := *b
	in.ctes, in.params, in.outermost = nil, nil, false
	in.scope = &scope{rels: []*relation{r}, clause: clauseWhere}
	return &in, nil
}

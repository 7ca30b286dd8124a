package plan

import (
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// group replaces aggregates and group expressions in the parts of a query by
// columns of its aggregation, and refuses other columns.
func (b *binder) group(n *syntax.Select, q *Query) error {
	blk := q.block
	blk.grouped = true
	blk.aggSrc = b.source()
	g := &grouping{blk: blk, own: definedBy(blk.from), keys: map[string]int{}}
	for i, x := range blk.groups {
		g.keys[text(x)] = i
	}
	for i := range q.Items {
		if c, ok := q.Items[i].(*Column); ok {
			q.Columns[i].Base = c.Base
		}
		g.apply(&q.Items[i], 8120)
	}
	for i := range blk.having {
		g.apply(&blk.having[i], 8121)
	}
	for i := range blk.order {
		g.apply(&blk.order[i].X, 8127)
	}
	if g.err != nil {
		return lineOf(n, g.err)
	}
	for i := range q.Items {
		q.Columns[i].T = q.Items[i].Type()
	}
	return nil
}

// grouping rewrites expressions over an aggregation.
type grouping struct {
	blk  *block
	own  sources
	keys map[string]int
	seen map[string]int
	err  error
}

func (g *grouping) apply(p *Expr, number int32) {
	rewrite(p, func(x Expr) Expr {
		switch n := x.(type) {
		case *Aggregate:
			return g.aggregate(n)
		case *Window, *Const, *Variable:
			return nil
		case *Column:
			if i, ok := g.keys[text(n)]; ok {
				return g.key(i, n)
			}
			if g.own[n.Src] && g.err == nil {
				g.err = fail(nil, number, n.Label)
			}
			return nil
		}
		if IsCondition(x) || hasQuery(x) {
			return nil
		}
		if i, ok := g.keys[text(x)]; ok {
			return g.key(i, x)
		}
		return nil
	})
}

func (g *grouping) key(i int, x Expr) Expr {
	c := &Column{Src: g.blk.aggSrc, Col: i, T: x.Type(), Nullable: canBeNull(x), Label: text(x)}
	if o, ok := x.(*Column); ok {
		c.Name, c.Label, c.Base = o.Name, o.Label, o.Base
	}
	return c
}

func (g *grouping) aggregate(a *Aggregate) Expr {
	if g.seen == nil {
		g.seen = map[string]int{}
	}
	key := text(a)
	i, ok := g.seen[key]
	if !ok {
		i = len(g.blk.aggs)
		g.blk.aggs = append(g.blk.aggs, a)
		g.seen[key] = i
	}
	return &Column{Src: g.blk.aggSrc, Col: len(g.blk.groups) + i, T: a.T, Nullable: canBeNull(a), Label: a.Name}
}

// collectWindows replaces window calls by columns of the block's windowing.
func (b *binder) collectWindows(q *Query) {
	blk := q.block
	seen := map[string]int{}
	f := func(x Expr) Expr {
		w, ok := x.(*Window)
		if !ok {
			return nil
		}
		if len(blk.windows) == 0 {
			blk.winSrc = b.source()
		}
		key := text(w)
		i, ok := seen[key]
		if !ok {
			i = len(blk.windows)
			blk.windows = append(blk.windows, w)
			seen[key] = i
		}
		return &Column{Src: blk.winSrc, Col: i, T: w.T, Nullable: canBeNull(w), Label: w.Name}
	}
	for i := range q.Items {
		rewrite(&q.Items[i], f)
	}
	for i := range blk.order {
		rewrite(&blk.order[i].X, f)
	}
}

// distinct puts the items under a Dedup and the order over it.
func (b *binder) distinct(n *syntax.Select, q *Query) error {
	blk := q.block
	blk.distinct, blk.distSrc, blk.rows = true, b.source(), q.Items
	places := map[string]int{}
	q.Items = nil
	for i, x := range blk.rows {
		t := defaultType(x.Type())
		if t.Kind.IsLOB() || t.Kind == types.KindXML {
			return fail(n, 421, t.Kind.String())
		}
		if _, ok := places[text(x)]; !ok {
			places[text(x)] = i
		}
		q.Items = append(q.Items, distinctColumn(blk.distSrc, i, x))
	}
	for i := range blk.order {
		at, ok := places[text(blk.order[i].X)]
		if !ok {
			return fail(n, 145)
		}
		blk.order[i].X = distinctColumn(blk.distSrc, at, blk.rows[at])
	}
	return nil
}

func distinctColumn(src, i int, x Expr) Expr {
	c := &Column{Src: src, Col: i, T: defaultType(x.Type()), Nullable: canBeNull(x)}
	if o, ok := x.(*Column); ok {
		c.Name, c.Label, c.Base = o.Name, o.Label, o.Base
	}
	return c
}

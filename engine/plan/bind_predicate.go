package plan

import (
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// predicate binds the nodes that are conditions, and queries.
func (b *binder) predicate(e syntax.Expr) (Expr, error) {
	switch n := e.(type) {
	case *syntax.IsNull:
		x, err := b.value(n.X)
		if err != nil {
			return nil, err
		}
		return &IsNull{X: x, Not: n.Not}, nil
	case *syntax.IsDistinct:
		l, r, c, err := b.operands(n, "is distinct from", n.L, n.R)
		if err != nil {
			return nil, err
		}
		return &Distinct{L: l, R: r, Collation: c, Not: n.Not}, nil
	case *syntax.Between:
		return b.between(n)
	case *syntax.In:
		return b.in(n)
	case *syntax.Like:
		return b.like(n)
	case *syntax.Exists:
		q, err := b.subquery(n.Query)
		if err != nil {
			return nil, err
		}
		return &Exists{Query: q}, nil
	case *syntax.Quantified:
		return b.quantified(n)
	case *syntax.Subquery:
		q, err := b.oneColumn(n, n.Query)
		if err != nil {
			return nil, err
		}
		t := q.Items[0].Type()
		if q.For != nil { // one text of all rows
			t = types.NVarChar(types.Max)
		}
		return &ScalarQuery{Query: q, T: t}, nil
	}
	return nil, unsupported(e, "this expression")
}

// mayBeNullWord reports whether x is the NULL literal or a variable: with SET
// ANSI_NULLS OFF an equality with one of these finds NULLs.
func mayBeNullWord(x Expr) bool {
	switch n := stripConvert(x).(type) {
	case *Const:
		return n.Value.IsNull()
	case *Variable:
		return true
	}
	return false
}

// logic binds AND and OR, flattening chains without recursion on their length.
func (b *binder) logic(n *syntax.Binary) (Expr, error) {
	var parts []syntax.Expr
	var collect func(e syntax.Expr)
	collect = func(e syntax.Expr) {
		for {
			bin, ok := e.(*syntax.Binary)
			if !ok || bin.Op != n.Op {
				parts = append(parts, e)
				return
			}
			collect(bin.L)
			e = bin.R
		}
	}
	collect(n)
	list := make([]Expr, 0, len(parts))
	for _, p := range parts {
		x, err := b.condition(p)
		if err != nil {
			return nil, err
		}
		switch sub := x.(type) {
		case *And:
			if n.Op == syntax.OpAnd {
				list = append(list, sub.List...)
				continue
			}
		case *Or:
			if n.Op == syntax.OpOr {
				list = append(list, sub.List...)
				continue
			}
		}
		list = append(list, x)
	}
	if n.Op == syntax.OpAnd {
		return &And{List: list}, nil
	}
	return equalities(list), nil
}

// equalities turns x = a OR x = b into x IN (a, b), which an index can seek.
func equalities(list []Expr) Expr {
	var in *InList
	for _, e := range list {
		c, ok := e.(*Compare)
		if !ok || c.Op != syntax.OpEq {
			return &Or{List: list}
		}
		x, v := c.L, c.R
		if !isColumn(x) {
			x, v = v, x
		}
		if !isColumn(x) || readsColumns(v) {
			return &Or{List: list}
		}
		if in == nil {
			in = &InList{X: x, List: []Expr{v}, Collation: c.Collation}
			continue
		}
		if text(x) != text(in.X) || c.Collation != in.Collation || !sameComparison(v.Type(), in.List[0].Type()) {
			return &Or{List: list}
		}
		in.List = append(in.List, v)
	}
	return in
}

func sameComparison(a, b types.Type) bool {
	return a.Kind == b.Kind || (a.Kind.IsInteger() && b.Kind.IsInteger())
}

func isColumn(e Expr) bool { _, ok := e.(*Column); return ok }

func readsColumns(e Expr) bool {
	found := hasQuery(e)
	columnsOf(e, func(*Column) { found = true })
	return found
}

// operands binds both sides of a comparison and brings them to one kind.
func (b *binder) operands(n syntax.Node, op string, le, re syntax.Expr) (l, r Expr, c *types.Collation, err error) {
	if l, err = b.value(le); err != nil {
		return nil, nil, nil, err
	}
	if r, err = b.value(re); err != nil {
		return nil, nil, nil, err
	}
	return b.unify(n, op, l, r)
}

func (b *binder) unify(n syntax.Node, op string, l, r Expr) (Expr, Expr, *types.Collation, error) {
	t, err := comparisonType(op, l.Type(), r.Type())
	if err != nil {
		return nil, nil, nil, lineOf(n, err)
	}
	var c *types.Collation
	if t.Kind.IsChar() {
		if c, err = b.collation(n, op, l, r); err != nil {
			return nil, nil, nil, err
		}
	}
	return b.comparable(l, t), b.comparable(r, t), c, nil
}

// comparisonType is the type in which two operands are compared.
func comparisonType(op string, a, c types.Type) (types.Type, error) {
	for _, t := range []types.Type{a, c} {
		if t.Kind.IsLOB() || t.Kind == types.KindXML {
			if a.Kind.IsLOB() && c.Kind.IsLOB() {
				return types.Type{}, sqlerr.New(306)
			}
			return types.Type{}, sqlerr.New(402, a.Kind.String(), c.Kind.String(), op)
		}
	}
	t, err := types.Common(a, c)
	if err != nil {
		return t, err
	}
	return t, nil
}

// comparable converts x to the kind of t; whole numbers compare as they are.
func (b *binder) comparable(x Expr, t types.Type) Expr {
	k := x.Type().Kind
	if k == t.Kind || k == types.KindNull || (k.IsInteger() && t.Kind.IsInteger()) || t.Kind == types.KindVariant {
		return x
	}
	if k.IsChar() && t.Kind.IsChar() {
		t.Length = types.Max
		if t.Kind == types.KindChar || t.Kind == types.KindVarChar {
			t.Kind = types.KindVarChar
		} else {
			t.Kind = types.KindNVarChar
		}
	}
	return b.convertTo(x, t)
}

func (b *binder) between(n *syntax.Between) (Expr, error) {
	low, err := b.binary(&syntax.Binary{Pos: n.Pos, Op: syntax.OpGe, L: n.X, R: n.Low})
	if err != nil {
		return nil, err
	}
	high, err := b.binary(&syntax.Binary{Pos: n.Pos, Op: syntax.OpLe, L: n.X, R: n.High})
	if err != nil {
		return nil, err
	}
	both := &And{List: []Expr{low, high}}
	if n.Not {
		return &Not{X: both}, nil
	}
	return both, nil
}

func (b *binder) in(n *syntax.In) (Expr, error) {
	x, err := b.value(n.X)
	if err != nil {
		return nil, err
	}
	if n.Query != nil {
		q, err := b.oneColumn(n, n.Query)
		if err != nil {
			return nil, err
		}
		t, c, err := b.queryOperand(n, "equal to", x, q)
		if err != nil {
			return nil, err
		}
		return &InQuery{X: b.comparable(x, t), Query: q, Compare: t, Collation: c, Not: n.Not}, nil
	}
	list, err := b.values(n.List)
	if err != nil {
		return nil, err
	}
	t := x.Type()
	for _, e := range list {
		if t, err = comparisonType("equal to", t, e.Type()); err != nil {
			return nil, lineOf(n, err)
		}
	}
	var c *types.Collation
	if t.Kind.IsChar() {
		if c, err = b.collation(n, "equal to", append([]Expr{x}, list...)...); err != nil {
			return nil, err
		}
	}
	for i := range list {
		list[i] = b.comparable(list[i], t)
	}
	return &InList{X: b.comparable(x, t), List: list, Collation: c, Not: n.Not}, nil
}

// queryOperand finds the type in which x is compared with the column of q.
func (b *binder) queryOperand(n syntax.Node, op string, x Expr, q *Query) (types.Type, *types.Collation, error) {
	t, err := comparisonType(op, x.Type(), q.Items[0].Type())
	if err != nil {
		return t, nil, lineOf(n, err)
	}
	var c *types.Collation
	if t.Kind.IsChar() {
		c, err = b.collation(n, op, x, q.Items[0])
	}
	q.Items[0] = b.comparable(q.Items[0], t)
	return t, c, err
}

func (b *binder) quantified(n *syntax.Quantified) (Expr, error) {
	l, err := b.value(n.L)
	if err != nil {
		return nil, err
	}
	q, err := b.oneColumn(n, n.Query)
	if err != nil {
		return nil, err
	}
	t, c, err := b.queryOperand(n, operatorName[n.Op], l, q)
	if err != nil {
		return nil, err
	}
	return &Quantified{Op: n.Op, All: n.All, L: b.comparable(l, t), Query: q, Compare: t, Collation: c}, nil
}

func (b *binder) like(n *syntax.Like) (Expr, error) {
	parts := []syntax.Expr{n.X, n.Pattern}
	if n.Escape != nil {
		parts = append(parts, n.Escape)
	}
	xs, err := b.values(parts)
	if err != nil {
		return nil, err
	}
	c, err := b.collation(n, "like", xs...)
	if err != nil {
		return nil, err
	}
	for i, x := range xs {
		k := x.Type().Kind
		if k == types.KindNull || k.IsChar() {
			continue
		}
		if k.IsLOB() || k == types.KindXML {
			return nil, fail(n, 8116, k.String(), i+1, "like")
		}
		xs[i] = b.convertTo(x, types.NVarChar(types.Max))
	}
	l := &Like{X: xs[0], Pattern: xs[1], Collation: c, Not: n.Not}
	if len(xs) > 2 {
		l.Escape = xs[2]
	}
	return l, nil
}

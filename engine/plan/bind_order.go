package plan

import (
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// again binds an item once more, for a second use of it.
func (b *binder) again(it *item) (Expr, error) {
	if x, ok := substitute(it.x, func(*Column) Expr { return nil }); ok {
		return x, nil
	}
	return b.value(it.tree)
}

// orderOf binds ORDER BY: names of the select list, positions, expressions.
func (b *binder) orderOf(n *syntax.Select, at place, blk *block, items []item) error {
	if len(n.OrderBy) == 0 {
		return nil
	}
	if at != placeStatement && n.Top == nil && n.Offset == nil && n.For == nil {
		return fail(n, 1033)
	}
	b.scope.clause = clauseOrder
	for i, o := range n.OrderBy {
		x, err := b.orderItem(o.X, items, i)
		if err != nil {
			return err
		}
		if k := x.Type().Kind; k.IsLOB() || k == types.KindXML {
			return fail(o.X, 306)
		}
		blk.order = append(blk.order, SortKey{X: x, Desc: o.Desc})
	}
	return nil
}

func (b *binder) orderItem(e syntax.Expr, items []item, position int) (Expr, error) {
	switch n := stripParens(e).(type) {
	case *syntax.Literal:
		if n.Kind != syntax.LitInt {
			return nil, fail(e, 408, position+1)
		}
		i := 0
		for _, d := range n.Text {
			i = i*10 + int(d-'0')
			if i > len(items) {
				break
			}
		}
		if i < 1 || i > len(items) {
			return nil, fail(e, 108, n.Text)
		}
		return b.again(&items[i-1])
	case *syntax.ColumnRef:
		if len(n.Parts) > 1 {
			break
		}
		var found *item
		for i := range items {
			if items[i].name != "" && sameName(items[i].name, n.Parts[0].Name) {
				if found != nil && text(found.x) != text(items[i].x) {
					return nil, fail(e, 209, n.Parts[0].Name)
				}
				found = &items[i]
			}
		}
		if found != nil {
			return b.again(found)
		}
	}
	return b.value(e)
}

// bounds binds TOP, OFFSET and FETCH.
func (b *binder) bounds(n *syntax.Select, blk *block) (err error) {
	if n.Top != nil {
		if blk.top, err = b.top(n.Top); err != nil {
			return err
		}
		if n.Top.WithTies && len(n.OrderBy) == 0 {
			return fail(n, 1062)
		}
	}
	return b.offsetFetch(n.Offset, n.Fetch, blk)
}

func (b *binder) offsetFetch(offset, fetch syntax.Expr, blk *block) (err error) {
	outer := b.with(nil)
	if offset != nil {
		if blk.offset, err = outer.rowCount(offset); err != nil {
			return err
		}
	}
	if fetch != nil {
		if blk.fetch, err = outer.rowCount(fetch); err != nil {
			return err
		}
	}
	return nil
}

func (b *binder) rowCount(e syntax.Expr) (Expr, error) {
	x, err := b.value(e)
	if err != nil {
		return nil, err
	}
	if k := x.Type().Kind; !k.IsInteger() && k != types.KindNull && k != types.KindDecimal {
		return nil, fail(e, 1060)
	}
	return b.convertTo(x, types.TypeBigInt), nil
}

func (b *binder) top(n *syntax.Top) (*Top, error) {
	outer := b.with(nil)
	if b.scope != nil {
		outer = b.with(b.scope.parent)
	}
	if !n.Percent {
		x, err := outer.rowCount(n.N)
		if err != nil {
			return nil, err
		}
		return &Top{N: x, Ties: n.WithTies}, nil
	}
	x, err := outer.value(n.N)
	if err != nil {
		return nil, err
	}
	return &Top{N: b.convertTo(x, types.TypeFloat), Percent: true, Ties: n.WithTies}, nil
}

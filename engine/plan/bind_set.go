package plan

import (
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// setQuery binds UNION, EXCEPT and INTERSECT.
func (b *binder) setQuery(n *syntax.SetOp, at place) (*Query, error) {
	l, err := b.query(n.L, placeInner)
	if err != nil {
		return nil, err
	}
	r, err := b.query(n.R, placeInner)
	if err != nil {
		return nil, err
	}
	q, err := b.combine(n, n.Kind, l, r)
	if err != nil {
		return nil, err
	}
	if len(n.OrderBy) > 0 {
		if at != placeStatement && n.Offset == nil && n.For == nil {
			return nil, fail(n, 1033)
		}
		for i, o := range n.OrderBy {
			x, err := setOrder(o.X, q, i)
			if err != nil {
				return nil, err
			}
			q.block.order = append(q.block.order, SortKey{X: x, Desc: o.Desc})
		}
	}
	if err := b.offsetFetch(n.Offset, n.Fetch, q.block); err != nil {
		return nil, err
	}
	if n.For != nil {
		if err := b.forClause(n.For, q); err != nil {
			return nil, err
		}
	}
	return q, nil
}

func (b *binder) combine(n syntax.Node, kind syntax.SetOpKind, l, r *Query) (*Query, error) {
	if len(l.Items) != len(r.Items) {
		return nil, fail(n, 205)
	}
	op := &SetOp{Src: b.source(), Kind: kind, L: l, R: r}
	q := &Query{block: &block{set: op}}
	for i := range l.Items {
		pair, t, err := b.common(n, "UNION", []Expr{l.Items[i], r.Items[i]})
		if err != nil {
			return nil, err
		}
		if k := t.Kind; kind != syntax.UnionAll && (k.IsLOB() || k == types.KindXML) {
			return nil, fail(n, 5335, k.String())
		}
		t = defaultType(t)
		l.Items[i], r.Items[i] = pair[0], pair[1]
		op.Columns = append(op.Columns, t)
		out := l.Columns[i]
		out.T, out.Base, out.Computed, out.Nullable = t, nil, false, out.Nullable || r.Columns[i].Nullable
		q.Columns = append(q.Columns, out)
		q.Items = append(q.Items, &Column{Src: op.Src, Col: i, T: t, Name: out.Name, Label: out.Name, Nullable: out.Nullable})
	}
	return q, nil
}

// setOrder binds one ORDER BY item of a combined query.
func setOrder(e syntax.Expr, q *Query, position int) (Expr, error) {
	switch n := stripParens(e).(type) {
	case *syntax.Literal:
		if n.Kind == syntax.LitInt && len(n.Text) < 5 {
			i := 0
			for _, d := range n.Text {
				i = i*10 + int(d-'0')
			}
			if i >= 1 && i <= len(q.Items) {
				return q.Items[i-1].clone(), nil
			}
			return nil, fail(e, 108, n.Text)
		}
		return nil, fail(e, 408, position+1)
	case *syntax.ColumnRef:
		for i := range q.Columns {
			if len(n.Parts) == 1 && sameName(q.Columns[i].Name, n.Parts[0].Name) {
				return q.Items[i].clone(), nil
			}
		}
		return nil, fail(e, 207, dotted(n.Parts))
	}
	return nil, fail(e, 104)
}

// valuesQuery binds a row constructor used as a query.
func (b *binder) valuesQuery(n *syntax.ValuesQuery) (*Query, error) {
	v := &Values{Src: b.source()}
	for _, row := range n.Rows {
		if len(row) != len(n.Rows[0]) {
			return nil, fail(n, 10709)
		}
		xs, err := b.values(row)
		if err != nil {
			return nil, err
		}
		v.Rows = append(v.Rows, xs)
	}
	q := &Query{block: &block{set: v}}
	for i := range n.Rows[0] {
		column := make([]Expr, len(v.Rows))
		for j := range v.Rows {
			column[j] = v.Rows[j][i]
		}
		column, t, err := b.common(n, "VALUES", column)
		if err != nil {
			return nil, err
		}
		t = defaultType(t)
		null := false
		for j := range v.Rows {
			v.Rows[j][i] = column[j]
			null = null || canBeNull(column[j])
		}
		q.Columns = append(q.Columns, OutColumn{T: t, Nullable: null})
		q.Items = append(q.Items, &Column{Src: v.Src, Col: i, T: t, Nullable: null})
	}
	return q, nil
}

// forClause checks a FOR clause and records it.
func (b *binder) forClause(n *syntax.ForClause, q *Query) error {
	f := &For{Clause: n}
	if n.XML && n.Mode != "PATH" && n.Mode != "RAW" {
		return sqlerr.Unsupported("FOR XML " + n.Mode)
	}
	if !n.XML && n.Mode != "PATH" && n.Mode != "AUTO" {
		return sqlerr.Unsupported("FOR JSON " + n.Mode)
	}
	for _, c := range q.Columns {
		if c.Name == "" && !n.XML {
			return sqlerr.New(13605)
		}
		f.Levels = append(f.Levels, c.Table)
	}
	q.For = f
	return nil
}

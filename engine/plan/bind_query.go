package plan

import (
	"strings"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// place says where a query stands.
type place uint8

const (
	placeStatement place = iota
	placeInner           // derived table, CTE, view, function
	placeValue           // scalar subquery, IN
	placeExists
)

// query binds a query expression. The scope of b is the query around it.
func (b *binder) query(q syntax.QueryExpr, at place) (*Query, error) {
	lo := b.sources
	in := *b
	in.target = ""
	out, err := in.queryBody(q, at)
	if err != nil {
		return nil, err
	}
	out.ID = b.state()
	out.lo, out.hi = lo, b.sources
	out.visitExprs(func(p *Expr) {
		columnsOf(*p, func(c *Column) {
			if c.Src < lo || c.Src >= out.hi {
				out.Correlated = true
			}
		})
		if b.assigns {
			rewrite(p, func(x Expr) Expr {
				if _, ok := x.(*Variable); ok {
					out.Correlated = true
				}
				return nil
			})
		}
	})
	return out, nil
}

func (b *binder) queryBody(q syntax.QueryExpr, at place) (*Query, error) {
	switch n := q.(type) {
	case *syntax.Select:
		return b.selectQuery(n, at)
	case *syntax.SetOp:
		return b.setQuery(n, at)
	case *syntax.ValuesQuery:
		return b.valuesQuery(n)
	}
	return nil, unsupported(q, "this query")
}

// subquery binds a query inside an expression.
func (b *binder) subquery(q syntax.QueryExpr) (*Query, error) {
	if b.scope != nil && b.scope.clause == clauseAggregate {
		return nil, fail(q, 130)
	}
	return b.query(q, placeExists)
}

// oneColumn binds a subquery that must give one column.
func (b *binder) oneColumn(n syntax.Node, e syntax.QueryExpr) (*Query, error) {
	if b.scope != nil && b.scope.clause == clauseAggregate {
		return nil, fail(n, 130)
	}
	q, err := b.query(e, placeValue)
	if err != nil {
		return nil, err
	}
	if len(q.Items) != 1 {
		return nil, fail(n, 116)
	}
	return q, nil
}

// item is one expanded item of a select list.
type item struct {
	tree syntax.Expr // nil for a column of a star
	col  *relColumn
	x    Expr
	out  OutColumn
	name string // the alias, for ORDER BY
}

// selectQuery binds SELECT.
func (b *binder) selectQuery(n *syntax.Select, at place) (*Query, error) {
	s := &scope{parent: b.scope, clause: clauseOn}
	in := b.with(s)
	blk := &block{option: b.option}
	var err error
	if len(n.From) > 0 {
		if blk.from, err = in.fromList(n.From); err != nil {
			return nil, err
		}
	}
	if n.Where != nil {
		s.clause = clauseWhere
		x, err := in.condition(n.Where)
		if err != nil {
			return nil, err
		}
		blk.where = conjuncts(x)
	}
	if n.GroupBy != nil {
		if err := in.groupBy(n.GroupBy, blk); err != nil {
			return nil, err
		}
	}
	items, err := in.selectList(n, at)
	if err != nil {
		return nil, err
	}
	if n.Having != nil {
		s.clause = clauseHaving
		x, err := in.condition(n.Having)
		if err != nil {
			return nil, err
		}
		blk.having = conjuncts(x)
	}
	if err := in.orderOf(n, at, blk, items); err != nil {
		return nil, err
	}
	if err := in.bounds(n, blk); err != nil {
		return nil, err
	}
	return in.finishSelect(n, blk, items)
}

// finishSelect rewrites the parts of a bound SELECT over its aggregation,
// windows and duplicates.
func (b *binder) finishSelect(n *syntax.Select, blk *block, items []item) (*Query, error) {
	q := &Query{block: blk}
	for i := range items {
		q.Items = append(q.Items, items[i].x)
		q.Columns = append(q.Columns, items[i].out)
	}
	if blk.grouped || b.scope.aggregated || len(blk.having) > 0 {
		if err := b.group(n, q); err != nil {
			return nil, err
		}
	}
	b.collectWindows(q)
	if n.Distinct {
		if err := b.distinct(n, q); err != nil {
			return nil, err
		}
	}
	if n.For != nil {
		if err := b.forClause(n.For, q); err != nil {
			return nil, err
		}
	}
	return q, nil
}

func (b *binder) groupBy(n *syntax.GroupBy, blk *block) error {
	if len(n.Sets) > 0 {
		return unsupported(n, "GROUPING SETS, ROLLUP and CUBE")
	}
	b.scope.clause = clauseGroup
	blk.grouped = true
	for _, e := range n.Items {
		x, err := b.value(e)
		if err != nil {
			return err
		}
		if hasQuery(x) {
			return fail(e, 144)
		}
		if _, ok := x.(*Const); ok {
			return fail(e, 164)
		}
		if k := x.Type().Kind; k.IsLOB() || k == types.KindXML {
			return fail(e, 306)
		}
		blk.groups = append(blk.groups, x)
	}
	return nil
}

// selectList binds the items, with stars expanded.
func (b *binder) selectList(n *syntax.Select, at place) ([]item, error) {
	b.scope.clause = clauseSelect
	var items []item
	for i := range n.Items {
		si := &n.Items[i]
		if star, ok := si.X.(*syntax.Star); ok {
			if at == placeExists {
				items = append(items, item{x: &Const{Value: types.NewInt(1), T: types.TypeInt}})
				continue
			}
			list, err := b.star(star)
			if err != nil {
				return nil, err
			}
			items = append(items, list...)
			continue
		}
		x, err := b.value(si.X)
		if err != nil {
			return nil, err
		}
		items = append(items, item{tree: si.X, x: x, out: describeItem(si, x), name: si.Alias.Name})
	}
	return items, nil
}

// describeItem names and describes one item of a select list.
func describeItem(si *syntax.SelectItem, x Expr) OutColumn {
	out := OutColumn{T: x.Type(), Nullable: canBeNull(x)}
	if c, ok := x.(*Column); ok {
		out.Base = c.Base
		out.Table, _, _ = strings.Cut(c.Label, ".")
		if c.Base != nil {
			out.Computed = c.Base.Computed
		}
	}
	switch ref, ok := stripParens(si.X).(*syntax.ColumnRef); {
	case si.Alias.Name != "":
		out.Name, out.Alias = si.Alias.Name, true
	case ok:
		out.Name = ref.Parts[len(ref.Parts)-1].Name
		if c, isCol := x.(*Column); isCol && strings.HasPrefix(out.Name, "$") {
			out.Name = c.Name
		} else if isCol && sameName(c.Name, out.Name) {
			out.Name = c.Name
		}
	}
	return out
}

func stripParens(e syntax.Expr) syntax.Expr {
	for {
		p, ok := e.(*syntax.Paren)
		if !ok {
			return e
		}
		e = p.X
	}
}

// star expands * and t.*.
func (b *binder) star(n *syntax.Star) ([]item, error) {
	var items []item
	found := false
	for _, r := range b.scope.rels {
		if n.Qualifier != nil && !r.matches(n.Qualifier) {
			continue
		}
		found = true
		for i := range r.cols {
			c := &r.cols[i]
			if c.hidden {
				continue
			}
			x, ok := substitute(c.x, func(*Column) Expr { return nil })
			if !ok {
				return nil, unsupported(n, "a query behind this column")
			}
			out := c.out
			out.Name, out.Table = c.name, r.name
			items = append(items, item{col: c, x: x, out: out})
		}
	}
	switch {
	case !found && n.Qualifier != nil:
		return nil, fail(n, 107, dotted(n.Qualifier))
	case !found:
		return nil, fail(n, 263)
	}
	return items, nil
}

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

// canBeNull reports whether x can be NULL.
func canBeNull(x Expr) bool {
	switch n := x.(type) {
	case *Const:
		return n.Value.IsNull()
	case *Column:
		return n.Nullable
	case *Convert:
		return n.Mode == ModeTry || canBeNull(n.X)
	case *Collated:
		return canBeNull(n.X)
	case *Negate:
		return canBeNull(n.X)
	case *Coalesce:
		return canBeNull(n.Args[0]) && canBeNull(n.Args[len(n.Args)-1])
	case *Arith:
		return canBeNull(n.L) || canBeNull(n.R)
	case *Aggregate:
		return n.Name != "COUNT" && n.Name != "COUNT_BIG"
	case *Window:
		return n.F != nil && n.Name != "COUNT" && n.Name != "COUNT_BIG" || strings.HasPrefix(n.Name, "L") || n.Name == "FIRST_VALUE"
	}
	return true
}

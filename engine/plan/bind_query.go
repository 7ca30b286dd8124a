package plan

import (
	"strings"

	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
) // place says where a query stands.
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
	if len(q.Items) != 1 && q.For == nil {
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

package plan

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// insertTarget resolves the target of INSERT and of OUTPUT … INTO.
func (b *binder) insertTarget(te syntax.TableExpr) (*Target, catalog.Object, error) {
	t := &Target{Src: b.source(), New: b.source()}
	var object catalog.Object
	switch n := te.(type) {
	case *syntax.VariableRef:
		slot, table, err := b.env.TableVariable(n.Name)
		if err != nil {
			return nil, nil, lineOf(n, err)
		}
		t.Kind, t.Slot, t.Table, object = ScanTableVariable, slot, table, table
	case *syntax.TableRef:
		o, err := b.env.Relation(n.Name)
		if err != nil {
			return nil, nil, lineOf(n, err)
		}
		object = o
		switch o := o.(type) {
		case *catalog.Table:
			t.Table = o
			b.addTable(o)
		case *catalog.Module:
			if o.ModuleKind != catalog.KindView {
				return nil, nil, fail(n, 208, o.Name)
			}
			b.addModule(o)
			t.View = o
		default:
			return nil, nil, fail(n, 259)
		}
		if t.Hints, err = bindHints(n.Hints, t.Table); err != nil {
			return nil, nil, err
		}
	default:
		return nil, nil, unsupported(te, "this target of INSERT")
	}
	if t.Table == nil {
		return t, object, nil
	}
	var err error
	t.Rules, err = b.rules(t.Table, t.New)
	return t, object, err
}

// insertColumns finds the target columns of an INSERT.
func insertColumns(t *catalog.Table, names []syntax.Ident) ([]int, error) {
	var out []int
	if len(names) == 0 {
		for i, c := range t.Columns {
			if !c.Identity && !c.Computed {
				out = append(out, i)
			}
		}
		return out, nil
	}
	seen := map[int]bool{}
	for _, id := range names {
		i := columnIndex(t, id.Name)
		switch {
		case i < 0:
			return nil, fail(id, 207, id.Name)
		case seen[i]:
			return nil, fail(id, 264, t.Columns[i].Name)
		case t.Columns[i].Computed:
			return nil, fail(id, 271, t.Columns[i].Name)
		}
		seen[i] = true
		out = append(out, i)
	}
	return out, nil
}

func columnIndex(t *catalog.Table, name string) int {
	for i, c := range t.Columns {
		if sameName(c.Name, name) {
			return i
		}
	}
	if sameName(name, "$IDENTITY") {
		for i, c := range t.Columns {
			if c.Identity {
				return i
			}
		}
	}
	return -1
}

func (b *binder) insert(n *syntax.Insert, out *Stmt) error {
	if err := b.begin(n.With, n.Option); err != nil {
		return err
	}
	target, object, err := b.insertTarget(n.Target)
	if err != nil {
		return err
	}
	b.use(object, "INSERT")
	out.Target = object
	if target.View != nil && b.hasInstead(target.View, "INSERT") {
		return b.insertInstead(n, target.View, out)
	}
	ins := &Insert{InsertInto: InsertInto{Target: *target}, Exec: n.Exec != nil}
	if target.View != nil {
		err = b.insertView(n, ins)
	} else {
		ins.Columns, err = insertColumns(target.Table, n.Columns)
	}
	if err != nil {
		return err
	}
	for _, c := range ins.Columns {
		ins.Identity = ins.Identity || ins.Target.Table.Columns[c].Identity
	}
	if n.Top != nil {
		if ins.Top, err = b.top(n.Top); err != nil {
			return err
		}
	}
	if err := b.insertSource(n, ins); err != nil {
		return err
	}
	if n.Output != nil {
		if ins.Output, err = b.output(n.Output, &ins.Target, nil, true, false); err != nil {
			return err
		}
	}
	if ins.Source != nil {
		(&planner{b: b}).query(ins.Source, false)
	}
	b.planOutput(ins.Output)
	for _, row := range ins.Values {
		for i := range row {
			if row[i] != nil {
				(&planner{b: b}).exprQueries(&row[i])
			}
		}
	}
	out.Insert = ins
	return nil
}

func (b *binder) insertSource(n *syntax.Insert, ins *Insert) error {
	cols := ins.Target.Table.Columns
	if v, ok := n.Query.(*syntax.ValuesQuery); ok {
		for _, row := range v.Rows {
			if len(row) != len(v.Rows[0]) {
				return fail(n, 10709)
			}
			if err := valueCount(n, len(row), ins); err != nil {
				return err
			}
			xs := make([]Expr, len(row))
			for i, e := range row {
				c := cols[ins.Columns[i]]
				if l, ok := e.(*syntax.Literal); ok && l.Kind == syntax.LitDefault {
					continue
				}
				if c.RowVersion {
					return fail(n, 273)
				}
				x, err := b.storable(e, c)
				if err != nil {
					return err
				}
				xs[i] = x
			}
			ins.Values = append(ins.Values, xs)
		}
		return nil
	}
	if n.Query == nil {
		return nil
	}
	q, err := b.query(n.Query, placeStatement)
	if err != nil {
		return err
	}
	if q.For != nil {
		q = forShapeOver(b, q)
	}
	if err := b.queryShape(n, q, ins); err != nil {
		return err
	}
	ins.Source = q
	return nil
}

// queryShape checks the columns of INSERT … SELECT against the target's.
func (b *binder) queryShape(n *syntax.Insert, q *Query, ins *Insert) error {
	cols := ins.Target.Table.Columns
	switch {
	case len(q.Items) == len(ins.Columns):
	case len(n.Columns) == 0:
		return fail(n, 213)
	case len(q.Items) < len(ins.Columns):
		return fail(n, 120)
	default:
		return fail(n, 121)
	}
	for i, x := range q.Items {
		c := cols[ins.Columns[i]]
		if c.RowVersion {
			return fail(n, 273)
		}
		if k := x.Type().Kind; k != types.KindNull && k != c.Type.Kind {
			if err := types.ImplicitlyConvertible(x.Type(), c.Type); err != nil {
				return lineOf(n, err)
			}
		}
	}
	return nil
}

// forShapeOver wraps a query with a FOR clause as a source of one text column.
func forShapeOver(b *binder, q *Query) *Query {
	d := &Derived{Src: b.source(), Query: q}
	t := types.NVarChar(types.Max)
	out := &Query{ID: b.state(), lo: q.lo, hi: b.sources, block: &block{from: d}, Columns: []OutColumn{{T: t, Nullable: true}}}
	out.Items = []Expr{&Column{Src: d.Src, T: t, Nullable: true}}
	return out
}

func valueCount(n *syntax.Insert, got int, ins *Insert) error {
	switch {
	case got == len(ins.Columns):
		return nil
	case len(n.Columns) == 0:
		if len(ins.Target.Table.Columns) == got && ins.Target.Table.Identity != nil {
			return fail(n, 8101, ins.Target.Table.Name)
		}
		return fail(n, 213)
	case got < len(ins.Columns):
		return fail(n, 109)
	}
	return fail(n, 110)
}

// storable binds a value for a column. The conversion happens when the row is
// stored, where its errors name the column.
func (b *binder) storable(e syntax.Expr, c *catalog.Column) (Expr, error) {
	x, err := b.value(e)
	if err != nil {
		return nil, err
	}
	if k := x.Type().Kind; k != types.KindNull && k != c.Type.Kind {
		if err := types.ImplicitlyConvertible(x.Type(), c.Type); err != nil {
			return nil, lineOf(e, err)
		}
	}
	return x, nil
}

func (b *binder) planOutput(o *Output) {
	if o == nil {
		return
	}
	for i := range o.Items {
		(&planner{b: b}).exprQueries(&o.Items[i])
	}
}

// output binds an OUTPUT clause. around are the relations of the statement that
// its items may name besides inserted and deleted.
func (b *binder) output(n *syntax.Output, t *Target, around []*relation, inserted, deleted bool) (*Output, error) {
	s := &scope{clause: clauseSelect}
	if inserted {
		r, err := b.tableRelation(t.Table, t.New, "inserted")
		if err != nil {
			return nil, err
		}
		r.aliased = true
		s.rels = append(s.rels, r)
	}
	if deleted {
		r, err := b.tableRelation(t.Table, t.Src, "deleted")
		if err != nil {
			return nil, err
		}
		r.aliased = true
		s.rels = append(s.rels, r)
	}
	s.rels = append(s.rels, around...)
	in := b.with(s)
	items, err := in.selectList(&syntax.Select{Pos: n.Items[0].Pos, Items: n.Items}, placeStatement)
	if err != nil {
		return nil, err
	}
	if s.aggregated {
		return nil, fail(n.Items[0], 158)
	}
	out := &Output{}
	for i := range items {
		if hasQuery(items[i].x) {
			return nil, fail(n.Items[0], 10705)
		}
		items[i].out.T = defaultType(items[i].out.T)
		out.Items = append(out.Items, typedNull(items[i].x))
		out.Columns = append(out.Columns, items[i].out)
	}
	if n.Into == nil {
		return out, nil
	}
	target, object, err := b.insertTarget(n.Into)
	if err != nil {
		return nil, err
	}
	if target.View != nil {
		return nil, unsupported(n.Items[0], "OUTPUT INTO a view")
	}
	b.use(object, "INSERT")
	out.Into = &InsertInto{Target: *target}
	if out.Into.Columns, err = insertColumns(target.Table, n.IntoColumns); err != nil {
		return nil, err
	}
	if len(out.Into.Columns) != len(out.Items) {
		return nil, fail(n.Items[0], 213)
	}
	return out, nil
}

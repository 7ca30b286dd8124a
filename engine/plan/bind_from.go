package plan

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/syntax"
)

// fromList binds a FROM clause and adds its relations to the scope.
func (b *binder) fromList(list []syntax.TableExpr) (Rel, error) {
	var out Rel
	for _, te := range list {
		r, err := b.table(te, false)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = r
			continue
		}
		out = &Join{Kind: JoinInner, L: out, R: r, Right: sorted(definedBy(r)), Left: sorted(definedBy(out))}
	}
	return out, nil
}

// add makes a relation visible. Errors 1011 and 1013.
func (b *binder) add(n syntax.Node, r *relation) error {
	for _, o := range b.scope.rels {
		if o.name == "" || !sameName(o.name, r.name) {
			continue
		}
		switch {
		case r.aliased && o.aliased:
			return fail(n, 1011, r.name)
		case r.aliased || o.aliased:
			return fail(n, 1013, o.exposed(), r.exposed())
		case sameName(o.schema, r.schema) && sameName(o.database, r.database):
			return fail(n, 1013, o.exposed(), r.exposed())
		}
	}
	b.scope.rels = append(b.scope.rels, r)
	return nil
}

func (r *relation) exposed() string {
	if r.aliased || r.schema == "" {
		return r.name
	}
	return r.schema + "." + r.name
}

// table binds one source of a FROM clause. nullable says that an outer join
// may set its columns to NULL.
func (b *binder) table(te syntax.TableExpr, nullable bool) (Rel, error) {
	switch n := te.(type) {
	case *syntax.ParenTable:
		return b.table(n.X, nullable)
	case *syntax.Join:
		return b.join(n, nullable)
	case *syntax.TableRef:
		return b.tableRef(n, nullable)
	case *syntax.VariableRef:
		return b.variableRef(n)
	case *syntax.DerivedTable:
		q, err := b.derivedQuery(n)
		if err != nil {
			return nil, err
		}
		return b.addQuery(n, q, n.Alias, n.Columns, nullable)
	case *syntax.TableFunc:
		return b.tableFunc(n, nullable)
	case *syntax.Pivot:
		return nil, unsupported(n, "PIVOT and UNPIVOT")
	}
	return nil, unsupported(te, "this source of a FROM clause")
}

// derivedQuery binds the query of a derived table. It sees the sources of its
// own FROM clause only under APPLY, which is why the scope may be hidden.
func (b *binder) derivedQuery(n *syntax.DerivedTable) (*Query, error) {
	in := b
	if b.scope != nil && b.scope.clause != clauseApply {
		in = b.with(b.scope.parent)
	}
	return in.query(n.Query, placeInner)
}

// clauseApply marks the right side of an APPLY while it is bound.
const clauseApply clause = 100

func (b *binder) join(n *syntax.Join, nullable bool) (Rel, error) {
	leftNull := nullable || n.Kind == syntax.RightJoin || n.Kind == syntax.FullJoin
	rightNull := nullable || n.Kind == syntax.LeftJoin || n.Kind == syntax.FullJoin || n.Kind == syntax.OuterApply
	l, err := b.table(n.L, leftNull)
	if err != nil {
		return nil, err
	}
	apply := n.Kind == syntax.CrossApply || n.Kind == syntax.OuterApply
	saved := b.scope.clause
	if apply {
		b.scope.clause = clauseApply
	}
	r, err := b.table(n.R, rightNull)
	b.scope.clause = saved
	if err != nil {
		return nil, err
	}
	j := &Join{Kind: JoinInner, L: l, R: r, Hint: n.Hint}
	switch n.Kind {
	case syntax.LeftJoin:
		j.Kind = JoinLeft
	case syntax.RightJoin:
		j.Kind, j.L, j.R = JoinLeft, r, l
	case syntax.FullJoin:
		j.Kind = JoinFull
	case syntax.CrossApply:
		j.Kind = JoinApply
	case syntax.OuterApply:
		j.Kind = JoinOuterApply
	}
	j.Left, j.Right = sorted(definedBy(j.L)), sorted(definedBy(j.R))
	if n.On != nil {
		b.scope.clause = clauseOn
		on, err := b.condition(n.On)
		b.scope.clause = saved
		if err != nil {
			return nil, err
		}
		j.On = conjuncts(on)
	}
	b.markNullable(j)
	return j, nil
}

// markNullable notes in the scope which columns an outer join makes nullable.
func (b *binder) markNullable(j *Join) {
	null := sources{}
	switch j.Kind {
	case JoinLeft, JoinOuterApply:
		null.add(definedBy(j.R))
	case JoinFull:
		null.add(definedBy(j.R))
		null.add(definedBy(j.L))
	default:
		return
	}
	for _, r := range b.scope.rels {
		for i := range r.cols {
			c, ok := r.cols[i].x.(*Column)
			if ok && null[c.Src] {
				c.Nullable, r.cols[i].out.Nullable = true, true
			}
		}
	}
}

// tableRef binds a name: a common table expression, a pseudo table of a
// trigger, or an object of the catalog.
func (b *binder) tableRef(n *syntax.TableRef, nullable bool) (Rel, error) {
	if n.Name.Schema.Name == "" && n.Name.Database.Name == "" && n.Name.Server.Name == "" {
		if c := b.ctes.find(n.Name.Object.Name); c != nil {
			return b.cteRef(n, c, nullable)
		}
		if slot, t, ok := b.env.PseudoTable(n.Name.Object.Name); ok {
			s, r, err := b.readTable(t, ScanPseudo, slot, n.Alias, Hints{})
			if err != nil {
				return nil, err
			}
			r.aliased, r.object = true, nil
			if n.Alias.Name == "" {
				r.name = n.Name.Object.Name
			}
			return s, b.add(n, r)
		}
	}
	o, err := b.env.Relation(n.Name)
	if err != nil {
		return nil, lineOf(n, err)
	}
	if b.outermost {
		b.use(o, "SELECT")
	}
	return b.objectRef(n, o, nullable)
}

func (b *binder) objectRef(n *syntax.TableRef, o catalog.Object, nullable bool) (Rel, error) {
	switch t := o.(type) {
	case *catalog.Table:
		h, err := bindHints(n.Hints, t)
		if err != nil {
			return nil, err
		}
		s, r, err := b.readTable(t, ScanTable, 0, n.Alias, h)
		if err != nil {
			return nil, err
		}
		if err := rename(n, r.name, r.cols, n.Columns); err != nil {
			return nil, err
		}
		return s, b.add(n, r)
	case *catalog.SystemView:
		return b.systemView(n, t)
	case *catalog.Module:
		if t.ModuleKind != catalog.KindView {
			return nil, fail(n, 216, t.Name)
		}
		q, cols, err := b.viewQuery(n, t)
		if err != nil {
			return nil, err
		}
		alias := n.Alias
		rel, r, err := b.queryRelation(n, q, t.Name, cols, nullable)
		if err != nil {
			return nil, err
		}
		r.schema, r.database, r.object = t.Schema, t.Database, t
		if alias.Name != "" {
			r.name, r.aliased = alias.Name, true
		} else {
			r.name, r.aliased = t.Name, false
		}
		if err := b.hintAll(rel, n); err != nil {
			return nil, err
		}
		return rel, b.add(n, r)
	}
	return nil, fail(n, 208, n.Name.Object.Name)
}

// hintAll applies the hints of a reference to a view to the tables inside it,
// beside those that they have there: error 4138.
func (b *binder) hintAll(rel Rel, n *syntax.TableRef) error {
	if len(n.Hints) == 0 {
		return nil
	}
	h, err := bindHints(n.Hints, nil)
	if err != nil {
		return err
	}
	eachScan(&rel, func(s *Scan) {
		both, ok := s.Hints.with(h)
		if !ok && err == nil {
			err = fail(n, 4138, s.Table.Schema+"."+s.Table.Name)
		}
		s.Hints = both
	})
	return err
}

// eachScan calls f for each table read below r.
func eachScan(r *Rel, f func(*Scan)) {
	if *r == nil {
		return
	}
	if s, ok := (*r).(*Scan); ok {
		f(s)
	}
	(*r).parts(func(c *Rel) { eachScan(c, f) }, func(*Expr) {}, func(q *Query) {
		if q.planned {
			eachScan(&q.Root, f)
			return
		}
		eachScan(&q.block.from, f)
		eachScan(&q.block.set, f)
	})
}

func (b *binder) systemView(n *syntax.TableRef, v *catalog.SystemView) (Rel, error) {
	src := b.source()
	r := &relation{name: v.Name, schema: v.Schema, database: v.Database, object: v}
	if n.Alias.Name != "" {
		r.name, r.aliased = n.Alias.Name, true
	}
	for i, c := range v.Columns {
		r.cols = append(r.cols, relColumn{name: c.Name,
			x:   &Column{Src: src, Col: i, T: c.Type, Name: c.Name, Label: r.name + "." + c.Name, Nullable: c.Nullable, Base: c},
			out: OutColumn{Name: c.Name, T: c.Type, Nullable: c.Nullable, Base: c}})
	}
	return &SystemScan{Src: src, View: v}, b.add(n, r)
}

// variableRef binds a table variable.
func (b *binder) variableRef(n *syntax.VariableRef) (Rel, error) {
	slot, t, err := b.env.TableVariable(n.Name)
	if err != nil {
		return nil, lineOf(n, err)
	}
	h, err := bindHints(n.Hints, t)
	if err != nil {
		return nil, err
	}
	s, r, err := b.readTable(t, ScanTableVariable, slot, n.Alias, h)
	if err != nil {
		return nil, err
	}
	if n.Alias.Name == "" {
		r.name = n.Name
	}
	r.schema, r.database, r.aliased = "", "", true
	return s, b.add(n, r)
}

// moduleArgs binds the arguments of a function to the types of its parameters;
// nil stands for DEFAULT.
func (b *binder) moduleArgs(n syntax.Node, params []catalog.Parameter, list []syntax.Expr) ([]Expr, error) {
	args := make([]Expr, len(list))
	for i, e := range list {
		if l, ok := e.(*syntax.Literal); ok && l.Kind == syntax.LitDefault {
			if !params[i].HasDefault {
				return nil, fail(n, 201, n.(*syntax.Call).Name.Object.Name, params[i].Name)
			}
			continue
		}
		if params[i].Table != 0 {
			return nil, unsupported(n, "a table-valued argument of a function")
		}
		x, err := b.value(e)
		if err != nil {
			return nil, err
		}
		if args[i], err = b.assignTo(n, x, params[i].Type, ModeAssign); err != nil {
			return nil, err
		}
	}
	return args, nil
}

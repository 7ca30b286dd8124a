package plan

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// changed is the target of an UPDATE or DELETE while it is bound.
type changed struct {
	rel    Rel // the FROM clause
	target *relation
	scan   *Scan
	object catalog.Object
}

// changeTarget binds the FROM clause of an UPDATE or DELETE and finds the table
// that it changes.
func (b *binder) changeTarget(te syntax.TableExpr, from []syntax.TableExpr) (*changed, error) {
	b.scope = &scope{clause: clauseOn}
	c := &changed{}
	name, isRef := te.(*syntax.TableRef)
	if isRef {
		b.target = name.Name.Object.Name
	}
	defer func() { b.target = "" }()
	var err error
	if len(from) > 0 {
		if c.rel, err = b.fromList(from); err != nil {
			return nil, err
		}
		if err := b.findTarget(te, c); err != nil {
			return nil, err
		}
	}
	if c.target == nil {
		r, err := b.table(te, false)
		if err != nil {
			return nil, err
		}
		c.target = b.scope.rels[len(b.scope.rels)-1]
		if c.rel == nil {
			c.rel = r
		} else {
			c.rel = &Join{Kind: JoinInner, L: r, R: c.rel, Left: sorted(definedBy(r)), Right: sorted(definedBy(c.rel))}
		}
	} else if isRef && len(name.Hints) > 0 {
		if err := c.hint(name); err != nil {
			return nil, err
		}
	}
	return c, b.resolveTarget(te, c)
}

// hint adds the hints written at the target to those in the FROM clause.
func (c *changed) hint(n *syntax.TableRef) error {
	if c.target.scan == nil {
		return nil
	}
	h, err := bindHints(n.Hints, c.target.scan.Table)
	if err == nil {
		c.target.scan.Hints = h
	}
	return err
}

// findTarget looks for the target among the relations of FROM: by alias, else
// by the object.
func (b *binder) findTarget(te syntax.TableExpr, c *changed) error {
	var alias string
	var object catalog.Object
	switch n := te.(type) {
	case *syntax.TableRef:
		alias = n.Name.Object.Name
		if n.Name.Schema.Name != "" || n.Name.Database.Name != "" {
			alias = ""
		}
		if alias == "" || b.ctes.find(alias) == nil {
			if o, err := b.env.Relation(n.Name); err == nil {
				object = o
			}
		}
	case *syntax.VariableRef:
		alias = n.Name
	}
	for _, r := range b.scope.rels {
		if alias != "" && r.aliased && sameName(r.name, alias) {
			c.target = r
			return nil
		}
	}
	for _, r := range b.scope.rels {
		if object != nil && r.object == object {
			if c.target != nil {
				return fail(te, 8154, alias)
			}
			c.target = r
		}
	}
	return nil
}

// resolveTarget finds the table behind the target relation and marks its scan.
func (b *binder) resolveTarget(te syntax.TableExpr, c *changed) error {
	c.object = c.target.object
	c.scan = c.target.scan
	if c.scan == nil {
		if c.target.inline == nil {
			return fail(te, 4403, c.target.name)
		}
		// Through a view or common table expression: the table that its
		// columns come from.
		var scans []*Scan
		eachScan(&c.target.inline, func(s *Scan) { scans = append(scans, s) })
		src := -1
		for i := range c.target.cols {
			col, ok := c.target.cols[i].x.(*Column)
			if ok && src < 0 {
				src = col.Src
			}
		}
		for _, s := range scans {
			if s.Src == src || len(scans) == 1 {
				c.scan = s
			}
		}
		if c.scan == nil {
			return fail(te, 4403, c.target.name)
		}
	}
	if c.scan.Kind == ScanPseudo {
		return fail(te, 286)
	}
	if c.object == nil {
		c.object = c.scan.Table
	}
	c.scan.Hints.NoLock = false // in FROM it is ignored for the target
	c.scan.Target = true
	return nil
}

// newTarget describes the target for the executor.
func (b *binder) newTarget(c *changed) (Target, error) {
	t := Target{Table: c.scan.Table, Kind: c.scan.Kind, Slot: c.scan.Slot, Src: c.scan.Src, New: b.source(), Hints: c.scan.Hints}
	var err error
	t.Rules, err = b.rules(t.Table, t.New)
	return t, err
}

// changeWhere binds WHERE and plans the relation of a change.
func (b *binder) changeWhere(c *changed, where syntax.Expr, top *syntax.Top, more func() error) (Rel, error) {
	var conds []Expr
	if where != nil {
		b.scope.clause = clauseWhere
		x, err := b.condition(where)
		if err != nil {
			return nil, err
		}
		conds = conjuncts(x)
	}
	var bound *Top
	if top != nil {
		var err error
		if bound, err = b.top(top); err != nil {
			return nil, err
		}
		if top.WithTies {
			return nil, fail(top, 102, "WITH")
		}
	}
	if err := more(); err != nil {
		return nil, err
	}
	p := &planner{b: b}
	f := &fromPlan{planner: p, forceOrder: b.option.forceOrder}
	rel, _ := f.plan(c.rel, conds, nil)
	if bound != nil {
		rel = &Limit{X: rel, Top: bound.N, Percent: bound.Percent, Sources: sorted(definedBy(rel))}
	}
	p.relQueries(&rel)
	return rel, nil
}

func (b *binder) update(n *syntax.Update, out *Stmt) error {
	if n.CurrentOf != "" {
		return unsupported(n, "WHERE CURRENT OF")
	}
	if err := b.begin(n.With, n.Option); err != nil {
		return err
	}
	if view := b.insteadTarget(n.Target, "UPDATE"); view != nil {
		b.use(view, "UPDATE")
		out.Target = view
		return b.changeInstead(n, view, "UPDATE", n.From, n.Where, n.Set, n.Top != nil || n.Output != nil, out)
	}
	for i := range n.Set {
		b.assigns = b.assigns || n.Set[i].Variable != ""
	}
	c, err := b.changeTarget(n.Target, n.From)
	if err != nil {
		return err
	}
	up := &Update{}
	if up.Target, err = b.newTarget(c); err != nil {
		return err
	}
	b.use(c.object, "UPDATE")
	out.Target = up.Target.Table
	up.Root, err = b.changeWhere(c, n.Where, n.Top, func() error {
		b.scope.clause = clauseWhere
		if up.Sets, err = b.sets(n.Set, c.target, &up.Target); err != nil {
			return err
		}
		if n.Output != nil {
			up.Output, err = b.output(n.Output, &up.Target, b.around(n.From), true, true)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i := range up.Sets {
		(&planner{b: b}).exprQueries(&up.Sets[i].X)
	}
	b.planOutput(up.Output)
	out.Update = up
	return nil
}

// around are the relations of FROM that an OUTPUT clause may name.
func (b *binder) around(from []syntax.TableExpr) []*relation {
	if len(from) == 0 {
		return nil
	}
	return b.scope.rels
}

// sets binds the SET clause of an UPDATE.
func (b *binder) sets(list []syntax.SetClause, target *relation, t *Target) ([]Set, error) {
	var out []Set
	seen := map[int]bool{}
	for i := range list {
		s := &list[i]
		set, err := b.set(s, target, t)
		if err != nil {
			return nil, err
		}
		if set.Column >= 0 {
			if seen[set.Column] {
				return nil, fail(s.X, 264, t.Table.Columns[set.Column].Name)
			}
			seen[set.Column] = true
		}
		out = append(out, set)
	}
	return out, nil
}

func (b *binder) set(s *syntax.SetClause, target *relation, t *Target) (Set, error) {
	set := Set{Column: -1, Slot: -1}
	if s.Method != nil {
		return set, unsupported(s.Method, "column.WRITE")
	}
	var left Expr
	if s.Column != nil {
		col, err := b.setColumn(s.Column, target, t)
		if err != nil {
			return set, err
		}
		set.Column, left = col.Col, col
	}
	if s.Variable != "" {
		slot, vt, err := b.env.Variable(s.Variable)
		if err != nil {
			return set, lineOf(s.X, err)
		}
		set.Slot, set.VarT = slot, vt
		if left == nil {
			left = &Variable{Slot: slot, T: vt, Name: s.Variable}
		}
	}
	x, err := b.setValue(s, set, t)
	if err != nil {
		return set, err
	}
	if s.Op != nil {
		if x, err = b.arith(s.X, *s.Op, left, x); err != nil {
			return set, err
		}
	}
	if set.Column < 0 {
		x, err = b.assignTo(s.X, x, set.VarT, ModeAssign)
	} else if k := x.Type().Kind; k != types.KindNull && k != t.Table.Columns[set.Column].Type.Kind {
		err = lineOf(s.X, types.ImplicitlyConvertible(x.Type(), t.Table.Columns[set.Column].Type))
	}
	set.X = x
	return set, err
}

// setValue binds the right side of an assignment; DEFAULT is the column's.
func (b *binder) setValue(s *syntax.SetClause, set Set, t *Target) (Expr, error) {
	if l, ok := s.X.(*syntax.Literal); ok && l.Kind == syntax.LitDefault && set.Column >= 0 {
		if d := t.Rules.Defaults[set.Column]; d != nil {
			return d, nil
		}
		return &Const{T: t.Table.Columns[set.Column].Type}, nil
	}
	return b.value(s.X)
}

// setColumn resolves the column that an assignment changes.
func (b *binder) setColumn(n *syntax.ColumnRef, target *relation, t *Target) (*Column, error) {
	last := n.Parts[len(n.Parts)-1].Name
	if len(n.Parts) > 1 && !target.matches(n.Parts[:len(n.Parts)-1]) {
		return nil, fail(n, 4104, dotted(n.Parts))
	}
	c, ok, err := target.pick(last)
	if err != nil {
		return nil, lineOf(n, err)
	}
	if !ok {
		return nil, fail(n, 207, last)
	}
	base := c.out.Base
	if base != nil && base.Computed {
		return nil, fail(n, 271, last)
	}
	col, plain := c.x.(*Column)
	switch {
	case !plain || base == nil:
		return nil, fail(n, 4406, target.name)
	case col.Src != t.Src:
		return nil, fail(n, 4405, target.name)
	case base.Identity:
		return nil, fail(n, 8102, base.Name)
	case base.RowVersion:
		return nil, fail(n, 272)
	}
	return col.clone().(*Column), nil
}

func (b *binder) delete(n *syntax.Delete, out *Stmt) error {
	if n.CurrentOf != "" {
		return unsupported(n, "WHERE CURRENT OF")
	}
	if err := b.begin(n.With, n.Option); err != nil {
		return err
	}
	if view := b.insteadTarget(n.Target, "DELETE"); view != nil {
		b.use(view, "DELETE")
		out.Target = view
		return b.changeInstead(n, view, "DELETE", n.From, n.Where, nil, n.Top != nil || n.Output != nil, out)
	}
	c, err := b.changeTarget(n.Target, n.From)
	if err != nil {
		return err
	}
	del := &Delete{}
	if del.Target, err = b.newTarget(c); err != nil {
		return err
	}
	b.use(c.object, "DELETE")
	out.Target = del.Target.Table
	del.Root, err = b.changeWhere(c, n.Where, n.Top, func() error {
		if n.Output != nil {
			del.Output, err = b.output(n.Output, &del.Target, b.around(n.From), false, true)
		}
		return err
	})
	if err != nil {
		return err
	}
	b.planOutput(del.Output)
	out.Delete = del
	return nil
}

// insertView turns an INSERT into a view into one into the table behind it.
func (b *binder) insertView(n *syntax.Insert, ins *Insert) error {
	view := ins.Target.View
	q, names, err := b.viewQuery(n, view)
	if err != nil {
		return err
	}
	in := b.with(&scope{clause: clauseOn})
	rel, r, err := in.queryRelation(n, q, view.Name, names, false)
	if err != nil {
		return err
	}
	if r.inline == nil {
		return fail(n, 4403, view.Name)
	}
	var scans []*Scan
	eachScan(&rel, func(s *Scan) { scans = append(scans, s) })
	list := n.Columns
	if len(list) == 0 {
		for i := range r.cols {
			list = append(list, syntax.Ident{Pos: n.Pos, Name: r.cols[i].name})
		}
	}
	var base *Scan
	for _, id := range list {
		c, ok, err := r.pick(id.Name)
		if err != nil || !ok {
			return fail(n, 207, id.Name)
		}
		col, plain := c.x.(*Column)
		if !plain || c.out.Base == nil {
			return fail(n, 4406, view.Name)
		}
		for _, s := range scans {
			if s.Src != col.Src {
				continue
			}
			if base != nil && base != s {
				return fail(n, 4405, view.Name)
			}
			base = s
		}
		ins.Columns = append(ins.Columns, col.Col)
	}
	if base == nil {
		return fail(n, 4403, view.Name)
	}
	t := &ins.Target
	t.View, t.Table = nil, base.Table
	t.Rules, err = b.rules(t.Table, t.New)
	return err
}

package plan

import (
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// merge binds MERGE.
func (b *binder) merge(n *syntax.Merge, out *Stmt) error {
	if n.Top != nil {
		return unsupported(n, "TOP in MERGE")
	}
	if err := b.begin(n.With, n.Option); err != nil {
		return err
	}
	b.scope = &scope{clause: clauseOn}
	c := &changed{}
	var err error
	if c.rel, err = b.table(n.Target, true); err != nil {
		return err
	}
	c.target = b.scope.rels[0]
	if err := b.resolveTarget(n.Target, c); err != nil {
		return err
	}
	if c.target.scan == nil {
		return unsupported(n, "MERGE into a view or common table expression")
	}
	source, err := b.table(n.Source, false)
	if err != nil {
		return err
	}
	m := &Merge{Source: sorted(definedBy(source)), ActionSrc: b.source()}
	if m.Target, err = b.newTarget(c); err != nil {
		return err
	}
	out.Target = m.Target.Table
	on, err := b.condition(n.On)
	if err != nil {
		return err
	}
	if err := b.mergeClauses(n, c, m); err != nil {
		return err
	}
	if n.Output != nil {
		action := &relation{name: "", cols: []relColumn{{name: "$action", hidden: true,
			x:   &Column{Src: m.ActionSrc, T: types.NVarChar(10), Name: "$action", Label: "$action"},
			out: OutColumn{Name: "$action", T: types.NVarChar(10)}}}}
		around := append([]*relation{action}, b.scope.rels[1:]...)
		if m.Output, err = b.output(n.Output, &m.Target, around, true, true); err != nil {
			return err
		}
	}
	b.planMerge(n, c, m, source, on)
	out.Merge = m
	return nil
}

// planMerge joins the source to the target, and finds the target rows without a
// source when a clause asks for them.
func (b *binder) planMerge(n *syntax.Merge, c *changed, m *Merge, source Rel, on Expr) {
	p := &planner{b: b}
	unmatched := false
	for i := range m.Clauses {
		unmatched = unmatched || m.Clauses[i].Match == syntax.WhenNotMatchedBySource
	}
	if unmatched {
		again := *c.scan
		again.Path = Path{Index: -1}
		if again.Table.HasClustered {
			again.Path.Index = 0
		}
		m.Unmatched = &again
	}
	join := &Join{Kind: JoinLeft, L: source, R: c.scan, On: conjuncts(on), Left: m.Source, Right: []int{c.scan.Src}}
	f := &fromPlan{planner: p}
	m.Root, _ = f.plan(join, nil, nil)
	p.relQueries(&m.Root)
	for i := range m.Clauses {
		cl := &m.Clauses[i]
		if cl.And != nil {
			p.exprQueries(&cl.And)
		}
		for j := range cl.Sets {
			p.exprQueries(&cl.Sets[j].X)
		}
		for j := range cl.Values {
			if cl.Values[j] != nil {
				p.exprQueries(&cl.Values[j])
			}
		}
	}
	b.planOutput(m.Output)
}

func (b *binder) mergeClauses(n *syntax.Merge, c *changed, m *Merge) error {
	for i := range n.Actions {
		a := &n.Actions[i]
		cl := MergeClause{Match: a.Match, Delete: a.Delete}
		var err error
		b.scope.clause = clauseWhere
		if a.And != nil {
			if cl.And, err = b.condition(a.And); err != nil {
				return err
			}
		}
		switch {
		case a.Insert != nil:
			b.use(m.Target.Table, "INSERT")
			err = b.mergeInsert(a, m, &cl)
		case a.Delete:
			b.use(m.Target.Table, "DELETE")
		default:
			b.use(m.Target.Table, "UPDATE")
			cl.Sets, err = b.sets(a.Update, c.target, &m.Target)
		}
		if err != nil {
			return err
		}
		m.Clauses = append(m.Clauses, cl)
	}
	return nil
}

func (b *binder) mergeInsert(a *syntax.MergeAction, m *Merge, cl *MergeClause) error {
	into := &InsertInto{Target: m.Target}
	cl.Insert = into
	if a.Insert.Values == nil {
		return nil
	}
	var err error
	if into.Columns, err = insertColumns(m.Target.Table, a.Insert.Columns); err != nil {
		return err
	}
	if len(a.Insert.Values) != len(into.Columns) {
		if len(a.Insert.Columns) == 0 {
			return fail(a, 213)
		}
		if len(a.Insert.Values) < len(into.Columns) {
			return fail(a, 109)
		}
		return fail(a, 110)
	}
	for i, e := range a.Insert.Values {
		if l, ok := e.(*syntax.Literal); ok && l.Kind == syntax.LitDefault {
			cl.Values = append(cl.Values, nil)
			continue
		}
		x, err := b.storable(e, m.Target.Table.Columns[into.Columns[i]])
		if err != nil {
			return err
		}
		cl.Values = append(cl.Values, x)
	}
	return nil
}

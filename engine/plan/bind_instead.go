package plan

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// ViewTriggers is what a Binder offers when views can have INSTEAD OF triggers:
// those of a view, enabled or not.
type ViewTriggers interface {
	ViewTriggers(view *catalog.Module) []*catalog.Module
}

// Instead is a modification of a view that an INSTEAD OF trigger carries out:
// rows have the columns of the view.
type Instead struct {
	View *catalog.Module
	// Verb is INSERT, UPDATE or DELETE.
	Verb  string
	Types []types.Type
	// Source and Values give the rows of an INSERT for Columns; nil marks
	// DEFAULT, which is NULL here.
	Source  *Query
	Values  [][]Expr
	Columns []int
	// Root gives a frame for each row of the view to change, Items its columns,
	// Sets the assignments of an UPDATE.
	Root  Rel
	Items []Expr
	Sets  []Set
}

// hasInstead reports whether an enabled INSTEAD OF trigger of a view takes the
// place of the statement.
func (b *binder) hasInstead(view *catalog.Module, verb string) bool {
	env, ok := b.env.(ViewTriggers)
	if !ok {
		return false
	}
	for _, m := range env.ViewTriggers(view) {
		if !m.InsteadOf || m.Disabled {
			continue
		}
		if (verb == "INSERT" && m.OnInsert) || (verb == "UPDATE" && m.OnUpdate) || (verb == "DELETE" && m.OnDelete) {
			return true
		}
	}
	return false
}

// insteadView binds the view that a modification names: its relation and its
// columns.
func (b *binder) insteadView(n syntax.Node, view *catalog.Module, name string) (Rel, *relation, error) {
	q, names, err := b.viewQuery(n, view)
	if err != nil {
		return nil, nil, err
	}
	rel, r, err := b.queryRelation(n, q, view.Name, names, false)
	if err != nil {
		return nil, nil, err
	}
	r.schema, r.database, r.object, r.name = view.Schema, view.Database, view, name
	return rel, r, nil
}

func newInstead(view *catalog.Module, verb string, r *relation) *Instead {
	in := &Instead{View: view, Verb: verb}
	for i := range r.cols {
		in.Types = append(in.Types, r.cols[i].out.T)
	}
	return in
}

// insertInstead binds INSERT into a view with an INSTEAD OF trigger.
func (b *binder) insertInstead(n *syntax.Insert, view *catalog.Module, out *Stmt) error {
	if n.Output != nil || n.Exec != nil || n.Top != nil {
		return unsupported(n, "OUTPUT, EXEC or TOP in INSERT into a view with an INSTEAD OF trigger")
	}
	scoped := b.with(&scope{clause: clauseOn})
	_, r, err := scoped.insteadView(n, view, view.Name)
	if err != nil {
		return err
	}
	in := newInstead(view, "INSERT", r)
	if in.Columns, err = viewColumns(n, r); err != nil {
		return err
	}
	if v, ok := n.Query.(*syntax.ValuesQuery); ok {
		for _, row := range v.Rows {
			if len(row) != len(in.Columns) {
				return fail(n, 213)
			}
			xs := make([]Expr, len(row))
			for i, e := range row {
				if l, ok := e.(*syntax.Literal); ok && l.Kind == syntax.LitDefault {
					continue
				}
				x, err := b.value(e)
				if err != nil {
					return err
				}
				if xs[i], err = b.assignTo(e, x, in.Types[in.Columns[i]], ModeAssign); err != nil {
					return err
				}
			}
			in.Values = append(in.Values, xs)
		}
	} else if n.Query != nil {
		q, err := b.query(n.Query, placeStatement)
		if err != nil {
			return err
		}
		if len(q.Items) != len(in.Columns) {
			return fail(n, 213)
		}
		for i := range q.Items {
			if q.Items[i], err = b.assignTo(n, q.Items[i], in.Types[in.Columns[i]], ModeAssign); err != nil {
				return err
			}
		}
		(&planner{b: b}).query(q, false)
		in.Source = q
	}
	out.Instead = in
	return nil
}

func viewColumns(n *syntax.Insert, r *relation) ([]int, error) {
	var out []int
	if len(n.Columns) == 0 {
		for i := range r.cols {
			out = append(out, i)
		}
		return out, nil
	}
	for _, id := range n.Columns {
		at := -1
		for i := range r.cols {
			if sameName(r.cols[i].name, id.Name) {
				at = i
			}
		}
		if at < 0 {
			return nil, fail(id, 207, id.Name)
		}
		out = append(out, at)
	}
	return out, nil
}

// insteadTarget returns the view that an UPDATE or DELETE without FROM names,
// if a trigger takes the statement's place.
func (b *binder) insteadTarget(te syntax.TableExpr, verb string) *catalog.Module {
	n, ok := te.(*syntax.TableRef)
	if !ok || (n.Name.Schema.Name == "" && b.ctes.find(n.Name.Object.Name) != nil) {
		return nil
	}
	o, err := b.env.Relation(n.Name)
	if err != nil {
		return nil
	}
	view, ok := o.(*catalog.Module)
	if !ok || view.ModuleKind != catalog.KindView || !b.hasInstead(view, verb) {
		return nil
	}
	return view
}

// changeInstead binds UPDATE and DELETE of a view with an INSTEAD OF trigger.
func (b *binder) changeInstead(n syntax.Node, view *catalog.Module, verb string, from []syntax.TableExpr, where syntax.Expr, sets []syntax.SetClause, extra bool, out *Stmt) error {
	if len(from) > 0 || extra {
		return unsupported(n, "FROM, TOP or OUTPUT in "+verb+" of a view with an INSTEAD OF trigger")
	}
	b.scope = &scope{clause: clauseOn}
	rel, r, err := b.insteadView(n, view, view.Name)
	if err != nil {
		return err
	}
	b.scope.rels = append(b.scope.rels, r)
	in := newInstead(view, verb, r)
	var conds []Expr
	if where != nil {
		b.scope.clause = clauseWhere
		x, err := b.condition(where)
		if err != nil {
			return err
		}
		conds = conjuncts(x)
	}
	for i := range r.cols {
		x, ok := substitute(r.cols[i].x, func(*Column) Expr { return nil })
		if !ok {
			return unsupported(n, "a query behind a column of this view")
		}
		in.Items = append(in.Items, x)
	}
	for i := range sets {
		s, err := b.viewSet(&sets[i], r)
		if err != nil {
			return err
		}
		in.Sets = append(in.Sets, s)
	}
	p := &planner{b: b}
	in.Root, _ = (&fromPlan{planner: p}).plan(rel, conds, nil)
	p.relQueries(&in.Root)
	for i := range in.Sets {
		p.exprQueries(&in.Sets[i].X)
	}
	out.Instead = in
	return nil
}

// viewSet binds one assignment to a column of a view.
func (b *binder) viewSet(s *syntax.SetClause, r *relation) (Set, error) {
	set := Set{Column: -1, Slot: -1}
	if s.Column == nil || s.Variable != "" || s.Method != nil {
		return set, unsupported(s.X, "this assignment in UPDATE of a view with an INSTEAD OF trigger")
	}
	last := s.Column.Parts[len(s.Column.Parts)-1].Name
	for i := range r.cols {
		if sameName(r.cols[i].name, last) {
			set.Column = i
		}
	}
	if set.Column < 0 {
		return set, fail(s.Column, 207, last)
	}
	x, err := b.value(s.X)
	if err != nil {
		return set, err
	}
	if s.Op != nil {
		left, ok := substitute(r.cols[set.Column].x, func(*Column) Expr { return nil })
		if !ok {
			return set, unsupported(s.X, "a query behind a column of this view")
		}
		if x, err = b.arith(s.X, *s.Op, left, x); err != nil {
			return set, err
		}
	}
	set.X, err = b.assignTo(s.X, x, r.cols[set.Column].out.T, ModeAssign)
	return set, err
}

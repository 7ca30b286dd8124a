package plan

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// newBinder returns the binder of a statement's own text.
func newBinder(env Binder) *binder {
	return &binder{statement: &statement{}, env: env, outermost: true, option: options{maxRecursion: 100}}
}

// BindScalar binds an expression without columns.
func BindScalar(env Binder, e syntax.Expr) (*Scalar, error) {
	b := newBinder(env)
	x, err := b.value(e)
	return b.scalar(x, err)
}

// BindCondition binds a condition without columns.
func BindCondition(env Binder, e syntax.Expr) (*Scalar, error) {
	b := newBinder(env)
	x, err := b.condition(e)
	return b.scalar(x, err)
}

// BindRow binds an expression or condition over the columns of a table, in
// source 0.
func BindRow(env Binder, t *catalog.Table, e syntax.Expr) (*Scalar, error) {
	b := newBinder(env)
	in, err := b.overTable(t, b.source(), t.Name)
	if err != nil {
		return nil, err
	}
	x, err := in.expr(e)
	return b.scalar(x, err)
}

func (b *binder) scalar(x Expr, err error) (*Scalar, error) {
	if err != nil {
		return nil, err
	}
	p := &planner{b: b}
	p.exprQueries(&x)
	return &Scalar{X: x, Sources: b.sources, States: b.states, Tables: b.tables, Modules: b.modules, Uses: b.uses}, nil
}

// Bind binds and plans a statement.
func Bind(env Binder, s syntax.Statement) (*Stmt, error) {
	b := newBinder(env)
	out := &Stmt{}
	var err error
	switch n := s.(type) {
	case *syntax.SelectStmt:
		err = b.selectStmt(n, out)
	case *syntax.Insert:
		err = b.insert(n, out)
	case *syntax.Update:
		err = b.update(n, out)
	case *syntax.Delete:
		err = b.delete(n, out)
	case *syntax.Merge:
		err = b.merge(n, out)
	case *syntax.Truncate:
		err = b.truncate(n, out)
	default:
		err = unsupported(s, "this statement")
	}
	if err != nil {
		return nil, lineOf(s, err)
	}
	out.Sources, out.States = b.sources, b.states
	out.Tables, out.Modules, out.Uses = b.tables, b.modules, b.uses
	return out, nil
}

// begin binds WITH and OPTION and returns the binder for the rest.
func (b *binder) begin(with []syntax.CTE, option []syntax.QueryHint) error {
	if err := b.bindOptions(option); err != nil {
		return err
	}
	for i := range with {
		for j := range i {
			if sameName(with[i].Name.Name, with[j].Name.Name) {
				return fail(with[i].Name, 239, with[i].Name.Name)
			}
		}
	}
	b.ctes = b.ctes.push(with, b)
	return nil
}

func (b *binder) selectStmt(n *syntax.SelectStmt, out *Stmt) error {
	if err := b.begin(n.With, n.Option); err != nil {
		return err
	}
	sel, plain := n.Query.(*syntax.Select)
	if plain {
		for i := range sel.Items {
			if sel.Items[i].Assign != "" {
				b.assigns = true
			}
		}
	}
	q, err := b.query(n.Query, placeStatement)
	if err != nil {
		return err
	}
	if b.assigns {
		if err := b.assignments(sel, q, out); err != nil {
			return err
		}
	} else {
		for i := range q.Items {
			q.Items[i] = typedNull(q.Items[i])
			q.Columns[i].T = defaultType(q.Columns[i].T)
		}
	}
	if out.Into = intoOf(n.Query); out.Into != nil {
		if b.assigns {
			return fail(n, 194)
		}
		for i, c := range q.Columns {
			if c.Name == "" {
				return fail(n, 1038)
			}
			for _, o := range q.Columns[:i] {
				if sameName(o.Name, c.Name) {
					return fail(n, 2705, c.Name, out.Into.Object.Name)
				}
			}
		}
	}
	p := &planner{b: b}
	p.query(q, false)
	out.Query = q
	return nil
}

func typedNull(x Expr) Expr {
	if x.Type().Kind != types.KindNull {
		return x
	}
	if c, ok := x.(*Const); ok {
		return &Const{Value: c.Value, T: types.TypeInt}
	}
	return x
}

// intoOf finds INTO in the first SELECT of a query.
func intoOf(q syntax.QueryExpr) *syntax.Name {
	switch n := q.(type) {
	case *syntax.Select:
		return n.Into
	case *syntax.SetOp:
		return intoOf(n.L)
	}
	return nil
}

// assignments turns the items of SELECT @v = … into values of the variables'
// types.
func (b *binder) assignments(n *syntax.Select, q *Query, out *Stmt) error {
	if len(q.Items) != len(n.Items) {
		return fail(n, 141)
	}
	for i := range n.Items {
		si := &n.Items[i]
		if si.Assign == "" {
			return fail(si, 141)
		}
		slot, t, err := b.env.Variable(si.Assign)
		if err != nil {
			return lineOf(si, err)
		}
		x := q.Items[i]
		if si.AssignOp != nil {
			if x, err = b.arith(si, *si.AssignOp, &Variable{Slot: slot, T: t, Name: si.Assign}, x); err != nil {
				return err
			}
		}
		if q.Items[i], err = b.assignTo(si, x, t, ModeAssign); err != nil {
			return err
		}
		out.Assign = append(out.Assign, Assignment{Slot: slot, T: t})
	}
	if q.For != nil {
		return fail(n, 6819, "FOR JSON", "SELECT")
	}
	return nil
}

func (b *binder) truncate(n *syntax.Truncate, out *Stmt) error {
	o, err := b.env.Relation(n.Table)
	if err != nil {
		return fail(n, 4701, n.Table.Object.Name)
	}
	t, ok := o.(*catalog.Table)
	if !ok {
		return fail(n, 4701, n.Table.Object.Name)
	}
	for _, id := range t.ReferencedBy {
		if id != t.ID {
			return fail(n, 4712, t.Name)
		}
	}
	b.addTable(t)
	b.use(t, "ALTER")
	out.Truncate, out.Target = t, t
	return nil
}

package exec

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// RowExpr is a compiled expression or condition over the columns of a table.
type RowExpr struct {
	expr Expr
}

// CompileRowExpr compiles an expression over the columns of t: a computed
// column, a check, or the filter of an index.
func CompileRowExpr(b plan.Binder, t *catalog.Table, e syntax.Expr) (*RowExpr, error) {
	x, err := newExpr(plan.BindRow(b, t, e))
	if err != nil {
		return nil, err
	}
	return &RowExpr{expr: *x}, nil
}

// Type is the type of the expression's value; bit for a condition.
func (e *RowExpr) Type() types.Type { return e.expr.typ }

// Eval computes the expression for a row. A condition is 1, 0 or NULL.
func (e *RowExpr) Eval(rt Runtime, row types.Row) (types.Value, error) {
	r := newRun(rt, e.expr.sources, e.expr.states)
	defer r.end()
	r.rows[0] = row
	return e.expr.eval(r)
}

// Test reports whether a condition is true for a row. It needs no session: the
// filter of an index reads nothing but the row.
func (e *RowExpr) Test(row types.Row) bool {
	r := &run{rows: make([]types.Row, max(e.expr.sources, 1)), states: make([]any, e.expr.states)}
	r.rows[0] = row
	v, err := e.expr.eval(r)
	return err == nil && !v.IsNull() && v.Bool()
}

// ComputedType is the type of a computed column of t.
func ComputedType(b plan.Binder, t *catalog.Table, e syntax.Expr) (types.Type, error) {
	x, err := CompileRowExpr(b, t, e)
	if err != nil {
		return types.Type{}, err
	}
	return x.Type(), nil
}

// Defaults are the compiled defaults of a table.
type Defaults struct {
	table *catalog.Table
	exprs []*Expr
}

// CompileDefaults compiles the defaults of t.
func CompileDefaults(b plan.Binder, t *catalog.Table) (Defaults, error) {
	d := Defaults{table: t, exprs: make([]*Expr, len(t.Columns))}
	for i, c := range t.Columns {
		if c.Default == "" {
			continue
		}
		tree, err := syntax.ParseExpr(c.Default, syntax.Options{QuotedIdentifier: true})
		if err != nil {
			return d, err
		}
		if d.exprs[i], err = CompileExpr(b, tree); err != nil {
			return d, err
		}
	}
	return d, nil
}

// Value computes the default of column i in the column's type; NULL without
// one.
func (d Defaults) Value(rt Runtime, i int) (types.Value, error) {
	if d.exprs[i] == nil {
		return types.Null, nil
	}
	v, err := d.exprs[i].Eval(rt)
	if err != nil {
		return v, err
	}
	out, err := types.Store(v, d.table.Columns[i].Type)
	if err != nil {
		return out, StoreError(err, d.table, i)
	}
	return out, nil
}

// ModuleColumns binds the query of a view or an inline function and describes
// its columns.
func ModuleColumns(b plan.Binder, m *catalog.Module) ([]Column, error) {
	cols, err := plan.ModuleColumns(b, m)
	if err != nil {
		return nil, err
	}
	return columnsOf(cols), nil
}

// Validate checks all rows of t against new constraints: error 547 in the name
// of the statement, such as ALTER TABLE.
func Validate(b plan.Binder, rt Runtime, t *catalog.Table, checks []*catalog.Check, keys []*catalog.ForeignKey, statement string) error {
	part := *t
	part.Checks, part.ForeignKeys, part.ReferencedBy = checks, keys, nil
	rules, sources, states, err := plan.TableRules(b, &part)
	if err != nil {
		return err
	}
	c := &compiler{}
	w := c.rules(&part, rules, map[*plan.Rules]*writer{})
	if c.err != nil {
		return c.err
	}
	r := newRun(rt, sources, states)
	defer r.end()
	index := -1
	if t.HasClustered {
		index = 0
	}
	cur := rt.Tx().Scan(r.ctx, t.Store, index, storage.Range{}, storage.Access{Mode: storage.S, Timeout: r.timeout})
	defer cur.Close()
	for cur.Next() {
		if err := w.validate(r, cur.Row(), statement); err != nil {
			return err
		}
	}
	return cur.Err()
}

func (w *writer) validate(r *run, row types.Row, statement string) error {
	r.rows[w.target.New] = row
	for i := range w.checks {
		t, err := w.checks[i].cond(r)
		if err != nil {
			return err
		}
		if t == isFalse {
			return w.violates(w.checks[i].c, statement)
		}
	}
	for _, k := range w.keys {
		if err := k.present(r, []types.Row{row}, nil, statement); err != nil {
			return err
		}
	}
	return r.tick()
}

// Truncate empties a table and restarts its identity.
func Truncate(rt Runtime, t *catalog.Table) error {
	if len(t.ReferencedBy) > 0 {
		for _, id := range t.ReferencedBy {
			if id != t.ID {
				return sqlerr.New(4712, t.Name)
			}
		}
	}
	tx := rt.Tx()
	if err := tx.Lock(rt.Context(), t.Store.Resource(), storage.SchM, rt.LockTimeout()); err != nil {
		return err
	}
	if err := tx.Truncate(rt.Context(), t.Store); err != nil {
		return err
	}
	if t.Identity == nil {
		return nil
	}
	t.Identity.RestartIn(tx, t.Identity.Seed())
	return nil
}

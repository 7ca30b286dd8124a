package exec

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// Expr is a compiled scalar expression or condition without free columns.
type Expr struct {
	typ     types.Type
	eval    evalFunc
	sources int
	states  int
	tables  []*catalog.Table
	modules []*catalog.Module
	uses    []Use
	plain   bool // needs no frame: no query inside
}

// CompileExpr compiles a scalar expression; it may contain queries.
func CompileExpr(b plan.Binder, e syntax.Expr) (*Expr, error) {
	return newExpr(plan.BindScalar(b, e))
}

// CompileCondition compiles the condition of IF or WHILE.
func CompileCondition(b plan.Binder, e syntax.Expr) (*Expr, error) {
	return newExpr(plan.BindCondition(b, e))
}

func newExpr(p *plan.Scalar, err error) (*Expr, error) {
	if err != nil {
		return nil, err
	}
	c := &compiler{}
	e := &Expr{typ: p.X.Type(), sources: p.Sources, states: p.States, tables: p.Tables, modules: p.Modules, uses: p.Uses}
	if plan.IsCondition(p.X) {
		e.typ = types.TypeBit
	}
	e.eval = c.expr(p.X)
	e.plain = p.Sources == 0 && p.States == 0
	return e, c.err
}

// Type is the type of the expression's value; bit for a condition.
func (e *Expr) Type() types.Type { return e.typ }

// Tables are the tables that the expression reads.
func (e *Expr) Tables() []*catalog.Table { return e.tables }

// Modules are the views and functions that the expression uses.
func (e *Expr) Modules() []*catalog.Module { return e.modules }

// Uses are the permissions that the expression needs.
func (e *Expr) Uses() []Use { return e.uses }

// Eval computes the expression. A condition is 1, 0 or NULL.
func (e *Expr) Eval(rt Runtime) (types.Value, error) {
	if e.plain {
		r := plainRuns.Get().(*run)
		r.rt, r.vars = rt, rt.Variables()
		v, err := e.eval(r)
		r.rt, r.vars, r.sequences = nil, nil, nil
		plainRuns.Put(r)
		return v, err
	}
	r := newRun(rt, e.sources, e.states)
	r.tables = e.tables
	v, err := e.eval(r)
	r.end()
	return v, err
}

// Statement is a compiled query or data modification.
type Statement struct {
	plan    *plan.Stmt
	columns []Column
	into    []Column
	body    body
}

// body is the compiled form of one kind of statement.
type body interface {
	run(r *run, out func(types.Row) error) (int64, error)
}

// CompileStatement compiles a SELECT, INSERT, UPDATE, DELETE, MERGE or TRUNCATE.
func CompileStatement(b plan.Binder, s syntax.Statement) (*Statement, error) {
	p, err := plan.Bind(b, s)
	if err != nil {
		return nil, err
	}
	st := &Statement{plan: p}
	c := &compiler{stmt: p}
	st.body = c.statement(p)
	if c.err != nil {
		return nil, c.err
	}
	st.describe()
	return st, nil
}

// Columns are those of the result set: of a SELECT that neither assigns nor
// has INTO, or of an OUTPUT clause without INTO. It is nil when the statement
// has no result set.
func (s *Statement) Columns() []Column { return s.columns }

// Tables are all tables that the statement reads or changes, those inside
// views and behind foreign keys included.
func (s *Statement) Tables() []*catalog.Table { return s.plan.Tables }

// TempTables are those of Tables that belong to a session.
func (s *Statement) TempTables() []*catalog.Table {
	var out []*catalog.Table
	for _, t := range s.plan.Tables {
		if t.Temporary {
			out = append(out, t)
		}
	}
	return out
}

// Use is one permission that a statement needs.
type Use = plan.Use

// Uses are the permissions that the statement needs: objects as they are named
// in its own text. What a view or function reads is the owner's business.
func (s *Statement) Uses() []Use { return s.plan.Uses }

// Modules are the views and functions that the statement uses, for the check
// whether a cached plan is still good.
func (s *Statement) Modules() []*catalog.Module { return s.plan.Modules }

// Assigns reports whether the statement is SELECT @v = ….
func (s *Statement) Assigns() bool { return s.plan.Assigns() }

// Writes reports whether the statement changes a table.
func (s *Statement) Writes() bool { return s.plan.Query == nil || s.plan.Into != nil }

// InputColumns is the number of columns that the rows of INSERT … EXEC have.
func (s *Statement) InputColumns() int {
	if s.plan.Insert == nil {
		return 0
	}
	return len(s.plan.Insert.Columns)
}

// Target is the object that a modification changes, nil for a query.
func (s *Statement) Target() catalog.Object { return s.plan.Target }

// Describe shows the chosen plan, an operator a line.
func (s *Statement) Describe() string { return s.plan.Describe() }

// Run executes the statement. out receives each row of the result set and may
// keep it. rows is what @@ROWCOUNT becomes.
func (s *Statement) Run(rt Runtime, out func(types.Row) error) (rows int64, err error) {
	r := newRun(rt, s.plan.Sources, s.plan.States)
	r.tables = s.plan.Tables
	defer r.end()
	rows, err = s.body.run(r, out)
	if err != nil {
		r.undo()
		return 0, err
	}
	r.finish()
	return rows, nil
}

// RunInsert runs an INSERT whose rows the caller collected: INSERT … EXEC.
func (s *Statement) RunInsert(rt Runtime, input []types.Row, out func(types.Row) error) (int64, error) {
	ins, ok := s.body.(*insertBody)
	if !ok || s.plan.Insert.Source != nil {
		return 0, sqlerr.Unsupported("rows from EXEC in this statement")
	}
	r := newRun(rt, s.plan.Sources, s.plan.States)
	r.tables = s.plan.Tables
	defer r.end()
	rows, err := ins.runInput(r, input, out)
	if err != nil {
		r.undo()
		return 0, err
	}
	r.finish()
	return rows, nil
}

// Into is the table that SELECT … INTO creates, nil for other statements.
func (s *Statement) Into() *syntax.Name { return s.plan.Into }

// IntoColumns are the columns of the table that SELECT … INTO creates.
func (s *Statement) IntoColumns() []Column { return s.into }

// RunInto runs SELECT … INTO after the caller created the table t.
func (s *Statement) RunInto(rt Runtime, t *catalog.Table) (int64, error) {
	r := newRun(rt, s.plan.Sources, s.plan.States)
	r.tables = s.plan.Tables
	defer r.end()
	rows, err := s.body.(*selectBody).runInto(r, t)
	if err != nil {
		return 0, err
	}
	r.finish()
	return rows, nil
}

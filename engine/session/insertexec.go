package session

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/exec"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

// capture is the output of a procedure within INSERT … EXEC: result sets become
// rows, messages go on to the client.
type capture struct {
	wire.Output
	columns int // of the target
	rows    []types.Row
	started int // @@TRANCOUNT when it began
}

// Columns implements wire.Output, error 213.
func (c *capture) Columns(cols []wire.Column) error {
	if len(cols) != c.columns {
		return &propagated{sqlerr.New(213), outcome{batch: true, transaction: true}}
	}
	return nil
}

// Row implements wire.Output.
func (c *capture) Row(r []types.Value) error {
	c.rows = append(c.rows, append(types.Row(nil), r...))
	return nil
}

// Done implements wire.Output: the client sees one statement, the INSERT.
func (c *capture) Done(wire.Done) error { return nil }

// insertExec runs INSERT … EXEC. Within it @@TRANCOUNT is at least 1 and the
// transaction cannot be rolled back (3915).
func (x *Session) insertExec(f *frame, l *lazyStatement, call *execStatement) error {
	if x.inserting != nil {
		return sqlerr.New(8164)
	}
	if x.opts.fmtOnly {
		return sqlerr.Unsupported("INSERT … EXECUTE under SET FMTONLY ON")
	}
	stmt, err := l.compile(x, f)
	if err != nil {
		return err
	}
	if err := x.permitted(f, stmt); err != nil {
		return err
	}
	if err := x.checkTarget(stmt); err != nil {
		return err
	}
	var rows int64
	a := access{tables: stmt.Tables(), modules: stmt.Modules(), writes: true}
	err = x.inStatement(f, a, func() error {
		var input []types.Row
		err := x.within(func() error {
			var err error
			input, err = x.captureCall(f, stmt.InputColumns(), call)
			return err
		})
		if err != nil {
			return err
		}
		if x.replaced(stmt.Target()) {
			return sqlerr.New(556)
		}
		rows, err = x.insertRows(f, stmt, input)
		return err
	})
	return x.finish(f, stmt.Columns() != nil, rows, wire.CommandInsert, err)
}

// replaced reports whether a table is not the one any more that a statement was
// compiled for: it has been altered or dropped since.
func (x *Session) replaced(o catalog.Object) bool {
	t, ok := o.(*catalog.Table)
	if !ok || t.Temporary || t.TypeOnly {
		return false
	}
	db, ok := x.srv.cat.DatabaseByID(t.DatabaseID)
	if !ok {
		return true
	}
	now, ok := db.ObjectByID(t.ID)
	return !ok || now != catalog.Object(t)
}

func (x *Session) insertRows(f *frame, stmt *exec.Statement, input []types.Row) (int64, error) {
	out, err := x.rowsTo(stmt.Columns())
	if err != nil {
		return 0, err
	}
	return stmt.RunInsert(&f.rt, input, out)
}

// captureCall runs the EXEC and returns the rows of its result sets.
func (x *Session) captureCall(f *frame, columns int, call *execStatement) ([]types.Row, error) {
	c := &capture{Output: x.out, columns: columns, started: x.txn.count}
	x.out, x.inserting = c, c
	defer func() { x.out, x.inserting = c.Output, nil }()
	if err := x.execute(f, call); err != nil {
		return nil, err
	}
	return c.rows, nil
}

// within runs work that sees the statement's own transaction as one that is
// open: a trigger, or the EXEC of an INSERT … EXEC.
func (x *Session) within(work func() error) error {
	if x.txn.count > 0 {
		return work()
	}
	x.txn.ensure(x)
	x.txn.count = 1
	x.txn.within++
	err := work()
	x.txn.within--
	if x.txn.tx != nil && x.txn.count > 0 {
		x.txn.count = 0
	}
	if x.txn.doomed && x.txn.within == 0 {
		x.txn.rollback(x)
		if err == nil {
			err = sqlerr.New(3998)
		}
	}
	return err
}

// afterTriggers fires the AFTER triggers of a table for an action.
func (x *Session) afterTriggers(_ *frame, t *catalog.Table, action exec.Action, inserted, deleted []types.Row, updated []int) error {
	if x.quiet {
		return nil
	}
	running := x.runningTrigger()
	for _, m := range t.Triggers {
		if m.InsteadOf || m.Disabled || !fires(m, action) || m.ID == running {
			continue // RECURSIVE_TRIGGERS is off: a trigger does not fire itself
		}
		if err := x.fire(m, inserted, deleted, updated); err != nil {
			return err
		}
	}
	return nil
}

// runningTrigger is the id of the innermost trigger that is running, 0 for none.
func (x *Session) runningTrigger() int32 {
	for f := x.frame; f != nil; f = f.caller {
		if f.trigger {
			return f.module.ID
		}
	}
	return 0
}

func fires(m *catalog.Module, a exec.Action) bool {
	switch a {
	case exec.ActionInsert:
		return m.OnInsert
	case exec.ActionUpdate:
		return m.OnUpdate
	default:
		return m.OnDelete
	}
}

// insteadOf fires the INSTEAD OF trigger of a table or view, if there is one
// and it is not the one that is running.
func (x *Session) insteadOf(_ *frame, o catalog.Object, action exec.Action, inserted, deleted []types.Row, updated []int) (bool, error) {
	m := x.insteadOfTrigger(o, action)
	if m == nil || x.quiet {
		return false, nil
	}
	for g := x.frame; g != nil; g = g.caller {
		if g.trigger && g.module.ID == m.ID {
			return false, nil
		}
	}
	return true, x.fire(m, inserted, deleted, updated)
}

func (x *Session) insteadOfTrigger(o catalog.Object, action exec.Action) *catalog.Module {
	var list []*catalog.Module
	switch o := o.(type) {
	case *catalog.Table:
		list = o.Triggers
	case *catalog.Module:
		list = x.triggersOf(o)
	}
	for _, m := range list {
		if m.InsteadOf && !m.Disabled && fires(m, action) {
			return m
		}
	}
	return nil
}

// triggersOf are the triggers of a view.
func (x *Session) triggersOf(view *catalog.Module) []*catalog.Module {
	db, ok := x.srv.cat.DatabaseByID(view.DatabaseID)
	if !ok {
		return nil
	}
	var list []*catalog.Module
	for _, o := range db.Objects() {
		if m, ok := o.(*catalog.Module); ok && m.ModuleKind == catalog.KindTrigger && m.Parent == view.ID {
			list = append(list, m)
		}
	}
	return list
}

// fire runs one trigger. XACT_ABORT is on in a trigger. A trigger that ends the
// transaction ends the batch, error 3609, and so does one that leaves it doomed,
// error 3616.
func (x *Session) fire(m *catalog.Module, inserted, deleted []types.Row, updated []int) error {
	m, p, err := x.moduleProgram(m)
	if err != nil {
		return err
	}
	f := x.newFrame(p, m, x.frame)
	f.trigger, f.inserted, f.deleted, f.updated = true, inserted, deleted, updated
	ended := x.ended
	x.triggers++
	defer func() { x.triggers-- }()
	savedRows := x.rowCount
	x.rowCount = int64(max(len(inserted), len(deleted)))
	statement := x.statement
	err = x.within(func() error {
		return x.call(f, func() error {
			x.opts.quotedIdentifier, x.opts.ansiNulls = m.QuotedIdentifier, m.AnsiNulls
			x.opts.xactAbort = true
			x.opts.rowCount = 0
			if err := x.impersonateFor(m, f); err != nil {
				return err
			}
			if err := x.run(f); err != nil || !x.txn.doomed {
				return err
			}
			return sqlerr.New(3616)
		})
	})
	x.rowCount, x.statement = savedRows, statement
	if err != nil {
		return err
	}
	if x.ended != ended {
		return sqlerr.New(3609)
	}
	return nil
}

// callFunction runs a user-defined scalar function.
func (x *Session) callFunction(m *catalog.Module, args []types.Value) (types.Value, error) {
	actuals := make([]actual, len(args))
	for i, v := range args {
		actuals[i] = actual{value: v, typ: m.Parameters[i].Type, isDef: exec.IsDefault(v)}
	}
	f, err := x.callFunctionFrame(m, actuals)
	if err != nil {
		return types.Null, err
	}
	return f.result, nil
}

func (x *Session) callFunctionFrame(m *catalog.Module, actuals []actual) (*frame, error) {
	m, p, err := x.moduleProgram(m)
	if err != nil {
		return nil, err
	}
	f := x.newFrame(p, m, x.frame)
	f.function = true
	if err := x.bindArguments(f, m.Name, actuals); err != nil {
		return nil, inCall(err, m)
	}
	statement, rows := x.statement, x.rowCount
	x.functions++
	err = x.call(f, func() error {
		x.opts.quotedIdentifier, x.opts.ansiNulls, x.opts.noCount = m.QuotedIdentifier, m.AnsiNulls, true
		return x.run(f)
	})
	x.functions--
	x.statement, x.rowCount = statement, rows
	return f, err
}

package session

import (
	"errors"

	"loopbroker/engine/catalog"
	"loopbroker/engine/exec"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

// access is what a statement is about to use.
type access struct {
	tables  []*catalog.Table
	modules []*catalog.Module
	// writes marks a statement that changes data or objects.
	writes bool
}

// inStatement runs work as one statement: within the session's transaction, or
// within one of its own that ends with it. Changes of a statement that fails
// are undone, the rest of the transaction stays.
func (x *Session) inStatement(f *frame, a access, work func() error) error {
	if a.writes {
		if err := x.writable(); err != nil {
			return err
		}
	}
	if len(a.tables) > 0 || a.writes {
		x.openImplicit()
	}
	// A statement outside a transaction has one of its own; a statement of a
	// function that it calls takes part in it.
	own := x.txn.count == 0 && !x.txn.auto
	if own {
		x.txn.auto = true
		defer func() { x.txn.auto = false }()
	}
	if err := x.touch(a.tables); err != nil {
		if own && x.txn.tx != nil {
			x.txn.rollbackOwn()
		}
		return err
	}
	x.statement = x.srv.now().UTC()
	x.info.refresh(x)
	var mark storage.Mark
	marked := a.writes && !own
	if marked {
		mark = x.txn.ensure(x).Savepoint()
	}
	ended := x.ended
	err := work()
	if e := x.endTableVariables(f, err); err == nil {
		err = e
	}
	if x.ended != ended {
		return err // the transaction has gone with everything in it
	}
	switch {
	case own && x.txn.tx != nil && x.txn.count == 0:
		if err != nil {
			x.txn.rollbackOwn()
			return err
		}
		return x.txn.end(x)
	case marked && err != nil && x.txn.tx != nil:
		if errors.Is(err, storage.ErrDeadlock) {
			return err // the transaction is rolled back or doomed as a whole
		}
		x.txn.tx.RollbackTo(mark)
	}
	return err
}

// rollbackOwn rolls back the transaction of a single statement.
func (t *transaction) rollbackOwn() {
	t.tx.Rollback()
	t.clear()
}

// queryStatement compiles SELECT, INSERT, UPDATE, DELETE, MERGE and TRUNCATE.
func (c *compiler) queryStatement(s syntax.Statement) error {
	lazy := &lazyStatement{src: s}
	if ins, ok := s.(*syntax.Insert); ok && ins.Exec != nil {
		call, err := c.execCall(ins.Exec)
		if err != nil {
			return err
		}
		c.emit(s, func(x *Session, f *frame) error { return x.insertExec(f, lazy, call) })
		return nil
	}
	command := commandOf(s)
	c.emit(s, func(x *Session, f *frame) error { return x.runQuery(f, lazy, command) })
	return nil
}

// commandOf is the kind of a statement in the DONE token.
func commandOf(s syntax.Statement) uint16 {
	switch s.(type) {
	case *syntax.Insert:
		return wire.CommandInsert
	case *syntax.Update:
		return wire.CommandUpdate
	case *syntax.Delete:
		return wire.CommandDelete
	case *syntax.Merge:
		return wire.CommandMerge
	}
	return wire.CommandSelect
}

// runQuery compiles and runs one query or data modification.
func (x *Session) runQuery(f *frame, l *lazyStatement, command uint16) error {
	stmt, err := l.compile(x, f)
	if err != nil {
		return err
	}
	if x.opts.fmtOnly {
		return x.describe(f, stmt, command)
	}
	if command == wire.CommandInsert {
		if t, ok := stmt.Target().(*catalog.Table); ok && t.Identity == nil {
			x.lastIdentity = types.Null // unless a trigger sets it
		}
	}
	rows, err := x.runCompiled(f, stmt, nil)
	if err != nil && x.retryable(err, stmt, l) {
		if stmt, err = l.compile(x, f); err != nil {
			return err
		}
		rows, err = x.runCompiled(f, stmt, nil)
	}
	return x.finish(f, stmt.Columns() != nil, rows, command, err)
}

// describe is a statement under SET FMTONLY ON: the client gets the columns of its
// result and no rows, and nothing is changed.
func (x *Session) describe(f *frame, stmt *exec.Statement, command uint16) error {
	if err := x.permitted(f, stmt); err != nil {
		return err
	}
	if stmt.Columns() == nil {
		return nil
	}
	if _, err := x.rowsTo(stmt.Columns()); err != nil {
		return err
	}
	return x.finish(f, true, 0, command, nil)
}

// retryable reports whether a statement failed only because a table it was
// compiled for has been dropped or changed meanwhile.
func (x *Session) retryable(err error, stmt *exec.Statement, l *lazyStatement) bool {
	if !errors.Is(err, storage.ErrDropped) {
		return false
	}
	if c := l.compiled.Load(); c != nil && c.stmt == stmt {
		l.compiled.CompareAndSwap(c, nil)
	}
	delete(x.local, l)
	return true
}

// finish records how a statement ended and tells the client.
func (x *Session) finish(f *frame, result bool, rows int64, command uint16, err error) error {
	if err != nil {
		x.rowCount = 0
		if result {
			x.cutResult = &wire.Done{Command: command, InProc: f.inProc()}
		}
		return err
	}
	x.rowCount, x.lastError = rows, 0
	if x.functions > 0 || x.opts.noCount && !result {
		return nil
	}
	return x.out.Done(wire.Done{Rows: rows, HasRows: !x.opts.noCount, Command: command, InProc: f.inProc()})
}

// endResult ends the result set that an error has cut short. It comes after the
// error itself, in the order in which clients read them; an error that a TRY
// catches leaves a result set that just ends.
func (x *Session) endResult(failed bool) {
	if d := x.cutResult; d != nil {
		x.cutResult = nil
		d.Error = failed
		_ = x.out.Done(*d)
	}
}

// runCompiled runs a statement and sends its rows. input are the rows of an
// INSERT … EXEC.
func (x *Session) runCompiled(f *frame, stmt *exec.Statement, input *[]types.Row) (int64, error) {
	a := access{tables: stmt.Tables(), modules: stmt.Modules(), writes: stmt.Writes()}
	if err := x.permitted(f, stmt); err != nil {
		return 0, err
	}
	if err := x.checkTarget(stmt); err != nil {
		return 0, err
	}
	if into := stmt.Into(); into != nil {
		return x.selectInto(f, stmt, a)
	}
	var rows int64
	err := x.inStatement(f, a, func() error {
		out, err := x.rowsTo(stmt.Columns())
		if err != nil {
			return err
		}
		if input != nil {
			rows, err = stmt.RunInsert(&f.rt, *input, out)
			return err
		}
		rows, err = stmt.Run(&f.rt, out)
		return err
	})
	if errors.Is(err, storage.ErrSnapshotConflict) {
		err = x.updateConflict(stmt)
	}
	return rows, err
}

// updateConflict is error 3960 with the table that the statement changes.
func (x *Session) updateConflict(stmt *exec.Statement) error {
	name := ""
	if t := stmt.Target(); t != nil {
		name = t.Head().Schema + "." + t.Head().Name
	}
	return sqlerr.New(3960, name, x.db.Name)
}

// rowsTo begins a result set and returns where its rows go, nil when the
// statement has none.
func (x *Session) rowsTo(cols []exec.Column) (func(types.Row) error, error) {
	if cols == nil {
		return nil, nil
	}
	if x.functions > 0 {
		return nil, sqlerr.New(444)
	}
	wireCols := make([]wire.Column, len(cols))
	for i, c := range cols {
		wireCols[i] = wire.Column{Name: c.Name, Type: c.Type, Nullable: c.Nullable, Identity: c.Identity, Computed: c.Computed}
	}
	if err := x.out.Columns(wireCols); err != nil {
		return nil, err
	}
	n := 0
	return func(r types.Row) error {
		if n++; n&0x3f == 0 {
			if err := x.checkInterrupt(); err != nil {
				return err
			}
		}
		return x.out.Row(r)
	}, nil
}

package session

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
	"loopbroker/engine/tds"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

// transaction is the session's current transaction, if any.
type transaction struct {
	tx *storage.Tx
	// count is @@TRANCOUNT. It is 0 while a statement runs in a transaction of
	// its own (autocommit), unless a trigger or INSERT … EXEC runs within.
	count  int
	doomed bool
	name   string
	// implicit is set for one that IMPLICIT_TRANSACTIONS has begun.
	implicit bool
	saves    []savepoint
	// level tells whether the transaction first touched data under SNAPSHOT.
	level accessLevel
	// delayed is COMMIT … WITH (DELAYED_DURABILITY = ON).
	delayed bool
	// hard is set by what is durable whatever the options say.
	hard bool
	// within counts the statements that see the autocommit transaction as
	// theirs: triggers and INSERT … EXEC.
	within int
	// auto is set while a statement runs in a transaction of its own.
	auto bool
}

type savepoint struct {
	name string
	mark storage.Mark
}

// accessLevel is the kind of the first data access of a transaction.
type accessLevel uint8

const (
	untouched accessLevel = iota
	touchedLocking
	touchedSnapshot
)

// ensure returns the transaction, beginning one when there is none.
func (t *transaction) ensure(x *Session) *storage.Tx {
	if t.tx == nil {
		t.tx = x.srv.store.Begin(x.owner)
		if x.opts.deadlockPriority != 0 {
			t.tx.SetPriority(x.opts.deadlockPriority)
		}
		t.level = untouched
	}
	return t.tx
}

// begin is BEGIN TRANSACTION.
func (t *transaction) begin(x *Session, name string) {
	if t.count == 0 {
		t.ensure(x)
		t.name = name
		t.count = 1
		x.env(wire.EnvBeginTransaction, t.tx.ID())
		return
	}
	t.count++
}

// commit is COMMIT TRANSACTION, error 3902 and 3930.
func (t *transaction) commit(x *Session, delayed bool) error {
	if t.count == 0 {
		return sqlerr.New(3902)
	}
	if t.doomed {
		return sqlerr.New(3930)
	}
	if t.count > 1 {
		t.count--
		return nil
	}
	if x.inserting != nil && x.inserting.started == t.count {
		return sqlerr.New(3916)
	}
	id, explicit := t.tx.ID(), t.within == 0
	t.delayed = delayed
	if err := t.end(x); err != nil { // it has been rolled back
		t.clear()
		t.left(x)
		if explicit {
			x.env(wire.EnvRollbackTransaction, id)
		}
		return err
	}
	t.left(x)
	if explicit {
		x.env(wire.EnvCommitTransaction, id)
	}
	return nil
}

// left notes that the transaction has ended as a whole. What follows in a
// trigger that has ended the transaction of its statement runs in others.
func (t *transaction) left(x *Session) {
	x.ended++
	if t.within > 0 {
		t.auto = false
	}
	if x.opts.cursorCloseOnCommit {
		x.closeCursors()
	}
}

// end commits the storage's transaction. What x.ctx ends must not cut a commit
// that the log may already hold.
func (t *transaction) end(x *Session) error {
	var err error
	if t.lazily(x) {
		err = t.tx.CommitDelayed(x.ctx)
	} else {
		err = t.tx.Commit(x.ctx)
	}
	t.clear() // after an error it has been rolled back
	return err
}

func (t *transaction) clear() { *t = transaction{within: t.within, auto: t.auto} }

// rollback is ROLLBACK TRANSACTION of the whole transaction. Without one it
// does nothing.
func (t *transaction) rollback(x *Session) {
	if t.tx == nil {
		t.clear()
		return
	}
	id, explicit := t.tx.ID(), t.count > 0 && t.within == 0
	t.tx.Rollback()
	t.clear()
	t.left(x)
	if explicit && x.out != nil {
		x.env(wire.EnvRollbackTransaction, id)
	}
}

// doom makes the transaction one that can only be rolled back. A statement's
// own transaction is rolled back at once: there is nothing left to decide.
func (t *transaction) doom(x *Session) {
	if t.count == 0 {
		t.rollback(x)
		return
	}
	t.doomed = true
}

// save is SAVE TRANSACTION, error 628 and 3930.
func (t *transaction) save(name string) error {
	if t.count == 0 {
		return sqlerr.New(628)
	}
	if t.doomed {
		return sqlerr.New(3930)
	}
	t.saves = append(t.saves, savepoint{name, t.tx.Savepoint()})
	return nil
}

// rollbackTo is ROLLBACK TRANSACTION name, error 3903, 6401 and 3931. Names of
// transactions are compared by their code points whatever the collation.
func (t *transaction) rollbackTo(x *Session, name string) error {
	if t.count == 0 {
		return sqlerr.New(3903)
	}
	for i := len(t.saves) - 1; i >= 0; i-- {
		if t.saves[i].name == name {
			if t.doomed {
				return sqlerr.New(3931)
			}
			t.tx.RollbackTo(t.saves[i].mark)
			t.saves = t.saves[:i+1]
			return nil
		}
	}
	if t.name != "" && t.name == name {
		return x.rollbackAll()
	}
	return sqlerr.New(6401, name)
}

// rollbackAll is ROLLBACK without a savepoint, error 3903 and 3915.
func (x *Session) rollbackAll() error {
	if x.txn.count == 0 {
		return sqlerr.New(3903)
	}
	if x.inserting != nil {
		return sqlerr.New(3915)
	}
	x.txn.rollback(x)
	return nil
}

// env tells the client about a transaction.
func (x *Session) env(kind wire.EnvKind, id uint64) {
	if x.out != nil {
		_ = x.out.Env(wire.EnvChange{Kind: kind, Transaction: id})
	}
}

// openImplicit begins a transaction when IMPLICIT_TRANSACTIONS is on and the
// statement is one that begins one.
func (x *Session) openImplicit() {
	if x.opts.implicitTransactions && x.txn.count == 0 {
		x.txn.begin(x, "")
		x.txn.implicit = true
	}
}

// transactionRequest runs a request of the transaction manager, with which
// drivers begin and end transactions.
func (x *Session) transactionRequest(req wire.TMRequest) error {
	switch req.Kind {
	case tds.TMBegin:
		x.setIsolation(req.Isolation)
		x.txn.begin(x, req.Name)
		return nil
	case tds.TMCommit:
		if err := x.txn.commit(x, false); err != nil {
			return err
		}
	case tds.TMRollback:
		if req.Name != "" {
			return x.txn.rollbackTo(x, req.Name)
		}
		if err := x.rollbackAll(); err != nil {
			return err
		}
	case tds.TMSave:
		return x.txn.save(req.Name)
	default:
		return sqlerr.Unsupported("distributed transaction request")
	}
	if req.BeginNext {
		x.setIsolation(req.NextIsolation)
		x.txn.begin(x, req.NextName)
	}
	return nil
}

// setIsolation applies the level of a transaction-manager request; 0 keeps it.
func (x *Session) setIsolation(level tds.Isolation) {
	for l, n := range isolationNumbers {
		if n == int(level) {
			x.opts.isolation = l
		}
	}
}

// touch checks the rules of SNAPSHOT before a statement accesses tables, error
// 3951 and 3952.
func (x *Session) touch(tables []*catalog.Table) error {
	if len(tables) == 0 {
		return nil
	}
	x.txn.ensure(x).SetIsolation(x.opts.isolation)
	if x.opts.isolation != storage.Snapshot {
		if x.txn.level == untouched && anyLasting(tables) {
			x.txn.level = touchedLocking
		}
		return nil
	}
	for _, t := range tables {
		if t.Temporary || t.TypeOnly {
			continue
		}
		db, ok := x.srv.cat.DatabaseByID(t.DatabaseID)
		if ok && !db.AllowSnapshot.Load() {
			return sqlerr.New(3952, db.Name)
		}
		if x.txn.level == touchedLocking {
			return sqlerr.New(3951, x.db.Name)
		}
		x.txn.level = touchedSnapshot
	}
	if x.txn.level == touchedSnapshot {
		x.txn.tx.SnapshotView() // the first access decides what the transaction sees, a change as well as a read
	}
	return nil
}

func anyLasting(tables []*catalog.Table) bool {
	for _, t := range tables {
		if !t.Temporary && !t.TypeOnly {
			return true
		}
	}
	return false
}

// transactionName evaluates the name of BEGIN, SAVE or ROLLBACK.
func (x *Session) transactionName(f *frame, e *lazyExpr) (string, error) {
	if e == nil {
		return "", nil
	}
	v, err := e.eval(x, f)
	if err != nil || v.IsNull() {
		return "", err
	}
	v, err = types.Convert(v, types.NVarChar(maxTransactionName), 0)
	return v.Text(), err
}

// maxTransactionName is the longest name of a transaction or savepoint.
const maxTransactionName = 32

// checkTransactionName refuses a name that is written out and too long, error
// 103. Of the value of a variable the first characters count.
func checkTransactionName(s syntax.Statement) error {
	var name syntax.Expr
	switch s := s.(type) {
	case *syntax.BeginTran:
		name = s.Name
	case *syntax.CommitTran:
		name = s.Name
	case *syntax.RollbackTran:
		name = s.Name
	case *syntax.SaveTran:
		name = s.Name
	}
	l, ok := name.(*syntax.Literal)
	if !ok || types.UTF16Len(l.Text) <= maxTransactionName {
		return nil
	}
	return sqlerr.New(103, "identifier", l.Text, maxTransactionName).At(l.Line)
}

// transactionStatements compiles BEGIN, COMMIT, ROLLBACK and SAVE TRANSACTION.
func (c *compiler) transactionStatement(s syntax.Statement) bool {
	switch s := s.(type) {
	case *syntax.BeginTran:
		name := optionalExpr(s.Name)
		distributed, mark := s.Distributed, s.Mark
		c.emit(s, func(x *Session, f *frame) error {
			switch {
			case distributed:
				return sqlerr.New(8501, x.srv.cat.Name)
			case mark: // there is no log to restore to a mark
				return sqlerr.Unsupported("BEGIN TRANSACTION … WITH MARK")
			}
			n, err := x.transactionName(f, name)
			if err != nil {
				return err
			}
			unseen := x.opts.implicitTransactions && x.txn.count == 0
			x.txn.begin(x, n)
			if unseen { // IMPLICIT_TRANSACTIONS has begun one first
				x.txn.begin(x, n)
			}
			return nil
		})
	case *syntax.CommitTran:
		delayed := s.DelayedDurability
		c.emit(s, func(x *Session, _ *frame) error { return x.txn.commit(x, delayed) })
	case *syntax.RollbackTran:
		name := optionalExpr(s.Name)
		c.emit(s, func(x *Session, f *frame) error {
			n, err := x.transactionName(f, name)
			switch {
			case err != nil:
				return err
			case n == "":
				return x.rollbackAll()
			}
			return x.txn.rollbackTo(x, n)
		})
	case *syntax.SaveTran:
		name := optionalExpr(s.Name)
		c.emit(s, func(x *Session, f *frame) error {
			n, err := x.transactionName(f, name)
			if err != nil {
				return err
			}
			return x.txn.save(n)
		})
	default:
		return false
	}
	return true
}

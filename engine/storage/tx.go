package storage

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Owner is a session as the lock manager knows it: whom locks belong to and who
// waits. Locks of one owner - its own and those of its transactions - never
// conflict. A session waits for one lock at a time.
type Owner struct {
	store    *Store
	session  int32
	number   uint32 // of the owners of the store; not 0
	locks    lockSet
	priority atomic.Int32
	waiting  atomic.Pointer[waiter]
	waits    waitCounts

	mu  sync.Mutex
	txs []*Tx
}

// NewOwner returns the owner for a session. Close it when the session ends.
func (s *Store) NewOwner(session int32) *Owner {
	o := &Owner{store: s, session: session, number: s.lastOwner.Add(1)}
	if o.number == 0 { // after very many
		o.number = s.lastOwner.Add(1)
	}
	o.locks.owner = o
	s.ownersMu.Lock()
	s.owners[o] = struct{}{}
	s.ownersMu.Unlock()
	return o
}

// Lock takes a lock that the session owns: it outlives transactions. Each Lock
// needs an Unlock. timeout is as in Access.
func (o *Owner) Lock(ctx context.Context, res Resource, mode LockMode, timeout time.Duration) error {
	_, _, err := o.store.locks.lock(ctx, &o.locks, res, mode, timeout)
	return err
}

// Unlock undoes one Lock and reports whether there was one.
func (o *Owner) Unlock(res Resource) bool { return o.store.locks.unlock(&o.locks, res) }

// Holds returns the mode in which the session itself holds res.
func (o *Owner) Holds(res Resource) LockMode { return o.store.locks.held(&o.locks, res) }

// Session returns the number given to NewOwner.
func (o *Owner) Session() int32 { return o.session }

// ReleaseAll undoes every Lock. The transactions of the owner keep theirs.
func (o *Owner) ReleaseAll() { o.store.locks.releaseAll(&o.locks) }

// Close releases the session's locks.
func (o *Owner) Close() {
	o.ReleaseAll()
	o.store.ownersMu.Lock()
	delete(o.store.owners, o)
	o.store.ownersMu.Unlock()
}

func (m *lockManager) unlock(set *lockSet, res Resource) bool {
	h := m.find(set, res)
	if h == nil || h.uses == 0 {
		return false
	}
	m.unuse(h)
	return true
}

func (m *lockManager) held(set *lockSet, res Resource) LockMode {
	if h := m.find(set, res); h != nil {
		return h.mode
	}
	return None
}

// Tx is a transaction. It belongs to one goroutine at a time.
type Tx struct {
	store *Store
	owner *Owner
	own   bool // the owner was made for this transaction
	w     *writer
	begun time.Time

	locks     lockSet
	ops       []op // what was done, for undo and for the log
	opsBuf    [2]op
	onCommit  []func()
	snapshot  *View
	isolation Isolation
	statement *Statement // nil: row locks are not counted
	escalated bool       // row locks have escalated
	ended     bool
	cost      atomic.Int64 // changes so far: what a rollback would cost
	logged    int          // of those, the ones for the log
}

// Begin starts a transaction. A nil owner makes one of its own. Nothing is
// logged until the transaction commits.
func (s *Store) Begin(o *Owner) *Tx {
	own := o == nil
	if own {
		o = s.NewOwner(0)
	}
	tx := &Tx{store: s, owner: o, own: own, w: &writer{id: s.lastTx.Add(1)}, begun: time.Now()}
	tx.locks.owner, tx.locks.tx = o, tx
	tx.ops = tx.opsBuf[:0]
	o.mu.Lock()
	o.txs = append(o.txs, tx)
	o.mu.Unlock()
	return tx
}

// ID returns the transaction's number. It grows from one to the next, also over
// restarts.
func (tx *Tx) ID() uint64 { return tx.w.id }

// CommitNumber returns the place of the transaction's commit in the order of all
// that made changes, 0 if it has not committed or has changed nothing.
func (tx *Tx) CommitNumber() uint64 { return tx.w.csn.Load() }

// Begun returns when the transaction began.
func (tx *Tx) Begun() time.Time { return tx.begun }

// Owner returns the owner given to Begin.
func (tx *Tx) Owner() *Owner { return tx.owner }

// Writes reports whether the transaction has changed anything that a commit
// will log.
func (tx *Tx) Writes() bool { return tx.logged > 0 }

// SetIsolation tells the level of the statements to come. Under Snapshot, a
// change to a row that another transaction changed after the transaction's view
// was taken fails with ErrSnapshotConflict.
func (tx *Tx) SetIsolation(level Isolation) { tx.isolation = level }

// SetPriority sets DEADLOCK_PRIORITY, -10 to 10, for the owner of the
// transaction.
func (tx *Tx) SetPriority(p int) { tx.owner.priority.Store(int32(p)) }

// OnRollback makes f run when the transaction is rolled back to before this
// point, in its place among the changes that are undone.
func (tx *Tx) OnRollback(f func()) { tx.ops = append(tx.ops, op{kind: opHook, undo: f}) }

// OnCommit makes f run after the commit is decided and before locks are
// released. A rollback to a savepoint before this call drops it.
func (tx *Tx) OnCommit(f func()) {
	tx.onCommit = append(tx.onCommit, f)
	n := len(tx.onCommit) - 1
	tx.OnRollback(func() { tx.onCommit = tx.onCommit[:n] })
}

// Lock takes a lock for the transaction. It is released by as many Unlocks, or
// at the transaction's end.
func (tx *Tx) Lock(ctx context.Context, res Resource, mode LockMode, timeout time.Duration) error {
	if err := tx.usable(); err != nil {
		return err
	}
	_, _, err := tx.store.locks.lock(ctx, &tx.locks, res, mode, timeout)
	return err
}

// Unlock undoes one Lock and reports whether there was one. What the
// transaction's changes need stays locked.
func (tx *Tx) Unlock(res Resource) bool {
	return !tx.ended && tx.store.locks.unlock(&tx.locks, res)
}

// Holds returns the mode in which the transaction holds res.
func (tx *Tx) Holds(res Resource) LockMode { return tx.store.locks.held(&tx.locks, res) }

func (tx *Tx) usable() error {
	if tx.ended {
		return ErrDone
	}
	if tx.store.closed.Load() {
		return ErrClosed
	}
	return nil
}

// lockTable takes a table lock and returns it, nil for a private table.
func (tx *Tx) lockTable(ctx context.Context, t *Table, mode LockMode, wait time.Duration) (*heldLock, error) {
	if t.private {
		return nil, nil
	}
	h, _, err := tx.store.locks.lock(ctx, &tx.locks, t.Resource(), mode, wait)
	return h, err
}

// keepTable takes a table lock to the end of the transaction.
func (tx *Tx) keepTable(ctx context.Context, t *Table, mode LockMode, wait time.Duration) error {
	h, err := tx.lockTable(ctx, t, mode, wait)
	if h != nil {
		h.pin(mode)
		tx.store.locks.unuse(h)
	}
	return err
}

// tableCovers reports whether a lock on the table makes row locks in mode
// unnecessary.
func (tx *Tx) tableCovers(t *Table, mode LockMode) bool {
	if t.private {
		return true
	}
	for _, h := range tx.locks.tables {
		if h.head.res.object == t.id && h.head.res.space == t.space && h.mode.coversRow(mode) {
			return true
		}
	}
	return false
}

// lockRow locks a row and returns the lock, nil if the table's lock covers it.
func (tx *Tx) lockRow(ctx context.Context, t *Table, rec *record, mode LockMode, wait time.Duration) (h *heldLock, waited bool, err error) {
	if tx.tableCovers(t, mode) {
		return nil, false, nil
	}
	h, waited, err = tx.store.locks.lock(ctx, &tx.locks, rowResource(t, rec.id), mode, wait)
	if err == nil {
		h.rec, h.data = rec, t.data.Load()
		rec.take(tx.owner, mode)
	}
	return h, waited, err
}

// keepRow locks a row to the end of the transaction.
func (tx *Tx) keepRow(ctx context.Context, t *Table, rec *record, mode LockMode, wait time.Duration) error {
	h, _, err := tx.lockRow(ctx, t, rec, mode, wait)
	if h != nil {
		fresh := h.keep == None
		h.pin(mode)
		tx.store.locks.unuse(h)
		if fresh {
			tx.countLock(t, writeReference)
		}
	}
	return err
}

// lockGap locks a gap to the end of the transaction; fresh is whether it was not
// so before. The table's count of gap locks goes up first: an insertion that does
// not see it happened before, and the scan will meet it.
func (tx *Tx) lockGap(ctx context.Context, d *tableData, res Resource, mode LockMode, wait time.Duration) (fresh bool, err error) {
	d.gapLocks.Add(1)
	h, _, err := tx.store.locks.lock(ctx, &tx.locks, res, mode, wait)
	if err != nil {
		d.gapLocks.Add(-1)
		return false, err
	}
	if fresh = h.gaps == nil; fresh {
		h.gaps = &d.gapLocks
	} else {
		d.gapLocks.Add(-1)
	}
	h.pin(mode)
	tx.store.locks.unuse(h)
	return fresh, nil
}

// Commit makes the transaction's changes durable, as Options.Durability says,
// and visible, and releases its locks. On an error the transaction has been
// rolled back; after ErrLogFailed alone it is open whether the changes will be
// there when the directory is opened again. A commit is not interrupted by its
// context: it is short, and its outcome must be known.
func (tx *Tx) Commit(ctx context.Context) error { return tx.commit(ctx, false) }

// CommitDelayed is Commit with DELAYED_DURABILITY: it does not wait for the
// disk. A crash may lose the transaction, but none that it depends on.
func (tx *Tx) CommitDelayed(ctx context.Context) error { return tx.commit(ctx, true) }

func (tx *Tx) commit(_ context.Context, delayed bool) error {
	if tx.ended {
		return ErrDone
	}
	if tx.store.closed.Load() {
		tx.Rollback()
		return ErrClosed
	}
	if len(tx.ops) > 0 {
		if err := tx.store.commit(tx, delayed); err != nil {
			tx.Rollback()
			return err
		}
		for _, f := range tx.onCommit {
			f()
		}
		tx.settle()
	}
	tx.end()
	return nil
}

// Rollback undoes the transaction and releases its locks. It does nothing after
// the end.
func (tx *Tx) Rollback() {
	if tx.ended {
		return
	}
	tx.undo(0)
	tx.end()
}

func (tx *Tx) end() {
	tx.ended = true
	tx.snapshot.Close()
	if tx.store.locks.releaseAll(&tx.locks) {
		tx.store.garbage.wake()
	}
	tx.ops, tx.onCommit = nil, nil
	o := tx.owner
	o.mu.Lock()
	for i, t := range o.txs {
		if t == tx {
			o.txs = append(o.txs[:i], o.txs[i+1:]...)
			break
		}
	}
	o.mu.Unlock()
	if tx.own {
		o.Close()
	}
}

// Mark is a point in a transaction.
type Mark int

// Savepoint returns the present point, for RollbackTo.
func (tx *Tx) Savepoint() Mark { return Mark(len(tx.ops)) }

// RollbackTo undoes what was done after m. Locks are kept.
func (tx *Tx) RollbackTo(m Mark) {
	if !tx.ended && int(m) < len(tx.ops) {
		tx.undo(int(m))
	}
}

package exec

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
)

// access turns the hints of a reference and the session's level into the way
// its rows are locked.
//
// Precedence: a hint that names a level beats the session's, but UPDLOCK and
// XLOCK void READCOMMITTED and READCOMMITTEDLOCK. READPAST needs READ COMMITTED
// or REPEATABLE READ (error 650); in a query a hint of one of these levels lets
// it pass under any session level, and so does a plain seek of a modification.
// UPDLOCK with TABLOCK locks the table exclusively, and NOWAIT does not go with
// a lock on the table. Source: "Table hints" in Microsoft's documentation.
func (r *run) access(t *catalog.Table, h *plan.Hints, target, seek bool) (storage.Access, error) {
	level := r.rt.Isolation()
	session := level
	locking := h.UpdLock || h.XLock || target
	switch {
	case h.NoLock:
		level = storage.ReadUncommitted
	case h.Serializable:
		level = storage.Serializable
	case h.RepeatableRead:
		level = storage.RepeatableRead
	case (h.ReadCommitted || h.ReadCommittedLock) && !locking:
		level = storage.ReadCommitted
	}
	if h.ReadPast {
		if err := readPastAllowed(h, level, target, seek); err != nil {
			return storage.Access{}, err
		}
	}
	a := storage.Access{Mode: storage.S, ReadPast: h.ReadPast, NoWait: h.NoWait && !h.TabLock && !h.TabLockX, Timeout: r.timeout}
	switch level {
	case storage.ReadUncommitted:
		a.Mode = storage.None
	case storage.RepeatableRead:
		a.Hold = true
	case storage.Serializable:
		a.Hold, a.Range = true, true
	}
	switch {
	case h.XLock:
		a.Mode, a.Hold = storage.X, true
	case h.UpdLock || target:
		a.Mode, a.Hold = storage.U, true
	}
	switch {
	case h.TabLockX, h.TabLock && locking:
		a.Table = storage.X
	case h.TabLock && a.Mode != storage.None:
		a.Table = storage.S
	}
	return a, r.versions(t, h, level, session, locking, &a)
}

// versions gives a plain read the row versions that its level asks for.
func (r *run) versions(t *catalog.Table, h *plan.Hints, level, session storage.Isolation, locking bool, a *storage.Access) error {
	snapshot := session == storage.Snapshot && level == storage.Snapshot
	reads := session == storage.ReadCommitted && level == session && !h.ReadCommittedLock && !locking && !h.ReadPast
	if a.Table == storage.X || a.Table == storage.S || (!snapshot && !reads) {
		return nil
	}
	v, err := r.view(t, snapshot)
	if err != nil || v == nil {
		return err
	}
	a.View = v
	if !locking {
		a.Mode, a.Hold, a.Range = storage.None, false, false
	}
	return nil
}

// tableView is the view that a statement reads a table through, nil for none.
type tableView struct {
	table *catalog.Table
	view  *storage.View
}

// view asks the session once for each table. All tables that are read through a
// statement's view share one; the view of a SNAPSHOT transaction is not ours to
// close.
func (r *run) view(t *catalog.Table, snapshot bool) (*storage.View, error) {
	for i := range r.views {
		if r.views[i].table == t {
			return r.views[i].view, nil
		}
	}
	v, err := r.rt.ReadView(t)
	if err != nil {
		return nil, err
	}
	if v != nil && !snapshot {
		if r.statementView == nil {
			v.Own(r.rt.Tx())
			r.statementView = v
		} else {
			v.Close()
			v = r.statementView
		}
	}
	r.views = append(r.views, tableView{t, v})
	return v, nil
}

// readPastAllowed is the rule of error 650. A modification locks what it reads
// under READ UNCOMMITTED too.
func readPastAllowed(h *plan.Hints, level storage.Isolation, target, seek bool) error {
	if !target && (h.ReadCommitted || h.ReadCommittedLock || h.RepeatableRead) {
		return nil
	}
	switch {
	case level == storage.ReadCommitted, level == storage.RepeatableRead,
		target && (seek || level == storage.ReadUncommitted):
		return nil
	}
	return sqlerr.New(650)
}

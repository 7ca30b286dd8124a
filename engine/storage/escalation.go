package storage

import (
	"math"
	"slices"
)

// Row locks escalate as SQL Server's do: a statement that comes to hold
// escalateAt row locks by one reference to a table tries to turn the
// transaction's intent lock on the table into the full lock (IS to S, else X). It
// does not wait: while others are in the way it goes on with row locks, and tries
// again after each escalateAgain further ones. After it has succeeded the row
// locks that the transaction has on the table, whoever took them, are given back.
// Source: "Lock escalation" in Microsoft's Transaction locking and row versioning
// guide.
const (
	escalateAt    = 5000
	escalateAgain = 1250
)

// writeReference stands for the changes of a statement, beside the references of
// its scans (Access.Reference).
const writeReference = -1

// Statement is what a transaction does for one statement: the extent in which row
// locks are counted. Without one they do not escalate. A Statement may be used
// again after its End; it is not to be copied.
type Statement struct {
	tx     *Tx
	outer  *Statement
	counts []lockCount
}

// lockCount counts the row locks that a statement took by one reference to a
// table and keeps.
type lockCount struct {
	table     *Table
	reference int
	locks     int
	try       int // the number at which they escalate
}

const anyReference = math.MinInt

// BeginStatement begins a statement; one inside another, such as that of a
// trigger, has counts of its own.
func (tx *Tx) BeginStatement(st *Statement) {
	st.tx, st.outer = tx, tx.statement
	tx.statement = st
}

// Exempt makes the statement keep its row locks on a table, however many.
func (st *Statement) Exempt(t *Table) {
	st.counts = append(st.counts, lockCount{table: t, reference: anyReference, try: math.MaxInt})
}

// End ends the statement. Statements inside have been ended before. It does
// nothing if the statement was not begun.
func (st *Statement) End() {
	if st.tx == nil {
		return
	}
	st.tx.statement = st.outer
	clear(st.counts)
	st.tx, st.outer, st.counts = nil, nil, st.counts[:0]
}

func (st *Statement) count(t *Table, reference int) *lockCount {
	for i := range st.counts {
		c := &st.counts[i]
		if c.table == t && (c.reference == reference || c.reference == anyReference) {
			return c
		}
	}
	st.counts = append(st.counts, lockCount{table: t, reference: reference, try: escalateAt})
	return &st.counts[len(st.counts)-1]
}

// countLock counts a row lock that the transaction keeps from now on.
func (tx *Tx) countLock(t *Table, reference int) {
	if tx.statement == nil {
		return
	}
	c := tx.statement.count(t, reference)
	if c.locks++; c.locks >= c.try {
		c.try = c.locks + escalateAgain
		tx.escalate(t)
	}
}

// escalate tries to turn the intent lock on a table into the full one.
func (tx *Tx) escalate(t *Table) {
	m, res := tx.store.locks, t.Resource()
	i := slices.IndexFunc(tx.locks.tables, func(h *heldLock) bool { return h.head.res == res })
	if i < 0 {
		return
	}
	mode := X // as strong as the strongest of the row locks
	if tx.locks.tables[i].mode == IS {
		mode = S
	}
	h, err := m.try(&tx.locks, res, mode)
	if err != nil {
		m.unescalated.Add(1)
		return
	}
	h.pin(mode)
	m.unuse(h)
	m.escalated.Add(1)
	tx.escalated = true
	if m.releaseRows(&tx.locks, t, h.mode) {
		tx.store.garbage.wake()
	}
}

// releaseRows gives back the locks on rows and gaps of a table that a lock on it
// in mode covers. One that a cursor still stands on goes when the cursor moves.
// It reports whether gaps were among them.
func (m *lockManager) releaseRows(set *lockSet, t *Table, mode LockMode) (gaps bool) {
	for i := len(set.held) - 1; i >= 0; i-- {
		h := set.held[i]
		res := &h.head.res
		if (res.kind != kindRow && res.kind != kindGap) || res.object != t.id || res.space != t.space || !mode.coversRow(h.keep) {
			continue
		}
		if h.uses > 0 {
			h.keep = None
			continue
		}
		gaps = gaps || h.gaps != nil
		set.remove(h)
		m.release(h) // and left to the collector: there are many
	}
	if n := len(set.held); cap(set.held) > 1024 && n < cap(set.held)/4 {
		set.held = append(make([]*heldLock, 0, n+16), set.held...)
	}
	return gaps
}

// coversRow reports whether a lock on a table in mode m makes one on a row or on
// a gap unnecessary.
func (m LockMode) coversRow(row LockMode) bool {
	switch m {
	case X, SchM:
		return true
	case S, U, SIX, UIX:
		return m.Covers(row) || row == gapS
	}
	return false
}

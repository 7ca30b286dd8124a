package storage

import (
	"context"
	"errors"
	"fmt"

	"loopbroker/engine/types"
)

const (
	firstBatch = 4   // entries read ahead at first: most scans want few rows
	lastBatch  = 128 // entries read ahead in a long scan, under one latch
)

// Cursor reads a range of an index in order. It belongs to the goroutine of its
// transaction.
type Cursor struct {
	ctx  context.Context
	tx   *Tx
	t    *Table
	d    *tableData
	ix   *index
	span span
	a    Access
	upTo layer // of the index: what the Access has to meet

	tableLock *heldLock
	ahead     []entry // read ahead
	few       [firstBatch]entry
	pos       int
	size      int
	inserted  uint64 // the index's counts when ahead was read
	removed   uint64
	at        entry // position: the last entry taken
	begun     bool
	done      bool
	err       error

	row  types.Row
	rec  *record
	held *heldLock // lock of the current row, used by the cursor
	// counted says that the row's lock has been counted with that of the gap
	// before it: they are one key-range lock.
	counted bool
	skipped []entry // of taken rows that the cursor has read past
	hiding  bool    // there were many
}

// Scan reads a range of the index at position index of t's definition; -1 is
// the clustered index, or the heap order. Errors show in Cursor.Err after the
// first Next. The range's bounds are keys made by types.AppendKey for each key
// column in turn, with the column's Type and Desc.
func (tx *Tx) Scan(ctx context.Context, t *Table, index int, r Range, a Access) *Cursor {
	a.normalise()
	c := &Cursor{ctx: ctx, tx: tx, t: t, a: a, span: newSpan(r), size: firstBatch}
	c.ahead, c.upTo = c.few[:0], a.upTo(tx)
	c.err = c.open(index)
	c.done = c.span.empty && !a.Range
	return c
}

func (c *Cursor) open(index int) (err error) {
	if err := c.tx.usable(); err != nil {
		return err
	}
	if c.tableLock, err = c.tx.lockTable(c.ctx, c.t, c.a.Table, c.a.Timeout); err != nil {
		return err
	}
	c.d, err = c.tx.dataOf(c.t, c.a.View)
	if err != nil {
		return err
	}
	c.ix, err = c.d.index(index)
	if c.t.private {
		c.a.Range = false
	}
	if err == nil && c.a.Range && c.a.Mode == S && c.ix.isHeap() {
		// A heap has no keys to lock a range of. Source: LOCK_ESCALATION in
		// Microsoft's documentation of ALTER TABLE.
		return c.tx.keepTable(c.ctx, c.t, S, c.a.Timeout)
	}
	return err
}

// dataOf returns what t holds, for a reader with view v or without.
func (tx *Tx) dataOf(t *Table, v *View) (*tableData, error) {
	if w := t.dropped.Load(); w != nil && (w == tx.w || w.csn.Load() != 0) {
		return nil, ErrDropped
	}
	d := t.data.Load()
	if v != nil && !d.sees(v) {
		return nil, ErrSnapshotSchema
	}
	return d, nil
}

// Next moves to the next row. It blocks for locks as the Access says; after a
// wait the row is read again. It returns false at the end and after an error.
func (c *Cursor) Next() bool {
	c.leave()
	if c.err == nil {
		c.err = c.tx.usable()
	}
	if c.err != nil || c.done {
		return false
	}
	for {
		var e entry
		var ok bool
		if c.a.Range {
			e, ok = c.nextLocked()
		} else {
			e, ok = c.next()
		}
		if !ok {
			c.done = true
			c.hideSkipped()
			return false
		}
		if c.admit(e) {
			c.hideSkipped()
			return true
		}
		if c.err != nil {
			return false
		}
	}
}

// Row returns the current row. It is never changed, so it may be kept; it must
// not be written to.
func (c *Cursor) Row() types.Row { return c.row }

// ID returns the current row's id.
func (c *Cursor) ID() RowID {
	if c.rec == nil {
		return 0
	}
	return c.rec.id
}

// Release gives the current row's lock back at once, because the row does not
// qualify, unless the transaction had it before or the scan locks its range.
func (c *Cursor) Release() {
	if c.held != nil && !c.a.Range && !c.tx.ended {
		c.tx.store.locks.unuse(c.held)
		c.held = nil
	}
}

// Err returns the error that ended the scan, or nil.
func (c *Cursor) Err() error { return c.err }

// Close ends the scan. It may be called twice, and after the transaction's end.
func (c *Cursor) Close() {
	c.leave()
	c.done = true
	if c.tableLock != nil && !c.tx.ended {
		if c.a.Hold || c.a.Table == X {
			c.tableLock.pin(c.a.Table)
		}
		c.tx.store.locks.unuse(c.tableLock)
	}
	c.tableLock = nil
}

// leave ends the cursor's use of the current row.
func (c *Cursor) leave() {
	if c.held != nil && !c.tx.ended { // the end has released all
		keep := c.a.Hold && !planted(plantEarlyRelease) && (!c.tx.escalated || !c.tx.tableCovers(c.t, c.a.Mode))
		fresh := keep && c.held.keep == None
		if keep {
			c.held.pin(plantedRow(c.a.Mode))
		}
		c.tx.store.locks.unuse(c.held)
		if fresh && !c.counted {
			c.tx.countLock(c.t, c.a.Reference)
		}
	}
	c.held, c.row, c.rec = nil, nil, nil
}

// next returns the next entry of the range.
func (c *Cursor) next() (entry, bool) {
	if c.pos >= len(c.ahead) || (c.a.View == nil && c.inserted != c.ix.inserted.Load()) {
		if !c.fill() {
			return entry{}, false
		}
	}
	c.at = c.ahead[c.pos]
	c.begun = true
	c.pos++
	return c.at, true
}

// fill reads entries ahead.
func (c *Cursor) fill() bool {
	if err := c.ctx.Err(); err != nil {
		c.err = fmt.Errorf("storage: scan ended: %w", context.Cause(c.ctx))
		return false
	}
	switch {
	case c.pos < len(c.ahead):
		c.size = max(c.size/2, firstBatch) // outdated before it was used
	case c.pos > 0:
		c.size = min(c.size*2, lastBatch)
	}
	c.ahead, c.pos = c.ahead[:0], 0
	c.d.mu.RLock()
	c.inserted, c.removed = c.ix.inserted.Load(), c.ix.removed.Load()
	c.walk(func(e entry) bool {
		c.ahead = append(c.ahead, e)
		return len(c.ahead) < c.size
	})
	c.d.mu.RUnlock()
	return len(c.ahead) > 0
}

// walk calls f for the entries of the span after the cursor's position. The
// latch is held.
func (c *Cursor) walk(f func(entry) bool) {
	s := &c.span
	if s.empty {
		return
	}
	if !s.desc {
		from := entry{s.lo, lowest}
		if c.begun {
			from = c.at
		}
		c.ix.ascend(c.upTo, from, func(e entry) bool {
			if e == c.at && c.begun {
				return true
			}
			return !s.above(e.key) && f(e)
		})
		return
	}
	before, toEnd := entry{s.hi, lowest}, s.toEnd
	if c.begun {
		before, toEnd = c.at, false
	}
	c.ix.descend(c.upTo, before, toEnd, func(e entry) bool { return e.key >= s.lo && f(e) })
}

// admit locks the row of an entry and makes it the current one. It returns
// false if there is no such row, or if it is to be skipped, or with c.err set.
func (c *Cursor) admit(e entry) bool {
	if c.a.View != nil {
		return c.admitVersion(e)
	}
	if c.a.Mode == None {
		h := e.rec.head.Load()
		return h != nil && c.accept(e, h.row)
	}
	if c.a.ReadPast && c.a.Mode != S && e.rec.isTaken(c.tx.owner) {
		c.skip(e)
		return false
	}
	row, settled := e.rec.current(c.tx.w)
	if settled {
		// A committed state needs no lock to be found not to be there, and
		// under plain READ COMMITTED none to be read: it is as if the S lock
		// had been taken and released between two of the writer's steps.
		if row == nil || !c.fits(e, row) {
			return false
		}
		if c.a.Mode == S && !c.a.Hold && !c.a.ReadPast {
			return c.accept(e, row)
		}
	} else if c.a.ReadPast {
		return false
	}
	return c.admitLocked(e)
}

func (c *Cursor) admitLocked(e entry) bool {
	h, waited, err := c.tx.lockRow(c.ctx, c.t, e.rec, plantedRow(c.a.Mode), c.a.rowWait())
	if err != nil {
		if !c.a.ReadPast || !errors.Is(err, ErrLockTimeout) {
			c.err = err
		}
		return false
	}
	if waited {
		c.ahead = c.ahead[:0] // what was read before the wait is old
		c.pos = 0
	}
	row, _ := e.rec.current(c.tx.w)
	ok := c.accept(e, row)
	if waited && !ok && c.span.desc && c.ix.def.Unique {
		// Whoever removed the row may have inserted another with its key, which
		// stands behind a scan that goes down.
		c.at = entry{e.key + "\x00", lowest}
	}
	if h == nil {
		return ok
	}
	if !ok || (c.a.Mode == S && !c.a.Hold) {
		c.tx.store.locks.unuse(h)
		return ok
	}
	c.held = h
	return true
}

func (c *Cursor) admitVersion(e entry) bool {
	row := e.rec.visible(c.a.View.csn, c.tx.w)
	if row == nil || !c.fits(e, row) {
		return false
	}
	if c.a.Mode == U || c.a.Mode == X {
		if c.lockVersion(e) {
			return c.accept(e, row)
		}
		return false
	}
	return c.accept(e, row)
}

// lockVersion locks a row that the view sees, for a change.
func (c *Cursor) lockVersion(e entry) bool {
	h, _, err := c.tx.lockRow(c.ctx, c.t, e.rec, plantedRow(c.a.Mode), c.a.rowWait())
	switch {
	case err != nil && c.a.ReadPast && errors.Is(err, ErrLockTimeout):
		return false
	case err != nil:
		c.err = err
		return false
	case e.rec.changedSince(c.a.View.csn, c.tx.w):
		c.err = ErrSnapshotConflict
		if h != nil {
			c.tx.store.locks.unuse(h)
		}
		return false
	}
	c.held = h
	return true
}

// accept makes row the current row if it belongs to the entry.
func (c *Cursor) accept(e entry, row types.Row) bool {
	if row == nil || !c.fits(e, row) {
		return false
	}
	c.row, c.rec = row, e.rec
	return true
}

// fits reports whether row has the entry. The check is skipped for a record
// that had no other key lately: stale is cleared only after the outdated
// entries were removed, which is counted.
func (c *Cursor) fits(e entry, row types.Row) bool {
	if !e.rec.isStale() && c.ix.removed.Load() == c.removed {
		return true
	}
	return c.ix.matches(row, e.key)
}

// nextLocked returns the next entry and locks the gap before it; at the end of
// the range, the gap there. A gap is looked at again after its lock was granted.
func (c *Cursor) nextLocked() (entry, bool) {
	if c.span.desc && !c.begun {
		if !c.lockEnd() {
			return entry{}, false
		}
	}
	c.counted = false
	for {
		e, in, exists := c.peek()
		if in && c.span.point != "" && e.key == c.span.point && c.ix.def.Unique {
			if row, settled := e.rec.current(c.tx.w); !settled || row != nil {
				c.at, c.begun = e, true
				return e, true // the one row of a unique key needs no range
			}
		}
		if !in && (c.span.desc || c.pointFound()) {
			return entry{}, false
		}
		if !c.lockGap(c.ix.gapBefore(e, exists)) {
			return entry{}, false
		}
		if again, _, still := c.peek(); still != exists || again != e {
			continue
		}
		if !in {
			return entry{}, false
		}
		c.at, c.begun = e, true
		return e, true
	}
}

// pointFound reports whether the scan has met the row of a unique key.
func (c *Cursor) pointFound() bool {
	if c.span.point == "" || !c.ix.def.Unique || !c.begun || c.at.key != c.span.point {
		return false
	}
	row, _ := c.at.rec.current(c.tx.w)
	return row != nil && c.ix.matches(row, c.at.key)
}

// peek returns the entry after the position: in says that it is of the range,
// exists that there is one at all.
func (c *Cursor) peek() (e entry, in, exists bool) {
	if c.ctx.Err() != nil {
		c.err = fmt.Errorf("storage: scan ended: %w", context.Cause(c.ctx))
		return entry{}, false, false
	}
	c.d.mu.RLock()
	defer c.d.mu.RUnlock()
	c.removed = c.ix.removed.Load()
	c.walk(func(n entry) bool {
		e, in, exists = n, true, true
		return false
	})
	if in || c.span.desc {
		return e, in, exists
	}
	e, exists = c.entryAtEnd()
	return e, false, exists
}

// entryAtEnd returns the first entry after the range. The latch is held.
func (c *Cursor) entryAtEnd() (e entry, ok bool) {
	from := entry{c.span.hi, lowest}
	if c.span.empty {
		from.key = c.span.lo
	} else if c.span.toEnd {
		return entry{}, false
	}
	c.ix.ascend(forLocking, from, func(n entry) bool {
		e, ok = n, true
		return false
	})
	return e, ok
}

// lockEnd locks the gap after the range, where a downward scan begins.
func (c *Cursor) lockEnd() bool {
	for {
		c.d.mu.RLock()
		e, ok := c.entryAtEnd()
		c.d.mu.RUnlock()
		if !c.lockGap(c.ix.gapBefore(e, ok)) {
			return false
		}
		c.d.mu.RLock()
		again, still := c.entryAtEnd()
		c.d.mu.RUnlock()
		if again == e && still == ok {
			return true
		}
	}
}

// lockGap locks a gap to the end of the transaction.
func (c *Cursor) lockGap(res Resource) bool {
	if c.err != nil {
		return false
	}
	mode := gapS
	switch c.a.Mode {
	case U:
		mode = gapU
	case X:
		mode = gapX
	}
	if c.tx.tableCovers(c.t, c.a.Mode) || planted(plantSkipGap) {
		return true
	}
	var fresh bool
	fresh, c.err = c.tx.lockGap(c.ctx, c.d, res, mode, c.a.Timeout)
	c.counted = c.err == nil
	if fresh {
		c.tx.countLock(c.t, c.a.Reference)
	}
	return c.err == nil
}

// Get reads one row by its id as a scan with the same Access would.
func (tx *Tx) Get(ctx context.Context, t *Table, id RowID, a Access) (types.Row, bool, error) {
	a.normalise()
	a.Range = false
	c := &Cursor{ctx: ctx, tx: tx, t: t, a: a}
	defer c.Close()
	if err := c.open(-1); err != nil {
		return nil, false, err
	}
	c.ix = c.d.heap
	rec := c.d.record(id, a.View)
	if rec == nil || !c.admit(entry{"", rec}) {
		return nil, false, c.err
	}
	return c.row, true, nil
}

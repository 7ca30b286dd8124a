package storage

import (
	"context"
	"fmt"
	"time"

	"loopbroker/engine/types"
)

// Insert adds a row. It checks every unique index, waiting for open
// transactions that have or had the key, and waits for others' range locks.
// timeout is LOCK_TIMEOUT. The store keeps row: the caller must not change it.
func (tx *Tx) Insert(ctx context.Context, t *Table, row types.Row, timeout time.Duration) (RowID, error) {
	d, err := tx.forWrite(ctx, t, timeout)
	if err != nil {
		return 0, err
	}
	if len(row) != d.columns {
		return 0, fmt.Errorf("storage: row of %d values for table %d of %d columns", len(row), t.id, d.columns)
	}
	rec := newRecord(RowID(t.nextRow.Add(1)), row, tx.w)
	if err := tx.keepRow(ctx, t, rec, X, timeout); err != nil {
		return 0, err
	}
	if err := tx.enter(ctx, d, rec, nil, row, timeout); err != nil {
		return 0, err
	}
	tx.did(op{kind: opInsert, data: d, rec: rec, ver: rec.head.Load()})
	return rec.id, nil
}

// Update replaces a row. The row is locked X to the end of the transaction.
func (tx *Tx) Update(ctx context.Context, t *Table, id RowID, row types.Row, timeout time.Duration) error {
	d, rec, old, err := tx.forChange(ctx, t, id, timeout)
	if err != nil {
		return err
	}
	if len(row) != d.columns {
		return fmt.Errorf("storage: row of %d values for table %d of %d columns", len(row), t.id, d.columns)
	}
	moved := false
	for _, ix := range d.indexList() {
		if !ix.sameEntry(old, row) {
			moved = true
			break
		}
	}
	if moved {
		if err := tx.enter(ctx, d, rec, old, row, timeout); err != nil {
			return err
		}
	} else {
		rec.push(row, tx.w)
	}
	tx.did(op{kind: opUpdate, data: d, rec: rec, ver: rec.head.Load()})
	return nil
}

// Delete removes a row. The row is locked X to the end of the transaction.
func (tx *Tx) Delete(ctx context.Context, t *Table, id RowID, timeout time.Duration) error {
	d, rec, row, err := tx.forChange(ctx, t, id, timeout)
	if err != nil {
		return err
	}
	tx.did(op{kind: opDelete, data: d, rec: rec, ver: d.leave(rec, row, tx.w)})
	return nil
}

// forWrite locks a table for changes.
func (tx *Tx) forWrite(ctx context.Context, t *Table, timeout time.Duration) (*tableData, error) {
	if err := tx.usable(); err != nil {
		return nil, err
	}
	if err := tx.keepTable(ctx, t, IX, timeout); err != nil {
		return nil, err
	}
	d, err := tx.dataOf(t, nil)
	if err != nil {
		return nil, err
	}
	return d, d.writable()
}

// forChange locks a row for a change and returns what it is now.
func (tx *Tx) forChange(ctx context.Context, t *Table, id RowID, timeout time.Duration) (*tableData, *record, types.Row, error) {
	d, err := tx.forWrite(ctx, t, timeout)
	if err != nil {
		return nil, nil, nil, err
	}
	rec := d.record(id, nil)
	if rec == nil {
		return nil, nil, nil, tx.gone()
	}
	if err := tx.keepRow(ctx, t, rec, plantedRow(X), timeout); err != nil {
		return nil, nil, nil, err
	}
	if tx.isolation == Snapshot && tx.snapshot != nil && rec.changedSince(tx.snapshot.csn, tx.w) {
		return nil, nil, nil, ErrSnapshotConflict
	}
	row, _ := rec.current(tx.w)
	if row == nil {
		return nil, nil, nil, tx.gone()
	}
	return d, rec, row, nil
}

// gone is the error for a row that is not there. For a SNAPSHOT transaction,
// which saw it, somebody has deleted it meanwhile.
func (tx *Tx) gone() error {
	if tx.isolation == Snapshot && tx.snapshot != nil {
		return ErrSnapshotConflict
	}
	return ErrNoRow
}

// placement is an entry that a change needs.
type placement struct {
	ix  *index
	key string
}

// place appends the entry that row has in the index, if it has one.
func (ix *index) place(list []placement, row types.Row) []placement {
	if !ix.has(row) {
		return list
	}
	return append(list, placement{ix, string(ix.appendKey(nil, row))})
}

// enter puts the entries of row into the indexes, and the version into the
// record: old is the row's former state, nil for an insertion. All checks and
// the change itself happen under one hold of the latch; when something has to
// be waited for, the latch is given up first and all is checked again.
func (tx *Tx) enter(ctx context.Context, d *tableData, rec *record, old, row types.Row, timeout time.Duration) error {
	var few, fewer [4]placement
	places, leaving := few[:0], fewer[:0]
	for _, ix := range d.indexList() {
		if old != nil && ix.sameEntry(old, row) {
			continue
		}
		places, leaving = ix.place(places, row), ix.place(leaving, old)
	}
	for {
		d.mu.Lock()
		b := tx.obstacle(d, rec, places, old == nil)
		if b == (obstacle{}) {
			err := tx.inherit(ctx, d, rec, places, old == nil)
			if err == nil {
				d.place(rec, places, leaving, old, row, tx.w)
			}
			d.mu.Unlock()
			return err
		}
		d.mu.Unlock()
		if b.conflict {
			return ErrSnapshotConflict
		}
		if b.dup != nil && (tx.isolation != Serializable || tx.reads(d.table, b.rec.id)) {
			return b.dup
		}
		if err := tx.waitFor(ctx, d, b, timeout); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// reads reports whether the transaction's locks keep a row as it is.
func (tx *Tx) reads(t *Table, id RowID) bool {
	return tx.tableCovers(t, S) || tx.store.locks.held(&tx.locks, rowResource(t, id)).Covers(S)
}

// place makes the change: leaving are the entries of old that row has not. The
// latch is held for writing.
func (d *tableData) place(rec *record, places, leaving []placement, old, row types.Row, by *writer) {
	if old == nil {
		d.rows.Set(rec.id, rec)
		for _, p := range places {
			p.ix.insert(entry{p.key, rec})
		}
		return
	}
	rec.set(flagStale)
	for _, p := range places {
		p.ix.put(entry{p.key, rec}, layerNewest)
	}
	rec.push(row, by)
	for _, p := range leaving {
		p.ix.put(entry{p.key, rec}, layerLeaving)
	}
}

// leave makes a deletion the newest version of a record and returns it. row is
// what is deleted.
func (d *tableData) leave(rec *record, row types.Row, by *writer) *version {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := rec.push(nil, by)
	for _, ix := range d.indexes {
		if ix.has(row) {
			ix.put(entry{string(ix.appendKey(nil, row)), rec}, layerLeaving)
		}
	}
	return v
}

// obstacle is what an insertion has to wait for: a row with the same key of an
// open transaction, or a locked gap. With dup, the row is a certain duplicate;
// only a SERIALIZABLE transaction, which has now seen the row, locks it. conflict
// says that a SNAPSHOT transaction's view still has the key.
type obstacle struct {
	rec      *record
	gap      Resource
	dup      *DuplicateError
	conflict bool
}

// obstacle looks for what is in the way of places. The latch is held.
func (tx *Tx) obstacle(d *tableData, rec *record, places []placement, fresh bool) obstacle {
	for _, p := range places {
		if !p.ix.def.Unique {
			continue
		}
		other, row := p.ix.clash(p.key, rec, tx.w)
		if row != nil {
			dup := &DuplicateError{Table: d.table.id, Index: p.ix.def.ID, Key: p.ix.keyValues(row)}
			return obstacle{rec: other, dup: dup}
		}
		if other != nil {
			return obstacle{rec: other}
		}
		if tx.isolation == Snapshot && tx.snapshot != nil && p.ix.seen(p.key, rec, tx) {
			return obstacle{conflict: true}
		}
	}
	if d.gapLocks.Load() == 0 || planted(plantSkipInsertIntent) {
		return obstacle{}
	}
	for _, gap := range d.gapsFor(rec, places, fresh) {
		if tx.store.locks.blocked(tx.owner, gap.before, gapI) {
			return obstacle{gap: gap.before}
		}
	}
	return obstacle{}
}

// split is a gap that a new entry divides.
type split struct {
	before Resource // the gap as it is
	fresh  Resource // the gap before the new entry
}

func (d *tableData) gapsFor(rec *record, places []placement, fresh bool) []split {
	var gaps []split
	add := func(ix *index, e entry) {
		next, ok := ix.after(e)
		gaps = append(gaps, split{ix.gapBefore(next, ok), ix.gapBefore(e, true)})
	}
	for _, p := range places {
		add(p.ix, entry{p.key, rec})
	}
	if fresh && d.isHeap() {
		add(d.heap, entry{"", rec})
	}
	return gaps
}

// inherit locks the gaps before new entries where the transaction itself has
// locked the gap that they divide. The latch is held: the new resources are
// nobody else's, so there is no wait.
func (tx *Tx) inherit(ctx context.Context, d *tableData, rec *record, places []placement, fresh bool) error {
	if d.gapLocks.Load() == 0 {
		return nil
	}
	for _, gap := range d.gapsFor(rec, places, fresh) {
		if mode := tx.store.locks.held(&tx.locks, gap.before); mode != None {
			if _, err := tx.lockGap(ctx, d, gap.fresh, mode, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitFor waits until an obstacle is out of the way.
func (tx *Tx) waitFor(ctx context.Context, d *tableData, b obstacle, timeout time.Duration) error {
	var h *heldLock
	var err error
	if b.rec != nil {
		h, _, err = tx.lockRow(ctx, d.table, b.rec, S, timeout)
		if h != nil && b.dup != nil {
			h.pin(S)
		}
	} else {
		h, _, err = tx.store.locks.lock(ctx, &tx.locks, b.gap, gapI, timeout)
	}
	if h != nil {
		tx.store.locks.unuse(h)
	}
	return err
}

// clash looks for another row with key. If it is certain to be one, row is its
// contents; otherwise its transaction is open and decides. The latch is held.
func (ix *index) clash(key string, self *record, own *writer) (other *record, row types.Row) {
	ix.ascend(forLocking, entry{key, lowest}, func(e entry) bool {
		if e.key != key {
			return false
		}
		if e.rec == self {
			return true
		}
		now, settled := e.rec.current(own)
		switch {
		case !settled && e.rec.mayHave(ix, key):
			other = e.rec // go on: a certain duplicate may follow
		case settled && now != nil && ix.matches(now, key):
			other, row = e.rec, now
			return false
		}
		return true
	})
	return other, row
}

// seen reports whether the view of tx has another row with key, although nobody
// has the key now. The latch is held.
func (ix *index) seen(key string, self *record, tx *Tx) (found bool) {
	ix.ascend(forViews, entry{key, lowest}, func(e entry) bool {
		if e.key != key {
			return false
		}
		row := e.rec.visible(tx.snapshot.csn, tx.w)
		found = e.rec != self && row != nil && ix.matches(row, key)
		return !found
	})
	return found
}

// mayHave reports whether a record in the hands of an open transaction has key,
// or had it before and would have it again after a rollback.
func (r *record) mayHave(ix *index, key string) bool {
	for v := r.head.Load(); v != nil; v = v.prev.Load() {
		if v.row != nil && ix.matches(v.row, key) {
			return true
		}
		if v.committed() {
			return false
		}
	}
	return false
}

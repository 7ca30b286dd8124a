package storage

// Rows that are locked U or X for long stand in the way of those who claim rows:
// READPAST has to look at each of them every time. A record tells that it is
// taken, which spares the lock table the question; and whoever has read past many
// taken ones puts their entries aside, into layerTaken, where other claims do not
// come by them. The end of the lock brings them back.

// manyTaken is how many taken rows one scan reads past before it puts them aside.
const manyTaken = 64

// take notes that owner has locked the row in a mode.
func (r *record) take(o *Owner, mode LockMode) {
	if mode == U || mode == X {
		r.taken.Store(o.number)
	}
}

// isTaken reports whether another owner than o has the row locked U or X. If it
// does not, that may be so nevertheless.
func (r *record) isTaken(o *Owner) bool {
	n := r.taken.Load()
	return n != 0 && n != o.number
}

// untake notes that a row is not locked U or X any more. No latch and no shard of
// the lock table is held.
func (h *heldLock) untake() {
	if h.rec == nil {
		return
	}
	h.rec.taken.CompareAndSwap(h.set.owner.number, 0)
	if h.rec.has(flagHidden) {
		h.data.bringBack(h.rec)
	}
}

// hasRows reports whether the owner of tx may have locks on rows, which do not
// keep it from reading them.
func (tx *Tx) hasRows() bool {
	if len(tx.locks.held) > len(tx.locks.tables) {
		return true
	}
	tx.owner.mu.Lock()
	defer tx.owner.mu.Unlock()
	return len(tx.owner.txs) > 1
}

// skip notes that the cursor has read past a taken row.
func (c *Cursor) skip(e entry) {
	if c.upTo != forClaims {
		return
	}
	c.skipped = append(c.skipped, e)
	if len(c.skipped) == manyTaken {
		c.hiding = true
		c.hideSkipped()
	}
}

// hideSkipped puts the entries aside that the cursor has skipped, if there were
// many.
func (c *Cursor) hideSkipped() {
	if c.hiding && len(c.skipped) > 0 {
		c.d.hide(c.ix, c.skipped, c.tx.owner)
	}
	c.skipped = c.skipped[:0]
}

// hide puts entries of rows that others have taken aside. Either it sees here that
// a lock has ended, or the end of the lock sees the flag.
func (d *tableData) hide(ix *index, entries []entry, o *Owner) {
	if ix.isHeap() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range entries {
		if !e.rec.isTaken(o) || !ix.in(e, layerNewest) {
			continue
		}
		e.rec.set(flagHidden)
		if e.rec.isTaken(o) {
			ix.put(e, layerTaken)
		}
	}
}

// bringBack puts entries of a record back that were put aside.
func (d *tableData) bringBack(rec *record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rec.unset(flagHidden)
	h := rec.head.Load()
	for _, ix := range d.indexes {
		if !ix.has(h.row) || ix.trees[layerTaken] == nil || ix.trees[layerTaken].Len() == 0 {
			continue
		}
		e := entry{string(ix.appendKey(nil, h.row)), rec}
		if ix.in(e, layerTaken) {
			ix.put(e, layerNewest)
		}
	}
}

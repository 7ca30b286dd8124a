package storage

import "github.com/tidwall/btree"

// layer is a part of an index: an entry is in one of them. Who needs no more than
// the newest versions does not come by what others keep for rollbacks and views,
// however much that is.
type layer uint8

const (
	// layerNewest has the entries of the newest versions, committed or not.
	layerNewest layer = iota
	// layerTaken has some of these: those of rows that are locked U or X and were
	// often enough in the way of others who read past them (taken.go).
	layerTaken
	// layerLeaving has those that an open transaction has taken away: they come
	// back if it is rolled back. Who waits for locks has to meet them.
	layerLeaving
	// layerOld has those of superseded versions, for views alone.
	layerOld

	layers
)

// Readers read the layers up to one.
const (
	forClaims  = layerNewest  // READPAST by who wants U or X, and has no row himself
	forNewest  = layerTaken   // READPAST skips what is leaving; NOLOCK does not see it
	forLocking = layerLeaving // and gaps lie between the entries of these
	forViews   = layerOld
)

// put puts an entry into a layer, and takes it out of the one where it was.
func (ix *index) put(e entry, to layer) {
	if ix.isHeap() {
		return
	}
	for l, t := range ix.trees {
		if layer(l) != to && t != nil && t.Len() > 0 {
			if _, was := t.Delete(e); was {
				break
			}
		}
	}
	if ix.trees[to] == nil {
		ix.trees[to] = newTree()
	}
	ix.trees[to].Set(e)
	switch to {
	case layerNewest:
		ix.inserted.Add(1)
	case layerOld:
		ix.removed.Add(1)
	}
}

// insert puts the entry of a new record into the index.
func (ix *index) insert(e entry) {
	if ix.isHeap() {
		return
	}
	ix.trees[layerNewest].Set(e)
	ix.inserted.Add(1)
}

// remove takes an entry out, wherever it is.
func (ix *index) remove(e entry) {
	if ix.isHeap() {
		return
	}
	for l := layers; l > 0; l-- { // it is least likely to be a newest one
		if t := ix.trees[l-1]; t != nil && t.Len() > 0 {
			if _, was := t.Delete(e); was {
				break
			}
		}
	}
	ix.removed.Add(1)
}

// move puts an entry into a layer, or takes it out if there is no such layer.
func (ix *index) move(e entry, to layer) {
	switch {
	case to == layers:
		ix.remove(e)
	case !ix.in(e, to):
		ix.put(e, to)
	}
}

// in reports whether an entry is in a layer.
func (ix *index) in(e entry, l layer) bool {
	t := ix.trees[l]
	if t == nil || t.Len() == 0 {
		return false
	}
	_, ok := t.Get(e)
	return ok
}

// beside returns the layers that a reader up to upTo reads beside the newest, as
// far as there is anything in them.
func (ix *index) beside(upTo layer) (list [layers - 1]*btree.BTreeG[entry], n int) {
	for l := layerTaken; l <= upTo; l++ {
		if t := ix.trees[l]; t != nil && t.Len() > 0 {
			list[n] = t
			n++
		}
	}
	return list, n
}

// ascend calls f for the entries from, inclusive, upwards until it is false.
func (ix *index) ascend(upTo layer, from entry, f func(entry) bool) {
	if ix.isHeap() {
		ix.data.ascend(upTo, from.rec.id, func(rec *record) bool { return f(entry{"", rec}) })
		return
	}
	more, n := ix.beside(upTo)
	if n == 0 {
		ix.trees[layerNewest].Ascend(from, f)
		return
	}
	var m merge
	for _, t := range more[:n] {
		m.add(t, func(it *btree.IterG[entry]) bool { return it.Seek(from) })
	}
	m.run(func(f func(entry) bool) { ix.trees[layerNewest].Ascend(from, f) }, f)
}

// descend calls f for the entries before `before` downwards until it is false;
// toEnd starts with the last.
func (ix *index) descend(upTo layer, before entry, toEnd bool, f func(entry) bool) {
	if ix.isHeap() {
		ix.data.descend(upTo, before.rec.id, toEnd, func(rec *record) bool { return f(entry{"", rec}) })
		return
	}
	newest := func(f func(entry) bool) {
		if toEnd {
			ix.trees[layerNewest].Reverse(f)
			return
		}
		ix.trees[layerNewest].Descend(before, func(e entry) bool { return !entryLess(e, before) || f(e) })
	}
	more, n := ix.beside(upTo)
	if n == 0 {
		newest(f)
		return
	}
	m := merge{down: true}
	for _, t := range more[:n] {
		m.add(t, func(it *btree.IterG[entry]) bool {
			if !toEnd && it.Seek(before) {
				return it.Prev()
			}
			return it.Last()
		})
	}
	m.run(newest, f)
}

// merge walks several trees in one order.
type merge struct {
	down  bool
	iters [layers - 1]btree.IterG[entry]
	live  [layers - 1]bool // there is an entry left
	n     int
}

// add adds a tree, from where seek goes to.
func (m *merge) add(t *btree.BTreeG[entry], seek func(*btree.IterG[entry]) bool) {
	it := &m.iters[m.n]
	it.Init(t, false)
	m.live[m.n] = seek(it)
	m.n++
}

// first returns the tree whose entry comes next, before e unless that is nil, or
// -1.
func (m *merge) first(e *entry) int {
	best := -1
	for i := range m.iters[:m.n] {
		if !m.live[i] {
			continue
		}
		here := m.iters[i].Item()
		if (best < 0 || m.less(here, m.iters[best].Item())) && (e == nil || m.less(here, *e)) {
			best = i
		}
	}
	return best
}

func (m *merge) less(a, b entry) bool { return entryLess(a, b) != m.down }

// next moves tree i on.
func (m *merge) next(i int) {
	if m.down {
		m.live[i] = m.iters[i].Prev()
	} else {
		m.live[i] = m.iters[i].Next()
	}
}

// until calls f for what comes before e, nil for all that is left.
func (m *merge) until(e *entry, f func(entry) bool) bool {
	for {
		i := m.first(e)
		if i < 0 {
			return true
		}
		if !f(m.iters[i].Item()) {
			return false
		}
		m.next(i)
	}
}

// run calls f for the entries that newest walks, and those of the trees of m
// between them.
func (m *merge) run(newest func(func(entry) bool), f func(entry) bool) {
	more := true
	newest(func(e entry) bool {
		more = m.until(&e, f) && f(e)
		return more
	})
	if more {
		m.until(nil, f)
	}
}

// after returns the first entry greater than e of those between which gaps lie.
func (ix *index) after(e entry) (next entry, ok bool) {
	ix.ascend(forLocking, e, func(n entry) bool {
		if n.rec == e.rec && n.key == e.key {
			return true
		}
		next, ok = n, true
		return false
	})
	return next, ok
}

// ascend calls f for the records from id upwards until it is false. Those that
// are gone are for views alone.
func (d *tableData) ascend(upTo layer, from RowID, f func(*record) bool) {
	if upTo < layerOld || d.gone.Len() == 0 {
		d.rows.Ascend(from, func(_ RowID, rec *record) bool { return f(rec) })
		return
	}
	gone := d.gone.Iter()
	left, more := gone.Seek(from), true
	d.rows.Ascend(from, func(id RowID, rec *record) bool {
		for ; left && more && gone.Key() < id; left = gone.Next() {
			more = f(gone.Value())
		}
		more = more && f(rec)
		return more
	})
	for ; left && more; left = gone.Next() {
		more = f(gone.Value())
	}
}

// descend calls f for the records before an id downwards until it is false;
// toEnd starts with the last.
func (d *tableData) descend(upTo layer, before RowID, toEnd bool, f func(*record) bool) {
	if upTo < layerOld || d.gone.Len() == 0 {
		d.descendRows(before, toEnd, func(_ RowID, rec *record) bool { return f(rec) })
		return
	}
	gone := d.gone.Iter()
	var left bool
	if !toEnd && gone.Seek(before) {
		left = gone.Prev()
	} else {
		left = gone.Last()
	}
	more := true
	d.descendRows(before, toEnd, func(id RowID, rec *record) bool {
		for ; left && more && gone.Key() > id; left = gone.Prev() {
			more = f(gone.Value())
		}
		more = more && f(rec)
		return more
	})
	for ; left && more; left = gone.Prev() {
		more = f(gone.Value())
	}
}

func (d *tableData) descendRows(before RowID, toEnd bool, f func(RowID, *record) bool) {
	if toEnd {
		d.rows.Reverse(f)
		return
	}
	d.rows.Descend(before, func(id RowID, rec *record) bool { return id >= before || f(id, rec) })
}

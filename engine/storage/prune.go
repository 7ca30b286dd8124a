package storage

import (
	"runtime"
	"slices"

	"loopbroker/engine/types"
)

// Old versions are kept for views. A version is needed if there is an open view
// that sees it, be it the oldest view or one between; see views.points. What no
// view needs goes at the commit that superseded it, or when somebody looks again
// after a view was closed (garbage.go).

// outcome is what prune has left.
type outcome uint8

const (
	pruned  outcome = iota // nothing is left to do
	kept                   // versions are left that a view needs, or may need
	blocked                // a gap before an entry is locked: nothing was done
)

// prune cuts the versions of rec off that nobody can see any more, and removes
// index entries that only they had.
func (s *Store) prune(d *tableData, rec *record, p points) outcome {
	base := rec.newestAt(p.last)
	if base == nil {
		return rec.left() // newer than p
	}
	if base.row != nil && !rec.isStale() {
		s.thin(rec, base, p)
		return rec.left()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return s.pruneEntries(d, rec, base, p)
}

// newestAt returns the newest version with a commit number up to csn.
func (r *record) newestAt(csn uint64) *version {
	for v := r.head.Load(); v != nil; v = v.prev.Load() {
		if n := v.by.csn.Load(); n != 0 && n <= csn {
			return v
		}
	}
	return nil
}

// newestCommitted returns the newest committed version, nil if there is none.
func (r *record) newestCommitted() *version {
	for v := r.head.Load(); v != nil; v = v.prev.Load() {
		if v.committed() {
			return v
		}
	}
	return nil
}

// left tells whether rec has superseded versions.
func (r *record) left() outcome {
	if v := r.newestCommitted(); v != nil && v.prev.Load() != nil {
		return kept
	}
	return pruned
}

// thin unlinks the versions older than base that no view needs. A reader that
// stands on one of them finds its way on.
func (s *Store) thin(rec *record, base *version, p points) {
	rec.beginThinning()
	defer rec.unset(flagThinning)
	newer := base
	for v := base.prev.Load(); v != nil; v = v.prev.Load() {
		if p.need(v, newer) {
			s.kept.add(v)
			newer = v
			continue
		}
		s.kept.remove(v)
		newer.prev.Store(v.prev.Load())
	}
}

// beginThinning waits until nobody else unlinks versions of r: it takes a moment.
func (r *record) beginThinning() {
	for r.set(flagThinning) {
		runtime.Gosched()
	}
}

// forget does not count the versions of a record any more that nobody can read.
func (s *Store) forget(rec *record) {
	rec.beginThinning()
	defer rec.unset(flagThinning)
	for v := rec.head.Load(); v != nil; v = v.prev.Load() {
		s.kept.remove(v)
	}
}

// movement is what is to be done with an entry: it goes to a layer, or out of
// the index if to is layers.
type movement struct {
	placement
	to layer
}

// pruneEntries is prune for a record whose versions have different entries, or
// which is deleted. The latch is held.
func (s *Store) pruneEntries(d *tableData, rec *record, base *version, p points) outcome {
	var few [4]*version
	older := few[:0] // those that stay
	newer := base
	for v := base.prev.Load(); v != nil; v = v.prev.Load() {
		if p.need(v, newer) {
			older, newer = append(older, v), v
		}
	}
	var fewMoves [8]movement
	moves := fewMoves[:0]
	for v := base.prev.Load(); v != nil; v = v.prev.Load() {
		moves = d.movements(rec, v, base, older, moves)
	}
	dead := base.row == nil && rec.head.Load() == base
	toGone := dead && (len(older) == 0 || d.isHeap())
	if d.gapLocks.Load() != 0 && s.inTheWay(d, rec, moves, toGone) {
		return blocked
	}
	for i := range moves {
		m := &moves[i]
		m.ix.move(entry{m.key, rec}, m.to)
	}
	s.thin(rec, base, p)
	if dead && len(older) == 0 {
		d.rows.Delete(rec.id)
		d.gone.Delete(rec.id)
	} else if toGone {
		d.rows.Delete(rec.id)
		d.gone.Set(rec.id, rec)
	}
	if len(older) == 0 && rec.head.Load() == base {
		rec.unset(flagStale)
	}
	return rec.left()
}

// inTheWay reports whether a gap is locked before one of the entries that go, or
// before the record in the order of a heap.
func (s *Store) inTheWay(d *tableData, rec *record, moves []movement, heap bool) bool {
	for i := range moves {
		m := &moves[i]
		e := entry{m.key, rec}
		if m.to != layerLeaving && !m.ix.in(e, layerOld) && s.locks.inUse(m.ix.gapBefore(e, true)) {
			return true
		}
	}
	return heap && s.locks.inUse(d.heap.gapBefore(entry{"", rec}, true))
}

// movements appends what is to be done with the entries of version v, which base
// or a later version has superseded. older are the versions behind base that
// stay.
func (d *tableData) movements(rec *record, v, base *version, older []*version, list []movement) []movement {
	if v.row == nil {
		return list
	}
	newest := rec.head.Load().row
	for _, set := range [2][]*index{d.indexes, d.retired} {
		for _, ix := range set {
			if ix.unbound || !ix.has(v.row) || (newest != nil && ix.sameEntry(newest, v.row)) {
				continue
			}
			m := movement{placement{ix, string(ix.appendKey(nil, v.row))}, rec.layerOf(ix, v.row, base, older)}
			if m.to != layerNewest && !slices.Contains(list, m) {
				list = append(list, m)
			}
		}
	}
	return list
}

// layerOf returns the layer for the entry of row, layers if no version has it.
// Behind base there are only older; a nil base leaves the chain as it is.
func (r *record) layerOf(ix *index, row types.Row, base *version, older []*version) layer {
	l := layerNewest
	for v := r.head.Load(); v != nil; v = v.prev.Load() {
		if ix.has(v.row) && ix.sameEntry(v.row, row) {
			return l
		}
		if v == base {
			break
		}
		if v.committed() {
			l = layerOld
		} else if l == layerNewest {
			l = layerLeaving
		}
	}
	for _, v := range older {
		if ix.has(v.row) && ix.sameEntry(v.row, row) {
			return layerOld
		}
	}
	return layers
}

// undoInsert takes an inserted row out again.
func (s *Store) undoInsert(o *op) {
	d, rec := o.data, o.rec
	d.mu.Lock()
	gone := &version{by: recovered} // as if it had been deleted before all views
	gone.prev.Store(rec.head.Load())
	rec.head.Store(gone)
	left := s.pruneEntries(d, rec, gone, points{})
	d.mu.Unlock()
	if left == blocked {
		s.garbage.add(garbageItem{data: d, rec: rec, csn: 1})
	}
}

// undoChange takes the newest version of a row away.
func (s *Store) undoChange(o *op) {
	d, rec, v := o.data, o.rec, o.ver
	prev := v.prev.Load()
	if !rec.isStale() && v.row != nil {
		rec.head.Store(prev)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	rec.head.Store(prev)
	for _, set := range [2][]*index{d.indexes, d.retired} {
		for _, ix := range set {
			s.undoEntry(d, ix, rec, v, prev)
		}
	}
	if prev.committed() && prev.prev.Load() == nil {
		rec.unset(flagStale)
	}
}

// undoEntry puts the entries of a record into their places after version v was
// taken away, which prev has replaced.
func (s *Store) undoEntry(d *tableData, ix *index, rec *record, v, prev *version) {
	had, has := ix.has(v.row), ix.has(prev.row)
	if had && has && ix.sameEntry(v.row, prev.row) {
		return
	}
	if had {
		p := placement{ix, string(ix.appendKey(nil, v.row))}
		to := rec.layerOf(ix, v.row, nil, nil)
		if to > layerLeaving && s.gapInUse(d, ix, p.key, rec) {
			to = layerLeaving
			rec.set(flagStaleForever)
			s.garbage.add(garbageItem{data: d, rec: rec, csn: 1, orphan: p})
		}
		ix.move(entry{p.key, rec}, to)
	}
	if has {
		ix.put(entry{string(ix.appendKey(nil, prev.row)), rec}, layerNewest)
	}
}

func (s *Store) gapInUse(d *tableData, ix *index, key string, rec *record) bool {
	return d.gapLocks.Load() != 0 && s.locks.inUse(ix.gapBefore(entry{key, rec}, true))
}

// pruneOrphan puts an entry that an undone change has left where it belongs.
func (s *Store) pruneOrphan(it *garbageItem) outcome {
	d, p := it.data, it.orphan
	d.mu.Lock()
	defer d.mu.Unlock()
	to := layers
	for v := it.rec.head.Load(); v != nil; v = v.prev.Load() {
		if v.row != nil && p.ix.matches(v.row, p.key) {
			to = it.rec.layerOf(p.ix, v.row, nil, nil)
			break
		}
	}
	if to > layerLeaving && s.gapInUse(d, p.ix, p.key, it.rec) {
		return blocked
	}
	p.ix.move(entry{p.key, it.rec}, to)
	return pruned
}

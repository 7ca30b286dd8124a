package storage

import (
	"sync"
	"time"
)

// prune cuts the versions of rec off that nobody can see any more, horizon
// being the commit number up to which every view sees, and removes index
// entries that only they had. It reports false if that has to wait: a gap
// before an entry is locked.
func (s *Store) prune(d *tableData, rec *record, horizon uint64) bool {
	v := rec.head.Load()
	for v != nil {
		if n := v.by.csn.Load(); n != 0 && n <= horizon {
			break
		}
		v = v.prev.Load()
	}
	if v == nil {
		return true
	}
	if v.row != nil && rec.stale.Load() == staleNo {
		v.prev.Store(nil)
		return true
	}
	return s.pruneEntries(d, rec, v)
}

// pruneEntries cuts off what is older than v, and v itself if it is a deletion.
func (s *Store) pruneEntries(d *tableData, rec *record, v *version) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	var outdated []placement
	old := v.prev.Load()
	for o := old; o != nil; o = o.prev.Load() {
		outdated = d.outdated(rec, o, v, outdated)
	}
	for _, p := range outdated {
		if s.gapInUse(d, p.ix, p.key, rec) {
			return false
		}
	}
	dead := v.row == nil && rec.head.Load() == v
	if dead && s.gapInUse(d, d.heap, "", rec) {
		return false
	}
	for _, p := range outdated {
		p.ix.remove(p.key, rec)
	}
	v.prev.Store(nil)
	if dead {
		d.rows.Delete(rec.id)
	}
	if rec.head.Load() == v {
		rec.stale.CompareAndSwap(staleYes, staleNo)
	}
	return true
}

// outdated appends the entries that version o has and that no version from the
// head down to last has.
func (d *tableData) outdated(rec *record, o, last *version, list []placement) []placement {
	if o.row == nil {
		return list
	}
	for _, set := range [2][]*index{d.indexes, d.retired} {
		for _, ix := range set {
			if ix.unbound || !ix.has(o.row) {
				continue
			}
			p := placement{ix, string(ix.appendKey(nil, o.row))}
			if !rec.hasEntry(p, last) && !containsPlacement(list, p) {
				list = append(list, p)
			}
		}
	}
	return list
}

// hasEntry reports whether a version from the head down to last has entry p.
func (r *record) hasEntry(p placement, last *version) bool {
	for v := r.head.Load(); v != nil; v = v.prev.Load() {
		if v.row != nil && p.ix.matches(v.row, p.key) {
			return true
		}
		if v == last {
			return false
		}
	}
	return false
}

func containsPlacement(list []placement, p placement) bool {
	for _, q := range list {
		if q == p {
			return true
		}
	}
	return false
}

func (s *Store) gapInUse(d *tableData, ix *index, key string, rec *record) bool {
	return d.gapLocks.Load() != 0 && s.locks.inUse(ix.gapBefore(entry{key, rec}, true))
}

// undoInsert takes an inserted row out again.
func (s *Store) undoInsert(o *op) {
	d, rec := o.data, o.rec
	gone := &version{by: recovered} // as if it had been deleted before all views
	gone.prev.Store(rec.head.Load())
	rec.head.Store(gone)
	if !s.pruneEntries(d, rec, gone) {
		s.garbage.add(garbageItem{data: d, rec: rec, csn: 1})
	}
}

// undoChange takes the newest version of a row away.
func (s *Store) undoChange(o *op) {
	d, rec, v := o.data, o.rec, o.ver
	prev := v.prev.Load()
	if rec.stale.Load() == staleNo || v.row == nil {
		rec.head.Store(prev)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	rec.head.Store(prev)
	for _, p := range d.outdated(rec, v, nil, nil) {
		if s.gapInUse(d, p.ix, p.key, rec) {
			rec.stale.Store(staleForever)
			s.garbage.add(garbageItem{data: d, rec: rec, csn: 1, orphan: p})
			continue
		}
		p.ix.remove(p.key, rec)
	}
}

// pruneOrphan removes an entry that an undone change has left.
func (s *Store) pruneOrphan(it *garbageItem) bool {
	d, p := it.data, it.orphan
	d.mu.Lock()
	defer d.mu.Unlock()
	if it.rec.hasEntry(p, nil) {
		return true
	}
	if s.gapInUse(d, p.ix, p.key, it.rec) {
		return false
	}
	p.ix.remove(p.key, it.rec)
	return true
}

func (s *Store) tidy(it *garbageItem, horizon uint64) bool {
	if it.orphan.ix != nil {
		return s.pruneOrphan(it)
	}
	return s.prune(it.data, it.rec, horizon)
}

// garbage is what commits could not tidy up at once because a view or a gap
// lock was in the way: in order of commit numbers, roughly.
type garbage struct {
	mu    sync.Mutex
	items []garbageItem
	first int // items before it are done
	kick  chan struct{}
}

type garbageItem struct {
	data *tableData
	rec  *record
	csn  uint64

	orphan placement // an entry to remove, instead of versions
}

func (g *garbage) add(it garbageItem) {
	g.mu.Lock()
	g.items = append(g.items, it)
	n := len(g.items) - g.first
	g.mu.Unlock()
	if n == 1 || n%1024 == 0 {
		g.wake()
	}
}

func (g *garbage) wake() {
	select {
	case g.kick <- struct{}{}:
	default:
	}
}

func (g *garbage) size() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.items) - g.first
}

// collect tidies up at most limit items that horizon allows, and returns how
// many were done.
func (g *garbage) collect(s *Store, horizon uint64, limit int) (done int) {
	for range limit {
		g.mu.Lock()
		if g.first == len(g.items) || g.items[g.first].csn > horizon {
			g.mu.Unlock()
			return done
		}
		it := g.items[g.first]
		g.items[g.first] = garbageItem{}
		g.first++
		if g.first == len(g.items) {
			g.items, g.first = nil, 0
		} else if g.first > 1024 && g.first > len(g.items)/2 {
			g.items = append([]garbageItem(nil), g.items[g.first:]...)
			g.first = 0
		}
		g.mu.Unlock()
		if !s.tidy(&it, horizon) {
			g.add(it) // a gap lock: at the end of the line
			return done
		}
		done++
	}
	return done
}

// sweepInterval is how often left-over garbage is looked at again.
const sweepInterval = 50 * time.Millisecond

// sweep tidies up in the background while there is something to tidy.
func (s *Store) sweep() {
	defer s.background.Done()
	timer := time.NewTimer(sweepInterval)
	defer timer.Stop()
	for {
		select {
		case <-s.closing:
			return
		case <-s.garbage.kick:
		case <-timer.C:
		}
		for s.garbage.collect(s, s.views.horizon(&s.lastCommit), 256) == 256 {
			select {
			case <-s.closing:
				return
			default:
			}
		}
		if s.garbage.size() > 0 {
			timer.Reset(sweepInterval)
		}
	}
}

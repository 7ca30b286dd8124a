package storage

import (
	"sync"
	"time"
)

// garbage is the line of records with something that could not be tidied up at
// once because a view or a gap lock was in the way: in order of commit numbers,
// roughly. A record is in it once, however often it was changed.
type garbage struct {
	mu    sync.Mutex
	items []garbageItem
	first int // items before it are done
	base  int // of items[0], counting all there ever were
	live  int // items that are not done
	kick  chan struct{}
}

// garbageItem is one of them; without a record it is done.
type garbageItem struct {
	data *tableData
	rec  *record
	csn  uint64 // nothing is to be done before all views see this commit

	orphan placement // an entry to remove, instead of versions
}

func (it *garbageItem) isOrphan() bool { return it.orphan.ix != nil }

// add puts an item into the line, unless its record is there.
func (g *garbage) add(it garbageItem) {
	if !it.isOrphan() && it.rec.set(flagQueued) {
		return
	}
	g.mu.Lock()
	g.items = append(g.items, it)
	g.live++
	n := g.live
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
	return g.live
}

// pop takes the first item out if horizon allows it. It counts as live until
// finish.
func (g *garbage) pop(horizon uint64) (it garbageItem, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.first < len(g.items) && g.items[g.first].rec == nil {
		g.first++
	}
	if g.first < len(g.items) && g.items[g.first].csn <= horizon {
		it, ok = g.items[g.first], true
		g.items[g.first] = garbageItem{}
		g.first++
	}
	if g.first == len(g.items) {
		g.base += g.first
		g.items, g.first = nil, 0
	} else if g.first > 1024 && g.first > len(g.items)/2 {
		g.base += g.first
		g.items = append([]garbageItem(nil), g.items[g.first:]...)
		g.first = 0
	}
	if ok && !it.isOrphan() {
		it.rec.unset(flagQueued)
	}
	return it, ok
}

func (g *garbage) finish() {
	g.mu.Lock()
	g.live--
	g.mu.Unlock()
}

// collect tidies up at most limit items, and returns how many were done.
func (s *Store) collect(p points, limit int) (done int) {
	g := &s.garbage
	for range limit {
		it, ok := g.pop(p.oldest())
		if !ok {
			break
		}
		left := s.tidy(&it, p)
		switch left {
		case blocked:
			g.add(it) // a gap lock: at the end of the line
		case kept:
			it.csn = it.rec.newestCommitted().by.csn.Load()
			g.add(it)
		}
		g.finish()
		if left == blocked {
			return done
		}
		done++
	}
	return done
}

func (s *Store) tidy(it *garbageItem, p points) outcome {
	switch {
	case it.data.replaced():
		s.forget(it.rec)
		return pruned
	case it.isOrphan():
		return s.pruneOrphan(it)
	}
	return s.prune(it.data, it.rec, p)
}

// replaced reports whether no view can read d any more: the table was dropped,
// truncated or rewritten.
func (d *tableData) replaced() bool {
	t := d.table
	if w := t.dropped.Load(); w != nil && w.csn.Load() != 0 {
		return true
	}
	now := t.data.Load()
	return now != d && now.by.csn.Load() != 0
}

// end returns the position behind the last item, counted as base is.
func (g *garbage) end() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.base + len(g.items)
}

// chunk returns some items between two positions, with the position of the first.
func (g *garbage) chunk(at, end int, buf []garbageItem) (items []garbageItem, from int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	from = max(at, g.base+g.first)
	i := min(from-g.base, len(g.items))
	j := min(i+cap(buf), len(g.items), max(end-g.base, i))
	return append(buf[:0], g.items[i:j]...), from
}

// drop marks the item at a position as done, if it is still that of rec.
func (g *garbage) drop(at int, rec *record) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := at - g.base
	if i < g.first || i >= len(g.items) || g.items[i].rec != rec {
		return false
	}
	g.items[i] = garbageItem{}
	g.live--
	rec.unset(flagQueued)
	return true
}

// compact gives the room of items that are done back.
func (g *garbage) compact() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if 2*g.live >= len(g.items)-g.first {
		return
	}
	var items []garbageItem
	for _, it := range g.items[g.first:] {
		if it.rec != nil {
			items = append(items, it)
		}
	}
	g.base += len(g.items)
	g.items, g.first = items, 0
}

// thinGarbage looks at all records in the line, wherever the oldest view is:
// versions may be kept for views between, which were closed meanwhile.
func (s *Store) thinGarbage() {
	var buf [viewBuffer]uint64
	p := s.views.points(&s.lastCommit, buf[:0])
	g := &s.garbage
	room := make([]garbageItem, 0, 256)
	end := g.end() // what comes in behind it is newer than p
	for at := 0; ; {
		items, from := g.chunk(at, end, room)
		if len(items) == 0 {
			break
		}
		for i := range items {
			it := &items[i]
			if it.rec == nil || it.isOrphan() || s.tidy(it, p) != pruned || !g.drop(from+i, it.rec) {
				continue
			}
			if !it.data.replaced() && it.rec.left() == kept { // changed meanwhile
				it.csn = it.rec.newestCommitted().by.csn.Load()
				g.add(*it)
			}
		}
		at = from + len(items)
		select {
		case <-s.closing:
			return
		default:
		}
	}
	g.compact()
}

const (
	// sweepInterval is how often left-over garbage is looked at again.
	sweepInterval = 50 * time.Millisecond
	// thinInterval is how often all of it is, if that takes no time; thinShare
	// is how much more time must pass than it takes.
	thinInterval = 100 * time.Millisecond
	thinShare    = 20
)

// sweep tidies up in the background while there is something to tidy.
func (s *Store) sweep() {
	defer s.background.Done()
	timer := time.NewTimer(sweepInterval)
	defer timer.Stop()
	nextThin := time.Now()
	for {
		select {
		case <-s.closing:
			return
		case <-s.garbage.kick:
		case <-timer.C:
		}
		for s.sweepSome(256) == 256 {
			select {
			case <-s.closing:
				return
			default:
			}
		}
		if s.garbage.size() == 0 {
			continue
		}
		if now := time.Now(); now.After(nextThin) {
			s.thinGarbage()
			end := time.Now()
			nextThin = end.Add(max(thinInterval, thinShare*end.Sub(now)))
			s.watch.look(s, end)
		}
		timer.Reset(sweepInterval)
	}
}

func (s *Store) sweepSome(limit int) int {
	var buf [viewBuffer]uint64
	return s.collect(s.views.points(&s.lastCommit, buf[:0]), limit)
}

package storage

import "time"

const (
	// deadlockDelay is how long a request waits before it looks for a
	// deadlock: most waits are shorter, and pay nothing.
	deadlockDelay = 20 * time.Millisecond
	// deadlockRepeat is the time between later searches of the same request.
	deadlockRepeat = 250 * time.Millisecond
)

// breakDeadlock looks for a circle of waits through w and, if there is one,
// takes its cheapest member out of its queue with ErrDeadlock.
//
// A party that waits can take no further lock and release none, so a circle is
// complete when its last member begins to wait, and that member's search finds
// it. The shards are looked at one after the other; what is found is true
// nevertheless if all members still wait in the same requests at the end.
func (m *lockManager) breakDeadlock(w *waiter) {
	m.detecting.Lock()
	defer m.detecting.Unlock()
	s := deadlockSearch{start: w, seen: map[*Owner]bool{w.set.owner: true}}
	circle := s.visit(w, nil)
	if circle == nil {
		return
	}
	for _, c := range circle {
		if c.set.owner.waiting.Load() != c || !c.stillWaiting() {
			return
		}
	}
	if cheapest(circle).leave(victim) {
		m.deadlocks.Add(1)
	}
}

type deadlockSearch struct {
	start *waiter
	seen  map[*Owner]bool
}

// visit follows the waits from w and returns the circle, w last, or nil.
func (s *deadlockSearch) visit(w *waiter, path []*waiter) []*waiter {
	path = append(path, w)
	for _, b := range w.blockers() {
		if b == s.start.set.owner {
			return path
		}
		if s.seen[b] {
			continue
		}
		s.seen[b] = true
		if next := b.waiting.Load(); next != nil {
			if circle := s.visit(next, path); circle != nil {
				return circle
			}
		}
	}
	return nil
}

// blockers returns whom w waits for: holders of conflicting locks and all that
// are before it in the queue. It is empty if w waits no longer.
func (w *waiter) blockers() []*Owner {
	head := w.head
	head.shard.mu.Lock()
	defer head.shard.mu.Unlock()
	if w.state != waiting {
		return nil
	}
	var owners []*Owner
	ok := compatibleWith[w.mode]
	for h := head.first; h != nil; h = h.next {
		if h != w.own && h.set.owner != w.set.owner && !ok.has(h.mode) {
			owners = append(owners, h.set.owner)
		}
	}
	if w.own != nil {
		return owners // conversions do not wait for each other's place
	}
	for _, q := range head.queue {
		if q == w {
			break
		}
		owners = append(owners, q.set.owner)
	}
	return owners
}

func (w *waiter) stillWaiting() bool {
	w.head.shard.mu.Lock()
	defer w.head.shard.mu.Unlock()
	return w.state == waiting
}

// cheapest returns the victim: the lowest DEADLOCK_PRIORITY, then the fewest
// changes to undo, then the one whose request closed the circle.
func cheapest(circle []*waiter) *waiter {
	best := circle[0]
	for _, w := range circle[1:] {
		p, q := w.set.owner.priority.Load(), best.set.owner.priority.Load()
		switch {
		case p != q:
			if p < q {
				best = w
			}
		case w.cost() != best.cost():
			if w.cost() < best.cost() {
				best = w
			}
		case w.since.After(best.since):
			best = w
		}
	}
	return best
}

func (w *waiter) cost() int64 {
	if w.set.tx == nil {
		return 0
	}
	return w.set.tx.cost.Load()
}

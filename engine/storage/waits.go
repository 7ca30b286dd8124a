package storage

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// WaitStat counts waits of one kind that have ended, however they ended.
type WaitStat struct {
	Lock    bool   // for a lock in the mode Name
	Name    string // of a lock's mode, as LockInfo has it, or what Owner.CountWait was told
	Count   int64
	Total   time.Duration
	Longest time.Duration
}

// waitCounts counts waits by kind. Who does not wait does not come here.
type waitCounts struct {
	mu    sync.Mutex
	kinds []WaitStat
}

func (c *waitCounts) add(lock bool, name string, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.kinds, func(s WaitStat) bool { return s.Lock == lock && s.Name == name })
	if i < 0 {
		i = len(c.kinds)
		c.kinds = append(c.kinds, WaitStat{Lock: lock, Name: name})
	}
	s := &c.kinds[i]
	s.Count++
	s.Total += took
	s.Longest = max(s.Longest, took)
}

// list returns the counts by name.
func (c *waitCounts) list() []WaitStat {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.kinds)
	slices.SortFunc(all, func(a, b WaitStat) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// waited counts a wait of w that has ended.
func (m *lockManager) waited(w *waiter) {
	mode, took := w.mode.String(), time.Since(w.since)
	m.waits.add(true, mode, took)
	w.set.owner.waits.add(true, mode, took)
}

// Waits returns the waits of all owners since the store was opened.
func (s *Store) Waits() []WaitStat { return s.locks.waits.list() }

// Waits returns the waits of this owner since the last ForgetWaits.
func (o *Owner) Waits() []WaitStat { return o.waits.list() }

// CountWait counts a wait that was not for a lock.
func (o *Owner) CountWait(name string, took time.Duration) {
	o.store.locks.waits.add(false, name, took)
	o.waits.add(false, name, took)
}

// ForgetWaits begins to count the owner's waits anew.
func (o *Owner) ForgetWaits() {
	o.waits.mu.Lock()
	defer o.waits.mu.Unlock()
	o.waits.kinds = nil
}

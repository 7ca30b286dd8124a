package storage

import (
	"sync"
	"sync/atomic"
	"time"
)

const viewShards = 16

// View is a moment: it sees what was committed when it was taken. As long as it
// is open the versions that it sees are kept.
type View struct {
	csn    uint64
	shard  *viewShard
	prev   *View
	next   *View
	opened time.Time
	open   bool
}

// Close lets go of the versions. It may be called twice.
func (v *View) Close() {
	if v == nil || !v.open {
		return
	}
	v.open = false
	v.shard.remove(v)
}

// views are the open ones. A view is entered under its shard's mutex with the
// commit number read there, so whoever read a commit number first and looked at
// all shards afterwards has missed only views that are at least as new.
type views struct {
	count  atomic.Int64
	next   atomic.Uint32
	shards [viewShards]viewShard
}

// viewShard lists views oldest first.
type viewShard struct {
	mu          sync.Mutex
	all         *views
	first, last *View
	_           [64]byte
}

func (vs *views) init() {
	for i := range vs.shards {
		vs.shards[i].all = vs
	}
}

func (vs *views) take(last *atomic.Uint64) *View {
	sh := &vs.shards[vs.next.Add(1)%viewShards]
	v := &View{shard: sh, opened: time.Now(), open: true}
	vs.count.Add(1)
	sh.mu.Lock()
	v.csn = last.Load()
	v.prev = sh.last
	if sh.last != nil {
		sh.last.next = v
	} else {
		sh.first = v
	}
	sh.last = v
	sh.mu.Unlock()
	return v
}

func (sh *viewShard) remove(v *View) {
	sh.mu.Lock()
	if v.prev != nil {
		v.prev.next = v.next
	} else {
		sh.first = v.next
	}
	if v.next != nil {
		v.next.prev = v.prev
	} else {
		sh.last = v.prev
	}
	sh.mu.Unlock()
	sh.all.count.Add(-1)
}

// horizon returns the commit number up to which every open and future view
// sees: versions superseded at or before it are garbage.
func (vs *views) horizon(last *atomic.Uint64) uint64 {
	h := last.Load()
	if vs.count.Load() == 0 {
		return h
	}
	for i := range vs.shards {
		sh := &vs.shards[i]
		sh.mu.Lock()
		if sh.first != nil && sh.first.csn < h {
			h = sh.first.csn
		}
		sh.mu.Unlock()
	}
	return h
}

// oldest returns when the oldest open view was taken, the zero time if none is.
func (vs *views) oldest() (t time.Time, open int) {
	for i := range vs.shards {
		sh := &vs.shards[i]
		sh.mu.Lock()
		for v := sh.first; v != nil; v = v.next {
			open++
			if t.IsZero() || v.opened.Before(t) {
				t = v.opened
			}
		}
		sh.mu.Unlock()
	}
	return t, open
}

// StatementView returns a view of the newest committed state: what one
// statement reads under READ_COMMITTED_SNAPSHOT. Take the table's Sch-S lock
// first. The caller closes it.
func (s *Store) StatementView() *View { return s.views.take(&s.lastCommit) }

// SnapshotView returns the view of a SNAPSHOT transaction, taken at the first
// call and kept to the transaction's end.
func (tx *Tx) SnapshotView() *View {
	if tx.snapshot == nil {
		tx.snapshot = tx.store.views.take(&tx.store.lastCommit)
	}
	return tx.snapshot
}

// Number returns the number of the newest commit that the view sees.
func (v *View) Number() uint64 { return v.csn }

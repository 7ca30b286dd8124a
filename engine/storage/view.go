package storage

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const viewShards = 16

// View is a moment: it sees what was committed when it was taken. As long as it
// is open the versions that it sees are kept.
type View struct {
	csn      uint64
	shard    *viewShard
	prev     *View
	next     *View
	opened   time.Time
	open     bool
	session  int32 // this and what follows: guarded by the shard
	tx       uint64
	snapshot bool
}

// ViewInfo is an open view.
type ViewInfo struct {
	Session  int32  // as told to NewOwner; 0 is nobody's, such as a checkpoint's
	Tx       uint64 // the transaction, 0 if there is none
	Begun    time.Time
	Commit   uint64 // number of the newest commit that the view sees
	Snapshot bool   // of a SNAPSHOT transaction, not of one statement
}

// Own says whose statement the view belongs to, for Store.Views.
func (v *View) Own(tx *Tx) {
	v.shard.mu.Lock()
	v.session, v.tx = tx.owner.session, tx.w.id
	v.shard.mu.Unlock()
}

// info describes v. The shard's mutex is held.
func (v *View) info() ViewInfo {
	return ViewInfo{Session: v.session, Tx: v.tx, Begun: v.opened, Commit: v.csn, Snapshot: v.snapshot}
}

// Views returns the open views, oldest first.
func (s *Store) Views() []ViewInfo {
	var all []ViewInfo
	for i := range s.views.shards {
		sh := &s.views.shards[i]
		sh.mu.Lock()
		for v := sh.first; v != nil; v = v.next {
			all = append(all, v.info())
		}
		sh.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b ViewInfo) int {
		return cmp.Or(cmp.Compare(a.Commit, b.Commit), a.Begun.Compare(b.Begun))
	})
	return all
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
	if planted(plantStaleView) {
		v.csn--
	}
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

// points are the moments that must stay visible: those of the open views, in
// order, and everything from last on, for the views to come.
type points struct {
	last uint64
	open []uint64
}

// viewBuffer is room for so many views that points needs no allocation.
const viewBuffer = 16

// points returns the moments that must stay visible. buf is empty, with room.
func (vs *views) points(last *atomic.Uint64, buf []uint64) points {
	p := points{last: last.Load(), open: buf}
	if vs.count.Load() == 0 {
		return p
	}
	for i := range vs.shards {
		sh := &vs.shards[i]
		sh.mu.Lock()
		for v := sh.first; v != nil; v = v.next {
			p.open = append(p.open, v.csn)
		}
		sh.mu.Unlock()
	}
	slices.Sort(p.open)
	return p
}

// oldest returns the commit that every open and future view sees.
func (p *points) oldest() uint64 {
	if len(p.open) > 0 {
		return min(p.last, p.open[0])
	}
	return p.last
}

// need reports whether an open view sees v, which newer has superseded.
func (p *points) need(v, newer *version) bool {
	if len(p.open) == 0 {
		return false
	}
	from, to := v.by.csn.Load(), newer.by.csn.Load()
	i, _ := slices.BinarySearch(p.open, from)
	return i < len(p.open) && p.open[i] < to
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
// first. The caller closes it, and tells whose it is with View.Own.
func (s *Store) StatementView() *View { return s.views.take(&s.lastCommit) }

// SnapshotView returns the view of a SNAPSHOT transaction, taken at the first
// call and kept to the transaction's end.
func (tx *Tx) SnapshotView() *View {
	if tx.snapshot == nil {
		v := tx.store.views.take(&tx.store.lastCommit)
		v.shard.mu.Lock()
		v.session, v.tx, v.snapshot = tx.owner.session, tx.w.id, true
		v.shard.mu.Unlock()
		tx.snapshot = v
	}
	return tx.snapshot
}

// Number returns the number of the newest commit that the view sees.
func (v *View) Number() uint64 { return v.csn }

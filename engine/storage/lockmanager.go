package storage

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

const lockShards = 64

// lockManager is the lock table: a hash of resources in shards, with a queue a
// resource. A shard's mutex is held for a few map and list operations, never
// while waiting; no two of them are held at once.
type lockManager struct {
	seed    maphash.Seed
	closing <-chan struct{}
	shards  [lockShards]lockShard

	detecting sync.Mutex // one deadlock search at a time
	deadlocks atomic.Uint64

	escalated, unescalated atomic.Uint64 // escalations, and attempts that failed
	waits                  waitCounts
}

type lockShard struct {
	mu    sync.Mutex
	heads map[Resource]*lockHead
	most  int // heads there were since the map was made
	free  []*lockHead
	_     [64]byte // keeps neighbours off the cache line
}

// lockHead is the state of one locked resource, guarded by its shard.
type lockHead struct {
	res    Resource
	shard  *lockShard
	first  *heldLock // granted locks, newest first
	counts [lockModes]int32
	queue  []*waiter // conversions first, each group in order of arrival
}

// heldLock is a granted lock. mode and the links are guarded by the shard; the
// rest belongs to the goroutine of the transaction or session.
//
// A lock is held for two reasons at once: keep is what the transaction keeps to
// its end, temp what its current users want (a cursor that stands on the row, a
// counted Lock). mode covers both.
type heldLock struct {
	head       *lockHead
	set        *lockSet
	prev, next *heldLock
	mode       LockMode
	keep, temp LockMode
	uses       int32
	slot       int           // in set.held
	gaps       *atomic.Int64 // a gap lock: the table's count of them
	rec        *record       // a lock on a row
	data       *tableData    // that of rec
}

// lockSet is the locks of one transaction, or those that a session owns itself.
type lockSet struct {
	owner  *Owner
	tx     *Tx // nil for the session's own
	held   []*heldLock
	tables []*heldLock // those on objects, for quick finding

	// Room for the locks of a small transaction, so that they need no allocation.
	few     [4]heldLock
	used    int
	free    *heldLock // released ones, by next
	heldBuf [4]*heldLock
	tabBuf  [2]*heldLock
}

// next returns a lock to fill in. The set's goroutine calls it, or, while that
// waits, the one that grants what it waits for.
func (set *lockSet) next() *heldLock {
	if h := set.free; h != nil {
		set.free = h.next
		return h
	}
	if set.used < len(set.few) {
		set.used++
		return &set.few[set.used-1]
	}
	return &heldLock{}
}

// waiter is a queued request.
type waiter struct {
	set   *lockSet
	head  *lockHead
	res   Resource  // of head, which goes to another resource when it is free
	own   *heldLock // a conversion of this lock
	mode  LockMode
	since time.Time
	ch    chan struct{} // one value when state leaves waiting
	state waitState     // guarded by the shard
	got   *heldLock
}

type waitState uint8

const (
	waiting waitState = iota
	granted
	victim
	left
)

func newLockManager(closing <-chan struct{}) *lockManager {
	m := &lockManager{seed: maphash.MakeSeed(), closing: closing}
	for i := range m.shards {
		m.shards[i].heads = make(map[Resource]*lockHead)
	}
	return m
}

func (m *lockManager) shard(res Resource) *lockShard {
	var h uint64
	switch res.kind {
	case kindRow:
		h = uint64(res.object)*0x9E3779B97F4A7C15 ^ uint64(res.row)*0xC2B2AE3D27D4EB4F
		h ^= h >> 29
	default:
		h = maphash.Comparable(m.seed, res)
	}
	return &m.shards[h%lockShards]
}

// lock takes res in mode for set and counts one more use of it. wait is how
// long to wait: 0 not at all, negative for ever. waited reports whether it had
// to, so that the caller reads again what the lock protects.
func (m *lockManager) lock(ctx context.Context, set *lockSet, res Resource, mode LockMode, wait time.Duration) (h *heldLock, waited bool, err error) {
	h, w := m.request(set, res, mode, wait != 0)
	if h != nil {
		return h, false, nil
	}
	if w == nil {
		return nil, false, ErrLockTimeout
	}
	err = m.await(ctx, w, wait)
	set.owner.waiting.Store(nil)
	m.waited(w)
	if err != nil {
		return nil, true, err
	}
	if w.own == nil {
		set.add(w.got)
	}
	w.got.use(mode)
	return w.got, true, nil
}

// try is lock without waiting.
func (m *lockManager) try(set *lockSet, res Resource, mode LockMode) (*heldLock, error) {
	if h, _ := m.request(set, res, mode, false); h != nil {
		return h, nil
	}
	return nil, ErrLockTimeout
}

// request grants a lock, or else puts the request into the queue if it may.
func (m *lockManager) request(set *lockSet, res Resource, mode LockMode, queue bool) (*heldLock, *waiter) {
	if res.kind == kindObject {
		for _, t := range set.tables {
			if t.head.res == res && t.mode.Covers(mode) {
				t.use(mode)
				return t, nil
			}
		}
	}
	sh := m.shard(res)
	sh.mu.Lock()
	head := sh.heads[res]
	if head == nil {
		head = sh.newHead(res)
	}
	own := head.find(set)
	want := mode
	if own != nil {
		want = Combine(own.mode, mode)
		if want == own.mode {
			sh.mu.Unlock()
			own.use(mode)
			return own, nil
		}
	}
	if (own != nil || len(head.queue) == 0) && head.admits(set.owner, own, want) {
		h := own
		if own != nil {
			head.convert(own, want)
		} else {
			h = head.grant(set, want)
		}
		sh.mu.Unlock()
		if own == nil {
			set.add(h)
		}
		h.use(mode)
		return h, nil
	}
	if !queue {
		sh.mu.Unlock()
		return nil, nil
	}
	w := &waiter{set: set, head: head, res: res, own: own, mode: want, since: time.Now(), ch: make(chan struct{}, 1)}
	head.enqueue(w)
	set.owner.waiting.Store(w)
	sh.mu.Unlock()
	return nil, w
}

// await waits until w is granted, or takes it out of its queue again.
func (m *lockManager) await(ctx context.Context, w *waiter, wait time.Duration) error {
	search := time.NewTimer(deadlockDelay)
	defer search.Stop()
	var timeout <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		timeout = t.C
	}
	for {
		var err error
		select {
		case <-w.ch:
			return w.outcome()
		case <-ctx.Done():
			err = fmt.Errorf("storage: lock wait ended: %w", context.Cause(ctx))
		case <-timeout:
			err = ErrLockTimeout
		case <-m.closing:
			err = ErrClosed
		case <-search.C:
			m.breakDeadlock(w)
			search.Reset(deadlockRepeat)
			continue
		}
		if !w.leave(left) {
			return w.outcome() // decided at the same moment
		}
		return err
	}
}

func (w *waiter) outcome() error {
	sh := w.head.shard
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if w.state == victim {
		return ErrDeadlock
	}
	return nil
}

// leave takes w out of its queue and tells it why. It reports false if w is no
// longer waiting.
func (w *waiter) leave(why waitState) bool {
	head := w.head
	sh := head.shard
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if w.state != waiting {
		return false
	}
	for i, q := range head.queue {
		if q == w {
			head.queue = append(head.queue[:i], head.queue[i+1:]...)
			break
		}
	}
	w.state = why
	if why == victim {
		w.ch <- struct{}{}
	}
	head.grantWaiters()
	sh.drop(head)
	return true
}

func (sh *lockShard) newHead(res Resource) *lockHead {
	var head *lockHead
	if n := len(sh.free); n > 0 {
		head, sh.free = sh.free[n-1], sh.free[:n-1]
		head.res = res
	} else {
		head = &lockHead{res: res, shard: sh}
	}
	sh.heads[res] = head
	sh.most = max(sh.most, len(sh.heads))
	return head
}

// drop forgets head if nobody holds or wants it.
func (sh *lockShard) drop(head *lockHead) {
	if head.first != nil || len(head.queue) != 0 {
		return
	}
	delete(sh.heads, head.res)
	head.queue = nil
	if n := len(sh.heads); sh.most > 1024 && n < sh.most/16 { // maps do not shrink
		heads := make(map[Resource]*lockHead, n)
		maps.Copy(heads, sh.heads)
		sh.heads, sh.most = heads, n
	}
	if len(sh.free) < 64 {
		sh.free = append(sh.free, head)
	}
}

// find returns the lock that set holds on head.
func (head *lockHead) find(set *lockSet) *heldLock {
	if len(set.held) <= 8 {
		for _, h := range set.held {
			if h.head == head {
				return h
			}
		}
		return nil
	}
	for h := head.first; h != nil; h = h.next {
		if h.set == set {
			return h
		}
	}
	return nil
}

// admits reports whether owner may hold head in mode beside what others hold.
// Locks of the same owner - its session and its transaction - do not conflict.
func (head *lockHead) admits(owner *Owner, own *heldLock, mode LockMode) bool {
	ok := compatibleWith[mode]
	conflict := false
	for m := SchS; m < lockModes; m++ {
		if head.counts[m] > 0 && !ok.has(m) {
			conflict = true
			break
		}
	}
	if !conflict {
		return true
	}
	for h := head.first; h != nil; h = h.next {
		if h != own && h.set.owner != owner && !ok.has(h.mode) {
			return false
		}
	}
	return true
}

func (head *lockHead) grant(set *lockSet, mode LockMode) *heldLock {
	h := set.next()
	*h = heldLock{head: head, set: set, mode: mode, next: head.first}
	if h.next != nil {
		h.next.prev = h
	}
	head.first = h
	head.counts[mode]++
	return h
}

func (head *lockHead) convert(h *heldLock, mode LockMode) {
	head.counts[h.mode]--
	head.counts[mode]++
	h.mode = mode
}

func (head *lockHead) enqueue(w *waiter) {
	if w.own == nil {
		head.queue = append(head.queue, w)
		return
	}
	i := 0
	for i < len(head.queue) && head.queue[i].own != nil {
		i++
	}
	head.queue = append(head.queue, nil)
	copy(head.queue[i+1:], head.queue[i:])
	head.queue[i] = w
}

// grantWaiters grants what has become possible: any conversion, then new
// requests in their order up to the first that is not possible.
func (head *lockHead) grantWaiters() {
	kept := head.queue[:0]
	blocked := false
	for _, w := range head.queue {
		if (blocked && w.own == nil) || !head.admits(w.set.owner, w.own, w.mode) {
			blocked = true
			kept = append(kept, w)
			continue
		}
		if w.own != nil {
			head.convert(w.own, w.mode)
			w.got = w.own
		} else {
			w.got = head.grant(w.set, w.mode)
		}
		w.state = granted
		w.ch <- struct{}{}
	}
	clear(head.queue[len(kept):])
	head.queue = kept
}

func (set *lockSet) add(h *heldLock) {
	if set.held == nil {
		set.held, set.tables = set.heldBuf[:0], set.tabBuf[:0]
	}
	h.slot = len(set.held)
	set.held = append(set.held, h)
	if h.head.res.kind == kindObject {
		set.tables = append(set.tables, h)
	}
}

func (set *lockSet) remove(h *heldLock) {
	last := len(set.held) - 1
	set.held[h.slot] = set.held[last]
	set.held[h.slot].slot = h.slot
	set.held[last] = nil
	set.held = set.held[:last]
	if h.head.res.kind == kindObject {
		for i, t := range set.tables {
			if t == h {
				set.tables = append(set.tables[:i], set.tables[i+1:]...)
				break
			}
		}
	}
}

func (h *heldLock) use(mode LockMode) {
	h.uses++
	h.temp = Combine(h.temp, mode)
}

// pin makes the transaction keep mode to its end.
func (h *heldLock) pin(mode LockMode) { h.keep = Combine(h.keep, mode) }

// unuse ends one use of h: what no use and no pin needs is released.
func (m *lockManager) unuse(h *heldLock) {
	h.uses--
	if h.uses > 0 {
		return
	}
	h.temp = None
	switch {
	case h.keep == None:
		set := h.set
		set.remove(h)
		m.release(h)
		h.next, set.free = set.free, h
	case h.keep != h.mode:
		if h.keep == S {
			h.untake()
		}
		sh := h.head.shard
		sh.mu.Lock()
		h.head.convert(h, h.keep)
		h.head.grantWaiters()
		sh.mu.Unlock()
	}
}

func (m *lockManager) release(h *heldLock) {
	h.untake()
	head := h.head
	sh := head.shard
	sh.mu.Lock()
	if h.prev != nil {
		h.prev.next = h.next
	} else {
		head.first = h.next
	}
	if h.next != nil {
		h.next.prev = h.prev
	}
	head.counts[h.mode]--
	if len(head.queue) > 0 {
		head.grantWaiters()
	}
	sh.drop(head)
	sh.mu.Unlock()
	if h.gaps != nil {
		h.gaps.Add(-1)
	}
}

// releaseAll releases what set holds and reports whether gaps were among it.
func (m *lockManager) releaseAll(set *lockSet) (gaps bool) {
	for i := len(set.held) - 1; i >= 0; i-- {
		h := set.held[i]
		gaps = gaps || h.gaps != nil
		m.release(h)
	}
	clear(set.held)
	set.held, set.tables = set.held[:0], set.tables[:0]
	return gaps
}

// find returns the lock of set on res, or nil.
func (m *lockManager) find(set *lockSet, res Resource) *heldLock {
	sh := m.shard(res)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if head := sh.heads[res]; head != nil {
		return head.find(set)
	}
	return nil
}

// blocked reports whether somebody else's lock on res keeps owner from mode.
func (m *lockManager) blocked(owner *Owner, res Resource, mode LockMode) bool {
	sh := m.shard(res)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	head := sh.heads[res]
	return head != nil && !head.admits(owner, nil, mode)
}

// inUse reports whether anybody holds or wants res.
func (m *lockManager) inUse(res Resource) bool {
	sh := m.shard(res)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.heads[res] != nil
}

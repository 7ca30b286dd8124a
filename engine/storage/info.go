package storage

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// LockInfo is one granted or requested lock, as sys.dm_tran_locks shows it.
type LockInfo struct {
	Kind        string // DATABASE, OBJECT, METADATA, APPLICATION, KEY, RID
	Space       uint32
	Object      ObjectID
	Index       uint32 // KEY: index id, 0 for the row itself
	Row         RowID
	Description string
	Mode        LockMode
	ModeName    string // as sys.dm_tran_locks names it, key ranges included
	Status      string // GRANT, WAIT, CONVERT
	Session     int32
	Tx          uint64 // 0: owned by the session
	Since       time.Time
	BlockedBy   []int32 // sessions, for what waits

	kind resourceKind
}

// TxInfo is one open transaction.
type TxInfo struct {
	ID      uint64
	Session int32
	Begun   time.Time
	Changes int64 // what a rollback would undo
}

// Stats are counters and sizes of a store.
type Stats struct {
	Commits       uint64 // commit numbers given since the store was opened
	LSN           uint64 // of the newest logged commit
	LogBytes      int64  // log since the last checkpoint
	Syncs         uint64
	Deadlocks     uint64
	Escalations   uint64    // of row locks to a table's
	Unescalated   uint64    // attempts at that for which others were in the way
	Views         int       // open views
	OldestView    time.Time // zero if there is none
	Garbage       int       // rows whose old versions wait for a view or lock to go
	KeptVersions  int64     // superseded versions that views need
	KeptBytes     int64     // what they take in memory, about
	CheckpointErr error     // of the last checkpoint in the background
}

// Stats returns the store's counters.
func (s *Store) Stats() Stats {
	st := Stats{
		Commits:   s.lastCommit.Load() - recovered.csn.Load(),
		Deadlocks: s.locks.deadlocks.Load(),

		Escalations: s.locks.escalated.Load(),
		Unescalated: s.locks.unescalated.Load(),

		Garbage: s.garbage.size(),

		KeptVersions: s.kept.versions.Load(),
		KeptBytes:    s.kept.bytes.Load(),
	}
	st.OldestView, st.Views = s.views.oldest()
	s.commitMu.Lock()
	st.LSN = s.lastLSN
	s.commitMu.Unlock()
	if s.log != nil {
		st.LogBytes = s.log.bytes.Load()
		st.Syncs = s.log.syncs.Load()
	}
	if err := s.checkpointErr.Load(); err != nil {
		st.CheckpointErr = *err
	}
	return st
}

// Transactions returns the open transactions.
func (s *Store) Transactions() []TxInfo {
	s.ownersMu.Lock()
	owners := make([]*Owner, 0, len(s.owners))
	for o := range s.owners {
		owners = append(owners, o)
	}
	s.ownersMu.Unlock()
	var all []TxInfo
	for _, o := range owners {
		o.mu.Lock()
		for _, tx := range o.txs {
			all = append(all, TxInfo{ID: tx.w.id, Session: o.session, Begun: tx.begun, Changes: tx.cost.Load()})
		}
		o.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b TxInfo) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Locks returns all granted and requested locks. The shards are read one after
// the other, so it is not one moment.
func (s *Store) Locks() []LockInfo {
	var all []LockInfo
	for i := range s.locks.shards {
		sh := &s.locks.shards[i]
		sh.mu.Lock()
		for _, head := range sh.heads {
			all = head.appendInfo(all)
		}
		sh.mu.Unlock()
	}
	for i := range all {
		s.describe(&all[i])
	}
	return s.joinRanges(all)
}

// WaitsFor returns what the owner waits for, if it waits.
func (o *Owner) WaitsFor() (LockInfo, bool) {
	w := o.waiting.Load()
	if w == nil {
		return LockInfo{}, false
	}
	blockers := w.blockers()
	if !w.stillWaiting() {
		return LockInfo{}, false
	}
	in := w.info()
	o.store.describe(&in)
	for _, b := range blockers {
		in.BlockedBy = append(in.BlockedBy, b.session)
	}
	return in, true
}

// appendInfo appends the locks of one resource. The shard's mutex is held.
func (head *lockHead) appendInfo(all []LockInfo) []LockInfo {
	for h := head.first; h != nil; h = h.next {
		in := head.res.info()
		in.Mode, in.ModeName, in.Status = h.mode, h.mode.String(), "GRANT"
		in.Session, in.Tx = h.set.owner.session, h.set.txID()
		all = append(all, in)
	}
	for i, w := range head.queue {
		in := w.info()
		for h := head.first; h != nil; h = h.next {
			if h.set.owner != w.set.owner && !Compatible(w.mode, h.mode) {
				in.BlockedBy = append(in.BlockedBy, h.set.owner.session)
			}
		}
		if w.own == nil {
			for _, q := range head.queue[:i] {
				in.BlockedBy = append(in.BlockedBy, q.set.owner.session)
			}
		}
		all = append(all, in)
	}
	return all
}

func (w *waiter) info() LockInfo {
	in := w.res.info()
	in.Mode, in.ModeName, in.Status = w.mode, w.mode.String(), "WAIT"
	if w.own != nil {
		in.Status = "CONVERT"
	}
	in.Session, in.Tx, in.Since = w.set.owner.session, w.set.txID(), w.since
	return in
}

func (set *lockSet) txID() uint64 {
	if set.tx == nil {
		return 0
	}
	return set.tx.w.id
}

// info names the resource. Latches must not be taken here: the lock table is
// locked.
func (r Resource) info() LockInfo {
	in := LockInfo{Space: r.space, Object: r.object, Index: r.index, Row: r.row, kind: r.kind}
	if r.kind == kindMetadata || r.kind == kindApplication {
		in.Description = r.name
	}
	return in
}

// describe fills in what takes a look at the table.
func (s *Store) describe(in *LockInfo) {
	switch in.kind {
	case kindDatabase:
		in.Kind = "DATABASE"
	case kindObject:
		in.Kind = "OBJECT"
	case kindMetadata:
		in.Kind = "METADATA"
	case kindApplication:
		in.Kind = "APPLICATION"
	case kindGap:
		in.Kind = "KEY"
		in.Description = "(ffffffffffff)"
		if in.Row != 0 {
			in.Description = keyHash(in.Object, in.Row)
		}
	case kindRow:
		in.Kind, in.Description = "KEY", keyHash(in.Object, in.Row)
		if t := s.Table(in.Object); t != nil && !t.isClustered() {
			in.Kind = "RID"
			in.Description = fmt.Sprintf("1:%d:%d", in.Row>>8, in.Row&0xff)
		}
	}
}

func (t *Table) isClustered() bool {
	list := t.data.Load().indexList()
	return len(list) > 0 && list[0].def.Clustered
}

// keyHash is the six-byte hash that stands for a key.
func keyHash(t ObjectID, id RowID) string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d/%d", t, id) // a hash takes all
	return fmt.Sprintf("(%012x)", h.Sum64()&0xffffffffffff)
}

// joinRanges shows the lock on a row and that on the gap before it, held by one
// transaction, as the one key-range lock that they are: RangeS-S, RangeS-U,
// RangeX-X.
func (s *Store) joinRanges(all []LockInfo) []LockInfo {
	type place struct {
		object ObjectID
		row    RowID
		tx     uint64
	}
	rows := make(map[place]LockMode)
	gaps := make(map[place]LockMode)
	for i := range all {
		in := &all[i]
		at := place{in.Object, in.Row, in.Tx}
		switch {
		case in.Status != "GRANT" || in.Row == 0:
		case in.Mode.isGap():
			gaps[at] = in.Mode
		default:
			rows[at] = in.Mode
		}
	}
	if len(gaps) == 0 {
		return all
	}
	joined := make([]LockInfo, 0, len(all))
	for _, in := range all {
		at := place{in.Object, in.Row, in.Tx}
		gap := gaps[at]
		isGap := in.Mode.isGap()
		switch {
		case in.Status != "GRANT" || in.Row == 0 || gap == None:
		case isGap && gap == gapS && rows[at] == U:
			in.ModeName = "RangeS-U"
		case !isGap && (in.Mode != X || gap == gapX):
			continue // shown with the gap
		}
		joined = append(joined, in)
	}
	return joined
}

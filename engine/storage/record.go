package storage

import (
	"sync/atomic"

	"loopbroker/engine/types"
)

// RowID names a row of a table as long as the row lives. It is never reused
// while the store is open.
type RowID uint64

// writer is the transaction that made a version. csn is its commit number, 0
// until its commit is decided; versions of a rolled back writer are unlinked.
type writer struct {
	id  uint64
	csn atomic.Uint64
}

// recovered is the writer of all that was there when the store was opened, and
// of what no view can tell from it.
var recovered = func() *writer {
	w := &writer{}
	w.csn.Store(1)
	return w
}()

// version is one state of a row: its values, or nil when it is deleted.
type version struct {
	row  types.Row
	by   *writer
	prev atomic.Pointer[version]
	kept atomic.Bool // superseded, and counted as kept for a view
}

func (v *version) committed() bool { return v.by.csn.Load() != 0 }

// record is a row through time, newest version first. Only the holder of the
// row's X lock (or of a table lock that covers it) pushes and pops versions;
// anybody may read the chain. An empty chain is a row that never came to be.
//
// taken is the number of the owner that has the row locked U or X, or 0: who reads
// past such rows need not ask the lock table, which decides in all other cases.
type record struct {
	id    RowID
	flags atomic.Uint32
	taken atomic.Uint32
	head  atomic.Pointer[version]
}

const (
	// flagStale is set while an index may have an entry for the record that its
	// newest version does not have: a reader that came by such an entry checks its
	// key. With flagStaleForever an entry could not be removed: the check stays.
	flagStale uint32 = 1 << iota
	flagStaleForever
	// flagHidden is set when an entry of the record was put into layerTaken.
	flagHidden
	// flagThinning is set while somebody unlinks old versions.
	flagThinning
	// flagQueued is set while the record is in line for the removal of old
	// versions.
	flagQueued
)

func (r *record) isStale() bool { return r.flags.Load()&(flagStale|flagStaleForever) != 0 }

func (r *record) has(flag uint32) bool { return r.flags.Load()&flag != 0 }

func (r *record) set(flag uint32) (was bool) { return r.flags.Or(flag)&flag != 0 }

func (r *record) unset(flag uint32) { r.flags.And(^flag) }

func newRecord(id RowID, row types.Row, by *writer) *record {
	r := &record{id: id}
	r.head.Store(&version{row: row, by: by})
	return r
}

// push makes a new newest version, row nil for a deletion.
func (r *record) push(row types.Row, by *writer) *version {
	v := &version{row: row, by: by}
	v.prev.Store(r.head.Load())
	r.head.Store(v)
	return v
}

// current returns the newest row if it is committed or made by own. settled is
// false if the newest version is another transaction's and open.
func (r *record) current(own *writer) (row types.Row, settled bool) {
	h := r.head.Load()
	if h == nil {
		return nil, true
	}
	if h.by != own && !h.committed() {
		return nil, false
	}
	return h.row, true
}

// visible returns the row that a view taken at csn sees, own changes included;
// nil if there is none.
func (r *record) visible(csn uint64, own *writer) types.Row {
	for v := r.head.Load(); v != nil; v = v.prev.Load() {
		if v.by == own {
			return v.row
		}
		if n := v.by.csn.Load(); n != 0 && n <= csn {
			return v.row
		}
	}
	return nil
}

// changedSince reports whether the newest committed version is newer than csn
// and not made by own.
func (r *record) changedSince(csn uint64, own *writer) bool {
	if planted(plantSkipFirstCommitter) {
		return false
	}
	for v := r.head.Load(); v != nil; v = v.prev.Load() {
		if v.by == own {
			return false
		}
		if n := v.by.csn.Load(); n != 0 {
			return n > csn
		}
	}
	return false
}

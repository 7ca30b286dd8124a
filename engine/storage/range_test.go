package storage_test

import (
	"testing"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// TestKeyRanges: what a SERIALIZABLE reader keeps others from inserting.
func TestKeyRanges(t *testing.T) {
	t.Parallel()
	desc := between(20, 30)
	desc.Desc = true
	for _, tt := range []struct {
		name  string
		read  storage.Range
		index int
		waits []int64 // keys whose insertion waits
		free  []int64
	}{
		{"range", between(20, 30), 0, []int64{15, 25, 35}, []int64{5, 45}},
		{"downwards", desc, 0, []int64{15, 25, 35}, []int64{5, 45}},
		{"missing key", point(25), 0, []int64{25, 26}, []int64{15, 35, 5}},
		{"existing unique key", point(20), 0, nil, []int64{5, 15, 25}},
		{"to the end", storage.Range{Lo: storage.Bound{Key: intKey(30), Inclusive: false}}, 0, []int64{35, 45}, []int64{5, 25}},
		{"from the beginning", storage.Range{Hi: storage.Bound{Key: intKey(10)}}, 0, []int64{5}, []int64{15, 45}},
		{"empty range", between(26, 28), 0, []int64{27}, []int64{15, 35}},
		{"everything", everything, 0, []int64{5, 25, 45}, nil},
		// In the second index the key is the state: equal to the id here.
		{"other index", point(20), 1, []int64{15, 25}, []int64{5, 35, 45}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, accounts(), row(10, 10, ""), row(20, 20, ""), row(30, 30, ""), row(40, 40, ""))
			r, w := f.session(1), f.session(2)
			r.read(tt.index, tt.read, serializable)
			for _, k := range tt.waits {
				if _, err := w.tx.Insert(t.Context(), f.tab, row(k, k, ""), 0); err == nil {
					t.Errorf("insertion of %d did not wait", k)
				}
			}
			for _, k := range tt.free {
				w.insert(row(k, k, ""))
			}
			w.rollback()
			for _, k := range tt.waits {
				done := w.async(func() error {
					w.insert(row(k, k, ""))
					return nil
				})
				r.rollback()
				f.wantNil(<-done)
				w.rollback()
				r.read(tt.index, tt.read, serializable)
			}
			r.rollback()
			f.wantNoLocks()
		})
	}
}

// TestMoveIntoLockedGap: an update that would put a row into a locked range
// waits as an insertion does.
func TestMoveIntoLockedGap(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(10, 10, ""), row(40, 40, ""))
	r, w := f.session(1), f.session(2)
	f.wantRows(r.read(0, between(15, 30), serializable))
	id := w.find(10)
	done := w.async(func() error { return w.tx.Update(t.Context(), f.tab, id, row(20, 10, ""), storage.Forever) })
	f.wantRows(r.read(0, between(15, 30), serializable))
	r.commit()
	f.wantNil(<-done)
}

// TestOwnGapIsInherited: an insertion into a range that the transaction locked
// itself leaves both halves locked.
func TestOwnGapIsInherited(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(10, 10, ""), row(40, 40, ""))
	r, w := f.session(1), f.session(2)
	f.wantRows(r.read(0, between(10, 40), serializable), "10:10", "40:40")
	mark := r.tx.Savepoint()
	r.insert(row(25, 25, ""))
	for _, k := range []int64{20, 30} {
		_, err := w.tx.Insert(t.Context(), f.tab, row(k, k, ""), 0)
		f.wantErr(err, storage.ErrLockTimeout)
	}
	r.tx.RollbackTo(mark)
	for _, k := range []int64{20, 25, 30} {
		_, err := w.tx.Insert(t.Context(), f.tab, row(k, k, ""), 0)
		f.wantErr(err, storage.ErrLockTimeout)
	}
	r.rollback()
	for _, k := range []int64{20, 25, 30} {
		w.insert(row(k, k, ""))
	}
}

// TestTwoRangeReaders: both may read the range; each one's insertion waits for
// the other: a deadlock, one victim.
func TestTwoRangeReaders(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(10, 10, ""), row(40, 40, ""))
	a, b := f.session(1), f.session(2)
	for _, se := range []*session{a, b} {
		f.wantRows(se.read(0, point(25), serializable))
	}
	wait := a.async(func() error {
		_, err := a.tx.Insert(t.Context(), f.tab, row(25, 1, ""), storage.Forever)
		return err
	})
	_, err := b.tx.Insert(t.Context(), f.tab, row(25, 2, ""), storage.Forever)
	f.wantErr(err, storage.ErrDeadlock)
	b.rollback()
	f.wantNil(<-wait)
	a.commit()
	f.wantRows(a.read(0, point(25), readLocked), "25:1")
}

// TestLockedGhostStays: the entry of a deleted row whose gap is locked keeps its
// place, so that the gap stays locked, and goes afterwards.
func TestLockedGhostStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(10, 10, ""), row(20, 20, ""), row(30, 30, ""))
	r, w := f.session(1), f.session(2)
	f.wantRows(r.read(0, between(11, 15), serializable)) // locks the gap before 20
	w.remove(20)
	w.commit()
	_, err := w.tx.Insert(t.Context(), f.tab, row(12, 12, ""), 0)
	f.wantErr(err, storage.ErrLockTimeout)
	w.insert(row(25, 25, ""))
	w.commit()
	r.commit()
	for f.s.Stats().Garbage > 0 {
		w.insert(row(99, 0, ""))
		w.remove(99)
		w.commit()
	}
	w.insert(row(12, 12, ""))
	w.commit()
	f.wantRows(r.read(0, everything, readLocked), "10:10", "12:12", "25:25", "30:30")
}

func TestHeapRange(t *testing.T) {
	t.Parallel()
	def := accounts()
	def.Indexes = nil
	f := newFixture(t, def, row(1, 10, ""))
	r, w := f.session(1), f.session(2)
	f.wantRows(r.read(-1, everything, serializable), "1:10")
	r.wantHeld(storage.S, 0)
	done := w.async(func() error {
		w.insert(row(2, 20, ""))
		return nil
	})
	f.wantRows(r.read(-1, everything, serializable), "1:10")
	r.commit()
	f.wantNil(<-done)
	w.commit()
	f.wantRows(r.read(-1, everything, readLocked), "1:10", "2:20")
	f.wantRows(r.read(-1, storage.Range{Desc: true}, readLocked), "2:20", "1:10")
}

func TestRangeModesShow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode storage.LockMode
		want string
	}{{storage.S, "RangeS-S"}, {storage.U, "RangeS-U"}, {storage.X, "RangeX-X"}} {
		f := newFixture(t, accounts(), row(10, 10, ""))
		a, b := f.session(1), f.session(2)
		f.wantRows(a.read(0, between(5, 20), storage.Access{Mode: tt.mode, Range: true, Timeout: storage.Forever}), "10:10")
		onRow, atEnd := 0, 0
		for _, l := range f.s.Locks() {
			switch {
			case l.Kind != "KEY":
			case l.Description == "(ffffffffffff)":
				atEnd++
			case l.ModeName == tt.want && l.Status == "GRANT" && l.Session == 1:
				onRow++
			default:
				t.Errorf("unexpected lock %+v", l)
			}
		}
		if onRow != 1 || atEnd != 1 {
			t.Errorf("%s: %d locks on the row, %d at the end", tt.want, onRow, atEnd)
		}
		done := b.async(func() error {
			b.insert(row(7, 7, ""))
			return nil
		})
		in, _ := b.o.WaitsFor()
		if in.ModeName != "RangeI-N" || in.Status != "WAIT" || len(in.BlockedBy) != 1 || in.BlockedBy[0] != 1 {
			t.Errorf("insertion waits as %+v", in)
		}
		a.rollback()
		f.wantNil(<-done)
	}
}

func TestScanRanges(t *testing.T) {
	t.Parallel()
	def := accounts()
	def.Indexes = append(def.Indexes, storage.IndexDef{ID: 3, Key: []storage.KeyColumn{
		{Ordinal: 1, Type: types.TypeInt, Desc: true}, {Ordinal: 0, Type: types.TypeInt},
	}})
	f := newFixture(t, def)
	w := f.session(1)
	for i := range int64(300) {
		w.insert(row(i, i/100, ""))
	}
	w.commit()
	count := func(index int, r storage.Range) (n int, first, last string) {
		got := w.read(index, r, readLocked)
		if len(got) == 0 {
			return 0, "", ""
		}
		return len(got), got[0], got[len(got)-1]
	}
	descKey := types.AppendKey(nil, types.NewInt(1), types.TypeInt, true)
	for _, tt := range []struct {
		name        string
		index       int
		r           storage.Range
		n           int
		first, last string
	}{
		{"all", 0, everything, 300, "0:0", "299:2"},
		{"all downwards", 0, storage.Range{Desc: true}, 300, "299:2", "0:0"},
		{"open ends", 0, storage.Range{Lo: storage.Bound{Key: intKey(5)}, Hi: storage.Bound{Key: intKey(8)}}, 2, "6:0", "7:0"},
		{"closed ends", 0, between(5, 8), 4, "5:0", "8:0"},
		{"nothing", 0, between(8, 5), 0, "", ""},
		{"prefix of two columns", 2, storage.Prefix(descKey), 100, "100:1", "199:1"},
		{"after a prefix", 2, storage.Range{Lo: storage.Bound{Key: descKey}}, 100, "0:0", "99:0"},
		{"before a prefix", 2, storage.Range{Hi: storage.Bound{Key: descKey}}, 100, "200:2", "299:2"},
		{"prefix downwards", 2, storage.Range{Lo: storage.Bound{Key: descKey, Inclusive: true}, Desc: true}, 200, "99:0", "100:1"},
		{"not unique", 1, point(2), 100, "200:2", "299:2"},
		{"clustered by default", -1, everything, 300, "0:0", "299:2"},
	} {
		if n, first, last := count(tt.index, tt.r); n != tt.n || first != tt.first || last != tt.last {
			t.Errorf("%s: got %d rows %s to %s, want %d, %s to %s", tt.name, n, first, last, tt.n, tt.first, tt.last)
		}
	}
}

package storage_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"loopbroker/engine/storage"
)

// wantKept checks how many superseded versions are kept.
func (f *fixture) wantKept(want int64) {
	f.Helper()
	st := f.s.Stats()
	if st.KeptVersions != want {
		f.Errorf("%d versions kept, want %d", st.KeptVersions, want)
	}
	if (st.KeptBytes > 0) != (want > 0) {
		f.Errorf("%d bytes in %d kept versions", st.KeptBytes, st.KeptVersions)
	}
}

// settled waits until the sweeper has come round to everything.
func (f *fixture) settled(done func(storage.Stats) bool) {
	f.Helper()
	for !done(f.s.Stats()) {
		if f.Context().Err() != nil {
			f.Fatalf("not tidied up: %+v", f.s.Stats())
		}
		runtime.Gosched()
	}
}

// TestVersionsBetweenViews: with views open, one version is kept for each, and
// none that lies between two, however often the row is changed.
func TestVersionsBetweenViews(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 0, ""), row(2, 0, ""))
	w := f.session(1)
	id := w.find(1)
	w.rollback()
	var views []*storage.View
	state := int64(0)
	change := func(n int) {
		for range n {
			state++
			f.wantNil(w.tx.Update(t.Context(), f.tab, id, row(1, state, ""), 0)) // state is a key of index 1
			w.commit()
		}
	}
	change(10)
	f.wantKept(0)
	for i := range int64(3) {
		views = append(views, f.s.StatementView(), f.s.StatementView())
		change(100)
		f.wantKept(i + 1)
	}
	if n := f.s.Stats().Garbage; n != 1 {
		t.Errorf("%d records wait to be tidied up, want 1", n)
	}
	for i, v := range views {
		at := 10 + int64(i/2)*100
		f.wantRows(w.read(0, point(1), storage.Access{View: v}), fmt.Sprintf("1:%d", at))
		f.wantRows(w.read(1, between(1, 1000), storage.Access{View: v}), fmt.Sprintf("1:%d", at))
		w.rollback()
	}
	// The view in the middle goes: so does its version, while the oldest stays.
	views[2].Close()
	views[3].Close()
	f.settled(func(st storage.Stats) bool { return st.KeptVersions == 2 })
	f.wantRows(w.read(1, between(1, 1000), storage.Access{View: views[0]}), "1:10")
	f.wantRows(w.read(1, between(1, 1000), storage.Access{View: views[4]}), "1:210")
	f.wantRows(w.read(1, between(1, 1000), readLocked), "1:310")
	w.rollback()
	for _, v := range views {
		v.Close()
	}
	f.settled(func(st storage.Stats) bool { return st.Garbage == 0 })
	f.wantKept(0)
}

// TestRowsThatNoViewSees: what came and went while a view was open is not kept
// for it.
func TestRowsThatNoViewSees(t *testing.T) {
	t.Parallel()
	heap := accounts()
	heap.Indexes = nil
	for name, def := range map[string]storage.TableDef{"clustered": accounts(), "heap": heap} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, def, row(0, 0, ""))
			w := f.session(1)
			v := f.s.StatementView()
			for i := range int64(200) {
				id := w.insert(row(i+1, i, ""))
				w.commit()
				f.wantNil(w.tx.Update(t.Context(), f.tab, id, row(i+1, -i, ""), 0))
				w.commit()
				f.wantNil(w.tx.Delete(t.Context(), f.tab, id, 0))
				w.commit()
			}
			if n := f.tab.Records(); n != 1 {
				t.Errorf("%d records, want 1", n)
			}
			f.wantKept(0)
			f.wantRows(w.read(-1, everything, storage.Access{View: v}), "0:0")
			v.Close()
		})
	}
}

// TestGoneRowsAreSeen: a view sees deleted and moved rows in their places, in
// both directions and by every index, between those that are still there.
func TestGoneRowsAreSeen(t *testing.T) {
	t.Parallel()
	heap := accounts()
	heap.Indexes = heap.Indexes[1:]
	for name, def := range map[string]storage.TableDef{"clustered": accounts(), "heap": heap} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, def)
			w := f.session(1)
			ids := make([]storage.RowID, 30)
			var want, down, byState, left []string
			for i := range int64(len(ids)) {
				ids[i] = w.insert(row(i, 100+i, ""))
				s := fmt.Sprintf("%d:%d", i, 100+i)
				want, byState, down = append(want, s), append(byState, s), append([]string{s}, down...)
			}
			w.commit()
			v := f.s.StatementView()
			for i := range int64(len(ids)) {
				switch i % 3 {
				case 0:
					f.wantNil(w.tx.Delete(t.Context(), f.tab, ids[i], 0))
				case 1:
					f.wantNil(w.tx.Update(t.Context(), f.tab, ids[i], row(i, 200-i, ""), 0))
					left = append(left, fmt.Sprintf("%d:%d", i, 200-i))
				default:
					left = append(left, fmt.Sprintf("%d:%d", i, 100+i))
				}
			}
			check := func() {
				r := f.session(2)
				byView := storage.Access{View: v}
				f.wantRows(r.read(-1, everything, byView), want...)
				f.wantRows(r.read(-1, storage.Range{Desc: true}, byView), down...)
				state := f.tab.IndexPosition(2)
				f.wantRows(r.read(state, everything, byView), byState...)
				f.wantRows(r.read(state, storage.Range{Desc: true}, byView), down...)
				f.wantRows(r.read(state, between(103, 105), byView), byState[3:6]...)
				if _, ok, err := r.tx.Get(t.Context(), f.tab, ids[0], byView); !ok || err != nil {
					t.Errorf("Get = %v, %v", ok, err)
				}
				r.rollback()
			}
			check() // while the changes are open
			w.commit()
			check()
			f.wantRows(w.read(-1, everything, readLocked), left...)
			v.Close()
			f.settled(func(st storage.Stats) bool { return st.Garbage == 0 })
			f.wantRows(w.read(-1, everything, readLocked), left...)
			if n := f.tab.Records(); n != len(left) {
				t.Errorf("%d records left, want %d", n, len(left))
			}
		})
	}
}

// TestKeysThatComeBack moves rows to and fro, with rollbacks, savepoints and
// views: each reader sees what it is to see, by every way in.
func TestKeysThatComeBack(t *testing.T) {
	t.Parallel()
	const seeds, rows, steps = 20, 6, 200
	for seed := range uint64(seeds) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		f := newFixture(t, accounts())
		w := f.session(1)
		ids := make([]storage.RowID, rows)
		now := make([]int64, rows) // the state of each row, -1: deleted
		for i := range ids {
			ids[i] = w.insert(row(int64(i), 0, ""))
		}
		w.commit()
		type seen struct {
			v    *storage.View
			rows []string
		}
		list := func(states []int64) (l []string) {
			for i, st := range states {
				if st >= 0 {
					l = append(l, fmt.Sprintf("%d:%d", i, st))
				}
			}
			return l
		}
		// In the index rows of one state come in the order of their insertion.
		byState := func(s *session, a storage.Access) []string {
			got := s.read(1, everything, a)
			slices.Sort(got)
			return got
		}
		var views []seen
		committed := append([]int64(nil), now...)
		change := func() {
			i := rnd.IntN(rows)
			switch {
			case now[i] < 0:
				ids[i], now[i] = w.insert(row(int64(i), 1, "")), 1
			case rnd.IntN(4) == 0:
				f.wantNil(w.tx.Delete(t.Context(), f.tab, ids[i], 0))
				now[i] = -1
			default:
				now[i] = int64(rnd.IntN(3))
				f.wantNil(w.tx.Update(t.Context(), f.tab, ids[i], row(int64(i), now[i], ""), 0))
			}
		}
		savedIDs := append([]storage.RowID(nil), ids...)
		for range steps {
			switch k := rnd.IntN(10); {
			case k < 4:
				change()
			case k == 4:
				mark, was, wasIDs := w.tx.Savepoint(), append([]int64(nil), now...), append([]storage.RowID(nil), ids...)
				change()
				change()
				w.tx.RollbackTo(mark)
				now, ids = was, wasIDs
			case k == 5:
				w.rollback()
				now, ids = append([]int64(nil), committed...), append([]storage.RowID(nil), savedIDs...)
			case k < 8:
				w.commit()
				committed, savedIDs = append([]int64(nil), now...), append([]storage.RowID(nil), ids...)
			case k == 8 && len(views) < 4:
				views = append(views, seen{f.s.StatementView(), list(committed)})
			case len(views) > 0:
				i := rnd.IntN(len(views))
				views[i].v.Close()
				views = slices.Delete(views, i, i+1)
			}
			f.wantRows(w.read(0, everything, readLocked), list(now)...)
			f.wantRows(w.read(0, everything, nolock), list(now)...)
			f.wantRows(byState(w, readLocked), list(now)...)
			r := f.session(2)
			for _, v := range views {
				f.wantRows(r.read(0, everything, storage.Access{View: v.v}), v.rows...)
				f.wantRows(byState(r, storage.Access{View: v.v}), v.rows...)
			}
			past := readLocked
			past.ReadPast = true
			for _, got := range r.read(1, everything, past) {
				var id, st int64
				if _, err := fmt.Sscanf(got, "%d:%d", &id, &st); err != nil || committed[id] != st || now[id] != st {
					t.Errorf("seed %d: READPAST gives %s, committed %v, now %v", seed, got, committed, now)
				}
			}
			r.rollback()
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		for _, v := range views {
			v.v.Close()
		}
		w.rollback()
		f.settled(func(st storage.Stats) bool { return st.Garbage == 0 })
		f.wantKept(0)
		if n := f.tab.Records(); n != len(list(committed)) {
			t.Fatalf("seed %d: %d records left, want %d", seed, n, len(list(committed)))
		}
		f.wantNoLocks()
	}
}

// TestTruncateGivesVersionsBack: a view keeps nothing of a table that it cannot
// read any more.
func TestTruncateGivesVersionsBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 1, ""), row(2, 2, ""))
	w := f.session(1)
	v := f.s.StatementView()
	defer v.Close()
	w.update(row(1, 5, ""))
	w.remove(2)
	w.commit()
	f.wantKept(2)
	f.wantNil(w.tx.Truncate(t.Context(), f.tab))
	w.commit()
	f.settled(func(st storage.Stats) bool { return st.Garbage == 0 })
	f.wantKept(0)
}

// TestOldViewIsTold: the hook is called when there is something to tell, and not
// again within its period.
func TestOldViewIsTold(t *testing.T) {
	t.Parallel()
	told := make(chan storage.OldView, 10)
	f := &fixture{T: t, s: open(t, storage.Options{
		OldView: func(v storage.OldView) { told <- v }, OldViewAge: time.Nanosecond, OldViewVersions: 50, OldViewPeriod: time.Hour,
	})}
	f.create(accounts(), manyRows(60)...)
	r, w := f.session(7), f.session(8)
	r.tx.SetIsolation(storage.Snapshot)
	r.tx.SnapshotView()
	statement := f.s.StatementView()
	defer statement.Close()
	statement.Own(w.tx)
	all := f.s.Views()
	if len(all) != 2 || all[0].Session != 7 || !all[0].Snapshot || all[0].Tx != r.tx.ID() || all[1].Session != 8 || all[1].Snapshot {
		t.Errorf("views: %+v", all)
	}
	for i := range int64(60) {
		w.update(row(i, 1, ""))
		w.commit()
	}
	select {
	case v := <-told:
		if v.Session != 7 || v.Tx != r.tx.ID() || !v.Snapshot || v.Versions <= 50 || v.Bytes <= 0 || v.Age <= 0 {
			t.Errorf("told %+v", v)
		}
	case <-t.Context().Done():
		t.Fatal("nothing was told")
	}
	w.update(row(1, 2, ""))
	w.commit()
	r.commit()
	statement.Close()
	f.settled(func(st storage.Stats) bool { return st.Garbage == 0 })
	if len(told) > 0 {
		t.Errorf("told again: %+v", <-told)
	}
	if n := len(f.s.Views()); n != 0 {
		t.Errorf("%d views left", n)
	}
}

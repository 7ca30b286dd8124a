package storage_test

import (
	"flag"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"loopbroker/engine/storage"
)

// churnRows is how many rows go through a queue table in TestChurn.
var churnRows = flag.Int64("churn-rows", 5_000, "rows that go through a queue table in TestChurn")

// heapBytes is what is in use after everything that can go has gone.
func heapBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// churn lets rows go through a queue table: they arrive, are claimed, now and
// then given back by a rollback, and deleted.
func churn(f *fixture, rows int64, worker int, arrived, gone *atomic.Int64) {
	const batch = 20
	s := f.session(int32(100 + worker))
	for round := worker; gone.Load() < rows; round++ {
		if first := arrived.Add(batch) - batch; first < rows {
			for i := range int64(batch) {
				s.insert(row(first+i, ready, "a note"))
			}
			if round%5 == 0 {
				s.rollback()
				for i := range int64(batch) {
					s.insert(row(first+i, ready, "a note"))
				}
			}
			s.commit()
		}
		keys, err := claim(s.tx, f, 1, batch)
		f.wantNil(err)
		if round%3 == 0 {
			s.rollback()
			continue
		}
		s.commit()
		for _, k := range keys {
			s.remove(k)
		}
		if len(keys) > 0 && round%4 == 0 {
			s.rollback()
			for _, k := range keys {
				s.remove(k)
			}
		}
		s.commit()
		gone.Add(int64(len(keys)))
	}
	s.tx.Rollback()
}

// TestChurn: a queue table ends at the size it began with, however many rows went
// through. It is not parallel: it looks at the heap.
func TestChurn(t *testing.T) { //nolint:paralleltest // it looks at the heap
	for _, tt := range []struct {
		name  string
		views bool
	}{{"without views", false}, {"with views", true}} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, queue())
			for range 2 { // the first round makes what stays: maps, stacks
				before := heapBytes()
				var arrived, gone atomic.Int64
				var workers, viewer sync.WaitGroup
				rows := *churnRows
				if rows -= rows % 20; rows == 0 {
					t.Fatal("no rows")
				}
				for w := range 4 {
					workers.Go(func() { churn(f, rows, w, &arrived, &gone) })
				}
				if tt.views {
					viewer.Go(func() { openViews(f, rows, &gone) })
				}
				workers.Wait()
				viewer.Wait()
				f.settled(func(st storage.Stats) bool { return st.Garbage == 0 })
				f.wantKept(0)
				f.wantNoLocks()
				if n, live := f.tab.Records(), f.tab.Rows(); n != 0 || live != 0 {
					t.Errorf("%d records and %d rows left", n, live)
				}
				if grown := heapBytes() - before; grown > 2<<20 {
					t.Errorf("the heap has grown by %d bytes", grown)
				}
			}
		})
	}
}

// openViews opens views and closes them, an old one now and then with newer ones
// beside it.
func openViews(f *fixture, rows int64, gone *atomic.Int64) {
	const held = 4
	var views [held]*storage.View
	for i := 0; gone.Load() < rows; i++ {
		if v := views[i%held]; v != nil && i%3 != 0 {
			v.Close()
			views[i%held] = nil
		} else if v == nil {
			views[i%held] = f.s.StatementView()
		}
		for next := min(gone.Load()+100, rows); gone.Load() < next; {
			runtime.Gosched()
		}
	}
	for _, v := range views {
		v.Close()
	}
}

// TestOneRowManyUpdates: a view that stays open costs one version of a row that is
// changed all the time, and a queue that moves on costs nothing.
func TestOneRowManyUpdates(t *testing.T) { //nolint:paralleltest // it looks at the heap
	f := newFixture(t, accounts(), row(1, 0, ""))
	w := f.session(1)
	id := w.find(1)
	w.rollback()
	old := f.s.StatementView()
	defer old.Close()
	before := heapBytes()
	for i := range *churnRows * 5 {
		recent := f.s.StatementView()
		f.wantNil(w.tx.Update(t.Context(), f.tab, id, row(1, i%2, ""), 0))
		w.commit()
		recent.Close()
	}
	if n := f.s.Stats().KeptVersions; n > 2 {
		t.Errorf("%d versions kept, want at most 2", n)
	}
	if n := f.s.Stats().Garbage; n != 1 {
		t.Errorf("%d records in line, want 1", n)
	}
	if grown := heapBytes() - before; grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	f.wantRows(w.read(0, everything, storage.Access{View: old}), "1:0")
}

// TestLockTableShrinks: the lock table gives the memory of a million locks back.
func TestLockTableShrinks(t *testing.T) { //nolint:paralleltest // it looks at the heap
	rows := min(*churnRows*20, 1_000_000)
	f := newFixture(t, accounts(), manyRows(rows)...)
	s := f.session(1)
	before := heapBytes()
	s.take(0, rows, update)
	while := heapBytes() - before
	s.rollback()
	if n := heapBytes() - before; n > while/10+1<<20 {
		t.Errorf("%d bytes of %d of locks are left", n, while)
	}
	s.statement(func(*storage.Statement) { s.take(0, rows, update) })
	if n := heapBytes() - before; n > while/10+1<<20 {
		t.Errorf("%d bytes of locks after the escalation, %d without", n, while)
	}
	s.rollback()
}

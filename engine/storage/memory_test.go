package storage_test

import (
	"runtime"
	"testing"

	"loopbroker/engine/storage"
)

// heapBytes is what is in use after everything that can go has gone.
func heapBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
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
	for i := range int64(50_000) {
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
	const rows = 100_000
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

package storage

import (
	"context"
	"testing"

	"loopbroker/engine/types"
)

// TestLayers: where the entries of the index of ready rows are while rows are
// claimed. A claim reads the first layer alone, so what is in the others costs it
// nothing.
func TestLayers(t *testing.T) {
	t.Parallel()
	const rows = 200
	ctx := t.Context()
	s, err := Open(ctx, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	key := []KeyColumn{{Ordinal: 0, Type: types.TypeInt}}
	def := TableDef{ID: 1, Columns: 2, Indexes: []IndexDef{
		{ID: 1, Unique: true, Clustered: true, Key: key},
		{ID: 2, Key: key, Filter: func(r types.Row) bool { return r[1].Int() == 0 }},
	}}
	tx := s.Begin(nil)
	tab, err := tx.CreateTable(def)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(rows) {
		if _, err := tx.Insert(ctx, tab, types.Row{types.NewInt(i), types.NewInt(0)}, Forever); err != nil {
			t.Fatal(err)
		}
	}
	commit := func() {
		t.Helper()
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		tx = s.Begin(nil)
	}
	commit()
	want := func(step string, sizes ...int) {
		t.Helper()
		ix := tab.data.Load().indexes[1]
		for l, n := range sizes {
			got := 0
			if ix.trees[l] != nil {
				got = ix.trees[l].Len()
			}
			if got != n {
				t.Errorf("%s: %d entries in layer %d, want %d", step, got, l, n)
			}
		}
	}
	// claim takes n rows in tx; change leases them.
	claim := func(tx *Tx, n int, change bool) {
		t.Helper()
		c := tx.Scan(ctx, tab, 1, Range{}, Access{Mode: U, Hold: true, ReadPast: true, Timeout: Forever})
		defer c.Close()
		for i := range n {
			if !c.Next() {
				t.Fatalf("claimed %d of %d rows: %v", i, n, c.Err())
			}
			if !change {
				continue
			}
			if err := tx.Update(ctx, tab, c.ID(), types.Row{c.Row()[0], types.NewInt(1)}, Forever); err != nil {
				t.Fatal(err)
			}
		}
	}

	want("begin", 200, 0, 0, 0)
	claim(tx, 20, true)
	want("leased by an open transaction", 180, 0, 20, 0)
	tx.Rollback()
	tx = s.Begin(nil)
	want("rolled back", 200, 0, 0, 0)
	v := s.StatementView()
	claim(tx, 20, true)
	commit()
	want("leased, and seen by a view", 180, 0, 0, 20)
	v.Close()
	s.sweepSome(rows)
	want("view closed", 180, 0, 0, 0)

	claim(tx, 100, false)
	want("locked by an open transaction", 180, 0, 0, 0)
	other := s.Begin(nil)
	claim(other, 5, false)
	want("others have read past them", 80, 100, 0, 0)
	claim(tx, 100+75, false) // its own rows are not in its way
	commit()
	want("not locked any more", 180, 0, 0, 0)
	other.Rollback()
	tx.Rollback()
}

// TestThinningEnds: a record that is changed while all that wait are looked at
// stays in line once, and does not keep the sweeper busy.
func TestThinningEnds(t *testing.T) {
	t.Parallel()
	s := &Store{closing: make(chan struct{})}
	s.garbage.kick = make(chan struct{}, 1)
	s.views.init()
	s.lastCommit.Store(recovered.csn.Load())
	tab := s.newTable(TableDef{ID: 1, Columns: 1}, recovered)
	later := func(n uint64) *writer { // committed after the sweeper has begun
		w := &writer{id: n}
		w.csn.Store(n)
		return w
	}
	rec := newRecord(1, types.Row{types.NewInt(1)}, later(10))
	rec.push(types.Row{types.NewInt(2)}, later(11))
	s.garbage.add(garbageItem{data: tab.data.Load(), rec: rec, csn: 11})
	s.thinGarbage()
	if n, all := s.garbage.size(), len(s.garbage.items); n != 1 || all != 1 {
		t.Errorf("%d of %d items left, want the one", n, all)
	}
	s.lastCommit.Store(11)
	s.thinGarbage()
	if n := s.garbage.size(); n != 0 || rec.left() != pruned {
		t.Errorf("%d items left", n)
	}
}

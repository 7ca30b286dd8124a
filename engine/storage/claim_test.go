package storage_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

const (
	ready  = 0
	leased = 1
)

// queue is a table (id primary key, state, note) with an index on id for the
// ready rows alone.
func queue() storage.TableDef {
	def := accounts()
	def.Indexes[1] = storage.IndexDef{
		ID: 2, Key: []storage.KeyColumn{{Ordinal: 0, Type: types.TypeInt}},
		Filter: isReady,
	}
	return def
}

func isReady(r types.Row) bool { return r[1].Int() == ready }

// claim takes up to n ready rows, as UPDATE TOP (n) ... WITH (UPDLOCK, ROWLOCK,
// READPAST) WHERE state = ready does, in the order of the index.
func claim(tx *storage.Tx, f *fixture, index, n int) ([]int64, error) {
	c := tx.Scan(f.Context(), f.tab, index, everything, claiming)
	defer c.Close()
	var keys []int64
	for len(keys) < n && c.Next() {
		r := c.Row()
		if r[1].Int() != ready {
			c.Release()
			continue
		}
		// Read past what waits: a claim never waits for a row either.
		if err := tx.Update(f.Context(), f.tab, c.ID(), row(r[0].Int(), leased, ""), 0); err != nil {
			return nil, err
		}
		keys = append(keys, r[0].Int())
	}
	return keys, c.Err()
}

// TestClaims: 32 claimers, some of which roll back, while rows arrive and a
// snapshot is open. Nobody waits, no row is claimed twice, none is lost.
func TestClaims(t *testing.T) {
	t.Parallel()
	for name, index := range map[string]int{"clustered": 0, "filtered": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const claimers, early, late = 32, 600, 200
			f := newFixture(t, queue())
			w := f.session(1)
			for i := range int64(early) {
				w.insert(row(i, ready, ""))
			}
			w.commit()
			view := f.s.StatementView()
			defer view.Close()

			var claimed [early + late]atomic.Int32
			var left atomic.Int64
			left.Store(early + late)
			var wg sync.WaitGroup
			var arrivals atomic.Int64
			arrive := func(tx *storage.Tx) error {
				i := arrivals.Add(1) - 1
				if i >= late {
					return nil
				}
				_, err := tx.Insert(t.Context(), f.tab, row(early+i, ready, ""), storage.Forever)
				return err
			}
			for n := range claimers {
				wg.Go(func() { claimAll(f, n, index, arrive, &left, claimed[:]) })
			}
			wg.Wait()
			for i := range claimed {
				if n := claimed[i].Load(); n != 1 {
					t.Errorf("row %d claimed %d times", i, n)
				}
			}
			f.wantRows(w.read(1, everything, readLocked))
			w.rollback()
			f.wantNoLocks()
		})
	}
}

// claimAll claims, and lets a new row arrive with each claim that it keeps,
// until nothing is left.
func claimAll(f *fixture, n, index int, arrive func(*storage.Tx) error, left *atomic.Int64, claimed []atomic.Int32) {
	o := f.s.NewOwner(int32(n + 10))
	defer o.Close()
	for round := 0; left.Load() > 0; round++ {
		tx := f.s.Begin(o)
		keys, err := claim(tx, f, index, 3)
		if err != nil {
			f.Errorf("claim: %v", err) // a time-out of 0 turns any wait into an error
			tx.Rollback()
			return
		}
		if (n+round)%7 == 0 {
			tx.Rollback()
			continue
		}
		f.wantNil(arrive(tx))
		f.wantNil(tx.Commit(f.Context()))
		for _, k := range keys {
			claimed[k].Add(1)
		}
		left.Add(-int64(len(keys)))
	}
}

// TestQueueGivesMemoryBack: rows come and go; at the end nothing is left in the
// table, though a view was open in the middle.
func TestQueueGivesMemoryBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, queue())
	w := f.session(1)
	var view *storage.View
	for i := range int64(2000) {
		w.insert(row(i, ready, ""))
		w.commit()
		switch i {
		case 500:
			view = f.s.StatementView()
		case 1200:
			view.Close()
		}
		keys, err := claim(w.tx, f, 1, 1)
		f.wantNil(err)
		w.commit()
		for _, k := range keys {
			w.remove(k)
		}
		w.commit()
	}
	for f.s.Stats().Garbage > 0 {
		w.rollback()
		w.insert(row(1, ready, ""))
		w.commit()
		w.remove(1)
		w.commit()
	}
	if n := f.tab.Rows(); n != 0 {
		t.Errorf("Rows = %d, want 0", n)
	}
	if n := f.tab.Records(); n != 0 {
		t.Errorf("%d records left", n)
	}
	f.wantRows(w.read(0, everything, readLocked))
}

func TestDeadlock(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		prepareA       func(*session)
		prepareB       func(*session)
		first, second  int64 // rows that A and B want then
		priorityA      int
		extraA, extraB int64 // rows changed before
		victimA        bool
	}{
		{name: "two rows", first: 2, second: 1},
		{name: "priority", first: 2, second: 1, priorityA: -1, victimA: true},
		{name: "cheaper", first: 2, second: 1, extraB: 3, victimA: true},
		{name: "priority before price", first: 2, second: 1, priorityA: 5, extraB: 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, accounts(), row(1, 10, ""), row(2, 20, ""))
			a, b := f.session(1), f.session(2)
			one, two := a.find(1), a.find(2)
			a.rollback()
			a.tx.SetPriority(tt.priorityA)
			for i := range tt.extraA {
				a.insert(row(100+i, 0, ""))
			}
			for i := range tt.extraB {
				b.insert(row(200+i, 0, ""))
			}
			f.wantNil(a.tx.Update(t.Context(), f.tab, one, row(1, 11, ""), 0))
			f.wantNil(b.tx.Update(t.Context(), f.tab, two, row(2, 22, ""), 0))
			waitA := a.async(func() error { return a.tx.Update(t.Context(), f.tab, two, row(2, 21, ""), storage.Forever) })
			errB := make(chan error, 1)
			go func() { errB <- b.tx.Update(t.Context(), f.tab, one, row(1, 12, ""), storage.Forever) }()
			if tt.victimA {
				f.wantErr(<-waitA, storage.ErrDeadlock)
				a.rollback()
				f.wantNil(<-errB)
				b.commit()
				f.wantRows(b.read(0, between(1, 2), readLocked), "1:12", "2:22")
			} else {
				f.wantErr(<-errB, storage.ErrDeadlock)
				b.rollback()
				f.wantNil(<-waitA)
				a.commit()
				f.wantRows(b.read(0, between(1, 2), readLocked), "1:11", "2:21")
			}
			if n := f.s.Stats().Deadlocks; n != 1 {
				t.Errorf("%d deadlocks counted, want 1", n)
			}
		})
	}
}

// TestConversionDeadlock: two S holders that both want X; exactly one loses.
func TestConversionDeadlock(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, ""))
	a, b := f.session(1), f.session(2)
	id := a.find(1)
	a.rollback()
	f.wantRows(a.read(0, point(1), repeatable), "1:10")
	f.wantRows(b.read(0, point(1), repeatable), "1:10")
	results := make(chan error, 2)
	for n, se := range []*session{a, b} {
		go func() {
			err := se.tx.Update(t.Context(), f.tab, id, row(1, int64(n), ""), storage.Forever)
			if err != nil {
				se.tx.Rollback()
			}
			results <- err
		}()
	}
	lost := 0
	for range 2 {
		if err := <-results; errors.Is(err, storage.ErrDeadlock) {
			lost++
		} else {
			f.wantNil(err)
		}
	}
	if lost != 1 {
		t.Errorf("%d victims, want 1", lost)
	}
}

// TestManyPartyDeadlock: a ring of eight; one goes, the others finish.
func TestManyPartyDeadlock(t *testing.T) {
	t.Parallel()
	const n = 8
	f := newFixture(t, accounts())
	ids := make([]storage.RowID, n)
	sessions := make([]*session, n)
	for i := range sessions {
		sessions[i] = f.session(int32(i + 1))
		ids[i] = sessions[i].insert(row(int64(i), 0, ""))
		sessions[i].commit()
	}
	for i, se := range sessions {
		f.wantNil(se.tx.Update(t.Context(), f.tab, ids[i], row(int64(i), 1, ""), 0))
	}
	results := make(chan error, n)
	for i, se := range sessions {
		go func() {
			next := (i + 1) % n
			err := se.tx.Update(t.Context(), f.tab, ids[next], row(int64(next), 2, ""), storage.Forever)
			if err == nil {
				err = se.tx.Commit(t.Context())
			} else {
				se.tx.Rollback()
			}
			results <- err
		}()
	}
	lost := 0
	for range n {
		if err := <-results; errors.Is(err, storage.ErrDeadlock) {
			lost++
		} else {
			f.wantNil(err)
		}
	}
	if lost != 1 {
		t.Errorf("%d victims, want 1", lost)
	}
}

// TestLoopbackWaitIsNoDeadlock: a session that waits for its own caller, which
// does not wait for a lock, is left alone and ends by its time-out.
func TestLoopbackWaitIsNoDeadlock(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, ""))
	caller, callee := f.session(1), f.session(2)
	caller.update(row(1, 11, ""))
	_, err := callee.scan(0, everything, storage.Access{Mode: storage.S, Timeout: 60e6})
	f.wantErr(err, storage.ErrLockTimeout)
	if n := f.s.Stats().Deadlocks; n != 0 {
		t.Errorf("%d deadlocks", n)
	}
}

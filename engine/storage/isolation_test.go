package storage_test

import (
	"context"
	"errors"
	"testing"

	"loopbroker/engine/storage"
)

// TestReaderMeetsOpenChange: what each kind of reader does when the row is in
// the hands of an open transaction, and what it gets after commit or rollback.
func TestReaderMeetsOpenChange(t *testing.T) {
	t.Parallel()
	changes := map[string]func(*session){
		"insert": func(w *session) { w.insert(row(2, 20, "")) },
		"update": func(w *session) { w.update(row(1, 99, "")) },
		"delete": func(w *session) { w.remove(1) },
		"move": func(w *session) {
			f := w.f
			f.wantNil(w.tx.Update(f.Context(), f.tab, w.find(1), row(5, 10, ""), storage.Forever))
		},
	}
	after := map[string][]string{
		"insert": {"1:10", "2:20"}, "update": {"1:99"}, "delete": nil, "move": {"5:10"},
	}
	skipped := map[string][]string{"insert": {"1:10"}}
	for name, change := range changes {
		for _, commit := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, accounts(), row(1, 10, ""))
				w, r := f.session(1), f.session(2)
				change(w)
				f.wantRows(r.read(0, everything, nolock), after[name]...)
				past := readLocked
				past.ReadPast = true
				f.wantRows(r.read(0, everything, past), skipped[name]...)
				v := f.s.StatementView()
				f.wantRows(r.read(0, everything, storage.Access{View: v}), "1:10")
				_, err := r.scan(0, everything, storage.Access{Mode: storage.S})
				f.wantErr(err, storage.ErrLockTimeout)
				f.wantRows(w.read(0, everything, readLocked), after[name]...)

				var got []string
				done := r.asyncRead(&got, 0, everything, readLocked)
				want := after[name]
				if commit {
					w.commit()
				} else {
					w.rollback()
					want = []string{"1:10"}
				}
				f.wantNil(<-done)
				f.wantRows(got, want...)
				f.wantRows(r.read(0, everything, storage.Access{View: v}), "1:10")
				v.Close()
				r.rollback()
				f.wantRows(r.read(1, everything, readLocked), want...)
				r.rollback()
				w.rollback()
				f.wantNoLocks()
			})
		}
	}
}

// TestAnomalies: a second transaction changes what the first has read; whether
// it waits depends on how the first one read.
func TestAnomalies(t *testing.T) {
	t.Parallel()
	levels := []struct {
		name             string
		access           storage.Access
		update, insert   bool // the writer waits
		again, withInput []string
	}{
		{"read committed", readLocked, false, false, []string{"1:11", "3:30"}, []string{"1:10", "2:20", "3:30"}},
		{"repeatable read", repeatable, true, false, nil, []string{"1:10", "2:20", "3:30"}},
		{"serializable", serializable, true, true, nil, nil},
	}
	for _, tt := range levels {
		t.Run(tt.name+"/non-repeatable read", func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, accounts(), row(1, 10, ""), row(3, 30, ""))
			r, w := f.session(1), f.session(2)
			f.wantRows(r.read(0, between(1, 4), tt.access), "1:10", "3:30")
			if tt.update {
				done := w.async(func() error {
					w.update(row(1, 11, ""))
					return nil
				})
				f.wantRows(r.read(0, between(1, 4), tt.access), "1:10", "3:30")
				r.commit()
				f.wantNil(<-done)
				return
			}
			w.update(row(1, 11, ""))
			w.commit()
			f.wantRows(r.read(0, between(1, 4), tt.access), tt.again...)
		})
		t.Run(tt.name+"/phantom", func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, accounts(), row(1, 10, ""), row(3, 30, ""))
			r, w := f.session(1), f.session(2)
			f.wantRows(r.read(0, between(1, 4), tt.access), "1:10", "3:30")
			if tt.insert {
				done := w.async(func() error {
					w.insert(row(2, 20, ""))
					return nil
				})
				f.wantRows(r.read(0, between(1, 4), tt.access), "1:10", "3:30")
				r.commit()
				f.wantNil(<-done)
				return
			}
			w.insert(row(2, 20, ""))
			w.commit()
			f.wantRows(r.read(0, between(1, 4), tt.access), tt.withInput...)
		})
	}
}

// TestDirtyWriteWaits: two writers of one row, at any level.
func TestDirtyWriteWaits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, ""))
	a, b := f.session(1), f.session(2)
	a.update(row(1, 11, ""))
	done := b.async(func() error {
		b.update(row(1, 12, ""))
		return nil
	})
	a.commit()
	f.wantNil(<-done)
	b.commit()
	f.wantRows(a.read(0, everything, readLocked), "1:12")
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, ""), row(2, 20, ""))
	a, b := f.session(1), f.session(2)
	a.tx.SetIsolation(storage.Snapshot)
	view := storage.Access{View: a.tx.SnapshotView()}
	b.update(row(1, 11, ""))
	b.remove(2)
	b.insert(row(3, 30, ""))
	b.commit()
	f.wantRows(a.read(0, everything, view), "1:10", "2:20")
	f.wantRows(a.read(1, everything, view), "1:10", "2:20")
	own := a.insert(row(4, 40, ""))
	f.wantRows(a.read(0, everything, view), "1:10", "2:20", "4:40")
	f.wantNil(a.tx.Delete(t.Context(), f.tab, own, 0))
	f.wantRows(a.read(0, everything, view), "1:10", "2:20")

	c := a.tx.Scan(t.Context(), f.tab, 0, everything, view)
	defer c.Close()
	for want := int64(1); c.Next(); want++ {
		f.wantErr(a.tx.Update(t.Context(), f.tab, c.ID(), row(want, 1, ""), 0), storage.ErrSnapshotConflict)
		f.wantErr(a.tx.Delete(t.Context(), f.tab, c.ID(), 0), storage.ErrSnapshotConflict)
	}
	locking := view
	locking.Mode, locking.Hold = storage.U, true
	_, err := a.scan(0, point(1), locking)
	f.wantErr(err, storage.ErrSnapshotConflict)
}

// TestSnapshotConflictAfterWait: the first updater commits, the second loses; it
// rolls back, the second wins.
func TestSnapshotConflictAfterWait(t *testing.T) {
	t.Parallel()
	for _, commit := range []bool{true, false} {
		f := newFixture(t, accounts(), row(1, 10, ""))
		a, b := f.session(1), f.session(2)
		id := b.find(1)
		b.update(row(1, 11, ""))
		a.tx.SetIsolation(storage.Snapshot)
		a.tx.SnapshotView()
		done := a.async(func() error { return a.tx.Update(t.Context(), f.tab, id, row(1, 12, ""), storage.Forever) })
		if commit {
			b.commit()
			f.wantErr(<-done, storage.ErrSnapshotConflict)
		} else {
			b.rollback()
			f.wantNil(<-done)
		}
	}
}

func TestWriteSkewHappensUnderSnapshotOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, ""), row(2, 20, ""))
	a, b := f.session(1), f.session(2)
	one, two := a.find(1), a.find(2)
	a.rollback()
	for _, se := range []*session{a, b} {
		se.tx.SetIsolation(storage.Snapshot)
		f.wantRows(se.read(0, everything, storage.Access{View: se.tx.SnapshotView()}), "1:10", "2:20")
	}
	f.wantNil(a.tx.Update(t.Context(), f.tab, one, row(1, 0, ""), 0))
	f.wantNil(b.tx.Update(t.Context(), f.tab, two, row(2, 0, ""), 0))
	a.commit()
	b.commit()
	f.wantRows(a.read(0, everything, readLocked), "1:0", "2:0")

	f.wantRows(a.read(0, everything, serializable), "1:0", "2:0")
	f.wantRows(b.read(0, everything, serializable), "1:0", "2:0")
	update := func(se *session, id storage.RowID, k int64) func() error {
		return func() error { return se.tx.Update(t.Context(), f.tab, id, row(k, 1, ""), storage.Forever) }
	}
	wait := a.async(update(a, one, 1))
	err := update(b, two, 2)()
	first := err
	if err == nil {
		first = <-wait
		b.rollback()
	} else {
		b.rollback()
		f.wantNil(<-wait)
	}
	f.wantErr(first, storage.ErrDeadlock)
}

func TestLockTimeoutAndCancel(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, ""))
	a, b := f.session(1), f.session(2)
	a.update(row(1, 11, ""))
	_, err := b.scan(0, everything, storage.Access{Mode: storage.S, Timeout: 1})
	f.wantErr(err, storage.ErrLockTimeout)

	attention := errors.New("attention")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := b.async(func() error {
		c := b.tx.Scan(ctx, f.tab, 0, everything, readLocked)
		defer c.Close()
		for c.Next() {
			t.Error("got a row")
		}
		return c.Err()
	})
	cancel(attention)
	f.wantErr(<-done, attention)
	a.commit()
	f.wantRows(b.read(0, everything, readLocked), "1:11") // the transaction is still good
}

// TestRepeatedScanAfterWait: a row that moves ahead of a waiting scan is met
// where it is then, and once.
func TestRepeatedScanAfterWait(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, ""), row(2, 20, ""), row(3, 30, ""), row(4, 40, ""))
	w, r := f.session(1), f.session(2)
	id4 := w.find(4)
	w.update(row(2, 21, ""))
	var got []string
	done := r.asyncRead(&got, 0, everything, readLocked)
	f.wantNil(w.tx.Update(t.Context(), f.tab, id4, row(6, 40, ""), storage.Forever))
	w.remove(3)
	w.insert(row(3, 31, ""))
	w.insert(row(5, 50, ""))
	w.commit()
	f.wantNil(<-done)
	f.wantRows(got, "1:10", "2:21", "3:31", "5:50", "6:40")
}

func TestReleaseGivesLockBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, ""), row(2, 20, ""))
	a, b := f.session(1), f.session(2)
	for _, access := range []storage.Access{repeatable, claiming} {
		c := a.tx.Scan(t.Context(), f.tab, 0, everything, access)
		for c.Next() {
			if c.Row()[0].Int() == 1 {
				c.Release()
			}
		}
		c.Close()
		exclusive := storage.Access{Mode: storage.X, ReadPast: true}
		f.wantRows(b.read(0, everything, exclusive), "1:10")
		a.rollback()
		b.rollback()
	}
	f.wantNoLocks()
}

func TestCursorKeepsWhatUpdateLocked(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, ""), row(2, 20, ""))
	a, b := f.session(1), f.session(2)
	search := storage.Access{Mode: storage.U, Timeout: storage.Forever}
	c := a.tx.Scan(t.Context(), f.tab, 0, everything, search)
	for c.Next() {
		if c.Row()[0].Int() == 1 {
			f.wantNil(a.tx.Update(t.Context(), f.tab, c.ID(), row(1, 11, ""), 0))
		}
	}
	c.Close()
	past := storage.Access{Mode: storage.U, ReadPast: true}
	f.wantRows(b.read(0, everything, past), "2:20")
	a.commit()
	f.wantRows(b.read(0, everything, past), "1:11", "2:20")
}

func TestTableLocks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, ""))
	a, b := f.session(1), f.session(2)
	tablockx := storage.Access{Mode: storage.X, Table: storage.X, Timeout: storage.Forever}
	f.wantRows(a.read(0, everything, tablockx), "1:10")
	a.update(row(1, 11, ""))
	past := readLocked
	past.ReadPast, past.Timeout = true, 0
	_, err := b.scan(0, everything, past) // READPAST does not skip table locks
	f.wantErr(err, storage.ErrLockTimeout)
	f.wantRows(b.read(0, everything, nolock), "1:11")
	var got []string
	done := b.asyncRead(&got, 0, everything, readLocked)
	a.commit()
	f.wantNil(<-done)
	f.wantRows(got, "1:11")

	tablock := storage.Access{Mode: storage.S, Table: storage.S, Hold: true, Timeout: storage.Forever}
	f.wantRows(a.read(0, everything, tablock), "1:11")
	_, err = b.tx.Insert(t.Context(), f.tab, row(2, 20, ""), 0)
	f.wantErr(err, storage.ErrLockTimeout)
	a.commit()
	b.insert(row(2, 20, ""))
}

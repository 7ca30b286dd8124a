package storage_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// unique is accounts with a unique index on the nullable note.
func unique() storage.TableDef {
	def := accounts()
	def.Indexes[1] = storage.IndexDef{ID: 7, Unique: true, Key: []storage.KeyColumn{{Ordinal: 2, Type: types.NVarChar(50)}}}
	return def
}

func TestUnique(t *testing.T) {
	t.Parallel()
	f := newFixture(t, unique(), row(1, 10, "a"))
	w := f.session(1)
	_, err := w.tx.Insert(t.Context(), f.tab, row(2, 20, "A"), 0)
	var dup *storage.DuplicateError
	if !errors.As(err, &dup) || dup.Index != 7 || dup.Table != tableID || dup.Key[0].Text() != "a" {
		t.Errorf("got %v, want a duplicate of the key a in index 7", err)
	}
	_, err = w.tx.Insert(t.Context(), f.tab, row(1, 20, "b"), 0)
	f.wantErr(err, storage.ErrDuplicate)
	null := types.Row{types.NewInt(3), types.NewInt(0), types.Null}
	w.insert(null)
	_, err = w.tx.Insert(t.Context(), f.tab, types.Row{types.NewInt(4), types.NewInt(0), types.Null}, 0)
	f.wantErr(err, storage.ErrDuplicate) // NULL is a value
	w.insert(row(5, 50, "c"))
	f.wantErr(w.tx.Update(t.Context(), f.tab, w.find(5), row(5, 50, "a"), 0), storage.ErrDuplicate)
	f.wantNil(w.tx.Update(t.Context(), f.tab, w.find(5), row(5, 50, "C"), 0)) // the same key
	w.commit()
	f.wantRows(w.read(0, everything, readLocked), "1:10", "3:0", "5:50")
	f.wantRows(w.read(1, everything, readLocked), "3:0", "1:10", "5:50")
}

// TestUniqueWaits: an insertion of a key that an open transaction has inserted,
// deleted or moved waits for its outcome.
func TestUniqueWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		change     func(*session)
		commit     bool
		wantExists bool
	}{
		{"inserted, committed", func(w *session) { w.insert(row(2, 0, "x")) }, true, true},
		{"inserted, rolled back", func(w *session) { w.insert(row(2, 0, "x")) }, false, false},
		{"deleted, committed", func(w *session) { w.remove(1) }, true, false},
		{"deleted, rolled back", func(w *session) { w.remove(1) }, false, true},
		{"moved away, committed", func(w *session) { w.update(row(1, 0, "y")) }, true, false},
		{"moved away, rolled back", func(w *session) { w.update(row(1, 0, "y")) }, false, true},
		{"deleted and inserted again, committed", func(w *session) { w.remove(1); w.insert(row(1, 5, "x")) }, true, true},
		{"moved and back, committed", func(w *session) { w.update(row(1, 0, "y")); w.update(row(1, 0, "x")) }, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, unique())
			a, b := f.session(1), f.session(2)
			if tt.name[:8] != "inserted" {
				a.insert(row(1, 10, "x"))
				a.commit()
			}
			tt.change(a)
			done := b.async(func() error {
				_, err := b.tx.Insert(t.Context(), f.tab, row(9, 90, "x"), storage.Forever)
				return err
			})
			if tt.commit {
				a.commit()
			} else {
				a.rollback()
			}
			if tt.wantExists {
				f.wantErr(<-done, storage.ErrDuplicate)
			} else {
				f.wantNil(<-done)
			}
		})
	}
}

// TestSameKeyAgain: a key deleted and inserted again, within one transaction and
// over several, seen by a view from before.
func TestSameKeyAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, unique(), row(1, 10, "a"))
	w := f.session(1)
	v := f.s.StatementView()
	for i := range int64(5) {
		w.remove(1)
		f.wantRows(w.read(0, everything, readLocked))
		w.insert(row(1, 11+i, "a"))
		w.insert(row(2, 0, "b"))
		w.remove(2)
		if i%2 == 0 {
			w.commit()
		}
	}
	w.commit()
	other := f.session(2)
	f.wantRows(other.read(0, everything, storage.Access{View: v}), "1:10")
	f.wantRows(other.read(1, everything, storage.Access{View: v}), "1:10")
	v.Close()
	f.wantRows(w.read(0, everything, readLocked), "1:15")
	f.wantRows(w.read(1, everything, readLocked), "1:15")
	if n := f.tab.Rows(); n != 1 {
		t.Errorf("Rows = %d, want 1", n)
	}
}

func TestSavepoints(t *testing.T) {
	t.Parallel()
	f := newFixture(t, unique(), row(1, 10, "a"), row(2, 20, "b"))
	w, other := f.session(1), f.session(2)
	var log []string
	note := func(s string) func() { return func() { log = append(log, s) } }
	w.update(row(1, 11, "a"))
	w.tx.OnRollback(note("undo outer"))
	w.tx.OnCommit(note("commit outer"))
	mark := w.tx.Savepoint()
	w.update(row(1, 12, "A2"))
	w.remove(2)
	w.insert(row(2, 22, "b"))
	w.insert(row(3, 30, "c"))
	w.tx.OnRollback(note("undo inner"))
	w.tx.OnCommit(note("commit inner"))
	inner := w.tx.Savepoint()
	w.update(row(3, 31, "c3"))
	w.tx.RollbackTo(inner)
	f.wantRows(w.read(1, everything, readLocked), "1:12", "2:22", "3:30")
	w.tx.RollbackTo(mark)
	f.wantRows(w.read(0, everything, readLocked), "1:11", "2:20")
	f.wantRows(w.read(1, everything, readLocked), "1:11", "2:20")
	_, err := other.scan(0, point(2), storage.Access{Mode: storage.U}) // locks stay
	f.wantErr(err, storage.ErrLockTimeout)
	w.insert(row(3, 33, "c"))
	w.commit()
	f.wantRows(other.read(1, everything, readLocked), "1:11", "2:20", "3:33")
	if want := []string{"undo inner", "commit outer"}; !slices.Equal(log, want) {
		t.Errorf("hooks ran %q, want %q", log, want)
	}
	w.update(row(1, 99, "z"))
	w.rollback()
	f.wantRows(other.read(0, point(1), readLocked), "1:11")
}

func TestRollbackUndoesInOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, ""))
	w := f.session(1)
	var log []string
	see := func(when string) func() {
		return func() { log = append(log, fmt.Sprint(when, w.read(0, everything, nolock))) }
	}
	w.tx.OnRollback(see("first"))
	w.update(row(1, 11, ""))
	w.tx.OnRollback(see("second"))
	w.insert(row(2, 20, ""))
	w.tx.Rollback()
	if want := []string{"second[1:11]", "first[1:10]"}; !slices.Equal(log, want) {
		t.Errorf("hooks saw %q, want %q", log, want)
	}
}

func TestEndedTransaction(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, ""))
	tx := f.s.Begin(nil)
	f.wantNil(tx.Commit(t.Context()))
	f.wantErr(tx.Commit(t.Context()), storage.ErrDone)
	_, err := tx.Insert(t.Context(), f.tab, row(2, 0, ""), 0)
	f.wantErr(err, storage.ErrDone)
	c := tx.Scan(t.Context(), f.tab, 0, everything, readLocked)
	if c.Next() {
		t.Error("an ended transaction reads")
	}
	f.wantErr(c.Err(), storage.ErrDone)
	c.Close()
	tx.Rollback()
	w := f.session(1)
	f.wantErr(w.tx.Delete(t.Context(), f.tab, 999, 0), storage.ErrNoRow)
	if n := len(f.s.Transactions()); n != 2 { // the fixture's and w's
		t.Errorf("%d open transactions, want 2", n)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, ""))
	w, r := f.session(1), f.session(2)
	id := w.find(1)
	w.update(row(1, 11, ""))
	got, ok, err := r.tx.Get(t.Context(), f.tab, id, nolock)
	if err != nil || !ok || show(got) != "1:11" {
		t.Errorf("Get = %v, %v, %v", got, ok, err)
	}
	_, _, err = r.tx.Get(t.Context(), f.tab, id, storage.Access{Mode: storage.S})
	f.wantErr(err, storage.ErrLockTimeout)
	_, ok, err = r.tx.Get(t.Context(), f.tab, id, claiming)
	if ok || err != nil {
		t.Errorf("READPAST Get = %v, %v", ok, err)
	}
	_, ok, err = r.tx.Get(t.Context(), f.tab, id+1, readLocked)
	if ok || err != nil {
		t.Errorf("Get of no row = %v, %v", ok, err)
	}
}

// TestCursorAfterEnd: a cursor closed after its transaction touches nothing.
func TestCursorAfterEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, ""), row(2, 20, ""))
	a, b := f.session(1), f.session(2)
	c := a.tx.Scan(t.Context(), f.tab, 0, everything, claiming)
	if !c.Next() {
		t.Fatal(c.Err())
	}
	a.tx.Rollback()
	f.wantRows(b.read(0, point(1), claiming), "1:10")
	c.Release()
	if c.Next() {
		t.Error("a cursor goes on after the end of its transaction")
	}
	f.wantErr(c.Err(), storage.ErrDone)
	c.Close()
	_, err := f.session(3).scan(0, point(1), storage.Access{Mode: storage.U})
	f.wantErr(err, storage.ErrLockTimeout) // b still has its lock
	b.rollback()
	f.wantNoLocks()
}

package storage_test

import (
	"errors"
	"testing"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

func TestCreateAndDropTable(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, ""))
	w, other := f.session(1), f.session(2)
	def := accounts()
	def.ID = 200
	tab, err := w.tx.CreateTable(def)
	f.wantNil(err)
	_, err = other.tx.CreateTable(def)
	f.wantErr(err, storage.ErrTableExists)
	_, err = other.tx.Insert(t.Context(), tab, row(1, 1, ""), 0)
	f.wantErr(err, storage.ErrLockTimeout) // Sch-M
	w.rollback()
	if f.s.Table(200) != nil {
		t.Error("a rolled back table is there")
	}

	w.update(row(1, 11, ""))
	f.wantErr(other.tx.DropTable(f.tab), storage.ErrLockTimeout)
	w.commit()
	f.wantNil(other.tx.DropTable(f.tab))
	_, err = other.scan(0, everything, readLocked)
	f.wantErr(err, storage.ErrDropped)
	other.rollback()
	f.wantRows(w.read(0, everything, readLocked), "1:11")
	w.commit()
	f.wantNil(other.tx.DropTable(f.tab))
	var got []string
	done := w.asyncRead(&got, 0, everything, readLocked)
	other.commit()
	f.wantErr(<-done, storage.ErrDropped)
	if f.s.Table(tableID) != nil {
		t.Error("a dropped table is there")
	}
}

func TestInvalidDefinitions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts())
	w := f.session(1)
	change := func(g func(*storage.TableDef)) storage.TableDef {
		def := accounts()
		def.ID = 300
		g(&def)
		return def
	}
	for name, def := range map[string]storage.TableDef{
		"no id":              change(func(d *storage.TableDef) { d.ID = 0 }),
		"no key":             change(func(d *storage.TableDef) { d.Indexes[0].Key = nil }),
		"index id 0":         change(func(d *storage.TableDef) { d.Indexes[0].ID = 0 }),
		"same index id":      change(func(d *storage.TableDef) { d.Indexes[1].ID = 1 }),
		"column":             change(func(d *storage.TableDef) { d.Indexes[1].Key[0].Ordinal = 3 }),
		"clustered second":   change(func(d *storage.TableDef) { d.Indexes[1].Clustered = true }),
		"clustered filtered": change(func(d *storage.TableDef) { d.Indexes[0].Filter = isReady }),
	} {
		if _, err := w.tx.CreateTable(def); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, ""), row(2, 20, ""))
	w := f.session(1)
	view := f.s.StatementView()
	defer view.Close()
	mark := w.tx.Savepoint()
	f.wantNil(w.tx.Truncate(t.Context(), f.tab))
	w.insert(row(3, 30, ""))
	f.wantRows(w.read(0, everything, readLocked), "3:30")
	w.tx.RollbackTo(mark)
	f.wantRows(w.read(1, everything, readLocked), "1:10", "2:20")
	w.remove(1)
	f.wantNil(w.tx.Truncate(t.Context(), f.tab))
	w.insert(row(4, 40, ""))
	w.commit()
	f.wantRows(w.read(1, everything, readLocked), "4:40")
	if n := f.tab.Rows(); n != 1 {
		t.Errorf("Rows = %d, want 1", n)
	}
	_, err := w.scan(0, everything, storage.Access{View: view})
	f.wantErr(err, storage.ErrSnapshotSchema)
}

func TestIndexes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, "b"), row(2, 20, "a"), row(3, 30, "B"))
	w := f.session(1)
	byNote := storage.IndexDef{ID: 9, Key: []storage.KeyColumn{{Ordinal: 2, Type: types.NVarChar(10)}}}
	byNote.Unique = true
	var dup *storage.DuplicateError
	if err := w.tx.CreateIndex(t.Context(), f.tab, byNote); !errors.As(err, &dup) || dup.Index != 9 {
		t.Errorf("got %v, want a duplicate in index 9", err)
	}
	byNote.Unique = false
	f.wantNil(w.tx.CreateIndex(t.Context(), f.tab, byNote))
	pos := f.tab.IndexPosition(9)
	f.wantRows(w.read(pos, everything, readLocked), "2:20", "1:10", "3:30")
	w.rollback()
	if pos := f.tab.IndexPosition(9); pos != -1 {
		t.Errorf("position of a rolled back index = %d", pos)
	}
	f.wantNil(w.tx.CreateIndex(t.Context(), f.tab, byNote))
	w.update(row(2, 21, "z"))
	w.commit()
	f.wantRows(w.read(pos, everything, readLocked), "1:10", "3:30", "2:21")
	w.commit()

	f.wantNil(w.tx.DropIndex(f.tab, 9))
	w.update(row(1, 10, "zz"))
	w.rollback()
	w.update(row(2, 21, "a"))
	w.commit()
	f.wantRows(w.read(pos, everything, readLocked), "2:21", "1:10", "3:30")
	w.commit()
	f.wantNil(w.tx.DropIndex(f.tab, 9))
	f.wantErr(w.tx.DropIndex(f.tab, 9), storage.ErrNoIndex)
	w.commit()
	_, err := w.scan(pos, everything, readLocked)
	f.wantErr(err, storage.ErrNoIndex)

	f.wantNil(w.tx.DropIndex(f.tab, 1))
	w.insert(row(1, 11, "again"))
	f.wantRows(w.read(-1, everything, readLocked), "1:10", "2:21", "3:30", "1:11")
	w.rollback()
	f.wantRows(w.read(-1, everything, readLocked), "1:10", "2:21", "3:30")
}

func TestRewrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), row(1, 10, ""), row(2, 20, ""))
	w := f.session(1)
	view := f.s.StatementView()
	defer view.Close()
	widen := func(r types.Row) (types.Row, error) { return append(r[:3:3], types.NewInt(r[0].Int()*100)), nil }
	f.wantNil(w.tx.Rewrite(t.Context(), f.tab, 4, widen))
	if n := f.tab.Columns(); n != 4 {
		t.Errorf("Columns = %d, want 4", n)
	}
	w.rollback()
	if n := f.tab.Columns(); n != 3 {
		t.Errorf("Columns after rollback = %d, want 3", n)
	}
	fault := errors.New("conversion")
	f.wantErr(w.tx.Rewrite(t.Context(), f.tab, 4, func(types.Row) (types.Row, error) { return nil, fault }), fault)
	w.remove(2)
	f.wantNil(w.tx.Rewrite(t.Context(), f.tab, 4, widen))
	w.insert(append(row(3, 30, ""), types.NewInt(7)))
	_, err := w.tx.Insert(t.Context(), f.tab, row(4, 40, ""), 0)
	if err == nil {
		t.Error("a row of the old shape was accepted")
	}
	w.commit()
	c := w.tx.Scan(t.Context(), f.tab, 0, everything, readLocked)
	defer c.Close()
	var got []int64
	for c.Next() {
		got = append(got, c.Row()[3].Int())
	}
	if len(got) != 2 || got[0] != 100 || got[1] != 7 {
		t.Errorf("got %v, want [100 7]", got)
	}
	_, err = w.scan(0, everything, storage.Access{View: view})
	f.wantErr(err, storage.ErrSnapshotSchema)
}

func TestPrivateTableTakesNoLocks(t *testing.T) {
	t.Parallel()
	def := accounts()
	def.Private = true
	f := newFixture(t, def, row(1, 10, ""))
	w := f.session(1)
	w.insert(row(2, 20, ""))
	w.update(row(1, 11, ""))
	f.wantRows(w.read(0, everything, serializable), "1:11", "2:20")
	f.wantNoLocks()
	if w.tx.Writes() {
		t.Error("changes to a private table count as logged")
	}
	f.wantNil(w.tx.Truncate(t.Context(), f.tab))
	f.wantNil(w.tx.DropTable(f.tab))
	w.commit()
}

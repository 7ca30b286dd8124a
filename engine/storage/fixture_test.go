package storage_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tableID storage.ObjectID = 100

// accounts is a table (id int primary key, state int, note nvarchar) with a
// unique index on note where it is not NULL, and an index on state.
func accounts() storage.TableDef {
	return storage.TableDef{
		ID: tableID, Space: 1, Columns: 3,
		Indexes: []storage.IndexDef{
			{ID: 1, Unique: true, Clustered: true, Key: []storage.KeyColumn{{Ordinal: 0, Type: types.TypeInt}}},
			{ID: 2, Key: []storage.KeyColumn{{Ordinal: 1, Type: types.TypeInt}}},
		},
	}
}

func row(id, state int64, note string) types.Row {
	return types.Row{types.NewInt(id), types.NewInt(state), types.NewNVarChar(note)}
}

func intKey(n int64) []byte { return types.AppendKey(nil, types.NewInt(n), types.TypeInt, false) }

func point(n int64) storage.Range { return storage.Prefix(intKey(n)) }

func between(lo, hi int64) storage.Range {
	return storage.Range{
		Lo: storage.Bound{Key: intKey(lo), Inclusive: true},
		Hi: storage.Bound{Key: intKey(hi), Inclusive: true},
	}
}

// fixture is a store with one table.
type fixture struct {
	*testing.T
	s   *storage.Store
	tab *storage.Table
}

func open(t *testing.T, opts storage.Options) *storage.Store {
	t.Helper()
	s, err := storage.Open(t.Context(), opts)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func newFixture(t *testing.T, def storage.TableDef, rows ...types.Row) *fixture {
	t.Helper()
	f := &fixture{T: t, s: open(t, storage.Options{})}
	f.create(def, rows...)
	return f
}

func (f *fixture) create(def storage.TableDef, rows ...types.Row) {
	f.Helper()
	se := f.session(0)
	tab, err := se.tx.CreateTable(def)
	if err != nil {
		f.Fatalf("CreateTable: %v", err)
	}
	f.tab = tab
	for _, r := range rows {
		se.insert(r)
	}
	se.commit()
}

// session is one transaction after the other of one session. Its methods fail
// the test on an unexpected error.
type session struct {
	f  *fixture
	o  *storage.Owner
	tx *storage.Tx
}

func (f *fixture) session(n int32) *session {
	f.Helper()
	o := f.s.NewOwner(n)
	f.Cleanup(o.Close)
	se := &session{f: f, o: o, tx: f.s.Begin(o)}
	f.Cleanup(func() { se.tx.Rollback() })
	return se
}

func (se *session) commit() {
	se.f.Helper()
	if err := se.tx.Commit(se.f.Context()); err != nil {
		se.f.Errorf("Commit: %v", err)
	}
	se.tx = se.f.s.Begin(se.o)
}

func (se *session) rollback() {
	se.tx.Rollback()
	se.tx = se.f.s.Begin(se.o)
}

func (se *session) insert(r types.Row) storage.RowID {
	se.f.Helper()
	id, err := se.tx.Insert(se.f.Context(), se.f.tab, r, storage.Forever)
	if err != nil {
		se.f.Errorf("Insert(%v): %v", r, err)
	}
	return id
}

// find returns the id of the row with key, reading with a U lock.
func (se *session) find(key int64) storage.RowID {
	se.f.Helper()
	c := se.tx.Scan(se.f.Context(), se.f.tab, 0, point(key), storage.Access{Mode: storage.U, Hold: true, Timeout: storage.Forever})
	defer c.Close()
	if !c.Next() {
		se.f.Errorf("row %d not found: %v", key, c.Err())
	}
	return c.ID()
}

func (se *session) update(r types.Row) {
	se.f.Helper()
	if err := se.tx.Update(se.f.Context(), se.f.tab, se.find(r[0].Int()), r, storage.Forever); err != nil {
		se.f.Errorf("Update(%v): %v", r, err)
	}
}

func (se *session) remove(key int64) {
	se.f.Helper()
	if err := se.tx.Delete(se.f.Context(), se.f.tab, se.find(key), storage.Forever); err != nil {
		se.f.Errorf("Delete(%d): %v", key, err)
	}
}

// read scans and returns "id:state" of each row.
func (se *session) read(index int, r storage.Range, a storage.Access) []string {
	se.f.Helper()
	got, err := se.scan(index, r, a)
	if err != nil {
		se.f.Errorf("scan: %v", err)
	}
	return got
}

func (se *session) scan(index int, r storage.Range, a storage.Access) ([]string, error) {
	c := se.tx.Scan(se.f.Context(), se.f.tab, index, r, a)
	defer c.Close()
	var got []string
	for c.Next() {
		got = append(got, show(c.Row()))
	}
	return got, c.Err()
}

func show(r types.Row) string { return fmt.Sprintf("%d:%d", r[0].Int(), r[1].Int()) }

// Kinds of reading.
var (
	nolock       = storage.Access{}
	readLocked   = storage.Access{Mode: storage.S, Timeout: storage.Forever}
	repeatable   = storage.Access{Mode: storage.S, Hold: true, Timeout: storage.Forever}
	serializable = storage.Access{Mode: storage.S, Range: true, Timeout: storage.Forever}
	claiming     = storage.Access{Mode: storage.U, Hold: true, ReadPast: true, Timeout: storage.Forever}
	everything   = storage.Range{}
)

// async runs f in another goroutine and returns when it waits for a lock. The
// result comes by the channel.
func (se *session) async(f func() error) <-chan error {
	se.f.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	for {
		if _, ok := se.o.WaitsFor(); ok {
			return done
		}
		select {
		case err := <-done:
			se.f.Errorf("did not wait; result: %v", err)
			done <- err
			return done
		case <-se.f.Context().Done():
			se.f.Fatal("neither waits nor ends")
		default:
			runtime.Gosched()
		}
	}
}

// asyncRead is async for a scan; the rows are in *got when the channel delivers.
func (se *session) asyncRead(got *[]string, index int, r storage.Range, a storage.Access) <-chan error {
	se.f.Helper()
	return se.async(func() (err error) {
		*got, err = se.scan(index, r, a)
		return err
	})
}

func (f *fixture) wantNil(err error) {
	f.Helper()
	if err != nil {
		f.Errorf("got error %v", err)
	}
}

func (f *fixture) wantErr(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("got error %v, want %v", err, want)
	}
}

func (f *fixture) wantRows(got []string, want ...string) {
	f.Helper()
	if !slices.Equal(got, want) {
		f.Errorf("got rows %q, want %q", got, want)
	}
}

// wantNoLocks checks that nothing is left in the lock table.
func (f *fixture) wantNoLocks() {
	f.Helper()
	for _, l := range f.s.Locks() {
		f.Errorf("lock left: %+v", l)
	}
}

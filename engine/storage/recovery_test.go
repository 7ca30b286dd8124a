package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// durable opens a store on fs with small segments. It is not closed by the test's
// end, but by the caller.
func durable(fs *memFS, ctx context.Context) (*storage.Store, error) {
	return storage.Open(ctx, storage.Options{Dir: "data", FS: fs, SegmentBytes: 4 << 10})
}

// abandon ends a store's goroutines after a crash. What it still tries to write
// does not happen.
func abandon(s *storage.Store, fs *memFS, ctx context.Context) {
	fs.mu.Lock()
	fs.stopAt = 1
	fs.mu.Unlock()
	_ = s.Close(ctx) // fails: the file system has stopped
}

// contents returns all rows of all tables, through each of their indexes.
func contents(t *testing.T, s *storage.Store) string {
	t.Helper()
	tables := s.Tables()
	slices.SortFunc(tables, func(a, b *storage.Table) int { return int(a.ID()) - int(b.ID()) })
	var b strings.Builder
	for _, tab := range tables {
		fmt.Fprintf(&b, "%d(%d):", tab.ID(), tab.Columns())
		for i, ix := range tab.Def().Indexes {
			if ix.Filtered && ix.Filter == nil {
				if err := tab.RebindFilter(ix.ID, isReady); err != nil {
					t.Error(err)
				}
			}
			tx := s.Begin(nil)
			c := tx.Scan(t.Context(), tab, i, everything, readLocked)
			var rows []string
			for c.Next() {
				rows = append(rows, fmt.Sprint(c.Row()[0].Int(), ",", c.Row()[1].Int(), ",", len(c.Row())))
			}
			if c.Err() != nil {
				t.Errorf("table %d index %d: %v", tab.ID(), ix.ID, c.Err())
			}
			c.Close()
			tx.Rollback()
			slices.Sort(rows)
			fmt.Fprintf(&b, " %d%v", ix.ID, rows)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// stepKind says how a step of a script ends.
type stepKind int

const (
	commit stepKind = iota
	commitDelayed
	checkpoint // the step did nothing
	backup     // nor did this
)

// script is a short life of a database, a transaction, checkpoint or backup at
// each step.
type script []func(t *testing.T, s *storage.Store, tx *storage.Tx) stepKind

func insert(t *testing.T, tab *storage.Table, tx *storage.Tx, rows ...types.Row) {
	t.Helper()
	for _, r := range rows {
		if _, err := tx.Insert(t.Context(), tab, r, 0); err != nil {
			t.Errorf("Insert: %v", err)
		}
	}
}

func eachRow(t *testing.T, tab *storage.Table, tx *storage.Tx, f func(id storage.RowID, r types.Row) error) {
	t.Helper()
	c := tx.Scan(t.Context(), tab, 0, everything, storage.Access{Mode: storage.U})
	defer c.Close()
	var ids []storage.RowID
	var rows []types.Row
	for c.Next() {
		ids, rows = append(ids, c.ID()), append(rows, c.Row())
	}
	for i := range ids {
		if err := f(ids[i], rows[i]); err != nil {
			t.Error(err)
		}
	}
}

func lifeOfADatabase() script {
	second := queue()
	second.ID = 200
	big := string(make([]byte, 1500))
	return script{
		func(t *testing.T, s *storage.Store, tx *storage.Tx) stepKind {
			tab, err := tx.CreateTable(queue())
			if err != nil {
				t.Error(err)
			}
			insert(t, tab, tx, row(1, ready, "one"), row(2, leased, "two"))
			return commit
		},
		func(t *testing.T, s *storage.Store, tx *storage.Tx) stepKind {
			insert(t, s.Table(tableID), tx, row(3, ready, big), row(4, ready, big))
			return commit
		},
		func(t *testing.T, s *storage.Store, tx *storage.Tx) stepKind {
			tab := s.Table(tableID)
			mark := tx.Savepoint()
			insert(t, tab, tx, row(99, ready, "undone"))
			tx.RollbackTo(mark)
			eachRow(t, tab, tx, func(id storage.RowID, r types.Row) error {
				return tx.Update(t.Context(), tab, id, row(r[0].Int(), 1-r[1].Int(), big), 0)
			})
			return commit
		},
		func(*testing.T, *storage.Store, *storage.Tx) stepKind { return checkpoint },
		func(t *testing.T, s *storage.Store, tx *storage.Tx) stepKind {
			tab := s.Table(tableID)
			eachRow(t, tab, tx, func(id storage.RowID, r types.Row) error {
				if r[0].Int()%2 == 0 {
					return tx.Delete(t.Context(), tab, id, 0)
				}
				return nil
			})
			insert(t, tab, tx, row(2, ready, "again"))
			return commit
		},
		func(t *testing.T, s *storage.Store, tx *storage.Tx) stepKind {
			tab, err := tx.CreateTable(second)
			if err != nil {
				t.Error(err)
			}
			insert(t, tab, tx, row(10, ready, ""), row(11, leased, ""))
			return commit
		},
		func(t *testing.T, s *storage.Store, tx *storage.Tx) stepKind {
			tab := s.Table(tableID)
			err := tx.Rewrite(t.Context(), tab, 4, func(r types.Row) (types.Row, error) {
				return append(r[:3:3], types.NewInt(7)), nil
			})
			if err != nil {
				t.Error(err)
			}
			insert(t, tab, tx, append(row(5, ready, big), types.NewInt(8)))
			return commit
		},
		func(t *testing.T, s *storage.Store, tx *storage.Tx) stepKind {
			tab := s.Table(200)
			if err := tx.Truncate(t.Context(), tab); err != nil {
				t.Error(err)
			}
			insert(t, tab, tx, row(12, ready, ""))
			byState := storage.IndexDef{ID: 5, Key: []storage.KeyColumn{{Ordinal: 1, Type: types.TypeInt}}}
			if err := tx.CreateIndex(t.Context(), tab, byState); err != nil {
				t.Error(err)
			}
			return commit
		},
		func(*testing.T, *storage.Store, *storage.Tx) stepKind { return checkpoint },
		func(t *testing.T, s *storage.Store, tx *storage.Tx) stepKind {
			if err := tx.DropTable(s.Table(tableID)); err != nil {
				t.Error(err)
			}
			if err := tx.DropIndex(s.Table(200), 2); err != nil {
				t.Error(err)
			}
			return commit
		},
		func(*testing.T, *storage.Store, *storage.Tx) stepKind { return backup },
		func(t *testing.T, s *storage.Store, tx *storage.Tx) stepKind {
			insert(t, s.Table(200), tx, row(13, ready, big))
			return commitDelayed
		},
		func(t *testing.T, s *storage.Store, tx *storage.Tx) stepKind {
			insert(t, s.Table(200), tx, row(14, ready, big), row(15, leased, big))
			return commitDelayed
		},
		func(t *testing.T, s *storage.Store, tx *storage.Tx) stepKind {
			insert(t, s.Table(200), tx, row(16, ready, ""))
			return commit
		},
		func(*testing.T, *storage.Store, *storage.Tx) stepKind { return backup },
		func(t *testing.T, s *storage.Store, tx *storage.Tx) stepKind {
			insert(t, s.Table(200), tx, row(17, ready, ""))
			return commitDelayed
		},
	}
}

// outcome is how far a script came.
type outcome struct {
	states []string // what the database holds after so many steps
	acked  int      // steps that were acknowledged
	hard   int      // of these, how many a crash of the machine must not lose
	saved  int      // steps before the last acknowledged backup, 0 without one
}

const backupPath = "data/backup.bak"

// play runs the script until a step fails.
func (sc script) play(t *testing.T, s *storage.Store) (o outcome) {
	t.Helper()
	o.states = []string{contents(t, s)}
	for i, step := range sc {
		tx := s.Begin(nil)
		kind := step(t, s, tx)
		var err error
		switch kind {
		case commit:
			err = tx.Commit(t.Context())
		case commitDelayed:
			err = tx.CommitDelayed(t.Context())
		case checkpoint:
			tx.Rollback()
			err = s.Checkpoint(t.Context())
		case backup:
			tx.Rollback()
			_, err = s.Backup(t.Context(), backupPath, storage.BackupOptions{
				Table: func(storage.TableDef) bool { return true },
			})
		}
		if err != nil {
			if kind == checkpoint || kind == backup { // has changed nothing
				o.states = append(o.states, o.states[i])
				o.acked++
			}
			return o
		}
		o.acked = i + 1
		if kind == backup {
			o.saved = i
		}
		if kind != commitDelayed {
			o.hard = o.acked
		}
		if kind == checkpoint || kind == backup {
			o.states = append(o.states, o.states[i])
		} else {
			o.states = append(o.states, contents(t, s))
		}
	}
	return o
}

// TestStopAtEveryStep stops the file system at each operation of a script in
// turn - each write, sync, rename, creation, removal and cut - in three ways,
// and checks what the next process finds: all that was acknowledged, and of the
// transaction on its way all or nothing.
func TestStopAtEveryStep(t *testing.T) {
	t.Parallel()
	sc := lifeOfADatabase()
	fs := newMemFS()
	s, err := durable(fs, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	whole := sc.play(t, s)
	if whole.acked != len(sc) {
		t.Fatalf("undisturbed run stopped after %d steps", whole.acked)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, op := range []string{"create", "write", "truncate", "sync", "rename", "syncdir", "remove"} {
		if fs.kinds[op] == 0 {
			t.Errorf("the script does not %s", op)
		}
	}
	stops, backups := 0, 0
	for stop := 1; stop <= fs.ops+1; stop++ {
		for _, how := range []crash{killed, powerOff, torn} {
			stops++
			if stopAndRecover(t, sc, whole.states, stop, how) {
				backups++
			}
		}
	}
	t.Logf("operations %d %v, stops %d, each followed by two recoveries, backups found whole %d", fs.ops, fs.kinds, stops, backups)
}

// stopAndRecover reports whether there was a backup.
func stopAndRecover(t *testing.T, sc script, states []string, stop int, how crash) (saved bool) {
	t.Helper()
	fs := newMemFS()
	fs.stopAt = stop
	var o outcome
	if s, err := durable(fs, t.Context()); err == nil {
		o = sc.play(t, s)
		_ = s.Close(t.Context()) // may fail: the file system may have stopped
	}
	rnd := rand.New(rand.NewPCG(uint64(stop), uint64(how)))
	next := fs.after(how, rnd)
	saved = checkSaved(t, next, states, o, fmt.Sprintf("stop at %d (%d)", stop, how))
	least := o.hard
	if how == killed { // the system has what was written
		least = o.acked
	}
	for range 2 { // what recovery leaves must be good for another one
		s, err := durable(next, t.Context())
		if err != nil {
			t.Errorf("stop at %d (%d): %v", stop, how, err)
			return saved
		}
		got := contents(t, s)
		if !slices.Contains(states[least:min(o.acked+2, len(states))], got) {
			t.Errorf("stop at %d (%d): %d acknowledged steps, %d for good, got\n%s\nwant\n%s", stop, how, o.acked, o.hard, got, states[least])
		}
		image := next.after(how, rnd)
		abandon(s, next, t.Context())
		next = image
	}
	return saved
}

// checkSaved looks at the backup that a crash has left: the acknowledged one, or
// one that was made over it, whole.
func checkSaved(t *testing.T, fs *memFS, states []string, o outcome, what string) bool {
	t.Helper()
	if fs.names[backupPath] == nil {
		if o.saved > 0 {
			t.Errorf("%s: the acknowledged backup is gone", what)
		}
		return false
	}
	b, err := storage.OpenBackup(t.Context(), fs, backupPath)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return true
	}
	mem, err := storage.Open(t.Context(), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mem.Close(t.Context()) }() // nothing to save
	if err := mem.Restore(t.Context(), mem.Begin(nil), []storage.Restored{{Backup: b, Table: asItWas}}); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if got := contents(t, mem); !slices.Contains(states[o.saved:min(o.acked+1, len(states))], got) {
		t.Errorf("%s: the backup holds\n%s", what, got)
	}
	return true
}

func asItWas(def storage.TableDef) (storage.ObjectID, uint32, bool) { return def.ID, def.Space, true }

// TestRecoverAfterKill: a copy of the files at any moment of a running store is
// what kill -9 leaves.
func TestRecoverAfterKill(t *testing.T) {
	t.Parallel()
	sc := lifeOfADatabase()
	fs := newMemFS()
	s, err := durable(fs, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range sc {
		sc[i:i+1].play(t, s)
		want := contents(t, s)
		tx := s.Begin(nil) // never committed
		for _, tab := range s.Tables() {
			r := row(1000, ready, "open")
			for len(r) < tab.Columns() {
				r = append(r, types.Null)
			}
			insert(t, tab, tx, r)
		}
		copied := fs.after(killed, nil)
		tx.Rollback()
		again, err := durable(copied, t.Context())
		if err != nil {
			t.Fatalf("after step %d: %v", i, err)
		}
		if got := contents(t, again); got != want {
			t.Errorf("after step %d: got\n%s\nwant\n%s", i, got, want)
		}
		if newTx := again.Begin(nil); newTx.ID() <= 1 {
			t.Errorf("transaction ids start again at %d", newTx.ID())
		}
		if err := again.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// threeCommits returns the files of a store with a table and three commits in
// one segment, the name of the segment and the places of its frames.
func threeCommits(t *testing.T) (fs *memFS, segment string, frames []int) {
	t.Helper()
	live := newMemFS()
	s, err := durable(live, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx := s.Begin(nil)
	tab, err := tx.CreateTable(accounts())
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		insert(t, tab, tx, row(i, i, "note"))
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		tx = s.Begin(nil)
	}
	tx.Rollback()
	fs = live.after(killed, nil)
	abandon(s, live, t.Context())
	for name := range fs.names {
		if strings.HasSuffix(name, ".seg") {
			segment = name
		}
	}
	data := fs.names[segment].data
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte("FRAM"))
		if i < 0 {
			break
		}
		frames = append(frames, at+i)
		at += i + 1
	}
	if len(frames) != 3 {
		t.Fatalf("%d frames", len(frames))
	}
	return fs, segment, frames
}

func rowsAfter(t *testing.T, fs *memFS) (int64, error) {
	t.Helper()
	s, err := durable(fs, t.Context())
	if err != nil {
		return 0, err
	}
	defer abandon(s, fs, t.Context())
	table := s.Table(tableID)
	if table == nil {
		return 0, nil
	}
	return table.Rows(), nil
}

func TestOneProcessOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := storage.Open(t.Context(), storage.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Open(t.Context(), storage.Options{Dir: dir}); !errors.Is(err, storage.ErrLocked) {
		t.Errorf("second Open: %v, want ErrLocked", err)
	}
	lifeOfADatabase()[:3].play(t, s)
	want := contents(t, s)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err = storage.Open(t.Context(), storage.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if got := contents(t, s); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk: commits fail while there is no space, and only those.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	fs := newMemFS()
	s, err := durable(fs, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sc := lifeOfADatabase()
	sc[:2].play(t, s)
	want := contents(t, s)
	full := func(op, _ string) error {
		if op == "write" || op == "create" {
			return syscall.ENOSPC
		}
		return nil
	}
	fs.mu.Lock()
	fs.fail = full
	fs.mu.Unlock()
	tx := s.Begin(nil)
	insert(t, s.Table(tableID), tx, row(50, ready, ""))
	if err := tx.Commit(t.Context()); !errors.Is(err, storage.ErrLogFull) {
		t.Errorf("Commit: %v, want ErrLogFull", err)
	}
	if got := contents(t, s); got != want {
		t.Errorf("after the failure: got\n%s\nwant\n%s", got, want)
	}
	if err := s.Checkpoint(t.Context()); err == nil {
		t.Error("a checkpoint on a full disk succeeded")
	}
	fs.mu.Lock()
	fs.fail = nil
	fs.mu.Unlock()
	sc[2:5].play(t, s)
	want = contents(t, s)
	copied := fs.after(powerOff, nil)
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	again, err := durable(copied, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := contents(t, again); got != want {
		t.Errorf("recovered: got\n%s\nwant\n%s", got, want)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNoRoomForZeros: the disk has room for records, but not for the zeros that
// make space ready for the next ones.
func TestNoRoomForZeros(t *testing.T) {
	t.Parallel()
	fs := newMemFS()
	s, err := storage.Open(t.Context(), storage.Options{Dir: "data", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	tx := s.Begin(nil)
	tab, err := tx.CreateTable(accounts())
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	full, want := 0, ""
	for i := range int64(400) {
		fs.mu.Lock()
		fs.room = 0
		if i/20%2 == 1 {
			fs.room = 1000
		}
		fs.mu.Unlock()
		tx := s.Begin(nil)
		insert(t, tab, tx, row(i, i, strings.Repeat("x", int(i%7)*200)))
		switch err := tx.Commit(t.Context()); {
		case errors.Is(err, storage.ErrLogFull):
			full++
		case err != nil:
			t.Fatal(err)
		}
	}
	if full == 0 {
		t.Error("no commit failed")
	}
	want = contents(t, s)
	for _, how := range []crash{killed, powerOff} {
		image := fs.after(how, nil)
		again, err := durable(image, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := contents(t, again); got != want {
			t.Errorf("recovered: got\n%s\nwant\n%s", got, want)
		}
		abandon(again, image, t.Context())
	}
	abandon(s, fs, t.Context())
}

// TestFailedSync: after a failed sync nothing is promised any more.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	fs := newMemFS()
	s, err := durable(fs, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sc := lifeOfADatabase()
	sc[:2].play(t, s)
	want := contents(t, s)
	fault := errors.New("input/output error")
	fs.mu.Lock()
	fs.fail = func(op, _ string) error {
		if op == "sync" {
			return fault
		}
		return nil
	}
	fs.mu.Unlock()
	for range 2 {
		tx := s.Begin(nil)
		insert(t, s.Table(tableID), tx, row(50, ready, ""))
		if err := tx.Commit(t.Context()); !errors.Is(err, storage.ErrLogFailed) || !errors.Is(err, fault) {
			t.Errorf("Commit: %v, want ErrLogFailed for %v", err, fault)
		}
	}
	if got := contents(t, s); got != want {
		t.Errorf("after the failure: got\n%s\nwant\n%s", got, want)
	}
	copied := fs.after(powerOff, nil)
	abandon(s, fs, t.Context())
	again, err := durable(copied, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := contents(t, again); got != want {
		t.Errorf("recovered: got\n%s\nwant\n%s", got, want)
	}
	abandon(again, copied, t.Context())
}

func TestRelaxedSyncsSoon(t *testing.T) {
	t.Parallel()
	fs := newMemFS()
	s, err := storage.Open(t.Context(), storage.Options{Dir: "data", FS: fs, Durability: storage.Relaxed, SyncInterval: 1})
	if err != nil {
		t.Fatal(err)
	}
	states := lifeOfADatabase()[:2].play(t, s).states
	for want := states[2]; ; {
		copied := fs.after(powerOff, nil)
		again, err := durable(copied, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := contents(t, again)
		abandon(again, copied, t.Context())
		if got == want {
			break
		}
		if !slices.Contains(states, got) {
			t.Fatalf("got\n%s, a state that never was", got)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDelayedCommitOrder(t *testing.T) {
	t.Parallel()
	fs := newMemFS()
	s, err := durable(fs, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx := s.Begin(nil)
	tab, err := tx.CreateTable(accounts())
	if err != nil {
		t.Fatal(err)
	}
	insert(t, tab, tx, row(1, 1, ""))
	if err := tx.CommitDelayed(t.Context()); err != nil {
		t.Fatal(err)
	}
	tx = s.Begin(nil)
	insert(t, tab, tx, row(2, 2, ""))
	if err := tx.Commit(t.Context()); err != nil { // carries the delayed one with it
		t.Fatal(err)
	}
	copied := fs.after(powerOff, nil)
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if n, err := rowsAfter(t, copied); n != 2 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
}

func TestTemporaryTablesDoNotSurvive(t *testing.T) {
	t.Parallel()
	fs := newMemFS()
	s, err := durable(fs, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	def := accounts()
	def.Temporary = true
	tx := s.Begin(nil)
	tab, err := tx.CreateTable(def)
	if err != nil {
		t.Fatal(err)
	}
	insert(t, tab, tx, row(1, 1, ""))
	if tx.Writes() {
		t.Error("changes to a temporary table count as logged")
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := durable(fs, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(again.Tables()); n != 0 {
		t.Errorf("%d tables after recovery", n)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestClosedStore(t *testing.T) {
	t.Parallel()
	fs := newMemFS()
	s, err := durable(fs, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lifeOfADatabase()[:1].play(t, s)
	tab := s.Table(tableID)
	a, b := s.Begin(nil), s.Begin(nil)
	insert(t, tab, a, row(5, 5, ""))
	done := make(chan error, 1)
	go func() {
		_, err := b.Insert(t.Context(), tab, row(5, 6, ""), storage.Forever)
		done <- err
	}()
	for {
		if _, ok := b.Owner().WaitsFor(); ok {
			break
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, storage.ErrClosed) {
		t.Errorf("waiting insertion: %v, want ErrClosed", err)
	}
	if err := a.Commit(t.Context()); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("Commit: %v, want ErrClosed", err)
	}
	b.Rollback()
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// TestCheckpointUnderLoad: writers move amounts between rows while checkpoints
// are taken; what a crash at any moment leaves has the same sum.
func TestCheckpointUnderLoad(t *testing.T) {
	t.Parallel()
	const accountRows, amount = 50, 1000
	fs := newMemFS()
	s, err := durable(fs, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx := s.Begin(nil)
	tab, err := tx.CreateTable(accounts())
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(accountRows) {
		insert(t, tab, tx, row(i, amount, ""))
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(n), 7))
			for !stop.Load() {
				from, to := rnd.Int64N(accountRows), rnd.Int64N(accountRows)
				if err := transfer(t.Context(), s, tab, min(from, to), max(from, to), rnd.Int64N(9)-4); err != nil {
					t.Errorf("transfer: %v", err)
				}
			}
		})
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range 30 {
		if err := s.Checkpoint(t.Context()); err != nil {
			t.Errorf("Checkpoint: %v", err)
		}
		image := fs.after(crash(i%3), rnd)
		again, err := durable(image, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sum, rows := int64(0), 0
		reader := again.Begin(nil)
		c := reader.Scan(t.Context(), again.Table(tableID), 0, everything, readLocked)
		for ; c.Next(); rows++ {
			sum += c.Row()[1].Int()
		}
		c.Close()
		reader.Rollback()
		if sum != accountRows*amount || rows != accountRows {
			t.Errorf("after %d checkpoints: %d rows with %d, want %d with %d", i+1, rows, sum, accountRows, accountRows*amount)
		}
		abandon(again, image, t.Context())
	}
	stop.Store(true)
	wg.Wait()
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// transfer deletes and inserts one of the rows again, and updates the other.
func transfer(ctx context.Context, s *storage.Store, tab *storage.Table, from, to, n int64) error {
	if from == to {
		return nil
	}
	tx := s.Begin(nil)
	defer tx.Rollback()
	for _, side := range []struct{ key, n int64 }{{from, -n}, {to, n}} {
		c := tx.Scan(ctx, tab, 0, point(side.key), storage.Access{Mode: storage.U, Hold: true, Timeout: storage.Forever})
		if !c.Next() {
			c.Close()
			return fmt.Errorf("account %d: %w", side.key, errors.Join(c.Err(), storage.ErrNoRow))
		}
		r := row(side.key, c.Row()[1].Int()+side.n, "")
		var err error
		if side.key == from {
			err = tx.Update(ctx, tab, c.ID(), r, storage.Forever)
		} else if err = tx.Delete(ctx, tab, c.ID(), storage.Forever); err == nil {
			_, err = tx.Insert(ctx, tab, r, storage.Forever)
		}
		c.Close()
		if err != nil {
			return err
		}
	}
	return tx.Commit(ctx)
}

func TestFilterIsBoundAgain(t *testing.T) {
	t.Parallel()
	fs := newMemFS()
	s, err := durable(fs, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lifeOfADatabase()[:2].play(t, s)
	want := contents(t, s)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := durable(fs, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tab := again.Table(tableID)
	tx := again.Begin(nil)
	if _, err := tx.Insert(t.Context(), tab, row(50, ready, ""), 0); !errors.Is(err, storage.ErrFilterUnbound) {
		t.Errorf("Insert: %v, want ErrFilterUnbound", err)
	}
	c := tx.Scan(t.Context(), tab, 1, everything, readLocked)
	if c.Next() || !errors.Is(c.Err(), storage.ErrFilterUnbound) {
		t.Errorf("Scan: %v, want ErrFilterUnbound", c.Err())
	}
	c.Close()
	tx.Rollback()
	if err := tab.RebindFilter(9, isReady); !errors.Is(err, storage.ErrNoIndex) {
		t.Errorf("RebindFilter of no index: %v", err)
	}
	if err := tab.RebindFilter(1, isReady); err == nil {
		t.Error("an index without filter took one")
	}
	if got := contents(t, again); got != want { // binds it
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

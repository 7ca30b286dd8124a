package storage_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"loopbroker/engine/storage"
)

func everyTable(storage.TableDef) bool { return true }

// restoreInto brings a backup of fs back into a store.
func restoreInto(t *testing.T, s *storage.Store, fs *memFS) error {
	t.Helper()
	b, err := storage.OpenBackup(t.Context(), fs, backupPath)
	if err != nil {
		t.Fatal(err)
	}
	return s.Restore(t.Context(), s.Begin(nil), []storage.Restored{{Backup: b, Table: asItWas}})
}

// TestBackupUnderLoad: what is saved while amounts are moved between rows has
// the sum that it always has.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	const accountRows, amount = 500, 1000
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
		insert(t, tab, tx, row(i, amount, strings.Repeat("x", 600)))
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var moved atomic.Int64
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(n), 8))
			for !stop.Load() {
				from, to := rnd.Int64N(accountRows), rnd.Int64N(accountRows)
				if err := transfer(t.Context(), s, tab, min(from, to), max(from, to), rnd.Int64N(9)-4); err != nil {
					t.Errorf("transfer: %v", err)
				}
				moved.Add(1)
			}
		})
	}
	for i := range 10 {
		before := moved.Load()
		for moved.Load() == before { // something moves between two backups
			if t.Failed() {
				break
			}
		}
		info, err := s.Backup(t.Context(), backupPath, storage.BackupOptions{
			Table: everyTable, Compress: i%2 == 1, Meta: func() ([]byte, error) { return []byte("about this"), nil },
		})
		if err != nil || info.Rows != accountRows || info.Tables != 1 {
			t.Fatalf("Backup: %+v, %v", info, err)
		}
		mem, err := storage.Open(t.Context(), storage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		image := fs.after(powerOff, nil)
		if err := restoreInto(t, mem, image); err != nil {
			t.Fatal(err)
		}
		sum, rows := int64(0), 0
		reader := mem.Begin(nil)
		c := reader.Scan(t.Context(), mem.Table(tableID), 0, everything, readLocked)
		for ; c.Next(); rows++ {
			sum += c.Row()[1].Int()
		}
		c.Close()
		reader.Rollback()
		if sum != accountRows*amount || rows != accountRows {
			t.Errorf("backup %d: %d rows with %d, want %d with %d", i, rows, sum, accountRows, accountRows*amount)
		}
		if err := mem.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	wg.Wait()
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// saved returns a file system with a small backup, and what is in it.
func saved(t *testing.T, compress bool) (fs *memFS, want string) {
	t.Helper()
	live := newMemFS()
	s, err := durable(live, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lifeOfADatabase()[:1].play(t, s)
	want = contents(t, s)
	o := storage.BackupOptions{Table: everyTable, Compress: compress, Meta: func() ([]byte, error) { return []byte("meta"), nil }}
	if _, err := s.Backup(t.Context(), backupPath, o); err != nil {
		t.Fatal(err)
	}
	fs = live.after(killed, nil)
	abandon(s, live, t.Context())
	return fs, want
}

// TestDamagedBackup changes every byte of a backup, and cuts it everywhere.
func TestDamagedBackup(t *testing.T) {
	t.Parallel()
	for _, compress := range []bool{false, true} {
		fs, _ := saved(t, compress)
		size := len(fs.names[backupPath].data)
		check := func(what string, at int, data []byte) {
			t.Helper()
			image := fs.after(killed, nil)
			image.names[backupPath].data = data
			b, err := storage.OpenBackup(t.Context(), image, backupPath)
			var damage *storage.CorruptError
			switch {
			case errors.Is(err, storage.ErrNewerFormat) && at >= 8 && at < 12:
			case !errors.As(err, &damage):
				t.Errorf("%s at %d of %d: %v, %v", what, at, size, b, err)
			case damage.File != backupPath || damage.Offset > int64(at):
				t.Errorf("%s at %d of %d: %v", what, at, size, err)
			}
		}
		for at := range size {
			data := append([]byte(nil), fs.names[backupPath].data...)
			check("cut", at, data[:at])
			data = append([]byte(nil), data...)
			data[at] ^= 1 << (at % 8)
			check("flip", at, data)
		}
		check("something behind", size, append(append([]byte(nil), fs.names[backupPath].data...), 0))
	}
}

// TestNewerBackup is refused, whatever is in it.
func TestNewerBackup(t *testing.T) {
	t.Parallel()
	fs, _ := saved(t, false)
	fs.names[backupPath].data[8] = 2
	_, err := storage.OpenBackup(t.Context(), fs, backupPath)
	if !errors.Is(err, storage.ErrNewerFormat) || !strings.Contains(err.Error(), backupPath+" has format 2") {
		t.Errorf("got %v, want ErrNewerFormat", err)
	}
}

// TestRestoreAllOrNothing stops a restore at each operation of the file system,
// in three ways. The next process finds all of it or nothing.
func TestRestoreAllOrNothing(t *testing.T) {
	t.Parallel()
	fs, want := saved(t, true)
	attempt := func(dir *memFS) (bool, error) {
		s, err := durable(dir, t.Context())
		if err != nil {
			return false, err
		}
		err = restoreInto(t, s, fs)
		if cerr := s.Close(t.Context()); err == nil && cerr != nil && dir.stopAt == 0 {
			t.Error(cerr)
		}
		return err == nil, nil
	}
	undisturbed := newMemFS()
	if ok, err := attempt(undisturbed); !ok {
		t.Fatalf("restore: %v", err)
	}
	stops, all := 0, 0
	for stop := 1; stop <= undisturbed.ops+1; stop++ {
		for _, how := range []crash{killed, powerOff, torn} {
			stops++
			dir := newMemFS()
			dir.stopAt = stop
			done, _ := attempt(dir) // may fail: the file system stops
			next := dir.after(how, rand.New(rand.NewPCG(uint64(stop), uint64(how))))
			s, err := durable(next, t.Context())
			if err != nil {
				t.Errorf("stop at %d (%d): %v", stop, how, err)
				continue
			}
			switch got := contents(t, s); {
			case got == want:
				all++
			case got != "" || done:
				t.Errorf("stop at %d (%d): restored %t, got\n%s\nwant\n%s", stop, how, done, got, want)
			}
			abandon(s, next, t.Context())
		}
	}
	if all == 0 || all == stops {
		t.Errorf("%d of %d stops left all of it", all, stops)
	}
	t.Logf("stops %d, with all of it %d", stops, all)
}

// TestRestoreIsRefused: what cannot be restored leaves the store as it was.
func TestRestoreIsRefused(t *testing.T) {
	t.Parallel()
	fs, want := saved(t, false)
	mem, err := storage.Open(t.Context(), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := restoreInto(t, mem, fs); err != nil {
		t.Fatal(err)
	}
	if err := restoreInto(t, mem, fs); !errors.Is(err, storage.ErrTableExists) {
		t.Errorf("the same tables again: %v", err)
	}
	if got := contents(t, mem); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := mem.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestBackupOnFullDisk leaves the former backup where it is.
func TestBackupOnFullDisk(t *testing.T) {
	t.Parallel()
	fs := newMemFS()
	s, err := durable(fs, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lifeOfADatabase()[:2].play(t, s)
	want := contents(t, s)
	o := storage.BackupOptions{Table: everyTable}
	if _, err := s.Backup(t.Context(), backupPath, o); err != nil {
		t.Fatal(err)
	}
	tx := s.Begin(nil)
	insert(t, s.Table(tableID), tx, row(77, ready, ""))
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	fs.mu.Lock()
	fs.fail = func(op, name string) error {
		if op == "write" && strings.HasPrefix(name, "backup") {
			return syscall.ENOSPC
		}
		return nil
	}
	fs.mu.Unlock()
	if _, err := s.Backup(t.Context(), backupPath, o); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Backup: %v, want ENOSPC", err)
	}
	mem, err := storage.Open(t.Context(), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := restoreInto(t, mem, fs); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, mem); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for name := range fs.names {
		if strings.HasSuffix(name, ".tmp") {
			t.Errorf("left behind: %s", name)
		}
	}
	for _, st := range []*storage.Store{mem, s} {
		if err := st.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestReplayIsWhatIsBehindTheCheckpoint counts what recovery replays: what was
// committed since the last checkpoint, however much there was before.
func TestReplayIsWhatIsBehindTheCheckpoint(t *testing.T) {
	t.Parallel()
	for _, since := range []int64{0, 1, 7, 50} {
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
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		one := func(i int64) {
			t.Helper()
			tx := s.Begin(nil)
			insert(t, tab, tx, row(i, i, strings.Repeat("x", 100)))
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for i := range int64(200) {
			one(i)
		}
		if err := s.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range since {
			one(1000 + i)
		}
		image := fs.after(powerOff, nil)
		abandon(s, fs, t.Context())
		again, err := durable(image, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := again.Replayed(); got.Records != since || since == 0 && got.Bytes != 0 {
			t.Errorf("replayed %+v, want %d records", got, since)
		}
		if got := again.Table(tableID).Rows(); got != 200+since {
			t.Errorf("%d rows, want %d", got, 200+since)
		}
		abandon(again, image, t.Context())
	}
}

package storage_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"loopbroker/engine/storage"
)

var crashRounds = flag.Int("crash.rounds", 2, "how often a process is killed in the crash test")

// crashDir is the environment variable that makes the test's process the victim.
const crashDir = "STORAGE_CRASH_DIR"

// TestKilledProcess kills a process under load again and again. After each kill
// every acknowledged transaction is there, and each transaction in full.
func TestKilledProcess(t *testing.T) {
	if dir := os.Getenv(crashDir); dir != "" {
		commitUntilKilled(t, dir)
		return
	}
	t.Parallel()
	dir := t.TempDir()
	acked := map[int64]bool{}
	for round := range *crashRounds {
		for _, key := range killAfter(t, dir, 50+37*round%200) {
			acked[key] = true
		}
		checkAcknowledged(t, dir, acked)
	}
	t.Logf("rounds %d, acknowledged %d", *crashRounds, len(acked))
}

// killAfter starts the victim and kills it after n acknowledgements. It returns
// all that were acknowledged.
func killAfter(t *testing.T, dir string, n int) (keys []int64) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestKilledProcess$")
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		key, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			t.Errorf("the victim says: %s", lines.Text())
			continue
		}
		if keys = append(keys, key); len(keys) == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the victim ended by itself")
	}
	return keys
}

// commitUntilKilled writes pairs of rows, some of which it rolls back, and
// prints the key of each committed pair.
func commitUntilKilled(t *testing.T, dir string) {
	s, err := storage.Open(t.Context(), storage.Options{Dir: dir, SegmentBytes: 16 << 10, CheckpointBytes: 64 << 10})
	if err != nil {
		fmt.Println("Open:", err)
		os.Exit(1)
	}
	if s.Table(tableID) == nil {
		tx := s.Begin(nil)
		if _, err := tx.CreateTable(accounts()); err != nil {
			fmt.Println("CreateTable:", err)
		}
		if err := tx.Commit(t.Context()); err != nil {
			fmt.Println("Commit:", err)
		}
	}
	tab := s.Table(tableID)
	next := tab.Rows()/2 + 1_000_000*(tab.Rows()%7)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				mu.Lock()
				next++
				key := next
				mu.Unlock()
				err := writePair(t.Context(), s, tab, key)
				switch {
				case err == nil:
					mu.Lock()
					fmt.Println(key)
					mu.Unlock()
				case !errors.Is(err, storage.ErrDuplicate) && !errors.Is(err, errUndone):
					fmt.Println("writePair:", err)
				}
			}
		})
	}
	wg.Wait()
}

var errUndone = errors.New("rolled back")

func writePair(ctx context.Context, s *storage.Store, tab *storage.Table, key int64) error {
	tx := s.Begin(nil)
	defer tx.Rollback()
	for _, k := range []int64{key, -key} {
		if _, err := tx.Insert(ctx, tab, row(k, key, "a note of some length to fill the log"), storage.Forever); err != nil {
			return err
		}
	}
	if key%5 == 0 {
		return errUndone
	}
	return tx.Commit(ctx)
}

func checkAcknowledged(t *testing.T, dir string, acked map[int64]bool) {
	t.Helper()
	s, err := storage.Open(t.Context(), storage.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	there := map[int64]bool{}
	tx := s.Begin(nil)
	c := tx.Scan(t.Context(), s.Table(tableID), 0, everything, readLocked)
	for c.Next() {
		there[c.Row()[0].Int()] = true
	}
	c.Close()
	if c.Err() != nil {
		t.Error(c.Err())
	}
	tx.Rollback()
	for key := range acked {
		if !there[key] || !there[-key] {
			t.Errorf("acknowledged pair %d is lost", key)
		}
	}
	for key := range there {
		if !there[-key] {
			t.Errorf("half a transaction: %d", key)
		}
		if key%5 == 0 {
			t.Errorf("rolled back and there: %d", key)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

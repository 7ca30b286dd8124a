package storage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

func benchStore(b *testing.B, opts storage.Options, def storage.TableDef, rows int) (*storage.Store, *storage.Table) {
	b.Helper()
	s, err := storage.Open(b.Context(), opts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(b.Context()); err != nil && b.Context().Err() == nil {
			b.Error(err)
		}
	})
	tx := s.Begin(nil)
	tab, err := tx.CreateTable(def)
	if err != nil {
		b.Fatal(err)
	}
	for i := range rows {
		if _, err := tx.Insert(b.Context(), tab, row(int64(i), ready, ""), storage.Forever); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(b.Context()); err != nil {
		b.Fatal(err)
	}
	return s, tab
}

// parallel runs f b.N times in n goroutines.
func parallel(b *testing.B, n int, f func(worker int)) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range n {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				f(w)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

func BenchmarkCommit(b *testing.B) {
	for _, mode := range []string{"memory", "full", "relaxed"} {
		for _, n := range []int{1, 32} {
			b.Run(fmt.Sprintf("%s/%d", mode, n), func(b *testing.B) {
				opts := storage.Options{}
				switch mode {
				case "full":
					opts.Dir = b.TempDir()
				case "relaxed":
					opts.Dir, opts.Durability = b.TempDir(), storage.Relaxed
				}
				s, tab := benchStore(b, opts, accounts(), 0)
				note := types.NewNVarChar(string(make([]byte, 200)))
				owners := make([]*storage.Owner, n)
				for i := range owners {
					owners[i] = s.NewOwner(int32(i))
				}
				var key atomic.Int64
				parallel(b, n, func(w int) {
					tx := s.Begin(owners[w])
					k := key.Add(1)
					if _, err := tx.Insert(b.Context(), tab, types.Row{types.NewInt(k), types.NewInt(k), note}, storage.Forever); err != nil {
						b.Error(err)
					}
					if err := tx.Commit(b.Context()); err != nil {
						b.Error(err)
					}
				})
				if st := s.Stats(); st.Syncs > 0 {
					b.ReportMetric(float64(b.N)/float64(st.Syncs), "commits/sync")
				}
			})
		}
	}
}

// BenchmarkBareLog is what the disk gives: a file with group commit and nothing
// else, for comparison with BenchmarkCommit/full.
func BenchmarkBareLog(b *testing.B) {
	for _, n := range []int{1, 32} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f, err := os.Create(filepath.Join(b.TempDir(), "bare"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			if _, err := f.Write(make([]byte, 64<<20)); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
			l := &bareLog{f: f}
			l.cond.L = &l.mu
			rec := make([]byte, 240)
			parallel(b, n, func(int) { l.commit(b, rec) })
		})
	}
}

type bareLog struct {
	f             *os.File
	mu            sync.Mutex
	cond          sync.Cond
	buf, spare    []byte
	at            int64
	queued, ready int
	busy          bool
}

func (l *bareLog) commit(b *testing.B, rec []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, rec...)
	l.queued++
	mine := l.queued
	for l.ready < mine {
		if l.busy {
			l.cond.Wait()
			continue
		}
		l.busy = true
		batch, upTo := l.buf, l.queued
		l.buf, l.spare = l.spare[:0], batch
		l.mu.Unlock()
		if l.at+int64(len(batch)) > 64<<20 {
			l.at = 0
		}
		_, err := l.f.WriteAt(batch, l.at)
		if err == nil {
			err = l.f.Sync()
		}
		if err != nil {
			b.Error(err)
		}
		l.at += int64(len(batch))
		l.mu.Lock()
		l.busy, l.ready = false, upTo
		l.cond.Broadcast()
	}
}

func BenchmarkPointRead(b *testing.B) {
	const rows = 100_000
	s, tab := benchStore(b, storage.Options{}, accounts(), rows)
	view := s.StatementView()
	defer view.Close()
	for name, a := range map[string]storage.Access{
		"committed": readLocked, "repeatable": repeatable, "view": {View: view}, "nolock": nolock,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				tx := s.Begin(nil)
				c := tx.Scan(b.Context(), tab, 0, point(int64(i*7919%rows)), a)
				if !c.Next() {
					b.Fatal(c.Err())
				}
				c.Close()
				tx.Rollback()
			}
		})
	}
}

func BenchmarkScan(b *testing.B) {
	const rows = 100_000
	s, tab := benchStore(b, storage.Options{}, accounts(), rows)
	view := s.StatementView()
	defer view.Close()
	for name, a := range map[string]storage.Access{
		"committed": readLocked, "repeatable": repeatable, "serializable": serializable, "view": {View: view}, "tablock": {Mode: storage.S, Table: storage.S},
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				tx := s.Begin(nil)
				c := tx.Scan(b.Context(), tab, 0, everything, a)
				n := 0
				for c.Next() {
					n++
				}
				c.Close()
				tx.Rollback()
				if n != rows {
					b.Fatal(n, c.Err())
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
		})
	}
}

// BenchmarkClaim claims one row, and adds one, in a transaction each: the
// backlog stays as it was.
func BenchmarkClaim(b *testing.B) {
	for _, backlog := range []int{100, 1_000, 100_000} {
		for _, n := range []int{1, 4, 16} {
			b.Run(fmt.Sprintf("backlog %d/%d", backlog, n), func(b *testing.B) {
				s, tab := benchStore(b, storage.Options{}, queue(), backlog)
				owners := make([]*storage.Owner, n)
				for i := range owners {
					owners[i] = s.NewOwner(int32(i))
				}
				var key atomic.Int64
				key.Store(int64(backlog))
				parallel(b, n, func(w int) {
					tx := s.Begin(owners[w])
					c := tx.Scan(b.Context(), tab, 1, everything, claiming)
					if c.Next() {
						if err := tx.Update(b.Context(), tab, c.ID(), row(c.Row()[0].Int(), leased, ""), 0); err != nil {
							b.Error(err)
						}
					}
					c.Close()
					if _, err := tx.Insert(b.Context(), tab, row(key.Add(1), ready, ""), storage.Forever); err != nil {
						b.Error(err)
					}
					if err := tx.Commit(b.Context()); err != nil {
						b.Error(err)
					}
				})
			})
		}
	}
}

// BenchmarkClaimBehind claims rows of a queue at whose head others are that
// cannot be claimed: leased by open transactions, which have changed or only
// locked them, or leased and gone while a view is open that still sees them.
func BenchmarkClaimBehind(b *testing.B) {
	const ahead, backlog = 5_000, 1_000
	take := func(b *testing.B, s *storage.Store, tab *storage.Table, n int, change bool) *storage.Tx {
		tx := s.Begin(nil)
		c := tx.Scan(b.Context(), tab, 1, everything, claiming)
		defer c.Close()
		for range n {
			if !c.Next() {
				b.Fatal(c.Err())
			}
			if !change {
				continue
			}
			if err := tx.Update(b.Context(), tab, c.ID(), row(c.Row()[0].Int(), leased, ""), 0); err != nil {
				b.Fatal(err)
			}
		}
		return tx
	}
	for _, tt := range []struct {
		name    string
		ahead   int
		prepare func(*testing.B, *storage.Store, *storage.Table) (end func())
	}{
		{"nothing", 0, func(*testing.B, *storage.Store, *storage.Table) func() { return func() {} }},
		{"committed", ahead, func(b *testing.B, s *storage.Store, tab *storage.Table) func() {
			if err := take(b, s, tab, ahead, true).Commit(b.Context()); err != nil {
				b.Fatal(err)
			}
			return func() {}
		}},
		{"seen by a view", ahead, func(b *testing.B, s *storage.Store, tab *storage.Table) func() {
			v := s.StatementView()
			if err := take(b, s, tab, ahead, true).Commit(b.Context()); err != nil {
				b.Fatal(err)
			}
			return v.Close
		}},
		{"open changes", ahead, func(b *testing.B, s *storage.Store, tab *storage.Table) func() {
			return take(b, s, tab, ahead, true).Rollback
		}},
		{"open locks", ahead, func(b *testing.B, s *storage.Store, tab *storage.Table) func() {
			return take(b, s, tab, ahead, false).Rollback
		}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			s, tab := benchStore(b, storage.Options{}, queue(), tt.ahead+backlog)
			defer tt.prepare(b, s, tab)()
			key := int64(tt.ahead + backlog)
			b.ResetTimer()
			for range b.N {
				tx := take(b, s, tab, 1, true)
				key++
				if _, err := tx.Insert(b.Context(), tab, row(key, ready, ""), storage.Forever); err != nil {
					b.Fatal(err)
				}
				if err := tx.Commit(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

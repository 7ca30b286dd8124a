package storage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// BenchmarkRecovery opens a directory with many rows of 200 bytes: from a
// checkpoint, and from a log of one transaction a row.
func BenchmarkRecovery(b *testing.B) {
	const rows = 200_000
	for _, from := range []string{"checkpoint", "log"} {
		b.Run(from, func(b *testing.B) {
			o := storage.Options{Dir: b.TempDir(), Durability: storage.Relaxed, CheckpointBytes: 1 << 40}
			s, err := storage.Open(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			tx := s.Begin(nil)
			tab, err := tx.CreateTable(accounts())
			if err != nil {
				b.Fatal(err)
			}
			note := strings.Repeat("x", 200)
			for i := range int64(rows) {
				if _, err := tx.Insert(b.Context(), tab, row(i*7919%rows, i, note), storage.Forever); err != nil {
					b.Fatal(err)
				}
				if err := tx.Commit(b.Context()); err != nil {
					b.Fatal(err)
				}
				tx = s.Begin(nil)
			}
			tx.Rollback()
			if from == "checkpoint" {
				if err := s.Checkpoint(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			if err := s.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
			image := os.DirFS(o.Dir)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				o.Dir = b.TempDir()
				if err := os.CopyFS(o.Dir, image); err != nil { // as a crash leaves it
					b.Fatal(err)
				}
				b.StartTimer()
				again, err := storage.Open(b.Context(), o)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if got := again.Table(tableID).Rows(); got != rows {
					b.Fatalf("%d rows", got)
				}
				if err := again.Close(b.Context()); err != nil {
					b.Error(err)
				}
				b.StartTimer()
			}
			b.StopTimer()
			if err := s.Close(b.Context()); err != nil {
				b.Error(err)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*rows), "µs/row")
		})
	}
}

// BenchmarkGroupCommit commits single rows and syncs them, from one and from 32
// sessions, in turns with a bare file that is written in the same manner: zeros
// put down ahead, one writer, one sync for all that wait.
func BenchmarkGroupCommit(b *testing.B) {
	for _, n := range []int{1, 32} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, tab := benchStore(b, storage.Options{Dir: b.TempDir()}, accounts(), 0)
			f, err := os.Create(filepath.Join(b.TempDir(), "bare"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			bare := &bareLog{f: f}
			bare.cond.L = &bare.mu
			if _, err := f.Write(make([]byte, 64<<20)); err != nil {
				b.Fatal(err)
			}
			note := types.NewNVarChar(strings.Repeat("x", 200))
			rec := make([]byte, 240)
			owners := make([]*storage.Owner, n)
			for i := range owners {
				owners[i] = s.NewOwner(int32(i))
			}
			var key atomic.Int64
			var took [2]time.Duration
			const turn = 200 // commits of a session before the other's turn
			for done := 0; done < b.N; done += turn * n {
				began := time.Now()
				inSessions(n, func(w int) {
					for range turn {
						tx := s.Begin(owners[w])
						k := key.Add(1)
						if _, err := tx.Insert(b.Context(), tab, types.Row{types.NewInt(k), types.NewInt(k), note}, storage.Forever); err != nil {
							b.Error(err)
						}
						if err := tx.Commit(b.Context()); err != nil {
							b.Error(err)
						}
					}
				})
				between := time.Now()
				inSessions(n, func(int) {
					for range turn {
						bare.commit(b, rec)
					}
				})
				took[0] += between.Sub(began)
				took[1] += time.Since(between)
			}
			commits := float64(key.Load())
			b.ReportMetric(commits/took[0].Seconds(), "commits/s")
			b.ReportMetric(commits/took[1].Seconds(), "bare/s")
			b.ReportMetric(100*took[1].Seconds()/took[0].Seconds(), "%ofbare")
		})
	}
}

func inSessions(n int, f func(w int)) {
	var wg sync.WaitGroup
	for w := range n {
		wg.Go(func() { f(w) })
	}
	wg.Wait()
}

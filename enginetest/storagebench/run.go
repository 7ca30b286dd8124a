package storagebench

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Options says what to measure.
type Options struct {
	// Only is the name of the one benchmark to run; all without it.
	Only string
	// Quick makes everything so small that its figures mean nothing: it shows
	// that the benchmarks work.
	Quick bool
	// Dir is where the files go that are written and synced.
	//
	// Defaults to the system's directory for temporary files.
	Dir string
}

// benchmark is one entry of the list.
type benchmark struct {
	name string
	run  func(b *bench, ctx context.Context) error
}

// benchmarks are in the order of a run. The memory comes first: what other
// benchmarks leave behind would disturb it.
var benchmarks = []benchmark{
	{"memory", (*bench).memory},
	{"commits", (*bench).commits},
	{"claims", (*bench).claims},
	{"recovery", (*bench).recovery},
}

// Names returns the names of the benchmarks.
func Names() []string {
	names := make([]string, 0, len(benchmarks))
	for _, b := range benchmarks {
		names = append(names, b.name)
	}
	return names
}

// Run measures, and hands each figure to report as soon as it is known.
func Run(ctx context.Context, o Options, report func(Figure) error) (Summary, error) {
	b := &bench{Options: o, size: full, report: report}
	if o.Quick {
		b.size = quick
	}
	found := false
	for _, m := range benchmarks {
		if o.Only != "" && o.Only != m.name {
			continue
		}
		found = true
		b.name = m.name
		if err := m.run(b, ctx); err != nil {
			return b.summary, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	if !found {
		return b.summary, fmt.Errorf("no benchmark is named %q; there are %v", o.Only, Names())
	}
	return b.summary, nil
}

// size says how much is measured.
type size struct {
	rounds  int
	moment  time.Duration // of a contender in a round
	rows    int           // of recovery and memory
	backlog []int         // lengths of the queue
	leased  int           // at its head
}

var (
	full  = size{rounds: 15, moment: 150 * time.Millisecond, rows: 1_000_000, backlog: []int{1_000, 1_000_000}, leased: 5_000}
	quick = size{rounds: 1, moment: 5 * time.Millisecond, rows: 500, backlog: []int{20, 200}, leased: 50}
)

// bench is what the benchmarks share.
type bench struct {
	Options
	size

	name    string // of the running benchmark
	report  func(Figure) error
	summary Summary
}

// figure reports one.
func (b *bench) figure(f Figure) error {
	f.Benchmark = b.name
	b.summary.add(f)
	return b.report(f)
}

// tempDir makes a directory, and returns what removes it.
func (b *bench) tempDir() (string, func(), error) {
	dir, err := os.MkdirTemp(b.Dir, "bench-storage-")
	if err != nil {
		return "", nil, err
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil // in a folder for what may be left
}

// contender is one of those that are measured in turns.
type contender struct {
	name     string
	sessions int
	// do works until the deadline, and returns how often it did. The worker is
	// below sessions.
	do     func(ctx context.Context, worker int, deadline time.Time) (int, error)
	rounds []float64 // per second
}

// inTurns runs each contender for a moment in each round, every round beginning
// with another one. A first round to warm up does not count.
func (b *bench) inTurns(ctx context.Context, all []*contender) error {
	for round := range b.size.rounds + 1 {
		for i := range all {
			c := all[(round+i)%len(all)]
			rate, err := c.moment(ctx, b.size.moment)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if round > 0 {
				c.rounds = append(c.rounds, rate)
			}
		}
	}
	return nil
}

// moment runs all sessions of the contender and returns the rate per second.
func (c *contender) moment(ctx context.Context, d time.Duration) (float64, error) {
	var (
		wg    sync.WaitGroup
		count atomic.Int64
		once  sync.Once
		first error
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begin := time.Now()
	for worker := range c.sessions {
		wg.Go(func() {
			n, err := c.do(ctx, worker, begin.Add(d))
			count.Add(int64(n))
			if err != nil {
				once.Do(func() {
					first = err
					cancel() // the others do not go on
				})
			}
		})
	}
	wg.Wait()
	return float64(count.Load()) / time.Since(begin).Seconds(), first
}

// until repeats f until the deadline, at least once.
func until(ctx context.Context, deadline time.Time, f func() error) (int, error) {
	for n := 0; ; {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		if err := f(); err != nil {
			return n, err
		}
		if n++; !time.Now().Before(deadline) {
			return n, nil
		}
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"loopbroker/engine"
)

// benchCommand measures requests per second and latency.
type benchCommand struct {
	Scenario    string `default:"all" enum:"all,fire-and-forget,wait,direct" help:"What to measure: ${enum}."`
	Requests    int    `default:"2000" help:"Requests of each scenario."`
	Concurrency int    `default:"8" help:"Callers at the same time."`
	Durability  string `default:"none" enum:"full,none" help:"When a commit of the engine returns: full after it is on disk, none keeps everything in memory."`
	TCP         bool   `name:"tcp" help:"Callers and the worker connect over a TCP port instead of in memory."`
	JSON        bool   `name:"json" help:"Print one line of JSON for each scenario."`
	CPUProfile  string `name:"cpuprofile" placeholder:"FILE" help:"Write a CPU profile."`
}

// Help is shown by --help.
func (benchCommand) Help() string {
	return `The engine, a worker, a stub service and the callers share this process.

  fire-and-forget  each call is one batch over TDS: BEGIN TRANSACTION, sp_api_request
                   with @wait = 0, COMMIT. The clock stops when the last reply is
                   stored; latencies are those of the calls.
  wait             the same with a wait: the call returns with the answer, its
                   transaction still open.
  direct           the worker's HTTP client calls the same service by itself.

Members of a line: seconds, per_second, p50_ms and p99_ms of the calls, max_rss_mb
of the process during the scenario, loopback_calls that came through the linked
server, failed.

Examples:
  loopbroker bench --scenario fire-and-forget --requests 20000 --concurrency 16
  loopbroker bench --scenario wait --concurrency 1 --requests 500 --json`
}

// result is the line of a scenario.
type result struct {
	Scenario      string  `json:"scenario"`
	Requests      int     `json:"requests"`
	Concurrency   int     `json:"concurrency"`
	Durability    string  `json:"durability"`
	Seconds       float64 `json:"seconds"`
	PerSecond     float64 `json:"per_second"`
	P50           float64 `json:"p50_ms"`
	P99           float64 `json:"p99_ms"`
	MaxRSS        float64 `json:"max_rss_mb"`
	LoopbackCalls int64   `json:"loopback_calls"`
	Failed        int     `json:"failed"`
}

// scenario is one measurement.
type scenario struct {
	name string
	run  func(b *bench, ctx context.Context) (measured, error)
}

// scenarios are the measurements, in the order of all.
var scenarios = []scenario{
	{"fire-and-forget", (*bench).fireAndForget},
	{"wait", (*bench).wait},
	{"direct", (*bench).direct},
}

// Run implements the command.
func (c *benchCommand) Run(app *app) (err error) {
	const most = 30000 // sessions; the setting max_waiters takes no more
	if c.Requests < 1 || c.Concurrency < 1 || c.Concurrency > most {
		return usageError{fmt.Errorf("need --requests >= 1 and --concurrency of 1 to %d", most)}
	}
	if c.CPUProfile != "" {
		f, err := os.Create(c.CPUProfile)
		if err != nil {
			return usageError{err}
		}
		defer func() {
			pprof.StopCPUProfile()
			err = errors.Join(err, f.Close())
		}()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
	}
	if !c.JSON {
		fmt.Fprintf(app.stdout, "%-16s %9s %11s %10s %8s %10s %8s %8s %10s %14s %6s\n", "scenario", "requests", "concurrency", "durability",
			"seconds", "per second", "p50 ms", "p99 ms", "max RSS MB", "loopback calls", "failed")
	}
	for _, s := range scenarios {
		if c.Scenario != "all" && c.Scenario != s.name {
			continue
		}
		r, err := c.measure(app.ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if err := c.print(app, r); err != nil {
			return err
		}
		if r.Failed > 0 {
			return fmt.Errorf("%s: %d of %d requests failed", s.name, r.Failed, r.Requests)
		}
	}
	return nil
}

// print prints one result.
func (c *benchCommand) print(app *app, r result) error {
	if c.JSON {
		return json.NewEncoder(app.stdout).Encode(r)
	}
	_, err := fmt.Fprintf(app.stdout, "%-16s %9d %11d %10s %8.3f %10.0f %8.2f %8.2f %10.0f %14d %6d\n", r.Scenario, r.Requests, r.Concurrency,
		r.Durability, r.Seconds, r.PerSecond, r.P50, r.P99, r.MaxRSS, r.LoopbackCalls, r.Failed)
	return err
}

// measure runs one scenario on an engine of its own.
func (c *benchCommand) measure(ctx context.Context, s scenario) (result, error) {
	o := engine.Options{Durability: durabilities[c.Durability]}
	if c.Durability != "none" {
		dir, err := os.MkdirTemp("", "loopbroker-bench-")
		if err != nil {
			return result{}, err
		}
		defer func() { _ = os.RemoveAll(dir) }() // in the folder for what may be left
		o.Dir = dir
	}
	out, err := startStub(ctx, anyPort)
	if err != nil {
		return result{}, err
	}
	defer out.close()
	f := workerFlags{
		Slots: max(64, c.Concurrency), Lease: 15 * time.Second, MaxPoll: idlePoll, Drain: 5 * time.Second,
	}
	var r result
	err = withBroker(ctx, o, f, zerolog.Nop(), func(ctx context.Context, b *broker) error {
		if err := b.allow(ctx, out.url); err != nil {
			return err
		}
		bb := &bench{benchCommand: *c, broker: b, url: out.url + "/ok"}
		if err := bb.prepare(ctx); err != nil {
			return err
		}
		defer bb.close()
		resetMaxRSS()
		calls := b.srv.LoopbackCalls()
		m, err := s.run(bb, ctx)
		if err != nil {
			return err
		}
		slices.Sort(m.latencies)
		r = result{
			Scenario: s.name, Requests: c.Requests, Concurrency: c.Concurrency, Durability: c.Durability,
			Seconds: m.total.Seconds(), PerSecond: float64(c.Requests) / m.total.Seconds(),
			P50: millis(percentile(m.latencies, 50)), P99: millis(percentile(m.latencies, 99)),
			MaxRSS: maxRSS(), LoopbackCalls: b.srv.LoopbackCalls() - calls, Failed: m.failed,
		}
		return nil
	})
	return r, err
}

// percentile returns the value that p per cent of the sorted values do not
// exceed, by the nearest rank; 0 without values.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max((len(sorted)*p+99)/100-1, 0)]
}

// measured is what a scenario gives.
type measured struct {
	total     time.Duration
	latencies []time.Duration
	failed    int
}

// each runs call for every request, concurrency at a time, and measures each.
// setup makes what a caller keeps; call reports whether the request went well.
func each(ctx context.Context, requests, concurrency int, setup func(context.Context) (func(context.Context) bool, func(), error)) (measured, error) {
	var (
		next     atomic.Int64
		failed   atomic.Int64
		wg       sync.WaitGroup
		mu       sync.Mutex // guards m and firstErr
		m        = measured{latencies: make([]time.Duration, 0, requests)}
		firstErr error
	)
	start := make(chan struct{})
	var ready sync.WaitGroup
	for range concurrency {
		ready.Add(1)
		wg.Go(func() {
			call, done, err := setup(ctx)
			ready.Done()
			if err != nil {
				mu.Lock()
				firstErr = errors.Join(firstErr, err)
				mu.Unlock()
				return
			}
			defer done()
			<-start
			var own []time.Duration
			for ctx.Err() == nil && next.Add(1) <= int64(requests) {
				begin := time.Now()
				if !call(ctx) {
					failed.Add(1)
				}
				own = append(own, time.Since(begin))
			}
			mu.Lock()
			m.latencies = append(m.latencies, own...)
			mu.Unlock()
		})
	}
	ready.Wait()
	begin := time.Now()
	close(start)
	wg.Wait()
	m.total, m.failed = time.Since(begin), int(failed.Load())
	return m, errors.Join(firstErr, ctx.Err())
}

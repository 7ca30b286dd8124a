package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"loopbroker"
	"loopbroker/internal/backoff"
	"loopbroker/internal/guardlog"
	"loopbroker/internal/transient"
)

// Store is all that a worker asks of a database.
type Store interface {
	loopbroker.Queue
	loopbroker.Registry
	loopbroker.Janitor
	loopbroker.Completer
	loopbroker.PolicySource
}

// Worker is one fleet member. Run it once.
type Worker struct {
	store Store
	opts  Options
	log   guardlog.Logger
	retry backoff.Policy // between attempts of a job
	away  backoff.Policy // between calls of a database that fails

	slots   chan struct{} // holds one token for each busy slot
	freed   chan struct{} // wakes the poller: a slot is free
	wake    chan struct{} // wakes the poller: a request was made in this process
	settles chan settling // to the completers
	quit    chan struct{} // closed when the completers are to end
	due     chan struct{} // wakes the completions: some are due
	running *leases
	types   []string
	faults  string // of the policy, as last logged; for the one loop that reads it
	started atomic.Bool
	stats   counters
}

// New returns a worker that is not running yet.
func New(store Store, opts Options) (*Worker, error) {
	opts = opts.WithDefaults()
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("worker options: %w", err)
	}
	if store == nil {
		return nil, errors.New("worker options: need a store")
	}
	log := guardlog.New(*opts.Logger, "worker").WithStr(guardlog.KeyWorker, opts.ID)
	return &Worker{
		store:   store,
		opts:    opts,
		log:     log,
		retry:   backoff.Policy{Base: opts.RetryBase, Cap: opts.RetryCap},
		away:    backoff.Policy{Base: opts.OutageBase, Cap: opts.OutageCap},
		slots:   make(chan struct{}, opts.Slots),
		freed:   make(chan struct{}, 1),
		wake:    make(chan struct{}, 1),
		settles: make(chan settling),
		quit:    make(chan struct{}),
		due:     make(chan struct{}, 1),
		running: newLeases(opts.Lease),
		types:   opts.types(),
	}, nil
}

// ID returns the name of the process.
func (w *Worker) ID() string { return w.opts.ID }

// Wake makes an idle worker look for jobs at once. It is for requests made in the
// same process, never waits and may be called at any time.
func (w *Worker) Wake() { signal(w.wake) }

// signal puts a token into a channel that holds one, unless there is one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run works until ctx is done and everything is settled; see the package comment
// for how it stops. It returns nil after a clean drain, an error that wraps
// loopbroker.ErrStopped if jobs were interrupted, and loopbroker.ErrSchema without
// having started if the database does not match this version. A worker runs once.
func (w *Worker) Run(ctx context.Context) error {
	if w.started.Swap(true) {
		return errors.New("worker: Run was called before")
	}
	// Two contexts: ctx ends the claiming, workCtx ends the work.
	workCtx, stopWork := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopWork(nil)
	if err := w.register(ctx); err != nil {
		return err
	}
	if !w.firstPolicy(ctx) {
		w.unregister(context.WithoutCancel(ctx))
		return nil // asked to stop before there was anything to stop
	}
	w.log.Info("worker started", guardlog.Int("slots", w.opts.Slots))

	// The helpers outlive the jobs, which need their leases and their replies.
	helperCtx, stopHelpers := context.WithCancel(context.WithoutCancel(ctx))
	defer stopHelpers()
	var helpers, completers, jobs sync.WaitGroup
	helpers.Go(func() { w.supervise(helperCtx, "heartbeat", func() { w.beat(ctx, helperCtx) }) })
	helpers.Go(func() { w.supervise(ctx, "janitor", func() { w.sweep(ctx) }) })
	helpers.Go(func() { w.supervise(ctx, "policy", func() { w.followPolicy(ctx) }) })
	for range w.opts.Completers {
		completers.Go(func() { w.supervise(helperCtx, "completer", func() { w.complete(helperCtx) }) })
	}
	// Completion procedures that run have the same time to drain as jobs.
	jobs.Go(func() { w.supervise(ctx, "completions", func() { w.completions(ctx, workCtx, &jobs) }) })

	w.supervise(ctx, "poller", func() { w.poll(ctx, workCtx, &jobs) })
	w.unregister(helperCtx)
	err := w.drain(&jobs, stopWork)

	close(w.quit) // no job is left that could send, or it has been given up
	completers.Wait()
	stopHelpers()
	helpers.Wait()
	w.log.Info("worker stopped")
	return err
}

// errAbandoned means that a handler did not end with its context.
var errAbandoned = errors.New("handlers did not return")

// drain waits for the jobs, first as long as DrainTimeout, then with their contexts
// ended.
func (w *Worker) drain(jobs *sync.WaitGroup, stopWork context.CancelCauseFunc) error {
	done := make(chan struct{})
	go func() { // ends with the jobs, which this waits for or gives up on
		defer close(done)
		jobs.Wait()
	}()
	if waitFor(done, w.opts.DrainTimeout) {
		return nil
	}
	interrupted := w.running.count()
	w.log.Warn("drain timeout", guardlog.Int(guardlog.KeyCount, interrupted))
	stopWork(loopbroker.ErrStopped)
	// The handlers' grace, and then the settling of what they return.
	if waitFor(done, 2*w.opts.SettleTimeout) {
		return fmt.Errorf("%w: %d jobs were interrupted", loopbroker.ErrStopped, interrupted)
	}
	left := w.running.count()
	w.log.Error("handlers abandoned", guardlog.Int(guardlog.KeyCount, left))
	return fmt.Errorf("%w: %d jobs were interrupted, of which %d were given up: %w", loopbroker.ErrStopped, interrupted, left, errAbandoned)
}

// waitFor reports whether done was closed within d.
func waitFor(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// info describes this process.
func (w *Worker) info() loopbroker.WorkerInfo {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return loopbroker.WorkerInfo{
		ID: w.opts.ID, Host: host, PID: os.Getpid(), Version: w.opts.Version, Slots: w.opts.Slots, Types: w.opts.types(),
	}
}

// register announces the process, for as long as it takes. It gives up only on a
// database of another version, or when ctx is done.
func (w *Worker) register(ctx context.Context) error {
	for n := 1; ; n++ {
		err := w.call(ctx, func(ctx context.Context) error { return w.store.Register(ctx, w.info()) })
		switch {
		case err == nil:
			return nil
		case errors.Is(err, loopbroker.ErrSchema), errors.Is(err, loopbroker.ErrInvalid):
			return fmt.Errorf("register worker: %w", err)
		case ctx.Err() != nil:
			return nil // asked to stop before there was anything to stop
		}
		w.log.Warn("register failed", guardlog.Err(err))
		transient.Sleep(ctx, w.away.Delay(n, 0))
	}
}

// unregister takes the process off the list, so that callers know at once. If that
// fails, its heartbeat grows old instead.
func (w *Worker) unregister(ctx context.Context) {
	err := w.call(ctx, func(ctx context.Context) error { return w.store.Unregister(ctx, w.opts.ID) })
	if err != nil {
		w.log.Warn("unregister failed", guardlog.Err(err))
	}
}

// sweep is the janitor's loop. A sweep that has begun is not cut short: it holds a
// lock that other processes look at.
func (w *Worker) sweep(ctx context.Context) {
	pause := w.opts.JanitorEvery
	for transient.Sleep(ctx, w.spread(pause)) {
		pause = w.opts.JanitorEvery
		var out loopbroker.Swept
		err := w.call(context.WithoutCancel(ctx), func(ctx context.Context) (err error) {
			out, err = w.store.Sweep(ctx, w.opts.JanitorBatch)
			return err
		})
		switch {
		case err != nil:
			w.log.Warn("sweep failed", guardlog.Err(err))
		case out.Expired+out.Buried+out.Purged > 0:
			if max(out.Expired, out.Buried, out.Purged) >= w.opts.JanitorBatch {
				pause = min(pause, time.Second) // there is likely more
			}
			w.log.Info("swept", guardlog.Int("expired", out.Expired), guardlog.Int("buried", out.Buried), guardlog.Int("purged", out.Purged))
		}
	}
}

// spread returns d with up to a quarter taken off at random, so that processes that
// started together do not act together.
func (w *Worker) spread(d time.Duration) time.Duration {
	return d - backoff.Policy{Base: d / 4, Cap: d / 4}.Delay(1, 0)
}

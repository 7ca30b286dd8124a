package worker

import (
	"context"
	"sync"
	"time"

	"loopbroker"
	"loopbroker/internal/guardlog"
)

// poll is the one loop that claims. It returns when ctx is done, with every claimed
// job either running under workCtx and counted in jobs, or handed back.
func (w *Worker) poll(ctx, workCtx context.Context, jobs *sync.WaitGroup) {
	pause := w.opts.MinPoll
	failures := 0
	// A busy worker frees a slot every moment. Below this it waits for more of them
	// instead of claiming one by one.
	worthwhile := max(1, min(w.opts.Slots, w.opts.MaxBatch)/4)
	for ctx.Err() == nil {
		free := cap(w.slots) - len(w.slots)
		if free == 0 {
			w.await(ctx, w.freed, nil, 0)
			continue
		}
		n := min(free, w.opts.MaxBatch)
		claimed, taken, err := w.claim(ctx, n)
		deliveries := claimed.Deliveries
		if claimed.CompletionsDue {
			signal(w.due)
		}
		switch {
		case err != nil:
			failures++
			if ctx.Err() == nil {
				w.log.Warn("claim failed", guardlog.Err(err), guardlog.Int(guardlog.KeyAttempt, failures))
			}
			w.await(ctx, nil, nil, w.away.Delay(failures, 0))
			continue
		case ctx.Err() != nil:
			w.handBack(workCtx, deliveries)
			return
		}
		failures = 0
		for _, d := range deliveries {
			w.start(workCtx, d, taken, jobs)
		}
		switch {
		case len(deliveries) == n && n >= worthwhile:
			pause = w.opts.MinPoll // there is likely more: look again at once
			continue
		case len(deliveries) > 0:
			pause = w.opts.MinPoll
		}
		if w.await(ctx, nil, w.wake, pause) {
			pause = w.opts.MinPoll
		} else {
			pause = min(pause+pause/5+1, w.opts.MaxPoll)
		}
	}
}

// claim takes up to n jobs and says since when, at the earliest, their leases run.
// The call is not cut short by the end of ctx: the database might have leased jobs
// that we then would not know of.
func (w *Worker) claim(ctx context.Context, n int) (loopbroker.Claimed, time.Time, error) {
	w.stats.polls.Add(1)
	taken := time.Now()
	var out loopbroker.Claimed
	err := w.call(context.WithoutCancel(ctx), func(ctx context.Context) (err error) {
		out, err = w.store.Claim(ctx, loopbroker.ClaimRequest{N: n, Lease: w.opts.Lease, Types: w.types})
		return err
	})
	w.stats.claimed.Add(int64(len(out.Deliveries)))
	return out, taken, err
}

// await waits for one of the channels, for d if that is positive, or for the end of
// ctx. It reports whether the second channel was the reason.
func (w *Worker) await(ctx context.Context, freed, wake <-chan struct{}, d time.Duration) bool {
	var timeout <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-ctx.Done():
	case <-freed:
	case <-timeout:
	case <-wake:
		return true
	}
	return false
}

// handBack returns jobs that were not begun, with their attempts.
func (w *Worker) handBack(ctx context.Context, deliveries []loopbroker.Delivery) {
	for _, d := range deliveries {
		w.release(ctx, d, 0, true)
	}
}

// start runs a job in its own goroutine and slot.
func (w *Worker) start(workCtx context.Context, d loopbroker.Delivery, taken time.Time, jobs *sync.WaitGroup) {
	w.slots <- struct{}{} // never waits: the poller claims what fits
	ctx := w.running.hold(workCtx, d.Lease, taken)
	jobs.Go(func() {
		defer func() {
			w.running.drop(d.Lease)
			<-w.slots
			signal(w.freed)
		}()
		w.do(ctx, d)
	})
}

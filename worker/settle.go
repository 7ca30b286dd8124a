package worker

import (
	"context"
	"errors"
	"time"

	"loopbroker"
	"loopbroker/internal/guardlog"
	"loopbroker/internal/transient"
)

// settling is one reply on its way to a completer.
type settling struct {
	completion loopbroker.Completion
	done       chan<- result // holds one
}

// result is what became of a settling.
type result struct {
	settlement loopbroker.Settlement
	err        error
}

// persist repeats a call of the database over transient faults, for at most
// SettleTimeout.
func (w *Worker) persist(ctx context.Context, f func(context.Context) error) error {
	deadline := time.Now().Add(w.opts.SettleTimeout)
	for n := 1; ; n++ {
		err := w.call(ctx, f)
		// A call that timed out may have been done; doing it again is safe.
		again := transient.Fault(err) || (errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil)
		if err == nil || !again {
			return err
		}
		pause := w.away.Delay(n, 0)
		if time.Now().Add(pause).After(deadline) || !transient.Sleep(ctx, pause) {
			return err
		}
	}
}

// settleReply stores a reply and says what became of it. A reply that the database
// will not take is buried as our own failure, so that the job does not run again
// for nothing.
func (w *Worker) settleReply(ctx context.Context, d loopbroker.Delivery, r loopbroker.Reply) {
	r = w.finish(d, r)
	done := make(chan result, 1)
	one := settling{completion: loopbroker.Completion{Lease: d.Lease, Reply: r}, done: done}
	if large(r) {
		w.storeBatch(ctx, []settling{one}) // nobody should wait for its way
	} else {
		select {
		case w.settles <- one:
		case <-w.quit:
			w.unsettled(d, loopbroker.ErrStopped)
			return
		}
	}
	out := <-done
	switch {
	case out.err == nil:
		w.settled(d, r, out.settlement)
	case transient.Fault(out.err) || errors.Is(out.err, context.DeadlineExceeded):
		w.unsettled(d, out.err)
	default:
		w.jobLog(d).Error("reply refused", guardlog.Err(out.err))
		f := loopbroker.NewFault(loopbroker.ErrorClassInternal, "the reply could not be stored")
		w.bury(ctx, d, loopbroker.FailedReply(f), f.Error())
	}
}

// large reports whether a reply is too big to share a call.
func large(r loopbroker.Reply) bool { return r.Body != nil || len(r.JSON) > 32<<10 }

// complete is a completer's loop: it takes what is ready, and stores it.
func (w *Worker) complete(ctx context.Context) {
	for {
		var batch []settling
		select {
		case first := <-w.settles:
			batch = append(batch, first)
		case <-w.quit:
			return
		}
	ready:
		for len(batch) < w.opts.MaxShared {
			select {
			case next := <-w.settles:
				batch = append(batch, next)
			default:
				break ready
			}
		}
		w.storeBatch(ctx, batch)
	}
}

// storeBatch stores replies in one call. If that fails for good, each is tried by
// itself, so that one which cannot be stored does not take the others with it.
func (w *Worker) storeBatch(ctx context.Context, batch []settling) {
	completions := make([]loopbroker.Completion, len(batch))
	for i, s := range batch {
		completions[i] = s.completion
	}
	var out []loopbroker.Settlement
	err := w.persist(ctx, func(ctx context.Context) (err error) {
		w.stats.sharedCalls.Add(1)
		out, err = w.store.Complete(ctx, completions)
		return err
	})
	switch {
	case err == nil:
		for i, s := range batch {
			s.done <- result{settlement: out[i]}
		}
	case len(batch) == 1 || transient.Fault(err) || errors.Is(err, context.DeadlineExceeded):
		for _, s := range batch {
			s.done <- result{err: err}
		}
	default:
		for i := range batch {
			w.storeBatch(ctx, batch[i:i+1])
		}
	}
}

// bury stores a failure and keeps the queue's row.
func (w *Worker) bury(ctx context.Context, d loopbroker.Delivery, r loopbroker.Reply, reason string) {
	r = w.finish(d, r)
	var out loopbroker.Settlement
	err := w.persist(ctx, func(ctx context.Context) (err error) {
		out, err = w.store.DeadLetter(ctx, loopbroker.Completion{Lease: d.Lease, Reply: r}, reason)
		return err
	})
	if err != nil {
		w.unsettled(d, err)
		return
	}
	w.settled(d, r, out)
}

// release hands a job back.
func (w *Worker) release(ctx context.Context, d loopbroker.Delivery, delay time.Duration, refund bool) {
	var out loopbroker.Settlement
	err := w.persist(ctx, func(ctx context.Context) (err error) {
		out, err = w.store.Release(ctx, d.Lease, delay, refund)
		return err
	})
	switch {
	case err != nil:
		w.unsettled(d, err)
	case out != loopbroker.Settled:
		w.dropped(d, out)
	case refund:
		w.stats.returned.Add(1)
	default:
		w.stats.retried.Add(1)
	}
}

// settled counts a reply that the database answered for.
func (w *Worker) settled(d loopbroker.Delivery, r loopbroker.Reply, s loopbroker.Settlement) {
	if s != loopbroker.Settled {
		w.dropped(d, s)
		return
	}
	switch r.State {
	case loopbroker.StateCompleted:
		w.stats.completed.Add(1)
	case loopbroker.StateExpired:
		w.stats.expired.Add(1)
	case loopbroker.StateCancelled:
		w.stats.cancelled.Add(1)
	default:
		w.stats.failed.Add(1)
	}
	w.jobLog(d).Debug("job settled", guardlog.Str("state", string(r.State)), guardlog.Str(guardlog.KeyErrorClass, string(r.ErrorClass)),
		guardlog.Duration("took", r.Timings.Total))
}

// dropped counts a result that came too late.
func (w *Worker) dropped(d loopbroker.Delivery, s loopbroker.Settlement) {
	w.stats.dropped.Add(1)
	w.jobLog(d).Warn("result dropped", guardlog.Str(guardlog.KeySettled, s.String()))
}

// unsettled counts an outcome that the database would not take. Its lease lapses.
func (w *Worker) unsettled(d loopbroker.Delivery, err error) {
	w.stats.unsettled.Add(1)
	w.jobLog(d).Error("settle failed", guardlog.Err(err))
}

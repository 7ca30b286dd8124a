package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"loopbroker"
	"loopbroker/internal/guardlog"
	"loopbroker/internal/transient"
)

// completions is the loop that runs completion procedures. It asks the database only
// when a claim has said that some are due, and holds no slot of a job. It returns
// when ctx is done; runs go on under workCtx and are counted in jobs.
func (w *Worker) completions(ctx, workCtx context.Context, jobs *sync.WaitGroup) {
	slots := make(chan struct{}, w.opts.CompletionSlots)
	freed := make(chan struct{}, 1)
	failures := 0
	for w.await(ctx, nil, w.due, 0) {
		for more := true; more && ctx.Err() == nil; {
			free := cap(slots) - len(slots)
			if free == 0 {
				w.await(ctx, freed, nil, 0)
				continue
			}
			var batch []loopbroker.DueCompletion
			// Not cut short by the end of ctx, like a claim.
			err := w.call(context.WithoutCancel(ctx), func(ctx context.Context) (err error) {
				batch, err = w.store.DueCompletions(ctx, free)
				return err
			})
			if err != nil {
				failures++
				w.log.Warn("claim of completions failed", guardlog.Err(err), guardlog.Int(guardlog.KeyAttempt, failures))
				transient.Sleep(ctx, w.away.Delay(failures, 0))
				continue
			}
			failures = 0
			more = len(batch) == free
			for _, d := range batch {
				slots <- struct{}{} // never waits: the claim was for what is free
				jobs.Go(func() {
					defer func() {
						<-slots
						signal(freed)
					}()
					w.runCompletion(workCtx, d)
				})
			}
		}
	}
}

// runCompletion runs one completion procedure and ends it after its time. What it
// says when it fails can quote data, so the log has only that it did.
func (w *Worker) runCompletion(workCtx context.Context, d loopbroker.DueCompletion) {
	log := w.log.WithInt64(guardlog.KeyRequest, d.Lease.RequestID)
	settleCtx := context.WithoutCancel(workCtx)
	var out loopbroker.CompletionOutcome
	err := w.callFor(workCtx, d.Timeout, func(ctx context.Context) (err error) {
		out, err = w.store.RunCompletion(ctx, d)
		return err
	})
	switch {
	case err == nil:
	case workCtx.Err() != nil:
		// The process stops: another one runs it, as if this run had not been.
		err = w.persist(settleCtx, func(ctx context.Context) error {
			_, err := w.store.Release(ctx, d.Lease, 0, true)
			return err
		})
		if err != nil {
			log.Warn("completion not handed back", guardlog.Err(err))
		}
		return
	case errors.Is(err, context.DeadlineExceeded):
		err = w.persist(settleCtx, func(ctx context.Context) (err error) {
			out, err = w.store.FailCompletion(ctx, d, fmt.Sprintf("The run was ended after %s.", d.Timeout))
			return err
		})
	}
	if err != nil {
		log.Warn("completion interrupted", guardlog.Err(err)) // its lease lapses
		return
	}
	switch out {
	case loopbroker.CompletionDone:
		w.stats.ran.Add(1)
	case loopbroker.CompletionRetried:
		w.stats.ranBadly.Add(1)
		log.Warn("completion failed")
	case loopbroker.CompletionBuried:
		w.stats.ranForTheLastTime.Add(1)
		log.Error("completion buried")
	case loopbroker.CompletionLost:
		log.Warn("completion dropped")
	}
}

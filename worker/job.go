package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"loopbroker"
	"loopbroker/internal/guardlog"
)

// do runs one delivery and settles its outcome. ctx ends with the lease, with a
// cancellation and with the time to drain; the settling goes on without it.
func (w *Worker) do(ctx context.Context, d loopbroker.Delivery) {
	settleCtx := context.WithoutCancel(ctx)
	if d.Deferred && d.Poison == "" && !w.load(ctx, &d) {
		return
	}
	began := time.Now()
	reply, fault := w.run(ctx, d)
	timings := &reply.Timings
	if fault != nil {
		timings = &fault.Timings
	}
	if timings.Total == 0 {
		timings.Total = time.Since(began)
	}
	if fault == nil {
		w.settleReply(settleCtx, d, loopbroker.CompletedReply(reply))
		return
	}
	w.settleFault(settleCtx, d, fault)
}

// load fetches what the claim left out. If it cannot, the job is handed back, or
// left to whoever has the lease now.
func (w *Worker) load(ctx context.Context, d *loopbroker.Delivery) bool {
	var text string
	var body []byte
	err := w.persist(ctx, func(ctx context.Context) (err error) {
		text, body, err = w.store.Load(ctx, d.Lease)
		return err
	})
	switch {
	case err == nil:
		d.Job.JSON, d.Job.Body = text, body
		return true
	case errors.Is(err, loopbroker.ErrLeaseLost):
		w.dropped(*d, loopbroker.SettledLost)
	default:
		w.jobLog(*d).Warn("load failed", guardlog.Err(err))
		w.release(context.WithoutCancel(ctx), *d, w.retry.Delay(d.Job.Attempt, 0), true)
	}
	return false
}

// run decides whether the job may run, and runs it.
func (w *Worker) run(ctx context.Context, d loopbroker.Delivery) (loopbroker.Reply, *loopbroker.Fault) {
	job := d.Job
	refuse := func(class loopbroker.ErrorClass, format string, args ...any) (loopbroker.Reply, *loopbroker.Fault) {
		return loopbroker.Reply{}, loopbroker.NewFault(class, format, args...)
	}
	switch {
	case d.Poison != "":
		return refuse(loopbroker.ErrorClassPoison, "%s", d.Poison)
	case job.Expired:
		return refuse(loopbroker.ErrorClassExpired, "the time to start the request had passed before a worker could")
	case job.MaxAttempts > 0 && job.Attempt > job.MaxAttempts:
		return refuse(loopbroker.ErrorClassAttemptsExhausted, "the request was started %d times and no worker lived to report", job.MaxAttempts)
	}
	handler, ok := w.opts.Handlers[job.Type]
	if !ok {
		return refuse(loopbroker.ErrorClassHandlerUnknown, "the worker has no handler for jobs of type %q", job.Type)
	}
	if job.Attempt > 1 && job.Age > 0 {
		if job.TotalLeft = w.opts.TotalTimeout - job.Age; job.TotalLeft <= 0 {
			return refuse(loopbroker.ErrorClassTimeoutTotal, "the time for all attempts ended after %s", w.opts.TotalTimeout)
		}
	} else {
		job.TotalLeft = w.opts.TotalTimeout // a first attempt starts with the clock
	}
	reply, err := w.handle(ctx, handler, job)
	if err == nil {
		return reply, nil
	}
	return loopbroker.Reply{}, w.explain(ctx, err)
}

// handle calls the handler and recovers its panic.
func (w *Worker) handle(ctx context.Context, h loopbroker.Handler, job loopbroker.Job) (reply loopbroker.Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			// The value may quote what the handler worked on; its type may not.
			w.log.WithInt64(guardlog.KeyRequest, job.RequestID).Error("handler panicked",
				guardlog.Str(guardlog.KeyType, job.Type), guardlog.Str("panic", fmt.Sprintf("%T", p)), guardlog.Str("stack", string(debug.Stack())))
			err = loopbroker.NewFault(loopbroker.ErrorClassHandlerPanic, "the handler panicked")
		}
	}()
	return h.Handle(ctx, job)
}

// explain turns a handler's error into a fault. A handler that only passes on that
// its context ended is understood by the reason for that.
func (w *Worker) explain(ctx context.Context, err error) *loopbroker.Fault {
	var own *loopbroker.Fault
	if errors.As(err, &own) {
		return own
	}
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return loopbroker.AsFault(err)
	case errors.Is(cause, loopbroker.ErrCancelled):
		return &loopbroker.Fault{Class: loopbroker.ErrorClassCancelled, Message: "the request was called off", Err: err}
	case errors.Is(cause, loopbroker.ErrLeaseLost):
		return &loopbroker.Fault{Class: loopbroker.ErrorClassLeaseLost, Message: "the lease was lost", Err: err}
	default:
		return &loopbroker.Fault{Class: loopbroker.ErrorClassInterrupted, Message: "the worker stopped", Retryable: true, Err: err}
	}
}

// settleFault decides between another attempt, the reply that stands, and the end.
func (w *Worker) settleFault(ctx context.Context, d loopbroker.Delivery, f *loopbroker.Fault) {
	log := w.jobLog(d)
	if f.Class == loopbroker.ErrorClassLeaseLost {
		w.dropped(d, loopbroker.SettledLost)
		return
	}
	if f.Deferred && w.deferred(ctx, d, f) {
		return
	}
	if f.Retryable && d.Job.Attempt < d.Job.MaxAttempts {
		delay := w.retry.Delay(d.Job.Attempt, f.RetryAfter)
		if f.Class == loopbroker.ErrorClassInterrupted {
			delay = 0 // another worker can take it at once
		}
		if d.Job.Age == 0 || d.Job.Age+f.Timings.Total+delay < w.opts.TotalTimeout {
			log.Info("job retried", guardlog.Str(guardlog.KeyErrorClass, string(f.Class)), guardlog.Duration(guardlog.KeyDelay, delay))
			w.release(ctx, d, delay, false)
			return
		}
		if f.Reply == nil {
			f = &loopbroker.Fault{
				Class: loopbroker.ErrorClassTimeoutTotal, Timings: f.Timings, Err: f,
				Message: fmt.Sprintf("the time for all attempts ends before the next one; the last ended with %s", f.Error()),
			}
		}
	}
	reply := loopbroker.FailedReply(f)
	if reply.State != loopbroker.StateFailed || !f.Class.Buried() {
		w.settleReply(ctx, d, reply)
		return
	}
	log.Warn("job buried", guardlog.Str(guardlog.KeyErrorClass, string(f.Class)))
	w.bury(ctx, d, reply, f.Error())
}

// deferred gives back a job that was not run, with its attempt, unless the time for
// all attempts ends before it could be. A job that was never run is not judged by
// that clock, which starts with the first attempt, but by the queue's expiry.
func (w *Worker) deferred(ctx context.Context, d loopbroker.Delivery, f *loopbroker.Fault) bool {
	delay := max(f.RetryAfter, w.opts.MinPoll)
	if d.Job.Attempt > 1 && d.Job.Age > 0 && d.Job.Age+delay >= w.opts.TotalTimeout {
		return false
	}
	w.jobLog(d).Debug("job deferred", guardlog.Str(guardlog.KeyErrorClass, string(f.Class)), guardlog.Duration(guardlog.KeyDelay, delay))
	w.release(ctx, d, delay, true)
	return true
}

// finish fills in what the worker knows about a reply.
func (w *Worker) finish(d loopbroker.Delivery, r loopbroker.Reply) loopbroker.Reply {
	r.Attempts = d.Job.Attempt
	r.Worker = w.opts.ID
	r.Timings.Queue = d.Job.Queued
	return r
}

// jobLog returns a logger for the job's lines.
func (w *Worker) jobLog(d loopbroker.Delivery) guardlog.Logger {
	return w.log.WithInt64(guardlog.KeyRequest, d.Lease.RequestID).
		WithStr(guardlog.KeyType, d.Job.Type).
		WithInt64(guardlog.KeyAttempt, int64(d.Job.Attempt))
}

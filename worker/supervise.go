package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"loopbroker/internal/guardlog"
	"loopbroker/internal/transient"
)

// supervise runs a loop until it returns. One that panics is begun again, after a
// pause that grows with each time, until ctx is done.
func (w *Worker) supervise(ctx context.Context, name string, loop func()) {
	for n := 1; ; n++ {
		began := time.Now()
		if w.guard(name, loop) {
			return
		}
		if time.Since(began) > w.opts.OutageCap {
			n = 1
		}
		if !transient.Sleep(ctx, w.away.Delay(n, 0)) {
			return
		}
	}
}

// guard runs a loop and reports whether it returned by itself.
func (w *Worker) guard(name string, loop func()) (returned bool) {
	defer func() {
		if p := recover(); p != nil {
			w.stats.restarts.Add(1)
			w.log.Error("loop failed", guardlog.Str("loop", name), guardlog.Str("panic", fmt.Sprintf("%T", p)), guardlog.Str("stack", string(debug.Stack())))
		}
	}()
	loop()
	return true
}

// errStore means that the store panicked. What it did is unknown.
var errStore = errors.New("the store panicked")

// call bounds one call of the database. A panic in it is an error of that call only.
func (w *Worker) call(ctx context.Context, f func(context.Context) error) error {
	return w.callFor(ctx, w.opts.CallTimeout, f)
}

// callFor is call with another bound.
func (w *Worker) callFor(ctx context.Context, timeout time.Duration, f func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %T", errStore, p)
		}
	}()
	return f(ctx)
}

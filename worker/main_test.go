package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"loopbroker"
	"loopbroker/worker"
	"loopbroker/worker/workertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is one worker over a store in memory, within a bubble of fake time.
type bench struct {
	t     *testing.T
	store *workertest.Memory
	opts  worker.Options

	w    *worker.Worker
	stop context.CancelFunc
	done chan error
}

// bubble runs f with a fresh bench in fake time.
func bubble(t *testing.T, f func(*bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(&bench{t: t, store: workertest.NewMemory(), opts: worker.Options{ID: "w1", Handlers: map[string]loopbroker.Handler{}}})
	})
}

// handle registers a handler.
func (b *bench) handle(kind string, f loopbroker.HandlerFunc) { b.opts.Handlers[kind] = f }

// enqueue stores a request of the type with three attempts.
func (b *bench) enqueue(kind string) int64 {
	return b.store.Enqueue(loopbroker.Request{Type: kind, JSON: "{}"})
}

// start runs the worker.
func (b *bench) start() {
	b.t.Helper()
	w, err := worker.New(b.store, b.opts)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	b.w, b.stop, b.done = w, cancel, make(chan error, 1)
	go func() { b.done <- w.Run(ctx) }() // ended by end, in each test
}

// end stops the worker and returns what Run returned.
func (b *bench) end() error {
	b.stop()
	return <-b.done
}

// after lets time pass and everything that is due in it happen.
func (b *bench) after(d time.Duration) {
	time.Sleep(d) // fake time
	synctest.Wait()
}

// reply returns the reply of a request, which must be there.
func (b *bench) reply(id int64) loopbroker.Reply {
	b.t.Helper()
	r, ok := b.store.Reply(id)
	if !ok {
		b.t.Fatalf("request %d has no reply", id)
	}
	return r
}

// noReply fails if a request has its reply.
func (b *bench) noReply(id int64) {
	b.t.Helper()
	if r, ok := b.store.Reply(id); ok {
		b.t.Errorf("request %d has the reply %+v, want none", id, r)
	}
}

// takes returns a handler that works for d of fake time, or less if its context
// ends, and says how.
func takes(d time.Duration) loopbroker.HandlerFunc {
	return func(ctx context.Context, _ loopbroker.Job) (loopbroker.Reply, error) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return loopbroker.Reply{JSON: `"done"`}, nil
		case <-ctx.Done():
			return loopbroker.Reply{}, context.Cause(ctx)
		}
	}
}

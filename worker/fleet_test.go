package worker_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"loopbroker"
)

// busyUntil returns a handler that gives jobs back until the moment.
func busyUntil(begin time.Time, after, pause time.Duration) loopbroker.HandlerFunc {
	return func(context.Context, loopbroker.Job) (loopbroker.Reply, error) {
		if time.Since(begin) < after {
			return loopbroker.Reply{}, &loopbroker.Fault{Class: loopbroker.ErrorClassHostBusy, Message: "busy", Deferred: true, RetryAfter: pause}
		}
		return loopbroker.Reply{JSON: `"done"`}, nil
	}
}

// TestRun_Defers: a host that takes no more just now must cost neither a slot nor an
// attempt, however often it says so.
func TestRun_Defers(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.opts.Slots = 1
		b.handle("work", busyUntil(time.Now(), 10*time.Minute, 3*time.Second))
		b.handle("other", takes(0))
		id := b.store.Enqueue(loopbroker.Request{Type: "work", JSON: "{}", MaxAttempts: 1})
		b.start()
		b.after(5 * time.Minute)
		b.noReply(id)
		if got := b.store.Attempts(id); got > 1 {
			t.Errorf("%d attempts are counted, want them taken back", got)
		}
		other := b.enqueue("other")
		b.after(2 * time.Second)
		b.reply(other)
		b.after(6 * time.Minute)
		if got := b.reply(id); got.State != loopbroker.StateCompleted || got.Attempts != 1 {
			t.Errorf("reply = %+v, want completed in the first attempt", got)
		}
		if got := b.w.Stats(); got.Returned < 50 || got.Retried != 0 {
			t.Errorf("stats = %+v, want the deferrals among the returned", got)
		}
		_ = b.end()
	})
}

// TestRun_DeferralEnds: a job that is deferred for ever ends with the queue's expiry,
// or, once it has been tried, with the clock over all attempts.
func TestRun_DeferralEnds(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.opts.TotalTimeout = 10 * time.Minute
		b.handle("work", busyUntil(time.Now(), time.Hour, time.Second))
		attempts := 0
		b.handle("tried", func(context.Context, loopbroker.Job) (loopbroker.Reply, error) {
			if attempts++; attempts == 1 {
				return loopbroker.Reply{}, loopbroker.NewFault(loopbroker.ErrorClassConnect, "no")
			}
			return loopbroker.Reply{}, &loopbroker.Fault{Class: loopbroker.ErrorClassHostOpen, Message: "open", Deferred: true, RetryAfter: time.Second}
		})
		never := b.store.Enqueue(loopbroker.Request{Type: "work", JSON: "{}", Expires: 5 * time.Minute})
		tried := b.enqueue("tried")
		b.start()
		b.after(4 * time.Minute)
		b.noReply(never)
		b.noReply(tried)
		b.after(8 * time.Minute)
		if got := b.reply(never); got.State != loopbroker.StateExpired {
			t.Errorf("reply = %+v, want expired", got)
		}
		if got := b.reply(tried); got.State != loopbroker.StateFailed || got.Attempts != 2 {
			t.Errorf("reply = %+v, want failed in the second attempt", got)
		}
		_ = b.end()
	})
}

// TestRun_FollowsThePolicy: no job is claimed before the policy is known, and a change
// needs no restart.
func TestRun_FollowsThePolicy(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		var mu sync.Mutex
		var got []int
		b.opts.Policy = func(p loopbroker.Policy) error {
			mu.Lock()
			defer mu.Unlock()
			if len(got) == 0 || got[len(got)-1] != len(p.Endpoints) {
				got = append(got, len(p.Endpoints))
			}
			return errors.New("a row is wrong") // the others hold
		}
		var away atomic.Bool
		away.Store(true)
		b.store.Fail = func(method string) error {
			if method == "Policy" && away.Load() {
				return errBroken
			}
			return nil
		}
		b.store.SetPolicy(loopbroker.Policy{Endpoints: make([]loopbroker.Endpoint, 1)})
		b.handle("work", takes(0))
		id := b.enqueue("work")
		b.start()
		b.after(time.Minute)
		b.noReply(id)
		if n := b.store.Count("Claim"); n != 0 {
			t.Errorf("claimed %d times without a policy", n)
		}
		away.Store(false)
		b.after(10 * time.Second)
		b.reply(id)
		b.store.SetPolicy(loopbroker.Policy{Endpoints: make([]loopbroker.Endpoint, 2)})
		b.after(2 * time.Second)
		mu.Lock()
		if len(got) != 2 || got[0] != 1 || got[1] != 2 {
			t.Errorf("policies with %v endpoints, want 1 and then 2", got)
		}
		mu.Unlock()
		_ = b.end()
	})
}

// hosts is a reporter whose states a test sets.
type hosts struct {
	mu     sync.Mutex
	states []loopbroker.HostState // guarded by mu
}

func (h *hosts) HostStates() []loopbroker.HostState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.states
}

func (h *hosts) ResetHost(string) bool { return false }

func (h *hosts) set(states ...loopbroker.HostState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.states = states
}

// TestRun_ReportsHosts that there is something to say about.
func TestRun_ReportsHosts(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		reporter := &hosts{}
		b.opts.Hosts = reporter
		b.handle("work", takes(0))
		idle := loopbroker.HostState{Host: "http://a:80", Breaker: loopbroker.BreakerClosed}
		open := loopbroker.HostState{Host: "http://b:80", Breaker: loopbroker.BreakerOpen, OpenFor: time.Second}
		reporter.set(idle, open)
		b.start()
		b.after(10 * time.Second)
		if got := b.store.Hosts(); len(got) != 1 || got[0] != open {
			t.Errorf("reported %+v, want the open one", got)
		}
		reporter.set(idle)
		b.after(10 * time.Second)
		if got := b.store.Hosts(); len(got) != 0 {
			t.Errorf("reported %+v, want nothing", got)
		}
		_ = b.end()
	})
}

// TestRun_Completions: a completion procedure that throws, hangs or panics harms
// neither the reply nor other jobs, and is run again, but not for ever.
func TestRun_Completions(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.handle("work", takes(0))
		runs := map[string]*atomic.Int64{}
		ids := map[string]int64{}
		add := func(name string, f func(context.Context) error) {
			runs[name], ids[name] = &atomic.Int64{}, b.enqueue("work")
			b.store.OnComplete(ids[name], 5*time.Second, func(ctx context.Context) error {
				runs[name].Add(1)
				return f(ctx)
			})
		}
		add("runs", func(context.Context) error { return nil })
		add("throws", func(context.Context) error { return errBroken })
		add("panics", func(context.Context) error { panic("in the driver") })
		for _, name := range []string{"hangs", "hangs too", "hangs as well", "hangs for ever"} {
			add(name, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		}
		b.start()
		b.after(100 * time.Millisecond)
		for _, id := range ids {
			b.reply(id) // none waits for a completion
		}
		b.after(10 * time.Minute)
		for name, want := range map[string]int64{"runs": 1, "throws": 3, "panics": 1, "hangs": 3, "hangs too": 3, "hangs as well": 3, "hangs for ever": 3} {
			if got := runs[name].Load(); got != want {
				t.Errorf("%s: %d runs, want %d", name, got, want)
			}
		}
		if got := b.w.Stats(); got.CompletionsRun != 1 || got.CompletionsBuried != 5 || got.CompletionsFailed != 10 || got.Completed != 7 {
			t.Errorf("stats = %+v", got)
		}
		if n := b.store.Count("DueCompletions"); n > 200 {
			t.Errorf("asked %d times for completions", n)
		}
		before := b.store.Count("DueCompletions")
		b.after(time.Hour)
		if n := b.store.Count("DueCompletions") - before; n != 0 {
			t.Errorf("asked %d times for completions while none was due", n)
		}
		if err := b.end(); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

// TestRun_CompletionsDrain: a stop waits for a completion that runs, and hands one back
// that does not end.
func TestRun_CompletionsDrain(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.handle("work", takes(0))
		var ended atomic.Int64
		for _, d := range []time.Duration{5 * time.Second, time.Hour} {
			b.store.OnComplete(b.enqueue("work"), 2*time.Hour, func(ctx context.Context) error {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(d):
					ended.Add(1)
					return nil
				}
			})
		}
		b.start()
		b.after(time.Second)
		begin := time.Now()
		if err := b.end(); !errors.Is(err, loopbroker.ErrStopped) {
			t.Errorf("Run = %v, want ErrStopped", err)
		}
		if took := time.Since(begin); ended.Load() != 1 || took < 4*time.Second || took > 25*time.Second {
			t.Errorf("%d ended, stopped after %s", ended.Load(), took)
		}
		due, err := b.store.DueCompletions(b.t.Context(), 10)
		if err != nil || len(due) != 1 {
			t.Errorf("due = %v, %v, want the one that did not end", due, err)
		}
	})
}

// TestRun_RestartsLoops: a loop that fails is begun again for ever, and a store that
// panics ends nothing.
func TestRun_RestartsLoops(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		var broken atomic.Bool
		b.store.Fail = func(string) error {
			if broken.Load() {
				panic("secret text")
			}
			return nil
		}
		var log strings.Builder
		logger := zerolog.New(zerolog.SyncWriter(&log))
		b.opts.Logger = &logger
		b.opts.Policy = func(loopbroker.Policy) error {
			if broken.Load() {
				panic("secret text")
			}
			return nil
		}
		b.opts.Hosts = panicky{&broken}
		b.handle("work", takes(0))
		b.start()
		b.after(time.Second)
		for range 3 {
			broken.Store(true)
			b.after(3 * time.Minute)
			id := b.enqueue("work")
			broken.Store(false)
			b.after(15 * time.Second)
			b.reply(id)
			if n := len(b.store.Workers()); n != 1 {
				t.Errorf("%d workers are registered", n)
			}
		}
		before := b.store.Count("Heartbeat")
		b.after(time.Minute)
		if n := b.store.Count("Heartbeat") - before; n < 10 {
			t.Errorf("%d heartbeats in a minute", n)
		}
		if got := b.w.Stats().Restarts; got == 0 || got > 300 {
			t.Errorf("%d restarts", got)
		}
		if err := b.end(); err != nil {
			t.Errorf("Run = %v", err)
		}
		if strings.Contains(log.String(), "secret") {
			t.Error("the log quotes a panic")
		}
	})
}

// panicky is a reporter that panics while it is told to.
type panicky struct{ on *atomic.Bool }

func (p panicky) HostStates() []loopbroker.HostState {
	if p.on.Load() {
		panic("secret text")
	}
	return nil
}

func (p panicky) ResetHost(string) bool { return false }

// TestRun_SweepsGoOn while there is more to do, and rest when there is not.
func TestRun_SweepsGoOn(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.opts.JanitorBatch = 10
		b.handle("other", takes(0))
		for range 95 {
			b.store.Enqueue(loopbroker.Request{Type: "work", JSON: "{}", Expires: time.Millisecond})
		}
		b.start()
		b.after(40 * time.Second)
		if n := b.store.Queued(); n != 0 {
			t.Errorf("%d rows are left", n)
		}
		before := b.store.Count("Sweep")
		b.after(10 * time.Minute)
		if n := b.store.Count("Sweep") - before; n > 60 {
			t.Errorf("%d sweeps in ten idle minutes", n)
		}
		_ = b.end()
	})
}

// TestRun_IdleCallsPerMinute: eight quiet workers must not keep a server busy.
func TestRun_IdleCallsPerMinute(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.opts.Policy = func(loopbroker.Policy) error { return nil }
		b.handle("work", takes(0))
		b.start()
		b.after(time.Minute)
		calls := func() int {
			n := 0
			for _, m := range []string{"Claim", "Heartbeat", "Sweep", "Policy", "DueCompletions", "Complete", "Register"} {
				n += b.store.Count(m)
			}
			return n
		}
		before := calls()
		b.after(10 * time.Minute)
		if n := (calls() - before) / 10; n > 120 {
			t.Errorf("%d calls a minute of an idle worker", n)
		}
		_ = b.end()
	})
}

package worker_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"loopbroker"
	"loopbroker/worker"
	"loopbroker/worker/workertest"
)

func TestRun_Completes(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.handle("echo", func(_ context.Context, j loopbroker.Job) (loopbroker.Reply, error) {
			return loopbroker.Reply{HTTPStatus: 200, JSON: j.JSON, Body: j.Body, State: loopbroker.StateFailed, ErrorMessage: "a handler does not say so"}, nil
		})
		id := b.store.Enqueue(loopbroker.Request{Type: "echo", JSON: `{"n":1}`, Body: []byte{1}, Due: time.Second})
		b.start()
		b.after(4 * time.Second)
		got := b.reply(id)
		if got.State != loopbroker.StateCompleted || got.ErrorClass != "" || got.ErrorMessage != "" || got.JSON != `{"n":1}` || string(got.Body) != "\x01" ||
			got.Attempts != 1 || got.Worker != "w1" || got.HTTPStatus != 200 {
			t.Errorf("reply = %+v", got)
		}
		if err := b.end(); err != nil {
			t.Errorf("Run = %v", err)
		}
		if s := b.w.Stats(); s.Completed != 1 || s.Claimed != 1 {
			t.Errorf("stats = %+v", s)
		}
	})
}

// TestRun_Outcomes states what becomes of each way for a job to end.
func TestRun_Outcomes(t *testing.T) {
	t.Parallel()

	fault := func(f loopbroker.Fault) loopbroker.HandlerFunc {
		return func(context.Context, loopbroker.Job) (loopbroker.Reply, error) {
			return loopbroker.Reply{}, fmt.Errorf("wrapped: %w", &f)
		}
	}
	tests := []struct {
		name     string
		request  loopbroker.Request
		handler  loopbroker.HandlerFunc
		state    loopbroker.State
		class    loopbroker.ErrorClass
		status   int
		attempts int
		buried   bool
	}{
		{
			name: "final fault", handler: fault(loopbroker.Fault{Class: loopbroker.ErrorClassBadURL, Message: "m"}),
			state: loopbroker.StateFailed, class: loopbroker.ErrorClassBadURL, attempts: 1,
		},
		{
			name: "final fault that might have passed", handler: fault(loopbroker.Fault{Class: loopbroker.ErrorClassTimeoutHeader, Message: "m"}),
			state: loopbroker.StateFailed, class: loopbroker.ErrorClassTimeoutHeader, attempts: 1, buried: true,
		},
		{
			name: "retried until the end", handler: fault(loopbroker.Fault{Class: loopbroker.ErrorClassConnect, Message: "m", Retryable: true}),
			state: loopbroker.StateFailed, class: loopbroker.ErrorClassConnect, attempts: 3, buried: true,
		},
		{
			name: "answer that asked for more attempts",
			handler: fault(loopbroker.Fault{
				Class: loopbroker.ErrorClassStatus, Message: "m", Retryable: true, RetryAfter: time.Minute, Reply: &loopbroker.Reply{HTTPStatus: 503},
			}),
			state: loopbroker.StateCompleted, status: 503, attempts: 3,
		},
		{
			name: "answer that must not be repeated",
			handler: fault(loopbroker.Fault{
				Class: loopbroker.ErrorClassStatus, Message: "m", Reply: &loopbroker.Reply{HTTPStatus: 502},
			}),
			state: loopbroker.StateCompleted, status: 502, attempts: 1,
		},
		{
			name: "plain error",
			handler: func(context.Context, loopbroker.Job) (loopbroker.Reply, error) {
				return loopbroker.Reply{}, errors.New("secret text")
			},
			state: loopbroker.StateFailed, class: loopbroker.ErrorClassHandlerFailed, attempts: 3, buried: true,
		},
		{
			name:    "panic",
			handler: func(context.Context, loopbroker.Job) (loopbroker.Reply, error) { panic("secret text") },
			state:   loopbroker.StateFailed, class: loopbroker.ErrorClassHandlerPanic, attempts: 1, buried: true,
		},
		{
			name: "unknown type", request: loopbroker.Request{Type: "other"},
			state: loopbroker.StateFailed, class: loopbroker.ErrorClassHandlerUnknown, attempts: 1, buried: true,
		},
		{
			name: "expired", request: loopbroker.Request{Due: 3 * time.Second, Expires: 2 * time.Second},
			state: loopbroker.StateExpired, class: loopbroker.ErrorClassExpired, attempts: 1,
		},
		{
			name: "one attempt only", request: loopbroker.Request{MaxAttempts: 1},
			handler: fault(loopbroker.Fault{Class: loopbroker.ErrorClassConnect, Message: "m", Retryable: true}),
			state:   loopbroker.StateFailed, class: loopbroker.ErrorClassConnect, attempts: 1, buried: true,
		},
		{
			name: "cancelled by the handler", handler: fault(loopbroker.Fault{Class: loopbroker.ErrorClassCancelled, Message: "m"}),
			state: loopbroker.StateCancelled, class: loopbroker.ErrorClassCancelled, attempts: 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *bench) {
				if tt.request.Type == "" {
					tt.request.Type = "work"
				}
				tt.request.JSON = "{}"
				ran := 0
				b.handle("work", func(ctx context.Context, j loopbroker.Job) (loopbroker.Reply, error) {
					ran++
					if tt.handler == nil {
						t.Error("the job was run")
						return loopbroker.Reply{}, nil
					}
					return tt.handler(ctx, j)
				})
				enqueue := b.store.Enqueue
				if tt.request.Type != "work" {
					enqueue = b.store.EnqueueMisplaced
				}
				id := enqueue(tt.request)
				b.start()
				b.after(20 * time.Minute)
				got := b.reply(id)
				if got.State != tt.state || got.ErrorClass != tt.class || got.HTTPStatus != tt.status || got.Attempts != tt.attempts || got.Worker != "w1" {
					t.Errorf("reply = %+v, want %s, %q, status %d, %d attempts", got, tt.state, tt.class, tt.status, tt.attempts)
				}
				if strings.Contains(got.ErrorMessage, "secret") || (tt.class != "") != (got.ErrorMessage != "") {
					t.Errorf("error message = %q", got.ErrorMessage)
				}
				if tt.handler != nil && ran != tt.attempts {
					t.Errorf("ran %d times, want %d", ran, tt.attempts)
				}
				if reason, buried := b.store.Buried(id); buried != tt.buried || strings.Contains(reason, "secret") {
					t.Errorf("buried = %v (%q), want %v", buried, reason, tt.buried)
				}
				if b.store.Queued() != 0 {
					t.Errorf("%d rows are left in the queue", b.store.Queued())
				}
				if err := b.end(); err != nil {
					t.Errorf("Run = %v", err)
				}
			})
		})
	}
}

func TestRun_PoisonDoesNotStopTheLine(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.handle("work", takes(0))
		b.store.EnqueuePoison()
		id := b.enqueue("work")
		b.start()
		b.after(time.Minute)
		b.reply(id)
		if _, buried := b.store.Buried(0); !buried || b.store.Queued() != 0 {
			t.Errorf("buried = %v, %d rows are left", buried, b.store.Queued())
		}
		if err := b.end(); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

func TestRun_LoadsDeferredContent(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.store.DeferOver = 10
		got := ""
		b.handle("work", func(_ context.Context, j loopbroker.Job) (loopbroker.Reply, error) {
			got = j.JSON + string(j.Body)
			return loopbroker.Reply{}, nil
		})
		id := b.store.Enqueue(loopbroker.Request{Type: "work", JSON: `"0123456789"`, Body: []byte("abc")})
		b.start()
		b.after(time.Minute)
		b.reply(id)
		if want := `"0123456789"abc`; got != want {
			t.Errorf("the handler got %q, want %q", got, want)
		}
		_ = b.end()
	})
}

// TestRun_SlowJobHoldsNobodyUp has one job that hangs among nineteen that do not.
func TestRun_SlowJobHoldsNobodyUp(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.handle("slow", takes(10*time.Second))
		b.handle("work", takes(50*time.Millisecond))
		slow := b.enqueue("slow")
		var ids []int64
		for range 19 {
			ids = append(ids, b.enqueue("work"))
		}
		b.start()
		b.after(100 * time.Millisecond)
		for _, id := range ids {
			b.reply(id)
		}
		b.noReply(slow)
		b.after(10 * time.Second)
		b.reply(slow)
		_ = b.end()
	})
}

// TestRun_ClaimsOnlyFreeSlots makes sure that nothing waits in the process.
func TestRun_ClaimsOnlyFreeSlots(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.opts.Slots = 3
		b.handle("work", takes(time.Second))
		for range 10 {
			b.enqueue("work")
		}
		b.start()
		b.after(500 * time.Millisecond)
		if got := b.w.Stats().Claimed; got != 3 {
			t.Errorf("claimed %d, want 3", got)
		}
		b.after(10 * time.Second)
		if got := b.w.Stats(); got.Completed != 10 {
			t.Errorf("stats = %+v, want 10 completed", got)
		}
		_ = b.end()
	})
}

// slowCompletes is a store whose completions take their time.
type slowCompletes struct {
	worker.Store
	takes time.Duration
}

func (s slowCompletes) Complete(ctx context.Context, batch []loopbroker.Completion) ([]loopbroker.Settlement, error) {
	time.Sleep(s.takes) // fake time
	return s.Store.Complete(ctx, batch)
}

// TestRun_SharesCalls lets many jobs end at the same moment: what becomes ready
// during a call goes together in the next one.
func TestRun_SharesCalls(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.opts.Completers = 1
		b.handle("work", takes(time.Second))
		for range 60 {
			b.enqueue("work")
		}
		w, err := worker.New(slowCompletes{b.store, time.Millisecond}, b.opts)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(b.t.Context(), 3*time.Second)
		defer cancel()
		if err := w.Run(ctx); err != nil {
			t.Errorf("Run = %v", err)
		}
		// One that was ready first, then up to 50, then the rest of each claim's jobs.
		if got := w.Stats(); got.Completed != 60 || got.SharedCalls > 10 {
			t.Errorf("stats = %+v, want 60 completed in few calls", got)
		}
	})
}

func TestRun_RetryWaits(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		var at []time.Duration
		start := time.Now()
		b.handle("work", func(context.Context, loopbroker.Job) (loopbroker.Reply, error) {
			at = append(at, time.Since(start))
			f := loopbroker.NewFault(loopbroker.ErrorClassConnect, "m")
			f.RetryAfter = 30 * time.Second
			return loopbroker.Reply{}, f
		})
		b.enqueue("work")
		b.start()
		b.after(10 * time.Minute)
		if len(at) != 3 {
			t.Fatalf("ran at %v, want three times", at)
		}
		for i := 1; i < len(at); i++ {
			// What the target asked for, a tenth on top, and one poll of an idle worker.
			if pause := at[i] - at[i-1]; pause < 30*time.Second || pause > 35*time.Second {
				t.Errorf("pause %d = %s, want 30s and a little", i, pause)
			}
		}
		if s := b.w.Stats(); s.Retried != 2 || s.Failed != 1 {
			t.Errorf("stats = %+v", s)
		}
		_ = b.end()
	})
}

// TestRun_TotalTimeout gives a job up when its next attempt would come too late.
func TestRun_TotalTimeout(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.opts.TotalTimeout = time.Minute
		var left []time.Duration
		b.handle("work", func(_ context.Context, j loopbroker.Job) (loopbroker.Reply, error) {
			left = append(left, j.TotalLeft)
			f := loopbroker.NewFault(loopbroker.ErrorClassConnect, "m")
			f.RetryAfter = 35 * time.Second
			return loopbroker.Reply{}, f
		})
		id := b.store.Enqueue(loopbroker.Request{Type: "work", JSON: "{}", MaxAttempts: 10})
		b.start()
		b.after(10 * time.Minute)
		if got := b.reply(id); got.ErrorClass != loopbroker.ErrorClassTimeoutTotal || got.Attempts != 2 {
			t.Errorf("reply = %+v, want timeout_total after 2 attempts", got)
		}
		if len(left) != 2 || left[0] != time.Minute || left[1] <= 0 || left[1] > 26*time.Second {
			t.Errorf("TotalLeft = %v", left)
		}
		_ = b.end()
	})
}

// TestRun_IdlePolls counts how often an idle worker looks.
func TestRun_IdlePolls(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.handle("work", takes(0))
		b.start()
		b.after(time.Minute) // to come to rest
		before := b.store.Count("Claim")
		b.after(10 * time.Minute)
		if got := b.store.Count("Claim") - before; got > 600 {
			t.Errorf("%d polls in 10 idle minutes, want at most 600", got)
		}
		_ = b.end()
	})
}

// TestRun_PicksUp states how soon a request is begun: at the next poll, or at once
// when the worker is woken.
func TestRun_PicksUp(t *testing.T) {
	t.Parallel()

	for _, wake := range []bool{false, true} {
		t.Run(fmt.Sprintf("wake %v", wake), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *bench) {
				b.handle("work", takes(0))
				b.start()
				b.after(time.Minute + 1)
				id := b.enqueue("work")
				if wake {
					b.w.Wake()
					synctest.Wait()
				}
				for waited := time.Duration(0); !wake && waited < b.opts.WithDefaults().MaxPoll; waited += time.Millisecond {
					b.after(time.Millisecond)
					if _, ok := b.store.Reply(id); ok {
						break
					}
				}
				b.reply(id)

				// A worker that was busy a moment ago looks often.
				b.after(10 * time.Millisecond)
				id = b.enqueue("work")
				b.after(5 * time.Millisecond)
				b.reply(id)
				_ = b.end()
			})
		})
	}
}

func TestRun_Registers(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.opts.Slots, b.opts.Version = 7, "v1"
		b.handle("b", takes(0))
		b.handle("a", takes(time.Hour))
		b.start()
		b.after(time.Second)
		got := b.store.Workers()["w1"]
		if got.Slots != 7 || got.Version != "v1" || !slices.Equal(got.Types, []string{"a", "b"}) || got.PID == 0 || got.Host == "" {
			t.Errorf("worker = %+v", got)
		}
		b.store.Forget("w1")
		b.after(10 * time.Second)
		if _, ok := b.store.Workers()["w1"]; !ok {
			t.Error("a forgotten worker did not register again")
		}

		b.enqueue("a")
		b.after(2 * time.Second)
		b.stop()
		b.after(5 * time.Second)
		if _, ok := b.store.Workers()["w1"]; ok {
			t.Error("a worker that drains is still registered")
		}
		if err := <-b.done; !errors.Is(err, loopbroker.ErrStopped) {
			t.Errorf("Run = %v, want ErrStopped", err)
		}
	})
}

func TestRun_RefusesOtherSchema(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.handle("work", takes(0))
		b.store.Fail = func(method string) error {
			if method == "Register" {
				return fmt.Errorf("register: %w", loopbroker.ErrSchema)
			}
			return nil
		}
		b.start()
		if err := <-b.done; !errors.Is(err, loopbroker.ErrSchema) {
			t.Errorf("Run = %v, want ErrSchema", err)
		}
		if n := b.store.Count("Claim"); n != 0 {
			t.Errorf("claimed %d times", n)
		}
		b.stop()
	})
}

func TestRun_Twice(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.handle("work", takes(0))
		b.start()
		b.after(time.Second)
		if err := b.w.Run(b.t.Context()); err == nil {
			t.Error("the second Run = nil, want an error")
		}
		_ = b.end()
	})
}

// TestRun_LogsNoContent greps the log for what callers and handlers wrote.
func TestRun_LogsNoContent(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		var log strings.Builder
		logger := zerolog.New(zerolog.SyncWriter(&log))
		b.opts.Logger = &logger
		b.handle("panics", func(context.Context, loopbroker.Job) (loopbroker.Reply, error) { panic("hunter2") })
		b.handle("fails", func(context.Context, loopbroker.Job) (loopbroker.Reply, error) {
			return loopbroker.Reply{}, errors.New("hunter2")
		})
		b.handle("answers", func(context.Context, loopbroker.Job) (loopbroker.Reply, error) {
			return loopbroker.Reply{JSON: `"hunter2"`, Body: []byte("hunter2"), ContentType: "hunter2"}, nil
		})
		for _, kind := range []string{"panics", "fails", "answers", "unknown"} {
			b.store.Enqueue(loopbroker.Request{Type: kind, JSON: `"hunter2"`, Body: []byte("hunter2")})
		}
		b.start()
		b.after(10 * time.Minute)
		_ = b.end()
		if text := log.String(); strings.Contains(text, "hunter2") || !strings.Contains(text, "handler panicked") {
			t.Errorf("the log tells content, or nothing:\n%s", text)
		}
	})
}

// badWriter is a log that fails.
type badWriter struct{}

func (badWriter) Write([]byte) (int, error) { panic("log is down") }

func TestRun_SurvivesItsLog(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		logger := zerolog.New(badWriter{})
		b.opts.Logger = &logger
		b.handle("work", takes(0))
		id := b.enqueue("work")
		b.start()
		b.after(time.Minute)
		b.reply(id)
		if err := b.end(); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

func TestOptions_Validate(t *testing.T) {
	t.Parallel()

	valid := worker.Options{ID: "w", Handlers: map[string]loopbroker.Handler{"http": takes(0)}}
	tests := []struct {
		name   string
		change func(*worker.Options)
		want   string
	}{
		{name: "defaults", change: func(*worker.Options) {}},
		{name: "no handlers", change: func(o *worker.Options) { o.Handlers = nil }, want: "need Handlers"},
		{
			name:   "bad type",
			change: func(o *worker.Options) { o.Handlers = map[string]loopbroker.Handler{"Http,x": takes(0)} },
			want:   `need job types of 1 to 50 of a-z 0-9 . _ -, got "Http,x"`,
		},
		{
			name:   "nil handler",
			change: func(o *worker.Options) { o.Handlers = map[string]loopbroker.Handler{"http": nil} },
			want:   `need a handler for "http"`,
		},
		{name: "heartbeat too rare", change: func(o *worker.Options) { o.Heartbeat = o.Lease / 2 }, want: "need Heartbeat <= Lease/3, got 7.5s and 15s"},
		{name: "two faults", change: func(o *worker.Options) { o.Slots, o.MinPoll = -1, -1 }, want: "need Slots >= 1, got -1\nneed MinPoll > 0, got -1ns"},
		{name: "caps", change: func(o *worker.Options) { o.MaxPoll, o.RetryCap = 1, 1 }, want: "need MaxPoll >= MinPoll, got 1ns and 2ms\nneed RetryCap >= RetryBase, got 1ns and 250ms"},
		{name: "janitor", change: func(o *worker.Options) { o.JanitorBatch = 1001 }, want: "need JanitorBatch <= 1000, got 1001"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opts := valid.WithDefaults()
			tt.change(&opts)
			got := ""
			if err := opts.Validate(); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("Validate() = %q, want %q", got, tt.want)
			}
		})
	}
	if _, err := worker.New(workertest.NewMemory(), worker.Options{}); err == nil {
		t.Error("New without handlers = nil, want an error")
	}
	if _, err := worker.New(nil, valid); err == nil {
		t.Error("New without a store = nil, want an error")
	}
}

// errBroken is what a store returns while its database is away.
var errBroken = driver.ErrBadConn

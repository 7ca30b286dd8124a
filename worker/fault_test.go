package worker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loopbroker"
	"loopbroker/worker"
	"loopbroker/worker/workertest"
)

func TestRun_DrainsInTime(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		takes   time.Duration // the job is begun at once; ctx is done at 5s
		ends    time.Duration // when Run returns
		want    error
		state   loopbroker.State // of the reply; empty means handed back
		handler func(time.Duration) loopbroker.HandlerFunc
	}{
		{name: "idle", takes: time.Second, ends: 5 * time.Second, state: loopbroker.StateCompleted, handler: takes},
		{name: "job ends in time", takes: 15 * time.Second, ends: 15 * time.Second, state: loopbroker.StateCompleted, handler: takes},
		{name: "job is cut short and handed back", takes: time.Hour, ends: 25 * time.Second, want: loopbroker.ErrStopped, handler: takes},
		{
			name: "job is cut short and buried", takes: time.Hour, ends: 25 * time.Second, want: loopbroker.ErrStopped, state: loopbroker.StateFailed,
			handler: func(d time.Duration) loopbroker.HandlerFunc {
				return func(ctx context.Context, j loopbroker.Job) (loopbroker.Reply, error) {
					if _, err := takes(d)(ctx, j); err != nil {
						return loopbroker.Reply{}, &loopbroker.Fault{Class: loopbroker.ErrorClassInterrupted, Message: "m"}
					}
					return loopbroker.Reply{}, nil
				}
			},
		},
		{
			name: "handler is deaf for a while", takes: 30 * time.Second, ends: 30 * time.Second, want: loopbroker.ErrStopped, state: loopbroker.StateCompleted,
			handler: func(d time.Duration) loopbroker.HandlerFunc {
				return func(context.Context, loopbroker.Job) (loopbroker.Reply, error) {
					time.Sleep(d) // fake time
					return loopbroker.Reply{}, nil
				}
			},
		},
		{
			name: "handler is deaf", takes: time.Hour, ends: 45 * time.Second, want: loopbroker.ErrStopped,
			handler: func(d time.Duration) loopbroker.HandlerFunc {
				return func(context.Context, loopbroker.Job) (loopbroker.Reply, error) {
					time.Sleep(d) // fake time
					return loopbroker.Reply{}, nil
				}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *bench) {
				b.handle("work", tt.handler(tt.takes))
				id := b.enqueue("work")
				start := time.Now()
				b.start()
				b.after(5 * time.Second)
				err := b.end()
				if !errors.Is(err, tt.want) || (tt.want == nil) != (err == nil) {
					t.Errorf("Run = %v, want %v", err, tt.want)
				}
				if got := time.Since(start).Round(10 * time.Millisecond); got != tt.ends {
					t.Errorf("Run returned after %s, want %s", got, tt.ends)
				}
				b.after(tt.takes) // for the handler that was given up
				if tt.state == "" {
					b.noReply(id)
					if b.store.Queued() != 1 {
						t.Errorf("%d rows in the queue, want 1", b.store.Queued())
					}
				} else if got := b.reply(id); got.State != tt.state {
					t.Errorf("reply = %+v, want %s", got, tt.state)
				}
			})
		})
	}
}

// slowClaims is a store whose claims take their time.
type slowClaims struct {
	worker.Store
	takes time.Duration
}

func (s slowClaims) Claim(ctx context.Context, ask loopbroker.ClaimRequest) (loopbroker.Claimed, error) {
	out, err := s.Store.Claim(ctx, ask)
	time.Sleep(s.takes) // fake time
	return out, err
}

// TestRun_HandsBackWhatItDidNotBegin stops a worker in the middle of a claim.
func TestRun_HandsBackWhatItDidNotBegin(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		store := workertest.NewMemory()
		id := store.Enqueue(loopbroker.Request{Type: "work", JSON: "{}"})
		w, err := worker.New(slowClaims{store, time.Second}, worker.Options{Handlers: map[string]loopbroker.Handler{
			"work": loopbroker.HandlerFunc(func(context.Context, loopbroker.Job) (loopbroker.Reply, error) {
				t.Error("the job was run")
				return loopbroker.Reply{}, nil
			}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if err := w.Run(ctx); err != nil {
			t.Errorf("Run = %v", err)
		}
		if store.Queued() != 1 || store.Attempts(id) != 0 {
			t.Errorf("%d rows with %d attempts, want 1 with 0", store.Queued(), store.Attempts(id))
		}
		ask := loopbroker.ClaimRequest{N: 1, Lease: time.Minute, Types: []string{"work"}}
		if out, err := store.Claim(t.Context(), ask); err != nil || len(out.Deliveries) != 1 {
			t.Errorf("Claim = %v, %v, want the job at once", out, err)
		}
	})
}

// TestRun_KeepsLeases has a job that is much longer than its lease.
func TestRun_KeepsLeases(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		runs := 0
		b.handle("work", func(ctx context.Context, j loopbroker.Job) (loopbroker.Reply, error) {
			runs++
			return takes(10*time.Minute)(ctx, j)
		})
		id := b.enqueue("work")
		b.start()
		b.after(11 * time.Minute)
		if got := b.reply(id); got.State != loopbroker.StateCompleted || got.Attempts != 1 || runs != 1 {
			t.Errorf("reply = %+v after %d runs", got, runs)
		}
		_ = b.end()
	})
}

// TestRun_EndsJobsWhoseLeaseMayLapse cuts the heartbeat off: the job must end
// before anybody else could claim it.
func TestRun_EndsJobsWhoseLeaseMayLapse(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		var ended []time.Duration
		start := time.Now()
		b.store.Fail = func(method string) error {
			if method == "Heartbeat" {
				return errBroken
			}
			return nil
		}
		b.handle("work", func(ctx context.Context, j loopbroker.Job) (loopbroker.Reply, error) {
			r, err := takes(time.Hour)(ctx, j)
			ended = append(ended, time.Since(start))
			if !errors.Is(err, loopbroker.ErrLeaseLost) {
				t.Errorf("the job ended with %v, want ErrLeaseLost", err)
			}
			return r, err
		})
		id := b.enqueue("work")
		b.start()
		b.after(14 * time.Second)
		if len(ended) != 1 || ended[0] >= 15*time.Second {
			t.Errorf("jobs ended at %v, want one before its lease of 15s", ended)
		}
		b.noReply(id)
		if s := b.w.Stats(); s.Dropped != 1 {
			t.Errorf("stats = %+v, want 1 dropped", s)
		}
		b.stop()
		<-b.done
	})
}

// TestRun_DropsStaleResults lets somebody else take a job over while it runs.
func TestRun_DropsStaleResults(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.handle("work", func(context.Context, loopbroker.Job) (loopbroker.Reply, error) {
			time.Sleep(20 * time.Second) // fake time; deaf to its context
			return loopbroker.Reply{JSON: `"stale"`}, nil
		})
		b.opts.Slots = 1
		b.store.Fail = func(method string) error {
			if method == "Heartbeat" {
				return errBroken
			}
			return nil
		}
		id := b.enqueue("work")
		b.start()
		b.after(16 * time.Second)
		out, err := b.store.Claim(b.t.Context(), loopbroker.ClaimRequest{N: 1, Lease: time.Minute, Types: []string{"work"}})
		other := out.Deliveries
		if err != nil || len(other) != 1 {
			t.Fatalf("Claim = %v, %v, want the lapsed job", other, err)
		}
		b.after(10 * time.Second)
		b.noReply(id)
		fresh := loopbroker.Completion{Lease: other[0].Lease, Reply: loopbroker.CompletedReply(loopbroker.Reply{JSON: `"fresh"`})}
		if s, err := b.store.Complete(b.t.Context(), []loopbroker.Completion{fresh}); err != nil || s[0] != loopbroker.Settled {
			t.Errorf("Complete = %v, %v", s, err)
		}
		if s := b.w.Stats(); s.Dropped != 1 || s.Completed != 0 {
			t.Errorf("stats = %+v, want 1 dropped", s)
		}
		_ = b.end()
	})
}

func TestRun_Cancels(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.handle("work", takes(time.Hour))
		id := b.enqueue("work")
		b.start()
		b.after(2 * time.Second)
		b.store.Cancel(id)
		b.after(2 * b.opts.WithDefaults().Heartbeat)
		if got := b.reply(id); got.State != loopbroker.StateCancelled || got.ErrorClass != loopbroker.ErrorClassCancelled {
			t.Errorf("reply = %+v, want cancelled", got)
		}
		_ = b.end()
	})
}

// TestRun_SurvivesOutage takes the database away for five minutes.
func TestRun_SurvivesOutage(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		var mu sync.Mutex
		away := true
		b.store.Fail = func(string) error {
			mu.Lock()
			defer mu.Unlock()
			if away {
				return errBroken
			}
			return nil
		}
		b.handle("work", takes(0))
		id := b.enqueue("work")
		b.start()
		b.after(5 * time.Minute)
		if n := b.store.Count("Register"); n < 10 || n > 300 {
			t.Errorf("tried %d times in 5 minutes", n)
		}
		mu.Lock()
		away = false
		mu.Unlock()
		b.after(15 * time.Second)
		b.reply(id)

		mu.Lock()
		away = true
		mu.Unlock()
		b.after(5 * time.Minute)
		id = b.enqueue("work")
		mu.Lock()
		away = false
		mu.Unlock()
		b.after(15 * time.Second)
		b.reply(id)
		if err := b.end(); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

// TestRun_StopsDuringOutage must not wait for a database that does not come back.
func TestRun_StopsDuringOutage(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		b.store.Fail = func(string) error { return errBroken }
		b.handle("work", takes(0))
		b.start()
		b.after(time.Minute)
		start := time.Now()
		_ = b.end()
		if got := time.Since(start); got > time.Second {
			t.Errorf("Run took %s to stop", got)
		}
	})
}

// TestRun_RepliesThatCannotBeStored has a database that refuses one reply for good
// and another for a while.
func TestRun_RepliesThatCannotBeStored(t *testing.T) {
	t.Parallel()

	bubble(t, func(b *bench) {
		refusing := refuser{Store: b.store, refuse: `"bad"`}
		b.handle("work", func(_ context.Context, j loopbroker.Job) (loopbroker.Reply, error) {
			return loopbroker.Reply{JSON: j.JSON}, nil
		})
		bad := b.store.Enqueue(loopbroker.Request{Type: "work", JSON: `"bad"`})
		good := b.store.Enqueue(loopbroker.Request{Type: "work", JSON: `"good"`})
		w, err := worker.New(refusing, b.opts)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
		defer cancel()
		if err := w.Run(ctx); err != nil {
			t.Errorf("Run = %v", err)
		}
		if got := b.reply(good); got.State != loopbroker.StateCompleted {
			t.Errorf("reply = %+v, want completed", got)
		}
		if got := b.reply(bad); got.ErrorClass != loopbroker.ErrorClassInternal || got.Attempts != 1 {
			t.Errorf("reply = %+v, want internal", got)
		}
	})
}

// refuser is a store that will not take one reply.
type refuser struct {
	worker.Store
	refuse string
}

func (r refuser) Complete(ctx context.Context, batch []loopbroker.Completion) ([]loopbroker.Settlement, error) {
	for _, c := range batch {
		if c.Reply.JSON == r.refuse {
			return nil, fmt.Errorf("%w: reply", loopbroker.ErrInvalid)
		}
	}
	return r.Store.Complete(ctx, batch)
}

// TestRun_Fleet runs four workers over one queue with faults, kills and slow jobs,
// from a seed: each request must have exactly one reply, and no two runs of one
// may overlap.
func TestRun_Fleet(t *testing.T) {
	t.Parallel()

	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { runFleet(t, seed) })
		})
	}
}

func runFleet(t *testing.T, seed uint64) {
	const workers, requests = 4, 200
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 1))
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	store := workertest.NewMemory()
	store.Fail = func(string) error {
		if draw(20) == 0 {
			return errBroken
		}
		return nil
	}

	active := map[int64]int{}
	overlaps := 0
	handler := func(ctx context.Context, j loopbroker.Job) (loopbroker.Reply, error) {
		mu.Lock()
		if active[j.RequestID]++; active[j.RequestID] > 1 {
			overlaps++
		}
		mu.Unlock()
		defer func() {
			mu.Lock()
			active[j.RequestID]--
			mu.Unlock()
		}()
		_, err := takes(time.Duration(draw(40))*time.Second)(ctx, j)
		if err == nil && draw(5) == 0 {
			err = loopbroker.NewFault(loopbroker.ErrorClassConnect, "m")
		}
		return loopbroker.Reply{}, err
	}

	var ids []int64
	for range requests {
		ids = append(ids, store.Enqueue(loopbroker.Request{Type: "work", JSON: "{}", MaxAttempts: 50}))
	}
	var group sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for i := range workers {
		group.Go(func() {
			// Each worker is stopped and replaced again and again.
			for life := 0; ctx.Err() == nil; life++ {
				w, err := worker.New(store, worker.Options{
					ID: fmt.Sprintf("w%d.%d", i, life), Slots: 8, DrainTimeout: 3 * time.Second,
					Handlers: map[string]loopbroker.Handler{"work": loopbroker.HandlerFunc(handler)},
				})
				if err != nil {
					t.Error(err)
					return
				}
				run, stop := context.WithTimeout(ctx, time.Duration(60+draw(600))*time.Second)
				_ = w.Run(run) // ErrStopped is part of the game
				stop()
			}
		})
	}
	deadline := time.Now().Add(24 * time.Hour)
	for store.Queued() > 0 && time.Now().Before(deadline) {
		time.Sleep(time.Second) // fake time
	}
	cancel()
	group.Wait()

	for _, id := range ids {
		if r, ok := store.Reply(id); !ok || r.State != loopbroker.StateCompleted {
			t.Errorf("request %d: reply %+v, %v", id, r, ok)
		}
	}
	if overlaps != 0 {
		t.Errorf("%d runs overlapped with another of the same request", overlaps)
	}
}

package worker

import (
	"context"
	"sync"
	"time"

	"loopbroker"
	"loopbroker/internal/guardlog"
	"loopbroker/internal/transient"
)

// leases are those of the running jobs.
type leases struct {
	life time.Duration

	mu   sync.Mutex
	held map[loopbroker.Lease]*holding // guarded by mu
}

// holding is one lease and the job that needs it.
type holding struct {
	cancel context.CancelCauseFunc
	lapse  *time.Timer // ends the job when the lease may have lapsed
}

func newLeases(life time.Duration) *leases {
	return &leases{life: life, held: map[loopbroker.Lease]*holding{}}
}

// hold begins to keep a lease that was taken at the given moment or later. The
// returned context ends with ErrLeaseLost before the lease can have lapsed.
func (s *leases) hold(ctx context.Context, l loopbroker.Lease, taken time.Time) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	h := &holding{cancel: cancel}
	h.lapse = time.AfterFunc(s.until(taken), func() { cancel(loopbroker.ErrLeaseLost) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[l] = h
	return ctx
}

// until returns how long a lease taken at the given moment is certain to live. The
// tenth that is taken off is for the way to the handler, and for clocks that do not
// run at quite the same speed.
func (s *leases) until(taken time.Time) time.Duration {
	return s.life - s.life/10 - time.Since(taken)
}

// drop stops keeping a lease.
func (s *leases) drop(l loopbroker.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.held[l]; h != nil {
		h.lapse.Stop()
		h.cancel(nil)
		delete(s.held, l)
	}
}

// all returns the leases.
func (s *leases) all() []loopbroker.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]loopbroker.Lease, 0, len(s.held))
	for l := range s.held {
		out = append(out, l)
	}
	return out
}

// count returns how many jobs run.
func (s *leases) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held)
}

// renewed notes what became of a beat with the asked leases, sent at the given
// moment.
func (s *leases) renewed(asked []loopbroker.Lease, out loopbroker.BeatResult, sent time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range out.Lost {
		if h := s.held[l]; h != nil {
			h.cancel(loopbroker.ErrLeaseLost)
		}
	}
	for _, l := range out.Cancelled {
		if h := s.held[l]; h != nil {
			h.cancel(loopbroker.ErrCancelled)
		}
	}
	for _, l := range asked {
		// A timer that has fired has ended its job; setting it again changes nothing.
		if h := s.held[l]; h != nil {
			h.lapse.Reset(s.until(sent))
		}
	}
}

// beat is the heartbeat's loop. It goes on after claiming has ended, because
// running jobs need their leases, but then no longer keeps the process registered.
func (w *Worker) beat(claimCtx, ctx context.Context) {
	pause := w.opts.Heartbeat
	var said []loopbroker.HostState // about hosts, last time
	for transient.Sleep(ctx, pause) {
		pause = w.opts.Heartbeat
		asked := w.running.all()
		if claimCtx.Err() != nil && len(asked) == 0 {
			continue
		}
		sent := time.Now()
		hosts := w.hosts(said)
		var out loopbroker.BeatResult
		err := w.call(ctx, func(ctx context.Context) (err error) {
			out, err = w.store.Heartbeat(ctx, loopbroker.Beat{
				Worker: w.opts.ID, Busy: len(w.slots), Leases: asked, Life: w.opts.Lease, Hosts: hosts,
			})
			return err
		})
		if err != nil {
			if ctx.Err() == nil {
				w.log.Warn("heartbeat failed", guardlog.Err(err))
			}
			pause = w.opts.Heartbeat / 4 // the leases run on meanwhile
			continue
		}
		w.running.renewed(asked, out, sent)
		if hosts != nil {
			said = hosts
		}
		if len(out.Lost) > 0 {
			w.log.Warn("leases lost", guardlog.Int(guardlog.KeyCount, len(out.Lost)))
		}
		if out.Unregistered && claimCtx.Err() == nil {
			err := w.call(claimCtx, func(ctx context.Context) error { return w.store.Register(ctx, w.info()) })
			if err != nil && claimCtx.Err() == nil {
				w.log.Warn("register failed", guardlog.Err(err))
			}
		}
	}
}

// hosts returns what there is to say about hosts, or nil if it is as little as last
// time. A host that is idle and whose breaker is closed is not worth a word.
func (w *Worker) hosts(said []loopbroker.HostState) []loopbroker.HostState {
	if w.opts.Hosts == nil {
		return nil
	}
	news := []loopbroker.HostState{}
	for _, h := range w.opts.Hosts.HostStates() {
		if h.Breaker != loopbroker.BreakerClosed || h.InFlight > 0 || h.Failures > 0 {
			news = append(news, h)
		}
	}
	if len(news) == 0 && len(said) == 0 {
		return nil
	}
	return news
}

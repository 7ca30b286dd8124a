package httpfetch

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"

	"loopbroker"
)

// The breaker looks at the attempts of the last breakerWindow, in steps of
// breakerStep, so that failures of yesterday open nothing today.
const (
	breakerWindow = time.Minute
	breakerStep   = 5 * time.Second
)

// defaultOpen is how long a breaker stays open if its row does not say.
const defaultOpen = 30 * time.Second

// maxDeferral is the longest pause for a job that is given back, but for what is
// left of an open breaker. What is further back in the line comes back at some
// moment in the second half of it.
const maxDeferral = 30 * time.Second

// limits are one host's, for this process. Zero is none.
type limits struct {
	concurrency int
	perSecond   float64
	burst       int
	failures    int
	open        time.Duration
}

// share returns the part of one of so many workers. Each may have one request under
// way and a burst of one, however many they are; the rate is divided exactly.
func (l limits) share(workers int) limits {
	if l.concurrency > 0 {
		l.concurrency = max(l.concurrency/workers, 1)
	}
	if l.perSecond > 0 {
		l.burst = max(cmp.Or(l.burst, int(l.perSecond))/workers, 1)
		l.perSecond /= float64(workers)
	}
	l.open = cmp.Or(l.open, defaultOpen)
	return l
}

// host keeps one host within its limits.
//
//	closed ──failures, half or more of the recent attempts──▶ open
//	  ▲                                                        │ the time is over
//	  └── the probe succeeds ── half-open ◀────────────────────┘
//	                              │  ▲ one request at a time
//	                              └──┘ the probe fails: open again
type host struct {
	key string

	mu       sync.Mutex
	limits   limits                                 // guarded by mu
	breaker  *gobreaker.TwoStepCircuitBreaker[bool] // guarded by mu; nil means none
	opened   time.Time                              // guarded by mu; when the breaker last opened
	limiter  *rate.Limiter                          // guarded by mu; nil means none
	reset    time.Time                              // guarded by mu; the last reset that was asked for
	inFlight int                                    // guarded by mu
	deferred int64                                  // guarded by mu
	failure  loopbroker.ErrorClass                  // guarded by mu; the last that counted
	service  time.Duration                          // guarded by mu; how long a request takes, smoothed
	next     time.Time                              // guarded by mu; the last place in the line of those given back
}

// configure puts limits in force. A limit that stays the same keeps its counts.
func (h *host) configure(l limits, reset time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.limits
	h.limits = l
	switch {
	case l.perSecond == 0:
		h.limiter = nil
	case h.limiter == nil:
		h.limiter = rate.NewLimiter(rate.Limit(l.perSecond), l.burst)
	default:
		h.limiter.SetLimit(rate.Limit(l.perSecond))
		h.limiter.SetBurst(l.burst)
	}
	asked := !reset.IsZero() && !reset.Equal(h.reset)
	h.reset = reset
	if asked || l.failures != old.failures || l.open != old.open {
		h.closeBreaker()
	}
}

// closeBreaker begins with a new breaker. The lock is held.
func (h *host) closeBreaker() {
	h.opened, h.failure, h.next, h.breaker = time.Time{}, "", time.Time{}, nil
	if h.limits.failures == 0 {
		return
	}
	failures := uint32(min(h.limits.failures, math.MaxInt32))
	h.breaker = gobreaker.NewTwoStepCircuitBreaker[bool](gobreaker.Settings{
		MaxRequests:  1,
		Interval:     breakerWindow,
		BucketPeriod: breakerStep,
		Timeout:      h.limits.open,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.TotalFailures >= failures && c.TotalFailures >= c.TotalSuccesses
		},
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				h.opened = time.Now() // the lock is held: every call into the breaker is made under it
			}
		},
		IsSuccessful: func(err error) bool { return err == nil },
		IsExcluded:   func(err error) bool { return errors.Is(err, errNeutral) },
	})
}

// errFailed and errNeutral are what a breaker is told about an attempt that did not
// succeed: whether it says something about the host.
var (
	errFailed  = errors.New("attempt failed")
	errNeutral = errors.New("attempt says nothing about the host")
)

// visit is a request to a host that is within its limits. It must be left.
type visit struct {
	host  *host
	start time.Time
	done  func(error) // nil without a breaker
	left  bool
}

// enter begins a visit, or returns the fault that gives the job back. It never
// waits.
func (h *host) enter() (*visit, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if h.breaker != nil && h.breaker.State() == gobreaker.StateOpen {
		left := max(h.opened.Add(h.limits.open).Sub(now), 0)
		return nil, h.giveBack(loopbroker.ErrorClassHostOpen, "the circuit breaker of the host is open", h.place(now, left, 10*time.Millisecond))
	}
	if h.limits.concurrency > 0 && h.inFlight >= h.limits.concurrency {
		step := max(h.service, 20*time.Millisecond) / time.Duration(h.limits.concurrency)
		return nil, h.giveBack(loopbroker.ErrorClassHostBusy, "the host has as many requests under way as it may", h.place(now, step, step))
	}
	v := &visit{host: h, start: now}
	if h.breaker != nil {
		done, err := h.breaker.Allow()
		if err != nil {
			return nil, h.giveBack(loopbroker.ErrorClassHostOpen, "the circuit breaker of the host waits for a probe", h.place(now, 500*time.Millisecond, 10*time.Millisecond))
		}
		v.done = done
	}
	if h.limiter != nil && !h.limiter.AllowN(now, 1) {
		if v.done != nil {
			v.done(errNeutral)
		}
		step := time.Duration(float64(time.Second) / h.limits.perSecond)
		return nil, h.giveBack(loopbroker.ErrorClassHostBusy, "the host has had as many requests as it may for now", h.place(now, 0, step))
	}
	h.inFlight++
	return v, nil
}

// giveBack returns the fault of a job that is given back. The lock is held.
func (h *host) giveBack(class loopbroker.ErrorClass, message string, delay time.Duration) error {
	h.deferred++
	f := loopbroker.NewFault(class, "%s", message)
	f.Deferred, f.RetryAfter = true, delay
	return f
}

// place returns when a job that is given back should come again: those that meet a
// limit together line up a step apart, behind the first moment at which one could
// pass, so that a backlog is not claimed over and over only to be given back. The
// lock is held.
func (h *host) place(now time.Time, first, step time.Duration) time.Duration {
	if h.next.Before(now.Add(first)) {
		h.next = now.Add(first)
	}
	h.next = h.next.Add(step)
	limit := first + maxDeferral
	if last := now.Add(limit); h.next.After(last) {
		h.next = last
		return limit - rand.N(maxDeferral/2)
	}
	return h.next.Sub(now)
}

// leave ends a visit with what it says about the host: nil, errFailed with its class
// or errNeutral. It does nothing the second time.
func (v *visit) leave(verdict error, class loopbroker.ErrorClass) {
	h := v.host
	h.mu.Lock()
	defer h.mu.Unlock()
	if v.left {
		return
	}
	v.left = true
	h.inFlight--
	if took := time.Since(v.start); h.service == 0 {
		h.service = took
	} else {
		h.service += (took - h.service) / 8
	}
	if verdict != nil && !errors.Is(verdict, errNeutral) {
		h.failure = class
	}
	if v.done != nil {
		v.done(verdict)
	}
}

// state returns what is known about the host.
func (h *host) state() loopbroker.HostState {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := loopbroker.HostState{
		Host: h.key, Breaker: loopbroker.BreakerClosed,
		InFlight: h.inFlight, Deferred: h.deferred, LastFailure: h.failure,
	}
	if h.breaker == nil {
		return s
	}
	switch h.breaker.State() {
	case gobreaker.StateOpen:
		s.Breaker = loopbroker.BreakerOpen
		s.OpenFor = max(time.Until(h.opened.Add(h.limits.open)), 0)
	case gobreaker.StateHalfOpen:
		s.Breaker = loopbroker.BreakerHalfOpen
	case gobreaker.StateClosed:
	}
	s.Failures = int(h.breaker.Counts().TotalFailures)
	return s
}

// hosts are the hosts of the policy that is in force.
type hosts struct {
	mu  sync.Mutex
	all map[string]*host // guarded by mu
}

// configure puts the limits of a policy in force. A host that it does not name is
// forgotten once nothing is under way to it.
func (s *hosts) configure(all map[string]limits, resets map[string]time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*host{}
	}
	for key, l := range all {
		h := s.all[key]
		if h == nil {
			h = &host{key: key, reset: resets[key]}
			s.all[key] = h
		}
		h.configure(l, resets[key])
	}
	for key, h := range s.all {
		if _, ok := all[key]; !ok && h.state().InFlight == 0 {
			delete(s.all, key)
		}
	}
}

// find returns the host, or nil if the policy does not name it.
func (s *hosts) find(key string) *host {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[key]
}

// HostStates implements loopbroker.HostReporter.
func (h *Handler) HostStates() []loopbroker.HostState {
	h.hosts.mu.Lock()
	defer h.hosts.mu.Unlock()
	states := make([]loopbroker.HostState, 0, len(h.hosts.all))
	for _, one := range h.hosts.all {
		states = append(states, one.state())
	}
	slices.SortFunc(states, func(a, b loopbroker.HostState) int { return strings.Compare(a.Host, b.Host) })
	return states
}

// ResetHost implements loopbroker.HostReporter.
func (h *Handler) ResetHost(name string) bool {
	one := h.hosts.find(name)
	if one == nil {
		return false
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	one.closeBreaker()
	return true
}

package httpfetch

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync"
	"time"

	"loopbroker"
)

// phase is what an attempt is doing.
type phase uint8

const (
	phaseConnect phase = iota // looking up the name, connecting
	phaseTLS                  // shaking hands
	phaseSend                 // sending the request
	phaseHeader               // waiting for the answer's headers
	phaseBody                 // reading the answer's body
)

// phaseClasses names the class of a clock that ends in each phase.
var phaseClasses = [...]loopbroker.ErrorClass{
	phaseConnect: loopbroker.ErrorClassTimeoutConnect,
	phaseTLS:     loopbroker.ErrorClassTimeoutTLS,
	phaseSend:    loopbroker.ErrorClassTimeoutAttempt,
	phaseHeader:  loopbroker.ErrorClassTimeoutHeader,
	phaseBody:    loopbroker.ErrorClassTimeoutBody,
}

// clockError is the cause of an attempt's context when a clock has ended.
type clockError struct {
	class loopbroker.ErrorClass
	limit time.Duration
}

// Error implements error.
func (e *clockError) Error() string { return string(e.class) + " after " + e.limit.String() }

// attempt runs the clocks of one attempt and notes where the time went. Its
// methods are called by the transport's goroutines as well as by our own.
type attempt struct {
	opts   *Options
	cancel context.CancelCauseFunc
	start  time.Time

	// end is when the attempt's clock ends; limit is how long that was at the start.
	end   time.Time
	limit time.Duration

	// total reports whether the clock over all attempts set the end.
	total bool

	mu       sync.Mutex
	phase    phase              // guarded by mu
	timer    *time.Timer        // guarded by mu
	done     bool               // guarded by mu; no clock runs any more
	left     bool               // guarded by mu; the request may have left
	progress time.Time          // guarded by mu; when a byte last arrived
	began    time.Time          // guarded by mu; when the running DNS, connect or TLS step began
	timings  loopbroker.Timings // guarded by mu; Queue is the worker's to fill in
}

// newAttempt starts the clocks for the job, whose own is the fallback if it names
// none. The returned context ends with a *clockError as its cause when one of them
// does; stop ends them all.
func newAttempt(ctx context.Context, opts *Options, job loopbroker.Job, fallback time.Duration) (context.Context, *attempt, func()) {
	limit := job.AttemptTimeout
	if limit <= 0 {
		limit = fallback
	}
	limit = min(limit, opts.MaxAttemptTimeout)
	total := job.TotalLeft > 0 && job.TotalLeft < limit
	if total {
		limit = job.TotalLeft
	}

	ctx, cancel := context.WithCancelCause(ctx)
	now := time.Now()
	a := &attempt{opts: opts, cancel: cancel, start: now, end: now.Add(limit), limit: limit, total: total}
	a.enter(phaseConnect)
	ctx = httptrace.WithClientTrace(context.WithValue(ctx, attemptKey{}, a), a.trace())
	return ctx, a, func() { a.stop(); cancel(nil) }
}

// attemptKey is the key of an attempt in a context.
type attemptKey struct{}

// enter starts the clock of the phase. It does nothing once the attempt is done.
func (a *attempt) enter(p phase) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.enterLocked(p)
}

func (a *attempt) enterLocked(p phase) {
	if a.done {
		return
	}
	now := time.Now()
	a.phase = p
	if p == phaseBody {
		a.progress = now
	}
	if a.timer != nil {
		a.timer.Stop()
	}
	limit := min(a.phaseLimit(p), a.end.Sub(now))
	a.timer = time.AfterFunc(limit, func() { a.ended(p, limit) })
}

// phaseLimit returns the length of a phase's own clock.
func (a *attempt) phaseLimit(p phase) time.Duration {
	switch p {
	case phaseConnect:
		return a.opts.ConnectTimeout
	case phaseTLS:
		return a.opts.TLSTimeout
	case phaseHeader:
		return a.opts.HeaderTimeout
	case phaseBody:
		return a.opts.BodyTimeout
	default:
		return a.limit
	}
}

// ended cancels the attempt because a clock ended in phase p.
func (a *attempt) ended(p phase, limit time.Duration) {
	a.mu.Lock()
	if a.done || a.phase != p {
		a.mu.Unlock()
		return
	}
	now := time.Now()
	class := phaseClasses[p]
	if !now.Before(a.end) {
		switch {
		case a.total:
			class = loopbroker.ErrorClassTimeoutTotal
		case p == phaseBody && now.Sub(a.progress) < a.limit/4:
			class = loopbroker.ErrorClassTimeoutAttempt // it was still flowing
		}
		limit = a.limit
	}
	a.done = true
	a.mu.Unlock()
	a.cancel(&clockError{class: class, limit: limit})
}

// progressed notes that bytes of the body arrived, and starts its clock again.
func (a *attempt) progressed() { a.enter(phaseBody) }

// stop ends the clocks and closes the books.
func (a *attempt) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = true
	if a.timer != nil {
		a.timer.Stop()
	}
	if a.timings.Total == 0 {
		a.timings.Total = time.Since(a.start)
	}
}

// state returns what is known so far: where the time went, and whether the request
// may have left.
func (a *attempt) state() (loopbroker.Timings, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.timings
	if t.Total == 0 {
		t.Total = time.Since(a.start)
	}
	return t, a.left
}

// current returns what the attempt is doing.
func (a *attempt) current() phase {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.phase
}

// note runs f under the lock unless the attempt has its connection: what a dial
// reports after that belongs to a connection for somebody else.
func (a *attempt) note(f func(now time.Time)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done || a.phase > phaseTLS {
		return
	}
	f(time.Now())
}

// lookupBegins, lookupEnds, dialBegins and dialEnds are called by the dialer.
func (a *attempt) lookupBegins() {
	a.note(func(now time.Time) { a.began = now })
}

func (a *attempt) lookupEnds() {
	a.note(func(now time.Time) { a.timings.DNS = now.Sub(a.began) })
}

func (a *attempt) dialBegins() {
	a.note(func(now time.Time) { a.began = now })
}

func (a *attempt) dialEnds() {
	a.note(func(now time.Time) { a.timings.Connect = now.Sub(a.began) })
}

// trace moves the attempt through its phases.
func (a *attempt) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) {
			// A new connection for this attempt: the first, one for a redirect, or
			// one after a kept connection turned out to be closed.
			a.enter(phaseConnect)
		},
		TLSHandshakeStart: func() {
			a.note(func(now time.Time) {
				a.began = now
				a.enterLocked(phaseTLS)
			})
		},
		TLSHandshakeDone: func(tls.ConnectionState, error) {
			a.note(func(now time.Time) { a.timings.TLS = now.Sub(a.began) })
		},
		GotConn: func(httptrace.GotConnInfo) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.left = true
			a.enterLocked(phaseSend)
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.phase == phaseSend {
				a.enterLocked(phaseHeader)
			}
		},
		GotFirstResponseByte: func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.timings.FirstByte == 0 {
				a.timings.FirstByte = time.Since(a.start)
			}
		},
	}
}

package httpfetch

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"loopbroker"
)

// Handler carries out jobs of type loopbroker.TypeHTTP. It keeps connections open
// between jobs; Close lets them go. All its methods are safe for concurrent use.
type Handler struct {
	opts       Options
	rules      atomic.Pointer[allowList] // nil until a policy is set
	hosts      hosts
	transports transports
}

var (
	_ loopbroker.Handler      = (*Handler)(nil)
	_ loopbroker.HostReporter = (*Handler)(nil)
)

// New returns a handler, or an error that names every fault of the options. Until a
// policy is set it calls every public host, without limits.
func New(opts Options) (*Handler, error) {
	opts = opts.WithDefaults()
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("httpfetch options: %w", err)
	}
	h := &Handler{opts: opts}
	h.transports = transports{opts: &h.opts, all: map[transportKey]*route{}}
	return h, nil
}

// Close closes the connections that are not in use.
func (h *Handler) Close() { h.transports.close() }

// Handle makes one attempt. The error is a *loopbroker.Fault; see the package
// comment for its classes.
func (h *Handler) Handle(ctx context.Context, job loopbroker.Job) (loopbroker.Reply, error) {
	f, err := newFetch(&h.opts, job)
	if err != nil {
		return loopbroker.Reply{}, err
	}
	x := &exchange{handler: h, rules: h.rules.Load(), fetch: f, redirects: h.opts.MaxRedirects}
	first := hop{target: f.target, method: f.method, header: f.header, body: f.body}
	fallback, err := x.begin(ctx, first)
	if err != nil {
		return loopbroker.Reply{}, err
	}
	defer x.leave(errNeutral, loopbroker.ErrorClassNone) // if nobody has before

	attemptCtx, a, stop := newAttempt(ctx, &h.opts, job, fallback)
	defer stop()
	x.attempt = a
	got, err := x.run(attemptCtx, first)
	if err != nil {
		result := fault(attemptCtx, a, f, err)
		x.settle(result)
		x.leave(verdict(result.Class, a.limit, &h.opts), result.Class)
		return loopbroker.Reply{}, result
	}
	stop()
	x.leave(statusVerdict(got.status), loopbroker.ErrorClassStatus)
	return x.reply(got)
}

// reply returns the reply for an answer, or the fault with it if its status asks for
// another attempt.
func (x *exchange) reply(got answer) (loopbroker.Reply, error) {
	timings, _ := x.attempt.state()
	hidden := &redactor{}
	if x.grant != nil {
		hidden = &x.grant.hidden
	}
	reply, err := newReply(got, x.fetch.binary, hidden, timings)
	if err != nil {
		return loopbroker.Reply{}, err
	}
	advice := retryStatuses[got.status]
	if !advice.again {
		return reply, nil
	}
	opts := &x.handler.opts
	result := &loopbroker.Fault{
		Class:      loopbroker.ErrorClassStatus,
		Message:    fmt.Sprintf("the target answered with status %d", got.status),
		Retryable:  advice.refused || x.fetch.repeatable,
		RetryAfter: retryAfter(got.header.Get("Retry-After"), opts.Now(), opts.MaxRetryAfter),
		Reply:      &reply,
		Timings:    timings,
	}
	x.settle(result)
	return loopbroker.Reply{}, result
}

// errNotFinal means that the answer does not have a status that ends an exchange.
var errNotFinal = errors.New("the answer's status is not a final one")

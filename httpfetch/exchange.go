package httpfetch

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"loopbroker"
)

// exchange is one attempt: a request, the redirects that it leads to, and the
// answer. It sees one policy from its beginning to its end.
type exchange struct {
	handler   *Handler
	rules     *allowList // nil means no allow-list
	fetch     *fetch
	attempt   *attempt
	redirects int  // how many it may follow
	followed  bool // it has followed one: a target has acted, or may have

	row         *row              // what allows the current request; nil without an allow-list
	grant       *grant            // the job's credential; nil means none
	certificate clientCertificate // of the current request
	visit       *visit            // to the current host; nil without an allow-list
}

// answer is what came back, all of it.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// begin asks whether the first request may be made, and returns the clock for an
// attempt whose job names none. Nothing is sent here, and nothing waits.
func (x *exchange) begin(ctx context.Context, first hop) (time.Duration, error) {
	fallback := x.handler.opts.AttemptTimeout
	var err error
	if x.rules != nil {
		if x.row, err = x.rules.find(first.target, first.method); err != nil {
			return 0, err
		}
		x.redirects = x.row.MaxRedirects
		if x.row.AttemptTimeout > 0 {
			fallback = x.row.AttemptTimeout
		}
	}
	if x.fetch.credential != "" {
		if x.grant, err = x.handler.grantFor(ctx, x.rules, x.row, x.fetch.credential); err != nil {
			return 0, err
		}
		// A conflict with the caller's own headers is found before a limit is met.
		u := *first.target.url
		if err := x.grant.apply(&u, first.header.Clone()); err != nil {
			return 0, err
		}
	}
	if err := x.certify(ctx); err != nil {
		return 0, err
	}
	return fallback, x.enter()
}

// certify finds the client certificate for the current row: the job's, or the row's.
func (x *exchange) certify(ctx context.Context) error {
	x.certificate = clientCertificate{}
	switch {
	case x.granted() && x.grant.certificate.name != "":
		x.certificate = x.grant.certificate
	case x.row != nil && x.row.ClientCertificate != "":
		g, err := x.handler.grantFor(ctx, x.rules, x.row, x.row.ClientCertificate)
		if err != nil {
			return err
		}
		if g.certificate.name == "" {
			return loopbroker.NewFault(loopbroker.ErrorClassCredential, "the credential %q of the endpoint is not a certificate", x.row.ClientCertificate)
		}
		x.certificate = g.certificate
	}
	if x.certificate.name != "" && x.row.proxy != nil && x.row.proxy.Scheme == "https" {
		return loopbroker.NewFault(loopbroker.ErrorClassCredential, "a client certificate cannot be used through a proxy that itself speaks TLS: the proxy would be shown it")
	}
	return nil
}

// granted reports whether the job's credential may go with the current request.
func (x *exchange) granted() bool {
	return x.grant != nil && x.row != nil && x.row.Name == x.grant.endpoint
}

// enter begins the visit to the current host.
func (x *exchange) enter() error {
	if x.row == nil {
		return nil
	}
	h := x.handler.hosts.find(x.row.origin)
	if h == nil {
		return nil // the policy has just lost it, and this attempt began before
	}
	v, err := h.enter()
	if err == nil {
		x.visit = v
	}
	return err
}

// leave ends the visit, if there is one.
func (x *exchange) leave(verdict error, class loopbroker.ErrorClass) {
	if x.visit != nil {
		x.visit.leave(verdict, class)
		x.visit = nil
	}
}

// follow makes next the current request. Its target must be allowed like the first,
// and its host must take it.
func (x *exchange) follow(ctx context.Context, from, next hop) error {
	if x.rules == nil {
		return nil
	}
	row, err := x.rules.find(next.target, next.method)
	if err != nil {
		return err
	}
	x.row = row
	if err := x.certify(ctx); err != nil {
		return err
	}
	if next.target.origin() == from.target.origin() {
		return nil
	}
	x.leave(nil, loopbroker.ErrorClassNone) // it has answered
	return x.enter()
}

// settle corrects a fault by what came before it: a failure at the second target of
// a redirect does not undo what the first one did.
func (x *exchange) settle(f *loopbroker.Fault) {
	if x.followed && !x.fetch.repeatable {
		f.Deferred, f.Retryable = false, false
	}
}

// run sends the request, follows redirects as far as it may, and reads the answer.
func (x *exchange) run(ctx context.Context, current hop) (answer, error) {
	for hops := 0; ; hops++ {
		response, decodes, err := x.roundTrip(ctx, current)
		if err != nil {
			return answer{}, err
		}
		if response.StatusCode < http.StatusOK {
			// No final status: 101 although nobody asked for it, or no status at all.
			_ = response.Body.Close()
			return answer{}, errNotFinal
		}
		location := response.Header.Get("Location")
		if x.redirects == 0 || !redirects(response.StatusCode) || location == "" {
			return x.read(response, current.method, decodes)
		}
		_ = response.Body.Close() // a redirect's body is not wanted
		if hops == x.redirects {
			return answer{}, loopbroker.NewFault(loopbroker.ErrorClassRedirect, "there were more than %d redirects", hops)
		}
		x.followed = true
		next, err := current.next(response.StatusCode, location)
		if err != nil {
			return answer{}, err
		}
		if err := x.follow(ctx, current, next); err != nil {
			return answer{}, err
		}
		current = next
	}
}

// read reads the answer to its end.
func (x *exchange) read(response *http.Response, method string, decodes bool) (answer, error) {
	defer response.Body.Close() // all of it has been read, or the rest is not wanted
	got := answer{status: response.StatusCode, header: response.Header}
	if method == http.MethodHead {
		return got, nil // it tells of a body that does not come
	}
	x.attempt.enter(phaseBody)
	var err error
	got.body, err = readBody(response, x.handler.opts.MaxReplyBytes, decodes, x.attempt.progressed)
	return got, err
}

// roundTrip sends one message. It uses the transport itself: http.Client would read
// a Location even of a redirect that is not followed, and fail on a bad one. It
// reports whether the answer's encoding is ours to take off.
func (x *exchange) roundTrip(ctx context.Context, h hop) (*http.Response, bool, error) {
	r, err := x.handler.transports.get(x.row, x.certificate)
	if err != nil {
		return nil, false, err
	}
	u, header := *h.target.url, h.header.Clone()
	if x.granted() {
		if err := x.grant.apply(&u, header); err != nil {
			return nil, false, err
		}
	}
	decodes := header["Accept-Encoding"] == nil && header["Range"] == nil && h.method != http.MethodHead
	if decodes {
		header.Set("Accept-Encoding", "gzip")
	}
	if r.proxy != nil {
		if err := r.dialer.vouch(ctx, x.attempt, h.target); err != nil {
			return nil, false, err
		}
	}
	var reader io.Reader
	if h.body != nil {
		reader = bytes.NewReader(h.body)
	}
	req, err := http.NewRequestWithContext(ctx, h.method, u.String(), reader)
	if err != nil {
		return nil, false, badURL(0, "the URL is malformed")
	}
	req.URL, req.Header = &u, header
	response, err := r.RoundTrip(req)
	return response, decodes, err
}

// countedTimeout is the shortest attempt whose timeout says something about the
// host. A caller who gives it less must not be able to close the host for others.
const countedTimeout = time.Second

// verdict returns what a failed attempt, which had so long, tells the breaker.
func verdict(class loopbroker.ErrorClass, limit time.Duration, opts *Options) error {
	switch class {
	case loopbroker.ErrorClassDNS, loopbroker.ErrorClassConnect, loopbroker.ErrorClassTLS, loopbroker.ErrorClassCertificate,
		loopbroker.ErrorClassConnectionLost, loopbroker.ErrorClassProtocol:
		return errFailed
	case loopbroker.ErrorClassTimeoutConnect, loopbroker.ErrorClassTimeoutTLS, loopbroker.ErrorClassTimeoutHeader,
		loopbroker.ErrorClassTimeoutBody, loopbroker.ErrorClassTimeoutAttempt, loopbroker.ErrorClassTimeoutTotal:
		if limit < min(countedTimeout, opts.AttemptTimeout) {
			return errNeutral
		}
		return errFailed
	case loopbroker.ErrorClassTooLargeReply, loopbroker.ErrorClassRedirect:
		return nil // it answered
	default:
		return errNeutral
	}
}

// statusVerdict returns what an answer tells the breaker.
func statusVerdict(status int) error {
	if status >= http.StatusInternalServerError {
		return errFailed
	}
	return nil
}

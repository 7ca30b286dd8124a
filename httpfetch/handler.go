package httpfetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"loopbroker"
)

// Handler carries out jobs of type loopbroker.TypeHTTP. It keeps connections open
// between jobs; Close lets them go.
type Handler struct {
	opts      Options
	transport *http.Transport
}

var _ loopbroker.Handler = (*Handler)(nil)

// New returns a handler, or an error that names every fault of the options.
func New(opts Options) (*Handler, error) {
	opts = opts.WithDefaults()
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("httpfetch options: %w", err)
	}
	return &Handler{
		opts: opts,
		transport: &http.Transport{
			Proxy:                  nil, // see the package comment
			DialContext:            newDialer(&opts).DialContext,
			TLSClientConfig:        &tls.Config{RootCAs: opts.RootCAs, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    opts.TLSTimeout + time.Second, // the second line; see newDialer
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           0, // bounded by host
			MaxIdleConnsPerHost:    opts.MaxIdlePerHost,
			IdleConnTimeout:        opts.IdleTimeout,
			MaxResponseHeaderBytes: opts.MaxReplyHeaderBytes,
			WriteBufferSize:        16 << 10,
			ReadBufferSize:         16 << 10,
		},
	}, nil
}

// Close closes the connections that are not in use.
func (h *Handler) Close() { h.transport.CloseIdleConnections() }

// Handle makes one attempt. The error is a *loopbroker.Fault; see the package
// comment for its classes.
func (h *Handler) Handle(ctx context.Context, job loopbroker.Job) (loopbroker.Reply, error) {
	f, err := newFetch(&h.opts, job)
	if err != nil {
		return loopbroker.Reply{}, err
	}
	attemptCtx, a, stop := newAttempt(ctx, &h.opts, job)
	defer stop()

	got, err := h.send(attemptCtx, a, f)
	if err != nil {
		return loopbroker.Reply{}, fault(attemptCtx, a, f, err)
	}
	stop()
	timings, _ := a.state()
	reply, err := newReply(got, f.binary, timings)
	if err != nil {
		return loopbroker.Reply{}, err
	}
	if advice := retryStatuses[got.status]; advice.again {
		return loopbroker.Reply{}, &loopbroker.Fault{
			Class:      loopbroker.ErrorClassStatus,
			Message:    fmt.Sprintf("the target answered with status %d", got.status),
			Retryable:  advice.refused || f.repeatable,
			RetryAfter: retryAfter(got.header.Get("Retry-After"), h.opts.Now(), h.opts.MaxRetryAfter),
			Reply:      &reply,
			Timings:    timings,
		}
	}
	return reply, nil
}

// answer is what came back, all of it.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send sends the request, follows redirects as far as the options say, and reads
// the answer.
func (h *Handler) send(ctx context.Context, a *attempt, f *fetch) (answer, error) {
	target, method, header, body := f.url, f.method, f.header, f.body
	for hop := 0; ; hop++ {
		response, err := h.roundTrip(ctx, target, method, header, body)
		if err != nil {
			return answer{}, err
		}
		if response.StatusCode < http.StatusOK {
			// No final status: 101 although nobody asked for it, or no status at all.
			_ = response.Body.Close()
			return answer{}, errNotFinal
		}
		got := answer{status: response.StatusCode, header: response.Header}
		location := got.header.Get("Location")
		if h.opts.MaxRedirects == 0 || !redirects(got.status) || location == "" {
			a.enter(phaseBody)
			length := response.ContentLength
			if method == http.MethodHead {
				length = 0 // it tells of a body that does not come
			}
			got.body, err = readBody(response.Body, h.opts.MaxReplyBytes, length, a.progressed)
			_ = response.Body.Close() // all of it has been read, or the rest is not wanted
			return got, err
		}
		_ = response.Body.Close() // a redirect's body is not wanted
		if hop == h.opts.MaxRedirects {
			return answer{}, loopbroker.NewFault(loopbroker.ErrorClassRedirect, "there were more than %d redirects", hop)
		}
		next, err := redirectTarget(target, location)
		if err != nil {
			return answer{}, err
		}
		if got.status <= http.StatusSeeOther && method != http.MethodHead && method != http.MethodGet {
			method, body = http.MethodGet, nil
			header = header.Clone()
			header.Del("Content-Type")
		}
		if next.Host != target.Host || next.Scheme != target.Scheme {
			header = http.Header{"User-Agent": header["User-Agent"]}
		}
		target = next
	}
}

// errNotFinal means that the answer does not have a status that ends an exchange.
var errNotFinal = errors.New("the answer's status is not a final one")

// roundTrip sends one message. It uses the transport itself: http.Client would
// read a Location even of a redirect that is not followed, and fail on a bad one.
func (h *Handler) roundTrip(ctx context.Context, target *url.URL, method string, header http.Header, body []byte) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), reader)
	if err != nil {
		return nil, loopbroker.NewFault(loopbroker.ErrorClassBadURL, "the URL is malformed")
	}
	req.Header = header.Clone()
	return h.transport.RoundTrip(req)
}

// redirects reports whether the status names another place to ask.
func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	default:
		return false
	}
}

// redirectTarget returns where a redirect leads. It never leads from https to http.
func redirectTarget(from *url.URL, location string) (*url.URL, error) {
	next, err := from.Parse(location)
	if err == nil {
		next, err = parseURL(next.String())
	}
	if err != nil {
		return nil, loopbroker.NewFault(loopbroker.ErrorClassRedirect, "a redirect leads to a URL that cannot be called")
	}
	if from.Scheme == "https" && next.Scheme != "https" {
		return nil, loopbroker.NewFault(loopbroker.ErrorClassRedirect, "a redirect leads from https to http")
	}
	return next, nil
}

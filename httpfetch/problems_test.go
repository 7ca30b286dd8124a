package httpfetch_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loopbroker"
	"loopbroker/httpfetch"
)

// TestCancel: problem "the call cannot be cancelled": when the job's context ends,
// the target sees its connection close, and the place at the host is free again.
func TestCancel(t *testing.T) {
	t.Parallel()

	entered, gone := make(chan struct{}), make(chan struct{})
	stub := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		close(gone)
	})
	h := withPolicy(t, httpfetch.Options{}, rows(endpoint(t, "stub", stub.URL, func(e *loopbroker.Endpoint) {
		e.MaxConcurrency, e.BreakerFailures = 1, 1
	})))
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := h.Handle(ctx, loopbroker.Job{JSON: get(stub.URL)})
		done <- err
	}()
	<-entered
	cancel(loopbroker.ErrCancelled)
	if f := faultOf(t, <-done); f.Class != loopbroker.ErrorClassCancelled || f.Retryable {
		t.Errorf("got %v, want class cancelled", f)
	}
	<-gone
	if s := h.HostStates(); s[0].InFlight != 0 || s[0].Breaker != loopbroker.BreakerClosed {
		t.Errorf("states = %+v, want the place free and the breaker closed", s)
	}
}

// TestFailingHost: problem "a host that fails is not closed, or takes others with
// it": a host of which every second answer is a failure opens its breaker, nothing
// is sent to it then, another host goes on, and one probe closes it again.
func TestFailingHost(t *testing.T) {
	t.Parallel()

	var asked atomic.Int64
	var well atomic.Bool
	failing := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1)%2 == 0 && !well.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	healthy := serve(t, func(http.ResponseWriter, *http.Request) {})
	h := withPolicy(t, httpfetch.Options{}, rows(
		endpoint(t, "failing", failing.URL, func(e *loopbroker.Endpoint) { e.BreakerFailures, e.BreakerOpen = 5, time.Hour }),
		endpoint(t, "healthy", healthy.URL, func(e *loopbroker.Endpoint) { e.BreakerFailures = 5 }),
	))
	refused := 0
	for range 30 {
		_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(failing.URL)})
		var f *loopbroker.Fault
		if errors.As(err, &f) && f.Class == loopbroker.ErrorClassHostOpen {
			refused++
			if !f.Deferred || f.RetryAfter < 59*time.Minute {
				t.Fatalf("got %+v, want a deferral until the breaker may be probed", f)
			}
		}
		if _, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(healthy.URL)}); err != nil {
			t.Fatalf("the other host: %v", err)
		}
	}
	if n := asked.Load(); n != 10 || refused != 20 {
		t.Errorf("the host was asked %d times and closed to %d, want 10 and 20", n, refused)
	}
	state := func() loopbroker.HostState {
		for _, s := range h.HostStates() {
			if strings.HasSuffix(failing.URL, s.Host[strings.LastIndexByte(s.Host, ':'):]) {
				return s
			}
		}
		return loopbroker.HostState{}
	}
	s := state()
	if s.Breaker != loopbroker.BreakerOpen || s.OpenFor <= 0 || s.Deferred != 20 || s.LastFailure != loopbroker.ErrorClassStatus {
		t.Errorf("state = %+v", s)
	}
	well.Store(true)
	if !h.ResetHost(s.Host) {
		t.Errorf("no host %q to reset", s.Host)
	}
	if _, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(failing.URL)}); err != nil || state().Breaker != loopbroker.BreakerClosed {
		t.Errorf("after the reset: %v, %+v", err, state())
	}
}

// TestBinaryRoundTrip: problem "binary bodies are not carried": bytes go and come as
// they are, NUL and all.
func TestBinaryRoundTrip(t *testing.T) {
	t.Parallel()

	body := make([]byte, 1<<20)
	for i := range body {
		body[i] = byte(i * 31)
	}
	stub := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = io.Copy(w, r.Body)
	})
	h := newHandler(t, httpfetch.Options{AllowNetworks: loopback})
	r, err := h.Handle(t.Context(), loopbroker.Job{JSON: job(map[string]any{"url": stub.URL, "method": "POST"}), Body: body})
	if err != nil {
		t.Fatal(err)
	}
	if sha256.Sum256(r.Body) != sha256.Sum256(body) {
		t.Errorf("got %d other bytes than the %d that were sent", len(r.Body), len(body))
	}
}

// TestTimeoutIsNeverForEver: problem "a timeout of 0 means for ever": what is not
// positive is the default, and what is too long is cut.
func TestTimeoutIsNeverForEver(t *testing.T) {
	t.Parallel()

	address := stall(t)
	h := newHandler(t, httpfetch.Options{AllowNetworks: loopback, AttemptTimeout: brief, MaxAttemptTimeout: 2 * brief, HeaderTimeout: time.Hour})
	for _, d := range []time.Duration{0, -time.Second, 1 << 62} {
		_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get("http://" + address), AttemptTimeout: d})
		if f := faultOf(t, err); f.Class != loopbroker.ErrorClassTimeoutHeader {
			t.Errorf("%s: got %v, want class timeout_header", d, f)
		}
	}
}

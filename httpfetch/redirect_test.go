package httpfetch_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"loopbroker"
	"loopbroker/httpfetch"
)

// journal is a stub that notes every request and answers as its paths say.
type journal struct {
	*httptest.Server
	mu       sync.Mutex
	requests []received // guarded by mu
}

// newJournal starts a stub. A path in redirects is answered with its status and
// location, any other with 200.
func newJournal(t testing.TB, redirects map[string]struct {
	status   int
	location string
}) *journal {
	t.Helper()
	j := &journal{}
	j.Server = serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		j.mu.Lock()
		j.requests = append(j.requests, received{Method: r.Method, Path: r.URL.RequestURI(), Body: string(body), Header: r.Header})
		j.mu.Unlock()
		if to, ok := redirects[r.URL.Path]; ok {
			w.Header().Set("Location", to.location)
			w.WriteHeader(to.status)
		}
	})
	return j
}

// last returns the last request, and how many there were.
func (j *journal) last() (received, int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.requests) == 0 {
		return received{}, 0
	}
	return j.requests[len(j.requests)-1], len(j.requests)
}

type redirectTo = struct {
	status   int
	location string
}

// TestRedirect_Methods states what each status makes of each method.
func TestRedirect_Methods(t *testing.T) {
	t.Parallel()

	tests := []struct {
		method string
		want   map[int]string
	}{
		{"GET", map[int]string{301: "GET", 302: "GET", 303: "GET", 307: "GET", 308: "GET"}},
		{"HEAD", map[int]string{301: "HEAD", 302: "HEAD", 303: "HEAD", 307: "HEAD", 308: "HEAD"}},
		{"POST", map[int]string{301: "GET", 302: "GET", 303: "GET", 307: "POST", 308: "POST"}},
		{"PUT", map[int]string{301: "PUT", 302: "PUT", 303: "GET", 307: "PUT", 308: "PUT"}},
		{"DELETE", map[int]string{301: "DELETE", 302: "DELETE", 303: "GET", 307: "DELETE", 308: "DELETE"}},
	}
	for _, tt := range tests {
		for status, want := range tt.want {
			j := newJournal(t, map[string]redirectTo{"/a": {status, "b?c=d"}})
			h := newHandler(t, httpfetch.Options{AllowNetworks: loopback, MaxRedirects: 1})
			members := map[string]any{"url": j.URL + "/a", "method": tt.method}
			carries := tt.method != "GET" && tt.method != "HEAD"
			if carries {
				members["body"] = "text"
			}
			if _, err := h.Handle(t.Context(), loopbroker.Job{JSON: job(members)}); err != nil {
				t.Errorf("%s, %d: %v", tt.method, status, err)
				continue
			}
			got, n := j.last()
			body := ""
			if carries && want == tt.method {
				body = "text"
			}
			if n != 2 || got.Method != want || got.Path != "/b?c=d" || got.Body != body || (got.Header.Get("Content-Type") != "") != (body != "") {
				t.Errorf("%s, %d: %d requests, the last %+v, want %s with body %q", tt.method, status, n, got, want, body)
			}
		}
	}
}

// TestRedirect_Secrets: problem "secrets cross hosts on a redirect": neither the
// credential nor any header of the caller goes to another host, port or scheme, and
// not to another part of the same host that the credential is not bound to.
func TestRedirect_Secrets(t *testing.T) {
	t.Parallel()

	other := newJournal(t, nil)
	first := newJournal(t, map[string]redirectTo{
		"/v1/out":  {http.StatusTemporaryRedirect, other.URL + "/x"},
		"/v1/in":   {http.StatusTemporaryRedirect, "/v1/y"},
		"/v1/side": {http.StatusTemporaryRedirect, "/v2/z"},
		"/v1/trip": {http.StatusTemporaryRedirect, other.URL + "/back"},
	})
	secrets := httpfetch.MapSecrets{"bearer": "t0ken", "key": "k3y-k3y", "query": "qu3ry"}
	policy := loopbroker.Policy{Endpoints: []loopbroker.Endpoint{
		endpoint(t, "v1", first.URL, func(e *loopbroker.Endpoint) { e.PathPrefix, e.MaxRedirects = "/v1", 3 }),
		endpoint(t, "v2", first.URL, func(e *loopbroker.Endpoint) { e.PathPrefix = "/v2" }),
		endpoint(t, "other", other.URL),
	}}
	for name, kind := range map[string]loopbroker.CredentialKind{"bearer": "bearer", "key": "header", "query": "query"} {
		c := loopbroker.Credential{Name: name, Endpoint: "v1", Kind: kind}
		if kind != "bearer" {
			c.Field = "X-Secret"
		}
		policy.Credentials = append(policy.Credentials, c)
	}
	h := withPolicy(t, httpfetch.Options{Secrets: secrets}, policy)
	for name, secret := range secrets {
		for _, tt := range []struct {
			path   string
			at     *journal
			arrive bool // the credential
			own    bool // the caller's header
		}{
			{"/v1/in", first, true, true},
			{"/v1/side", first, false, true},
			{"/v1/out", other, false, false},
		} {
			_, err := h.Handle(t.Context(), loopbroker.Job{JSON: job(map[string]any{
				"url": first.URL + tt.path, "method": "PUT", "body": "b", "credential": name,
				"headers": map[string]string{"X-Mine": "m1ne", "Content-Type": "text/x"}, "idempotency_key": "k1",
			})})
			if err != nil {
				t.Errorf("%s, %s: %v", name, tt.path, err)
				continue
			}
			got, _ := tt.at.last()
			all := got.Path
			for k, v := range got.Header {
				all += " " + k + ": " + strings.Join(v, ",")
			}
			if strings.Contains(all, secret) != tt.arrive || strings.Contains(all, "m1ne") != tt.own || strings.Contains(all, "k1") != tt.own || got.Body != "b" || got.Header.Get("Content-Type") != "text/x" {
				t.Errorf("%s, %s: sent %s %q, want the credential %v, the caller's headers %v", name, tt.path, all, got.Body, tt.arrive, tt.own)
			}
		}
	}
}

// TestRedirect_Targets: every hop needs a row of its own and is judged like the first
// request.
func TestRedirect_Targets(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, location string
		class          loopbroker.ErrorClass
	}{
		{"no row", "http://elsewhere.example/", loopbroker.ErrorClassNotAllowed},
		{"other part of the host", "/v2", loopbroker.ErrorClassNotAllowed},
		{"out by dot segments", "/v1/../v2", loopbroker.ErrorClassNotAllowed},
		{"row whose name leads inside", "http://inside.example/", loopbroker.ErrorClassAddressNotAllowed},
		{"address with a zone", "http://[fe80::1%25lo]/", loopbroker.ErrorClassAddressNotAllowed},
		{"user information", "http://u@127.0.0.1/v1", loopbroker.ErrorClassRedirect},
		{"backslash", `\\elsewhere.example/`, loopbroker.ErrorClassRedirect},
		{"backslash after the scheme", `http:\\elsewhere.example`, loopbroker.ErrorClassRedirect},
		{"other scheme", "gopher://127.0.0.1/", loopbroker.ErrorClassRedirect},
		{"script", "javascript:alert(1)", loopbroker.ErrorClassRedirect},
		{"blank", "/v1/a b", loopbroker.ErrorClassRedirect},
		{"loop", "/v1/start", loopbroker.ErrorClassRedirect},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stub := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/start" {
					t.Errorf("the stub was asked for %s", r.URL)
				}
				w.Header()["Location"] = []string{tt.location}
				w.WriteHeader(http.StatusFound)
			})
			h := withPolicy(t, httpfetch.Options{Resolver: to("10.0.0.1")}, rows(
				endpoint(t, "v1", stub.URL, func(e *loopbroker.Endpoint) { e.PathPrefix, e.MaxRedirects = "/v1", 20 }),
				loopbroker.Endpoint{Name: "inside", Scheme: "http", Host: "inside.example"},
			))
			_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL + "/v1/start")})
			if f := faultOf(t, err); f.Class != tt.class || f.Retryable {
				t.Errorf("got %v, want class %s", f, tt.class)
			}
		})
	}
}

// TestRedirect_Schemes: from http to https, and never back.
func TestRedirect_Schemes(t *testing.T) {
	t.Parallel()

	plain := newJournal(t, nil)
	location := plain.URL
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/down" {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusFound)
		}
	}))
	t.Cleanup(secure.Close)
	up := newJournal(t, map[string]redirectTo{"/": {http.StatusMovedPermanently, secure.URL + "/"}})
	opts := httpfetch.Options{AllowNetworks: loopback, MaxRedirects: 2, RootCAs: secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	h := newHandler(t, opts)
	if r, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(up.URL)}); err != nil || r.HTTPStatus != http.StatusOK {
		t.Errorf("to https: status %d, %v", r.HTTPStatus, err)
	}
	_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(secure.URL + "/down")})
	if f := faultOf(t, err); f.Class != loopbroker.ErrorClassRedirect || !strings.Contains(f.Message, "from https to http") {
		t.Errorf("to http: %v, want class redirect", f)
	}
	if _, n := plain.last(); n != 0 {
		t.Errorf("the plain stub had %d requests, want none", n)
	}
}

// TestRedirect_FailureAfter: a failure at the second target does not undo what the
// first one did, so a POST is not repeated although the second was never reached.
func TestRedirect_FailureAfter(t *testing.T) {
	t.Parallel()

	busy := newJournal(t, nil)
	targets := map[string]struct {
		location string
		class    loopbroker.ErrorClass
	}{
		"refuses":       {"http://127.0.0.1:1/", loopbroker.ErrorClassConnect},
		"has its limit": {busy.URL, loopbroker.ErrorClassHostBusy},
	}
	for name, tt := range targets {
		for _, key := range []string{"", "k1"} {
			first := newJournal(t, map[string]redirectTo{"/": {http.StatusTemporaryRedirect, tt.location}})
			h := withPolicy(t, httpfetch.Options{}, rows(
				endpoint(t, "first", first.URL, func(e *loopbroker.Endpoint) { e.MaxRedirects = 1 }),
				endpoint(t, "closed", "http://127.0.0.1:1"),
				endpoint(t, "busy", busy.URL, func(e *loopbroker.Endpoint) { e.MaxPerSecond, e.Burst = 1, 1 }),
			))
			if _, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(busy.URL)}); err != nil { // takes what there is for now
				t.Fatal(err)
			}
			_, err := h.Handle(t.Context(), loopbroker.Job{JSON: job(map[string]any{"url": first.URL, "method": "POST", "body": "x", "idempotency_key": key})})
			f := faultOf(t, err)
			if want := key != ""; f.Class != tt.class || f.Retryable != want || f.Deferred != (want && tt.class == loopbroker.ErrorClassHostBusy) {
				t.Errorf("%s, key %q: got %v, retryable %v, deferred %v, want class %s, repeated only with a key", name, key, f, f.Retryable, f.Deferred, tt.class)
			}
			for _, s := range h.HostStates() {
				if s.InFlight != 0 {
					t.Errorf("%s: %+v, want nothing under way", name, s)
				}
			}
		}
	}
}

// TestRedirect_Rebinding: the name is judged again at the second hop, where it has an
// address inside.
func TestRedirect_Rebinding(t *testing.T) {
	t.Parallel()

	inner := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the inner stub was asked for %s", r.Host) })
	port := inner.URL[strings.LastIndexByte(inner.URL, ':'):]
	outer := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://rebound.example"+port+"/", http.StatusFound)
	})
	h := newHandler(t, httpfetch.Options{
		MaxRedirects: 1, AllowHosts: []string{strings.TrimPrefix(outer.URL, "http://")},
		Resolver: to(netip.MustParseAddr("127.0.0.1").String()),
	})
	_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(outer.URL)})
	if f := faultOf(t, err); f.Class != loopbroker.ErrorClassAddressNotAllowed {
		t.Errorf("got %v, want class address_not_allowed", f)
	}
}

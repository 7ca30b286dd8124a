package httpfetch_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"loopbroker"
	"loopbroker/httpfetch"
)

// endpoint returns a row for the stub of a URL, changed as the test wants.
func endpoint(t testing.TB, name, address string, change ...func(*loopbroker.Endpoint)) loopbroker.Endpoint {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	e := loopbroker.Endpoint{Name: name, Scheme: u.Scheme, Host: u.Hostname(), Port: port, AllowPrivateAddress: true}
	for _, f := range change {
		f(&e)
	}
	return e
}

// withPolicy returns a handler with the policy, which must be right.
func withPolicy(t testing.TB, opts httpfetch.Options, p loopbroker.Policy) *httpfetch.Handler {
	t.Helper()
	h := newHandler(t, opts)
	if err := h.SetPolicy(p); err != nil {
		t.Fatal(err)
	}
	return h
}

// rows is a policy of endpoints only.
func rows(list ...loopbroker.Endpoint) loopbroker.Policy { return loopbroker.Policy{Endpoints: list} }

// TestPolicy_Denies: with a policy, what it does not name is not called, and the
// error says which row is missing.
func TestPolicy_Denies(t *testing.T) {
	t.Parallel()

	p := rows(
		loopbroker.Endpoint{Name: "v1", Scheme: "https", Host: "api.example", PathPrefix: "/v1"},
		loopbroker.Endpoint{Name: "read", Scheme: "https", Host: "read.example", Methods: []string{"GET"}},
		loopbroker.Endpoint{Name: "off", Scheme: "https", Host: "off.example", Disabled: true},
	)
	tests := []struct{ name, method, url, want string }{
		{"host", "GET", "https://other.example/", `has no row for scheme https, host "other.example", port 443`},
		{"subdomain", "GET", "https://x.api.example/v1", `has no row for scheme https, host "x.api.example", port 443`},
		{"scheme", "GET", "http://api.example/v1", `has no row for scheme http, host "api.example", port 80`},
		{"port", "GET", "https://api.example:8443/v1", `has no row for scheme https, host "api.example", port 8443`},
		{"path", "GET", "https://api.example/v2", "none with a path prefix that holds this path"},
		{"segment", "GET", "https://api.example/v10", "none with a path prefix that holds this path"},
		{"dot segments", "GET", "https://api.example/v1/../admin", "none with a path prefix that holds this path"},
		{"encoded twice", "GET", "https://api.example/v1/%252e%252e/admin", "none with a path prefix that holds this path"},
		{"method", "POST", "https://read.example/", `no row that allows POST there; the row "read" does not`},
		{"disabled", "GET", "https://off.example/", `the row "off" is disabled`},
	}
	never := resolver(func(_ context.Context, host string) ([]netip.Addr, error) {
		t.Errorf("%s was looked up", host)
		return nil, errors.New("no")
	})
	h := withPolicy(t, httpfetch.Options{Resolver: never, AllowNetworks: loopback}, p)
	for _, tt := range tests {
		_, err := h.Handle(t.Context(), loopbroker.Job{JSON: job(map[string]any{"url": tt.url, "method": tt.method})})
		f := faultOf(t, err)
		if f.Class != loopbroker.ErrorClassNotAllowed || f.Retryable || f.MSNumber() != 31612 || !strings.Contains(f.Message, tt.want) {
			t.Errorf("%s: got %v, want class not_allowed with %q", tt.name, f, tt.want)
		}
	}
	if err := h.SetPolicy(loopbroker.Policy{}); err != nil {
		t.Fatal(err)
	}
	_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get("https://api.example/v1")})
	if f := faultOf(t, err); f.Class != loopbroker.ErrorClassNotAllowed {
		t.Errorf("with an empty policy: %v", f)
	}
}

// TestPolicy_Allows calls a stub by each spelling of a URL that the row stands for.
func TestPolicy_Allows(t *testing.T) {
	t.Parallel()

	stub := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.EscapedPath()) })
	h := withPolicy(t, httpfetch.Options{}, rows(
		endpoint(t, "v1", stub.URL, func(e *loopbroker.Endpoint) { e.PathPrefix = "/v1" }),
		endpoint(t, "v1 deep", stub.URL, func(e *loopbroker.Endpoint) { e.PathPrefix, e.Methods = "/v1/deep", []string{"PUT"} }),
	))
	port := stub.URL[strings.LastIndexByte(stub.URL, ':'):]
	for in, want := range map[string]string{
		"http://127.0.0.1" + port + "/v1":             "/v1",
		"HTTP://127.0.0.1" + port + "/v1/a%2Fb":       "/v1/a%2Fb",
		"http://127.1" + port + "/v1/":                "/v1/",
		"http://2130706433" + port + "/v1/x":          "/v1/x",
		"http://[::ffff:7f00:1]" + port + "/v1/x":     "/v1/x",
		"http://127.0.0.1." + port + "/admin/../v1/x": "/v1/x",
		"http://127.0.0.1" + port + "/v1/deep/x":      "/v1/deep/x", // the longer row has other methods
	} {
		r, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(in)})
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got := *outputOf(t, r).Body; got != want {
			t.Errorf("%s: the stub was asked for %s, want %s", in, got, want)
		}
	}
}

// TestPolicy_Addresses: a row that allows private addresses opens neither link-local
// ones nor those of metadata services, and no other row's host.
func TestPolicy_Addresses(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		addrs   []string
		row     loopbroker.Endpoint
		allowed bool
	}{
		{"private without a word", []string{"10.0.0.1"}, loopbroker.Endpoint{}, false},
		{"private", []string{"10.0.0.1"}, loopbroker.Endpoint{AllowPrivateAddress: true}, true},
		{"unique local", []string{"fd12::1"}, loopbroker.Endpoint{AllowPrivateAddress: true}, true},
		{"loopback", []string{"127.0.0.1"}, loopbroker.Endpoint{AllowPrivateAddress: true}, true},
		{"link-local", []string{"169.254.1.1"}, loopbroker.Endpoint{AllowPrivateAddress: true}, false},
		{"metadata", []string{"169.254.169.254"}, loopbroker.Endpoint{AllowPrivateAddress: true}, false},
		{"metadata in the shared range", []string{"100.100.100.200"}, loopbroker.Endpoint{AllowPrivateAddress: true}, false},
		{"metadata in IPv6", []string{"fd00:ec2::254"}, loopbroker.Endpoint{AllowPrivateAddress: true}, false},
		{"metadata by its network", []string{"169.254.169.254"}, loopbroker.Endpoint{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("169.254.169.254/32")}}, true},
		{"translated", []string{"64:ff9b::a00:1"}, loopbroker.Endpoint{AllowPrivateAddress: true}, false},
		{"unspecified", []string{"0.0.0.0"}, loopbroker.Endpoint{AllowPrivateAddress: true}, false},
		{"another network", []string{"10.0.0.1"}, loopbroker.Endpoint{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.row.Name, tt.row.Scheme, tt.row.Host = "row", "http", "inside.example"
			h := withPolicy(t, httpfetch.Options{Resolver: to(tt.addrs...), ConnectTimeout: brief}, rows(tt.row,
				loopbroker.Endpoint{Name: "plain", Scheme: "http", Host: "plain.example"}))
			_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get("http://inside.example/")})
			refused := err != nil && faultOf(t, err).Class == loopbroker.ErrorClassAddressNotAllowed
			if refused == tt.allowed { // what is allowed fails to connect, in some other way
				t.Errorf("got %v, want allowed = %v", err, tt.allowed)
			}
			_, err = h.Handle(t.Context(), loopbroker.Job{JSON: get("http://plain.example/")})
			if f := faultOf(t, err); f.Class != loopbroker.ErrorClassAddressNotAllowed {
				t.Errorf("another row's host: %v", f)
			}
		})
	}
}

// TestPolicy_KeptConnections: a connection that was made while a private address was
// allowed is not used once it no longer is.
func TestPolicy_KeptConnections(t *testing.T) {
	t.Parallel()

	stub := serve(t, func(http.ResponseWriter, *http.Request) {})
	row := endpoint(t, "stub", stub.URL)
	h := withPolicy(t, httpfetch.Options{}, rows(row))
	if _, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL)}); err != nil {
		t.Fatal(err)
	}
	row.AllowPrivateAddress = false
	if err := h.SetPolicy(rows(row)); err != nil {
		t.Fatal(err)
	}
	_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL)})
	if f := faultOf(t, err); f.Class != loopbroker.ErrorClassAddressNotAllowed {
		t.Errorf("got %v, want class address_not_allowed", f)
	}
}

// TestSetPolicy_BadRows: a row that is wrong allows nothing and takes no other with
// it.
func TestSetPolicy_BadRows(t *testing.T) {
	t.Parallel()

	stub := serve(t, func(http.ResponseWriter, *http.Request) {})
	good := endpoint(t, "good", stub.URL)
	base := loopbroker.Endpoint{Name: "bad", Scheme: "http", Host: "bad.example"}
	bad := func(f func(*loopbroker.Endpoint)) loopbroker.Policy {
		e := base
		f(&e)
		return rows(good, e)
	}
	credential := func(c loopbroker.Credential) loopbroker.Policy {
		return loopbroker.Policy{Endpoints: []loopbroker.Endpoint{good}, Credentials: []loopbroker.Credential{c}}
	}
	tests := []struct {
		name   string
		policy loopbroker.Policy
		want   string
	}{
		{"scheme", bad(func(e *loopbroker.Endpoint) { e.Scheme = "ftp" }), `endpoint "bad": need a scheme of http or https, got "ftp"`},
		{"wildcard", bad(func(e *loopbroker.Endpoint) { e.Host = "*.example" }), `got "*.example"`},
		{"upper case", bad(func(e *loopbroker.Endpoint) { e.Host = "Bad.example" }), `got "Bad.example"`},
		{"not ASCII", bad(func(e *loopbroker.Endpoint) { e.Host = "bücher.example" }), `in lower case and ASCII, got`},
		{"dot at the end", bad(func(e *loopbroker.Endpoint) { e.Host = "bad.example." }), `got "bad.example."`},
		{"address in another form", bad(func(e *loopbroker.Endpoint) { e.Host = "0x7f.1" }), `got "0x7f.1"`},
		{"port", bad(func(e *loopbroker.Endpoint) { e.Port = 70000 }), "need a port of 1 to 65535, got 70000"},
		{"prefix", bad(func(e *loopbroker.Endpoint) { e.PathPrefix = "/a/../b" }), `got "/a/../b"`},
		{"method", bad(func(e *loopbroker.Endpoint) { e.Methods = []string{"get"} }), `got "get"`},
		{"redirects", bad(func(e *loopbroker.Endpoint) { e.MaxRedirects = 21 }), "need MaxRedirects of 0 to 20, got 21"},
		{"limits", bad(func(e *loopbroker.Endpoint) { e.BreakerFailures = -1 }), "need limits and times that are not negative"},
		{"network", bad(func(e *loopbroker.Endpoint) { e.AllowNetworks = make([]netip.Prefix, 1) }), "need AllowNetworks without host bits"},
		{"proxy's secret", bad(func(e *loopbroker.Endpoint) { e.Proxy = "http://u:p@proxy.example:3128" }), "need a proxy of http or https, host and port"},
		{"proxy's scheme", bad(func(e *loopbroker.Endpoint) { e.Proxy = "socks5://proxy.example" }), "need a proxy of http or https, host and port"},
		{"name twice", rows(good, good), `endpoint "good": there is another row of this name`},
		{"two faults", bad(func(e *loopbroker.Endpoint) { e.Scheme, e.Port = "", -1 }), "need a port of 1 to 65535, got -1"},
		{"credential's name", credential(loopbroker.Credential{Name: "../x", Endpoint: "good", Kind: "bearer"}), `credential "../x": need a name`},
		{"credential's kind", credential(loopbroker.Credential{Name: "x", Endpoint: "good", Kind: "oauth"}), `got "oauth"`},
		{"credential's header", credential(loopbroker.Credential{Name: "x", Endpoint: "good", Kind: "header", Field: "Host"}), `got "Host"`},
		{"credential's field", credential(loopbroker.Credential{Name: "x", Endpoint: "good", Kind: "bearer", Field: "X"}), "need no field"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHandler(t, httpfetch.Options{})
			err := h.SetPolicy(tt.policy)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("SetPolicy = %v, want %q", err, tt.want)
			}
			if _, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL)}); err != nil {
				t.Errorf("the good row: %v", err)
			}
			_, err = h.Handle(t.Context(), loopbroker.Job{JSON: get("http://bad.example/")})
			if f := faultOf(t, err); f.Class != loopbroker.ErrorClassNotAllowed {
				t.Errorf("the bad row: %v", f)
			}
		})
	}
}

// TestPolicy_SwappedWhileRunning changes the policy under load: every answer is that
// of one policy or of the other.
func TestPolicy_SwappedWhileRunning(t *testing.T) {
	t.Parallel()

	stub := serve(t, func(http.ResponseWriter, *http.Request) {})
	open := rows(endpoint(t, "stub", stub.URL, func(e *loopbroker.Endpoint) { e.MaxConcurrency, e.BreakerFailures = 100, 5 }))
	h := withPolicy(t, httpfetch.Options{}, open)
	stop := make(chan struct{})
	var group sync.WaitGroup
	var passed, refused atomic.Int64
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				switch _, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL)}); {
				case err == nil:
					passed.Add(1)
				case loopbroker.AsFault(err).Class == loopbroker.ErrorClassNotAllowed:
					refused.Add(1)
				default:
					t.Errorf("got %v", err)
				}
			}
		})
	}
	for i := 0; i < 50 || passed.Load() == 0 || refused.Load() == 0; i++ {
		p := open
		if i%2 == 0 {
			p = loopbroker.Policy{}
		}
		if err := h.SetPolicy(p); err != nil {
			t.Error(err)
		}
		_ = h.HostStates()
	}
	close(stop)
	group.Wait()
	for _, s := range h.HostStates() {
		if s.InFlight != 0 {
			t.Errorf("state = %+v, want nothing under way", s)
		}
	}
}

// changing is a source whose answers the test gives.
type changing chan func() (loopbroker.Policy, error)

func (c changing) Policy(ctx context.Context) (loopbroker.Policy, error) {
	select {
	case f := <-c:
		return f()
	case <-ctx.Done():
		return loopbroker.Policy{}, ctx.Err()
	}
}

// TestFollow: a change is picked up without a restart, and a source that is away
// leaves the last policy in force.
func TestFollow(t *testing.T) {
	t.Parallel()

	stub := serve(t, func(http.ResponseWriter, *http.Request) {})
	h := newHandler(t, httpfetch.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	source, reports, done := make(changing), make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		h.Follow(ctx, source, time.Millisecond, func(err error) { reports <- err })
	}()
	give := func(p loopbroker.Policy, err error) {
		source <- func() (loopbroker.Policy, error) { return p, err }
	}
	class := func() loopbroker.ErrorClass {
		_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL)})
		if err == nil {
			return loopbroker.ErrorClassNone
		}
		return faultOf(t, err).Class
	}

	away := errors.New("database away")
	give(loopbroker.Policy{}, away)
	if err := <-reports; !errors.Is(err, away) {
		t.Errorf("reported %v, want %v", err, away)
	}
	if got := class(); got != loopbroker.ErrorClassNotAllowed {
		t.Errorf("before the first policy: %q, want not_allowed", got)
	}
	good := rows(endpoint(t, "stub", stub.URL))
	give(good, nil)
	give(loopbroker.Policy{}, away) // is asked for only after the one before is in force
	<-reports
	if got := class(); got != loopbroker.ErrorClassNone {
		t.Errorf("with the policy, its source away: %q, want none", got)
	}
	give(loopbroker.Policy{}, nil)
	give(loopbroker.Policy{}, away)
	<-reports
	if got := class(); got != loopbroker.ErrorClassNotAllowed {
		t.Errorf("without rows: %q, want not_allowed", got)
	}
	cancel()
	<-done
	if err := h.Refresh(t.Context(), httpfetch.StaticPolicy(good)); err != nil || class() != loopbroker.ErrorClassNone {
		t.Errorf("Refresh = %v", err)
	}
}

// TestPolicy_Limits meets each limit at a stub that holds its callers.
func TestPolicy_Limits(t *testing.T) {
	t.Parallel()

	entered, release := make(chan struct{}, 8), make(chan struct{})
	stub := serve(t, func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	})
	h := withPolicy(t, httpfetch.Options{}, rows(
		endpoint(t, "a", stub.URL, func(e *loopbroker.Endpoint) { e.MaxConcurrency = 5 }),
		endpoint(t, "b", stub.URL, func(e *loopbroker.Endpoint) { e.PathPrefix, e.MaxConcurrency = "/b", 1 }), // the smallest applies
	))
	done := make(chan error, 1)
	go func() {
		_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL)})
		done <- err
	}()
	<-entered
	_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL + "/b/x")})
	f := faultOf(t, err)
	if f.Class != loopbroker.ErrorClassHostBusy || !f.Deferred || f.RetryAfter <= 0 || f.Timings != (loopbroker.Timings{}) {
		t.Errorf("got %+v, want a deferral of class host_busy", f)
	}
	if s := h.HostStates(); len(s) != 1 || s[0].InFlight != 1 || s[0].Deferred != 1 {
		t.Errorf("states = %+v", s)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if s := h.HostStates(); s[0].InFlight != 0 {
		t.Errorf("states = %+v, want nothing under way", s)
	}
}

// TestPolicy_AttemptTimeout: the row's clock is for jobs that name none.
func TestPolicy_AttemptTimeout(t *testing.T) {
	t.Parallel()

	address := "http://" + stall(t)
	h := withPolicy(t, httpfetch.Options{}, rows(endpoint(t, "slow", address, func(e *loopbroker.Endpoint) { e.AttemptTimeout = brief })))
	_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(address)})
	if f := faultOf(t, err); f.Class != loopbroker.ErrorClassTimeoutHeader || !strings.Contains(f.Message, brief.String()) {
		t.Errorf("got %v, want class timeout_header after %s", f, brief)
	}
}

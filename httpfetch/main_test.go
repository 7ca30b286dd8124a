package httpfetch_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"loopbroker"
	"loopbroker/httpfetch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loopback lets a handler reach the stubs of these tests.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// resolver answers for every name in the way of one test.
type resolver func(ctx context.Context, host string) ([]netip.Addr, error)

func (r resolver) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	return r(ctx, host)
}

// to returns a resolver that knows one set of addresses for every name.
func to(addrs ...string) resolver {
	list := make([]netip.Addr, 0, len(addrs))
	for _, a := range addrs {
		list = append(list, netip.MustParseAddr(a))
	}
	return func(context.Context, string) ([]netip.Addr, error) { return list, nil }
}

// newHandler returns a handler that ends with the test and has no clock that could
// end by itself unless opts names it.
func newHandler(t testing.TB, opts httpfetch.Options) *httpfetch.Handler {
	t.Helper()
	const never = 10 * time.Minute
	for _, d := range []*time.Duration{&opts.AttemptTimeout, &opts.ConnectTimeout, &opts.TLSTimeout, &opts.HeaderTimeout, &opts.BodyTimeout} {
		if *d == 0 {
			*d = never
		}
	}
	h, err := httpfetch.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// serve starts a stub that ends with the test.
func serve(t testing.TB, f http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s
}

// listen starts a TCP stub that hands each connection to f, and closes it after, or
// at the end of the test.
func listen(t testing.TB, f func(net.Conn)) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var (
		mu    sync.Mutex
		conns []net.Conn // guarded by mu
		group sync.WaitGroup
	)
	group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			group.Go(func() {
				f(conn)
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		mu.Unlock()
		group.Wait()
	})
	return l.Addr().String()
}

// get is the JSON of a plain GET.
func get(url string) string { return job(map[string]any{"url": url, "method": "GET"}) }

// job is the JSON of a job.
func job(members map[string]any) string {
	data, err := json.Marshal(members)
	if err != nil {
		panic(err) // the tests' own literals
	}
	return string(data)
}

// faultOf returns the fault of err, which must hold one.
func faultOf(t testing.TB, err error) *loopbroker.Fault {
	t.Helper()
	var f *loopbroker.Fault
	if !errors.As(err, &f) {
		t.Fatalf("got error %v, want a fault", err)
	}
	return f
}

// output is what a reply's JSON holds.
type output struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    *string           `json:"body"`
}

// outputOf reads the JSON of a reply.
func outputOf(t testing.TB, r loopbroker.Reply) output {
	t.Helper()
	var out output
	if err := json.Unmarshal([]byte(r.JSON), &out); err != nil {
		t.Fatalf("reply JSON %q: %v", r.JSON, err)
	}
	return out
}

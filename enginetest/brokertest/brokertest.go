// Package brokertest gives tests a deployed broker: a database with the
// procedures, the loopback linked server, a worker, and a stub HTTP
// service. It runs on the embedded engine, or on a real server
// when LOOPBROKER_TEST_DSN is set.
package brokertest

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"loopbroker"
	"loopbroker/enginetest"
	"loopbroker/httpfetch"
	"loopbroker/loopback"
	"loopbroker/tsql"
	"loopbroker/worker"
)

// Broker is a deployed broker of one test.
type Broker struct {
	DB     *sql.DB
	Schema tsql.Schema
	Stub   *Stub
}

// Open deploys a broker into a database of the test's own and provisions its
// loopback for the login of the connection. No worker runs yet.
func Open(t testing.TB) *Broker {
	t.Helper()
	b := &Broker{DB: enginetest.Open(t), Stub: newStub(t)}
	b.DB.SetMaxOpenConns(100)
	b.DB.SetMaxIdleConns(100)
	var err error
	if b.Schema, err = tsql.NewSchema(tsql.DefaultSchema); err != nil {
		t.Fatal(err)
	}
	suffix := strings.ReplaceAll(uuid.NewString(), "-", "")
	login, password := "lb_"+suffix, "Aa1!"+uuid.NewString()
	server := "Loop_" + suffix
	if err := tsql.Deploy(t.Context(), b.DB, tsql.Options{LinkServer: server}); err != nil {
		t.Fatalf("deploy: %v", err)
	}
	b.Exec(t, fmt.Sprintf(`CREATE LOGIN [%s] WITH PASSWORD = '%s'; CREATE USER [%[1]s] FOR LOGIN [%[1]s];
		GRANT EXECUTE ON [dbo].[sp_api_broker_request_linked_server] TO [%[1]s];`, login, password))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		_, err := b.DB.ExecContext(ctx, fmt.Sprintf("EXEC sys.sp_dropserver @server = N'%s', @droplogins = N'droplogins'; DROP LOGIN [%s];", server, login))
		if err != nil {
			t.Errorf("drop the loopback: %v", err)
		}
	})
	if err := loopback.Provision(t.Context(), b.DB, b.Schema, loopback.Options{User: login, Password: password}); err != nil {
		t.Fatalf("provision: %v", err)
	}
	return b
}

// Exec runs a batch that must succeed.
func (b *Broker) Exec(t testing.TB, text string, args ...any) {
	t.Helper()
	if _, err := b.DB.ExecContext(t.Context(), text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// Handler returns the HTTP handler that may call the stub.
func (b *Broker) Handler(t testing.TB, change func(*httpfetch.Options)) *httpfetch.Handler {
	t.Helper()
	o := httpfetch.Options{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	if change != nil {
		change(&o)
	}
	h, err := httpfetch.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// Start runs a worker until the test ends or stop is called, and waits until
// callers see it. A nil handler stands for the HTTP handler that may call the
// stub.
func (b *Broker) Start(t testing.TB, h loopbroker.Handler) (stop func()) {
	t.Helper()
	if h == nil {
		h = b.Handler(t, nil)
	}
	_, stop = Run(t, worker.NewSQLStore(b.DB, b.Schema), worker.Options{Handlers: map[string]loopbroker.Handler{"http": h}, MaxPoll: 50 * time.Millisecond})
	b.waitForWorker(t)
	return stop
}

// Run runs a worker on a store until the test ends or stop is called.
func Run(t testing.TB, store worker.Store, o worker.Options) (w *worker.Worker, stop func()) {
	t.Helper()
	w, err := worker.New(store, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("worker: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return w, stop
}

func (b *Broker) waitForWorker(t testing.TB) {
	t.Helper()
	for range 500 {
		var n int
		if err := b.DB.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM dbo.api_broker_worker").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no worker has registered")
}

// Count returns the single number that a query gives.
func (b *Broker) Count(t testing.TB, query string, args ...any) int {
	t.Helper()
	var n int
	if err := b.DB.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// Stub is an HTTP service on a loopback address. /big?bytes=N answers with N
// bytes, everything else with "hello".
type Stub struct {
	URL string

	mu   sync.Mutex
	hits map[string]int // guarded by mu; by path and query
}

func newStub(t testing.TB) *Stub {
	t.Helper()
	s := &Stub{hits: map[string]int{}}
	srv := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(srv.Close)
	s.URL = srv.URL
	return s
}

// Hits counts the requests for a path with its query.
func (s *Stub) Hits(uri string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits[uri]
}

func (s *Stub) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.hits[r.URL.RequestURI()]++
	s.mu.Unlock()
	if r.URL.Path == "/big" {
		n, _ := strconv.Atoi(r.URL.Query().Get("bytes"))
		_, _ = w.Write(make([]byte, n))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("hello"))
}

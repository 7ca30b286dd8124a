package brokertest_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"loopbroker"
	"loopbroker/engine"
	"loopbroker/enginetest"
	"loopbroker/enginetest/brokertest"
	"loopbroker/httpfetch"
	"loopbroker/tsql"
	"loopbroker/worker"
)

// deploy returns a broker without a loopback: the callers of these tests are in no
// transaction.
func deploy(t *testing.T, db *sql.DB) *brokertest.Broker {
	t.Helper()
	if err := tsql.Deploy(t.Context(), db, tsql.Options{}); err != nil {
		t.Fatalf("deploy: %v", err)
	}
	schema, err := tsql.NewSchema("")
	if err != nil {
		t.Fatal(err)
	}
	return &brokertest.Broker{DB: db, Schema: schema}
}

// serve starts an HTTP service and allows it.
func serve(t *testing.T, b *brokertest.Broker, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	allow(t, b, srv.URL)
	return srv.URL
}

func allow(t *testing.T, b *brokertest.Broker, address string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	b.Exec(t, "INSERT INTO dbo.api_broker_endpoint (name, scheme, host, port, allow_private_address, breaker_failures, breaker_open_ms) VALUES (@p1, N'http', N'127.0.0.1', @p1, 1, 3, 600000)", u.Port())
}

// start runs a worker until the test ends or stop is called. Without a handler it
// has the HTTP handler, wired to the policy.
func start(t *testing.T, b *brokertest.Broker, store worker.Store, o worker.Options) (w *worker.Worker, stop func()) {
	t.Helper()
	if o.Handlers == nil {
		h := b.Handler(t, func(o *httpfetch.Options) { o.AllowNetworks = nil }) // the policy allows what it allows
		o.Handlers = map[string]loopbroker.Handler{"http": h}
		o.Policy, o.Hosts = h.SetPolicy, h
	}
	if o.MaxPoll == 0 {
		o.MaxPoll = 50 * time.Millisecond
	}
	if store == nil {
		store = worker.NewSQLStore(b.DB, b.Schema)
	}
	return brokertest.Run(t, store, o)
}

// request stores a request that nobody waits for, and returns its id.
func request(t *testing.T, b *brokertest.Broker, address, more string) int64 {
	t.Helper()
	var id int64
	err := b.DB.QueryRowContext(t.Context(), "DECLARE @id bigint; EXEC dbo.sp_api_request @url = @p1, @wait = 0, @id = @id OUTPUT"+more+"; SELECT @id;", address).Scan(&id)
	if err != nil {
		t.Fatalf("request %s: %v", address, err)
	}
	return id
}

// within waits until a query gives the number.
func within(t *testing.T, b *brokertest.Broker, limit time.Duration, want int, query string, args ...any) {
	t.Helper()
	deadline := time.Now().Add(limit)
	got := -1
	for time.Now().Before(deadline) {
		if got = b.Count(t, query, args...); got == want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s: got %d after %s, want %d", query, got, limit, want)
}

const answered = "SELECT COUNT(*) FROM dbo.api_broker_reply WHERE state = N'completed'"

// TestBurstTimesNothingOut: the clock of an attempt must not run while the request
// waits behind others. How long that was is told apart.
func TestBurstTimesNothingOut(t *testing.T) {
	t.Parallel()
	b := deploy(t, enginetest.Open(t))
	address := serve(t, b, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(50 * time.Millisecond)
		_, _ = io.WriteString(w, "hello")
	})
	b.Exec(t, "DECLARE @i int = 0; WHILE @i < 300 BEGIN EXEC dbo.sp_api_request @url = @p1, @wait = 0, @timeout_ms = 2000, @max_attempts = 1; SET @i += 1; END;", address)
	start(t, b, nil, worker.Options{Slots: 5})
	within(t, b, 60*time.Second, 300, answered)
	if n := b.Count(t, "SELECT COUNT(*) FROM dbo.api_broker_reply WHERE queue_ms > 1000"); n == 0 {
		t.Error("nothing had to wait for long: the test shows nothing")
	}
}

// TestHangingJobHoldsNobodyUp: replies are stored as they come, not when the batch
// that was claimed with them ends.
func TestHangingJobHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	b := deploy(t, enginetest.Open(t))
	release := make(chan struct{})
	address := serve(t, b, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
		_, _ = io.WriteString(w, "hello")
	})
	hang := request(t, b, address+"/hang", "")
	for range 19 {
		request(t, b, address+"/", "")
	}
	start(t, b, nil, worker.Options{Slots: 20, MaxBatch: 20})
	within(t, b, 20*time.Second, 19, answered)
	close(release)
	within(t, b, 20*time.Second, 1, answered+" AND request_id = @p1", hang)
}

// TestPoisonAtTheHead: a row that cannot be read ends itself only.
func TestPoisonAtTheHead(t *testing.T) {
	t.Parallel()
	b := deploy(t, enginetest.Open(t))
	address := serve(t, b, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	for _, payload := range []string{"", "{", `{"id":"x"}`, `{"id":4711}`, strings.Repeat("x", 1<<20)} {
		b.Exec(t, "INSERT INTO dbo.asyncresponse_transport_messages (id, queue, payload_json) VALUES (NEWID(), N'api.normal', @p1)", payload)
	}
	bad := request(t, b, address, "")
	b.Exec(t, "UPDATE dbo.api_broker_call SET json_in = N'{\"url\":7,\"headers\":[[1]]}' WHERE id = @p1", bad)
	b.Exec(t, "DECLARE @i int = 0; WHILE @i < 200 BEGIN EXEC dbo.sp_api_request @url = @p1, @wait = 0; SET @i += 1; END;", address)
	start(t, b, nil, worker.Options{})
	within(t, b, 60*time.Second, 200, answered)
	within(t, b, 20*time.Second, 1, "SELECT COUNT(*) FROM dbo.api_broker_reply WHERE request_id = @p1 AND state = N'failed' AND error_class = N'bad_request'", bad)
	within(t, b, 20*time.Second, 5, "SELECT COUNT(*) FROM dbo.asyncresponse_transport_messages WHERE queue = N'api.deadletter'")
	within(t, b, 20*time.Second, 0, "SELECT COUNT(*) FROM dbo.asyncresponse_transport_messages WHERE queue <> N'api.deadletter'")
}

// TestPlainInsertIsPickedUp by a worker that has come to rest: a signal may make it
// quicker, but nothing depends on one.
func TestPlainInsertIsPickedUp(t *testing.T) {
	t.Parallel()
	b := deploy(t, enginetest.Open(t))
	address := serve(t, b, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	id := request(t, b, address, "")
	b.Exec(t, "DELETE FROM dbo.asyncresponse_transport_messages")
	w, _ := start(t, b, nil, worker.Options{MaxPoll: time.Second})
	deadline := time.Now().Add(30 * time.Second)
	for w.Stats().Polls < 20 && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	b.Exec(t, "INSERT INTO dbo.asyncresponse_transport_messages (id, queue, payload_json) VALUES (NEWID(), N'api.normal', CONCAT(N'{\"id\":', @p1, N'}'))", id)
	within(t, b, 20*time.Second, 1, answered)
}

// TestCancelClosesTheConnection: a request that was called off while it ran must not
// go on, and its slot is free again.
func TestCancelClosesTheConnection(t *testing.T) {
	t.Parallel()
	b := deploy(t, enginetest.Open(t))
	began, closed := make(chan struct{}), make(chan struct{})
	address := serve(t, b, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/hang" {
			return
		}
		close(began)
		<-r.Context().Done()
		close(closed)
	})
	id := request(t, b, address+"/hang", "")
	start(t, b, nil, worker.Options{Slots: 1, Lease: 3 * time.Second, Heartbeat: 200 * time.Millisecond})
	<-began
	if rc := b.Count(t, "DECLARE @rc int; EXEC @rc = dbo.sp_api_cancel @id = @p1; SELECT @rc", id); rc != 1 {
		t.Fatalf("cancel: got %d, want 1", rc)
	}
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Fatal("the connection is still open")
	}
	within(t, b, 20*time.Second, 1, "SELECT COUNT(*) FROM dbo.api_broker_reply WHERE request_id = @p1 AND state = N'cancelled'", id)
	within(t, b, 20*time.Second, 0, "SELECT COUNT(*) FROM dbo.api_broker_cancel")
	request(t, b, address+"/", "")
	within(t, b, 20*time.Second, 1, answered)
}

// TestPolicyChangesWithoutARestart, both ways; what the allow-list has lost since the
// call is not dialled.
func TestPolicyChangesWithoutARestart(t *testing.T) {
	t.Parallel()
	b := deploy(t, enginetest.Open(t))
	var hits atomic.Int64
	address := serve(t, b, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	start(t, b, nil, worker.Options{PolicyEvery: 50 * time.Millisecond})
	request(t, b, address, "")
	within(t, b, 20*time.Second, 1, answered)

	id := request(t, b, address, ", @due_ms = 1500")
	b.Exec(t, "UPDATE dbo.api_broker_endpoint SET enabled = 0")
	within(t, b, 20*time.Second, 1, "SELECT COUNT(*) FROM dbo.api_broker_reply WHERE request_id = @p1 AND state = N'failed' AND error_class = N'not_allowed'", id)
	if got := hits.Load(); got != 1 {
		t.Errorf("the service was called %d times, want 1", got)
	}
	b.Exec(t, "UPDATE dbo.api_broker_endpoint SET enabled = 1")
	id = request(t, b, address, ", @due_ms = 1500")
	within(t, b, 20*time.Second, 1, answered+" AND request_id = @p1", id)
}

// TestBreakerIsSeenAndReset: an admin sees in SQL which host is not called, and can
// put it back; a job that meets an open breaker loses no attempt.
func TestBreakerIsSeenAndReset(t *testing.T) {
	t.Parallel()
	b := deploy(t, enginetest.Open(t))
	var healthy atomic.Bool
	address := serve(t, b, func(w http.ResponseWriter, _ *http.Request) {
		if !healthy.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	start(t, b, nil, worker.Options{Lease: 3 * time.Second, Heartbeat: 100 * time.Millisecond, PolicyEvery: 50 * time.Millisecond, RetryBase: time.Millisecond, RetryCap: 2 * time.Millisecond})
	for range 20 {
		request(t, b, address, ", @max_attempts = 5")
	}
	within(t, b, 30*time.Second, 1, "SELECT COUNT(*) FROM dbo.api_broker_host_state WHERE state = N'open' AND open_ms > 60000")
	within(t, b, 30*time.Second, 1, "SELECT open_breakers FROM dbo.api_broker_health")
	id := request(t, b, address, ", @max_attempts = 1")
	healthy.Store(true)
	b.Exec(t, "DECLARE @name nvarchar(128) = (SELECT MIN(name) FROM dbo.api_broker_endpoint); EXEC dbo.sp_api_reset_host @endpoint = @name;")
	within(t, b, 30*time.Second, 0, "SELECT COUNT(*) FROM dbo.api_broker_host_state WHERE state <> N'closed'")
	// It was given back for as long as the breaker would have been open.
	b.Exec(t, "UPDATE dbo.asyncresponse_transport_messages SET available_at = SYSUTCDATETIME() WHERE locked_until IS NULL AND queue = N'api.normal'")
	within(t, b, 30*time.Second, 1, answered+" AND http_status = 200 AND attempts = 1 AND request_id = @p1", id)
}

// stopped is a store that can be stopped like a process: its calls do not return.
type stopped struct {
	worker.Store
	mu sync.Mutex // held while the process stands still
}

func (s *stopped) gate() {
	s.mu.Lock()
	s.mu.Unlock() //nolint:staticcheck // it is a gate
}

func (s *stopped) Claim(ctx context.Context, ask loopbroker.ClaimRequest) (loopbroker.Claimed, error) {
	s.gate()
	return s.Store.Claim(ctx, ask)
}

func (s *stopped) Heartbeat(ctx context.Context, beat loopbroker.Beat) (loopbroker.BeatResult, error) {
	s.gate()
	return s.Store.Heartbeat(ctx, beat)
}

func (s *stopped) Complete(ctx context.Context, batch []loopbroker.Completion) ([]loopbroker.Settlement, error) {
	s.gate()
	return s.Store.Complete(context.WithoutCancel(ctx), batch)
}

// TestStoppedWorkerIsReplaced: a worker stands still past its lease. Another takes the
// request, as its second attempt; what the first one writes when it goes on is refused.
func TestStoppedWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	b := deploy(t, enginetest.Open(t))
	frozen := &stopped{Store: worker.NewSQLStore(b.DB, b.Schema)}
	began := make(chan struct{})
	first, stop := start(t, b, frozen, worker.Options{ID: "first", Slots: 1, Lease: time.Second, Heartbeat: 200 * time.Millisecond, Handlers: map[string]loopbroker.Handler{
		"work": loopbroker.HandlerFunc(func(context.Context, loopbroker.Job) (loopbroker.Reply, error) {
			frozen.mu.Lock()
			close(began)
			return loopbroker.Reply{JSON: `"first"`}, nil
		}),
	}})
	b.Exec(t, "EXEC dbo.sp_api_broker_request @type = N'work', @json = N'{}', @wait = 0")
	<-began
	goOn := sync.OnceFunc(frozen.mu.Unlock)
	t.Cleanup(goOn)
	start(t, b, nil, worker.Options{ID: "second", Handlers: map[string]loopbroker.Handler{
		"work": loopbroker.HandlerFunc(func(context.Context, loopbroker.Job) (loopbroker.Reply, error) {
			return loopbroker.Reply{JSON: `"second"`}, nil
		}),
	}})
	within(t, b, 20*time.Second, 1, answered+" AND worker = N'second' AND attempts = 2")
	goOn()
	deadline := time.Now().Add(20 * time.Second)
	for first.Stats().Dropped == 0 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	if got := first.Stats(); got.Dropped != 1 || got.Completed != 0 {
		t.Errorf("stats = %+v, want one result dropped", got)
	}
	if n := b.Count(t, answered+" AND json_out = N'\"second\"'"); n != 1 {
		t.Error("the stale reply was stored")
	}
}

// TestCompletionsInTheFleet: what a completion procedure does costs neither the reply
// nor the other requests anything.
func TestCompletionsInTheFleet(t *testing.T) {
	t.Parallel()
	b := deploy(t, enginetest.Open(t))
	address := serve(t, b, func(http.ResponseWriter, *http.Request) {})
	b.Exec(t, "CREATE TABLE dbo.noted (id bigint NOT NULL)")
	for name, body := range map[string]string{
		"notes":  "INSERT INTO dbo.noted (id) SELECT request_id FROM dbo.api_broker_reply WHERE request_id = @id;",
		"throws": "INSERT INTO dbo.noted (id) VALUES (-1); THROW 50000, N'no', 1;",
		"hangs":  "INSERT INTO dbo.noted (id) VALUES (-2); WAITFOR DELAY '00:10:00';",
		"opens":  "INSERT INTO dbo.noted (id) VALUES (-3); BEGIN TRANSACTION;",
	} {
		b.Exec(t, "CREATE PROCEDURE dbo.on_"+name+" @id bigint AS BEGIN "+body+" END")
		b.Exec(t, "INSERT INTO dbo.api_broker_completion (name, procedure_schema, procedure_name, timeout_ms, max_attempts) VALUES (@p1, N'dbo', @p2, 300, 1)", name, "on_"+name)
	}
	start(t, b, nil, worker.Options{})
	for _, name := range []string{"hangs", "throws", "opens", "hangs", "hangs", "hangs", "notes", "notes"} {
		request(t, b, address, ", @on_complete = N'"+name+"'")
	}
	within(t, b, 30*time.Second, 8, answered)
	within(t, b, 30*time.Second, 2, "SELECT COUNT(*) FROM dbo.noted WITH (READPAST) WHERE id > 0")
	within(t, b, 30*time.Second, 6, "SELECT COUNT(*) FROM dbo.asyncresponse_transport_messages WHERE queue = N'api.deadletter'")
	if n := b.Count(t, "SELECT COUNT(*) FROM dbo.noted WHERE id < 0"); n != 0 {
		t.Errorf("%d rows of runs that failed are left", n)
	}
}

// TestOneJanitor: of eight workers whoever is elected sweeps, and when it is gone another
// one does.
func TestOneJanitor(t *testing.T) {
	t.Parallel()
	b := deploy(t, enginetest.Open(t))
	var sweeps atomic.Int64
	var stops []func()
	for range 8 {
		_, stop := start(t, b, sweeping{worker.NewSQLStore(b.DB, b.Schema), &sweeps}, worker.Options{
			JanitorEvery: 20 * time.Millisecond, Handlers: map[string]loopbroker.Handler{"work": loopbroker.HandlerFunc(nil)},
		})
		stops = append(stops, stop)
	}
	id := expiring(t, b)
	within(t, b, 20*time.Second, 1, "SELECT COUNT(*) FROM dbo.api_broker_reply WHERE request_id = @p1 AND state = N'expired'", id)
	for _, stop := range stops[1:] {
		stop()
	}
	id = expiring(t, b)
	within(t, b, 20*time.Second, 1, "SELECT COUNT(*) FROM dbo.api_broker_reply WHERE request_id = @p1 AND state = N'expired'", id)
	if sweeps.Load() == 0 {
		t.Error("nobody has swept")
	}
}

// expiring stores a request that no worker here serves and that expires at once.
func expiring(t *testing.T, b *brokertest.Broker) int64 {
	t.Helper()
	return int64(b.Count(t, "DECLARE @id bigint; EXEC dbo.sp_api_broker_request @type = N'nobodys', @json = N'{}', @wait = 0, @expires_ms = 1, @id = @id OUTPUT; SELECT @id"))
}

// sweeping counts elected sweeps.
type sweeping struct {
	worker.Store
	sweeps *atomic.Int64
}

func (s sweeping) Sweep(ctx context.Context, batch int) (loopbroker.Swept, error) {
	out, err := s.Store.Sweep(ctx, batch)
	if out.Elected {
		s.sweeps.Add(1)
	}
	return out, err
}

// switchable is a connector to an engine that is replaced by another one on the same
// files, as a server that restarts is.
type switchable struct {
	mu sync.Mutex
	to driver.Connector // guarded by mu
}

func (s *switchable) Connect(ctx context.Context) (driver.Conn, error) {
	s.mu.Lock()
	to := s.to
	s.mu.Unlock()
	if to == nil {
		return nil, fmt.Errorf("connect: %w", io.EOF)
	}
	return to.Connect(ctx)
}

func (s *switchable) Driver() driver.Driver { return nil }

func (s *switchable) set(to driver.Connector) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = to
}

// TestDatabaseRestart in the middle of the work: every request ends, none is lost.
func TestDatabaseRestart(t *testing.T) {
	t.Parallel()
	if enginetest.OnServer() {
		t.Skip("a real server is not restarted")
	}
	dir := t.TempDir()
	open := func() *engine.Server {
		srv, err := engine.Open(t.Context(), engine.Options{Dir: dir})
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		return srv
	}
	srv := open()
	connector := &switchable{to: srv.Connector()}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	b := deploy(t, db)
	b.Exec(t, "DECLARE @i int = 0; WHILE @i < 200 BEGIN EXEC dbo.sp_api_broker_request @type = N'work', @json = N'{}', @wait = 0, @max_attempts = 10; SET @i += 1; END;")
	_, stop := start(t, b, nil, worker.Options{
		Slots: 8, Lease: time.Second, Heartbeat: 200 * time.Millisecond, OutageBase: 10 * time.Millisecond, OutageCap: 100 * time.Millisecond, SettleTimeout: 20 * time.Second,
		Handlers: map[string]loopbroker.Handler{"work": loopbroker.HandlerFunc(func(context.Context, loopbroker.Job) (loopbroker.Reply, error) {
			time.Sleep(5 * time.Millisecond)
			return loopbroker.Reply{JSON: `"done"`}, nil
		})},
	})
	within(t, b, 30*time.Second, 1, "SELECT CASE WHEN COUNT(*) >= 20 THEN 1 ELSE 0 END FROM dbo.api_broker_reply")
	connector.set(nil)
	if err := srv.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatalf("close: %v", err)
	}
	srv = open()
	connector.set(srv.Connector())
	deadline := time.Now().Add(60 * time.Second)
	done := 0
	for done < 200 && time.Now().Before(deadline) {
		// The pool may still hold connections to the engine that is gone.
		_ = db.QueryRowContext(t.Context(), answered).Scan(&done)
		time.Sleep(20 * time.Millisecond)
	}
	if done != 200 {
		t.Errorf("%d requests have their reply, want 200", done)
	}
	stop()
	_ = db.Close()
	if err := srv.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Errorf("close: %v", err)
	}
}

package tsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"loopbroker/engine"
	"loopbroker/tsql"
)

// database is a deployed database of a test, with its loopback set up.
type database struct {
	*sql.DB
	t      testing.TB
	schema tsql.Schema
	as     asLogin
	link   struct{ server, user string } // of looped
}

var databases atomic.Int64

// openServer returns a pool on an empty database: one of the embedded engine's, or
// a new one on the server of LOOPBROKER_TEST_DSN.
func openServer(t testing.TB) *sql.DB {
	t.Helper()
	db, _ := openWithLogins(t)
	return db
}

// asLogin opens a pool as a login that exists.
type asLogin func(login, password string) *sql.DB

// openWithLogins is openServer for tests that come as somebody else.
func openWithLogins(t testing.TB) (*sql.DB, asLogin) {
	t.Helper()
	ctx := t.Context()
	if dsn := os.Getenv("LOOPBROKER_TEST_DSN"); dsn != "" {
		return openReal(t, dsn)
	}
	srv, err := engine.Open(ctx, engine.Options{})
	if err != nil {
		t.Fatalf("open the engine: %v", err)
	}
	db := sql.OpenDB(srv.Connector())
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the pool: %v", err)
		}
		// The test's own context is over by now.
		if err := srv.Close(context.WithoutCancel(ctx)); err != nil {
			t.Errorf("close the engine: %v", err)
		}
	})
	return db, func(login, password string) *sql.DB {
		return pool(t, srv.ConnectorFor(login, password, srv.Database()))
	}
}

// pool opens a pool that ends with the test.
func pool(t testing.TB, c driver.Connector) *sql.DB {
	t.Helper()
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// openReal makes a database of its own on a real server, dropped afterwards.
func openReal(t testing.TB, dsn string) (*sql.DB, asLogin) {
	t.Helper()
	ctx := t.Context()
	admin, err := sql.Open("sqlserver", dsn)
	if err != nil {
		t.Fatalf("open LOOPBROKER_TEST_DSN: %v", err)
	}
	name := fmt.Sprintf("loopbroker_test_%d_%d", os.Getpid(), databases.Add(1))
	if _, err := admin.ExecContext(ctx, "CREATE DATABASE ["+name+"]"); err != nil {
		t.Fatalf("create database: %v", err)
	}
	connector, err := mssql.NewConnector(dsn + "&database=" + name)
	if err != nil {
		t.Fatalf("connector: %v", err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(ctx)
		_ = db.Close()
		if _, err := admin.ExecContext(ctx, "ALTER DATABASE ["+name+"] SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE ["+name+"]"); err != nil {
			t.Errorf("drop database: %v", err)
		}
		_ = admin.Close()
	})
	return db, func(login, password string) *sql.DB {
		cfg, err := msdsn.Parse(dsn + "&database=" + name)
		if err != nil {
			t.Fatalf("LOOPBROKER_TEST_DSN: %v", err)
		}
		cfg.User, cfg.Password = login, password
		return pool(t, mssql.NewConnectorConfig(cfg))
	}
}

// deployed returns a database with every object, without a loopback.
func deployed(t testing.TB) *database {
	t.Helper()
	db, as := openWithLogins(t)
	if err := tsql.Deploy(t.Context(), db, tsql.Options{}); err != nil {
		t.Fatalf("deploy: %v", err)
	}
	schema, err := tsql.NewSchema("")
	if err != nil {
		t.Fatal(err)
	}
	d := &database{DB: db, t: t, schema: schema, as: as}
	d.allow("http", "h", 80)
	d.exec("INSERT INTO [dbo].[api_broker_permission] (principal, kind, name) VALUES (N'public', N'endpoint', N'*'), (N'public', N'type', N'*')")
	return d
}

// allow adds a row to the allow-list.
func (db *database) allow(scheme, host string, port int) {
	db.t.Helper()
	db.exec("INSERT INTO [dbo].[api_broker_endpoint] (name, scheme, host, port) VALUES (CONCAT(@p1, N'://', @p2, N':', @p3), @p1, @p2, @p3)",
		scheme, host, port)
}

const loopbackPassword = "Loop-back.1234"

// looped returns a database with every object and a loopback.
func looped(t testing.TB) *database {
	t.Helper()
	db := deployed(t)
	login := fmt.Sprintf("loopback_%d_%d", os.Getpid(), databases.Add(1))
	db.exec(fmt.Sprintf(`CREATE LOGIN [%[1]s] WITH PASSWORD = N'%[2]s', CHECK_POLICY = OFF;
CREATE USER [%[1]s] FOR LOGIN [%[1]s];
GRANT EXECUTE ON [dbo].[sp_api_broker_request_linked_server] TO [%[1]s];`, login, loopbackPassword))
	link := "Linked_" + login
	db.link.server, db.link.user = link, login
	_, err := db.ExecContext(t.Context(), "[dbo].[sp_api_broker_setup]",
		sql.Named("server", link), sql.Named("user", login), sql.Named("pass", loopbackPassword), sql.Named("encrypt", "no"))
	if err != nil {
		t.Fatalf("set up the loopback: %v", err)
	}
	t.Cleanup(func() {
		if os.Getenv("LOOPBROKER_TEST_DSN") == "" {
			return
		}
		// Linked servers and logins outlive the database.
		_, _ = db.ExecContext(context.WithoutCancel(t.Context()), "EXEC sp_dropserver @p1, 'droplogins'", link)
	})
	return db
}

// login makes a login and a user in the roles, mapped to the loopback where there is
// one, and returns a pool of its connections and its name.
func (db *database) login(roles ...string) (*sql.DB, string) {
	db.t.Helper()
	login := fmt.Sprintf("caller_%d_%d", os.Getpid(), databases.Add(1))
	db.exec(fmt.Sprintf("CREATE LOGIN [%[1]s] WITH PASSWORD = N'%[2]s', CHECK_POLICY = OFF; CREATE USER [%[1]s] FOR LOGIN [%[1]s];", login, loopbackPassword))
	for _, role := range roles {
		db.exec(fmt.Sprintf("ALTER ROLE [%s] ADD MEMBER [%s]", role, login))
	}
	if db.link.server != "" {
		db.exec("[dbo].[sp_api_broker_setup]", sql.Named("user", db.link.user), sql.Named("pass", loopbackPassword),
			sql.Named("local_login", login), sql.Named("encrypt", "no"))
	}
	return db.as(login, loopbackPassword), login
}

// exec runs statements that must succeed.
func (db *database) exec(query string, args ...any) {
	db.t.Helper()
	if _, err := db.ExecContext(db.t.Context(), query, args...); err != nil {
		db.t.Fatalf("%s: %v", query, err)
	}
}

// count returns the number of a query's one row.
func (db *database) count(query string, args ...any) int {
	db.t.Helper()
	var n int
	if err := db.QueryRowContext(db.t.Context(), query, args...).Scan(&n); err != nil {
		db.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// wantRequests checks how many requests are stored.
func (db *database) wantRequests(want int) {
	db.t.Helper()
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_call]"); got != want {
		db.t.Errorf("%d requests are stored, want %d", got, want)
	}
}

// session returns one connection of its own.
func (db *database) session() *sql.Conn {
	db.t.Helper()
	conn, err := db.Conn(db.t.Context())
	if err != nil {
		db.t.Fatalf("connect: %v", err)
	}
	db.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// must runs a batch on one connection.
func must(t testing.TB, conn *sql.Conn, batch string) {
	t.Helper()
	if _, err := conn.ExecContext(t.Context(), batch); err != nil {
		t.Fatalf("%s: %v", batch, err)
	}
}

// answer is what a caller's verb gave back.
type answer struct {
	Code      int
	Status    sql.NullInt64
	Response  sql.NullString
	Headers   sql.NullString
	Binary    []byte
	Error     sql.NullString
	ID        sql.NullInt64
	Trancount int
	XactState int
}

// requestBatch returns a batch that calls sp_api_request and selects an answer.
func requestBatch(arguments string) string {
	return `DECLARE @rc int, @status int, @response nvarchar(max), @response_headers nvarchar(max), @response_binary varbinary(max), @error nvarchar(2048), @id bigint;
EXEC @rc = [dbo].[sp_api_request] ` + arguments + `,
    @status = @status OUTPUT, @response = @response OUTPUT, @response_headers = @response_headers OUTPUT,
    @response_binary = @response_binary OUTPUT, @error = @error OUTPUT, @id = @id OUTPUT;
SELECT @rc, @status, @response, @response_headers, @response_binary, @error, @id, @@TRANCOUNT, XACT_STATE();`
}

// collectBatch returns a batch that calls sp_api_collect and selects an answer.
func collectBatch(id int64, wait int) string {
	return fmt.Sprintf(`DECLARE @rc int, @status int, @response nvarchar(max), @response_headers nvarchar(max), @response_binary varbinary(max), @error nvarchar(2048), @id bigint = %d;
EXEC @rc = [dbo].[sp_api_collect] @id = @id, @wait = %d,
    @status = @status OUTPUT, @response = @response OUTPUT, @response_headers = @response_headers OUTPUT,
    @response_binary = @response_binary OUTPUT, @error = @error OUTPUT;
SELECT @rc, @status, @response, @response_headers, @response_binary, @error, @id, @@TRANCOUNT, XACT_STATE();`, id, wait)
}

// queryer is a pool, a connection or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// ask runs a batch that ends with the SELECT of an answer.
func ask(ctx context.Context, q queryer, batch string, args ...any) (answer, error) {
	var a answer
	rows, err := q.QueryContext(ctx, batch, args...)
	if err != nil {
		return a, err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		return a, fmt.Errorf("no answer: %w", rows.Err())
	}
	if err := rows.Scan(&a.Code, &a.Status, &a.Response, &a.Headers, &a.Binary, &a.Error, &a.ID, &a.Trancount, &a.XactState); err != nil {
		return a, err
	}
	return a, rows.Err()
}

// mustAsk is ask for a call that must not throw.
func mustAsk(t testing.TB, q queryer, batch string, args ...any) answer {
	t.Helper()
	a, err := ask(t.Context(), q, batch, args...)
	if err != nil {
		t.Fatalf("%s: %v", firstLine(batch), err)
	}
	return a
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// errorNumber returns the number of a server's error, or 0.
func errorNumber(err error) int32 {
	var server mssql.Error
	if errors.As(err, &server) {
		return server.Number
	}
	return 0
}

// job is a row of a claim.
type job struct {
	MessageID, LockID mssql.UniqueIdentifier
	Lane              string
	Attempts          int
	QueueMS           int64
	Payload           string
	RequestID         sql.NullInt64
	Type, JSON        sql.NullString
	Body              []byte
	Load              bool
	MaxAttempts       sql.NullInt64
	AttemptTimeout    sql.NullInt64
	ExpiresIn         sql.NullInt64
	Expired           bool
	RequestedBy       sql.NullString
	CreatedAt         time.Time
	AgeMS             int64
}

// claim runs the claim once.
func claim(ctx context.Context, db *sql.DB, n, leaseMS int) ([]job, error) {
	rows, err := db.QueryContext(ctx, "[dbo].[sp_api_broker_claim]", sql.Named("n", n), sql.Named("lease_ms", leaseMS), sql.Named("types", "http,echo"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var out []job
	for rows.Next() {
		var j job
		if err := rows.Scan(&j.MessageID, &j.LockID, &j.Lane, &j.Attempts, &j.QueueMS, &j.Payload, &j.RequestID, &j.Type, &j.JSON, &j.Body,
			&j.Load, &j.MaxAttempts, &j.AttemptTimeout, &j.ExpiresIn, &j.Expired, &j.RequestedBy, &j.CreatedAt, &j.AgeMS); err != nil {
			return nil, err
		}
		out = append(out, j)
	}
	return out, rows.Err()
}

// claim is claim for one that must succeed.
func (db *database) claim(n, leaseMS int) []job {
	db.t.Helper()
	jobs, err := claim(db.t.Context(), db.DB, n, leaseMS)
	if err != nil {
		db.t.Fatalf("claim: %v", err)
	}
	return jobs
}

// status runs a procedure and returns its return status.
func (db *database) status(procedure string, args ...any) (int, error) {
	db.t.Helper()
	var rc mssql.ReturnStatus
	_, err := db.ExecContext(db.t.Context(), "[dbo].["+procedure+"]", append(args, &rc)...)
	return int(rc), err
}

// mustStatus is status for one that must succeed.
func (db *database) mustStatus(procedure string, args ...any) int {
	db.t.Helper()
	rc, err := db.status(procedure, args...)
	if err != nil {
		db.t.Fatalf("%s: %v", procedure, err)
	}
	return rc
}

// complete stores an HTTP reply for a job.
func (db *database) complete(j job, httpStatus int, jsonOut string, more ...any) int {
	db.t.Helper()
	args := append([]any{
		sql.Named("message_id", j.MessageID), sql.Named("lock_id", j.LockID), sql.Named("request_id", j.RequestID.Int64),
		sql.Named("state", "completed"), sql.Named("http_status", httpStatus), sql.Named("json_out", jsonOut), sql.Named("worker", "test"),
	}, more...)
	return db.mustStatus(tsql.ProcComplete, args...)
}

// register announces a worker for the types.
func (db *database) register(types string) {
	db.t.Helper()
	db.mustStatus(tsql.ProcRegister, sql.Named("worker_id", "w1"), sql.Named("host", "h"), sql.Named("pid", 1), sql.Named("version", "test"),
		sql.Named("slots", 4), sql.Named("types", types), sql.Named("schema_version", tsql.SchemaVersion))
}

// serve claims and answers requests until the test ends.
func (db *database) serve(reply func(job) string) {
	db.t.Helper()
	db.register("http,echo")
	ctx, cancel := context.WithCancel(db.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			jobs, err := claim(ctx, db.DB, 8, 30000)
			if err != nil {
				if ctx.Err() == nil {
					db.t.Errorf("claim: %v", err)
				}
				return
			}
			for _, j := range jobs {
				if _, err := db.ExecContext(ctx, "[dbo].[sp_api_broker_complete]",
					sql.Named("message_id", j.MessageID), sql.Named("lock_id", j.LockID), sql.Named("request_id", j.RequestID.Int64),
					sql.Named("state", "completed"), sql.Named("http_status", 200), sql.Named("json_out", reply(j)), sql.Named("worker", "test")); err != nil && ctx.Err() == nil {
					db.t.Errorf("complete: %v", err)
				}
			}
			if len(jobs) == 0 {
				time.Sleep(time.Millisecond) // a worker polls; there is nothing to wait on
			}
		}
	}()
	db.t.Cleanup(func() {
		cancel()
		<-done
	})
}

// hello is a reply of an HTTP handler.
func hello(job) string {
	return `{"status":200,"headers":{"Content-Type":"text/plain"},"body":"hello"}`
}

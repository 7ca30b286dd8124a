package tsql_test

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker/tsql"
)

// row returns the columns of a query's one row as text.
func (db *database) row(query string, args ...any) []string {
	db.t.Helper()
	rows, err := db.QueryContext(db.t.Context(), query, args...)
	if err != nil {
		db.t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		db.t.Fatal(err)
	}
	if !rows.Next() {
		db.t.Fatalf("%s: no row: %v", query, rows.Err())
	}
	values, targets := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	if err := rows.Scan(targets...); err != nil {
		db.t.Fatal(err)
	}
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.String
	}
	return out
}

// claimTypes claims for a worker that serves the types.
func (db *database) claimTypes(n int, types string) ([]string, error) {
	rows, err := db.QueryContext(db.t.Context(), "SET NOCOUNT ON; EXEC [dbo].[sp_api_broker_claim] @n = @p1, @lease_ms = 60000, @types = @p2", n, types)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out []string
	for rows.Next() {
		targets := make([]any, len(columns))
		for i := range targets {
			targets[i] = new(any)
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		out = append(out, fmt.Sprint(*targets[2].(*any), " ", *targets[7].(*any)))
	}
	return out, rows.Err()
}

// askType stores a request of a type and returns its id.
func (db *database) askType(kind, more string) int64 {
	db.t.Helper()
	var id int64
	row := db.QueryRowContext(db.t.Context(), "DECLARE @id bigint; EXEC [dbo].[sp_api_broker_request] @type = @p1, @json = N'{}', @wait = 0, @id = @id OUTPUT"+more+"; SELECT @id;", kind)
	if err := row.Scan(&id); err != nil {
		db.t.Fatalf("request of type %s: %v", kind, err)
	}
	return id
}

// TestClaimGivesServedTypesOnly: work that is given to a process which cannot do it
// comes back for ever, so a worker is given what it serves, and no other.
func TestClaimGivesServedTypesOnly(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	for range 3 {
		db.askType("file", "")
		db.askType("render.x", "")
	}
	db.enqueue(3, "")
	if got := requestIDs(db.claim(100, 60000)); len(got) != 3 {
		t.Errorf("a worker for http got %d requests, want 3", len(got))
	}
	got, err := db.claimTypes(100, "render.x")
	if want := strings.Repeat("api.normal.render.x render.x ", 3); err != nil || strings.Join(got, " ")+" " != want {
		t.Errorf("got %v, %v, want %s", got, err, want)
	}
	if got, err := db.claimTypes(100, "http,render.x"); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v, want nothing: file is nobody's", got, err)
	}
	if got, err := db.claimTypes(100, "nothing,file,http"); err != nil || len(got) != 3 {
		t.Errorf("got %v, %v, want the three of type file", got, err)
	}
	for _, bad := range []string{"", ",", `a"b`, "A", "a b", strings.Repeat("x", 51)} {
		if _, err := db.claimTypes(1, bad); errorNumber(err) != 54061 {
			t.Errorf("@types %q: got %v, want 54061", bad, err)
		}
	}
}

// TestClaimStarvesNoType: a long backlog of one type must not hide another for good.
func TestClaimStarvesNoType(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.exec("DECLARE @i int = 0; WHILE @i < 300 BEGIN EXEC [dbo].[sp_api_request] @url = N'http://h/', @wait = 0; SET @i += 1; END;")
	db.askType("file", "")
	for range 200 {
		got, err := db.claimTypes(1, "http,file")
		if err != nil || len(got) != 1 {
			t.Fatalf("got %v, %v", got, err)
		}
		if got[0] == "api.normal.file file" {
			return
		}
	}
	t.Error("the request of type file was not among 200 claimed ones")
}

// TestClaimTakesAPlainInsert: nothing but the row has to be there, no signal.
func TestClaimTakesAPlainInsert(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	id := db.enqueue(1, "")[0]
	db.exec("DELETE FROM [dbo].[asyncresponse_transport_messages]")
	db.exec("INSERT INTO [dbo].[asyncresponse_transport_messages] (id, queue, payload_json) VALUES (NEWID(), N'api.wait', CONCAT(N'{\"id\":', @p1, N'}'))", id)
	if got := requestIDs(db.claim(10, 60000)); len(got) != 1 || got[0] != id {
		t.Errorf("claimed %v, want %d", got, id)
	}
}

// TestClaimFollowsTheStateNotTheIDs: the order of ids is not the order of commits. A
// low id that commits after higher ones have been done must still run.
func TestClaimFollowsTheStateNotTheIDs(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	conn := db.session()
	must(t, conn, "BEGIN TRANSACTION")
	low := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 0, @on_commit = 1")).ID.Int64
	high := db.enqueue(2, "")
	for _, j := range db.claim(10, 60000) {
		if j.RequestID.Int64 == low {
			t.Fatal("a request was claimed before it was committed")
		}
		db.complete(j, 200, "{}")
	}
	must(t, conn, "COMMIT")
	if got := requestIDs(db.claim(10, 60000)); low > high[0] || len(got) != 1 || got[0] != low {
		t.Errorf("claimed %v after %v, want %d", got, high, low)
	}
}

// TestHeartbeatTellsOfCancellations: a call that cannot be called off runs on for
// nobody. The worker is told with its next heartbeat, and a cancellation that is not
// committed holds no heartbeat up.
func TestHeartbeatTellsOfCancellations(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.register("http")
	db.enqueue(3, "")
	jobs := db.claim(3, 60000)
	if got := cancel(t, db, jobs[1].RequestID.Int64); got != 1 {
		t.Fatalf("cancel: got %d, want 1", got)
	}
	holder := db.session()
	must(t, holder, fmt.Sprintf("BEGIN TRANSACTION; INSERT INTO [dbo].[api_broker_cancel] (request_id, requested_by, requested_at) VALUES (%d, N'x', SYSUTCDATETIME())", jobs[2].RequestID.Int64))
	var items []string
	for _, j := range jobs {
		items = append(items, fmt.Sprintf(`{"message_id":"%s","lock_id":"%s"}`, j.MessageID.String(), j.LockID.String()))
	}
	beat := "SET LOCK_TIMEOUT 2000; EXEC [dbo].[sp_api_broker_heartbeat] @worker_id = N'w1', @busy = 1, @lease_ms = 60000, @leases = @p1"
	var id mssql.UniqueIdentifier
	var status string
	if err := db.QueryRowContext(t.Context(), beat, "["+strings.Join(items, ",")+"]").Scan(&id, &status); err != nil || status != "cancelled" || id != jobs[1].MessageID {
		t.Errorf("got %s %q, %v, want %s cancelled", id, status, err, jobs[1].MessageID)
	}
	must(t, holder, "ROLLBACK")
	// A job that ends with its cancellation leaves nothing behind.
	if rc := db.mustStatus(tsql.ProcComplete, sql.Named("message_id", jobs[1].MessageID), sql.Named("lock_id", jobs[1].LockID),
		sql.Named("request_id", jobs[1].RequestID.Int64), sql.Named("state", "cancelled")); rc != 0 {
		t.Errorf("complete: got %d, want 0", rc)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_cancel]"); got != 0 {
		t.Errorf("%d cancellations are left, want none", got)
	}
}

// TestCancelledRequestDoesNotRunAgain, neither when its attempt failed in the
// meantime nor when its worker died.
func TestCancelledRequestDoesNotRunAgain(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.enqueue(2, ", @max_attempts = 5")
	jobs := db.claim(2, 60000)
	for _, j := range jobs {
		if got := cancel(t, db, j.RequestID.Int64); got != 1 {
			t.Fatalf("cancel: got %d, want 1", got)
		}
	}
	if rc := db.mustStatus(tsql.ProcRelease, sql.Named("message_id", jobs[0].MessageID), sql.Named("lock_id", jobs[0].LockID), sql.Named("delay_ms", 0)); rc != 0 {
		t.Errorf("release: got %d, want 0", rc)
	}
	db.lapse()
	db.mustStatus(tsql.ProcJanitor)
	if got := db.claim(10, 60000); len(got) != 0 {
		t.Errorf("claimed %v, want nothing", requestIDs(got))
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_reply] WHERE state = N'cancelled' AND error_class = N'cancelled'"); got != 2 {
		t.Errorf("%d requests are cancelled, want 2", got)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_cancel]"); got != 0 {
		t.Errorf("%d cancellations are left, want none", got)
	}
}

// lapse lets every lease run out.
func (db *database) lapse() {
	db.t.Helper()
	db.exec("UPDATE [dbo].[asyncresponse_transport_messages] SET available_at = DATEADD(second, -1, SYSUTCDATETIME()), locked_until = DATEADD(second, -1, SYSUTCDATETIME()) WHERE lock_id IS NOT NULL")
}

func TestHeartbeatStoresHosts(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.register("http")
	beat := func(hosts any) error {
		_, err := db.ExecContext(t.Context(), "[dbo].[sp_api_broker_heartbeat]", sql.Named("worker_id", "w1"), sql.Named("busy", 0), sql.Named("lease_ms", 1000), sql.Named("hosts", hosts))
		return err
	}
	if err := beat(`[{"host":"http://a:80","state":"open","failures":10,"in_flight":0,"open_for_ms":30000},{"host":"http://b:80","state":"closed","in_flight":3}]`); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(db.row("SELECT host, worker_id, state, failures, in_flight, CASE WHEN open_ms BETWEEN 20000 AND 30000 THEN 1 END FROM [dbo].[api_broker_host_state] ORDER BY host"), "|"); got != "http://a:80|w1|open|10|0|1" {
		t.Errorf("got %s", got)
	}
	if got := db.row("SELECT open_breakers, status, reason FROM [dbo].[api_broker_health]"); strings.Join(got, "|") != "1|yellow|a circuit breaker is open" {
		t.Errorf("health: %v", got)
	}
	if err := beat(nil); err != nil || db.count("SELECT COUNT(*) FROM [dbo].[api_broker_host]") != 2 {
		t.Errorf("no news: %v, want both rows kept", err)
	}
	if err := beat(`[{"host":"http://b:80","state":"half_open","in_flight":1}]`); err != nil {
		t.Error(err)
	}
	if got := strings.Join(db.row("SELECT host, state, in_flight, COUNT(*) OVER () FROM [dbo].[api_broker_host]"), "|"); got != "http://b:80|half_open|1|1" {
		t.Errorf("got %s", got)
	}
	if err := beat("{"); errorNumber(err) != 54063 {
		t.Errorf("malformed: got %v, want 54063", err)
	}
	db.mustStatus(tsql.ProcUnregister, sql.Named("worker_id", "w1"))
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_host]"); got != 0 {
		t.Errorf("%d rows of a worker that left", got)
	}
}

// TestJanitorSettlesEachRowAlone: a row with impossible values must neither stop the
// sweep nor starve the rows behind it, in whatever lane.
func TestJanitorSettlesEachRowAlone(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.exec("DECLARE @i int = 0; WHILE @i < 120 BEGIN EXEC [dbo].[sp_api_request] @url = N'http://h/', @wait = 0, @max_attempts = 1; SET @i += 1; END;")
	file := db.askType("file", ", @max_attempts = 1")
	db.exec("UPDATE [dbo].[asyncresponse_transport_messages] SET attempts = 1, available_at = DATEADD(second, -5, SYSUTCDATETIME()), lock_id = NULL, locked_until = NULL")
	// The head of the lane: payloads that say nothing, and replies that cannot be stored.
	for i, payload := range []string{"", "[]", `{"id":"x"}`, `{"id":1e99}`, strings.Repeat("x", 100000)} {
		db.exec("INSERT INTO [dbo].[asyncresponse_transport_messages] (id, queue, payload_json, attempts, available_at) VALUES (NEWID(), N'api.normal', @p1, @p2, DATEADD(hour, -1, SYSUTCDATETIME()))", payload, i*1000)
	}
	db.exec("ALTER TABLE [dbo].[api_broker_reply] ADD CONSTRAINT no_third CHECK (request_id <> 3)")
	total := 0
	for range 4 {
		total += db.countRow(1, "EXEC [dbo].[sp_api_broker_janitor] @batch = 50")
	}
	if total != 121 {
		t.Errorf("%d rows are buried, want 121", total)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_reply] WHERE error_class = N'attempts_exhausted'"); got != 120 {
		t.Errorf("%d have their reply, want all but the one that cannot be stored", got)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_reply] WHERE request_id = @p1", file); got != 1 {
		t.Error("the janitor did not look into the lane of another type")
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[asyncresponse_transport_messages] WHERE queue = N'api.deadletter' AND dead_letter_reason LIKE N'The janitor could not settle it. Error 547:%'"); got != 1 {
		t.Errorf("%d rows say that they could not be settled, want 1", got)
	}
}

// countRow returns the number in the given column of a batch's one row.
func (db *database) countRow(column int, batch string) int {
	db.t.Helper()
	n := 0
	if _, err := fmt.Sscan(db.row(batch)[column], &n); err != nil {
		db.t.Fatal(err)
	}
	return n
}

// TestJanitorLooksBehindTheHead: the oldest rows may have a long time to live, and
// must not hide those behind them whose time has passed.
func TestJanitorLooksBehindTheHead(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.enqueue(5, "")
	db.enqueue(2, ", @expires_ms = 1")
	db.exec("WAITFOR DELAY '00:00:00.010'")
	if got := db.countRow(0, "EXEC [dbo].[sp_api_broker_janitor] @batch = 2"); got != 2 {
		t.Errorf("%d are expired, want 2", got)
	}
	// The same for what is past its retention.
	db.exec("UPDATE [dbo].[api_broker_call] SET created_at = DATEADD(day, -9, SYSUTCDATETIME())")
	db.exec("UPDATE [dbo].[api_broker_reply] SET completed_at = DATEADD(day, -9, SYSUTCDATETIME())")
	db.exec("INSERT INTO [dbo].[api_broker_batch] (batch_id, ordinal, request_id, created_at) VALUES (NEWID(), 0, 6, DATEADD(day, -9, SYSUTCDATETIME())), (NEWID(), 0, 7, SYSUTCDATETIME())")
	db.exec("INSERT INTO [dbo].[api_broker_host] (worker_id, host, state, failures, in_flight, updated_at) VALUES (N'gone', N'http://h:80', N'open', 1, 0, SYSUTCDATETIME())")
	purged := 0
	for range 3 {
		purged += db.countRow(2, "EXEC [dbo].[sp_api_broker_janitor] @batch = 2")
	}
	if purged != 3 {
		t.Errorf("purged %d, want two requests and a batch", purged)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_host]"); got != 0 {
		t.Errorf("a worker that is gone still has a word about a host")
	}
}

// TestJanitorTakeOver: the one janitor is elected by a lock of its session, so
// another process takes over when it dies.
func TestJanitorTakeOver(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	holder, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	must(t, holder, "EXEC sp_getapplock N'loopbroker:[dbo]:janitor', N'Exclusive', N'Session', 0, N'public'")
	if rc := db.mustStatus(tsql.ProcJanitor); rc != 1 {
		t.Errorf("beside another: got %d, want 1", rc)
	}
	var spid int
	if err := holder.QueryRowContext(t.Context(), "SELECT @@SPID").Scan(&spid); err != nil {
		t.Fatal(err)
	}
	db.exec(fmt.Sprintf("KILL %d", spid))
	_ = holder.Raw(func(any) error { return driver.ErrBadConn }) // it must not go back to the pool
	deadline := time.Now().Add(10 * time.Second)
	for db.mustStatus(tsql.ProcJanitor) != 0 {
		if time.Now().After(deadline) {
			t.Fatal("nobody took over")
		}
		db.exec("WAITFOR DELAY '00:00:00.020'")
	}
}

// TestJanitorWaitsForNobody: rows that a caller or a worker has locked are skipped,
// so that the sweep and the claims cannot deadlock.
func TestJanitorWaitsForNobody(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	ids := db.enqueue(3, ", @expires_ms = 1")
	db.exec("WAITFOR DELAY '00:00:00.010'")
	holder := db.session()
	must(t, holder, fmt.Sprintf("BEGIN TRANSACTION; UPDATE [dbo].[asyncresponse_transport_messages] SET attempts = attempts WHERE payload_json = N'{\"id\":%d}'", ids[0]))
	if got := db.countRow(0, "SET LOCK_TIMEOUT 2000; EXEC [dbo].[sp_api_broker_janitor] @batch = 100"); got != 2 {
		t.Errorf("expired %d, want the two that nobody holds", got)
	}
	must(t, holder, "ROLLBACK")
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.register("http,file")
	db.exec("INSERT INTO [dbo].[api_broker_credential] (name, endpoint, kind, field) VALUES (N'k', N'http://h:80', N'header', N'X-Key')")
	rows, err := db.QueryContext(t.Context(), "[dbo].[sp_api_broker_policy]")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var got []string
	for {
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for rows.Next() {
			n++
		}
		got = append(got, fmt.Sprint(columns[0], " ", n))
		if !rows.NextResultSet() {
			break
		}
	}
	if want := "[name 1 name 1 workers 1]"; rows.Err() != nil || fmt.Sprint(got) != want {
		t.Errorf("got %v, %v, want %s", got, rows.Err(), want)
	}
}

func TestResetHost(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.exec("INSERT INTO [dbo].[api_broker_endpoint] (name, scheme, host, port, path_prefix) VALUES (N'h2', N'http', N'h', 80, N'/v1'), (N'other', N'http', N'h', 81, N'/')")
	db.mustStatus(tsql.ProcResetHost, sql.Named("endpoint", "h2"))
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_endpoint] WHERE reset_at IS NOT NULL AND port = 80"); got != 2 {
		t.Errorf("%d rows of the host are reset, want 2", got)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_endpoint] WHERE reset_at IS NOT NULL"); got != 2 {
		t.Errorf("%d rows are reset, want 2", got)
	}
	if _, err := db.status(tsql.ProcResetHost, sql.Named("endpoint", "none")); errorNumber(err) != 54081 {
		t.Errorf("unknown: got %v, want 54081", err)
	}
}

// TestAdminVerbsAreForAdmins: a caller's role runs none of them, and a member who got
// EXECUTE in some other way is told.
func TestAdminVerbsAreForAdmins(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	caller, name := db.login("api_broker_caller")
	verbs := []string{"sp_api_purge", "sp_api_redrive @id = 1", "sp_api_reset_host @endpoint = N'x'"}
	for _, verb := range verbs {
		if _, err := caller.ExecContext(t.Context(), "EXEC [dbo]."+verb); errorNumber(err) != 229 {
			t.Errorf("%s: got %v, want 229", verb, err)
		}
		db.exec(fmt.Sprintf("GRANT EXECUTE ON [dbo].%s TO [%s]", strings.Fields(verb)[0], name))
		if _, err := caller.ExecContext(t.Context(), "EXEC [dbo]."+verb); errorNumber(err) != 54075 {
			t.Errorf("%s: got %v, want 54075", verb, err)
		}
	}
	admin, _ := db.login("api_broker_admin")
	for _, verb := range []string{"sp_api_purge", "sp_api_redrive @id = 1", "sp_api_reset_host @endpoint = N'http://h:80'"} {
		if _, err := admin.ExecContext(t.Context(), "EXEC [dbo]."+verb); err != nil {
			t.Errorf("%s by an admin: %v", verb, err)
		}
	}
	for _, view := range []string{tsql.ViewQueue, tsql.ViewHealth, tsql.ViewHostState} {
		var n int
		if err := admin.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM [dbo].["+view+"]").Scan(&n); err != nil {
			t.Errorf("%s by an admin: %v", view, err)
		}
		if err := caller.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM [dbo].["+view+"]").Scan(&n); errorNumber(err) != 229 {
			t.Errorf("%s by a caller: got %v, want 229", view, err)
		}
	}
}

// TestPurge: deletes in batches, each a transaction of its own, or everybody waits.
func TestPurge(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.enqueue(10, "")
	for i, j := range db.claim(8, 60000) {
		if i%2 == 0 {
			db.complete(j, 200, "{}")
			continue
		}
		db.mustStatus(tsql.ProcDeadLetter, sql.Named("message_id", j.MessageID), sql.Named("lock_id", j.LockID),
			sql.Named("request_id", j.RequestID), sql.Named("reason", "x"), sql.Named("error_class", "connect"))
	}
	db.exec("UPDATE [dbo].[api_broker_call] SET created_at = DATEADD(hour, -2, SYSUTCDATETIME())")
	purge := func(arguments string) int {
		t.Helper()
		return db.count("DECLARE @n bigint; EXEC [dbo].[sp_api_purge] " + arguments + ", @deleted = @n OUTPUT; SELECT @n")
	}
	db.exec("UPDATE [dbo].[api_broker_reply] SET completed_at = DATEADD(hour, -2, SYSUTCDATETIME())")
	for _, step := range []struct {
		arguments string
		want      int
	}{
		{"@older_than_hours = 3", 0},
		{"@older_than_hours = NULL", 0},
		{"@older_than_hours = 1, @state = N'cancelled'", 0},
		{"@older_than_hours = 1, @batch = 1, @max_batches = 1", 1},
		{"@older_than_hours = 1, @state = N'failed', @batch = 2", 4},
		{"@older_than_hours = 0, @batch = 3", 3},
		{"@older_than_hours = 0", 0},
	} {
		if got := purge(step.arguments); got != step.want {
			t.Errorf("%s: purged %d, want %d", step.arguments, got, step.want)
		}
	}
	db.wantRequests(2)
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_reply]"); got != 0 {
		t.Errorf("%d replies are left", got)
	}
	if _, err := db.ExecContext(t.Context(), "BEGIN TRANSACTION; EXEC [dbo].[sp_api_purge]"); errorNumber(err) != 54080 {
		t.Errorf("inside a transaction: got %v, want 54080", err)
	}
	for _, bad := range []string{"@older_than_hours = -1", "@state = N'queued'", "@batch = 1001", "@batch = 0", "@max_batches = 0"} {
		if _, err := db.ExecContext(t.Context(), "EXEC [dbo].[sp_api_purge] "+bad); errorNumber(err) != 54079 {
			t.Errorf("%s: got %v, want 54079", bad, err)
		}
	}
}

// TestRedrive: the wish of everybody with a queue is to put back what failed, by host,
// class and age, and not twice.
func TestRedrive(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.allow("http", "other", 8080)
	db.exec("INSERT INTO [dbo].[api_broker_completion] (name, procedure_schema, procedure_name) VALUES (N'c', N'dbo', N'p')")
	db.enqueue(2, "")
	other := mustAsk(t, db, requestBatch("@url = N'http://OTHER:8080/x?y=h', @wait = 0, @priority = N'low', @max_attempts = 7, @on_complete = N'c'")).ID.Int64
	done := db.enqueue(1, "")[0]
	for _, j := range db.claim(10, 60000) {
		if j.RequestID.Int64 == done {
			db.complete(j, 200, "{}")
			continue
		}
		db.mustStatus(tsql.ProcDeadLetter, sql.Named("message_id", j.MessageID), sql.Named("lock_id", j.LockID),
			sql.Named("request_id", j.RequestID), sql.Named("reason", "x"), sql.Named("error_class", "connect"))
	}
	redrive := func(arguments string) int {
		t.Helper()
		return db.count("DECLARE @n int; EXEC [dbo].[sp_api_redrive] " + arguments + ", @count = @n OUTPUT; SELECT @n")
	}
	for _, step := range []struct {
		arguments string
		want      int
	}{
		{"@error_class = N'dns'", 0},
		{"@host = N'h', @failed_before_ms = 600000", 0},
		{"@host = N'oth'", 0},
		{fmt.Sprintf("@id = %d", done), 0},
		{"@host = N'Other'", 1},
		{"@host = N'other'", 0}, // once
		{"@error_class = N'connect', @failed_within_ms = 600000, @limit = 1", 1},
		{"@error_class = N'connect'", 1},
		{"@error_class = N'connect'", 0},
	} {
		if got := redrive(step.arguments); got != step.want {
			t.Errorf("%s: put back %d, want %d", step.arguments, got, step.want)
		}
	}
	got := db.row(`SELECT n.lane, n.max_attempts, n.on_complete, CASE WHEN n.json_in = o.json_in AND n.requested_by = o.requested_by AND n.message_id <> o.message_id
    AND n.expires_at > SYSUTCDATETIME() AND o.on_complete = n.on_complete THEN 1 END
FROM [dbo].[api_broker_call] AS n INNER JOIN [dbo].[api_broker_call] AS o ON o.id = n.redrive_of WHERE o.id = @p1`, other)
	if strings.Join(got, "|") != "api.low|7|c|1" {
		t.Errorf("the successor: %v", got)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[asyncresponse_transport_messages] WHERE queue = N'api.deadletter'"); got != 0 {
		t.Errorf("%d buried rows are left", got)
	}
	if got := db.claim(10, 60000); len(got) != 3 || got[0].Attempts != 1 {
		t.Errorf("claimed %+v, want the three", got)
	}
	for _, bad := range []string{"@limit = 5", "@id = 1, @limit = 0", "@id = 1, @limit = 1001", "@failed_before_ms = -1"} {
		if _, err := db.ExecContext(t.Context(), "EXEC [dbo].[sp_api_redrive] "+bad); errorNumber(err) != 54079 {
			t.Errorf("%s: got %v, want 54079", bad, err)
		}
	}
}

// TestHealthAndQueue: a backlog that nobody works off must be seen, by the age of the
// oldest request that is due.
func TestHealthAndQueue(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	health := func() string {
		t.Helper()
		return strings.Join(db.row("SELECT status, reason, workers_alive, due, in_flight, dead_letters FROM [dbo].[api_broker_health]"), "|")
	}
	if got, want := health(), "yellow|no worker lives|0|0|0|0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	db.enqueue(3, "")
	db.enqueue(1, ", @due_ms = 60000")
	db.askType("file", "")
	if got, want := health(), "red|requests are due and no worker lives|0|4|0|0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	db.register("http")
	if got, want := health(), "green||1|4|0|0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	j := db.claim(1, 60000)[0]
	// A type that the one worker does not serve turns the light red in the end.
	db.exec("UPDATE [dbo].[asyncresponse_transport_messages] SET available_at = DATEADD(second, -61, SYSUTCDATETIME()) WHERE queue = N'api.normal.file'")
	if got, want := health(), "red|a request has been due for a minute|1|3|1|0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := strings.Join(db.row("SELECT type, host, depth, due, in_flight FROM [dbo].[api_broker_queue] WHERE lane = N'api.normal'"), "|"); got != "http|h|4|2|1" {
		t.Errorf("queue: %s", got)
	}
	if got := strings.Join(db.row("SELECT type, host, depth, due, in_flight, CASE WHEN oldest_due_age_ms >= 61000 THEN 1 END FROM [dbo].[api_broker_queue] WHERE lane = N'api.normal.file'"), "|"); got != "file||1|1|0|1" {
		t.Errorf("queue: %s", got)
	}
	db.exec("DELETE FROM [dbo].[asyncresponse_transport_messages] WHERE queue = N'api.normal.file'")
	db.mustStatus(tsql.ProcDeadLetter, sql.Named("message_id", j.MessageID), sql.Named("lock_id", j.LockID), sql.Named("request_id", j.RequestID), sql.Named("reason", "x"))
	if got, want := health(), "yellow|there are dead letters|1|2|0|1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestLeasedRowsAreOutsideTheClaimsRange: thousands of leased rows at the head would
// be read again by every claim, if leases did not move them past the present moment,
// where the seek ends.
func TestLeasedRowsAreOutsideTheClaimsRange(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.register("http")
	db.exec("DECLARE @i int = 0; WHILE @i < 50 BEGIN EXEC [dbo].[sp_api_request] @url = N'http://h/', @wait = 0; SET @i += 1; END;")
	jobs := db.claim(30, 30000)
	inRange := func(want int) {
		t.Helper()
		if got := db.count("SELECT COUNT(*) FROM [dbo].[asyncresponse_transport_messages] WHERE queue = N'api.normal' AND available_at <= SYSUTCDATETIME()"); got != want {
			t.Errorf("%d rows are in the range of a claim, want %d", got, want)
		}
	}
	inRange(20)
	items := fmt.Sprintf(`[{"message_id":"%s","lock_id":"%s"}]`, jobs[0].MessageID.String(), jobs[0].LockID.String())
	db.exec("EXEC [dbo].[sp_api_broker_heartbeat] @worker_id = N'w1', @busy = 1, @lease_ms = 60000, @leases = @p1", items)
	inRange(20)
	db.mustStatus(tsql.ProcRelease, sql.Named("message_id", jobs[1].MessageID), sql.Named("lock_id", jobs[1].LockID), sql.Named("delay_ms", 60000))
	inRange(20)
	db.mustStatus(tsql.ProcRelease, sql.Named("message_id", jobs[2].MessageID), sql.Named("lock_id", jobs[2].LockID), sql.Named("delay_ms", 0))
	inRange(21)
}

// TestNobodyDeadlocks: claims, completions, cancellations, the janitor and purges meet
// on the same rows. They take them by the same keys and skip what is locked, so that
// none is chosen as a victim; with row versions two readers see the same free row, and
// still only one gets it.
func TestNobodyDeadlocks(t *testing.T) {
	t.Parallel()
	for _, versions := range []string{"OFF", "ON"} {
		t.Run("versions "+versions, func(t *testing.T) {
			t.Parallel()
			db := deployed(t)
			db.exec("ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT " + versions)
			db.register("http")
			db.exec("DECLARE @i int = 0; WHILE @i < 300 BEGIN EXEC [dbo].[sp_api_request] @url = N'http://h/', @wait = 0, @expires_ms = 300; SET @i += 1; END;")
			db.exec("DECLARE @i int = 0; WHILE @i < 300 BEGIN EXEC [dbo].[sp_api_request] @url = N'http://h/', @wait = 0; SET @i += 1; END;")
			var group sync.WaitGroup
			var mu sync.Mutex
			seen := map[int64]int{}
			for i := range 4 {
				group.Go(func() {
					for empty := 0; empty < 3; {
						jobs, err := claim(t.Context(), db.DB, 5, 60000)
						if err != nil {
							t.Errorf("claim: %v", err)
							return
						}
						if len(jobs) == 0 {
							empty++
						}
						for k, j := range jobs {
							mu.Lock()
							seen[j.RequestID.Int64]++
							mu.Unlock()
							if k%3 == 0 {
								if _, err := db.ExecContext(t.Context(), "EXEC [dbo].[sp_api_cancel] @id = @p1", j.RequestID.Int64+1); err != nil {
									t.Errorf("cancel: %v", err)
								}
							}
							if _, err := db.status(tsql.ProcComplete, sql.Named("message_id", j.MessageID), sql.Named("lock_id", j.LockID),
								sql.Named("request_id", j.RequestID.Int64), sql.Named("state", "completed")); err != nil {
								t.Errorf("complete: %v", err)
							}
						}
					}
				})
				group.Go(func() {
					for range 15 {
						verb := "EXEC [dbo].[sp_api_broker_janitor] @batch = 20"
						if i%2 == 1 {
							verb = "EXEC [dbo].[sp_api_purge] @older_than_hours = 0, @batch = 7, @max_batches = 3"
						}
						if _, err := db.ExecContext(t.Context(), verb); err != nil {
							t.Errorf("%s: %v", verb, err)
						}
					}
				})
			}
			group.Wait()
			for id, n := range seen {
				if n != 1 {
					t.Errorf("request %d was claimed %d times", id, n)
				}
			}
			if got := db.count("SELECT COUNT(*) FROM [dbo].[asyncresponse_transport_messages] WHERE lock_id IS NOT NULL"); got != 0 {
				t.Errorf("%d leased rows are left", got)
			}
		})
	}
}

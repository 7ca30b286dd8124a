package tsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker/tsql"
)

// enqueue stores n requests of the lane's kind and returns their ids.
func (db *database) enqueue(n int, arguments string) []int64 {
	db.t.Helper()
	var ids []int64
	for range n {
		a := mustAsk(db.t, db, requestBatch("@url = N'http://h/', @wait = 0"+arguments))
		ids = append(ids, a.ID.Int64)
	}
	return ids
}

func requestIDs(jobs []job) []int64 {
	var ids []int64
	for _, j := range jobs {
		ids = append(ids, j.RequestID.Int64)
	}
	return ids
}

func TestClaimOrder(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	low := db.enqueue(2, ", @priority = N'low'")
	normal := db.enqueue(2, "")
	waiting := mustAsk(t, db, requestBatch("@url = N'http://h/', @wait = 1")).ID.Int64
	db.enqueue(1, ", @due_ms = 600000")
	want := fmt.Sprint(append(append([]int64{waiting}, normal...), low...))
	if got := fmt.Sprint(append(requestIDs(db.claim(2, 30000)), requestIDs(db.claim(10, 30000))...)); got != want {
		t.Errorf("claimed %s, want %s", got, want)
	}
	if got := db.claim(10, 30000); len(got) != 0 {
		t.Errorf("claimed %v, want nothing: all are leased or not due", requestIDs(got))
	}
}

func TestClaimMatchesTheQueueNameExactly(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	for _, queue := range []string{"api.normal ", "API.NORMAL", "api.normal.x", "worker", "api.deadletter"} {
		db.exec("INSERT INTO [dbo].[asyncresponse_transport_messages] (id, queue, payload_json) VALUES (NEWID(), @p1, N'{\"id\":1}')", queue)
	}
	if got := db.claim(10, 1000); len(got) != 0 {
		t.Errorf("claimed %d rows of other queues", len(got))
	}
}

func TestClaimSurvivesForeignRows(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	payloads := []string{"", "{", "[]", "{}", `{"id":"x"}`, `{"id":null}`, `{"id":1e99}`, `{"id":{"a":1}}`, `"text"`, "12"}
	for _, p := range payloads {
		db.exec("INSERT INTO [dbo].[asyncresponse_transport_messages] (id, queue, payload_json) VALUES (NEWID(), N'api.normal', @p1)", p)
	}
	db.exec("INSERT INTO [dbo].[asyncresponse_transport_messages] (id, queue, payload_json) VALUES (NEWID(), N'api.normal', N'{\"id\":999}')")
	jobs := db.claim(100, 30000)
	if len(jobs) != len(payloads)+1 {
		t.Fatalf("claimed %d, want %d", len(jobs), len(payloads)+1)
	}
	for _, j := range jobs {
		if j.Type.Valid || (j.RequestID.Valid && j.RequestID.Int64 != 999) {
			t.Errorf("payload %s became request %v of type %v", j.Payload, j.RequestID, j.Type)
		}
		if rc := db.mustStatus(tsql.ProcDeadLetter, sql.Named("message_id", j.MessageID), sql.Named("lock_id", j.LockID),
			sql.Named("request_id", sql.NullInt64{}), sql.Named("reason", "poison")); rc != 0 {
			t.Errorf("dead_letter: %d", rc)
		}
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[asyncresponse_transport_messages] WHERE queue = N'api.deadletter' AND dead_letter_reason = N'poison' AND lock_id IS NULL"); got != len(jobs) {
		t.Errorf("%d rows are buried, want %d", got, len(jobs))
	}
}

func TestClaimNeverGivesARowTwice(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	const rows, workers = 400, 8
	db.exec(`DECLARE @i int = 0;
WHILE @i < 400
BEGIN
    EXEC [dbo].[sp_api_request] @url = N'http://h/', @wait = 0;
    SET @i += 1;
END;`)
	got := make(chan []job, workers)
	for range workers {
		go func() {
			var mine []job
			for {
				jobs, err := claim(t.Context(), db.DB, 7, 600000)
				if err != nil {
					t.Errorf("claim: %v", err)
				}
				if len(jobs) == 0 {
					got <- mine
					return
				}
				mine = append(mine, jobs...)
			}
		}()
	}
	seen := map[int64]bool{}
	for range workers {
		for _, j := range <-got {
			if seen[j.RequestID.Int64] {
				t.Errorf("request %d was claimed twice", j.RequestID.Int64)
			}
			seen[j.RequestID.Int64] = true
		}
	}
	// READPAST may skip rows that another claim holds, so an empty claim does not
	// mean that all are taken.
	for _, j := range db.claim(rows, 600000) {
		if seen[j.RequestID.Int64] {
			t.Errorf("request %d was claimed twice", j.RequestID.Int64)
		}
		seen[j.RequestID.Int64] = true
	}
	if len(seen) != rows {
		t.Errorf("claimed %d requests, want %d", len(seen), rows)
	}
}

// countRows is how many rows a query gives.
func countRows(ctx context.Context, conn *sql.Conn, query string) (int, error) {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		n++
	}
	return n, rows.Err()
}

func TestClaimSetsItsOwnLevel(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.exec("ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON")
	for _, level := range []string{"READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "SNAPSHOT"} {
		db.enqueue(1, "")
		conn := db.session()
		must(t, conn, "SET TRANSACTION ISOLATION LEVEL "+level)
		if n, err := countRows(t.Context(), conn, "EXEC [dbo].[sp_api_broker_claim] @n = 5, @lease_ms = 30000"); err != nil || n != 1 {
			t.Errorf("%s: claimed %d, %v, want 1", level, n, err)
		}
	}
}

func TestBigContentIsLoadedApart(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	mustAsk(t, db, "DECLARE @b nvarchar(max) = REPLICATE(CONVERT(nvarchar(max), N'x'), 40000);\n"+requestBatch("@url = N'http://h/', @method = N'POST', @body = @b, @wait = 0"))
	j := db.claim(1, 30000)[0]
	if !j.Load || j.JSON.Valid || j.Body != nil || j.Type.String != "http" {
		t.Fatalf("claimed %+v, want no content", j)
	}
	load := func(lock mssql.UniqueIdentifier) (string, error) {
		var (
			text string
			body []byte
		)
		err := db.QueryRowContext(t.Context(), "[dbo].[sp_api_broker_load]", sql.Named("message_id", j.MessageID), sql.Named("lock_id", lock),
			sql.Named("request_id", j.RequestID.Int64)).Scan(&text, &body)
		return text, err
	}
	if text, err := load(j.LockID); err != nil || strings.Count(text, "x") != 40000 {
		t.Errorf("loaded %d characters, %v", len(text), err)
	}
	if _, err := load(j.MessageID); err != sql.ErrNoRows { //nolint:errorlint // the driver returns it bare
		t.Errorf("another lease: got %v, want %v", err, sql.ErrNoRows)
	}
}

func TestCompleteIsFenced(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.enqueue(2, "")
	stale := db.claim(1, 1)[0]
	db.exec("UPDATE [dbo].[asyncresponse_transport_messages] SET available_at = DATEADD(second, -1, SYSUTCDATETIME()), locked_until = DATEADD(second, -1, SYSUTCDATETIME()) WHERE lock_id IS NOT NULL")
	fresh := db.claim(1, 30000)[0]
	if fresh.RequestID != stale.RequestID || fresh.Attempts != 2 || fresh.LockID == stale.LockID {
		t.Fatalf("got %+v after %+v, want the same request again", fresh, stale)
	}
	if rc := db.complete(stale, 200, "{}"); rc != 1 {
		t.Errorf("a stale holder completes: got %d, want 1", rc)
	}
	if rc := db.mustStatus(tsql.ProcRelease, sql.Named("message_id", stale.MessageID), sql.Named("lock_id", stale.LockID), sql.Named("delay_ms", 0)); rc != 1 {
		t.Errorf("a stale holder releases: got %d, want 1", rc)
	}
	if rc := db.mustStatus(tsql.ProcDeadLetter, sql.Named("message_id", stale.MessageID), sql.Named("lock_id", stale.LockID),
		sql.Named("request_id", stale.RequestID), sql.Named("reason", "x")); rc != 1 {
		t.Errorf("a stale holder buries: got %d, want 1", rc)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_reply]"); got != 0 {
		t.Errorf("a stale holder stored a reply")
	}
	if rc := db.complete(fresh, 200, "{}", sql.Named("attempts", 2), sql.Named("body_out", []byte{1, 2}), sql.Named("content_type", "a/b"), sql.Named("total_ms", 5)); rc != 0 {
		t.Errorf("the holder completes: got %d, want 0", rc)
	}
	if rc := db.complete(fresh, 200, "{}"); rc != 1 {
		t.Errorf("twice: got %d, want 1", rc)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_reply] WHERE state = N'completed' AND http_status = 200 AND attempts = 2 AND body_out = 0x0102 AND content_type = N'a/b' AND total_ms = 5 AND worker = N'test'"); got != 1 {
		t.Errorf("the reply is not as it was given")
	}
	// The first reply stands.
	second := db.claim(1, 30000)[0]
	db.exec("INSERT INTO [dbo].[api_broker_reply] (request_id, state, attempts, completed_at) VALUES (@p1, N'expired', 0, SYSUTCDATETIME())", second.RequestID.Int64)
	if rc := db.complete(second, 200, "{}"); rc != 2 {
		t.Errorf("answered before: got %d, want 2", rc)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[asyncresponse_transport_messages]"); got != 0 {
		t.Errorf("%d queue rows are left", got)
	}
	if _, err := db.status(tsql.ProcComplete, sql.Named("message_id", second.MessageID), sql.Named("lock_id", second.LockID),
		sql.Named("request_id", 1), sql.Named("state", "done")); errorNumber(err) != 54064 {
		t.Errorf("an unknown state: got %v, want 54064", err)
	}
}

func TestCompleteBatch(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.enqueue(4, "")
	jobs := db.claim(4, 30000)
	db.exec("INSERT INTO [dbo].[api_broker_reply] (request_id, state, attempts, completed_at) VALUES (@p1, N'expired', 0, SYSUTCDATETIME())", jobs[2].RequestID.Int64)
	var items []string
	for i, j := range jobs {
		lock := j.LockID.String()
		if i == 3 {
			lock = j.MessageID.String()
		}
		items = append(items, fmt.Sprintf(`{"message_id":"%s","lock_id":"%s","request_id":%d,"state":"completed","http_status":%d,"json_out":"{\"body\":\"é %d\"}","attempts":1,"worker":"w","total_ms":7}`,
			j.MessageID.String(), lock, j.RequestID.Int64, 200+i, i))
	}
	batch := func(json string) (map[string]int, error) {
		rows, err := db.QueryContext(t.Context(), "[dbo].[sp_api_broker_complete_batch]", sql.Named("replies", json))
		if err != nil {
			return nil, err
		}
		defer func() { _ = rows.Close() }()
		out := map[string]int{}
		for rows.Next() {
			var (
				id   mssql.UniqueIdentifier
				code int
			)
			if err := rows.Scan(&id, &code); err != nil {
				return nil, err
			}
			out[id.String()] = code
		}
		return out, rows.Err()
	}
	got, err := batch("[" + strings.Join(items, ",") + "]")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{jobs[2].MessageID.String(): 2, jobs[3].MessageID.String(): 1}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("not stored: %v, want %v", got, want)
	}
	if n := db.count(`SELECT COUNT(*) FROM [dbo].[api_broker_reply] WHERE state = N'completed' AND json_out LIKE N'{"body":"é%' AND total_ms = 7`); n != 2 {
		t.Errorf("%d replies, want 2", n)
	}
	if n := db.count("SELECT COUNT(*) FROM [dbo].[asyncresponse_transport_messages]"); n != 1 {
		t.Errorf("%d queue rows, want the one whose lease was lost", n)
	}
	for json, number := range map[string]int32{
		"{":                    54063,
		`[{"state":"failed"}]`: 54063,
		`[{"message_id":"x","lock_id":"y","request_id":1,"state":"failed"}]`:                                             54063,
		fmt.Sprintf(`[{"message_id":"%[1]s","lock_id":"%[1]s","request_id":1,"state":"x"}]`, jobs[0].MessageID.String()): 54064,
	} {
		if _, err := batch(json); errorNumber(err) != number {
			t.Errorf("%s: got %v, want %d", json, err, number)
		}
	}
	if got, err := batch("[]"); err != nil || len(got) != 0 {
		t.Errorf("an empty batch: %v, %v", got, err)
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.enqueue(1, "")
	release := func(j job, delay int, refund bool) {
		t.Helper()
		if rc := db.mustStatus(tsql.ProcRelease, sql.Named("message_id", j.MessageID), sql.Named("lock_id", j.LockID), sql.Named("delay_ms", delay), sql.Named("refund", refund)); rc != 0 {
			t.Fatalf("release: %d", rc)
		}
	}
	release(db.claim(1, 30000)[0], 0, true)
	j := db.claim(1, 30000)[0]
	if j.Attempts != 1 {
		t.Errorf("attempt %d after a refund, want 1", j.Attempts)
	}
	release(j, 0, false)
	j = db.claim(1, 30000)[0]
	if j.Attempts != 2 {
		t.Errorf("attempt %d, want 2", j.Attempts)
	}
	release(j, 600000, false)
	if got := db.claim(1, 30000); len(got) != 0 {
		t.Errorf("claimed %v before the delay is over", requestIDs(got))
	}
}

func TestDeadLetter(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.enqueue(2, "")
	jobs := db.claim(2, 30000)
	bury := func(j job) int {
		return db.mustStatus(tsql.ProcDeadLetter, sql.Named("message_id", j.MessageID), sql.Named("lock_id", j.LockID), sql.Named("request_id", j.RequestID),
			sql.Named("reason", "no host"), sql.Named("error_class", "dns"), sql.Named("ms_error", 31625))
	}
	if rc := bury(jobs[0]); rc != 0 {
		t.Errorf("got %d, want 0", rc)
	}
	db.exec("INSERT INTO [dbo].[api_broker_reply] (request_id, state, attempts, completed_at) VALUES (@p1, N'expired', 0, SYSUTCDATETIME())", jobs[1].RequestID.Int64)
	if rc := bury(jobs[1]); rc != 2 {
		t.Errorf("answered before: got %d, want 2", rc)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[asyncresponse_transport_messages] WHERE queue = N'api.deadletter' AND dead_letter_reason = N'no host'"); got != 2 {
		t.Errorf("%d rows are buried, want 2", got)
	}
	a := mustAsk(t, db, collectBatch(jobs[0].RequestID.Int64, 0))
	if a.Code != 2 || a.Error.String != "dns: no host" || a.Status.Valid {
		t.Errorf("collected %+v, want the failure", a)
	}
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.enqueue(3, "")
	jobs := db.claim(3, 1000)
	db.complete(jobs[2], 200, "{}")
	leases := func(js ...job) string {
		var items []string
		for _, j := range js {
			items = append(items, fmt.Sprintf(`{"message_id":"%s","lock_id":"%s"}`, j.MessageID.String(), j.LockID.String()))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	beat := func(worker string, list any) ([]string, int, error) {
		var rc mssql.ReturnStatus
		rows, err := db.QueryContext(t.Context(), "[dbo].[sp_api_broker_heartbeat]", sql.Named("worker_id", worker), sql.Named("busy", 2),
			sql.Named("lease_ms", 60000), sql.Named("leases", list), &rc)
		if err != nil {
			return nil, 0, err
		}
		defer func() { _ = rows.Close() }()
		var lost []string
		for rows.Next() {
			var (
				id     mssql.UniqueIdentifier
				status string
			)
			if err := rows.Scan(&id, &status); err != nil {
				return nil, 0, err
			}
			lost = append(lost, id.String()+" "+status)
		}
		return lost, int(rc), rows.Err()
	}
	if _, rc, err := beat("nobody", leases()); err != nil || rc != 1 {
		t.Errorf("an unknown worker: got %d, %v, want 1", rc, err)
	}
	db.register("http")
	lost, rc, err := beat("w1", leases(jobs...))
	if err != nil || rc != 0 || fmt.Sprint(lost) != "["+jobs[2].MessageID.String()+" lost]" {
		t.Errorf("got %v, %d, %v, want the settled one lost", lost, rc, err)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[asyncresponse_transport_messages] WHERE locked_until > DATEADD(second, 50, SYSUTCDATETIME()) AND available_at = locked_until"); got != 2 {
		t.Errorf("%d leases were renewed, want 2", got)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_worker] WHERE busy = 2"); got != 1 {
		t.Errorf("the worker's row was not renewed")
	}
	if lost, rc, err := beat("w1", nil); err != nil || rc != 0 || len(lost) != 0 {
		t.Errorf("no leases: got %v, %d, %v", lost, rc, err)
	}
	for _, bad := range []string{"{", `[{"message_id":"x","lock_id":"y"}]`, `[{}]`} {
		if _, _, err := beat("w1", bad); errorNumber(err) != 54063 {
			t.Errorf("%s: got %v, want 54063", bad, err)
		}
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	register := func(types string, version int) error {
		_, err := db.status(tsql.ProcRegister, sql.Named("worker_id", "w"), sql.Named("host", "h"), sql.Named("pid", 1), sql.Named("version", "v"),
			sql.Named("slots", 1), sql.Named("types", types), sql.Named("schema_version", version))
		return err
	}
	if err := register("http", tsql.SchemaVersion+1); errorNumber(err) != 54060 {
		t.Errorf("another version: got %v, want 54060", err)
	}
	for _, types := range []string{"", "HTTP", "a;b", strings.Repeat("a", 399)} {
		if err := register(types, tsql.SchemaVersion); errorNumber(err) != 54061 {
			t.Errorf("types %.10q: got %v, want 54061", types, err)
		}
	}
	for range 2 {
		if err := register("http, file", tsql.SchemaVersion); err != nil {
			t.Errorf("register: %v", err)
		}
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_worker] WHERE types = N',http,file,'"); got != 1 {
		t.Errorf("%d rows, want 1", got)
	}
}

func TestExpiredIsFlaggedOnTheFirstAttemptOnly(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.enqueue(1, ", @expires_ms = 1")
	db.exec("WAITFOR DELAY '00:00:00.010'")
	j := db.claim(1, 30000)[0]
	if !j.Expired || j.ExpiresIn.Int64 > 0 {
		t.Errorf("got %+v, want it expired", j)
	}
	db.mustStatus(tsql.ProcRelease, sql.Named("message_id", j.MessageID), sql.Named("lock_id", j.LockID), sql.Named("delay_ms", 0))
	if j := db.claim(1, 30000)[0]; j.Expired {
		t.Errorf("attempt %d is expired: it was started in time", j.Attempts)
	}
}

func TestJanitor(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	janitor := func() (expired, buried, purged int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), "EXEC [dbo].[sp_api_broker_janitor] @batch = 100").Scan(&expired, &buried, &purged); err != nil {
			t.Fatalf("janitor: %v", err)
		}
		return expired, buried, purged
	}
	overdue := db.enqueue(1, ", @expires_ms = 1")[0]
	last := db.enqueue(1, ", @max_attempts = 1")[0]
	again := db.enqueue(1, ", @max_attempts = 2")[0]
	alive := db.enqueue(1, ", @max_attempts = 1")[0]
	db.exec("UPDATE [dbo].[asyncresponse_transport_messages] SET attempts = 1, lock_id = NEWID(), locked_until = DATEADD(second, -1, SYSUTCDATETIME()), available_at = DATEADD(second, -1, SYSUTCDATETIME()) WHERE payload_json IN (CONCAT(N'{\"id\":', @p1, N'}'), CONCAT(N'{\"id\":', @p2, N'}'))", last, again)
	db.exec("UPDATE [dbo].[asyncresponse_transport_messages] SET attempts = 1, lock_id = NEWID(), locked_until = DATEADD(second, 60, SYSUTCDATETIME()) WHERE payload_json = CONCAT(N'{\"id\":', @p1, N'}')", alive)
	db.exec("WAITFOR DELAY '00:00:00.010'")
	if e, b, p := janitor(); e != 1 || b != 1 || p != 0 {
		t.Errorf("got %d expired, %d buried, %d purged, want 1, 1, 0", e, b, p)
	}
	if a := mustAsk(t, db, collectBatch(overdue, 0)); a.Code != 2 || !strings.HasPrefix(a.Error.String, "expired: ") {
		t.Errorf("the overdue one: %+v", a)
	}
	if a := mustAsk(t, db, collectBatch(last, 0)); a.Code != 2 || !strings.HasPrefix(a.Error.String, "attempts_exhausted: ") {
		t.Errorf("the one out of attempts: %+v", a)
	}
	for _, id := range []int64{again, alive} {
		if a := mustAsk(t, db, collectBatch(id, 0)); a.Code != 1 {
			t.Errorf("request %d: %+v, want it pending", id, a)
		}
	}
	// Retention: answered ones go, pending ones stay.
	db.exec("UPDATE [dbo].[api_broker_call] SET created_at = DATEADD(day, -8, SYSUTCDATETIME())")
	db.exec("UPDATE [dbo].[api_broker_reply] SET completed_at = DATEADD(day, -8, SYSUTCDATETIME())")
	db.exec("UPDATE [dbo].[asyncresponse_transport_messages] SET available_at = DATEADD(day, -31, SYSUTCDATETIME()) WHERE queue = N'api.deadletter'")
	if e, b, p := janitor(); e != 0 || b != 0 || p != 3 {
		t.Errorf("got %d expired, %d buried, %d purged, want two requests and a buried row", e, b, p)
	}
	if a := mustAsk(t, db, collectBatch(overdue, 0)); a.Code != 7 {
		t.Errorf("past retention: %+v, want 7", a)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_call]"); got != 2 {
		t.Errorf("%d requests are left, want the two pending ones", got)
	}
	// One at a time.
	holder := db.session()
	must(t, holder, "EXEC sp_getapplock N'loopbroker:[dbo]:janitor', N'Exclusive', N'Session', 0")
	if rc := db.mustStatus(tsql.ProcJanitor); rc != 1 {
		t.Errorf("a second janitor: got %d, want 1", rc)
	}
	must(t, holder, "EXEC sp_releaseapplock N'loopbroker:[dbo]:janitor', N'Session'")
	if rc := db.mustStatus(tsql.ProcJanitor); rc != 0 {
		t.Errorf("after the first: got %d, want 0", rc)
	}
}

func TestSetup(t *testing.T) {
	t.Parallel()
	db := looped(t)
	var name, source string
	if err := db.QueryRowContext(t.Context(), "SELECT s.link_server, v.data_source FROM [dbo].[api_broker_setting] AS s INNER JOIN sys.servers AS v ON v.name = s.link_server").Scan(&name, &source); err != nil {
		t.Fatal(err)
	}
	user := name[len("Linked_"):]
	if got := db.count("SELECT COUNT(*) FROM sys.servers WHERE name = @p1 AND is_rpc_out_enabled = 1 AND is_data_access_enabled = 0 AND is_remote_proc_transaction_promotion_enabled = 0 AND query_timeout = 2 AND connect_timeout = 2", name); got != 1 {
		t.Errorf("the options of the link are not as they must be")
	}
	setup := func(prefix string, args ...any) error {
		_, err := db.session().ExecContext(t.Context(), prefix+"EXEC [dbo].[sp_api_broker_setup] @user = @user, @pass = @pass, @encrypt = @encrypt, @data_source = @data_source", args...)
		return err
	}
	args := func(user, pass, encrypt string, source any) []any {
		return []any{sql.Named("user", user), sql.Named("pass", pass), sql.Named("encrypt", encrypt), sql.Named("data_source", source)}
	}
	if err := setup("", args(user, loopbackPassword, "no", source)...); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := setup("BEGIN TRANSACTION; ", args(user, loopbackPassword, "no", source)...); errorNumber(err) != 54050 {
		t.Errorf("in a transaction: got %v, want 54050", err)
	}
	if err := setup("", args("", loopbackPassword, "no", source)...); errorNumber(err) != 54051 {
		t.Errorf("no user: got %v, want 54051", err)
	}
	if err := setup("", args(user, loopbackPassword, "maybe", source)...); errorNumber(err) != 54051 {
		t.Errorf("encrypt: got %v, want 54051", err)
	}
	if err := setup("", args(user, loopbackPassword, "no", "tcp:192.0.2.1,1433")...); errorNumber(err) != 54052 {
		t.Errorf("another data source: got %v, want 54052", err)
	}
	if err := setup("", args(user, "wrong", "no", source)...); errorNumber(err) != 54053 {
		t.Errorf("a wrong password: got %v, want 54053", err)
	}
}

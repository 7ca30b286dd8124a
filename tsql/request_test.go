package tsql_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"loopbroker/tsql"
)

// TestRequestRefusesMisuse gives every kind of misuse, outside and inside a
// transaction: its own number, nothing stored, the transaction usable.
func TestRequestRefusesMisuse(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.exec("UPDATE [dbo].[api_broker_setting] SET max_body_bytes = 1000")
	tests := []struct {
		name, arguments string
		number          int32
	}{
		{"no url", "@url = NULL", 54010},
		{"empty url", "@url = N''", 54010},
		{"ftp", "@url = N'ftp://h/'", 54011},
		{"file", "@url = N'file:///etc/passwd'", 54011},
		{"no scheme", "@url = N'h/path'", 54011},
		{"javascript", "@url = N'javascript:alert(1)'", 54011},
		{"no host", "@url = N'http:///path'", 54012},
		{"no host but a port", "@url = N'http://:80/'", 54012},
		{"a blank", "@url = N'http://h/a b'", 54012},
		{"a line break", "@url = N'http://h/a\nb'", 54012},
		{"outside ASCII", "@url = N'http://h/\u00e4'", 54012},
		{"a backslash", `@url = N'http://h\path'`, 54012},
		{"a port that is none", "@url = N'http://h:x/'", 54012},
		{"a port without digits", "@url = N'http://h:/'", 54012},
		{"port 0", "@url = N'http://h:0/'", 54012},
		{"port 65536", "@url = N'http://h:65536/'", 54012},
		{"port 999999", "@url = N'http://h:999999/'", 54012},
		{"a host of the wrong characters", "@url = N'http://h$x/'", 54012},
		{"a broken IPv6 address", "@url = N'http://[::1/'", 54012},
		{"an IPv6 address of the wrong characters", "@url = N'http://[::g]/'", 54012},
		{"text behind an IPv6 address", "@url = N'http://[::1]x/'", 54012},
		{"a broken escape", "@url = N'http://h/%4'", 54012},
		{"an escape that is none", "@url = N'http://h/%zz'", 54012},
		{"too long", "@url = @long", 54013},
		{"user info", "@url = N'http://u:p@h/'", 54014},
		{"method", "@url = N'http://h/', @method = N'TRACE'", 54015},
		{"no method", "@url = N'http://h/', @method = NULL", 54015},
		{"headers are no JSON", "@url = N'http://h/', @headers = N'Accept: x'", 54020},
		{"headers are an array", `@url = N'http://h/', @headers = N' [{"a":"b"}]'`, 54020},
		{"headers are nested", `@url = N'http://h/', @headers = N'{"a":{"b":"c"}}'`, 54021},
		{"a header is a list", `@url = N'http://h/', @headers = N'{"a":["b"]}'`, 54021},
		{"a header is null", `@url = N'http://h/', @headers = N'{"a":null}'`, 54021},
		{"CR LF in a value", `@url = N'http://h/', @headers = N'{"a":"b\r\nc: d"}'`, 54022},
		{"LF in a name", `@url = N'http://h/', @headers = N'{"a\nb":"c"}'`, 54022},
		{"NUL in a value", `@url = N'http://h/', @headers = N'{"a":"b\u0000c"}'`, 54022},
		{"outside ASCII in a value", "@url = N'http://h/', @headers = N'{\"a\":\"\u00e4\"}'", 54023},
		{"authorization", `@url = N'http://h/', @headers = N'{"AUTHORIZATION":"x"}'`, 54024},
		{"cookie", `@url = N'http://h/', @headers = N'{"Cookie":"x"}'`, 54024},
		{"a key", `@url = N'http://h/', @headers = N'{"X-Api-Key":"x"}'`, 54024},
		{"an empty name", `@url = N'http://h/', @headers = N'{"":"x"}'`, 54025},
		{"a name with a blank", `@url = N'http://h/', @headers = N'{"a b":"x"}'`, 54025},
		{"a name with a colon", `@url = N'http://h/', @headers = N'{"a:":"x"}'`, 54025},
		{"a name twice", `@url = N'http://h/', @headers = N'{"a":"x","A":"y"}'`, 54025},
		{"headers too long", `@url = N'http://h/', @headers = @long_headers`, 54026},
		{"host", `@url = N'http://h/', @headers = N'{"Host":"x"}'`, 54027},
		{"content length", `@url = N'http://h/', @headers = N'{"content-length":"1"}'`, 54027},
		{"no wait", "@url = N'http://h/', @wait = NULL", 54030},
		{"a negative wait", "@url = N'http://h/', @wait = -1", 54030},
		{"a long wait", "@url = N'http://h/', @wait = 120001", 54030},
		{"no time", "@url = N'http://h/', @timeout_ms = 0", 54031},
		{"too much time", "@url = N'http://h/', @timeout_ms = 230001", 54031},
		{"no attempts", "@url = N'http://h/', @max_attempts = 0", 54032},
		{"priority", "@url = N'http://h/', @priority = N'high'", 54033},
		{"empty key", "@url = N'http://h/', @idempotency_key = N''", 54034},
		{"a blank behind the key", "@url = N'http://h/', @idempotency_key = N'k '", 54034},
		{"a blank before the key", "@url = N'http://h/', @idempotency_key = N' k'", 54034},
		{"a long key", "@url = N'http://h/', @idempotency_key = @long", 54034},
		{"expires at once", "@url = N'http://h/', @expires_ms = 0", 54036},
		{"expires before it is due", "@url = N'http://h/', @expires_ms = 10, @due_ms = 10", 54036},
		{"due in the past", "@url = N'http://h/', @due_ms = -1", 54037},
		{"waits for a commit", "@url = N'http://h/', @on_commit = 1, @wait = 1", 54038},
		{"two bodies", "@url = N'http://h/', @body = N'x', @body_binary = 0x00", 54039},
		{"a text over the cap", "@url = N'http://h/', @body = @long", 54040},
		{"bytes over the cap", "@url = N'http://h/', @body_binary = @long_binary", 54040},
		{"on_commit missing", "@url = N'http://h/', @on_commit = NULL, @wait = 0", 54043},
		{"credential", "@url = N'http://h/', @credential = N'c'", 54073},
		{"on_complete", "@url = N'http://h/', @on_complete = N'p'", 54074},
	}
	const long = `DECLARE @long nvarchar(max) = N'http://h/' + REPLICATE(CONVERT(nvarchar(max), N'x'), 4000);
DECLARE @long_headers nvarchar(max) = N'{"a":"' + @long + @long + @long + @long + @long + N'"}', @long_binary varbinary(max) = CONVERT(varbinary(max), @long);
`
	conn := db.session()
	for _, tt := range tests {
		for _, inside := range []bool{false, true} {
			begin, state := "", 0
			if inside {
				begin, state = "BEGIN TRANSACTION;\n", 1
			}
			batch := "SET XACT_ABORT OFF;\n" + long + begin + "BEGIN TRY\n" + requestBatch(tt.arguments) +
				"\nEND TRY\nBEGIN CATCH\nSELECT ERROR_NUMBER(), NULL, ERROR_MESSAGE(), NULL, NULL, NULL, NULL, @@TRANCOUNT, XACT_STATE();\nEND CATCH;\nIF @@TRANCOUNT > 0 ROLLBACK;"
			a, err := ask(t.Context(), conn, batch)
			if err != nil {
				t.Errorf("%s, in a transaction: %t: %v", tt.name, inside, err)
				continue
			}
			if int32(a.Code) != tt.number || a.XactState != state {
				t.Errorf("%s, in a transaction: %t: got %d (%s), state %d, want %d, state %d", tt.name, inside, a.Code, a.Response.String, a.XactState, tt.number, state)
			}
		}
	}
	if got := db.count("SELECT (SELECT COUNT(*) FROM [dbo].[api_broker_call]) + (SELECT COUNT(*) FROM [dbo].[asyncresponse_transport_messages])"); got != 0 {
		t.Errorf("%d rows were stored", got)
	}
}

func TestRequestAcceptsGoodArguments(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.allow("https", "h", 443)
	db.allow("https", "h.example", 8443)
	db.allow("http", "::1", 80)
	db.allow("http", "::ffff:10.0.0.1", 80)
	tests := []struct{ name, arguments, json string }{
		{"plain", "@url = N'http://h'", `{"url":"http://h","method":"GET"}`},
		{"upper-case scheme", "@url = N'HTTPS://h/'", `{"url":"HTTPS://h/","method":"GET"}`},
		{"port and query", "@url = N'https://h.example:8443/p?q=%41&r=[1]#f'", `{"url":"https://h.example:8443/p?q=%41&r=[1]#f","method":"GET"}`},
		{"IPv6", "@url = N'http://[::1]:80/'", `{"url":"http://[::1]:80/","method":"GET"}`},
		{"IPv4 in IPv6", "@url = N'http://[::ffff:10.0.0.1]/'", `{"url":"http://[::ffff:10.0.0.1]/","method":"GET"}`},
		{"an at sign in the path", "@url = N'http://h/@x'", `{"url":"http://h/@x","method":"GET"}`},
		{"method in lower case", "@url = N'http://h/', @method = N'post ', @body = N'a\"b'", `{"url":"http://h/","method":"POST","body":"a\"b"}`},
		{"headers", `@url = N'http://h/', @headers = N'{"Accept":"a/b","X-N":1,"X-B":true}'`, `{"url":"http://h/","method":"GET","headers":{"Accept":"a/b","X-N":1,"X-B":true}}`},
		{"no headers", `@url = N'http://h/', @headers = N'{}'`, `{"url":"http://h/","method":"GET","headers":{}}`},
		{"a key", "@url = N'http://h/', @idempotency_key = N'a b'", `{"url":"http://h/","method":"GET","idempotency_key":"a b"}`},
		{"bytes wanted", "@url = N'http://h/', @binary = 1", `{"url":"http://h/","method":"GET","binary":true}`},
		{"an empty body", "@url = N'http://h/', @body = N''", `{"url":"http://h/","method":"GET","body":""}`},
	}
	for _, tt := range tests {
		a := mustAsk(t, db, requestBatch(tt.arguments+", @wait = 0"))
		if a.Code != 1 || !a.ID.Valid {
			t.Errorf("%s: got %+v, want pending", tt.name, a)
			continue
		}
		var got string
		if err := db.QueryRowContext(t.Context(), "SELECT json_in FROM [dbo].[api_broker_call] WHERE id = @p1", a.ID.Int64).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != tt.json {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.json)
		}
	}
}

func TestRequestLeavesAnOpenTransactionAtOnce(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.exec("CREATE TABLE [dbo].[mine] (id int NOT NULL PRIMARY KEY)")
	conn := db.session()
	must(t, conn, "BEGIN TRANSACTION; INSERT INTO [dbo].[mine] (id) VALUES (1);")
	a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 0, @body_binary = 0x0102"))
	if a.Code != 1 || a.Trancount != 1 || a.XactState != 1 {
		t.Fatalf("got %+v, want pending in the same transaction", a)
	}
	// Another session sees the request while the transaction is open.
	jobs := db.claim(5, 30000)
	if len(jobs) != 1 || jobs[0].RequestID.Int64 != a.ID.Int64 || jobs[0].Lane != "api.normal" || string(jobs[0].Body) != "\x01\x02" ||
		jobs[0].Attempts != 1 || jobs[0].Type.String != "http" || jobs[0].MaxAttempts.Int64 != 3 || jobs[0].AttemptTimeout.Int64 != 30000 {
		t.Fatalf("claimed %+v, want request %d", jobs, a.ID.Int64)
	}
	must(t, conn, "ROLLBACK TRANSACTION;")
	if got := db.count("SELECT COUNT(*) FROM [dbo].[mine]"); got != 0 {
		t.Errorf("the caller's row survived its rollback")
	}
	if got := db.complete(jobs[0], 200, `{"status":200,"headers":{"A":"b"},"body":"done"}`); got != 0 {
		t.Fatalf("complete: %d", got)
	}
	b := mustAsk(t, conn, collectBatch(a.ID.Int64, 0))
	if b.Code != 0 || b.Status.Int64 != 200 || b.Response.String != "done" || b.Headers.String != `{"A":"b"}` {
		t.Errorf("collected %+v, want the answer", b)
	}
	if got := db.count(`SELECT COUNT(*) FROM [dbo].[api_broker_request] WHERE id = @p1 AND state = N'completed' AND requested_by = ORIGINAL_LOGIN()
AND session_id > 0 AND transaction_id > 0 AND worker = N'test'`, a.ID.Int64); got != 1 {
		t.Errorf("the view does not have the request as it was")
	}
}

func TestRequestWaitsForTheAnswer(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.serve(hello)
	for _, inside := range []bool{false, true} {
		conn := db.session()
		if inside {
			must(t, conn, "BEGIN TRANSACTION")
		}
		a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 20000"))
		if a.Code != 0 || a.Status.Int64 != 200 || a.Response.String != "hello" || a.Headers.String != `{"Content-Type":"text/plain"}` || a.Error.Valid {
			t.Errorf("in a transaction %t: got %+v, want the answer", inside, a)
		}
		if want := map[bool]int{false: 0, true: 1}[inside]; a.Trancount != want {
			t.Errorf("in a transaction %t: @@TRANCOUNT = %d, want %d", inside, a.Trancount, want)
		}
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_call] WHERE lane = N'api.wait'"); got != 2 {
		t.Errorf("%d requests in api.wait, want 2", got)
	}
}

func TestWaitEndsOnTimeAndTheAnswerIsCollectedLater(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.register("http")
	conn := db.session()
	must(t, conn, "BEGIN TRANSACTION")
	start := time.Now()
	a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 150"))
	if a.Code != 1 || a.Response.Valid || a.Trancount != 1 {
		t.Fatalf("got %+v, want pending", a)
	}
	if elapsed := time.Since(start); elapsed < 100*time.Millisecond {
		t.Errorf("waited %s only", elapsed)
	}
	if b := mustAsk(t, conn, collectBatch(a.ID.Int64, 0)); b.Code != 1 {
		t.Errorf("collected %+v, want pending", b)
	}
	j := db.claim(1, 30000)[0]
	db.complete(j, 503, `{"status":503,"headers":{},"body":"busy"}`)
	if b := mustAsk(t, conn, collectBatch(a.ID.Int64, 5000)); b.Code != 0 || b.Status.Int64 != 503 || b.Response.String != "busy" {
		t.Errorf("collected %+v, want the answer, whatever its status", b)
	}
	if b := mustAsk(t, conn, collectBatch(a.ID.Int64+1000, 0)); b.Code != 7 {
		t.Errorf("an unknown id: got %+v, want 7", b)
	}
}

func TestNoWorkerIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	db := looped(t)
	conn := db.session()
	a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 60000"))
	if a.Code != 3 || !a.ID.Valid {
		t.Errorf("no worker: got %+v, want 3", a)
	}
	db.register("file,https")
	if a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 60000")); a.Code != 3 {
		t.Errorf("a worker of other types: got %+v, want 3", a)
	}
	db.register("file,http")
	if a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 10")); a.Code != 1 {
		t.Errorf("a live worker: got %+v, want 1", a)
	}
	db.exec("UPDATE [dbo].[api_broker_worker] SET heartbeat_at = DATEADD(second, -11, SYSUTCDATETIME())")
	if a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 60000")); a.Code != 3 {
		t.Errorf("a dead worker: got %+v, want 3", a)
	}
	db.register("http")
	db.mustStatus(tsql.ProcUnregister, sql.Named("worker_id", "w1"))
	if a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 60000")); a.Code != 3 {
		t.Errorf("a worker that left: got %+v, want 3", a)
	}
}

func TestTooManyWaiters(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.exec("UPDATE [dbo].[api_broker_setting] SET max_waiters = 2")
	db.register("http")
	holder := db.session()
	must(t, holder, `BEGIN TRANSACTION;
EXEC sp_getapplock N'loopbroker:[dbo]:waiter:0', N'Exclusive', N'Transaction', 0, N'api_broker_caller';
EXEC sp_getapplock N'loopbroker:[dbo]:waiter:1', N'Exclusive', N'Transaction', 0, N'api_broker_caller';`)
	conn := db.session()
	for _, begin := range []string{"", "BEGIN TRANSACTION"} {
		if begin != "" {
			must(t, conn, begin)
		}
		if a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 60000")); a.Code != 4 || !a.ID.Valid || (begin == "") != (a.Trancount == 0) {
			t.Errorf("%q: got %+v, want 4", begin, a)
		}
	}
	must(t, holder, "EXEC sp_releaseapplock N'loopbroker:[dbo]:waiter:1', N'Transaction', N'api_broker_caller'")
	for range 3 { // a slot is given back each time
		if a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 5")); a.Code != 1 {
			t.Errorf("one slot free: got %+v, want 1", a)
		}
	}
}

func TestOnCommit(t *testing.T) {
	t.Parallel()
	db := looped(t)
	conn := db.session()
	must(t, conn, "BEGIN TRANSACTION")
	if a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 0, @on_commit = 1")); a.Code != 1 {
		t.Fatalf("got %+v, want 1", a)
	}
	if jobs := db.claim(5, 1000); len(jobs) != 0 {
		t.Errorf("claimed %d before the commit", len(jobs))
	}
	must(t, conn, "ROLLBACK")
	must(t, conn, "BEGIN TRANSACTION")
	a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 0, @on_commit = 1"))
	must(t, conn, "COMMIT")
	jobs := db.claim(5, 1000)
	if len(jobs) != 1 || jobs[0].RequestID != a.ID {
		t.Errorf("claimed %+v after the commit, want %d", jobs, a.ID.Int64)
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.allow("http", "other", 80)
	conn := db.session()
	for i, mode := range []string{"outside", "inside", "on commit"} {
		begin, end, more := "", "", ""
		if mode != "outside" {
			begin, end = "BEGIN TRANSACTION", "COMMIT"
		}
		if mode == "on commit" {
			more = ", @on_commit = 1"
		}
		run := func(arguments string) (answer, error) {
			if begin != "" {
				must(t, conn, begin)
				defer must(t, conn, end)
			}
			return ask(t.Context(), conn, requestBatch(arguments+", @wait = 0"+more))
		}
		key := fmt.Sprintf(", @idempotency_key = N'k%d'", i)
		first, err := run("@url = N'http://h/'" + key)
		if err != nil || first.Code != 1 {
			t.Fatalf("%s: first: %+v, %v", mode, first, err)
		}
		again, err := run("@url = N'http://h/'" + key)
		if err != nil || again.ID != first.ID || again.Code != 1 {
			t.Errorf("%s: again: %+v, %v, want request %d", mode, again, err, first.ID.Int64)
		}
		if _, err := run("@url = N'http://other/'" + key); errorNumber(err) != 54035 {
			t.Errorf("%s: another request: %v, want 54035", mode, err)
		}
		db.exec("UPDATE [dbo].[api_broker_idempotency] SET expires_at = DATEADD(second, -1, SYSUTCDATETIME())")
		later, err := run("@url = N'http://other/'" + key)
		if err != nil || later.ID == first.ID {
			t.Errorf("%s: after expiry: %+v, %v, want a new request", mode, later, err)
		}
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[asyncresponse_transport_messages]"); got != 6 {
		t.Errorf("%d queue rows, want 6", got)
	}
	// A keyed call without a wait has the first reply at once.
	j := db.claim(10, 30000)
	db.complete(j[len(j)-1], 200, hello(job{}))
	var key string
	if err := db.QueryRowContext(t.Context(), "SELECT [key] FROM [dbo].[api_broker_idempotency] WHERE request_id = @p1", j[len(j)-1].RequestID.Int64).Scan(&key); err != nil {
		t.Fatal(err)
	}
	if a := mustAsk(t, conn, requestBatch("@url = N'http://other/', @wait = 0, @idempotency_key = N'"+key+"'")); a.Code != 0 || a.Response.String != "hello" {
		t.Errorf("with a reply: %+v, want it", a)
	}
}

func TestConcurrentCallsWithOneKeyStoreOneRequest(t *testing.T) {
	t.Parallel()
	db := looped(t)
	const callers = 16
	ids := make(chan int64, callers)
	for i := range callers {
		go func() {
			batch := requestBatch("@url = N'http://h/', @wait = 0, @idempotency_key = N'one'")
			if i%2 == 0 {
				batch = "BEGIN TRANSACTION;\n" + batch + "\nCOMMIT;"
			}
			a, err := ask(t.Context(), db.DB, batch)
			if err != nil || a.Code != 1 {
				t.Errorf("got %+v, %v, want 1", a, err)
			}
			ids <- a.ID.Int64
		}()
	}
	first := <-ids
	for range callers - 1 {
		if id := <-ids; id != first {
			t.Errorf("got request %d and %d", first, id)
		}
	}
	if got := db.count("SELECT (SELECT COUNT(*) FROM [dbo].[api_broker_call]) + (SELECT COUNT(*) FROM [dbo].[asyncresponse_transport_messages])"); got != 2 {
		t.Errorf("%d rows, want one call and one message", got)
	}
}

func TestForgedTag(t *testing.T) {
	t.Parallel()
	db := looped(t)
	var rc, id any
	row := db.QueryRowContext(t.Context(), `DECLARE @rc int, @id bigint, @m uniqueidentifier = NEWID();
EXEC [dbo].[sp_api_broker_request_linked_server] @verb = N'request', @type = N'http', @json = N'{}', @lane = N'api.normal', @requested_by = N'somebody',
    @session_id = 1, @expires_ms = 1000, @max_attempts = 1, @attempt_timeout_ms = 1, @message_id = @m, @tag = 0x00, @idout = @id OUTPUT, @rc = @rc OUTPUT;
SELECT @rc, @id;`)
	if err := row.Scan(&rc, &id); err != nil || fmt.Sprint(rc) != "54062" || id != nil {
		t.Errorf("got %v, %v, %v, want 54062", rc, id, err)
	}
	conn := db.session()
	must(t, conn, "BEGIN TRANSACTION")
	must(t, db.session(), "UPDATE [dbo].[api_broker_secret] SET secret = 0x01")
	if a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 0")); a.Code != 1 {
		t.Errorf("both sides read the new secret: got %+v, want 1", a)
	}
	db.wantRequests(1)
}

// TestTagOfAnotherSecret has a caller whose snapshot shows an older secret than the
// second connection reads.
func TestTagOfAnotherSecret(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.exec("ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON")
	conn := db.session()
	must(t, conn, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRANSACTION; DECLARE @n int; SELECT @n = COUNT(*) FROM [dbo].[api_broker_setting];")
	db.exec("UPDATE [dbo].[api_broker_secret] SET secret = CRYPT_GEN_RANDOM(32)")
	if _, err := ask(t.Context(), conn, requestBatch("@url = N'http://h/', @wait = 0")); errorNumber(err) != 54062 {
		t.Errorf("got %v, want 54062", err)
	}
	must(t, conn, "ROLLBACK")
	db.wantRequests(0)
}

func TestIncompleteDeployment(t *testing.T) {
	t.Parallel()
	db := looped(t)
	conn := db.session()
	must(t, conn, "BEGIN TRANSACTION; DELETE FROM [dbo].[api_broker_secret];")
	if _, err := ask(t.Context(), conn, requestBatch("@url = N'http://h/', @wait = 0")); errorNumber(err) != 54005 {
		t.Errorf("no secret: got %v, want 54005", err)
	}
	must(t, conn, "ROLLBACK")
	db.exec("DELETE FROM [dbo].[api_broker_setting]")
	for _, batch := range []string{
		requestBatch("@url = N'http://h/', @wait = 0"),
		collectBatch(1, 0),
		"EXEC [dbo].[sp_api_broker_request] @type = N'echo', @json = N'{}', @wait = 0",
	} {
		if _, err := ask(t.Context(), conn, batch); errorNumber(err) != 54005 {
			t.Errorf("%s: got %v, want 54005", firstLine(batch), err)
		}
	}
}

func TestCollectRefusesMisuse(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	for arguments, number := range map[string]int32{
		"@id = NULL":                54044,
		"@id = 1, @wait = -1":       54030,
		"@id = 1, @wait = 99999999": 54030,
	} {
		if _, err := db.ExecContext(t.Context(), "EXEC [dbo].[sp_api_collect] "+arguments); errorNumber(err) != number {
			t.Errorf("%s: got %v, want %d", arguments, err, number)
		}
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.serve(func(j job) string {
		if !strings.Contains(j.JSON.String, `"binary":true`) {
			return hello(j)
		}
		return `{"status":200,"headers":{}}`
	})
	var (
		rc, status int
		response   string
	)
	row := db.QueryRowContext(t.Context(), `DECLARE @rc int, @status int, @response nvarchar(max), @bytes varbinary(max);
BEGIN TRANSACTION;
EXEC @rc = [dbo].[sp_api_fetch] @url = N'http://h/', @status = @status OUTPUT, @response = @response OUTPUT, @binary_response = @bytes OUTPUT;
COMMIT;
SELECT @rc, @status, @response;`)
	if err := row.Scan(&rc, &status, &response); err != nil || rc != 0 || status != 200 || response != "hello" {
		t.Errorf("got %d, %d, %q, %v, want the answer", rc, status, response, err)
	}
}

func TestBrokerRequest(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.serve(func(j job) string {
		if j.Type.String == "echo" {
			return j.JSON.String
		}
		return hello(j)
	})
	call := func(arguments string) (rc int, dataout string, err error) {
		row := db.QueryRowContext(t.Context(), `DECLARE @rc int, @dataout nvarchar(max), @id bigint, @error nvarchar(2048);
BEGIN TRANSACTION;
EXEC @rc = [dbo].[sp_api_broker_request] `+arguments+`, @dataout = @dataout OUTPUT, @id = @id OUTPUT, @error = @error OUTPUT;
COMMIT;
SELECT @rc, COALESCE(@dataout, N'');`)
		err = row.Scan(&rc, &dataout)
		return rc, dataout, err
	}
	if rc, out, err := call(`@type = N'echo', @json = N'{"x":[1,2]}', @wait = 20000`); err != nil || rc != 0 || out != `{"x":[1,2]}` {
		t.Errorf("echo: got %d, %s, %v", rc, out, err)
	}
	if rc, out, err := call(`@type = N'http', @json = N'{"url":"http://h/","method":"POST","headers":{"Accept":"x"},"body":"b"}', @wait = 20000`); err != nil || rc != 0 || out != hello(job{}) {
		t.Errorf("http: got %d, %s, %v", rc, out, err)
	}
	if got := db.count(`SELECT COUNT(*) FROM [dbo].[api_broker_call] WHERE json_in = N'{"url":"http://h/","method":"POST","headers":{"Accept":"x"},"body":"b"}'`); got != 1 {
		t.Errorf("the http job was not stored as sp_api_request stores it")
	}
	for arguments, number := range map[string]int32{
		`@type = NULL, @json = N'{}'`:                                            54041,
		`@type = N'Http', @json = N'{}'`:                                         54041,
		`@type = N'a,b', @json = N'{}'`:                                          54041,
		`@type = N'echo', @json = NULL`:                                          54042,
		`@type = N'echo', @json = N'{'`:                                          54042,
		`@type = N'http', @json = N'{"url":"http://h/","timeout":1}'`:            54042,
		`@type = N'http', @json = N'{"url":"gopher://h/"}'`:                      54011,
		`@type = N'http', @json = N'{"url":"http://h/","headers":{"a":"b\nc"}}'`: 54022,
		`@type = N'http', @json = N'{"url":"http://h/","headers":"x"}'`:          54020,
		`@type = N'echo', @json = N'{}', @on_complete = N'p'`:                    54074,
		`@type = N'echo', @json = N'{}', @wait = -1`:                             54030,
		`@type = N'echo', @json = N'{}', @on_commit = 1`:                         54038,
		`@type = N'echo', @json = N'{}', @idempotency_key = N' '`:                54034,
	} {
		if _, _, err := call(arguments); errorNumber(err) != number {
			t.Errorf("%s: got %v, want %d", arguments, err, number)
		}
	}
}

// TestBrokerRequestMisuseUnderXactAbort: misuse that is caught leaves the caller's
// transaction usable, as with sp_api_request.
func TestBrokerRequestMisuseUnderXactAbort(t *testing.T) {
	t.Parallel()
	db := looped(t)
	var state int
	row := db.QueryRowContext(t.Context(), `SET XACT_ABORT ON;
BEGIN TRANSACTION;
BEGIN TRY
    EXEC [dbo].[sp_api_broker_request] @type = N'http', @json = N'{"url":"gopher://h/"}', @wait = 0;
END TRY
BEGIN CATCH
    SELECT XACT_STATE();
END CATCH;
ROLLBACK;`)
	if err := row.Scan(&state); err != nil || state != 1 {
		t.Errorf("got state %d, %v, want 1", state, err)
	}
}

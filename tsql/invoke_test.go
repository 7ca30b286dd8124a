package tsql_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker"
	"loopbroker/tsql"
)

// invoke calls sp_invoke_external_rest_endpoint and returns its return value and
// answer.
func invoke(ctx context.Context, q queryer, arguments string, args ...any) (int, string, error) {
	var (
		rc       int
		response sql.NullString
	)
	err := q.QueryRowContext(ctx, `DECLARE @rc int, @response nvarchar(max);
EXEC @rc = dbo.sp_invoke_external_rest_endpoint `+arguments+`, @response = @response OUTPUT;
SELECT @rc, @response;`, args...).Scan(&rc, &response)
	return rc, response.String, err
}

// invoked returns a database in which https://api answers as the path says: a status,
// a content type and a body.
func invoked(t *testing.T, answers map[string]map[string]any) *database {
	t.Helper()
	db := looped(t)
	db.allow("https", "api", 443)
	db.answering(func(j job) map[string]any {
		var in struct{ URL string }
		if err := json.Unmarshal([]byte(j.JSON.String), &in); err != nil {
			t.Error(err)
		}
		if answer, ok := answers[strings.TrimPrefix(in.URL, "https://api/")]; ok {
			return answer
		}
		// The request itself, for the tests of what is sent.
		out, _ := json.Marshal(map[string]any{"status": 200, "headers": map[string]string{"Content-Type": "application/json"}, "body": j.JSON.String})
		return map[string]any{"http_status": 200, "json_out": string(out)}
	})
	return db
}

func reply(status int, contentType, body string) map[string]any {
	out, _ := json.Marshal(map[string]any{"status": status, "headers": map[string]string{"Content-Type": contentType}, "body": body})
	return map[string]any{"http_status": status, "json_out": string(out)}
}

// TestInvokeAnswers compares return values and documents with what Microsoft's
// procedure is documented to give.
func TestInvokeAnswers(t *testing.T) {
	t.Parallel()
	bytes := reply(200, "image/png", "")
	bytes["json_out"] = `{"status":200,"headers":{"Content-Type":"image/png"}}`
	bytes["body_out"] = []byte{0xfb, 0xff, 0xfe}
	db := invoked(t, map[string]map[string]any{
		"json":   reply(200, "application/json; charset=utf-8", `{"a":[1,"ü/\""]}`),
		"scalar": reply(201, "application/json", `42`),
		"list":   reply(200, "application/json", `1, 2`),
		"text":   reply(202, "text/plain", "a \"b\"\n"),
		"xml":    reply(200, "application/xml", "<a/>"),
		"none":   reply(204, "", ""),
		"moved":  reply(302, "text/html", "elsewhere"),
		"gone":   reply(404, "application/json", `{"error":"no"}`),
		"busy":   reply(503, "text/plain", "later"),
		"odd":    reply(299, "text/plain", "x"),
		"bytes":  bytes,
	})
	for _, tt := range []struct {
		path     string
		rc, code int
		phrase   string
		result   string // JSON, or empty where it is omitted
	}{
		{"json", 0, 200, "OK", `{"a":[1,"ü/\""]}`},
		{"scalar", 0, 201, "Created", `42`},
		{"list", 0, 200, "OK", `"1, 2"`},
		{"text", 0, 202, "Accepted", `"a \"b\"\n"`},
		{"xml", 0, 200, "OK", `"<a\/>"`},
		{"none", 0, 204, "No Content", ``},
		{"moved", 302, 302, "Found", `"elsewhere"`},
		{"gone", 404, 404, "Not Found", `{"error":"no"}`},
		{"busy", 503, 503, "Service Unavailable", `"later"`},
		{"odd", 0, 299, "", `"x"`},
		{"bytes", 0, 200, "OK", `"+\/\/+"`},
	} {
		for _, begin := range []string{"", "BEGIN TRANSACTION"} {
			t.Run(strings.TrimSpace(tt.path+" "+begin), func(t *testing.T) {
				t.Parallel()
				conn := db.session()
				must(t, conn, "SET NOCOUNT ON "+begin)
				rc, response, err := invoke(t.Context(), conn, "@url = @p1, @method = N'GET'", "https://api/"+tt.path)
				if err != nil || rc != tt.rc {
					t.Fatalf("got %d, %v, want %d", rc, err, tt.rc)
				}
				var got struct {
					Response struct {
						Status struct {
							HTTP struct {
								Code        int
								Description string
							}
						}
						Headers map[string]string
					}
					Result json.RawMessage
				}
				if err := json.Unmarshal([]byte(response), &got); err != nil {
					t.Fatalf("%v: %s", err, response)
				}
				if got.Response.Status.HTTP.Code != tt.code || got.Response.Status.HTTP.Description != tt.phrase {
					t.Errorf("got status %+v, want %d %s", got.Response.Status.HTTP, tt.code, tt.phrase)
				}
				if _, ok := got.Response.Headers["Content-Type"]; !ok {
					t.Errorf("no headers: %s", response)
				}
				// FOR JSON may write a slash as \/ or as it is.
				if strings.ReplaceAll(string(got.Result), `\/`, "/") != strings.ReplaceAll(tt.result, `\/`, "/") {
					t.Errorf("got result %s, want %s", got.Result, tt.result)
				}
				if begin != "" {
					must(t, conn, "IF @@TRANCOUNT <> 1 THROW 50000, N'the transaction is gone', 1; ROLLBACK")
				}
			})
		}
	}
}

// TestInvokeSends looks at what leaves: defaults of Microsoft's procedure, headers
// that are dropped, added and joined, attempts and time-outs.
func TestInvokeSends(t *testing.T) {
	t.Parallel()
	db := invoked(t, nil)
	for _, tt := range []struct {
		name, arguments, method, body string
		headers                       map[string]string
	}{
		{"the defaults", "@url = N'https://api/x'", "POST", "", map[string]string{"Accept": "application/json"}},
		{"a payload", "@url = N'https://api/x', @payload = N'{\"a\":\"ü\"}'", "POST", `{"a":"ü"}`,
			map[string]string{"Accept": "application/json", "Content-Type": "application/json; charset=utf-8"}},
		{"headers of its own", `@url = N'https://api/x', @payload = N'<a/>', @method = 'put', @headers = N'{"content-type":"application/xml","ACCEPT":"text/*","X":1}'`,
			"PUT", "<a/>", map[string]string{"content-type": "application/xml", "ACCEPT": "text/*", "X": "1"}},
		{"headers that are not its to set", `@url = N'https://api/x', @headers = N'{"Host":"other","Cookie":"a=b","User-Agent":"me","Sec-Fetch":"x","Proxy-Authorization":"y","X":"1"}'`,
			"POST", "", map[string]string{"Accept": "application/json", "X": "1"}},
		{"a name twice", `@url = N'https://api/x', @headers = N'{"h1":"a","h2":"b","h1":"c"}'`,
			"POST", "", map[string]string{"Accept": "application/json", "h1": "a, c", "h2": "b"}},
		{"positions", `N'https://api/x', N'p', N'{"A":"b"}', N'PATCH', 230, NULL`, "PATCH", "p",
			map[string]string{"Accept": "application/json", "Content-Type": "application/json; charset=utf-8", "A": "b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rc, response, err := invoke(t.Context(), db, tt.arguments)
			if err != nil || rc != 0 {
				t.Fatalf("got %d, %v", rc, err)
			}
			var got struct {
				Result struct {
					Method, Body string
					Headers      map[string]string
				}
			}
			if err := json.Unmarshal([]byte(response), &got); err != nil {
				t.Fatal(err)
			}
			if got.Result.Method != tt.method || got.Result.Body != tt.body || !maps.Equal(got.Result.Headers, tt.headers) {
				t.Errorf("got %+v, want %s %q %v", got.Result, tt.method, tt.body, tt.headers)
			}
		})
	}
	if _, _, err := invoke(t.Context(), db, "@url = N'https://api/limits', @timeout = 7, @retry_count = 2"); err != nil {
		t.Fatal(err)
	}
	if got := db.count(`SELECT COUNT(*) FROM dbo.api_broker_call
WHERE json_in LIKE N'%/limits%' AND attempt_timeout_ms = 7000 AND max_attempts = 3`); got != 1 {
		t.Error("@timeout and @retry_count did not become the attempt's limits")
	}
}

// TestInvokeErrors has each number that a call can end with, for its cause.
func TestInvokeErrors(t *testing.T) {
	t.Parallel()
	failed := map[string]map[string]any{}
	for _, class := range loopbroker.ErrorClasses() {
		failed[string(class)] = map[string]any{"state": string(class.State()), "error_class": string(class), "error_message": "the reason.", "ms_error": class.MSError()}
	}
	db := invoked(t, failed)
	db.exec("INSERT INTO dbo.api_broker_endpoint (name, scheme, host, port) VALUES (N'closed', N'https', N'closed', 443)")
	nobody, _ := db.login("api_broker_caller")
	db.exec("DELETE FROM dbo.api_broker_permission; INSERT INTO dbo.api_broker_permission (principal, kind, name) VALUES (N'public', N'endpoint', N'https://api:443')")

	type call struct {
		name, arguments string
		want            int32
	}
	calls := []call{
		{"no URL", "@url = NULL", 81609},
		{"no scheme", "@url = N'api/x'", 81609},
		{"a malformed URL", "@url = N'https://a b/'", 81609},
		{"user info", "@url = N'https://u:p@api/'", 81609},
		{"http", "@url = N'http://api/x'", 81610},
		{"ftp", "@url = N'ftp://api/x'", 81610},
		{"a long URL", "@url = @long", 81613},
		{"a method", "@url = N'https://api/x', @method = N'TRACE'", 81605},
		{"no method", "@url = N'https://api/x', @method = NULL", 81605},
		{"OPTIONS, which Microsoft's does not have", "@url = N'https://api/x', @method = N'OPTIONS'", 81605},
		{"a time-out of 0", "@url = N'https://api/x', @timeout = 0", 81604},
		{"a time-out of 231", "@url = N'https://api/x', @timeout = 231", 81604},
		{"no time-out", "@url = N'https://api/x', @timeout = NULL", 81604},
		{"11 retries", "@url = N'https://api/x', @retry_count = 11", 81604},
		{"no JSON", "@url = N'https://api/x', @headers = N'x'", 81618},
		{"a JSON array", "@url = N'https://api/x', @headers = N'[1]'", 81618},
		{"a null", `@url = N'https://api/x', @headers = N'{"a":null}'`, 0},
		{"nested headers", `@url = N'https://api/x', @headers = N'{"a":{"b":1}}'`, 81615},
		{"a line break", `@url = N'https://api/x', @headers = N'{"a":"b\r\nc: d"}'`, 81619},
		{"an umlaut", `@url = N'https://api/x', @headers = N'{"a":"ü"}'`, 81617},
		{"a bad name", `@url = N'https://api/x', @headers = N'{"a b":"c"}'`, 81620},
		{"a secret", `@url = N'https://api/x', @headers = N'{"Authorization":"Bearer x"}'`, 81630},
		{"long headers", "@url = N'https://api/x', @headers = @longheaders", 81632},
		{"a large payload", "@url = N'https://api/x', @payload = @large", 81601},
		{"a host without a row", "@url = N'https://elsewhere/x'", 81612},
		{"a host without a permission", "@url = N'https://closed/x'", 81607},
		{"a credential", "@url = N'https://api/x', @credential = N'none'", 81630},
	}
	for _, class := range loopbroker.ErrorClasses() {
		want := int32(tsql.InvokeOffset + class.MSError())
		if class.MSError() == 0 {
			want = 81608
		}
		calls = append(calls, call{"a failure of class " + string(class), "@url = N'https://api/" + string(class) + "'", want})
	}
	for _, tt := range calls {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			batch := `DECLARE @rc int, @response nvarchar(max),
    @long nvarchar(max) = N'https://api/' + REPLICATE(CONVERT(nvarchar(max), N'x'), 4000),
    @longheaders nvarchar(max) = N'{"a":"' + REPLICATE(CONVERT(nvarchar(max), N'x'), 16400) + N'"}',
    @large nvarchar(max) = REPLICATE(CONVERT(nvarchar(max), N'x'), 5300000);
EXEC @rc = dbo.sp_invoke_external_rest_endpoint ` + tt.arguments + `, @response = @response OUTPUT; SELECT @rc`
			var rc int
			err := nobody.QueryRowContext(t.Context(), batch).Scan(&rc)
			if got := errorNumber(err); got != tt.want {
				t.Fatalf("got %d, %v, want %d", got, err, tt.want)
			}
			if tt.want == 0 {
				return
			}
			cause, ok := tsql.CauseOf(tt.want)
			if !ok || !errors.Is(tsql.WrapError(err), cause.Err) {
				t.Errorf("%v: the cause is %+v, %t", err, cause, ok)
			}
		})
	}
}

// TestInvokeTimesOut has calls that end without an answer: they are called off.
func TestInvokeTimesOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, prepare string
		register      bool
		want          int32
	}{
		{"no worker", "", false, 81608},
		{"an idle worker", "UPDATE dbo.api_broker_setting SET max_wait_ms = 50", true, 81629},
		{"no waiting at all", "UPDATE dbo.api_broker_setting SET max_wait_ms = 0", true, 81629},
	} {
		for _, begin := range []string{"", "BEGIN TRANSACTION"} {
			t.Run(strings.TrimSpace(tt.name+" "+begin), func(t *testing.T) {
				t.Parallel()
				db := looped(t)
				db.allow("https", "api", 443)
				if tt.prepare != "" {
					db.exec(tt.prepare)
				}
				if tt.register {
					db.register("http")
				}
				conn := db.session()
				must(t, conn, "SET NOCOUNT ON "+begin)
				_, _, err := invoke(t.Context(), conn, "@url = N'https://api/'")
				if errorNumber(err) != tt.want {
					t.Errorf("got %v, want %d", err, tt.want)
				}
				if got := db.count("SELECT COUNT(*) FROM dbo.api_broker_reply WHERE state = N'cancelled'"); got != 1 {
					t.Errorf("%d calls are called off, want 1", got)
				}
				if jobs := db.claim(10, 1000); len(jobs) != 0 {
					t.Errorf("a worker still gets %+v", jobs)
				}
				if begin != "" {
					must(t, conn, "IF @@TRANCOUNT <> 1 THROW 50000, N'the transaction is gone', 1; ROLLBACK")
				}
			})
		}
	}
}

// TestInvokeWithTooManyWaiters fills the only waiter's slot.
func TestInvokeWithTooManyWaiters(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.allow("https", "api", 443)
	db.register("http")
	db.exec("UPDATE dbo.api_broker_setting SET max_waiters = 1")
	waiting, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	first := db.session()
	go func() {
		_, _, err := invoke(waiting, first, "@url = N'https://api/first'")
		done <- err
	}()
	var err error
	for errorNumber(err) != 60928 {
		// Until the first one has its slot, a call with no time to wait ends in a time-out.
		_, err = db.ExecContext(waiting, `DECLARE @id bigint, @rc int;
EXEC @rc = dbo.sp_api_request @url = N'http://h/', @wait = 1, @id = @id OUTPUT;
IF @rc = 4 EXEC dbo.sp_invoke_external_rest_endpoint @url = N'https://api/second'`)
		if n := errorNumber(err); err != nil && n != 60928 && n != 81629 {
			t.Fatal(err)
		}
	}
	if !errors.Is(tsql.WrapError(err), loopbroker.ErrTooManyWaiters) {
		t.Errorf("got %v", err)
	}
	cancel()
	<-done
}

// TestInvokeKeepsTheCaller compares options, level and transaction before and after.
func TestInvokeKeepsTheCaller(t *testing.T) {
	t.Parallel()
	db := invoked(t, nil)
	db.exec("ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON")
	for _, set := range []string{
		"SET XACT_ABORT ON", "SET IMPLICIT_TRANSACTIONS ON", "SET ANSI_WARNINGS OFF", "SET ROWCOUNT 1", "SET CONCAT_NULL_YIELDS_NULL OFF",
		"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRANSACTION", "SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRANSACTION",
		"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN TRANSACTION; SET XACT_ABORT ON",
	} {
		for _, url := range []string{"https://api/x", "https://elsewhere/x"} {
			t.Run(set+" "+url, func(t *testing.T) {
				t.Parallel()
				conn := db.session()
				var options [2]int
				var level [2]int
				var count [2]int
				state := func(i int) {
					if err := conn.QueryRowContext(t.Context(), `SELECT @@OPTIONS, @@TRANCOUNT,
(SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID)`).Scan(&options[i], &count[i], &level[i]); err != nil {
						t.Fatal(err)
					}
				}
				must(t, conn, set)
				if strings.Contains(set, "IMPLICIT") {
					must(t, conn, "WHILE @@TRANCOUNT > 0 COMMIT")
				} else {
					state(0)
				}
				_, err := conn.ExecContext(t.Context(), `BEGIN TRY
    EXEC dbo.sp_invoke_external_rest_endpoint @url = @p1;
END TRY
BEGIN CATCH
    IF ERROR_NUMBER() <> 81612 THROW;
END CATCH`, url)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(set, "IMPLICIT") {
					must(t, conn, "IF @@TRANCOUNT > 0 THROW 50000, N'a transaction was left open', 1; SET IMPLICIT_TRANSACTIONS OFF")
					return
				}
				state(1)
				if options[0] != options[1] || level[0] != level[1] || count[0] != count[1] {
					t.Errorf("options %v, levels %v, transactions %v: before and after differ", options, level, count)
				}
			})
		}
	}
}

// TestInvokeIsACallersRight calls it as a member of api_broker_caller and as nobody.
func TestInvokeIsACallersRight(t *testing.T) {
	t.Parallel()
	db := invoked(t, nil)
	caller, _ := db.login("api_broker_caller")
	if rc, _, err := invoke(t.Context(), caller, "@url = N'https://api/x'"); rc != 0 || err != nil {
		t.Errorf("a caller: got %d, %v", rc, err)
	}
	stranger, _ := db.login()
	if _, err := stranger.ExecContext(t.Context(), "EXEC dbo.sp_invoke_external_rest_endpoint @url = N'https://api/x'"); errorNumber(err) != 229 {
		t.Errorf("somebody else: got %v, want 229", err)
	}
}

// TestInvokeNumbersAreRegistered compares the numbers in the procedure with the
// table of causes and with its header.
func TestInvokeNumbersAreRegistered(t *testing.T) {
	t.Parallel()
	text, err := folder.ReadFile("procedures/" + tsql.ProcInvoke + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	body := reComment.ReplaceAllString(string(text), "")
	var thrown []int32
	for _, m := range regexp.MustCompile(`\b(816\d\d|60928)\b`).FindAllString(body, -1) {
		thrown = append(thrown, number(t, m))
	}
	for _, class := range loopbroker.ErrorClasses() {
		if n := class.MSError(); n != 0 {
			thrown = append(thrown, int32(tsql.InvokeOffset+n))
		}
	}
	slices.Sort(thrown)
	thrown = slices.Compact(thrown)
	var registered []int32
	for _, c := range tsql.InvokeCauses() {
		registered = append(registered, c.Number)
		if !strings.Contains(header(string(text)), fmt.Sprint(c.Number)) {
			t.Errorf("the header does not name %d", c.Number)
		}
		if got, ok := tsql.CauseOf(c.Number); !ok || got != c || c.What == "" {
			t.Errorf("CauseOf(%d) = %+v, %t", c.Number, got, ok)
		}
		if !errors.Is(tsql.WrapError(mssql.Error{Number: c.Number}), c.Err) {
			t.Errorf("%d is not wrapped as %v", c.Number, c.Err)
		}
	}
	if !slices.Equal(thrown, registered) {
		t.Errorf("thrown %v, registered %v", thrown, registered)
	}
}

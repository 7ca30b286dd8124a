package tsql_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"loopbroker"
	"loopbroker/tsql"
)

// answering claims and answers requests until the test ends; the arguments that
// reply returns are sp_api_broker_complete's.
func (db *database) answering(reply func(job) map[string]any) {
	db.t.Helper()
	db.exec("UPDATE dbo.api_broker_setting SET worker_alive_ms = 3600000") // subtests begin late, and nobody sends heartbeats
	db.register("http")
	ctx, cancel := context.WithCancel(db.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			jobs, err := claim(ctx, db.DB, 8, 30000)
			if err != nil && ctx.Err() == nil {
				db.t.Errorf("claim: %v", err)
				return
			}
			for _, j := range jobs {
				all := map[string]any{"message_id": j.MessageID, "lock_id": j.LockID, "request_id": j.RequestID.Int64, "state": "completed", "worker": "test"}
				for name, value := range reply(j) {
					all[name] = value
				}
				var args []any
				for name, value := range all {
					args = append(args, sql.Named(name, value))
				}
				if _, err := db.ExecContext(ctx, "[dbo].[sp_api_broker_complete]", args...); err != nil && ctx.Err() == nil {
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

// echo answers with what was asked for: text, JSON or bytes by the path.
func echo(j job) map[string]any {
	var in struct {
		URL     string
		Method  string
		Headers map[string]string
		Body    string
		Binary  bool
	}
	if err := json.Unmarshal([]byte(j.JSON.String), &in); err != nil {
		return map[string]any{"state": "failed", "error_class": "bad_request", "error_message": err.Error()}
	}
	out := map[string]any{"status": 200, "headers": map[string]string{"Content-Type": "text/plain"}}
	args := map[string]any{"http_status": 200}
	switch path := strings.TrimPrefix(in.URL, "http://h"); {
	case strings.HasPrefix(path, "/json"):
		what, _ := json.Marshal(in)
		out["headers"] = map[string]string{"Content-Type": "application/json"}
		out["body"] = string(what)
	case in.Binary:
		args["body_out"] = []byte{0, 1, 0xfb, 0xff, 0xfe}
	default:
		out["body"] = in.Method + " " + in.Body
	}
	text, _ := json.Marshal(out)
	args["json_out"] = string(text)
	return args
}

// TestFetchFamily calls each of the framework's verbs, outside a transaction and in
// one that is rolled back.
func TestFetchFamily(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.answering(echo)
	for _, tt := range []struct {
		name, batch string
		want        []string
	}{
		{"fetch", `DECLARE @rc int, @s int, @r nvarchar(max), @b varbinary(max);
EXEC @rc = dbo.sp_api_fetch N'http://h/', NULL, N'POST', N'x', @s OUTPUT, @r OUTPUT, @b OUTPUT;
SELECT @rc, @s, @r, CONVERT(nvarchar(100), @b, 2)`, []string{"0", "200", "POST x", "-"}},
		{"fetch, the method left out", `DECLARE @rc int, @s int, @r nvarchar(max), @b varbinary(max);
EXEC @rc = dbo.sp_api_fetch @url = N'http://h/', @method = NULL, @status = @s OUTPUT, @response = @r OUTPUT;
SELECT @rc, @s, @r, N''`, []string{"0", "200", "GET ", ""}},
		{"fetch of bytes", `DECLARE @rc int, @s int, @r nvarchar(max), @b varbinary(max);
EXEC @rc = dbo.sp_api_fetch N'http://h/', NULL, N'GET', NULL, @s OUTPUT, @r OUTPUT, @b OUTPUT, 1;
SELECT @rc, @s, @r, CONVERT(nvarchar(100), @b, 2)`, []string{"0", "200", "-", "0001FBFFFE"}},
		{"fetch_async", `DECLARE @rc int, @s int, @r nvarchar(max), @e nvarchar(max), @h nvarchar(max), @j nvarchar(max);
EXEC @rc = dbo.sp_api_fetch_async N'http://h/', NULL, N'PUT', N'y', @s OUTPUT, @r OUTPUT, 20000, @e OUTPUT, @h OUTPUT, @j OUTPUT, 0, NULL, NULL, 0;
SELECT @rc, @s, @r, CONCAT(@h, N'|', @j, N'|', @e)`, []string{"0", "200", "PUT y", `{"Content-Type":"text/plain"}||`}},
		{"fetch_async of JSON", `DECLARE @rc int, @s int, @r nvarchar(max), @j nvarchar(max);
EXEC @rc = dbo.sp_api_fetch_async @url = N'http://h/json', @status = @s OUTPUT, @response = @r OUTPUT, @json = @j OUTPUT, @wait = 20000;
SELECT @rc, @s, JSON_VALUE(@j, N'$.Method'), CASE WHEN @j = @r THEN N'same' END`, []string{"0", "200", "GET", "same"}},
		{"fetch_async that nobody waits for", `DECLARE @rc int, @s int, @id bigint, @e nvarchar(max);
EXEC @rc = dbo.sp_api_fetch_async @url = N'http://h/', @wait = 0, @error = @e OUTPUT, @id = @id OUTPUT;
SELECT @rc, @s, CASE WHEN @id > 0 THEN N'id' END, @e`, []string{"1", "-", "id", "-"}},
		{"fetch_json", `DECLARE @rc int, @s int, @j nvarchar(max), @e nvarchar(2048);
EXEC @rc = dbo.sp_api_fetch_json N'http://h/json', @j OUTPUT, @body = N'[1]', @method = N'POST', @status = @s OUTPUT, @error = @e OUTPUT;
SELECT @rc, @s, CONCAT(JSON_VALUE(@j, N'$.Headers.Accept'), N'|', JSON_VALUE(@j, N'$.Headers."Content-Type"'), N'|', JSON_VALUE(@j, N'$.Body')), @e`,
			[]string{"0", "200", "application/json|application/json; charset=utf-8|[1]", "-"}},
		{"fetch_json of something else", `DECLARE @rc int, @s int, @j nvarchar(max) = N'{}', @e nvarchar(2048);
EXEC @rc = dbo.sp_api_fetch_json N'http://h/', @j OUTPUT, @status = @s OUTPUT, @error = @e OUTPUT;
SELECT @rc, @s, @j, @e`, []string{"0", "200", "-", "The answer is not a JSON object or array."}},
		{"fetch_binary", `DECLARE @rc int, @s int, @r nvarchar(max), @b varbinary(max);
EXEC @rc = dbo.sp_api_fetch_binary N'http://h/', NULL, N'GET', NULL, @s OUTPUT, @r OUTPUT, @b OUTPUT;
SELECT @rc, @s, @r, CONVERT(nvarchar(100), @b, 2)`, []string{"0", "200", "AAH7//4=", "0001FBFFFE"}},
	} {
		for _, where := range []string{"outside", "inside"} {
			t.Run(tt.name+" "+where+" a transaction", func(t *testing.T) {
				t.Parallel()
				conn := db.session()
				if where == "inside" {
					must(t, conn, "BEGIN TRANSACTION")
				}
				got := make([]sql.NullString, 4)
				if err := conn.QueryRowContext(t.Context(), tt.batch).Scan(&got[0], &got[1], &got[2], &got[3]); err != nil {
					t.Fatal(err)
				}
				for i, g := range got {
					text := g.String
					if !g.Valid {
						text = "-"
					}
					if text != tt.want[i] {
						t.Errorf("column %d: got %q, want %q", i, text, tt.want[i])
					}
				}
				if where == "inside" {
					must(t, conn, "IF @@TRANCOUNT <> 1 THROW 50000, N'the transaction is gone', 1; ROLLBACK")
				}
			})
		}
	}
}

// TestFetchFamilyLeavesImplicitTransactionsAlone looks for a transaction that a verb
// began and left open.
func TestFetchFamilyLeavesImplicitTransactionsAlone(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.answering(echo)
	for _, call := range []string{
		"EXEC dbo.sp_api_fetch @url = N'http://h/'",
		"EXEC dbo.sp_api_fetch_async @url = N'http://h/'",
		"DECLARE @j nvarchar(max); EXEC dbo.sp_api_fetch_json @url = N'http://h/json', @json = @j OUTPUT",
		"DECLARE @r nvarchar(max); EXEC dbo.sp_api_fetch_binary @url = N'http://h/', @response = @r OUTPUT",
	} {
		var count, options int
		err := db.session().QueryRowContext(t.Context(), "SET IMPLICIT_TRANSACTIONS ON; "+call+
			"; DECLARE @n int = @@TRANCOUNT, @o int = @@OPTIONS; SET IMPLICIT_TRANSACTIONS OFF; SELECT @n, @o & 2").Scan(&count, &options)
		if err != nil || count != 0 || options != 2 {
			t.Errorf("%s: got %d transactions, options %d, %v, want none and 2", call, count, options, err)
		}
	}
}

// TestFetchRefusesTheFileStore gives each parameter that has no meaning here.
func TestFetchRefusesTheFileStore(t *testing.T) {
	t.Parallel()
	db := looped(t)
	for _, argument := range []string{"@store = 1", "@filename = N'x'", "@api_files_id = 1", "@store_only = 1"} {
		_, err := db.ExecContext(t.Context(), "EXEC dbo.sp_api_fetch_async @url = N'http://h/', "+argument)
		if errorNumber(err) != 54045 || !errors.Is(tsql.WrapError(err), loopbroker.ErrInvalid) {
			t.Errorf("%s: got %v, want 54045", argument, err)
		}
	}
	db.wantRequests(0)
}

// TestFetchThrowsAsTheRequestDoes checks that misuse is not swallowed on the way.
func TestFetchThrowsAsTheRequestDoes(t *testing.T) {
	t.Parallel()
	db := looped(t)
	for _, call := range []string{
		"EXEC dbo.sp_api_fetch @url = N'http://nobody/'",
		"EXEC dbo.sp_api_fetch_async @url = N'http://nobody/'",
		"DECLARE @j nvarchar(max); EXEC dbo.sp_api_fetch_json @url = N'http://nobody/', @json = @j OUTPUT",
		"EXEC dbo.sp_api_fetch_binary @url = N'http://nobody/'",
	} {
		if _, err := db.ExecContext(t.Context(), call); errorNumber(err) != 54070 {
			t.Errorf("%s: got %v, want 54070", call, err)
		}
	}
	db.wantRequests(0)
}

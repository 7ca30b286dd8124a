package tsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker/tsql"
)

// due is a completion procedure that is to be run.
type due struct {
	MessageID, LockID mssql.UniqueIdentifier
	RequestID         int64
	Attempts, Timeout int
}

// completions leases what is due.
func (db *database) completions() []due {
	db.t.Helper()
	rows, err := db.QueryContext(db.t.Context(), "[dbo].[sp_api_broker_completions]", sql.Named("n", 100))
	if err != nil {
		db.t.Fatalf("completions: %v", err)
	}
	defer func() { _ = rows.Close() }()
	var out []due
	for rows.Next() {
		var d due
		if err := rows.Scan(&d.MessageID, &d.LockID, &d.RequestID, &d.Attempts, &d.Timeout); err != nil {
			db.t.Fatal(err)
		}
		out = append(out, d)
	}
	if err := rows.Err(); err != nil {
		db.t.Fatal(err)
	}
	return out
}

// run runs one and returns the code and the error text.
func (db *database) run(ctx context.Context, d due, more ...any) (int, string, error) {
	var (
		rc   mssql.ReturnStatus
		text sql.NullString
	)
	args := append([]any{sql.Named("message_id", d.MessageID), sql.Named("lock_id", d.LockID), sql.Named("error", sql.Out{Dest: &text}), &rc}, more...)
	_, err := db.ExecContext(ctx, "[dbo].[sp_api_broker_run_completion]", args...)
	return int(rc), text.String, err
}

// completing makes a completion procedure with a body and registers it.
func (db *database) completing(name, body string, attempts int) {
	db.t.Helper()
	db.exec("CREATE PROCEDURE [dbo].[done_" + name + "] @id bigint AS BEGIN SET NOCOUNT ON; " + body + " END")
	db.exec("INSERT INTO [dbo].[api_broker_completion] (name, procedure_schema, procedure_name, timeout_ms, max_attempts) VALUES (@p1, N'dbo', @p2, 5000, @p3)", name, "done_"+name, attempts)
}

// pass makes every completion that waits for its next run due.
func (db *database) pass() {
	db.t.Helper()
	db.exec("UPDATE [dbo].[asyncresponse_transport_messages] SET available_at = DATEADD(second, -1, SYSUTCDATETIME()), locked_until = NULL, lock_id = NULL WHERE queue = N'api.completion'")
}

const noted = "INSERT INTO [dbo].[noted] (id, who) VALUES (@id, USER_NAME());"

// TestCompletionRuns: users want a trigger on the reply. They get a procedure in a
// transaction of its own, with few rights, once for each reply, however it came.
func TestCompletionRuns(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.exec("CREATE TABLE [dbo].[noted] (id bigint NOT NULL, who nvarchar(128) NOT NULL)")
	db.completing("note", noted, 3)
	ids := db.enqueue(6, ", @on_complete = N'note'")
	plain := db.enqueue(1, "")[0]
	if got := cancel(t, db, ids[5]); got != 0 {
		t.Fatalf("cancel: %d", got)
	}
	jobs := db.claim(6, 60000)
	lease := func(j job) []any {
		return []any{sql.Named("message_id", j.MessageID), sql.Named("lock_id", j.LockID), sql.Named("request_id", j.RequestID.Int64)}
	}
	db.complete(jobs[0], 200, "{}")
	db.mustStatus(tsql.ProcDeadLetter, append(lease(jobs[1]), sql.Named("reason", "x"))...)
	db.mustStatus(tsql.ProcCompleteBatch, sql.Named("replies", fmt.Sprintf(
		`[{"message_id":"%s","lock_id":"%s","request_id":%d,"state":"completed"},{"message_id":"%s","lock_id":"%s","request_id":%d,"state":"completed"}]`,
		jobs[2].MessageID.String(), jobs[2].LockID.String(), jobs[2].RequestID.Int64, jobs[5].MessageID.String(), jobs[5].LockID.String(), jobs[5].RequestID.Int64)))
	// A stale result starts nothing.
	db.mustStatus(tsql.ProcComplete, sql.Named("message_id", jobs[3].MessageID), sql.Named("lock_id", jobs[3].MessageID), sql.Named("request_id", jobs[3].RequestID.Int64), sql.Named("state", "completed"))
	// The janitor ends two.
	db.exec("UPDATE [dbo].[asyncresponse_transport_messages] SET attempts = 3 WHERE lock_id IS NOT NULL AND queue = N'api.normal'")
	db.lapse()
	db.mustStatus(tsql.ProcJanitor)
	if rc := db.mustStatus(tsql.ProcClaim, sql.Named("n", 1), sql.Named("lease_ms", 1000)); rc != 1 {
		t.Errorf("a claim says %d, want 1: completions are due", rc)
	}
	batch := db.completions()
	if len(batch) != 6 {
		t.Fatalf("%d are due, want 6", len(batch))
	}
	if rc := db.mustStatus(tsql.ProcClaim, sql.Named("n", 1), sql.Named("lease_ms", 1000)); rc != 0 || len(db.completions()) != 0 {
		t.Errorf("they are due twice: %d", rc)
	}
	for _, d := range batch {
		if rc, text, err := db.run(t.Context(), d); rc != 0 || err != nil || d.Timeout != 5000 || d.Attempts != 1 {
			t.Errorf("%+v: got %d %q, %v", d, rc, text, err)
		}
		if rc, _, err := db.run(t.Context(), d); rc != 1 || err != nil {
			t.Errorf("once more: got %d, %v, want 1", rc, err)
		}
	}
	if got := db.count("SELECT COUNT(DISTINCT id) FROM [dbo].[noted] WHERE who = N'api_broker_completion_user'"); got != 6 {
		t.Errorf("%d ran as the user of few rights, want 6", got)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[noted]"); got != 6 {
		t.Errorf("%d runs, want 6", got)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[noted] WHERE id = @p1", plain); got != 0 {
		t.Error("it ran for a request without one")
	}
}

// TestCompletionHarmsNothing: whatever a completion procedure does, the reply is there
// before and after, and the procedure is tried again with a pause and then buried.
func TestCompletionHarmsNothing(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"throws":      "THROW 50001, N'no', 1;",
		"divides":     "DECLARE @x int = 1 / 0;",
		"rolls_back":  "ROLLBACK TRANSACTION;",
		"opens":       "BEGIN TRANSACTION;",
		"is_gone":     "EXEC [dbo].[nothing_there];",
		"reads_more":  "SELECT COUNT(*) FROM [private].[secrets];",
		"writes":      "DELETE FROM [private].[secrets];",
		"impersonate": "EXECUTE AS USER = N'dbo';",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := deployed(t)
			db.exec("CREATE TABLE [dbo].[noted] (id bigint NOT NULL, who nvarchar(128) NOT NULL)")
			db.exec("CREATE USER [keeper] WITHOUT LOGIN")
			db.exec("CREATE SCHEMA [private] AUTHORIZATION [keeper]")
			db.exec("CREATE TABLE [private].[secrets] (id int NOT NULL); INSERT INTO [private].[secrets] (id) VALUES (1);")
			db.completing(name, noted+body, 2)
			id := db.enqueue(1, ", @on_complete = N'"+name+"'")[0]
			db.complete(db.claim(1, 60000)[0], 200, `{"body":"x"}`)
			for attempt, want := range []int{2, 3} {
				batch := db.completions()
				if len(batch) != 1 {
					t.Fatalf("%d are due, want 1", len(batch))
				}
				rc, text, err := db.run(t.Context(), batch[0])
				if rc != want || text == "" || err != nil {
					t.Errorf("run %d: got %d %q, %v, want %d", attempt+1, rc, text, err, want)
				}
				if got := db.completions(); len(got) != 0 {
					t.Error("it is due again at once, want a pause")
				}
				db.pass()
			}
			if got := db.completions(); len(got) != 0 {
				t.Error("it is due after the last run")
			}
			if got := db.count("SELECT COUNT(*) FROM [dbo].[asyncresponse_transport_messages] WHERE queue = N'api.deadletter' AND dead_letter_reason <> N''"); got != 1 {
				t.Errorf("%d are buried, want 1", got)
			}
			if got := db.count("SELECT COUNT(*) FROM [dbo].[noted]"); got != 0 {
				t.Errorf("%d rows of failed runs are left", got)
			}
			if got := db.count("SELECT COUNT(*) FROM [private].[secrets]"); got != 1 {
				t.Error("it wrote where it has no right")
			}
			if a := mustAsk(t, db, collectBatch(id, 0)); a.Code != 0 || a.Status.Int64 != 200 {
				t.Errorf("the reply: %+v", a)
			}
		})
	}
}

// TestCompletionThatHangs: the worker ends it, and its rollback takes nothing but its
// own work.
func TestCompletionThatHangs(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.exec("CREATE TABLE [dbo].[noted] (id bigint NOT NULL, who nvarchar(128) NOT NULL)")
	db.completing("hang", noted+" WAITFOR DELAY '00:01:00';", 1)
	id := db.enqueue(1, ", @on_complete = N'hang'")[0]
	db.complete(db.claim(1, 60000)[0], 200, "{}")
	d := db.completions()[0]
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, _, err := db.run(ctx, d); err == nil {
		t.Error("a run that hangs ended well")
	}
	if a := mustAsk(t, db, collectBatch(id, 0)); a.Code != 0 {
		t.Errorf("the reply: %+v", a)
	}
	if rc, text, err := db.run(t.Context(), d, sql.Named("failure", "too long")); rc != 3 || text != "too long" || err != nil {
		t.Errorf("got %d %q, %v, want 3", rc, text, err)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[noted]"); got != 0 {
		t.Errorf("%d rows of the run that was ended are left", got)
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[asyncresponse_transport_messages] WHERE queue = N'api.deadletter' AND dead_letter_reason = N'too long'"); got != 1 {
		t.Errorf("%d are buried, want 1", got)
	}
}

// TestCompletionsBuryWhatCannotRun, each row alone.
func TestCompletionsBuryWhatCannotRun(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.exec("CREATE TABLE [dbo].[noted] (id bigint NOT NULL, who nvarchar(128) NOT NULL)")
	db.completing("note", noted, 2)
	db.completing("leaves", noted, 2)
	db.enqueue(1, ", @on_complete = N'note'")
	db.enqueue(1, ", @on_complete = N'leaves'")
	dies := db.enqueue(1, ", @on_complete = N'note'")[0]
	for _, j := range db.claim(3, 60000) {
		db.complete(j, 200, "{}")
	}
	for _, payload := range []string{"", "[]", `{"id":"x"}`, `{"id":4711}`} {
		db.exec("INSERT INTO [dbo].[asyncresponse_transport_messages] (id, queue, payload_json, available_at) VALUES (NEWID(), N'api.completion', @p1, DATEADD(hour, -1, SYSUTCDATETIME()))", payload)
	}
	db.exec("DELETE FROM [dbo].[api_broker_completion] WHERE name = N'leaves'")
	db.exec("UPDATE [dbo].[asyncresponse_transport_messages] SET attempts = 2 WHERE payload_json = CONCAT(N'{\"id\":', @p1, N'}')", dies)
	got := db.completions()
	if len(got) != 1 {
		t.Fatalf("%d can run, want 1", len(got))
	}
	var reasons []string
	for _, like := range []string{"%names no request%", "%not registered%", "%ended with its worker%"} {
		reasons = append(reasons, fmt.Sprint(db.count("SELECT COUNT(*) FROM [dbo].[asyncresponse_transport_messages] WHERE queue = N'api.deadletter' AND dead_letter_reason LIKE @p1", like)))
	}
	if strings.Join(reasons, " ") != "4 1 1" {
		t.Errorf("buried %v, want 4 1 1", reasons)
	}
}

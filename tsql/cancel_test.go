package tsql_test

import (
	"testing"

	"loopbroker/tsql"
)

// cancel calls a request off and returns the code.
func cancel(t testing.TB, q queryer, id int64) int {
	t.Helper()
	var code int
	row := q.QueryRowContext(t.Context(), "DECLARE @rc int, @error nvarchar(2048); EXEC @rc = [dbo].[sp_api_cancel] @id = @p1, @error = @error OUTPUT; SELECT @rc;", id)
	if err := row.Scan(&code); err != nil {
		t.Fatalf("cancel: %v", err)
	}
	return code
}

// TestCancelQueued: a request that is called off before a worker has it never runs,
// and its owner reads why. In a transaction the cancellation stands whatever becomes
// of the transaction.
func TestCancelQueued(t *testing.T) {
	t.Parallel()
	db := looped(t)
	for _, end := range []string{"", "COMMIT", "ROLLBACK"} {
		conn := db.session()
		a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 0"))
		if end != "" {
			must(t, conn, "BEGIN TRANSACTION")
		}
		if got := cancel(t, conn, a.ID.Int64); got != 0 {
			t.Errorf("%q: cancel: got %d, want 0", end, got)
		}
		if end != "" {
			must(t, conn, end)
		}
		if b := mustAsk(t, conn, collectBatch(a.ID.Int64, 0)); b.Code != 2 || b.Error.String == "" {
			t.Errorf("%q: collect: got %+v, want 2", end, b)
		}
		if got := cancel(t, conn, a.ID.Int64); got != 2 {
			t.Errorf("%q: once more: got %d, want 2", end, got)
		}
	}
	if jobs := db.claim(10, 1000); len(jobs) != 0 {
		t.Errorf("a cancelled request was claimed: %+v", jobs)
	}
}

// TestCancelRunning leaves word for the worker that has the request.
func TestCancelRunning(t *testing.T) {
	t.Parallel()
	db := looped(t)
	a := mustAsk(t, db, requestBatch("@url = N'http://h/', @wait = 0"))
	jobs := db.claim(1, 60000)
	for range 2 {
		if got := cancel(t, db, a.ID.Int64); got != 1 {
			t.Errorf("got %d, want 1", got)
		}
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_cancel] WHERE request_id = @p1", a.ID.Int64); got != 1 {
		t.Errorf("%d rows for the worker, want 1", got)
	}
	db.complete(jobs[0], 200, hello(jobs[0]))
	if got := cancel(t, db, a.ID.Int64); got != 2 {
		t.Errorf("after the answer: got %d, want 2", got)
	}
}

func TestCancelRefusesMisuse(t *testing.T) {
	t.Parallel()
	db := looped(t)
	if got := cancel(t, db, 4711); got != 7 {
		t.Errorf("an unknown id: got %d, want 7", got)
	}
	if _, err := db.ExecContext(t.Context(), "EXEC [dbo].["+tsql.ProcCancel+"] @id = NULL"); errorNumber(err) != 54044 {
		t.Errorf("no id: got %v, want 54044", err)
	}
}

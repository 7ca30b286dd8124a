package enginetest_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"loopbroker/enginetest"
)

// connect returns a connection of the pool and its session id.
func connect(t *testing.T, db *sql.DB) (*sql.Conn, int) {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, number(t, c, "SELECT @@SPID")
}

// run runs a batch that must not fail.
func run(t *testing.T, c interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, text string, args ...any) {
	t.Helper()
	if _, err := c.ExecContext(t.Context(), text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// number returns the one number that a query gives.
func number(t *testing.T, c interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, text string, args ...any) int {
	t.Helper()
	var n int
	if err := c.QueryRowContext(t.Context(), text, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}

// untilRunning waits until a session is in a request, or with a wait type until
// it waits so.
func untilRunning(t *testing.T, c *sql.Conn, session int, waitType string) {
	t.Helper()
	run(t, c, `WHILE NOT EXISTS (SELECT 1 FROM sys.dm_exec_requests WHERE session_id = @p1 AND (@p2 = N'' OR wait_type LIKE @p2))
		WAITFOR DELAY '00:00:00.005'`, session, waitType)
}

// TestAttention cancels statements of every kind: the connection goes on, and
// the transaction stays open unless XACT_ABORT is on.
func TestAttention(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text, wait string
		abort            bool
		open             int // @@TRANCOUNT afterwards
	}{
		{name: "waitfor", text: "WAITFOR DELAY '00:10:00'", wait: "WAITFOR", open: 1},
		{name: "waitfor in a procedure", text: "EXEC dbo.waits", wait: "WAITFOR", open: 1},
		{name: "waitfor in TRY", text: "BEGIN TRY WAITFOR DELAY '00:10:00' END TRY BEGIN CATCH ROLLBACK END CATCH", wait: "WAITFOR", open: 1},
		{name: "waitfor with xact_abort", text: "WAITFOR DELAY '00:10:00'", wait: "WAITFOR", abort: true, open: 0},
		{name: "lock wait", text: "UPDATE dbo.t SET n = 9 WHERE id = 1", wait: "LCK%", open: 1},
		{name: "application lock", text: "EXEC sp_getapplock 'held', 'Exclusive', 'Transaction'", wait: "LCK%", open: 1},
		{name: "loop", text: "DECLARE @i int = 0; WHILE 1 = 1 SET @i = (@i + 1) % 100", open: 1},
		{name: "query", text: "SELECT COUNT(*) FROM dbo.many AS a CROSS JOIN dbo.many AS b CROSS JOIN dbo.many AS c CROSS JOIN dbo.many AS d", open: 1},
		{name: "loop with xact_abort", text: "WHILE 1 = 1 BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH END CATCH", abort: true, open: 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := enginetest.Open(t)
			watch, _ := connect(t, db)
			run(t, watch, `CREATE TABLE dbo.t (id int PRIMARY KEY, n int); INSERT INTO dbo.t VALUES (1, 1), (2, 2);
				CREATE TABLE dbo.many (n int); WITH d AS (SELECT n FROM (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS v(n)) INSERT INTO dbo.many SELECT a.n FROM d AS a CROSS JOIN d AS b CROSS JOIN d AS c;
				EXEC ('CREATE PROCEDURE dbo.waits AS WAITFOR DELAY ''00:10:00''')`)
			holder, _ := connect(t, db)
			run(t, holder, "BEGIN TRANSACTION; UPDATE dbo.t SET n = 5 WHERE id = 1; EXEC sp_getapplock 'held', 'Exclusive', 'Transaction'")
			victim, id := connect(t, db)
			if tt.abort {
				run(t, victim, "SET XACT_ABORT ON")
			}
			run(t, victim, "BEGIN TRANSACTION; UPDATE dbo.t SET n = 20 WHERE id = 2")

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := victim.ExecContext(ctx, tt.text)
				ended <- err
			}()
			untilRunning(t, watch, id, tt.wait)
			cancel()
			if err := <-ended; err == nil {
				t.Fatal("the cancelled statement succeeded")
			}
			if got := number(t, victim, "SELECT @@SPID"); got != id {
				t.Errorf("session is %d after the attention, want %d", got, id)
			}
			if got := number(t, victim, "SELECT @@TRANCOUNT"); got != tt.open {
				t.Errorf("@@TRANCOUNT = %d, want %d", got, tt.open)
			}
			want := 2
			if tt.open > 0 {
				want = 20
			}
			if got := number(t, victim, "SELECT n FROM dbo.t WHERE id = 2"); got != want {
				t.Errorf("n = %d, want %d", got, want)
			}
		})
	}
}

// TestKill ends another session: its transaction is rolled back and its
// connection closed.
func TestKill(t *testing.T) {
	t.Parallel()
	db := enginetest.Open(t)
	admin, self := connect(t, db)
	run(t, admin, "CREATE TABLE dbo.t (id int PRIMARY KEY)")
	victim, id := connect(t, db)
	run(t, victim, "BEGIN TRANSACTION; INSERT INTO dbo.t VALUES (1)")
	ended := make(chan error, 1)
	go func() {
		_, err := victim.ExecContext(context.WithoutCancel(t.Context()), "WAITFOR DELAY '00:10:00'")
		ended <- err
	}()
	untilRunning(t, admin, id, "WAITFOR")
	if _, err := admin.ExecContext(t.Context(), "KILL @@SPID"); err == nil {
		t.Error("a session could kill itself")
	}
	for _, wrong := range []int{self, 9999} {
		if out := enginetest.Run(t.Context(), admin, "DECLARE @x int; EXEC ('KILL "+text(wrong)+"')"); out == "" {
			t.Errorf("KILL %d succeeded", wrong)
		}
	}
	run(t, admin, "KILL "+text(id))
	if err := <-ended; err == nil {
		t.Error("the killed session's statement succeeded")
	}
	run(t, admin, "SET LOCK_TIMEOUT 5000")
	if got := number(t, admin, "SELECT COUNT(*) FROM dbo.t"); got != 0 {
		t.Errorf("%d rows of the killed session are there", got)
	}
}

// TestDisconnect closes a connection in the middle of a transaction.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	db := enginetest.Open(t)
	stay, _ := connect(t, db)
	run(t, stay, "CREATE TABLE dbo.t (id int PRIMARY KEY)")
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run(t, c, "BEGIN TRANSACTION; INSERT INTO dbo.t VALUES (1); CREATE TABLE #mine (id int)")
	// A bad connection is closed by the pool, once: the driver's Close gives a buffer
	// back each time it is called.
	if err := c.Raw(func(any) error { return driver.ErrBadConn }); !errors.Is(err, driver.ErrBadConn) {
		t.Fatal(err)
	}
	run(t, stay, "SET LOCK_TIMEOUT 5000")
	if got := number(t, stay, "SELECT COUNT(*) FROM dbo.t"); got != 0 {
		t.Errorf("%d rows of the lost connection are there", got)
	}
	if got := number(t, stay, "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_type = 'KEY'"); got != 0 {
		t.Errorf("%d locks of the lost connection are held", got)
	}
}

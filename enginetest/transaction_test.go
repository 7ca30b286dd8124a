package enginetest_test

import (
	"database/sql"
	"errors"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker/engine"
	"loopbroker/enginetest"
)

// TestDriverTransactions begins transactions as drivers do, by requests of the
// transaction manager that carry an isolation level.
func TestDriverTransactions(t *testing.T) {
	t.Parallel()
	db := enginetest.Open(t)
	c, session := connect(t, db)
	run(t, c, "ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON; CREATE TABLE dbo.t (id int PRIMARY KEY)")
	watcher, _ := connect(t, db)
	for _, test := range []struct {
		name  string
		level sql.IsolationLevel
		want  int
	}{
		{"default", sql.LevelDefault, 2},
		{"read uncommitted", sql.LevelReadUncommitted, 1},
		{"repeatable read", sql.LevelRepeatableRead, 3},
		{"serializable", sql.LevelSerializable, 4},
		{"snapshot", sql.LevelSnapshot, 5},
		{"read committed", sql.LevelReadCommitted, 2},
	} {
		for _, commit := range []bool{true, false} {
			run(t, c, "DELETE FROM dbo.t")
			tx, err := c.BeginTx(t.Context(), &sql.TxOptions{Isolation: test.level})
			if err != nil {
				t.Fatalf("%s: begin: %v", test.name, err)
			}
			run(t, tx, "INSERT INTO dbo.t VALUES (1)")
			const levelQuery = "SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @p1"
			if got := number(t, watcher, levelQuery, session); got != test.want {
				t.Errorf("%s: level %d, want %d", test.name, got, test.want)
			}
			if got := number(t, watcher, "SELECT COUNT(*) FROM sys.dm_tran_session_transactions WHERE session_id = @p1 AND open_transaction_count = 1", session); got != 1 {
				t.Errorf("%s: %d transactions of the session, want 1", test.name, got)
			}
			want, end := 0, tx.Rollback
			if commit {
				want, end = 1, tx.Commit
			}
			if err := end(); err != nil {
				t.Fatalf("%s: end: %v", test.name, err)
			}
			if got := number(t, watcher, "SELECT COUNT(*) FROM dbo.t"); got != want {
				t.Errorf("%s: %d rows after commit = %v, want %d", test.name, got, commit, want)
			}
			if got := number(t, watcher, "SELECT COUNT(*) FROM sys.dm_tran_session_transactions WHERE session_id = @p1", session); got != 0 {
				t.Errorf("%s: %d transactions of the session after its end, want 0", test.name, got)
			}
		}
	}
}

// TestDriverTransactionEndedByServer ends a driver's transaction behind its back:
// its COMMIT fails, and the connection goes on.
func TestDriverTransactionEndedByServer(t *testing.T) {
	t.Parallel()
	c, _ := connect(t, enginetest.Open(t))
	tx, err := c.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	run(t, tx, "ROLLBACK")
	if tx.Commit() == nil {
		t.Error("commit of a transaction that is over: no error")
	}
	if got := number(t, c, "SELECT @@TRANCOUNT"); got != 0 {
		t.Errorf("@@TRANCOUNT: got %d, want 0", got)
	}
}

// wantNumber checks the number of a server's error.
func wantNumber(t *testing.T, what string, err error, want int32) {
	t.Helper()
	var e mssql.Error
	if !errors.As(err, &e) || e.Number != want {
		t.Errorf("%s: got %v, want error %d", what, err, want)
	}
}

// TestInputBufferOfCall looks at a session that is blocked in a statement with
// parameters and in a procedure, both sent as remote procedure calls.
func TestInputBufferOfCall(t *testing.T) {
	t.Parallel()
	db := enginetest.Open(t)
	holder, holding := connect(t, db)
	waiter, waiting := connect(t, db)
	run(t, holder, "CREATE TABLE dbo.t (id int PRIMARY KEY, n int); INSERT INTO dbo.t VALUES (1, 1)")
	run(t, holder, "EXEC (N'CREATE PROCEDURE dbo.change @id int AS UPDATE dbo.t SET n = 2 WHERE id = @id')")
	for _, test := range []struct{ name, text, want string }{
		{"statement", "UPDATE dbo.t SET n = 2 WHERE id = @p1", "(@p1 bigint)UPDATE dbo.t SET n = 2 WHERE id = @p1"},
		{"procedure", "dbo.change", "loopbroker.dbo.change;1"},
	} {
		run(t, holder, "BEGIN TRANSACTION; UPDATE dbo.t SET n = 3 WHERE id = 1")
		done := make(chan error, 1)
		go func() {
			arg := any(1)
			if test.name == "procedure" {
				arg = sql.Named("id", 1)
			}
			_, err := waiter.ExecContext(t.Context(), test.text, arg)
			done <- err
		}()
		untilRunning(t, holder, waiting, "LCK%")
		var event, text, stmt string
		var blocker int
		const look = `SELECT b.event_type, b.event_info, r.blocking_session_id,
			SUBSTRING(x.text, r.statement_start_offset / 2 + 1, CASE r.statement_end_offset WHEN -1 THEN 4000 ELSE (r.statement_end_offset - r.statement_start_offset) / 2 END)
			FROM sys.dm_exec_requests AS r CROSS APPLY sys.dm_exec_input_buffer(r.session_id, r.request_id) AS b
			CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) AS x WHERE r.session_id = @p1`
		if err := holder.QueryRowContext(t.Context(), look, waiting).Scan(&event, &text, &blocker, &stmt); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if event != "RPC Event" || blocker != holding {
			t.Errorf("%s: event %q, blocked by %d; want RPC Event, %d", test.name, event, blocker, holding)
		}
		if !enginetest.OnServer() && text != test.want {
			t.Errorf("%s: input buffer %q, want %q", test.name, text, test.want)
		}
		if len(stmt) < 6 || stmt[:6] != "UPDATE" {
			t.Errorf("%s: running statement %q, want an UPDATE", test.name, stmt)
		}
		run(t, holder, "ROLLBACK")
		if err := <-done; err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestDefaultDatabase logs in to a login's own database that is gone.
func TestDefaultDatabase(t *testing.T) {
	t.Parallel()
	srv := enginetest.Server(t, engine.Options{})
	admin := sql.OpenDB(srv.Connector())
	t.Cleanup(func() { _ = admin.Close() })
	run(t, admin, "CREATE DATABASE home")
	run(t, admin, "CREATE LOGIN someone WITH PASSWORD = 'Str0ng!Passw0rd', DEFAULT_DATABASE = home")
	run(t, admin, "USE home; CREATE USER someone FOR LOGIN someone; USE loopbroker")
	addr, err := srv.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dsn := "sqlserver://someone:Str0ng!Passw0rd@" + addr.String() + "?encrypt=disable"
	login := func(dsn string) (string, error) {
		db, err := sql.Open("sqlserver", dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		var name string
		err = db.QueryRowContext(t.Context(), "SELECT DB_NAME()").Scan(&name)
		return name, err
	}
	if name, err := login(dsn); err != nil || name != "home" {
		t.Errorf("login: in %q, %v; want home", name, err)
	}
	run(t, admin, "WHILE EXISTS (SELECT 1 FROM sys.dm_exec_sessions WHERE database_id = DB_ID('home')) WAITFOR DELAY '00:00:00.005'; DROP DATABASE home")
	_, err = login(dsn)
	wantNumber(t, "login after the database has gone", err, 4064)
	if _, err := login(dsn + "&database=nosuch"); err == nil {
		t.Error("login to a database that does not exist: no error")
	} else {
		wantNumber(t, "login to a database that does not exist", err, 4060)
	}
	if name, err := login(dsn + "&database=master"); err != nil || name != "master" {
		t.Errorf("login: in %q, %v; want master", name, err)
	}
}

package enginetest_test

import (
	"strconv"
	"testing"

	"loopbroker/enginetest"
)

func text(n int) string { return strconv.Itoa(n) }

// TestResetConnection takes a used connection out of the pool again: all of the
// session's state is gone but its isolation level, which leaks as it does in
// SQL Server.
func TestResetConnection(t *testing.T) {
	t.Parallel()
	db := enginetest.Open(t)
	db.SetMaxOpenConns(1)
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	home := number(t, c, "SELECT DB_ID()")
	run(t, c, `CREATE TABLE dbo.t (id int IDENTITY PRIMARY KEY); CREATE TABLE #temp (id int);
		CREATE USER other WITHOUT LOGIN;`)
	run(t, c, `SET NOCOUNT ON; SET XACT_ABORT ON; SET LOCK_TIMEOUT 77; SET DATEFIRST 3; SET CONTEXT_INFO 0x01; SET ROWCOUNT 1;
		SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; EXEC sp_set_session_context N'k', N'v', @read_only = 1;
		EXEC sp_getapplock 'a', 'Exclusive', 'Session'; DECLARE g CURSOR GLOBAL FOR SELECT 1 AS x; OPEN g;
		SET IDENTITY_INSERT dbo.t ON; INSERT INTO dbo.t (id) VALUES (5); USE master;`)
	run(t, c, "BEGIN TRANSACTION; SELECT 1")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c, _ = connect(t, db)
	for _, check := range []struct {
		name, query string
		want        int
	}{
		{"isolation level", "SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID", 4},
		{"options", "SELECT @@OPTIONS & (512 | 16384)", 0},
		{"lock timeout", "SELECT @@LOCK_TIMEOUT", -1},
		{"datefirst", "SELECT @@DATEFIRST", 7},
		{"context info", "SELECT CASE WHEN CONTEXT_INFO() IS NULL THEN 1 ELSE 0 END", 1},
		{"rowcount", "SELECT COUNT(*) FROM (SELECT n FROM (VALUES (1), (2)) AS v(n)) AS d", 2},
		{"session context", "SELECT CASE WHEN SESSION_CONTEXT(N'k') IS NULL THEN 1 ELSE 0 END", 1},
		{"application lock", "SELECT APPLOCK_TEST('public', 'a', 'Exclusive', 'Session')", 1},
		{"cursor", "SELECT CURSOR_STATUS('global', 'g')", -3},
		{"transaction", "SELECT @@TRANCOUNT", 0},
		{"database", "SELECT DB_ID()", home},
		{"temporary table", "SELECT CASE WHEN OBJECT_ID('tempdb..#temp') IS NULL THEN 1 ELSE 0 END", 1},
		{"identity", "SELECT CASE WHEN @@IDENTITY IS NULL AND SCOPE_IDENTITY() IS NULL THEN 1 ELSE 0 END", 1},
	} {
		if got := number(t, c, check.query); got != check.want {
			t.Errorf("%s: got %d, want %d", check.name, got, check.want)
		}
	}
	run(t, c, "INSERT INTO dbo.t DEFAULT VALUES; EXEC sp_set_session_context N'k', N'again'")
}

// TestResetEndsImpersonation takes a connection back that was someone else.
func TestResetEndsImpersonation(t *testing.T) {
	t.Parallel()
	db := enginetest.Open(t)
	db.SetMaxOpenConns(1)
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run(t, c, "CREATE USER other WITHOUT LOGIN")
	run(t, c, "EXECUTE AS USER = 'other'")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c, _ = connect(t, db)
	if got := number(t, c, "SELECT IS_MEMBER('db_owner')"); got != 1 {
		t.Error("the impersonation has outlived the reset")
	}
}

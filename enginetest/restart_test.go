package enginetest_test

import (
	"context"
	"database/sql"
	"os"
	"testing"

	"loopbroker/engine"
	"loopbroker/enginetest"
)

// made is what the restart tests put into an engine, and kept what must be there
// when it is opened again.
var made = []string{
	`CREATE TABLE dbo.t (id int IDENTITY(5,5) NOT NULL CONSTRAINT pk_t PRIMARY KEY, n int NOT NULL CONSTRAINT df_n DEFAULT 3, s AS n * 2,
		CONSTRAINT ck_t CHECK (n > 0))`,
	"CREATE UNIQUE INDEX ux_t ON dbo.t (n) WHERE n < 100",
	"CREATE TABLE dbo.c (t int NOT NULL CONSTRAINT fk_c REFERENCES dbo.t(id))",
	"INSERT INTO dbo.t (n) VALUES (1), (2); INSERT INTO dbo.c VALUES (5)",
	"DELETE FROM dbo.t WHERE id = 10",
	"BEGIN TRANSACTION; INSERT INTO dbo.t (n) VALUES (50); ROLLBACK",
	"CREATE PROCEDURE dbo.p @a int = 4, @o int OUTPUT AS SET @o = @a + 1",
	"CREATE VIEW dbo.v AS SELECT id FROM dbo.t",
	"CREATE FUNCTION dbo.f(@n int) RETURNS int AS BEGIN RETURN @n + 100 END",
	"CREATE TRIGGER dbo.tr ON dbo.c AFTER INSERT AS INSERT INTO dbo.log SELECT t FROM inserted",
	"CREATE TABLE dbo.log (t int)",
	"CREATE SEQUENCE dbo.s START WITH 1; SELECT NEXT VALUE FOR dbo.s; SELECT NEXT VALUE FOR dbo.s",
	"CREATE TYPE dbo.ids AS TABLE (id int); CREATE SYNONYM dbo.syn FOR dbo.t",
	"CREATE LOGIN reader WITH PASSWORD = 'Pass_word1'; CREATE USER reader FOR LOGIN reader; GRANT EXECUTE ON dbo.p TO reader; DENY SELECT ON dbo.t TO reader",
	"EXEC sp_addlinkedserver @server = N'L', @srvproduct = N'', @provider = N'MSOLEDBSQL', @datasrc = N'(local)'",
	"EXEC sp_serveroption N'L', N'rpc out', N'true'",
	"CREATE DATABASE second",
	"CREATE TABLE second.dbo.x (id int); INSERT INTO second.dbo.x VALUES (7)",
	"ALTER DATABASE second SET READ_COMMITTED_SNAPSHOT ON",
}

var kept = []struct {
	name, query string
	want        int
}{
	{"row", "SELECT n FROM dbo.t WHERE id = 5", 1},
	{"deleted row", "SELECT COUNT(*) FROM dbo.t WHERE id = 10", 0},
	{"computed column", "SELECT s FROM dbo.t WHERE id = 5", 2},
	{"identity goes on", "SET NOCOUNT ON; INSERT INTO dbo.t DEFAULT VALUES; SELECT CASE WHEN SCOPE_IDENTITY() > 15 THEN 1 ELSE 0 END", 1},
	{"procedure", "DECLARE @o int; EXEC dbo.p @o = @o OUTPUT; SELECT @o", 5},
	{"view", "SELECT MIN(id) FROM dbo.v", 5},
	{"function", "SELECT dbo.f(1)", 101},
	{"trigger", "SET NOCOUNT ON; INSERT INTO dbo.c VALUES (5); SELECT COUNT(*) FROM dbo.log", 1},
	{"sequence", "SELECT CASE WHEN NEXT VALUE FOR dbo.s > 2 THEN 1 ELSE 0 END", 1},
	{"table type", "DECLARE @x dbo.ids; INSERT INTO @x VALUES (3); SELECT id FROM @x", 3},
	{"synonym", "SELECT MIN(id) FROM dbo.syn", 5},
	{"check", "SET NOCOUNT ON; BEGIN TRY INSERT INTO dbo.t (n) VALUES (0); SELECT 0 END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH", 547},
	{"foreign key", "SET NOCOUNT ON; BEGIN TRY DELETE FROM dbo.t WHERE id = 5; SELECT 0 END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH", 547},
	{"filtered unique index", "SET NOCOUNT ON; BEGIN TRY INSERT INTO dbo.t (n) VALUES (1); SELECT 0 END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH", 2601},
	{"login", "SELECT COUNT(*) FROM sys.server_principals WHERE name = N'reader'", 1},
	{"grant", "EXECUTE AS USER = 'reader'; SELECT HAS_PERMS_BY_NAME('dbo.p', 'OBJECT', 'EXECUTE') * 10 + HAS_PERMS_BY_NAME('dbo.t', 'OBJECT', 'SELECT'); REVERT", 10},
	{"linked server", "SELECT CAST(is_rpc_out_enabled AS int) FROM sys.servers WHERE name = N'L'", 1},
	{"linked server's login", "SELECT COUNT(*) FROM sys.linked_logins AS l JOIN sys.servers AS s ON s.server_id = l.server_id WHERE s.name = N'L'", 1},
	{"second database", "SELECT id FROM second.dbo.x", 7},
	{"database option", "SELECT CAST(is_read_committed_snapshot_on AS int) FROM sys.databases WHERE name = N'second'", 1},
}

// open opens an engine on a directory; it ends with the test if not before.
func open(t *testing.T, dir string) (*sql.DB, func()) {
	t.Helper()
	srv, err := engine.Open(t.Context(), engine.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(srv.Connector())
	closed := false
	end := func() {
		if closed {
			return
		}
		closed = true
		_ = db.Close()
		if err := srv.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	t.Cleanup(end)
	return db, end
}

func fill(t *testing.T, db *sql.DB) {
	t.Helper()
	c, _ := connect(t, db)
	for _, s := range made {
		run(t, c, s)
	}
	_ = c.Close()
}

func verify(t *testing.T, db *sql.DB) {
	t.Helper()
	c, _ := connect(t, db)
	for _, k := range kept {
		if got := number(t, c, k.query); got != k.want {
			t.Errorf("%s: got %d, want %d", k.name, got, k.want)
		}
	}
	_ = c.Close()
}

// TestRestart closes an engine and opens its directory again, twice: the second
// time it comes from a checkpoint and a log.
func TestRestart(t *testing.T) {
	t.Parallel()
	if enginetest.OnServer() {
		t.Skip("a real server is not restarted")
	}
	dir := t.TempDir()
	db, end := open(t, dir)
	fill(t, db)
	end()
	db, end = open(t, dir)
	verify(t, db)
	run(t, db, "DELETE FROM dbo.log; DELETE FROM dbo.t WHERE id > 10; CHECKPOINT; UPDATE dbo.t SET n = 1 WHERE id = 5")
	end()
	db, _ = open(t, dir)
	verify(t, db)
}

// TestCrash opens a copy of the directory of an engine that still runs: what has
// been acknowledged is there, what was not committed is not.
func TestCrash(t *testing.T) {
	t.Parallel()
	if enginetest.OnServer() {
		t.Skip("a real server is not stopped")
	}
	dir := t.TempDir()
	db, _ := open(t, dir)
	fill(t, db)
	c, _ := connect(t, db)
	run(t, c, "BEGIN TRANSACTION; INSERT INTO dbo.t (n) VALUES (77); CREATE TABLE dbo.never (id int); INSERT INTO dbo.log VALUES (99)")
	left := t.TempDir()
	if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	again, _ := open(t, left)
	verify(t, again)
	if got := number(t, again, "SELECT COUNT(*) FROM dbo.t WHERE n = 77"); got != 0 {
		t.Error("a row that was not committed is there")
	}
	if got := number(t, again, "SELECT COUNT(*) FROM sys.tables WHERE name = N'never'"); got != 0 {
		t.Error("a table that was not committed is there")
	}
}

package enginetest_test

import (
	"fmt"
	"strings"
	"testing"

	"loopbroker/enginetest"
	"loopbroker/enginetest/brokertest"
)

// callerCase is one way in which a caller arrives at sp_api_request.
type callerCase struct {
	name string
	// before prepares the session; it runs in the same connection.
	before string
	// call makes the request; {url} is the stub. It must set @rc and @response,
	// or fail with the documented error.
	call string
	// after must hold when the call has returned: a condition.
	after string
	// undo ends what before began.
	undo string
	// wantError is the number of the error that the call must end with.
	wantError int32
}

const plainCall = `EXEC @rc = dbo.sp_api_request @url = N'{url}', @wait = 10000, @response = @response OUTPUT, @error = @error OUTPUT;`

// callers are the callers of the list. Each gets its answer or the
// documented error, and its transaction, level and SET options are as before.
var callers = []callerCase{
	{name: "no transaction", call: plainCall, after: "@@TRANCOUNT = 0"},
	{name: "read committed", before: inTransaction("READ COMMITTED"), call: plainCall, after: "@@TRANCOUNT = 1", undo: commitMine},
	{name: "read uncommitted", before: inTransaction("READ UNCOMMITTED"), call: plainCall, after: "@@TRANCOUNT = 1", undo: commitMine},
	{name: "repeatable read", before: inTransaction("REPEATABLE READ"), call: plainCall, after: "@@TRANCOUNT = 1", undo: commitMine},
	{name: "serializable", before: inTransaction("SERIALIZABLE"), call: plainCall, after: "@@TRANCOUNT = 1", undo: commitMine},
	{name: "snapshot with data touched", before: inTransaction("SNAPSHOT"), call: plainCall, after: "@@TRANCOUNT = 1 AND (SELECT COUNT(*) FROM dbo.mine) = 1", undo: commitMine},
	{
		name: "snapshot untouched", before: "SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRANSACTION;", call: plainCall,
		after: "@@TRANCOUNT = 1 AND (SELECT COUNT(*) FROM dbo.mine) = 0", undo: "COMMIT;",
	},
	{name: "nested transactions", before: "BEGIN TRANSACTION; BEGIN TRANSACTION; INSERT dbo.mine VALUES (1);", call: plainCall, after: "@@TRANCOUNT = 2", undo: "COMMIT;" + commitMine},
	{name: "implicit transactions, none open", before: "SET IMPLICIT_TRANSACTIONS ON;", call: plainCall, after: "@@TRANCOUNT = 0", undo: "SET IMPLICIT_TRANSACTIONS OFF;"},
	{
		name: "implicit transactions, one open", before: "SET IMPLICIT_TRANSACTIONS ON; INSERT dbo.mine VALUES (1);", call: plainCall,
		after: "@@TRANCOUNT = 1", undo: commitMine + "COMMIT; SET IMPLICIT_TRANSACTIONS OFF;",
	},
	{
		name: "in a trigger",
		before: `CREATE TABLE dbo.asked (url nvarchar(200), rc int, response nvarchar(200), trancount int);
			EXEC (N'CREATE TRIGGER dbo.ask ON dbo.mine AFTER INSERT AS
				DECLARE @rc int, @response nvarchar(max), @url nvarchar(200) = (SELECT TOP (1) url FROM dbo.asked_url);
				EXEC @rc = dbo.sp_api_request @url = @url, @wait = 10000, @response = @response OUTPUT;
				INSERT dbo.asked VALUES (@url, @rc, @response, @@TRANCOUNT);');
			CREATE TABLE dbo.asked_url (url nvarchar(200)); INSERT dbo.asked_url VALUES (N'{url}');`,
		call:  `INSERT dbo.mine VALUES (1); SELECT @rc = rc, @response = response FROM dbo.asked WHERE trancount = 1;`,
		after: "@@TRANCOUNT = 0 AND (SELECT COUNT(*) FROM dbo.mine) = 1",
		undo:  "DROP TRIGGER dbo.ask; DROP TABLE dbo.asked, dbo.asked_url; DELETE dbo.mine;",
	},
	{
		name: "in INSERT EXEC",
		before: `EXEC (N'CREATE PROCEDURE dbo.ask AS
				DECLARE @rc int, @response nvarchar(max);
				EXEC @rc = dbo.sp_api_request @url = N''{url}'', @wait = 10000, @response = @response OUTPUT;
				SELECT @rc, @response;');
			CREATE TABLE #asked (rc int, response nvarchar(max));`,
		call:  `INSERT #asked EXEC dbo.ask; SELECT @rc = rc, @response = response FROM #asked;`,
		after: "@@TRANCOUNT = 0", undo: "DROP PROCEDURE dbo.ask; DROP TABLE #asked;",
	},
	{name: "execute as a mapped login", before: "EXECUTE AS LOGIN = '{mapped}'; BEGIN TRANSACTION;", call: plainCall, after: "@@TRANCOUNT = 1", undo: "COMMIT; REVERT;"},
	{name: "execute as a login without a mapping", before: "EXECUTE AS LOGIN = '{unmapped}'; BEGIN TRANSACTION;", call: plainCall, wantError: 54003, after: "@@TRANCOUNT = 1", undo: "ROLLBACK; REVERT;"},
	{name: "execute as a user", before: "EXECUTE AS USER = '{mapped}'; BEGIN TRANSACTION;", call: plainCall, wantError: 54002, after: "@@TRANCOUNT = 1", undo: "ROLLBACK; REVERT;"},
	{
		name: "in a procedure with execute as owner",
		before: `EXEC (N'CREATE PROCEDURE dbo.ask @rc int OUTPUT, @response nvarchar(max) OUTPUT WITH EXECUTE AS OWNER AS
				EXEC @rc = dbo.sp_api_request @url = N''{url}'', @wait = 10000, @response = @response OUTPUT;');
			BEGIN TRANSACTION;`,
		call: "EXEC dbo.ask @rc = @rc OUTPUT, @response = @response OUTPUT;", wantError: 54002, after: "@@TRANCOUNT = 1", undo: "ROLLBACK; DROP PROCEDURE dbo.ask;",
	},
	{name: "no mapping needed outside a transaction", before: "EXECUTE AS USER = '{mapped}';", call: plainCall, after: "@@TRANCOUNT = 0", undo: "REVERT;"},
	{name: "XACT_ABORT on", before: "SET XACT_ABORT ON; BEGIN TRANSACTION; INSERT dbo.mine VALUES (1);", call: plainCall, after: "@@TRANCOUNT = 1", undo: commitMine + "SET XACT_ABORT OFF;"},
	{name: "ROWCOUNT set", before: "SET ROWCOUNT 1; BEGIN TRANSACTION; INSERT dbo.mine VALUES (1);", call: plainCall, after: "@@TRANCOUNT = 1", undo: "SET ROWCOUNT 0;" + commitMine},
	{
		name:   "old client's SET options",
		before: "SET ANSI_WARNINGS, ANSI_PADDING, ARITHABORT, CONCAT_NULL_YIELDS_NULL OFF; SET ANSI_NULLS OFF; BEGIN TRANSACTION; INSERT dbo.mine VALUES (1);",
		call:   plainCall, after: "@@TRANCOUNT = 1",
		undo: commitMine + "SET ANSI_WARNINGS, ANSI_PADDING, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON; SET ANSI_NULLS ON;",
	},
	{name: "another language", before: "SET LANGUAGE Deutsch; BEGIN TRANSACTION; INSERT dbo.mine VALUES (1);", call: plainCall, after: "@@TRANCOUNT = 1", undo: commitMine + "SET LANGUAGE us_english;"},
	{
		name: "doomed transaction",
		before: `SET XACT_ABORT ON; BEGIN TRANSACTION; INSERT dbo.mine VALUES (1);
			BEGIN TRY SELECT 1/0 AS x INTO #never; END TRY BEGIN CATCH END CATCH;`,
		call: plainCall, wantError: 54001, after: "@@TRANCOUNT = 0", undo: "SET XACT_ABORT OFF;",
	},
}

// commitMine ends the caller's transaction, whose own row must have stayed.
const commitMine = "COMMIT; IF NOT EXISTS (SELECT 1 FROM dbo.mine) THROW 50000, N'the row is gone', 1; DELETE dbo.mine;"

func inTransaction(level string) string {
	return "SET TRANSACTION ISOLATION LEVEL " + level + "; BEGIN TRANSACTION; INSERT dbo.mine VALUES (1);"
}

// TestCallers sends every caller through sp_api_request, with RCSI off and on.
func TestCallers(t *testing.T) {
	t.Parallel()
	for _, rcsi := range []string{"OFF", "ON"} {
		t.Run("RCSI "+rcsi, func(t *testing.T) {
			t.Parallel()
			b := brokertest.Open(t)
			b.Exec(t, "ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON;")
			b.Exec(t, "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT "+rcsi+";")
			b.Exec(t, "CREATE TABLE dbo.mine (id int NOT NULL PRIMARY KEY);")
			mapped, unmapped := b.LinkLogin+"_m", b.LinkLogin+"_u"
			for _, l := range []string{mapped, unmapped} {
				b.Exec(t, fmt.Sprintf("CREATE LOGIN [%s] WITH PASSWORD = '%s'; CREATE USER [%[1]s] FOR LOGIN [%[1]s]; ALTER ROLE db_owner ADD MEMBER [%[1]s];", l, b.LinkPassword))
			}
			b.Provision(t, mapped)
			b.Start(t, nil)
			for i, c := range callers {
				t.Run(c.name, func(t *testing.T) {
					uri := fmt.Sprintf("/hello?caller=%d", i)
					replace := strings.NewReplacer("{url}", b.Stub.URL+uri, "{mapped}", mapped, "{unmapped}", unmapped)
					runCaller(t, b, c, replace)
					want := 1
					if c.wantError != 0 {
						want = 0
					}
					if got := b.Stub.Hits(uri); got != want {
						t.Errorf("the stub got %d requests, want %d", got, want)
					}
				})
			}
		})
	}
}

// runCaller makes one call in a connection of its own. What the session is
// before and after the call is compared in T-SQL, in the same batches.
func runCaller(t *testing.T, b *brokertest.Broker, c callerCase, replace *strings.Replacer) {
	t.Helper()
	conn, err := b.DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	run := func(text string) string { return enginetest.Run(t.Context(), conn, replace.Replace(text)) }

	const state = `SELECT @@OPTIONS AS options, @@TRANCOUNT AS trancount, @@LOCK_TIMEOUT AS lock_timeout, @@LANGUAGE AS language, @@DATEFIRST AS datefirst,
		(SELECT s.transaction_isolation_level FROM sys.dm_exec_sessions AS s WHERE s.session_id = @@SPID) AS level`
	// The level leaks through connection pools: begin with the usual one.
	script := "SET TRANSACTION ISOLATION LEVEL READ COMMITTED;\n" + c.before + "\nDECLARE @rc int, @response nvarchar(max), @error nvarchar(2048), @number int = 0;\n" +
		state + ";\nBEGIN TRY\n" + c.call + "\nEND TRY\nBEGIN CATCH SET @number = ERROR_NUMBER(); END CATCH;\n"
	if c.name == "doomed transaction" {
		script += "IF XACT_STATE() = -1 ROLLBACK;\n"
	}
	script += state + ";\nIF @number <> 0 OR @rc <> 0 OR @response <> N'hello' SELECT @number AS number, @rc AS rc, @error AS error;\n" +
		"IF " + c.after + " PRINT 'holds'; ELSE PRINT 'does not hold';"
	got := run(script)
	states := stateLines(got)
	if len(states) != 2 || states[0] != states[1] && c.name != "doomed transaction" {
		t.Errorf("the session's state changed:\n%s", got)
	}
	if !strings.Contains(got, "\nholds\n") {
		t.Errorf("after the call it is not true that %s:\n%s", c.after, got)
	}
	failed := fmt.Sprintf("\n%d | ", c.wantError)
	switch {
	case c.wantError == 0 && strings.Contains(got, "number | rc | error"):
		t.Errorf("no answer:\n%s", got)
	case c.wantError != 0 && !strings.Contains(got, failed):
		t.Errorf("want error %d:\n%s", c.wantError, got)
	}
	if out := run(c.undo + " SELECT 'undone' AS u;"); !strings.Contains(out, "undone") || strings.Contains(out, "Msg ") {
		t.Errorf("undo: %s", out)
	}
}

// stateLines are the rows of the state query in the output of a script.
func stateLines(out string) []string {
	var states []string
	lines := strings.Split(out, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "options | trancount") && i+1 < len(lines) {
			states = append(states, lines[i+1])
		}
	}
	return states
}

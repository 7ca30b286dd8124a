package tsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"loopbroker/tsql"
)

// TestCallersComeAsTheyAre runs the verb from every kind of session: each gets its
// answer, and its transaction, level and SET options are what they were.
func TestCallersComeAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, rcsi := range []string{"OFF", "ON"} {
		t.Run("RCSI "+rcsi, func(t *testing.T) {
			t.Parallel()
			db := looped(t)
			db.exec("ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON")
			db.exec("ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT " + rcsi + " WITH ROLLBACK IMMEDIATE")
			db.exec("CREATE TABLE [dbo].[mine] (id int NOT NULL PRIMARY KEY, note nvarchar(100) NULL)")
			db.exec("INSERT INTO [dbo].[mine] (id) VALUES (0)")
			db.serve(hello)
			for _, c := range callers() {
				t.Run(c.name, func(t *testing.T) {
					conn := db.session()
					must(t, conn, c.before)
					before := settings(t, conn)
					a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 20000"))
					if a.Code != 0 || a.Response.String != "hello" {
						t.Errorf("got %+v, want the answer", a)
					}
					if after := settings(t, conn); after != before {
						t.Errorf("the session was %+v, is %+v", before, after)
					}
					if c.after != "" {
						must(t, conn, c.after)
					}
				})
			}
		})
	}
}

type caller struct{ name, before, after string }

// callers are sessions in every state that matters.
func callers() []caller {
	out := []caller{
		{"plain", "SELECT 1", ""},
		{"implicit transactions, none yet", "SET IMPLICIT_TRANSACTIONS ON", "IF @@TRANCOUNT > 0 THROW 50001, N'a transaction leaked', 1;"},
		{"implicit transactions, one open", "SET IMPLICIT_TRANSACTIONS ON; UPDATE [dbo].[mine] SET note = N'x' WHERE id = -1;", "ROLLBACK"},
		{"XACT_ABORT", "SET XACT_ABORT ON; BEGIN TRANSACTION;", "ROLLBACK"},
		{"ANSI off", "SET ANSI_WARNINGS OFF; SET ANSI_NULLS OFF; SET QUOTED_IDENTIFIER OFF; SET ANSI_PADDING OFF; SET ARITHABORT OFF; SET CONCAT_NULL_YIELDS_NULL OFF; SET NUMERIC_ROUNDABORT ON; BEGIN TRANSACTION;", "ROLLBACK"},
		{"ROWCOUNT and TEXTSIZE", "SET ROWCOUNT 1; SET TEXTSIZE 100; BEGIN TRANSACTION;", "ROLLBACK"},
		{"another language", "SET LANGUAGE German; SET DATEFORMAT dmy; BEGIN TRANSACTION;", "ROLLBACK"},
		{"LOCK_TIMEOUT 0", "SET LOCK_TIMEOUT 0; BEGIN TRANSACTION;", "ROLLBACK"},
		{"nested", "BEGIN TRANSACTION; BEGIN TRANSACTION; SAVE TRANSACTION s;", "ROLLBACK TRANSACTION s; COMMIT; COMMIT;"},
	}
	for _, level := range []string{"READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "SNAPSHOT"} {
		set := "SET TRANSACTION ISOLATION LEVEL " + level + ";"
		read := "DECLARE @n int; SELECT @n = COUNT(*) FROM [dbo].[mine];"
		out = append(out,
			caller{level, set, ""},
			caller{level + ", transaction, nothing read yet", set + " BEGIN TRANSACTION;", read + " UPDATE [dbo].[mine] SET note = N'x' WHERE id = 0; ROLLBACK;"},
			caller{level + ", transaction, rows read and written", set + " BEGIN TRANSACTION; UPDATE [dbo].[mine] SET note = N'x' WHERE id = 0; " + read, read + " ROLLBACK;"},
		)
	}
	return out
}

// sessionSettings are what a procedure must leave as it was.
type sessionSettings struct {
	Options, Level, Trancount, LockTimeout, TextSize, DateFirst int
	Language                                                    string
}

func settings(t *testing.T, conn *sql.Conn) sessionSettings {
	t.Helper()
	var s sessionSettings
	row := conn.QueryRowContext(t.Context(), `SELECT @@OPTIONS, (SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID), @@TRANCOUNT,
@@LOCK_TIMEOUT, @@TEXTSIZE, @@DATEFIRST, @@LANGUAGE`)
	if err := row.Scan(&s.Options, &s.Level, &s.Trancount, &s.LockTimeout, &s.TextSize, &s.DateFirst, &s.Language); err != nil {
		t.Fatalf("settings: %v", err)
	}
	return s
}

func TestCallFromATrigger(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.serve(hello)
	db.exec("CREATE TABLE [dbo].[mine] (id int NOT NULL PRIMARY KEY, answer nvarchar(100) NULL)")
	db.exec(`CREATE TRIGGER [dbo].[mine_ask] ON [dbo].[mine] AFTER INSERT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @rc int, @response nvarchar(max);
    EXEC @rc = [dbo].[sp_api_request] @url = N'http://h/', @wait = 20000, @response = @response OUTPUT;
    UPDATE m SET answer = CONCAT(@rc, N' ', @response) FROM [dbo].[mine] AS m INNER JOIN inserted AS i ON i.id = m.id;
END;`)
	db.exec("INSERT INTO [dbo].[mine] (id) VALUES (1)")
	if got := db.count("SELECT COUNT(*) FROM [dbo].[mine] WHERE answer = N'0 hello'"); got != 1 {
		t.Errorf("the trigger has no answer")
	}
}

func TestCallInsideInsertExec(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.serve(hello)
	db.exec(`CREATE PROCEDURE [dbo].[ask] AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @rc int, @response nvarchar(max);
    EXEC @rc = [dbo].[sp_api_request] @url = N'http://h/', @wait = 20000, @response = @response OUTPUT;
    SELECT @rc AS rc, @response AS response;
END;`)
	if got := db.count(`DECLARE @t TABLE (rc int, response nvarchar(max));
INSERT INTO @t EXEC [dbo].[ask];
SELECT COUNT(*) FROM @t WHERE rc = 0 AND response = N'hello';`); got != 1 {
		t.Errorf("INSERT … EXEC got no answer")
	}
}

func TestDoomedTransaction(t *testing.T) {
	t.Parallel()
	db := looped(t)
	for _, call := range []string{
		"EXEC [dbo].[sp_api_request] @url = N'http://h/', @wait = 0",
		"EXEC [dbo].[sp_api_broker_request] @type = N'echo', @json = N'{}', @wait = 0",
		"EXEC [dbo].[sp_api_collect] @id = 1",
		"EXEC [dbo].[sp_api_fetch] @url = N'http://h/'",
	} {
		got := db.count(`SET XACT_ABORT ON;
DECLARE @number int;
BEGIN TRY
    BEGIN TRANSACTION;
    SELECT @number = 1 / 0;
END TRY
BEGIN CATCH
    BEGIN TRY
        ` + call + `;
    END TRY
    BEGIN CATCH
        SET @number = ERROR_NUMBER();
    END CATCH;
    ROLLBACK;
END CATCH;
SELECT @number;`)
		if got != 54001 {
			t.Errorf("%s: got %d, want 54001", call, got)
		}
	}
	db.wantRequests(0)
}

func TestImpersonation(t *testing.T) {
	t.Parallel()
	db := looped(t)
	login := fmt.Sprintf("impersonated_%d", databases.Add(1))
	db.exec(fmt.Sprintf(`CREATE LOGIN [%[1]s] WITH PASSWORD = N'%[2]s', CHECK_POLICY = OFF;
CREATE USER [%[1]s] FOR LOGIN [%[1]s];
ALTER ROLE api_broker_caller ADD MEMBER [%[1]s];`, login, loopbackPassword))
	db.exec(`CREATE PROCEDURE [dbo].[as_owner] WITH EXECUTE AS OWNER AS EXEC [dbo].[sp_api_request] @url = N'http://h/', @wait = 0;`)
	tests := []struct {
		name, batch string
		number      int32
	}{
		{"EXECUTE AS USER", "EXECUTE AS USER = N'" + login + "'; BEGIN TRANSACTION; EXEC [dbo].[sp_api_request] @url = N'http://h/', @wait = 0;", 54002},
		{"WITH EXECUTE AS OWNER", "BEGIN TRANSACTION; EXEC [dbo].[as_owner];", 54002},
		{"EXECUTE AS LOGIN without a mapping", "EXECUTE AS LOGIN = N'" + login + "'; BEGIN TRANSACTION; EXEC [dbo].[sp_api_request] @url = N'http://h/', @wait = 0;", 54003},
	}
	for _, tt := range tests {
		conn := db.session()
		_, err := conn.ExecContext(t.Context(), tt.batch)
		if errorNumber(err) != tt.number {
			t.Errorf("%s: got %v, want %d", tt.name, err, tt.number)
		}
		_ = conn.Close()
	}
	db.wantRequests(0)
	// Outside a transaction no loopback is needed, and impersonation does no harm.
	conn := db.session()
	must(t, conn, "EXECUTE AS USER = N'"+login+"'")
	if a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 0")); a.Code != 1 {
		t.Errorf("outside a transaction: got %+v, want 1", a)
	}
	must(t, conn, "REVERT")
	// A login context works once that login is mapped.
	var user, server string
	if err := db.QueryRowContext(t.Context(), "SELECT link_server FROM [dbo].[api_broker_setting]").Scan(&server); err != nil {
		t.Fatal(err)
	}
	user = server[len("Linked_"):]
	db.exec("[dbo].[sp_api_broker_setup]", sql.Named("user", user), sql.Named("pass", loopbackPassword), sql.Named("local_login", login), sql.Named("encrypt", "no"))
	must(t, conn, "EXECUTE AS LOGIN = N'"+login+"'; BEGIN TRANSACTION;")
	if a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 0")); a.Code != 1 || a.Trancount != 1 {
		t.Errorf("a mapped login: got %+v, want 1", a)
	}
}

// TestBrokenLink breaks the link in every way: code 5 with a reason, nothing
// stored, the transaction usable.
func TestBrokenLink(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, damage string }{
		{"no such server", "UPDATE [dbo].[api_broker_setting] SET link_server = N'nowhere'"},
		{"rpc out is off", "DECLARE @s sysname = (SELECT link_server FROM [dbo].[api_broker_setting]); EXEC sp_serveroption @s, N'rpc out', N'false'"},
		{"no mapping", "DECLARE @s sysname = (SELECT link_server FROM [dbo].[api_broker_setting]); DECLARE @l sysname = SUSER_SNAME(); EXEC sp_droplinkedsrvlogin @s, @l"},
		{"no permission", "DENY EXECUTE ON [dbo].[sp_api_broker_request_linked_server] TO public"},
		{"no procedure", "DROP PROCEDURE [dbo].[sp_api_broker_request_linked_server]"},
		{"an error in the procedure", "DROP TABLE [dbo].[asyncresponse_transport_messages]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := looped(t)
			db.exec(tt.damage)
			conn := db.session()
			must(t, conn, "CREATE TABLE #answer (code int NULL, error nvarchar(2048) NULL, id bigint NULL, trancount int NOT NULL, state int NOT NULL)")
			// A remote statement's error reaches the client beside the answer, and the
			// driver reports it; the answer is kept aside.
			_, err := conn.ExecContext(t.Context(), `DECLARE @rc int, @error nvarchar(2048), @id bigint, @trancount int, @state int;
BEGIN TRANSACTION;
BEGIN TRY
    EXEC @rc = [dbo].[sp_api_request] @url = N'http://h/', @wait = 1000, @error = @error OUTPUT, @id = @id OUTPUT;
END TRY
BEGIN CATCH
    SELECT @rc = -1, @error = ERROR_MESSAGE();
END CATCH;
SELECT @trancount = @@TRANCOUNT, @state = XACT_STATE();
ROLLBACK;
INSERT INTO #answer (code, error, id, trancount, state) VALUES (@rc, @error, @id, @trancount, @state);`)
			if err != nil {
				t.Logf("the client sees: %v", err)
			}
			var a answer
			row := conn.QueryRowContext(t.Context(), "SELECT code, error, id, trancount, state FROM #answer")
			if err := row.Scan(&a.Code, &a.Error, &a.ID, &a.Trancount, &a.XactState); err != nil {
				t.Fatalf("no answer: %v", err)
			}
			if a.Code != 5 || !a.Error.Valid || a.ID.Valid || a.Trancount != 1 || a.XactState != 1 {
				t.Errorf("got %+v, want 5 with a reason and a usable transaction", a)
			}
			db.wantRequests(0)
		})
	}
}

func TestNoLinkAtAll(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.exec("UPDATE [dbo].[api_broker_setting] SET link_server = NULL")
	conn := db.session()
	if a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 0")); a.Code != 1 {
		t.Errorf("outside a transaction: got %+v, want 1", a)
	}
	must(t, conn, "BEGIN TRANSACTION")
	if _, err := ask(t.Context(), conn, requestBatch("@url = N'http://h/', @wait = 0")); errorNumber(err) != 54004 {
		t.Errorf("inside: got %v, want 54004", err)
	}
	if a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 0, @on_commit = 1")); a.Code != 1 || a.Trancount != 1 {
		t.Errorf("with the commit: got %+v, want 1", a)
	}
	must(t, conn, "COMMIT")
	if got := len(db.claim(10, 1000)); got != 2 {
		t.Errorf("claimed %d, want 2", got)
	}
}

// TestCancelledWaitLeavesNothing cancels a wait: no transaction of ours stays open,
// and no waiter slot stays taken.
func TestCancelledWaitLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{
		"outside a transaction":           "SET XACT_ABORT OFF",
		"XACT_ABORT, outside":             "SET XACT_ABORT ON",
		"XACT_ABORT, inside":              "SET XACT_ABORT ON; BEGIN TRANSACTION",
		"XACT_ABORT, http by the generic": "SET XACT_ABORT ON; BEGIN TRANSACTION",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := looped(t)
			db.exec("UPDATE [dbo].[api_broker_setting] SET max_waiters = 1")
			db.register("http")
			conn := db.session()
			must(t, conn, begin)
			var spid int
			if err := conn.QueryRowContext(t.Context(), "SELECT @@SPID").Scan(&spid); err != nil {
				t.Fatal(err)
			}
			call := "EXEC [dbo].[sp_api_request] @url = N'http://h/', @wait = 60000"
			if strings.Contains(name, "generic") {
				call = `EXEC [dbo].[sp_api_broker_request] @type = N'http', @json = N'{"url":"http://h/"}', @wait = 60000`
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := conn.ExecContext(ctx, call)
				done <- err
			}()
			// The slot says that the wait has begun. It is looked at, not tried: who
			// tries it holds it for a moment, and the call would be one too many.
			for waiting := false; !waiting; {
				select {
				case err := <-done:
					t.Fatalf("the call ended before it was cancelled: %v", err)
				default:
				}
				waiting = db.count(fmt.Sprintf(`SELECT COUNT(*) FROM sys.dm_tran_locks
					WHERE resource_type = N'APPLICATION' AND request_status = N'GRANT' AND request_session_id = %d`, spid)) > 0
			}
			cancel()
			if err := <-done; err == nil {
				t.Fatal("the cancelled call succeeded")
			}
			if a := mustAsk(t, db, requestBatch("@url = N'http://h/', @wait = 5")); a.Code != 1 {
				t.Errorf("after the cancelled wait: got %+v, want a free slot", a)
			}
			if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_call]"); got != 2 {
				t.Errorf("%d requests, want both: the cancelled one had left", got)
			}
		})
	}
}

// TestPromotion has a link that lost its one essential option. The server then
// wants a distributed transaction, and dooms the caller's; nothing else is left
// than to say so.
func TestPromotion(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.exec("DECLARE @s sysname = (SELECT link_server FROM [dbo].[api_broker_setting]); EXEC sp_serveroption @s, N'remote proc transaction promotion', N'true'")
	conn := db.session()
	must(t, conn, "BEGIN TRANSACTION")
	if _, err := ask(t.Context(), conn, requestBatch("@url = N'http://h/', @wait = 0")); !strings.Contains(fmt.Sprint(err), "(7391)") {
		t.Errorf("got %v, want 7391", err)
	}
	must(t, conn, "IF @@TRANCOUNT > 0 ROLLBACK")
	db.wantRequests(0)
}

// TestUnknownOutcome has a second connection that stores the request and then does
// not answer in time: code 6, and the same key finds the request.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	db := looped(t)
	procedure := ""
	for _, o := range tsql.Objects() {
		if o.Name == tsql.ProcLinkedServer {
			procedure = o.Text
		}
	}
	batches, err := tsql.Split(procedure)
	if err != nil {
		t.Fatal(err)
	}
	original := batches[len(batches)-1].Text
	db.exec(strings.Replace(original, "    RETURN 0;\nEND;", "    WAITFOR DELAY '00:00:20';\n    RETURN 0;\nEND;", 1))
	conn := db.session()
	must(t, conn, "BEGIN TRANSACTION")
	arguments := "@url = N'http://h/', @wait = 0, @idempotency_key = N'k'"
	a := mustAsk(t, conn, requestBatch(arguments))
	if a.Code != 6 || a.ID.Valid || !a.Error.Valid || a.XactState != 1 {
		t.Errorf("got %+v, want 6 with a reason and a usable transaction", a)
	}
	db.exec(original)
	b := mustAsk(t, conn, requestBatch(arguments))
	if b.Code != 1 || !b.ID.Valid {
		t.Errorf("again: got %+v, want the request that was stored", b)
	}
	must(t, conn, "COMMIT")
	db.wantRequests(1)
}

// TestCallersOwnLocks has callers whose own transaction holds what the second
// connection needs: an answer within 3 s, nothing stored, the transaction usable.
func TestCallersOwnLocks(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]string{
		"an exclusive lock on the calls": "DECLARE @n int; SELECT @n = COUNT(*) FROM [dbo].[api_broker_call] WITH (TABLOCKX, HOLDLOCK);",
		"an exclusive lock on the queue": "DECLARE @n int; SELECT @n = COUNT(*) FROM [dbo].[asyncresponse_transport_messages] WITH (TABLOCKX, HOLDLOCK);",
		"a schema lock on the queue":     "ALTER TABLE [dbo].[asyncresponse_transport_messages] ADD extra int NULL;",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := looped(t)
			conn := db.session()
			must(t, conn, "BEGIN TRANSACTION; "+lock)
			start := time.Now()
			a := mustAsk(t, conn, requestBatch("@url = N'http://h/', @wait = 0"))
			if a.Code != 5 || a.XactState != 1 || a.ID.Valid {
				t.Errorf("got %+v, want 5 and a usable transaction", a)
			}
			if elapsed := time.Since(start); elapsed > 30*time.Second {
				t.Errorf("it took %s", elapsed)
			}
			must(t, conn, "ROLLBACK")
			db.wantRequests(0)
		})
	}
}

func TestOthersRequestsAreUnknown(t *testing.T) {
	t.Parallel()
	db := looped(t)
	owner, _ := db.login("api_broker_caller")
	other, _ := db.login("api_broker_caller")
	admin, _ := db.login("api_broker_admin")
	a := mustAsk(t, owner, requestBatch("@url = N'http://h/', @wait = 0"))
	for _, tt := range []struct {
		name         string
		who          *sql.DB
		code, cancel int
		rows         int
	}{
		{"somebody else", other, 7, 7, 0},
		{"its owner", owner, 1, -1, 1},
		{"an admin", admin, 1, 0, 1},
	} {
		if b := mustAsk(t, tt.who, collectBatch(a.ID.Int64, 0)); b.Code != tt.code {
			t.Errorf("%s: collect: got %+v, want %d", tt.name, b, tt.code)
		}
		var n int
		if err := tt.who.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM [dbo].[api_broker_request]").Scan(&n); err != nil || n != tt.rows {
			t.Errorf("%s sees %d requests, %v, want %d", tt.name, n, err, tt.rows)
		}
		if tt.cancel < 0 {
			continue
		}
		if got := cancel(t, tt.who, a.ID.Int64); got != tt.cancel {
			t.Errorf("%s: cancel: got %d, want %d", tt.name, got, tt.cancel)
		}
	}
}

// TestViewTellsNothingOfOthers: an error in a reader's own condition quotes what it
// was given, so it is given nothing of others; and a module that runs as somebody
// else shows no more than its caller's own.
func TestViewTellsNothingOfOthers(t *testing.T) {
	t.Parallel()
	db := looped(t)
	mustAsk(t, db, requestBatch("@url = N'http://h/secret', @wait = 0"))
	other, name := db.login("api_broker_caller")
	for _, column := range []string{"json_in", "json_out", "body_in", "body_out", "error_message", "app_user"} {
		var n int
		row := other.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM [dbo].[api_broker_request] WHERE CONVERT(int, CONVERT(nvarchar(4000), "+column+")) = 0")
		if err := row.Scan(&n); err != nil || n != 0 {
			t.Errorf("%s: got %d, %v, want no row and no error", column, n, err)
		}
	}
	db.exec("CREATE PROCEDURE [dbo].[count_as_owner] WITH EXECUTE AS OWNER AS SELECT COUNT(*) FROM [dbo].[api_broker_request];")
	db.exec("GRANT EXECUTE ON [dbo].[count_as_owner] TO [" + name + "]")
	var n int
	if err := other.QueryRowContext(t.Context(), "EXEC [dbo].[count_as_owner]").Scan(&n); err != nil || n != 0 {
		t.Errorf("as the owner: got %d, %v, want 0", n, err)
	}
}

// TestLoginsAreComparedExactly: a request belongs to one login, not to every login
// that the database's collation takes for the same.
func TestLoginsAreComparedExactly(t *testing.T) {
	t.Parallel()
	db := looped(t)
	who, name := db.login("api_broker_caller")
	for i, lookalike := range []string{strings.ToUpper(name), name + " "} {
		request := requestBatch(fmt.Sprintf("@url = N'http://h/', @wait = 0, @idempotency_key = N'k%d'", i))
		a := mustAsk(t, who, request)
		db.exec("UPDATE [dbo].[api_broker_call] SET requested_by = @p1; UPDATE [dbo].[api_broker_idempotency] SET owner = @p1 WHERE request_id = @p2", lookalike, a.ID.Int64)
		if b := mustAsk(t, who, collectBatch(a.ID.Int64, 0)); b.Code != 7 {
			t.Errorf("%q: collect: got %+v, want 7", lookalike, b)
		}
		if got := cancel(t, who, a.ID.Int64); got != 7 {
			t.Errorf("%q: cancel: got %d, want 7", lookalike, got)
		}
		var n int
		if err := who.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM [dbo].[api_broker_request]").Scan(&n); err != nil || n != 0 {
			t.Errorf("%q sees %d requests, %v, want none", lookalike, n, err)
		}
		if b, err := ask(t.Context(), who, request); err == nil && b.ID == a.ID {
			t.Errorf("%q: its key gives the other's request", lookalike)
		}
	}
}

package tsql_test

import (
	"errors"
	"strings"
	"testing"

	"loopbroker"
	"loopbroker/tsql"
)

func TestDeployIsIdempotentAndVerifies(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	secret := db.count("SELECT CHECKSUM(secret) FROM [dbo].[api_broker_secret]")
	db.exec("UPDATE [dbo].[api_broker_setting] SET max_waiters = 7, link_server = N'other'")
	if err := tsql.Deploy(t.Context(), db.DB, tsql.Options{LinkServer: "ignored"}); err != nil {
		t.Fatalf("deploy again: %v", err)
	}
	if got := db.count("SELECT CHECKSUM(secret) FROM [dbo].[api_broker_secret]"); got != secret {
		t.Errorf("the secret changed")
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_setting] WHERE max_waiters = 7 AND link_server = N'other'"); got != 1 {
		t.Errorf("the settings changed")
	}
	findings, err := tsql.Verify(t.Context(), db.DB, tsql.Options{})
	if err != nil || len(findings) != 0 {
		t.Errorf("got %v, %v, want no findings", findings, err)
	}
}

func TestDeployIntoAnotherSchema(t *testing.T) {
	t.Parallel()
	db := openServer(t)
	if err := tsql.Deploy(t.Context(), db, tsql.Options{Schema: "broker_2"}); err != nil {
		t.Fatalf("deploy: %v", err)
	}
	if err := tsql.Deploy(t.Context(), db, tsql.Options{}); err != nil {
		t.Fatalf("deploy beside it: %v", err)
	}
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM [broker_2].[api_broker_setting]").Scan(&n); err != nil || n != 1 {
		t.Errorf("got %d rows, %v, want 1", n, err)
	}
	rows := db.QueryRowContext(t.Context(), `DECLARE @rc int, @id bigint;
INSERT INTO [broker_2].[api_broker_endpoint] (name, scheme, host, port) VALUES (N'h', N'http', N'h', 80);
EXEC @rc = [broker_2].[sp_api_request] @url = N'http://h/', @wait = 0, @id = @id OUTPUT;
SELECT COUNT(*) FROM [broker_2].[api_broker_call] WHERE id = @id AND @rc = 1;`)
	if err := rows.Scan(&n); err != nil || n != 1 {
		t.Errorf("a request there: got %d rows, %v, want 1", n, err)
	}
}

func TestVerifyBeforeDeploymentNamesEverything(t *testing.T) {
	t.Parallel()
	db := openServer(t)
	findings, err := tsql.Verify(t.Context(), db, tsql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(findings) != len(tsql.Objects()) {
		t.Errorf("got %d findings, want one for each of the %d objects", len(findings), len(tsql.Objects()))
	}
	if err := findings.Err(); !errors.Is(err, loopbroker.ErrSchema) {
		t.Errorf("got %v, want %v", err, loopbroker.ErrSchema)
	}
}

func TestVerifyFindsDamage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		damage  string
		object  string
		problem string
	}{
		{"a dropped procedure", "DROP PROCEDURE [dbo].[sp_api_fetch]", "[dbo].[sp_api_fetch]", "is not there"},
		{"a changed procedure", "ALTER PROCEDURE [dbo].[sp_api_fetch] AS RETURN 0", "[dbo].[sp_api_fetch]", "text is not that of version"},
		{"a dropped column", "ALTER TABLE [dbo].[api_broker_reply] DROP COLUMN ms_error", "[dbo].[api_broker_reply]", "column ms_error is missing"},
		{"a narrowed column", "ALTER TABLE [dbo].[api_broker_reply] ALTER COLUMN error_class nvarchar(10) NULL", "[dbo].[api_broker_reply]", "column error_class is shorter"},
		{"a reduced scale", "ALTER TABLE [dbo].[api_broker_reply] ALTER COLUMN completed_at datetime2(3) NOT NULL", "[dbo].[api_broker_reply]", "scale of 3"},
		{"a dropped index", "DROP INDEX api_broker_idempotency_expires_idx ON [dbo].[api_broker_idempotency]", "[dbo].[api_broker_idempotency]", "no enabled index"},
		{"a dropped sequence", "DROP SEQUENCE [dbo].[asyncresponse_channel_messages_ack_seq]", "[dbo].[asyncresponse_channel_messages_ack_seq]", "is not there"},
		{"a newer version", "UPDATE [dbo].[api_broker_setting] SET schema_version = 99", "[dbo].[api_broker_setting]", "says version 99"},
		{"no settings", "DELETE FROM [dbo].[api_broker_setting]", "[dbo].[api_broker_setting]", "has no row"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := deployed(t)
			db.exec(tt.damage)
			findings, err := tsql.Verify(t.Context(), db.DB, tsql.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(findings) != 1 || findings[0].Object != tt.object || !strings.Contains(findings[0].Problem, tt.problem) || findings[0].Repair == "" {
				t.Errorf("got %v, want one finding on %s: %s", findings, tt.object, tt.problem)
			}
		})
	}
}

func TestDeployRepairsModules(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.exec("ALTER PROCEDURE [dbo].[sp_api_fetch] AS RETURN 0")
	db.exec("DROP VIEW [dbo].[api_broker_request]")
	db.exec("SET QUOTED_IDENTIFIER OFF")
	if err := tsql.Deploy(t.Context(), db.DB, tsql.Options{}); err != nil {
		t.Fatalf("deploy: %v", err)
	}
}

func TestDeployNamesWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	db := openServer(t)
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE [dbo].[sp_api_request] (id int NOT NULL PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	err := tsql.Deploy(t.Context(), db, tsql.Options{})
	var verify *tsql.VerifyError
	if !errors.As(err, &verify) || verify.Findings[0].Problem != "is a table, not a procedure" {
		t.Errorf("got %v, want a finding on what is in the way", err)
	}
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM sys.objects WHERE name = N'api_broker_call'").Scan(&n); err != nil || n != 0 {
		t.Errorf("got %d tables, %v, want a deployment that is rolled back as a whole", n, err)
	}
}

func TestDeployAcceptsAHandMadeQueue(t *testing.T) {
	t.Parallel()
	db := openServer(t)
	for _, ddl := range []string{
		`CREATE TABLE dbo.asyncresponse_transport_messages (
    id uniqueidentifier NOT NULL PRIMARY KEY NONCLUSTERED,
    queue varchar(200) COLLATE SQL_Latin1_General_CP1_CI_AS NOT NULL,
    payload_json nvarchar(max) NOT NULL,
    headers_json nvarchar(max) NOT NULL DEFAULT N'{}',
    created_at datetime2 NOT NULL DEFAULT SYSUTCDATETIME(),
    available_at datetime2 NOT NULL DEFAULT SYSUTCDATETIME(),
    locked_until datetime2 NULL,
    lock_id uniqueidentifier NULL,
    attempts int NOT NULL DEFAULT 0,
    dead_letter_reason nvarchar(max) NULL
)`,
		"CREATE INDEX asyncresponse_transport_messages_claim_idx ON dbo.asyncresponse_transport_messages (queue, available_at, locked_until, created_at)",
	} {
		if _, err := db.ExecContext(t.Context(), ddl); err != nil {
			t.Fatalf("%s: %v", ddl, err)
		}
	}
	if err := tsql.Deploy(t.Context(), db, tsql.Options{}); err != nil {
		t.Fatalf("deploy: %v", err)
	}
	findings, err := tsql.Verify(t.Context(), db, tsql.Options{})
	if err != nil || len(findings) != 1 || !findings[0].Warning {
		t.Errorf("got %v, %v, want a warning", findings, err)
	}
	d := &database{DB: db, t: t}
	d.allow("http", "h", 80)
	mustAsk(t, db, requestBatch("@url = N'http://h/', @wait = 0"))
	if got := len(d.claim(5, 1000)); got != 1 {
		t.Errorf("claimed %d, want 1", got)
	}
}

func TestConcurrentDeploymentsExcludeEachOther(t *testing.T) {
	t.Parallel()
	db := openServer(t)
	errs := make(chan error, 4)
	for range cap(errs) {
		go func() { errs <- tsql.Deploy(t.Context(), db, tsql.Options{}) }()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Errorf("deploy: %v", err)
		}
	}
}

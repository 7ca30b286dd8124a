package tsql_test

import (
	"os"
	"testing"

	"loopbroker/tsql"
)

// TestUpgradeFromVersion1 deploys over the tables that version 1 made, with rows in
// them: the shape is the new one, the rows are kept, and a second deployment changes
// nothing.
func TestUpgradeFromVersion1(t *testing.T) {
	t.Parallel()
	db := openServer(t)
	text, err := os.ReadFile("testdata/version1.sql")
	if err != nil {
		t.Fatal(err)
	}
	batches, err := tsql.Split(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if _, err := db.ExecContext(t.Context(), b.Text); err != nil {
			t.Fatalf("line %d: %v", b.Line, err)
		}
	}
	if findings, err := tsql.Verify(t.Context(), db, tsql.Options{}); err != nil || len(findings) == 0 {
		t.Fatalf("version 1 passes for this one: %v, %v", findings, err)
	}
	for range 2 {
		if err := tsql.Deploy(t.Context(), db, tsql.Options{}); err != nil {
			t.Fatalf("deploy: %v", err)
		}
	}
	d := &database{DB: db, t: t}
	if got := d.count("SELECT schema_version FROM [dbo].[api_broker_setting] WHERE link_server = N'LinkedProjServer'"); got != tsql.SchemaVersion {
		t.Errorf("the version is %d, want %d", got, tsql.SchemaVersion)
	}
	if got := d.count("SELECT COUNT(*) FROM [dbo].[api_broker_idempotency] WHERE owner = N'somebody' AND app_role = N'' AND [key] = N'k'"); got != 1 {
		t.Errorf("the key is lost")
	}
	d.allow("http", "h", 80)
}

// TestRolesAreVerified: a role that is missing, or a right that was taken away, is
// found.
func TestRolesAreVerified(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"a role is gone":    "ALTER ROLE api_broker_caller DROP MEMBER api_broker_admin; DROP ROLE api_broker_channel",
		"a right is gone":   "REVOKE EXECUTE ON [dbo].[sp_api_collect] FROM api_broker_caller",
		"a right is denied": "DENY EXECUTE ON [dbo].[sp_api_collect] TO api_broker_caller",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := deployed(t)
			db.exec(damage)
			findings, err := tsql.Verify(t.Context(), db.DB, tsql.Options{})
			if err != nil || len(findings) == 0 {
				t.Errorf("got %v, %v, want a finding", findings, err)
			}
		})
	}
}

package enginetest_test

import (
	"testing"
)

// TestCountersOverRestart: a server that was closed goes on with the next identity
// and sequence numbers, and keeps what TRUNCATE TABLE and ALTER SEQUENCE have
// made of them.
func TestCountersOverRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const next = `SET NOCOUNT ON; INSERT INTO dbo.t (a) VALUES (0); SELECT CONVERT(int, SCOPE_IDENTITY()) * 1000 + CONVERT(int, NEXT VALUE FOR dbo.s)`
	for _, step := range []struct {
		name, before string
		want         int // identity * 1000 + sequence
	}{
		{"first", "CREATE TABLE dbo.t (id int IDENTITY(1, 1) NOT NULL, a int); CREATE SEQUENCE dbo.s AS int START WITH 1", 1001},
		{"next", "", 2002},
		{"after some", "INSERT INTO dbo.t (a) SELECT NEXT VALUE FOR dbo.s FROM (VALUES (1), (2)) AS v (n)", 5005},
		{"restarted", "TRUNCATE TABLE dbo.t; ALTER SEQUENCE dbo.s RESTART WITH 7", 1007},
		{"next after that", "", 2008},
		{"rolled back", "BEGIN TRANSACTION; TRUNCATE TABLE dbo.t; ALTER SEQUENCE dbo.s RESTART WITH 1; INSERT INTO dbo.t (a) VALUES (NEXT VALUE FOR dbo.s); ROLLBACK", 3009},
		{"restarted and used", "BEGIN TRANSACTION; TRUNCATE TABLE dbo.t; ALTER SEQUENCE dbo.s RESTART WITH 3; INSERT INTO dbo.t (a) VALUES (NEXT VALUE FOR dbo.s); COMMIT", 2004},
		{"last", "", 3005},
	} {
		db, end := open(t, dir)
		if step.before != "" {
			if _, err := db.ExecContext(t.Context(), step.before); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
		}
		var got int
		if err := db.QueryRowContext(t.Context(), next).Scan(&got); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got != step.want {
			t.Errorf("%s: got %d, want %d", step.name, got, step.want)
		}
		end()
	}
}

package enginetest_test

import (
	"database/sql"
	"errors"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker/enginetest"
)

// load runs a bulk load of rows in a transaction of its own and returns its
// error.
func load(t *testing.T, db *sql.DB, o mssql.BulkOptions, table string, columns []string, rows [][]any) error {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	stmt, err := tx.PrepareContext(t.Context(), mssql.CopyIn(table, o, columns...))
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	for _, r := range rows {
		if _, err := stmt.ExecContext(t.Context(), r...); err != nil {
			return err
		}
	}
	res, err := stmt.ExecContext(t.Context())
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != int64(len(rows)) {
		t.Errorf("rows affected: %d, %v; want %d", n, err, len(rows))
	}
	return tx.Commit()
}

// TestBulkLoad loads rows as INSERT BULK does: identity and default columns fill
// themselves, NULL takes the default, triggers and checks do not run unless they
// are asked for.
func TestBulkLoad(t *testing.T) {
	t.Parallel()
	db := enginetest.Open(t)
	run(t, db, `CREATE TABLE dbo.t (id int IDENTITY(10,1) NOT NULL CONSTRAINT pk PRIMARY KEY, n int NULL CONSTRAINT df DEFAULT 7,
		s nvarchar(5) NOT NULL, CONSTRAINT ck CHECK (n > 0)); CREATE TABLE dbo.fired (n int);`)
	run(t, db, "CREATE TRIGGER dbo.tr ON dbo.t AFTER INSERT AS SET NOCOUNT ON; INSERT INTO dbo.fired SELECT n FROM inserted")
	many := make([][]any, 1200)
	for i := range many {
		many[i] = []any{i + 1, "row"}
	}
	if err := load(t, db, mssql.BulkOptions{}, "dbo.t", []string{"n", "s"}, many); err != nil {
		t.Fatal(err)
	}
	if err := load(t, db, mssql.BulkOptions{}, "dbo.t", []string{"n", "s"}, [][]any{{nil, "a"}, {-1, "b"}}); err != nil {
		t.Fatal(err)
	}
	if err := load(t, db, mssql.BulkOptions{KeepNulls: true, FireTriggers: true}, "dbo.t", []string{"id", "n", "s"}, [][]any{{5000, nil, "c"}}); err != nil {
		t.Fatal(err)
	}
	for _, check := range []struct {
		name, query string
		want        int
	}{
		{"rows", "SELECT COUNT(*) FROM dbo.t WHERE s = N'row'", 1200},
		{"identity", "SELECT MIN(id) FROM dbo.t", 10},
		{"default for NULL", "SELECT n FROM dbo.t WHERE s = N'a'", 7},
		{"no check", "SELECT n FROM dbo.t WHERE s = N'b'", -1},
		{"kept NULL", "SELECT CASE WHEN n IS NULL THEN 1 ELSE 0 END FROM dbo.t WHERE s = N'c'", 1},
		{"kept identity", "SELECT id FROM dbo.t WHERE s = N'c'", 5000},
		{"trigger on request", "SELECT COUNT(*) FROM dbo.fired", 1},
		{"identity goes on", "SET NOCOUNT ON; INSERT INTO dbo.t (s) VALUES (N'd'); SELECT CAST(SCOPE_IDENTITY() AS int)", 5001},
	} {
		if got := number(t, db, check.query); got != check.want {
			t.Errorf("%s: got %d, want %d", check.name, got, check.want)
		}
	}
}

// TestBulkLoadRefused loads rows that the table does not take: none of the load
// is stored.
func TestBulkLoadRefused(t *testing.T) {
	t.Parallel()
	db := enginetest.Open(t)
	run(t, db, "CREATE TABLE dbo.t (id int NOT NULL CONSTRAINT pk PRIMARY KEY, s varchar(3) NOT NULL, CONSTRAINT ck CHECK (id > 0))")
	for _, tt := range []struct {
		name  string
		o     mssql.BulkOptions
		rows  [][]any
		error int32
	}{
		{"duplicate key", mssql.BulkOptions{}, [][]any{{1, "a"}, {1, "b"}}, 2627},
		{"null", mssql.BulkOptions{}, [][]any{{1, "a"}, {2, nil}}, 515},
		{"check", mssql.BulkOptions{CheckConstraints: true}, [][]any{{1, "a"}, {-2, "b"}}, 547},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := load(t, db, tt.o, "dbo.t", []string{"id", "s"}, tt.rows)
			var e mssql.Error
			if !errors.As(err, &e) || e.Number != tt.error {
				t.Errorf("got %v, want error %d", err, tt.error)
			}
			if got := number(t, db, "SELECT COUNT(*) FROM dbo.t"); got != 0 {
				t.Errorf("%d rows were stored", got)
			}
		})
	}
}

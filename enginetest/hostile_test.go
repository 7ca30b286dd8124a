package enginetest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker/enginetest"
)

// readAll reads every row of every result set, and returns the error that a
// program sees.
func readAll(ctx context.Context, c *sql.Conn, text string) error {
	rows, err := c.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() { // only the end counts
		}
	}
	return rows.Err()
}

func hostileConn(t *testing.T) *sql.Conn {
	t.Helper()
	c, err := enginetest.Open(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestErrorOfARow checks that an error that comes after the columns reaches a
// program with its number: COLMETADATA, ERROR, DONE, in this order.
func TestErrorOfARow(t *testing.T) {
	t.Parallel()
	c := hostileConn(t)
	tests := []struct {
		name, text string
		want       int32 // 0 for none
	}{
		{"first row", "SELECT 1/0", 8134},
		{"later row", "SELECT 6/a FROM (VALUES (1),(0)) AS v(a)", 8134},
		{"conversion", "SELECT CAST(a AS int) FROM (VALUES ('1'),('x')) AS v(a)", 245},
		{"recursion", "WITH c AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM c) SELECT a FROM c", 530},
		{"value too large", "SELECT LEN(REPLICATE(CAST('x' AS varchar(max)), 3000000000))", 7119},
		{"JSON", "SELECT JSON_VALUE('{', '$.a')", 13609},
		{"in a procedure", "EXEC sys.sp_executesql N'SELECT 1/0'", 8134},
		{"caught", "BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := readAll(t.Context(), c, tt.text)
			var e mssql.Error
			if tt.want == 0 {
				if err != nil {
					t.Errorf("got %v, want no error", err)
				}
				return
			}
			if !errors.As(err, &e) || e.Number != tt.want {
				t.Errorf("got error %v (%d), want %d", err, e.Number, tt.want)
			}
		})
	}
}

// TestEndlessLoopsEnd cancels loops that no statement inside interrupts. They end
// by themselves after a time, so that a failure does not hang.
func TestEndlessLoopsEnd(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text string }{
		{"while", "WHILE SYSUTCDATETIME() < @end DECLARE @a int"},
		{"continue", "WHILE SYSUTCDATETIME() < @end CONTINUE"},
		{"goto", "again: IF SYSUTCDATETIME() < @end GOTO again"},
		{"goto out of a try", "again: BEGIN TRY IF SYSUTCDATETIME() < @end GOTO again END TRY BEGIN CATCH DECLARE @b int END CATCH"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := hostileConn(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var end string
			if err := c.QueryRowContext(ctx, "SELECT CONVERT(nvarchar(30), DATEADD(second, 8, SYSUTCDATETIME()), 126)").Scan(&end); err != nil {
				t.Fatal(err)
			}
			// The result set tells that the batch runs; only then it is cancelled.
			rows, err := c.QueryContext(ctx, fmt.Sprintf("DECLARE @end datetime2 = '%s'; SELECT 1; RAISERROR('', 0, 1) WITH NOWAIT; %s", end, tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if !rows.Next() {
				t.Fatalf("no row: %v", rows.Err())
			}
			cancel()
			_ = rows.Close() //nolint:sqlclosecheck // waits for the server's word that the batch has ended
			var early bool
			err = c.QueryRowContext(t.Context(), "SELECT CAST(IIF(SYSUTCDATETIME() < @p1, 1, 0) AS bit)", end).Scan(&early)
			if err != nil || !early {
				t.Errorf("the loop ran to its own end: %v", err)
			}
		})
	}
}

// TestSAStays drops the login that everything else hangs on.
func TestSAStays(t *testing.T) {
	t.Parallel()
	if enginetest.OnServer() {
		t.Skip("not on a server that others use")
	}
	c := hostileConn(t)
	if err := readAll(t.Context(), c, "DROP LOGIN sa"); err == nil {
		t.Error("DROP LOGIN sa: got no error")
	}
	var n int
	if err := c.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM sys.server_principals WHERE name = N'sa'").Scan(&n); err != nil || n != 1 {
		t.Errorf("got %d principals sa, %v, want 1", n, err)
	}
}

// TestForJSONInAnExpression nests a query of two columns, which FOR JSON makes one.
func TestForJSONInAnExpression(t *testing.T) {
	t.Parallel()
	c := hostileConn(t)
	var got string
	err := c.QueryRowContext(t.Context(), "SELECT CONCAT('>', (SELECT 1 AS a, 2 AS b FOR JSON PATH))").Scan(&got)
	if want := `>[{"a":1,"b":2}]`; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

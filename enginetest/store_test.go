package enginetest_test

import (
	"database/sql"
	"testing"

	"loopbroker/enginetest"
	"loopbroker/tsql"
	"loopbroker/worker/workertest"
)

// TestSQLStore runs the conformance suite of the worker's store on the
// procedures.
func TestSQLStore(t *testing.T) {
	t.Parallel()
	schema, err := tsql.NewSchema(tsql.DefaultSchema)
	if err != nil {
		t.Fatal(err)
	}
	workertest.RunSQL(t, schema, func(t testing.TB) *sql.DB {
		db := enginetest.Open(t)
		if err := tsql.Deploy(t.Context(), db, tsql.Options{}); err != nil {
			t.Fatalf("deploy: %v", err)
		}
		return db
	})
}

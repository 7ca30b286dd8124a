package workertest

import (
	"database/sql"
	"testing"
	"time"

	"loopbroker"
	"loopbroker/internal/brokercall"
	"loopbroker/tsql"
	"loopbroker/worker"
)

// RunSQL runs the suite on databases in which the objects are deployed. Each
// subtest opens one, which must be its own.
func RunSQL(t *testing.T, schema tsql.Schema, open func(t testing.TB) *sql.DB) {
	t.Helper()
	Run(t, func(t testing.TB) Harness { return SQLHarness(open(t), schema) })
}

// SQLHarness returns a harness over a deployed database. Requests are made by the
// caller's procedure, outside of a transaction.
func SQLHarness(db *sql.DB, schema tsql.Schema) Harness {
	return Harness{
		Store: worker.NewSQLStore(db, schema),
		Enqueue: func(t testing.TB, r loopbroker.Request) int64 {
			t.Helper()
			id, err := brokercall.Request(t.Context(), db, schema, r)
			if err != nil {
				t.Fatalf("enqueue: %v", err)
			}
			return id
		},
		Reply: func(t testing.TB, id int64) (loopbroker.Reply, bool) {
			t.Helper()
			r, err := brokercall.Read(t.Context(), db, schema, id)
			if err != nil {
				t.Fatalf("read reply: %v", err)
			}
			return r.Reply, r.State.Final()
		},
		Pass: time.Sleep, // the database's clock cannot be moved
	}
}

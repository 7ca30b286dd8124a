package workertest

import (
	"database/sql"
	"testing"
	"time"

	"loopbroker"
	"loopbroker/internal/millisecond"
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
		Store:   worker.NewSQLStore(db, schema),
		Enqueue: func(t testing.TB, r loopbroker.Request) int64 { return enqueue(t, db, schema, r) },
		Reply: func(t testing.TB, id int64) (loopbroker.Reply, bool) {
			return readReply(t, db, schema, id)
		},
		Pass: time.Sleep, // the database's clock cannot be moved
	}
}

// enqueue makes a request with the caller's procedure.
func enqueue(t testing.TB, db *sql.DB, schema tsql.Schema, r loopbroker.Request) int64 {
	t.Helper()
	var id int64
	args := []any{
		sql.Named("type", r.Type), sql.Named("json", r.JSON), sql.Named("wait", 0), sql.Named("id", sql.Out{Dest: &id}),
	}
	if r.Body != nil {
		args = append(args, sql.Named("body_binary", r.Body))
	}
	if r.Lane == loopbroker.LaneLow {
		args = append(args, sql.Named("priority", "low"))
	}
	if r.MaxAttempts > 0 {
		args = append(args, sql.Named("max_attempts", r.MaxAttempts))
	}
	for name, d := range map[string]time.Duration{"timeout_ms": r.AttemptTimeout, "expires_ms": r.Expires, "due_ms": r.Due} {
		if d > 0 {
			args = append(args, sql.Named(name, millisecond.Up(d)))
		}
	}
	if _, err := db.ExecContext(t.Context(), schema.Object(tsql.ProcBrokerRequest), args...); err != nil {
		t.Fatalf("enqueue: %v", err)
	}
	if id == 0 {
		t.Fatal("enqueue: no id came back")
	}
	return id
}

// readReply reads a stored reply with the statement for it.
func readReply(t testing.TB, db *sql.DB, schema tsql.Schema, id int64) (loopbroker.Reply, bool) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), schema.Statement(tsql.StatementRequest), sql.Named("id", id))
	if err != nil {
		t.Fatalf("read reply: %v", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err has what matters
	columns, err := rows.Columns()
	if err != nil {
		t.Fatalf("read reply: %v", err)
	}
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			t.Fatalf("read reply: %v", err)
		}
		return loopbroker.Reply{}, false
	}

	var r loopbroker.Reply
	var state, json, contentType, class, message, worker sql.NullString
	var status, msError, attempts, queue, dns, connect, tls, firstByte, total sql.NullInt64
	targets := map[string]any{
		"state": &state, "json_out": &json, "body_out": &r.Body, "content_type": &contentType, "http_status": &status, "error_class": &class,
		"error_message": &message, "ms_error": &msError, "attempts": &attempts, "worker": &worker, "queue_ms": &queue, "dns_ms": &dns,
		"connect_ms": &connect, "tls_ms": &tls, "first_byte_ms": &firstByte, "total_ms": &total,
	}
	dest := make([]any, len(columns))
	for i, name := range columns {
		if dest[i] = targets[name]; dest[i] == nil {
			dest[i] = new(any)
		}
	}
	if err := rows.Scan(dest...); err != nil {
		t.Fatalf("read reply: %v", err)
	}
	r.State = loopbroker.State(state.String)
	if !r.State.Final() {
		return loopbroker.Reply{}, false
	}
	r.JSON, r.ContentType, r.ErrorMessage, r.Worker = json.String, contentType.String, message.String, worker.String
	r.ErrorClass = loopbroker.ErrorClass(class.String)
	r.HTTPStatus, r.MSError, r.Attempts = int(status.Int64), int(msError.Int64), int(attempts.Int64)
	r.Timings = loopbroker.Timings{
		Queue: millisecond.Duration(queue.Int64), DNS: millisecond.Duration(dns.Int64), Connect: millisecond.Duration(connect.Int64),
		TLS: millisecond.Duration(tls.Int64), FirstByte: millisecond.Duration(firstByte.Int64), Total: millisecond.Duration(total.Int64),
	}
	return r, true
}

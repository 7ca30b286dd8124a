package worker

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker"
	"loopbroker/internal/millisecond"
	"loopbroker/tsql"
)

// SQLStore is a Store in SQL Server or the embedded engine, through the procedures
// of package tsql. It is safe for concurrent use.
type SQLStore struct {
	db     *sql.DB
	schema tsql.Schema
}

var _ Store = (*SQLStore)(nil)

// NewSQLStore returns a store over the objects in the schema. It does not take
// over db, and calls nothing yet.
func NewSQLStore(db *sql.DB, schema tsql.Schema) *SQLStore {
	return &SQLStore{db: db, schema: schema}
}

// maxClaim is the most rows that the procedure hands out at once.
const maxClaim = 10000

// exec calls a procedure without a result set and returns its return status.
func (s *SQLStore) exec(ctx context.Context, procedure string, args ...any) (int, error) {
	var status mssql.ReturnStatus
	_, err := s.db.ExecContext(ctx, s.schema.Object(procedure), append([]any{&status}, args...)...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", procedure, tsql.WrapError(err))
	}
	return int(status), nil
}

// query calls a procedure and calls scan for each row of its result set, with the
// columns' names. It returns the return status.
func (s *SQLStore) query(ctx context.Context, db querier, procedure string, scan func(*sql.Rows, []string) error, args ...any) (int, error) {
	var status mssql.ReturnStatus
	fail := func(err error) (int, error) { return 0, fmt.Errorf("%s: %w", procedure, tsql.WrapError(err)) }
	rows, err := db.QueryContext(ctx, s.schema.Object(procedure), append([]any{&status}, args...)...)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = rows.Close() }() // rows.Err has what matters
	columns, err := rows.Columns()
	if err != nil {
		return fail(err)
	}
	for rows.Next() {
		if err := scan(rows, columns); err != nil {
			return fail(err)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return fail(err)
	}
	return int(status), nil
}

// querier is what *sql.DB and *sql.Conn have in common here.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// claimed is one row of a claim's result set.
type claimed struct {
	message, token                       mssql.UniqueIdentifier
	lane                                 string
	request, maxAttempts, attemptTimeout sql.NullInt64
	attempts, queueMS                    int64
	ageMS                                sql.NullInt64
	kind, jsonIn, requestedBy            sql.NullString
	bodyIn                               []byte
	load, expired                        sql.NullBool
}

// scan reads the columns by name. Those that this version does not know are read
// past, so that the procedure can tell more.
func (c *claimed) scan(rows *sql.Rows, columns []string) error {
	targets := map[string]any{
		"message_id": &c.message, "lock_id": &c.token, "lane": &c.lane, "attempts": &c.attempts, "queue_ms": &c.queueMS,
		"age_ms": &c.ageMS, "request_id": &c.request, "type": &c.kind, "json_in": &c.jsonIn, "body_in": &c.bodyIn,
		"load": &c.load, "max_attempts": &c.maxAttempts, "attempt_timeout_ms": &c.attemptTimeout, "expired": &c.expired,
		"requested_by": &c.requestedBy,
	}
	dest := make([]any, len(columns))
	for i, name := range columns {
		target, ok := targets[strings.ToLower(name)]
		if !ok {
			target = new(any)
		}
		dest[i] = target
	}
	return rows.Scan(dest...)
}

// delivery returns what the row says.
func (c *claimed) delivery() loopbroker.Delivery {
	d := loopbroker.Delivery{
		Lease: loopbroker.Lease{RequestID: c.request.Int64, MessageID: loopbroker.UUID(c.message), Token: loopbroker.UUID(c.token)},
		Lane:  loopbroker.Lane(c.lane),
	}
	switch {
	case !c.request.Valid:
		d.Poison = "the queue row names no request"
		return d
	case !c.kind.Valid:
		// There is nobody left who could read a reply.
		d.Lease.RequestID = 0
		d.Poison = fmt.Sprintf("the queue row names request %d, which is gone", c.request.Int64)
		return d
	}
	d.Deferred = c.load.Bool
	d.Job = loopbroker.Job{
		RequestID: c.request.Int64, Type: c.kind.String, JSON: c.jsonIn.String, Body: c.bodyIn,
		Attempt: int(c.attempts), MaxAttempts: int(c.maxAttempts.Int64),
		AttemptTimeout: millisecond.Duration(c.attemptTimeout.Int64),
		Queued:         max(0, millisecond.Duration(c.queueMS)),
		Age:            max(0, millisecond.Duration(c.ageMS.Int64)),
		Expired:        c.expired.Bool,
		RequestedBy:    c.requestedBy.String,
	}
	return d
}

// Claim implements loopbroker.Queue.
func (s *SQLStore) Claim(ctx context.Context, n int, lease time.Duration) ([]loopbroker.Delivery, error) {
	if n < 1 || lease <= 0 {
		return nil, fmt.Errorf("%w: claim of %d for %s", loopbroker.ErrInvalid, n, lease)
	}
	var out []loopbroker.Delivery
	_, err := s.query(ctx, s.db, tsql.ProcClaim, func(rows *sql.Rows, columns []string) error {
		var c claimed
		if err := c.scan(rows, columns); err != nil {
			return err
		}
		out = append(out, c.delivery())
		return nil
	}, sql.Named("n", min(n, maxClaim)), sql.Named("lease_ms", millisecond.Up(lease)))
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Load implements loopbroker.Queue.
func (s *SQLStore) Load(ctx context.Context, l loopbroker.Lease) (string, []byte, error) {
	var text sql.NullString
	var body []byte
	found := false
	_, err := s.query(ctx, s.db, tsql.ProcLoad, func(rows *sql.Rows, _ []string) error {
		found = true
		return rows.Scan(&text, &body)
	}, append(leaseArgs(l), sql.Named("request_id", l.RequestID))...)
	if err == nil && !found {
		err = loopbroker.ErrLeaseLost
	}
	if err != nil {
		return "", nil, &loopbroker.OpError{Op: "load job", RequestID: l.RequestID, Err: err}
	}
	return text.String, body, nil
}

// leaseArgs are the parameters that name a lease.
func leaseArgs(l loopbroker.Lease) []any {
	return []any{
		sql.Named("message_id", mssql.UniqueIdentifier(l.MessageID)),
		sql.Named("lock_id", mssql.UniqueIdentifier(l.Token)),
	}
}

// settlement reads the return status of a settling procedure.
func settlement(status int) (loopbroker.Settlement, error) {
	switch tsql.Outcome(status) {
	case tsql.OutcomeDone:
		return loopbroker.Settled, nil
	case tsql.OutcomeLeaseLost:
		return loopbroker.SettledLost, nil
	case tsql.OutcomeAnswered:
		return loopbroker.SettledAnswered, nil
	default:
		return 0, fmt.Errorf("%w: outcome %d", loopbroker.ErrSchema, status)
	}
}

// Release implements loopbroker.Queue.
func (s *SQLStore) Release(ctx context.Context, l loopbroker.Lease, delay time.Duration, refund bool) (loopbroker.Settlement, error) {
	status, err := s.exec(ctx, tsql.ProcRelease,
		append(leaseArgs(l), sql.Named("delay_ms", millisecond.Up(delay)), sql.Named("refund", refund))...)
	if err != nil {
		return 0, &loopbroker.OpError{Op: "release job", RequestID: l.RequestID, Err: err}
	}
	return settlement(status)
}

// maxReason is the width of a reason and of an error message.
const maxReason = 2048

// clip cuts a text to at most limit UTF-16 units, which is how nvarchar counts.
func clip(text string, limit int) string {
	units := 0
	for i, r := range text {
		width := 1
		if r >= 0x10000 {
			width = 2
		}
		if units += width; units > limit {
			return text[:i]
		}
	}
	return text
}

// null returns nil for the zero value, so that the column becomes NULL.
func null[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// replyColumn is one column of a reply, in the way the procedures take it.
type replyColumn struct {
	name  string
	value any
}

// replyColumns returns the columns of a reply from http_status on, without the
// body. NULL stands for what did not happen.
func replyColumns(r loopbroker.Reply) []replyColumn {
	t := r.Timings
	return []replyColumn{
		{"http_status", null(r.HTTPStatus)},
		{"error_class", null(string(r.ErrorClass))},
		{"error_message", null(clip(r.ErrorMessage, maxReason))},
		{"ms_error", null(r.MSError)},
		{"json_out", null(r.JSON)},
		{"content_type", null(clip(r.ContentType, 400))},
		{"attempts", null(r.Attempts)},
		{"worker", null(clip(r.Worker, 200))},
		{"queue_ms", millisecond.Down(t.Queue)},
		{"dns_ms", null(millisecond.Down(t.DNS))},
		{"connect_ms", null(millisecond.Down(t.Connect))},
		{"tls_ms", null(millisecond.Down(t.TLS))},
		{"first_byte_ms", null(millisecond.Down(t.FirstByte))},
		{"total_ms", millisecond.Down(t.Total)},
	}
}

// replyArgs returns the parameters of a reply, the body included.
func replyArgs(r loopbroker.Reply) []any {
	var args []any
	for _, c := range replyColumns(r) {
		args = append(args, sql.Named(c.name, c.value))
	}
	if r.Body != nil {
		args = append(args, sql.Named("body_out", r.Body))
	}
	return args
}

// maxShared is the most characters of output that a reply may have and still share
// a call: what is larger would make the others wait for its way to the server.
const maxShared = 64 << 10

// Complete implements loopbroker.Queue. Small texts go together in one call, the
// others by themselves.
func (s *SQLStore) Complete(ctx context.Context, batch []loopbroker.Completion) ([]loopbroker.Settlement, error) {
	out := make([]loopbroker.Settlement, len(batch))
	var shared []int
	for i, c := range batch {
		if !c.Reply.State.Final() || c.Lease.RequestID == 0 {
			return nil, fmt.Errorf("%w: completion of request %d with state %q", loopbroker.ErrInvalid, c.Lease.RequestID, c.Reply.State)
		}
		if c.Reply.Body == nil && len(c.Reply.JSON) <= maxShared && utf8.ValidString(c.Reply.JSON) {
			shared = append(shared, i)
		}
	}
	if len(shared) < 2 {
		shared = nil
	}
	if err := s.completeShared(ctx, batch, shared, out); err != nil {
		return nil, err
	}
	for i, c := range batch {
		if len(shared) > 0 && shared[0] == i {
			shared = shared[1:]
			continue
		}
		var err error
		if out[i], err = s.completeOne(ctx, c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// completeOne stores one reply.
func (s *SQLStore) completeOne(ctx context.Context, c loopbroker.Completion) (loopbroker.Settlement, error) {
	args := append(leaseArgs(c.Lease), sql.Named("request_id", c.Lease.RequestID), sql.Named("state", string(c.Reply.State)))
	status, err := s.exec(ctx, tsql.ProcComplete, append(args, replyArgs(c.Reply)...)...)
	if err != nil {
		return 0, &loopbroker.OpError{Op: "complete job", RequestID: c.Lease.RequestID, Err: err}
	}
	return settlement(status)
}

// completeShared stores the replies at the given indexes in one call.
func (s *SQLStore) completeShared(ctx context.Context, batch []loopbroker.Completion, indexes []int, out []loopbroker.Settlement) error {
	if len(indexes) == 0 {
		return nil
	}
	replies := make([]map[string]any, 0, len(indexes))
	byMessage := make(map[loopbroker.UUID]int, len(indexes))
	for _, i := range indexes {
		c := batch[i]
		byMessage[c.Lease.MessageID] = i
		o := map[string]any{
			"message_id": c.Lease.MessageID.String(), "lock_id": c.Lease.Token.String(),
			"request_id": c.Lease.RequestID, "state": string(c.Reply.State),
		}
		for _, column := range replyColumns(c.Reply) {
			if column.value != nil {
				o[column.name] = column.value
			}
		}
		replies = append(replies, o)
	}
	data, err := json.Marshal(replies)
	if err != nil {
		return fmt.Errorf("encode replies: %w", err)
	}
	_, err = s.query(ctx, s.db, tsql.ProcCompleteBatch, func(rows *sql.Rows, _ []string) error {
		var message mssql.UniqueIdentifier
		var code int
		if err := rows.Scan(&message, &code); err != nil {
			return err
		}
		i, ok := byMessage[loopbroker.UUID(message)]
		if !ok {
			return fmt.Errorf("%w: a message that was not completed", loopbroker.ErrSchema)
		}
		out[i], err = settlement(code)
		return err
	}, sql.Named("replies", string(data)))
	return err
}

// DeadLetter implements loopbroker.Queue.
func (s *SQLStore) DeadLetter(ctx context.Context, c loopbroker.Completion, reason string) (loopbroker.Settlement, error) {
	args := append(leaseArgs(c.Lease), sql.Named("request_id", null(c.Lease.RequestID)), sql.Named("reason", clip(reason, maxReason)))
	status, err := s.exec(ctx, tsql.ProcDeadLetter, append(args, replyArgs(c.Reply)...)...)
	if err != nil {
		return 0, &loopbroker.OpError{Op: "bury job", RequestID: c.Lease.RequestID, Err: err}
	}
	return settlement(status)
}

// Register implements loopbroker.Registry.
func (s *SQLStore) Register(ctx context.Context, w loopbroker.WorkerInfo) error {
	_, err := s.exec(ctx, tsql.ProcRegister,
		sql.Named("worker_id", w.ID),
		sql.Named("host", clip(w.Host, 200)),
		sql.Named("pid", w.PID),
		sql.Named("version", clip(w.Version, 64)),
		sql.Named("slots", w.Slots),
		sql.Named("types", strings.Join(w.Types, ",")),
		sql.Named("schema_version", tsql.SchemaVersion))
	return err
}

// Unregister implements loopbroker.Registry.
func (s *SQLStore) Unregister(ctx context.Context, id string) error {
	_, err := s.exec(ctx, tsql.ProcUnregister, sql.Named("worker_id", id))
	return err
}

// Heartbeat implements loopbroker.Registry.
func (s *SQLStore) Heartbeat(ctx context.Context, b loopbroker.Beat) (loopbroker.BeatResult, error) {
	type entry struct {
		MessageID string `json:"message_id"`
		LockID    string `json:"lock_id"`
	}
	var asked any
	byMessage := make(map[loopbroker.UUID][]loopbroker.Lease, len(b.Leases))
	if len(b.Leases) > 0 {
		entries := make([]entry, 0, len(b.Leases))
		for _, l := range b.Leases {
			entries = append(entries, entry{l.MessageID.String(), l.Token.String()})
			byMessage[l.MessageID] = append(byMessage[l.MessageID], l)
		}
		data, err := json.Marshal(entries)
		if err != nil {
			return loopbroker.BeatResult{}, fmt.Errorf("encode leases: %w", err)
		}
		asked = string(data)
	}
	var out loopbroker.BeatResult
	status, err := s.query(ctx, s.db, tsql.ProcHeartbeat, func(rows *sql.Rows, _ []string) error {
		var message mssql.UniqueIdentifier
		var what string
		if err := rows.Scan(&message, &what); err != nil {
			return err
		}
		for _, l := range byMessage[loopbroker.UUID(message)] {
			if what == "cancelled" {
				out.Cancelled = append(out.Cancelled, l)
			} else {
				out.Lost = append(out.Lost, l)
			}
		}
		return nil
	}, sql.Named("worker_id", b.Worker), sql.Named("busy", min(b.Busy, math.MaxInt32)), sql.Named("lease_ms", millisecond.Up(b.Life)), sql.Named("leases", asked))
	if err != nil {
		return loopbroker.BeatResult{}, err
	}
	out.Unregistered = status == 1
	return out, nil
}

// Sweep implements loopbroker.Janitor. The procedure elects the janitor by a lock
// of its session, so a connection on which it did not end is thrown away: in the
// pool it would keep the lock.
func (s *SQLStore) Sweep(ctx context.Context, batch int) (out loopbroker.Swept, err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return out, fmt.Errorf("%s: %w", tsql.ProcJanitor, err)
	}
	defer func() {
		if err != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // discards it
		}
		_ = conn.Close() // back to the pool, or gone
	}()
	status, err := s.query(ctx, conn, tsql.ProcJanitor, func(rows *sql.Rows, _ []string) error {
		return rows.Scan(&out.Expired, &out.Buried, &out.Purged)
	}, sql.Named("batch", batch))
	out.Elected = err == nil && status == 0
	return out, err
}

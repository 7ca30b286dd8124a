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

// claimCompletions is what a claim returns when completion procedures are due.
const claimCompletions = 1

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
	// Every type but http has lanes of its own, named after it.
	d.Lane = loopbroker.Lane(strings.TrimSuffix(c.lane, "."+c.kind.String))
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
func (s *SQLStore) Claim(ctx context.Context, ask loopbroker.ClaimRequest) (loopbroker.Claimed, error) {
	if ask.N < 1 || ask.Lease <= 0 || len(ask.Types) == 0 {
		return loopbroker.Claimed{}, fmt.Errorf("%w: claim of %d for %s of the types %q", loopbroker.ErrInvalid, ask.N, ask.Lease, ask.Types)
	}
	var out loopbroker.Claimed
	status, err := s.query(ctx, s.db, tsql.ProcClaim, func(rows *sql.Rows, columns []string) error {
		var c claimed
		if err := c.scan(rows, columns); err != nil {
			return err
		}
		out.Deliveries = append(out.Deliveries, c.delivery())
		return nil
	}, sql.Named("n", min(ask.N, maxClaim)), sql.Named("lease_ms", millisecond.Up(ask.Lease)), sql.Named("types", strings.Join(ask.Types, ",")))
	if err != nil {
		return loopbroker.Claimed{}, err
	}
	out.CompletionsDue = status == claimCompletions
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
	hosts, err := hostsJSON(b.Hosts)
	if err != nil {
		return loopbroker.BeatResult{}, err
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
	}, sql.Named("worker_id", b.Worker), sql.Named("busy", min(b.Busy, math.MaxInt32)), sql.Named("lease_ms", millisecond.Up(b.Life)), sql.Named("leases", asked), sql.Named("hosts", hosts))
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

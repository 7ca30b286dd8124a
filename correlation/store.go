package correlation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker"
	"loopbroker/internal/backoff"
	"loopbroker/internal/brokercall"
	"loopbroker/internal/millisecond"
	"loopbroker/internal/transient"
	"loopbroker/tsql"
)

// Store makes requests and reads their replies. It is safe for concurrent use.
type Store struct {
	db     *sql.DB
	schema tsql.Schema
	opts   Options
	retry  backoff.Policy
}

// New returns a store over the objects in the schema. It does not take over db,
// and calls nothing yet.
func New(db *sql.DB, schema tsql.Schema, opts Options) (*Store, error) {
	opts = opts.WithDefaults()
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("correlation options: %w", err)
	}
	return &Store{
		db: db, schema: schema, opts: opts,
		retry: backoff.Policy{Base: opts.RetryBase, Cap: opts.RetryCap},
	}, nil
}

// Request describes a stored request.
type Request struct {
	// ID identifies the request in every table.
	ID int64

	// Type names the handler.
	Type string

	// State says how far the request has come.
	State loopbroker.State

	// Lane is the logical queue it was made in.
	Lane loopbroker.Lane

	// RequestedBy is the login that made it.
	RequestedBy string

	// Attempts is how often it was started so far, MaxAttempts how often it may be.
	Attempts, MaxAttempts int

	// CreatedAt, ExpiresAt and CompletedAt are by the database's clock, in UTC.
	// CompletedAt is zero until the request has its reply.
	CreatedAt, ExpiresAt, CompletedAt time.Time
}

// Enqueue stores a request in a transaction of its own and returns its id. It does
// not wait for the reply. With an idempotency key that is known already, the id is
// that of the first request.
func (s *Store) Enqueue(ctx context.Context, r loopbroker.Request) (int64, error) {
	var id int64
	err := transient.Retry(ctx, s.retry, s.opts.Attempts, func(ctx context.Context) (err error) {
		id, err = brokercall.Request(ctx, s.db, s.schema, r)
		if r.IdempotencyKey == "" && errors.Is(err, loopbroker.ErrOutcomeUnknown) {
			return final{err}
		}
		return err
	})
	var done final
	if errors.As(err, &done) {
		err = done.err
	}
	return id, err
}

// final hides an error from those who would repeat the call for it.
type final struct{ err error }

// Error implements error.
func (f final) Error() string { return f.err.Error() }

// Get returns what is known about a request, or loopbroker.ErrUnknownRequest.
func (s *Store) Get(ctx context.Context, id int64) (Request, error) {
	r, err := s.read(ctx, id)
	if err != nil {
		return Request{}, err
	}
	return Request{
		ID: r.ID, Type: r.Type, State: r.State, Lane: r.Lane, RequestedBy: r.RequestedBy, Attempts: r.Attempts, MaxAttempts: r.MaxAttempts,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, CompletedAt: r.Completed,
	}, nil
}

// read reads a record over transient faults.
func (s *Store) read(ctx context.Context, id int64) (brokercall.Record, error) {
	var r brokercall.Record
	err := transient.Retry(ctx, s.retry, s.opts.Attempts, func(ctx context.Context) (err error) {
		r, err = brokercall.Read(ctx, s.db, s.schema, id)
		return err
	})
	return r, err
}

// Reply returns the reply of a request, loopbroker.ErrPending if there is none yet,
// or loopbroker.ErrUnknownRequest. A reply that says that the request failed is not
// an error.
func (s *Store) Reply(ctx context.Context, id int64) (loopbroker.Reply, error) {
	r, err := s.read(ctx, id)
	if err != nil {
		return loopbroker.Reply{}, err
	}
	if !r.State.Final() {
		return loopbroker.Reply{}, &loopbroker.OpError{Op: "read reply", RequestID: id, Err: loopbroker.ErrPending}
	}
	return r.Reply, nil
}

// Collect waits for a reply for at most the given time, like a procedure does: in
// the database, on one connection. It returns the same as Reply, and also
// loopbroker.ErrNoWorker and loopbroker.ErrTooManyWaiters, with which it does not
// wait. A wait beyond the setting max_wait_ms is loopbroker.ErrInvalid.
func (s *Store) Collect(ctx context.Context, id int64, wait time.Duration) (loopbroker.Reply, error) {
	if wait < 0 {
		return loopbroker.Reply{}, &loopbroker.OpError{Op: "collect reply", RequestID: id, Err: fmt.Errorf("%w: wait of %s", loopbroker.ErrInvalid, wait)}
	}
	deadline := time.Now().Add(wait)
	var status mssql.ReturnStatus
	err := transient.Retry(ctx, s.retry, s.opts.Attempts, func(ctx context.Context) error {
		left := max(0, time.Until(deadline)) // a repeated call waits for the rest
		_, err := s.db.ExecContext(ctx, s.schema.Object(tsql.ProcCollect),
			&status, sql.Named("id", id), sql.Named("wait", millisecond.Up(left)))
		return tsql.WrapError(err)
	})
	if err == nil {
		err = tsql.ReturnCode(status).Err()
	}
	if err != nil {
		return loopbroker.Reply{}, &loopbroker.OpError{Op: "collect reply", RequestID: id, Err: err}
	}
	return s.Reply(ctx, id)
}

// Await waits for a reply until ctx is done, holding no connection between looks.
// When ctx is done first, the error wraps both loopbroker.ErrPending and its cause;
// the reply can still be asked for later.
func (s *Store) Await(ctx context.Context, id int64) (loopbroker.Reply, error) {
	for pause := s.opts.MinPoll; ; pause = min(pause+pause/2, s.opts.MaxPoll) {
		r, err := s.Reply(ctx, id)
		switch {
		case ctx.Err() != nil && err != nil && !errors.Is(err, loopbroker.ErrUnknownRequest):
			return loopbroker.Reply{}, pending(ctx, id)
		case !errors.Is(err, loopbroker.ErrPending):
			return r, err
		}
		if !transient.Sleep(ctx, pause) {
			return loopbroker.Reply{}, pending(ctx, id)
		}
	}
}

// pending is the error of a wait that ended with its context.
func pending(ctx context.Context, id int64) error {
	return &loopbroker.OpError{Op: "await reply", RequestID: id, Err: fmt.Errorf("%w: %w", loopbroker.ErrPending, context.Cause(ctx))}
}

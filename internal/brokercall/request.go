// Package brokercall calls the procedure with which a job of any type is asked for,
// on any connection: its outcome depends on whether that one is in a transaction.
// It reads what became of a request as well.
package brokercall

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker"
	"loopbroker/internal/millisecond"
	"loopbroker/internal/transient"
	"loopbroker/tsql"
)

// Execer is what *sql.DB, *sql.Conn and *sql.Tx have in common here.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Request stores the request without waiting for its reply and returns its id.
//
// Outside a transaction it is stored in one of its own; inside, the procedure sends
// it through the linked server. An error tells what is known: ErrInvalid and its
// like mean that nothing was stored, ErrNotSent too, and ErrOutcomeUnknown that it
// may have been.
func Request(ctx context.Context, db Execer, schema tsql.Schema, r loopbroker.Request) (int64, error) {
	if err := r.Validate(); err != nil {
		return 0, fmt.Errorf("request: %w", err)
	}
	args, err := arguments(r)
	if err != nil {
		return 0, err
	}
	var status mssql.ReturnStatus
	var id sql.NullInt64
	var reason sql.NullString
	args = append(args, &status, sql.Named("id", sql.Out{Dest: &id}), sql.Named("error", sql.Out{Dest: &reason}))
	if _, err := db.ExecContext(ctx, schema.Object(tsql.ProcBrokerRequest), args...); err != nil {
		return 0, sendError(ctx, err)
	}
	code := tsql.ReturnCode(status)
	if code.Stored() && id.Valid {
		return id.Int64, nil // pending as a rule; answered already if the key was known
	}
	if code.Stored() {
		return 0, fmt.Errorf("request: %w: the procedure gave no id", loopbroker.ErrSchema)
	}
	err = code.Err()
	if reason.Valid {
		err = fmt.Errorf("%w: %s", err, reason.String)
	}
	return id.Int64, fmt.Errorf("request: %w", err)
}

// sendError tells whether the request may have been stored although the call
// failed. An error that the server raised means that it was not, and so does a
// connection that was never made.
func sendError(ctx context.Context, err error) error {
	wrapped := tsql.WrapError(err)
	var server mssql.Error
	if errors.As(err, &server) && server.Class < 20 && ctx.Err() == nil {
		return fmt.Errorf("request: %w", wrapped)
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" {
		return fmt.Errorf("request: %w: %w", loopbroker.ErrNotSent, wrapped)
	}
	if ctx.Err() != nil || transient.Connection(err) || errors.As(err, &server) {
		return fmt.Errorf("request: %w: %w", loopbroker.ErrOutcomeUnknown, wrapped)
	}
	return fmt.Errorf("request: %w", wrapped)
}

// arguments are the parameters that the request sets. The others keep the
// procedure's defaults.
func arguments(r loopbroker.Request) ([]any, error) {
	args := []any{sql.Named("type", r.Type), sql.Named("json", r.JSON), sql.Named("wait", 0)}
	add := func(name string, value any) { args = append(args, sql.Named(name, value)) }
	switch r.Lane {
	case "", loopbroker.LaneNormal:
		add("priority", "normal")
	case loopbroker.LaneLow:
		add("priority", "low")
	default:
		return nil, fmt.Errorf("request: %w: lane %q is not for requests that nobody waits for", loopbroker.ErrInvalid, r.Lane)
	}
	if r.Body != nil {
		add("body_binary", r.Body)
	}
	if r.MaxAttempts > 0 {
		add("max_attempts", r.MaxAttempts)
	}
	if r.AttemptTimeout > 0 {
		add("timeout_ms", millisecond.Up(r.AttemptTimeout))
	}
	if r.Expires > 0 {
		add("expires_ms", millisecond.Up(r.Expires))
	}
	if r.Due > 0 {
		add("due_ms", millisecond.Up(r.Due))
	}
	if r.IdempotencyKey != "" {
		add("idempotency_key", r.IdempotencyKey)
	}
	return args, nil
}

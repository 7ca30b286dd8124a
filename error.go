package loopbroker

import (
	"errors"
	"fmt"
)

// Errors that callers branch on. Test for them with errors.Is; they always
// arrive wrapped.
var (
	// ErrInvalid means that the input can never succeed as it stands. Nothing was
	// stored.
	ErrInvalid = errors.New("invalid input")

	// ErrLeaseLost means that the caller no longer holds the lease. The work may
	// run again elsewhere; drop the result.
	ErrLeaseLost = errors.New("lease lost")

	// ErrUnknownRequest means that there is no such request, that it is past its
	// retention, or that it belongs to somebody else. The three are not told apart.
	ErrUnknownRequest = errors.New("unknown request")

	// ErrPending means that the request has no reply yet. Ask again later.
	ErrPending = errors.New("reply pending")

	// ErrNoWorker means that the request is stored and that no live worker serves
	// its type. Start one, or collect the reply later.
	ErrNoWorker = errors.New("no live worker")

	// ErrTooManyWaiters means that the request is stored and that too many callers
	// wait already. Collect the reply later.
	ErrTooManyWaiters = errors.New("too many waiters")

	// ErrNotSent means that the request could not leave through the second
	// connection. Nothing was stored; it is safe to call again.
	ErrNotSent = errors.New("request not sent")

	// ErrOutcomeUnknown means that the connection broke after the request may have
	// been stored. Call again with the same idempotency key.
	ErrOutcomeUnknown = errors.New("outcome unknown")

	// ErrCancelled is the cause of a handler's context when the request was called
	// off while it ran.
	ErrCancelled = errors.New("request cancelled")

	// ErrStopped is the cause of a handler's context when the process stops and
	// the time to drain is over.
	ErrStopped = errors.New("worker stopped")

	// ErrDoomedTransaction means that the caller's transaction can only be rolled
	// back. Roll back, then call.
	ErrDoomedTransaction = errors.New("transaction is doomed")

	// ErrForbidden means that the caller may not do this. Ask the admin of the
	// broker for the role or the row of the allow-list.
	ErrForbidden = errors.New("not allowed")

	// ErrNoLoopback means that the request would need the second connection and
	// that there is none, or that the caller's impersonation cannot use it.
	ErrNoLoopback = errors.New("no loopback")

	// ErrIdempotencyConflict means that the key is taken by another request.
	ErrIdempotencyConflict = errors.New("idempotency key reused")

	// ErrTooLarge means that an argument is over its cap.
	ErrTooLarge = errors.New("too large")

	// ErrSchema means that the database does not hold the objects that this
	// version needs. Deploy, or use the matching version.
	ErrSchema = errors.New("database schema does not match")
)

// OpError adds to an error what the broker was doing, and to which request.
type OpError struct {
	// Op is the operation that failed, such as "claim jobs".
	Op string
	// RequestID is zero if no single request is involved.
	RequestID int64
	// Err is the cause, never nil.
	Err error
}

// Error implements error.
func (e *OpError) Error() string {
	if e.RequestID == 0 {
		return e.Op + ": " + e.Err.Error()
	}
	return fmt.Sprintf("%s: request %d: %v", e.Op, e.RequestID, e.Err)
}

// Unwrap lets errors.Is and errors.As see the cause.
func (e *OpError) Unwrap() error { return e.Err }

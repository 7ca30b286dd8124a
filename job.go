package loopbroker

import "time"

// Lease is the right to settle one delivery of one request.
type Lease struct {
	// RequestID is the request that was claimed, or 0 if the queue's row names
	// none.
	RequestID int64

	// MessageID is the request's row in the queue.
	MessageID UUID

	// Token changes with every claim, so a late report from a worker that lost its
	// lease cannot settle someone else's. It is the row's lock_id.
	Token UUID
}

// Delivery is what a claim hands out: a request and the lease on it.
type Delivery struct {
	// Lease is the right that the claim gave.
	Lease Lease

	// Lane is the logical queue it was claimed from, without the type that lanes of
	// other types than http have in their names.
	Lane Lane

	// Job is the content of the request.
	Job Job

	// Deferred reports whether the claim left Job.JSON and Job.Body out because
	// they are large: see Queue.Load.
	Deferred bool

	// Poison says why the row cannot be run: it does not name a request, or names
	// one that is gone. It is empty for a delivery that can.
	Poison string
}

// Job is the content of a claimed request, as a handler gets it.
type Job struct {
	// RequestID identifies the request in every table.
	RequestID int64

	// Type names the handler.
	Type string

	// JSON is the handler's input.
	JSON string

	// Body is the binary body, or nil if there is none.
	Body []byte

	// Attempt counts the claims of the request, this one included, from 1.
	// MaxAttempts is the last one that may be run.
	Attempt, MaxAttempts int

	// AttemptTimeout bounds this attempt. Zero means the handler's default.
	AttemptTimeout time.Duration

	// Queued is how long the request had waited when it was claimed, since it was
	// made or, if later, since it was due.
	Queued time.Duration

	// Age is how long ago the request was made, when it was claimed. Zero means
	// that the queue does not tell.
	Age time.Duration

	// TotalLeft is what is left of the clock over all attempts, or 0 if there is no
	// such clock. The worker sets it.
	TotalLeft time.Duration

	// Expired reports whether the time to start the request had passed when it was
	// claimed. An expired job is never run.
	Expired bool

	// RequestedBy is the login that made the request.
	RequestedBy string
}

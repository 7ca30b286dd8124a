package loopbroker

import (
	"context"
	"time"
)

// Handler does the work of one type of job.
//
// Handle returns the reply of a request that was carried out, in whose State and
// ErrorClass it sets nothing, or an error, which should hold a *Fault; see
// [AsFault] for one that does not. Its context ends when the lease is lost (cause
// ErrLeaseLost), when the request is called off (cause ErrCancelled) and when the
// process has no more time to drain (cause ErrStopped). Handle must be safe for
// concurrent use; a panic is recovered and ends that job only.
type Handler interface {
	Handle(ctx context.Context, job Job) (Reply, error)
}

// HandlerFunc is a function that is a Handler.
type HandlerFunc func(ctx context.Context, job Job) (Reply, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, job Job) (Reply, error) { return f(ctx, job) }

// Settlement is what became of a report about a delivery.
type Settlement uint8

const (
	// Settled means that the report was stored.
	Settled Settlement = iota

	// SettledLost means that the lease had been lost before. Nothing was stored.
	SettledLost

	// SettledAnswered means that the request had its reply already. The queue row
	// was settled and this reply was dropped.
	SettledAnswered
)

// String returns "stored", "lease lost" or "already answered".
func (s Settlement) String() string {
	switch s {
	case Settled:
		return "stored"
	case SettledLost:
		return "lease lost"
	default:
		return "already answered"
	}
}

// ClaimRequest says what a worker would take.
type ClaimRequest struct {
	// N is the most requests to take.
	N int

	// Lease is the life of each lease.
	Lease time.Duration

	// Types are the job types that the worker serves. It is given no others.
	Types []string
}

// Claimed is what a claim gave.
type Claimed struct {
	// Deliveries are the requests, the most urgent first.
	Deliveries []Delivery

	// CompletionsDue reports that there are completion procedures to run; see
	// Completer.
	CompletionsDue bool
}

// Completion is the outcome of one delivery.
type Completion struct {
	// Lease is the lease under which the work was done.
	Lease Lease

	// Reply is what to store. Its State is final.
	Reply Reply
}

// Queue keeps requests and hands each one to at most one live lease at a time.
// All durations run on the queue's own clock, never on the caller's, and are cut
// to milliseconds.
//
// Implementations are safe for concurrent use and pass workertest.Run. Every
// method may also return an error of the store; what it did is then unknown, and
// repeating it is safe.
type Queue interface {
	// Claim leases due requests of the types: the most urgent lane first, then the
	// longest due; types share a lane by turns. It counts an attempt for each. No due
	// request is not an error: there are then no deliveries. Content is never parsed
	// here. It returns ErrInvalid unless there is something to ask for.
	Claim(ctx context.Context, ask ClaimRequest) (Claimed, error)

	// Load returns the JSON and the body that a deferred delivery left out, or
	// ErrLeaseLost.
	Load(ctx context.Context, l Lease) (json string, body []byte, err error)

	// Complete stores the replies and removes the requests from the queue. It
	// returns one settlement for each completion, in their order. Each of them
	// stands for itself: one that is lost does not hold up the others.
	Complete(ctx context.Context, batch []Completion) ([]Settlement, error)

	// Release makes the request due again after the delay. With refund it takes
	// back the attempt that the claim counted, for a delivery that was not run. A
	// request that was called off is settled as cancelled instead. It returns Settled
	// or SettledLost.
	Release(ctx context.Context, l Lease, delay time.Duration, refund bool) (Settlement, error)

	// DeadLetter buries the queue's row, for an admin to see, and stores the reply,
	// whose state is StateFailed, if the lease names a request.
	DeadLetter(ctx context.Context, c Completion, reason string) (Settlement, error)
}

// WorkerInfo describes one worker process.
type WorkerInfo struct {
	// ID names the process and is unique for each run of it, in 1 to 200
	// characters. Replies carry it as Reply.Worker.
	ID string

	// Host is the machine's name.
	Host string

	// PID is the operating system's id of the process.
	PID int

	// Version is the version of the program.
	Version string

	// Slots is how many jobs the process runs at once.
	Slots int

	// Types are the job types it has handlers for.
	Types []string
}

// Beat is one sign of life of a worker process.
type Beat struct {
	// Worker is the ID of the process.
	Worker string

	// Busy is how many of its slots are taken.
	Busy int

	// Leases are renewed for Life each.
	Leases []Lease

	// Life is how long the renewed leases live from now.
	Life time.Duration

	// Hosts are all hosts that there is something to say about. Nil means that
	// nothing has changed since the last beat.
	Hosts []HostState
}

// BeatResult is what became of a beat. Leases in neither list were renewed.
type BeatResult struct {
	// Unregistered reports whether the process has no entry: register again.
	Unregistered bool

	// Lost are the leases that are no longer ours.
	Lost []Lease

	// Cancelled are the leases whose requests were called off. They are still to
	// be settled.
	Cancelled []Lease
}

// Registry says which workers live. Callers read it before they wait.
//
// Implementations are safe for concurrent use and pass workertest.Run.
type Registry interface {
	// Register announces the process. Registering again replaces the entry. It
	// returns ErrSchema if the database does not match this version.
	Register(ctx context.Context, w WorkerInfo) error

	// Heartbeat says that the process lives, and renews its leases.
	Heartbeat(ctx context.Context, b Beat) (BeatResult, error)

	// Unregister removes the entry, so that callers know at once. A missing entry
	// is not an error.
	Unregister(ctx context.Context, id string) error
}

// DueCompletion is the right to run one completion procedure: what a caller asked
// to be run in the database once its request has a reply.
type DueCompletion struct {
	// Lease is the right; its RequestID is the request that has its reply.
	Lease Lease

	// Timeout is when to end the run.
	Timeout time.Duration
}

// CompletionOutcome is what became of a run.
type CompletionOutcome uint8

const (
	// CompletionDone means that it has run.
	CompletionDone CompletionOutcome = iota

	// CompletionLost means that the lease was lost. Nothing was run.
	CompletionLost

	// CompletionRetried means that it failed and is due again after a pause.
	CompletionRetried

	// CompletionBuried means that it failed for the last time.
	CompletionBuried
)

// Completer runs completion procedures, each in a transaction of its own. Nothing
// that one does can harm the reply or another.
type Completer interface {
	// DueCompletions leases up to n of them and counts a run for each.
	DueCompletions(ctx context.Context, n int) ([]DueCompletion, error)

	// RunCompletion runs one. That the procedure fails is an outcome, not an error.
	// If ctx ends first, the run is rolled back and still to be reported by
	// FailCompletion.
	RunCompletion(ctx context.Context, d DueCompletion) (CompletionOutcome, error)

	// FailCompletion says that a run was ended from outside.
	FailCompletion(ctx context.Context, d DueCompletion, reason string) (CompletionOutcome, error)
}

// Swept counts what a sweep of the janitor did.
type Swept struct {
	// Elected reports whether this process was the janitor. If not, another one
	// was at it and nothing was done.
	Elected bool

	// Expired, Buried and Purged count requests whose time to start had passed,
	// that were out of attempts without a living worker, and that were past their
	// retention.
	Expired, Buried, Purged int
}

// Janitor keeps the tables in order. Any number of processes may call it.
type Janitor interface {
	// Sweep handles at most batch rows of each kind.
	Sweep(ctx context.Context, batch int) (Swept, error)
}

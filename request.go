package loopbroker

import (
	"errors"
	"fmt"
	"time"
)

// TypeHTTP is the job type that package httpfetch handles.
const TypeHTTP = "http"

// MaxTypeLength is the most characters a job type can have.
const MaxTypeLength = 50

// Request is what a Go caller wants done. It is stored as given and never
// changed; every zero field means the database's default.
type Request struct {
	// Type names the handler, such as "http". Required.
	Type string

	// JSON is the input of the handler. Required.
	JSON string

	// Body is a binary body that travels beside the JSON. Nil means none.
	Body []byte

	// Lane is the logical queue.
	//
	// Defaults to LaneNormal.
	Lane Lane

	// MaxAttempts is how often the request may be started.
	MaxAttempts int

	// AttemptTimeout bounds one attempt, from its start in the worker to the last
	// byte of the answer. It moves in milliseconds.
	AttemptTimeout time.Duration

	// Expires is how long the request may wait before it is started.
	Expires time.Duration

	// Due is how long the request is held back before it may be started.
	Due time.Duration

	// IdempotencyKey makes a second call with the same key and content return the
	// first request, and lets a worker repeat an HTTP attempt that may have arrived.
	IdempotencyKey string
}

// Validate returns an error that wraps ErrInvalid and names every fault of r, or
// nil. It knows the shape of a request only: limits and permissions are the
// database's to judge.
func (r Request) Validate() error {
	var errs []error
	if r.Type == "" || len(r.Type) > MaxTypeLength {
		errs = append(errs, fmt.Errorf("need a Type of 1 to %d characters, got %q", MaxTypeLength, r.Type))
	}
	if r.JSON == "" {
		errs = append(errs, errors.New("need JSON"))
	}
	if r.Lane != "" {
		if err := r.Lane.Validate(); err != nil {
			errs = append(errs, err)
		}
	}
	if r.MaxAttempts < 0 {
		errs = append(errs, fmt.Errorf("need MaxAttempts >= 0, got %d", r.MaxAttempts))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"AttemptTimeout", r.AttemptTimeout},
		{"Expires", r.Expires},
		{"Due", r.Due},
	} {
		if d.value < 0 || (d.value > 0 && d.value < time.Millisecond) {
			errs = append(errs, fmt.Errorf("need %s of 0 or at least 1ms, got %s", d.name, d.value))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrInvalid, errors.Join(errs...))
}

package loopbroker

import (
	"errors"
	"fmt"
	"time"
)

// Fault is how a handler says why it failed and what may be done about it. A
// handler's error that holds no Fault is treated as ErrorClassHandlerFailed.
type Fault struct {
	// Class is never ErrorClassNone.
	Class ErrorClass

	// Message is for the caller who asked. It names the cause in our words and
	// holds no text of the remote party.
	Message string

	// MSError replaces the class's own number unless it is zero.
	MSError int

	// Retryable is the handler's decision about another attempt. It knows what the
	// class cannot: whether the method is idempotent and whether a byte had left.
	Retryable bool

	// RetryAfter is the least pause before another attempt that the target asked
	// for, already capped. Zero means that it did not ask. In a deferral it is the
	// pause itself.
	RetryAfter time.Duration

	// Deferred reports that the job was not run, because what it needs takes no
	// more just now: it is given back for RetryAfter, and the attempt that its claim
	// counted is taken back. Only the clock over all attempts and the queue's expiry
	// end a job that is deferred again and again.
	Deferred bool

	// Reply completes the request if no further attempt is made, such as the 503
	// that came with a Retry-After. Nil means that the failure is stored.
	Reply *Reply

	// Timings are those of the failed attempt.
	Timings Timings

	// Err is the cause, or nil. It is for errors.Is and never shown to a caller.
	Err error
}

// Error implements error. The text holds no cause, so that it can be stored.
func (f *Fault) Error() string {
	if f.Message == "" {
		return string(f.Class)
	}
	return string(f.Class) + ": " + f.Message
}

// Unwrap lets errors.Is and errors.As see the cause.
func (f *Fault) Unwrap() error { return f.Err }

// MSNumber returns MSError, or the class's number if MSError is zero.
func (f *Fault) MSNumber() int {
	if f.MSError != 0 {
		return f.MSError
	}
	return f.Class.MSError()
}

// NewFault returns a fault of the class that is retryable if the class says
// RetrySafe.
func NewFault(class ErrorClass, format string, args ...any) *Fault {
	return &Fault{Class: class, Message: fmt.Sprintf(format, args...), Retryable: class.Retry() == RetrySafe}
}

// AsFault returns the fault in err's chain; nil stays nil. An error without one
// becomes a retryable fault of class ErrorClassHandlerFailed whose message does not
// quote it: a handler that must not be repeated says so with a Fault.
func AsFault(err error) *Fault {
	if err == nil {
		return nil
	}
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return &Fault{Class: ErrorClassHandlerFailed, Message: "the handler returned an error", Retryable: true, Err: err}
}

package correlation

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Options configures a Store. Every field may be left zero.
type Options struct {
	// MinPoll is the first pause of Await, and MaxPoll the longest. Pauses grow by
	// half each time.
	//
	// Default to 3 milliseconds and 250 milliseconds.
	MinPoll, MaxPoll time.Duration

	// Attempts is how often a call is made that a transient fault ends.
	//
	// Defaults to 6.
	Attempts int

	// RetryBase and RetryCap shape the pauses between these calls.
	//
	// Default to 50 milliseconds and 2 seconds.
	RetryBase, RetryCap time.Duration
}

// WithDefaults returns a copy of o with every zero field filled in.
func (o Options) WithDefaults() Options {
	o.MinPoll = cmp.Or(o.MinPoll, 3*time.Millisecond)
	o.MaxPoll = cmp.Or(o.MaxPoll, 250*time.Millisecond)
	o.Attempts = cmp.Or(o.Attempts, 6)
	o.RetryBase = cmp.Or(o.RetryBase, 50*time.Millisecond)
	o.RetryCap = cmp.Or(o.RetryCap, 2*time.Second)
	return o
}

// Validate reports everything wrong with o at once. It expects defaults to have
// been applied.
func (o Options) Validate() error {
	var errs []error
	if o.MinPoll <= 0 || o.MaxPoll < o.MinPoll {
		errs = append(errs, fmt.Errorf("need 0 < MinPoll <= MaxPoll, got %s and %s", o.MinPoll, o.MaxPoll))
	}
	if o.Attempts < 1 {
		errs = append(errs, fmt.Errorf("need Attempts >= 1, got %d", o.Attempts))
	}
	if o.RetryBase <= 0 || o.RetryCap < o.RetryBase {
		errs = append(errs, fmt.Errorf("need 0 < RetryBase <= RetryCap, got %s and %s", o.RetryBase, o.RetryCap))
	}
	return errors.Join(errs...)
}

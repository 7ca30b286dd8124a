package render

import (
	"errors"
	"fmt"
	"os/exec"
	"time"

	"loopbroker"
)

// Type is the job type that the handler serves.
const Type = "render"

// The defaults of Options.
const (
	DefaultMaxBytes   = 10 << 20
	DefaultTimeout    = 30 * time.Second
	DefaultConcurrent = 2
)

// browsers are the names under which a browser is looked for.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell"}

// Options configures a Handler. Every field may be left zero.
type Options struct {
	// Browser is the program that makes PDF and PNG.
	//
	// Defaults to the first of chromium, chromium-browser, google-chrome,
	// google-chrome-stable and chrome-headless-shell in PATH.
	Browser string

	// Templates is the folder of the templates that jobs give by name. Without it
	// they are given as text only.
	Templates string

	// MaxBytes is the most that a template may write, and the largest result.
	//
	// Defaults to DefaultMaxBytes.
	MaxBytes int64

	// Timeout bounds a job that brings no time-out of its own.
	//
	// Defaults to DefaultTimeout.
	Timeout time.Duration

	// Concurrent is how many browsers run at once; further jobs wait.
	//
	// Defaults to DefaultConcurrent.
	Concurrent int

	// NoSandbox turns the browser's sandbox off, as a process of root needs.
	NoSandbox bool
}

// WithDefaults returns the options with every zero field filled in. Browser stays
// empty where there is none.
func (o Options) WithDefaults() Options {
	for _, name := range browsers {
		if o.Browser != "" {
			break
		}
		if file, err := exec.LookPath(name); err == nil {
			o.Browser = file
		}
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Concurrent == 0 {
		o.Concurrent = DefaultConcurrent
	}
	return o
}

// Validate returns an error that wraps loopbroker.ErrInvalid and names every fault,
// or nil.
func (o Options) Validate() error {
	var errs []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	need(o.MaxBytes > 0, "need MaxBytes > 0, got %d", o.MaxBytes)
	need(o.Timeout > 0, "need Timeout > 0, got %s", o.Timeout)
	need(o.Concurrent > 0, "need Concurrent > 0, got %d", o.Concurrent)
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", loopbroker.ErrInvalid, errors.Join(errs...))
}

// Command loopbroker runs the broker: the main job as a demonstration, a
// development server, workers, and the operator's tools.
package main

import (
	"context"
	"io"
	"log" //nolint:depguard // only to send it nowhere
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// gcPercent lets the heap grow threefold between two collections, unless GOGC says
// otherwise: a request leaves little behind, and collecting it was a fifth of its
// cost.
const gcPercent = 200

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	// The HTTP client writes what a target sends unasked to the standard logger.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

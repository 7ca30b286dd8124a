// Command enginecheck proves what the engine promises of transactions, locks and
// durability, each promise with a subcommand. The short version of each runs with
// the tests.
//
// A subcommand is a struct xyzCommand in a file xyz.go of its own, with its flags
// as fields and a method Run, and has one line in the struct cli below. Run may take,
// in any order, a context.Context, which ends with Ctrl-C, and an io.Writer, the
// standard output. Its error is printed and makes the exit code 1; errFound is
// for a check that has found something and has said so already.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// cli are the checks.
type cli struct {
	BenchStorage benchStorageCommand `cmd:"" help:"Measure commits, claims, recovery and memory, each beside its baseline."`
	Anomalies    anomaliesCommand    `cmd:"" help:"Print at which isolation levels which anomalies happen."`
	Histories    historiesCommand    `cmd:"" help:"Run random transactions and prove that each got what its isolation level promises."`
	Claims       claimsCommand       `cmd:"" help:"Claim rows of a queue table from many sessions: none twice, none lost, nobody waits."`
	Crash        crashCommand        `cmd:"" help:"Kill a loaded engine again and again: nothing acknowledged is lost, nothing else is there."`
	Memory       memoryCommand       `cmd:"" help:"Pass many rows through a queue table: memory ends where it began."`
	MemorySQL    memorySQLCommand    `cmd:"" name:"memory-sql" help:"Pass many rows through a queue table by way of T-SQL: memory ends where it began."`
}

// errFound means that a check has found what it looks for, and has printed it.
var errFound = errors.New("the check has failed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var commands cli
	parsed := kong.Parse(&commands,
		kong.Name("enginecheck"),
		kong.Description("Proof of what the embedded engine promises of transactions, locks and durability."),
		kong.UsageOnError(),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.BindTo(os.Stdout, (*io.Writer)(nil)),
	)
	err := parsed.Run()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "enginecheck:", err)
		os.Exit(1)
	}
}

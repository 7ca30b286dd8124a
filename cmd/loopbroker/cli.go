package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"loopbroker"
	"loopbroker/tsql"
)

// version is the program's version; a release sets it when it is built.
var version = "devel"

// cli are the commands.
type cli struct {
	Demo        demoCommand        `cmd:"" help:"Run the main job with everything in this process: nothing else is needed."`
	Serve       serveCommand       `cmd:"" help:"Run a development server: the embedded engine on a TDS port, with the broker and a worker."`
	Worker      workerCommand      `cmd:"" help:"Run a member of the fleet that serves requests of a SQL Server."`
	Setup       setupCommand       `cmd:"" help:"Prepare a SQL Server as an admin: database, objects, logins of least rights, loopback linked server."`
	Deploy      deployCommand      `cmd:"" help:"Install or upgrade the broker's tables and procedures in a database."`
	Verify      verifyCommand      `cmd:"" help:"Compare a database with what this version expects; change nothing."`
	Endpoints   endpointsCommand   `cmd:"" help:"The allow-list: list, allow, remove, reset."`
	Credentials credentialsCommand `cmd:"" help:"The names of credentials, bound to endpoints: list, bind, remove."`
	Requests    requestsCommand    `cmd:"" help:"Requests: list, show, collect, cancel, redrive."`
	DeadLetters deadLettersCommand `cmd:"" name:"dead-letters" help:"What was buried: list, redrive, purge."`
	Purge       purgeCommand       `cmd:"" help:"Remove answered requests before their retention ends."`
	Health      healthCommand      `cmd:"" help:"Whether the broker works; exit code 1 if it does not."`
	Doctor      doctorCommand      `cmd:"" help:"Prove the broker end to end, and name a repair for what is wrong."`
	SQL         sqlCommand         `cmd:"" name:"sql" help:"Run T-SQL: a small sqlcmd."`
	Bench       benchCommand       `cmd:"" help:"Measure requests per second and latency."`
	FleetKill   fleetCommand       `cmd:"" name:"fleet-kill" help:"Kill half of four worker processes under load and count what was lost."`
	Stub        stubCommand        `cmd:"" help:"Run a small HTTP service to try requests on."`
	Version     versionCmd         `cmd:"" help:"Print the version."`
}

// app is what the commands share.
type app struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
}

// The exit codes of the command.
const (
	exitOK      = 0
	exitFailed  = 1 // what was asked for did not work
	exitUsage   = 2 // the words of the command are wrong
	exitStopped = 130
)

// usageError is an error in how the command was called.
type usageError struct{ err error }

// Error implements error.
func (u usageError) Error() string { return u.err.Error() }

// Unwrap lets errors.Is see the cause.
func (u usageError) Unwrap() error { return u.err }

// exitNow carries kong's own wish to exit, after --help.
type exitNow int

// run is the command: it parses args, runs what they name, and returns the exit
// code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case exitNow:
			code = int(e)
		default:
			panic(e)
		}
	}()
	if len(args) == 0 {
		args = []string{"--help"}
	}
	var commands cli
	parser, err := kong.New(&commands,
		kong.Name("loopbroker"),
		kong.Description("Asynchronous I/O for SQL Server stored procedures, from inside an open transaction.\n\nStart with: loopbroker demo"),
		kong.Writers(stdout, stderr),
		kong.Exit(func(n int) { panic(exitNow(n)) }),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		fmt.Fprintln(stderr, "loopbroker:", err)
		return exitUsage
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "loopbroker: %v\nTry: loopbroker --help\n", err)
		return exitUsage
	}
	err = parsed.Run(&app{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr})
	return exitCode(ctx, err, stderr)
}

// exitCode reports an error and turns it into the exit code: the one place
// where that happens.
func exitCode(ctx context.Context, err error, stderr io.Writer) int {
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFailedBatch):
		return exitFailed // the printer has shown it
	case ctx.Err() != nil:
		if errors.Is(err, context.Canceled) {
			err = errors.New("stopped")
		}
		fmt.Fprintln(stderr, "loopbroker:", err)
		return exitStopped
	case errors.As(err, &usage), errors.Is(err, loopbroker.ErrInvalid):
		fmt.Fprintln(stderr, "loopbroker:", err)
		return exitUsage
	}
	fmt.Fprintln(stderr, "loopbroker:", err)
	return exitFailed
}

// versionCmd prints the version.
type versionCmd struct{}

// Run implements the command.
func (versionCmd) Run(app *app) error {
	_, err := fmt.Fprintf(app.stdout, "loopbroker %s, schema version %d\n", version, tsql.SchemaVersion)
	return err
}

package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"loopbroker/engine"
)

// demoCommand runs the main job with everything in this process.
type demoCommand struct {
	Quiet bool `short:"q" help:"Print only the last lines, one for each step."`
}

// Help is shown by --help.
func (demoCommand) Help() string {
	return `Starts the embedded engine, a stub HTTP service on a loopback port and a worker,
deploys the broker, sets up the loopback linked server with a login that may
execute one procedure, and then runs, as an application's login of least rights:

  1  the naive way: a queue row inside the caller's own transaction
  2  the loopback way, inside the same kind of transaction
  3  the caller rolls back, and the request has nevertheless happened
  4  @wait = 0: fire and forget, collected later
  5  a slow endpoint: the wait ends on time, the answer is collected later
  6  no worker: the caller is told at once

Nothing is written to disk and nothing leaves this machine. The exit code is 0
only if every step held.`
}

// stepTimeout bounds one step; each of them takes about a second at most.
const stepTimeout = 30 * time.Second

// Run implements the command.
func (c *demoCommand) Run(app *app) error {
	out, err := startStub(app.ctx, anyPort)
	if err != nil {
		return err
	}
	defer out.close()
	f := workerFlags{
		Slots: 8, Lease: 15 * time.Second, MaxPoll: idlePoll, Drain: time.Second,
	}
	return withBroker(app.ctx, engine.Options{}, f, zerolog.Nop(), func(ctx context.Context, b *broker) error {
		if err := b.allow(ctx, out.url); err != nil {
			return err
		}
		caller, err := demoCaller(ctx, b)
		if err != nil {
			return err
		}
		defer caller.Close()
		if err := b.startWorker(ctx); err != nil {
			return err
		}
		s := &story{app: app, quiet: c.Quiet, broker: b, caller: caller, stub: out}
		return s.run(ctx)
	})
}

// demoCaller makes the application: a login of least rights, mapped to the
// loopback, with a table of its own.
func demoCaller(ctx context.Context, b *broker) (*sql.DB, error) {
	a := callerAccount(rand.Text() + "a1!")
	if err := a.ensure(ctx, b.db); err != nil {
		return nil, err
	}
	if err := b.provision(ctx, a.login); err != nil {
		return nil, fmt.Errorf("map the application to the loopback: %w", err)
	}
	const table = `
CREATE TABLE dbo.invoice (id int NOT NULL PRIMARY KEY, answer nvarchar(200) NULL);
GRANT SELECT, INSERT, UPDATE ON dbo.invoice TO ` + callerLogin
	if _, err := b.db.ExecContext(ctx, table); err != nil {
		return nil, fmt.Errorf("make the application's table: %w", err)
	}
	return sql.OpenDB(b.srv.ConnectorFor(a.login, a.password, b.srv.Database())), nil
}

// step is one part of the story.
type step struct {
	title string
	// run returns what happened, in a few words, or why the step did not hold.
	run func(ctx context.Context, s *story) (string, error)
}

// story runs the steps and tells what happens.
type story struct {
	app    *app
	quiet  bool
	broker *broker
	caller *sql.DB // the application
	stub   *stub
}

// errStepFailed means that a step of the demonstration did not hold.
var errStepFailed = errors.New("the demonstration did not hold")

// run runs every step, also after one that failed, and ends with a line for each.
func (s *story) run(ctx context.Context) error {
	s.tell("The embedded engine, a worker and a stub service on %s run in this process.\n", s.stub.url)
	s.tell("The caller is %s, which may execute the caller's procedures and use its own table.\n", callerLogin)
	var lines []string
	failed := 0
	for i, step := range steps() {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.tell("\n%d. %s\n", i+1, step.title)
		start := time.Now()
		stepCtx, cancel := context.WithTimeout(ctx, stepTimeout)
		what, err := step.run(stepCtx, s)
		cancel()
		verdict := "ok"
		if err != nil {
			verdict, what = "FAILED", err.Error()
			failed++
		}
		took := time.Since(start).Round(time.Millisecond)
		s.tell("\n   => %s: %s\n", verdict, what)
		lines = append(lines, fmt.Sprintf("%-6s  %d  %-34s  %6d ms  %s", verdict, i+1, step.title, took.Milliseconds(), what))
	}
	if err := ctx.Err(); err != nil {
		return err // a step that was interrupted has not failed
	}
	s.tell("\n")
	if _, err := fmt.Fprintln(s.app.stdout, strings.Join(lines, "\n")); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%w: %d of %d steps failed", errStepFailed, failed, len(lines))
	}
	return nil
}

// tell prints a part of the story.
func (s *story) tell(format string, args ...any) {
	if !s.quiet {
		fmt.Fprintf(s.app.stdout, format, args...)
	}
}

// say prints a sentence about what happened.
func (s *story) say(format string, args ...any) { s.tell("   "+format+"\n", args...) }

// batch shows a batch, runs it in the session and scans its one row. The
// declarations are sent and not shown.
func (s *story) batch(ctx context.Context, session *sql.Conn, text string, dest ...any) error {
	const declare = "DECLARE @code int, @id bigint, @status int, @response nvarchar(max), @error nvarchar(2048);\n"
	text = strings.TrimSpace(text)
	s.tell("\n     %s\n\n", strings.ReplaceAll(text, "\n", "\n     "))
	if len(dest) == 0 {
		_, err := session.ExecContext(ctx, text)
		return err
	}
	return session.QueryRowContext(ctx, declare+text).Scan(dest...)
}

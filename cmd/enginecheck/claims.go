package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"loopbroker/engine"
	"loopbroker/enginetest/claims"
)

// claimsCommand claims the rows of a queue from many sessions.
type claimsCommand struct {
	Rows     int    `default:"200000" help:"Rows to claim, with READ_COMMITTED_SNAPSHOT off, and as many with it on."`
	Sessions int    `default:"32" help:"Sessions that claim at the same time; an eighth of that number inserts."`
	Seed     uint64 `default:"1" help:"Decides what each session does."`
	Form     string `default:"mixed" enum:"mixed,update-cte,update-top,delete-top,select" help:"How rows are claimed: ${enum}."`
	Dir      string `placeholder:"DIR" help:"Keep the rows in this data directory, with synced commits, instead of in memory."`
}

// Help is shown by --help.
func (claimsCommand) Help() string {
	return `Sessions claim the rows of one table through T-SQL with UPDLOCK, ROWLOCK and
READPAST, one row or ten at a time, in the forms

  update-cte   WITH ready AS (SELECT TOP … ORDER BY …) UPDATE ready … OUTPUT
  update-top   UPDATE TOP … OUTPUT
  delete-top   DELETE TOP … OUTPUT
  select       SELECT TOP … ORDER BY …, then UPDATE by key

all on the same table at the same time. Half of the rows arrive meanwhile. A quarter of the
transactions rolls back, some hold several claims, some undo one by a savepoint,
some stay open for a while.

A row counts as claimed twice when a session gets it while another's transaction has
it, or after another's commit; as lost when nobody gets it, or when the table shows
it otherwise than its claim has left it. Waits are those of the claiming sessions
for locks: half of them run with LOCK_TIMEOUT 0, where a wait is error 1222; for the
others sys.dm_exec_session_wait_stats is read at their end.

The last line is: rows N, claimed twice 0, lost 0, waited 0`
}

// Run implements the command.
func (c *claimsCommand) Run(ctx context.Context, out io.Writer) (err error) {
	form, err := claims.ParseForm(c.Form)
	if err != nil {
		return err
	}
	srv, err := engine.Open(ctx, engine.Options{Dir: c.Dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeEngine(ctx, srv)) }()
	var sum claims.Result
	for _, rcsi := range []bool{false, true} {
		setting := "READ_COMMITTED_SNAPSHOT " + map[bool]string{false: "OFF", true: "ON"}[rcsi]
		fmt.Fprintf(out, "%s: %d sessions, %d rows, claims %s, seed %d\n", setting, c.Sessions, c.Rows, form, c.Seed)
		got, err := claims.Run(ctx, srv, claims.Options{
			Rows: c.Rows, Sessions: c.Sessions, Seed: c.Seed, RCSI: rcsi, Form: form,
			Progress: every(5, func(claimed int) { fmt.Fprintf(out, "  %d claimed\n", claimed) }),
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "  %s\n  %.1f s, %.0f rows per second; %d commits, %d rollbacks, %d rows given back; inserters waited %d times\n",
			got, got.Took.Seconds(), float64(got.Rows)/got.Took.Seconds(), got.Commits, got.Undone, got.Given, got.Inserts)
		if got.Unborn > 0 {
			fmt.Fprintf(out, "  %d rows were claimed whose insertion was rolled back\n", got.Unborn)
		}
		sum = sum.Add(got)
	}
	fmt.Fprintln(out, sum)
	if !sum.OK() {
		return errFound
	}
	return nil
}

// every passes on each n-th report.
func every(n int, report func(int)) func(int) {
	calls := 0
	return func(v int) {
		if calls++; calls%n == 0 {
			report(v)
		}
	}
}

// closeTimeout bounds the end of an engine.
const closeTimeout = 30 * time.Second

// closeEngine closes an engine, also when the check was interrupted.
func closeEngine(ctx context.Context, srv *engine.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return srv.Close(ctx)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"loopbroker/engine"
	"loopbroker/enginetest/turnover"
)

// memorySQLCommand lets rows go through a queue table by way of T-SQL.
type memorySQLCommand struct {
	Rows     int    `default:"1000000" help:"Rows that are inserted, claimed and deleted."`
	Sessions int    `default:"8" help:"Sessions that do so at the same time."`
	Dir      string `placeholder:"DIR" help:"Keep the rows in this data directory, with synced commits, instead of in memory."`
}

// Help is shown by --help.
func (memorySQLCommand) Help() string {
	return `What "memory" does below T-SQL, through it: sessions insert rows by batches that are
each run once, claim and delete them, roll some back, and use temporary tables, table
variables, cursors, prepared statements, application locks and savepoints; they end
and others begin. Somebody reads the table all the time, by row versions.

The heap is measured after a first pass, which fills the cache of plans, and again
after all rows. It must not have grown, and no row, lock or temporary table may
be left.`
}

// Run implements the command.
func (c *memorySQLCommand) Run(ctx context.Context, out io.Writer) (err error) {
	srv, err := engine.Open(ctx, engine.Options{Dir: c.Dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeEngine(ctx, srv)) }()
	got, err := turnover.Run(ctx, srv, turnover.Options{
		Rows: c.Rows, Sessions: c.Sessions,
		Progress: every(10, func(rows int) { fmt.Fprintf(out, "  %d rows\n", rows) }),
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%.1f s, %.0f rows per second\n%s\n", got.Took.Seconds(), float64(got.Rows)/got.Took.Seconds(), got)
	if !got.OK() {
		return errFound
	}
	return nil
}

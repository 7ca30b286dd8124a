package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"loopbroker/enginetest/history"
)

// historiesCommand runs random histories and checks what they show.
type historiesCommand struct {
	Seed      uint64  `placeholder:"S" help:"Seed of the first history; the next has the next number. Without one, a random one is taken."`
	Seconds   float64 `default:"30" help:"How long to run."`
	Histories int     `placeholder:"N" help:"How many histories to run, instead of a time."`
	Failures  int     `default:"3" help:"Stop after so many histories with violations."`
	Text      bool    `help:"Print every statement of the first history, in the order in which they were sent."`
}

// Help is shown by --help.
func (historiesCommand) Help() string {
	return `Eight sessions run random transactions at all isolation levels, by locks and by
row versions: transfers, claims, insertions, deletions, MERGE, reads of points,
ranges and aggregates, hints, savepoints, rollbacks, time-outs, cancelled
statements, deadlocks. Every version of a row tells who wrote it, so what each
statement has read is known, and a checker proves that each transaction got what
its level promises. See the documentation of enginetest/history.

A violation is explained with the statements that have part in it, and its seed.
Three histories of four are run statement by statement in an order that the seed
makes, so the seed shows them again; the fourth runs freely.

  go run ./cmd/enginecheck histories --seconds 600
  go run ./cmd/enginecheck histories --seed 42 --histories 1
  go run ./cmd/enginecheck histories --seed 42 --histories 1 --text

The last line is "histories N, violations V, seed S".

Built with the tag plantedfault, the engine has the fault that LOOPBROKER_PLANT
names, and violations must be found:

  LOOPBROKER_PLANT=skip-gap go run -tags plantedfault ./cmd/enginecheck histories --seconds 60`
}

// historiesProgress is the time between two lines that tell how far it is.
const historiesProgress = 5 * time.Second

// Run implements the command.
func (c *historiesCommand) Run(ctx context.Context, out io.Writer) error {
	if c.Seed == 0 {
		c.Seed = 1 + rand.Uint64N(1_000_000_000)
	}
	if c.Text {
		h, err := history.Run(ctx, history.ParamsOf(c.Seed))
		if err != nil {
			return err
		}
		fmt.Fprint(out, h.Text())
	}
	told := time.Now()
	campaign := history.Campaign{
		Seed: c.Seed, Histories: c.Histories, For: time.Duration(c.Seconds * float64(time.Second)), Failures: c.Failures,
		Failed: func(f history.Failure) { fmt.Fprintln(out, f) },
		Progress: func(t history.Totals) {
			if time.Since(told) < historiesProgress {
				return
			}
			told = time.Now()
			fmt.Fprintf(out, "%4.0f s: histories %d, transactions %d, committed %d, statements that waited %d, violations %d\n",
				t.Elapsed.Seconds(), t.Histories, t.Transactions, t.Committed, t.Waits, len(t.Failures))
		},
	}
	t, err := campaign.Run(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "histories %d, violations %d, seed %d\n", t.Histories, len(t.Failures), c.Seed)
	if len(t.Failures) > 0 {
		return errFound
	}
	return nil
}

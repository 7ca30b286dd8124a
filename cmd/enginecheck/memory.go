package main

import (
	"context"
	"fmt"
	"io"

	"loopbroker/enginetest/churn"
)

// memoryCommand lets rows go through a queue table.
type memoryCommand struct {
	Rows     int64 `default:"1000000" help:"Rows that are inserted, claimed and deleted, without views, and as many with views."`
	Sessions int   `default:"8" help:"Sessions that do so at the same time."`
}

// Help is shown by --help.
func (memoryCommand) Help() string {
	return `Sessions insert rows into a queue table, claim them with READPAST, lease and delete
them, and roll some of each back. In the second pass views are opened and closed
meanwhile, as READ_COMMITTED_SNAPSHOT does. The table is empty in the end, and
nothing may be left of the rows: no records, no old versions, no locks, no memory.

The last line is "memory: rows N, left N": how many of the two passes left something.`
}

// Run does it.
func (c memoryCommand) Run(ctx context.Context, out io.Writer) error {
	left, total := 0, int64(0)
	for _, views := range []bool{false, true} {
		p := churn.Params{Rows: c.Rows, Sessions: c.Sessions, Views: views}
		l, err := churn.Run(ctx, p)
		if err != nil {
			return err
		}
		total += c.Rows
		if !l.Nothing() {
			left++
		}
		_, _ = fmt.Fprintf(out, "rows %d, views %t: left are %d records, %d versions, %d locks, %d bytes of the heap\n",
			c.Rows, views, l.Records, l.Versions, l.Locks, max(l.Heap, 0))
	}
	_, _ = fmt.Fprintf(out, "memory: rows %d, left %d\n", total, left)
	if left > 0 {
		return errFound
	}
	return nil
}

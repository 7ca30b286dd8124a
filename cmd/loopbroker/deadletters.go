package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"text/tabwriter"

	"loopbroker/internal/operator"
)

// deadLettersCommand looks after what was buried.
type deadLettersCommand struct {
	List    deadLettersList    `cmd:"" default:"withargs" help:"Show dead letters, the newest first."`
	Redrive deadLettersRedrive `cmd:"" help:"Redrive the requests of dead letters."`
	Purge   deadLettersPurge   `cmd:"" help:"Remove dead letters before their retention ends."`
}

// deadLettersList shows them.
type deadLettersList struct {
	operated
	rowFilter
	Limit int  `default:"50" help:"The most to show."`
	JSON  bool `name:"json" help:"Print one line of JSON for each."`
}

// Run implements the command.
func (c *deadLettersList) Run(app *app) error {
	f, err := c.filter(c.Limit, maxListed)
	if err != nil {
		return err
	}
	return c.operate(app, func(ctx context.Context, o *operator.Operator) error {
		rows, err := o.DeadLetters(ctx, f)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(app.stdout, rows)
		}
		w := tabwriter.NewWriter(app.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "REQUEST\tAGE\tTYPE\tCLASS\tATTEMPTS\tCALL\tREASON")
		for _, d := range rows {
			id := "-"
			if d.RequestID != 0 {
				id = fmt.Sprint(d.RequestID)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", id, ageText(d.AgeMS), d.Type, d.ErrorClass, d.Attempts, d.URL, d.Reason)
		}
		return w.Flush()
	})
}

// deadLettersRedrive redrives them.
type deadLettersRedrive struct {
	operated
	rowFilter
	All   bool `help:"All of them: needed where no filter is given."`
	Limit int  `default:"1000" help:"The most to look at, the newest first."`
}

// Run implements the command.
func (c *deadLettersRedrive) Run(app *app) error {
	f, err := c.filter(c.Limit, maxListed)
	if err != nil {
		return err
	}
	if c.All != (c.rowFilter == (rowFilter{})) {
		return usageError{errors.New("need a filter or --all, and not both")}
	}
	return c.operate(app, func(ctx context.Context, o *operator.Operator) error {
		count, left, err := o.RedriveDeadLetters(ctx, f)
		fmt.Fprintf(app.stdout, "%d put back, %d left that cannot be\n", count, left)
		return err
	})
}

// purgeFlags say how much goes at once.
type purgeFlags struct {
	OlderThan *hours `placeholder:"AGE" help:"Only what is older, in whole hours; without it, what is past its retention."`
	Batch     int    `default:"1000" help:"Rows of one transaction, at most 1000."`
}

// check reports what is wrong.
func (f purgeFlags) check() error {
	if f.Batch < 1 || f.Batch > 1000 {
		return usageError{fmt.Errorf("need --batch of 1 to 1000, got %d", f.Batch)}
	}
	return nil
}

// purge runs one and tells how it goes on.
func (f purgeFlags) purge(app *app, run func(hours *int, progress func(int64)) (int64, error)) error {
	total, err := run((*int)(f.OlderThan), func(gone int64) { fmt.Fprintf(app.stderr, "%d removed\n", gone) })
	fmt.Fprintf(app.stdout, "%d removed\n", total)
	return err
}

// hours is an age in whole hours.
type hours int

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *hours) UnmarshalText(text []byte) error {
	d, err := parseAge(string(text))
	if err != nil {
		return err
	}
	*h = hours(math.Ceil(d.Hours()))
	return nil
}

// deadLettersPurge removes them.
type deadLettersPurge struct {
	operated
	purgeFlags
}

// Run implements the command.
func (c *deadLettersPurge) Run(app *app) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.operate(app, func(ctx context.Context, o *operator.Operator) error {
		return c.purge(app, func(hours *int, progress func(int64)) (int64, error) {
			return o.PurgeDeadLetters(ctx, hours, c.Batch, progress)
		})
	})
}

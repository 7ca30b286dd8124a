package main

import (
	"context"
	"errors"
	"time"

	"loopbroker/internal/operator"
)

// purgeCommand removes answered requests.
type purgeCommand struct {
	operated
	purgeFlags
	State string `default:"" enum:",completed,failed,expired,cancelled" placeholder:"STATE" help:"Only those in this state."`
}

// Help is shown by --help.
func (purgeCommand) Help() string {
	return `Removes answered requests with their replies, the oldest first, in transactions of at
most --batch requests, and tells how it goes on. Workers do the same by themselves with
what is past the setting retention_hours. It can be stopped at any time.

Examples:
  loopbroker purge
  loopbroker purge --older-than 24h --state completed`
}

// Run implements the command.
func (c *purgeCommand) Run(app *app) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.operate(app, func(ctx context.Context, o *operator.Operator) error {
		return c.purge(app, func(hours *int, progress func(int64)) (int64, error) {
			return o.Purge(ctx, c.State, hours, c.Batch, progress)
		})
	})
}

// parseAge reads an age.
func parseAge(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, err
	}
	if d < 0 {
		return 0, errors.New("an age is not negative")
	}
	return d, nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"loopbroker/internal/operator"
)

// healthCommand tells whether the broker works.
type healthCommand struct {
	operated
	Strict bool `help:"Yellow is not healthy either."`
	JSON   bool `name:"json" help:"Print one line of JSON."`
}

// Help is shown by --help.
func (healthCommand) Help() string {
	return `Reads the view api_broker_health. The exit code is 0 for green and yellow, 1 for red
(requests are due and no worker lives, or one has been due for a minute).`
}

// errUnhealthy gives the exit code; what it means is printed.
var errUnhealthy = errors.New("the broker is not healthy")

// Run implements the command.
func (c *healthCommand) Run(app *app) error {
	return c.operate(app, func(ctx context.Context, o *operator.Operator) error {
		h, err := o.Health(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			err = json.NewEncoder(app.stdout).Encode(h)
		} else {
			reason := ""
			if h.Reason != "" {
				reason = ": " + h.Reason
			}
			_, err = fmt.Fprintf(app.stdout, "%s%s\n%d workers, %d due (oldest %s), %d in flight, %d dead letters, %d open breakers\n",
				h.Status, reason, h.WorkersAlive, h.Due, ageText(h.OldestDueAgeMS), h.InFlight, h.DeadLetters, h.OpenBreakers)
		}
		if err == nil && (h.Status == operator.Red || c.Strict && h.Status != operator.Green) {
			err = errUnhealthy
		}
		return err
	})
}

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"loopbroker/loopback"
	"loopbroker/tsql"
)

// doctorCommand proves the broker end to end.
type doctorCommand struct {
	operated
	Strict bool `help:"A warning is a failure."`
	JSON   bool `name:"json" help:"Print one line of JSON for each finding."`
}

// Help is shown by --help.
func (doctorCommand) Help() string {
	return `Compares objects, roles and rights with what this version expects, reads the options
and mappings of the loopback linked server, sends a request from a transaction of every
isolation level that it rolls back, has an impersonated call refused, and looks at
workers, allow-list and credentials. It leaves requests of type doctor that are never
run, and changes nothing else. Each finding that is not ok names its repair.

The exit code is 1 if something failed. Run it as the login whose mapping is in doubt,
or as an admin; the proof of the levels is for the login of the DSN.`
}

// errSick gives the exit code; what is wrong is printed.
var errSick = errors.New("something is wrong; see the repairs above")

// Run implements the command.
func (c *doctorCommand) Run(app *app) error {
	schema, err := tsql.NewSchema(c.Schema)
	if err != nil {
		return err
	}
	return c.connectExisting(app, func(ctx context.Context, db *sql.DB) error {
		findings, err := diagnose(ctx, db, schema, c.Schema)
		if c.JSON {
			err = errors.Join(printJSON(app.stdout, findings), err)
		}
		sick := false
		for _, f := range findings {
			sick = sick || f.Severity == loopback.Failure || c.Strict && f.Severity != loopback.OK
			if c.JSON {
				continue
			}
			fmt.Fprintf(app.stdout, "%-8s %s: %s\n", f.Severity, f.Check, f.Detail)
			if f.Repair != "" {
				fmt.Fprintf(app.stdout, "         repair: %s\n", f.Repair)
			}
		}
		if err == nil && sick {
			err = errSick
		}
		return err
	})
}

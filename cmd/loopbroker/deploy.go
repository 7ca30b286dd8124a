package main

import (
	"context"
	"database/sql"
	"fmt"

	"loopbroker/tsql"
)

// deployCommand installs or upgrades the broker.
type deployCommand struct {
	target
	Schema string `default:"dbo" help:"Schema of the broker's objects."`
}

// Run implements the command.
func (c *deployCommand) Run(app *app) error {
	return c.connect(app, func(ctx context.Context, db *sql.DB) error {
		if err := tsql.Deploy(ctx, db, tsql.Options{Schema: c.Schema}); err != nil {
			return err
		}
		_, err := fmt.Fprintf(app.stdout, "deployed schema version %d into %s and verified it\n", tsql.SchemaVersion, c.Schema)
		return err
	})
}

// verifyCommand compares a database with what this version expects.
type verifyCommand struct {
	target
	Schema string `default:"dbo" help:"Schema of the broker's objects."`
}

// Run implements the command.
func (c *verifyCommand) Run(app *app) error {
	return c.connectExisting(app, func(ctx context.Context, db *sql.DB) error {
		findings, err := tsql.Verify(ctx, db, tsql.Options{Schema: c.Schema})
		if err != nil {
			return err
		}
		for _, f := range findings {
			fmt.Fprintln(app.stdout, f)
		}
		if err := findings.Err(); err != nil {
			return fmt.Errorf("%d findings: %w", len(findings), err)
		}
		_, err = fmt.Fprintln(app.stdout, "everything is as this version expects it")
		return err
	})
}

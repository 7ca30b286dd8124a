package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/microsoft/go-mssqldb/msdsn"

	"loopbroker/internal/operator"
	"loopbroker/loopback"
	"loopbroker/tsql"
)

// setupCommand makes everything that a server needs, as an admin.
type setupCommand struct {
	DSN      string        `name:"dsn" env:"LOOPBROKER_DSN" required:"" placeholder:"URL" help:"SQL Server as an admin, sqlserver://user:password@host:port. Its database is the broker's, made when it does not exist."`
	Schema   string        `default:"dbo" help:"Schema of the broker's objects."`
	WaitFor  time.Duration `default:"1m" help:"How long to try again while the server is starting."`
	Allow    []string      `placeholder:"URL" help:"Endpoint to put on the allow-list, for every caller: scheme, host, port and path prefix. May be given more than once."`
	Recreate bool          `help:"Drop the linked server first, with the mappings of all logins."`
}

// The environment's passwords of the accounts.
const (
	linkPasswordVariable   = "LOOPBROKER_LINK_PASSWORD"
	workerPasswordVariable = "LOOPBROKER_WORKER_PASSWORD"
	callerPasswordVariable = "LOOPBROKER_APP_PASSWORD"
)

// Help is shown by --help.
func (setupCommand) Help() string {
	return `Makes the database of the DSN if it is not there, deploys the broker, and makes three
logins that may execute procedures and nothing else:

  loopbroker_link    the role api_broker_loopback, for the linked server
  loopbroker_worker  the role api_broker_worker           (optional)
  loopbroker_app     the role api_broker_caller           (optional)

Then it makes the loopback linked server, maps the login of the DSN and
loopbroker_app to it, and proves it with a call from inside a transaction. It can be
run again at any time: it corrects what differs and sets the passwords.

The passwords are read from the environment: LOOPBROKER_LINK_PASSWORD is required,
LOOPBROKER_WORKER_PASSWORD and LOOPBROKER_APP_PASSWORD make the other two.

Example:
  export LOOPBROKER_DSN='sqlserver://sa:…@db1:1433?database=app'
  LOOPBROKER_LINK_PASSWORD=… LOOPBROKER_WORKER_PASSWORD=… loopbroker setup`
}

// Run implements the command.
func (c *setupCommand) Run(app *app) error {
	link := linkAccount(os.Getenv(linkPasswordVariable))
	if link.password == "" {
		return usageError{fmt.Errorf("$%s is empty: it is the password of the login that the linked server uses", linkPasswordVariable)}
	}
	schema, err := tsql.NewSchema(c.Schema)
	if err != nil {
		return err
	}
	if err := c.ensureDatabase(app); err != nil {
		return err
	}
	db, err := openDSN(app.ctx, c.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := tsql.Deploy(app.ctx, db, tsql.Options{Schema: c.Schema}); err != nil {
		return err
	}
	fmt.Fprintf(app.stdout, "deployed schema version %d into %s\n", tsql.SchemaVersion, c.Schema)
	accounts := []account{link}
	o := loopback.Options{User: link.login, Password: link.password, Recreate: c.Recreate}
	if !c.Recreate {
		if o.DataSource, err = dataSource(app.ctx, db, schema); err != nil {
			return err
		}
	}
	mapped := []string{""} // the login of the DSN, which is proved
	if p := os.Getenv(workerPasswordVariable); p != "" {
		accounts = append(accounts, workerAccount(p))
	}
	if p := os.Getenv(callerPasswordVariable); p != "" {
		accounts, mapped = append(accounts, callerAccount(p)), append(mapped, callerLogin)
	}
	for _, a := range accounts {
		if err := a.ensure(app.ctx, db); err != nil {
			return err
		}
		fmt.Fprintf(app.stdout, "login %s is in the role %s\n", a.login, a.role)
	}
	if err := allow(app.ctx, operator.New(db, schema), c.Allow); err != nil {
		return err
	}
	for _, login := range mapped {
		o.LocalLogin = login
		if err := loopback.Provision(app.ctx, db, schema, o); err != nil {
			return err
		}
		o.Recreate = false
	}
	_, err = fmt.Fprintln(app.stdout, "the loopback is set up and proved: a call left an open transaction")
	return err
}

// ensureDatabase makes the database that the DSN names, through master.
func (c *setupCommand) ensureDatabase(app *app) error {
	cfg, err := parseDSN(c.DSN)
	if err != nil {
		return err
	}
	name := cfg.Database
	if name == "" {
		return usageError{errors.New("the DSN names no database: add ?database=name")}
	}
	cfg.Database = "master"
	db, err := openWithin(app.ctx, cfg, c.WaitFor)
	if err != nil {
		return err
	}
	defer db.Close()
	const create = `
IF DB_ID(@name) IS NULL
BEGIN
    DECLARE @sql nvarchar(300) = N'CREATE DATABASE ' + QUOTENAME(@name);
    EXEC sys.sp_executesql @sql;
END;`
	if _, err := db.ExecContext(app.ctx, create, sql.Named("name", name)); err != nil {
		return fmt.Errorf("make the database %s: %w", name, err)
	}
	return nil
}

// openWithin connects to a server that may still be starting.
func openWithin(ctx context.Context, cfg msdsn.Config, within time.Duration) (*sql.DB, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	pause := time.NewTicker(time.Second)
	defer pause.Stop()
	for {
		db, err := openConfig(ctx, cfg, nil)
		if err == nil {
			return db, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the server did not answer within %s: %w", within, err)
		case <-pause.C:
		}
	}
}

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"loopbroker/engine"
)

// target is the database that a command works on: a server named by its DSN, or
// without one the embedded engine.
type target struct {
	DSN  string `name:"dsn" env:"LOOPBROKER_DSN" placeholder:"URL" help:"SQL Server to work on, sqlserver://user:password@host:port?database=name. Without it the embedded engine runs in this process."`
	Data string `name:"data" placeholder:"DIR" help:"Data directory of the embedded engine. Without it nothing is kept."`

	dialer mssql.Dialer // nil for the driver's own
}

// connectExisting is connect for commands that look at what is there: without a
// database they refuse, instead of making an empty one.
func (t target) connectExisting(app *app, work func(ctx context.Context, db *sql.DB) error) error {
	switch {
	case t.DSN == "" && t.Data == "":
		return usageError{errors.New("need --dsn or --data: there is no broker to look at")}
	case t.Data != "":
		entries, err := os.ReadDir(t.Data)
		if err != nil {
			return usageError{fmt.Errorf("--data: %w", err)}
		}
		if len(entries) == 0 {
			return fmt.Errorf("the directory %s is empty: there is no database in it", t.Data)
		}
	}
	return t.connect(app, work)
}

// connectTimeout bounds the first connection.
const connectTimeout = 15 * time.Second

// closeTimeout bounds the end of an engine: requests that run longer are cut.
const closeTimeout = 10 * time.Second

// connect opens the database and runs work on it.
func (t target) connect(app *app, work func(ctx context.Context, db *sql.DB) error) error {
	if t.DSN != "" && t.Data != "" {
		return usageError{errors.New("--dsn and --data exclude each other: the data directory is the embedded engine's")}
	}
	if t.DSN == "" {
		return withEngine(app.ctx, engine.Options{Dir: t.Data}, func(ctx context.Context, srv *engine.Server) error {
			db := sql.OpenDB(srv.Connector())
			defer db.Close()
			return work(ctx, db)
		})
	}
	cfg, err := parseDSN(t.DSN)
	if err != nil {
		return err
	}
	db, err := openConfig(app.ctx, cfg, t.dialer)
	if err != nil {
		return err
	}
	defer db.Close()
	return work(app.ctx, db)
}

// errMalformedDSN stands for the driver's error, which quotes the DSN.
var errMalformedDSN = errors.New("the DSN is malformed (it is not shown, because it may hold a password): " +
	"need sqlserver://user:password@host:port?database=name, with %XX for / : @ ? # % in the password")

// dsnPasswordVariable names the environment's password for a DSN without one. It
// is taken as it is, without %XX.
const dsnPasswordVariable = "LOOPBROKER_DSN_PASSWORD"

// parseDSN reads a DSN; the environment gives the password that it lacks.
func parseDSN(dsn string) (msdsn.Config, error) {
	cfg, err := msdsn.Parse(dsn)
	if scheme, _, isURL := strings.Cut(dsn, "://"); err == nil && (isURL && scheme != "sqlserver" || !isURL && !strings.Contains(dsn, "=")) {
		err = errMalformedDSN // the driver would try this machine
	}
	if err != nil {
		return msdsn.Config{}, usageError{errMalformedDSN}
	}
	if cfg.Password == "" {
		cfg.Password = os.Getenv(dsnPasswordVariable)
	}
	return cfg, nil
}

// openDSN connects to a server and proves that it answers.
func openDSN(ctx context.Context, dsn string) (*sql.DB, error) {
	cfg, err := parseDSN(dsn)
	if err != nil {
		return nil, err
	}
	return openConfig(ctx, cfg, nil)
}

// openConfig is openDSN for what was read; a nil dialer is the driver's own.
func openConfig(ctx context.Context, cfg msdsn.Config, dialer mssql.Dialer) (*sql.DB, error) {
	connector := mssql.NewConnectorConfig(cfg)
	if dialer != nil {
		connector.Dialer = dialer
	}
	db := sql.OpenDB(connector)
	db.SetMaxIdleConns(idleConns)
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("connect to %s as %s: %w", cfg.Host, cfg.User, err)
	}
	return db, nil
}

// withEngine runs work with an embedded engine and closes it.
func withEngine(ctx context.Context, o engine.Options, work func(ctx context.Context, srv *engine.Server) error) error {
	srv, err := engine.Open(ctx, o)
	if err != nil {
		return err
	}
	err = work(ctx, srv)
	closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return errors.Join(err, srv.Close(closeCtx))
}

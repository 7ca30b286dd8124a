package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"

	"loopbroker/internal/backoff"
	"loopbroker/internal/transient"
	"loopbroker/tsql"
	"loopbroker/worker"
)

// workerFlags are the settings of a worker, wherever it runs.
type workerFlags struct {
	Schema  string        `default:"dbo" help:"Schema of the broker's objects."`
	Slots   int           `default:"64" help:"How many jobs run at once."`
	Lease   time.Duration `default:"15s" help:"How long a claimed job stays ours without a sign of life."`
	MaxPoll time.Duration `default:"1s" help:"The longest pause of a worker that finds nothing to do."`
	Drain   time.Duration `default:"20s" help:"How long running jobs may go on after SIGTERM."`
	Verbose bool          `short:"v" help:"Log every event, not only warnings."`
	handlerFlags
}

// check reports what is wrong with the settings. Zero has no meaning of its own in
// them.
func (f workerFlags) check() error {
	switch {
	case f.Slots < 1:
		return usageError{fmt.Errorf("need --slots of at least 1, got %d", f.Slots)}
	case f.Lease < minLease:
		return usageError{fmt.Errorf("need --lease of at least %s, got %s: three signs of life must fit in", minLease, f.Lease)}
	case f.MaxPoll < minPoll:
		return usageError{fmt.Errorf("need --max-poll of at least %s, got %s", minPoll, f.MaxPoll)}
	case f.Drain <= 0:
		return usageError{fmt.Errorf("need --drain above 0, got %s", f.Drain)}
	}
	return f.handlerFlags.check()
}

// The least that a worker takes.
const (
	minLease = 500 * time.Millisecond
	minPoll  = 2 * time.Millisecond
)

// workerCommand runs a fleet member.
type workerCommand struct {
	DSN string `name:"dsn" env:"LOOPBROKER_DSN" required:"" placeholder:"URL" help:"SQL Server to serve, sqlserver://user:password@host:port?database=name."`
	workerFlags
	UntilEOF bool `name:"until-eof" hidden:"" help:"Stop when standard input ends: a parent that is gone cannot send a signal."`
}

// Help is shown by --help.
func (workerCommand) Help() string {
	return `The worker claims requests, makes the HTTP calls and writes the replies. Run any
number of them on any machines. SIGTERM or SIGINT: no new claims, running jobs
finish within --drain, the rest goes back to the queue.

Give the DSN in the environment, so that the password is not in the list of
processes. A password with one of / : @ ? # % is written with %XX.

It calls what a row of the allow-list names, and nothing else: see loopbroker
endpoints. A change there, or of a limit, is picked up within seconds. Addresses
that are not public (loopback, private, link-local, metadata services) are refused
with the class address_not_allowed, unless the row or --allow-network allows them.

The secrets of credentials live here: in files of the directory --credentials, or in
the environment. They are read for every attempt, so a new one needs no restart.

Examples:
  export LOOPBROKER_DSN='sqlserver://loopbroker_worker:…@db1:1433?database=app'
  loopbroker worker
  loopbroker worker --slots 128 --lease 30s --credentials /run/secrets -v`
}

// Run implements the command.
func (c *workerCommand) Run(app *app) error {
	if err := c.check(); err != nil {
		return err
	}
	ctx := app.ctx
	if c.UntilEOF {
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		defer stop()
		go func() { // ends with the input, which is the parent's to close, or with the process
			_, _ = io.Copy(io.Discard, app.stdin)
			stop()
		}()
	}
	log := newLogger(app.stderr, c.Verbose)
	db, err := c.open(ctx, &log)
	if err != nil {
		return ignoreStop(ctx, err)
	}
	defer db.Close()
	w, stop, err := newWorker(db, c.workerFlags, &log)
	if err != nil {
		return err
	}
	defer stop()
	return ignoreStop(ctx, w.Run(ctx))
}

// open connects to the database, and waits for one that does not answer yet: a
// fleet may start before its server. A refused login ends it.
func (c *workerCommand) open(ctx context.Context, log *zerolog.Logger) (*sql.DB, error) {
	pauses := backoff.Policy{Base: 500 * time.Millisecond, Cap: 10 * time.Second}
	for n := 1; ; n++ {
		db, err := openDSN(ctx, c.DSN)
		if err == nil || !transient.Connection(err) {
			return db, err
		}
		log.Warn().Err(err).Msg("database away")
		if !transient.Sleep(ctx, pauses.Delay(n, 0)) {
			return nil, ctx.Err()
		}
	}
}

// ignoreStop takes the end of the context for a clean stop.
func ignoreStop(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// newLogger returns a logger of lines for people.
func newLogger(w io.Writer, verbose bool) zerolog.Logger {
	level := zerolog.WarnLevel
	if verbose {
		level = zerolog.DebugLevel
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger()
}

// newWorker wires a worker with its handlers; stop frees their connections.
func newWorker(db *sql.DB, f workerFlags, log *zerolog.Logger) (*worker.Worker, func(), error) {
	schema, err := tsql.NewSchema(f.Schema)
	if err != nil {
		return nil, nil, err
	}
	h, err := newHandlers(f.handlerFlags)
	if err != nil {
		return nil, nil, err
	}
	w, err := worker.New(worker.NewSQLStore(db, schema), worker.Options{
		Handlers: h.byType, Policy: h.http.SetPolicy, Hosts: h.http,
		Slots: f.Slots, Lease: f.Lease, MaxPoll: f.MaxPoll, DrainTimeout: f.Drain, Version: version, Logger: log,
	})
	if err != nil {
		h.close()
		return nil, nil, err
	}
	return w, h.close, nil
}

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/rs/zerolog"

	"loopbroker/engine"
	"loopbroker/internal/operator"
	"loopbroker/tsql"
	"loopbroker/worker"
)

// idlePoll is the longest pause of a worker that shares the process with its
// engine: a claim that finds nothing is a fraction of a millisecond there, so it
// may look more often than one that goes over a network.
const idlePoll = 10 * time.Millisecond

// broker is an embedded engine with the broker deployed and the loopback set up,
// and workers in this process if it is asked for them. The commands demo, serve,
// bench and fleet-kill are built on one.
type broker struct {
	srv    *engine.Server
	db     *sql.DB // as sa, in the broker's database
	schema tsql.Schema
	flags  workerFlags
	log    zerolog.Logger

	worker  *worker.Worker // nil while none runs
	stop    context.CancelFunc
	stopped chan error // receives what Run returned
}

// idleConns is how many idle connections a pool keeps: a login costs more than
// a request.
const idleConns = 32

// withBroker opens an engine, makes it a broker, runs work and closes everything
// again, the worker first.
func withBroker(ctx context.Context, o engine.Options, f workerFlags, log zerolog.Logger, work func(ctx context.Context, b *broker) error) error {
	schema, err := tsql.NewSchema(f.Schema)
	if err != nil {
		return err
	}
	o.Logger = log
	return withEngine(ctx, o, func(ctx context.Context, srv *engine.Server) error {
		b := &broker{srv: srv, db: sql.OpenDB(srv.Connector()), schema: schema, flags: f, log: log}
		b.db.SetMaxIdleConns(idleConns)
		defer b.db.Close()
		if err := tsql.Deploy(ctx, b.db, tsql.Options{Schema: f.Schema}); err != nil {
			return err
		}
		if err := b.provision(ctx); err != nil {
			return fmt.Errorf("set up the loopback: %w", err)
		}
		err := work(ctx, b)
		return errors.Join(err, b.stopWorker())
	})
}

// allow puts endpoints on the allow-list, for every caller.
func (b *broker) allow(ctx context.Context, urls ...string) error {
	return allow(ctx, operator.New(b.db, b.schema), urls)
}

// startWorker runs a worker in this process and returns once callers see it.
func (b *broker) startWorker(ctx context.Context) error {
	w, closeHandlers, err := newWorker(b.db, b.flags, &b.log)
	if err != nil {
		return err
	}
	runCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.worker, b.stop, b.stopped = w, stop, make(chan error, 1)
	go func() { // ends with stopWorker, or by itself with an error
		defer closeHandlers()
		b.stopped <- w.Run(runCtx)
	}()
	return b.awaitWorkers(ctx, 1)
}

// stopWorker ends the worker after its running jobs and returns its error. It
// does nothing when none runs.
func (b *broker) stopWorker() error {
	if b.worker == nil {
		return nil
	}
	b.stop()
	err := <-b.stopped
	b.worker = nil
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	return nil
}

// workersTimeout is how long workers may take to announce themselves.
const workersTimeout = 30 * time.Second

// awaitWorkers returns once n workers are registered.
func (b *broker) awaitWorkers(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, workersTimeout)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var seen int
		if err := b.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+b.schema.Object(tsql.TableWorker)).Scan(&seen); err != nil {
			return fmt.Errorf("wait for %d workers: %w", n, err)
		}
		if seen >= n {
			return nil
		}
		select {
		case err := <-b.stopped: // nil and never ready without a worker of our own
			b.worker = nil
			return fmt.Errorf("worker ended: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("%d of %d workers announced themselves within %s", seen, n, workersTimeout)
		case <-tick.C:
		}
	}
}

// count returns the single number that a query gives.
func (b *broker) count(ctx context.Context, query string, args ...any) (int, error) {
	var n int
	if err := b.db.QueryRowContext(ctx, query, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("%s: %w", query, err)
	}
	return n, nil
}

// dsn returns how other processes connect as sa. It holds the password: it goes
// into an environment, never into a list of arguments.
func (b *broker) dsn(addr net.Addr) string {
	u := url.URL{
		Scheme: "sqlserver", User: url.UserPassword("sa", b.srv.Password()), Host: addr.String(),
		RawQuery: url.Values{"database": {b.srv.Database()}, "encrypt": {"disable"}, "app name": {"loopbroker"}}.Encode(),
	}
	return u.String()
}

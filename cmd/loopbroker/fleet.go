package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"loopbroker/engine"
	"loopbroker/tsql"
)

// fleetCommand kills half of a fleet under load and counts what was lost.
type fleetCommand struct {
	Requests int           `default:"5000" help:"Requests in all."`
	Callers  int           `default:"64" help:"Callers at the same time, each call in an open transaction of its own."`
	Workers  int           `default:"4" help:"Worker processes."`
	Kill     int           `default:"2" help:"Worker processes that are killed with SIGKILL half-way."`
	Lease    time.Duration `default:"3s" help:"Life of a lease: a dead worker's requests run again after that."`
	Slots    int           `default:"16" help:"Slots of each worker process."`
	Timeout  time.Duration `default:"5m" help:"Give up after this."`
}

// Help is shown by --help.
func (fleetCommand) Help() string {
	return `This process runs the embedded engine on a loopback port, a service that records
every run of every request, and the callers; the workers are processes of their
own. Half-way through, some of them get SIGKILL in the middle of their requests.

At the end every request must have exactly one reply, its caller the answer to its
own question, and no request may have been run again before its lease had ended.
The last line is: requests N, replies N, doubled 0, lost 0

Examples:
  loopbroker fleet-kill
  loopbroker fleet-kill --requests 300 --callers 16`
}

// validate checks the numbers.
func (c *fleetCommand) validate() error {
	switch {
	case c.Requests < 1 || c.Callers < 1 || c.Workers < 1 || c.Slots < 1:
		return usageError{errors.New("need --requests, --callers, --workers and --slots of at least 1")}
	case c.Kill < 0 || c.Kill >= c.Workers:
		return usageError{fmt.Errorf("need --kill of 0 to %d, so that a worker is left", c.Workers-1)}
	case c.Lease < 500*time.Millisecond:
		return usageError{errors.New("need --lease of at least 500ms: three heartbeats must fit in")}
	case c.Callers > 100:
		return usageError{errors.New("need --callers of at most 100, the setting max_waiters")}
	}
	return nil
}

// errFleet means that something was lost or done twice.
var errFleet = errors.New("the fleet lost or doubled requests")

// Run implements the command.
func (c *fleetCommand) Run(app *app) error {
	if err := c.validate(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(app.ctx, c.Timeout)
	defer cancel()
	ledger := newLedger(c.Requests)
	url, service, err := serveHTTP(ctx, anyPort, ledger)
	if err != nil {
		return err
	}
	defer func() { _ = service.Close() }() // nobody calls it any more
	return withBroker(ctx, engine.Options{}, workerFlags{}, zerolog.Nop(), func(ctx context.Context, b *broker) error {
		if err := b.allow(ctx, url); err != nil {
			return err
		}
		f := &fleetRun{fleetCommand: *c, app: app, broker: b, ledger: ledger, url: url}
		return f.run(ctx)
	})
}

// fleetRun is one run of the command.
type fleetRun struct {
	fleetCommand
	app    *app
	broker *broker
	ledger *ledger
	url    string

	next, answered, late, wrong atomic.Int64
}

func (f *fleetRun) progress(format string, args ...any) {
	fmt.Fprintf(f.app.stdout, format+"\n", args...)
}

func (f *fleetRun) run(ctx context.Context) error {
	addr, err := f.broker.srv.Listen(ctx, anyPort)
	if err != nil {
		return err
	}
	fleet, err := startFleet(ctx, f.Workers, f.broker.dsn(addr), f.Lease, f.Slots)
	if err != nil {
		return err
	}
	defer fleet.stop()
	if err := f.broker.awaitWorkers(ctx, f.Workers); err != nil {
		return errors.Join(err, fleet.troubles())
	}
	f.progress("%d workers with %d slots each on %s, lease %s", f.Workers, f.Slots, addr, f.Lease)

	start := time.Now()
	halfway := make(chan struct{})
	var callers sync.WaitGroup
	var failure error
	var once sync.Once
	for range f.Callers {
		callers.Go(func() {
			if err := f.caller(ctx, halfway); err != nil {
				once.Do(func() { failure = err })
			}
		})
	}
	killed := make(chan error, 1)
	go func() { // ends when it has killed, or with the context
		select {
		case <-halfway:
			killed <- f.kill(ctx, fleet)
		case <-ctx.Done():
			killed <- ctx.Err()
		}
	}()
	callers.Wait()
	if failure != nil {
		return failure
	}
	if err := errors.Join(<-killed, f.settle(ctx)); err != nil {
		return errors.Join(err, fleet.troubles())
	}
	took := time.Since(start)
	f.progress("%d answers in their callers' transactions, %d collected later, %d wrong; %.1f s, %.0f per second",
		f.answered.Load(), f.late.Load(), f.wrong.Load(), took.Seconds(), float64(f.Requests)/took.Seconds())
	return f.verdict(ctx)
}

// callerWait is how long a call waits: longer than a lease and what follows it.
func (f *fleetRun) callerWait() time.Duration { return min(2*f.Lease+10*time.Second, 100*time.Second) }

// caller makes requests until there are enough.
func (f *fleetRun) caller(ctx context.Context, halfway chan struct{}) error {
	session, err := f.broker.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	for {
		n := f.next.Add(1)
		if n > int64(f.Requests) {
			return nil
		}
		if n == int64(f.Requests+1)/2 {
			close(halfway)
		}
		if err := f.request(ctx, session, int(n)); err != nil {
			return fmt.Errorf("request %d: %w", n, err)
		}
	}
}

// request makes one request in an open transaction and checks its answer.
func (f *fleetRun) request(ctx context.Context, session *sql.Conn, n int) error {
	batch := fmt.Sprintf(`DECLARE @code int, @id bigint, @response nvarchar(max), @error nvarchar(2048);
BEGIN TRANSACTION;
EXEC @code = %s @url = @url, @wait = @wait, @max_attempts = 10, @response = @response OUTPUT, @id = @id OUTPUT, @error = @error OUTPUT;
SELECT @code, @id, @response, @error, @@TRANCOUNT;
COMMIT TRANSACTION;`, f.broker.schema.Object(tsql.ProcRequest))
	var code, open int
	var id sql.NullInt64
	var response, failure sql.NullString
	err := session.QueryRowContext(ctx, batch, sql.Named("url", fmt.Sprintf("%s/run/%d", f.url, n)), sql.Named("wait", f.callerWait().Milliseconds())).
		Scan(&code, &id, &response, &failure, &open)
	if err != nil {
		return err
	}
	switch tsql.ReturnCode(code) {
	case tsql.CodeCompleted:
		if response.String != answerTo(n) || open != 1 {
			f.wrong.Add(1)
		}
		f.answered.Add(1)
	case tsql.CodePending, tsql.CodeNoWorker, tsql.CodeTooManyWaiters:
		f.late.Add(1)
	default:
		return fmt.Errorf("code %d: %s", code, failure.String)
	}
	return nil
}

// kill ends some of the workers, and notes until when their requests are leased.
func (f *fleetRun) kill(ctx context.Context, fleet *fleet) error {
	pids, err := fleet.kill(f.Kill)
	if err != nil {
		return err
	}
	leases, err := f.leases(ctx)
	if err != nil {
		return err
	}
	f.ledger.leased(leases)
	f.progress("half-way: SIGKILL to the processes %v; %d requests are leased", pids, len(leases))
	return nil
}

// leases returns the ends of the leases that live, by the request's number.
func (f *fleetRun) leases(ctx context.Context) (map[int]time.Time, error) {
	rows, err := f.broker.db.QueryContext(ctx, fmt.Sprintf(`SELECT JSON_VALUE(c.json_in, N'$.url'), m.locked_until
FROM %s AS m WITH (NOLOCK) INNER JOIN %s AS c WITH (NOLOCK) ON c.message_id = m.id
WHERE m.locked_until > SYSUTCDATETIME()`, f.broker.schema.Object(tsql.TableTransportMessages), f.broker.schema.Object(tsql.TableCall)))
	if err != nil {
		return nil, fmt.Errorf("read the leases: %w", err)
	}
	defer rows.Close()
	out := map[int]time.Time{}
	for rows.Next() {
		var url string
		var until time.Time
		if err := rows.Scan(&url, &until); err != nil {
			return nil, fmt.Errorf("read the leases: %w", err)
		}
		var n int
		if _, err := fmt.Sscanf(url, f.url+"/run/%d", &n); err != nil {
			return nil, fmt.Errorf("read the leases: %q: %w", url, err)
		}
		out[n] = until
	}
	return out, rows.Err()
}

// settle waits until the queue is empty: requests whose callers gave up are
// still served.
func (f *fleetRun) settle(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		left, err := f.broker.count(ctx, "SELECT COUNT(*) FROM "+f.broker.schema.Object(tsql.TableTransportMessages)+" WHERE queue <> N'api.deadletter'")
		if err != nil || left == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d requests were still queued: %w", left, ctx.Err())
		case <-tick.C:
		}
	}
}

// verdict counts replies and runs, and prints the last line.
func (f *fleetRun) verdict(ctx context.Context) error {
	calls, err := f.broker.count(ctx, "SELECT COUNT(*) FROM "+f.broker.schema.Object(tsql.TableCall))
	if err != nil {
		return err
	}
	replies, err := f.broker.count(ctx, fmt.Sprintf(`SELECT COUNT(*) FROM %s AS r INNER JOIN %s AS c ON c.id = r.request_id
WHERE r.state = N'completed' AND r.http_status = 200`, f.broker.schema.Object(tsql.TableReply), f.broker.schema.Object(tsql.TableCall)))
	if err != nil {
		return err
	}
	runs, again, doubled, unseen := f.ledger.tally(f.Lease)
	f.progress("%d runs, %d of them second runs after a lease had ended", runs, again-doubled)
	lost := max(f.Requests-replies, unseen)
	if _, err := fmt.Fprintf(f.app.stdout, "requests %d, replies %d, doubled %d, lost %d\n", calls, replies, doubled, lost); err != nil {
		return err
	}
	if calls != f.Requests || replies != f.Requests || doubled != 0 || lost != 0 || f.wrong.Load() != 0 {
		return errFleet
	}
	return nil
}

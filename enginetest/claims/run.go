package claims

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"loopbroker/engine"
	"loopbroker/enginetest"
)

// Options are the settings of a run.
type Options struct {
	// Rows is how many rows are claimed; half of them are there at the start, the
	// others arrive meanwhile.
	Rows int
	// Sessions claim, an eighth of that number inserts.
	Sessions int
	// Seed decides what each session does, not how they meet.
	Seed uint64
	// RCSI turns READ_COMMITTED_SNAPSHOT on.
	RCSI bool
	// Form is how rows are claimed.
	Form Form
	// Progress is told, every second, how many rows are claimed.
	Progress func(claimed int)

	fault fault
}

// fault is something wrong on purpose, so that the counts can be seen to notice.
type fault int

const (
	noFault      fault = iota
	noReadPast         // claims do not read past locked rows
	noUpdLock          // SELECT chooses rows without a lock
	thief              // somebody deletes a row
	earlyArrival       // an insertion is claimed that the ledger takes for rolled back
)

// Result is what a run has found.
type Result struct {
	Rows    int // claimed and counted
	Twice   int // given to a session while another had it, or after another's commit
	Lost    int // never claimed, or not as its claim has left it
	Waited  int // waits of claimers
	Unborn  int // claimed, though the insertion was rolled back
	Commits int
	Undone  int // transactions that gave their rows back
	Given   int // rows given back by them and by savepoints
	Inserts int // waits of the inserting sessions, for information
	Took    time.Duration
}

// OK reports whether nothing is wrong.
func (r Result) OK() bool { return r.Twice+r.Lost+r.Waited+r.Unborn == 0 }

// String is the line for the result.
func (r Result) String() string {
	return fmt.Sprintf("rows %d, claimed twice %d, lost %d, waited %d", r.Rows, r.Twice, r.Lost, r.Waited)
}

// Add returns the sum of two results.
func (r Result) Add(o Result) Result {
	return Result{
		Rows: r.Rows + o.Rows, Twice: r.Twice + o.Twice, Lost: r.Lost + o.Lost, Waited: r.Waited + o.Waited, Unborn: r.Unborn + o.Unborn,
		Commits: r.Commits + o.Commits, Undone: r.Undone + o.Undone, Given: r.Given + o.Given, Inserts: r.Inserts + o.Inserts, Took: r.Took + o.Took,
	}
}

// run is one run.
type run struct {
	Options
	db     *sql.DB
	ledger *ledger
	next   atomic.Int64 // id of the next row that arrives
	ghosts atomic.Int64 // rows whose insertion is rolled back
	waited atomic.Int64
	insert atomic.Int64 // waits of inserters
}

// Run claims rows on a database of its own, which it makes on the server.
func Run(ctx context.Context, srv *engine.Server, o Options) (Result, error) {
	if o.Rows < 2 || o.Sessions < 2 || o.Rows >= unborn {
		return Result{}, errors.New("claims: need at least 2 rows and 2 sessions")
	}
	name := "claims_" + strings.ReplaceAll(o.Form.String(), "-", "_") + map[bool]string{true: "_rcsi", false: ""}[o.RCSI]
	if err := enginetest.NewDatabase(ctx, srv, name, o.RCSI, schema); err != nil {
		return Result{}, fmt.Errorf("claims: prepare the database: %w", err)
	}
	r := &run{Options: o, db: sql.OpenDB(srv.ConnectorFor("sa", srv.Password(), name))}
	defer r.db.Close()
	r.db.SetMaxIdleConns(o.Sessions)
	inserters := max(1, o.Sessions/8)
	r.ledger = newLedger(o.Rows, o.Sessions, inserters)
	if err := r.preload(ctx, o.Rows/2); err != nil {
		return Result{}, fmt.Errorf("claims: first rows: %w", err)
	}
	if o.fault == thief {
		if _, err := r.db.ExecContext(ctx, "DELETE FROM dbo.queue WHERE id = 0"); err != nil {
			return Result{}, err
		}
	}
	began := time.Now()
	if err := r.race(ctx, inserters); err != nil {
		return Result{}, err
	}
	took := time.Since(began)
	lost, err := r.audit(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("claims: final count: %w", err)
	}
	l := r.ledger
	return Result{
		Rows: o.Rows, Twice: l.twice, Lost: lost, Waited: int(r.waited.Load()), Unborn: l.unborn,
		Commits: l.committed, Undone: l.undone, Given: l.returned, Inserts: int(r.insert.Load()), Took: took,
	}, nil
}

// preload inserts the rows that are there at the start.
func (r *run) preload(ctx context.Context, n int) error {
	const batch = 500
	for from := 0; from < n; from += batch {
		var b strings.Builder
		b.WriteString("INSERT INTO dbo.queue (id, lane, payload) VALUES ")
		for id := from; id < min(from+batch, n); id++ {
			if id > from {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "(%d, 1, N'%s')", id, payload)
		}
		if _, err := r.db.ExecContext(ctx, b.String()); err != nil {
			return err
		}
	}
	r.next.Store(int64(n))
	return nil
}

// payload is what every row carries.
const payload = `{"url":"http://127.0.0.1:8080/orders/4711","method":"POST","attempt_timeout_ms":30000}`

// race runs the sessions until nothing is left to claim.
func (r *run) race(ctx context.Context, inserters int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var sessions sync.WaitGroup
	start := func(what string, n int, do func(context.Context, *sql.Conn, *rand.Rand) error) {
		sessions.Go(func() {
			rnd := rand.New(rand.NewPCG(r.Seed, uint64(n)))
			conn, err := r.db.Conn(ctx)
			if err == nil {
				defer conn.Close()
				err = do(ctx, conn, rnd)
			}
			if err != nil {
				cancel(fmt.Errorf("claims: %s %d: %w", what, n, err))
			}
		})
	}
	for n := range r.Sessions {
		c := &claimer{run: r, impatient: n%2 == 1}
		start("claimer", n+1, c.work)
	}
	for n := range inserters {
		start("inserter", r.Sessions+n+1, r.arrive)
	}
	reporting, done := context.WithCancel(ctx)
	var reporter sync.WaitGroup
	if r.Progress != nil {
		reporter.Go(func() { enginetest.Report(reporting, r.ledger.progress, r.Progress) })
	}
	sessions.Wait()
	done()
	reporter.Wait()
	return context.Cause(ctx)
}

// audit compares the table with the ledger and returns how many rows are lost: not
// claimed, or in the table otherwise than claimed.
func (r *run) audit(ctx context.Context) (lost int, err error) {
	rows, err := r.db.QueryContext(ctx, "SELECT id, claims FROM dbo.queue")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	claims := make([]int, r.Rows)
	for rows.Next() {
		var id, n int
		if err := rows.Scan(&id, &n); err != nil {
			return 0, err
		}
		if id >= unborn {
			r.ledger.unborn++
			continue
		}
		claims[id] = n
	}
	for id, n := range claims {
		if !r.ledger.taken[id] || n != 1 && !r.ledger.deleted[id] || n != 0 && r.ledger.deleted[id] {
			lost++
		}
	}
	return lost, rows.Err()
}

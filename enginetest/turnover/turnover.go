package turnover

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"loopbroker/engine"
	"loopbroker/enginetest"
)

// Options are the settings of a run.
type Options struct {
	// Rows go through the table after the first pass.
	Rows int
	// Sessions work at the same time.
	Sessions int
	// WarmUp is how many rows the first pass has.
	//
	// Defaults to enough to fill the cache of plans: 22,000.
	WarmUp int
	// Progress is told, every second, how many rows are through.
	Progress func(rows int)

	fault bool // the sessions keep a row each time, after the first pass
}

// Result is what is left.
type Result struct {
	Rows   int   // that went through
	Kept   int   // rows in the table
	Locks  int   // in sys.dm_tran_locks, beside those on databases
	Tables int   // temporary ones
	Before int64 // bytes of the heap after the first pass
	After  int64 // after all rows
	Took   time.Duration
}

// allowance is what the heap may grow by, whatever the number of rows: plans and
// buffers are not all of one size.
const allowance = 6 << 20

// OK reports whether memory has ended where it began.
func (r Result) OK() bool {
	return r.Kept == 0 && r.Locks == 0 && r.Tables == 0 && r.After-r.Before <= allowance
}

// String is the line for the result.
func (r Result) String() string {
	return fmt.Sprintf("rows %d, kept %d, locks %d, temporary tables %d, heap %.1f MB before, %.1f MB after",
		r.Rows, r.Kept, r.Locks, r.Tables, float64(r.Before)/1e6, float64(r.After)/1e6)
}

// warmUp is the default of Options.WarmUp: each ten rows are inserted by a batch
// that is like no other, and the cache of plans has 2,000.
const warmUp = 22000

const schema = `CREATE TABLE dbo.queue (
	id bigint IDENTITY(1, 1) NOT NULL CONSTRAINT queue_pk PRIMARY KEY NONCLUSTERED,
	available_at datetime2(7) NOT NULL CONSTRAINT queue_available_df DEFAULT (SYSUTCDATETIME()),
	claimed_by int NULL,
	payload nvarchar(max) NOT NULL
);
CREATE CLUSTERED INDEX queue_ready ON dbo.queue (available_at, id);
CREATE INDEX queue_unclaimed ON dbo.queue (id) WHERE claimed_by IS NULL;`

// run is one run.
type run struct {
	Options
	db      *sql.DB
	through atomic.Int64
}

// Run sends rows through a table in a new database of the server.
func Run(ctx context.Context, srv *engine.Server, o Options) (r Result, err error) {
	const name = "turnover"
	if err := enginetest.NewDatabase(ctx, srv, name, true, schema); err != nil {
		return r, fmt.Errorf("turnover: %w", err)
	}
	w := &run{Options: o, db: sql.OpenDB(srv.ConnectorFor("sa", srv.Password(), name))}
	defer w.db.Close()
	w.db.SetMaxIdleConns(-1) // a connection that is closed is closed
	w.fault = false
	if w.WarmUp == 0 {
		w.WarmUp = warmUp
	}
	if err := w.pass(ctx, w.WarmUp); err != nil {
		return r, err
	}
	w.fault = o.fault
	r.Before = enginetest.Heap()
	began := time.Now()
	if err := w.pass(ctx, o.Rows); err != nil {
		return r, err
	}
	r.Took, r.Rows = time.Since(began), int(w.through.Load())
	err = w.db.QueryRowContext(ctx, `WHILE EXISTS (SELECT 1 FROM sys.dm_exec_sessions WHERE database_id = DB_ID() AND session_id <> @@SPID)
	WAITFOR DELAY '00:00:00.005'; -- until the ends of the sessions have been noticed
SELECT (SELECT COUNT(*) FROM dbo.queue),
	(SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_type <> N'DATABASE' AND request_session_id <> @@SPID),
	(SELECT COUNT(*) FROM tempdb.sys.tables)`).Scan(&r.Kept, &r.Locks, &r.Tables)
	r.After = enginetest.Heap()
	return r, err
}

// pass sends rows through the table.
func (w *run) pass(ctx context.Context, rows int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.through.Store(0)
	var sessions sync.WaitGroup
	for n := range w.Sessions {
		sessions.Go(func() {
			s := &session{run: w, n: n}
			if err := s.work(ctx, rows); err != nil {
				cancel(fmt.Errorf("turnover: session %d: %w", n, err))
			}
		})
	}
	reading, done := context.WithCancel(ctx)
	var readers sync.WaitGroup
	readers.Go(func() {
		if err := w.read(reading); reading.Err() == nil {
			cancel(fmt.Errorf("turnover: reader: %w", err))
		}
	})
	if w.Progress != nil {
		readers.Go(func() { enginetest.Report(reading, func() int { return int(w.through.Load()) }, w.Progress) })
	}
	sessions.Wait()
	done()
	readers.Wait()
	return context.Cause(ctx)
}

// read reads the whole table again and again: each time through a view, for which
// the rows that go must be kept until it is closed. It ends with an error, with ctx
// at the latest.
func (w *run) read(ctx context.Context) error {
	for {
		var rows int
		if err := w.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM dbo.queue WHERE payload <> N''").Scan(&rows); err != nil {
			return err
		}
	}
}

// errLeft is an impossible count.
var errLeft = errors.New("a session did not get its own rows back")

package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"loopbroker/engine"
)

// initialBalance is val of each account at the beginning.
const initialBalance = 100

// one lets one history run at a time: a stepped one sets the number of processors.
var one sync.Mutex

// Run runs a history on an engine of its own, one at a time in a process. Its
// error is that the history could not be run; what it shows is in the History,
// for Check.
//
// A stepped history runs on one processor. Where one commit lets several
// sessions go on, they then do so in the order in which they were woken, and
// not as chance has it.
func Run(ctx context.Context, p Params) (*History, error) {
	one.Lock()
	defer one.Unlock()
	if !p.Parallel {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	srv, err := engine.Open(ctx, engine.Options{})
	if err != nil {
		return nil, fmt.Errorf("open engine: %w", err)
	}
	db := sql.OpenDB(srv.Connector())
	h, err := runOn(ctx, db, p)
	_ = db.Close()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return h, errors.Join(err, srv.Close(end))
}

func runOn(ctx context.Context, db *sql.DB, p Params) (*History, error) {
	monitor, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer monitor.Close()
	h := &History{Params: p, initial: map[key]Row{}}
	if err := h.setUp(ctx, monitor); err != nil {
		return nil, err
	}
	var c clock
	sessions := make([]*session, p.Sessions)
	for i := range sessions {
		if sessions[i], err = openSession(ctx, db, &p, i+1, &c); err != nil {
			return nil, err
		}
		defer sessions[i].conn.Close()
	}
	if p.Parallel {
		err = h.parallel(ctx, sessions)
	} else {
		err = h.stepped(ctx, sessions, monitor)
	}
	if err != nil {
		return nil, fmt.Errorf("seed %d: %w", p.Seed, err)
	}
	for _, s := range sessions {
		h.txns = append(h.txns, s.txns...)
	}
	return h, h.readFinal(ctx, monitor)
}

// setUp makes the tables and their first rows.
func (h *History) setUp(ctx context.Context, conn *sql.Conn) error {
	texts := []string{"ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON"}
	if h.Params.RCSI {
		texts = append(texts, "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON")
	}
	for _, t := range tables {
		primary := "PRIMARY KEY"
		if t == item && h.Params.Heap {
			primary = "PRIMARY KEY NONCLUSTERED"
		}
		texts = append(texts,
			fmt.Sprintf(`CREATE TABLE dbo.%s (id bigint NOT NULL CONSTRAINT pk_%[1]s %s, grp bigint NOT NULL, code bigint NOT NULL,
val bigint NOT NULL, ver bigint NOT NULL, prev bigint NOT NULL)`, t, primary),
			fmt.Sprintf("CREATE INDEX ix_%s_grp ON dbo.%[1]s (grp)", t),
			fmt.Sprintf("CREATE UNIQUE INDEX ux_%s_code ON dbo.%[1]s (code)", t))
	}
	add := func(t table, r Row) {
		h.initial[key{t, r.ID}] = r
		texts = append(texts, fmt.Sprintf("INSERT INTO dbo.%s (%s) VALUES (%d, %d, %d, %d, %d, 0)", t, columns, r.ID, r.Grp, r.Code, r.Val, r.Ver))
	}
	for id := range int64(h.Params.Accounts) {
		add(account, Row{ID: id, Grp: id % 2, Code: id, Val: initialBalance, Ver: 1})
	}
	for id := range int64(h.Params.Items) {
		if id%2 == 0 {
			add(item, Row{ID: id, Grp: id % 4, Code: id, Val: id, Ver: 1})
		}
	}
	for id := range int64(h.Params.Jobs) {
		add(job, Row{ID: id, Code: id, Ver: 1})
	}
	for _, text := range texts {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("setup: %s: %w", text, err)
		}
	}
	return nil
}

// parallelBound is how long sessions that run freely may take together: many times
// what they take on a busy machine.
const parallelBound = 30 * time.Second

// parallel lets the sessions run freely.
func (h *History) parallel(ctx context.Context, sessions []*session) error {
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	// Not a deadline: the driver takes one for a broken connection.
	bound := time.AfterFunc(parallelBound, cancel)
	defer bound.Stop()
	var wg sync.WaitGroup
	errs := make([]error, len(sessions))
	faults := make([][]Fault, len(sessions))
	for i, s := range sessions {
		wg.Go(func() { faults[i], errs[i] = s.runAll(bounded) })
	}
	wg.Wait()
	for _, f := range faults {
		h.Faults = append(h.Faults, f...)
	}
	if bounded.Err() == nil || ctx.Err() != nil {
		return errors.Join(errs...)
	}
	h.Faults = append(h.Faults, newFault("stuck", fmt.Sprintf("the sessions do not come to an end within %s", parallelBound)))
	for _, s := range sessions {
		if _, err := s.conn.ExecContext(ctx, "IF @@TRANCOUNT > 0 ROLLBACK"); err != nil {
			return err
		}
	}
	return nil
}

// runAll runs all transactions of a session.
func (s *session) runAll(ctx context.Context) (faults []Fault, err error) {
	for st := s.next(); st != nil; st = s.next() {
		bounded, cancel := context.WithCancel(ctx)
		if st.cancellable() && s.rnd.IntN(40) == 0 {
			// Not a deadline: the driver takes one for a broken connection.
			time.AfterFunc(time.Duration(100+s.rnd.IntN(4000))*time.Microsecond, cancel)
		}
		s.run(bounded, st)
		cancel()
		if ctx.Err() != nil {
			return faults, context.Cause(ctx)
		}
		fault, err := s.settle(ctx, st)
		if err != nil {
			return faults, err
		}
		if fault != "" {
			faults = append(faults, newFault("answer", fault, st))
		}
	}
	return faults, nil
}

// settle looks at the transaction after an error, and goes on with the plan.
func (s *session) settle(ctx context.Context, st *statement) (fault string, err error) {
	open := 0
	if st.failed() {
		if open, err = s.transactionCount(ctx); err != nil {
			return "", fmt.Errorf("%s: %s: after %w: %w", st.name(), st.text, st.err, err)
		}
	}
	fault = s.finish(st, open)
	if fault != "" && open > 0 {
		_, err = s.conn.ExecContext(ctx, "ROLLBACK TRANSACTION")
	}
	return fault, err
}

// readFinal reads what is left, by each index.
func (h *History) readFinal(ctx context.Context, conn *sql.Conn) error {
	for _, t := range tables {
		for _, by := range []string{"1 = 1", "id >= 0", "grp >= 0", "code >= 0"} {
			st := &statement{kind: query, table: t}
			s := session{conn: conn}
			st.text = fmt.Sprintf("SELECT %s FROM dbo.%s WHERE %s", columns, t, by)
			if err := s.send(ctx, st); err != nil {
				return fmt.Errorf("seed %d: %s: %w", h.Params.Seed, st.text, err)
			}
			h.final = append(h.final, finalRead{t, by, st.rows})
		}
	}
	const left = "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_type IN ('KEY', 'RID', 'OBJECT') AND request_session_id <> @@SPID"
	if err := conn.QueryRowContext(ctx, left).Scan(&h.locks); err != nil {
		return fmt.Errorf("seed %d: locks left: %w", h.Params.Seed, err)
	}
	return nil
}

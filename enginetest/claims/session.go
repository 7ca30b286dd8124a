package claims

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

// The error numbers of waits: one that was not allowed, and one that became a
// deadlock.
const (
	lockTimeout = 1222
	deadlock    = 1205
)

// held is a row that a claimer's transaction has claimed.
type held struct {
	id      int
	deleted bool
}

// claimer is a session that claims rows.
type claimer struct {
	*run
	impatient bool // LOCK_TIMEOUT 0
	conn      *sql.Conn
	rnd       *rand.Rand
	spid      int32
	rows      []held // of the open transaction
	gaveBack  bool   // some by a savepoint
}

// work claims until nothing is left, and counts the session's waits.
func (c *claimer) work(ctx context.Context, conn *sql.Conn, rnd *rand.Rand) error {
	c.conn, c.rnd = conn, rnd
	if err := conn.QueryRowContext(ctx, "SELECT @@SPID").Scan(&c.spid); err != nil {
		return err
	}
	patience := "-1"
	if c.impatient {
		patience = "0"
	}
	if err := c.exec(ctx, "SET LOCK_TIMEOUT "+patience); err != nil {
		return err
	}
	before, err := waits(ctx, conn)
	if err != nil {
		return err
	}
	for goOn, alone := true, false; goOn; {
		epoch := c.ledger.now()
		found, err := c.transaction(ctx)
		if number := waitError(err); number != 0 {
			if number == lockTimeout {
				c.waited.Add(1)
			}
			found, err = true, c.end(ctx, false)
		}
		switch {
		case err != nil:
			return err
		case found:
			alone = false
		default:
			if goOn, alone, err = c.ledger.park(ctx, epoch, alone); err != nil {
				return err
			}
		}
	}
	after, err := waits(ctx, conn)
	c.waited.Add(int64(after - before))
	return err
}

// transaction claims once or several times, and commits or rolls back. It reports
// whether there was anything to claim.
func (c *claimer) transaction(ctx context.Context) (found bool, err error) {
	c.rows, c.gaveBack = c.rows[:0], false
	claims := 1
	if c.rnd.IntN(16) == 0 {
		claims += 1 + c.rnd.IntN(5)
	}
	for i := range claims {
		before, ok := "BEGIN TRANSACTION; ", false
		undo := i > 0 && c.rnd.IntN(4) == 0
		switch {
		case undo:
			before = "SAVE TRANSACTION here; "
		case i > 0:
			before = ""
		}
		mark := len(c.rows)
		if ok, err = c.claim(ctx, before); err != nil {
			return true, err
		}
		if !ok {
			break
		}
		found = true
		if undo {
			if err := c.giveBack(ctx, mark); err != nil {
				return true, err
			}
		}
	}
	if !found {
		return false, c.exec(ctx, "ROLLBACK TRANSACTION")
	}
	if c.rnd.IntN(50) == 0 {
		if err := hold(ctx, time.Duration(1+c.rnd.IntN(10))*time.Millisecond); err != nil {
			return true, err
		}
	}
	return true, c.end(ctx, c.rnd.IntN(4) != 0)
}

// claim claims one row or ten. It reports whether there were any.
func (c *claimer) claim(ctx context.Context, before string) (bool, error) {
	form, n := c.Form, 1
	if form == Mixed {
		form = Form(1 + c.rnd.IntN(len(forms)-1))
	}
	if c.rnd.IntN(2) == 0 {
		n = 10
	}
	ids, err := c.ids(ctx, before+form.claim(n, c.hints(form)))
	if err != nil {
		return false, err
	}
	c.ledger.claimed(c.spid, ids)
	for _, id := range ids {
		c.rows = append(c.rows, held{id, form == DeleteTop})
	}
	if form == Select {
		for _, id := range ids {
			if err := c.exec(ctx, keep, id); err != nil {
				return false, err
			}
		}
	}
	return len(ids) > 0, nil
}

// hints are those of a claim.
func (c *claimer) hints(f Form) string {
	switch {
	case c.fault == noReadPast:
		return "UPDLOCK, ROWLOCK"
	case c.fault == noUpdLock && f == Select:
		return "ROWLOCK, READPAST"
	}
	return "UPDLOCK, ROWLOCK, READPAST"
}

// ids runs a statement that returns ids.
func (c *claimer) ids(ctx context.Context, stmt string) ([]int, error) {
	rows, err := c.conn.QueryContext(ctx, stmt)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []int
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// giveBack undoes what was claimed since the savepoint.
func (c *claimer) giveBack(ctx context.Context, mark int) error {
	c.ledger.release(c.rows[mark:], false)
	c.rows, c.gaveBack = c.rows[:mark], true
	return c.exec(ctx, "ROLLBACK TRANSACTION here")
}

// end ends the transaction.
func (c *claimer) end(ctx context.Context, commit bool) error {
	c.ledger.release(c.rows, commit)
	c.rows = c.rows[:0]
	stmt := "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION" // a deadlock has done it
	if commit {
		stmt = "COMMIT TRANSACTION"
	}
	if err := c.exec(ctx, stmt); err != nil {
		return err
	}
	c.ledger.ended(commit, c.gaveBack)
	return nil
}

func (c *claimer) exec(ctx context.Context, stmt string, args ...any) error {
	_, err := c.conn.ExecContext(ctx, stmt, args...)
	return err
}

// arrive inserts rows, in transactions of some, until all are there. Some
// transactions insert others and are rolled back.
func (r *run) arrive(ctx context.Context, conn *sql.Conn, rnd *rand.Rand) error {
	defer r.ledger.arrived(true)
	before, err := waits(ctx, conn)
	if err != nil {
		return err
	}
	for done := false; !done; {
		statements, undo := 1+rnd.IntN(5), rnd.IntN(5) == 0
		end := "COMMIT TRANSACTION"
		if undo && r.fault != earlyArrival {
			end = "ROLLBACK TRANSACTION"
		}
		if _, err := conn.ExecContext(ctx, "BEGIN TRANSACTION"); err != nil {
			return err
		}
		for range statements {
			var first, n int64
			if first, n = r.reserve(undo, 1+rnd.Int64N(10)); n == 0 {
				done = true
				break
			}
			if _, err := conn.ExecContext(ctx, insertion, first, n, payload); err != nil {
				return fmt.Errorf("insert %d: %w", first, err)
			}
		}
		if _, err := conn.ExecContext(ctx, end); err != nil {
			return err
		}
		r.ledger.arrived(false)
	}
	after, err := waits(ctx, conn)
	r.insert.Add(int64(after - before))
	return err
}

// reserve returns the ids of n rows to insert: fewer, or none, where there are no
// more to come. Those of an insertion that is undone do not count.
func (r *run) reserve(undo bool, n int64) (first, count int64) {
	if undo {
		return unborn + r.ghosts.Add(n) - n, n
	}
	first = r.next.Add(n) - n
	return first, max(0, min(n, int64(r.Rows)-first))
}

// hold lets an open transaction stay open for a while.
func hold(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// waits returns how often the session has waited for locks.
func waits(ctx context.Context, conn *sql.Conn) (n int, err error) {
	err = conn.QueryRowContext(ctx, `SELECT COALESCE(SUM(waiting_tasks_count), 0) FROM sys.dm_exec_session_wait_stats
WHERE session_id = @@SPID AND wait_type LIKE 'LCK[_]M%'`).Scan(&n)
	return n, err
}

// waitError returns the number of an error that a wait ended with, or 0.
func waitError(err error) int32 {
	var e mssql.Error
	if errors.As(err, &e) && (e.Number == lockTimeout || e.Number == deadlock) {
		return e.Number
	}
	return 0
}

package turnover

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// session works in connections of its own, one after the other.
type session struct {
	*run
	n    int
	conn *sql.Conn
	next int // number of the round
}

const (
	batch     = 10 // rows in a round
	reconnect = 50 // rounds in a connection
)

// work sends batches through until enough rows are through.
func (s *session) work(ctx context.Context, rows int) (err error) {
	for int(s.through.Load()) < rows {
		if s.next%reconnect == 0 {
			if err := s.renew(ctx); err != nil {
				return err
			}
		}
		s.next++
		if err := s.round(ctx); err != nil {
			return fmt.Errorf("round %d: %w", s.next, err)
		}
		s.through.Add(batch)
	}
	return s.conn.Close()
}

// renew takes another connection. What the old one has left - a temporary table, a
// cursor, a prepared statement, a lock - goes with it.
func (s *session) renew(ctx context.Context) (err error) {
	if s.conn != nil {
		if err := s.exec(ctx, `CREATE TABLE #left (id int PRIMARY KEY, note nvarchar(max)); INSERT INTO #left VALUES (1, REPLICATE(CONVERT(nvarchar(max), N'x'), 20000));
DECLARE left_open CURSOR FOR SELECT id FROM #left; OPEN left_open;
EXEC sp_getapplock @Resource = N'left', @LockMode = N'Shared', @LockOwner = N'Session'`); err != nil {
			return err
		}
		if err := s.conn.Close(); err != nil {
			return err
		}
	}
	s.conn, err = s.db.Conn(ctx)
	return err
}

func (s *session) exec(ctx context.Context, stmt string, args ...any) error {
	_, err := s.conn.ExecContext(ctx, stmt, args...)
	return err
}

// round inserts rows, claims as many and removes them.
func (s *session) round(ctx context.Context) error {
	if s.next%7 == 0 { // rows that never were
		if err := s.exec(ctx, "BEGIN TRANSACTION; "+s.insertion()+"; SAVE TRANSACTION here; DELETE FROM dbo.queue WHERE id = SCOPE_IDENTITY(); ROLLBACK TRANSACTION here; ROLLBACK TRANSACTION"); err != nil {
			return err
		}
	}
	if err := s.exec(ctx, s.insertion()); err != nil {
		return err
	}
	if s.next%11 == 0 {
		if err := s.borrow(ctx); err != nil {
			return err
		}
	}
	for left := batch; left > 0; {
		n, err := s.remove(ctx, left)
		if err != nil {
			return err
		}
		left -= n
	}
	if s.fault {
		return s.exec(ctx, "INSERT INTO dbo.queue (claimed_by, payload) VALUES (-1, REPLICATE(CONVERT(nvarchar(max), @p1), 20000))", s.next%10)
	}
	return nil
}

// insertion is a batch like no other: its texts are part of it.
func (s *session) insertion() string {
	var b strings.Builder
	b.WriteString("INSERT INTO dbo.queue (payload) VALUES ")
	for i := range batch {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "(N'row %d of round %09d of session %d')", i, s.next, s.n)
	}
	return b.String()
}

// remove claims up to n rows and deletes them: whose they are does not matter.
func (s *session) remove(ctx context.Context, n int) (int, error) {
	var gone int
	err := s.conn.QueryRowContext(ctx, `SET NOCOUNT ON;
DECLARE @mine TABLE (id bigint NOT NULL PRIMARY KEY);
BEGIN TRANSACTION;
WITH ready AS (
	SELECT TOP (@p1) id, claimed_by FROM dbo.queue WITH (UPDLOCK, ROWLOCK, READPAST) WHERE claimed_by IS NULL ORDER BY available_at, id
) UPDATE ready SET claimed_by = @@SPID OUTPUT inserted.id INTO @mine (id);
COMMIT TRANSACTION;
DELETE q FROM @mine AS m INNER LOOP JOIN dbo.queue AS q ON q.id = m.id;
SELECT @@ROWCOUNT;`, n).Scan(&gone)
	if err == nil && gone > n {
		err = errLeft
	}
	return gone, err
}

// borrow uses what a session can have: a prepared statement, a temporary table, a
// transaction's lock and a cursor.
func (s *session) borrow(ctx context.Context) error {
	stmt, err := s.conn.PrepareContext(ctx, "SELECT COUNT(*) FROM dbo.queue WHERE id = @p1")
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }() // a failure shows in what follows
	var n int
	if err := stmt.QueryRowContext(ctx, 0).Scan(&n); err != nil {
		return err
	}
	return s.exec(ctx, fmt.Sprintf(`CREATE TABLE #t%[1]d (id int IDENTITY PRIMARY KEY, note nvarchar(100)); INSERT INTO #t%[1]d (note) VALUES (N'%[1]d'), (N'b');
BEGIN TRANSACTION;
EXEC sp_getapplock @Resource = N'lock %[1]d', @LockMode = N'Exclusive', @LockOwner = N'Transaction';
DECLARE c CURSOR LOCAL FOR SELECT id FROM #t%[1]d; OPEN c; FETCH NEXT FROM c; CLOSE c; DEALLOCATE c;
ROLLBACK TRANSACTION;
EXEC sp_set_session_context N'key %[1]d', N'value';
DROP TABLE #t%[1]d`, s.next))
}

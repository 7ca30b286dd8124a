package storagebench

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"loopbroker/engine"
)

// createQueueSQL makes a queue table with the columns and keys of the broker's.
const createQueueSQL = `CREATE TABLE $table (
    id uniqueidentifier NOT NULL PRIMARY KEY NONCLUSTERED WITH (ALLOW_PAGE_LOCKS = OFF),
    queue nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
    payload_json nvarchar(max) NOT NULL,
    headers_json nvarchar(max) NOT NULL DEFAULT (N'{}'),
    created_at datetime2(7) NOT NULL DEFAULT (SYSUTCDATETIME()),
    available_at datetime2(7) NOT NULL DEFAULT (SYSUTCDATETIME()),
    locked_until datetime2(7) NULL,
    lock_id uniqueidentifier NULL,
    attempts int NOT NULL DEFAULT (0),
    dead_letter_reason nvarchar(max) NULL
);
CREATE CLUSTERED INDEX ready_idx ON $table (queue, available_at, created_at) WITH (ALLOW_PAGE_LOCKS = OFF);
ALTER TABLE $table SET (LOCK_ESCALATION = DISABLE);`

// fillQueueSQL makes @n rows that have been due for an hour.
const fillQueueSQL = `SET NOCOUNT ON;
DECLARE @i int = 0, @base datetime2(7) = DATEADD(hour, -1, SYSUTCDATETIME());
WHILE @i < @n
BEGIN
    INSERT INTO $table (id, queue, payload_json, created_at, available_at)
    SELECT TOP (@n - @i) NEWID(), N'api.normal', N'{"id":1234567}', d.at, d.at
    FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS a (k)
    CROSS JOIN (VALUES (0), (10), (20), (30), (40), (50), (60), (70), (80), (90)) AS b (k)
    CROSS JOIN (VALUES (0), (100), (200), (300), (400), (500), (600), (700), (800), (900)) AS c (k)
    CROSS APPLY (SELECT DATEADD(microsecond, @i + a.k + b.k + c.k, @base) AS at) AS d;
    SET @i += 1000;
END;`

// claimSQL is the UPDATE of the broker's claim.
const claimSQL = `WITH ready AS (
    SELECT TOP (@take) m.id, m.payload_json, m.created_at, m.available_at, m.locked_until, m.lock_id, m.attempts
    FROM $table AS m WITH (UPDLOCK, ROWLOCK, READPAST)
    WHERE m.queue = @queue
        AND m.queue + N'.' = @queue + N'.' COLLATE Latin1_General_100_BIN2
        AND m.available_at <= @now
        AND (m.locked_until IS NULL OR m.locked_until <= @now)
    ORDER BY m.available_at, m.created_at
)
UPDATE ready
SET available_at = @until, locked_until = @until, lock_id = @lock_id, attempts = attempts + 1
OUTPUT inserted.id, inserted.attempts, inserted.payload_json INTO @claimed (id, attempts, payload_json);
`

const claimVariables = `SET NOCOUNT ON;
DECLARE @queue nvarchar(200) = N'api.normal', @now datetime2(7) = SYSUTCDATETIME(), @until datetime2(7), @lock_id uniqueidentifier = NEWID();
DECLARE @claimed TABLE (id uniqueidentifier NOT NULL, attempts int NOT NULL, payload_json nvarchar(max) NOT NULL);
SET @until = DATEADD(hour, 1, @now);
`

// cycleSQL does the cycle @n times.
const cycleSQL = claimVariables + `DECLARE @i int = 0, @claims int = 0, @take int = 1, @id uniqueidentifier;
WHILE @i < @n
BEGIN
    INSERT INTO $table (id, queue, payload_json) VALUES (NEWID(), @queue, N'{"id":1234567}');
    SET @now = SYSUTCDATETIME();
    SET @until = DATEADD(hour, 1, @now);
    ` + claimSQL + `
    IF @@ROWCOUNT > 0
    BEGIN
        SELECT @id = id FROM @claimed;
        DELETE FROM $table WHERE id = @id AND lock_id = @lock_id;
        DELETE FROM @claimed;
        SET @claims += 1;
    END;
    SET @i += 1;
END;
SELECT @claims;`

// inClaimBatch is how many cycles a batch does.
const inClaimBatch = 20

// sqlClaims claims in T-SQL.
type sqlClaims struct{ *server }

func openSQLClaims(ctx context.Context) (claimLevel, error) {
	s, err := openServer(ctx, engine.Options{})
	return sqlClaims{s}, err
}

// sqlQueue is a queue table of the engine.
type sqlQueue struct {
	*server

	table string
}

// with puts the table's name into a text.
func (q *sqlQueue) with(text string) string { return strings.ReplaceAll(text, "$table", q.table) }

func (l sqlClaims) queue(ctx context.Context, number int, s situation) (claimQueue, error) {
	q := &sqlQueue{server: l.server, table: fmt.Sprintf("dbo.queue%d", number)}
	if err := q.execAll(ctx, q.with(createQueueSQL)); err != nil {
		return nil, err
	}
	if _, err := q.db.ExecContext(ctx, q.with(fillQueueSQL), sql.Named("n", s.backlog+s.leased+s.locked)); err != nil {
		return nil, err
	}
	claim := claimVariables + q.with(claimSQL)
	for _, n := range parts(s.leased) {
		if _, err := q.db.ExecContext(ctx, claim, sql.Named("take", n)); err != nil {
			return nil, err
		}
	}
	for _, n := range parts(s.locked) {
		c, err := q.db.Conn(ctx) // goes with the server, and its transaction with it
		if err != nil {
			return nil, err
		}
		if err := q.lock(ctx, c, claim, n); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// lock claims rows in a transaction that stays open.
func (q *sqlQueue) lock(ctx context.Context, c *sql.Conn, claim string, n int) error {
	if _, err := c.ExecContext(ctx, "BEGIN TRANSACTION"); err != nil {
		return err
	}
	_, err := c.ExecContext(ctx, claim, sql.Named("take", n))
	return err
}

func (q *sqlQueue) claimer(ctx context.Context, sessions int) (func(context.Context, int, time.Time) (int, error), func() error, error) {
	conns, err := q.sessions(ctx, sessions)
	if err != nil {
		return nil, nil, err
	}
	text := q.with(cycleSQL)
	do := func(ctx context.Context, worker int, deadline time.Time) (int, error) {
		claims := 0
		_, err := until(ctx, deadline, func() error {
			var n int
			err := conns[worker].QueryRowContext(ctx, text, sql.Named("n", inClaimBatch)).Scan(&n)
			claims += n
			return err
		})
		return claims, err
	}
	return do, func() error { return closeAll(conns) }, nil
}

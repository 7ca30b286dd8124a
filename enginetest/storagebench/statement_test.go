package storagebench_test

import (
	"database/sql"
	"testing"

	"loopbroker/enginetest"
)

// BenchmarkStatement runs one statement b.N times in a loop of one batch: what a
// statement costs the engine, without a client. On a machine that does other work
// the processor time says more than the time.
func BenchmarkStatement(b *testing.B) {
	for _, bb := range []struct{ name, declare, statement string }{
		{"loop", "", ";"},
		{"set", "DECLARE @x bigint, @y bigint = 7;", "SET @x = @y + 1;"},
		{"point select", "DECLARE @s int;", "SELECT TOP (1) @s = n FROM dbo.a WHERE id = @i % 1000;"},
		{"insert", "", "INSERT dbo.b (n) VALUES (@i);"},
		{"update", "", "UPDATE dbo.a SET n = n + 1 WHERE id = @i % 1000;"},
		{"insert delete", "", "INSERT dbo.b (n) VALUES (@i); DELETE dbo.b WHERE id = SCOPE_IDENTITY();"},
		{"claim", `DECLARE @queue nvarchar(200) = N'q', @now datetime2(7), @lock_id uniqueidentifier = NEWID(), @take int = 1;
DECLARE @claimed TABLE (id bigint NOT NULL, attempts int NOT NULL);`,
			`SET @now = DATEADD(hour, 1, SYSUTCDATETIME());
WITH ready AS (
    SELECT TOP (@take) m.id, m.available_at, m.locked_until, m.lock_id, m.attempts
    FROM dbo.q AS m WITH (UPDLOCK, ROWLOCK, READPAST)
    WHERE m.queue = @queue AND m.queue + N'.' = @queue + N'.' COLLATE Latin1_General_100_BIN2 AND m.available_at <= @now
        AND (m.locked_until IS NULL OR m.locked_until <= @now)
    ORDER BY m.available_at, m.created_at
)
UPDATE ready SET available_at = SYSUTCDATETIME(), locked_until = NULL, lock_id = @lock_id, attempts = attempts + 1
OUTPUT inserted.id, inserted.attempts INTO @claimed (id, attempts);
DELETE FROM @claimed;`},
	} {
		b.Run(bb.name, func(b *testing.B) {
			db := enginetest.Open(b)
			for _, text := range []string{
				"CREATE TABLE dbo.a (id bigint PRIMARY KEY, n int, s nvarchar(20))",
				"CREATE TABLE dbo.b (id bigint IDENTITY PRIMARY KEY, n int NOT NULL, s nvarchar(20) DEFAULT N'x'); CREATE INDEX ix ON dbo.b (n)",
				`CREATE TABLE dbo.q (id bigint NOT NULL PRIMARY KEY NONCLUSTERED, queue nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL, available_at datetime2(7) NOT NULL,
created_at datetime2(7) NOT NULL, locked_until datetime2(7) NULL, lock_id uniqueidentifier NULL, attempts int NOT NULL); CREATE CLUSTERED INDEX ready_idx ON dbo.q (queue, available_at, created_at);`,
				`DECLARE @i int = 0; WHILE @i < 1000 BEGIN INSERT dbo.a VALUES (@i, 1, N'x'); INSERT dbo.q VALUES (@i, N'q', SYSUTCDATETIME(), SYSUTCDATETIME(), NULL, NULL, 0); SET @i += 1; END`,
			} {
				if _, err := db.ExecContext(b.Context(), text); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			before := cpuTime(b)
			_, err := db.ExecContext(b.Context(), "SET NOCOUNT ON; DECLARE @i bigint = 0;\n"+bb.declare+"\nWHILE @i < @n BEGIN\n"+bb.statement+"\nSET @i += 1;\nEND", sql.Named("n", b.N))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric((cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

package tsql_test

import (
	"fmt"
	"testing"
)

// BenchmarkClaim takes and gives back one request in front of a backlog, and behind
// leased rows. Its cost must not grow with either.
func BenchmarkClaim(b *testing.B) {
	for _, backlog := range []struct{ ready, leased int }{{0, 0}, {1000, 0}, {100000, 0}, {0, 10000}} {
		b.Run(fmt.Sprintf("ready=%d/leased=%d", backlog.ready, backlog.leased), func(b *testing.B) {
			db := deployed(b)
			for _, part := range []struct {
				n     int
				until string
			}{{backlog.ready, "NULL"}, {backlog.leased, "DATEADD(hour, 1, SYSUTCDATETIME())"}} {
				db.exec(fmt.Sprintf(`DECLARE @i int = 0; SET NOCOUNT ON;
WHILE @i < %d
BEGIN
    INSERT INTO [dbo].[asyncresponse_transport_messages] (id, queue, payload_json, available_at, locked_until, lock_id)
    VALUES (NEWID(), N'api.normal', N'{"id":1}', COALESCE(%[2]s, DATEADD(microsecond, 1, SYSUTCDATETIME())), %[2]s, NEWID());
    SET @i += 1;
END;`, part.n, part.until))
			}
			for b.Loop() {
				if _, err := claim(b.Context(), db.DB, 1, 60000); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

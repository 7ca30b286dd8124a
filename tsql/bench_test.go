package tsql_test

import (
	"database/sql"
	"testing"
)

// BenchmarkFireAndForget is one call inside a transaction of its own, through the
// loopback; BenchmarkDirect the same outside a transaction.
func BenchmarkFireAndForget(b *testing.B) {
	benchmarkRequest(b, "BEGIN TRANSACTION; EXEC [dbo].[sp_api_request] @url = N'http://h/path', @wait = 0; COMMIT;")
}

// BenchmarkDirect stores without the loopback.
func BenchmarkDirect(b *testing.B) {
	benchmarkRequest(b, "EXEC [dbo].[sp_api_request] @url = N'http://h/path', @wait = 0;")
}

func benchmarkRequest(b *testing.B, batch string) {
	db := looped(b)
	conn := db.session()
	b.ResetTimer()
	for range b.N {
		if _, err := conn.ExecContext(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkClaimComplete is the worker's side of one request, in batches of 16.
func BenchmarkClaimComplete(b *testing.B) {
	db := looped(b)
	if _, err := db.ExecContext(b.Context(), `DECLARE @i int = 0;
WHILE @i < @n
BEGIN
    EXEC [dbo].[sp_api_request] @url = N'http://h/path', @wait = 0;
    SET @i += 1;
END;`, sql.Named("n", b.N)); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for done := 0; done < b.N; {
		jobs := db.claim(16, 60000)
		for _, j := range jobs {
			db.complete(j, 200, hello(j))
		}
		done += len(jobs)
	}
}

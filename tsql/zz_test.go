package tsql_test

import "testing"

func TestZZ(t *testing.T) {
	db := deployed(t)
	const rows, workers = 400, 8
	db.exec(`DECLARE @i int = 0;
WHILE @i < 400
BEGIN
    EXEC [dbo].[sp_api_request] @url = N'http://h/', @wait = 0;
    SET @i += 1;
END;`)
	got := make(chan []job, workers)
	for range workers {
		go func() {
			var mine []job
			for {
				jobs, err := claim(t.Context(), db.DB, 7, 600000)
				if err != nil {
					t.Errorf("claim: %v", err)
				}
				if len(jobs) == 0 || len(mine) > 400 {
					got <- mine
					return
				}
				mine = append(mine, jobs...)
			}
		}()
	}
	seen := map[int64][]job{}
	for range workers {
		for _, j := range <-got {
			seen[j.RequestID.Int64] = append(seen[j.RequestID.Int64], j)
		}
	}
	for id, js := range seen {
		if len(js) > 1 {
			t.Errorf("%d: %d", id, len(js))
			for i, j := range js {
				if i < 4 {
					t.Logf("%s %s attempts %d queue %d", j.MessageID, j.LockID, j.Attempts, j.QueueMS)
				}
			}
			rows, _ := db.QueryContext(t.Context(), "SELECT CONVERT(nvarchar(50), available_at,121), CONVERT(nvarchar(50), locked_until,121), attempts, CONVERT(nvarchar(50),lock_id), 'by id' FROM dbo.asyncresponse_transport_messages WHERE id = @p1 UNION ALL SELECT CONVERT(nvarchar(50), available_at,121), CONVERT(nvarchar(50), locked_until,121), attempts, CONVERT(nvarchar(50),lock_id), 'by range' FROM dbo.asyncresponse_transport_messages WHERE queue = N'api.normal' AND available_at <= SYSUTCDATETIME() UNION ALL SELECT CONVERT(nvarchar(50), available_at,121), CONVERT(nvarchar(50), locked_until,121), attempts, CONVERT(nvarchar(50),lock_id), 'scan' FROM dbo.asyncresponse_transport_messages WHERE payload_json = @p2", js[0].MessageID, js[0].Payload)
			for rows.Next() {
				var a, b, c, d, e any
				rows.Scan(&a, &b, &c, &d, &e)
				t.Log(a, b, c, d, e)
			}
		}
	}
	t.Log(len(seen))
}

package tsql_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// batchItem is one object of @results.
type batchItem struct {
	Ordinal    int
	ID         int64
	State      string
	Status     int
	Headers    map[string]string
	Body       string
	BodyBase64 []byte `json:"body_base64"`
	ErrorClass string `json:"error_class"`
	Error      string
}

// askBatch runs a batch and returns its code and results.
func askBatch(t testing.TB, q queryer, begin, requests, more string) (int, []batchItem, error) {
	t.Helper()
	var (
		code int
		text *string
		out  []batchItem
	)
	if begin != "" {
		if _, err := q.ExecContext(t.Context(), begin); err != nil {
			return 0, nil, err
		}
	}
	row := q.QueryRowContext(t.Context(), `DECLARE @rc int, @results nvarchar(max), @error nvarchar(2048);
EXEC @rc = [dbo].[sp_api_request_batch] @requests = @p1, @results = @results OUTPUT, @error = @error OUTPUT`+more+`;
SELECT @rc, @results;`, requests)
	if err := row.Scan(&code, &text); err != nil {
		return 0, nil, err
	}
	if text == nil {
		return code, nil, nil
	}
	if err := json.Unmarshal([]byte(*text), &out); err != nil {
		t.Fatalf("results: %v\n%s", err, *text)
	}
	return code, out, nil
}

// TestBatch sends many requests in one call, from inside a transaction and outside,
// and gets the answers in their order.
func TestBatch(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.serve(func(j job) string {
		return fmt.Sprintf(`{"status":200,"headers":{"X":"1"},"body":"%d"}`, len(j.Body))
	})
	const requests = `[{"url":"http://h/0"},{"url":"http://h/1","method":"post","headers":{"A":"b"},"body":"x\"y"},
{"url":"http://h/2","method":"PUT","body_base64":"AAEC","timeout_ms":5,"binary":true},{"url":"http://h/3","idempotency_key":"k"}]`
	for _, begin := range []string{"", "BEGIN TRANSACTION;"} {
		conn := db.session()
		code, items, err := askBatch(t, conn, begin, requests, ", @wait = 20000")
		if err != nil || code != 0 || len(items) != 4 {
			t.Fatalf("%q: got %d, %+v, %v, want 4 answers", begin, code, items, err)
		}
		for i, item := range items {
			want := map[int]string{2: "3"}[i]
			if want == "" {
				want = "0"
			}
			if item.Ordinal != i || item.State != "completed" || item.Status != 200 || item.Body != want || item.Headers["X"] != "1" {
				t.Errorf("%q: item %d: got %+v", begin, i, item)
			}
		}
		if begin != "" {
			must(t, conn, "ROLLBACK")
		}
	}
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_call]"); got != 7 {
		t.Errorf("%d requests are stored, want 7: the key makes one of two", got)
	}
}

// TestBatchModes waits for all or for any.
func TestBatchModes(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.register("http")
	code, items, err := askBatch(t, db, "", `[{"url":"http://h/0"},{"url":"http://h/1"}]`, ", @wait = 0")
	if err != nil || code != 1 || len(items) != 2 || items[0].State != "pending" || items[0].ID == 0 {
		t.Fatalf("got %d, %+v, %v, want two pending", code, items, err)
	}
	served := db.claim(1, 60000)
	db.complete(served[0], 200, hello(served[0]))
	if b := mustAsk(t, db, collectBatch(items[0].ID, 0)); b.Code != 0 {
		t.Errorf("collect the first: got %+v", b)
	}
	db.claim(1, 1) // out of the way
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			jobs, err := claim(t.Context(), db.DB, 1, 60000)
			if err != nil {
				t.Error(err)
				return
			}
			for _, j := range jobs {
				if strings.Contains(j.JSON.String, "/quick") {
					db.complete(j, 200, hello(j))
					return
				}
			}
		}
	}()
	code, items, err = askBatch(t, db, "", `[{"url":"http://h/slow"},{"url":"http://h/quick"}]`, ", @wait = 20000, @mode = N'any'")
	<-done
	if err != nil || code != 0 || items[0].State != "pending" || items[1].State != "completed" {
		t.Errorf("any: got %d, %+v, %v", code, items, err)
	}
}

// TestBatchIsAllOrNothing: what is wrong with one item is said with its place, and
// nothing is stored.
func TestBatchIsAllOrNothing(t *testing.T) {
	t.Parallel()
	db := looped(t)
	good := `{"url":"http://h/"}`
	many := "[" + strings.Repeat(good+",", 1000) + good + "]"
	for _, tt := range []struct {
		name, requests, more string
		number               int32
	}{
		{"no JSON", "x", "", 54076},
		{"an object", good, "", 54076},
		{"none", "[]", "", 54077},
		{"1,001", many, "", 54077},
		{"a number", "[" + good + ",1]", "", 54076},
		{"an unknown member", `[{"url":"http://h/","wait":1}]`, "", 54076},
		{"a bad URL", "[" + good + `,{"url":"gopher://h/"}]`, "", 54076},
		{"a bad header", "[" + good + `,{"url":"http://h/","headers":{"a":"b\nc"}}]`, "", 54076},
		{"no endpoint", "[" + good + `,{"url":"http://evil/"}]`, "", 54076},
		{"a credential", "[" + good + `,{"url":"http://h/","credential":"c"}]`, "", 54076},
		{"two bodies", `[{"url":"http://h/","body":"x","body_base64":"AAEC"}]`, "", 54076},
		{"no base64", `[{"url":"http://h/","body_base64":"A-EC"}]`, "", 54076},
		{"padding inside", `[{"url":"http://h/","body_base64":"A=AA"}]`, "", 54076},
		{"a timeout", `[{"url":"http://h/","timeout_ms":0}]`, "", 54076},
		{"a key", `[{"url":"http://h/","idempotency_key":" k"}]`, "", 54076},
		{"one key, two requests", `[{"url":"http://h/a","idempotency_key":"k"},{"url":"http://h/b","idempotency_key":"k"}]`, "", 54035},
		{"the mode", "[" + good + "]", ", @mode = N'some'", 54078},
		{"the wait", "[" + good + "]", ", @wait = -1", 54030},
	} {
		for _, begin := range []string{"", "BEGIN TRANSACTION;"} {
			conn := db.session()
			_, _, err := askBatch(t, conn, begin, tt.requests, tt.more)
			if errorNumber(err) != tt.number {
				t.Errorf("%s (%s): got %v, want %d", tt.name, begin, err, tt.number)
			}
			_ = conn.Close()
		}
	}
	db.wantRequests(0)
	if got := db.count("SELECT COUNT(*) FROM [dbo].[api_broker_batch]"); got != 0 {
		t.Errorf("%d rows of batches were stored", got)
	}
}

// TestBatchOfAThousand leaves in one loopback call.
func TestBatchOfAThousand(t *testing.T) {
	t.Parallel()
	db := looped(t)
	requests := "[" + strings.Repeat(`{"url":"http://h/"},`, 999) + `{"url":"http://h/"}]`
	code, items, err := askBatch(t, db.session(), "BEGIN TRANSACTION;", requests, ", @wait = 0")
	if err != nil || code != 1 || len(items) != 1000 {
		t.Fatalf("got %d, %d items, %v", code, len(items), err)
	}
	if got := db.count("SELECT COUNT(DISTINCT session_id) FROM [dbo].[api_broker_call]"); got != 1 {
		t.Errorf("%d sessions", got)
	}
	db.wantRequests(1000)
}

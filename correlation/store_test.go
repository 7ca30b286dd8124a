package correlation_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	mssql "github.com/microsoft/go-mssqldb"
	"go.uber.org/goleak"

	"loopbroker"
	"loopbroker/correlation"
	"loopbroker/internal/sqlfake"
	"loopbroker/tsql"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var columns = []string{
	"id", "type", "state", "json_in", "json_out", "body_out", "content_type", "http_status", "error_class", "error_message", "ms_error", "lane", "requested_by",
	"attempts", "max_attempts", "worker", "created_at", "expires_at", "completed_at", "queue_ms", "dns_ms", "connect_ms", "tls_ms", "first_byte_ms", "total_ms",
}

var created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// record is the row of a request in the given state.
func record(state string) sqlfake.Answer {
	row := []driver.Value{
		int64(7), "http", state, "{}", nil, nil, nil, nil, nil, nil, nil, "api.normal", "sa",
		int64(1), int64(3), nil, created, created.Add(time.Hour), nil, nil, nil, nil, nil, nil, nil,
	}
	if state == "completed" || state == "failed" {
		row = []driver.Value{
			int64(7), "http", state, "{}", `{"status":200}`, []byte{1}, "image/png", int64(200), nil, nil, nil, "api.normal", "sa",
			int64(2), int64(3), "w1", created, created.Add(time.Hour), created.Add(time.Second), int64(1), int64(2), int64(3), int64(4), int64(5), int64(6),
		}
	}
	if state == "failed" {
		row[7], row[8], row[9], row[10] = nil, "dns", "m", int64(31625)
	}
	return sqlfake.Answer{Columns: columns, Rows: [][]driver.Value{row}}
}

// database answers the calls of each kind in turn; the last answer repeats.
type database struct {
	answers map[string][]sqlfake.Answer

	mu    sync.Mutex
	calls []sqlfake.Call // guarded by mu
	count map[string]int // guarded by mu
}

// store returns a store over the database, in the schema dbo.
func (d *database) store(t *testing.T) *correlation.Store {
	t.Helper()
	schema, err := tsql.NewSchema("")
	if err != nil {
		t.Fatal(err)
	}
	d.count = map[string]int{}
	db := sqlfake.Open(func(_ context.Context, c sqlfake.Call) sqlfake.Answer {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.calls = append(d.calls, c)
		kind := "request"
		if strings.HasPrefix(c.Text, "[dbo].[") {
			kind = strings.Trim(strings.TrimPrefix(c.Text, "[dbo]."), "[]")
		}
		list := d.answers[kind]
		if len(list) == 0 {
			t.Errorf("unexpected call of %s", kind)
			return sqlfake.Answer{Err: errors.New("unexpected")}
		}
		d.count[kind]++
		return list[min(d.count[kind], len(list))-1]
	})
	t.Cleanup(func() { _ = db.Close() })
	s, err := correlation.New(db, schema, correlation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// once is a database that answers one kind of call.
func once(kind string, answers ...sqlfake.Answer) *database {
	return &database{answers: map[string][]sqlfake.Answer{kind: answers}}
}

// bubble runs f in fake time with a store over d.
func bubble(t *testing.T, d *database, f func(t *testing.T, s *correlation.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, d.store(t)) })
}

var (
	stored   = sqlfake.Answer{Status: 1, Outs: map[string]any{"id": int64(7)}}
	deadlock = sqlfake.Answer{Err: mssql.Error{Number: 1205, Class: 13, Message: "m"}}
	cut      = sqlfake.Answer{Err: io.ErrUnexpectedEOF}
)

func TestStore_Enqueue(t *testing.T) {
	t.Parallel()

	plain := loopbroker.Request{Type: "http", JSON: "{}"}
	keyed := plain
	keyed.IdempotencyKey = "k"
	tests := []struct {
		name    string
		request loopbroker.Request
		answers []sqlfake.Answer
		calls   int
		want    error
	}{
		{"stored", plain, []sqlfake.Answer{stored}, 1, nil},
		{"key was known and answered", keyed, []sqlfake.Answer{{Status: 0, Outs: map[string]any{"id": int64(7)}}}, 1, nil},
		{"deadlock", plain, []sqlfake.Answer{deadlock, deadlock, stored}, 3, nil},
		{"deadlock for ever", plain, []sqlfake.Answer{deadlock}, 6, mssql.Error{Number: 1205, Class: 13, Message: "m"}},
		{"cut without a key", plain, []sqlfake.Answer{cut, stored}, 1, loopbroker.ErrOutcomeUnknown},
		{"cut with a key", keyed, []sqlfake.Answer{cut, stored}, 2, nil},
		{"refused", plain, []sqlfake.Answer{{Err: mssql.Error{Number: 54042, Class: 16}}}, 1, loopbroker.ErrInvalid},
		{"too large", plain, []sqlfake.Answer{{Err: mssql.Error{Number: 54040, Class: 16}}}, 1, loopbroker.ErrTooLarge},
		{"key conflict", keyed, []sqlfake.Answer{{Err: mssql.Error{Number: 54035, Class: 16}}}, 1, loopbroker.ErrIdempotencyConflict},
		{"not sent", plain, []sqlfake.Answer{{Status: 5, Outs: map[string]any{"error": "why"}}}, 1, loopbroker.ErrNotSent},
		{"unknown", plain, []sqlfake.Answer{{Status: 6}}, 1, loopbroker.ErrOutcomeUnknown},
		{"no id", plain, []sqlfake.Answer{{Status: 1}}, 1, loopbroker.ErrSchema},
		{"invalid", loopbroker.Request{}, nil, 0, loopbroker.ErrInvalid},
		{"lane of those who wait", loopbroker.Request{Type: "x", JSON: "{}", Lane: loopbroker.LaneWait}, nil, 0, loopbroker.ErrInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := once(tsql.ProcBrokerRequest, tt.answers...)
			bubble(t, d, func(t *testing.T, s *correlation.Store) {
				id, err := s.Enqueue(t.Context(), tt.request)
				var server mssql.Error
				if errors.As(tt.want, &server) {
					var got mssql.Error
					if !errors.As(err, &got) || got.Number != server.Number {
						t.Errorf("Enqueue = %v, want %v", err, tt.want)
					}
				} else if !errors.Is(err, tt.want) {
					t.Errorf("Enqueue = %v, want %v", err, tt.want)
				}
				if tt.want == nil && id != 7 {
					t.Errorf("id = %d, want 7", id)
				}
				if len(d.calls) != tt.calls {
					t.Errorf("%d calls, want %d", len(d.calls), tt.calls)
				}
			})
		})
	}
}

// fullReply is the reply in the row of a completed request.
var fullReply = loopbroker.Reply{
	State: loopbroker.StateCompleted, HTTPStatus: 200, JSON: `{"status":200}`, Body: []byte{1}, ContentType: "image/png", Attempts: 2, Worker: "w1",
	Timings: loopbroker.Timings{
		Queue: time.Millisecond, DNS: 2 * time.Millisecond, Connect: 3 * time.Millisecond, TLS: 4 * time.Millisecond,
		FirstByte: 5 * time.Millisecond, Total: 6 * time.Millisecond,
	},
}

func TestStore_Reply(t *testing.T) {
	t.Parallel()

	failed := fullReply
	failed.State, failed.HTTPStatus, failed.ErrorClass, failed.ErrorMessage, failed.MSError = loopbroker.StateFailed, 0, loopbroker.ErrorClassDNS, "m", 31625
	tests := []struct {
		name    string
		answers []sqlfake.Answer
		want    loopbroker.Reply
		err     error
	}{
		{"completed", []sqlfake.Answer{record("completed")}, fullReply, nil},
		{"failed", []sqlfake.Answer{record("failed")}, failed, nil},
		{"queued", []sqlfake.Answer{record("queued")}, loopbroker.Reply{}, loopbroker.ErrPending},
		{"running", []sqlfake.Answer{record("running")}, loopbroker.Reply{}, loopbroker.ErrPending},
		{"unknown", []sqlfake.Answer{{Columns: columns}}, loopbroker.Reply{}, loopbroker.ErrUnknownRequest},
		{"after faults", []sqlfake.Answer{deadlock, cut, record("completed")}, fullReply, nil},
		{"other columns", []sqlfake.Answer{{Columns: []string{"id"}, Rows: [][]driver.Value{{int64(7)}}}}, loopbroker.Reply{}, loopbroker.ErrSchema},
		{"state of another version", []sqlfake.Answer{record("paused")}, loopbroker.Reply{}, loopbroker.ErrInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, once("request", tt.answers...), func(t *testing.T, s *correlation.Store) {
				got, err := s.Reply(t.Context(), 7)
				if !errors.Is(err, tt.err) {
					t.Errorf("Reply = %v, want %v", err, tt.err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("Reply (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestStore_Get(t *testing.T) {
	t.Parallel()

	got, err := once("request", record("completed")).store(t).Get(t.Context(), 7)
	want := correlation.Request{
		ID: 7, Type: "http", State: loopbroker.StateCompleted, Lane: loopbroker.LaneNormal, RequestedBy: "sa", Attempts: 2, MaxAttempts: 3,
		CreatedAt: created, ExpiresAt: created.Add(time.Hour), CompletedAt: created.Add(time.Second),
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Get: %v (-want +got):\n%s", err, diff)
	}
}

func TestStore_Collect(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name   string
		status int
		err    error
	}{
		{"completed", 0, nil},
		{"pending", 1, loopbroker.ErrPending},
		{"failed", 2, nil},
		{"no worker", 3, loopbroker.ErrNoWorker},
		{"too many waiters", 4, loopbroker.ErrTooManyWaiters},
		{"unknown", 7, loopbroker.ErrUnknownRequest},
		{"code of another version", 99, loopbroker.ErrSchema},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := &database{answers: map[string][]sqlfake.Answer{tsql.ProcCollect: {deadlock, {Status: tt.status}}, "request": {record("completed")}}}
			bubble(t, d, func(t *testing.T, s *correlation.Store) {
				got, err := s.Collect(t.Context(), 7, 5*time.Second)
				if !errors.Is(err, tt.err) || (tt.err == nil) != (err == nil) {
					t.Errorf("Collect = %v, want %v", err, tt.err)
				}
				if tt.err == nil && got.HTTPStatus != 200 {
					t.Errorf("reply = %+v", got)
				}
				first, second := d.calls[0].Args["wait"].(int64), d.calls[1].Args["wait"].(int64)
				if first != 5000 || second > first {
					t.Errorf("waits of %d and %d ms, want 5000 and the rest of it", first, second)
				}
			})
		})
	}
	if _, err := once("").store(t).Collect(t.Context(), 7, -1); !errors.Is(err, loopbroker.ErrInvalid) {
		t.Errorf("Collect with a negative wait = %v, want ErrInvalid", err)
	}
}

func TestStore_Await(t *testing.T) {
	t.Parallel()

	t.Run("reply comes", func(t *testing.T) {
		t.Parallel()
		d := once("request", record("queued"), record("running"), deadlock, record("running"), record("completed"))
		bubble(t, d, func(t *testing.T, s *correlation.Store) {
			got, err := s.Await(t.Context(), 7)
			if err != nil || got.HTTPStatus != 200 || len(d.calls) != 5 {
				t.Errorf("Await = %+v, %v after %d calls, want the reply after 5", got, err, len(d.calls))
			}
		})
	})
	t.Run("nobody answers", func(t *testing.T) {
		t.Parallel()
		d := once("request", record("queued"))
		bubble(t, d, func(t *testing.T, s *correlation.Store) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			start := time.Now()
			_, err := s.Await(ctx, 7)
			if !errors.Is(err, loopbroker.ErrPending) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Await = %v, want ErrPending and the context's end", err)
			}
			if got := time.Since(start); got != time.Minute {
				t.Errorf("ended after %s, want 1m", got)
			}
			if n := len(d.calls); n < 240 || n > 260 {
				t.Errorf("looked %d times in a minute, want about 250", n)
			}
		})
	})
	t.Run("unknown", func(t *testing.T) {
		t.Parallel()
		bubble(t, once("request", sqlfake.Answer{Columns: columns}), func(t *testing.T, s *correlation.Store) {
			if _, err := s.Await(t.Context(), 7); !errors.Is(err, loopbroker.ErrUnknownRequest) {
				t.Errorf("Await = %v, want ErrUnknownRequest", err)
			}
		})
	})
}

func TestOptions_Validate(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name string
		opts correlation.Options
		want string
	}{
		{"defaults", correlation.Options{}, ""},
		{"poll", correlation.Options{MinPoll: time.Hour}, "need 0 < MinPoll <= MaxPoll, got 1h0m0s and 250ms"},
		{"two faults", correlation.Options{Attempts: -1, RetryBase: -1}, "need Attempts >= 1, got -1\nneed 0 < RetryBase <= RetryCap, got -1ns and 2s"},
	}
	for _, tt := range tests {
		got := ""
		if err := tt.opts.WithDefaults().Validate(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: Validate() = %q, want %q", tt.name, got, tt.want)
		}
	}
}

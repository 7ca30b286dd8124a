package worker_test

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker"
	"loopbroker/internal/sqlfake"
	"loopbroker/tsql"
	"loopbroker/worker"
)

// script answers the calls of one store and notes them.
type script struct {
	answers map[string]sqlfake.Answer // by procedure

	mu    sync.Mutex
	calls []sqlfake.Call // guarded by mu
}

// store returns a store over the script, in the schema "app".
func (s *script) store(t *testing.T) *worker.SQLStore {
	t.Helper()
	schema, err := tsql.NewSchema("app")
	if err != nil {
		t.Fatal(err)
	}
	db := sqlfake.Open(func(_ context.Context, c sqlfake.Call) sqlfake.Answer {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls = append(s.calls, c)
		a, ok := s.answers[strings.TrimSuffix(strings.TrimPrefix(c.Text, "[app].["), "]")]
		if !ok {
			t.Errorf("unexpected call of %s", c.Text)
		}
		return a
	})
	t.Cleanup(func() { _ = db.Close() })
	return worker.NewSQLStore(db, schema)
}

var (
	message = mssql.UniqueIdentifier{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	token   = mssql.UniqueIdentifier{16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	lease1  = loopbroker.Lease{RequestID: 7, MessageID: loopbroker.UUID(message), Token: loopbroker.UUID(token)}
)

// wire is an identifier in the order in which the server sends it.
func wire(u mssql.UniqueIdentifier) driver.Value {
	v, err := u.Value()
	if err != nil {
		panic(err) // never
	}
	return v
}

func TestSQLStore_Claim(t *testing.T) {
	t.Parallel()

	columns := []string{
		"message_id", "lock_id", "lane", "attempts", "queue_ms", "payload_json", "request_id", "type", "json_in", "body_in", "load",
		"max_attempts", "attempt_timeout_ms", "expires_in_ms", "expired", "requested_by", "created_at", "age_ms", "something_new",
	}
	row := func(request, kind, text, body, load driver.Value, expired bool) []driver.Value {
		return []driver.Value{
			wire(message), wire(token), "api.wait", int64(2), int64(1500), "{}", request, kind, text, body, load,
			int64(3), int64(30000), int64(9), expired, "sa", time.Now(), int64(2500), "x",
		}
	}
	s := &script{answers: map[string]sqlfake.Answer{tsql.ProcClaim: {Columns: columns, Rows: [][]driver.Value{
		row(int64(7), "http", `{"url":"x"}`, []byte{1}, false, false),
		row(int64(7), "http", nil, nil, true, true),
		row(nil, nil, nil, nil, nil, false),
		row(int64(8), nil, nil, nil, nil, false),
	}}}}
	got, err := s.store(t).Claim(t.Context(), loopbroker.ClaimRequest{N: 5, Lease: 1500 * time.Microsecond, Types: []string{"file", "http"}})
	if err != nil {
		t.Fatal(err)
	}
	job := loopbroker.Job{
		RequestID: 7, Type: "http", JSON: `{"url":"x"}`, Body: []byte{1}, Attempt: 2, MaxAttempts: 3, AttemptTimeout: 30 * time.Second,
		Queued: 1500 * time.Millisecond, Age: 2500 * time.Millisecond, RequestedBy: "sa",
	}
	deferred := job
	deferred.JSON, deferred.Body, deferred.Expired = "", nil, true
	orphan := lease1
	orphan.RequestID = 0
	want := []loopbroker.Delivery{
		{Lease: lease1, Lane: loopbroker.LaneWait, Job: job},
		{Lease: lease1, Lane: loopbroker.LaneWait, Job: deferred, Deferred: true},
		{Lease: orphan, Lane: loopbroker.LaneWait, Poison: "the queue row names no request"},
		{Lease: orphan, Lane: loopbroker.LaneWait, Poison: "the queue row names request 8, which is gone"},
	}
	if diff := cmp.Diff(loopbroker.Claimed{Deliveries: want}, got); diff != "" {
		t.Errorf("Claim (-want +got):\n%s", diff)
	}
	if args := s.calls[0].Args; args["n"] != int64(5) || args["lease_ms"] != int64(2) || args["types"] != "file,http" {
		t.Errorf("args = %v, want n 5, a lease rounded up to 2 ms and the types", args)
	}
}

// withBody is a reply that is stored by itself.
func withBody() loopbroker.Reply {
	return loopbroker.Reply{
		State: loopbroker.StateCompleted, HTTPStatus: 200, JSON: "{}", Body: []byte{1}, ContentType: "image/png", Attempts: 1, Worker: "w",
		Timings: loopbroker.Timings{Queue: time.Second, DNS: time.Millisecond, Total: 1500 * time.Microsecond},
	}
}

func TestSQLStore_CompleteOne(t *testing.T) {
	t.Parallel()

	for status, want := range map[int]loopbroker.Settlement{0: loopbroker.Settled, 1: loopbroker.SettledLost, 2: loopbroker.SettledAnswered} {
		s := &script{answers: map[string]sqlfake.Answer{tsql.ProcComplete: {Status: status}}}
		got, err := s.store(t).Complete(t.Context(), []loopbroker.Completion{{Lease: lease1, Reply: withBody()}})
		if err != nil || !slices.Equal(got, []loopbroker.Settlement{want}) {
			t.Errorf("status %d: Complete = %v, %v, want %s", status, got, err, want)
		}
		wantArgs := map[string]any{
			"message_id": message, "lock_id": token, "request_id": int64(7), "state": "completed", "http_status": int64(200),
			"error_class": nil, "error_message": nil, "ms_error": nil, "json_out": "{}", "body_out": []byte{1}, "content_type": "image/png",
			"attempts": int64(1), "worker": "w", "queue_ms": int64(1000), "dns_ms": int64(1), "connect_ms": nil, "tls_ms": nil,
			"first_byte_ms": nil, "total_ms": int64(1),
		}
		if diff := cmp.Diff(wantArgs, s.calls[0].Args); diff != "" {
			t.Errorf("args (-want +got):\n%s", diff)
		}
	}
	s := &script{answers: map[string]sqlfake.Answer{tsql.ProcComplete: {Status: 9}}}
	if _, err := s.store(t).Complete(t.Context(), []loopbroker.Completion{{Lease: lease1, Reply: withBody()}}); !errors.Is(err, loopbroker.ErrSchema) {
		t.Errorf("status 9: Complete = %v, want ErrSchema", err)
	}
}

// completions returns n completions with small texts.
func completions(n int) []loopbroker.Completion {
	out := make([]loopbroker.Completion, n)
	for i := range out {
		l := lease1
		l.RequestID = int64(i + 1)
		l.MessageID[0] = byte(100 + i)
		out[i] = loopbroker.Completion{Lease: l, Reply: loopbroker.CompletedReply(loopbroker.Reply{JSON: `"ü\n"`})}
	}
	return out
}

func TestSQLStore_CompleteShares(t *testing.T) {
	t.Parallel()

	batch := completions(5)
	batch[1].Reply.Body = []byte{1}
	batch[3].Reply.JSON = strings.Repeat("x", 100<<10)
	refused := mssql.UniqueIdentifier(batch[2].Lease.MessageID)
	answered := mssql.UniqueIdentifier(batch[4].Lease.MessageID)
	s := &script{answers: map[string]sqlfake.Answer{
		tsql.ProcComplete: {},
		tsql.ProcCompleteBatch: {
			Columns: []string{"message_id", "code"},
			Rows:    [][]driver.Value{{wire(refused), int64(1)}, {wire(answered), int64(2)}},
		},
	}}
	got, err := s.store(t).Complete(t.Context(), batch)
	want := []loopbroker.Settlement{loopbroker.Settled, loopbroker.Settled, loopbroker.SettledLost, loopbroker.Settled, loopbroker.SettledAnswered}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Complete = %v, %v, want %v", got, err, want)
	}
	if len(s.calls) != 3 {
		t.Fatalf("%d calls, want 3", len(s.calls))
	}
	var sent []map[string]any
	if err := json.Unmarshal([]byte(s.calls[0].Args["replies"].(string)), &sent); err != nil {
		t.Fatal(err)
	}
	first := map[string]any{
		"message_id": batch[0].Lease.MessageID.String(), "lock_id": lease1.Token.String(), "request_id": 1.0, "state": "completed",
		"json_out": `"ü\n"`, "queue_ms": 0.0, "total_ms": 0.0,
	}
	if len(sent) != 3 {
		t.Fatalf("%d replies shared a call, want 3", len(sent))
	}
	if diff := cmp.Diff(first, sent[0]); diff != "" {
		t.Errorf("the first reply (-want +got):\n%s", diff)
	}
}

func TestSQLStore_Refuses(t *testing.T) {
	t.Parallel()

	store := (&script{}).store(t)
	queued := completions(1)
	queued[0].Reply.State = loopbroker.StateQueued
	if _, err := store.Complete(t.Context(), queued); !errors.Is(err, loopbroker.ErrInvalid) {
		t.Errorf("Complete of a queued reply = %v, want ErrInvalid", err)
	}
	nameless := completions(1)
	nameless[0].Lease.RequestID = 0
	if _, err := store.Complete(t.Context(), nameless); !errors.Is(err, loopbroker.ErrInvalid) {
		t.Errorf("Complete without a request = %v, want ErrInvalid", err)
	}
	if _, err := store.Claim(t.Context(), loopbroker.ClaimRequest{Lease: time.Second, Types: []string{"http"}}); !errors.Is(err, loopbroker.ErrInvalid) {
		t.Errorf("Claim of none = %v, want ErrInvalid", err)
	}
}

func TestSQLStore_LeaseCalls(t *testing.T) {
	t.Parallel()

	s := &script{answers: map[string]sqlfake.Answer{
		tsql.ProcRelease:    {Status: 1},
		tsql.ProcDeadLetter: {Status: 0},
		tsql.ProcLoad:       {Columns: []string{"json_in", "body_in"}, Rows: [][]driver.Value{{"{}", []byte{2}}}},
	}}
	store := s.store(t)
	if got, err := store.Release(t.Context(), lease1, 2*time.Second, true); err != nil || got != loopbroker.SettledLost {
		t.Errorf("Release = %v, %v, want lease lost", got, err)
	}
	if diff := cmp.Diff(map[string]any{"message_id": message, "lock_id": token, "delay_ms": int64(2000), "refund": true}, s.calls[0].Args); diff != "" {
		t.Errorf("args of release (-want +got):\n%s", diff)
	}

	failed := loopbroker.Reply{State: loopbroker.StateFailed, ErrorClass: loopbroker.ErrorClassDNS, ErrorMessage: strings.Repeat("😀", 2000)}
	poison := lease1
	poison.RequestID = 0
	if got, err := store.DeadLetter(t.Context(), loopbroker.Completion{Lease: poison, Reply: failed}, strings.Repeat("r", 3000)); err != nil || got != loopbroker.Settled {
		t.Errorf("DeadLetter = %v, %v, want stored", got, err)
	}
	args := s.calls[1].Args
	if args["request_id"] != nil || args["error_class"] != "dns" || len(args["reason"].(string)) != 2048 || args["error_message"] != strings.Repeat("😀", 1024) {
		t.Errorf("args of dead letter: %v", slices.Sorted(maps.Keys(args)))
	}
	if _, ok := args["state"]; ok {
		t.Error("dead letter has no parameter @state")
	}

	if text, body, err := store.Load(t.Context(), lease1); err != nil || text != "{}" || string(body) != "\x02" {
		t.Errorf("Load = %q, %v, %v", text, body, err)
	}
	s.answers[tsql.ProcLoad] = sqlfake.Answer{Columns: []string{"json_in", "body_in"}}
	if _, _, err := store.Load(t.Context(), lease1); !errors.Is(err, loopbroker.ErrLeaseLost) {
		t.Errorf("Load of nothing = %v, want ErrLeaseLost", err)
	}
}

func TestSQLStore_Registry(t *testing.T) {
	t.Parallel()

	lost := lease1
	lost.MessageID[0] = 99
	s := &script{answers: map[string]sqlfake.Answer{
		tsql.ProcRegister:   {},
		tsql.ProcUnregister: {},
		tsql.ProcHeartbeat: {
			Columns: []string{"message_id", "status"}, Status: 1,
			Rows: [][]driver.Value{{wire(mssql.UniqueIdentifier(lost.MessageID)), "lost"}, {wire(message), "cancelled"}},
		},
		tsql.ProcJanitor: {Columns: []string{"expired", "buried", "purged"}, Rows: [][]driver.Value{{int64(1), int64(2), int64(3)}}},
	}}
	store := s.store(t)
	info := loopbroker.WorkerInfo{ID: "w", Host: "h", PID: 5, Version: "v", Slots: 4, Types: []string{"file", "http"}}
	if err := store.Register(t.Context(), info); err != nil {
		t.Errorf("Register: %v", err)
	}
	wantArgs := map[string]any{
		"worker_id": "w", "host": "h", "pid": int64(5), "version": "v", "slots": int64(4), "types": "file,http", "schema_version": int64(tsql.SchemaVersion),
	}
	if diff := cmp.Diff(wantArgs, s.calls[0].Args); diff != "" {
		t.Errorf("args of register (-want +got):\n%s", diff)
	}
	if err := store.Unregister(t.Context(), "w"); err != nil {
		t.Errorf("Unregister: %v", err)
	}

	got, err := store.Heartbeat(t.Context(), loopbroker.Beat{Worker: "w", Busy: 2, Leases: []loopbroker.Lease{lease1, lost}, Life: time.Second})
	want := loopbroker.BeatResult{Unregistered: true, Lost: []loopbroker.Lease{lost}, Cancelled: []loopbroker.Lease{lease1}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Heartbeat: %v (-want +got):\n%s", err, diff)
	}
	wantLeases := `[{"message_id":"01020304-0506-0708-090a-0b0c0d0e0f10","lock_id":"100f0e0d-0c0b-0a09-0807-060504030201"},` +
		`{"message_id":"63020304-0506-0708-090a-0b0c0d0e0f10","lock_id":"100f0e0d-0c0b-0a09-0807-060504030201"}]`
	if diff := cmp.Diff(map[string]any{"worker_id": "w", "busy": int64(2), "lease_ms": int64(1000), "leases": wantLeases, "hosts": nil}, s.calls[2].Args); diff != "" {
		t.Errorf("args of heartbeat (-want +got):\n%s", diff)
	}
	if _, err := store.Heartbeat(t.Context(), loopbroker.Beat{Worker: "w", Life: time.Second}); err != nil || s.calls[3].Args["leases"] != nil {
		t.Errorf("Heartbeat without leases: %v, %v", err, s.calls[3].Args)
	}

	swept, err := store.Sweep(t.Context(), 10)
	if err != nil || swept != (loopbroker.Swept{Elected: true, Expired: 1, Buried: 2, Purged: 3}) {
		t.Errorf("Sweep = %+v, %v", swept, err)
	}
	s.answers[tsql.ProcJanitor] = sqlfake.Answer{Status: 1}
	if swept, err := store.Sweep(t.Context(), 10); err != nil || swept.Elected {
		t.Errorf("Sweep beside another = %+v, %v", swept, err)
	}
}

// TestSQLStore_SweepDiscards makes sure that a connection which may hold the
// janitor's lock does not go back to the pool.
func TestSQLStore_SweepDiscards(t *testing.T) {
	t.Parallel()

	s := &script{answers: map[string]sqlfake.Answer{tsql.ProcJanitor: {Err: mssql.Error{Number: 1222, Class: 16}}, tsql.ProcUnregister: {}}}
	store := s.store(t)
	if _, err := store.Sweep(t.Context(), 10); err == nil {
		t.Error("Sweep = nil, want the error")
	}
	if err := store.Unregister(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	if a, b := s.calls[0].Conn, s.calls[1].Conn; a == b {
		t.Errorf("both calls went through connection %d", a)
	}
}

func TestSQLStore_Errors(t *testing.T) {
	t.Parallel()

	for number, want := range map[int32]error{54060: loopbroker.ErrSchema, 54061: loopbroker.ErrInvalid, 54063: loopbroker.ErrInvalid} {
		s := &script{answers: map[string]sqlfake.Answer{tsql.ProcRegister: {Err: mssql.Error{Number: number, Class: 16, Message: "m"}}}}
		err := s.store(t).Register(t.Context(), loopbroker.WorkerInfo{ID: "w"})
		var server mssql.Error
		if !errors.Is(err, want) || !errors.As(err, &server) {
			t.Errorf("%d: Register = %v, want %v", number, err, want)
		}
	}
}

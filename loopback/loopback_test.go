package loopback_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mssql "github.com/microsoft/go-mssqldb"
	"go.uber.org/goleak"

	"loopbroker"
	"loopbroker/internal/sqlfake"
	"loopbroker/loopback"
	"loopbroker/tsql"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a database with a link.
type server struct {
	link  []driver.Value                    // the link's row; nil if there is none
	send  func(sqlfake.Call) sqlfake.Answer // the answer to a request
	lost  bool                              // a request goes with its transaction
	setup sqlfake.Answer                    // the answer to a setup

	diagnosis []driver.Value // of the server; nil for a good one
	refusal   int64          // of an impersonated call; 0 for the right one

	mu    sync.Mutex
	calls []sqlfake.Call // guarded by mu
}

// goodLink is a link as the setup makes it.
func goodLink() []driver.Value {
	return []driver.Value{"LinkedProjServer", "MSOLEDBSQL", "tcp:127.0.0.1,1433", "Encrypt=yes;TrustServerCertificate=yes;", true, false, false, int64(2), int64(2)}
}

// goodDiagnosis is a server as it should be.
func goodDiagnosis() []driver.Value {
	return []driver.Value{"16.0", "Developer", int64(16), int64(160), true, false, "sa", int64(1), int64(0)}
}

// refusedWith is the number that an impersonated call is refused with.
func refusedWith(number int64) int64 {
	if number == 0 {
		return 54002
	}
	return number
}

var linkColumns = []string{
	"name", "provider", "data_source", "provider_string", "is_rpc_out_enabled", "is_data_access_enabled",
	"is_remote_proc_transaction_promotion_enabled", "connect_timeout", "query_timeout",
}

var requestColumns = []string{
	"id", "type", "state", "json_in", "json_out", "body_out", "content_type", "http_status", "error_class", "error_message", "ms_error", "lane", "requested_by",
	"attempts", "max_attempts", "worker", "created_at", "expires_at", "completed_at", "queue_ms", "dns_ms", "connect_ms", "tls_ms", "first_byte_ms", "total_ms",
}

// open returns a database that answers like the server.
func (s *server) open(t *testing.T) (*sql.DB, tsql.Schema) {
	t.Helper()
	schema, err := tsql.NewSchema("")
	if err != nil {
		t.Fatal(err)
	}
	db := sqlfake.Open(func(_ context.Context, c sqlfake.Call) sqlfake.Answer {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls = append(s.calls, c)
		switch c.Text {
		case "BEGIN", "COMMIT", "ROLLBACK":
			return sqlfake.Answer{}
		case schema.Object(tsql.ProcSetup):
			return s.setup
		case schema.Object(tsql.ProcBrokerRequest):
			if s.send != nil {
				return s.send(c)
			}
			return sqlfake.Answer{Status: 1, Outs: map[string]any{"id": int64(41)}}
		case schema.Statement(tsql.StatementDiagnosis):
			return sqlfake.Answer{
				Columns: []string{"product_version", "edition", "major_version", "compatibility_level", "rcsi", "snapshot", "login", "mapped", "everybody"},
				Rows:    [][]driver.Value{slices.Concat(s.diagnosis, goodDiagnosis()[len(s.diagnosis):])},
			}
		case schema.Statement(tsql.StatementImpersonated):
			return sqlfake.Answer{Columns: []string{"number", "message"}, Rows: [][]driver.Value{{refusedWith(s.refusal), "refused"}}}
		case schema.Statement(tsql.StatementLink):
			a := sqlfake.Answer{Columns: linkColumns}
			if s.link != nil {
				a.Rows = [][]driver.Value{s.link}
			}
			return a
		case schema.Statement(tsql.StatementRequest):
			a := sqlfake.Answer{Columns: requestColumns}
			if !s.lost {
				row := make([]driver.Value, len(requestColumns))
				row[0], row[1], row[2] = int64(41), "doctor", "queued"
				a.Rows = [][]driver.Value{row}
			}
			return a
		default:
			t.Errorf("unexpected call of %s", c.Text)
			return sqlfake.Answer{Err: errors.New("unexpected")}
		}
	})
	t.Cleanup(func() { _ = db.Close() })
	return db, schema
}

func TestProvision(t *testing.T) {
	t.Parallel()

	s := &server{}
	db, schema := s.open(t)
	opts := loopback.Options{User: "lb", Password: "p'w", Server: "L", LocalLogin: "sa", DataSource: "tcp:h,1", CheckCertificate: true, Recreate: true, Encrypt: "strict"}
	if err := loopback.Provision(t.Context(), db, schema, opts); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"user": "lb", "pass": "p'w", "server": "L", "local_login": "sa", "data_source": "tcp:h,1", "encrypt": "strict", "trust_certificate": false, "recreate": true,
	}
	if diff := cmp.Diff(want, s.calls[0].Args); diff != "" {
		t.Errorf("args (-want +got):\n%s", diff)
	}
	if strings.Contains(s.calls[0].Text, "p'w") {
		t.Error("the password is in the text of the call")
	}

	if err := loopback.Provision(t.Context(), db, schema, loopback.Options{User: "lb", Password: "x"}); err != nil {
		t.Fatal(err)
	}
	want = map[string]any{"user": "lb", "pass": "x", "encrypt": "yes", "trust_certificate": true, "recreate": false}
	if diff := cmp.Diff(want, s.calls[1].Args); diff != "" {
		t.Errorf("args with defaults (-want +got):\n%s", diff)
	}
}

func TestProvision_Fails(t *testing.T) {
	t.Parallel()

	for number, want := range map[int32]error{54050: loopbroker.ErrInvalid, 54052: loopbroker.ErrInvalid, 54053: loopbroker.ErrNoLoopback, 54004: loopbroker.ErrNoLoopback} {
		s := &server{setup: sqlfake.Answer{Err: mssql.Error{Number: number, Class: 16, Message: "m"}}}
		db, schema := s.open(t)
		err := loopback.Provision(t.Context(), db, schema, loopback.Options{User: "lb", Password: "hunter2"})
		if !errors.Is(err, want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%d: Provision = %v, want %v", number, err, want)
		}
	}
}

func TestOptions_Validate(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name string
		opts loopback.Options
		want string
	}{
		{"good", loopback.Options{User: "u", Password: "p"}, ""},
		{"nothing", loopback.Options{}, "need User\nneed Password"},
		{"long", loopback.Options{User: strings.Repeat("u", 129), Password: "p"}, "need User of at most 128 characters"},
		{"encrypt", loopback.Options{User: "u", Password: "hunter2", Encrypt: "maybe"}, `need Encrypt of yes, no or strict, got "maybe"`},
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
	db, schema := (&server{}).open(t)
	if err := loopback.Provision(t.Context(), db, schema, loopback.Options{}); !errors.Is(err, loopbroker.ErrInvalid) {
		t.Errorf("Provision without a user = %v, want ErrInvalid", err)
	}
}

// severities returns the checks that are not OK.
func severities(f loopback.Findings) map[string]loopback.Severity {
	out := map[string]loopback.Severity{}
	for _, one := range f {
		if one.Severity != loopback.OK {
			out[one.Check] = one.Severity
		}
	}
	return out
}

func TestDoctor(t *testing.T) {
	t.Parallel()

	change := func(i int, v driver.Value) []driver.Value {
		l := goodLink()
		l[i] = v
		return l
	}
	failAll := map[string]loopback.Severity{}
	for _, level := range []string{"READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "SNAPSHOT"} {
		failAll["request survives a rollback in "+level] = loopback.Failure
	}
	answer := func(a sqlfake.Answer) func(sqlfake.Call) sqlfake.Answer {
		return func(sqlfake.Call) sqlfake.Answer { return a }
	}
	tests := []struct {
		name   string
		server *server
		want   map[string]loopback.Severity
		repair string // part of the last finding's
	}{
		{name: "healthy", server: &server{link: goodLink()}},
		{name: "no link", server: &server{}, want: map[string]loopback.Severity{"linked server": loopback.Failure}, repair: "sp_api_broker_setup"},
		{name: "rpc out", server: &server{link: change(4, false)}, want: map[string]loopback.Severity{"rpc out": loopback.Failure}},
		{name: "promotion", server: &server{link: change(6, true)}, want: map[string]loopback.Severity{"remote proc transaction promotion": loopback.Failure}},
		{name: "data access", server: &server{link: change(5, true)}, want: map[string]loopback.Severity{"data access": loopback.Warning}},
		{name: "default query timeout", server: &server{link: change(8, int64(0))}, want: map[string]loopback.Severity{"query timeout": loopback.Warning}},
		{name: "long connect timeout", server: &server{link: change(7, int64(30))}, want: map[string]loopback.Severity{"connect timeout": loopback.Warning}},
		{name: "encryption", server: &server{link: change(3, "")}, want: map[string]loopback.Severity{"encryption": loopback.Warning}},
		{name: "requests are lost", server: &server{link: goodLink(), lost: true}, want: failAll, repair: "promotion"},
		{
			name:   "not mapped",
			server: &server{link: goodLink(), send: answer(sqlfake.Answer{Err: mssql.Error{Number: 7416, Class: 16, Message: "m"}})},
			want:   failAll, repair: "@local_login",
		},
		{
			name: "caught by the procedure",
			server: &server{link: goodLink(), send: answer(sqlfake.Answer{
				Status: 5, Outs: map[string]any{"error": "Error 18456: Login failed."},
			})},
			want: failAll, repair: "password",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db, schema := tt.server.open(t)
			got, err := loopback.Doctor(t.Context(), db, schema)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == nil {
				tt.want = map[string]loopback.Severity{}
			}
			if diff := cmp.Diff(tt.want, severities(got)); diff != "" {
				t.Errorf("findings (-want +got):\n%s\n%+v", diff, got)
			}
			if last := got[max(len(got)-2, 0)]; !strings.Contains(got[len(got)-1].Repair, tt.repair) && !strings.Contains(last.Repair, tt.repair) {
				t.Errorf("repair = %q, want %q in it", last.Repair, tt.repair)
			}
			failures := false
			for _, one := range got {
				failures = failures || one.Severity == loopback.Failure
				if (one.Severity == loopback.OK) != (one.Repair == "") || one.Detail == "" {
					t.Errorf("finding %+v", one)
				}
			}
			if err := got.Err(); errors.Is(err, loopbroker.ErrNoLoopback) != failures || (err != nil) != failures {
				t.Errorf("Err() = %v, want an error: %v", err, failures)
			}
		})
	}
}

func TestDoctor_Server(t *testing.T) {
	t.Parallel()

	bad := []driver.Value{"13.0", "Express", int64(13), int64(120), false, false, "joe", int64(0), int64(1)}
	for name, tt := range map[string]struct {
		server *server
		want   map[string]loopback.Severity
	}{
		"everything": {&server{diagnosis: bad}, map[string]loopback.Severity{
			"version": loopback.Failure, "compatibility level": loopback.Failure, "mapping": loopback.Failure, "default mapping": loopback.Warning,
		}},
		"not refused":         {&server{refusal: 15274}, map[string]loopback.Severity{"an impersonated call is refused": loopback.Failure}},
		"may not impersonate": {&server{refusal: 15517}, map[string]loopback.Severity{"an impersonated call is refused": loopback.Warning}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.server.link = goodLink()
			db, schema := tt.server.open(t)
			got, err := loopback.Doctor(t.Context(), db, schema)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, severities(got)); diff != "" {
				t.Errorf("findings (-want +got):\n%s\n%+v", diff, got)
			}
		})
	}
}

func TestDoctor_SnapshotIsOff(t *testing.T) {
	t.Parallel()

	begins := 0
	s := &server{link: goodLink()}
	s.send = func(sqlfake.Call) sqlfake.Answer {
		if begins++; begins == 5 { // the last level
			return sqlfake.Answer{Status: 5, Outs: map[string]any{"error": "Error 3952: Snapshot isolation transaction failed."}}
		}
		return sqlfake.Answer{Status: 1, Outs: map[string]any{"id": int64(41)}}
	}
	db, schema := s.open(t)
	got, err := loopback.Doctor(t.Context(), db, schema)
	if err != nil || got.Err() != nil || !strings.Contains(got[len(got)-2].Detail, "snapshot isolation is off") {
		t.Errorf("Doctor = %+v, %v", got, err)
	}
}

func TestDoctor_CannotLook(t *testing.T) {
	t.Parallel()

	db, schema := (&server{link: goodLink()}).open(t)
	_ = db.Close()
	if _, err := loopback.Doctor(t.Context(), db, schema); err == nil {
		t.Error("Doctor of a closed database = nil, want an error")
	}
}

func TestSender(t *testing.T) {
	t.Parallel()

	request := loopbroker.Request{Type: "file", JSON: "{}", Lane: loopbroker.LaneLow, MaxAttempts: 2, Due: time.Second, Expires: time.Minute, IdempotencyKey: "k", Body: []byte{1}}
	s := &server{}
	db, schema := s.open(t)
	sender := loopback.NewSender(db, schema)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, within := range []bool{true, false} {
		var id int64
		if within {
			id, err = sender.SendTx(t.Context(), tx, request)
		} else {
			id, err = sender.Send(t.Context(), request)
		}
		if err != nil || id != 41 {
			t.Errorf("within %v: id %d, %v", within, id, err)
		}
		call := s.calls[len(s.calls)-1]
		if call.InTx != within {
			t.Errorf("within %v: the call was in a transaction: %v", within, call.InTx)
		}
		want := map[string]any{
			"type": "file", "json": "{}", "wait": int64(0), "priority": "low", "max_attempts": int64(2), "due_ms": int64(1000), "expires_ms": int64(60000),
			"idempotency_key": "k", "body_binary": []byte{1},
		}
		if diff := cmp.Diff(want, call.Args); diff != "" {
			t.Errorf("args (-want +got):\n%s", diff)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
}

func TestSender_Refuses(t *testing.T) {
	t.Parallel()

	db, schema := (&server{}).open(t)
	sender := loopback.NewSender(db, schema)
	if _, err := sender.SendTx(t.Context(), nil, loopbroker.Request{Type: "x", JSON: "{}"}); !errors.Is(err, loopbroker.ErrInvalid) {
		t.Errorf("SendTx without a transaction = %v, want ErrInvalid", err)
	}
	if _, err := sender.Send(t.Context(), loopbroker.Request{}); !errors.Is(err, loopbroker.ErrInvalid) {
		t.Errorf("Send of nothing = %v, want ErrInvalid", err)
	}
	db.SetMaxOpenConns(1)
	if _, err := sender.Send(t.Context(), loopbroker.Request{Type: "x", JSON: "{}"}); !errors.Is(err, loopbroker.ErrInvalid) {
		t.Errorf("Send from a pool of one = %v, want ErrInvalid", err)
	}
}

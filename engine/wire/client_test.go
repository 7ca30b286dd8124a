package wire_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"crypto/tls"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

func TestEncryption(t *testing.T) {
	t.Parallel()
	cert, pool := testCertificate(t)
	cases := []struct {
		name, params string
		options      wire.Options
		trust        bool // give the client the pool
		encrypted    bool
		wantErr      string
	}{
		{name: "disable", params: "encrypt=disable"},
		{name: "login only", params: "encrypt=false;TrustServerCertificate=true"},
		{name: "on", params: "encrypt=true;TrustServerCertificate=true", encrypted: true},
		{name: "strict", params: "encrypt=strict", trust: true, encrypted: true},
		{name: "on, checked certificate", params: "encrypt=true", trust: true, encrypted: true},
		{name: "required", params: "encrypt=false;TrustServerCertificate=true", options: wire.Options{RequireEncryption: true}, encrypted: true},
		{name: "required but disabled", params: "encrypt=disable", options: wire.Options{RequireEncryption: true}, wantErr: "TLS Handshake failed"},
		{name: "none, asked", params: "encrypt=true;TrustServerCertificate=true", options: wire.Options{NoEncryption: true}, wantErr: "does not support encryption"},
		{name: "none, login only", params: "encrypt=false;TrustServerCertificate=true", options: wire.Options{NoEncryption: true}},
		{name: "none, strict", params: "encrypt=strict", trust: true, options: wire.Options{NoEncryption: true}, wantErr: "TLS Handshake failed"},
		{name: "smallest packets", params: "encrypt=disable;packet size=512"},
		{name: "small packets", params: "encrypt=true;TrustServerCertificate=true;packet size=2048", encrypted: true},
		{name: "big packets", params: "encrypt=true;TrustServerCertificate=true;packet size=32767", encrypted: true},
	}
	for _, tc := range cases {
		for _, network := range []string{"tcp", "memory"} {
			t.Run(tc.name+" "+network, func(t *testing.T) {
				t.Parallel()
				logins := make(chan wire.LoginRequest, 4)
				b := &backend{onLogin: func(r wire.LoginRequest) { logins <- r }}
				o := tc.options
				o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}}
				s := newServer(t, b, o)
				cfg := config(t, tc.params+";app name=naïve;database=")
				if tc.trust {
					cfg.TLSConfig.InsecureSkipVerify = false
					cfg.TLSConfig.RootCAs = pool
				}
				c := mssql.NewConnectorConfig(cfg)
				if network == "tcp" {
					addr := listen(t, s)
					cfg.Port = uint64(addr.Port)
					c = mssql.NewConnectorConfig(cfg)
				} else {
					c.Dialer = s
				}
				db := openConnector(t, c)
				err := db.PingContext(context.Background())
				if tc.wantErr != "" {
					if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
						t.Fatalf("got error %v, want %q", err, tc.wantErr)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				text := strings.Repeat("a message of more than one packet ", 2000)
				if got := scanOne[string](t, db, "echo all", text); got != text {
					t.Errorf("got %d bytes back, want %d", len(got), len(text))
				}
				r := <-logins
				if r.Encrypted != tc.encrypted || r.AppName != "naïve" || r.Interface != "go-mssqldb" || r.ClientPID == 0 || !r.ODBC {
					t.Errorf("login request %+v, want encrypted %v", r, tc.encrypted)
				}
			})
		}
	}
}

// TestTLSVersions checks the cap inside of TDS: FreeTDS hangs on TLS 1.3 there.
func TestTLSVersions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		params  string
		version uint16
		ok      bool
	}{
		{"encrypt=true;TrustServerCertificate=true", tls.VersionTLS13, false},
		{"encrypt=true;TrustServerCertificate=true", tls.VersionTLS12, true},
		{"encrypt=strict;TrustServerCertificate=true", tls.VersionTLS13, true},
		{"encrypt=strict;TrustServerCertificate=true", tls.VersionTLS12, true},
	} {
		cfg := config(t, tc.params)
		cfg.TLSConfig.InsecureSkipVerify = true
		cfg.TLSConfig.MinVersion, cfg.TLSConfig.MaxVersion = tc.version, tc.version
		db := openConfig(t, newServer(t, &backend{}, wire.Options{}), cfg)
		if err := db.PingContext(context.Background()); (err == nil) != tc.ok {
			t.Errorf("%s, version %#x: got %v, want success %v", tc.params, tc.version, err, tc.ok)
		}
	}
}

func TestLoginRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, &backend{}, wire.Options{})
	cfg := config(t, "encrypt=disable")
	cfg.Password = "wrong"
	err := openConfig(t, s, cfg).PingContext(context.Background())
	if e := wantError(t, err, 18456); e.Class != 14 || !strings.Contains(e.Message, "Login failed for user 'sa'.") {
		t.Errorf("got class %d, %q", e.Class, e.Message)
	}
	err = openMemory(t, s, "encrypt=disable;database=missing").PingContext(context.Background())
	wantError(t, err, 4060)
	err = openMemory(t, s, "encrypt=disable;database=panic").PingContext(context.Background())
	wantError(t, err, 18456)
}

func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	s := newServer(t, &backend{}, wire.Options{MaxConnections: 1})
	db := openMemory(t, s, "")
	if err := db.PingContext(context.Background()); err != nil {
		t.Fatal(err)
	}
	wantError(t, openMemory(t, s, "").PingContext(context.Background()), 17809)
}

func TestErrorsAndMessages(t *testing.T) {
	t.Parallel()
	b := &backend{batches: map[string]batchFunc{
		"fail now": func(_ context.Context, _ *session, out wire.Output) {
			_ = out.Message(wire.Message{Number: 50001, State: 7, Class: 16, Text: "first żółć", Procedure: "dbo.p", Line: 3})
			_ = out.Message(wire.Message{Number: 50002, State: 1, Class: 11, Text: "second", Line: 4, Server: "other"})
		},
		"half now": func(_ context.Context, _ *session, out wire.Output) {
			_ = out.Columns([]wire.Column{{Name: "n", Type: types.TypeInt}})
			_ = out.Row([]types.Value{types.NewInt(1)})
			fail(out, sqlerr.New(8134).At(2))
		},
		"do nothing": func(context.Context, *session, wire.Output) {},
	}}
	db := openMemory(t, newServer(t, b, wire.Options{ServerName: "srv"}), "")
	_, err := db.ExecContext(context.Background(), "fail now")
	e := wantError(t, err, 50002)
	if len(e.All) != 2 {
		t.Fatalf("got %d errors, want 2: %v", len(e.All), e.All)
	}
	first := e.All[0]
	if first.Number != 50001 || first.State != 7 || first.Class != 16 || first.Message != "first żółć" ||
		first.ProcName != "dbo.p" || first.LineNo != 3 || first.ServerName != "srv" {
		t.Errorf("got first error %+v", first)
	}
	if e.ServerName != "other" || e.LineNo != 4 {
		t.Errorf("got last error %+v", e)
	}

	rows, err := db.QueryContext(context.Background(), "half now")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		n++
	}
	if n != 1 {
		t.Errorf("got %d rows before the error, want 1", n)
	}
	if e := wantError(t, rows.Err(), 8134); e.LineNo != 2 {
		t.Errorf("got line %d, want 2", e.LineNo)
	}
	if _, err := db.ExecContext(context.Background(), "do nothing"); err != nil {
		t.Errorf("empty reply: %v", err)
	}
}

func TestResultSets(t *testing.T) {
	t.Parallel()
	b := &backend{batches: map[string]batchFunc{
		"three sets": func(_ context.Context, _ *session, out wire.Output) {
			one(out, 1)
			_ = out.Done(wire.Done{Rows: 5, HasRows: true, Command: wire.CommandUpdate})
			_ = out.Columns([]wire.Column{{Name: "a", Type: types.NVarChar(10), Nullable: true}, {Name: "b", Type: types.TypeBigInt}})
			_ = out.Done(wire.Done{HasRows: true, Command: wire.CommandSelect})
			one(out, 3)
			_ = out.Message(wire.Message{Number: 0, Class: 0, Text: "the end"})
		},
		"all counts": func(_ context.Context, _ *session, out wire.Output) {
			_ = out.Done(wire.Done{Rows: 5, HasRows: true, Command: wire.CommandUpdate})
			_ = out.Done(wire.Done{Rows: 7, Command: wire.CommandDelete}) // NOCOUNT
			_ = out.Done(wire.Done{Rows: 2, HasRows: true, Command: wire.CommandInsert, InProc: true})
		},
	}}
	db := openMemory(t, newServer(t, b, wire.Options{}), "")
	rows, err := db.QueryContext(context.Background(), "three sets")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for {
		cols, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for rows.Next() {
			n++
		}
		got = append(got, strings.Join(cols, ",")+strings.Repeat("*", n))
		if !rows.NextResultSet() {
			break
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"n*", "a,b", "n*"}; !slices.Equal(got, want) {
		t.Errorf("got result sets %q, want %q", got, want)
	}

	res, err := db.ExecContext(context.Background(), "all counts")
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := res.RowsAffected(); n != 7 {
		t.Errorf("got %d rows affected, want 7", n)
	}
}

func TestProcedure(t *testing.T) {
	t.Parallel()
	var seen wire.Call
	b := &backend{calls: map[string]callFunc{
		"dbo.double": func(_ context.Context, _ *session, call wire.Call, out wire.Output) {
			seen = call
			one(out, 9)
			_ = out.ReturnStatus(7)
			for i, p := range call.Params {
				if p.Output {
					_ = out.ReturnValue(i, p.Name, types.TypeInt, types.NewInt(42))
				}
			}
		},
		"dbo.broken": func(_ context.Context, _ *session, _ wire.Call, out wire.Output) {
			_ = out.Message(wire.ErrorMessage(sqlerr.New(8134).At(5)))
			_ = out.ReturnStatus(-6)
		},
	}}
	db := openMemory(t, newServer(t, b, wire.Options{}), "")
	var status mssql.ReturnStatus
	var out int64
	_, err := db.ExecContext(context.Background(), "dbo.double", sql.Named("a", int32(21)), sql.Named("b", sql.Out{Dest: &out}), &status)
	if err != nil {
		t.Fatal(err)
	}
	if out != 42 || status != 7 {
		t.Errorf("got output %d, status %d, want 42 and 7", out, status)
	}
	if len(seen.Params) != 2 || seen.Params[0].Name != "@a" || seen.Params[0].Type != types.TypeInt ||
		seen.Params[0].Value.Int() != 21 || seen.Params[0].Output || !seen.Params[1].Output {
		t.Errorf("got call %+v", seen)
	}
	_, err = db.ExecContext(context.Background(), "dbo.broken", &status)
	if e := wantError(t, err, 8134); e.LineNo != 5 || status != -6 {
		t.Errorf("got line %d, status %d, want 5 and -6", e.LineNo, status)
	}
}

func TestTransactionRequests(t *testing.T) {
	t.Parallel()
	b := &backend{batches: map[string]batchFunc{
		"abort now": func(_ context.Context, s *session, out wire.Output) {
			_ = out.Message(wire.ErrorMessage(sqlerr.New(1205, 1, "lock").At(1)))
			_ = out.Env(wire.EnvChange{Kind: wire.EnvRollbackTransaction, Transaction: s.tx})
			s.tx = 0
		},
	}}
	db := openMemory(t, newServer(t, b, wire.Options{}), "")
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		t.Fatal(err)
	}
	if got := scanOne[int](t, tx, "select 1"); got != 1 {
		t.Errorf("got %d", got)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if tx, err = db.BeginTx(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	const descriptor = 0x1122334455667788
	want := []wire.TMRequest{
		{Kind: 5, Isolation: 4}, {Kind: 7, Descriptor: descriptor}, {Kind: 5}, {Kind: 8, Descriptor: descriptor},
	}
	b.mu.Lock()
	got := slices.Clone(b.tm)
	b.mu.Unlock()
	if !slices.Equal(got, want) {
		t.Errorf("got requests %+v, want %+v", got, want)
	}
	if tx, err = db.BeginTx(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	_, err = tx.ExecContext(context.Background(), "abort now")
	wantError(t, err, 1205)
	if err := tx.Commit(); err == nil {
		t.Error("commit of a transaction that the server rolled back succeeded")
	}
}

func TestResetConnection(t *testing.T) {
	t.Parallel()
	b := &backend{batches: map[string]batchFunc{
		"USE other": func(_ context.Context, s *session, out wire.Output) {
			_ = out.Env(wire.EnvChange{Kind: wire.EnvDatabase, New: "other", Old: s.database})
			s.database = "other"
			_ = out.Done(wire.Done{Command: wire.CommandUse})
		},
		"select where": func(_ context.Context, s *session, out wire.Output) {
			_ = out.Columns([]wire.Column{{Name: "db", Type: types.NVarChar(128)}})
			_ = out.Row([]types.Value{types.NewNVarChar(s.database)})
			_ = out.Done(wire.Done{Rows: 1, HasRows: true})
		},
	}}
	db := openMemory(t, newServer(t, b, wire.Options{}), "")
	db.SetMaxOpenConns(1)
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ExecContext(context.Background(), "USE other"); err != nil {
		t.Fatal(err)
	}
	if got := scanOne[string](t, c, "select where"); got != "other" {
		t.Errorf("got database %q", got)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got := scanOne[string](t, db, "select where"); got != "master" {
		t.Errorf("got database %q after the reset, want master", got)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.resets) == 0 || slices.Contains(b.resets, true) {
		t.Errorf("got resets %v, want some and none that keeps the transaction", b.resets)
	}
}

func TestServeReturns(t *testing.T) {
	t.Parallel()
	s := newServer(t, &backend{}, wire.Options{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	cancel(stop)
	if err := <-done; !errors.Is(err, stop) {
		t.Errorf("Serve returned %v, want the context's cause", err)
	}
}

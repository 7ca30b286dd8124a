package wire_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const password = "päss Wörd'1"

// batchFunc answers a batch; callFunc answers a procedure call.
type (
	batchFunc func(ctx context.Context, s *session, out wire.Output)
	callFunc  func(ctx context.Context, s *session, call wire.Call, out wire.Output)
)

// backend is a wire.Backend with canned answers.
type backend struct {
	batches map[string]batchFunc
	calls   map[string]callFunc // by procedure, or by the text of sp_executesql
	bulk    func(ctx context.Context, req wire.BulkRequest, out wire.Output)
	onLogin func(wire.LoginRequest)
	// anyBatch answers batches that are not in the map, or returns false.
	anyBatch func(text string, out wire.Output) bool

	mu     sync.Mutex
	resets []bool
	tm     []wire.TMRequest
	nextID atomic.Int32
	open   atomic.Int32
	closed atomic.Int32
}

func (b *backend) Login(_ context.Context, req wire.LoginRequest) (wire.Session, error) {
	if b.onLogin != nil {
		b.onLogin(req)
	}
	if req.User != "sa" || req.Password != password {
		return nil, sqlerr.New(18456, req.User)
	}
	if req.Database == "missing" {
		return nil, &sqlerr.Error{Number: 4060, Class: 11, State: 1, Message: `Cannot open database "missing" requested by the login. The login failed.`}
	}
	if req.Database == "panic" {
		panic("a panic at login")
	}
	b.open.Add(1)
	return &session{b: b, id: 50 + b.nextID.Add(1), database: "master", login: req}, nil
}

type session struct {
	b        *backend
	id       int32
	database string
	login    wire.LoginRequest
	tx       uint64
}

func (s *session) ID() int32                   { return s.id }
func (s *session) Database() string            { return s.database }
func (s *session) Language() string            { return "us_english" }
func (s *session) Collation() *types.Collation { return types.DefaultCollation }

func (s *session) Close() {
	s.b.open.Add(-1)
	s.b.closed.Add(1)
}

func (s *session) Reset(_ context.Context, keep bool) error {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.b.resets = append(s.b.resets, keep)
	s.database = "master"
	return nil
}

func (s *session) Batch(ctx context.Context, text string, out wire.Output) {
	if f, ok := s.b.batches[text]; ok {
		f(ctx, s, out)
		return
	}
	if s.b.anyBatch != nil && s.b.anyBatch(text, out) {
		return
	}
	switch text {
	case "select 1;", "select 1":
		one(out, 1)
	default:
		fail(out, sqlerr.New(208, text).At(1))
	}
}

func (s *session) RPC(ctx context.Context, call wire.Call, out wire.Output) {
	key := call.Name
	if call.Name == "sp_executesql" && len(call.Params) > 0 {
		key = call.Params[0].Value.Text()
	}
	if f, ok := s.b.calls[key]; ok {
		f(ctx, s, call, out)
		return
	}
	if key == "echo all" {
		echo(out, call.Params[2:])
		return
	}
	fail(out, sqlerr.New(2812, key).At(1))
}

func (s *session) Transaction(_ context.Context, req wire.TMRequest, out wire.Output) {
	s.b.mu.Lock()
	s.b.tm = append(s.b.tm, req)
	s.b.mu.Unlock()
	switch req.Kind {
	case 5:
		s.tx = 0x1122334455667788
		_ = out.Env(wire.EnvChange{Kind: wire.EnvBeginTransaction, Transaction: s.tx})
	case 7:
		_ = out.Env(wire.EnvChange{Kind: wire.EnvCommitTransaction, Transaction: s.tx})
		s.tx = 0
	case 8:
		_ = out.Env(wire.EnvChange{Kind: wire.EnvRollbackTransaction, Transaction: s.tx})
		s.tx = 0
	}
}

func (s *session) Bulk(ctx context.Context, req wire.BulkRequest, out wire.Output) {
	if s.b.bulk != nil {
		s.b.bulk(ctx, req, out)
		return
	}
	var n int64
	for {
		_, err := req.Next()
		if err == io.EOF { //nolint:errorlint // a lost connection wraps io.EOF and is another end
			break
		}
		if err != nil {
			fail(out, sqlerr.New(4002).At(1))
			return
		}
		n++
	}
	_ = out.Done(wire.Done{Rows: n, HasRows: true, Command: wire.CommandBulkInsert})
}

// one answers with a row of one int.
func one(out wire.Output, n int64) {
	_ = out.Columns([]wire.Column{{Name: "n", Type: types.TypeInt}})
	_ = out.Row([]types.Value{types.NewInt(n)})
	_ = out.Done(wire.Done{Rows: 1, HasRows: true, Command: wire.CommandSelect})
}

func fail(out wire.Output, err *sqlerr.Error) {
	_ = out.Message(wire.ErrorMessage(err))
	_ = out.Done(wire.Done{Error: true})
}

// echo answers with a row of the parameters.
func echo(out wire.Output, params []wire.Param) {
	cols := make([]wire.Column, len(params))
	row := make([]types.Value, len(params))
	for i, p := range params {
		cols[i] = wire.Column{Name: p.Name, Type: p.Type, Nullable: true}
		row[i] = p.Value
	}
	_ = out.Columns(cols)
	_ = out.Row(row)
	_ = out.Done(wire.Done{Rows: 1, HasRows: true, Command: wire.CommandSelect})
	_ = out.ReturnStatus(0)
}

// newServer returns a server that stops at the end of the test; its sessions
// must be closed by then.
func newServer(t *testing.T, b *backend, o wire.Options) *wire.Server {
	t.Helper()
	o.Logger = zerolog.New(zerolog.NewTestWriter(t))
	s, err := wire.New(b, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if n := b.open.Load(); n != 0 {
			t.Errorf("%d sessions are still open", n)
		}
	})
	return s
}

// listen serves TCP on a loopback port and returns its address.
func listen(t *testing.T, s *wire.Server) *net.TCPAddr {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(context.Background(), ln) }()
	t.Cleanup(func() {
		_ = ln.Close()
		if err := <-done; !errors.Is(err, wire.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Errorf("Serve returned %v", err)
		}
	})
	return ln.Addr().(*net.TCPAddr)
}

// config returns a client's configuration.
func config(t *testing.T, params string) msdsn.Config {
	t.Helper()
	cfg, err := msdsn.Parse("server=127.0.0.1;user id=sa;" + params)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Password = password
	return cfg
}

// openMemory returns a pool of connections in memory.
func openMemory(t *testing.T, s *wire.Server, params string) *sql.DB {
	t.Helper()
	if params == "" {
		params = "encrypt=disable"
	}
	return openConfig(t, s, config(t, params))
}

func openConfig(t *testing.T, s *wire.Server, cfg msdsn.Config) *sql.DB {
	t.Helper()
	c := mssql.NewConnectorConfig(cfg)
	c.Dialer = s
	return openConnector(t, c)
}

func openConnector(t *testing.T, c *mssql.Connector) *sql.DB {
	t.Helper()
	db := sql.OpenDB(c)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return db
}

// testCertificate returns a certificate for localhost and the pool that trusts it.
func testCertificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// wantError returns the mssql.Error in err.
func wantError(t *testing.T, err error, number int32) mssql.Error {
	t.Helper()
	var e mssql.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want error %d", err, err, number)
	}
	if e.Number != number {
		t.Fatalf("got error %d (%s), want %d", e.Number, e.Message, number)
	}
	return e
}

// scanOne runs a query for one value.
func scanOne[T any](t *testing.T, db querier, query string, args ...any) T {
	t.Helper()
	var v T
	if err := db.QueryRowContext(context.Background(), query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// waitFor waits until the condition holds.
func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: did not happen", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func describe(v any) string { return fmt.Sprintf("%v (%T)", v, v) }

package wire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/tds"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

// waitBackend has a batch that runs until its context ends, and reports the cause.
func waitBackend() (b *backend, started chan struct{}, causes chan error) {
	started, causes = make(chan struct{}, 8), make(chan error, 8)
	wait := func(ctx context.Context, _ *session, out wire.Output) {
		started <- struct{}{}
		<-ctx.Done()
		causes <- context.Cause(ctx)
	}
	b = &backend{
		batches: map[string]batchFunc{
			"WAIT now": wait,
			"WAIT with output": func(ctx context.Context, s *session, out wire.Output) {
				one(out, 1)
				_ = out.Flush()
				wait(ctx, s, out)
				_ = out.Message(wire.ErrorMessage(sqlerr.New(8134).At(1))) // must not reach the client
			},
			"stream rows": func(ctx context.Context, _ *session, out wire.Output) {
				_ = out.Columns([]wire.Column{{Name: "s", Type: types.NVarChar(4000)}})
				row := []types.Value{types.NewNVarChar(strings.Repeat("x", 4000))}
				started <- struct{}{}
				for {
					if err := out.Row(row); err != nil {
						causes <- err
						return
					}
				}
			},
		},
		calls: map[string]callFunc{
			"WAIT now": func(ctx context.Context, s *session, _ wire.Call, out wire.Output) { wait(ctx, s, out) },
		},
	}
	return b, started, causes
}

func TestAttention(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		args       []any
	}{
		{"batch", "WAIT now", nil},
		{"call", "WAIT now", []any{1}},
		{"after output", "WAIT with output", nil},
		{"rows", "stream rows", nil},
	} {
		for _, params := range []string{"encrypt=disable", "encrypt=true;TrustServerCertificate=true"} {
			t.Run(tc.name+" "+params, func(t *testing.T) {
				t.Parallel()
				b, started, causes := waitBackend()
				s := newServer(t, b, wire.Options{})
				db := openMemory(t, s, params)
				db.SetMaxOpenConns(1)
				for range 5 {
					ctx, cancel := context.WithCancel(context.Background())
					done := make(chan error, 1)
					go func() {
						rows, err := db.QueryContext(ctx, tc.text, tc.args...)
						if err == nil {
							for rows.Next() {
							}
							err = rows.Err()
							_ = rows.Close() //nolint:sqlclosecheck // in a loop
						}
						done <- err
					}()
					<-started
					cancel()
					if err := <-done; !errors.Is(err, context.Canceled) {
						t.Fatalf("got %v, want %v", err, context.Canceled)
					}
					if err := <-causes; !errors.Is(err, wire.ErrAttention) {
						t.Errorf("got cause %v, want %v", err, wire.ErrAttention)
					}
					if got := scanOne[int](t, db, "select 1"); got != 1 {
						t.Errorf("got %d after the attention", got)
					}
				}
				if n := b.nextID.Load(); n != 1 {
					t.Errorf("%d connections were opened, want 1: an attention was not acknowledged", n)
				}
			})
		}
	}
}

// TestAttentionRace cancels requests at the moment at which they end by themselves.
func TestAttentionRace(t *testing.T) {
	t.Parallel()
	b := &backend{}
	db := openMemory(t, newServer(t, b, wire.Options{}), "")
	db.SetMaxOpenConns(1)
	for i := range 300 {
		ctx, cancel := context.WithCancel(context.Background())
		go cancel()
		var n int
		err := db.QueryRowContext(ctx, "select 1").Scan(&n)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("round %d: %v", i, err)
		}
		cancel()
	}
	if got := scanOne[int](t, db, "select 1"); got != 1 {
		t.Errorf("got %d", got)
	}
}

// stallConn holds the goroutine that writes a reply until it is let go, and
// counts what the reader has got.
type stallConn struct {
	net.Conn
	stall   atomic.Bool
	release chan struct{}
	reads   atomic.Int32
}

func (c *stallConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.reads.Add(1)
	return n, err
}

func (c *stallConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if c.stall.Load() {
		<-c.release
	}
	return n, err
}

// TestAttentionAfterReply sends an attention when the reply is there while the
// server is still busy with its end.
func TestAttentionAfterReply(t *testing.T) {
	t.Parallel()
	s := newServer(t, &backend{}, wire.Options{})
	client, server := wire.Pipe()
	slow := &stallConn{Conn: server, release: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- s.ServeConn(context.Background(), slow) }()
	c := newRawClient(t, client)
	c.login("sa", password)
	slow.stall.Store(true)
	c.batch("select 1")
	if got := c.receive(); got[0] != 0x81 {
		t.Fatalf("got reply % X", got)
	}
	reads := slow.reads.Load()
	c.send(tds.PacketAttention, tds.StatusEOM, nil)
	waitFor(t, "the attention's arrival", func() bool { return slow.reads.Load() > reads })
	slow.stall.Store(false)
	slow.release <- struct{}{}
	if got, want := c.receive(), done(tds.DoneBatch, tds.DoneAttn, 0, 0); !slices.Equal(got, want) {
		t.Fatalf("got reply % X, want % X", got, want)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("ServeConn returned %v", err)
	}
}

func TestCutConnection(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"WAIT now", "stream rows"} {
		for _, network := range []string{"tcp", "memory"} {
			t.Run(text+" "+network, func(t *testing.T) {
				t.Parallel()
				b, started, causes := waitBackend()
				s := newServer(t, b, wire.Options{})
				var nc net.Conn
				var err error
				if network == "tcp" {
					nc, err = net.Dial("tcp", listen(t, s).String())
				} else {
					nc, err = s.DialContext(context.Background(), "", "")
				}
				if err != nil {
					t.Fatal(err)
				}
				raw := newRawClient(t, nc)
				raw.login("sa", password)
				raw.batch(text)
				<-started
				if err := nc.Close(); err != nil {
					t.Fatal(err)
				}
				if err := <-causes; !errors.Is(err, wire.ErrDisconnected) {
					t.Errorf("got cause %v, want %v", err, wire.ErrDisconnected)
				}
				waitFor(t, "the session's end", func() bool { return b.closed.Load() == 1 })
			})
		}
	}
}

func TestKill(t *testing.T) {
	t.Parallel()
	b, started, causes := waitBackend()
	kills := make(chan func(error), 4)
	b.onLogin = func(r wire.LoginRequest) { kills <- r.Kill }
	s := newServer(t, b, wire.Options{})
	killed := errors.New("killed")

	nc, _ := s.DialContext(context.Background(), "", "")
	raw := newRawClient(t, nc)
	raw.login("sa", password)
	raw.batch("WAIT now")
	<-started
	(<-kills)(killed)
	if err := <-causes; !errors.Is(err, killed) {
		t.Errorf("got cause %v, want %v", err, killed)
	}
	raw.drain() // the reply still comes, then the end
	waitFor(t, "the session's end", func() bool { return b.closed.Load() == 1 })

	nc, _ = s.DialContext(context.Background(), "", "")
	raw = newRawClient(t, nc)
	raw.login("sa", password)
	(<-kills)(killed)
	raw.drain()
	waitFor(t, "the idle session's end", func() bool { return b.closed.Load() == 2 })

	// A bulk load that waits for its client.
	ends := make(chan error, 1)
	b.bulk = func(_ context.Context, req wire.BulkRequest, out wire.Output) {
		_, _ = req.Next()
		started <- struct{}{}
		_, err := req.Next()
		ends <- err
	}
	nc, _ = s.DialContext(context.Background(), "", "")
	raw = newRawClient(t, nc)
	raw.login("sa", password)
	raw.send(tds.PacketBulk, 0, slices.Concat(bulkColumns, []byte{0xD1, 5, 0, 0, 0}))
	<-started
	(<-kills)(killed)
	if err := <-ends; !errors.Is(err, wire.ErrDisconnected) {
		t.Errorf("the rows ended with %v, want %v", err, wire.ErrDisconnected)
	}
	raw.drain()
	waitFor(t, "the loading session's end", func() bool { return b.closed.Load() == 3 })
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	b, started, causes := waitBackend()
	release := make(chan struct{})
	b.batches["slow one"] = func(_ context.Context, _ *session, out wire.Output) {
		started <- struct{}{}
		<-release
		one(out, 5)
	}
	s := newServer(t, b, wire.Options{})
	db := openMemory(t, s, "")
	idle, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	got := make(chan int, 1)
	go func() {
		var n int
		_ = db.QueryRowContext(context.Background(), "slow one").Scan(&n)
		got <- n
	}()
	<-started
	go func() { _, _ = db.ExecContext(context.Background(), "WAIT now") }()
	<-started
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(ctx) }()
	waitFor(t, "the idle connection's end", func() bool { return b.closed.Load() == 1 })
	close(release)
	if n := <-got; n != 5 {
		t.Errorf("got %d from the request that was under way, want 5", n)
	}
	cancel()
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown returned %v, want %v", err, context.Canceled)
	}
	if err := <-causes; !errors.Is(err, wire.ErrShutdown) {
		t.Errorf("got cause %v, want %v", err, wire.ErrShutdown)
	}
	if _, err := s.DialContext(context.Background(), "", ""); !errors.Is(err, wire.ErrServerClosed) {
		t.Errorf("DialContext after Shutdown: %v", err)
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	b := &backend{batches: map[string]batchFunc{
		"panic now": func(_ context.Context, _ *session, out wire.Output) {
			one(out, 1)
			panic("a defect")
		},
		"wrong value": func(_ context.Context, _ *session, out wire.Output) {
			_ = out.Columns([]wire.Column{{Name: "n", Type: types.TypeInt}})
			_ = out.Row([]types.Value{types.NewNVarChar("no int")})
		},
		"fatal now": func(_ context.Context, _ *session, out wire.Output) {
			_ = out.Message(wire.Message{Number: 596, Class: 21, State: 1, Text: "killed", Line: 1})
		},
	}}
	db := openMemory(t, newServer(t, b, wire.Options{}), "")
	_, err := db.ExecContext(context.Background(), "panic now")
	if e := wantError(t, err, 8630); e.Class != 20 {
		t.Errorf("got class %d, want 20", e.Class)
	}
	waitFor(t, "the session's end", func() bool { return b.closed.Load() == 1 })
	_, err = db.ExecContext(context.Background(), "wrong value")
	wantError(t, err, 8630)
	if n := b.closed.Load(); n != 1 {
		t.Errorf("%d sessions were closed, want 1", n)
	}
	_, err = db.ExecContext(context.Background(), "fatal now")
	wantError(t, err, 596)
	waitFor(t, "the second session's end", func() bool { return b.closed.Load() == 2 })
	if got := scanOne[int](t, db, "select 1"); got != 1 {
		t.Errorf("got %d", got)
	}
}

func TestGarbage(t *testing.T) {
	t.Parallel()
	b := &backend{}
	s := newServer(t, b, wire.Options{LoginTimeout: 5 * time.Second})
	good := openMemory(t, s, "")
	prelogin := "\x12\x01\x00\x0f\x00\x00\x01\x00\x01\x00\x06\x00\x01\xff\x02"
	for name, input := range map[string]string{
		"http":               "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"zeros":              strings.Repeat("\x00", 64),
		"short packet":       "\x12\x01\x00\x04\x00\x00\x00\x00",
		"endless message":    strings.Repeat("\x12\x00\x10\x00\x00\x00\x01\x00"+strings.Repeat("x", 4088), 40),
		"prelogin no option": "\x12\x01\x00\x09\x00\x00\x01\x00\x05",
		"login too short":    prelogin + "\x10\x01\x00\x0c\x00\x00\x01\x00\x04\x00\x00\x00",
		"batch before login": prelogin + "\x01\x01\x00\x0c\x00\x00\x01\x00abcd",
		"tls garbage":        "\x16\x03\x01\x00\x05hello, this is no TLS record",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nc, err := s.DialContext(context.Background(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			go func() { _, _ = io.WriteString(nc, input) }()
			if _, err := io.Copy(io.Discard, nc); err != nil && !errors.Is(err, net.ErrClosed) {
				t.Errorf("got %v, want the end of the connection", err)
			}
		})
	}
	t.Run("after login", func(t *testing.T) {
		t.Parallel()
		for _, packet := range []string{
			"\x01\x01\x00\x0c\x00\x00\x01\x00\xff\xff\xff\xff", // ALL_HEADERS too long
			"\x03\x01\x00\x0e\x00\x00\x01\x00\x04\x00\x00\x00\x02\x00",
			"\x07\x01\x00\x0a\x00\x00\x01\x00\x81\x01",
			"\x63\x01\x00\x0a\x00\x00\x01\x00\x81\x01",
			"\x10\x01\x00\x0a\x00\x00\x01\x00\x81\x01",
		} {
			nc, err := s.DialContext(context.Background(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			raw := newRawClient(t, nc)
			raw.login("sa", password)
			if _, err := io.WriteString(nc, packet); err != nil {
				t.Fatal(err)
			}
			raw.drain()
		}
	})
	if got := scanOne[int](t, good, "select 1"); got != 1 {
		t.Errorf("got %d", got)
	}
}

func TestLoginTimeout(t *testing.T) {
	t.Parallel()
	s := newServer(t, &backend{}, wire.Options{LoginTimeout: 20 * time.Millisecond})
	nc, err := s.DialContext(context.Background(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := io.Copy(io.Discard, nc); err != nil {
		t.Errorf("got %v, want the end of the connection", err)
	}
}

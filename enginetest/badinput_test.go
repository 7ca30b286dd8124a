package enginetest_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker/enginetest/brokertest"
	"loopbroker/httpfetch"
)

// TestBodyOverTheCap sends a body of 20 MB from the client: it is refused with
// its own number, and nothing is stored. The other kinds of misuse are tested
// beside the procedures, in package tsql.
func TestBodyOverTheCap(t *testing.T) {
	t.Parallel()
	b := brokertest.Open(t)
	_, err := b.DB.ExecContext(t.Context(), "EXEC dbo.sp_api_request @url = N'http://h/', @method = N'POST', @body = @b, @wait = 0;",
		sql.Named("b", strings.Repeat("x", 10<<20))) // two bytes a character
	var e mssql.Error
	if !errors.As(err, &e) || e.Number != 54040 {
		t.Errorf("got %v, want error 54040", err)
	}
	if n := b.Count(t, "SELECT COUNT(*) FROM dbo.api_broker_call"); n != 0 {
		t.Errorf("%d refused calls were stored", n)
	}
}

// TestFailures makes calls that are accepted and cannot succeed: each ends with
// code 2 and its own error class, and none is lost.
func TestFailures(t *testing.T) {
	t.Parallel()
	b := brokertest.Open(t)
	refused := closedPort(t)
	silent := silentServer(t, "")
	body := silentServer(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
	h := b.Handler(t, func(o *httpfetch.Options) {
		o.TLSTimeout, o.HeaderTimeout, o.BodyTimeout = 300*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond
		o.MaxReplyBytes = 1000
		o.AllowNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		o.Resolver = noNames{}
	})
	tests := []struct {
		name, url, class string
	}{
		{"host does not resolve", "http://nowhere.invalid/", "dns"},
		{"host refuses", "http://" + refused + "/", "connect"},
		{"stalls in TLS", "https://" + silent + "/", "timeout_tls"},
		{"stalls in the headers", "http://" + silent + "/", "timeout_header"},
		{"stalls in the body", "http://" + body + "/", "timeout_body"},
		{"reply over the cap", b.Stub.URL + "/big?bytes=5000", "too_large_reply"},
		{"private address", "http://10.0.0.1/", "address_not_allowed"},
		{"metadata address", "http://169.254.169.254/latest/", "address_not_allowed"},
	}
	for i, tt := range tests {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		port := u.Port()
		if port == "" {
			port = "80"
		}
		b.Exec(t, "INSERT INTO dbo.api_broker_endpoint (name, scheme, host, port) VALUES (@p1, @p2, @p3, @p4)", strconv.Itoa(i), u.Scheme, u.Hostname(), port)
	}
	b.Start(t, h)
	t.Run("all", func(t *testing.T) { // returns when the parallel tests have
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				var (
					rc    int
					id    int64
					class sql.NullString
					text  sql.NullString
				)
				err := b.DB.QueryRowContext(t.Context(), `DECLARE @rc int, @id bigint, @error nvarchar(2048);
				BEGIN TRANSACTION;
				EXEC @rc = dbo.sp_api_request @url = @url, @wait = 20000, @max_attempts = 1, @id = @id OUTPUT, @error = @error OUTPUT;
				COMMIT;
				SELECT @rc, @id, r.error_class, @error FROM (SELECT 1 AS one) AS o LEFT JOIN dbo.api_broker_reply AS r ON r.request_id = @id;`,
					sql.Named("url", tt.url)).Scan(&rc, &id, &class, &text)
				if err != nil {
					t.Fatal(err)
				}
				if rc != 2 || class.String != tt.class || text.String == "" {
					t.Errorf("code %d, class %q, error %q; want code 2, class %q and an error", rc, class.String, text.String, tt.class)
				}
			})
		}
	})
	if n := b.Count(t, "SELECT COUNT(*) FROM dbo.api_broker_call AS c WHERE NOT EXISTS (SELECT 1 FROM dbo.api_broker_reply AS r WHERE r.request_id = c.id)"); n != 0 {
		t.Errorf("%d accepted requests have no reply", n)
	}
}

// noNames is a resolver that knows only addresses.
type noNames struct{}

// LookupNetIP implements httpfetch.Resolver.
func (noNames) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// closedPort returns an address at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	ln := listen(t)
	addr := ln.Addr().String()
	_ = ln.Close()
	return addr
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// silentServer accepts connections, reads the beginning of the request, sends
// what it is given, and then nothing.
func silentServer(t *testing.T, says string) string {
	t.Helper()
	ln := listen(t)
	ctx, stop := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer c.Close()
				defer context.AfterFunc(ctx, func() { _ = c.Close() })()
				if _, err := c.Read(make([]byte, 1024)); err == nil {
					_, _ = io.WriteString(c, says)
				}
				<-ctx.Done()
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		stop()
		serving.Wait()
	})
	return ln.Addr().String()
}

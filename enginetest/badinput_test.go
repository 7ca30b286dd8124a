package enginetest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker/enginetest/brokertest"
	"loopbroker/httpfetch"
)

// TestMisuse makes calls that are refused: each has its own number, and nothing
// is stored, in a transaction and outside.
func TestMisuse(t *testing.T) {
	t.Parallel()
	b := brokertest.Open(t)
	b.Start(t, nil)
	big := strings.Repeat("x", 10<<20) // 20 MB as nvarchar
	tests := []struct {
		name string
		args string
		vals []any
		want int32
	}{
		{name: "no URL", args: "@url = NULL", want: 54010},
		{name: "empty URL", args: "@url = N''", want: 54010},
		{name: "unknown scheme", args: "@url = N'ftp://h/x'", want: 54011},
		{name: "file scheme", args: "@url = N'file:///etc/passwd'", want: 54011},
		{name: "no scheme", args: "@url = N'example.com/x'", want: 54011},
		{name: "no host", args: "@url = N'http:///x'", want: 54012},
		{name: "blank in URL", args: "@url = N'http://h/a b'", want: 54012},
		{name: "line break in URL", args: "@url = @u", vals: []any{sql.Named("u", "http://h/a\r\nHost: x")}, want: 54012},
		{name: "port out of range", args: "@url = N'http://h:70000/'", want: 54012},
		{name: "port is no number", args: "@url = N'http://h:80a/'", want: 54012},
		{name: "bad escape", args: "@url = N'http://h/%zz'", want: 54012},
		{name: "URL too long", args: "@url = @u", vals: []any{sql.Named("u", "http://h/"+strings.Repeat("a", 4001))}, want: 54013},
		{name: "password in URL", args: "@url = N'http://user:secret@h/'", want: 54014},
		{name: "unknown method", args: "@url = N'http://h/', @method = N'BREW'", want: 54015},
		{name: "method with a line break", args: "@url = N'http://h/', @method = @m", vals: []any{sql.Named("m", "GET\r\nX: y")}, want: 54015},
		{name: "headers are no JSON", args: "@url = N'http://h/', @headers = N'Accept: x'", want: 54020},
		{name: "headers are an array", args: "@url = N'http://h/', @headers = N'[1]'", want: 54020},
		{name: "headers are nested", args: `@url = N'http://h/', @headers = N'{"a":{"b":1}}'`, want: 54021},
		{name: "headers with CR LF", args: `@url = N'http://h/', @headers = N'{"a":"x\r\ny: z"}'`, want: 54022},
		{name: "headers outside ASCII", args: `@url = N'http://h/', @headers = N'{"a":"é"}'`, want: 54023},
		{name: "header with a secret", args: `@url = N'http://h/', @headers = N'{"Authorization":"Bearer x"}'`, want: 54024},
		{name: "header name with a blank", args: `@url = N'http://h/', @headers = N'{"a b":"x"}'`, want: 54025},
		{name: "header named twice", args: `@url = N'http://h/', @headers = N'{"A":"x","a":"y"}'`, want: 54025},
		{name: "header of the worker", args: `@url = N'http://h/', @headers = N'{"Host":"x"}'`, want: 54027},
		{name: "wait below 0", args: "@url = N'http://h/', @wait = -1", want: 54030},
		{name: "wait above the maximum", args: "@url = N'http://h/', @wait = 120001", want: 54030},
		{name: "wait is NULL", args: "@url = N'http://h/', @wait = NULL", want: 54030},
		{name: "timeout of 0", args: "@url = N'http://h/', @timeout_ms = 0", want: 54031},
		{name: "attempts of 0", args: "@url = N'http://h/', @max_attempts = 0", want: 54032},
		{name: "unknown priority", args: "@url = N'http://h/', @priority = N'urgent'", want: 54033},
		{name: "key with a blank at its end", args: "@url = N'http://h/', @idempotency_key = N'a '", want: 54034},
		{name: "expired before it is due", args: "@url = N'http://h/', @expires_ms = 5, @due_ms = 5", want: 54036},
		{name: "on commit with a wait", args: "@url = N'http://h/', @on_commit = 1", want: 54038},
		{name: "two bodies", args: "@url = N'http://h/', @method = N'POST', @body = N'a', @body_binary = 0x01", want: 54039},
		{name: "body of 20 MB", args: "@url = N'http://h/', @method = N'POST', @body = @b", vals: []any{sql.Named("b", big)}, want: 54040},
		{name: "credential, not there yet", args: "@url = N'http://h/', @credential = N'c'", want: 54080},
		{name: "completion, not there yet", args: "@url = N'http://h/', @on_complete = N'p'", want: 54081},
	}
	for _, tt := range tests {
		for _, frame := range []string{"%s", "BEGIN TRANSACTION; BEGIN TRY %s END TRY BEGIN CATCH COMMIT; THROW; END CATCH; COMMIT;"} {
			_, err := b.DB.ExecContext(t.Context(), fmt.Sprintf(frame, "EXEC dbo.sp_api_request "+tt.args+";"), tt.vals...)
			var e mssql.Error
			if !errors.As(err, &e) || e.Number != tt.want {
				t.Errorf("%s: got %v, want error %d", tt.name, err, tt.want)
			}
		}
	}
	if n := b.Count(t, "SELECT COUNT(*) FROM dbo.api_broker_call"); n != 0 {
		t.Errorf("%d refused calls were stored", n)
	}
	if n := b.Count(t, "SELECT COUNT(*) FROM dbo.asyncresponse_transport_messages"); n != 0 {
		t.Errorf("%d refused calls were queued", n)
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
	b.Start(t, h)
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

// silentServer accepts connections, sends what it is given, and then nothing.
func silentServer(t *testing.T, says string) string {
	t.Helper()
	ln := listen(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var conns []net.Conn
		for {
			c, err := ln.Accept()
			if err != nil {
				break
			}
			conns = append(conns, c)
			_, _ = io.WriteString(c, says)
		}
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
	})
	return ln.Addr().String()
}

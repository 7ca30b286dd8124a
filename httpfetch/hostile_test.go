package httpfetch_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"loopbroker"
	"loopbroker/httpfetch"
)

// gzipped returns the data as gzip has it.
func gzipped(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(data) // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// response is the text of an answer with the body and its length.
func response(headers string, body []byte) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", headers, len(body), body)
}

// pour is a TCP stub that reads one request, answers with the text and then with the
// piece again and again until the other side has had enough.
func pour(t *testing.T, text, piece string) string {
	t.Helper()
	return listen(t, func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
			return
		}
		_, err := io.WriteString(c, text)
		for err == nil {
			_, err = io.WriteString(c, piece)
		}
	})
}

// TestHostileAnswers meets targets that answer what no server should. Each ends the
// attempt with the class that says whose fault it was, and in bounded memory.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()

	text := []byte(strings.Repeat("hello ", 2000))
	whole := gzipped(text)
	bomb := gzipped(gzipped(make([]byte, 64<<20))) // 64 MiB in a few hundred bytes
	const plain = "Content-Type: text/plain\r\n"
	tests := []struct {
		name  string
		open  func(t *testing.T) string
		class loopbroker.ErrorClass
	}{
		{"headers without end", func(t *testing.T) string { return pour(t, "HTTP/1.1 200 OK\r\n", "X-More: and more\r\n") }, loopbroker.ErrorClassTooLargeReply},
		{"a header without end", func(t *testing.T) string { return pour(t, "HTTP/1.1 200 OK\r\nX-Long: ", "xxxxxxxxxxxxxxxx") }, loopbroker.ErrorClassTooLargeReply},
		{"a status line without end", func(t *testing.T) string { return pour(t, "HTTP/1.1 200 ", "xxxxxxxxxxxxxxxx") }, loopbroker.ErrorClassTooLargeReply},
		{"informational answers without end", func(t *testing.T) string { return pour(t, "", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n") }, loopbroker.ErrorClassTooLargeReply},
		{"garbage", func(t *testing.T) string { return answer(t, "\x00\x01\x02\xff\r\n\r\n", true) }, loopbroker.ErrorClassProtocol},
		{"another protocol", func(t *testing.T) string { return answer(t, "* OK IMAP ready\r\n", true) }, loopbroker.ErrorClassProtocol},
		{"a header that is none", func(t *testing.T) string { return answer(t, "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", true) }, loopbroker.ErrorClassProtocol},
		{"a length that is none", func(t *testing.T) string {
			return answer(t, "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", true)
		}, loopbroker.ErrorClassProtocol},
		{"two lengths", func(t *testing.T) string {
			return answer(t, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", true)
		}, loopbroker.ErrorClassProtocol},
		{"an encoding of the message that is none", func(t *testing.T) string {
			return answer(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: bogus\r\n\r\nhello", true)
		}, loopbroker.ErrorClassProtocol},
		{"a chunk that is none", func(t *testing.T) string {
			return answer(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", true)
		}, loopbroker.ErrorClassProtocol},
		{"chunks that stop", func(t *testing.T) string {
			return answer(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", true)
		}, loopbroker.ErrorClassConnectionLost},
		{"less than announced", func(t *testing.T) string {
			return answer(t, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", true)
		}, loopbroker.ErrorClassConnectionLost},
		{"closed in the headers", func(t *testing.T) string { return answer(t, "HTTP/1.1 200 OK\r\nX-A: b", true) }, loopbroker.ErrorClassConnectionLost},

		{"gzip that stops", func(t *testing.T) string {
			return answer(t, response(plain+"Content-Encoding: gzip\r\n", whole[:len(whole)/2]), true)
		}, loopbroker.ErrorClassProtocol},
		{"gzip that stops before its checksum", func(t *testing.T) string {
			return answer(t, response(plain+"Content-Encoding: gzip\r\n", whole[:len(whole)-4]), true)
		}, loopbroker.ErrorClassProtocol},
		{"gzip in a connection that breaks", func(t *testing.T) string {
			return answer(t, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 99999\r\n\r\n"+string(whole[:20]), true)
		}, loopbroker.ErrorClassConnectionLost},
		{"gzip with a wrong checksum", func(t *testing.T) string {
			bad := bytes.Clone(whole)
			bad[len(bad)-8] ^= 1
			return answer(t, response("Content-Encoding: gzip\r\n", bad), true)
		}, loopbroker.ErrorClassProtocol},
		{"gzip with something after it", func(t *testing.T) string {
			return answer(t, response("Content-Encoding: gzip\r\n", append(bytes.Clone(whole), "trailing"...)), true)
		}, loopbroker.ErrorClassProtocol},
		{"deflate that is none", func(t *testing.T) string {
			return answer(t, response("Content-Encoding: deflate\r\n", []byte("\xff\xff not deflated")), true)
		}, loopbroker.ErrorClassProtocol},
		{"deflate of one byte", func(t *testing.T) string {
			return answer(t, response("Content-Encoding: deflate\r\n", []byte("x")), true)
		}, loopbroker.ErrorClassProtocol},
		{"too many encodings", func(t *testing.T) string {
			return answer(t, response("Content-Encoding: gzip, gzip, gzip\r\n", gzipped(gzipped(whole))), true)
		}, loopbroker.ErrorClassProtocol},
		{"a bomb in a bomb", func(t *testing.T) string {
			return answer(t, response("Content-Encoding: gzip, gzip\r\n", bomb), true)
		}, loopbroker.ErrorClassTooLargeReply},
		{"a bomb that is no gzip inside", func(t *testing.T) string {
			return answer(t, response("Content-Encoding: deflate, gzip\r\n", gzipped(make([]byte, 64<<20))), true)
		}, loopbroker.ErrorClassProtocol},
		{"empty gzip members without end", func(t *testing.T) string {
			return pour(t, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", string(gzipped(nil)))
		}, loopbroker.ErrorClassTooLargeReply},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHandler(t, httpfetch.Options{AllowNetworks: loopback, MaxReplyBytes: 1 << 20})
			_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get("http://" + tt.open(t))})
			f := faultOf(t, err)
			if f.Class != tt.class {
				t.Errorf("got %v (%v), want class %s", f, f.Err, tt.class)
			}
			if f.Retryable != (tt.class != loopbroker.ErrorClassTooLargeReply) {
				t.Errorf("retryable = %v", f.Retryable)
			}
		})
	}
}

// TestSlowAnswers: what drips is ended by the clock of its phase, whose class is
// named, however steadily it drips.
func TestSlowAnswers(t *testing.T) {
	t.Parallel()

	drip := func(head, piece string) func(*testing.T) string {
		return func(t *testing.T) string {
			end := t.Context()
			return listen(t, func(c net.Conn) {
				if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
					return
				}
				_, err := io.WriteString(c, head)
				tick := make(chan struct{})
				go func() { // ends when the other side closes
					_, _ = io.Copy(io.Discard, c)
					close(tick)
				}()
				if err == nil && piece != "" {
					_, _ = io.WriteString(c, piece)
				}
				select {
				case <-tick:
				case <-end.Done():
				}
			})
		}
	}
	tests := []struct {
		name    string
		open    func(*testing.T) string
		options httpfetch.Options
		class   loopbroker.ErrorClass
	}{
		{"headers one by one", drip("HTTP/1.1 200 OK\r\n", "X-A: b\r\n"), httpfetch.Options{HeaderTimeout: brief}, loopbroker.ErrorClassTimeoutHeader},
		{"informational answers and then nothing", drip("HTTP/1.1 103 Early Hints\r\n\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n"), httpfetch.Options{HeaderTimeout: brief}, loopbroker.ErrorClassTimeoutHeader},
		{"body that stops", drip("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "hel"), httpfetch.Options{BodyTimeout: brief}, loopbroker.ErrorClassTimeoutBody},
		{"gzip that stops to come", drip("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 99\r\n\r\n", "\x1f\x8b\x08"), httpfetch.Options{BodyTimeout: brief}, loopbroker.ErrorClassTimeoutBody},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.options.AllowNetworks = loopback
			h := newHandler(t, tt.options)
			_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get("http://" + tt.open(t))})
			if f := faultOf(t, err); f.Class != tt.class {
				t.Errorf("got %v, want class %s", f, tt.class)
			}
		})
	}
}

// TestEncodings reads bodies that are encoded in ways that servers have.
func TestEncodings(t *testing.T) {
	t.Parallel()

	text := strings.Repeat("hello ", 500)
	var zlibbed, flated bytes.Buffer
	z := zlib.NewWriter(&zlibbed)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	f, _ := flate.NewWriter(&flated, flate.BestSpeed)
	_, _ = io.WriteString(f, text)
	_ = f.Close()
	two := append(gzipped([]byte("hello ")), gzipped([]byte("world"))...)
	tests := []struct {
		name, encoding string
		body           []byte
		accept         string // the caller's own
		text           string
		isBytes        bool
		encoded        string // the header that is left
	}{
		{name: "gzip", encoding: "gzip", body: gzipped([]byte(text)), text: text},
		{name: "old name", encoding: "X-GZIP", body: gzipped([]byte(text)), text: text},
		{name: "deflate", encoding: "deflate", body: zlibbed.Bytes(), text: text},
		{name: "deflate without its header", encoding: "deflate", body: flated.Bytes(), text: text},
		{name: "two encodings", encoding: "deflate, gzip", body: gzipped(zlibbed.Bytes()), text: text},
		{name: "two members", encoding: "gzip", body: two, text: "hello world"},
		{name: "identity", encoding: "identity", body: []byte(text), text: text, encoded: "identity", isBytes: true},
		{name: "nothing at all", encoding: "gzip", body: nil, text: ""},
		{name: "unknown", encoding: "br", body: []byte("\x0b\x02"), isBytes: true, encoded: "br"},
		{name: "unknown around gzip", encoding: "gzip, br", body: []byte("\x0b\x02"), isBytes: true, encoded: "gzip, br"},
		{name: "asked for by the caller", encoding: "gzip", body: gzipped([]byte(text)), accept: "gzip", isBytes: true, encoded: "gzip"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stub := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if want := "gzip"; r.Header.Get("Accept-Encoding") != want {
					t.Errorf("Accept-Encoding = %q, want %q", r.Header.Get("Accept-Encoding"), want)
				}
				w.Header().Set("Content-Type", "text/plain")
				w.Header().Set("Content-Encoding", tt.encoding)
				_, _ = w.Write(tt.body)
			})
			h := newHandler(t, httpfetch.Options{AllowNetworks: loopback})
			members := map[string]any{"url": stub.URL}
			if tt.accept != "" {
				members["headers"] = map[string]string{"Accept-Encoding": tt.accept}
			}
			r, err := h.Handle(t.Context(), loopbroker.Job{JSON: job(members)})
			if err != nil {
				t.Fatal(err)
			}
			out := outputOf(t, r)
			if out.Headers["Content-Encoding"] != tt.encoded {
				t.Errorf("Content-Encoding = %q, want %q", out.Headers["Content-Encoding"], tt.encoded)
			}
			switch {
			case tt.isBytes && !bytes.Equal(r.Body, tt.body):
				t.Errorf("got %d bytes, text %v, want the %d as they came", len(r.Body), out.Body != nil, len(tt.body))
			case !tt.isBytes && (out.Body == nil || *out.Body != tt.text):
				t.Errorf("got %s, want the text", r.JSON)
			}
		})
	}
}

// TestKeptConnectionClosed: a server that closes kept connections without a word
// costs no GET, and no POST arrives twice.
func TestKeptConnectionClosed(t *testing.T) {
	t.Parallel()

	var posts atomic.Int64
	address := listen(t, func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		if r.Method == http.MethodPost {
			posts.Add(1)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") // and closes, although it did not say so
	})
	h := newHandler(t, httpfetch.Options{AllowNetworks: loopback})
	for i := range 20 {
		if _, err := h.Handle(t.Context(), loopbroker.Job{JSON: get("http://" + address)}); err != nil {
			t.Errorf("GET %d: %v", i, err)
		}
	}
	arrived := int64(0)
	for i := range 20 {
		_, err := h.Handle(t.Context(), loopbroker.Job{JSON: job(map[string]any{"url": "http://" + address, "method": "POST", "body": "x"})})
		if err == nil {
			arrived++
			continue
		}
		// It was written to a connection that was just closed: it may have arrived.
		if f := faultOf(t, err); f.Class != loopbroker.ErrorClassConnectionLost || f.Retryable {
			t.Errorf("POST %d: %v, retryable %v", i, f, f.Retryable)
		}
	}
	if posts.Load() != arrived {
		t.Errorf("%d POSTs were acted on, %d were answered", posts.Load(), arrived)
	}
}

// TestKeepAlive: problem "sockets run out without keep-alive": jobs one after the
// other share a connection, and an answer that is not wanted to its end does not
// block it for others.
func TestKeepAlive(t *testing.T) {
	t.Parallel()

	var conns atomic.Int64
	stub := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	stub.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	stub.Start()
	t.Cleanup(stub.Close)
	h := newHandler(t, httpfetch.Options{AllowNetworks: loopback})
	for range 50 {
		if _, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("50 jobs made %d connections, want 1", n)
	}
}

// TestTLSWithoutGoodbye: problem "a TLS connection that ends without close_notify is
// an error": it is none, as with other clients, because well-known servers do it; an
// announced length or chunks tell whether the body is whole.
func TestTLSWithoutGoodbye(t *testing.T) {
	t.Parallel()

	made := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	t.Cleanup(made.Close)
	config := &tls.Config{Certificates: made.TLS.Certificates}
	roots := x509.NewCertPool()
	roots.AddCert(made.Certificate())
	for text, want := range map[string]loopbroker.ErrorClass{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello":               loopbroker.ErrorClassNone,
		"HTTP/1.1 200 OK\r\n\r\nhello":                                    loopbroker.ErrorClassNone,
		"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello":               loopbroker.ErrorClassConnectionLost,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello": loopbroker.ErrorClassConnectionLost,
	} {
		address := listen(t, func(raw net.Conn) {
			c := tls.Server(raw, config)
			if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
				return
			}
			_, _ = io.WriteString(c, text)
			// listen closes the connection below TLS.
		})
		h := newHandler(t, httpfetch.Options{AllowNetworks: loopback, RootCAs: roots})
		_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get("https://" + address)})
		got := loopbroker.ErrorClassNone
		if err != nil {
			got = faultOf(t, err).Class
		}
		if got != want {
			t.Errorf("%q: class %q (%v), want %q", text, got, err, want)
		}
	}
}

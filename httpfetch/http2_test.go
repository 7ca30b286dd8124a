package httpfetch_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"loopbroker"
	"loopbroker/httpfetch"
)

// The types of HTTP/2 frames that these tests speak of (RFC 9113, section 6).
const (
	frameHeaders  = 1
	frameReset    = 3
	frameSettings = 4
	frameGoAway   = 7
)

// frame returns a frame of HTTP/2.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// closes ends what a scripted stub writes before it closes the connection.
const closes = "\x00closes"

// codes returns numbers as frames have them.
func codes(list ...uint32) []byte {
	var b []byte
	for _, n := range list {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return b
}

// scripted is a stub that speaks HTTP/2 by hand: it answers the headers of each
// request with what the script says for it, and closes once that is nothing. It
// returns its URL, the authority to trust and the number of requests.
func scripted(t *testing.T, script func(n int, stream uint32) []byte) (string, *x509.CertPool, *atomic.Int64) {
	t.Helper()
	made := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	t.Cleanup(made.Close)
	roots := x509.NewCertPool()
	roots.AddCert(made.Certificate())
	config := &tls.Config{Certificates: made.TLS.Certificates, NextProtos: []string{"h2"}}
	count := &atomic.Int64{}
	address := listen(t, func(raw net.Conn) {
		c := tls.Server(raw, config)
		if _, err := io.ReadFull(c, make([]byte, 24)); err != nil { // the preface
			return
		}
		_, _ = c.Write(frame(frameSettings, 0, 0, nil))
		for {
			head := make([]byte, 9)
			if _, err := io.ReadFull(c, head); err != nil {
				return
			}
			length := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
			if _, err := io.CopyN(io.Discard, c, length); err != nil {
				return
			}
			if head[3] != frameHeaders {
				continue
			}
			out := script(int(count.Add(1)), binary.BigEndian.Uint32(head[5:])&^(1<<31))
			if out == nil {
				return
			}
			text, last := bytes.CutSuffix(out, []byte(closes))
			if _, _ = c.Write(text); last {
				return
			}
		}
	})
	return "https://" + address, roots, count
}

// ok is an answer with status 200 and no body: an indexed field of the static table
// (RFC 7541, appendix A), with the ends of the headers and of the stream.
func ok(stream uint32) []byte { return frame(frameHeaders, 0x5, stream, []byte{0x88}) }

// TestHTTP2_Ends states what becomes of a request whose stream or connection the
// other side gives up, for a POST without a key.
func TestHTTP2_Ends(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name      string
		script    func(n int, stream uint32) []byte
		class     loopbroker.ErrorClass // none: the request is answered
		retryable bool
	}{
		{name: "reset", script: func(_ int, s uint32) []byte { return frame(frameReset, 0, s, codes(2)) }, class: loopbroker.ErrorClassConnectionLost},
		{name: "cancelled", script: func(_ int, s uint32) []byte { return frame(frameReset, 0, s, codes(8)) }, class: loopbroker.ErrorClassConnectionLost},
		{name: "protocol error once", script: func(n int, s uint32) []byte {
			if n == 1 {
				return frame(frameReset, 0, s, codes(1)) // what some send when they shut down
			}
			return ok(s)
		}},
		{name: "closed", script: func(int, uint32) []byte { return nil }, class: loopbroker.ErrorClassConnectionLost},
		{name: "goes away before it", script: func(n int, s uint32) []byte {
			if n == 1 {
				return frame(frameGoAway, 0, 0, codes(0, 0)) // the request was not acted on, and is sent again
			}
			return ok(s)
		}},
		{name: "refused once", script: func(n int, s uint32) []byte {
			if n == 1 {
				return frame(frameReset, 0, s, codes(7))
			}
			return ok(s)
		}},
		{name: "goes away after it", script: func(_ int, s uint32) []byte { return append(frame(frameGoAway, 0, 0, codes(s, 0)), ok(s)...) }},
		{name: "goes away for a fault", script: func(_ int, s uint32) []byte { return append(frame(frameGoAway, 0, 0, codes(s, 2)), closes...) }, class: loopbroker.ErrorClassConnectionLost},
		{name: "a frame that is none", script: func(int, uint32) []byte { return frame(frameHeaders, 0x5, 0, nil) }, class: loopbroker.ErrorClassProtocol},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url, roots, count := scripted(t, tt.script)
			h := newHandler(t, httpfetch.Options{AllowNetworks: loopback, RootCAs: roots})
			r, err := h.Handle(t.Context(), loopbroker.Job{JSON: job(map[string]any{"url": url, "method": "POST", "body": "x"})})
			h.Close()
			if tt.class == loopbroker.ErrorClassNone {
				if err != nil || r.HTTPStatus != http.StatusOK {
					t.Errorf("after %d requests: status %d, %v", count.Load(), r.HTTPStatus, err)
				}
				return
			}
			if f := faultOf(t, err); f.Class != tt.class || f.Retryable != tt.retryable {
				t.Errorf("got %v (%v), retryable %v, want class %s, %v", f, f.Err, f.Retryable, tt.class, tt.retryable)
			}
		})
	}
}

// TestHTTP2_Server uses the library's own server: an answer that breaks off, headers
// over the cap, and many requests in one connection.
func TestHTTP2_Server(t *testing.T) {
	t.Parallel()

	var conns atomic.Int64
	stub := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/breaks":
			_, _ = io.WriteString(w, "part")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "/headers":
			for range 100 {
				w.Header().Add("X-Many", string(make([]byte, 0)))
				w.Header().Add("X-Many", "0123456789012345678901234567890123456789012345678901234567890123456789")
			}
		default:
			_, _ = io.WriteString(w, r.Proto)
		}
	}))
	stub.EnableHTTP2 = true
	stub.Config.ErrorLog = quiet
	stub.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	stub.StartTLS()
	t.Cleanup(stub.Close)
	roots := x509.NewCertPool()
	roots.AddCert(stub.Certificate())
	h := newHandler(t, httpfetch.Options{AllowNetworks: loopback, RootCAs: roots, MaxReplyHeaderBytes: 4 << 10})
	for path, want := range map[string]loopbroker.ErrorClass{
		"/breaks": loopbroker.ErrorClassConnectionLost, "/headers": loopbroker.ErrorClassTooLargeReply, "/": loopbroker.ErrorClassNone,
	} {
		_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL + path)})
		got := loopbroker.ErrorClassNone
		if err != nil {
			got = faultOf(t, err).Class
		}
		if got != want {
			t.Errorf("%s: class %q (%v), want %q", path, got, err, want)
		}
	}
	before := conns.Load()
	for range 20 {
		if _, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL)}); err != nil {
			t.Error(err)
		}
	}
	if n := conns.Load() - before; n > 1 {
		t.Errorf("20 jobs made %d more connections", n)
	}
}

package httpfetch_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"loopbroker"
	"loopbroker/httpfetch"
)

// brief is a clock that is meant to end. The others of a test are minutes long.
const brief = 60 * time.Millisecond

// classCase is one way for an attempt to fail.
type classCase struct {
	name      string
	class     loopbroker.ErrorClass
	retryable bool // for a GET
	options   httpfetch.Options
	job       loopbroker.Job
	open      func(t *testing.T) string // returns the job's JSON; nil if job has it
	cause     error                     // cancels the attempt while the stub has it
}

// stall is a TCP stub that takes what comes and says nothing.
func stall(t *testing.T) string {
	return listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
}

// answer is a TCP stub that reads one request and answers with the text, then waits
// for the other side to close, or closes by itself.
func answer(t *testing.T, text string, closes bool) string {
	return listen(t, func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
			return
		}
		_, _ = io.WriteString(c, text)
		if !closes {
			_, _ = io.Copy(io.Discard, c)
		}
	})
}

var classCases = []classCase{
	{
		name: "name does not exist", class: loopbroker.ErrorClassDNS, retryable: true,
		options: httpfetch.Options{Resolver: resolver(func(_ context.Context, host string) ([]netip.Addr, error) {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		})},
		job: loopbroker.Job{JSON: get("http://nowhere.example/")},
	},
	{
		name: "name has no address", class: loopbroker.ErrorClassDNS, retryable: true,
		options: httpfetch.Options{Resolver: to()},
		job:     loopbroker.Job{JSON: get("http://nowhere.example/")},
	},
	{
		name: "lookup stalls", class: loopbroker.ErrorClassTimeoutConnect, retryable: true,
		options: httpfetch.Options{ConnectTimeout: brief, Resolver: resolver(func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})},
		job: loopbroker.Job{JSON: get("http://slow.example/")},
	},
	{
		name: "lookup stalls until the attempt ends", class: loopbroker.ErrorClassTimeoutConnect, retryable: true,
		options: httpfetch.Options{Resolver: resolver(func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})},
		job: loopbroker.Job{JSON: get("http://slow.example/"), AttemptTimeout: brief},
	},
	{
		name: "port refuses", class: loopbroker.ErrorClassConnect, retryable: true,
		open: func(t *testing.T) string {
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			return get("http://" + l.Addr().String())
		},
	},
	{
		name: "handshake stalls", class: loopbroker.ErrorClassTimeoutTLS, retryable: true,
		options: httpfetch.Options{TLSTimeout: brief},
		open:    func(t *testing.T) string { return get("https://" + stall(t)) },
	},
	{
		name: "handshake with a plain HTTP server", class: loopbroker.ErrorClassTLS, retryable: true,
		open: func(t *testing.T) string {
			s := serve(t, func(http.ResponseWriter, *http.Request) {})
			return get(strings.Replace(s.URL, "http:", "https:", 1))
		},
	},
	{
		name: "handshake with something else", class: loopbroker.ErrorClassTLS, retryable: true,
		open: func(t *testing.T) string {
			return get("https://" + listen(t, func(c net.Conn) { _, _ = io.WriteString(c, "220 mail ready\r\n") }))
		},
	},
	{
		name: "certificate of nobody", class: loopbroker.ErrorClassCertificate,
		open: func(t *testing.T) string {
			s := httptest.NewUnstartedServer(http.NotFoundHandler())
			s.Config.ErrorLog = quiet
			s.StartTLS()
			t.Cleanup(s.Close)
			return get(s.URL)
		},
	},
	{
		name: "headers stall", class: loopbroker.ErrorClassTimeoutHeader, retryable: true,
		options: httpfetch.Options{HeaderTimeout: brief},
		open:    func(t *testing.T) string { return get("http://" + stall(t)) },
	},
	{
		name: "headers stall until the attempt ends", class: loopbroker.ErrorClassTimeoutHeader, retryable: true,
		job:  loopbroker.Job{AttemptTimeout: brief},
		open: func(t *testing.T) string { return get("http://" + stall(t)) },
	},
	{
		name: "headers stall halfway", class: loopbroker.ErrorClassTimeoutHeader, retryable: true,
		options: httpfetch.Options{HeaderTimeout: brief},
		open:    func(t *testing.T) string { return get("http://" + answer(t, "HTTP/1.1 200 OK\r\nX-Half: ", false)) },
	},
	{
		name: "body stalls", class: loopbroker.ErrorClassTimeoutBody, retryable: true,
		options: httpfetch.Options{BodyTimeout: brief},
		open: func(t *testing.T) string {
			return get("http://" + answer(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart", false))
		},
	},
	{
		name: "body stalls until the attempt ends", class: loopbroker.ErrorClassTimeoutBody, retryable: true,
		job: loopbroker.Job{AttemptTimeout: 3 * brief},
		open: func(t *testing.T) string {
			return get("http://" + answer(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart", false))
		},
	},
	{
		name: "body never ends", class: loopbroker.ErrorClassTimeoutAttempt, retryable: true,
		options: httpfetch.Options{MaxReplyBytes: 1 << 40},
		job:     loopbroker.Job{AttemptTimeout: 8 * brief},
		open: func(t *testing.T) string {
			return get(serve(t, func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					_, _ = w.Write([]byte("."))
					_ = http.NewResponseController(w).Flush()
				}
			}).URL)
		},
	},
	{
		name: "request is not read", class: loopbroker.ErrorClassTimeoutAttempt,
		options: httpfetch.Options{MaxRequestBytes: 64 << 20},
		job:     loopbroker.Job{AttemptTimeout: 4 * brief, Body: make([]byte, 32<<20)},
		open: func(t *testing.T) string {
			end := make(chan struct{})
			address := listen(t, func(net.Conn) { <-end })
			t.Cleanup(func() { close(end) }) // before the stub waits for its connection
			return job(map[string]any{"method": "POST", "url": "http://" + address})
		},
	},
	{
		name: "all attempts took too long", class: loopbroker.ErrorClassTimeoutTotal,
		job:  loopbroker.Job{TotalLeft: brief},
		open: func(t *testing.T) string { return get("http://" + stall(t)) },
	},
	{
		name: "connection is closed", class: loopbroker.ErrorClassConnectionLost, retryable: true,
		open: func(t *testing.T) string { return get("http://" + answer(t, "", true)) },
	},
	{
		name: "connection is closed in the body", class: loopbroker.ErrorClassConnectionLost, retryable: true,
		open: func(t *testing.T) string {
			return get("http://" + answer(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart", true))
		},
	},
	{
		name: "answer is not HTTP", class: loopbroker.ErrorClassProtocol, retryable: true,
		open: func(t *testing.T) string { return get("http://" + answer(t, "SSH-2.0-stub\r\n", true)) },
	},
	{
		name: "a status that is none", class: loopbroker.ErrorClassProtocol, retryable: true,
		open: func(t *testing.T) string {
			return get("http://" + answer(t, "HTTP/1.1 000 None\r\nContent-Length: 0\r\n\r\n", true))
		},
	},
	{
		name: "another protocol that nobody asked for", class: loopbroker.ErrorClassProtocol, retryable: true,
		open: func(t *testing.T) string {
			return get("http://" + answer(t, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", false))
		},
	},
	{
		name: "TLS handshake is refused", class: loopbroker.ErrorClassTLS, retryable: true,
		open: func(t *testing.T) string {
			// A fatal alert, protocol_version, instead of a hello.
			return get("https://" + listen(t, func(c net.Conn) {
				if _, err := c.Read(make([]byte, 4096)); err == nil {
					_, _ = c.Write([]byte{21, 3, 3, 0, 2, 2, 70})
				}
			}))
		},
	},
	{
		name: "body is not gzip", class: loopbroker.ErrorClassProtocol, retryable: true,
		open: func(t *testing.T) string {
			return get("http://" + answer(t, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\nthis is not gzipped!", true))
		},
	},
	{
		name: "body of the request over the cap", class: loopbroker.ErrorClassTooLargeRequest,
		job: loopbroker.Job{JSON: job(map[string]any{"url": "http://127.0.0.1:1", "method": "POST"}), Body: make([]byte, 20<<20)},
	},
	{
		name: "text of the request over the cap", class: loopbroker.ErrorClassTooLargeRequest,
		options: httpfetch.Options{MaxRequestBytes: 100},
		job:     loopbroker.Job{JSON: job(map[string]any{"url": "http://127.0.0.1:1", "method": "POST", "body": strings.Repeat("x", 101)})},
	},
	{
		name: "headers of the request over the cap", class: loopbroker.ErrorClassTooLargeRequest,
		job: loopbroker.Job{JSON: job(map[string]any{"url": "http://127.0.0.1:1", "headers": map[string]string{"X-Long": strings.Repeat("x", 17<<10)}})},
	},
	{
		name: "announced reply over the cap", class: loopbroker.ErrorClassTooLargeReply,
		open: func(t *testing.T) string {
			return get("http://" + answer(t, "HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n", false))
		},
	},
	{
		name: "streamed reply over the cap", class: loopbroker.ErrorClassTooLargeReply,
		options: httpfetch.Options{MaxReplyBytes: 2 << 20},
		open: func(t *testing.T) string {
			return get(serve(t, func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					_, _ = w.Write(make([]byte, 1<<20))
				}
			}).URL)
		},
	},
	{
		name: "gzip bomb", class: loopbroker.ErrorClassTooLargeReply,
		options: httpfetch.Options{MaxReplyBytes: 1 << 20},
		open: func(t *testing.T) string {
			return get(serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				zeros := make([]byte, 1<<20)
				for range 64 {
					if _, err := z.Write(zeros); err != nil {
						return
					}
				}
				_ = z.Close()
			}).URL)
		},
	},
	{
		name: "headers of the reply over the cap", class: loopbroker.ErrorClassTooLargeReply,
		open: func(t *testing.T) string {
			return get(serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
			}).URL)
		},
	},
	{
		name: "private address behind a name", class: loopbroker.ErrorClassAddressNotAllowed,
		options: httpfetch.Options{Resolver: to("10.0.0.1", "169.254.169.254")},
		job:     loopbroker.Job{JSON: get("http://inside.example/")},
	},
	{
		name: "no URL", class: loopbroker.ErrorClassBadURL,
		job: loopbroker.Job{JSON: `{"method":"GET"}`},
	},
	{
		name: "not JSON", class: loopbroker.ErrorClassBadRequest,
		job: loopbroker.Job{JSON: `<get/>`},
	},
	{
		name: "too many redirects", class: loopbroker.ErrorClassRedirect,
		options: httpfetch.Options{MaxRedirects: 3},
		open: func(t *testing.T) string {
			return get(serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) }).URL)
		},
	},
	{
		name: "status asks for another attempt", class: loopbroker.ErrorClassStatus, retryable: true,
		open: func(t *testing.T) string {
			return get(serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }).URL)
		},
	},
	{
		name: "cancelled", class: loopbroker.ErrorClassCancelled, cause: loopbroker.ErrCancelled,
		open: func(t *testing.T) string { return get("http://" + stall(t)) },
	},
	{
		name: "worker stops", class: loopbroker.ErrorClassInterrupted, retryable: true, cause: loopbroker.ErrStopped,
		open: func(t *testing.T) string { return get("http://" + stall(t)) },
	},
	{
		name: "lease is lost", class: loopbroker.ErrorClassLeaseLost, cause: loopbroker.ErrLeaseLost,
		open: func(t *testing.T) string { return get("http://" + stall(t)) },
	},
}

// TestHandler_ErrorClasses: problem "nobody could tell which timeout fired": each
// clock and each other way to fail has a class of its own.
func TestHandler_ErrorClasses(t *testing.T) {
	t.Parallel()

	for _, tt := range classCases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			opts := tt.options
			if tt.class != loopbroker.ErrorClassAddressNotAllowed {
				opts.AllowNetworks = loopback
			}
			h := newHandler(t, opts)
			j := tt.job
			if tt.open != nil {
				j.JSON = tt.open(t)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tt.cause != nil {
				timer := time.AfterFunc(brief, func() { cancel(tt.cause) })
				defer timer.Stop()
			}

			_, err := h.Handle(ctx, j)
			f := faultOf(t, err)
			if f.Class != tt.class || f.Retryable != tt.retryable {
				t.Errorf("got class %q, retryable %v (%v; cause %v), want %q, %v", f.Class, f.Retryable, f, f.Err, tt.class, tt.retryable)
			}
			if f.Message == "" {
				t.Error("the fault has no message")
			}
		})
	}
}

// TestErrorClasses_Covered keeps the table above complete.
func TestErrorClasses_Covered(t *testing.T) {
	t.Parallel()

	elsewhere := map[loopbroker.ErrorClass]string{
		loopbroker.ErrorClassExpired:           "worker",
		loopbroker.ErrorClassNotAllowed:        "with the policy",
		loopbroker.ErrorClassCredential:        "with the credentials",
		loopbroker.ErrorClassHostBusy:          "with the hosts",
		loopbroker.ErrorClassHostOpen:          "with the hosts",
		loopbroker.ErrorClassHandlerUnknown:    "worker",
		loopbroker.ErrorClassHandlerPanic:      "worker",
		loopbroker.ErrorClassHandlerFailed:     "worker",
		loopbroker.ErrorClassAttemptsExhausted: "worker",
		loopbroker.ErrorClassPoison:            "worker",
		loopbroker.ErrorClassInternal:          "defects",
	}
	seen := map[loopbroker.ErrorClass]bool{}
	for _, tt := range classCases {
		seen[tt.class] = true
	}
	for _, class := range loopbroker.ErrorClasses() {
		if !seen[class] && elsewhere[class] == "" {
			t.Errorf("no case for class %q", class)
		}
		if seen[class] && elsewhere[class] != "" {
			t.Errorf("class %q has a case and is listed as one of another package", class)
		}
	}
}

// TestHandler_AddressForms: problem "the inside is reached through a stored request":
// it sends every spelling of an inner address to a stub that
// must not hear of it.
func TestHandler_AddressForms(t *testing.T) {
	t.Parallel()

	stub := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the stub was asked for %s", r.Host) })
	port := stub.URL[strings.LastIndexByte(stub.URL, ':'):]
	for _, host := range []string{
		"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "017700000001", "0x7f.0.0.1", "0", "0.0.0.0",
		"127.0.0.1.", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
		"[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "[fe80::1%25lo]", "169.254.169.254", "[fd00:ec2::254]", "10.0.0.1", "100.100.100.200",
	} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			h := newHandler(t, httpfetch.Options{})
			_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get("http://" + host + port)})
			if f := faultOf(t, err); f.Class != loopbroker.ErrorClassAddressNotAllowed {
				t.Errorf("got %v, want class %q", f, loopbroker.ErrorClassAddressNotAllowed)
			}
		})
	}
}

// TestHandler_Rebinding resolves to a public address first and to an inner one at
// every later lookup. The dial must go to what was judged.
func TestHandler_Rebinding(t *testing.T) {
	t.Parallel()

	stub := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the stub was asked for %s", r.Host) })
	port := stub.URL[strings.LastIndexByte(stub.URL, ':'):]
	lookups := 0
	h := newHandler(t, httpfetch.Options{Resolver: resolver(func(context.Context, string) ([]netip.Addr, error) {
		lookups++
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::ffff:127.0.0.1")}, nil
	})})
	_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get("http://rebound.example" + port)})
	if f := faultOf(t, err); f.Class != loopbroker.ErrorClassAddressNotAllowed {
		t.Errorf("got %v, want class %q", f, loopbroker.ErrorClassAddressNotAllowed)
	}
	if lookups != 1 {
		t.Errorf("the name was looked up %d times, want once", lookups)
	}
}

// TestHandler_MixedAddresses has one inner address among the host's: only the
// others may be dialled.
func TestHandler_MixedAddresses(t *testing.T) {
	t.Parallel()

	stub := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "reached") })
	port := stub.URL[strings.LastIndexByte(stub.URL, ':'):]
	h := newHandler(t, httpfetch.Options{
		Resolver:      to("10.0.0.1", "127.0.0.1"),
		AllowNetworks: loopback,
	})
	r, err := h.Handle(t.Context(), loopbroker.Job{JSON: get("http://mixed.example" + port)})
	if err != nil {
		t.Fatal(err)
	}
	if got := *outputOf(t, r).Body; got != "reached" {
		t.Errorf("body = %q, want %q", got, "reached")
	}
}

func TestHandler_AllowHosts(t *testing.T) {
	t.Parallel()

	stub := serve(t, func(http.ResponseWriter, *http.Request) {})
	port := stub.URL[strings.LastIndexByte(stub.URL, ':')+1:]
	h := newHandler(t, httpfetch.Options{Resolver: to("127.0.0.1"), AllowHosts: []string{"stub.example:" + port}})
	if _, err := h.Handle(t.Context(), loopbroker.Job{JSON: get("http://stub.example:" + port)}); err != nil {
		t.Errorf("the allowed host: %v", err)
	}
	_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get("http://other.example:" + port)})
	if f := faultOf(t, err); f.Class != loopbroker.ErrorClassAddressNotAllowed {
		t.Errorf("another host: got %v, want class %q", f, loopbroker.ErrorClassAddressNotAllowed)
	}
}

// TestHandler_NextAddress has a dead address first.
func TestHandler_NextAddress(t *testing.T) {
	t.Parallel()

	stub := serve(t, func(http.ResponseWriter, *http.Request) {})
	port := stub.URL[strings.LastIndexByte(stub.URL, ':'):]
	h := newHandler(t, httpfetch.Options{Resolver: to("127.0.0.2", "127.0.0.3", "127.0.0.1"), AllowNetworks: loopback})
	r, err := h.Handle(t.Context(), loopbroker.Job{JSON: get("http://three.example" + port)})
	if err != nil || r.HTTPStatus != http.StatusOK {
		t.Errorf("got status %d, %v, want %d", r.HTTPStatus, err, http.StatusOK)
	}
	h = newHandler(t, httpfetch.Options{Resolver: to("127.0.0.2", "127.0.0.3"), AllowNetworks: loopback})
	_, err = h.Handle(t.Context(), loopbroker.Job{JSON: get("http://two.example" + port)})
	if f := faultOf(t, err); f.Class != loopbroker.ErrorClassConnect {
		t.Errorf("got %v, want class %q", f, loopbroker.ErrorClassConnect)
	}
}

// TestFault_KeepsSecrets: problem "secrets in errors and tables": it makes sure that what a target or a caller wrote is not in
// a fault, which is stored and shown.
func TestFault_KeepsSecrets(t *testing.T) {
	t.Parallel()

	const secret = "hunter2"
	stub := answer(t, "HTTP/1.1 200 "+secret+"\r\n"+secret+"\r\n\r\n", true)
	h := newHandler(t, httpfetch.Options{AllowNetworks: loopback})
	for _, text := range []string{
		get("http://" + stub + "/?token=" + secret),
		`{"url": "http://` + stub + `", "` + secret + `": 1}`,
		job(map[string]any{"url": "http://" + secret + ":x@" + stub}),
		job(map[string]any{"url": "http://" + stub, "headers": map[string]any{"X-Key": secret + "\r\n"}}),
	} {
		_, err := h.Handle(t.Context(), loopbroker.Job{JSON: text})
		if f := faultOf(t, err); strings.Contains(f.Error(), secret) || strings.Contains(f.Message, secret) {
			t.Errorf("the fault tells the secret: %v", f)
		}
	}
}

// TestMayRetry states the rule for each kind of class.
func TestMayRetry(t *testing.T) {
	t.Parallel()

	tests := []struct {
		class            loopbroker.ErrorClass
		left, repeatable bool
		want             bool
	}{
		{loopbroker.ErrorClassDNS, false, false, true},
		{loopbroker.ErrorClassDNS, true, false, true},
		{loopbroker.ErrorClassTimeoutHeader, true, false, false},
		{loopbroker.ErrorClassTimeoutHeader, true, true, true},
		{loopbroker.ErrorClassTimeoutHeader, false, false, true},
		{loopbroker.ErrorClassInterrupted, true, false, false},
		{loopbroker.ErrorClassInterrupted, false, false, true},
		{loopbroker.ErrorClassBadURL, false, true, false},
		{loopbroker.ErrorClassTooLargeReply, true, true, false},
		{loopbroker.ErrorClassTimeoutTotal, false, true, false},
	}
	for _, tt := range tests {
		if got := httpfetch.MayRetry(tt.class, tt.left, tt.repeatable); got != tt.want {
			t.Errorf("MayRetry(%s, left %v, repeatable %v) = %v, want %v", tt.class, tt.left, tt.repeatable, got, tt.want)
		}
	}
}

// TestHandler_PostIsNotRepeated: problem "retries make duplicates": it states when a POST may be sent again.
func TestHandler_PostIsNotRepeated(t *testing.T) {
	t.Parallel()

	status := func(code int) func(t *testing.T) string {
		return func(t *testing.T) string {
			return serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }).URL
		}
	}
	tests := []struct {
		name string
		open func(t *testing.T) string
		key  string
		want bool
	}{
		{"lost after it left", func(t *testing.T) string { return "http://" + answer(t, "", true) }, "", false},
		{"lost after it left, with a key", func(t *testing.T) string { return "http://" + answer(t, "", true) }, "k1", true},
		{"never left", func(*testing.T) string { return "http://127.0.0.1:1" }, "", true},
		{"503", status(503), "", false},
		{"503 with a key", status(503), "k1", true},
		{"429", status(429), "", true},
		{"425", status(425), "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHandler(t, httpfetch.Options{AllowNetworks: loopback})
			members := map[string]any{"url": tt.open(t), "method": "POST", "body": "x"}
			if tt.key != "" {
				members["idempotency_key"] = tt.key
			}
			_, err := h.Handle(t.Context(), loopbroker.Job{JSON: job(members)})
			if f := faultOf(t, err); f.Retryable != tt.want {
				t.Errorf("retryable = %v (%v), want %v", f.Retryable, f, tt.want)
			}
		})
	}
}

// TestHandler_RetryAfter: problem "Retry-After is not honoured": seconds and dates are,
// up to the cap, and the pause is the worker's to make, so no slot waits.
func TestHandler_RetryAfter(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name, header string
		want         time.Duration
	}{
		{"seconds", "3", 3 * time.Second},
		{"date", now.Add(90 * time.Second).Format(http.TimeFormat), 90 * time.Second},
		{"past date", now.Add(-time.Hour).Format(http.TimeFormat), 0},
		{"far seconds", "86400", 5 * time.Minute},
		{"absurd seconds", "99999999999999999999999", 5 * time.Minute},
		{"far date", now.Add(time.Hour).Format(http.TimeFormat), 5 * time.Minute},
		{"negative", "-1", 0},
		{"nonsense", "soon", 0},
		{"absent", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stub := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if tt.header != "" {
					w.Header().Set("Retry-After", tt.header)
				}
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = io.WriteString(w, "slow down")
			})
			h := newHandler(t, httpfetch.Options{AllowNetworks: loopback, Now: func() time.Time { return now }})
			_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL)})
			f := faultOf(t, err)
			if f.RetryAfter != tt.want {
				t.Errorf("RetryAfter = %s, want %s", f.RetryAfter, tt.want)
			}
			if f.Reply == nil || f.Reply.HTTPStatus != http.StatusTooManyRequests || *outputOf(t, *f.Reply).Body != "slow down" {
				t.Errorf("the fault holds the reply %+v, want the answer", f.Reply)
			}
		})
	}
}

func TestMSNumbers(t *testing.T) {
	t.Parallel()

	h := newHandler(t, httpfetch.Options{})
	tests := []struct {
		name string
		json string
		want int
	}{
		{"url", `{"url":"ftp://x"}`, 31609},
		{"method", `{"url":"http://x","method":"BREW"}`, 31605},
		{"nested headers", `{"url":"http://x","headers":{"a":{"b":"c"}}}`, 31615},
		{"headers twice", `{"url":"http://x","headers":{"a":"1","A":"2"}}`, 31616},
		{"worker's header", `{"url":"http://x","headers":{"Host":"y"}}`, 31616},
		{"not ASCII", `{"url":"http://x","headers":{"a":"ü"}}`, 31617},
		{"control", `{"url":"http://x","headers":{"a":"b\r\nc: d"}}`, 31618},
		{"bad name", `{"url":"http://x","headers":{"a b":"c"}}`, 31618},
		{"address", `{"url":"http://10.0.0.1"}`, 31624},
	}
	for _, tt := range tests {
		_, err := h.Handle(t.Context(), loopbroker.Job{JSON: tt.json})
		if got := faultOf(t, err).MSNumber(); got != tt.want {
			t.Errorf("%s: MSNumber() = %d, want %d", tt.name, got, tt.want)
		}
	}
}

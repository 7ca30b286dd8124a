package httpfetch_test

import (
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"io"
	"log" //nolint:depguard // httptest takes no other logger for a server's complaints
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loopbroker"
	"loopbroker/httpfetch"
)

// quiet takes the complaints of stubs whose clients are meant to go away.
var quiet = log.New(io.Discard, "", 0)

// received is what a stub was sent.
type received struct {
	Method, Path, Body string
	Header             http.Header
}

// record is a stub that notes what it is sent.
func record(t *testing.T) (string, *received) {
	t.Helper()
	got := &received{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*got = received{Method: r.Method, Path: r.URL.RequestURI(), Body: string(body), Header: r.Header}
		w.WriteHeader(http.StatusNoContent)
	})
	return s.URL, got
}

func TestHandler_Sends(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		members map[string]any
		body    []byte
		want    received
	}{
		{
			name:    "method defaults to GET",
			members: map[string]any{},
			want:    received{Method: "GET", Path: "/p?q=1", Header: http.Header{"Accept-Encoding": {"gzip"}, "User-Agent": {"loopbroker"}}},
		},
		{
			name:    "headers of each kind",
			members: map[string]any{"method": "delete", "headers": map[string]any{"x-a": "1 ~ 2", "X-N": 1e3, "X-B": true, "User-Agent": "mine", "Accept-Encoding": "identity"}},
			want: received{Method: "DELETE", Path: "/p?q=1", Header: http.Header{
				"X-A": {"1 ~ 2"}, "X-N": {"1000"}, "X-B": {"true"}, "User-Agent": {"mine"}, "Accept-Encoding": {"identity"},
			}},
		},
		{
			name:    "text that is JSON",
			members: map[string]any{"method": "POST", "body": `{"a":"ü😀"}`},
			want: received{Method: "POST", Path: "/p?q=1", Body: `{"a":"ü😀"}`, Header: http.Header{
				"Content-Type": {"application/json; charset=utf-8"}, "Content-Length": {"14"},
			}},
		},
		{
			name:    "text that is not",
			members: map[string]any{"method": "PUT", "body": "a: ü"},
			want: received{Method: "PUT", Path: "/p?q=1", Body: "a: ü", Header: http.Header{
				"Content-Type": {"text/plain; charset=utf-8"}, "Content-Length": {"5"},
			}},
		},
		{
			name:    "text in the named charset",
			members: map[string]any{"method": "POST", "body": "ü€", "headers": map[string]any{"content-type": "text/plain; charset=windows-1252"}},
			want: received{Method: "POST", Path: "/p?q=1", Body: "\xfc\x80", Header: http.Header{
				"Content-Type": {"text/plain; charset=windows-1252"}, "Content-Length": {"2"},
			}},
		},
		{
			name:    "bytes",
			members: map[string]any{"method": "PATCH"},
			body:    []byte{0, 1, 0xff},
			want: received{Method: "PATCH", Path: "/p?q=1", Body: "\x00\x01\xff", Header: http.Header{
				"Content-Type": {"application/octet-stream"}, "Content-Length": {"3"},
			}},
		},
		{
			name:    "empty text",
			members: map[string]any{"method": "POST", "body": ""},
			want: received{Method: "POST", Path: "/p?q=1", Header: http.Header{
				"Content-Type": {"text/plain; charset=utf-8"}, "Content-Length": {"0"},
			}},
		},
		{
			name:    "idempotency key",
			members: map[string]any{"method": "POST", "idempotency_key": "k-1"},
			want:    received{Method: "POST", Path: "/p?q=1", Header: http.Header{"Idempotency-Key": {"k-1"}, "Content-Length": {"0"}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			url, got := record(t)
			tt.members["url"] = url + "/p?q=1#fragment"
			h := newHandler(t, httpfetch.Options{AllowNetworks: loopback})
			r, err := h.Handle(t.Context(), loopbroker.Job{JSON: job(tt.members), Body: tt.body})
			if err != nil {
				t.Fatal(err)
			}
			if r.HTTPStatus != http.StatusNoContent {
				t.Errorf("status = %d, want %d", r.HTTPStatus, http.StatusNoContent)
			}
			for name, values := range map[string][]string{"Accept-Encoding": {"gzip"}, "User-Agent": {"loopbroker"}} {
				if tt.want.Header[name] == nil {
					tt.want.Header[name] = values
				}
			}
			if diff := cmp.Diff(tt.want, *got); diff != "" {
				t.Errorf("the stub was sent (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHandler_Refuses: problem "headers and URLs are injected".
func TestHandler_Refuses(t *testing.T) {
	t.Parallel()

	url := "http://127.0.0.1:1/"
	tests := []struct {
		name  string
		json  string
		body  []byte
		class loopbroker.ErrorClass
	}{
		{name: "empty", json: "", class: loopbroker.ErrorClassBadRequest},
		{name: "array", json: `[]`, class: loopbroker.ErrorClassBadRequest},
		{name: "text after it", json: `{"url":"` + url + `"} {}`, class: loopbroker.ErrorClassBadRequest},
		{name: "unknown member", json: `{"url":"` + url + `","proxy":"x"}`, class: loopbroker.ErrorClassBadRequest},
		{name: "wrong type", json: `{"url":1}`, class: loopbroker.ErrorClassBadRequest},
		{name: "headers are an array", json: `{"url":"` + url + `","headers":["a"]}`, class: loopbroker.ErrorClassBadRequest},
		{name: "header is null", json: `{"url":"` + url + `","headers":{"a":null}}`, class: loopbroker.ErrorClassBadRequest},
		{name: "header is an array", json: `{"url":"` + url + `","headers":{"a":["b"]}}`, class: loopbroker.ErrorClassBadRequest},
		{name: "method with a blank", json: `{"url":"` + url + `","method":"GET /x"}`, class: loopbroker.ErrorClassBadRequest},
		{name: "CONNECT", json: `{"url":"` + url + `","method":"CONNECT"}`, class: loopbroker.ErrorClassBadRequest},
		{name: "transfer encoding", json: `{"url":"` + url + `","headers":{"transfer-encoding":"chunked"}}`, class: loopbroker.ErrorClassBadRequest},
		{name: "content length", json: `{"url":"` + url + `","headers":{"Content-Length":5}}`, class: loopbroker.ErrorClassBadRequest},
		{name: "header line break", json: `{"url":"` + url + `","headers":{"a":"b\nc"}}`, class: loopbroker.ErrorClassBadRequest},
		{name: "header NUL", json: `{"url":"` + url + `","headers":{"a":"b\u0000"}}`, class: loopbroker.ErrorClassBadRequest},
		{name: "header name line break", json: `{"url":"` + url + `","headers":{"a\r\nb":"c"}}`, class: loopbroker.ErrorClassBadRequest},
		{name: "key line break", json: `{"url":"` + url + `","idempotency_key":"a\r\nb"}`, class: loopbroker.ErrorClassBadRequest},
		{name: "two bodies", json: `{"url":"` + url + `","method":"POST","body":"x"}`, body: []byte("y"), class: loopbroker.ErrorClassBadRequest},
		{name: "charset unknown", json: `{"url":"` + url + `","body":"x","headers":{"content-type":"text/plain; charset=klingon"}}`, class: loopbroker.ErrorClassBadRequest},
		{name: "charset too small", json: `{"url":"` + url + `","body":"😀","headers":{"content-type":"text/plain; charset=windows-1252"}}`, class: loopbroker.ErrorClassBadRequest},
		{name: "content type malformed", json: `{"url":"` + url + `","body":"x","headers":{"content-type":"text/plain; charset"}}`, class: loopbroker.ErrorClassBadRequest},
		{name: "no URL", json: `{}`, class: loopbroker.ErrorClassBadURL},
		{name: "scheme", json: `{"url":"file:///etc/passwd"}`, class: loopbroker.ErrorClassBadURL},
		{name: "no scheme", json: `{"url":"//host/x"}`, class: loopbroker.ErrorClassBadURL},
		{name: "opaque", json: `{"url":"http:host"}`, class: loopbroker.ErrorClassBadURL},
		{name: "no host", json: `{"url":"http:///x"}`, class: loopbroker.ErrorClassBadURL},
		{name: "user information", json: `{"url":"http://u:p@127.0.0.1/"}`, class: loopbroker.ErrorClassBadURL},
		{name: "blank", json: `{"url":"http://a b/"}`, class: loopbroker.ErrorClassBadURL},
		{name: "line break", json: `{"url":"http://a/\r\nX: y"}`, class: loopbroker.ErrorClassBadURL},
		{name: "bad escape", json: `{"url":"http://a/%zz"}`, class: loopbroker.ErrorClassBadURL},
		{name: "bad port", json: `{"url":"http://a:x/"}`, class: loopbroker.ErrorClassBadURL},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHandler(t, httpfetch.Options{AllowNetworks: loopback})
			_, err := h.Handle(t.Context(), loopbroker.Job{JSON: tt.json, Body: tt.body})
			f := faultOf(t, err)
			if f.Class != tt.class || f.Retryable {
				t.Errorf("got class %q, retryable %v (%v), want %q, false", f.Class, f.Retryable, f, tt.class)
			}
		})
	}
}

// TestHandler_Reads: problem "binary, charsets and NUL are lost on the way": a text is
// decoded by its charset, and what cannot be is kept as bytes.
func TestHandler_Reads(t *testing.T) {
	t.Parallel()

	png := []byte("\x89PNG\r\n\x1a\n\x00\x00")
	tests := []struct {
		name        string
		contentType string
		body        []byte
		text        string // what is in the JSON
		isBytes     bool   // or the bytes are kept
	}{
		{name: "JSON", contentType: "application/json", body: []byte(`{"a":"<ü>"}`), text: `{"a":"<ü>"}`},
		{name: "problem", contentType: "application/problem+json", body: []byte(`{}`), text: `{}`},
		{name: "text without charset", contentType: "text/html", body: []byte("<p>😀"), text: "<p>😀"},
		{name: "windows-1252", contentType: "text/html; charset=windows-1252", body: []byte("\x80 \xfc"), text: "€ ü"},
		{name: "latin1 label", contentType: "text/plain; charset=ISO-8859-1", body: []byte("\xe9"), text: "é"},
		{name: "shift_jis", contentType: "text/plain; charset=Shift_JIS", body: []byte("\x93\xfa"), text: "日"},
		{name: "mark wins", contentType: "text/plain; charset=utf-8", body: []byte("\xff\xfea\x00"), text: "a"},
		{name: "UTF-8 mark", contentType: "text/plain", body: []byte("\xef\xbb\xbfa"), text: "a"},
		{name: "empty", contentType: "image/png", body: nil, text: ""},
		{name: "lies about UTF-8", contentType: "text/plain; charset=utf-8", body: []byte("\xff\x00"), isBytes: true},
		{name: "lies about Shift_JIS", contentType: "text/plain; charset=Shift_JIS", body: []byte("\x93"), isBytes: true},
		{name: "unknown charset", contentType: "text/plain; charset=klingon", body: []byte("a"), isBytes: true},
		{name: "Latin-1 without saying so", contentType: "text/plain", body: []byte("\xe9"), isBytes: true},
		{name: "NUL", contentType: "text/plain", body: []byte("a\x00b"), isBytes: true},
		{name: "PNG", contentType: "image/png", body: png, isBytes: true},
		{name: "bytes that are ASCII", contentType: "application/octet-stream", body: []byte("abc"), isBytes: true},
		{name: "malformed type", contentType: "text/plain; charset", body: []byte("abc"), text: "abc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			stub := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				w.Header()["X-Many"] = []string{"1", "2"}
				w.Header().Set("X-Latin", "\xe9 ~")
				w.WriteHeader(http.StatusTeapot)
				_, _ = w.Write(tt.body)
			})
			h := newHandler(t, httpfetch.Options{AllowNetworks: loopback})
			r, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL)})
			if err != nil {
				t.Fatal(err)
			}
			out := outputOf(t, r)
			if r.HTTPStatus != http.StatusTeapot || out.Status != http.StatusTeapot || r.ContentType != tt.contentType {
				t.Errorf("status %d and %d, content type %q", r.HTTPStatus, out.Status, r.ContentType)
			}
			if out.Headers["X-Many"] != "1, 2" || out.Headers["X-Latin"] != "é ~" {
				t.Errorf("headers = %v", out.Headers)
			}
			switch {
			case tt.isBytes && (out.Body != nil || !bytes.Equal(r.Body, tt.body)):
				t.Errorf("text %v, bytes %q, want bytes %q only", out.Body, r.Body, tt.body)
			case !tt.isBytes && (out.Body == nil || *out.Body != tt.text || r.Body != nil):
				t.Errorf("JSON %s, bytes %q, want text %q only", r.JSON, r.Body, tt.text)
			}
		})
	}
}

func TestHandler_ReadsBytesWhenAsked(t *testing.T) {
	t.Parallel()

	for _, body := range []string{"text", ""} {
		stub := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, body)
		})
		h := newHandler(t, httpfetch.Options{AllowNetworks: loopback})
		r, err := h.Handle(t.Context(), loopbroker.Job{JSON: job(map[string]any{"url": stub.URL, "binary": true})})
		if err != nil {
			t.Fatal(err)
		}
		if r.Body == nil || string(r.Body) != body || outputOf(t, r).Body != nil {
			t.Errorf("bytes %q, JSON %s, want bytes %q only", r.Body, r.JSON, body)
		}
	}
}

func TestHandler_Gzip(t *testing.T) {
	t.Parallel()

	text := strings.Repeat("hello ", 1000)
	stub := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, text)
		_ = z.Close()
	})
	h := newHandler(t, httpfetch.Options{AllowNetworks: loopback, MaxReplyBytes: int64(len(text))})
	r, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL)})
	if err != nil {
		t.Fatal(err)
	}
	if got := *outputOf(t, r).Body; got != text {
		t.Errorf("got %d bytes, want the %d of the text", len(got), len(text))
	}
}

func TestHandler_HeadHasNoBody(t *testing.T) {
	t.Parallel()

	stub := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "99999999") })
	h := newHandler(t, httpfetch.Options{AllowNetworks: loopback, MaxReplyBytes: 100})
	r, err := h.Handle(t.Context(), loopbroker.Job{JSON: job(map[string]any{"url": stub.URL, "method": "HEAD"})})
	if err != nil {
		t.Fatal(err)
	}
	if out := outputOf(t, r); out.Body == nil || *out.Body != "" || out.Headers["Content-Length"] != "99999999" {
		t.Errorf("JSON = %s", r.JSON)
	}
}

func TestHandler_RedirectIsReturned(t *testing.T) {
	t.Parallel()

	for _, location := range []string{"/elsewhere", "http://10.0.0.1/", "::not a url", ""} {
		t.Run(location, func(t *testing.T) {
			t.Parallel()
			stub := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/start" {
					t.Errorf("the stub was asked for %s", r.URL.Path)
				}
				w.Header()["Location"] = []string{location}
				w.WriteHeader(http.StatusFound)
			})
			h := newHandler(t, httpfetch.Options{AllowNetworks: loopback})
			r, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL + "/start")})
			if err != nil {
				t.Fatal(err)
			}
			if r.HTTPStatus != http.StatusFound || outputOf(t, r).Headers["Location"] != location {
				t.Errorf("status %d, JSON %s", r.HTTPStatus, r.JSON)
			}
		})
	}
}

func TestHandler_FollowsRedirects(t *testing.T) {
	t.Parallel()

	url, got := record(t)
	other := strings.Replace(url, "127.0.0.1", "localhost", 1)
	tests := []struct {
		name     string
		status   int
		location string
		want     received
	}{
		{"see other becomes GET", http.StatusSeeOther, url + "/x", received{Method: "GET", Header: http.Header{"X-Api-Key": {"k"}, "Authorization": {"secret"}}}},
		{"temporary keeps the body", http.StatusTemporaryRedirect, url + "/x", received{Method: "POST", Body: "b", Header: http.Header{"X-Api-Key": {"k"}, "Authorization": {"secret"}}}},
		{"another host gets no header", http.StatusPermanentRedirect, other + "/x", received{Method: "POST", Body: "b", Header: http.Header{}}},
	}
	for _, tt := range tests { //nolint:paralleltest // one stub notes one request at a time
		stub := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", tt.location)
			w.WriteHeader(tt.status)
			_, _ = io.Copy(io.Discard, r.Body)
		})
		if !strings.Contains(tt.location, "localhost") {
			// The second stub is another port, so the first hop is made within it.
			tt.location = "/x"
			stub = serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.URL.Path == "/x" {
					*got = received{Method: r.Method, Body: string(body), Header: r.Header}
					return
				}
				w.Header().Set("Location", tt.location)
				w.WriteHeader(tt.status)
			})
		}
		h := newHandler(t, httpfetch.Options{AllowNetworks: loopback, MaxRedirects: 2})
		_, err := h.Handle(t.Context(), loopbroker.Job{JSON: job(map[string]any{
			"url": stub.URL + "/start", "method": "POST", "body": "b",
			"headers": map[string]any{"Authorization": "secret", "X-Api-Key": "k"},
		})})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got.Method != tt.want.Method || got.Body != tt.want.Body {
			t.Errorf("%s: sent %s %q, want %s %q", tt.name, got.Method, got.Body, tt.want.Method, tt.want.Body)
		}
		for _, name := range []string{"Authorization", "X-Api-Key"} {
			if got.Header.Get(name) != tt.want.Header.Get(name) {
				t.Errorf("%s: %s = %q, want %q", tt.name, name, got.Header.Get(name), tt.want.Header.Get(name))
			}
		}
	}
}

func TestHandler_RedirectIsJudged(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, location string
		class          loopbroker.ErrorClass
	}{
		{"inner address", "http://169.254.169.254/latest", loopbroker.ErrorClassAddressNotAllowed},
		{"other scheme", "file:///etc/passwd", loopbroker.ErrorClassRedirect},
		{"user information", "http://u@127.0.0.1/", loopbroker.ErrorClassRedirect},
		{"malformed", "http://%zz", loopbroker.ErrorClassRedirect},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stub := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", tt.location)
				w.WriteHeader(http.StatusFound)
			})
			h := newHandler(t, httpfetch.Options{AllowNetworks: loopback, MaxRedirects: 5})
			_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL)})
			if f := faultOf(t, err); f.Class != tt.class {
				t.Errorf("got %v, want class %q", f, tt.class)
			}
		})
	}
}

func TestHandler_TLS(t *testing.T) {
	t.Parallel()

	stub := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}))
	stub.EnableHTTP2 = true
	stub.StartTLS()
	t.Cleanup(stub.Close)
	roots := x509.NewCertPool()
	roots.AddCert(stub.Certificate())

	h := newHandler(t, httpfetch.Options{AllowNetworks: loopback, RootCAs: roots})
	r, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL)})
	if err != nil {
		t.Fatal(err)
	}
	if got := *outputOf(t, r).Body; got != "HTTP/2.0" {
		t.Errorf("protocol = %q, want HTTP/2.0", got)
	}
	if r.Timings.TLS <= 0 {
		t.Errorf("TLS took %s, want more than nothing", r.Timings.TLS)
	}
}

// TestHandler_Timings checks which steps are timed, and that a kept connection
// shows as no step at all.
func TestHandler_Timings(t *testing.T) {
	t.Parallel()

	stub := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	port := stub.URL[strings.LastIndexByte(stub.URL, ':'):]
	h := newHandler(t, httpfetch.Options{AllowNetworks: loopback, Resolver: to("127.0.0.1")})
	one := func() loopbroker.Timings {
		r, err := h.Handle(t.Context(), loopbroker.Job{JSON: get("http://named.example" + port)})
		if err != nil {
			t.Fatal(err)
		}
		return r.Timings
	}
	first, second := one(), one()
	if first.DNS <= 0 || first.Connect <= 0 || first.TLS != 0 || first.FirstByte <= 0 || first.Total < first.FirstByte {
		t.Errorf("first = %+v", first)
	}
	if second.DNS != 0 || second.Connect != 0 || second.FirstByte <= 0 || second.Total < second.FirstByte {
		t.Errorf("second = %+v", second)
	}
}

func TestOptions_Validate(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name   string
		change func(*httpfetch.Options)
		want   string
	}{
		{name: "defaults", change: func(*httpfetch.Options) {}},
		{name: "negative clock", change: func(o *httpfetch.Options) { o.BodyTimeout = -1 }, want: "need BodyTimeout > 0, got -1ns"},
		{name: "attempt over its cap", change: func(o *httpfetch.Options) { o.AttemptTimeout = time.Hour }, want: "need AttemptTimeout <= MaxAttemptTimeout, got 1h0m0s and 10m0s"},
		{name: "host bits", change: func(o *httpfetch.Options) { o.AllowNetworks = []netip.Prefix{netip.MustParsePrefix("10.0.0.1/8")} }, want: `need AllowNetworks without host bits, got "10.0.0.1/8"`},
		{name: "no network", change: func(o *httpfetch.Options) { o.AllowNetworks = make([]netip.Prefix, 1) }, want: `need AllowNetworks without host bits, got "invalid Prefix"`},
		{name: "host is a URL", change: func(o *httpfetch.Options) { o.AllowHosts = []string{"http://x"} }, want: `need AllowHosts of name or name:port, got "http://x"`},
		{name: "two faults", change: func(o *httpfetch.Options) { o.MaxReplyBytes, o.MaxRedirects = -1, -1 }, want: "need MaxReplyBytes > 0, got -1\nneed MaxRedirects of 0 to 20, got -1"},
		{name: "agent", change: func(o *httpfetch.Options) { o.UserAgent = "a\r\nb" }, want: `need a UserAgent of printable ASCII, got "a\r\nb"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opts := httpfetch.Options{}.WithDefaults()
			tt.change(&opts)
			got := ""
			if err := opts.Validate(); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("Validate() = %q, want %q", got, tt.want)
			}
		})
	}
}

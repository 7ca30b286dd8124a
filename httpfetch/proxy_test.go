package httpfetch_test

import (
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"loopbroker"
	"loopbroker/httpfetch"
)

// proxy is a stub of an HTTP proxy that leads every target to one address.
type proxy struct {
	*httptest.Server
	asked atomic.Int64
	seen  atomic.Pointer[http.Request]
}

// newProxy starts a proxy that leads to the address, or refuses with the status.
func newProxy(t *testing.T, address string, refusal int) *proxy {
	t.Helper()
	p := &proxy{}
	p.Server = serve(t, func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		p.seen.Store(r)
		switch {
		case refusal != 0:
			w.WriteHeader(refusal)
			_, _ = io.WriteString(w, "hunter2")
		case r.Method == http.MethodConnect:
			p.tunnel(t, w, address)
		default:
			_, _ = io.WriteString(w, "by the proxy")
		}
	})
	return p
}

// tunnel joins the caller with the address until either ends.
func (p *proxy) tunnel(t *testing.T, w http.ResponseWriter, address string) {
	target, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	defer target.Close()
	caller, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer caller.Close()
	_, _ = io.WriteString(caller, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() { _, _ = io.Copy(target, caller); _ = target.Close() }()
	_, _ = io.Copy(caller, target)
}

func TestProxy(t *testing.T) {
	t.Parallel()

	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "for "+r.Host) }))
	t.Cleanup(secure.Close)
	address := strings.TrimPrefix(secure.URL, "https://")
	_, port, _ := net.SplitHostPort(address)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())

	tests := []struct {
		name, url string
		addrs     []string // of the target, as we look it up
		refusal   int
		body      string
		class     loopbroker.ErrorClass
		asked     bool // the proxy
	}{
		{name: "https goes through a tunnel", url: "https://example.com:" + port + "/", addrs: []string{"93.184.215.14"}, body: "for example.com:" + port, asked: true},
		{name: "http goes to the proxy", url: "http://plain.example/x", addrs: []string{"93.184.215.14"}, body: "by the proxy", asked: true},
		{name: "target inside", url: "https://example.com:" + port + "/", addrs: []string{"10.0.0.1"}, class: loopbroker.ErrorClassAddressNotAllowed},
		{name: "http target inside", url: "http://plain.example/x", addrs: []string{"169.254.169.254"}, class: loopbroker.ErrorClassAddressNotAllowed},
		{name: "one address inside", url: "https://example.com:" + port + "/", addrs: []string{"93.184.215.14", "127.0.0.1"}, class: loopbroker.ErrorClassAddressNotAllowed},
		{name: "name that we cannot look up", url: "https://example.com:" + port + "/", class: loopbroker.ErrorClassDNS},
		{name: "address as it stands", url: "https://127.0.0.1:" + port + "/", class: loopbroker.ErrorClassAddressNotAllowed},
		{name: "proxy wants a password", url: "https://example.com:" + port + "/", addrs: []string{"93.184.215.14"}, refusal: 407, class: loopbroker.ErrorClassConnect, asked: true},
		{name: "proxy refuses", url: "https://example.com:" + port + "/", addrs: []string{"93.184.215.14"}, refusal: 403, class: loopbroker.ErrorClassConnect, asked: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProxy(t, address, tt.refusal)
			u, err := url.Parse(tt.url)
			if err != nil {
				t.Fatal(err)
			}
			row := loopbroker.Endpoint{Name: "row", Scheme: u.Scheme, Host: u.Hostname(), Proxy: p.URL}
			if u.Port() != "" {
				row = endpoint(t, "row", tt.url, func(e *loopbroker.Endpoint) { e.Proxy, e.AllowPrivateAddress = p.URL, false })
			}
			h := withPolicy(t, httpfetch.Options{Resolver: to(tt.addrs...), RootCAs: roots}, rows(row))
			r, err := h.Handle(t.Context(), loopbroker.Job{JSON: job(map[string]any{"url": tt.url, "method": "POST", "body": "x"})})
			h.Close()
			if asked := p.asked.Load() > 0; asked != tt.asked {
				t.Errorf("the proxy was asked: %v, want %v", asked, tt.asked)
			}
			if tt.class != loopbroker.ErrorClassNone {
				f := faultOf(t, err)
				if f.Class != tt.class || strings.Contains(f.Error(), "hunter2") || (tt.refusal != 0 && !f.Retryable) {
					t.Errorf("got %v, retryable %v, want class %s", f, f.Retryable, tt.class)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := *outputOf(t, r).Body; got != tt.body {
				t.Errorf("body = %q, want %q", got, tt.body)
			}
		})
	}
}

// TestProxy_FromTheEnvironment: a proxy that only the environment names is not used.
func TestProxy_FromTheEnvironment(t *testing.T) {
	p := newProxy(t, "", http.StatusTeapot)
	t.Setenv("HTTP_PROXY", p.URL)
	h := newHandler(t, httpfetch.Options{Resolver: to("127.0.0.1"), AllowNetworks: loopback})
	stub := serve(t, func(http.ResponseWriter, *http.Request) {})
	port := stub.URL[strings.LastIndexByte(stub.URL, ':'):]
	r, err := h.Handle(t.Context(), loopbroker.Job{JSON: get("http://named.example" + port)})
	if err != nil || r.HTTPStatus != http.StatusOK || p.asked.Load() != 0 {
		t.Errorf("status %d, %v, the proxy was asked %d times", r.HTTPStatus, err, p.asked.Load())
	}
}

// TestProxy_ClientCertificate: a proxy that speaks TLS would be shown the client
// certificate that is meant for the target.
func TestProxy_ClientCertificate(t *testing.T) {
	t.Parallel()

	text, _ := newCertificate(t, "client")
	p := loopbroker.Policy{
		Endpoints:   []loopbroker.Endpoint{{Name: "row", Scheme: "https", Host: "api.example", Proxy: "https://proxy.example", ClientCertificate: "c"}},
		Credentials: []loopbroker.Credential{{Name: "c", Endpoint: "row", Kind: loopbroker.CredentialCertificate}},
	}
	h := withPolicy(t, httpfetch.Options{Secrets: httpfetch.MapSecrets{"c": text}, Resolver: to("93.184.215.14")}, p)
	_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get("https://api.example/")})
	if f := faultOf(t, err); f.Class != loopbroker.ErrorClassCredential || !strings.Contains(f.Message, "the proxy would be shown it") {
		t.Errorf("got %v, want class credential", f)
	}
}

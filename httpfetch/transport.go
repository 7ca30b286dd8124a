package httpfetch

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"loopbroker"
)

// transportKey tells apart the connections that must not be shared: those made under
// another rule about addresses, through another proxy or with another certificate.
type transportKey struct{ exemption, proxy, certificate string }

// route is a transport with the dialer that makes its connections.
type route struct {
	*http.Transport
	dialer *dialer
	proxy  *url.URL
	pem    [sha256.Size]byte // of the client certificate
}

// transports keep the routes of the policy that is in force.
type transports struct {
	opts *Options
	mu   sync.Mutex
	all  map[transportKey]*route // guarded by mu
}

// get returns the route for a row, which is nil without an allow-list. A certificate
// that was replaced gets a new one.
func (t *transports) get(one *row, certificate clientCertificate) (*route, error) {
	key := transportKey{certificate: certificate.name}
	if one != nil {
		key.exemption, key.proxy = one.exemption(), one.Proxy
	}
	sum := sha256.Sum256(certificate.pem)

	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.all[key]
	if old != nil && old.pem == sum {
		return old, nil
	}
	r, err := newRoute(t.opts, one, certificate)
	if err != nil {
		return nil, err
	}
	r.pem = sum
	if old != nil {
		old.CloseIdleConnections()
	}
	t.all[key] = r
	return r, nil
}

// retain forgets the routes that no row of the list leads to. What is under way on
// them goes on.
func (t *transports) retain(r *allowList) {
	used := map[transportKey]bool{}
	for _, rows := range r.rows {
		for _, one := range rows {
			used[transportKey{exemption: one.exemption(), proxy: one.Proxy}] = true
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, old := range t.all {
		_, bound := r.credentials[key.certificate]
		if !used[transportKey{exemption: key.exemption, proxy: key.proxy}] || (key.certificate != "" && !bound) {
			old.CloseIdleConnections()
			delete(t.all, key)
		}
	}
}

// close closes what is idle.
func (t *transports) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.all {
		r.CloseIdleConnections()
	}
}

// newRoute returns a route. The error is a *loopbroker.Fault.
func newRoute(opts *Options, one *row, certificate clientCertificate) (*route, error) {
	g := newGuard(networksOf(opts, one), opts.AllowHosts)
	g.private = one != nil && one.AllowPrivateAddress
	r := &route{dialer: newDialer(opts, g)}
	config := &tls.Config{RootCAs: opts.RootCAs, MinVersion: tls.VersionTLS12}
	if certificate.name != "" {
		pair, err := tls.X509KeyPair(certificate.pem, certificate.pem)
		if err != nil {
			// The library's text may quote the input, so it goes no further.
			return nil, loopbroker.NewFault(loopbroker.ErrorClassCredential,
				"the credential %q cannot be used: its secret is not a certificate with its private key in PEM", certificate.name)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	r.Transport = &http.Transport{
		Proxy:                  nil, // never from the environment
		DialContext:            r.dialer.DialContext,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    opts.TLSTimeout + time.Second, // the second line; see newDialer
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // see decoder
		MaxIdleConns:           0,    // bounded by host
		MaxIdleConnsPerHost:    opts.MaxIdlePerHost,
		IdleConnTimeout:        opts.IdleTimeout,
		MaxResponseHeaderBytes: opts.MaxReplyHeaderBytes,
		WriteBufferSize:        16 << 10,
		ReadBufferSize:         16 << 10,
	}
	if one != nil && one.proxy != nil {
		r.proxy = one.proxy
		r.dialer.proxy = one.proxy.Host
		r.Transport.Proxy = http.ProxyURL(one.proxy)
		r.Transport.OnProxyConnectResponse = checkConnect
	}
	return r, nil
}

// proxyError says that a proxy did not open the tunnel.
type proxyError struct{ status int }

// Error implements error.
func (e *proxyError) Error() string { return fmt.Sprintf("proxy answered with status %d", e.status) }

// checkConnect is a hook of the transport, which would make the proxy's own text an
// error.
func checkConnect(_ context.Context, _ *url.URL, _ *http.Request, response *http.Response) error {
	if response.StatusCode != http.StatusOK {
		return &proxyError{status: response.StatusCode}
	}
	return nil
}

package httpfetch

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// Resolver looks up the addresses of a host. *net.Resolver is one.
type Resolver interface {
	// LookupNetIP returns the addresses of the host, or a *net.DNSError. The
	// network is always "ip".
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options configures a Handler. Every field may be left zero.
type Options struct {
	// AttemptTimeout bounds an attempt whose job names no timeout.
	//
	// Defaults to 30 seconds.
	AttemptTimeout time.Duration

	// MaxAttemptTimeout caps what a job may ask for.
	//
	// Defaults to 10 minutes.
	MaxAttemptTimeout time.Duration

	// ConnectTimeout bounds the name lookup and the TCP connection.
	//
	// Defaults to 5 seconds.
	ConnectTimeout time.Duration

	// TLSTimeout bounds the handshake.
	//
	// Defaults to 5 seconds.
	TLSTimeout time.Duration

	// HeaderTimeout bounds the wait for the answer's headers once the request has
	// been sent. It is meant to be long: many targets work before they answer.
	//
	// Defaults to no bound but the attempt's.
	HeaderTimeout time.Duration

	// BodyTimeout bounds each pause within the answer's body.
	//
	// Defaults to 10 seconds.
	BodyTimeout time.Duration

	// MaxRequestBytes caps the body that is sent.
	//
	// Defaults to 16 MiB.
	MaxRequestBytes int64

	// MaxRequestHeaderBytes caps the sum of the names and values of the job's
	// headers. The procedures take headers of 16,384 characters of JSON.
	//
	// Defaults to 16 KiB.
	MaxRequestHeaderBytes int

	// MaxReplyBytes caps the answer's body after decompression.
	//
	// Defaults to 16 MiB.
	MaxReplyBytes int64

	// MaxReplyHeaderBytes caps the answer's headers.
	//
	// Defaults to 64 KiB.
	MaxReplyHeaderBytes int64

	// MaxRedirects is how many redirects one attempt follows while no policy is set;
	// with one, its endpoints say so.
	//
	// Defaults to 0: a redirect is returned as it came.
	MaxRedirects int

	// MaxRetryAfter caps the pause that a target can ask for.
	//
	// Defaults to 5 minutes.
	MaxRetryAfter time.Duration

	// AllowNetworks are networks that may be called although they are not public,
	// such as 127.0.0.0/8 for a stub on this machine.
	AllowNetworks []netip.Prefix

	// AllowHosts are hosts, as "name" or "name:port", whose addresses are not
	// judged. It trusts whoever answers for the name; prefer AllowNetworks.
	AllowHosts []string

	// Secrets finds the secrets of credentials.
	//
	// Defaults to EnvSecrets.
	Secrets Secrets

	// MaxIdlePerHost is how many idle connections are kept for each host.
	//
	// Defaults to 64.
	MaxIdlePerHost int

	// IdleTimeout is how long an idle connection is kept.
	//
	// Defaults to 60 seconds.
	IdleTimeout time.Duration

	// UserAgent is sent unless the job names one.
	//
	// Defaults to "loopbroker".
	UserAgent string

	// Resolver looks up names.
	//
	// Defaults to net.DefaultResolver.
	Resolver Resolver

	// RootCAs are the authorities that certificates are checked against.
	//
	// Defaults to the system's.
	RootCAs *x509.CertPool

	// Now is the clock that a Retry-After date is compared with.
	//
	// Defaults to time.Now.
	Now func() time.Time
}

// WithDefaults returns a copy of o with every zero field filled in.
func (o Options) WithDefaults() Options {
	o.AttemptTimeout = cmp.Or(o.AttemptTimeout, 30*time.Second)
	o.MaxAttemptTimeout = cmp.Or(o.MaxAttemptTimeout, 10*time.Minute)
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 5*time.Second)
	o.TLSTimeout = cmp.Or(o.TLSTimeout, 5*time.Second)
	o.HeaderTimeout = cmp.Or(o.HeaderTimeout, o.MaxAttemptTimeout)
	o.BodyTimeout = cmp.Or(o.BodyTimeout, 10*time.Second)
	o.MaxRequestBytes = cmp.Or(o.MaxRequestBytes, 16<<20)
	o.MaxRequestHeaderBytes = cmp.Or(o.MaxRequestHeaderBytes, 16<<10)
	o.MaxReplyBytes = cmp.Or(o.MaxReplyBytes, 16<<20)
	o.MaxReplyHeaderBytes = cmp.Or(o.MaxReplyHeaderBytes, 64<<10)
	o.MaxRetryAfter = cmp.Or(o.MaxRetryAfter, 5*time.Minute)
	o.MaxIdlePerHost = cmp.Or(o.MaxIdlePerHost, 64)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, time.Minute)
	o.UserAgent = cmp.Or(o.UserAgent, "loopbroker")
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Secrets == nil {
		o.Secrets = EnvSecrets{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Validate reports everything wrong with o at once. It expects defaults to have
// been applied.
func (o Options) Validate() error {
	var errs []error
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"AttemptTimeout", o.AttemptTimeout},
		{"MaxAttemptTimeout", o.MaxAttemptTimeout},
		{"ConnectTimeout", o.ConnectTimeout},
		{"TLSTimeout", o.TLSTimeout},
		{"HeaderTimeout", o.HeaderTimeout},
		{"BodyTimeout", o.BodyTimeout},
		{"MaxRetryAfter", o.MaxRetryAfter},
		{"IdleTimeout", o.IdleTimeout},
	} {
		if d.value <= 0 {
			errs = append(errs, fmt.Errorf("need %s > 0, got %s", d.name, d.value))
		}
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"MaxRequestBytes", o.MaxRequestBytes},
		{"MaxRequestHeaderBytes", int64(o.MaxRequestHeaderBytes)},
		{"MaxReplyBytes", o.MaxReplyBytes},
		{"MaxReplyHeaderBytes", o.MaxReplyHeaderBytes},
		{"MaxIdlePerHost", int64(o.MaxIdlePerHost)},
	} {
		if n.value <= 0 {
			errs = append(errs, fmt.Errorf("need %s > 0, got %d", n.name, n.value))
		}
	}
	if o.AttemptTimeout > o.MaxAttemptTimeout {
		errs = append(errs, fmt.Errorf("need AttemptTimeout <= MaxAttemptTimeout, got %s and %s", o.AttemptTimeout, o.MaxAttemptTimeout))
	}
	if o.MaxRedirects < 0 || o.MaxRedirects > maxRedirects {
		errs = append(errs, fmt.Errorf("need MaxRedirects of 0 to %d, got %d", maxRedirects, o.MaxRedirects))
	}
	for _, p := range o.AllowNetworks {
		if !p.IsValid() || p.Masked() != p {
			errs = append(errs, fmt.Errorf("need AllowNetworks without host bits, got %q", p.String()))
		}
	}
	for _, h := range o.AllowHosts {
		if h == "" || strings.ContainsAny(h, "/ @*") {
			errs = append(errs, fmt.Errorf("need AllowHosts of name or name:port, got %q", h))
		}
	}
	if !validHeaderValue(o.UserAgent) {
		errs = append(errs, fmt.Errorf("need a UserAgent of printable ASCII, got %q", o.UserAgent))
	}
	return errors.Join(errs...)
}

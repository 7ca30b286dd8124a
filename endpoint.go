package loopbroker

import (
	"context"
	"net/netip"
	"time"
)

// Policy is the allow-list of the HTTP handler with everything that hangs on it, as
// it stood at one moment. Rows are an admin's to write.
type Policy struct {
	// Endpoints are the rows of the allow-list. What none of them matches is not
	// called.
	Endpoints []Endpoint

	// Credentials are the names that jobs may give, each bound to an endpoint.
	Credentials []Credential

	// Workers is how many processes share the limits; each takes its part of them.
	//
	// Zero means one.
	Workers int
}

// Endpoint is one row of the allow-list. Limits count per scheme, host and port:
// where several rows name one of these, the smallest that is set applies.
type Endpoint struct {
	// Name identifies the row.
	Name string

	// Scheme is "http" or "https".
	Scheme string

	// Host is a name in lower case and ASCII (an international one in its xn--
	// form) or an address, without brackets. There are no wildcards.
	Host string

	// Port is the exact port. Zero means the scheme's own.
	Port int

	// PathPrefix is the part of the tree that may be called, "/" for all of it. It
	// matches whole segments: "/v1" matches "/v1" and "/v1/x", not "/v10". It is a
	// plain text, without escapes, query, dot segments or a slash at its end.
	//
	// Empty means "/".
	PathPrefix string

	// Methods are the methods that may be used. Empty means all that the handler
	// knows.
	Methods []string

	// Disabled takes the row out of force.
	Disabled bool

	// AllowPrivateAddress lets the host have an address that is private or
	// loopback. Link-local addresses and those of cloud metadata services stay
	// refused: name them in AllowNetworks.
	AllowPrivateAddress bool

	// AllowNetworks are further networks in which the host may have its address.
	AllowNetworks []netip.Prefix

	// MaxConcurrency is how many requests may be under way at once.
	//
	// Zero means no limit.
	MaxConcurrency int

	// MaxPerSecond and Burst are how many requests may begin in a second, and how
	// many of them at once after a quiet time.
	//
	// Zero means no limit, and a burst of one second's worth.
	MaxPerSecond, Burst int

	// BreakerFailures is how many failures open the circuit breaker, if they are
	// half or more of the recent attempts; BreakerOpen is how long it stays open
	// before a single attempt may probe.
	//
	// Zero means no breaker, and 30 seconds.
	BreakerFailures int
	BreakerOpen     time.Duration

	// ResetAt is when an admin last asked for the breaker to be closed. A value
	// that differs from the one before closes it.
	ResetAt time.Time

	// MaxRedirects is how many redirects one attempt follows, each to a target that
	// the allow-list has, too.
	//
	// Zero means that a redirect is returned as it came.
	MaxRedirects int

	// AttemptTimeout bounds an attempt whose job names no timeout.
	//
	// Zero means the handler's default.
	AttemptTimeout time.Duration

	// Proxy is the http or https URL of the proxy to use, without user information.
	//
	// Empty means none.
	Proxy string

	// ClientCertificate is the name of the credential, of kind
	// CredentialCertificate and bound to this row, that TLS is done with.
	//
	// Empty means none.
	ClientCertificate string
}

// CredentialKind says where a credential's secret goes.
type CredentialKind string

// The kinds of credentials, as they are stored.
const (
	// CredentialBearer is a token, sent as "Authorization: Bearer".
	CredentialBearer CredentialKind = "bearer"

	// CredentialBasic is "user:password", sent as "Authorization: Basic".
	CredentialBasic CredentialKind = "basic"

	// CredentialHeader is the value of the header that Field names, or a flat JSON
	// object of headers if Field is empty.
	CredentialHeader CredentialKind = "header"

	// CredentialQuery is the value of the query parameter that Field names, or a
	// flat JSON object of parameters if Field is empty. Targets log URLs: prefer
	// any other kind.
	CredentialQuery CredentialKind = "query"

	// CredentialCertificate is a client certificate with its chain and private key,
	// in PEM.
	CredentialCertificate CredentialKind = "certificate"
)

// CredentialKinds lists every kind.
func CredentialKinds() []CredentialKind {
	return []CredentialKind{CredentialBearer, CredentialBasic, CredentialHeader, CredentialQuery, CredentialCertificate}
}

// String returns the kind as it is stored.
func (k CredentialKind) String() string { return string(k) }

// Credential is one row that binds a name to an endpoint. The secret is not in it:
// that lives with the worker.
type Credential struct {
	// Name is what jobs give and what the worker finds the secret by: 1 to 128
	// letters, digits, underscores, hyphens and dots, with no dot first.
	Name string

	// Endpoint is the name of the row of the allow-list it may be sent to. The row
	// must be the one that matches the request, not only one that would.
	Endpoint string

	// Kind says where the secret goes.
	Kind CredentialKind

	// Field is the name of the header or query parameter; see the kinds.
	Field string
}

// PolicySource tells the policy that is in force.
type PolicySource interface {
	Policy(ctx context.Context) (Policy, error)
}

// BreakerState is the state of a host's circuit breaker.
type BreakerState string

// The states of a breaker, as they are stored.
const (
	// BreakerClosed means that requests are let through.
	BreakerClosed BreakerState = "closed"

	// BreakerHalfOpen means that one request at a time may probe.
	BreakerHalfOpen BreakerState = "half_open"

	// BreakerOpen means that requests are given back.
	BreakerOpen BreakerState = "open"
)

// String returns the state as it is stored.
func (s BreakerState) String() string { return string(s) }

// HostState is what one process knows about one host of the allow-list.
type HostState struct {
	// Host is the scheme, host and port, such as "https://api.example:443".
	Host string

	// Breaker is the state of its circuit breaker; closed also if it has none.
	Breaker BreakerState

	// Failures is how many recent attempts failed, as far as the breaker counts
	// them.
	Failures int

	// OpenFor is how long the breaker stays open from now, or 0.
	OpenFor time.Duration

	// InFlight is how many requests are under way in this process.
	InFlight int

	// Deferred is how many jobs this process has given back because of the host's
	// limits or breaker.
	Deferred int64

	// LastFailure is the class of the last failure that the breaker counted. An
	// answer with a status of 500 or more counts as ErrorClassStatus.
	LastFailure ErrorClass
}

// HostReporter tells what a process knows about the hosts it calls, and takes the
// breaker of one back.
type HostReporter interface {
	// HostStates lists the hosts of the allow-list, in the order of their names.
	HostStates() []HostState

	// ResetHost closes the breaker of the host, named as in HostState.Host, and
	// forgets its failures. It reports whether there is such a host.
	ResetHost(host string) bool
}

package httpfetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"loopbroker"
)

// allowList is a policy that is ready to be asked. It is never changed.
type allowList struct {
	rows        map[string][]*row // by origin, the longest prefix first
	credentials map[string]loopbroker.Credential
}

// row is an endpoint that is ready to be asked.
type row struct {
	loopbroker.Endpoint
	origin string
	proxy  *url.URL // nil means none
}

// StaticPolicy is a policy that does not change, as a source.
type StaticPolicy loopbroker.Policy

// Policy implements loopbroker.PolicySource.
func (p StaticPolicy) Policy(context.Context) (loopbroker.Policy, error) {
	return loopbroker.Policy(p), nil
}

// SetPolicy puts a policy in force for the attempts that begin from now on: what
// no endpoint of it matches is refused. It may be called at any time, and does not
// disturb attempts that are under way. Hosts keep their counts and their breakers.
//
// A row that is wrong is left out, so that it allows nothing, and the others are put
// in force; the error names every such row and what is wrong with it.
func (h *Handler) SetPolicy(p loopbroker.Policy) error {
	compiled, err := compile(p)
	h.hosts.configure(compiled.limits(max(p.Workers, 1)), compiled.resets())
	h.rules.Store(compiled)
	h.transports.retain(compiled)
	return err
}

// Follow keeps the policy that is in force up with its source: it asks at once and
// then every so often, until the context is done. What goes wrong is reported, and
// leaves the last good policy in force. Before the first one the handler refuses
// every job.
func (h *Handler) Follow(ctx context.Context, source loopbroker.PolicySource, every time.Duration, report func(error)) {
	h.rules.CompareAndSwap(nil, &allowList{})
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := h.Refresh(ctx, source); err != nil && ctx.Err() == nil {
			report(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Refresh asks the source once and puts its policy in force. A worker does so before
// it claims its first job, which would be refused for good otherwise.
func (h *Handler) Refresh(ctx context.Context, source loopbroker.PolicySource) error {
	p, err := source.Policy(ctx)
	if err != nil {
		return fmt.Errorf("read policy: %w", err)
	}
	if err := h.SetPolicy(p); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	return nil
}

// compile reads a policy. The list holds what is right in it, the error what is not.
func compile(p loopbroker.Policy) (*allowList, error) {
	r := &allowList{rows: map[string][]*row{}, credentials: map[string]loopbroker.Credential{}}
	var errs []error
	names := map[string]bool{}
	for _, e := range p.Endpoints {
		one, err := compileEndpoint(e)
		if err == nil && names[e.Name] {
			err = errors.New("there is another row of this name")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("endpoint %q: %w", e.Name, err))
			continue
		}
		names[e.Name] = true
		r.rows[one.origin] = append(r.rows[one.origin], one)
	}
	for _, rows := range r.rows {
		slices.SortFunc(rows, func(a, b *row) int {
			return cmp.Or(cmp.Compare(len(b.PathPrefix), len(a.PathPrefix)), strings.Compare(a.Name, b.Name))
		})
	}
	return r, errors.Join(append(errs, r.addCredentials(p.Credentials)...)...)
}

// addCredentials adds those that are right, and returns what is wrong with others.
func (r *allowList) addCredentials(list []loopbroker.Credential) []error {
	var errs []error
	taken := map[string]string{} // by variable
	for _, c := range list {
		var err error
		switch other, twice := taken[envName(c.Name)]; {
		case !credentialName.MatchString(c.Name):
			err = errors.New("need a name of 1 to 128 letters, digits, underscores, hyphens and dots, with no dot first")
		case twice:
			err = fmt.Errorf("its secret would be in the same variable as that of %q", other)
			delete(r.credentials, other) // whose secret it is cannot be told
		case !slices.Contains(loopbroker.CredentialKinds(), c.Kind):
			err = fmt.Errorf("need a kind of %v, got %q", loopbroker.CredentialKinds(), c.Kind)
		case c.Kind == loopbroker.CredentialHeader && c.Field != "" && !credentialHeader(c.Field):
			err = fmt.Errorf("need a header that a credential can be sent in, got %q", c.Field)
		case c.Field != "" && c.Kind != loopbroker.CredentialHeader && c.Kind != loopbroker.CredentialQuery:
			err = fmt.Errorf("need no field for the kind %q, got %q", c.Kind, c.Field)
		default:
			r.credentials[c.Name] = c
		}
		taken[envName(c.Name)] = c.Name
		if err != nil {
			errs = append(errs, fmt.Errorf("credential %q: %w", c.Name, err))
		}
	}
	return errs
}

// compileEndpoint checks a row and fills in its defaults.
func compileEndpoint(e loopbroker.Endpoint) (*row, error) {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if e.Scheme != "http" && e.Scheme != "https" {
		fault("need a scheme of http or https, got %q", e.Scheme)
	}
	host, err := canonicalHost(e.Host, strings.Contains(e.Host, ":"))
	if err != nil || host != e.Host {
		fault("need the host's name or address in its plain form, in lower case and ASCII, got %q", e.Host)
	}
	if e.Port == 0 {
		e.Port, _ = strconv.Atoi(defaultPort(e.Scheme))
	}
	if e.Port < 1 || e.Port > 65535 {
		fault("need a port of 1 to 65535, got %d", e.Port)
	}
	if e.PathPrefix = cmp.Or(e.PathPrefix, "/"); !validPrefix(e.PathPrefix) {
		fault("need a path prefix of plain segments without a slash at its end, got %q", e.PathPrefix)
	}
	for _, m := range e.Methods {
		if !slices.Contains(methods, m) {
			fault("need methods of %s, got %q", strings.Join(methods, ", "), m)
		}
	}
	if e.MaxRedirects < 0 || e.MaxRedirects > maxRedirects {
		fault("need MaxRedirects of 0 to %d, got %d", maxRedirects, e.MaxRedirects)
	}
	if min(e.MaxConcurrency, e.MaxPerSecond, e.Burst, e.BreakerFailures) < 0 || min(e.BreakerOpen, e.AttemptTimeout) < 0 {
		fault("need limits and times that are not negative")
	}
	for _, p := range e.AllowNetworks {
		if !p.IsValid() || p.Masked() != p {
			fault("need AllowNetworks without host bits, got %q", p.String())
		}
	}
	one := &row{Endpoint: e, origin: origin(e.Scheme, e.Host, strconv.Itoa(e.Port))}
	if one.proxy, err = parseProxy(e.Proxy); err != nil {
		errs = append(errs, err)
	}
	return one, errors.Join(errs...)
}

// parseProxy reads the URL of a proxy; empty is none.
func parseProxy(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	t, err := parseTarget(text)
	if err != nil || t.path() != "/" || t.url.RawQuery != "" {
		return nil, errors.New("need a proxy of http or https, host and port, without user information and path")
	}
	return &url.URL{Scheme: t.url.Scheme, Host: net.JoinHostPort(t.host, t.port)}, nil
}

// find returns the row that allows the method at the target. The error is a
// *loopbroker.Fault that says which row is missing.
func (r *allowList) find(t *target, method string) (*row, error) {
	rows := r.rows[t.origin()]
	disabled, other := "", ""
	for _, one := range rows {
		switch {
		case !within(t.path(), one.PathPrefix):
		case one.Disabled:
			disabled = cmp.Or(disabled, one.Name)
		case len(one.Methods) > 0 && !slices.Contains(one.Methods, method):
			other = cmp.Or(other, one.Name)
		default:
			return one, nil
		}
	}
	where := fmt.Sprintf("scheme %s, host %q, port %s", t.url.Scheme, t.host, t.port)
	missing := "has no row for " + where
	switch {
	case other != "":
		missing = fmt.Sprintf("has no row that allows %s there; the row %q does not", method, other)
	case disabled != "":
		missing = fmt.Sprintf("has no row in force for this; the row %q is disabled", disabled)
	case len(rows) > 0:
		missing = fmt.Sprintf("has rows for %s, and none with a path prefix that holds this path", where)
	}
	return nil, loopbroker.NewFault(loopbroker.ErrorClassNotAllowed, "the allow-list %s", missing)
}

// resets returns when each host's breaker was last asked to be closed.
func (r *allowList) resets() map[string]time.Time {
	latest := map[string]time.Time{}
	for key, rows := range r.rows {
		for _, one := range rows {
			if one.ResetAt.After(latest[key]) {
				latest[key] = one.ResetAt
			}
		}
	}
	return latest
}

// limits returns what applies to each host, for one of so many workers.
func (r *allowList) limits(workers int) map[string]limits {
	all := make(map[string]limits, len(r.rows))
	for key, rows := range r.rows {
		var l limits
		for _, one := range rows {
			if one.Disabled {
				continue
			}
			l.concurrency = smallest(l.concurrency, one.MaxConcurrency)
			l.perSecond = smallest(l.perSecond, float64(one.MaxPerSecond))
			l.burst = smallest(l.burst, one.Burst)
			l.failures = smallest(l.failures, one.BreakerFailures)
			l.open = smallest(l.open, one.BreakerOpen)
		}
		all[key] = l.share(workers)
	}
	return all
}

// smallest returns the smaller of two limits, where zero is none.
func smallest[T cmp.Ordered](a, b T) T {
	var none T
	if a == none || b == none {
		return max(a, b)
	}
	return min(a, b)
}

// exemption returns what the row lets its host's address be, as a text that is equal
// for rows that let it be the same.
func (one *row) exemption() string {
	texts := make([]string, 0, len(one.AllowNetworks)+1)
	for _, p := range one.AllowNetworks {
		texts = append(texts, p.String())
	}
	slices.Sort(texts)
	if one.AllowPrivateAddress {
		texts = append(texts, "private")
	}
	return strings.Join(texts, " ")
}

// networksOf returns the networks that the process and the row allow together.
func networksOf(opts *Options, one *row) []netip.Prefix {
	if one == nil {
		return opts.AllowNetworks
	}
	return slices.Concat(opts.AllowNetworks, one.AllowNetworks)
}

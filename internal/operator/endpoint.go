package operator

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"loopbroker"
	"loopbroker/tsql"
)

// Everybody is the principal that every caller is a member of.
const Everybody = "public"

// Operator works on the broker of one schema. It is safe for concurrent use.
type Operator struct {
	db     *sql.DB
	schema tsql.Schema
}

// New returns an operator over the objects in the schema. It does not take over
// db, and calls nothing yet.
func New(db *sql.DB, schema tsql.Schema) *Operator { return &Operator{db: db, schema: schema} }

// Endpoint is a row of the allow-list and how many permissions refer to it.
type Endpoint struct {
	loopbroker.Endpoint
	Permissions int
}

// ParseEndpoint makes a row of the allow-list out of a URL: its scheme, host and
// port, and its path as the prefix. The row is named after all of them. A host that
// is a loopback or private address may be called at that address.
func ParseEndpoint(text string) (loopbroker.Endpoint, error) {
	fail := func(why string) (loopbroker.Endpoint, error) {
		return loopbroker.Endpoint{}, fmt.Errorf("%w: endpoint %q: %s", loopbroker.ErrInvalid, text, why)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Opaque != "" || u.Hostname() == "":
		return fail("need a URL such as https://api.example/v1")
	case u.Scheme != "http" && u.Scheme != "https":
		return fail("need the scheme http or https")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return fail("need scheme, host, port and path only")
	case u.EscapedPath() != u.Path:
		return fail("the path must be plain text without escapes")
	}
	e := loopbroker.Endpoint{Scheme: u.Scheme, Host: strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), PathPrefix: strings.TrimSuffix(u.Path, "/")}
	if e.PathPrefix == "" {
		e.PathPrefix = "/"
	}
	e.Port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	if p := u.Port(); p != "" {
		if e.Port, err = strconv.Atoi(p); err != nil || e.Port < 1 || e.Port > 65535 {
			return fail("need a port of 1 to 65535")
		}
	}
	if addr, err := netip.ParseAddr(e.Host); err == nil {
		e.Host = addr.Unmap().String()
		e.AllowPrivateAddress = addr.Unmap().IsLoopback() || addr.Unmap().IsPrivate()
	} else if e.Host == "localhost" {
		e.AllowPrivateAddress = true
	}
	e.Name = e.Scheme + "://" + net.JoinHostPort(e.Host, strconv.Itoa(e.Port))
	if e.PathPrefix != "/" {
		e.Name += e.PathPrefix
	}
	e.BreakerFailures, e.BreakerOpen = 10, 30*time.Second
	return e, nil
}

// AllowEndpoint makes or replaces the row, and gives the principal - a database
// role or Everybody - the permission to use it, unless it is empty.
func (o *Operator) AllowEndpoint(ctx context.Context, e loopbroker.Endpoint, principal string) error {
	_, err := o.db.ExecContext(ctx, o.schema.Statement(tsql.StatementEndpointAllow),
		sql.Named("name", e.Name), sql.Named("scheme", e.Scheme), sql.Named("host", e.Host), sql.Named("port", e.Port),
		sql.Named("path_prefix", e.PathPrefix), sql.Named("methods", nullString(strings.Join(e.Methods, ","))),
		sql.Named("enabled", !e.Disabled), sql.Named("allow_private_address", e.AllowPrivateAddress),
		sql.Named("max_concurrency", nullInt(e.MaxConcurrency)), sql.Named("max_per_second", nullInt(e.MaxPerSecond)),
		sql.Named("burst", nullInt(e.Burst)), sql.Named("breaker_failures", e.BreakerFailures),
		sql.Named("breaker_open_ms", max(e.BreakerOpen.Milliseconds(), 100)), sql.Named("max_redirects", e.MaxRedirects),
		sql.Named("proxy", nullString(e.Proxy)), sql.Named("client_certificate", nullString(e.ClientCertificate)),
		sql.Named("principal", nullString(principal)))
	if err != nil {
		return fmt.Errorf("allow endpoint %s: %w", e.Name, err)
	}
	return nil
}

// Endpoints returns the allow-list by name.
func (o *Operator) Endpoints(ctx context.Context) ([]Endpoint, error) {
	var out []Endpoint
	err := o.query(ctx, tsql.StatementEndpointList, func(rows *sql.Rows) error {
		var (
			e                             Endpoint
			methods, proxy, certificate   sql.NullString
			concurrency, perSecond, burst sql.NullInt64
			enabled                       bool
			openMS                        int64
		)
		err := rows.Scan(&e.Name, &e.Scheme, &e.Host, &e.Port, &e.PathPrefix, &methods, &enabled, &e.AllowPrivateAddress, &concurrency,
			&perSecond, &burst, &e.BreakerFailures, &openMS, &e.MaxRedirects, &proxy, &certificate, &e.Permissions)
		if methods.String != "" {
			e.Methods = strings.Split(methods.String, ",")
		}
		e.Disabled, e.Proxy, e.ClientCertificate = !enabled, proxy.String, certificate.String
		e.MaxConcurrency, e.MaxPerSecond, e.Burst = int(concurrency.Int64), int(perSecond.Int64), int(burst.Int64)
		e.BreakerOpen = time.Duration(openMS) * time.Millisecond
		out = append(out, e)
		return err
	})
	return out, err
}

// RemoveEndpoint removes the row and the permissions for it. The error wraps
// ErrNotFound if there is none.
func (o *Operator) RemoveEndpoint(ctx context.Context, name string) error {
	return o.remove(ctx, tsql.StatementEndpointRemove, "endpoint", name)
}

// Permit gives a database role, or Everybody, the permission to use an endpoint, a
// job type or a credential; "*" names all of the kind.
func (o *Operator) Permit(ctx context.Context, principal, kind, name string) error {
	_, err := o.db.ExecContext(ctx, o.schema.Statement(tsql.StatementPermit), sql.Named("principal", principal),
		sql.Named("is_app_role", false), sql.Named("kind", kind), sql.Named("name", name))
	if err != nil {
		return fmt.Errorf("permit %s %s to %s: %w", kind, name, principal, err)
	}
	return nil
}

// ResetHost closes the circuit breaker of an endpoint's host in every worker, within
// seconds.
func (o *Operator) ResetHost(ctx context.Context, name string) error {
	_, err := o.db.ExecContext(ctx, o.schema.Object(tsql.ProcResetHost), sql.Named("endpoint", name))
	if err != nil {
		return fmt.Errorf("reset endpoint %s: %w", name, tsql.WrapError(err))
	}
	return nil
}

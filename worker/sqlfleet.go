package worker

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker"
	"loopbroker/internal/millisecond"
	"loopbroker/tsql"
)

// hostsJSON returns the hosts as the heartbeat takes them, or nil if there is no
// news.
func hostsJSON(hosts []loopbroker.HostState) (any, error) {
	if hosts == nil {
		return nil, nil
	}
	type entry struct {
		Host     string `json:"host"`
		State    string `json:"state"`
		Failures int    `json:"failures"`
		InFlight int    `json:"in_flight"`
		OpenFor  int64  `json:"open_for_ms"`
	}
	entries := make([]entry, len(hosts))
	for i, h := range hosts {
		entries[i] = entry{h.Host, string(h.Breaker), h.Failures, h.InFlight, int64(millisecond.Up(h.OpenFor))}
	}
	data, err := json.Marshal(entries)
	if err != nil {
		return nil, fmt.Errorf("encode hosts: %w", err)
	}
	return string(data), nil
}

// DueCompletions implements loopbroker.Completer.
func (s *SQLStore) DueCompletions(ctx context.Context, n int) ([]loopbroker.DueCompletion, error) {
	var out []loopbroker.DueCompletion
	_, err := s.query(ctx, s.db, tsql.ProcCompletions, func(rows *sql.Rows, _ []string) error {
		var message, token mssql.UniqueIdentifier
		var request, attempts, timeout int64
		if err := rows.Scan(&message, &token, &request, &attempts, &timeout); err != nil {
			return err
		}
		out = append(out, loopbroker.DueCompletion{
			Lease:   loopbroker.Lease{RequestID: request, MessageID: loopbroker.UUID(message), Token: loopbroker.UUID(token)},
			Timeout: millisecond.Duration(timeout),
		})
		return nil
	}, sql.Named("n", n))
	if err != nil {
		return nil, err
	}
	return out, nil
}

// RunCompletion implements loopbroker.Completer.
func (s *SQLStore) RunCompletion(ctx context.Context, d loopbroker.DueCompletion) (loopbroker.CompletionOutcome, error) {
	return s.runCompletion(ctx, d)
}

// FailCompletion implements loopbroker.Completer.
func (s *SQLStore) FailCompletion(ctx context.Context, d loopbroker.DueCompletion, reason string) (loopbroker.CompletionOutcome, error) {
	return s.runCompletion(ctx, d, sql.Named("failure", clip(reason, maxReason)))
}

func (s *SQLStore) runCompletion(ctx context.Context, d loopbroker.DueCompletion, more ...any) (loopbroker.CompletionOutcome, error) {
	status, err := s.exec(ctx, tsql.ProcRunCompletion, append(leaseArgs(d.Lease), more...)...)
	if err == nil && (status < 0 || status > int(loopbroker.CompletionBuried)) {
		err = fmt.Errorf("%w: outcome %d of a completion", loopbroker.ErrSchema, status)
	}
	if err != nil {
		return 0, &loopbroker.OpError{Op: "run completion", RequestID: d.Lease.RequestID, Err: err}
	}
	return loopbroker.CompletionOutcome(status), nil
}

// Policy implements loopbroker.PolicySource.
func (s *SQLStore) Policy(ctx context.Context) (loopbroker.Policy, error) {
	var p loopbroker.Policy
	fail := func(err error) (loopbroker.Policy, error) {
		return loopbroker.Policy{}, fmt.Errorf("%s: %w", tsql.ProcPolicy, tsql.WrapError(err))
	}
	rows, err := s.db.QueryContext(ctx, s.schema.Object(tsql.ProcPolicy))
	if err != nil {
		return fail(err)
	}
	defer func() { _ = rows.Close() }() // rows.Err has what matters
	for i, scan := range []func(*sql.Rows, *loopbroker.Policy) error{scanEndpoint, scanCredential, scanFleet} {
		if i > 0 && !rows.NextResultSet() {
			if err := rows.Err(); err != nil {
				return fail(err)
			}
			return fail(fmt.Errorf("%w: %d result sets", loopbroker.ErrSchema, i))
		}
		for rows.Next() {
			if err := scan(rows, &p); err != nil {
				return fail(err)
			}
		}
	}
	if err := rows.Err(); err != nil {
		return fail(err)
	}
	return p, nil
}

func scanEndpoint(rows *sql.Rows, p *loopbroker.Policy) error {
	var (
		e                                     loopbroker.Endpoint
		methods, proxy, certificate           sql.NullString
		enabled                               bool
		concurrency, perSecond, burst, openMS sql.NullInt64
		resetAt                               sql.NullTime
	)
	err := rows.Scan(&e.Name, &e.Scheme, &e.Host, &e.Port, &e.PathPrefix, &methods, &enabled, &e.AllowPrivateAddress,
		&concurrency, &perSecond, &burst, &e.BreakerFailures, &openMS, &e.MaxRedirects, &proxy, &certificate, &resetAt)
	if err != nil {
		return err
	}
	if methods.String != "" {
		e.Methods = strings.FieldsFunc(methods.String, func(r rune) bool { return r == ',' })
	}
	e.Disabled = !enabled
	e.MaxConcurrency, e.MaxPerSecond, e.Burst = int(concurrency.Int64), int(perSecond.Int64), int(burst.Int64)
	e.BreakerOpen = time.Duration(openMS.Int64) * time.Millisecond
	e.Proxy, e.ClientCertificate, e.ResetAt = proxy.String, certificate.String, resetAt.Time
	p.Endpoints = append(p.Endpoints, e)
	return nil
}

func scanCredential(rows *sql.Rows, p *loopbroker.Policy) error {
	var c loopbroker.Credential
	var kind string
	var field sql.NullString
	if err := rows.Scan(&c.Name, &c.Endpoint, &kind, &field); err != nil {
		return err
	}
	c.Kind, c.Field = loopbroker.CredentialKind(kind), field.String
	p.Credentials = append(p.Credentials, c)
	return nil
}

func scanFleet(rows *sql.Rows, p *loopbroker.Policy) error {
	var version int
	return rows.Scan(&p.Workers, &version)
}

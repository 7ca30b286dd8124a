package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"loopbroker/internal/operator"
	"loopbroker/loopback"
	"loopbroker/tsql"
)

// diagnose proves the broker end to end: the objects, roles and rights, the loopback,
// the workers, the allow-list and the credentials. An error means that it could not
// look; what it found wrong is in the findings.
func diagnose(ctx context.Context, db *sql.DB, schema tsql.Schema, name string) (loopback.Findings, error) {
	out, err := verified(tsql.Verify(ctx, db, tsql.Options{Schema: name}))
	if err != nil || out.Err() != nil {
		return out, err // what comes next would only fail because of it
	}
	link, err := loopback.Doctor(ctx, db, schema)
	out = append(out, link...)
	if err != nil {
		return out, err
	}
	o := operator.New(db, schema)
	for _, check := range []func(context.Context, *operator.Operator) (loopback.Findings, error){checkWorkers, checkEndpoints, checkCredentials} {
		found, err := check(ctx, o)
		if err != nil {
			return out, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// verified turns what Verify found into findings of here.
func verified(found tsql.Findings, err error) (loopback.Findings, error) {
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return loopback.Findings{{Check: "objects, roles and rights", Detail: "as this version expects them"}}, nil
	}
	var out loopback.Findings
	for _, f := range found {
		severity := loopback.Failure
		if f.Warning {
			severity = loopback.Warning
		}
		out = append(out, loopback.Finding{Check: f.Object, Severity: severity, Detail: f.Problem, Repair: f.Repair})
	}
	return out, nil
}

func checkWorkers(ctx context.Context, o *operator.Operator) (loopback.Findings, error) {
	h, err := o.Health(ctx)
	if err != nil {
		return nil, err
	}
	f := loopback.Finding{Check: "workers", Detail: fmt.Sprintf("%d alive", h.WorkersAlive)}
	if h.WorkersAlive == 0 {
		f.Severity, f.Detail, f.Repair = loopback.Warning, "none is alive: requests wait", "start loopbroker worker, or look at its log"
	}
	return loopback.Findings{f}, nil
}

func checkEndpoints(ctx context.Context, o *operator.Operator) (loopback.Findings, error) {
	rows, err := o.Endpoints(ctx)
	if err != nil {
		return nil, err
	}
	var idle []string
	for _, e := range rows {
		if e.Permissions == 0 && !e.Disabled {
			idle = append(idle, e.Name)
		}
	}
	out := loopback.Findings{{Check: "allow-list", Detail: fmt.Sprintf("%d rows", len(rows))}}
	if len(rows) == 0 {
		out[0].Severity, out[0].Detail, out[0].Repair = loopback.Warning, "empty: nothing is called", "loopbroker endpoints allow URL"
	}
	if len(idle) > 0 {
		out = append(out, loopback.Finding{
			Check: "permissions", Severity: loopback.Warning, Detail: "only admins may use " + strings.Join(idle, ", "),
			Repair: "add rows to api_broker_permission, or loopbroker endpoints allow URL --to ROLE",
		})
	}
	return out, nil
}

func checkCredentials(ctx context.Context, o *operator.Operator) (loopback.Findings, error) {
	rows, err := o.Credentials(ctx)
	if err != nil {
		return nil, err
	}
	var lost []string
	for _, c := range rows {
		if !c.Bound {
			lost = append(lost, c.Name)
		}
	}
	f := loopback.Finding{Check: "credentials", Detail: fmt.Sprintf("%d names", len(rows))}
	if len(lost) > 0 {
		f.Severity, f.Detail = loopback.Warning, "bound to endpoints that are not there: "+strings.Join(lost, ", ")
		f.Repair = "loopbroker credentials bind or remove"
	}
	return loopback.Findings{f}, nil
}

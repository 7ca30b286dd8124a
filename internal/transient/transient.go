// Package transient tells the faults of a database that pass by themselves from
// those that do not, and repeats calls over the former.
package transient

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker/internal/backoff"
)

// numbers are the errors of SQL Server that say "not now". The connection and
// throttling ones are those that Microsoft's list of transient connectivity errors
// names for Azure SQL.
var numbers = map[int32]string{
	601:   "data moved under a scan",
	1204:  "no lock memory",
	1205:  "deadlock victim",
	1222:  "lock timeout",
	3960:  "snapshot update conflict",
	4060:  "database not available at login",
	4221:  "login to a read replica timed out",
	6005:  "shutdown in progress",
	8645:  "memory grant timed out",
	8651:  "memory grant not possible",
	9001:  "log not available",
	10928: "resource limit",
	10929: "resource limit",
	10936: "request limit",
	17142: "server is paused",
	40143: "connection lost",
	40197: "error processing the request",
	40501: "service busy",
	40540: "service error",
	40613: "database not available",
	42108: "pool is paused",
	49918: "too many operations",
	49919: "too many operations",
	49920: "too many operations",
}

// Fault reports whether err passes by itself: repeating the call later can succeed
// without anybody changing anything. The end of the caller's own context does not.
func Fault(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var server mssql.Error
	if errors.As(err, &server) {
		if numbers[server.Number] != "" {
			return true
		}
		for _, e := range server.All {
			if numbers[e.Number] != "" {
				return true
			}
		}
		// Severity 20 and more ended the connection, not the sense of the call.
		return server.Class >= 20
	}
	return Connection(err)
}

// Connection reports whether err says that a connection broke or could not be made.
func Connection(err error) bool {
	var network net.Error
	var stream mssql.StreamError
	var fatal mssql.ServerError
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EPIPE):
		return true
	default:
		return errors.As(err, &network) || errors.As(err, &stream) || errors.As(err, &fatal)
	}
}

// Retry calls f until it succeeds, fails with something that is no Fault, or has
// been called attempts times, and returns its last error. It pauses by the policy
// in between and ends early with ctx.
func Retry(ctx context.Context, p backoff.Policy, attempts int, f func(context.Context) error) error {
	for n := 1; ; n++ {
		err := f(ctx)
		if err == nil || !Fault(err) || n >= attempts {
			return err
		}
		if !Sleep(ctx, p.Delay(n, 0)) {
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// Sleep waits for d and reports whether ctx was still alive then.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

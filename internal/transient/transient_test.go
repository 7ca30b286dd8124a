package transient_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker/internal/backoff"
	"loopbroker/internal/transient"
)

func TestFault(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name              string
		err               error
		fault, connection bool
	}{
		{"nil", nil, false, false},
		{"deadlock", mssql.Error{Number: 1205, Class: 13}, true, false},
		{"wrapped lock timeout", fmt.Errorf("claim: %w", mssql.Error{Number: 1222, Class: 16}), true, false},
		{"deadlock before another error", mssql.Error{Number: 3621, Class: 16, All: []mssql.Error{{Number: 1205}, {Number: 3621}}}, true, false},
		{"key violation", mssql.Error{Number: 2627, Class: 14}, false, false},
		{"our own error", mssql.Error{Number: 54061, Class: 16}, false, false},
		{"fatal", mssql.Error{Number: 596, Class: 21}, true, false},
		{"bad connection", driver.ErrBadConn, true, true},
		{"end of stream", fmt.Errorf("read: %w", io.EOF), true, true},
		{"reset", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, true, true},
		{"refused", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true, true},
		{"stream", mssql.StreamError{InnerError: errors.New("x")}, true, true},
		{"cancelled", context.Canceled, false, false},
		{"deadline", context.DeadlineExceeded, false, false},
		{"other", errors.New("other"), false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := transient.Fault(tt.err); got != tt.fault {
				t.Errorf("Fault = %v, want %v", got, tt.fault)
			}
			if got := transient.Connection(tt.err); got != tt.connection {
				t.Errorf("Connection = %v, want %v", got, tt.connection)
			}
		})
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()

	deadlock := mssql.Error{Number: 1205}
	other := errors.New("other")
	tests := []struct {
		name  string
		errs  []error // of each call; the last repeats
		calls int
		want  error
	}{
		{"success", []error{nil}, 1, nil},
		{"second time", []error{deadlock, nil}, 2, nil},
		{"not transient", []error{other}, 1, other},
		{"then not transient", []error{deadlock, other}, 2, other},
		{"never", []error{deadlock}, 4, deadlock},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				err := transient.Retry(t.Context(), backoff.Policy{Base: time.Second, Cap: time.Minute}, 4, func(context.Context) error {
					calls++
					return tt.errs[min(calls, len(tt.errs))-1]
				})
				if calls != tt.calls || fmt.Sprint(err) != fmt.Sprint(tt.want) {
					t.Errorf("%d calls, %v, want %d, %v", calls, err, tt.calls, tt.want)
				}
			})
		})
	}
}

func TestRetry_EndsWithContext(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		hour := backoff.Policy{Base: time.Hour, Cap: time.Hour, Random: func(n int64) int64 { return n - 1 }}
		start := time.Now()
		err := transient.Retry(ctx, hour, 9, func(context.Context) error { return driver.ErrBadConn })
		if !errors.Is(err, driver.ErrBadConn) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want both the fault and the context's end", err)
		}
		if got := time.Since(start); got != time.Second {
			t.Errorf("ended after %s, want 1s", got)
		}
	})
}

package storagebench_test

import (
	"syscall"
	"testing"
)

// cpuTime returns the processor time of the process in nanoseconds.
func cpuTime(tb testing.TB) float64 {
	tb.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		tb.Fatal(err)
	}
	return float64(r.Utime.Nano() + r.Stime.Nano())
}

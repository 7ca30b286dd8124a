package main

import (
	"bytes"
	"os"
	"strconv"
)

// resetMaxRSS begins a new maximum; see proc_pid_clear_refs(5). A kernel that
// refuses it gives the maximum of the whole run.
func resetMaxRSS() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// maxRSS returns the largest resident set since resetMaxRSS in MB, or 0 where it
// is not known.
func maxRSS() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, ok := bytes.Cut(status, []byte("VmHWM:"))
	if !ok {
		return 0
	}
	fields := bytes.Fields(after)
	if len(fields) == 0 {
		return 0
	}
	kb, err := strconv.ParseFloat(string(fields[0]), 64)
	if err != nil {
		return 0
	}
	return kb / 1024
}

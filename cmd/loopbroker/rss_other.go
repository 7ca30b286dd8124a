//go:build !linux

package main

import "runtime"

// resetMaxRSS does nothing: only Linux can begin a new maximum.
func resetMaxRSS() {}

// maxRSS returns what the Go runtime has taken from the system in MB; the real
// resident set is not known here.
func maxRSS() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Sys) / (1 << 20)
}

package storagebench

import (
	"bytes"
	"errors"
	"os"
	"strconv"
)

// resident returns the resident memory of the process in bytes.
func resident() (float64, error) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(b)
	if len(fields) < 2 {
		return 0, errors.New("/proc/self/statm has no resident size")
	}
	pages, err := strconv.ParseFloat(string(fields[1]), 64)
	return pages * float64(os.Getpagesize()), err
}

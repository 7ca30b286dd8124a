//go:build !linux

package storagebench

import "os"

func syncFile(f *os.File) error { return f.Sync() }

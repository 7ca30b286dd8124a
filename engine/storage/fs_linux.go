package storage

import (
	"errors"
	"os"
	"syscall"
)

// syncData is fdatasync: contents and size, not the times.
func syncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

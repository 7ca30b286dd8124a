package storagebench

import (
	"errors"
	"os"
	"syscall"
)

// syncFile is fdatasync, as the store does it.
func syncFile(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

package storage

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// syncDir does nothing: NTFS logs its own directory changes.
func syncDir(string) error { return nil }

// errSharing is ERROR_SHARING_VIOLATION.
const errSharing syscall.Errno = 32

// lockFile opens the file without sharing, which is a lock on Windows.
func lockFile(name string) (io.Closer, error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(path, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errSharing) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), name), nil
}

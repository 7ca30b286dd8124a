package storage

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// FS is the part of a file system that the store uses, so that tests can put
// faults and crashes into it.
type FS interface {
	// MkdirAll makes a directory and those above it.
	MkdirAll(dir string) error
	// ReadDir returns the names in a directory.
	ReadDir(dir string) ([]string, error)
	// Create makes an empty file or empties it.
	Create(name string) (File, error)
	// Open opens an existing file for reading and writing.
	Open(name string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	// SyncDir makes creations, renames and removals in dir durable.
	SyncDir(dir string) error
	// Lock takes an exclusive lock until the Closer is closed or the process
	// ends. It returns ErrLocked if somebody else has it.
	Lock(name string) (io.Closer, error)
}

// File is an open file of an FS.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error
	// Sync makes the contents durable, and the size.
	Sync() error
}

// diskFS is the operating system's file system.
type diskFS struct{}

type diskFile struct{ *os.File }

func (diskFS) MkdirAll(dir string) error { return os.MkdirAll(dir, 0o750) }

func (diskFS) ReadDir(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (diskFS) Create(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

func (diskFS) Open(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

func (diskFS) Rename(from, to string) error { return os.Rename(from, to) }

func (diskFS) Remove(name string) error { return os.Remove(name) }

func (diskFS) SyncDir(dir string) error { return syncDir(dir) }

func (diskFS) Lock(name string) (io.Closer, error) { return lockFile(name) }

// Size implements File.
func (f diskFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Sync implements File.
func (f diskFile) Sync() error { return syncData(f.File) }

// isFull reports whether err says that there is no space left.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

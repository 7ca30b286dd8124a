//go:build unix

package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
)

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// lockFile locks the file and writes the number of the process into it, for the
// message of the next.
func lockFile(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		if err = f.Truncate(0); err == nil {
			_, err = f.WriteAt(strconv.AppendInt(nil, int64(os.Getpid()), 10), 0)
		}
		if err != nil && !isFull(err) { // the lock counts, not the number
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
	var b [20]byte
	n, _ := f.ReadAt(b[:], 0)
	_ = f.Close() // nothing was written
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, err
	}
	if pid, err := strconv.Atoi(string(b[:n])); err == nil {
		return nil, fmt.Errorf("%w by process %d", ErrLocked, pid)
	}
	return nil, ErrLocked
}

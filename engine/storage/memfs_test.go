package storage_test

import (
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"syscall"

	"loopbroker/engine/storage"
)

var errCrashed = errors.New("crashed")

// memFS is a file system in memory that knows what has been synced, can stop at
// any operation, and can fail operations.
type memFS struct {
	mu      sync.Mutex
	names   map[string]*memFile   // as the running process sees it
	durable map[string]*memFile   // what the directory on the disk says
	between []map[string]*memFile // what it may say: after each change since it was synced
	locked  map[string]bool

	kinds  map[string]int
	ops    int                         // changing operations so far
	stopAt int                         // the operation that does not happen any more; 0: never
	fail   func(op, name string) error // a fault to inject
	room   int                         // a write of more bytes ends after so many with ENOSPC; 0: no limit
}

type memFile struct {
	data    []byte
	synced  []byte
	pending []memWrite // since the last sync
}

type memWrite struct {
	at   int64
	data []byte // nil: the file was cut to at
}

func newMemFS() *memFS {
	return &memFS{names: map[string]*memFile{}, durable: map[string]*memFile{}, locked: map[string]bool{}, kinds: map[string]int{}}
}

// step counts a changing operation and says whether it happens. The mutex is held.
func (fs *memFS) step(op, name string) error {
	if fs.stopAt > 0 && fs.ops >= fs.stopAt {
		return errCrashed
	}
	fs.ops++
	fs.kinds[op]++
	if fs.stopAt > 0 && fs.ops >= fs.stopAt {
		return errCrashed
	}
	if fs.fail != nil {
		return fs.fail(op, filepath.Base(name))
	}
	return nil
}

// crash is what is left after a crash.
type crash int

const (
	killed   crash = iota // the process died: the system writes everything
	powerOff              // only what was synced is there
	torn                  // synced, and some of the writes that were not
)

// after returns the file system as the next process finds it.
func (fs *memFS) after(how crash, rnd *rand.Rand) *memFS {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	next := newMemFS()
	names := fs.names
	if how != killed {
		names = fs.durable
	}
	if n := len(fs.between); how == torn && n > 0 {
		if i := rnd.IntN(n + 1); i < n {
			names = fs.between[i]
		}
	}
	for name, f := range names {
		data := f.synced
		switch how {
		case killed:
			data = f.data
		case torn:
			data = f.tear(rnd)
		}
		data = append([]byte(nil), data...)
		g := &memFile{data: data, synced: append([]byte(nil), data...)}
		next.names[name], next.durable[name] = g, g
	}
	return next
}

// tear applies some of the pending writes, some of them in part.
func (f *memFile) tear(rnd *rand.Rand) []byte {
	data := append([]byte(nil), f.synced...)
	for _, w := range f.pending {
		switch {
		case rnd.IntN(3) == 0:
			continue
		case w.data == nil:
			data = resize(data, w.at)
			continue
		}
		part := w.data
		if rnd.IntN(2) == 0 {
			part = part[:rnd.IntN(len(part)+1)]
		}
		data = overwrite(data, part, w.at)
	}
	return data
}

func resize(data []byte, size int64) []byte {
	if int64(len(data)) >= size {
		return data[:size]
	}
	return append(data, make([]byte, size-int64(len(data)))...)
}

func overwrite(data, part []byte, at int64) []byte {
	if end := at + int64(len(part)); int64(len(data)) < end {
		data = resize(data, end)
	}
	copy(data[at:], part)
	return data
}

func (fs *memFS) MkdirAll(string) error { return nil }

func (fs *memFS) ReadDir(dir string) ([]string, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	var names []string
	for name := range fs.names {
		if filepath.Dir(name) == dir {
			names = append(names, filepath.Base(name))
		}
	}
	return names, nil
}

func (fs *memFS) Create(name string) (storage.File, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if err := fs.step("create", name); err != nil {
		return nil, err
	}
	f := &memFile{}
	fs.names[name] = f
	fs.changed()
	return &memHandle{fs, f, name}, nil
}

func (fs *memFS) Open(name string) (storage.File, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.names[name]
	if f == nil {
		return nil, errors.New("no such file")
	}
	return &memHandle{fs, f, name}, nil
}

func (fs *memFS) Rename(from, to string) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if err := fs.step("rename", to); err != nil {
		return err
	}
	fs.names[to] = fs.names[from]
	delete(fs.names, from)
	fs.changed()
	return nil
}

func (fs *memFS) Remove(name string) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if err := fs.step("remove", name); err != nil {
		return err
	}
	delete(fs.names, name)
	fs.changed()
	return nil
}

// changed notes a change of the directory.
func (fs *memFS) changed() { fs.between = append(fs.between, maps.Clone(fs.names)) }

func (fs *memFS) SyncDir(string) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if err := fs.step("syncdir", ""); err != nil {
		return err
	}
	fs.durable, fs.between = maps.Clone(fs.names), nil
	return nil
}

func (fs *memFS) Lock(name string) (io.Closer, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.locked[name] {
		return nil, storage.ErrLocked
	}
	fs.locked[name] = true
	return unlocker(func() {
		fs.mu.Lock()
		defer fs.mu.Unlock()
		delete(fs.locked, name)
	}), nil
}

type unlocker func()

func (u unlocker) Close() error { u(); return nil }

type memHandle struct {
	fs   *memFS
	f    *memFile
	name string
}

func (h *memHandle) ReadAt(p []byte, at int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if at >= int64(len(h.f.data)) {
		return 0, io.EOF
	}
	n := copy(p, h.f.data[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h *memHandle) WriteAt(p []byte, at int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.fs.step("write", h.name); err != nil {
		return 0, err
	}
	if n := h.fs.room; n > 0 && len(p) > n {
		h.f.data = overwrite(h.f.data, p[:n], at)
		h.f.pending = append(h.f.pending, memWrite{at, append([]byte{}, p[:n]...)})
		return n, syscall.ENOSPC
	}
	h.f.data = overwrite(h.f.data, p, at)
	h.f.pending = append(h.f.pending, memWrite{at, append([]byte{}, p...)})
	return len(p), nil
}

func (h *memHandle) Size() (int64, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	return int64(len(h.f.data)), nil
}

func (h *memHandle) Truncate(size int64) error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.fs.step("truncate", h.name); err != nil {
		return err
	}
	h.f.data = resize(h.f.data, size)
	h.f.pending = append(h.f.pending, memWrite{at: size})
	return nil
}

func (h *memHandle) Sync() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.fs.step("sync", h.name); err != nil {
		return err
	}
	h.f.synced = append(h.f.synced[:0:0], h.f.data...)
	h.f.pending = nil
	return nil
}

func (h *memHandle) Close() error { return nil }

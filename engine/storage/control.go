package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
)

// The control file says what the log of the directory must hold, so that the
// loss of its end is noticed: nothing in a log says that there was more.
//
//	header  magic 8, format u32, crc u32 (of the rest of the header),
//	        first LSN of the newest segment u64, durable LSN u64
//	zeros
//	claim   at byte 512: crc u32 (of the rest), zeros 4, durable LSN u64
//
// The header is written with each new segment, aside, synced and renamed over
// the former file: it is intact or damaged, never torn. The claim is written
// after each sync of the log and not synced itself. It may be old or torn after
// a crash, which makes it say less or nothing; what it says is true.
const (
	controlName   = "control"
	controlMagic  = "LBROKCTL"
	controlHeader = 32
	controlClaim  = 512
	claimSize     = 16
)

// control is the open control file. Only the log's writer uses it.
type control struct {
	file File
	buf  [claimSize]byte
}

// claim notes that the log is synced up to lsn. A failure is not one of the
// log's: a claim that is missing only makes the next start notice less.
func (c *control) claim(lsn uint64) {
	binary.LittleEndian.PutUint64(c.buf[8:], lsn)
	binary.LittleEndian.PutUint32(c.buf[:], crc32.Checksum(c.buf[4:], castagnoli))
	_, _ = c.file.WriteAt(c.buf[:], controlClaim)
}

func (c *control) close() error {
	if c == nil {
		return nil
	}
	return c.file.Close()
}

// writeControl makes the file that replaces the control file, under its
// temporary name.
func writeControl(fs FS, dir string, first, durable uint64) error {
	b := make([]byte, controlClaim+claimSize)
	copy(b, controlMagic)
	binary.LittleEndian.PutUint32(b[8:], formatVersion)
	binary.LittleEndian.PutUint64(b[16:], first)
	binary.LittleEndian.PutUint64(b[24:], durable)
	binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(b[16:controlHeader], castagnoli))
	return writeAside(fs, filepath.Join(dir, controlName), b)
}

// writeAside writes and syncs a file under the temporary name of path. Renaming
// it is left to the caller.
func writeAside(fs FS, path string, b []byte) error {
	f, err := fs.Create(path + tempSuffix)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = fs.Remove(path + tempSuffix) // recovery removes it too
	}
	return err
}

// tempSuffix ends the names of files that are not finished. Recovery removes
// them.
const tempSuffix = ".tmp"

// errHalfMade says that a new segment may or may not be there after a crash: the
// old one must not be written any more.
var errHalfMade = errors.New("the new log segment is not in its place")

// nextSegment makes a segment that begins with LSN first and the control file
// that names it. Each of the two is there in full or not at all, the segment
// first. Unless the error is errHalfMade nothing has changed.
func nextSegment(fs FS, dir string, first uint64, old *control) (*segment, *control, error) {
	path := filepath.Join(dir, segmentName(first))
	ctlPath := filepath.Join(dir, controlName)
	if err := writeSegment(fs, dir, first); err != nil {
		return nil, nil, err
	}
	if err := writeControl(fs, dir, first, first-1); err != nil {
		_ = fs.Remove(path + tempSuffix) // recovery removes it too
		return nil, nil, err
	}
	_ = old.close() // not every system renames over an open file
	err := renameAll(fs, dir, path, ctlPath)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errHalfMade, err)
	}
	seg := &segment{name: segmentName(first), first: first, end: segmentHeader, space: firstSpace}
	if seg.file, err = fs.Open(path); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errHalfMade, err)
	}
	ctl := &control{}
	if ctl.file, err = fs.Open(ctlPath); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%w: %w", errHalfMade, err), seg.file.Close())
	}
	return seg, ctl, nil
}

// renameAll gives files their names, one after the other and durably.
func renameAll(fs FS, dir string, paths ...string) error {
	for _, path := range paths {
		if err := fs.Rename(path+tempSuffix, path); err != nil {
			return err
		}
		if err := fs.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// expectation is what the control file says about the log.
type expectation struct {
	known   bool
	newest  uint64 // first LSN of the newest segment
	durable uint64 // the log reaches at least so far
}

// readControl reads the control file. A directory from before there was one has
// none.
func (r *recovery) readControl(names []string) (e expectation, err error) {
	known := false
	for _, name := range names {
		known = known || name == controlName
	}
	if !known {
		return e, nil
	}
	b, err := r.read(controlName)
	if err != nil {
		return e, err
	}
	if err := r.checkHeader(controlName, b, controlMagic, controlHeader); err != nil {
		return e, err
	}
	e = expectation{known: true, newest: binary.LittleEndian.Uint64(b[16:]), durable: binary.LittleEndian.Uint64(b[24:])}
	if len(b) < controlClaim+claimSize {
		return e, r.corrupt(controlName, len(b), "the end is missing")
	}
	c := b[controlClaim : controlClaim+claimSize]
	if binary.LittleEndian.Uint32(c) == crc32.Checksum(c[4:], castagnoli) {
		e.durable = max(e.durable, binary.LittleEndian.Uint64(c[8:]))
	}
	return e, nil
}

package storage

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"strings"
)

// A segment is one log file, named for the first log sequence number (LSN) in
// it. All numbers are little-endian.
//
//	header  magic 8, format u32, crc u32 (of the LSN), first LSN u64
//	frame   magic u32, crc u32 (of all that follows), length u32, count u32,
//	        first LSN u64, durable LSN u64, then length bytes: count records,
//	        each with its length (u32) before it
//	zeros   up to the end of the file: space made ready
//
// A frame is what one write of the group commit puts down: it is there in full
// or not at all. Records have consecutive LSNs. durable is the LSN up to which
// the log was synced when the frame was made: a frame that is missing although
// a later one says that it was durable has been damaged, any other was lost in
// a crash before anybody was told that it was there.
const (
	segmentMagic  = "LBROKLOG"
	formatVersion = 1
	segmentHeader = 24
	frameMagic    = 0x4D415246 // "FRAM"
	frameHeader   = 32
	maxRecord     = 1 << 30
	maxFrame      = 1 << 20 // a frame takes no further record beyond this

	firstSpace = 64 << 10 // zeros at first
	mostSpace  = 4 << 20  // zeros at a time later
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// segment is the log file that is written.
type segment struct {
	file  File
	name  string
	first uint64
	end   int64 // where the next frame goes
	space int64 // zeros reach up to here
}

func segmentName(first uint64) string { return fmt.Sprintf("log-%016x.seg", first) }

func checkpointName(lsn uint64) string { return fmt.Sprintf("checkpoint-%016x.ckp", lsn) }

// parseName returns the number in a name with the given beginning and end.
func parseName(name, prefix, suffix string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return 0, false
	}
	if digits, ok = strings.CutSuffix(digits, suffix); !ok || len(digits) != 16 {
		return 0, false
	}
	var n uint64
	if _, err := fmt.Sscanf(digits, "%016x", &n); err != nil {
		return 0, false
	}
	return n, true
}

// writeSegment makes the file of a segment that begins with LSN first, under its
// temporary name.
func writeSegment(fs FS, dir string, first uint64) error {
	b := make([]byte, firstSpace)
	copy(b, segmentMagic)
	binary.LittleEndian.PutUint32(b[8:], formatVersion)
	binary.LittleEndian.PutUint64(b[16:], first)
	binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(b[16:segmentHeader], castagnoli))
	return writeAside(fs, filepath.Join(dir, segmentName(first)), b)
}

// write puts a frame at the end. The end moves only by advance.
func (seg *segment) write(frame []byte) error {
	if need := seg.end + int64(len(frame)); need > seg.space {
		chunk := min(max(seg.space, firstSpace), mostSpace)
		zeros := make([]byte, need+chunk-seg.space)
		if _, err := seg.file.WriteAt(zeros, seg.space); err == nil {
			seg.space = need + chunk
		}
		// Without room for the zeros there may still be room for the frame.
	}
	_, err := seg.file.WriteAt(frame, seg.end)
	return err
}

func (seg *segment) advance(n int) {
	seg.end += int64(n)
	seg.space = max(seg.space, seg.end) // zeros must never be written over a frame
}

// erase takes back what a failed write may have put at the end. All of it must
// go: a frame left behind could look like the successor of the next one.
func (seg *segment) erase() error {
	err := seg.file.Truncate(seg.end)
	if err == nil {
		seg.space = seg.end
		err = seg.file.Sync()
	}
	return err
}

// finish closes a full segment, without the zeros.
func (seg *segment) finish() error {
	err := seg.file.Truncate(seg.end)
	if err == nil {
		err = seg.file.Sync()
	}
	if cerr := seg.file.Close(); err == nil {
		err = cerr
	}
	return err
}

// frame is the header of a frame that was read.
type frame struct {
	count   uint32
	first   uint64
	durable uint64
	payload []byte
	size    int
}

func appendFrameHeader(b []byte) []byte { return append(b, make([]byte, frameHeader)...) }

// sealFrame fills in the header of a frame.
func sealFrame(b []byte, count uint32, first, durable uint64) {
	binary.LittleEndian.PutUint32(b, frameMagic)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(b)-frameHeader))
	binary.LittleEndian.PutUint32(b[12:], count)
	binary.LittleEndian.PutUint64(b[16:], first)
	binary.LittleEndian.PutUint64(b[24:], durable)
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli))
}

// parseFrame reads the frame at the beginning of b. ok is false if there is no
// intact one.
func parseFrame(b []byte) (f frame, ok bool) {
	if len(b) < frameHeader || binary.LittleEndian.Uint32(b) != frameMagic {
		return f, false
	}
	n := int64(binary.LittleEndian.Uint32(b[8:])) + frameHeader
	if n > int64(len(b)) || crc32.Checksum(b[8:n], castagnoli) != binary.LittleEndian.Uint32(b[4:]) {
		return f, false
	}
	f.count = binary.LittleEndian.Uint32(b[12:])
	f.first = binary.LittleEndian.Uint64(b[16:])
	f.durable = binary.LittleEndian.Uint64(b[24:])
	f.payload = b[frameHeader:n]
	f.size = int(n)
	return f, true
}

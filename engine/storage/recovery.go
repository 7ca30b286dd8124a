package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"
	"strings"
)

// openDir locks the directory, brings its contents back and starts the log.
func (s *Store) openDir(ctx context.Context) (err error) {
	fs, dir := s.opts.FS, s.opts.Dir
	if err := fs.MkdirAll(dir); err != nil {
		return fmt.Errorf("storage: directory: %w", err)
	}
	lock, err := fs.Lock(filepath.Join(dir, "lock"))
	if err != nil {
		return fmt.Errorf("storage: lock of %s: %w", dir, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	r := &recovery{ctx: ctx, s: s, fs: fs, dir: dir}
	if err := r.run(); err != nil {
		return err
	}
	seg, err := createSegment(fs, dir, r.lsn+1)
	if err != nil {
		return fmt.Errorf("storage: new log segment: %w", err)
	}
	s.lockFile = lock
	s.lastLSN = r.lsn
	s.log = newLog(s, seg, r.lsn+1)
	s.log.bytes.Store(r.replayed)
	go s.log.run()
	s.background.Add(1)
	go s.checkpoints(context.WithoutCancel(ctx))
	return nil
}

// recovery brings a directory's contents back: the newest checkpoint, then the
// log after it. Only committed transactions are in the log, each as one record,
// and their order is that of their commits; so replay only goes forward.
type recovery struct {
	ctx      context.Context
	s        *Store
	fs       FS
	dir      string
	lsn      uint64 // of the newest record that is in the tables
	replayed int64  // bytes
}

func (r *recovery) run() error {
	names, err := r.fs.ReadDir(r.dir)
	if err != nil {
		return fmt.Errorf("storage: directory: %w", err)
	}
	var newest uint64
	found := false
	for _, name := range names {
		if strings.HasSuffix(name, ".tmp") {
			if err := r.fs.Remove(filepath.Join(r.dir, name)); err != nil {
				return fmt.Errorf("storage: unfinished checkpoint: %w", err)
			}
		}
		if lsn, ok := parseName(name, "checkpoint-", ".ckp"); ok && (!found || lsn > newest) {
			newest, found = lsn, true
		}
	}
	if found {
		if err := r.loadCheckpoint(checkpointName(newest)); err != nil {
			return err
		}
	}
	segments := segmentsIn(names)
	for i, first := range segments {
		next := uint64(0)
		if i+1 < len(segments) {
			next = segments[i+1]
		}
		if err := r.replaySegment(segmentName(first), first, next); err != nil {
			return err
		}
	}
	return r.index()
}

func (r *recovery) read(name string) ([]byte, error) {
	f, err := r.fs.Open(filepath.Join(r.dir, name))
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	b := make([]byte, size)
	if size > 0 {
		if n, err := f.ReadAt(b, 0); n < len(b) {
			return nil, errors.Join(fmt.Errorf("storage: %s: %w", name, err), f.Close())
		}
	}
	return b, f.Close()
}

// checkHeader reads magic, format and checksum at the beginning of a file.
func (r *recovery) checkHeader(name string, b []byte, magic string, size int) error {
	switch {
	case len(b) < size:
		return r.corrupt(name, 0, "shorter than its header")
	case string(b[:8]) != magic:
		return r.corrupt(name, 0, "not a file of this kind")
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v > formatVersion {
		return fmt.Errorf("%w: %s has format %d, this program knows %d", ErrNewerFormat, name, v, formatVersion)
	} else if v != formatVersion {
		return r.corrupt(name, 8, "unknown format")
	}
	if crc32.Checksum(b[16:size], castagnoli) != binary.LittleEndian.Uint32(b[12:]) {
		return r.corrupt(name, 12, "wrong checksum of the header")
	}
	return nil
}

func (r *recovery) corrupt(name string, at int, reason string) error {
	return &CorruptError{File: filepath.Join(r.dir, name), Offset: int64(at), Reason: reason}
}

func (r *recovery) loadCheckpoint(name string) error {
	b, err := r.read(name)
	if err != nil {
		return err
	}
	if err := r.checkHeader(name, b, checkpointMagic, checkpointHeader); err != nil {
		return err
	}
	r.lsn = binary.LittleEndian.Uint64(b[16:])
	r.s.lastTx.Store(binary.LittleEndian.Uint64(b[24:]))
	tables, rows := uint64(0), uint64(0)
	for at := checkpointHeader; ; {
		if len(b)-at < blockHeader {
			return r.corrupt(name, at, "the end is missing")
		}
		size := int(binary.LittleEndian.Uint32(b[at:]))
		if size < 1 || size > len(b)-at-blockHeader {
			return r.corrupt(name, at, "impossible length")
		}
		p := b[at+blockHeader : at+blockHeader+size]
		if crc32.Checksum(p, castagnoli) != binary.LittleEndian.Uint32(b[at+4:]) {
			return r.corrupt(name, at, "wrong checksum")
		}
		rd := &redoReader{b: p[1:]}
		switch p[0] {
		case blockTable:
			tables++
			r.loadTable(rd)
		case blockRows:
			rows += r.loadRows(rd)
		case blockEnd:
			if rd.uvarint() != tables || rd.uvarint() != rows || rd.err != nil || at+blockHeader+size != len(b) {
				return r.corrupt(name, at, "the numbers at the end are wrong")
			}
			return nil
		default:
			return r.corrupt(name, at, "unknown block")
		}
		if rd.err != nil {
			return r.corrupt(name, at, rd.err.Error())
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		at += blockHeader + size
	}
}

func (r *recovery) loadTable(rd *redoReader) {
	next := rd.uvarint()
	var def TableDef
	if rd.err == nil {
		rd.err = json.Unmarshal(rd.b, &def)
	}
	if rd.err == nil {
		rd.err = r.create(def)
	}
	if rd.err == nil {
		r.s.tables[def.ID].nextRow.Store(next)
	}
}

func (r *recovery) loadRows(rd *redoReader) (n uint64) {
	t := r.s.tables[ObjectID(rd.uvarint())]
	if t == nil {
		rd.err = errors.New("rows of an unknown table")
		return 0
	}
	for rd.more() {
		r.put(t, RowID(rd.uvarint()), rd)
		n++
	}
	return n
}

func (r *recovery) create(def TableDef) error {
	if err := def.Validate(); err != nil {
		return err
	}
	if !r.s.addTable(r.s.newTable(def, recovered)) {
		return ErrTableExists
	}
	return nil
}

func (r *recovery) put(t *Table, id RowID, rd *redoReader) {
	row := rd.row()
	d := t.data.Load()
	if rd.err == nil && len(row) != d.columns {
		rd.err = fmt.Errorf("row of %d values for table %d of %d columns", len(row), t.id, d.columns)
	}
	if rd.err != nil {
		return
	}
	if uint64(id) > t.nextRow.Load() {
		t.nextRow.Store(uint64(id))
	}
	d.rows.Set(id, newRecord(id, row, recovered))
}

// replaySegment applies the records of a segment that are not in the tables
// yet. next is the first LSN of the segment after it, 0 if it is the last one,
// whose torn end is cut off.
func (r *recovery) replaySegment(name string, first, next uint64) error {
	b, err := r.read(name)
	if err != nil {
		return err
	}
	if err := r.checkHeader(name, b, segmentMagic, segmentHeader); err != nil {
		if next == 0 && errors.Is(err, ErrCorrupt) && !laterFrame(b, 0, first, 0) {
			// The crash came while the segment was made: nothing is in it. Its
			// name still says how far the log had come.
			if first > r.lsn+1 {
				return r.missing(name, first)
			}
			return r.fs.Remove(filepath.Join(r.dir, name))
		}
		return err
	}
	if binary.LittleEndian.Uint64(b[16:]) != first {
		return r.corrupt(name, 16, "the name does not fit the contents")
	}
	if first > r.lsn+1 {
		return r.missing(name, first)
	}
	at, lsn := segmentHeader, first
	for {
		f, ok := parseFrame(b[at:])
		if !ok || f.first != lsn {
			break
		}
		if err := r.applyFrame(&f); err != nil {
			return r.corrupt(name, at, err.Error())
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		lsn += uint64(f.count)
		at += f.size
	}
	if next != 0 {
		if lsn != next {
			return r.corrupt(name, at, fmt.Sprintf("records %d to %d are missing", lsn, next-1))
		}
		return nil
	}
	if laterFrame(b, at, lsn, lsn) {
		return r.corrupt(name, at, "damaged record: later ones are intact")
	}
	return r.cut(name, at, len(b))
}

// missing is the damage of a segment whose predecessor is gone.
func (r *recovery) missing(name string, first uint64) error {
	return r.corrupt(name, 0, fmt.Sprintf("records %d to %d are missing before it", r.lsn+1, first-1))
}

// laterFrame reports whether b has, at or after at, an intact frame of record
// lsn or later that was made when the log was synced up to record durable.
func laterFrame(b []byte, at int, lsn, durable uint64) bool {
	var magic [4]byte
	binary.LittleEndian.PutUint32(magic[:], frameMagic)
	for {
		i := bytes.Index(b[at:], magic[:])
		if i < 0 {
			return false
		}
		at += i
		if f, ok := parseFrame(b[at:]); ok && f.first >= lsn && f.durable >= durable {
			return true
		}
		at++
	}
}

// cut takes what is behind the last record out of the file.
func (r *recovery) cut(name string, at, size int) error {
	if at == size {
		return nil
	}
	f, err := r.fs.Open(filepath.Join(r.dir, name))
	if err != nil {
		return err
	}
	if err := f.Truncate(int64(at)); err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(f.Sync(), f.Close())
}

func (r *recovery) applyFrame(f *frame) error {
	rd := &redoReader{b: f.payload}
	for i := range uint64(f.count) {
		size := rd.take(4)
		if rd.err != nil {
			return rd.err
		}
		rec := rd.take(uint64(binary.LittleEndian.Uint32(size)))
		if rd.err != nil {
			return rd.err
		}
		lsn := f.first + i
		if lsn <= r.lsn {
			continue // in the checkpoint
		}
		if err := r.apply(rec); err != nil {
			return fmt.Errorf("record %d: %w", lsn, err)
		}
		r.lsn = lsn
		r.replayed += int64(len(rec))
	}
	if rd.more() {
		return errors.New("frame is longer than its records")
	}
	return nil
}

// apply redoes one transaction.
func (r *recovery) apply(rec []byte) error {
	rd := &redoReader{b: rec}
	if tx := rd.uvarint(); tx > r.s.lastTx.Load() {
		r.s.lastTx.Store(tx)
	}
	for rd.more() {
		kind := itemKind(rd.byte())
		id := ObjectID(rd.uvarint())
		t := r.s.tables[id]
		if t == nil && kind != itemCreateTable && rd.err == nil {
			return fmt.Errorf("unknown table %d", id)
		}
		r.applyItem(kind, t, rd)
	}
	return rd.err
}

func (r *recovery) applyItem(kind itemKind, t *Table, rd *redoReader) {
	if rd.err != nil {
		return
	}
	switch kind {
	case itemPut:
		r.put(t, RowID(rd.uvarint()), rd)
	case itemDelete:
		if _, ok := t.data.Load().rows.Delete(RowID(rd.uvarint())); !ok && rd.err == nil {
			rd.err = fmt.Errorf("deletion of an unknown row of table %d", t.id)
		}
	case itemCreateTable:
		var def TableDef
		if rd.json(&def); rd.err == nil {
			rd.err = r.create(def)
		}
	case itemDropTable:
		r.s.removeTable(t)
	case itemTruncate:
		d := t.data.Load()
		t.data.Store(newTableData(t, d.columns, d.defs(), recovered))
	case itemReshape:
		var def TableDef
		if rd.json(&def); rd.err == nil {
			t.data.Store(newTableData(t, def.Columns, def.Indexes, recovered))
		}
	case itemCreateIndex, itemDropIndex:
		r.applyIndex(kind, t, rd)
	default:
		rd.err = fmt.Errorf("unknown item %d", kind)
	}
}

func (r *recovery) applyIndex(kind itemKind, t *Table, rd *redoReader) {
	d := t.data.Load()
	if kind == itemDropIndex {
		id := uint32(rd.uvarint())
		d.indexes = slices.DeleteFunc(d.indexes, func(ix *index) bool { return ix.def.ID == id })
		return
	}
	var def IndexDef
	if rd.json(&def); rd.err != nil {
		return
	}
	at := len(d.indexes)
	if def.Clustered {
		at = 0
	}
	d.indexes = slices.Insert(d.indexes, at, newIndex(d, def, recovered))
}

// index fills the indexes, at the end and all at once: that is quicker than
// following each change, and uniqueness holds again only then.
func (r *recovery) index() error {
	for _, t := range r.s.tables {
		d := t.data.Load()
		t.live.Store(int64(d.rows.Len()))
		for _, ix := range d.indexes {
			if ix.unbound {
				continue
			}
			ix.fill()
			if err := r.ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *tableData) defs() []IndexDef {
	defs := make([]IndexDef, len(d.indexes))
	for i, ix := range d.indexes {
		defs[i] = ix.def
	}
	return defs
}

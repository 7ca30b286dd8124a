package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"loopbroker/engine/types"
)

// openDir locks the directory, brings its contents back and starts the log.
func (s *Store) openDir(ctx context.Context) (err error) {
	fs, dir := s.opts.FS, s.opts.Dir
	if err := fs.MkdirAll(dir); err != nil {
		return fmt.Errorf("storage: directory: %w", err)
	}
	lock, err := fs.Lock(filepath.Join(dir, "lock"))
	if errors.Is(err, ErrLocked) {
		return fmt.Errorf("%w: %s: stop the other process, or choose another directory", err, dir)
	}
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
	seg, ctl, err := nextSegment(fs, dir, r.lsn+1, nil)
	if err != nil {
		return fmt.Errorf("storage: new log segment: %w", err)
	}
	s.lockFile = lock
	s.lastLSN = r.lsn
	s.log = newLog(s, seg, ctl, r.lsn+1)
	s.log.bytes.Store(r.replayed.Bytes)
	s.replayed = r.replayed
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
	expect   expectation
	lsn      uint64 // of the newest record that is in the tables
	replayed Replay
}

// Replay is what recovery took from the log, behind the checkpoint. The time of
// recovery is that of loading the checkpoint, and of this.
type Replay struct {
	Records int64 // transactions
	Bytes   int64
}

// Replayed returns what was replayed when the store was opened.
func (s *Store) Replayed() Replay { return s.replayed }

func (r *recovery) run() error {
	defer relaxGC()()
	names, err := r.fs.ReadDir(r.dir)
	if err != nil {
		return fmt.Errorf("storage: directory: %w", err)
	}
	if r.expect, err = r.readControl(names); err != nil {
		return err
	}
	var newest uint64
	found := false
	for _, name := range names {
		if lsn, ok := parseName(name, "checkpoint-", ".ckp"); ok && (!found || lsn > newest) {
			newest, found = lsn, true
		}
	}
	if found {
		if err := r.loadCheckpoint(checkpointName(newest)); err != nil {
			return err
		}
	}
	if err := r.replay(segmentsIn(names)); err != nil {
		return err
	}
	if err := r.index(); err != nil {
		return err
	}
	return r.removeUnfinished(names)
}

// replay applies the log.
func (r *recovery) replay(segments []uint64) error {
	if r.expect.known && !slices.Contains(segments, r.expect.newest) {
		return r.corrupt(segmentName(r.expect.newest), 0, "the newest segment of the log is missing")
	}
	for i, first := range segments {
		next := uint64(0)
		if i+1 < len(segments) {
			next = segments[i+1]
		}
		if err := r.replaySegment(segmentName(first), first, next); err != nil {
			return err
		}
	}
	return nil
}

// removeUnfinished removes what a crash has left of files that were being made.
func (r *recovery) removeUnfinished(names []string) error {
	for _, name := range names {
		if strings.HasSuffix(name, tempSuffix) {
			if err := r.fs.Remove(filepath.Join(r.dir, name)); err != nil {
				return fmt.Errorf("storage: unfinished file: %w", err)
			}
		}
	}
	return nil
}

// relaxed counts the recoveries that run; the collector runs less often while
// there are any: nearly all that they allocate stays.
var relaxed struct {
	sync.Mutex
	running int
	percent int
}

const loadingGCPercent = 400

// relaxGC makes the garbage collector run less often until the returned function
// is called.
func relaxGC() (restore func()) {
	relaxed.Lock()
	defer relaxed.Unlock()
	if relaxed.running++; relaxed.running == 1 {
		relaxed.percent = debug.SetGCPercent(loadingGCPercent)
		if relaxed.percent < 0 || relaxed.percent > loadingGCPercent {
			debug.SetGCPercent(relaxed.percent) // it was less often before
		}
	}
	return func() {
		relaxed.Lock()
		defer relaxed.Unlock()
		if relaxed.running--; relaxed.running == 0 {
			debug.SetGCPercent(relaxed.percent)
		}
	}
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

func (r *recovery) checkHeader(name string, b []byte, magic string, size int) error {
	return checkHeader(filepath.Join(r.dir, name), b, magic, size)
}

func (r *recovery) corrupt(name string, at int, reason string) error {
	return &CorruptError{File: filepath.Join(r.dir, name), Offset: int64(at), Reason: reason}
}

func (r *recovery) loadCheckpoint(name string) error {
	file, header, err := openBlocks(r.fs, filepath.Join(r.dir, name), checkpointMagic, checkpointHeader)
	if err != nil {
		return err
	}
	r.lsn = binary.LittleEndian.Uint64(header[16:])
	r.s.lastTx.Store(binary.LittleEndian.Uint64(header[24:]))
	err = file.load(r.ctx, nil, r.take)
	return errors.Join(err, file.close())
}

// take puts the contents of a block of a checkpoint into the tables.
func (r *recovery) take(l loaded) error {
	switch l.kind {
	case blockTable:
		if err := r.create(l.def); err != nil {
			return err
		}
		r.s.tables[l.def.ID].nextRow.Store(l.next)
	case blockRows:
		t := r.s.tables[l.id]
		if t == nil {
			return errors.New("rows of an unknown table")
		}
		return t.take(l.recs, l.width)
	case blockEnd:
	default:
		return errors.New("unknown block")
	}
	return nil
}

// take puts rows of a checkpoint or a backup into the table.
func (t *Table) take(recs []*record, width int) error {
	d := t.data.Load()
	if len(recs) > 0 && width != d.columns {
		return fmt.Errorf("row of %d values for table %d of %d columns", width, t.id, d.columns)
	}
	for _, rec := range recs {
		d.rows.Load(rec.id, rec) // ascending: quicker than Set
		if uint64(rec.id) > t.nextRow.Load() {
			t.nextRow.Store(uint64(rec.id))
		}
	}
	return nil
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

func (r *recovery) put(t *Table, id RowID, row types.Row) error {
	d := t.data.Load()
	if len(row) != d.columns {
		return fmt.Errorf("row of %d values for table %d of %d columns", len(row), t.id, d.columns)
	}
	rec := newRecord(id, row, recovered)
	if uint64(id) > t.nextRow.Load() {
		t.nextRow.Store(uint64(id))
		d.rows.Load(id, rec)
		return nil
	}
	d.rows.Set(id, rec)
	return nil
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
		return err
	}
	if binary.LittleEndian.Uint64(b[16:]) != first {
		return r.corrupt(name, 16, "the name does not fit the contents")
	}
	if first > r.lsn+1 {
		return r.missing(name, first)
	}
	end, lsn, err := r.replayFrames(name, b, first)
	if err != nil {
		return err
	}
	switch {
	case next != 0 && lsn != next:
		return r.corrupt(name, end, fmt.Sprintf("records %d to %d are missing", lsn, next-1))
	case next != 0:
		return nil
	case laterFrame(b, end, lsn, lsn):
		return r.corrupt(name, end, "damaged record: later ones are intact")
	case lsn <= r.expect.durable:
		return r.corrupt(name, end, fmt.Sprintf("records %d to %d are missing", lsn, r.expect.durable))
	}
	return r.cut(name, end, len(b))
}

// replayFrames applies the intact frames of a segment. It returns where they end
// and the first LSN that is not there.
func (r *recovery) replayFrames(name string, b []byte, first uint64) (end int, lsn uint64, err error) {
	end, lsn = segmentHeader, first
	from := r.lsn // of the checkpoint, or the end of the segment before
	produce := func(emit func(frames) error) error {
		var batch frames
		for {
			f, ok := parseFrame(b[end:])
			if !ok || f.first != lsn {
				break
			}
			lsn += uint64(f.count)
			if lsn-1 > from { // else it is in the checkpoint
				batch.list = append(batch.list, f)
				batch.at = append(batch.at, end)
				batch.size += f.size
			}
			end += f.size
			if batch.size >= blockBytes {
				if err := emit(batch); err != nil {
					return err
				}
				batch = frames{}
			}
		}
		if batch.list == nil {
			return nil
		}
		return emit(batch)
	}
	work := func(fs frames) ([]redone, error) { return r.decodeFrames(name, fs, from) }
	err = inOrder(r.ctx, produce, work, func(list []redone) error {
		for i := range list {
			if err := r.apply(&list[i]); err != nil {
				return r.corrupt(name, list[i].at, fmt.Sprintf("record %d: %v", list[i].lsn, err))
			}
		}
		return nil
	})
	return end, lsn, err
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

// frames are some frames of a segment that follow each other.
type frames struct {
	list []frame
	at   []int
	size int
}

// redone is one transaction of the log, taken apart.
type redone struct {
	at    int // of its frame
	lsn   uint64
	tx    uint64
	size  int
	items []redoItem
}

// redoItem is one change.
type redoItem struct {
	kind  itemKind
	table ObjectID
	id    RowID     // put, delete
	row   types.Row // put
	index uint32    // drop index
	def   TableDef  // create table, reshape
	ix    IndexDef  // create index
}

// decodeFrames takes the records of frames apart that are newer than from.
func (r *recovery) decodeFrames(name string, fs frames, from uint64) ([]redone, error) {
	var list []redone
	for i := range fs.list {
		f := &fs.list[i]
		rd := &redoReader{b: f.payload}
		for n := range uint64(f.count) {
			rec := rd.framed()
			lsn := f.first + n
			if rd.err != nil {
				return nil, r.corrupt(name, fs.at[i], rd.err.Error())
			}
			if lsn <= from {
				continue
			}
			done, err := decodeRecord(rec)
			if err != nil {
				return nil, r.corrupt(name, fs.at[i], fmt.Sprintf("record %d: %v", lsn, err))
			}
			done.at, done.lsn, done.size = fs.at[i], lsn, len(rec)
			list = append(list, done)
		}
		if rd.more() {
			return nil, r.corrupt(name, fs.at[i], "frame is longer than its records")
		}
	}
	return list, nil
}

// framed returns the next record of a frame.
func (r *redoReader) framed() []byte {
	size := r.take(4)
	if r.err != nil {
		return nil
	}
	return r.take(uint64(binary.LittleEndian.Uint32(size)))
}

func decodeRecord(rec []byte) (d redone, err error) {
	rd := &redoReader{b: rec}
	d.tx = rd.uvarint()
	for rd.more() {
		it := redoItem{kind: itemKind(rd.byte()), table: ObjectID(rd.uvarint())}
		switch it.kind {
		case itemPut:
			it.id = RowID(rd.uvarint())
			it.row = rd.row()
		case itemDelete:
			it.id = RowID(rd.uvarint())
		case itemCreateTable, itemReshape:
			rd.json(&it.def)
		case itemCreateIndex:
			rd.json(&it.ix)
		case itemDropIndex:
			it.index = uint32(rd.uvarint())
		case itemDropTable, itemTruncate:
		default:
			return d, fmt.Errorf("unknown item %d", it.kind)
		}
		d.items = append(d.items, it)
	}
	return d, rd.err
}

// apply redoes one transaction.
func (r *recovery) apply(d *redone) error {
	if d.tx > r.s.lastTx.Load() {
		r.s.lastTx.Store(d.tx)
	}
	for i := range d.items {
		it := &d.items[i]
		t := r.s.tables[it.table]
		if t == nil && it.kind != itemCreateTable {
			return fmt.Errorf("unknown table %d", it.table)
		}
		if err := r.applyItem(it, t); err != nil {
			return err
		}
	}
	r.lsn = d.lsn
	r.replayed.Records++
	r.replayed.Bytes += int64(d.size)
	return nil
}

func (r *recovery) applyItem(it *redoItem, t *Table) error {
	switch it.kind {
	case itemPut:
		return r.put(t, it.id, it.row)
	case itemDelete:
		if _, ok := t.data.Load().rows.Delete(it.id); !ok {
			return fmt.Errorf("deletion of an unknown row of table %d", t.id)
		}
	case itemCreateTable:
		return r.create(it.def)
	case itemDropTable:
		r.s.removeTable(t)
	case itemTruncate:
		d := t.data.Load()
		t.data.Store(newTableData(t, d.columns, d.defs(), recovered))
	case itemReshape:
		t.data.Store(newTableData(t, it.def.Columns, it.def.Indexes, recovered))
	case itemCreateIndex, itemDropIndex:
		r.applyIndex(it, t)
	}
	return nil
}

func (r *recovery) applyIndex(it *redoItem, t *Table) {
	d := t.data.Load()
	if it.kind == itemDropIndex {
		d.indexes = slices.DeleteFunc(d.indexes, func(ix *index) bool { return ix.def.ID == it.index })
		return
	}
	at := len(d.indexes)
	if it.ix.Clustered {
		at = 0
	}
	d.indexes = slices.Insert(d.indexes, at, newIndex(d, it.ix, recovered))
}

// index fills the indexes, at the end and all at once: that is quicker than
// following each change, and uniqueness holds again only then.
func (r *recovery) index() error {
	tables := make([]*Table, 0, len(r.s.tables))
	for _, t := range r.s.tables {
		tables = append(tables, t)
	}
	return r.fill(tables)
}

// fill fills the indexes of tables, several at a time.
func (r *recovery) fill(tables []*Table) error {
	produce := func(emit func(*index) error) error {
		for _, t := range tables {
			d := t.data.Load()
			t.live.Store(int64(d.rows.Len()))
			for _, ix := range d.indexes {
				if ix.unbound {
					continue
				}
				if err := emit(ix); err != nil {
					return err
				}
			}
		}
		return nil
	}
	work := func(ix *index) (*index, error) { ix.fill(); return ix, nil }
	return inOrder(r.ctx, produce, work, func(*index) error { return nil })
}

func (d *tableData) defs() []IndexDef {
	defs := make([]IndexDef, len(d.indexes))
	for i, ix := range d.indexes {
		defs[i] = ix.def
	}
	return defs
}

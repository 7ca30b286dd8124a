package storage

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"
)

// A checkpoint is a file with all tables as of one LSN, named for it.
//
//	header  magic 8, format u32, crc u32 (of the rest), LSN u64, newest tx u64
//	block   length u32, crc u32, then a kind byte and the contents:
//	        'T' a table: next row id (uvarint), TableDef (JSON)
//	        'R' rows of a table: table id (uvarint), then row id (uvarint) and row, repeated
//	        'E' the end: numbers of tables and rows (uvarint)
//
// It is written aside, synced and renamed, so one that is there is complete.
const (
	checkpointMagic  = "LBROKCKP"
	checkpointHeader = 32
	checkpointBlock  = 256 << 10
	blockHeader      = 8

	blockTable = 'T'
	blockRows  = 'R'
	blockEnd   = 'E'
)

// capture is the committed state of the schema at one LSN, with a view of the
// rows.
type capture struct {
	view   *View
	lsn    uint64
	lastTx uint64
	tables []capturedTable
}

type capturedTable struct {
	def  TableDef
	next uint64
	data *tableData
}

// capture takes the state between two commits: commits become visible under
// commitMu in the order of their LSNs, so the view sees exactly the records up
// to lastLSN.
func (s *Store) capture() *capture {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	c := &capture{view: s.views.take(&s.lastCommit), lsn: s.lastLSN, lastTx: s.lastTx.Load()}
	for _, t := range s.Tables() {
		if t.temporary || t.created.csn.Load() == 0 {
			continue
		}
		if w := t.dropped.Load(); w != nil && w.csn.Load() != 0 {
			continue
		}
		d := t.data.Load()
		for d.by.csn.Load() == 0 {
			d = d.prev
		}
		def := TableDef{ID: t.id, Space: t.space, Columns: d.columns, Indexes: d.committedIndexes()}
		c.tables = append(c.tables, capturedTable{def: def, next: t.nextRow.Load(), data: d})
	}
	return c
}

// committedIndexes returns the definitions without what open transactions did.
func (d *tableData) committedIndexes() []IndexDef {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var defs []IndexDef
	for _, ix := range d.indexes {
		if ix.created.csn.Load() != 0 {
			defs = append(defs, ix.def)
		}
	}
	for _, ix := range d.retired {
		if ix.created.csn.Load() != 0 && ix.dropped.Load().csn.Load() == 0 {
			defs = append(defs, ix.def)
		}
	}
	slices.SortStableFunc(defs, func(a, b IndexDef) int {
		switch {
		case a.Clustered && !b.Clustered:
			return -1
		case b.Clustered && !a.Clustered:
			return 1
		}
		return 0
	})
	return defs
}

// Checkpoint writes all tables to a new checkpoint file and removes the log
// that it replaces. Commits go on meanwhile.
func (s *Store) Checkpoint(ctx context.Context) error {
	if s.log == nil {
		return nil
	}
	s.checkpointMu.Lock()
	defer s.checkpointMu.Unlock()
	before := s.log.bytes.Load()
	if err := s.log.rotate(); err != nil {
		return err
	}
	c := s.capture()
	defer c.view.Close()
	name := checkpointName(c.lsn)
	if err := s.writeCheckpoint(ctx, c, name); err != nil {
		return fmt.Errorf("storage: checkpoint %s: %w", name, err)
	}
	s.log.bytes.Add(-before)
	return s.removeBefore(c.lsn)
}

func (s *Store) writeCheckpoint(ctx context.Context, c *capture, name string) error {
	fs, dir := s.opts.FS, s.opts.Dir
	path := filepath.Join(dir, name)
	f, err := fs.Create(path + ".tmp")
	if err != nil {
		return err
	}
	w := &checkpointWriter{ctx: ctx, file: f}
	w.header(c)
	for i := range c.tables {
		w.table(&c.tables[i], c.view)
	}
	w.block(blockEnd)
	w.buf = binary.AppendUvarint(w.buf, uint64(len(c.tables)))
	w.buf = binary.AppendUvarint(w.buf, w.rows)
	w.flush()
	if w.err == nil {
		w.err = f.Sync()
	}
	err = errors.Join(w.err, f.Close())
	if err == nil {
		err = fs.Rename(path+".tmp", path)
	}
	if err == nil {
		return fs.SyncDir(dir)
	}
	_ = fs.Remove(path + ".tmp") // recovery removes it too
	return err
}

// removeBefore removes the files that the checkpoint at lsn replaces.
func (s *Store) removeBefore(lsn uint64) error {
	fs, dir := s.opts.FS, s.opts.Dir
	names, err := fs.ReadDir(dir)
	if err != nil {
		return err
	}
	segments := segmentsIn(names)
	var errs []error
	for i, first := range segments {
		if i+1 < len(segments) && segments[i+1] <= lsn+1 {
			errs = append(errs, fs.Remove(filepath.Join(dir, segmentName(first))))
		}
	}
	for _, name := range names {
		if at, ok := parseName(name, "checkpoint-", ".ckp"); ok && at < lsn {
			errs = append(errs, fs.Remove(filepath.Join(dir, name)))
		}
	}
	return errors.Join(append(errs, fs.SyncDir(dir))...)
}

// segmentsIn returns the first LSNs of the segments among names, ascending.
func segmentsIn(names []string) []uint64 {
	var firsts []uint64
	for _, name := range names {
		if first, ok := parseName(name, "log-", ".seg"); ok {
			firsts = append(firsts, first)
		}
	}
	slices.Sort(firsts)
	return firsts
}

// checkpointWriter writes blocks one after the other. The first error stays.
type checkpointWriter struct {
	ctx  context.Context
	file File
	at   int64
	buf  []byte // the block being made, its header included
	rows uint64
	err  error
}

func (w *checkpointWriter) header(c *capture) {
	h := make([]byte, checkpointHeader)
	copy(h, checkpointMagic)
	binary.LittleEndian.PutUint32(h[8:], formatVersion)
	binary.LittleEndian.PutUint64(h[16:], c.lsn)
	binary.LittleEndian.PutUint64(h[24:], c.lastTx)
	binary.LittleEndian.PutUint32(h[12:], crc32.Checksum(h[16:], castagnoli))
	w.put(h)
}

func (w *checkpointWriter) put(b []byte) {
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err == nil {
		_, w.err = w.file.WriteAt(b, w.at)
		w.at += int64(len(b))
	}
}

// block begins a block, after writing the one before.
func (w *checkpointWriter) block(kind byte) {
	w.flush()
	w.buf = append(w.buf[:0], make([]byte, blockHeader)...)
	w.buf = append(w.buf, kind)
}

func (w *checkpointWriter) flush() {
	if len(w.buf) == 0 {
		return
	}
	binary.LittleEndian.PutUint32(w.buf, uint32(len(w.buf)-blockHeader))
	binary.LittleEndian.PutUint32(w.buf[4:], crc32.Checksum(w.buf[blockHeader:], castagnoli))
	w.put(w.buf)
	w.buf = w.buf[:0]
}

func (w *checkpointWriter) table(t *capturedTable, v *View) {
	text, err := json.Marshal(t.def)
	if err != nil {
		w.err = errors.Join(w.err, err)
		return
	}
	w.block(blockTable)
	w.buf = binary.AppendUvarint(w.buf, t.next)
	w.buf = append(w.buf, text...)
	w.beginRows(t)
	for from := RowID(0); w.err == nil; {
		recs := t.data.recordsAfter(from)
		if len(recs) == 0 {
			break
		}
		for _, rec := range recs {
			row := rec.visible(v.csn, nil)
			if row == nil {
				continue
			}
			w.buf = binary.AppendUvarint(w.buf, uint64(rec.id))
			w.buf = appendRow(w.buf, row)
			w.rows++
			if len(w.buf) >= checkpointBlock {
				w.beginRows(t)
			}
		}
		from = recs[len(recs)-1].id
	}
}

func (w *checkpointWriter) beginRows(t *capturedTable) {
	w.block(blockRows)
	w.buf = binary.AppendUvarint(w.buf, uint64(t.def.ID))
}

// recordsAfter returns some of the records after id, in order.
func (d *tableData) recordsAfter(id RowID) []*record {
	recs := make([]*record, 0, 512)
	d.mu.RLock()
	defer d.mu.RUnlock()
	d.rows.Ascend(id+1, func(_ RowID, rec *record) bool {
		recs = append(recs, rec)
		return len(recs) < cap(recs)
	})
	return recs
}

// checkpoints takes a checkpoint whenever the log has grown enough.
func (s *Store) checkpoints(ctx context.Context) {
	defer s.background.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		select {
		case <-s.closing:
			return
		case <-s.log.full:
			err := s.Checkpoint(ctx)
			s.checkpointErr.Store(&err)
		}
	}
}

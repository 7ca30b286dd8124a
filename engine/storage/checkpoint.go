package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"
	"time"
)

// A checkpoint is a file with all tables as of one LSN, named for it.
//
//	header  magic 8, format u32, crc u32 (of the rest), LSN u64, newest tx u64
//	blocks  see block.go: tables, each before its rows, and the end
//
// It is written aside, synced and renamed, so one that is there is complete.
const (
	checkpointMagic  = "LBROKCKP"
	checkpointHeader = 32
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
	return s.checkpoint(ctx)
}

// checkpoint is Checkpoint for who has checkpointMu.
func (s *Store) checkpoint(ctx context.Context) error {
	before := s.log.bytes.Load()
	if err := s.log.rotate(); err != nil {
		return err
	}
	c := s.capture()
	defer c.view.Close()
	name := checkpointName(c.lsn)
	path := filepath.Join(s.opts.Dir, name)
	err := s.writeBlocks(path, func(f File) error {
		w := &blockWriter{ctx: ctx, file: f}
		w.put(checkpointHead(checkpointMagic, c))
		for i := range c.tables {
			w.table(&c.tables[i], c.view)
		}
		w.end()
		return w.err
	})
	if err != nil {
		return fmt.Errorf("storage: checkpoint %s: %w", name, err)
	}
	s.log.bytes.Add(-before)
	return s.removeBefore(c.lsn)
}

// writeBlocks makes a file aside, with what fill writes and syncs, and gives it
// its name, durably.
func (s *Store) writeBlocks(path string, fill func(File) error) error {
	fs := s.opts.FS
	f, err := fs.Create(path + tempSuffix)
	if err != nil {
		return err
	}
	err = errors.Join(fill(f), f.Close())
	if err == nil {
		err = fs.Rename(path+tempSuffix, path)
	}
	if err == nil {
		return fs.SyncDir(filepath.Dir(path))
	}
	_ = fs.Remove(path + tempSuffix) // recovery removes it too
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

// checkpointHead is the header of a checkpoint or a backup.
func checkpointHead(magic string, c *capture) []byte {
	h := make([]byte, checkpointHeader)
	copy(h, magic)
	binary.LittleEndian.PutUint32(h[8:], formatVersion)
	binary.LittleEndian.PutUint64(h[16:], c.lsn)
	binary.LittleEndian.PutUint64(h[24:], c.lastTx)
	binary.LittleEndian.PutUint32(h[12:], crc32.Checksum(h[16:], castagnoli))
	return h
}

// checkpointPause is the time between a checkpoint that failed and the next.
const checkpointPause = time.Second

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
			if err == nil {
				continue
			}
			select { // it asks again with each commit
			case <-s.closing:
				return
			case <-time.After(checkpointPause):
			}
		}
	}
}

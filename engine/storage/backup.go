package storage

import (
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"loopbroker/engine/types"
)

// A backup is a file with some tables as of one LSN.
//
//	header  as a checkpoint's, with another magic
//	blocks  see block.go: what the maker wants to know again, tables, each before
//	        its rows, and the end
const backupMagic = "LBROKBAK"

// BackupOptions say what goes into a backup.
type BackupOptions struct {
	// Table tells which tables are in it.
	Table func(TableDef) bool
	// Row tells which rows of such a table are in it; nil stands for all.
	Row func(ObjectID, types.Row) bool
	// Meta returns what the maker wants to know again. It is called when the
	// state that is saved has been fixed: what it tells is not older.
	Meta func() ([]byte, error)
	// Compress makes the file smaller.
	Compress bool
	// Progress is told how many of all rows are done, from time to time. The
	// total is an estimate where Row leaves some out.
	Progress func(rows, total int64)
}

// BackupInfo says what a backup holds.
type BackupInfo struct {
	Tables, Rows int64
	Bytes        int64 // of the file
}

// Backup writes a consistent state of some tables to a file, while transactions
// go on. The file is written aside, synced and renamed: what is there under path
// is a whole backup, or what was there before.
func (s *Store) Backup(ctx context.Context, path string, o BackupOptions) (BackupInfo, error) {
	if err := s.Flush(ctx); err != nil {
		return BackupInfo{}, err
	}
	c := s.capture()
	defer c.view.Close()
	var meta []byte
	if o.Meta != nil {
		var err error
		if meta, err = o.Meta(); err != nil {
			return BackupInfo{}, err
		}
	}
	var tables []capturedTable
	total := int64(0)
	for _, t := range c.tables {
		if o.Table(t.def) {
			tables = append(tables, t)
			total += t.data.table.Rows()
		}
	}
	w := &blockWriter{ctx: ctx, keep: o.Row}
	if o.Compress {
		w.packer, _ = flate.NewWriter(nil, flate.BestSpeed) // the level is valid
	}
	if o.Progress != nil {
		w.progress = func(rows uint64) { o.Progress(int64(rows), total) }
	}
	err := s.writeBlocks(path, func(f File) error {
		w.file = f
		w.put(checkpointHead(backupMagic, c))
		w.begin(blockMeta)
		w.buf = append(w.buf, meta...)
		for i := range tables {
			w.table(&tables[i], c.view)
		}
		w.end()
		return w.err
	})
	if err != nil {
		return BackupInfo{}, fmt.Errorf("storage: backup %s: %w", path, err)
	}
	return BackupInfo{Tables: int64(w.tables), Rows: int64(w.rows), Bytes: w.at}, nil
}

// IsBackup reports whether a file begins as a backup does. The error is that of
// opening it.
func (s *Store) IsBackup(path string) (bool, error) {
	r, _, err := openBlocks(s.opts.FS, path, backupMagic, checkpointHeader)
	switch {
	case errors.Is(err, ErrCorrupt):
		return false, nil
	case errors.Is(err, ErrNewerFormat):
		return true, nil
	case err != nil:
		return false, err
	}
	return true, r.close()
}

// BackupDir makes the directory for backups that name no other, inside that of
// the store, and returns it; empty without a directory.
func (s *Store) BackupDir() (string, error) {
	if s.opts.Dir == "" {
		return "", nil
	}
	dir := filepath.Join(s.opts.Dir, "backup")
	return dir, s.opts.FS.MkdirAll(dir)
}

// Flush returns when everything that has been committed is on disk.
func (s *Store) Flush(context.Context) error {
	if s.log == nil {
		return nil
	}
	return s.log.flush()
}

// Backup is a backup file that has been verified from its beginning to its end.
type Backup struct {
	// Meta is what BackupOptions.Meta returned.
	Meta []byte
	// Tables are the definitions of the tables.
	Tables []TableDef

	fs   FS
	path string
}

// OpenBackup reads a backup file wholly and checks it. A damaged file is
// ErrCorrupt with its place, one of a newer version ErrNewerFormat. A nil fs
// stands for the operating system's.
func OpenBackup(ctx context.Context, fs FS, path string) (*Backup, error) {
	if fs == nil {
		fs = diskFS{}
	}
	b := &Backup{fs: fs, path: path}
	err := b.load(ctx, func(ObjectID) bool { return false }, func(l loaded) error {
		switch l.kind {
		case blockMeta:
			b.Meta = l.meta
		case blockTable:
			b.Tables = append(b.Tables, l.def)
		case blockRows:
			for i := range b.Tables {
				if b.Tables[i].ID == l.id {
					if len(l.recs) > 0 && l.width != b.Tables[i].Columns {
						return errRowWidth
					}
					return nil
				}
			}
			return errors.New("rows of an unknown table")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (b *Backup) load(ctx context.Context, want func(ObjectID) bool, use func(loaded) error) error {
	r, _, err := openBlocks(b.fs, b.path, backupMagic, checkpointHeader)
	if err != nil {
		return err
	}
	return errors.Join(r.load(ctx, want, use), r.close())
}

// Path returns the name of the file.
func (b *Backup) Path() string { return b.path }

// Rows calls f for the rows of one table, in the order of their ids.
func (b *Backup) Rows(ctx context.Context, id ObjectID, f func(types.Row) error) error {
	return b.load(ctx, func(other ObjectID) bool { return other == id }, func(l loaded) error {
		for _, rec := range l.recs {
			if rec == nil {
				continue
			}
			if err := f(rec.head.Load().row); err != nil {
				return err
			}
		}
		return nil
	})
}

// Restored is a backup to restore. Table gives each of its tables the identity
// that it shall have; false leaves the table out.
type Restored struct {
	Backup *Backup
	Table  func(TableDef) (id ObjectID, space uint32, ok bool)
}

// Restore brings the tables of backups back and commits tx with them, all at
// once: with a checkpoint, not through the log. A crash leaves either all of it
// or nothing. It is for the start, before anybody else uses the store. After an
// error tx has been rolled back and the store is to be closed.
func (s *Store) Restore(ctx context.Context, tx *Tx, parts []Restored) error {
	s.checkpointMu.Lock()
	defer s.checkpointMu.Unlock()
	defer relaxGC()()
	var made []*Table
	undo := func(err error) error {
		for _, t := range made {
			s.removeTable(t)
		}
		tx.Rollback()
		return err
	}
	for _, p := range parts {
		for _, def := range p.Backup.Tables {
			if id, _, ok := p.Table(def); ok && s.Table(id) != nil {
				return undo(fmt.Errorf("storage: table %d of %s: %w", id, p.Backup.path, ErrTableExists))
			}
		}
		tables, err := s.restore(ctx, p)
		made = append(made, tables...)
		if err != nil {
			return undo(err)
		}
	}
	if err := (&recovery{ctx: ctx}).fill(made); err != nil {
		return undo(err)
	}
	if s.log != nil && s.newestLSN() == 0 {
		// A checkpoint is never of a moment before the first record: what comes
		// after it must show that it is gone.
		if err := s.log.commit(&writer{id: tx.w.id}, appendID(tx.w.id), true); err != nil {
			return undo(err)
		}
	}
	if len(tx.ops) > 0 {
		s.publish(tx.w, 0)
		for _, f := range tx.onCommit {
			f()
		}
		tx.settle()
	}
	tx.end()
	if s.log == nil {
		return nil
	}
	if err := s.checkpoint(ctx); err != nil {
		// What is in memory was never on disk, and must not get there.
		return s.log.refuse(err)
	}
	return nil
}

func (s *Store) newestLSN() uint64 {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	return s.lastLSN
}

// restore brings the tables of one backup back.
func (s *Store) restore(ctx context.Context, p Restored) (made []*Table, err error) {
	as := make(map[ObjectID]*Table)
	want := func(id ObjectID) bool { // the definitions come from the first reading
		for i := range p.Backup.Tables {
			if p.Backup.Tables[i].ID == id {
				_, _, ok := p.Table(p.Backup.Tables[i])
				return ok
			}
		}
		return false
	}
	err = p.Backup.load(ctx, want, func(l loaded) error {
		switch l.kind {
		case blockTable:
			def := l.def
			var ok bool
			if def.ID, def.Space, ok = p.Table(l.def); !ok {
				return nil
			}
			if err := def.Validate(); err != nil {
				return err
			}
			t := s.newTable(def, recovered)
			if !s.addTable(t) {
				return ErrTableExists
			}
			t.nextRow.Store(l.next)
			as[l.def.ID] = t
			made = append(made, t)
		case blockRows:
			if t := as[l.id]; t != nil {
				return t.take(l.recs, l.width)
			}
		}
		return nil
	})
	return made, err
}

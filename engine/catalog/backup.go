package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// BackupOptions say how a backup is made.
type BackupOptions struct {
	// Name and Description are kept in the file.
	Name, Description string
	// Compress makes the file smaller.
	Compress bool
	// Progress is told how many of all rows are done, from time to time.
	Progress func(rows, total int64)
}

// backupMeta is what a backup tells beside the tables.
type backupMeta struct {
	Server, Name, Description string
	Taken                     time.Time
	ID                        uint32
	Database                  database
	// RowVersion is the newest rowversion number.
	RowVersion uint64
	// Counters are the identity columns and sequences by object id. They are
	// exact, unlike those of the log, which run ahead.
	Counters map[int32]counterState
}

// Backup writes a database to a file: its tables and its part of the catalog, as
// of one moment.
func (s *Server) Backup(ctx context.Context, d *Database, path string, o BackupOptions) (storage.BackupInfo, error) {
	return s.Store.Backup(ctx, path, storage.BackupOptions{
		Table: func(def storage.TableDef) bool { return def.Space == d.ID || def.ID == systemTableID },
		Row: func(id storage.ObjectID, row types.Row) bool {
			return id != systemTableID || uint32(row[sysDatabase].Int()) == d.ID
		},
		Meta: func() ([]byte, error) {
			m := backupMeta{
				Server: s.Name, Name: o.Name, Description: o.Description, Taken: s.Now(), ID: d.ID,
				Database: storedDatabase(d, d.Options()), RowVersion: s.LastRowVersion(), Counters: map[int32]counterState{},
			}
			for _, ob := range d.Objects() {
				if c := counterOf(ob); c != nil {
					m.Counters[ob.Head().ID] = c.state()
				}
			}
			return json.Marshal(m)
		},
		Compress: o.Compress,
		Progress: o.Progress,
	})
}

// state is the counter's progress as it is.
func (c *Counter) state() counterState {
	if c == nil {
		return counterState{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return counterState{Last: c.last, Used: c.used}
}

// Restore is a backup to restore.
type Restore struct {
	// File is the backup.
	File string
	// Database is the name that the database gets; empty for the one that it
	// had.
	Database string
}

// ErrNotEmpty is the refusal to restore over a database that has objects.
var ErrNotEmpty = errors.New("the database is there and not empty")

// RestoreAll restores databases into a store that nobody uses yet. All files are
// verified wholly before anything is changed; then all databases are there at
// once, or after a crash none.
func RestoreAll(ctx context.Context, store *storage.Store, list []Restore, name string, now func() time.Time) error {
	var files []*restoring
	for _, r := range list {
		f, err := openRestore(ctx, r)
		if err != nil {
			return fmt.Errorf("restore %s: %w", r.File, err)
		}
		files = append(files, f)
	}
	s, err := Open(ctx, store, name, now)
	if err != nil {
		return err
	}
	owner := store.NewOwner(0)
	defer owner.Close()
	tx := store.Begin(owner)
	ch := s.Change(ctx, tx)
	parts := make([]storage.Restored, 0, len(files))
	for _, f := range files {
		if err := f.prepare(ch); err != nil {
			tx.Rollback()
			return fmt.Errorf("restore %s: %w", f.backup.Path(), err)
		}
		parts = append(parts, storage.Restored{Backup: f.backup, Table: f.table})
	}
	if err := store.Restore(ctx, tx, parts); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

// restoring is a backup on its way into the catalog.
type restoring struct {
	backup *storage.Backup
	meta   backupMeta
	name   string
	id     uint32
}

func openRestore(ctx context.Context, r Restore) (*restoring, error) {
	b, err := storage.OpenBackup(ctx, nil, r.File)
	if err != nil {
		return nil, err
	}
	f := &restoring{backup: b, name: r.Database}
	if err := json.Unmarshal(b.Meta, &f.meta); err != nil {
		return nil, fmt.Errorf("%s is not a backup of a database: %w", r.File, err)
	}
	if f.name == "" {
		f.name = f.meta.Database.Name
	}
	return f, nil
}

// table is the identity that a table of the backup gets.
func (f *restoring) table(def storage.TableDef) (storage.ObjectID, uint32, bool) {
	if def.Space != f.meta.ID {
		return 0, 0, false // the catalog's
	}
	return StoreID(f.id, int32(uint32(def.ID))), f.id, true
}

// prepare puts the database's part of the catalog in.
func (f *restoring) prepare(ch *Change) error {
	s := ch.s
	created := false
	d, ok := s.Database(f.name)
	switch {
	case !ok:
		var err error
		if d, err = ch.CreateDatabase(f.name, f.meta.Database.Collation, f.meta.Database.Owner); err != nil {
			return err
		}
		created = true
	case d.ID <= MSDBID:
		return fmt.Errorf("%s is a system database: name another one, FILE=NAME", d.Name)
	}
	if n := len(d.Objects()) + len(d.Types()); n > 0 {
		return fmt.Errorf("%w: %s has %d objects; drop it, restore under another name (FILE=NAME), or into an empty data directory", ErrNotEmpty, d.Name, n)
	}
	if !created {
		f.name = d.Name
	}
	f.id = d.ID
	if err := ch.removeAll(d.ID); err != nil {
		return err
	}
	found := false
	err := f.backup.Rows(ch.ctx, systemTableID, func(row types.Row) error {
		class := row[sysClass].Text()
		found = found || class == classDatabase
		if class == classCounter {
			return nil // they come from the meta, exactly
		}
		text, err := f.renamed(class, row[sysDefinition].Text())
		if err != nil {
			return fmt.Errorf("%s %d: %w", class, row[sysID].Int(), err)
		}
		return ch.store(f.id, class, int32(row[sysID].Int()), text)
	})
	if err != nil {
		return err
	}
	if !found {
		st := f.meta.Database
		st.Name = f.name
		if err := ch.store(f.id, classDatabase, 0, st); err != nil {
			return err
		}
	}
	for id, st := range f.meta.Counters {
		if err := ch.store(f.id, classCounter, id, st); err != nil {
			return err
		}
	}
	return ch.raiseRowVersion(f.meta.RowVersion)
}

// renamed returns a definition with the names and ids of the database that it
// comes to belong to.
func (f *restoring) renamed(class, text string) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, err
	}
	m, ok := doc.(map[string]any)
	if !ok {
		return json.RawMessage(text), nil // permissions name nothing but ids
	}
	switch class {
	case classDatabase:
		m["Name"] = f.name
	case classTable, classModule, classSequence, classSynonym:
		f.moveHeader(m)
	case classType:
		if t, ok := m["Table"].(map[string]any); ok {
			f.moveHeader(t)
		}
	}
	return json.Marshal(m)
}

func (f *restoring) moveHeader(m map[string]any) {
	if _, ok := m["DatabaseID"]; ok {
		m["Database"], m["DatabaseID"] = f.name, f.id
	}
}

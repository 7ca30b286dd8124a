package storage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Durability says when a commit returns.
type Durability uint8

const (
	// Full commits return when their record has reached the disk.
	Full Durability = iota
	// Relaxed commits return when their record was handed to the operating
	// system. A crash of the process loses nothing, a crash of the machine the
	// last moments.
	Relaxed
	// InMemory stores write nothing at all.
	InMemory
)

// Options are the settings of a store.
type Options struct {
	// Dir is the directory of the log and the checkpoints, made if it does not
	// exist. Without one the store is InMemory.
	Dir string
	// Durability is that of ordinary commits.
	Durability Durability
	// CheckpointBytes is how much log may grow before a checkpoint is taken;
	// 0 stands for 64 MiB.
	CheckpointBytes int64
	// SegmentBytes is the size of a log file; 0 stands for 16 MiB.
	SegmentBytes int64
	// SyncInterval is how soon the log is synced under Relaxed; 0 stands for
	// 100 ms.
	SyncInterval time.Duration
	// FS is the file system; nil stands for the operating system's. It is for
	// fault injection.
	FS FS
	// OldView is told, from a goroutine of the store, when the oldest view is
	// older than OldViewAge and more than OldViewVersions superseded versions are
	// kept: memory grows until it is closed. It is told at most once per
	// OldViewPeriod. The defaults are a minute, 100,000 and a minute.
	OldView         func(OldView)
	OldViewAge      time.Duration
	OldViewVersions int64
	OldViewPeriod   time.Duration
}

// WithDefaults returns o with its zero values filled in.
func (o Options) WithDefaults() Options {
	if o.Dir == "" {
		o.Durability = InMemory
	}
	if o.CheckpointBytes == 0 {
		o.CheckpointBytes = 64 << 20
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 16 << 20
	}
	if o.SyncInterval == 0 {
		o.SyncInterval = 100 * time.Millisecond
	}
	if o.FS == nil {
		o.FS = diskFS{}
	}
	if o.OldViewAge == 0 {
		o.OldViewAge = time.Minute
	}
	if o.OldViewVersions == 0 {
		o.OldViewVersions = 100_000
	}
	if o.OldViewPeriod == 0 {
		o.OldViewPeriod = time.Minute
	}
	return o
}

// Validate reports all that is wrong with o.
func (o Options) Validate() error {
	var errs []error
	if o.Durability > InMemory {
		errs = append(errs, fmt.Errorf("storage: Durability %d is unknown", o.Durability))
	}
	if o.CheckpointBytes < 0 {
		errs = append(errs, fmt.Errorf("storage: CheckpointBytes %d is negative", o.CheckpointBytes))
	}
	if o.SegmentBytes < 0 {
		errs = append(errs, fmt.Errorf("storage: SegmentBytes %d is negative", o.SegmentBytes))
	}
	if o.SyncInterval < 0 {
		errs = append(errs, fmt.Errorf("storage: SyncInterval %s is negative", o.SyncInterval))
	}
	if o.OldViewAge < 0 || o.OldViewVersions < 0 || o.OldViewPeriod < 0 {
		errs = append(errs, fmt.Errorf("storage: OldViewAge %s, OldViewVersions %d or OldViewPeriod %s is negative", o.OldViewAge, o.OldViewVersions, o.OldViewPeriod))
	}
	return errors.Join(errs...)
}

// Store is a set of tables with their locks, transactions and log. Its methods
// are safe for concurrent use.
type Store struct {
	opts  Options
	locks *lockManager
	views views

	// commitMu orders commits: a commit number is given and made visible under
	// it, for logged transactions in the order of the log.
	commitMu   sync.Mutex
	lastCommit atomic.Uint64
	lastLSN    uint64 // of the newest visible logged commit; guarded by commitMu
	lastTx     atomic.Uint64

	tablesMu sync.RWMutex
	tables   map[ObjectID]*Table

	ownersMu sync.Mutex
	owners   map[*Owner]struct{}

	lastOwner atomic.Uint32
	garbage   garbage
	kept      keptVersions
	watch     viewWatch // the sweeper's
	log       *log      // nil: in memory

	replayed Replay

	checkpointMu  sync.Mutex // one checkpoint at a time
	checkpointErr atomic.Pointer[error]
	closed        atomic.Bool
	closing       chan struct{}
	background    sync.WaitGroup
	lockFile      interface{ Close() error }
}

// Open opens a store. With a directory it takes its lock file, loads the newest
// checkpoint and replays the log behind it. A damaged or newer directory is
// refused.
func Open(ctx context.Context, opts Options) (*Store, error) {
	opts = opts.WithDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	s := &Store{
		opts:    opts,
		tables:  make(map[ObjectID]*Table),
		owners:  make(map[*Owner]struct{}),
		closing: make(chan struct{}),
	}
	s.locks = newLockManager(s.closing)
	s.views.init()
	s.lastCommit.Store(recovered.csn.Load())
	s.garbage.kick = make(chan struct{}, 1)
	if opts.Durability != InMemory {
		if err := s.openDir(ctx); err != nil {
			return nil, err
		}
	}
	s.background.Add(1)
	go s.sweep()
	return s, nil
}

// Close ends the store: requests that wait for locks get ErrClosed, open
// transactions can only be rolled back. A store with a directory takes a final
// checkpoint, for which ctx is the limit.
func (s *Store) Close(ctx context.Context) error {
	if !s.closed.CompareAndSwap(false, true) {
		return nil
	}
	close(s.closing)
	s.background.Wait()
	if s.log == nil {
		return nil
	}
	var err error
	if s.log.grown() {
		err = s.Checkpoint(ctx)
	}
	return errors.Join(err, s.log.close(), s.lockFile.Close())
}

// Table returns a table by its id, or nil. After recovery the catalog finds its
// tables so.
func (s *Store) Table(id ObjectID) *Table {
	s.tablesMu.RLock()
	defer s.tablesMu.RUnlock()
	return s.tables[id]
}

// Tables returns all tables, in no order.
func (s *Store) Tables() []*Table {
	s.tablesMu.RLock()
	defer s.tablesMu.RUnlock()
	all := make([]*Table, 0, len(s.tables))
	for _, t := range s.tables {
		all = append(all, t)
	}
	return all
}

func (s *Store) newTable(def TableDef, by *writer) *Table {
	t := &Table{
		store: s, id: def.ID, space: def.Space, created: by,
		temporary: def.Temporary || def.Private, private: def.Private,
	}
	t.data.Store(newTableData(t, def.Columns, def.Indexes, by))
	return t
}

func (s *Store) addTable(t *Table) bool {
	s.tablesMu.Lock()
	defer s.tablesMu.Unlock()
	if s.tables[t.id] != nil {
		return false
	}
	s.tables[t.id] = t
	return true
}

func (s *Store) removeTable(t *Table) {
	s.tablesMu.Lock()
	defer s.tablesMu.Unlock()
	if s.tables[t.id] == t {
		delete(s.tables, t.id)
	}
}

// commit decides the commit of tx: it is logged as far as there is something to
// log, and visible when commit returns.
func (s *Store) commit(tx *Tx, delayed bool) error {
	if s.log == nil || tx.logged == 0 {
		if tx.cost.Load() > 0 {
			s.publish(tx.w, 0)
		}
		return nil
	}
	rec, err := tx.redo()
	if err != nil {
		return err
	}
	return s.log.commit(tx.w, rec, !delayed && s.opts.Durability == Full)
}

// publish makes the versions of w visible.
func (s *Store) publish(w *writer, lsn uint64) {
	s.commitMu.Lock()
	n := s.lastCommit.Load() + 1
	w.csn.Store(n)
	s.lastCommit.Store(n)
	if lsn != 0 {
		s.lastLSN = lsn
	}
	s.commitMu.Unlock()
}

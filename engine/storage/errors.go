package storage

import (
	"errors"
	"fmt"

	"loopbroker/engine/types"
)

// Errors of the lock manager and of transactions. Each is found with
// errors.Is; the session turns them into SQL Server's numbers.
var (
	// ErrDeadlock goes to the victim of a deadlock (1205). Its transaction
	// still holds its locks: the caller rolls it back.
	ErrDeadlock = errors.New("storage: chosen as the victim of a deadlock")
	// ErrLockTimeout says that a lock was not granted in time (1222).
	ErrLockTimeout = errors.New("storage: lock request timed out")
	// ErrDuplicate says that a unique index has the key already (2601, 2627).
	// The error itself is a *DuplicateError.
	ErrDuplicate = errors.New("storage: duplicate key")
	// ErrSnapshotConflict says that a SNAPSHOT transaction wanted to change a
	// row that another transaction changed after its view was taken (3960).
	ErrSnapshotConflict = errors.New("storage: row changed since the snapshot was taken")
	// ErrSnapshotSchema says that a view is older than the last truncation or
	// change of shape of the table (3961).
	ErrSnapshotSchema = errors.New("storage: table was redefined since the snapshot was taken")
	// ErrNoRow says that the row to change does not exist (any more).
	ErrNoRow = errors.New("storage: no such row")
	// ErrDone says that the transaction has been committed or rolled back.
	ErrDone = errors.New("storage: transaction has ended")
	// ErrClosed says that the store is closed or closing.
	ErrClosed = errors.New("storage: store is closed")
	// ErrTableExists says that the object id is in use.
	ErrTableExists = errors.New("storage: table exists")
	// ErrDropped says that the table was dropped.
	ErrDropped = errors.New("storage: table was dropped")
	// ErrNoIndex says that a table has no such index.
	ErrNoIndex = errors.New("storage: no such index")
	// ErrFilterUnbound says that a filtered index came back by recovery and
	// its filter was not yet bound again by Table.RebindFilter.
	ErrFilterUnbound = errors.New("storage: filter of the index is not bound")
)

// Errors of the durable side.
var (
	// ErrLogFull says that the disk is full: the transaction was rolled back,
	// the store goes on (9002).
	ErrLogFull = errors.New("storage: no space left for the log")
	// ErrLogFailed says that the log cannot be trusted any more, because a
	// write or a sync failed: every later commit is refused until the
	// directory is opened again (9001).
	ErrLogFailed = errors.New("storage: log failed")
	// ErrLocked says that another process has the directory open.
	ErrLocked = errors.New("storage: directory is in use")
	// ErrNewerFormat says that the directory was written by a newer version.
	ErrNewerFormat = errors.New("storage: directory has a newer format")
	// ErrCorrupt says that a file is damaged. The error itself is a
	// *CorruptError.
	ErrCorrupt = errors.New("storage: damaged file")
)

// DuplicateError is the ErrDuplicate of one index.
type DuplicateError struct {
	Table ObjectID
	Index uint32    // IndexDef.ID
	Key   types.Row // the values of the key columns, in index order
}

// Error implements error.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%v in index %d of table %d", ErrDuplicate, e.Index, e.Table)
}

// Is reports whether target is ErrDuplicate.
func (e *DuplicateError) Is(target error) bool { return target == ErrDuplicate }

// CorruptError names the place of a damage.
type CorruptError struct {
	File   string
	Offset int64
	Reason string
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: %s at byte %d: %s", ErrCorrupt, e.File, e.Offset, e.Reason)
}

// Is reports whether target is ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

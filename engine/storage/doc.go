// Package storage keeps the rows: tables as B-trees in memory with row versions,
// a lock manager, transactions, and a durable log. It knows nothing of SQL text
// or of the catalog.
//
// # A row's life
//
//	        Insert                Update                    Delete
//	          |                     |                         |
//	          v                     v                         v
//	record: [v1 tx7]  commit  [v2 tx9]->[v1 csn3]  commit  [gone tx12]->[v2 csn5]
//	          |                                                 |
//	          | rollback                                        | commit, and no view sees v2
//	          v                                                 v
//	       no record                                    entries and record removed
//
// A table has one record per row, found by its RowID and by one entry (key,
// record) in each index. A record is a chain of versions, newest first, each
// with its writer; the writer gets a commit number (csn) when its commit is
// decided. Changes are made in place: a version is pushed on the chain, and a
// rollback pops it again. An update of a key adds an entry and leaves the old
// one until no view and no rollback can need it; who reads an entry checks that
// the version it sees has that key.
//
// An index keeps its entries in layers (layers.go): those of the newest versions,
// those of newest versions that are locked and in the way of others, those that an
// open transaction has taken away, and those for views alone. Each reader reads no
// further than it must. So a claim of the first free row of a queue costs the same
// whatever lies before that row.
//
// # Who sees what
//
//	NOLOCK              the newest version, committed or not
//	READ COMMITTED      the newest version, after waiting until it is committed
//	                    (or the reader's own)
//	REPEATABLE READ     the same, and keeps the S lock
//	SERIALIZABLE        the same, and locks the gap before each entry and the one
//	                    at the end of the range
//	a View              the newest version with a commit number up to the view's,
//	                    or the reader's own; no row locks
//
// The X lock of a row is held from before its first change to after its commit
// number is given, so a newest version without commit number is always somebody's
// who holds X. A reader that finds a commit number there may read at once.
//
// # Promises
//
//   - Commit returns after the record is on disk (Full), and only then are
//     the changes visible and the locks released. Commits become visible in the
//     order of the log; commit numbers are in the order of visibility.
//   - A lock request is served in order of arrival, conversions first. A waiter
//     is woken by its own channel. READPAST and NOWAIT never wait.
//   - A deadlock is found by the request that closed it, about 20 ms after it
//     began to wait; exactly one member gets ErrDeadlock: the one with the lowest
//     priority, then the one with the fewest changes.
//   - A cancelled context ends a lock wait at once; the transaction stays usable.
//   - A scan meets each row at most once unless somebody else moves it forward
//     in the index meanwhile. It sees the transaction's own earlier changes. Who
//     changes what he scans collects the rows first.
//   - Old versions, and the entries of deleted rows, are removed at the commit that
//     made them old, or soon after the last view that sees them is closed: of a row
//     there are at most as many old versions as there were open views. Options.OldView
//     is told when an old view makes them pile up. Locks and records that are gone
//     give their memory back.
//   - A statement that keeps 5,000 row locks by one reference to a table turns the
//     lock on the table into S or X, if that is free at once, and gives the row locks
//     back (escalation.go). It is the caller who says what a statement is.
//
// # Failure
//
//   - A full disk fails the commits of that moment with ErrLogFull; they are
//     rolled back and the store goes on.
//   - A failed write or sync of the log makes every later commit fail with
//     ErrLogFailed: what the disk holds is unknown until it is read again.
//   - A crash at any byte: recovery loads the newest checkpoint, replays the
//     records behind it and cuts a torn end. A damaged record before intact later
//     ones, an end of the log that is known to have been synced and is not there, a
//     missing file, or a wrong checksum in a checkpoint is ErrCorrupt with file and
//     place, and nothing is changed. See segment.go, control.go, checkpoint.go and
//     block.go for the formats.
//   - A second process gets ErrLocked, an older program ErrNewerFormat.
//
// # Order of latches and locks
//
// Transaction locks (lock.go) may be waited for only while no latch or mutex is
// held. Latches are taken in this order, each for a few operations:
//
//	Store.checkpointMu (never by a transaction)
//	Store.commitMu
//	Store.tablesMu, Store.ownersMu, Owner.mu
//	tableData.mu
//	record's flagThinning
//	a shard of the lock table; Store.garbage.mu; a shard of the views
//	log.mu
//
// There is no lock common to all transactions but commitMu, held for three
// stores, log.mu, held to append to the queue of the group commit, and, while a
// view is open, that of the garbage, held to append to it.
package storage

// Package history lets sessions run random transactions against the embedded
// engine, in T-SQL, and proves of what they saw that each transaction got what
// its isolation level promises.
//
// # A history
//
// Everything follows from a seed: the isolation levels, READ_COMMITTED_SNAPSHOT,
// the shape of the tables, and what each session does: transfers, reads and
// later writes of what was read, claims with READPAST, insertions, deletions,
// MERGE, changes of indexed columns, conflicts of unique keys, reads of points,
// ranges and aggregates by three indexes, hints, savepoints, rollbacks, lock
// time-outs, cancelled statements, and the retries of victims of deadlocks.
//
// Sessions run in one of two ways. Stepped, one statement is sent at a time, and
// the next one when each session has its answer or is seen in
// sys.dm_os_waiting_tasks to wait for a lock: the seed makes the schedule, and
// the same seed makes it again. Parallel, the sessions run freely, as many as
// there are; the seed makes what they do, and chance in which order.
//
// # How a version is known
//
// Each statement that writes gives its rows a value of their own (ver) and keeps
// the one before (prev); OUTPUT tells both. So a row that is read tells who
// wrote it, and the committed writes of a key are a chain.
//
// # What is proved
//
// A graph is made of moments: the end of each transaction, and the moments of
// reading that a level promises.
//
//	READ UNCOMMITTED              nothing but that the row was written
//	READ COMMITTED                a moment for each row, within the statement
//	  by versions, or TABLOCK     one moment for all rows, within the statement
//	REPEATABLE READ, UPDLOCK      as READ COMMITTED, and the rows stay as they are
//	                              to the end of the transaction
//	SERIALIZABLE                  and so does what was not there
//	SNAPSHOT                      one moment for all statements; and who writes a row
//	                              saw its newest version
//
// A row that was read lies between the commit of its version and that of the
// next; a row that was not there, between a deletion and the next insertion;
// an answer, between the sending of its statement and its arrival. All of these
// are moments of one clock, so their order must have no circle. If the engine
// keeps its promises there is none; if there is one, it is the explanation. For
// histories of SERIALIZABLE transactions alone this is strict
// serialisability, in the order of the commits.
//
// Apart from the graph, simple things are checked row by row: nobody but READ
// UNCOMMITTED reads what was rolled back or was not the last word of its
// transaction, a transaction sees its own writes, no version is overwritten
// twice (a lost update), nothing is written over uncommitted data, no job is
// claimed twice, transfers keep the sum, an error ends the transaction exactly
// when it should, the tables and their indexes hold what was committed, and no
// lock is left.
package history

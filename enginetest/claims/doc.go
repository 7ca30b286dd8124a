// Package claims proves the claim of a queue: many sessions take rows of one table
// with UPDLOCK, ROWLOCK and READPAST while rows arrive, and
//
//   - no row is held by two open transactions, and none is claimed again after
//     the commit of its claim;
//   - no row is lost: what was inserted and committed, or given back by a rollback,
//     is claimed in the end;
//   - no row is claimed whose insertion was not committed;
//   - no claiming session ever waits for a lock.
//
// The rows are claimed in all the forms that queues use, on the same table at the
// same time: UPDATE of a common table expression with TOP and ORDER BY, UPDATE TOP,
// DELETE TOP, each with OUTPUT, and SELECT TOP followed by an UPDATE by key. Claims
// are of one row and of ten; transactions hold one claim or several, undo some
// by savepoints, stay open for a while, commit or roll back.
//
// Waits are counted twice. Half of the claiming sessions run with LOCK_TIMEOUT 0,
// where any wait becomes error 1222. The others would wait for ever, and the engine's
// own count of their waits, sys.dm_exec_session_wait_stats, is read at the end.
package claims

// Package crash proves the durability of the engine: a process with a loaded engine
// is killed with SIGKILL at random moments, again and again on the same data
// directory, also while it recovers from the kill before. After each recovery
//
//   - every acknowledged commit is there, unless it was one with delayed durability:
//     of those a suffix may be missing, in the order of the log;
//   - no other transaction is half there: each is visible in several tables, and is
//     in all of them or in none;
//   - nothing that was rolled back, to a savepoint or in full, is there;
//   - every index holds exactly the rows of its table;
//   - no identity or sequence number comes again that an acknowledged transaction
//     was given;
//   - no more of the log was replayed than has been written since the last
//     checkpoint.
//
// # How it is known
//
// The victim's sessions own rows that no other session writes, and each transaction
// raises the session's number in dbo.progress. Before it asks for a commit, the victim writes
// the number of the transaction and all that it changes to a pipe; after the
// commit, that it is acknowledged. So for each number that the table may show, the judge
// knows every row that the session must have. Money moves between accounts that
// all sessions share: an account has what it had at first and what each session
// has noted that it moved.
//
// The order of the lines is that of the commits: what was acknowledged before another
// transaction asked for its commit comes before it in the log. If that other one is
// there, so must be the first, however it was committed.
package crash

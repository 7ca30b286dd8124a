// Package exec compiles bound statements to closures and operators and runs
// them over storage.
//
// What is compiled is immutable and shared by sessions: the state of a run is in
// the run. CompileExpr and CompileCondition serve the procedural statements,
// CompileStatement serves SELECT, INSERT, UPDATE, DELETE, MERGE and TRUNCATE,
// and CompileRowExpr and CompileValidation serve the definition of tables.
//
// Operators push: an operator runs its child and is called back for each row.
// The current rows of all sources of a statement stand in one frame (see
// package plan), so that a row is never copied until something has to keep it.
//
// A modification has two phases. The read phase finds the rows and computes the
// new ones; the write phase stores them, checks constraints and fires triggers.
// A statement therefore never sees its own changes. The caller takes a savepoint
// before Run and rolls back to it when Run fails.
package exec

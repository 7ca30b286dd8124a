// Package session runs what a client sends: batches, procedure calls and
// transaction requests. It holds what T-SQL calls a session: the login and its
// impersonations, the SET options, the transaction, variables, temporary
// objects and the error rules.
//
// A batch or a module is compiled once to a program, a flat list of
// instructions with jumps, and shared by all sessions. The queries and
// expressions in it are compiled when they first run, because the objects they
// name may be created by the statement before (deferred name resolution), and
// again when the catalog has changed.
//
//	client ──▶ Session.Batch / RPC ──▶ program ──▶ frame ──▶ exec.Statement ──▶ storage
//	                                      ▲            │
//	                                      └── EXEC, triggers, functions: a new frame
//
// # What an error ends
//
// An error first looks for a TRY in its frame or in a frame that called it. If
// there is one, its CATCH runs; the transaction is doomed when the error is one
// that would have ended it. If there is none, the error is sent to the client
// and ends the statement, the frame, the batch or the transaction as outcome in
// errors.go says.
//
// # Concurrency
//
// A Session is used by one goroutine at a time. A Server is safe for concurrent
// use. Sessions meet in the catalog and in the store's lock manager, nowhere
// else.
package session

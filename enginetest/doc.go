// Package enginetest gives tests a database of their own, and runs golden
// scripts against it.
//
//	db := enginetest.Open(t)            a new embedded engine in memory; or, with
//	                                    LOOPBROKER_TEST_DSN, a new database on that server
//	enginetest.Scripts(t, "testdata")   every script of a folder, each on its own database
//
// A script is a file of blocks that github.com/cockroachdb/datadriven reads:
//
//	sql
//	SELECT 1 AS n
//	----
//	n
//	1
//
// Errors and messages stand among the rows as they come: "Msg 8134, Level 16,
// State 1, Line 1: Divide by zero error encountered." The block "session NAME"
// runs in another connection; "sql async" starts a block in the background and
// "wait NAME" shows what it gave. go test -rewrite accepts new output.
package enginetest

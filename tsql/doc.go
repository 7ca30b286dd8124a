// Package tsql holds the database side of the broker: every table, view,
// procedure and statement as one .sql file each, embedded, and the code that
// deploys and verifies them.
//
// # The files
//
// A file is written for the schema [dbo] and begins with SET ANSI_NULLS ON and
// SET QUOTED_IDENTIFIER ON, which SQL Server keeps with a module. The token
// [dbo], brackets included, stands for the schema and for nothing else; it is
// replaced by the quoted name of the configured one. A name is letters, digits
// and underscores and does not start with a digit, so nothing has to be escaped,
// and it is quoted all the same.
//
// Tables are made where they are missing and never changed. Modules are created
// or altered where their text differs. Everything is T-SQL that SQL Server 2017
// knows at compatibility level 130.
//
// # Deploy and verify
//
//	Deploy ─▶ transaction
//	            sp_getapplock asyncresponse:ddl:<schema>, 60 s
//	            tables, sequences, rows, views, procedures
//	          COMMIT
//	       ─▶ Verify, outside of it: catalog reads under held schema locks
//	          deadlock live traffic
//
// The resource of the lock is the one that other programs on the same tables
// take, so they exclude each other. Verify only reads. It names wrong kinds
// before wrong columns and what is missing last, so that a culprit comes before
// its victims, and says for each finding what to change.
//
// # On failure
//
// A deployment that fails is rolled back as a whole. If a name is taken by
// something else, the error says by what. Deploying again is always safe.
//
// # Errors and codes
//
// The procedures throw the numbers 54000 to 54099, one for each cause, and return
// the codes of [ReturnCode]; sp_invoke_external_rest_endpoint throws Microsoft's
// numbers plus 50000. errors.go is the one place that maps both to the
// sentinels of package loopbroker.
package tsql

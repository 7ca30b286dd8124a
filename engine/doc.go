// Package engine is an embedded, SQL Server-compatible database engine: T-SQL
// inside, TDS on the wire, row locks and transactions that behave like SQL
// Server's. It exists so that everything in this project runs and is tested
// with nothing installed; it is not a new database, and a difference from SQL
// Server is a defect. What it lacks is refused with message 40510.
//
//	engine/sqlerr    messages by number
//	engine/syntax    lexer, parser, tree
//	engine/types     values, conversions, collations
//	engine/tds       packets, tokens and types on the wire; no sockets
//	engine/builtin   built-in functions, and builtin/json
//	engine/storage   rows, versions, locks, transactions, log
//	engine/catalog   what the server knows about itself
//	engine/plan      names, types, access paths
//	engine/exec      operators and expressions over storage
//	engine/wire      connections: from packets to requests and back
//	engine/session   batches, procedures, control flow, error rules
//	engine           this facade
//
// A stage imports stages above it in this list and none below.
package engine

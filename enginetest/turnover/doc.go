// Package turnover lets rows go through a queue table by way of T-SQL, and looks at
// what the engine has kept of them: nothing, but what is bounded.
//
// It is about all that lies above the rows: plans of batches that are each run
// once, sessions that come and go with their temporary tables, table variables,
// cursors, prepared statements, application locks and savepoints, identity numbers, row versions
// of readers under READ_COMMITTED_SNAPSHOT. A first pass fills what is bounded, so
// that the second shows what grows.
package turnover

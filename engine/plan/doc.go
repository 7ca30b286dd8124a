// Package plan gives a statement its meaning: it binds the names and types of a
// syntax tree, chooses how each table is read and in which order tables are
// joined, and hands the result to the executor.
//
// # Two stages
//
// Binding turns syntax into typed nodes (Expr) and relations (Rel). Every
// conversion is a node of its own; constant expressions are folded; volatile
// functions never are. Planning then distributes the conditions of a query over
// its relations, picks an access path for each table and orders the joins.
//
// # Sources
//
// Each table, derived table, aggregation or function in a statement is a source
// with a number of its own. While a statement runs, the current row of every
// source stands in one frame, so that a column is (source, position), a join
// copies no rows, and a correlated subquery sees the rows around it.
//
// A Stmt is immutable once it is planned.
package plan

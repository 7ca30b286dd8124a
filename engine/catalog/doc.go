// Package catalog holds what the server knows about itself: databases,
// schemas, tables, modules, sequences, principals, permissions and linked
// servers, and shows it through the sys and INFORMATION_SCHEMA views.
//
// Objects are read by many sessions at once. An object is never changed in
// place: a DDL statement replaces it by a changed copy under the catalog's
// lock, with an undo that the transaction runs when it rolls back. Every change
// raises the version of its database, which is how a cached plan learns that it
// may be out of date. Who may see an uncommitted object is decided by the
// session, which takes a schema lock on it before it uses it.
//
// What must last is written to the system table of the store in the same
// transaction as the change itself, one row an object, so that recovery of the
// store brings the catalog back to the same moment.
package catalog

// Package loopback sets up and proves the second connection: the linked server that
// leads from a SQL Server back to itself, through which a request leaves a
// transaction that is still open.
//
//	caller's session ──EXEC──▶ [link].[db].[schema].sp_api_broker_request_linked_server
//	  open transaction          second session: stores the request, commits at once
//
// Provision makes the link and maps one login to it. Doctor reads its options and
// sends requests from inside transactions of every isolation level, which it rolls
// back: each request must have survived. Every finding names its repair.
//
// Sender is the same for Go callers that hold a *sql.Tx: SendTx goes through the
// link, like a procedure would, and Send through a connection of its own. Both
// requests are there whatever becomes of the transaction.
//
// # On failure
//
// Provision can be called again at any time; it changes what is wrong and nothing
// else. Doctor changes nothing but leaves one request of type "doctor" for each
// proof, which expires without being run.
package loopback

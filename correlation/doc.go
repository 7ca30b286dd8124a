// Package correlation is the Go view of requests and replies: it makes requests,
// reads their replies and waits for them, on the tables that procedures use.
//
//	Enqueue ──▶ id ──▶ Reply(id)      once: the reply, or ErrPending
//	                   Collect(id)    waits in the database, bounded
//	                   Await(id)      waits here, as long as its context
//
// # Promises
//
//   - A request has at most one reply, and everyone who asks gets the same one.
//   - A request belongs to the login that made it. To others it is
//     loopbroker.ErrUnknownRequest, as it is once its retention is over.
//   - Transient faults of the database are repeated, unless that could make a
//     request twice: without an idempotency key, a connection that breaks on the
//     way is loopbroker.ErrOutcomeUnknown.
//   - Collect holds a connection while it waits, Await holds none.
package correlation

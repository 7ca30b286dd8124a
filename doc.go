// Package loopbroker holds the vocabulary of the system: requests, jobs, leases,
// replies, states and error classes, and the small contracts between the parts
// that move them. It says what the broker does and leaves how to the packages
// around it, so it imports only the standard library.
//
// A SQL Server procedure in the middle of a transaction asks for something from
// outside - an HTTP call, a file - and can wait for the answer, because the
// request leaves through a second connection that commits at once, and the
// answer comes back through a row.
//
// # One request, end to end
//
//	caller's session (open transaction)        worker process (any number)
//	  EXEC sp_api_request @url, @wait = 5000
//	    checks
//	    second session: INSERT call and
//	    queue row, COMMIT ───────────────────▶ Queue.Claim   (leased, attempt + 1)
//	                                           Queue.Load    (the body, once)
//	                                           Handler.Handle
//	    poll the reply by key, bounded  ◀───── Queue.Complete (fenced), COMMIT
//	  its transaction is open and untouched
//
// # Life of a request
//
//	                Claim                Complete            ┌─▶ completed
//	queued ───────────────────▶ running ─────────────────────┼─▶ failed
//	  │  ▲                         │                         ├─▶ expired
//	  │  └─────────────────────────┘                         └─▶ cancelled
//	  │    Release, or lease expiry                                ▲
//	  └────────────────────────────────────────────────────────────┘
//	       cancelled or expired before it ever ran
//
// # Promises
//
//   - A request is run at least once, unless it expired or was cancelled first.
//     It is never run twice at the same time: a lease is fenced by its token, and
//     whatever a stale holder reports is dropped.
//   - A request has at most one reply, and the first one stands. Replies are
//     inserted and never changed.
//   - The database's clock decides leases, delays and expiry. Programs send
//     durations, never instants.
//   - An HTTP status is not a delivery status: a 500 that arrived is a completed
//     request. Failures carry an [ErrorClass] from a closed set.
//   - Logs and telemetry never change an outcome, and hold no body, no header
//     and no text that a remote party wrote.
//
// # Where to go next
//
// Package tsql has every object and statement of the database side. Package
// worker claims jobs and runs handlers; package httpfetch is the handler for HTTP.
// Package correlation is the Go view of requests and replies. Package loopback
// sets up and proves the second connection. Command loopbroker ties them
// together.
package loopbroker

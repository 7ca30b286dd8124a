// Package worker is the process that carries requests out: it claims jobs from the
// broker's queue, runs the handler of each, and settles the outcome.
//
//	poller ──claim(free slots)──▶ job goroutines ──▶ completer ──▶ database
//	  ▲  one per process           handler, panics     replies that are ready
//	  │  short pauses when busy    recovered           at the same moment share
//	wake, or the next poll                             one call
//
//	heartbeat ──▶ registration, leases of the running jobs
//	janitor   ──▶ expires, buries and purges, in one process at a time
//
// # Promises
//
//   - A worker claims no more than it can start at once, so nothing waits behind a
//     slow job, and a job that is stopped before it began is handed back as new.
//   - A reply commits as soon as its own job ends. Sharing a call adds no wait: it
//     takes what is ready and leaves.
//   - A lease is renewed while its job runs. If it cannot be, the job's context
//     ends before the lease does, so that two workers never run it at once. The
//     result of a lease that was lost is dropped and logged, not stored.
//   - A job that expired before it started, that names no handler, that is out of
//     attempts or that cannot be read is settled without being run.
//   - A failed attempt is made again if its fault says so and attempts are left,
//     after a pause that grows with full jitter and holds no slot.
//   - A panic ends its own job. A database that is away ends nothing: the worker
//     keeps trying, with pauses that grow, until its context is done.
//
// # Stop
//
// When the context of Run is done the worker takes its name off the list, claims
// nothing more and hands back what it had not begun. Running jobs have
// Options.DrainTimeout. Then their contexts end with loopbroker.ErrStopped; what
// may be repeated is handed back, the rest is buried, and Run says how many.
package worker

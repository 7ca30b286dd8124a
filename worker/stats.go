package worker

import "sync/atomic"

// Stats counts what a worker has done since it started.
type Stats struct {
	// Polls counts claims; Claimed the jobs that they gave.
	Polls, Claimed int64

	// Completed, Failed, Expired and Cancelled count stored replies by their state.
	Completed, Failed, Expired, Cancelled int64

	// Retried counts attempts that ended in another one to come, and Returned jobs
	// that were handed back without having been run.
	Retried, Returned int64

	// Dropped counts results whose lease was lost or whose request had its reply.
	Dropped int64

	// Unsettled counts outcomes that could not be stored; their leases lapse and
	// the jobs run again.
	Unsettled int64

	// CompletionsRun, CompletionsFailed and CompletionsBuried count completion
	// procedures that have run, that failed and are due again, and that failed for the
	// last time.
	CompletionsRun, CompletionsFailed, CompletionsBuried int64

	// Restarts counts loops that failed and were begun again.
	Restarts int64

	// SharedCalls counts calls that stored replies, however many each.
	SharedCalls int64
}

// counters are the running counts of Stats.
type counters struct {
	polls, claimed, completed, failed, expired, cancelled atomic.Int64
	retried, returned, dropped, unsettled, sharedCalls    atomic.Int64
	ran, ranBadly, ranForTheLastTime, restarts            atomic.Int64
}

// Stats returns the counts so far.
func (w *Worker) Stats() Stats {
	c := &w.stats
	return Stats{
		Polls: c.polls.Load(), Claimed: c.claimed.Load(),
		Completed: c.completed.Load(), Failed: c.failed.Load(), Expired: c.expired.Load(), Cancelled: c.cancelled.Load(),
		Retried: c.retried.Load(), Returned: c.returned.Load(), Dropped: c.dropped.Load(), Unsettled: c.unsettled.Load(),
		CompletionsRun: c.ran.Load(), CompletionsFailed: c.ranBadly.Load(), CompletionsBuried: c.ranForTheLastTime.Load(),
		Restarts: c.restarts.Load(), SharedCalls: c.sharedCalls.Load(),
	}
}

package worker

import (
	"context"

	"loopbroker"
	"loopbroker/internal/guardlog"
	"loopbroker/internal/transient"
)

// firstPolicy puts the first policy in force, for as long as it takes: without it
// every job would be refused for good. It reports whether it has.
func (w *Worker) firstPolicy(ctx context.Context) bool {
	for n := 1; w.opts.Policy != nil; n++ {
		if w.refreshPolicy(ctx) == nil {
			break
		}
		if !transient.Sleep(ctx, w.away.Delay(n, 0)) {
			return false
		}
	}
	return true
}

// followPolicy keeps the policy in force up with the database.
func (w *Worker) followPolicy(ctx context.Context) {
	for w.opts.Policy != nil && transient.Sleep(ctx, w.opts.PolicyEvery) {
		_ = w.refreshPolicy(ctx) // logged; the policy before it stays in force
	}
}

// refreshPolicy reads the policy and puts it in force. Faults of the rows are logged
// when they change, not every two seconds.
func (w *Worker) refreshPolicy(ctx context.Context) error {
	var policy loopbroker.Policy
	err := w.call(ctx, func(ctx context.Context) (err error) {
		policy, err = w.store.Policy(ctx)
		return err
	})
	if err != nil {
		if ctx.Err() == nil {
			w.log.Warn("policy not read", guardlog.Err(err))
		}
		return err
	}
	faults := ""
	if err := w.opts.Policy(policy); err != nil {
		if faults = err.Error(); faults != w.faults {
			w.log.Warn("policy has faults", guardlog.Err(err))
		}
	}
	w.faults = faults
	return nil
}

package exec

import "loopbroker/engine/storage"

// tx is the transaction in which the run reads and writes tables. The first call
// begins the run's statement there: its row locks are counted, and escalate to
// table locks, but for tables with LOCK_ESCALATION = DISABLE.
func (r *run) tx() *storage.Tx {
	tx := r.rt.Tx()
	if r.counting {
		return tx
	}
	r.counting = true
	tx.BeginStatement(&r.statement)
	for _, t := range r.tables {
		if t.LockEscalation == "DISABLE" && t.Store != nil {
			r.statement.Exempt(t.Store)
		}
	}
	return tx
}

package history

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// step makes the next statement of a transaction, nil to leave it out.
type step func(*session) *statement

// plan is where a session stands: its transaction, and the steps to come.
type plan struct {
	txn    *transaction
	script func(*session) []step // of txn, for a retry
	steps  []step
	again  bool // the next transaction is the last one once more
	saves  []savepoint
}

// savepoint is a SAVE TRANSACTION.
type savepoint struct {
	name string
	at   int // statements before it
}

// next returns the statement to send, nil after the last transaction.
func (s *session) next() *statement {
	for {
		if s.plan.txn == nil {
			if len(s.txns) >= s.p.Transactions {
				return nil
			}
			s.begin()
		}
		if len(s.plan.steps) == 0 {
			panic("history: a transaction without an end")
		}
		build := s.plan.steps[0]
		s.plan.steps = s.plan.steps[1:]
		if st := build(s); st != nil {
			st.txn, st.n = s.plan.txn, len(s.plan.txn.statements)
			s.plan.txn.statements = append(s.plan.txn.statements, st)
			return st
		}
	}
}

// begin starts a transaction, or the last one once more.
func (s *session) begin() {
	t := &transaction{session: s.n, n: len(s.txns) + 1, level: pick(s.rnd, s.p.Levels), begun: true, abort: s.rnd.IntN(3) == 0}
	script := s.plan.script
	if !s.plan.again {
		script = pick(s.rnd, scripts)
	}
	s.plan = plan{txn: t, script: script}
	s.txns = append(s.txns, t)
	steps := script(s)
	set := fmt.Sprintf("SET TRANSACTION ISOLATION LEVEL %s; SET XACT_ABORT %s; SET LOCK_TIMEOUT %d", t.level, onOff(t.abort), s.timeout())
	finite := !strings.HasSuffix(set, " -1")
	if t.begun {
		set += "; BEGIN TRANSACTION"
	}
	s.plan.steps = append(s.plan.steps, func(*session) *statement { return &statement{kind: control, text: set} })
	for _, step := range steps {
		s.plan.steps = append(s.plan.steps, func(s *session) *statement {
			st := step(s)
			if st != nil {
				st.timeout = finite
			}
			return st
		})
	}
	if t.begun {
		s.plan.steps = append(s.plan.steps, end)
	}
}

func (s *session) timeout() int {
	switch s.rnd.IntN(16) {
	case 0:
		return 0
	case 1:
		return 5 + s.rnd.IntN(10)
	}
	return -1
}

// end is COMMIT, or sometimes ROLLBACK.
func end(s *session) *statement {
	if s.rnd.IntN(6) == 0 {
		return &statement{kind: rollback, text: "ROLLBACK TRANSACTION"}
	}
	return &statement{kind: commit, text: "COMMIT TRANSACTION"}
}

func giveUp(*session) *statement {
	return &statement{kind: rollback, text: "ROLLBACK TRANSACTION"}
}

// finish takes over what came of a statement. open is @@TRANCOUNT after an
// error. It returns what is wrong with the answer, or "".
func (s *session) finish(st *statement, open int) (fault string) {
	t := s.plan.txn
	if st.failed() {
		return s.finishFailed(st, open)
	}
	switch st.kind {
	case commit:
		t.committed = true
		s.over(st)
	case rollback:
		s.over(st)
	case rollbackTo:
		save := s.plan.saves[len(s.plan.saves)-1]
		for _, before := range t.statements[save.at:] {
			before.undone = true
			for i := range before.changes {
				if before.changes[i].undo == nil {
					before.changes[i].undo = st
				}
			}
		}
	case control:
	default:
		if !t.begun {
			t.committed = true
			s.over(st)
		}
	}
	return ""
}

func (s *session) finishFailed(st *statement, open int) string {
	t := s.plan.txn
	switch st.number {
	case cancelled, lockTimeout, deadlock, updateConflict, duplicateKey, duplicateIndex:
	default:
		s.over(st)
		return fmt.Sprintf("an error that was not expected: %v", st.err)
	}
	ends := !t.begun || t.abort || st.number == deadlock || st.number == updateConflict
	if t.begun && st.number == cancelled {
		// Its answer may have been on the way, and where sessions run freely, a
		// deadlock may have ended the transaction.
		ends = open == 0 && (t.abort || s.p.Parallel)
	}
	if ends != (open == 0) || !ends && open != 1 {
		s.over(st)
		return fmt.Sprintf("@@TRANCOUNT is %d after error %d with XACT_ABORT %s", open, st.number, onOff(t.abort))
	}
	switch {
	case ends:
		s.over(st)
		s.plan.again = (st.number == deadlock || st.number == updateConflict) && s.rnd.IntN(4) > 0
	case st.number == cancelled && st.kind == dml:
		// Whether it was done in the last moment is not known, so it is taken back.
		s.plan.steps = []step{giveUp}
		if n := len(s.plan.saves); n > 0 && s.rnd.IntN(2) == 0 {
			s.plan.steps = []step{backTo(s.plan.saves[n-1].name), end}
		}
	}
	return ""
}

// cancellable reports whether a statement may be cancelled. Whether a change
// without BEGIN TRANSACTION was done could not be told.
func (st *statement) cancellable() bool {
	return st.kind == query || st.kind == aggregate || st.kind == dml && st.txn.begun
}

// over ends the transaction.
func (s *session) over(st *statement) {
	s.plan.txn.ended = st
	s.plan.txn = nil
	s.plan.steps, s.plan.again = nil, false
}

func backTo(name string) step {
	return func(*session) *statement { return &statement{kind: rollbackTo, text: "ROLLBACK TRANSACTION " + name} }
}

// save is SAVE TRANSACTION.
func save(s *session) *statement {
	name := fmt.Sprintf("s%d", len(s.plan.saves)+1)
	s.plan.saves = append(s.plan.saves, savepoint{name, len(s.plan.txn.statements)})
	return &statement{kind: control, text: "SAVE TRANSACTION " + name}
}

// back is ROLLBACK to the last savepoint, or nothing.
func back(s *session) *statement {
	if len(s.plan.saves) == 0 || s.rnd.IntN(3) == 0 {
		return nil
	}
	return backTo(s.plan.saves[len(s.plan.saves)-1].name)(s)
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

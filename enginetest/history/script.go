package history

import (
	"fmt"
	"slices"
)

// scripts are the kinds of transactions, each as often as it stands here.
var scripts = []func(*session) []step{
	transfer, transfer, readThenWrite, readThenWrite, claim, claim, audit, mixed, mixed, mixed, mixed, mixed, single, replace,
}

// transfer moves an amount between two accounts.
func transfer(s *session) []step {
	from, to, amount := s.account(), s.account(), 1+s.rnd.Int64N(20)
	if from == to {
		to = (to + 1) % int64(s.p.Accounts)
	}
	var steps []step
	if s.rnd.IntN(2) == 0 {
		steps = append(steps, s.read(account, predicate{byID, from, from}))
	}
	move := func(id, by int64) step {
		return func(s *session) *statement {
			return s.update(account, predicate{byID, id, id}, fmt.Sprintf("val = val + %d", by))
		}
	}
	steps = append(steps, move(from, -amount), move(to, amount))
	if s.rnd.IntN(3) == 0 {
		steps = append(steps, s.sum(account, predicate{}))
	}
	return append(steps, unlessMoved)
}

// unlessMoved rolls back when one half of a transfer was not done.
func unlessMoved(s *session) *statement {
	done := 0
	for _, st := range s.plan.txn.statements {
		if st.table == account && st.kind == dml && len(st.changes) == 1 && !st.undone {
			done++
		}
	}
	if done == 2 {
		return nil
	}
	s.plan.steps = nil
	return giveUp(s)
}

// readThenWrite computes a value from what it has read. Where locks or versions
// promise that nobody comes between, none does.
func readThenWrite(s *session) []step {
	t, id := item, s.item()
	level := s.plan.txn.level
	guarded := level == RepeatableRead || level == Serializable || level == Snapshot
	other := int64(-1)
	if guarded && s.rnd.IntN(2) == 0 {
		t, id = account, s.account()
		other = (id + 1 + s.rnd.Int64N(int64(s.p.Accounts)-1)) % int64(s.p.Accounts)
	}
	seen := make(map[int64]*statement)
	look := func(id int64) step {
		return func(s *session) *statement {
			r := plain(level, s.p.RCSI)
			if s.rnd.IntN(2) == 0 {
				r, _ = r.with(&hints[slices.IndexFunc(hints, func(h hint) bool { return h.text == "UPDLOCK" })], level)
			}
			seen[id] = selectRows(t, predicate{byID, id, id}, r, "")
			return seen[id]
		}
	}
	set := func(id, by int64) step {
		return func(s *session) *statement {
			if seen[id] == nil || len(seen[id].rows) != 1 {
				return nil
			}
			return s.update(t, predicate{byID, id, id}, fmt.Sprintf("val = %d", seen[id].rows[0].Val+by))
		}
	}
	if other >= 0 {
		return []step{look(id), look(other), set(id, -3), set(other, 3), unlessMoved}
	}
	return []step{look(id), s.read(t, predicate{byID, id, id + s.rnd.Int64N(3)}), set(id, 1+s.rnd.Int64N(9))}
}

// claim takes a job that nobody else has, works, and sometimes removes it.
func claim(s *session) []step {
	if level := s.plan.txn.level; level != ReadCommitted && level != RepeatableRead {
		return mixed(s)
	}
	var mine *statement
	steps := []step{func(s *session) *statement {
		mine = s.claimed()
		return mine
	}}
	if s.rnd.IntN(3) == 0 {
		steps = append(steps, s.any())
	}
	if s.rnd.IntN(2) == 0 {
		steps = append(steps, func(s *session) *statement {
			if len(mine.changes) != 1 {
				return nil
			}
			id := mine.changes[0].key.id
			return s.remove(job, predicate{byID, id, id})
		})
	}
	if s.rnd.IntN(2) == 0 {
		steps = append(steps, func(s *session) *statement {
			return s.insert(job, s.rnd.Int64N(int64(s.p.Jobs)*3), 0)
		})
	}
	return steps
}

// audit reads sums, more than once.
func audit(s *session) []step {
	where := predicate{}
	if s.rnd.IntN(3) == 0 {
		where = predicate{byGrp, 0, 1}
	}
	steps := []step{s.sum(account, predicate{}), s.read(item, s.where()), s.sum(account, predicate{})}
	if s.rnd.IntN(2) == 0 {
		steps = append(steps, s.sum(item, where), s.sum(job, predicate{byGrp, 0, 0}))
	}
	return steps
}

// replace removes an item and inserts it again: no other transaction may find
// that it is not there.
func replace(s *session) []step {
	id := s.item()
	return []step{
		func(s *session) *statement { return s.remove(item, predicate{byID, id, id}) },
		s.any(),
		func(s *session) *statement { return s.insert(item, id, s.rnd.Int64N(4)) },
	}
}

// mixed is anything, with savepoints.
func mixed(s *session) []step {
	var steps []step
	saved := false
	for range 1 + s.rnd.IntN(5) {
		switch {
		case s.rnd.IntN(5) == 0:
			steps = append(steps, save)
			saved = true
		case saved && s.rnd.IntN(3) == 0:
			steps = append(steps, back)
		}
		steps = append(steps, s.any())
	}
	if saved {
		steps = append(steps, back)
	}
	return steps
}

// single is one statement without BEGIN TRANSACTION. Insertions are not among
// them: a client could not tell in which order two of a key came.
func single(s *session) []step {
	s.plan.txn.begun = false
	switch s.rnd.IntN(4) {
	case 0:
		return []step{func(s *session) *statement { return s.update(item, s.where(), "val = val + 1") }}
	case 1:
		return []step{func(s *session) *statement { return s.remove(item, predicate{byID, s.item(), -1}.point()) }}
	case 2:
		return []step{s.sum(account, predicate{})}
	}
	return []step{s.read(item, s.where())}
}

// any is a statement about items.
func (s *session) any() step {
	switch s.rnd.IntN(12) {
	case 0, 1, 2:
		return s.read(item, s.where())
	case 3:
		return s.sum(item, s.where())
	case 4, 5:
		return func(s *session) *statement { return s.insert(item, s.item(), s.rnd.Int64N(4)) }
	case 6:
		return func(s *session) *statement {
			return s.remove(item, predicate{byID, s.item(), -1}.point())
		}
	case 7:
		return func(s *session) *statement { return s.merge(s.item()) }
	case 8:
		return func(s *session) *statement {
			return s.update(item, predicate{byID, s.item(), -1}.point(), fmt.Sprintf("grp = %d", s.rnd.Int64N(4)))
		}
	case 9:
		return func(s *session) *statement {
			return s.update(item, predicate{byID, s.item(), -1}.point(), fmt.Sprintf("code = %d", s.code()))
		}
	case 10:
		return func(s *session) *statement { return s.update(item, s.where(), "val = val + 1") }
	}
	return func(s *session) *statement {
		if s.rnd.IntN(3) == 0 {
			return s.remove(item, s.where())
		}
		return s.update(item, predicate{byID, s.item(), -1}.point(), "val = val + 2")
	}
}

// point makes hi what lo is.
func (p predicate) point() predicate { return predicate{p.kind, p.lo, p.lo} }

// where chooses a condition on items.
func (s *session) where() predicate {
	switch s.rnd.IntN(9) {
	case 0, 1:
		return predicate{byID, s.item(), -1}.point()
	case 2, 3:
		id := s.item()
		return predicate{byID, id, id + s.rnd.Int64N(5)}
	case 4, 5:
		return predicate{byGrp, s.rnd.Int64N(4), -1}.point()
	case 6:
		grp := s.rnd.Int64N(4)
		return predicate{byGrp, grp, grp + 1}
	case 7:
		return predicate{byCode, s.code(), -1}.point()
	}
	return predicate{byVal, s.rnd.Int64N(3), 0}
}

func (s *session) item() int64    { return s.rnd.Int64N(int64(s.p.Items)) }
func (s *session) account() int64 { return s.rnd.Int64N(int64(s.p.Accounts)) }
func (s *session) code() int64    { return s.rnd.Int64N(int64(s.p.Items) * 2) }

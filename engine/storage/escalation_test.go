package storage_test

import (
	"testing"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// held returns the mode of the transaction's lock on the table, and how many
// locks it has on rows and gaps.
func (se *session) held() (table storage.LockMode, rows int) {
	for _, l := range se.f.s.Locks() {
		switch {
		case l.Session != se.o.Session():
		case l.Kind == "OBJECT":
			table = l.Mode
		default:
			rows++
		}
	}
	return table, rows
}

func (se *session) wantHeld(table storage.LockMode, rows int) {
	se.f.Helper()
	if m, n := se.held(); m != table || n != rows {
		se.f.Errorf("holds %v on the table and %d locks below, want %v and %d", m, n, table, rows)
	}
}

// wantEscalations checks how often locks were escalated, and how often others
// were in the way.
func (f *fixture) wantEscalations(done, failed uint64) {
	f.Helper()
	if st := f.s.Stats(); st.Escalations != done || st.Unescalated != failed {
		f.Errorf("%d escalations and %d failed attempts, want %d and %d", st.Escalations, st.Unescalated, done, failed)
	}
}

// statement runs f as one statement.
func (se *session) statement(f func(*storage.Statement)) {
	var st storage.Statement
	se.tx.BeginStatement(&st)
	defer st.End()
	f(&st)
}

func manyRows(n int64) []types.Row {
	rows := make([]types.Row, n)
	for i := range rows {
		rows[i] = row(int64(i), 0, "")
	}
	return rows
}

// take reads n rows from the key first on.
func (se *session) take(first, n int64, a storage.Access) {
	se.f.Helper()
	if got := len(se.read(0, between(first, first+n-1), a)); got != int(n) {
		se.f.Errorf("read %d rows, want %d", got, n)
	}
}

var (
	update = storage.Access{Mode: storage.U, Hold: true, Timeout: storage.Forever}
	second = storage.Access{Mode: storage.U, Hold: true, Timeout: storage.Forever, Reference: 1}
)

// TestEscalationThreshold: the 5,000th row lock that one reference keeps in one
// statement is the one that escalates.
func TestEscalationThreshold(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), manyRows(8000)...)
	for _, tt := range []struct {
		name  string
		do    func(*session)
		table storage.LockMode
		rows  int
	}{
		{"one less", func(s *session) { s.take(0, 4999, repeatable) }, storage.IS, 4999},
		{"shared", func(s *session) { s.take(0, 5000, repeatable) }, storage.S, 0},
		{"update", func(s *session) { s.take(0, 5000, update) }, storage.X, 0},
		{"all behind it", func(s *session) { s.take(0, 8000, update) }, storage.X, 0},
		{"not kept", func(s *session) { s.take(0, 8000, readLocked) }, storage.None, 0},
		{"not kept with locks", func(s *session) {
			a := update
			a.Hold = false
			s.take(0, 8000, a)
		}, storage.None, 0},
		{"two references", func(s *session) {
			s.take(0, 4000, update)
			s.take(4000, 4000, second)
		}, storage.IX, 8000},
		{"one reference, two scans", func(s *session) {
			s.take(0, 4000, update)
			s.take(4000, 1000, update)
		}, storage.X, 0},
		{"rows that it had", func(s *session) {
			s.take(0, 4000, update)
			s.take(0, 4000, second)
			s.take(4000, 900, second)
		}, storage.IX, 4900},
		// A key-range lock is one lock: 4,998 keys and the one behind them.
		{"ranges, one less", func(s *session) { s.take(0, 4998, serializable) }, storage.IS, 9997},
		{"ranges", func(s *session) { s.take(0, 4999, serializable) }, storage.S, 0},
		{"insertions", func(s *session) {
			for i := range int64(5000) {
				s.insert(row(10000+i, 0, ""))
			}
		}, storage.X, 0},
		{"insertions, one less", func(s *session) {
			for i := range int64(4999) {
				s.insert(row(10000+i, 0, ""))
			}
		}, storage.IX, 4999},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fixture{T: t, s: f.s, tab: f.tab}
			s := f.session(1)
			s.statement(func(*storage.Statement) { tt.do(s) })
			table, rows := s.held()
			if table != tt.table {
				t.Errorf("holds %v on the table, want %v", table, tt.table)
			}
			if tt.name != "ranges, one less" && rows != tt.rows { // shown joined
				t.Errorf("holds %d locks below the table, want %d", rows, tt.rows)
			}
			s.rollback()
			f.wantNoLocks()
		})
	}
}

// TestEscalationIsByStatement: what earlier statements took does not count, but
// goes with the rest.
func TestEscalationIsByStatement(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), manyRows(9000)...)
	s := f.session(1)
	s.statement(func(*storage.Statement) { s.take(0, 4000, update) })
	s.statement(func(*storage.Statement) {
		s.take(4000, 2000, update)
		s.statement(func(*storage.Statement) { s.take(6000, 2000, update) }) // as in a trigger
	})
	s.wantHeld(storage.IX, 8000)
	mark := s.tx.Savepoint()
	s.statement(func(*storage.Statement) { s.take(0, 4000, update) }) // nothing new
	s.wantHeld(storage.IX, 8000)
	s.statement(func(*storage.Statement) {
		for i := range int64(5000) {
			s.insert(row(10000+i, 0, ""))
		}
	})
	s.wantHeld(storage.X, 0)
	s.tx.RollbackTo(mark)
	s.wantHeld(storage.X, 0) // a rollback to a savepoint keeps locks
	s.rollback()
	f.wantEscalations(1, 0)
	f.wantNoLocks()
}

// TestMixedLocksEscalate: a statement that only reads escalates to X when the
// transaction has changed rows.
func TestMixedLocksEscalate(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), manyRows(6000)...)
	s := f.session(1)
	s.update(row(1, 7, ""))
	s.statement(func(*storage.Statement) { s.take(100, 5000, repeatable) })
	s.wantHeld(storage.X, 0)
	s.commit()

	// And one that has escalated to S takes row locks again when it changes rows.
	s.statement(func(*storage.Statement) { s.take(100, 5000, repeatable) })
	s.wantHeld(storage.S, 0)
	s.update(row(1, 8, ""))
	s.wantHeld(storage.SIX, 1)
	s.commit()
	f.wantRows(s.read(0, point(1), readLocked), "1:8")
	f.wantNoLocks()
}

// TestBlockedEscalation: with somebody else in the table it goes on with row
// locks, tries again after 1,250 more, and succeeds when the other is gone.
func TestBlockedEscalation(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), manyRows(9000)...)
	s, other := f.session(1), f.session(2)
	other.take(8999, 1, repeatable)
	c := s.tx.Scan(t.Context(), f.tab, 0, everything, update)
	defer c.Close()
	s.statement(func(*storage.Statement) {
		read := func(upTo int64) {
			for c.Row() == nil || c.Row()[0].Int() < upTo-1 {
				if !c.Next() {
					t.Fatal(c.Err())
				}
			}
		}
		read(5001) // the row before it is kept now
		f.wantEscalations(0, 1)
		s.wantHeld(storage.IX, 5001)
		read(6250)
		f.wantEscalations(0, 1)
		read(6251)
		f.wantEscalations(0, 2)
		other.rollback()
		read(7500)
		s.wantHeld(storage.IX, 7500)
		read(7501)
		f.wantEscalations(1, 2)
		s.wantHeld(storage.X, 0)
	})
	c.Close()
	s.rollback()
	f.wantNoLocks()
}

// TestCursorStandsOnEscalatedRow: the lock of a row on which a cursor stands goes
// when the cursor moves.
func TestCursorStandsOnEscalatedRow(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), manyRows(6000)...)
	s := f.session(1)
	c := s.tx.Scan(t.Context(), f.tab, 0, everything, update)
	defer c.Close()
	c.Next()
	s.statement(func(*storage.Statement) { s.take(1, 5000, second) })
	s.wantHeld(storage.X, 1)
	if !c.Next() || c.Row()[0].Int() != 1 {
		t.Errorf("next row is %v, %v", c.Row(), c.Err())
	}
	s.wantHeld(storage.X, 0)
	c.Close()
	s.wantHeld(storage.X, 0)
	s.commit()
	f.wantNoLocks()
}

// TestEscalationExempt: LOCK_ESCALATION = DISABLE.
func TestEscalationExempt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), manyRows(7000)...)
	s := f.session(1)
	s.statement(func(st *storage.Statement) {
		st.Exempt(f.tab)
		s.take(0, 7000, update)
	})
	s.wantHeld(storage.IX, 7000)
	s.rollback()
	s.take(0, 7000, update) // outside of a statement nothing is counted
	s.wantHeld(storage.IX, 7000)
	f.wantEscalations(0, 0)
}

// TestOthersMeetTheEscalatedLock: who would read past rows waits for the table,
// who reads versions or nothing but the newest does not.
func TestOthersMeetTheEscalatedLock(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), manyRows(6000)...)
	s, other := f.session(1), f.session(2)
	s.statement(func(*storage.Statement) { s.take(0, 5000, update) })
	f.wantRows(other.read(0, point(5500), nolock), "5500:0")
	v := f.s.StatementView()
	defer v.Close()
	f.wantRows(other.read(0, point(1), storage.Access{View: v}), "1:0")
	var got []string
	done := other.asyncRead(&got, 0, point(5500), claiming)
	if l, ok := other.o.WaitsFor(); !ok || l.Kind != "OBJECT" || l.Mode != storage.IX || len(l.BlockedBy) != 1 || l.BlockedBy[0] != 1 {
		t.Errorf("the claim waits for %+v", l)
	}
	s.commit()
	f.wantNil(<-done)
	f.wantRows(got, "5500:0")
}

// TestEscalationAndDeadlock: two that have escalated to S and both change rows:
// one is the victim, the other goes on.
func TestEscalationAndDeadlock(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), manyRows(6000)...)
	a, b := f.session(1), f.session(2)
	id := a.find(1)
	a.rollback()
	for _, s := range []*session{a, b} {
		s.statement(func(*storage.Statement) { s.take(0, 5000, repeatable) })
		s.wantHeld(storage.S, 0)
	}
	wait := a.async(func() error { return a.tx.Update(t.Context(), f.tab, id, row(1, 1, ""), storage.Forever) })
	f.wantErr(b.tx.Update(t.Context(), f.tab, id, row(1, 2, ""), storage.Forever), storage.ErrDeadlock)
	b.rollback()
	f.wantNil(<-wait)
	a.commit()
	f.wantRows(b.read(0, point(1), readLocked), "1:1")
}

// TestEscalatedRangeStaysLocked: the lock on the table stands for those on gaps.
func TestEscalatedRangeStaysLocked(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts(), manyRows(6000)...)
	r, w := f.session(1), f.session(2)
	r.statement(func(*storage.Statement) { r.take(0, 5000, serializable) })
	r.wantHeld(storage.S, 0)
	_, err := w.tx.Insert(t.Context(), f.tab, row(-1, 0, ""), 0)
	f.wantErr(err, storage.ErrLockTimeout)
	r.insert(row(-2, 0, ""))
	r.commit()
	w.rollback()
	w.insert(row(-1, 0, ""))
	w.commit()
	f.wantRows(r.read(0, between(-2, -1), readLocked), "-2:0", "-1:0")
	f.wantNoLocks()
}

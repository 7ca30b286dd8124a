package history

import (
	"errors"
	"strings"
	"testing"
)

// story builds a history by hand, one statement after the other.
type story struct {
	h     *History
	now   int64
	open  map[int]*transaction
	state map[key]*Row // what the last writer left, for old images
}

func newStory() *story {
	s := &story{h: &History{initial: map[key]Row{}}, open: map[int]*transaction{}, state: map[key]*Row{}}
	for id := range int64(3) {
		r := Row{ID: id, Code: id, Val: 10, Ver: 1}
		s.h.initial[key{item, id}] = r
		s.state[key{item, id}] = &r
	}
	return s
}

func (s *story) begin(session int, level Level) *story {
	t := &transaction{session: session, n: len(s.h.txns) + 1, level: level, begun: true}
	s.h.txns = append(s.h.txns, t)
	s.open[session] = t
	return s.add(session, &statement{kind: control, text: "BEGIN"})
}

func (s *story) add(session int, st *statement) *story {
	t := s.open[session]
	st.txn, st.n = t, len(t.statements)
	s.now += 2
	st.sent, st.answered = s.now-1, s.now
	t.statements = append(t.statements, st)
	return s
}

func (s *story) end(session int, kind statementKind) *story {
	t := s.open[session]
	s.add(session, &statement{kind: kind, text: map[statementKind]string{commit: "COMMIT", rollback: "ROLLBACK"}[kind]})
	t.ended, t.committed = t.statements[len(t.statements)-1], kind == commit
	return s
}

func (s *story) commit(session int) *story   { return s.end(session, commit) }
func (s *story) rollback(session int) *story { return s.end(session, rollback) }

// read is a query for items lo to hi that gives versions, of keys in order; the
// rows are those that were written.
func (s *story) read(session int, lo, hi int64, rows ...Row) *story {
	return s.readWith(session, plain(s.open[session].level, true), lo, hi, rows...)
}

func (s *story) readWith(session int, r reading, lo, hi int64, rows ...Row) *story {
	return s.add(session, &statement{
		kind: query, table: item, where: predicate{byID, lo, hi}, searches: true, reading: r, inserts: -1,
		text: "SELECT", rows: rows,
	})
}

// write changes an item to val; the version it replaces is the newest, or over.
func (s *story) write(session int, id, val int64, over ...*Row) *story {
	return s.change(session, id, &Row{ID: id, Code: id, Val: val}, over...)
}

func (s *story) remove(session int, id int64) *story { return s.change(session, id, nil) }

func (s *story) change(session int, id int64, row *Row, over ...*Row) *story {
	t := s.open[session]
	k := key{item, id}
	old := s.state[k]
	if len(over) > 0 {
		old = over[0]
	}
	st := &statement{
		kind: dml, table: item, where: predicate{byID, id, id}, searches: old != nil, reading: searching(t.level), inserts: -1,
		text: "WRITE", version: versionOf(session, t.n, len(t.statements)),
	}
	if row != nil {
		row.Ver = st.version
		if old != nil {
			row.Prev = old.Ver
		}
	}
	st.changes = []change{{key: k, old: old, new: row}}
	s.state[k] = row
	return s.add(session, st)
}

// back takes the statements of a session from number n on back.
func (s *story) back(session, n int) *story {
	t := s.open[session]
	s.add(session, &statement{kind: rollbackTo, text: "ROLLBACK TRANSACTION s"})
	last := t.statements[len(t.statements)-1]
	for _, st := range t.statements[n : len(t.statements)-1] {
		st.undone = true
		for i := range st.changes {
			st.changes[i].undo = last
		}
	}
	return s
}

// row is the newest version of an item, and was its first one.
func (s *story) row(id int64) Row { return *s.state[key{item, id}] }
func was(id int64) Row            { return Row{ID: id, Code: id, Val: 10, Ver: 1} }

// TestChecker tells the checker of textbook anomalies, at a level where they
// must not happen and at one where they may.
func TestChecker(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		rule string // "" for none
		tell func(s *story)
	}{
		{"write skew, SNAPSHOT", "", func(s *story) { writeSkew(s, Snapshot) }},
		{"write skew, SERIALIZABLE", "order", func(s *story) { writeSkew(s, Serializable) }},
		{"write skew, REPEATABLE READ", "order", func(s *story) { writeSkew(s, RepeatableRead) }},
		{"write skew, READ COMMITTED", "", func(s *story) { writeSkew(s, ReadCommitted) }},
		{"read skew, SNAPSHOT", "order", func(s *story) { readSkew(s, Snapshot) }},
		{"read skew, SERIALIZABLE", "order", func(s *story) { readSkew(s, Serializable) }},
		{"read skew, READ COMMITTED", "", func(s *story) { readSkew(s, ReadCommitted) }},
		{"read skew within a statement by versions", "order", func(s *story) {
			s.begin(1, ReadCommitted).begin(2, ReadCommitted).write(2, 0, 11).write(2, 1, 9)
			zero := s.row(0)
			s.commit(2).read(1, 0, 1, zero, was(1)).commit(1)
		}},
		{"phantom, SERIALIZABLE", "order", func(s *story) { phantom(s, Serializable, false) }},
		{"phantom, REPEATABLE READ", "", func(s *story) { phantom(s, RepeatableRead, false) }},
		{"phantom that is read, SNAPSHOT", "order", func(s *story) { phantom(s, Snapshot, true) }},
		{"lost update, READ COMMITTED", "lost update", func(s *story) {
			first := was(0)
			s.begin(1, ReadCommitted).begin(2, ReadCommitted).write(1, 0, 11).commit(1).write(2, 0, 12, &first).commit(2)
		}},
		{"update of what others changed, SNAPSHOT", "order", func(s *story) {
			s.begin(1, Snapshot).read(1, 1, 1, was(1)).begin(2, ReadCommitted).write(2, 0, 11).commit(2).write(1, 0, 12).commit(1)
		}},
		{"update of what others changed, READ COMMITTED", "", func(s *story) {
			s.begin(1, ReadCommitted).read(1, 1, 1, was(1)).begin(2, ReadCommitted).write(2, 0, 11).commit(2).write(1, 0, 12).commit(1)
		}},
		{"dirty write", "dirty write", func(s *story) {
			s.begin(1, ReadCommitted).write(1, 0, 11).begin(2, ReadCommitted).write(2, 0, 12).commit(2).rollback(1)
		}},
		{"read of what is rolled back, READ COMMITTED", "dirty read", func(s *story) { dirtyRead(s, ReadCommitted) }},
		{"read of what is rolled back, READ UNCOMMITTED", "", func(s *story) { dirtyRead(s, ReadUncommitted) }},
		{"read of what was rolled back, READ UNCOMMITTED", "ghost", func(s *story) {
			s.begin(1, ReadCommitted).write(1, 0, 11).rollback(1).begin(2, ReadUncommitted)
			s.read(2, 0, 0, s.row(0)).commit(2)
			s.state[key{item, 0}] = nil
		}},
		{"read of what is committed later", "order", func(s *story) {
			s.begin(1, ReadCommitted).write(1, 0, 11).begin(2, ReadCommitted)
			s.read(2, 0, 0, s.row(0)).commit(1).commit(2)
		}},
		{"read of an intermediate version", "dirty read", func(s *story) {
			s.begin(1, ReadCommitted).write(1, 0, 11)
			first := s.row(0)
			s.write(1, 0, 12).commit(1).begin(2, ReadCommitted).read(2, 0, 0, first).commit(2)
		}},
		{"read of what a savepoint took back", "dirty read", func(s *story) {
			s.begin(1, ReadCommitted).write(1, 0, 11)
			taken := s.row(0)
			s.back(1, 1).commit(1).begin(2, ReadCommitted).read(2, 0, 0, taken).commit(2)
		}},
		{"read after a rollback to a savepoint", "", func(s *story) {
			s.begin(1, ReadCommitted).write(1, 0, 11).back(1, 1).read(1, 0, 0, was(0)).commit(1)
			s.begin(2, ReadCommitted).read(2, 0, 0, was(0)).commit(2)
		}},
		{"stale read", "order", func(s *story) {
			s.begin(1, ReadCommitted).write(1, 0, 11).commit(1).begin(2, ReadCommitted).read(2, 0, 0, was(0)).commit(2)
		}},
		{"row that is not found", "missing row", func(s *story) {
			s.begin(1, ReadCommitted).read(1, 0, 2, was(0), was(2)).commit(1)
		}},
		{"row that READPAST skips", "", func(s *story) {
			s.begin(1, ReadCommitted).readWith(1, reading{moments: perRow}, 0, 2, was(0), was(2)).commit(1)
		}},
		{"own write that is not seen", "own writes", func(s *story) {
			s.begin(1, ReadCommitted).write(1, 0, 11).read(1, 0, 0, was(0)).commit(1)
		}},
		{"own deletion that is not seen", "own writes", func(s *story) {
			s.begin(1, ReadCommitted).remove(1, 0).read(1, 0, 0, was(0)).commit(1)
		}},
		{"row twice", "row twice", func(s *story) {
			s.begin(1, ReadCommitted).read(1, 0, 0, was(0), was(0)).commit(1)
		}},
		{"torn row", "torn row", func(s *story) {
			torn := was(0)
			torn.Val++
			s.begin(1, ReadCommitted).read(1, 0, 0, torn).commit(1)
		}},
		{"wrong row", "wrong row", func(s *story) {
			s.begin(1, ReadCommitted).read(1, 0, 0, was(0), was(1)).commit(1)
		}},
		{"deletion, insertion, and a reader between", "", func(s *story) {
			s.begin(1, ReadCommitted).remove(1, 0).commit(1).begin(2, Serializable).read(2, 0, 0).commit(2)
			s.begin(1, ReadCommitted).write(1, 0, 11).commit(1)
		}},
		{"insertion of what is there", "inserted twice", func(s *story) {
			s.begin(1, ReadCommitted).change(1, 0, &Row{ID: 0}, nil).commit(1)
		}},
		{"duplicate of nothing", "missing row", func(s *story) {
			s.begin(1, ReadCommitted).remove(1, 0).commit(1).begin(2, ReadCommitted)
			s.add(2, &statement{
				kind: dml, table: item, text: "INSERT", inserts: 0, reading: searching(ReadCommitted),
				err: errors.New("duplicate"), number: duplicateKey,
			}).commit(2)
		}},
		{"UPDLOCK keeps a row", "order", func(s *story) {
			r, _ := plain(ReadCommitted, true).with(&hint{"UPDLOCK", nil, locked}, ReadCommitted)
			s.begin(1, ReadCommitted).readWith(1, r, 0, 0, was(0)).begin(2, ReadCommitted).write(2, 0, 11).commit(2).commit(1)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStory()
			tt.tell(s)
			faults := Check(s.h)
			var all strings.Builder
			found := tt.rule == ""
			for _, f := range faults {
				found = found || f.Rule == tt.rule
				all.WriteString(f.String())
			}
			if !found || tt.rule == "" && len(faults) > 0 {
				t.Errorf("want %q, got:\n%s", tt.rule, all.String())
			}
		})
	}
}

// writeSkew: each reads what the other changes.
func writeSkew(s *story, level Level) {
	s.begin(1, level).begin(2, level).read(1, 0, 1, was(0), was(1)).read(2, 0, 1, was(0), was(1))
	s.write(1, 0, 0).write(2, 1, 0).commit(1).commit(2)
}

// readSkew: two rows are read, and both change between.
func readSkew(s *story, level Level) {
	s.begin(1, level).begin(2, level).read(1, 0, 0, was(0)).write(2, 0, 11).write(2, 1, 9).commit(2)
	s.read(1, 1, 1, s.row(1)).commit(1)
}

// phantom: a row comes into a range that was read, and is read or not.
func phantom(s *story, level Level, again bool) {
	s.begin(1, level).begin(2, ReadCommitted).read(1, 2, 5, was(2)).write(2, 4, 1).commit(2)
	if again {
		s.read(1, 2, 5, was(2), s.row(4))
	}
	s.commit(1)
}

// dirtyRead: a row is read before its writer rolls back.
func dirtyRead(s *story, level Level) {
	s.begin(1, ReadCommitted).write(1, 0, 11).begin(2, level)
	s.read(2, 0, 0, s.row(0)).commit(2).rollback(1)
}

// TestFinalState: the tables must hold what was committed, by every index.
func TestFinalState(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, rule string
		rows       func(s *story) []Row
		locks      int64
	}{
		{"as committed", "", func(s *story) []Row { return []Row{s.row(0), was(1), was(2)} }, 0},
		{"a commit is lost", "final state", func(*story) []Row { return []Row{was(0), was(1), was(2)} }, 0},
		{"a row is lost", "final state", func(s *story) []Row { return []Row{s.row(0), was(1)} }, 0},
		{"a row too much", "final state", func(s *story) []Row { return []Row{s.row(0), was(1), was(2), {ID: 9, Ver: 1}} }, 0},
		{"a key twice", "final state", func(s *story) []Row { return []Row{s.row(0), was(0), was(1), was(2)} }, 0},
		{"locks are left", "locks left", func(s *story) []Row { return []Row{s.row(0), was(1), was(2)} }, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStory().begin(1, ReadCommitted).write(1, 0, 11).commit(1)
			s.h.final, s.h.locks = []finalRead{{item, "id >= 0", tt.rows(s)}}, tt.locks
			faults := Check(s.h)
			if tt.rule == "" && len(faults) > 0 || tt.rule != "" && (len(faults) == 0 || faults[0].Rule != tt.rule) {
				t.Errorf("want %q, got %v", tt.rule, faults)
			}
		})
	}
}

// TestExplanation: a circle is told with the statements that have part in it.
func TestExplanation(t *testing.T) {
	t.Parallel()
	s := newStory()
	writeSkew(s, Serializable)
	faults := Check(s.h)
	if len(faults) != 1 {
		t.Fatalf("got %d faults, want 1: %v", len(faults), faults)
	}
	got := faults[0].String()
	for _, want := range []string{
		"the commit of S2.T2 is before the commit of S1.T1: S2.T2.1 found item 0 as the setup wrote it, which was to stay so, and then S1.T1.2 changed it",
		"S1.T1.3 was answered before S2.T2.3 was sent",
		"S1.T1.0 [SERIALIZABLE] BEGIN", "S2.T2.1 [SERIALIZABLE] SELECT", "S2.T2.3 [SERIALIZABLE] COMMIT",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestWaitsCircle: a circle of waits is seen, whichever of the blockers closes it.
func TestWaitsCircle(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		w    waits
		want bool
	}{
		{"nobody", waits{}, false},
		{"a line", waits{51: {52}, 52: {53}}, false},
		{"two", waits{51: {52}, 52: {51}}, true},
		{"by the second blocker", waits{51: {54, 52}, 52: {55, 53}, 53: {51}}, true},
		{"beside a line", waits{50: {51}, 51: {52}, 52: {51}}, true},
		{"a diamond", waits{51: {52, 53}, 52: {54}, 53: {54}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.w.circle(); got != tt.want {
				t.Errorf("%v: got %v, want %v", tt.w, got, tt.want)
			}
		})
	}
}

package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// change is one row that a statement wrote.
type change struct {
	key  key
	old  *Row       // nil: an insertion
	new  *Row       // nil: a deletion
	undo *statement // the rollback to a savepoint that took it back, or nil
}

type statementKind uint8

const (
	control   statementKind = iota // BEGIN, SAVE, SET: accesses no data
	query                          // rows as they are
	aggregate                      // count, sum and the versions of the rows
	dml                            // OUTPUT has the changes
	commit
	rollback
	rollbackTo // a savepoint
)

// statement is one statement of a session, with what came of it.
type statement struct {
	txn  *transaction
	n    int // within the transaction
	kind statementKind
	text string

	table    table
	where    predicate
	searches bool // where tells all that was looked at; false for INSERT and MERGE
	reading  reading
	inserts  int64 // key that is inserted, if it is one; -1 otherwise
	timeout  bool  // LOCK_TIMEOUT is finite
	version  int64 // ver of the rows that it writes

	sent, answered int64 // on the clock of the history
	err            error
	number         int32 // of the error message, -1 for cancelled
	waited         bool  // seen waiting for a lock (stepped)

	rows    []Row
	count   int64 // aggregate
	sum     int64
	changes []change
	undone  bool // came after a savepoint that was rolled back to
}

func (st *statement) failed() bool { return st.err != nil }

// name is how explanations call the statement.
func (st *statement) name() string { return fmt.Sprintf("%s.%d", st.txn, st.n) }

// outcome describes the answer in a few words.
func (st *statement) outcome() string {
	switch {
	case st.number == cancelled:
		return "cancelled"
	case st.failed():
		return fmt.Sprintf("error %d", st.number)
	case st.kind == aggregate:
		return fmt.Sprintf("count %d, sum %d, %s", st.count, st.sum, rowList(st.rows))
	case st.kind == query:
		return rowList(st.rows)
	case st.kind == dml:
		var b strings.Builder
		for i, c := range st.changes {
			if i > 0 {
				b.WriteString(", ")
			}
			switch {
			case c.old == nil:
				fmt.Fprintf(&b, "+%v", c.new)
			case c.new == nil:
				fmt.Fprintf(&b, "-%v", c.old)
			default:
				fmt.Fprintf(&b, "%v => %v", c.old, c.new)
			}
		}
		if b.Len() == 0 {
			return "no rows"
		}
		return b.String()
	}
	return "ok"
}

func rowList(rows []Row) string {
	if len(rows) == 0 {
		return "no rows"
	}
	sorted := slices.SortedFunc(slices.Values(rows), func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
	parts := make([]string, len(sorted))
	for i, r := range sorted {
		parts[i] = r.String()
	}
	return strings.Join(parts, " ")
}

// transaction is one transaction of a session.
type transaction struct {
	session, n int
	level      Level
	begun      bool // BEGIN TRANSACTION; otherwise the statement is its own
	abort      bool // XACT_ABORT
	statements []*statement
	committed  bool
	// ended is the statement that ended it.
	ended *statement
}

func (t *transaction) String() string { return fmt.Sprintf("S%d.T%d", t.session, t.n) }

// data are the statements that access tables.
func (t *transaction) data() func(yield func(*statement) bool) {
	return func(yield func(*statement) bool) {
		for _, s := range t.statements {
			if (s.kind == query || s.kind == aggregate || s.kind == dml) && !yield(s) {
				return
			}
		}
	}
}

// History is what happened.
type History struct {
	Params  Params
	initial map[key]Row
	txns    []*transaction
	final   []finalRead
	locks   int64 // left at the end
	waits   int   // statements that were seen waiting
	// Faults are what was found wrong while it ran.
	Faults []Fault
}

// finalRead is all rows of a table, read by one index at the end.
type finalRead struct {
	table table
	by    string
	rows  []Row
}

// Transactions returns how many transactions there were, and how many committed.
func (h *History) Transactions() (all, committed int) {
	for _, t := range h.txns {
		if t.committed {
			committed++
		}
	}
	return len(h.txns), committed
}

// Text writes down every statement in the order of the schedule, without what
// depends on time. Stepped histories of one seed have one text.
func (h *History) Text() string {
	var all []*statement
	for _, t := range h.txns {
		all = append(all, t.statements...)
	}
	slices.SortFunc(all, func(a, b *statement) int { return cmp.Compare(a.sent, b.sent) })
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%s %s\n", s.name(), s.line())
	}
	return b.String()
}

// line is the statement and what came of it.
func (st *statement) line() string {
	waits := ""
	if st.waited {
		waits = "  (waits)"
	}
	return fmt.Sprintf("[%s] %s%s  -> %s", st.txn.level, short.Replace(st.text), waits, st.outcome())
}

// short makes statements readable.
var short = strings.NewReplacer(
	" OUTPUT "+deletedColumns+", "+insertedColumns, "",
	" OUTPUT "+deletedColumns+", "+noColumns, "",
	" OUTPUT "+noColumns+", "+insertedColumns, "",
	"SELECT "+columns, "SELECT *",
	" ("+columns+")", "",
	"SET TRANSACTION ISOLATION LEVEL", "SET LEVEL",
)

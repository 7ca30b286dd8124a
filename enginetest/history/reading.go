package history

import "slices"

// moments is how many moments of reading a statement has.
type moments uint8

const (
	dirty        moments = iota // rows that were not committed may be seen
	perRow                      // each row is read at a moment of its own
	perStatement                // all rows at one
	perView                     // all statements of the transaction at one
)

// reading is what a statement promises of what it reads.
type reading struct {
	moments  moments
	rows     bool // the rows stay as they are to the end of the transaction
	ranges   bool // and what is not there stays away
	complete bool // no row is skipped
	hints    string
}

// WITH returns the hints as they are written.
func (r reading) WITH() string {
	if r.hints == "" {
		return ""
	}
	return " WITH (" + r.hints + ")"
}

// plain is reading without hints.
func plain(level Level, rcsi bool) reading {
	r := reading{moments: perRow, complete: true}
	switch level {
	case ReadUncommitted:
		r.moments = dirty
	case ReadCommitted:
		if rcsi {
			r.moments = perStatement
		}
	case RepeatableRead:
		r.rows = true
	case Serializable:
		r.rows, r.ranges = true, true
	case Snapshot:
		r.moments = perView
	}
	return r
}

// hint is a table hint of a query and what it makes of a reading. Only levels
// at which the documentation leaves no doubt are named.
type hint struct {
	text   string
	levels []Level // nil: all
	apply  func(*reading)
}

var hints = []hint{
	{"NOLOCK", nil, func(r *reading) { r.moments, r.rows, r.ranges = dirty, false, false }},
	{"READCOMMITTEDLOCK", nil, func(r *reading) { r.moments, r.rows, r.ranges = perRow, false, false }},
	{"REPEATABLEREAD", nil, func(r *reading) { r.moments, r.rows, r.ranges = perRow, true, false }},
	{"HOLDLOCK", nil, func(r *reading) { r.moments, r.rows, r.ranges = perRow, true, true }},
	{"UPDLOCK", nil, locked},
	{"UPDLOCK, ROWLOCK", nil, locked},
	{"UPDLOCK, HOLDLOCK", nil, func(r *reading) { r.moments, r.rows, r.ranges = perRow, true, true }},
	{"XLOCK", nil, locked},
	{"XLOCK, HOLDLOCK", nil, func(r *reading) { r.moments, r.rows, r.ranges = perRow, true, true }},
	{"READPAST", []Level{RepeatableRead}, func(r *reading) { r.complete = false }},
	{"READPAST", []Level{ReadCommitted}, func(r *reading) { r.moments, r.complete = perRow, false }},
	{"UPDLOCK, READPAST", []Level{ReadCommitted, RepeatableRead}, func(r *reading) { locked(r); r.complete = false }},
	{"TABLOCK", []Level{ReadCommitted}, func(r *reading) { r.moments = perStatement }},
	{"TABLOCK", []Level{RepeatableRead, Serializable}, func(r *reading) { r.rows, r.ranges = true, true }},
	{"TABLOCK, HOLDLOCK", []Level{ReadCommitted, RepeatableRead}, func(r *reading) { r.moments, r.rows, r.ranges = perRow, true, true }},
	{"TABLOCKX", []Level{ReadCommitted, RepeatableRead, Serializable}, func(r *reading) { r.moments, r.rows, r.ranges = perStatement, true, true }},
}

// locked is UPDLOCK or XLOCK: the rows are read as they are now and stay so. A
// SNAPSHOT transaction locks what it sees in its view.
func locked(r *reading) {
	r.rows = true
	if r.moments != perView {
		r.moments = perRow
	}
}

// with returns the reading with a hint, and whether the hint is for this level.
func (r reading) with(h *hint, level Level) (reading, bool) {
	if h.levels != nil && !slices.Contains(h.levels, level) {
		return r, false
	}
	h.apply(&r)
	r.hints = h.text
	return r, true
}

// searching is how a statement that changes rows reads: it locks what it finds,
// and row versions are for SNAPSHOT alone.
func searching(level Level) reading {
	r := plain(level, false)
	if level == ReadUncommitted {
		r.moments = perRow
	}
	return r
}

// targetHints are hints of a table that is changed.
var targetHints = []hint{
	{"UPDLOCK", []Level{ReadUncommitted, ReadCommitted, RepeatableRead, Serializable}, func(*reading) {}},
	{"ROWLOCK, XLOCK", []Level{ReadUncommitted, ReadCommitted, RepeatableRead, Serializable}, func(*reading) {}},
	{"HOLDLOCK", []Level{ReadUncommitted, ReadCommitted, RepeatableRead, Serializable}, func(r *reading) { r.rows, r.ranges = true, true }},
	{"REPEATABLEREAD", []Level{ReadUncommitted, ReadCommitted, RepeatableRead}, func(r *reading) { r.rows = true }},
	{"TABLOCK", []Level{ReadCommitted, RepeatableRead, Serializable}, func(r *reading) { r.rows, r.ranges = true, true }},
	{"TABLOCKX", []Level{ReadCommitted, RepeatableRead, Serializable}, func(r *reading) { r.rows, r.ranges = true, true }},
	{"READPAST", []Level{ReadCommitted, RepeatableRead}, func(r *reading) { r.complete = false }},
}

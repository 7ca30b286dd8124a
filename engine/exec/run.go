package exec

import (
	"context"
	"sync"
	"time"

	"loopbroker/engine/catalog"
	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// run is the state of one execution.
type run struct {
	rt   Runtime
	vars []types.Value
	// rows has the current row of each source, nil for one that an outer join
	// made up; ids the row ids of modification targets.
	rows []types.Row
	ids  []storage.RowID
	// states are the caches of queries and spools, by their numbers.
	states []any
	// hit is set by a modification for each target row that it takes, so that
	// the scan below can give back the locks of the others.
	hit bool
	// nulls says that an aggregate left a NULL out: message 8153.
	nulls bool
	// ignored says that a duplicate key was left out: message 3604.
	ignored  bool
	privates []private
	// row counts the rows that are built, for NEXT VALUE FOR.
	row       uint64
	sequences []sequenceValue
	ticks     uint32

	ctx     context.Context
	timeout time.Duration
	views   []tableView
	// tables are those that the run may read or change. counting says that the
	// statement, in which their row locks are counted, has begun.
	tables    []*catalog.Table
	statement storage.Statement
	counting  bool
	// statementView is the one that the run closes.
	statementView *storage.View
	keyBuf        []byte
	// args is a stack of the arguments of the calls being evaluated.
	args []types.Value
}

// plainRuns are the states of expressions without queries, which need nothing
// but the session and its variables.
var plainRuns = sync.Pool{New: func() any { return &run{} }}

var runs = sync.Pool{New: func() any { return &run{} }}

// newRun returns the state for an execution with the given frame.
func newRun(rt Runtime, sources, states int) *run {
	r := runs.Get().(*run)
	r.rt, r.vars, r.ctx, r.timeout = rt, rt.Variables(), rt.Context(), rt.LockTimeout()
	r.rows = resize(r.rows, sources)
	r.ids = resize(r.ids, sources)
	r.states = resize(r.states, states)
	return r
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// end closes what the run still holds and gives its memory back.
func (r *run) end() {
	if r.statementView != nil {
		r.statementView.Close()
	}
	r.statement.End()
	clear(r.views)
	clear(r.privates)
	clear(r.rows)
	clear(r.ids)
	clear(r.states)
	*r = run{statement: r.statement, rows: r.rows[:0], ids: r.ids[:0], states: r.states[:0], views: r.views[:0], privates: r.privates[:0], keyBuf: r.keyBuf[:0], args: r.args[:0]}
	runs.Put(r)
}

// finish sends the warnings of a run that succeeded.
func (r *run) finish() {
	if r.nulls && r.rt.Options().AnsiWarnings {
		r.rt.Warn(8153, "Warning: Null value is eliminated by an aggregate or other SET operation.")
	}
	if r.ignored {
		r.rt.Warn(3604, "Duplicate key was ignored.")
	}
}

// undo takes back what a failed statement did to table variables.
func (r *run) undo() {
	for i := len(r.privates) - 1; i >= 0; i-- {
		r.privates[i].tx.RollbackTo(r.privates[i].mark)
	}
}

// tick ends the run when its context is cancelled; loops that do not wait for
// anything call it.
func (r *run) tick() error {
	r.ticks++
	if r.ticks&255 != 0 || r.ctx == nil {
		return nil
	}
	select {
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	default:
		return nil
	}
}

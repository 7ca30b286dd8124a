package session

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// frame is one activation of a program: a batch, a procedure, a trigger, a
// function or a dynamic batch.
type frame struct {
	caller *frame
	prog   *program
	rt     runtime
	module *catalog.Module
	pc     int
	pc0    int // the instruction that runs
	line   int32

	vars   []types.Value
	tables []*tableInstance
	// cursors are the cursors that cursor variables refer to, by slot.
	cursorVars map[int]*cursor
	// cursors are the LOCAL cursors by folded name.
	cursors map[string]*cursor

	tries  []tryBlock // the open TRY blocks, innermost last
	caught []*sqlerr.Error
	// started is @@TRANCOUNT when the frame began.
	started int

	returned int32
	// result is what RETURN of a function gave.
	result    types.Value
	scope     types.Value // SCOPE_IDENTITY
	inserted  []types.Row
	deleted   []types.Row
	updated   []int
	trigger   bool
	function  bool
	dynamic   bool // EXEC('…') and sp_executesql
	savedOpts setOptions
	savedDB   *catalog.Database
}

// tryBlock is an open TRY block.
type tryBlock struct {
	handler int // where its CATCH begins
	caught  int // how many CATCH blocks were running when it began
}

// tableInstance is the storage of one table variable in one frame.
type tableInstance struct {
	table *catalog.Table
	tx    *storage.Tx // open while a statement uses the table
	owned bool        // false for a table-valued parameter, which the caller owns
}

func (x *Session) newFrame(p *program, m *catalog.Module, caller *frame) *frame {
	f := &frame{
		caller: caller, prog: p, module: m,
		vars: make([]types.Value, len(p.vars)), tables: make([]*tableInstance, len(p.tables)),
		started: x.txn.count,
	}
	f.rt = runtime{x: x, f: f}
	return f
}

// call runs a frame's program as the current frame and ends the frame: SET
// options, database context, impersonation and temporary objects go back to
// what they were, as far as T-SQL says so for the kind of frame.
func (x *Session) call(f *frame, run func() error) error {
	if x.nesting >= maxNesting {
		return sqlerr.New(217)
	}
	nested := f.caller != nil
	f.savedOpts, f.savedDB = x.opts, x.db
	outer := x.frame
	x.frame = f
	if nested {
		x.nesting++
	}
	err := run()
	x.endImpersonation(f)
	f.cursors = nil
	x.dropTableVariables(f)
	if nested {
		x.nesting--
		x.dropTemporary(f)
		x.opts = f.savedOpts
		x.db = f.savedDB
	}
	x.frame = outer
	return err
}

// inTry reports whether an open TRY block could catch an error of frame f, in
// f itself or in a frame that called it.
func (f *frame) inTry() bool {
	for ; f != nil; f = f.caller {
		if len(f.tries) > 0 {
			return true
		}
	}
	return false
}

// inProc reports whether the client sees the statements of the frame as those
// of a procedure.
func (f *frame) inProc() bool {
	for ; f != nil; f = f.caller {
		if f.module != nil || f.dynamic {
			return true
		}
	}
	return false
}

// currentError is the error of the innermost CATCH block that is running, in
// this frame or a caller: ERROR_NUMBER() works in procedures that a CATCH calls.
func (x *Session) currentError() *sqlerr.Error {
	for f := x.frame; f != nil; f = f.caller {
		if n := len(f.caught); n > 0 {
			return f.caught[n-1]
		}
	}
	return nil
}

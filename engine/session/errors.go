package session

import (
	"context"
	"errors"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
)

// batchEnd ends the batch. What there was to say has been sent to the client;
// err is the error that ended it, nil when the client ended it.
type batchEnd struct{ err *sqlerr.Error }

// Error implements error.
func (b *batchEnd) Error() string { return "batch ended" }

// scopeError is an error found when a statement was compiled: no TRY of the
// same frame catches it, and without one in a caller it ends the frame only.
type scopeError struct{ err *sqlerr.Error }

// Error implements error.
func (s *scopeError) Error() string { return s.err.Error() }

// Unwrap lets errors.As see the error itself.
func (s *scopeError) Unwrap() error { return s.err }

// thrown marks an error of THROW, which ends the batch.
type thrown struct{ err *sqlerr.Error }

// Error implements error.
func (t *thrown) Error() string { return t.err.Error() }

// Unwrap lets errors.As see the error itself.
func (t *thrown) Unwrap() error { return t.err }

// raised marks an error of RAISERROR, which XACT_ABORT does not see.
type raised struct{ err *sqlerr.Error }

// Error implements error.
func (r *raised) Error() string { return r.err.Error() }

// Unwrap lets errors.As see the error itself.
func (r *raised) Unwrap() error { return r.err }

// outcome is what an error ends beside its statement.
type outcome struct {
	batch       bool // the batch
	transaction bool // the transaction: rolled back, or doomed inside TRY
}

// endsBatch are the errors that end the batch and roll the transaction back
// whatever XACT_ABORT says: conversion and overflow of dates, deadlock, doomed
// transactions, triggers that ended the transaction, remote calls. Source:
// "Error handling in SQL Server" and the pages of the numbers in Microsoft's
// documentation.
var endsBatch = map[int32]outcome{
	220:  {}, // arithmetic overflow ends the statement
	241:  {batch: true, transaction: true},
	242:  {},
	245:  {batch: true, transaction: true},
	295:  {batch: true, transaction: true},
	650:  {batch: true, transaction: true},
	1205: {batch: true, transaction: true},
	3609: {batch: true, transaction: true},
	3616: {batch: true, transaction: true},
	2714: {batch: true},
	8146: {batch: true, transaction: true},
	3915: {batch: true},
	3916: {batch: true},
	3930: {batch: true, transaction: true},
	3951: {batch: true, transaction: true},
	3952: {},
	3960: {batch: true, transaction: true},
	3961: {batch: true, transaction: true},
	3998: {batch: true, transaction: true},
	7391: {batch: true, transaction: true},
	8169: {batch: true, transaction: true},
	217:  {batch: true, transaction: true},
	266:  {},
}

// outcomeOf says what an error ends under the session's options.
func (x *Session) outcomeOf(err error, e *sqlerr.Error) outcome {
	var (
		t *thrown
		r *raised
	)
	o := endsBatch[e.Number]
	var p *propagated
	switch {
	case errors.As(err, &p):
		return p.outcome
	case errors.As(err, &t):
		o = outcome{batch: true, transaction: x.opts.xactAbort}
	case errors.As(err, &r):
		return outcome{}
	}
	if x.opts.xactAbort && e.Class > 10 {
		o.batch, o.transaction = true, true
	}
	return o
}

// propagated is an error on its way to the TRY of a caller. What it ends was
// decided by the options that were in force where it was raised.
type propagated struct {
	err *sqlerr.Error
	outcome
}

// Error implements error.
func (p *propagated) Error() string { return p.err.Error() }

// Unwrap lets errors.As see the error itself.
func (p *propagated) Unwrap() error { return p.err }

// sqlError names an error of any layer by its number. Errors of the storage
// that the executor could not name more precisely are named here, once.
func (x *Session) sqlError(err error) *sqlerr.Error {
	var e *sqlerr.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, storage.ErrDeadlock):
		return sqlerr.New(1205, x.id, "lock")
	case errors.Is(err, storage.ErrLockTimeout):
		return sqlerr.New(1222)
	case errors.Is(err, storage.ErrSnapshotConflict):
		return sqlerr.New(3960, "", x.db.Name)
	case errors.Is(err, storage.ErrSnapshotSchema):
		return sqlerr.New(3961, x.db.Name)
	case errors.Is(err, storage.ErrDropped):
		return sqlerr.New(8630, "the table was dropped while the statement ran")
	case errors.Is(err, storage.ErrLogFailed):
		return sqlerr.New(9001, x.db.Name)
	case errors.Is(err, storage.ErrClosed):
		return sqlerr.New(6005)
	case errors.Is(err, storage.ErrLogFull):
		return sqlerr.New(9002, x.db.Name, "NOTHING")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return sqlerr.New(596)
	}
	return sqlerr.New(8630, err.Error())
}

// handle decides what becomes of an error of the instruction that ran. A nil
// result means that the frame goes on at f.pc; any other ends the frame.
func (x *Session) handle(f *frame, err error) error {
	var end *batchEnd
	if errors.As(err, &end) {
		return err
	}
	if x.interrupted() != nil {
		// The request is over; no TRY sees it. What becomes of the transaction is
		// for the option that is in force here, not where the request began.
		if !x.cut {
			x.cut, x.cutAborts = true, x.opts.xactAbort
		}
		return err
	}
	e := x.sqlError(err).At(f.line)
	if e.Procedure == "" && f.module != nil {
		e = inModule(e, f)
	}
	err = rewrap(err, e)
	x.lastError, x.rowCount = e.Number, 0
	o := x.outcomeOf(err, e)

	var scope *scopeError
	compile := errors.As(err, &scope)
	if len(f.tries) > 0 && !compile && e.Class < 20 {
		x.endResult(false)
		x.enterCatch(f, e, o)
		return nil
	}
	if (f.function || f.caller.inTry()) && e.Class < 20 {
		x.endResult(false)
		return &propagated{e, o} // the caller's TRY catches it, or the calling statement fails
	}
	x.send(e)
	x.endResult(true)
	return x.uncaught(f, e, o, compile)
}

// uncaught ends what an error ends that no TRY catches. It has been sent.
func (x *Session) uncaught(f *frame, e *sqlerr.Error, o outcome, compile bool) error {
	if e.Class >= 20 {
		x.txn.rollback(x)
		return &batchEnd{e}
	}
	if o.transaction || o.batch && x.triggers > 0 {
		x.txn.rollback(x)
	}
	if o.batch {
		return &batchEnd{e}
	}
	if compile {
		if f.caller == nil {
			return &batchEnd{e}
		}
		f.pc = len(f.prog.code) // ends this frame; the caller goes on
		f.returned = -6
		return nil
	}
	if f.pc0 < len(f.prog.code) && changesData(f.prog.code[f.pc0].stmt) && !refused[e.Number] {
		x.inform(3621, 0, "The statement has been terminated.")
	}
	return nil
}

// changesData reports whether a statement is one after whose errors SQL Server
// adds message 3621.
func changesData(s syntax.Statement) bool {
	switch s := s.(type) {
	case *syntax.Insert, *syntax.Update, *syntax.Delete, *syntax.Merge, *syntax.CreateIndex:
		return true
	case *syntax.AlterTable:
		return s.Action.AlterColumn != nil
	case *syntax.SelectStmt:
		q, ok := s.Query.(*syntax.Select)
		return ok && q.Into != nil
	}
	return false
}

// refused are the errors of statements that never began to run.
var refused = map[int32]bool{
	229: true, 230: true, 1902: true, 1911: true, 1913: true, 1088: true, 40510: true,
	8101: true, 544: true, 545: true, 4924: true, 4928: true, 5074: true, 4922: true, 4902: true, 8164: true, 213: true, 2812: true, 1934: true,
}

// enterCatch makes the frame go on in its innermost CATCH block.
func (x *Session) enterCatch(f *frame, e *sqlerr.Error, o outcome) {
	n := len(f.tries) - 1
	f.pc = f.tries[n].handler
	f.caught = append(f.caught[:f.tries[n].caught], e)
	f.tries = f.tries[:n]
	if o.transaction {
		x.txn.doom(x)
	}
}

// inModule returns the error with the name of the frame's module.
func inModule(e *sqlerr.Error, f *frame) *sqlerr.Error {
	c := *e
	c.Procedure = moduleName(f.module)
	return &c
}

// moduleName is the name of a module in errors and messages.
func moduleName(m *catalog.Module) string { return m.Schema + "." + m.Name }

// rewrap puts a completed error into the wrapper that err had.
func rewrap(err error, e *sqlerr.Error) error {
	var (
		t *thrown
		r *raised
		s *scopeError
		p *propagated
	)
	switch {
	case errors.As(err, &p):
		return &propagated{e, p.outcome}
	case errors.As(err, &t):
		return &thrown{e}
	case errors.As(err, &r):
		return &raised{e}
	case errors.As(err, &s):
		return &scopeError{e}
	}
	return e
}

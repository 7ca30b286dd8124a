package session

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"loopbroker/engine/builtin"
	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

// maxNesting is the deepest nesting of procedures, functions and triggers.
const maxNesting = 32

// Session is one client's session. It is used by one goroutine at a time.
type Session struct {
	srv *Server
	id  int32

	originalLogin *catalog.Login
	ident         identity   // who the session is now
	impersonated  []identity // those that EXECUTE AS has replaced
	db            *catalog.Database

	opts     setOptions
	initial  setOptions // what a reset restores
	initialD *catalog.Database
	language string

	owner *storage.Owner
	txn   transaction

	frame        *frame
	ctx          context.Context
	out          wire.Output
	inserting    *capture // INSERT … EXEC in progress
	lastError    int32
	rowCount     int64
	lastIdentity types.Value
	scope        types.Value // SCOPE_IDENTITY of the client's batches
	triggers     int         // depth of running triggers
	nesting      int32
	statement    time.Time // the clock of the running statement
	fetchState   int64
	cursorRows   int64
	ended        int64 // counts transactions that have ended as a whole

	temps    tempTables
	context  map[string]contextValue
	ctxInfo  []byte
	cursors  map[string]*cursor
	prepared map[int32]*preparedStatement
	nextPrep int32
	insertOn int32 // object id of SET IDENTITY_INSERT, 0 for none
	insertDB uint32
	local    map[*lazyStatement]*compiledStatement
	loopback bool // a session that a linked server opened
	// bulk is the INSERT BULK statement whose rows come next, nil for none.
	bulk *syntax.InsertBulk
	// quiet is set while rows are loaded that fire no triggers.
	quiet     bool
	info      sessionInfo
	lastCall  callCache
	argStack  []actual     // of the calls in progress
	sent      []wire.Param // of the remote call in progress
	killFunc  func(cause error)
	functions int // depth of running user-defined functions
	random    builtin.Random
	// lastFatal is the error that ended the last request's batch, nil when none did.
	lastFatal *sqlerr.Error
	// cutResult ends the result set of the statement that has just failed.
	cutResult *wire.Done
	// cut is set when the client's attention, or its end, has reached the running
	// statement, cutAborts when XACT_ABORT was on there.
	cut, cutAborts bool
}

// identity is a security context.
type identity struct {
	login *catalog.Login
	user  *catalog.Principal
	// database is set for a database-scoped context (EXECUTE AS USER or OWNER):
	// it may not leave its database or use a linked server.
	database *catalog.Database
	// impersonating is set for every context made by EXECUTE AS.
	impersonating bool
	noRevert      bool
	cookie        []byte
	frame         *frame // where it was set; it ends there at the latest
}

func newSession(srv *Server, id int32, login *catalog.Login, db *catalog.Database, user *catalog.Principal, req wire.LoginRequest) *Session {
	x := &Session{
		srv: srv, id: id, originalLogin: login, db: db, initialD: db,
		ident: identity{login: login, user: user},
		opts:  defaultOptions(true), killFunc: req.Kill,
		owner: srv.store.NewOwner(id), language: "us_english",
		local: map[*lazyStatement]*compiledStatement{},
	}
	x.initial = x.opts
	x.info.init(req, srv.now())
	return x
}

// ID implements wire.Session.
func (x *Session) ID() int32 { return x.id }

// Database implements wire.Session.
func (x *Session) Database() string { return x.db.Name }

// Language implements wire.Session.
func (x *Session) Language() string { return x.language }

// Collation implements wire.Session.
func (x *Session) Collation() *types.Collation { return x.db.Collation }

// Close implements wire.Session: it rolls the transaction back and drops what
// is temporary.
func (x *Session) Close() {
	x.txn.rollback(x)
	x.dropTemporary(nil)
	x.owner.Close()
	x.srv.forget(x.id)
}

// Reset implements wire.Session. As in SQL Server on-premises the isolation
// level is not reset: it leaks to the next user of a pooled connection.
func (x *Session) Reset(_ context.Context, keepTransaction bool) error {
	if !keepTransaction {
		x.txn.rollback(x)
	}
	x.dropTemporary(nil)
	level := x.opts.isolation
	x.opts = x.initial
	x.opts.isolation = level
	x.db = x.initialD
	x.impersonated = nil
	user, ok := x.db.UserOf(x.originalLogin)
	if !ok {
		return sqlerr.New(4060, x.db.Name)
	}
	x.ident = identity{login: x.originalLogin, user: user}
	x.context, x.ctxInfo, x.cursors, x.prepared = nil, nil, nil, nil
	x.lastError, x.rowCount, x.fetchState, x.insertOn = 0, 0, 0, 0
	x.lastIdentity, x.scope = types.Null, types.Null
	x.owner.ForgetWaits()
	x.owner.ReleaseAll() // the owner stays: a transaction that is kept is its own
	return nil
}

// Batch implements wire.Session.
func (x *Session) Batch(ctx context.Context, text string, out wire.Output) {
	x.request(ctx, out, inputBuffer{languageEvent, text}, func() error {
		p, err := x.parse(text, nil)
		if err != nil {
			return err
		}
		return x.runBatch(p)
	})
}

// Transaction implements wire.Session.
func (x *Session) Transaction(ctx context.Context, req wire.TMRequest, out wire.Output) {
	x.request(ctx, out, inputBuffer{}, func() error { return x.transactionRequest(req) })
}

// Bulk implements wire.Session.
func (x *Session) Bulk(ctx context.Context, req wire.BulkRequest, out wire.Output) {
	x.request(ctx, out, inputBuffer{languageEvent, "INSERT BULK"}, func() error { return x.bulkLoad(req) })
}

// request runs one request: it sets the session's context and output, turns a
// panic into an error that ends the connection, and applies the rules for the
// end of a batch.
func (x *Session) request(ctx context.Context, out wire.Output, input inputBuffer, run func() error) {
	x.ctx, x.out = ctx, out
	x.cut, x.cutAborts, x.cutResult = false, false, nil
	x.statement, x.lastFatal = time.Time{}, nil
	x.info.begin(x, input)
	defer func() {
		if p := recover(); p != nil {
			x.srv.log.Error().Interface("panic", p).Bytes("stack", debug.Stack()).Int32("session", x.id).Msg("request panicked")
			x.txn.rollback(x)
			e := sqlerr.New(8630, fmt.Sprint(p))
			e.Class = 20
			x.send(e)
		}
		x.frame, x.inserting, x.triggers, x.nesting, x.functions = nil, nil, 0, 0, 0
		x.info.end(x)
		x.ctx, x.out = nil, nil
	}()
	if err := run(); err != nil {
		x.endRequest(err)
	}
	if x.txn.doomed {
		x.txn.rollback(x)
		x.send(sqlerr.New(3998))
	}
}

// endRequest reports an error that nothing has handled yet.
func (x *Session) endRequest(err error) {
	var end *batchEnd
	if errors.As(err, &end) {
		x.lastFatal = end.err
		return // reported where it happened
	}
	if cause := x.interrupted(); cause != nil {
		if errors.Is(cause, errKilled) {
			x.txn.rollback(x)
			x.send(sqlerr.New(596))
			return
		}
		if x.cutAborts || !x.cut && x.opts.xactAbort {
			x.txn.rollback(x)
		}
		return
	}
	e := x.sqlError(err)
	x.lastError = e.Number
	x.send(e)
}

// interrupted returns why the request must end, nil when it need not.
func (x *Session) interrupted() error { return context.Cause(x.ctx) }

// send reports an error to the client.
func (x *Session) send(e *sqlerr.Error) {
	m := wire.ErrorMessage(e)
	switch m.Line {
	case 0:
		m.Line = 1
	case noLine:
		m.Line = 0
	}
	x.message(m)
}

// message sends a message; a client that is gone is noticed by the context.
func (x *Session) message(m wire.Message) {
	m.Server = x.srv.cat.Name
	_ = x.out.Message(m)
}

// inform sends an informational message.
func (x *Session) inform(number int32, state uint8, text string) {
	m := wire.Message{Number: number, State: state, Text: text, Line: 1}
	if f := x.frame; f != nil {
		m.Line = f.line
		if f.module != nil {
			m.Procedure = moduleName(f.module)
		}
	}
	x.message(m)
}

// runBatch runs a batch in a frame of its own.
func (x *Session) runBatch(p *program) error {
	f := x.newFrame(p, nil, nil)
	f.scope = x.scope
	err := x.call(f, func() error { return x.run(f) })
	x.scope = f.scope
	return err
}

package session

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

// defaultQueryTimeout is the server's 'remote query timeout', in seconds.
const defaultQueryTimeout = 600

// errQueryTimeout ends a remote call that took longer than the linked server's
// query timeout.
var errQueryTimeout = errors.New("remote query timeout")

// linkPool keeps the sessions of the loopback between calls, by linked server
// and login. It is safe for concurrent use.
type linkPool struct {
	mu   sync.Mutex
	idle map[linkKey][]*Session
	shut bool
}

type linkKey struct{ login, database string }

// maxIdleLinks is how many sessions are kept for one login and database.
const maxIdleLinks = 100

func (p *linkPool) take(k linkKey) *Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[k]
	if len(list) == 0 {
		return nil
	}
	x := list[len(list)-1]
	p.idle[k] = list[:len(list)-1]
	return x
}

func (p *linkPool) put(k linkKey, x *Session) {
	p.mu.Lock()
	if p.shut || len(p.idle[k]) >= maxIdleLinks {
		p.mu.Unlock()
		x.Close()
		return
	}
	if p.idle == nil {
		p.idle = map[linkKey][]*Session{}
	}
	p.idle[k] = append(p.idle[k], x)
	p.mu.Unlock()
}

func (p *linkPool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.shut = nil, true
	p.mu.Unlock()
	for _, list := range idle {
		for _, x := range list {
			x.Close()
		}
	}
}

// link checks that the session may use a linked server for a remote call, in
// the order in which SQL Server checks, and returns it with the login mapping.
func (x *Session) link(name string) (*catalog.LinkedServer, catalog.LoginMapping, error) {
	var none catalog.LoginMapping
	l, ok := x.srv.cat.LinkedServer(name)
	if !ok {
		return nil, none, sqlerr.New(7202, name)
	}
	if !l.RPCOut {
		return nil, none, sqlerr.New(7411, l.Name, "RPC")
	}
	if !x.opts.ansiNulls || !x.opts.ansiWarnings {
		return nil, none, sqlerr.New(7405)
	}
	if x.ident.database != nil {
		return nil, none, sqlerr.New(15274)
	}
	m, ok := l.Mapping(x.ident.login.Name)
	if !ok {
		if x.ident.impersonating {
			return nil, none, sqlerr.New(7437)
		}
		return nil, none, sqlerr.New(7416)
	}
	if m.Self && x.ident.impersonating {
		return nil, none, sqlerr.New(7437)
	}
	if x.opts.isolation == storage.Snapshot && x.txn.count > 0 {
		return nil, none, sqlerr.New(7420, "SNAPSHOT")
	}
	if l.PromoteTransactions && x.txn.count > 0 {
		return nil, none, sqlerr.New(7391, l.Provider, l.Name)
	}
	return l, m, nil
}

// linkLogin is the login as which a call appears at this server, error 18456
// and 7303.
func (x *Session) linkLogin(m catalog.LoginMapping) (*catalog.Login, error) {
	if m.Self {
		return x.ident.login, nil
	}
	login, ok := x.srv.cat.Login(m.User)
	if !ok || login.Disabled || !login.Verify(m.Password) {
		return nil, sqlerr.New(18456, m.User)
	}
	return login, nil
}

// callRemote calls a procedure of a linked server.
func (x *Session) callRemote(n syntax.Name, args []actual) (code int32, null bool, err error) {
	l, m, err := x.link(n.Server.Name)
	if err != nil {
		return 0, true, err
	}
	call := wire.Call{Name: quotedName(n), Params: x.sent[:0]}
	defer func() {
		clear(x.sent)
		x.sent = x.sent[:0]
	}()
	for i := range args {
		a := &args[i]
		if a.table != nil {
			return 0, true, sqlerr.New(7380)
		}
		if a.output && a.typ.Length == types.Max {
			return 0, true, sqlerr.New(7396)
		}
		call.Params = append(call.Params, wire.Param{Name: a.name, Type: a.typ, Value: a.value, Output: a.output, Default: a.isDef})
	}
	x.sent = call.Params
	r, err := x.remote(l, m, n, func(y *Session, ctx context.Context, out wire.Output) { y.RPC(ctx, call, out) })
	if err != nil {
		return 0, true, err
	}
	for _, v := range r.values {
		if err := args[v.ordinal].assign(v.value); err != nil {
			return 0, true, err
		}
	}
	return r.status, !r.hasStatus, r.ended
}

// executeAt is EXEC ('…') AT server.
func (x *Session) executeAt(_ *frame, e *execStatement, text string) error {
	l, m, err := x.link(e.at)
	if err != nil {
		return err
	}
	if len(e.args) > 0 {
		return sqlerr.Unsupported("parameters of EXECUTE … AT")
	}
	r, err := x.remote(l, m, syntax.Name{}, func(y *Session, ctx context.Context, out wire.Output) { y.Batch(ctx, text, out) })
	if err != nil {
		return err
	}
	return r.ended
}

// remote runs a request in a session of the linked server.
func (x *Session) remote(l *catalog.LinkedServer, m catalog.LoginMapping, n syntax.Name, run func(y *Session, ctx context.Context, out wire.Output)) (*relay, error) {
	if !x.srv.isSelf(l.DataSource) {
		return nil, sqlerr.Unsupported("linked server to another address than this server's own (" + l.DataSource + ")")
	}
	login, err := x.linkLogin(m)
	if err != nil {
		return nil, err
	}
	database := l.Catalog
	if database == "" {
		database = login.Database
	}
	key := linkKey{catalog.Fold(login.Name), catalog.Fold(database)}
	y := x.srv.links.take(key)
	if y == nil {
		if y, err = x.srv.open(login, wire.LoginRequest{User: login.Name, Database: database, AppName: "Microsoft SQL Server", Hostname: x.info.host, ODBC: true}); err != nil {
			return nil, err
		}
		y.loopback = true
	}
	timeout := l.QueryTimeout
	if timeout == 0 {
		timeout = defaultQueryTimeout
	}
	ctx, cancel := context.WithTimeoutCause(x.ctx, time.Duration(timeout)*time.Second, errQueryTimeout)
	defer cancel()
	x.srv.loopbackCalls.Add(1)
	x.info.wait(x, "OLEDB")
	r := &relay{x: x}
	run(y, ctx, r)
	x.info.wait(x, "")
	timedOut := errors.Is(context.Cause(ctx), errQueryTimeout)
	r.fatal = y.lastFatal
	r.finish()
	if err := y.Reset(x.background(), false); err != nil {
		y.Close()
	} else {
		y.opts.isolation = storage.ReadCommitted // the provider sets it for each call
		x.srv.links.put(key, y)
	}
	if err := x.interrupted(); err != nil {
		return nil, err
	}
	if timedOut {
		return nil, sqlerr.New(7214, timeout, displayName(n))
	}
	if r.fatal != nil {
		r.ended = r.fatal
	}
	return r, nil
}

// quotedName is the name without the server.
func quotedName(n syntax.Name) string {
	out := ""
	for _, p := range []syntax.Ident{n.Database, n.Schema, n.Object} {
		if p.Name == "" && out == "" {
			continue
		}
		if out != "" {
			out += "."
		}
		if p.Name != "" {
			out += "[" + strings.ReplaceAll(p.Name, "]", "]]") + "]"
		}
	}
	return out
}

// relay is the output of a remote call: messages and result sets go on to the
// caller's client, the return code and output parameters are kept. An error
// that ends only a statement over there does not reach a CATCH over here.
type relay struct {
	x         *Session
	status    int32
	hasStatus bool
	values    []remoteValue
	held      *wire.Message // an error not yet passed on
	fatal     *sqlerr.Error // what ended the batch over there
	ended     error
}

type remoteValue struct {
	ordinal int
	value   types.Value
}

// finish passes on the error that is held back, unless it is the one that ended
// the batch over there: that one is raised over here.
func (r *relay) finish() {
	if r.held != nil && r.fatal != nil && r.held.Number == r.fatal.Number {
		r.held = nil
	}
	_ = r.pass()
}

// pass sends the error that is held back.
func (r *relay) pass() error {
	m := r.held
	if m == nil {
		return nil
	}
	r.held = nil
	return r.x.out.Message(*m)
}

// Columns implements wire.Output.
func (r *relay) Columns(cols []wire.Column) error {
	if err := r.pass(); err != nil {
		return err
	}
	return r.x.out.Columns(cols)
}

// Row implements wire.Output.
func (r *relay) Row(v []types.Value) error { return r.x.out.Row(v) }

// Done implements wire.Output.
func (r *relay) Done(d wire.Done) error {
	if d.Proc {
		return nil
	}
	d.InProc = true
	if !d.Error {
		if err := r.pass(); err != nil {
			return err
		}
	}
	return r.x.out.Done(d)
}

// Message implements wire.Output. An error is held back until it is known
// whether it ended the batch over there.
func (r *relay) Message(m wire.Message) error {
	if err := r.pass(); err != nil {
		return err
	}
	if m.Class > 10 {
		r.held = &m
		return nil
	}
	return r.x.out.Message(m)
}

// ReturnStatus implements wire.Output.
func (r *relay) ReturnStatus(n int32) error {
	r.status, r.hasStatus = n, true
	return nil
}

// ReturnValue implements wire.Output.
func (r *relay) ReturnValue(ordinal int, _ string, _ types.Type, v types.Value) error {
	r.values = append(r.values, remoteValue{ordinal, v})
	return nil
}

// Env implements wire.Output: the other session's environment is its own.
func (r *relay) Env(wire.EnvChange) error { return nil }

// Flush implements wire.Output.
func (r *relay) Flush() error { return r.x.out.Flush() }

// drop ends the idle sessions in a database that is going away.
func (p *linkPool) drop(database string) {
	p.mu.Lock()
	var gone []*Session
	for k, list := range p.idle {
		if k.database == catalog.Fold(database) {
			gone = append(gone, list...)
			delete(p.idle, k)
		}
	}
	p.mu.Unlock()
	for _, x := range gone {
		x.Close()
	}
}

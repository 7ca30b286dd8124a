package session

import (
	"errors"
	"sync/atomic"

	"loopbroker/engine/builtin"
	"loopbroker/engine/catalog"
	"loopbroker/engine/exec"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// resolution is what a compiled query or expression depends on: the database
// it was resolved in, at a version of its catalog, under SET options that are
// fixed when a statement is compiled.
type resolution struct {
	database uint32
	version  uint64
	schema   string
	options  builtin.Options
}

func (x *Session) resolution() resolution {
	return resolution{database: x.db.ID, version: x.db.Version(), schema: x.defaultSchema(), options: x.opts.builtin()}
}

// lazyExpr is an expression that is compiled when it first runs.
type lazyExpr struct {
	src syntax.Expr
	// condition compiles the expression as a condition.
	condition bool
	compiled  atomic.Pointer[compiledExpr]
}

type compiledExpr struct {
	resolution
	expr *exec.Expr
	// resolves says that the expression names objects of the catalog, so that
	// it must be compiled again when the catalog has changed.
	resolves bool
}

func newLazyExpr(e syntax.Expr) *lazyExpr {
	return &lazyExpr{src: e}
}

func newLazyCondition(e syntax.Expr) *lazyExpr {
	return &lazyExpr{src: e, condition: true}
}

// optionalExpr is newLazyExpr for a part that may be absent.
func optionalExpr(e syntax.Expr) *lazyExpr {
	if e == nil {
		return nil
	}
	return newLazyExpr(e)
}

// compile returns the compiled expression.
func (l *lazyExpr) compile(x *Session, f *frame) (*compiledExpr, error) {
	c := l.compiled.Load()
	now := x.resolution()
	if c != nil && (c.resolution == now || !c.resolves && c.options == now.options) {
		return c, nil
	}
	b := &binder{x: x, p: f.prog}
	defer b.close()
	var (
		e   *exec.Expr
		err error
	)
	if l.condition {
		e, err = exec.CompileCondition(b, l.src)
	} else {
		e, err = exec.CompileExpr(b, l.src)
	}
	if err != nil {
		return nil, compileError(err)
	}
	c = &compiledExpr{resolution: now, expr: e, resolves: b.resolved}
	if len(b.temps) == 0 {
		l.compiled.Store(c)
	}
	return c, nil
}

// eval evaluates the expression in a frame. A query within it runs in the
// session's transaction.
func (l *lazyExpr) eval(x *Session, f *frame) (types.Value, error) {
	c, err := l.compile(x, f)
	if err != nil {
		return types.Null, err
	}
	if !c.resolves {
		return c.expr.Eval(&f.rt)
	}
	if err := x.permittedUses(f, c.expr.Uses()); err != nil {
		return types.Null, err
	}
	var v types.Value
	err = x.inStatement(f, access{tables: c.expr.Tables(), modules: c.expr.Modules()}, func() error {
		var err error
		v, err = c.expr.Eval(&f.rt)
		return err
	})
	return v, err
}

// truth evaluates a condition; unknown is false.
func (l *lazyExpr) truth(x *Session, f *frame) (bool, error) {
	v, err := l.eval(x, f)
	return err == nil && !v.IsNull() && v.Bool(), err
}

// lazyStatement is a query or data modification that is compiled when it first
// runs.
type lazyStatement struct {
	src      syntax.Statement
	compiled atomic.Pointer[compiledStatement]
}

type compiledStatement struct {
	resolution
	stmt *exec.Statement
	// temps are the session's temporary tables that the statement was bound
	// to; with any, the compiled form belongs to one session.
	temps []*catalog.Table
}

// compile returns the compiled statement.
func (l *lazyStatement) compile(x *Session, f *frame) (*exec.Statement, error) {
	now := x.resolution()
	if c := l.compiled.Load(); c != nil && c.resolution == now {
		return c.stmt, nil
	}
	if c := x.local[l]; c != nil && c.resolution == now && x.sameTemps(c.temps) {
		return c.stmt, nil
	}
	b := &binder{x: x, p: f.prog}
	defer b.close()
	stmt, err := exec.CompileStatement(b, l.src)
	if err != nil {
		return nil, compileError(err)
	}
	c := &compiledStatement{resolution: now, stmt: stmt, temps: b.temps}
	if len(b.temps) > 0 {
		x.local[l] = c
	} else {
		l.compiled.Store(c)
	}
	return stmt, nil
}

// compileError marks an error of binding: it is one of the scope, not of the
// statement.
func compileError(err error) error {
	if e := (*sqlerr.Error)(nil); errors.As(err, &e) {
		return &scopeError{e}
	}
	return err
}

package session

import (
	"slices"
	"strings"
	"time"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

func (c *compiler) statements(list []syntax.Statement) error {
	for _, s := range list {
		if err := c.statement(s); err != nil {
			return err
		}
	}
	return nil
}

// statement compiles one statement.
func (c *compiler) statement(s syntax.Statement) error {
	if err := c.declared(s); err != nil {
		return err
	}
	if err := checkTransactionName(s); err != nil {
		return err
	}
	if c.inFunction() {
		if err := sideEffect(s); err != nil {
			return err
		}
	}
	switch s := s.(type) {
	case *syntax.Block:
		return c.statements(s.Body)
	case *syntax.If:
		return c.ifStatement(s)
	case *syntax.While:
		return c.whileStatement(s)
	case *syntax.Break, *syntax.Continue:
		return c.loopExit(s)
	case *syntax.Goto:
		at := c.emit(s, nil)
		c.gotos = append(c.gotos, pendingGoto{at: at, label: catalog.Fold(s.Label.Name), line: s.Line, within: c.within})
		return nil
	case *syntax.Label:
		key := catalog.Fold(s.Name.Name)
		if _, twice := c.p.labels[key]; twice {
			return sqlerr.New(132, s.Name.Name).At(s.Line)
		}
		c.p.labels[key] = label{at: c.here(), within: c.within}
		return nil
	case *syntax.TryCatch:
		return c.tryCatch(s)
	case *syntax.Declare:
		return c.declareStatement(s)
	case *syntax.Return:
		return c.returnStatement(s)
	case *syntax.SelectStmt, *syntax.Insert, *syntax.Update, *syntax.Delete, *syntax.Merge, *syntax.Truncate:
		return c.queryStatement(s)
	}
	for _, family := range []func(syntax.Statement) bool{
		c.simpleStatement, c.transactionStatement, c.backupStatement, c.setStatement, c.dbccStatement, c.execStatement, c.cursorStatement, c.ddlStatement, c.securityStatement,
	} {
		if family(s) {
			return nil
		}
	}
	feature := "this statement"
	if u, ok := s.(*syntax.Unsupported); ok {
		feature = u.Feature
	}
	c.emit(s, func(*Session, *frame) error { return sqlerr.Unsupported(feature) })
	return nil
}

func jump(target int) func(*Session, *frame) error {
	return func(_ *Session, f *frame) error { f.pc = target; return nil }
}

// jumpUnless goes to target when the condition is not true.
func jumpUnless(cond *lazyExpr, target int) func(*Session, *frame) error {
	return func(x *Session, f *frame) error {
		ok, err := cond.truth(x, f)
		if err != nil {
			return err
		}
		if !ok {
			f.pc = target
		}
		return nil
	}
}

func (c *compiler) ifStatement(s *syntax.If) error {
	cond := newLazyCondition(s.Cond)
	test := c.emit(s, nil)
	if err := c.statement(s.Then); err != nil {
		return err
	}
	if s.Else == nil {
		c.patch(test, jumpUnless(cond, c.here()))
		return nil
	}
	skip := c.emit(s, nil)
	c.p.code[skip].effect = resetsNothing
	c.patch(test, jumpUnless(cond, c.here()))
	if err := c.statement(s.Else); err != nil {
		return err
	}
	c.patch(skip, jump(c.here()))
	return nil
}

func (c *compiler) whileStatement(s *syntax.While) error {
	cond := newLazyCondition(s.Cond)
	start := c.here()
	test := c.emit(s, nil)
	c.loops = append(c.loops, loop{start: start, within: c.within})
	if err := c.statement(s.Body); err != nil {
		return err
	}
	back := c.emit(s, jump(start))
	c.p.code[back].effect = resetsNothing
	end := c.here()
	c.patch(test, jumpUnless(cond, end))
	n := len(c.loops) - 1
	for _, at := range c.loops[n].breaks {
		c.patch(at, leaveBlocks(c.loops[n].within, end))
	}
	c.loops = c.loops[:n]
	return nil
}

// leaveBlocks jumps to a place and out of the TRY and CATCH blocks that do not
// enclose it.
func leaveBlocks(within nesting, target int) func(*Session, *frame) error {
	return func(_ *Session, f *frame) error {
		f.tries = f.tries[:min(len(f.tries), within.tries)]
		f.caught = f.caught[:min(len(f.caught), within.catches)]
		f.pc = target
		return nil
	}
}

func (c *compiler) loopExit(s syntax.Statement) error {
	n := len(c.loops) - 1
	_, isBreak := s.(*syntax.Break)
	if n < 0 {
		if isBreak {
			return sqlerr.New(135).At(s.At().Line)
		}
		return sqlerr.New(136).At(s.At().Line)
	}
	if isBreak {
		c.loops[n].breaks = append(c.loops[n].breaks, c.emit(s, nil))
		return nil
	}
	l := c.loops[n]
	c.emit(s, leaveBlocks(l.within, l.start))
	return nil
}

// tryCatch compiles
//
//	enter L1; try…; leave L2; L1: catch…; end catch; L2:
func (c *compiler) tryCatch(s *syntax.TryCatch) error {
	enter := c.emit(s, nil)
	outer := c.within
	c.blocks++
	c.within = outer.with(c.blocks)
	c.within.tries++
	if err := c.statements(s.Try); err != nil {
		return err
	}
	leave := c.emit(s, nil)
	handler := c.here()
	c.patch(enter, func(_ *Session, f *frame) error {
		f.tries = append(f.tries, tryBlock{handler, len(f.caught)})
		return nil
	})
	c.blocks++
	c.within = outer.with(c.blocks)
	c.within.catches++
	if err := c.statements(s.Catch); err != nil {
		return err
	}
	c.within = outer
	c.emit(s, func(_ *Session, f *frame) error {
		f.caught = f.caught[:len(f.caught)-1]
		return nil
	})
	end := c.here()
	c.patch(leave, func(_ *Session, f *frame) error {
		f.tries = f.tries[:len(f.tries)-1]
		f.pc = end
		return nil
	})
	return nil
}

func (c *compiler) declareStatement(s *syntax.Declare) error {
	for _, v := range s.Variables {
		if v.Table != nil {
			shape, err := c.x.tableShape(v.Name, v.Table, c.p)
			if err != nil {
				return err
			}
			if _, err := c.declareTable(v.Pos, v.Name, shape, false); err != nil {
				return err
			}
			continue
		}
		shape, err := c.x.tableType(v.Type)
		if err != nil {
			return err
		}
		if shape != nil {
			if _, err := c.declareTable(v.Pos, v.Name, shape, false); err != nil {
				return err
			}
			continue
		}
		t, err := c.x.dataType(v.Type)
		if err != nil {
			return err
		}
		slot, err := c.declare(v.Pos, v.Name, t, v.Type.Cursor)
		if err != nil {
			return err
		}
		if v.Init != nil {
			c.assign(s, slot, t, v.Init)
		}
	}
	return nil
}

// assign compiles the assignment of an expression to a variable.
func (c *compiler) assign(s syntax.Statement, slot int, t types.Type, e syntax.Expr) {
	value := newLazyExpr(e)
	c.emit(s, func(x *Session, f *frame) error {
		v, err := value.eval(x, f)
		if err != nil {
			return err
		}
		if v, err = types.Assign(v, t); err != nil {
			return err
		}
		f.vars[slot] = v
		x.rowCount = 1
		x.lastError = 0
		return nil
	})
}

func (c *compiler) returnStatement(s *syntax.Return) error {
	if s.X == nil {
		c.emit(s, func(_ *Session, f *frame) error { f.pc = len(f.prog.code); return nil })
		return nil
	}
	if c.p.module == nil || c.p.module.ModuleKind == catalog.KindTrigger {
		return sqlerr.New(178).At(s.Line)
	}
	value := newLazyExpr(s.X)
	function := c.p.module.ModuleKind == catalog.KindScalarFunction
	returns := c.p.module.Returns
	c.emit(s, func(x *Session, f *frame) error {
		v, err := value.eval(x, f)
		if err != nil {
			return err
		}
		f.pc = len(f.prog.code)
		if function {
			f.result, err = types.Assign(v, returns)
			return err
		}
		if v.IsNull() {
			x.inform(282, 1, "The '"+f.module.Name+"' procedure attempted to return a status of NULL, which is not allowed. A status of 0 will be returned instead.")
			return nil
		}
		if v, err = types.Assign(v, types.TypeInt); err != nil {
			return err
		}
		f.returned = int32(v.Int())
		return nil
	})
	return nil
}

// simpleStatement compiles the statements that only compute or talk.
func (c *compiler) simpleStatement(s syntax.Statement) bool {
	switch s := s.(type) {
	case *syntax.SetVariable:
		return c.setVariable(s)
	case *syntax.Print:
		value := newLazyExpr(s.X)
		c.emit(s, func(x *Session, f *frame) error {
			v, err := value.eval(x, f)
			if err != nil {
				return err
			}
			if v, err = types.Convert(v, types.NVarChar(4000), 0); err != nil {
				return err
			}
			text := v.Text()
			if v.IsNull() || text == "" {
				text = " "
			}
			x.inform(0, 1, text)
			return nil
		})
	case *syntax.Throw:
		c.throwStatement(s)
	case *syntax.RaiseError:
		c.raiseError(s)
	case *syntax.WaitFor:
		c.waitFor(s)
	case *syntax.Use:
		c.useStatement(s)
	case *syntax.Checkpoint:
		c.emit(s, func(x *Session, _ *frame) error { return x.srv.store.Checkpoint(x.ctx) })
	case *syntax.Reconfigure:
		c.emit(s, func(x *Session, _ *frame) error { // values take effect when they are set
			if x.txn.count > 0 {
				return sqlerr.New(574, "CONFIG")
			}
			return nil
		})
	case *syntax.Kill:
		c.killStatement(s)
	case *syntax.InsertBulk:
		c.emit(s, func(x *Session, _ *frame) error { return x.announceBulk(s) })
	default:
		return false
	}
	return true
}

func (c *compiler) setVariable(s *syntax.SetVariable) bool {
	if s.Cursor != nil {
		return false
	}
	key := catalog.Fold(s.Name)
	slot, ok := c.p.index[key]
	if !ok {
		name := s.Name
		c.emit(s, func(*Session, *frame) error { return &scopeError{sqlerr.New(137, name)} })
		return true
	}
	e := s.X
	if s.Op != nil {
		e = &syntax.Binary{Pos: s.Pos, Op: *s.Op, L: &syntax.Variable{Pos: s.Pos, Name: s.Name}, R: s.X}
	}
	c.assign(s, slot, c.p.vars[slot].typ, e)
	return true
}

func (c *compiler) useStatement(s *syntax.Use) {
	name := s.Database.Name
	c.emit(s, func(x *Session, f *frame) error {
		db, ok := x.srv.cat.Database(name)
		if !ok {
			return sqlerr.New(911, name)
		}
		if x.ident.database != nil && x.ident.database != db {
			return sqlerr.New(916, x.ident.login.Name, name)
		}
		user, ok := db.UserOf(x.ident.login)
		if !ok {
			return sqlerr.New(916, x.ident.login.Name, name)
		}
		old := x.db.Name
		x.db, x.ident.user = db, user
		_ = x.out.Env(wire.EnvChange{Kind: wire.EnvDatabase, New: db.Name, Old: old})
		x.inform(5701, 1, "Changed database context to '"+db.Name+"'.")
		return nil
	})
}

func (c *compiler) killStatement(s *syntax.Kill) {
	value := newLazyExpr(s.Session)
	c.emit(s, func(x *Session, f *frame) error {
		switch {
		case !x.mayKill():
			return sqlerr.New(6102)
		case x.txn.count > 0:
			return sqlerr.New(6115)
		}
		v, err := value.eval(x, f)
		if err != nil {
			return err
		}
		if v, err = types.Assign(v, types.TypeInt); err != nil {
			return err
		}
		return x.srv.kill(int32(v.Int()), x.id)
	})
}

// mayKill reports whether the session has the permission ALTER ANY CONNECTION.
func (x *Session) mayKill() bool {
	l := x.ident.login
	return x.ident.database == nil && (l.Sysadmin() || slices.Contains(l.Roles, "processadmin"))
}

// waitFor compiles WAITFOR. The delay moves in the steps of datetime, 1/300 s.
func (c *compiler) waitFor(s *syntax.WaitFor) {
	value := newLazyExpr(s.X)
	until := s.Time
	c.emit(s, func(x *Session, f *frame) error {
		v, err := value.eval(x, f)
		if err != nil {
			return err
		}
		written := v
		if v, err = types.Convert(v, types.TypeDateTime, 0); err != nil {
			return sqlerr.New(148, strings.TrimSpace(written.String()))
		}
		if v.IsNull() {
			return nil
		}
		d := time.Duration(v.Ticks()) * time.Second / 300
		if until {
			d = untilTimeOfDay(x.srv.now(), d)
		}
		return x.sleep(d)
	})
}

// untilTimeOfDay is how long it is from now to the next time of day.
func untilTimeOfDay(now time.Time, at time.Duration) time.Duration {
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	d := midnight.Add(at).Sub(now)
	if d < 0 {
		d += 24 * time.Hour
	}
	return d
}

// sleep waits, or ends with the request.
func (x *Session) sleep(d time.Duration) error {
	x.info.wait(x, "WAITFOR")
	defer x.info.wait(x, "")
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-x.ctx.Done():
		return x.interrupted()
	}
}

package session

import (
	"errors"
	"slices"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

// execStatement is a compiled EXEC.
type execStatement struct {
	returnSlot int // -1 without "EXEC @rc ="
	returnType types.Type
	proc       *syntax.Name
	procVar    int // slot of EXEC @name, -1 otherwise
	args       []argument
	strings    []*lazyExpr
	at         string // EXEC (…) AT server
	as         *syntax.ExecuteContext
	line       int32
}

// argument is one actual argument of a call.
type argument struct {
	name   string // with the leading @; empty for a positional one
	value  *lazyExpr
	isDef  bool // DEFAULT
	output bool
	slot   int // the caller's variable, for output arguments; -1 otherwise
	table  int // the caller's table variable; -1 otherwise
}

// execStatement compiles EXEC.
func (c *compiler) execStatement(s syntax.Statement) bool {
	e, ok := s.(*syntax.Exec)
	if !ok {
		return false
	}
	call, err := c.execCall(e)
	if err != nil {
		c.emit(s, func(*Session, *frame) error { return compileError(err) })
		return true
	}
	c.emit(s, func(x *Session, f *frame) error { return x.execute(f, call) })
	return true
}

// execCall resolves the variables of an EXEC.
func (c *compiler) execCall(s *syntax.Exec) (*execStatement, error) {
	e := &execStatement{returnSlot: -1, procVar: -1, proc: s.Proc, at: s.Server.Name, as: s.As, line: s.Line}
	if s.Return != "" {
		slot, ok := c.p.index[catalog.Fold(s.Return)]
		if !ok {
			return nil, sqlerr.New(137, s.Return).At(s.Line)
		}
		e.returnSlot, e.returnType = slot, c.p.vars[slot].typ
	}
	if s.ProcVar != "" {
		slot, ok := c.p.index[catalog.Fold(s.ProcVar)]
		if !ok {
			return nil, sqlerr.New(137, s.ProcVar).At(s.Line)
		}
		e.procVar = slot
	}
	for _, str := range s.Strings {
		e.strings = append(e.strings, newLazyExpr(str))
	}
	named := false
	for i, a := range s.Args {
		arg := argument{name: a.Name, output: a.Output, slot: -1, table: -1}
		if a.Name != "" {
			named = true
		} else if named {
			return nil, sqlerr.New(119, i+1).At(a.Line)
		}
		if l, ok := a.X.(*syntax.Literal); ok && l.Kind == syntax.LitDefault {
			arg.isDef = true
			e.args = append(e.args, arg)
			continue
		}
		if v, ok := a.X.(*syntax.Variable); ok {
			key := catalog.Fold(v.Name)
			if slot, ok := c.p.tindex[key]; ok {
				arg.table = slot
				e.args = append(e.args, arg)
				continue
			}
			slot, ok := c.p.index[key]
			if !ok {
				return nil, sqlerr.New(137, v.Name).At(a.Line)
			}
			arg.slot = slot
		}
		arg.value = newLazyExpr(parameterDefault(a.X))
		e.args = append(e.args, arg)
	}
	return e, nil
}

// actual is an argument with its value.
type actual struct {
	name   string
	value  types.Value
	typ    types.Type
	isDef  bool
	output bool
	table  *catalog.Table // a table-valued argument
	// assign stores the value of an output parameter in the caller's variable.
	assign func(v types.Value) error
	// setCursor stores the cursor of an output parameter in it.
	setCursor func(cur *cursor)
}

// actuals evaluates the arguments of a call. They are good until the caller
// drops them.
func (x *Session) actuals(f *frame, args []argument) ([]actual, error) {
	out := x.newActuals(len(args))
	for i := range args {
		a := &args[i]
		out[i] = actual{name: a.name, isDef: a.isDef, output: a.output}
		switch {
		case a.isDef:
			continue
		case a.table >= 0:
			x.tableVariable(f, a.table)
			out[i].table = f.tables[a.table].table
			if err := x.endTableVariables(f, nil); err != nil {
				return nil, err
			}
			continue
		}
		if a.slot >= 0 {
			out[i].value, out[i].typ = f.vars[a.slot], f.prog.vars[a.slot].typ
		} else {
			v, err := a.value.eval(x, f)
			if err != nil {
				return nil, err
			}
			c, err := a.value.compile(x, f)
			if err != nil {
				return nil, err
			}
			out[i].value, out[i].typ = v, c.expr.Type()
		}
		if a.output {
			if a.slot < 0 {
				return nil, sqlerr.New(179)
			}
			slot, t := a.slot, f.prog.vars[a.slot].typ
			if f.prog.vars[slot].cursor {
				out[i].setCursor = func(cur *cursor) { f.setCursor(slot, cur) }
			}
			out[i].assign = func(v types.Value) error {
				v, err := types.Assign(v, t)
				if err == nil {
					f.vars[slot] = v
				}
				return err
			}
		}
	}
	return out, nil
}

// newActuals returns n empty arguments. They are good until the caller drops
// them.
func (x *Session) newActuals(n int) []actual {
	base := len(x.argStack)
	x.argStack = slices.Grow(x.argStack, n)[:base+n]
	return x.argStack[base : base+n : base+n]
}

// dropActuals forgets the arguments above base.
func (x *Session) dropActuals(base int) {
	clear(x.argStack[base:])
	x.argStack = x.argStack[:base]
}

// execute runs EXEC.
func (x *Session) execute(f *frame, e *execStatement) error {
	if x.functions > 0 {
		return sqlerr.New(557)
	}
	if e.strings != nil {
		return x.executeString(f, e)
	}
	name, err := x.procedureName(f, e)
	if err != nil {
		return err
	}
	defer x.dropActuals(len(x.argStack))
	args, err := x.actuals(f, e.args)
	if err != nil {
		return err
	}
	if m, err := x.functionNamed(name); err != nil || m != nil {
		return x.executeFunction(f, e, m, args, err)
	}
	code, null, err := x.callProcedure(name, args)
	if err != nil && code == 0 && !isCountMismatch(err) {
		return err
	}
	// A system procedure that fails gives a code too.
	if e.returnSlot >= 0 && !null {
		v, convErr := types.Assign(types.NewInt(int64(code)), e.returnType)
		if convErr != nil {
			return convErr
		}
		f.vars[e.returnSlot] = v
	} else if e.returnSlot >= 0 {
		f.vars[e.returnSlot] = types.Null
	}
	return err
}

// functionNamed finds a user-defined scalar function of this server, which EXEC
// may call like a procedure; nil when the name is not that of one.
func (x *Session) functionNamed(n syntax.Name) (*catalog.Module, error) {
	if n.Server.Name != "" {
		return nil, nil
	}
	if _, system := systemProcedure(n); system {
		return nil, nil
	}
	o, _, err := x.lookup(n, x.moduleSchema())
	if err != nil {
		return nil, err
	}
	if m, ok := o.(*catalog.Module); ok && m.ModuleKind == catalog.KindScalarFunction {
		return m, nil
	}
	return nil, nil
}

// executeFunction runs EXEC @r = function.
func (x *Session) executeFunction(f *frame, e *execStatement, m *catalog.Module, args []actual, err error) error {
	if err != nil {
		return err
	}
	if err := x.mayExecute(m); err != nil {
		return err
	}
	called, err := x.callFunctionFrame(m, args)
	if err != nil || e.returnSlot < 0 {
		return err
	}
	v, err := types.Assign(called.result, e.returnType)
	if err == nil {
		f.vars[e.returnSlot] = v
	}
	return err
}

// procedureName is the name that an EXEC calls, error 2812.
func (x *Session) procedureName(f *frame, e *execStatement) (syntax.Name, error) {
	if e.proc != nil {
		return *e.proc, nil
	}
	v, err := types.Convert(f.vars[e.procVar], types.NVarChar(776), 0)
	if err != nil {
		return syntax.Name{}, err
	}
	n, ok := parseName(v.Text())
	if !ok {
		return syntax.Name{}, sqlerr.New(2812, v.Text())
	}
	n.Line = e.line
	return n, nil
}

// callProcedure calls a procedure of this server, of the system or of a linked
// server. null is set when a remote call has given no return code.
func (x *Session) callProcedure(n syntax.Name, args []actual) (code int32, null bool, err error) {
	if n.Server.Name != "" {
		return x.callRemote(n, args)
	}
	if p, ok := systemProcedure(n); ok {
		leave, err := x.enterDatabase(n.Database.Name)
		if err != nil {
			return 0, false, err
		}
		defer leave()
		code, err = x.callSystem(p, args)
		return code, false, err
	}
	o, _, err := x.lookup(n, x.moduleSchema())
	if err != nil {
		return 0, false, err
	}
	m, ok := o.(*catalog.Module)
	if !ok || m.ModuleKind != catalog.KindProcedure {
		if name := catalog.Fold(n.Object.Name); lackedProcedures[name] {
			return 0, false, sqlerr.Unsupported(name)
		}
		return 0, false, sqlerr.New(2812, displayName(n))
	}
	code, err = x.callModule(m, args)
	return code, false, err
}

// enterDatabase makes a database the current one until leave is called; an empty
// name keeps it.
func (x *Session) enterDatabase(name string) (leave func(), err error) {
	if name == "" {
		return func() {}, nil
	}
	db, err := x.otherDatabase(name)
	if err != nil {
		return nil, err
	}
	saved, user := x.db, x.ident.user
	if db != saved {
		if x.ident.user, _ = db.UserOf(x.ident.login); x.ident.user == nil {
			x.ident.user = user
		}
	}
	x.db = db
	return func() { x.db, x.ident.user = saved, user }, nil
}

// moduleSchema is the schema of the running module, empty in a batch.
func (x *Session) moduleSchema() string {
	if f := x.frame; f != nil && f.module != nil {
		return f.module.Schema
	}
	return ""
}

// callModule runs a procedure.
func (x *Session) callModule(m *catalog.Module, args []actual) (int32, error) {
	if err := x.mayExecute(m); err != nil {
		return 0, err
	}
	m, p, err := x.moduleProgram(m)
	if err != nil {
		return 0, err
	}
	f := x.newFrame(p, m, x.frame)
	if err := x.bindArguments(f, m.Name, args); err != nil {
		return 0, inCall(err, m)
	}
	before := x.txn.count
	err = x.call(f, func() error {
		if db, ok := x.srv.cat.DatabaseByID(m.DatabaseID); ok {
			x.db = db
		}
		x.opts.quotedIdentifier, x.opts.ansiNulls = m.QuotedIdentifier, m.AnsiNulls
		if err := x.impersonateFor(m, f); err != nil {
			return err
		}
		return x.run(f)
	})
	if err != nil {
		return 0, err
	}
	if err := x.returnOutputs(f, args); err != nil {
		return 0, err
	}
	if err := x.endProcedure(f.returned); err != nil {
		return 0, err
	}
	if x.txn.count != before && x.inserting == nil {
		return f.returned, x.countMismatch(f, before)
	}
	return f.returned, nil
}

// endProcedure tells the client that a procedure which its batch called has
// ended. Calls from within procedures, and the call of an RPC request, are not
// the batch's own.
func (x *Session) endProcedure(code int32) error {
	f := x.frame
	if f.prog == emptyProgram || f.inProc() || x.inserting != nil {
		return nil
	}
	if err := x.out.ReturnStatus(code); err != nil {
		return err
	}
	return x.out.Done(wire.Done{Command: wire.CommandExecute, Proc: true})
}

// countMismatch is error 266: a procedure left @@TRANCOUNT other than it was.
// It names the procedure, and no line of it.
func (x *Session) countMismatch(f *frame, before int) error {
	e := sqlerr.New(266, before, x.txn.count)
	if f.module == nil {
		return e
	}
	return inCall(e, f.module)
}

// noLine is the line of errors that belong to a procedure and to no line of it.
const noLine = -1

// inCall names the procedure that an error of its call, not of its body,
// belongs to.
func inCall(err error, m *catalog.Module) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Procedure, c.Line = moduleName(m), noLine
	return &c
}

// isCountMismatch reports whether an error is 266, which comes when the
// procedure has returned as it should.
func isCountMismatch(err error) bool {
	var e *sqlerr.Error
	return errors.As(err, &e) && e.Number == 266
}

// bindArguments gives a frame's parameters their values, error 201, 8144, 8145
// and 8146.
func (x *Session) bindArguments(f *frame, name string, args []actual) error {
	params := f.prog.params
	given := make([]bool, len(params))
	next := 0
	for i := range args {
		a := &args[i]
		at := i
		if a.name != "" {
			if at = findParameter(params, a.name, next); at < 0 {
				if len(params) == 0 {
					return sqlerr.New(8146, name)
				}
				return sqlerr.New(8145, a.name, name)
			}
		} else if at >= len(params) {
			if len(params) == 0 {
				return sqlerr.New(8146, name)
			}
			return sqlerr.New(8144, name)
		}
		if given[at] {
			return sqlerr.New(8143, params[at].name)
		}
		if err := x.bindArgument(f, name, &params[at], a); err != nil {
			return err
		}
		given[at], next = !a.isDef, at+1
	}
	for i := range params {
		if given[i] || params[i].table {
			continue
		}
		if params[i].fallback == nil {
			return sqlerr.New(201, name, params[i].name)
		}
		v, err := params[i].fallback.eval(x, f)
		if err != nil {
			return err
		}
		if f.vars[params[i].slot], err = types.Assign(v, params[i].typ); err != nil {
			return err
		}
	}
	return nil
}

// findParameter returns the position of a parameter, -1 if there is none of the
// name. It looks at position likely first.
func findParameter(params []parameter, name string, likely int) int {
	if likely < len(params) && params[likely].name == name {
		return likely
	}
	for i := range params {
		if strings.EqualFold(params[i].name, name) {
			return i
		}
	}
	return -1
}

// bindArgument gives one parameter its value.
func (x *Session) bindArgument(f *frame, proc string, p *parameter, a *actual) error {
	switch {
	case a.isDef:
		return nil
	case p.table:
		if a.table == nil {
			return sqlerr.New(206, a.typ.String(), f.prog.tables[p.slot].shape.Name)
		}
		f.tables[p.slot] = &tableInstance{table: a.table}
		return nil
	case a.table != nil:
		return sqlerr.New(206, a.table.Name, p.typ.String())
	case a.output && !p.output:
		return sqlerr.New(8162, p.name)
	case p.typ.Kind == types.KindCursor:
		return nil
	}
	v, err := types.Assign(a.value, p.typ)
	if err != nil {
		return conversionInCall(err, a.typ, p.typ)
	}
	f.vars[p.slot] = v
	return nil
}

// conversionInCall is error 8114, which a procedure call gives where an
// assignment gives 245.
func conversionInCall(err error, from, to types.Type) error {
	var e *sqlerr.Error
	if errors.As(err, &e) && (e.Number == 245 || e.Number == 241) {
		return sqlerr.New(8114, from.Kind.String(), to.Kind.String())
	}
	return err
}

// returnOutputs copies output parameters to the caller's variables.
func (x *Session) returnOutputs(f *frame, args []actual) error {
	for i := range args {
		a := &args[i]
		if !a.output || a.assign == nil {
			continue
		}
		at := i
		if a.name != "" {
			at = findParameter(f.prog.params, a.name, i)
		}
		slot := f.prog.params[at].slot
		if f.prog.params[at].typ.Kind == types.KindCursor {
			if cur := f.cursorVars[slot]; cur != nil && a.setCursor != nil {
				a.setCursor(cur)
			}
			continue
		}
		if err := a.assign(f.vars[slot]); err != nil {
			return err
		}
	}
	return nil
}

// moduleProgram returns the compiled body of a module, as it is now.
func (x *Session) moduleProgram(m *catalog.Module) (*catalog.Module, *program, error) {
	if p, ok := m.Compiled.Load().(*moduleCode); ok && p.current(x) {
		return m, p.program, nil
	}
	b := &binder{x: x}
	defer b.close()
	if err := b.stable(m.DatabaseID, m.ID); err != nil {
		return nil, nil, err
	}
	db, ok := x.srv.cat.DatabaseByID(m.DatabaseID)
	if ok {
		if o, found := db.ObjectByID(m.ID); found {
			if now, ok := o.(*catalog.Module); ok {
				m = now
			}
		} else {
			return nil, nil, sqlerr.New(2812, m.Name)
		}
	}
	saved := x.db
	x.db = db
	defer func() { x.db = saved }()
	p, err := x.compileModule(m)
	if err != nil {
		return nil, nil, err
	}
	m.Compiled.Store(&moduleCode{program: p, version: db.Version(), db: db})
	return m, p, nil
}

// moduleCode is what Module.Compiled holds.
type moduleCode struct {
	program *program
	version uint64
	db      *catalog.Database
}

// current reports whether the code may be used: a module is compiled again
// when the catalog has changed, so that it is waited for while another
// transaction alters it, and types are looked up again.
func (c *moduleCode) current(*Session) bool { return c.version == c.db.Version() }

// compileModule compiles the text of a procedure, function or trigger.
func (x *Session) compileModule(m *catalog.Module) (*program, error) {
	b, err := syntax.Parse(m.Text, syntax.Options{QuotedIdentifier: m.QuotedIdentifier})
	if err != nil {
		return nil, err
	}
	for _, s := range b.Statements {
		switch s := s.(type) {
		case *syntax.CreateProcedure:
			return x.newProgram(m.Text, m, s.Params, s.Body, nil)
		case *syntax.CreateFunction:
			return x.newProgram(m.Text, m, s.Params, s.Body, func(c *compiler) error {
				if s.Table == nil {
					return nil
				}
				shape, err := x.tableShape(s.TableVar, s.Table, c.p)
				if err != nil {
					return err
				}
				_, err = c.declareTable(s.Pos, s.TableVar, shape, false)
				return err
			})
		case *syntax.CreateTrigger:
			return x.newProgram(m.Text, m, nil, s.Body, func(c *compiler) error {
				t, err := x.pseudoTable(m)
				c.p.trigger = t
				return err
			})
		}
	}
	return nil, sqlerr.New(8630, "the stored text of "+m.Name+" is not a module")
}

// executeString runs EXEC ('…').
func (x *Session) executeString(f *frame, e *execStatement) error {
	var sb strings.Builder
	for _, part := range e.strings {
		v, err := part.eval(x, f)
		if err != nil {
			return err
		}
		if v, err = types.Convert(v, types.NVarChar(types.Max), 0); err != nil {
			return err
		}
		sb.WriteString(v.Text())
	}
	if e.at != "" {
		return x.executeAt(f, e, sb.String())
	}
	if e.as != nil {
		return sqlerr.Unsupported("EXECUTE ('…') AS")
	}
	return x.runDynamic(sb.String(), nil, nil)
}

// runDynamic runs a string as a batch of its own in a nested frame.
func (x *Session) runDynamic(text string, p *program, bind func(f *frame) error) error {
	if p == nil {
		var err error
		if p, err = x.parse(text, nil); err != nil {
			return err
		}
	}
	f := x.newFrame(p, nil, x.frame)
	f.dynamic = true
	before := x.txn.count
	if bind != nil {
		if err := bind(f); err != nil {
			return err
		}
	}
	user := x.ident.user
	err := x.call(f, func() error { return x.run(f) })
	if x.ident.database == nil {
		x.ident.user = user
	}
	if err == nil && x.txn.count != before && x.inserting == nil {
		return x.countMismatch(f, before)
	}
	return err
}

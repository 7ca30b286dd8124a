package session

import (
	"container/list"
	"slices"
	"sync"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// program is a compiled batch or module body: a flat list of instructions. It
// is immutable and shared by sessions.
type program struct {
	code []instruction
	// vars are the scalar variables by slot, parameters first.
	vars []variable
	// tables are the shapes of table variables and table-valued parameters.
	tables []tableVar
	index  map[string]int // scalar variables, folded name with its @
	tindex map[string]int // table variables
	labels map[string]label
	// params is the number of parameters among vars and tables, in order.
	params []parameter
	module *catalog.Module
	// trigger holds the table whose inserted and deleted are visible.
	trigger *catalog.Table
	text    string
	// declared is the parameter list of sp_executesql, empty for other programs.
	declared string
}

// variable is a scalar or cursor variable.
type variable struct {
	name   string
	typ    types.Type
	cursor bool
}

// tableVar is the shape of a table variable.
type tableVar struct {
	name  string
	shape *catalog.Table
	param bool // a table-valued parameter: read only
}

// parameter is one formal parameter.
type parameter struct {
	name     string
	typ      types.Type
	slot     int // in vars, or in tables for a table-valued parameter
	table    bool
	output   bool
	fallback *lazyExpr // default value; nil when the parameter is required
}

// instruction is one step of a program. Run may change the frame's pc.
type instruction struct {
	line   int32
	effect effect
	stmt   syntax.Statement
	run    func(x *Session, f *frame) error
}

// effect is what a statement that succeeds does to @@ERROR and @@ROWCOUNT,
// beside what it sets itself.
type effect uint8

const (
	resetsNothing effect = iota
	resetsError
	resetsBoth
)

// effectOf is the effect of a kind of statement.
func effectOf(s syntax.Statement) effect {
	switch s := s.(type) {
	case *syntax.Print, *syntax.SetOption, *syntax.BeginTran, *syntax.CommitTran, *syntax.RollbackTran, *syntax.SaveTran,
		*syntax.Use, *syntax.WaitFor, *syntax.If, *syntax.While, *syntax.Grant, *syntax.ExecuteAs, *syntax.Revert, *syntax.Kill:
		return resetsBoth
	case *syntax.CursorOp:
		if s.Op != "OPEN" {
			return resetsBoth
		}
		return resetsError
	case *syntax.Fetch, *syntax.DeclareCursor, *syntax.SelectStmt, *syntax.Insert, *syntax.Update, *syntax.Delete, *syntax.Merge:
		return resetsError
	}
	return resetsNothing
}

// compiler turns statements into instructions.
type compiler struct {
	x     *Session
	p     *program
	loops []loop
	gotos []pendingGoto
	// within is the nesting of TRY and CATCH blocks at this point, and blocks
	// how many there have been.
	within nesting
	blocks int
}

// nesting says in which TRY and CATCH blocks a place of a program is.
type nesting struct {
	tries, catches int
	// path are the numbers of the blocks, outermost first.
	path []int
}

// with is the nesting within one more block.
func (n nesting) with(block int) nesting {
	n.path = append(n.path[:len(n.path):len(n.path)], block)
	return n
}

// encloses reports whether a place in m is in every block that n is in.
func (n nesting) encloses(m nesting) bool {
	return len(m.path) >= len(n.path) && slices.Equal(n.path, m.path[:len(n.path)])
}

// label is a place that GOTO may name.
type label struct {
	at     int
	within nesting
}

type loop struct {
	start  int
	breaks []int // instructions whose target is the end
	within nesting
}

type pendingGoto struct {
	at     int
	label  string
	line   int32
	within nesting
}

// emit appends an instruction and returns its position.
func (c *compiler) emit(s syntax.Statement, run func(x *Session, f *frame) error) int {
	c.p.code = append(c.p.code, instruction{line: s.At().Line, effect: effectOf(s), stmt: s, run: run})
	return len(c.p.code) - 1
}

// patch replaces what an instruction does.
func (c *compiler) patch(at int, run func(x *Session, f *frame) error) { c.p.code[at].run = run }

// here is the position of the next instruction.
func (c *compiler) here() int { return len(c.p.code) }

// newProgram compiles statements. The module is nil for a batch.
func (x *Session) newProgram(text string, m *catalog.Module, params []syntax.Parameter, body []syntax.Statement, prepare func(*compiler) error) (*program, error) {
	p := &program{index: map[string]int{}, tindex: map[string]int{}, labels: map[string]label{}, module: m, text: text}
	c := &compiler{x: x, p: p}
	if err := c.parameters(params); err != nil {
		return nil, err
	}
	if prepare != nil {
		if err := prepare(c); err != nil {
			return nil, err
		}
	}
	if err := c.statements(body); err != nil {
		return nil, err
	}
	for _, g := range c.gotos {
		target, ok := p.labels[g.label]
		if !ok {
			return nil, sqlerr.New(133, g.label).At(g.line)
		}
		if !target.within.encloses(g.within) {
			return nil, sqlerr.New(1026).At(g.line)
		}
		c.patch(g.at, leaveBlocks(target.within, target.at))
	}
	return p, nil
}

// parameters declares the parameters of a module or of sp_executesql.
func (c *compiler) parameters(params []syntax.Parameter) error {
	for _, sp := range params {
		pm := parameter{name: sp.Name, output: sp.Output}
		shape, err := c.x.tableType(sp.Type)
		if err != nil {
			return err
		}
		if shape != nil {
			if pm.slot, err = c.declareTable(sp.Pos, sp.Name, shape, true); err != nil {
				return err
			}
			pm.table = true
			c.p.params = append(c.p.params, pm)
			continue
		}
		if pm.typ, err = c.x.dataType(sp.Type); err != nil {
			return err
		}
		if pm.slot, err = c.declare(sp.Pos, sp.Name, pm.typ, sp.Type.Cursor); err != nil {
			return err
		}
		if sp.Default != nil {
			pm.fallback = newLazyExpr(parameterDefault(sp.Default))
		}
		c.p.params = append(c.p.params, pm)
	}
	return nil
}

// parameterDefault reads a bare word as a string: @mode nvarchar(10) = all.
func parameterDefault(e syntax.Expr) syntax.Expr {
	if r, ok := e.(*syntax.ColumnRef); ok && len(r.Parts) == 1 {
		return &syntax.Literal{Pos: r.Pos, Kind: syntax.LitNString, Text: r.Parts[0].Name}
	}
	return e
}

// declare adds a scalar variable.
func (c *compiler) declare(at syntax.Pos, name string, t types.Type, cursor bool) (int, error) {
	key := catalog.Fold(name)
	if c.p.known(key) {
		return 0, sqlerr.New(134, name).At(at.Line)
	}
	c.p.index[key] = len(c.p.vars)
	c.p.vars = append(c.p.vars, variable{name: name, typ: t, cursor: cursor})
	return len(c.p.vars) - 1, nil
}

// declareTable adds a table variable.
func (c *compiler) declareTable(at syntax.Pos, name string, shape *catalog.Table, param bool) (int, error) {
	key := catalog.Fold(name)
	if c.p.known(key) {
		return 0, sqlerr.New(134, name).At(at.Line)
	}
	c.p.tindex[key] = len(c.p.tables)
	c.p.tables = append(c.p.tables, tableVar{name: name, shape: shape, param: param})
	return len(c.p.tables) - 1, nil
}

func (p *program) known(key string) bool {
	_, scalar := p.index[key]
	_, table := p.tindex[key]
	return scalar || table
}

// programCache keeps compiled batches by their text. It is safe for concurrent
// use.
type programCache struct {
	mu    sync.Mutex
	max   int
	items map[programKey]*list.Element
	order *list.List // most recently used first
}

// programKey is what a compiled batch depends on beside the catalog.
type programKey struct {
	text, params string
	database     uint32
	schema       string
	quoted       bool
}

type cached struct {
	key     programKey
	program *program
	version uint64 // of the database, when the program uses user-defined types
}

// cachedPrograms is how many batches are kept; each costs a few kilobytes.
const cachedPrograms = 2000

// maxCachedText is the longest batch that is kept: a script that is run once
// should not push out what is run often.
const maxCachedText = 64 << 10

func newProgramCache() *programCache {
	return &programCache{max: cachedPrograms, items: map[programKey]*list.Element{}, order: list.New()}
}

func (c *programCache) get(key programKey, version uint64) (*program, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[key]
	if !ok {
		return nil, false
	}
	item := e.Value.(*cached)
	if item.version != 0 && item.version != version {
		c.order.Remove(e)
		delete(c.items, key)
		return nil, false
	}
	c.order.MoveToFront(e)
	return item.program, true
}

func (c *programCache) put(key programKey, p *program, version uint64) {
	if len(key.text) > maxCachedText {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.items[key]; ok {
		return
	}
	c.items[key] = c.order.PushFront(&cached{key: key, program: p, version: version})
	for c.order.Len() > c.max {
		last := c.order.Back()
		c.order.Remove(last)
		delete(c.items, last.Value.(*cached).key)
	}
}

// parse compiles a batch, with the parameters that sp_executesql declares.
func (x *Session) parse(text string, params []syntax.Parameter) (*program, error) {
	return x.parseKeyed(text, "", func() ([]syntax.Parameter, error) { return params, nil })
}

// parseKeyed is parse with parameters that are only read when the batch is not
// in the cache; key is their text.
func (x *Session) parseKeyed(text, paramText string, params func() ([]syntax.Parameter, error)) (*program, error) {
	key := programKey{text: text, params: paramText, database: x.db.ID, schema: x.defaultSchema(), quoted: x.opts.quotedIdentifier}
	if p, ok := x.srv.programs.get(key, x.db.Version()); ok {
		return p, nil
	}
	version := x.db.Version()
	b, err := syntax.Parse(text, syntax.Options{QuotedIdentifier: x.opts.quotedIdentifier})
	if err != nil {
		return nil, err
	}
	ps, err := params()
	if err != nil {
		return nil, err
	}
	p, err := x.newProgram(text, nil, ps, b.Statements, nil)
	if err != nil {
		return nil, err
	}
	p.declared = paramText
	if len(p.tables) == 0 {
		version = 0
	}
	x.srv.programs.put(key, p, version)
	return p, nil
}

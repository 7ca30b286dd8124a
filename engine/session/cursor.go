package session

import (
	"slices"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/exec"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// cursor is a T-SQL cursor. Its rows are read when it is opened, as those of a
// STATIC cursor are; a cursor whose rows must follow the table is refused.
type cursor struct {
	name string
	def  *cursorDef
	open bool
	// prog, vars and tables are the variables of the query, as they were when
	// the cursor was declared.
	prog   *program
	vars   []types.Value
	tables []*tableInstance
	rows   []types.Row
	cols   []exec.Column
	at     int // position of the current row; -1 before the first
}

// newCursor declares a cursor in a frame.
func newCursor(f *frame, name string, def *cursorDef) *cursor {
	return &cursor{name: name, def: def, prog: f.prog, vars: slices.Clone(f.vars), tables: f.tables, at: -1}
}

// cursorDef is the compiled definition of a cursor.
type cursorDef struct {
	query   *lazyStatement
	scroll  bool
	local   bool
	invalid error
}

// defineCursor reads the options of a cursor.
func defineCursor(d *syntax.CursorDef) *cursorDef {
	def := &cursorDef{query: &lazyStatement{src: d.Select}}
	for _, o := range d.Options {
		switch o {
		case "LOCAL":
			def.local = true
		case "GLOBAL":
		case "SCROLL":
			def.scroll = true
		case "STATIC", "INSENSITIVE", "KEYSET":
			def.scroll = true
			if o == "KEYSET" {
				def.invalid = sqlerr.Unsupported("KEYSET cursor")
			}
		case "FAST_FORWARD", "FORWARD_ONLY", "READ_ONLY", "TYPE_WARNING":
		default: // DYNAMIC, SCROLL_LOCKS, OPTIMISTIC
			def.invalid = sqlerr.Unsupported(o + " cursor")
		}
	}
	if d.ForUpdate {
		def.invalid = sqlerr.Unsupported("cursor FOR UPDATE")
	}
	return def
}

// cursorStatement compiles the statements about cursors.
func (c *compiler) cursorStatement(s syntax.Statement) bool {
	switch s := s.(type) {
	case *syntax.DeclareCursor:
		def, name := defineCursor(&s.Def), s.Name.Name
		c.emit(s, func(x *Session, f *frame) error { return x.declareCursor(f, name, def) })
	case *syntax.SetVariable: // SET @c = CURSOR FOR …
		slot, ok := c.p.index[catalog.Fold(s.Name)]
		if !ok || !c.p.vars[slot].cursor {
			missing := s.Name
			c.emit(s, func(*Session, *frame) error { return &scopeError{sqlerr.New(137, missing)} })
			return true
		}
		def := defineCursor(s.Cursor)
		c.emit(s, func(_ *Session, f *frame) error {
			if def.invalid != nil {
				return def.invalid
			}
			f.setCursor(slot, newCursor(f, "", def))
			return nil
		})
	case *syntax.CursorOp:
		op, name := s.Op, s.Name
		c.emit(s, func(x *Session, f *frame) error { return x.cursorOp(f, op, name) })
	case *syntax.Fetch:
		return c.fetch(s)
	default:
		return false
	}
	return true
}

func (f *frame) setCursor(slot int, cur *cursor) {
	if f.cursorVars == nil {
		f.cursorVars = map[int]*cursor{}
	}
	f.cursorVars[slot] = cur
}

func (x *Session) declareCursor(f *frame, name string, def *cursorDef) error {
	if def.invalid != nil {
		return def.invalid
	}
	scope := &x.cursors
	if def.local {
		scope = &f.cursors
	}
	key := catalog.Fold(name)
	if _, exists := (*scope)[key]; exists {
		return sqlerr.New(16915, name)
	}
	if *scope == nil {
		*scope = map[string]*cursor{}
	}
	(*scope)[key] = newCursor(f, name, def)
	return nil
}

// cursorByName finds a cursor or what a cursor variable refers to.
func (x *Session) cursorByName(f *frame, name string) (*cursor, error) {
	if strings.HasPrefix(name, "@") {
		slot, ok := f.prog.index[catalog.Fold(name)]
		if !ok {
			return nil, sqlerr.New(137, name)
		}
		cur := f.cursorVars[slot]
		if cur == nil {
			return nil, sqlerr.New(16950, name)
		}
		return cur, nil
	}
	key := catalog.Fold(name)
	if cur, ok := f.cursors[key]; ok {
		return cur, nil
	}
	if cur, ok := x.cursors[key]; ok {
		return cur, nil
	}
	return nil, sqlerr.New(16916, name)
}

func (x *Session) cursorOp(f *frame, op, name string) error {
	cur, err := x.cursorByName(f, name)
	if err != nil {
		return err
	}
	switch op {
	case "OPEN":
		if cur.open {
			return sqlerr.New(16905)
		}
		return x.openCursor(f, cur)
	case "CLOSE":
		if !cur.open {
			return sqlerr.New(16917)
		}
		cur.close()
	case "DEALLOCATE":
		if strings.HasPrefix(name, "@") {
			delete(f.cursorVars, f.prog.index[catalog.Fold(name)])
			return nil
		}
		key := catalog.Fold(name)
		if _, local := f.cursors[key]; local {
			delete(f.cursors, key)
			return nil
		}
		delete(x.cursors, key)
	}
	return nil
}

// closeCursors closes all cursors of the session, as the end of a transaction
// does under SET CURSOR_CLOSE_ON_COMMIT ON. They stay declared.
func (x *Session) closeCursors() {
	for _, cur := range x.cursors {
		cur.close()
	}
	for f := x.frame; f != nil; f = f.caller {
		for _, cur := range f.cursors {
			cur.close()
		}
		for _, cur := range f.cursorVars {
			if cur != nil {
				cur.close()
			}
		}
	}
}

func (c *cursor) close() { c.open, c.rows = false, nil }

func (x *Session) openCursor(caller *frame, cur *cursor) error {
	f := x.newFrame(cur.prog, caller.module, caller)
	f.vars, f.tables, f.inserted, f.deleted = cur.vars, cur.tables, caller.inserted, caller.deleted
	stmt, err := cur.def.query.compile(x, f)
	if err != nil {
		return err
	}
	if err := x.permitted(f, stmt); err != nil {
		return err
	}
	x.openImplicit()
	cur.rows, cur.at, cur.cols = nil, -1, stmt.Columns()
	err = x.inStatement(f, access{tables: stmt.Tables(), modules: stmt.Modules()}, func() error {
		_, err := stmt.Run(&f.rt, func(r types.Row) error {
			cur.rows = append(cur.rows, r)
			return nil
		})
		return err
	})
	if err != nil {
		return err
	}
	cur.open = true
	x.cursorRows = int64(len(cur.rows))
	return nil
}

// fetchCommand is the kind of FETCH in the DONE token.
const fetchCommand = 0xC1

// fetch compiles FETCH.
func (c *compiler) fetch(s *syntax.Fetch) bool {
	slots := make([]int, len(s.Into))
	for i, name := range s.Into {
		slot, ok := c.p.index[catalog.Fold(name)]
		if !ok {
			missing := name
			c.emit(s, func(*Session, *frame) error { return &scopeError{sqlerr.New(137, missing)} })
			return true
		}
		slots[i] = slot
	}
	n := optionalExpr(s.N)
	direction, name := s.Direction, s.Name
	c.emit(s, func(x *Session, f *frame) error { return x.fetchRow(f, direction, name, n, slots) })
	return true
}

func (x *Session) fetchRow(f *frame, direction, name string, n *lazyExpr, slots []int) error {
	cur, err := x.cursorByName(f, name)
	if err != nil {
		return err
	}
	if !cur.open {
		return sqlerr.New(16917)
	}
	x.openImplicit()
	if direction != "NEXT" && direction != "" && !cur.def.scroll {
		return sqlerr.New(16911, strings.ToLower(direction))
	}
	by := int64(0)
	if n != nil {
		if by, err = x.intOf(f, n); err != nil {
			return err
		}
	}
	cur.move(direction, by)
	if cur.at < 0 || cur.at >= len(cur.rows) {
		x.fetchState = -1
		if len(slots) > 0 {
			x.rowCount = 0
			return nil
		}
		if _, err := x.rowsTo(cur.cols); err != nil {
			return err
		}
		return x.finish(f, true, 0, fetchCommand, nil)
	}
	row := cur.rows[cur.at]
	x.fetchState, x.rowCount, x.lastError = 0, 1, 0
	if len(slots) == 0 {
		out, err := x.rowsTo(cur.cols)
		if err != nil {
			return err
		}
		if err := out(row); err != nil {
			return err
		}
		return x.finish(f, true, 1, fetchCommand, nil)
	}
	if len(slots) != len(row) {
		return sqlerr.New(16924)
	}
	for i, slot := range slots {
		v, err := types.Assign(row[i], f.prog.vars[slot].typ)
		if err != nil {
			return err
		}
		f.vars[slot] = v
	}
	return nil
}

// move sets the position of the cursor.
func (c *cursor) move(direction string, n int64) {
	last := len(c.rows) - 1
	switch direction {
	case "PRIOR":
		c.at--
	case "FIRST":
		c.at = 0
	case "LAST":
		c.at = last
	case "ABSOLUTE":
		c.at = int(n) - 1
		if n < 0 {
			c.at = last + 1 + int(n)
		}
	case "RELATIVE":
		c.at += int(n)
	default:
		c.at++
	}
	c.at = min(max(c.at, -1), last+1)
}

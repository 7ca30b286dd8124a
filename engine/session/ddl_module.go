package session

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/exec"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// module makes the catalog's form of a CREATE or ALTER of a module, and stores
// it: error 2714 when it exists and must not, 208 when it must and does not.
func (x *Session) module(ch *catalog.Change, form syntax.ModuleForm, n syntax.Name, kind catalog.ObjectKind, opts syntax.ModuleOptions, text string, complete func(m *catalog.Module) error) error {
	if n.Database.Name != "" {
		return sqlerr.New(166, moduleWord(kind))
	}
	if opts.Encryption {
		return sqlerr.Unsupported("WITH ENCRYPTION")
	}
	db, sc, err := x.target(n)
	if err != nil {
		return err
	}
	m := &catalog.Module{
		ModuleKind: kind, Text: createText(text), QuotedIdentifier: x.opts.quotedIdentifier, AnsiNulls: x.opts.ansiNulls,
		SchemaBinding: opts.SchemaBinding, Recompile: opts.Recompile, ExecuteAs: executeAsName(opts.ExecuteAs),
	}
	old, err := x.existingModule(db, sc, n, kind, form)
	if err != nil {
		return err
	}
	if old == nil {
		if db, m.Header, err = x.newHeader(n, "CREATE "+moduleWord(kind)); err != nil {
			return ofModule(err, n.Object.Name)
		}
	} else {
		m.Header, m.Disabled, m.Parent = old.Header, old.Disabled, old.Parent
		m.Modified = x.srv.now()
	}
	if err := complete(m); err != nil {
		return err
	}
	return ch.PutObject(db, m)
}

// existingModule finds and locks the module that a statement replaces; nil when
// there is none and none is needed.
func (x *Session) existingModule(db *catalog.Database, sc *catalog.Schema, n syntax.Name, kind catalog.ObjectKind, form syntax.ModuleForm) (*catalog.Module, error) {
	if form == syntax.FormCreate {
		return nil, nil
	}
	if err := x.lockName(db, sc, n.Object.Name); err != nil {
		return nil, err
	}
	o, ok := db.Object(sc.Name, n.Object.Name)
	if !ok {
		if form == syntax.FormAlter {
			e := sqlerr.WithState(208, 6, displayName(n))
			e.Procedure = n.Object.Name
			return nil, e
		}
		return nil, nil
	}
	m, ok := o.(*catalog.Module)
	if !ok || m.ModuleKind != kind {
		return nil, sqlerr.New(2010, displayName(n))
	}
	if err := x.mayAlter(db, m); err != nil {
		return nil, err
	}
	return m, x.lockObject(db.ID, m.ID)
}

// ofModule names the module in error 2714 and gives it the state that it has
// for modules.
func ofModule(err error, name string) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.Number != 2714 {
		return err
	}
	c := *e
	c.State, c.Procedure = 3, name
	return &c
}

// createText is the text of a module as the catalog keeps it: ALTER and CREATE
// OR ALTER become CREATE.
func createText(text string) string {
	at := codeStart(text)
	head, rest := text[:at], text[at:]
	if len(rest) >= 5 && strings.EqualFold(rest[:5], "ALTER") {
		return head + "CREATE" + rest[5:]
	}
	fields := reOrAlter.FindStringSubmatch(rest)
	if fields == nil {
		return text
	}
	return head + fields[1] + fields[2] + fields[3] + rest[len(fields[0]):]
}

// reOrAlter finds CREATE OR ALTER; the blanks between the words stay.
var reOrAlter = regexp.MustCompile(`(?is)^(CREATE\s+)OR(\s+)ALTER(\s+)`)

// codeStart is where a text's first word begins, after blanks and comments.
func codeStart(text string) int {
	at := 0
	for at < len(text) {
		switch rest := text[at:]; {
		case rest[0] <= ' ':
			at++
		case strings.HasPrefix(rest, "--"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				return len(text)
			}
			at += end + 1
		case strings.HasPrefix(rest, "/*"):
			end := commentEnd(rest)
			if end < 0 {
				return len(text)
			}
			at += end
		default:
			return at
		}
	}
	return at
}

// commentEnd is the length of the comment with which text begins; comments nest.
func commentEnd(text string) int {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			if depth--; depth == 0 {
				return i + 2
			}
			i++
		}
	}
	return -1
}

func moduleWord(kind catalog.ObjectKind) string {
	switch kind {
	case catalog.KindProcedure:
		return "PROCEDURE"
	case catalog.KindView:
		return "VIEW"
	case catalog.KindTrigger:
		return "TRIGGER"
	}
	return "FUNCTION"
}

func executeAsName(c *syntax.ExecuteContext) string {
	if c == nil {
		return ""
	}
	if c.Kind == "USER" {
		if l, ok := c.Name.(*syntax.Literal); ok {
			return "USER:" + l.Text
		}
	}
	return c.Kind
}

// parameters are the catalog's form of a module's parameters.
func (x *Session) parameters(list []syntax.Parameter) ([]catalog.Parameter, error) {
	out := make([]catalog.Parameter, len(list))
	for i, p := range list {
		out[i] = catalog.Parameter{Name: p.Name, Output: p.Output, HasDefault: p.Default != nil, ReadOnly: p.ReadOnly}
		shape, err := x.tableType(p.Type)
		if err != nil {
			return nil, err
		}
		if shape != nil {
			if !p.ReadOnly {
				return nil, sqlerr.New(352, p.Name)
			}
			out[i].Table, out[i].UserType = shape.ID, p.Type.Name.Object.Name
			continue
		}
		t, err := x.dataType(p.Type)
		if err != nil {
			return nil, err
		}
		out[i].Type = t
	}
	return out, nil
}

func (x *Session) createProcedure(ch *catalog.Change, s *syntax.CreateProcedure) error {
	return x.module(ch, s.Form, s.Name, catalog.KindProcedure, s.Options, s.Text, func(m *catalog.Module) error {
		var err error
		if m.Parameters, err = x.parameters(s.Params); err != nil {
			return err
		}
		return x.check(m)
	})
}

// check compiles a module without running it: what can be known when it is
// created is refused then.
func (x *Session) check(m *catalog.Module) error {
	_, err := x.compileModule(m)
	return ofModuleText(err, m.Name)
}

func (x *Session) createFunction(ch *catalog.Change, s *syntax.CreateFunction) error {
	kind := catalog.KindScalarFunction
	switch {
	case s.Inline:
		kind = catalog.KindInlineFunction
	case s.Table != nil:
		kind = catalog.KindTableFunction
	}
	return x.module(ch, s.Form, s.Name, kind, s.Options, s.Text, func(m *catalog.Module) error {
		var err error
		if m.Parameters, err = x.parameters(s.Params); err != nil {
			return err
		}
		switch kind {
		case catalog.KindInlineFunction:
			m.Columns, err = x.viewColumns(m)
			return err
		case catalog.KindTableFunction:
			shape, err := x.tableShape(s.TableVar, s.Table, nil)
			if err != nil {
				return err
			}
			m.Columns = shape.Columns
		default:
			if m.Returns, err = x.dataType(s.Returns); err != nil {
				return err
			}
		}
		return x.check(m)
	})
}

func (x *Session) createView(ch *catalog.Change, s *syntax.CreateView) error {
	return x.module(ch, s.Form, s.Name, catalog.KindView, s.Options, s.Text, func(m *catalog.Module) error {
		var err error
		m.Columns, err = x.viewColumns(m)
		if e := (*sqlerr.Error)(nil); errors.As(err, &e) && e.Number == 8155 {
			at := 0
			if _, scanErr := fmt.Sscanf(e.Message, "No column name was specified for column %d", &at); scanErr == nil {
				err = sqlerr.New(4511, at)
			}
		}
		return ofModuleText(err, m.Name)
	})
}

// ofModuleText names the module in an error of its text.
func ofModuleText(err error, name string) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.Procedure != "" {
		return err
	}
	c := *e
	c.Procedure = name
	return &c
}

// viewColumns binds the query of a view or inline function and returns its
// columns.
func (x *Session) viewColumns(m *catalog.Module) ([]*catalog.Column, error) {
	b := &binder{x: x}
	defer b.close()
	cols, err := exec.ModuleColumns(b, m)
	if err != nil {
		return nil, err
	}
	out := make([]*catalog.Column, len(cols))
	for i, c := range cols {
		out[i] = &catalog.Column{ID: int32(i + 1), Name: c.Name, Type: c.Type, Nullable: c.Nullable}
	}
	return out, nil
}

func (x *Session) createTrigger(ch *catalog.Change, s *syntax.CreateTrigger) error {
	name := s.Name
	if name.Schema.Name == "" {
		name.Schema = s.Table.Schema
	}
	o, db, err := x.lookup(s.Table, "")
	if err != nil {
		return err
	}
	if o == nil {
		return sqlerr.New(8197, displayName(s.Table))
	}
	parent := o.Head()
	if v, ok := o.(*catalog.Module); ok && (v.ModuleKind != catalog.KindView || !s.InsteadOf) {
		return sqlerr.New(8197, displayName(s.Table))
	}
	if err := x.lockObject(db.ID, parent.ID); err != nil {
		return err
	}
	if err := x.onlyInsteadOf(s, o); err != nil {
		return err
	}
	var made *catalog.Module
	err = x.module(ch, s.Form, name, catalog.KindTrigger, s.Options, s.Text, func(m *catalog.Module) error {
		m.Parent, m.InsteadOf = parent.ID, s.InsteadOf
		m.OnInsert, m.OnUpdate, m.OnDelete = s.Insert, s.Update, s.Delete
		made = m
		return x.check(m)
	})
	if err != nil {
		return err
	}
	return x.attachTrigger(ch, db, parent.ID, made)
}

// onlyInsteadOf is error 2111: an object has one INSTEAD OF trigger an action.
func (x *Session) onlyInsteadOf(s *syntax.CreateTrigger, parent catalog.Object) error {
	if !s.InsteadOf {
		return nil
	}
	for _, a := range []struct {
		on     bool
		action exec.Action
	}{{s.Insert, exec.ActionInsert}, {s.Update, exec.ActionUpdate}, {s.Delete, exec.ActionDelete}} {
		if !a.on {
			continue
		}
		if m := x.insteadOfTrigger(parent, a.action); m != nil && catalog.Fold(m.Name) != catalog.Fold(s.Name.Object.Name) {
			return sqlerr.New(2111, s.Name.Object.Name, parent.Head().Name, a.action)
		}
	}
	return nil
}

// attachTrigger puts a trigger into the definition of its table.
func (x *Session) attachTrigger(ch *catalog.Change, db *catalog.Database, parent int32, m *catalog.Module) error {
	o, _ := db.ObjectByID(parent)
	t, ok := o.(*catalog.Table)
	if !ok {
		return nil // a view's triggers are found by their parent
	}
	changed := t.Clone()
	for i, other := range changed.Triggers {
		if other.ID == m.ID {
			changed.Triggers[i] = m
			return x.put(ch, db, t, changed)
		}
	}
	changed.Triggers = append(changed.Triggers, m)
	return x.put(ch, db, t, changed)
}

// setTriggers enables or disables triggers of a table, error 4920.
func (x *Session) setTriggers(ch *catalog.Change, db *catalog.Database, t *catalog.Table, names []syntax.Ident, all, enable bool) error {
	changed := t.Clone()
	for _, n := range names {
		found := false
		for _, m := range t.Triggers {
			found = found || catalog.Fold(m.Name) == catalog.Fold(n.Name)
		}
		if !found {
			return sqlerr.New(4920, n.Name, t.Name)
		}
	}
	for i, m := range changed.Triggers {
		chosen := all
		for _, n := range names {
			chosen = chosen || catalog.Fold(m.Name) == catalog.Fold(n.Name)
		}
		if !chosen {
			continue
		}
		next := copyModule(m)
		next.Disabled = !enable
		changed.Triggers[i] = next
		if err := ch.PutObject(db, next); err != nil {
			return err
		}
	}
	return x.put(ch, db, t, changed)
}

// copyModule copies a module without what was derived from it.
func copyModule(m *catalog.Module) *catalog.Module {
	return &catalog.Module{
		Header: m.Header, ModuleKind: m.ModuleKind, Text: m.Text, QuotedIdentifier: m.QuotedIdentifier, AnsiNulls: m.AnsiNulls,
		SchemaBinding: m.SchemaBinding, Recompile: m.Recompile, ExecuteAs: m.ExecuteAs, Parameters: m.Parameters, Returns: m.Returns,
		Parent: m.Parent, InsteadOf: m.InsteadOf, OnInsert: m.OnInsert, OnUpdate: m.OnUpdate, OnDelete: m.OnDelete,
		Disabled: m.Disabled, Columns: m.Columns,
	}
}

func (x *Session) enableTrigger(ch *catalog.Change, s *syntax.EnableTrigger) error {
	db, t, err := x.ownTable(s.Table, 1088)
	if err != nil {
		return err
	}
	names := make([]syntax.Ident, len(s.Names))
	for i, n := range s.Names {
		names[i] = n.Object
	}
	return x.setTriggers(ch, db, t, names, s.All, s.Enable)
}

// pseudoTable is the shape of inserted and deleted in a trigger.
func (x *Session) pseudoTable(m *catalog.Module) (*catalog.Table, error) {
	db, ok := x.srv.cat.DatabaseByID(m.DatabaseID)
	if !ok {
		return nil, sqlerr.New(911, m.Database)
	}
	o, _ := db.ObjectByID(m.Parent)
	switch o := o.(type) {
	case *catalog.Table:
		return o, nil
	case *catalog.Module:
		t := &catalog.Table{TypeOnly: true, Columns: o.Columns}
		t.Name, t.DatabaseID = o.Name, o.DatabaseID
		return t, nil
	}
	return nil, sqlerr.New(8197, m.Name)
}

// runTableFunction runs a multi-statement table-valued function and returns the
// rows of its table.
func (x *Session) runTableFunction(m *catalog.Module, args []types.Value) ([]types.Row, error) {
	if isSystemFunction(m) {
		return systemRows[m](x, args)
	}
	m, p, err := x.moduleProgram(m)
	if err != nil {
		return nil, err
	}
	f := x.newFrame(p, m, x.frame)
	f.function = true
	actuals := make([]actual, len(args))
	for i, v := range args {
		actuals[i] = actual{value: v, typ: m.Parameters[i].Type}
	}
	if err := x.bindArguments(f, m.Name, actuals); err != nil {
		return nil, err
	}
	result := len(p.tables) - 1
	for i, t := range p.tables { // the result is the first that is not a parameter
		if !t.param {
			result = i
			break
		}
	}
	var rows []types.Row
	statement, count := x.statement, x.rowCount
	x.functions++
	err = x.call(f, func() error {
		x.opts.quotedIdentifier, x.opts.ansiNulls, x.opts.noCount = m.QuotedIdentifier, m.AnsiNulls, true
		if err := x.run(f); err != nil {
			return err
		}
		rows, err = x.rowsOfVariable(f, result)
		return err
	})
	x.functions--
	x.statement, x.rowCount = statement, count
	return rows, err
}

package session

import (
	"reflect"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
)

// declared checks that the variables which a statement uses have been declared
// above it, error 137 and 1087: SQL Server finds that before anything of the
// batch runs. Statements within the statement are checked on their own, and the
// bodies of modules have variables of their own.
func (c *compiler) declared(s syntax.Statement) error {
	switch s := s.(type) {
	case *syntax.Block, *syntax.TryCatch, *syntax.Label, *syntax.Goto, *syntax.Break, *syntax.Continue,
		*syntax.CreateProcedure, *syntax.CreateFunction, *syntax.CreateTrigger, *syntax.CreateView:
		return nil
	case *syntax.If:
		return c.declaredIn(reflect.ValueOf(s.Cond))
	case *syntax.While:
		return c.declaredIn(reflect.ValueOf(s.Cond))
	}
	return c.declaredIn(reflect.ValueOf(s))
}

// The types of nodes in which no variable can be.
var withoutVariables = map[reflect.Type]bool{
	reflect.TypeFor[syntax.Pos]():        true,
	reflect.TypeFor[syntax.Ident]():      true,
	reflect.TypeFor[syntax.Name]():       true,
	reflect.TypeFor[syntax.DataType]():   true,
	reflect.TypeFor[syntax.Hint]():       true,
	reflect.TypeFor[syntax.Literal]():    true,
	reflect.TypeFor[syntax.ColumnRef]():  true,
	reflect.TypeFor[syntax.Constraint](): true,
}

// declaredIn looks at a node and at what is below it.
func (c *compiler) declaredIn(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return c.declaredIn(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			if err := c.declaredIn(v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.Struct:
	default:
		return nil
	}
	if withoutVariables[v.Type()] {
		return nil
	}
	if err := c.declaredBy(v); err != nil {
		return err
	}
	for i := range v.NumField() {
		if err := c.declaredIn(v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

// declaredBy checks the variables that a node names itself.
func (c *compiler) declaredBy(v reflect.Value) error {
	switch n := v.Interface().(type) {
	case syntax.Insert:
		return c.mustBeWritable(n.Target)
	case syntax.Update:
		return c.mustBeWritable(n.Target)
	case syntax.Delete:
		return c.mustBeWritable(n.Target)
	case syntax.Merge:
		return c.mustBeWritable(n.Target)
	case syntax.Output:
		return c.mustBeWritable(n.Into)
	case syntax.Variable:
		return c.mustKnow(n.Name, n.Line, 2)
	case syntax.VariableRef:
		if _, ok := c.p.tindex[catalog.Fold(n.Name)]; !ok {
			return sqlerr.New(1087, n.Name).At(n.Line)
		}
	case syntax.SelectItem:
		return c.mustKnow(n.Assign, n.Line, 1)
	case syntax.SetClause:
		return c.mustKnow(n.Variable, n.Line, 1)
	case syntax.SetVariable:
		return c.mustKnow(n.Name, n.Line, 1)
	case syntax.ExecuteContext:
		return c.mustKnow(n.CookieInto, n.Line, 1)
	case syntax.CursorOp:
		return c.mustKnowCursor(n.Name, n.Line)
	case syntax.Fetch:
		for _, name := range n.Into {
			if err := c.mustKnow(name, n.Line, 1); err != nil {
				return err
			}
		}
		return c.mustKnowCursor(n.Name, n.Line)
	case syntax.Exec:
		if err := c.mustKnow(n.Return, n.Line, 1); err != nil {
			return err
		}
		return c.mustKnow(n.ProcVar, n.Line, 1)
	}
	return nil
}

// mustBeWritable is error 10700 for a table-valued parameter as a target.
func (c *compiler) mustBeWritable(t syntax.TableExpr) error {
	v, ok := t.(*syntax.VariableRef)
	if !ok {
		return nil
	}
	if slot, ok := c.p.tindex[catalog.Fold(v.Name)]; ok && c.p.tables[slot].param {
		return sqlerr.New(10700, v.Name).At(v.Line)
	}
	return nil
}

// mustKnow is error 137 for a variable that is not declared; an empty name is
// none.
func (c *compiler) mustKnow(name string, line int32, state uint8) error {
	if name == "" || c.p.known(catalog.Fold(name)) {
		return nil
	}
	e := sqlerr.New(137, name).At(line)
	e.State = state
	return e
}

// mustKnowCursor is mustKnow for the name of a cursor, which may be a variable.
func (c *compiler) mustKnowCursor(name string, line int32) error {
	if len(name) == 0 || name[0] != '@' {
		return nil
	}
	return c.mustKnow(name, line, 1)
}

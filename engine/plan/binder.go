package plan

import (
	"loopbroker/engine/builtin"
	"loopbroker/engine/catalog"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// Binder says what names mean where a statement is compiled. The session
// implements it.
type Binder interface {
	// Relation resolves the name of a table, view, table-valued function or
	// system view. Synonyms and temporary tables are followed. Error 208.
	Relation(n syntax.Name) (catalog.Object, error)
	// TableByID finds a table of a database by its object id: the two ends of
	// a foreign key.
	TableByID(database uint32, id int32) (*catalog.Table, error)
	// Variable finds a scalar variable, name with its @. Error 137.
	Variable(name string) (slot int, t types.Type, err error)
	// TableVariable finds a table variable or table-valued parameter. The table
	// is its shape. Error 1087.
	TableVariable(name string) (slot int, t *catalog.Table, err error)
	// DataType resolves a type as written.
	DataType(dt syntax.DataType) (types.Type, error)
	// Function finds a user-defined scalar function. Errors 4121 and 195.
	Function(n syntax.Name) (*catalog.Module, error)
	// Sequence finds a sequence. Error 208.
	Sequence(n syntax.Name) (*catalog.Sequence, error)
	// PseudoTable finds inserted or deleted inside a trigger; ok is false
	// elsewhere.
	PseudoTable(name string) (slot int, t *catalog.Table, ok bool)
	// Module returns the binder for the text of a view or an inline function:
	// names are looked up as its owner sees them, variables are not visible.
	Module(m *catalog.Module) Binder
	// Options are the SET options that are fixed when a statement is compiled.
	Options() builtin.Options
}

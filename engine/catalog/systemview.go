package catalog

import (
	"time"

	"loopbroker/engine/types"
)

// Reader is what the catalog views need of a session beside Viewer.
type Reader interface {
	Viewer
	// Server is the server's catalog.
	Server() *Server
	// Visible reports whether the session may see an object's metadata.
	Visible(o Object) bool
	// LoginName is the login the session runs as.
	LoginName() string
	// Sysadmin reports whether the session may see what belongs to the server.
	Sysadmin() bool
	// TokenUsages lists the login's tokens: name and usage, for sys.login_token.
	TokenUsages() [][2]string
}

// viewKey finds a system view.
type viewKey struct{ schema, name string }

// systemViews are the catalog views and the views of INFORMATION_SCHEMA.
var systemViews = map[viewKey]*SystemView{}

// LookupSystemView finds a system view by the folded schema, sys or
// information_schema, and its name.
func LookupSystemView(schema, name string) (*SystemView, bool) {
	v, ok := systemViews[viewKey{schema, Fold(name)}]
	return v, ok
}

// col is one column of a system view.
func col(name string, t types.Type) *Column { return &Column{Name: name, Type: t} }

// nullable is a column of a system view that may be NULL.
func nullable(name string, t types.Type) *Column { return &Column{Name: name, Type: t, Nullable: true} }

// define registers a system view. Rows appends rows; a row shorter than the
// columns is filled up with NULL.
func define(schema, name string, cols []*Column, rows func(r Reader, add func(...types.Value))) {
	for i, c := range cols {
		c.ID = int32(i + 1)
	}
	v := &SystemView{Columns: cols, Rows: func(v Viewer) ([]types.Row, error) {
		var out []types.Row
		rows(v.(Reader), func(vals ...types.Value) {
			row := make(types.Row, len(cols))
			copy(row, vals)
			out = append(out, row)
		})
		return out, nil
	}}
	v.Name, v.Schema, v.ID = name, schema, -int32(len(systemViews)+1)
	systemViews[viewKey{Fold(schema), Fold(name)}] = v
}

// The types of the columns of system views.
var (
	nameType  = types.NVarChar(128)
	descType  = types.NVarChar(60)
	codeType  = types.Char(2)
	textType  = types.NVarChar(types.Max)
	bitType   = types.TypeBit
	intType   = types.TypeInt
	tinyType  = types.TypeTinyInt
	smallType = types.TypeSmallInt
	bigType   = types.TypeBigInt
	timeType  = types.TypeDateTime
)

func name(s string) types.Value      { return types.NewNVarChar(s) }
func code(s string) types.Value      { return types.NewString(types.KindChar, pad2(s)) }
func number(n int32) types.Value     { return types.NewInt(int64(n)) }
func tiny(n int) types.Value         { return types.NewTinyInt(int64(n)) }
func small(n int) types.Value        { return types.NewSmallInt(int64(n)) }
func flag(b bool) types.Value        { return types.NewBit(b) }
func moment(t time.Time) types.Value { return types.FromGoTime(types.KindDateTime, 3, t.UTC()) }

func pad2(s string) string {
	if len(s) == 1 {
		return s + " "
	}
	return s
}

// nameOrNull is NULL for an empty name.
func nameOrNull(s string) types.Value {
	if s == "" {
		return types.Null
	}
	return name(s)
}

// kindDescriptions are the type_desc of sys.objects.
var kindDescriptions = map[ObjectKind]string{
	KindTable: "USER_TABLE", KindView: "VIEW", KindProcedure: "SQL_STORED_PROCEDURE", KindScalarFunction: "SQL_SCALAR_FUNCTION",
	KindInlineFunction: "SQL_INLINE_TABLE_VALUED_FUNCTION", KindTableFunction: "SQL_TABLE_VALUED_FUNCTION", KindTrigger: "SQL_TRIGGER",
	KindSequence: "SEQUENCE_OBJECT", KindSynonym: "SYNONYM", KindPrimaryKey: "PRIMARY_KEY_CONSTRAINT", KindUnique: "UNIQUE_CONSTRAINT",
	KindForeignKey: "FOREIGN_KEY_CONSTRAINT", KindCheck: "CHECK_CONSTRAINT", KindDefault: "DEFAULT_CONSTRAINT", KindTableType: "TYPE_TABLE",
}

// listed is one row of sys.objects: an object or a constraint.
type listed struct {
	id, schema, parent int32
	name               string
	kind               ObjectKind
	created, modified  time.Time
}

// listedObjects are the objects of the database that the reader may see, with
// the constraints of their tables.
func listedObjects(r Reader) []listed {
	var out []listed
	for _, o := range r.CurrentDatabase().Objects() {
		if !r.Visible(o) {
			continue
		}
		h := o.Head()
		row := listed{h.ID, h.SchemaID, 0, h.Name, o.Kind(), h.Created, h.Modified}
		if m, ok := o.(*Module); ok {
			row.parent = m.Parent
		}
		out = append(out, row)
		if t, ok := o.(*Table); ok {
			out = append(out, constraintRows(t)...)
		}
	}
	return out
}

func constraintRows(t *Table) []listed {
	var out []listed
	add := func(id int32, name string, kind ObjectKind) {
		out = append(out, listed{id, t.SchemaID, t.ID, name, kind, t.Created, t.Modified})
	}
	for _, ix := range t.Indexes {
		switch {
		case ix.PrimaryKey:
			add(ix.ConstraintID, ix.Name, KindPrimaryKey)
		case ix.UniqueConstraint:
			add(ix.ConstraintID, ix.Name, KindUnique)
		}
	}
	for _, c := range t.Checks {
		add(c.ID, c.Name, KindCheck)
	}
	for _, f := range t.ForeignKeys {
		add(f.ID, f.Name, KindForeignKey)
	}
	for _, c := range t.Columns {
		if c.DefaultName != "" {
			add(c.DefaultID, c.DefaultName, KindDefault)
		}
	}
	return out
}

// visibleTables are the tables that the reader may see.
func visibleTables(r Reader) []*Table {
	var out []*Table
	for _, o := range r.CurrentDatabase().Objects() {
		if t, ok := o.(*Table); ok && r.Visible(o) {
			out = append(out, t)
		}
	}
	return out
}

// visibleModules are the modules of the given kinds that the reader may see.
func visibleModules(r Reader, kinds ...ObjectKind) []*Module {
	var out []*Module
	for _, o := range r.CurrentDatabase().Objects() {
		m, ok := o.(*Module)
		if !ok || !r.Visible(o) {
			continue
		}
		for _, k := range kinds {
			if m.ModuleKind == k {
				out = append(out, m)
			}
		}
	}
	return out
}

// moduleKinds are all kinds of modules.
var moduleKinds = []ObjectKind{
	KindProcedure, KindView, KindTrigger, KindScalarFunction, KindInlineFunction, KindTableFunction,
}

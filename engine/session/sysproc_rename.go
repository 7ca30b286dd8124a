package session

import (
	"regexp"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

func init() {
	registerProcedures(&sysProc{
		name: "sp_rename",
		params: []sysParam{
			required("@objname", types.NVarChar(1035)), required("@newname", sysname), optional("@objtype", types.VarChar(13)),
		},
		run: func(x *Session, c *sysCall) (int32, error) {
			if err := x.rename(c); err != nil {
				return 1, err
			}
			return 0, nil
		},
	})
}

// renaming is one call of sp_rename.
type renaming struct {
	x        *Session
	ch       *catalog.Change
	name     syntax.Name
	written  string // the name as it was given
	to, kind string
}

// rename runs sp_rename, error 15223, 15225, 15248, 15249, 15250, 15335 and
// 15336.
func (x *Session) rename(c *sysCall) error {
	for i, param := range []string{"objname", "newname"} {
		if c.values[i].IsNull() {
			return sqlerr.New(15223, param)
		}
	}
	r := renaming{x: x, written: c.text(0), to: c.text(1), kind: strings.ToUpper(strings.TrimSpace(c.text(2)))}
	name, ok := parseName(r.written)
	if !ok {
		return sqlerr.New(15253, r.written)
	}
	r.name = name
	var run func() error
	switch r.kind {
	case "":
		run = r.any
	case "OBJECT":
		run = r.object
	case "COLUMN":
		run = r.column
	case "INDEX":
		run = r.index
	case "DATABASE", "STATISTICS", "USERDATATYPE":
		return sqlerr.Unsupported("sp_rename of " + r.kind)
	default:
		return sqlerr.New(15249, r.kind)
	}
	err := x.inStatement(x.frame, access{writes: true}, func() error {
		r.ch = x.change()
		return run()
	})
	if err == nil {
		x.inform(15477, 1, "Caution: Changing any part of an object name could break scripts and stored procedures.")
	}
	return err
}

// any renames what the name means: an object or constraint, else a column, else
// an index.
func (r *renaming) any() error {
	err := r.object()
	for _, next := range []func() error{r.column, r.index} {
		if number := errorNumber(err); r.name.Schema.Name == "" || number != 15225 && number != 15248 {
			return err
		}
		if then := next(); errorNumber(then) != 15248 {
			err = then
		}
	}
	return err
}

func errorNumber(err error) int32 {
	if e, ok := err.(*sqlerr.Error); ok { //nolint:errorlint // made in this file
		return e.Number
	}
	return 0
}

// missing is error 15225.
func (r *renaming) missing() error {
	kind := r.kind
	if kind == "" {
		kind = "(null)"
	}
	return sqlerr.New(15225, r.written, r.x.db.Name, kind)
}

// object renames a table or a constraint.
func (r *renaming) object() error {
	x, n := r.x, r.name
	if n.Database.Name != "" && catalog.Fold(n.Database.Name) != catalog.Fold(x.db.Name) {
		return sqlerr.New(15250)
	}
	if isTemporary(n.Object.Name) {
		return sqlerr.Unsupported("sp_rename of a temporary table")
	}
	o, db, err := x.lookup(n, "")
	if err != nil {
		return err
	}
	switch o.(type) {
	case *catalog.Table:
		return r.table()
	case nil:
		return r.constraint()
	}
	if o.Kind() == catalog.KindSystemView || db != x.db {
		return r.missing()
	}
	return sqlerr.Unsupported("sp_rename of a module, sequence or synonym")
}

func (r *renaming) table() error {
	x := r.x
	db, t, err := x.ownTable(r.name, 15225)
	if err != nil {
		return err
	}
	sc, ok := db.SchemaByID(t.SchemaID)
	if !ok {
		return r.missing()
	}
	if err := x.lockName(db, sc, r.to); err != nil {
		return err
	}
	if o, used := db.Object(t.Schema, r.to); used && o.Head().ID != t.ID {
		return sqlerr.New(15335, r.to, "object")
	}
	changed := t.Clone()
	changed.Name = r.to
	return x.put(r.ch, db, t, changed)
}

// constraint renames a constraint, and with a key its index.
func (r *renaming) constraint() error {
	x, schema := r.x, r.name.Schema.Name
	if schema == "" {
		schema = x.defaultSchema()
	}
	id, _, t := constraintID(x.db, schema, r.name.Object.Name)
	if id == 0 {
		return r.missing()
	}
	if used, _, _ := constraintID(x.db, schema, r.to); used != 0 && used != id {
		return sqlerr.New(15335, r.to, "object")
	}
	if _, used := x.db.Object(schema, r.to); used {
		return sqlerr.New(15335, r.to, "object")
	}
	db, t, err := x.ownTable(nameOf(t), 15225)
	if err != nil {
		return err
	}
	changed := t.Clone()
	if !withConstraint(changed, id, r.to) {
		return r.missing()
	}
	return x.put(r.ch, db, t, changed)
}

// nameOf is the name of a table with its schema.
func nameOf(t *catalog.Table) syntax.Name {
	return syntax.Name{Schema: syntax.Ident{Name: t.Schema}, Object: syntax.Ident{Name: t.Name}}
}

// withConstraint renames the constraint with an id in a clone of a table; it
// reports false when the table has none.
func withConstraint(t *catalog.Table, id int32, to string) bool {
	for i, ix := range t.Indexes {
		if ix.ConstraintID == id {
			n := *ix
			n.Name, n.SystemNamed = to, false
			t.Indexes[i] = &n
			return true
		}
	}
	for i, c := range t.Checks {
		if c.ID == id {
			n := *c
			n.Name, n.SystemNamed = to, false
			t.Checks[i] = &n
			return true
		}
	}
	for i, f := range t.ForeignKeys {
		if f.ID == id {
			n := *f
			n.Name, n.SystemNamed = to, false
			t.ForeignKeys[i] = &n
			return true
		}
	}
	for i, c := range t.Columns {
		if c.DefaultID == id && c.DefaultName != "" {
			n := *c
			n.DefaultName, n.DefaultSystem = to, false
			t.Columns[i] = &n
			return true
		}
	}
	return false
}

// owner finds the table in front of the last part of the name; error 15248.
func (r *renaming) owner() (db *catalog.Database, t *catalog.Table, err error) {
	n := syntax.Name{Object: r.name.Schema, Schema: r.name.Database, Database: r.name.Server}
	if n.Object.Name == "" {
		return nil, nil, sqlerr.New(15248, r.kind)
	}
	if isTemporary(n.Object.Name) {
		return nil, nil, sqlerr.Unsupported("sp_rename of a temporary table")
	}
	o, _, err := r.x.lookup(n, "")
	if err != nil {
		return nil, nil, err
	}
	if _, ok := o.(*catalog.Table); !ok {
		return nil, nil, sqlerr.New(15248, r.kind)
	}
	return r.x.ownTable(n, 15248)
}

// column renames a column that no expression of the table names.
func (r *renaming) column() error {
	db, t, err := r.owner()
	if err != nil {
		return err
	}
	at := t.Column(r.name.Object.Name)
	if at < 0 {
		return sqlerr.New(15248, r.kindOr("COLUMN"))
	}
	if used := t.Column(r.to); used >= 0 && used != at {
		return sqlerr.New(15335, r.to, "COLUMN")
	}
	if mentions(t, t.Columns[at].Name) {
		return sqlerr.New(15336, r.written)
	}
	changed := t.Clone()
	c := *t.Columns[at]
	c.Name = r.to
	changed.Columns[at] = &c
	return r.x.put(r.ch, db, t, changed)
}

func (r *renaming) kindOr(kind string) string {
	if r.kind != "" {
		return r.kind
	}
	return kind
}

// mentions reports whether a check, a computed column or the filter of an index
// names a column.
func mentions(t *catalog.Table, column string) bool {
	word := regexp.MustCompile(`(?i)(^|[^\w@#$])` + regexp.QuoteMeta(column) + `($|[^\w@#$])`)
	for _, c := range t.Checks {
		if word.MatchString(c.Text) {
			return true
		}
	}
	for _, c := range t.Columns {
		if c.Computed && word.MatchString(c.ComputedText) {
			return true
		}
	}
	for _, ix := range t.Indexes {
		if word.MatchString(ix.Filter) {
			return true
		}
	}
	return false
}

// index renames an index, and with it the key constraint that it belongs to.
func (r *renaming) index() error {
	db, t, err := r.owner()
	if err != nil {
		return err
	}
	changed, found := t.Clone(), -1
	for i, ix := range t.Indexes {
		switch catalog.Fold(ix.Name) {
		case catalog.Fold(r.name.Object.Name):
			found = i
		case catalog.Fold(r.to):
			return sqlerr.New(15335, r.to, "INDEX")
		}
	}
	if found < 0 {
		return sqlerr.New(15248, r.kindOr("INDEX"))
	}
	ix := *t.Indexes[found]
	ix.Name, ix.SystemNamed = r.to, false
	changed.Indexes[found] = &ix
	return r.x.put(r.ch, db, t, changed)
}

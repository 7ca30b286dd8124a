package session

import (
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/types"
)

func text(s string) (types.Value, error) { return types.NewNVarChar(s), nil }

func whole(n int64) (types.Value, error) { return types.NewInt(n), nil }

func nothing() (types.Value, error) { return types.Null, nil }

func yesNo(b bool) (types.Value, error) {
	if b {
		return whole(1)
	}
	return whole(0)
}

// objectProperties are the functions of schemas, objects, columns, indexes and types.
func objectProperties() map[string]propertyFunc {
	return map[string]propertyFunc{
		"OBJECT_ID": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			name, ok := argText(a[0])
			if !ok {
				return nothing()
			}
			kind := ""
			if len(a) > 1 {
				kind, _ = argText(a[1])
			}
			return x.objectID(name, strings.ToUpper(strings.TrimSpace(kind)))
		},
		"OBJECT_NAME": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			if h := x.headByID(a); h != nil {
				return text(h.Name)
			}
			return nothing()
		},
		"OBJECT_SCHEMA_NAME": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			if h := x.headByID(a); h != nil {
				return text(h.Schema)
			}
			return nothing()
		},
		"OBJECT_DEFINITION": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			if m, ok := x.objectByID(a[0]).(*catalog.Module); ok {
				return text(m.Text)
			}
			return nothing()
		},
		"SCHEMA_ID": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			name := x.defaultSchema()
			if len(a) > 0 {
				name, _ = argText(a[0])
			}
			if sc, ok := x.db.Schema(name); ok {
				return whole(int64(sc.ID))
			}
			return nothing()
		},
		"SCHEMA_NAME": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			if len(a) == 0 {
				return text(x.defaultSchema())
			}
			id, _ := argInt(a[0])
			if sc, ok := x.db.SchemaByID(int32(id)); ok {
				return text(sc.Name)
			}
			return nothing()
		},
		"COL_LENGTH":       colLength,
		"COL_NAME":         colName,
		"COLUMNPROPERTY":   columnProperty,
		"OBJECTPROPERTY":   objectProperty,
		"OBJECTPROPERTYEX": objectProperty,
		"INDEXPROPERTY":    indexProperty,
		"INDEX_COL":        indexCol,
		"TYPE_ID":          typeID,
		"TYPE_NAME":        typeName,
		"IDENT_CURRENT":    identCurrent,
		"IDENT_SEED":       identSeed,
		"IDENT_INCR":       identIncr,
	}
}

// objectID finds the id of an object or constraint, NULL when there is none of
// the kind asked for.
func (x *Session) objectID(name, kind string) (types.Value, error) {
	n, ok := parseName(name)
	if !ok {
		return nothing()
	}
	if isTemporary(n.Object.Name) {
		if catalog.Fold(n.Database.Name) != "tempdb" && catalog.Fold(x.db.Name) != "tempdb" {
			return nothing()
		}
		if t, ok := x.tempTable(n.Object.Name); ok && (kind == "" || kind == "U") {
			return whole(int64(t.ID))
		}
		return nothing()
	}
	o, db, err := x.objectAt(n)
	if err != nil {
		return nothing()
	}
	if o != nil {
		if kind != "" && string(o.Kind()) != kind {
			return nothing()
		}
		return whole(int64(o.Head().ID))
	}
	if s := catalog.Fold(n.Schema.Name); s == "sys" || s == "information_schema" {
		if v, ok := x.systemView(s, n.Object.Name); ok && (kind == "" || kind == "V") {
			return whole(int64(v.ID))
		}
	}
	if id, k, _ := constraintID(db, n.Schema.Name, n.Object.Name); id != 0 && (kind == "" || kind == k) {
		return whole(int64(id))
	}
	return nothing()
}

// constraintID finds a constraint by name.
func constraintID(db *catalog.Database, schema, name string) (id int32, kind string, of *catalog.Table) {
	key := catalog.Fold(name)
	for _, o := range db.Objects() {
		t, ok := o.(*catalog.Table)
		if !ok || schema != "" && catalog.Fold(schema) != catalog.Fold(t.Schema) {
			continue
		}
		for _, ix := range t.Indexes {
			if ix.ConstraintID != 0 && catalog.Fold(ix.Name) == key {
				if ix.PrimaryKey {
					return ix.ConstraintID, "PK", t
				}
				return ix.ConstraintID, "UQ", t
			}
		}
		for _, c := range t.Checks {
			if catalog.Fold(c.Name) == key {
				return c.ID, "C", t
			}
		}
		for _, f := range t.ForeignKeys {
			if catalog.Fold(f.Name) == key {
				return f.ID, "F", t
			}
		}
		for _, c := range t.Columns {
			if c.DefaultName != "" && catalog.Fold(c.DefaultName) == key {
				return c.DefaultID, "D", t
			}
		}
	}
	return 0, "", nil
}

func (x *Session) objectByID(v types.Value) catalog.Object {
	id, ok := argInt(v)
	if !ok {
		return nil
	}
	o, _ := x.db.ObjectByID(int32(id))
	return o
}

// headByID finds an object by the arguments (id, database id).
func (x *Session) headByID(a []types.Value) *catalog.Header {
	id, ok := argInt(a[0])
	if !ok {
		return nil
	}
	db := x.db
	if len(a) > 1 {
		d, _ := argInt(a[1])
		other, ok := x.srv.cat.DatabaseByID(uint32(d))
		if !ok {
			return nil
		}
		db = other
	}
	if o, ok := db.ObjectByID(int32(id)); ok {
		return o.Head()
	}
	for _, t := range x.temps {
		if int64(t.table.ID) == id {
			return &t.table.Header
		}
	}
	return nil
}

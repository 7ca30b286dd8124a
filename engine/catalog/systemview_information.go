package catalog

import "loopbroker/engine/types"

// information is the schema of the standard's views.
const information = "INFORMATION_SCHEMA"

func init() {
	define(information, "SCHEMATA", []*Column{
		nullable("CATALOG_NAME", nameType), col("SCHEMA_NAME", nameType), nullable("SCHEMA_OWNER", nameType),
	}, func(r Reader, add func(...types.Value)) {
		d := r.CurrentDatabase()
		for _, sc := range d.Schemas() {
			owner := ""
			if p, ok := d.PrincipalByID(sc.Owner); ok {
				owner = p.Name
			}
			add(name(d.Name), name(sc.Name), name(owner))
		}
	})
	define(information, "TABLES", []*Column{
		nullable("TABLE_CATALOG", nameType), nullable("TABLE_SCHEMA", nameType), col("TABLE_NAME", nameType), nullable("TABLE_TYPE", types.VarChar(10)),
	}, func(r Reader, add func(...types.Value)) {
		d := r.CurrentDatabase()
		for _, t := range visibleTables(r) {
			add(name(d.Name), name(t.Schema), name(t.Name), types.NewVarChar("BASE TABLE"))
		}
		for _, m := range visibleModules(r, KindView) {
			add(name(d.Name), name(m.Schema), name(m.Name), types.NewVarChar("VIEW"))
		}
	})
	define(information, "VIEWS", []*Column{
		nullable("TABLE_CATALOG", nameType), nullable("TABLE_SCHEMA", nameType), col("TABLE_NAME", nameType), nullable("VIEW_DEFINITION", types.NVarChar(4000)),
		nullable("CHECK_OPTION", types.VarChar(7)), nullable("IS_UPDATABLE", types.VarChar(2)),
	}, func(r Reader, add func(...types.Value)) {
		for _, m := range visibleModules(r, KindView) {
			add(name(m.Database), name(m.Schema), name(m.Name), name(m.Text), types.NewVarChar("NONE"), types.NewVarChar("NO"))
		}
	})
	define(information, "ROUTINES", []*Column{
		nullable("SPECIFIC_CATALOG", nameType), nullable("SPECIFIC_SCHEMA", nameType), col("SPECIFIC_NAME", nameType), nullable("ROUTINE_CATALOG", nameType),
		nullable("ROUTINE_SCHEMA", nameType), col("ROUTINE_NAME", nameType), nullable("ROUTINE_TYPE", types.NVarChar(20)), nullable("ROUTINE_DEFINITION", types.NVarChar(4000)),
	}, func(r Reader, add func(...types.Value)) {
		for _, m := range visibleModules(r, KindProcedure, KindScalarFunction, KindInlineFunction, KindTableFunction) {
			kind := "FUNCTION"
			if m.ModuleKind == KindProcedure {
				kind = "PROCEDURE"
			}
			add(name(m.Database), name(m.Schema), name(m.Name), name(m.Database), name(m.Schema), name(m.Name), name(kind), name(m.Text))
		}
	})
	define(information, "COLUMNS", []*Column{
		nullable("TABLE_CATALOG", nameType), nullable("TABLE_SCHEMA", nameType), col("TABLE_NAME", nameType), nullable("COLUMN_NAME", nameType),
		col("ORDINAL_POSITION", intType), nullable("COLUMN_DEFAULT", types.NVarChar(4000)), nullable("IS_NULLABLE", types.VarChar(3)), nullable("DATA_TYPE", nameType),
		nullable("CHARACTER_MAXIMUM_LENGTH", intType), nullable("CHARACTER_OCTET_LENGTH", intType), nullable("NUMERIC_PRECISION", tinyType),
		nullable("NUMERIC_PRECISION_RADIX", smallType), nullable("NUMERIC_SCALE", intType), nullable("DATETIME_PRECISION", smallType),
		nullable("CHARACTER_SET_CATALOG", nameType), nullable("CHARACTER_SET_SCHEMA", nameType), nullable("CHARACTER_SET_NAME", nameType),
		nullable("COLLATION_CATALOG", nameType), nullable("COLLATION_SCHEMA", nameType), nullable("COLLATION_NAME", nameType),
	}, informationColumns)
	define(information, "TABLE_CONSTRAINTS", []*Column{
		nullable("CONSTRAINT_CATALOG", nameType), nullable("CONSTRAINT_SCHEMA", nameType), col("CONSTRAINT_NAME", nameType), nullable("TABLE_CATALOG", nameType),
		nullable("TABLE_SCHEMA", nameType), nullable("TABLE_NAME", nameType), nullable("CONSTRAINT_TYPE", types.VarChar(11)),
		col("IS_DEFERRABLE", types.VarChar(2)), col("INITIALLY_DEFERRED", types.VarChar(2)),
	}, func(r Reader, add func(...types.Value)) {
		kinds := map[ObjectKind]string{KindPrimaryKey: "PRIMARY KEY", KindUnique: "UNIQUE", KindForeignKey: "FOREIGN KEY", KindCheck: "CHECK"}
		for _, t := range visibleTables(r) {
			for _, c := range constraintRows(t) {
				if word, ok := kinds[c.kind]; ok {
					add(name(t.Database), name(t.Schema), name(c.name), name(t.Database), name(t.Schema), name(t.Name), types.NewVarChar(word), types.NewVarChar("NO"), types.NewVarChar("NO"))
				}
			}
		}
	})
	define(information, "KEY_COLUMN_USAGE", []*Column{
		nullable("CONSTRAINT_CATALOG", nameType), nullable("CONSTRAINT_SCHEMA", nameType), col("CONSTRAINT_NAME", nameType), nullable("TABLE_CATALOG", nameType),
		nullable("TABLE_SCHEMA", nameType), nullable("TABLE_NAME", nameType), nullable("COLUMN_NAME", nameType), col("ORDINAL_POSITION", intType),
	}, func(r Reader, add func(...types.Value)) {
		for _, t := range visibleTables(r) {
			usage := func(constraint string, at, i int) {
				add(name(t.Database), name(t.Schema), name(constraint), name(t.Database), name(t.Schema), name(t.Name), name(t.Columns[at].Name), number(int32(i+1)))
			}
			for _, ix := range t.Indexes {
				for i, k := range ix.Keys {
					if ix.ConstraintID != 0 {
						usage(ix.Name, k.Column, i)
					}
				}
			}
			for _, f := range t.ForeignKeys {
				for i, c := range f.Columns {
					usage(f.Name, c, i)
				}
			}
		}
	})
}

func informationColumns(r Reader, add func(...types.Value)) {
	d := r.CurrentDatabase()
	for _, o := range visibleColumns(r) {
		obj, ok := d.ObjectByID(o.object)
		if !ok {
			continue
		}
		if k := obj.Kind(); k != KindTable && k != KindView {
			continue
		}
		c, h := o.column, obj.Head()
		row := []types.Value{
			name(d.Name), name(h.Schema), name(h.Name), name(c.Name), number(c.ID), types.Null, types.NewVarChar(map[bool]string{true: "YES", false: "NO"}[c.Nullable]), name(c.Type.Kind.String()),
		}
		if c.Default != "" {
			row[5] = name("(" + c.Default + ")")
		}
		add(append(row, informationNumbers(c.Type)...)...)
	}
}

// informationNumbers are the columns of INFORMATION_SCHEMA.COLUMNS from
// CHARACTER_MAXIMUM_LENGTH on.
func informationNumbers(t types.Type) []types.Value {
	out := make([]types.Value, 12)
	length, prec, scale := typeNumbers(t)
	k := t.Kind
	switch {
	case k.IsChar() || k.IsBinary() && k != types.KindRowVersion:
		out[0], out[1] = types.NewInt(int64(t.Length)), types.NewInt(int64(length))
	case k.IsDateTime():
		out[5] = small(scale)
	case k.IsNumeric() && k != types.KindBit:
		out[2], out[3], out[4] = tiny(prec), small(10), types.NewInt(int64(scale))
		if k.IsApproximate() {
			out[3], out[4] = small(2), types.Null
		}
	}
	if t.Collation != nil {
		out[8] = name("iso_1")
		if k.IsUnicode() {
			out[8] = name("UNICODE")
		}
		out[11] = name(t.Collation.Name)
	}
	return out
}

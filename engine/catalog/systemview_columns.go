package catalog

import "loopbroker/engine/types"

// owned is a column with the object it belongs to.
type owned struct {
	object int32
	table  *Table // nil for a column of a module
	column *Column
}

// visibleColumns are the columns of tables, views and functions.
func visibleColumns(r Reader) []owned {
	var out []owned
	for _, o := range r.CurrentDatabase().Objects() {
		if !r.Visible(o) {
			continue
		}
		switch o := o.(type) {
		case *Table:
			for _, c := range o.Columns {
				out = append(out, owned{o.ID, o, c})
			}
		case *Module:
			for _, c := range o.Columns {
				out = append(out, owned{o.ID, nil, c})
			}
		}
	}
	for _, u := range r.CurrentDatabase().Types() {
		if u.Table != nil {
			for _, c := range u.Table.Columns {
				out = append(out, owned{u.Table.ID, u.Table, c})
			}
		}
	}
	return out
}

func collationName(t types.Type) types.Value {
	if t.Collation == nil {
		return types.Null
	}
	return name(t.Collation.Name)
}

func columnColumns(more ...*Column) []*Column {
	return append([]*Column{
		col("object_id", intType), nullable("name", nameType), col("column_id", intType), col("system_type_id", tinyType), col("user_type_id", intType),
		col("max_length", smallType), col("precision", tinyType), col("scale", tinyType), nullable("collation_name", nameType),
		nullable("is_nullable", bitType), col("is_ansi_padded", bitType), col("is_rowguidcol", bitType), col("is_identity", bitType), col("is_computed", bitType),
		col("is_filestream", bitType), nullable("is_replicated", bitType), col("is_xml_document", bitType), col("default_object_id", intType),
		nullable("is_sparse", bitType), nullable("is_column_set", bitType), nullable("generated_always_type", tinyType), col("is_hidden", bitType),
	}, more...)
}

func columnValues(d *Database, o owned, more ...types.Value) []types.Value {
	c := o.column
	sys, user := d.typeIDs(c.Type, c.UserType)
	length, prec, scale := typeNumbers(c.Type)
	return append([]types.Value{
		number(o.object), name(c.Name), number(c.ID), tiny(int(sys)), number(user), small(length), tiny(prec), tiny(scale),
		collationName(c.Type), flag(c.Nullable), flag(true), flag(c.RowGUID), flag(c.Identity), flag(c.Computed), flag(false), flag(false),
		flag(false), number(c.DefaultID), flag(false), flag(false), tiny(0), flag(false),
	}, more...)
}

func init() {
	for _, view := range []string{"columns", "all_columns"} {
		define("sys", view, columnColumns(), func(r Reader, add func(...types.Value)) {
			for _, o := range visibleColumns(r) {
				add(columnValues(r.CurrentDatabase(), o)...)
			}
		})
	}
	define("sys", "identity_columns", columnColumns(
		nullable("seed_value", types.TypeVariant), nullable("increment_value", types.TypeVariant), nullable("last_value", types.TypeVariant),
	), func(r Reader, add func(...types.Value)) {
		for _, o := range visibleColumns(r) {
			if !o.column.Identity || o.table == nil || o.table.Identity == nil {
				continue
			}
			last := types.Null
			if n, used := o.table.Identity.Last(); used {
				last = types.NewBigInt(n)
			}
			add(columnValues(r.CurrentDatabase(), o, types.NewBigInt(o.table.Identity.Seed()), types.NewBigInt(o.table.Identity.Increment()), last)...)
		}
	})
	define("sys", "computed_columns", columnColumns(nullable("definition", textType), col("is_persisted", bitType)), func(r Reader, add func(...types.Value)) {
		for _, o := range visibleColumns(r) {
			if o.column.Computed {
				add(columnValues(r.CurrentDatabase(), o, name("("+o.column.ComputedText+")"), flag(o.column.Persisted))...)
			}
		}
	})
	define("sys", "types", []*Column{
		col("name", nameType), col("system_type_id", tinyType), col("user_type_id", intType), col("schema_id", intType), nullable("principal_id", intType),
		col("max_length", smallType), col("precision", tinyType), col("scale", tinyType), nullable("collation_name", nameType), nullable("is_nullable", bitType),
		col("is_user_defined", bitType), col("is_assembly_type", bitType), col("default_object_id", intType), col("rule_object_id", intType), col("is_table_type", bitType),
	}, typeRows)
	define("sys", "table_types", []*Column{
		col("name", nameType), col("system_type_id", tinyType), col("user_type_id", intType), col("schema_id", intType), col("type_table_object_id", intType), col("is_user_defined", bitType),
	}, func(r Reader, add func(...types.Value)) {
		for _, u := range r.CurrentDatabase().Types() {
			if u.Table != nil {
				add(name(u.Name), tiny(243), number(u.ID), number(u.Schema), number(u.Table.ID), flag(true))
			}
		}
	})
	define("sys", "parameters", []*Column{
		col("object_id", intType), nullable("name", nameType), col("parameter_id", intType), col("system_type_id", tinyType), col("user_type_id", intType),
		col("max_length", smallType), col("precision", tinyType), col("scale", tinyType), col("is_output", bitType), col("is_cursor_ref", bitType),
		col("has_default_value", bitType), nullable("default_value", types.TypeVariant), col("is_readonly", bitType), nullable("is_nullable", bitType),
	}, parameterRows)
}

func typeRows(r Reader, add func(...types.Value)) {
	for _, t := range systemTypes {
		collation := types.Null
		if t.kind.IsChar() || t.name == "sysname" {
			collation = name(r.CurrentDatabase().Collation.Name)
		}
		add(name(t.name), tiny(int(t.id)), number(t.userID), number(4), types.Null, small(t.length), tiny(t.prec), tiny(t.scale), collation,
			flag(t.name != "sysname"), flag(false), flag(false), number(0), number(0), flag(false))
	}
	for _, u := range r.CurrentDatabase().Types() {
		if u.Table != nil {
			add(name(u.Name), tiny(243), number(u.ID), number(u.Schema), types.Null, small(-1), tiny(0), tiny(0), types.Null,
				flag(false), flag(true), flag(false), number(0), number(0), flag(true))
			continue
		}
		sys, _ := r.CurrentDatabase().typeIDs(u.Base, "")
		length, prec, scale := typeNumbers(u.Base)
		add(name(u.Name), tiny(int(sys)), number(u.ID), number(u.Schema), types.Null, small(length), tiny(prec), tiny(scale), collationName(u.Base),
			flag(u.Nullable), flag(true), flag(false), number(0), number(0), flag(false))
	}
}

func parameterRows(r Reader, add func(...types.Value)) {
	row := func(m *Module, p Parameter, id int32) {
		sys, user := r.CurrentDatabase().typeIDs(p.Type, p.UserType)
		length, prec, scale := typeNumbers(p.Type)
		add(number(m.ID), name(p.Name), number(id), tiny(int(sys)), number(user), small(length), tiny(prec), tiny(scale), flag(p.Output), flag(false),
			flag(false), types.Null, flag(p.ReadOnly), flag(true))
	}
	for _, m := range visibleModules(r, moduleKinds...) {
		if m.ModuleKind == KindScalarFunction {
			row(m, Parameter{Type: m.Returns, Output: true}, 0)
		}
		for i, p := range m.Parameters {
			row(m, p, int32(i+1))
		}
	}
}

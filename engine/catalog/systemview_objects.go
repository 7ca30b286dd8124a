package catalog

import (
	"loopbroker/engine/types"
)

func objectColumns(more ...*Column) []*Column {
	return append([]*Column{
		col("name", nameType), col("object_id", intType), nullable("principal_id", intType), col("schema_id", intType),
		col("parent_object_id", intType), col("type", codeType), nullable("type_desc", descType),
		col("create_date", timeType), col("modify_date", timeType), col("is_ms_shipped", bitType),
		col("is_published", bitType), col("is_schema_published", bitType),
	}, more...)
}

func (o *listed) values(more ...types.Value) []types.Value {
	return append([]types.Value{
		name(o.name), number(o.id), types.Null, number(o.schema), number(o.parent), code(string(o.kind)),
		name(kindDescriptions[o.kind]), moment(o.created), moment(o.modified), flag(false), flag(false), flag(false),
	}, more...)
}

// defineKind registers a view of the objects of one kind.
func defineKind(view string, kinds []ObjectKind, cols []*Column, more func(r Reader, o listed) []types.Value) {
	define("sys", view, objectColumns(cols...), func(r Reader, add func(...types.Value)) {
		for _, o := range listedObjects(r) {
			for _, k := range kinds {
				if o.kind != k {
					continue
				}
				var extra []types.Value
				if more != nil {
					extra = more(r, o)
				}
				add(o.values(extra...)...)
			}
		}
	})
}

func tableOf(r Reader, id int32) *Table {
	o, _ := r.CurrentDatabase().ObjectByID(id)
	t, _ := o.(*Table)
	return t
}

func moduleOf(r Reader, id int32) *Module {
	o, _ := r.CurrentDatabase().ObjectByID(id)
	m, _ := o.(*Module)
	return m
}

func init() {
	all := []ObjectKind{
		KindTable, KindView, KindProcedure, KindScalarFunction, KindInlineFunction, KindTableFunction, KindTrigger, KindSequence,
		KindSynonym, KindPrimaryKey, KindUnique, KindForeignKey, KindCheck, KindDefault,
	}
	defineKind("objects", all, nil, nil)
	defineKind("all_objects", all, nil, nil)
	defineKind("procedures", []ObjectKind{KindProcedure}, []*Column{col("is_auto_executed", bitType)},
		func(Reader, listed) []types.Value { return []types.Value{flag(false)} })
	defineKind("views", []ObjectKind{KindView}, []*Column{col("with_check_option", bitType)},
		func(Reader, listed) []types.Value { return []types.Value{flag(false)} })
	defineKind("tables", []ObjectKind{KindTable}, []*Column{
		col("lock_on_bulk_load", bitType), col("uses_ansi_nulls", bitType), col("lock_escalation", tinyType), col("lock_escalation_desc", descType),
		col("is_memory_optimized", bitType), col("temporal_type", tinyType), col("is_external", bitType),
	}, func(r Reader, o listed) []types.Value {
		t := tableOf(r, o.id)
		return []types.Value{
			flag(false), flag(t.UsesAnsiNulls), tiny(escalation(t.LockEscalation)), name(t.LockEscalation), flag(false), tiny(0), flag(false),
		}
	})
	defineKind("triggers", []ObjectKind{KindTrigger}, []*Column{
		col("parent_id", intType), col("parent_class", tinyType), col("is_disabled", bitType), col("is_instead_of_trigger", bitType),
	}, func(r Reader, o listed) []types.Value {
		m := moduleOf(r, o.id)
		return []types.Value{number(m.Parent), tiny(1), flag(m.Disabled), flag(m.InsteadOf)}
	})
	defineKind("sequences", []ObjectKind{KindSequence}, []*Column{
		col("start_value", types.TypeVariant), col("increment", types.TypeVariant), col("minimum_value", types.TypeVariant),
		col("maximum_value", types.TypeVariant), nullable("is_cycling", bitType), nullable("is_cached", bitType), nullable("cache_size", intType),
		col("system_type_id", tinyType), col("user_type_id", intType), col("precision", tinyType), nullable("scale", tinyType),
		col("current_value", types.TypeVariant), col("is_exhausted", bitType),
	}, func(r Reader, o listed) []types.Value {
		obj, _ := r.CurrentDatabase().ObjectByID(o.id)
		q := obj.(*Sequence)
		current, used := q.Counter.Last()
		if !used {
			current = q.Start
		}
		sys, user := r.CurrentDatabase().typeIDs(q.Type, "")
		_, p, sc := typeNumbers(q.Type)
		return []types.Value{
			types.NewBigInt(q.Start), types.NewBigInt(q.Increment), types.NewBigInt(q.Min), types.NewBigInt(q.Max), flag(q.Cycle),
			flag(q.CacheSize > 0), types.NewInt(q.CacheSize), tiny(int(sys)), number(user), tiny(p), tiny(sc), types.NewBigInt(current), flag(false),
		}
	})
	defineKind("synonyms", []ObjectKind{KindSynonym}, []*Column{nullable("base_object_name", types.NVarChar(1035))}, func(r Reader, o listed) []types.Value {
		obj, _ := r.CurrentDatabase().ObjectByID(o.id)
		return []types.Value{name(obj.(*Synonym).targetText())}
	})
	defineKind("key_constraints", []ObjectKind{KindPrimaryKey, KindUnique}, []*Column{
		nullable("unique_index_id", intType), nullable("is_system_named", bitType),
	}, func(r Reader, o listed) []types.Value {
		for _, ix := range tableOf(r, o.parent).Indexes {
			if ix.ConstraintID == o.id {
				return []types.Value{number(ix.ID), flag(ix.SystemNamed)}
			}
		}
		return nil
	})
	defineKind("check_constraints", []ObjectKind{KindCheck}, []*Column{
		col("is_disabled", bitType), col("is_not_trusted", bitType), col("parent_column_id", intType), nullable("definition", textType), col("is_system_named", bitType),
	}, func(r Reader, o listed) []types.Value {
		t := tableOf(r, o.parent)
		for _, c := range t.Checks {
			if c.ID == o.id {
				at := int32(0)
				if c.Column >= 0 {
					at = t.Columns[c.Column].ID
				}
				return []types.Value{flag(c.Disabled), flag(c.NotTrusted), number(at), name(c.Text), flag(c.SystemNamed)}
			}
		}
		return nil
	})
	defineKind("default_constraints", []ObjectKind{KindDefault}, []*Column{
		col("parent_column_id", intType), nullable("definition", textType), col("is_system_named", bitType),
	}, func(r Reader, o listed) []types.Value {
		for _, c := range tableOf(r, o.parent).Columns {
			if c.DefaultID == o.id {
				return []types.Value{number(c.ID), name("(" + c.Default + ")"), flag(c.DefaultSystem)}
			}
		}
		return nil
	})
	defineKind("foreign_keys", []ObjectKind{KindForeignKey}, []*Column{
		nullable("referenced_object_id", intType), nullable("key_index_id", intType), col("is_disabled", bitType), col("is_not_trusted", bitType),
		nullable("delete_referential_action", tinyType), nullable("delete_referential_action_desc", descType),
		nullable("update_referential_action", tinyType), nullable("update_referential_action_desc", descType), col("is_system_named", bitType),
	}, func(r Reader, o listed) []types.Value {
		for _, f := range tableOf(r, o.parent).ForeignKeys {
			if f.ID == o.id {
				del, up := referential(f.OnDelete), referential(f.OnUpdate)
				return []types.Value{
					number(f.RefTable), number(1), flag(f.Disabled), flag(f.NotTrusted),
					tiny(del), name(referentialNames[del]), tiny(up), name(referentialNames[up]), flag(f.SystemNamed),
				}
			}
		}
		return nil
	})
}

var referentialNames = []string{"NO_ACTION", "CASCADE", "SET_NULL", "SET_DEFAULT"}

func referential(action string) int {
	switch action {
	case "CASCADE":
		return 1
	case "SET NULL":
		return 2
	case "SET DEFAULT":
		return 3
	}
	return 0
}

func escalation(word string) int {
	switch word {
	case "DISABLE":
		return 1
	case "AUTO":
		return 2
	}
	return 0
}

// targetText is what a synonym stands for, quoted.
func (s *Synonym) targetText() string {
	out := ""
	for _, p := range s.Target {
		if p == "" && out == "" {
			continue
		}
		if out != "" {
			out += "."
		}
		out += "[" + p + "]"
	}
	return out
}

package catalog

import "loopbroker/engine/types"

func init() {
	define("sys", "indexes", []*Column{
		col("object_id", intType), nullable("name", nameType), col("index_id", intType), col("type", tinyType), nullable("type_desc", descType),
		nullable("is_unique", bitType), col("data_space_id", intType), nullable("ignore_dup_key", bitType), nullable("is_primary_key", bitType),
		nullable("is_unique_constraint", bitType), col("fill_factor", tinyType), nullable("is_padded", bitType), nullable("is_disabled", bitType),
		nullable("is_hypothetical", bitType), nullable("allow_row_locks", bitType), nullable("allow_page_locks", bitType), nullable("has_filter", bitType),
		nullable("filter_definition", textType),
	}, func(r Reader, add func(...types.Value)) {
		for _, t := range visibleTables(r) {
			if !t.HasClustered {
				add(number(t.ID), types.Null, number(0), tiny(0), name("HEAP"), flag(false), number(1), flag(false), flag(false), flag(false), tiny(0),
					flag(false), flag(false), flag(false), flag(true), flag(true), flag(false), types.Null)
			}
			for _, ix := range t.Indexes {
				kind, desc := 2, "NONCLUSTERED"
				if ix.Clustered {
					kind, desc = 1, "CLUSTERED"
				}
				add(number(t.ID), name(ix.Name), number(ix.ID), tiny(kind), name(desc), flag(ix.Unique), number(1), flag(ix.IgnoreDupKey),
					flag(ix.PrimaryKey), flag(ix.UniqueConstraint), tiny(ix.FillFactor), flag(false), flag(ix.Disabled), flag(false),
					flag(ix.AllowRowLocks), flag(ix.AllowPageLocks), flag(ix.Filter != ""), nameOrNull(ix.Filter))
			}
		}
	})
	define("sys", "index_columns", []*Column{
		col("object_id", intType), col("index_id", intType), col("index_column_id", intType), col("column_id", intType), col("key_ordinal", tinyType),
		col("partition_ordinal", tinyType), nullable("is_descending_key", bitType), nullable("is_included_column", bitType),
	}, func(r Reader, add func(...types.Value)) {
		for _, t := range visibleTables(r) {
			for _, ix := range t.Indexes {
				for i, k := range ix.Keys {
					add(number(t.ID), number(ix.ID), number(int32(i+1)), number(t.Columns[k.Column].ID), tiny(i+1), tiny(0), flag(k.Desc), flag(false))
				}
				for i, c := range ix.Include {
					add(number(t.ID), number(ix.ID), number(int32(len(ix.Keys)+i+1)), number(t.Columns[c].ID), tiny(0), tiny(0), flag(false), flag(true))
				}
			}
		}
	})
	define("sys", "foreign_key_columns", []*Column{
		col("constraint_object_id", intType), col("constraint_column_id", intType), col("parent_object_id", intType), col("parent_column_id", intType),
		col("referenced_object_id", intType), col("referenced_column_id", intType),
	}, func(r Reader, add func(...types.Value)) {
		for _, t := range visibleTables(r) {
			for _, f := range t.ForeignKeys {
				ref := tableOf(r, f.RefTable)
				if ref == nil {
					continue
				}
				for i := range f.Columns {
					add(number(f.ID), number(int32(i+1)), number(t.ID), number(t.Columns[f.Columns[i]].ID), number(ref.ID), number(ref.Columns[f.RefColumns[i]].ID))
				}
			}
		}
	})
	define("sys", "partitions", []*Column{
		col("partition_id", bigType), col("object_id", intType), col("index_id", intType), col("partition_number", intType), col("hobt_id", bigType),
		nullable("rows", bigType), col("filestream_filegroup_id", smallType), col("data_compression", tinyType), nullable("data_compression_desc", descType),
		nullable("xml_compression", bitType), nullable("xml_compression_desc", types.VarChar(3)),
	}, func(r Reader, add func(...types.Value)) {
		for _, t := range visibleTables(r) {
			row := func(index int32) {
				hobt := types.NewBigInt(HobtID(t.ID, index))
				add(hobt, number(t.ID), number(index), number(1), hobt, types.NewBigInt(t.Store.Rows()), small(0), tiny(0), name("NONE"),
					flag(false), types.NewVarChar("OFF"))
			}
			if !t.HasClustered {
				row(HeapIndexID)
			}
			for _, ix := range t.Indexes {
				row(ix.ID)
			}
		}
	})
	define("sys", "sql_modules", []*Column{
		col("object_id", intType), nullable("definition", textType), nullable("uses_ansi_nulls", bitType), nullable("uses_quoted_identifier", bitType),
		nullable("is_schema_bound", bitType), nullable("uses_database_collation", bitType), nullable("is_recompiled", bitType),
		nullable("null_on_null_input", bitType), nullable("execute_as_principal_id", intType), nullable("uses_native_compilation", bitType),
	}, func(r Reader, add func(...types.Value)) {
		for _, m := range visibleModules(r, moduleKinds...) {
			as := types.Null
			if m.ExecuteAs == "OWNER" {
				as = number(-2)
			}
			add(number(m.ID), name(m.Text), flag(m.AnsiNulls), flag(m.QuotedIdentifier), flag(m.SchemaBinding), flag(false), flag(m.Recompile), flag(false), as, flag(false))
		}
	})
	define("sys", "trigger_events", []*Column{
		col("object_id", intType), col("type", intType), col("type_desc", descType), col("is_first", bitType), col("is_last", bitType),
	}, func(r Reader, add func(...types.Value)) {
		for _, m := range visibleModules(r, KindTrigger) {
			for i, on := range []bool{m.OnInsert, m.OnUpdate, m.OnDelete} {
				if on {
					add(number(m.ID), number(int32(i+1)), name([]string{"INSERT", "UPDATE", "DELETE"}[i]), flag(false), flag(false))
				}
			}
		}
	})
}

// The ids of the two forms of a table's rows, as sys.indexes numbers them.
const (
	HeapIndexID      = 0
	ClusteredIndexID = 1
)

// HobtID is the id of a heap or B-tree: the hobt_id of sys.partitions, by which
// sys.dm_tran_locks names the rows of an index.
func HobtID(object, index int32) int64 {
	return 1<<56 | int64(uint32(object))<<16 | int64(index)
}

// HobtObject is the object and index that HobtID was given.
func HobtObject(hobt int64) (object, index int32) {
	return int32(uint32(hobt >> 16)), int32(hobt & 0xffff)
}

package session

import (
	"slices"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

func init() {
	registerProcedures(&sysProc{
		name: "sp_helpindex", params: []sysParam{required("@objname", types.NVarChar(776))}, run: helpIndex,
	})
}

// indexRow is a row of sp_helpindex.
type indexRow struct {
	table *catalog.Table
	index *catalog.Index
}

// description is how sp_helpindex describes an index.
func (r *indexRow) description() string {
	ix, words := r.index, []string{"nonclustered"}
	if ix.Clustered {
		words[0] = "clustered"
	}
	if ix.IgnoreDupKey {
		words = append(words, "ignore duplicate keys")
	}
	if ix.Unique {
		words = append(words, "unique")
	}
	if ix.PrimaryKey {
		words = append(words, "primary key")
	}
	if ix.UniqueConstraint {
		words = append(words, "unique key")
	}
	return strings.Join(words, ", ") + " located on PRIMARY"
}

// keys are the key columns of an index; descending ones have a minus.
func (r *indexRow) keys() string {
	names := make([]string, len(r.index.Keys))
	for i, k := range r.index.Keys {
		names[i] = r.table.Columns[k.Column].Name
		if k.Desc {
			names[i] += "(-)"
		}
	}
	return strings.Join(names, ", ")
}

// helpIndex is sp_helpindex, error 15009 and 15250, message 15472.
func helpIndex(x *Session, c *sysCall) (int32, error) {
	written := c.text(0)
	n, ok := parseName(written)
	if ok && n.Database.Name != "" && catalog.Fold(n.Database.Name) != catalog.Fold(x.db.Name) && !isTemporary(n.Object.Name) {
		return 1, sqlerr.New(15250)
	}
	var t *catalog.Table
	if ok {
		if tmp, found := x.tempTable(n.Object.Name); found {
			t = tmp
		} else if o, _, err := x.lookup(n, ""); err != nil {
			return 1, err
		} else if found, isTable := o.(*catalog.Table); isTable && (viewer{x}).Visible(found) {
			t = found
		}
	}
	if t == nil {
		return 1, sqlerr.New(15009, written, x.db.Name)
	}
	if len(t.Indexes) == 0 {
		x.inform(15472, 1, "The object '"+written+"' does not have any indexes, or you do not have permissions.")
		return 0, nil
	}
	rows := make([]indexRow, len(t.Indexes))
	for i, ix := range t.Indexes {
		rows[i] = indexRow{t, ix}
	}
	slices.SortFunc(rows, func(a, b indexRow) int {
		return strings.Compare(catalog.Fold(a.index.Name), catalog.Fold(b.index.Name))
	})
	return 0, sendFields(x, []field[indexRow]{
		word("index_name", sysname, func(r *indexRow) string { return r.index.Name }),
		word("index_description", types.VarChar(210), (*indexRow).description),
		word("index_keys", types.NVarChar(2078), (*indexRow).keys),
	}, rows)
}

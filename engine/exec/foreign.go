package exec

import (
	"fmt"

	"loopbroker/engine/catalog"
	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// reference is a foreign key, ready to look up both ends.
type reference struct {
	key           *catalog.ForeignKey
	child, parent *catalog.Table
	// childIndex and parentIndex begin with the columns of the key, in the
	// orders that follow; -1 for none.
	childIndex, parentIndex int
	childOrder, parentOrder []int
	writer                  *writer // of the child, for actions
}

func (c *compiler) reference(ref *plan.Reference, done map[*plan.Rules]*writer) *reference {
	out := &reference{key: ref.Key, child: ref.Child, parent: ref.Parent}
	out.childIndex, out.childOrder = leadingIndex(ref.Child, ref.Key.Columns)
	out.parentIndex, out.parentOrder = leadingIndex(ref.Parent, ref.Key.RefColumns)
	if ref.Rules != nil {
		out.writer = c.rules(ref.Child, ref.Rules, done)
	}
	return out
}

// leadingIndex finds an index that begins with the given columns in any order.
// order[i] is the position in cols of the index's column i.
func leadingIndex(t *catalog.Table, cols []int) (index int, order []int) {
next:
	for i, ix := range t.Indexes {
		if len(ix.Keys) < len(cols) || ix.Filter != "" || ix.Disabled {
			continue
		}
		order = order[:0]
		for _, k := range ix.Keys[:len(cols)] {
			at := -1
			for j, c := range cols {
				if c == k.Column {
					at = j
				}
			}
			if at < 0 {
				continue next
			}
			order = append(order, at)
		}
		return i, order
	}
	return -1, nil
}

// lookup finds the rows of t whose columns cols have the given values.
func lookup(r *run, t *catalog.Table, index int, order, cols []int, values []types.Value, mode storage.LockMode, each func(storage.RowID, types.Row) error) error {
	var rg storage.Range
	if index >= 0 {
		var key []byte
		for i, at := range order {
			k := t.Indexes[index].Keys[i]
			v, ok := seekValue(values[at], t.Columns[k.Column].Type)
			if !ok {
				return nil
			}
			key = types.AppendKey(key, v, t.Columns[k.Column].Type, k.Desc)
		}
		rg = storage.Prefix(key)
	}
	a := storage.Access{Mode: mode, Timeout: r.timeout, Hold: mode != storage.S}
	if r.rt.Isolation() == storage.Serializable {
		a.Hold, a.Range = true, true
	}
	cur := r.rt.Tx().Scan(r.ctx, t.Store, index, rg, a)
	defer cur.Close()
rows:
	for cur.Next() {
		row := cur.Row()
		for i, c := range cols {
			if row[c].IsNull() || compareValues(row[c], values[i], t.Columns[c].Type.Collation) != 0 {
				cur.Release()
				continue rows
			}
		}
		if err := each(cur.ID(), row); err != nil {
			return err
		}
	}
	return cur.Err()
}

func pick(row types.Row, cols []int) (values []types.Value, null bool) {
	values = make([]types.Value, len(cols))
	for i, c := range cols {
		values[i] = row[c]
		null = null || row[c].IsNull()
	}
	return values, null
}

func samePick(a, b types.Row, cols []int, t *catalog.Table) bool {
	for _, c := range cols {
		if compareNulls(a[c], b[c], t.Columns[c].Type.Collation) != 0 {
			return false
		}
	}
	return true
}

// present checks that the parent of each row exists. olds is nil for an insert;
// keys that an update does not change are not looked up.
func (ref *reference) present(r *run, news, olds []types.Row, verb string) error {
	for i, row := range news {
		values, null := pick(row, ref.key.Columns)
		if null || (olds != nil && samePick(row, olds[i], ref.key.Columns, ref.child)) {
			continue
		}
		found := false
		err := lookup(r, ref.parent, ref.parentIndex, ref.parentOrder, ref.key.RefColumns, values, storage.S,
			func(storage.RowID, types.Row) error { found = true; return errStop })
		if err != nil && !found {
			return err
		}
		if !found {
			return ref.conflict(verb, "FOREIGN KEY", ref.parent, ref.key.RefColumns)
		}
	}
	return nil
}

// conflict is error 547 for a foreign key; t is the other table.
func (ref *reference) conflict(verb, kind string, t *catalog.Table, cols []int) error {
	if ref.child == ref.parent {
		kind += " SAME TABLE"
		if kind == "REFERENCE SAME TABLE" {
			kind = "SAME TABLE REFERENCE"
		}
	}
	column := ""
	if len(cols) == 1 {
		column = fmt.Sprintf(", column '%s'", t.Columns[cols[0]].Name)
	}
	return sqlerr.WithState(547, 0, verb, kind, ref.key.Name, t.Database, qualified(t), column)
}

// parentGone carries out what the key says for rows of the parent that were
// deleted (news is nil) or whose key changed.
func (ref *reference) parentGone(r *run, olds, news []types.Row, verb string) error {
	action := ref.key.OnDelete
	if news != nil {
		action = ref.key.OnUpdate
	}
	var changes changeSet
	for i, old := range olds {
		values, null := pick(old, ref.key.RefColumns)
		if null || (news != nil && samePick(old, news[i], ref.key.RefColumns, ref.parent)) {
			continue
		}
		mode := storage.S
		if action != "" && action != "NO ACTION" {
			mode = storage.U
		}
		err := lookup(r, ref.child, ref.childIndex, ref.childOrder, ref.key.Columns, values, mode,
			func(id storage.RowID, row types.Row) error {
				if mode == storage.S {
					return ref.orphan(r, values, verb)
				}
				next, err := ref.childRow(r, action, row, news, i, verb)
				changes.add(id, row, next)
				return err
			})
		if err != nil {
			return err
		}
	}
	if len(changes.ids) == 0 {
		return nil
	}
	p := place{ref.child, r.rt.Tx()}
	if changes.news[0] == nil {
		return ref.writer.deleteAll(r, p, &changes, verb)
	}
	return ref.writer.updateAll(r, p, &changes, ref.key.Columns, verb)
}

// orphan is the error for a child without its parent, unless another row of the
// parent has the same key: the statement may have moved it there.
func (ref *reference) orphan(r *run, values []types.Value, verb string) error {
	found := false
	err := lookup(r, ref.parent, ref.parentIndex, ref.parentOrder, ref.key.RefColumns, values, storage.S,
		func(storage.RowID, types.Row) error { found = true; return errStop })
	if found {
		return nil
	}
	if err != nil {
		return err
	}
	return ref.conflict(verb, "REFERENCE", ref.child, ref.key.Columns)
}

// childRow is the row that an action makes of a child; nil to delete it.
func (ref *reference) childRow(r *run, action string, row types.Row, news []types.Row, i int, verb string) (types.Row, error) {
	if action == "CASCADE" && news == nil {
		return nil, nil
	}
	next := append(types.Row(nil), row...)
	for j, c := range ref.key.Columns {
		switch action {
		case "CASCADE":
			next[c] = news[i][ref.key.RefColumns[j]]
		case "SET NULL":
			next[c] = types.Null
		default:
			next[c] = types.Null
			if f := ref.writer.defaults[c]; f != nil {
				v, err := f(r)
				if err != nil {
					return nil, err
				}
				if next[c], err = ref.writer.store(r, v, c); err != nil {
					return nil, err
				}
			}
		}
	}
	if ref.writer.version >= 0 {
		next[ref.writer.version] = r.rt.NextRowVersion()
	}
	return next, ref.writer.finish(r, next, verb)
}

package session

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// tempTables are the session's temporary tables, innermost frame last.
type tempTables []tempTable

type tempTable struct {
	name  string // folded
	table *catalog.Table
	frame *frame // the module frame that created it; nil for a batch
}

// isTemporary reports whether a name is that of a temporary object.
func isTemporary(name string) bool { return len(name) > 0 && name[0] == '#' }

// tempTable finds a temporary table by name.
func (x *Session) tempTable(name string) (*catalog.Table, bool) {
	if !isTemporary(name) {
		return nil, false
	}
	key := catalog.Fold(name)
	for i := len(x.temps) - 1; i >= 0; i-- {
		if x.temps[i].name == key {
			return x.temps[i].table, true
		}
	}
	return nil, false
}

// sameTemps reports whether the names of tables still mean these tables.
func (x *Session) sameTemps(tables []*catalog.Table) bool {
	for _, t := range tables {
		if now, ok := x.tempTable(t.Name); !ok || now != t {
			return false
		}
	}
	return true
}

// scopeFrame is the frame at whose end a temporary object created now is
// dropped: the running module or dynamic batch; nil for the client's batch,
// whose objects live as long as the session.
func (x *Session) scopeFrame() *frame {
	if f := x.frame; f != nil && f.caller != nil {
		return f
	}
	return nil
}

// addTemp adds a temporary table; the transaction's rollback takes it back.
func (x *Session) addTemp(tx *storage.Tx, t *catalog.Table) error {
	key, scope := catalog.Fold(t.Name), x.scopeFrame()
	for _, have := range x.temps {
		if have.name == key && have.frame == scope {
			return sqlerr.New(2714, t.Name)
		}
	}
	x.temps = append(x.temps, tempTable{name: key, table: t, frame: scope})
	tx.OnRollback(func() { x.removeTemp(t) })
	return nil
}

// replaceTemp puts a changed definition in place of a temporary table's.
func (x *Session) replaceTemp(tx *storage.Tx, old, changed *catalog.Table) {
	swap := func(from, to *catalog.Table) {
		for i := range x.temps {
			if x.temps[i].table == from {
				x.temps[i].table = to
			}
		}
	}
	swap(old, changed)
	tx.OnRollback(func() { swap(changed, old) })
}

func (x *Session) removeTemp(t *catalog.Table) {
	for i := range x.temps {
		if x.temps[i].table == t {
			x.temps = append(x.temps[:i:i], x.temps[i+1:]...)
			return
		}
	}
}

// dropTemporary drops the temporary tables of a frame, or with a nil frame all
// that the session has.
func (x *Session) dropTemporary(f *frame) {
	for i := len(x.temps) - 1; i >= 0; i-- {
		t := x.temps[i]
		if f != nil && t.frame != f {
			continue
		}
		x.temps = append(x.temps[:i:i], x.temps[i+1:]...)
		x.discard(t.table)
	}
	if f == nil {
		clear(x.local)
	}
}

// discard drops the rows of a temporary table. Inside a transaction that may
// hold locks on it, the transaction does it; there is nothing to undo for whom
// the name is gone.
func (x *Session) discard(t *catalog.Table) {
	tx := x.txn.tx
	if tx == nil {
		tx = x.srv.store.Begin(x.owner)
		defer func() { _ = tx.Commit(x.background()) }()
	}
	_ = tx.DropTable(t.Store)
}

// tableVariable returns the storage of a table variable, made when it is first
// used, and the private transaction in which the running statement uses it: the
// variable's rows do not follow the fate of the caller's transaction.
func (x *Session) tableVariable(f *frame, slot int) (*catalog.Table, *storage.Tx) {
	inst := f.tables[slot]
	if inst == nil {
		inst = &tableInstance{table: x.instantiate(f.prog.tables[slot].shape), owned: true}
		f.tables[slot] = inst
	}
	if inst.tx == nil {
		inst.tx = x.srv.store.Begin(x.owner)
	}
	return inst.table, inst.tx
}

// instantiate makes an empty table of a shape.
func (x *Session) instantiate(shape *catalog.Table) *catalog.Table {
	t := shape.Clone()
	t.ID, t.DatabaseID = x.srv.cat.NextTempID(), catalog.TempDBID
	t.Temporary, t.TypeOnly = true, false
	if t.Identity != nil {
		t.Identity = catalog.NewCounter(t.Identity.Seed(), t.Identity.Increment())
	}
	def, err := x.tableDef(t)
	tx := x.srv.store.Begin(x.owner)
	var store *storage.Table
	if err == nil {
		store, err = tx.CreateTable(def)
	}
	if err == nil {
		err = tx.Commit(x.background())
	}
	if err != nil {
		panic(err) // a temporary table of a checked shape cannot fail
	}
	t.Store = store
	return t
}

// endTableVariables ends the private transactions of a statement.
func (x *Session) endTableVariables(f *frame, failed error) error {
	var first error
	for _, inst := range f.tables {
		if inst == nil || inst.tx == nil {
			continue
		}
		tx := inst.tx
		inst.tx = nil
		if failed != nil {
			tx.Rollback()
			continue
		}
		if err := tx.Commit(x.ctx); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// dropTableVariables drops the table variables of a frame.
func (x *Session) dropTableVariables(f *frame) {
	for i, inst := range f.tables {
		if inst != nil && inst.owned {
			tx := x.srv.store.Begin(x.owner)
			_ = tx.DropTable(inst.table.Store)
			_ = tx.Commit(x.background())
		}
		f.tables[i] = nil
	}
}

// fill stores rows in a table variable: a table-valued parameter from a client.
func (x *Session) fill(t *catalog.Table, rows []types.Row) error {
	tx := x.srv.store.Begin(x.owner)
	for _, r := range rows {
		if _, err := tx.Insert(x.ctx, t.Store, r, x.opts.lockTimeout); err != nil {
			tx.Rollback()
			return err
		}
	}
	return tx.Commit(x.ctx)
}

// rowsOfVariable returns the rows of a table variable.
func (x *Session) rowsOfVariable(f *frame, slot int) ([]types.Row, error) {
	t, tx := x.tableVariable(f, slot)
	var rows []types.Row
	index := 0
	if !t.HasClustered {
		index = -1
	}
	cur := tx.Scan(x.ctx, t.Store, index, storage.Range{}, storage.Access{Mode: storage.None})
	for cur.Next() {
		rows = append(rows, cur.Row())
	}
	cur.Close()
	err := cur.Err()
	if e := x.endTableVariables(f, err); err == nil {
		err = e
	}
	return rows, err
}

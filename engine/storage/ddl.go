package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"loopbroker/engine/types"
)

// CreateTable creates a table, with a Sch-M lock on it. It is undone by a
// rollback.
func (tx *Tx) CreateTable(def TableDef) (*Table, error) {
	if err := tx.usable(); err != nil {
		return nil, err
	}
	if err := def.Validate(); err != nil {
		return nil, err
	}
	def = def.own()
	if err := def.checkFilters(); err != nil {
		return nil, err
	}
	s := tx.store
	t := s.newTable(def, tx.w)
	if !s.addTable(t) {
		return nil, fmt.Errorf("%w: %d", ErrTableExists, def.ID)
	}
	if err := tx.keepSchema(t); err != nil {
		s.removeTable(t)
		return nil, err
	}
	o := op{kind: opSchema, data: t.data.Load(), undo: func() { s.removeTable(t) }}
	if !t.temporary {
		o.schema = &schemaItem{kind: itemCreateTable, table: t.id, def: &def}
	}
	tx.did(o)
	return t, nil
}

// DropTable drops a table. Nobody else may have a lock on it: the caller takes
// Sch-M first, or gets ErrLockTimeout.
func (tx *Tx) DropTable(t *Table) error {
	if err := tx.usable(); err != nil {
		return err
	}
	if err := tx.keepSchema(t); err != nil {
		return err
	}
	if !t.dropped.CompareAndSwap(nil, tx.w) {
		return ErrDropped
	}
	s := tx.store
	o := op{
		kind: opSchema, data: t.data.Load(),
		undo:   func() { t.dropped.Store(nil) },
		settle: func() { s.removeTable(t) },
	}
	if !t.temporary {
		o.schema = &schemaItem{kind: itemDropTable, table: t.id}
	}
	tx.did(o)
	return nil
}

// Truncate removes all rows at once. It takes Sch-M.
func (tx *Tx) Truncate(ctx context.Context, t *Table) error {
	d, err := tx.forSchema(ctx, t)
	if err != nil {
		return err
	}
	fresh := newTableData(t, d.columns, nil, tx.w)
	for _, ix := range d.indexList() {
		fresh.indexes = append(fresh.indexes, newIndex(fresh, ix.def, ix.created))
	}
	o := tx.replace(t, d, fresh)
	swap := o.settle
	o.settle = func() {
		swap()
		t.live.Store(0)
	}
	if !t.temporary {
		o.schema = &schemaItem{kind: itemTruncate, table: t.id}
	}
	tx.did(o)
	return nil
}

// replace puts fresh into the place of d.
func (tx *Tx) replace(t *Table, d, fresh *tableData) op {
	fresh.prev = d
	t.data.Store(fresh)
	return op{
		kind: opSchema, data: fresh,
		undo:   func() { t.data.Store(d) },
		settle: func() { fresh.prev = nil },
	}
}

// CreateIndex builds an index. It takes Sch-M. The error is a *DuplicateError
// if the index is unique and the rows are not. A clustered index becomes the
// first.
func (tx *Tx) CreateIndex(ctx context.Context, t *Table, def IndexDef) error {
	d, err := tx.forSchema(ctx, t)
	if err != nil {
		return err
	}
	if err := def.validate(d.columns); err != nil {
		return err
	}
	if def.Filtered && def.Filter == nil {
		return ErrFilterUnbound
	}
	if t.IndexPosition(def.ID) >= 0 {
		return fmt.Errorf("storage: index id %d used twice", def.ID)
	}
	if list := d.indexList(); def.Clustered && len(list) > 0 && list[0].def.Clustered {
		return fmt.Errorf("storage: table %d has a clustered index", t.id)
	}
	ix := newIndex(d, def, tx.w)
	d.mu.Lock()
	defer d.mu.Unlock()
	ix.fill()
	if err := ix.checkUnique(tx.w); err != nil {
		return err
	}
	if def.Clustered {
		d.indexes = slices.Insert(slices.Clone(d.indexes), 0, ix)
	} else {
		d.indexes = append(slices.Clone(d.indexes), ix)
	}
	o := op{kind: opSchema, data: d, undo: func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.indexes = without(d.indexes, ix)
	}}
	if !t.temporary {
		stored := ix.def
		o.schema = &schemaItem{kind: itemCreateIndex, table: t.id, index: &stored}
	}
	tx.did(o)
	return nil
}

// DropIndex drops an index. As for DropTable, the caller takes Sch-M first.
func (tx *Tx) DropIndex(t *Table, id uint32) error {
	if err := tx.usable(); err != nil {
		return err
	}
	if err := tx.keepSchema(t); err != nil {
		return err
	}
	d, err := tx.dataOf(t, nil)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	at := slices.IndexFunc(d.indexes, func(ix *index) bool { return ix.def.ID == id })
	if at < 0 {
		return ErrNoIndex
	}
	ix := d.indexes[at]
	ix.dropped.Store(tx.w)
	d.indexes = without(d.indexes, ix)
	d.retired = append(slices.Clone(d.retired), ix)
	o := op{kind: opSchema, data: d, undo: func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		ix.dropped.Store(nil)
		d.retired = without(d.retired, ix)
		d.indexes = slices.Insert(slices.Clone(d.indexes), at, ix)
	}, settle: func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.retired = without(d.retired, ix)
	}}
	if !t.temporary {
		o.schema = &schemaItem{kind: itemDropIndex, table: t.id, indexID: id}
	}
	tx.did(o)
	return nil
}

func without(list []*index, ix *index) []*index {
	return slices.DeleteFunc(slices.Clone(list), func(other *index) bool { return other == ix })
}

// Rewrite gives every row a new form: f makes a row of the given number of
// columns of each. The indexes are built again. It takes Sch-M.
func (tx *Tx) Rewrite(ctx context.Context, t *Table, columns int, f func(types.Row) (types.Row, error)) error {
	return tx.RewriteAs(ctx, t, columns, t.Def().Indexes, f)
}

// RewriteAs is Rewrite with other definitions of the indexes, for changes of
// the type or position of key columns.
func (tx *Tx) RewriteAs(ctx context.Context, t *Table, columns int, indexes []IndexDef, f func(types.Row) (types.Row, error)) error {
	d, err := tx.forSchema(ctx, t)
	if err != nil {
		return err
	}
	def := t.Def()
	def.Columns, def.Indexes = columns, indexes
	def = def.own()
	if err := errors.Join(def.Validate(), def.checkFilters()); err != nil {
		return err
	}
	fresh, err := tx.rewritten(ctx, d, def, f)
	if err != nil {
		return err
	}
	o := tx.replace(t, d, fresh)
	if !t.temporary {
		o.schema = &schemaItem{kind: itemReshape, table: t.id, def: &def, rows: fresh}
	}
	tx.did(o)
	return nil
}

func (tx *Tx) rewritten(ctx context.Context, d *tableData, def TableDef, f func(types.Row) (types.Row, error)) (*tableData, error) {
	fresh := newTableData(d.table, def.Columns, def.Indexes, tx.w)
	var err error
	n := 0
	d.mu.RLock()
	d.rows.Scan(func(id RowID, rec *record) bool {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			err = fmt.Errorf("storage: rewrite ended: %w", context.Cause(ctx))
			return false
		}
		row, _ := rec.current(tx.w)
		if row == nil {
			return true
		}
		if row, err = f(row); err == nil && len(row) != def.Columns {
			err = fmt.Errorf("storage: rewritten row has %d of %d columns", len(row), def.Columns)
		}
		fresh.rows.Set(id, newRecord(id, row, tx.w))
		return err == nil
	})
	d.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	for _, ix := range fresh.indexes {
		ix.fill()
		if err := ix.checkUnique(tx.w); err != nil {
			return nil, err
		}
	}
	return fresh, nil
}

// keepSchema takes Sch-M on a table if it is free.
func (tx *Tx) keepSchema(t *Table) error {
	if t.private {
		return nil
	}
	h, err := tx.store.locks.try(&tx.locks, t.Resource(), SchM)
	if err != nil {
		return err
	}
	h.pin(SchM)
	tx.store.locks.unuse(h)
	return nil
}

// forSchema waits for Sch-M on a table.
func (tx *Tx) forSchema(ctx context.Context, t *Table) (*tableData, error) {
	if err := tx.usable(); err != nil {
		return nil, err
	}
	if err := tx.keepTable(ctx, t, SchM, Forever); err != nil {
		return nil, err
	}
	return tx.dataOf(t, nil)
}

// fill enters all versions of all rows into an empty index. Records with more
// than one key are marked stale. The latch is held, or nobody else knows d.
func (ix *index) fill() {
	var entries []entry
	var buf []byte
	ix.data.ascend(forViews, 0, func(rec *record) bool {
		h := rec.head.Load()
		if h == nil {
			return true
		}
		if ix.has(h.row) {
			buf = ix.appendKey(buf[:0], h.row)
			entries = append(entries, entry{string(buf), rec})
		}
		if h.prev.Load() == nil {
			return true
		}
		rec.set(flagStale)
		rec.fillOlder(ix, h)
		return true
	})
	if !slices.IsSortedFunc(entries, compareEntries) {
		slices.SortFunc(entries, compareEntries)
	}
	for _, e := range entries {
		ix.trees[layerNewest].Load(e) // ascending: quicker than Set
	}
}

// fillOlder enters the versions that are older than the newest one.
func (r *record) fillOlder(ix *index, newest *version) {
	for v := newest.prev.Load(); v != nil; v = v.prev.Load() {
		if !ix.has(v.row) {
			continue
		}
		if l := r.layerOf(ix, v.row, nil, nil); l != layerNewest {
			ix.put(entry{string(ix.appendKey(nil, v.row)), r}, l)
		}
	}
}

// checkUnique looks for two rows with one key. Nobody else has open changes.
func (ix *index) checkUnique(own *writer) (err error) {
	if !ix.def.Unique {
		return nil
	}
	last := entry{"", lowest}
	ix.trees[layerNewest].Scan(func(e entry) bool {
		row, _ := e.rec.current(own)
		if row == nil || !ix.matches(row, e.key) {
			return true
		}
		if last.rec != lowest && last.key == e.key {
			err = &DuplicateError{Table: ix.data.table.id, Index: ix.def.ID, Key: ix.keyValues(row)}
			return false
		}
		last = e
		return true
	})
	return err
}

package storage

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"

	"loopbroker/engine/types"
)

// ObjectID is a table, or another object that can be locked. The caller (the
// catalog) chooses it.
type ObjectID uint64

// TableDef describes a table.
type TableDef struct {
	ID      ObjectID
	Space   uint32 // database id: a part of the lock resources
	Columns int    // length of the rows
	// Indexes are the indexes; the clustered one, if there is one, is first.
	// A table without clustered index is a heap, read in order of row ids.
	Indexes []IndexDef
	// Temporary tables are neither logged nor recovered.
	Temporary bool
	// Private tables are used by one transaction at a time (table variables,
	// work tables, local temporary tables): no locks are taken. It implies
	// Temporary.
	Private bool
}

// Validate reports what is wrong with the definition.
func (def *TableDef) Validate() error {
	if def.ID == 0 || def.Columns < 0 {
		return fmt.Errorf("storage: table %d with %d columns", def.ID, def.Columns)
	}
	seen := make(map[uint32]bool)
	for i := range def.Indexes {
		ix := &def.Indexes[i]
		if err := ix.validate(def.Columns); err != nil {
			return err
		}
		if seen[ix.ID] {
			return fmt.Errorf("storage: index id %d used twice", ix.ID)
		}
		if ix.Clustered && i != 0 {
			return fmt.Errorf("storage: clustered index %d is not the first", ix.ID)
		}
		seen[ix.ID] = true
	}
	return nil
}

// own returns def with a slice of its own, Filtered filled in.
func (def TableDef) own() TableDef {
	def.Indexes = slices.Clone(def.Indexes)
	for i := range def.Indexes {
		ix := &def.Indexes[i]
		ix.Filtered = ix.Filtered || ix.Filter != nil
	}
	return def
}

// checkFilters reports whether every filter is known. Only recovery makes tables
// of which that is not so.
func (def *TableDef) checkFilters() error {
	for i := range def.Indexes {
		if def.Indexes[i].Filtered && def.Indexes[i].Filter == nil {
			return ErrFilterUnbound
		}
	}
	return nil
}

func (ix *IndexDef) validate(columns int) error {
	if ix.ID == 0 || len(ix.Key) == 0 {
		return fmt.Errorf("storage: index %d with %d key columns", ix.ID, len(ix.Key))
	}
	for _, k := range ix.Key {
		if k.Ordinal < 0 || k.Ordinal >= columns {
			return fmt.Errorf("storage: index %d: no column %d", ix.ID, k.Ordinal)
		}
	}
	if ix.Clustered && ix.Filter != nil {
		return fmt.Errorf("storage: clustered index %d has a filter", ix.ID)
	}
	return nil
}

// Table is a table. Its methods are safe for concurrent use.
type Table struct {
	store     *Store
	id        ObjectID
	space     uint32
	temporary bool
	private   bool

	created *writer
	dropped atomic.Pointer[writer]
	data    atomic.Pointer[tableData]
	nextRow atomic.Uint64
	live    atomic.Int64 // committed rows
}

// tableData is what a table holds: rows and indexes. Truncation and changes of
// shape replace it as a whole; prev is the former one until that is committed.
type tableData struct {
	table   *Table
	by      *writer
	prev    *tableData
	columns int

	mu      sync.RWMutex // the latch: held for a few tree operations, never while waiting
	rows    btree.Map[RowID, *record]
	gone    btree.Map[RowID, *record] // deleted ones of a heap that views still see
	indexes []*index                  // replaced, never changed in place; guarded by mu
	retired []*index                  // dropped by an open transaction; guarded by mu
	heap    *index                    // the heap order, for tables without clustered index

	gapLocks atomic.Int64 // gap locks held or about to be
}

func newTableData(t *Table, columns int, defs []IndexDef, by *writer) *tableData {
	d := &tableData{table: t, by: by, columns: columns}
	d.heap = &index{data: d, created: by}
	for _, def := range defs {
		d.indexes = append(d.indexes, newIndex(d, def, by))
	}
	return d
}

// ID returns the table's object id.
func (t *Table) ID() ObjectID { return t.id }

// Space returns the database id.
func (t *Table) Space() uint32 { return t.space }

// Columns returns the length of the table's rows.
func (t *Table) Columns() int { return t.data.Load().columns }

// Rows returns the number of committed rows.
func (t *Table) Rows() int64 { return t.live.Load() }

// Resource returns the table's lock resource.
func (t *Table) Resource() Resource { return ObjectResource(t.space, t.id) }

// Def returns the table's definition as it is now.
func (t *Table) Def() TableDef {
	d := t.data.Load()
	def := TableDef{ID: t.id, Space: t.space, Columns: d.columns, Temporary: t.temporary, Private: t.private}
	for _, ix := range d.indexList() {
		def.Indexes = append(def.Indexes, ix.def)
	}
	return def
}

// IndexPosition returns the position of an index, as Scan wants it, or -1.
func (t *Table) IndexPosition(id uint32) int {
	for i, ix := range t.data.Load().indexList() {
		if ix.def.ID == id {
			return i
		}
	}
	return -1
}

// RebindFilter gives a filtered index its filter back after recovery and fills
// the index. Until then the table takes no changes and the index no scans.
func (t *Table) RebindFilter(id uint32, filter func(types.Row) bool) error {
	d := t.data.Load()
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, ix := range d.indexes {
		if ix.def.ID != id {
			continue
		}
		if !ix.def.Filtered || filter == nil {
			return fmt.Errorf("storage: index %d of table %d has no filter", id, t.id)
		}
		if !ix.unbound {
			return nil
		}
		def := ix.def
		def.Filter = filter
		bound := newIndex(d, def, ix.created)
		bound.fill()
		d.indexes = slices.Clone(d.indexes)
		d.indexes[i] = bound
		return nil
	}
	return ErrNoIndex
}

// indexList returns the indexes. The slice is not changed any more.
func (d *tableData) indexList() []*index {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.indexes
}

// index returns the index at position pos; -1 is the clustered index or the
// heap order.
func (d *tableData) index(pos int) (*index, error) {
	list := d.indexList()
	if pos == -1 {
		if len(list) > 0 && list[0].def.Clustered {
			return list[0], nil
		}
		return d.heap, nil
	}
	if pos < 0 || pos >= len(list) {
		return nil, ErrNoIndex
	}
	if list[pos].unbound {
		return nil, ErrFilterUnbound
	}
	return list[pos], nil
}

// record returns a row's record, nil if the row was never there or is gone. v is
// the reader's view, nil for none.
func (d *tableData) record(id RowID, v *View) *record {
	d.mu.RLock()
	defer d.mu.RUnlock()
	rec, ok := d.rows.Get(id)
	if !ok && v != nil {
		rec, _ = d.gone.Get(id)
	}
	return rec
}

// isHeap reports whether the table has no clustered index: the heap order is
// read.
func (d *tableData) isHeap() bool { return len(d.indexes) == 0 || !d.indexes[0].def.Clustered }

// writable reports whether all indexes can be kept.
func (d *tableData) writable() error {
	for _, ix := range d.indexes {
		if ix.unbound {
			return ErrFilterUnbound
		}
	}
	return nil
}

// sees reports whether a view may read d.
func (d *tableData) sees(v *View) bool {
	n := d.by.csn.Load()
	return n == 0 || n <= v.csn // 0: the reader's own change, all others are locked out
}

// Records returns how many rows are in memory: committed, uncommitted, and
// deleted ones that a view or a lock still needs.
func (t *Table) Records() int {
	d := t.data.Load()
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.rows.Len() + d.gone.Len()
}

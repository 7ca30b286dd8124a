package storage

import (
	"cmp"
	"strings"
	"sync/atomic"

	"github.com/tidwall/btree"

	"loopbroker/engine/types"
)

// KeyColumn is one column of an index key.
type KeyColumn struct {
	Ordinal int // position in the row
	Type    types.Type
	Desc    bool
}

// IndexDef describes an index.
type IndexDef struct {
	ID        uint32 // unique within the table, chosen by the caller, not 0
	Unique    bool
	Clustered bool
	Key       []KeyColumn
	// Filter restricts the index to rows for which it is true; nil for all
	// rows. It is not stored: after recovery Table.RebindFilter gives it back.
	Filter func(types.Row) bool `json:"-"`
	// Filtered says that there is a filter. CreateTable and CreateIndex set it.
	Filtered bool
}

// entry is one entry of an index. Entries order by key, then by row.
type entry struct {
	key string
	rec *record
}

func entryLess(a, b entry) bool { return compareEntries(a, b) < 0 }

func compareEntries(a, b entry) int {
	if c := strings.Compare(a.key, b.key); c != 0 {
		return c
	}
	return cmp.Compare(a.rec.id, b.rec.id)
}

// lowest is before every record.
var lowest = &record{id: 0}

// index is a set of entries in three layers (see layers.go), guarded by the
// latch of its table's data. The heap order of a table without clustered index
// is an index without trees: it reads the table's rows.
//
// inserted and removed count changes. A cursor that finds inserted unchanged
// knows that the entries that it has read ahead are still the next ones; if
// removed is unchanged, that they are all there.
type index struct {
	def      IndexDef
	data     *tableData
	trees    [layers]*btree.BTreeG[entry] // the first is nil: heap order; the others are nil until they are needed
	inserted atomic.Uint64
	removed  atomic.Uint64
	unbound  bool // filtered, and the filter is not known (yet)

	created *writer
	dropped atomic.Pointer[writer]
}

func newIndex(d *tableData, def IndexDef, by *writer) *index {
	def.Filtered = def.Filtered || def.Filter != nil
	ix := &index{def: def, data: d, created: by, unbound: def.Filtered && def.Filter == nil}
	ix.trees[layerNewest] = newTree()
	return ix
}

func newTree() *btree.BTreeG[entry] {
	return btree.NewBTreeGOptions(entryLess, btree.Options{NoLocks: true})
}

func (ix *index) isHeap() bool { return ix.trees[layerNewest] == nil }

// has reports whether the index is to have an entry for row.
func (ix *index) has(row types.Row) bool {
	return row != nil && (ix.def.Filter == nil || ix.def.Filter(row))
}

func (ix *index) appendKey(dst []byte, row types.Row) []byte {
	for i := range ix.def.Key {
		k := &ix.def.Key[i]
		dst = types.AppendKey(dst, row[k.Ordinal], k.Type, k.Desc)
	}
	return dst
}

// matches reports whether row has the entry key in the index.
func (ix *index) matches(row types.Row, key string) bool {
	if ix.isHeap() {
		return row != nil
	}
	if !ix.has(row) {
		return false
	}
	var buf [96]byte
	return string(ix.appendKey(buf[:0], row)) == key
}

// sameEntry reports whether two states of a row have the same entry, or both
// none.
func (ix *index) sameEntry(a, b types.Row) bool {
	same := true
	for i := range ix.def.Key {
		o := ix.def.Key[i].Ordinal
		if a[o] != b[o] {
			same = false
			break
		}
	}
	if ix.def.Filter == nil && same {
		return true
	}
	inA, inB := ix.has(a), ix.has(b)
	if !inA || !inB {
		return inA == inB
	}
	if same {
		return true
	}
	var bufA, bufB [96]byte
	return string(ix.appendKey(bufA[:0], a)) == string(ix.appendKey(bufB[:0], b))
}

// gapBefore is the lock resource of the gap before e, or the one at the end.
func (ix *index) gapBefore(e entry, ok bool) Resource {
	t := ix.data.table
	if !ok {
		return gapResource(t, ix.def.ID, "", 0)
	}
	return gapResource(t, ix.def.ID, e.key, e.rec.id)
}

// keyValues returns the values of the key columns of row.
func (ix *index) keyValues(row types.Row) types.Row {
	vals := make(types.Row, len(ix.def.Key))
	for i, k := range ix.def.Key {
		vals[i] = row[k.Ordinal]
	}
	return vals
}

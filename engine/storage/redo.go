package storage

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"loopbroker/engine/types"
)

// itemKind is the kind of a redo item. The numbers are part of the log format.
type itemKind byte

const (
	itemPut         itemKind = 1 // table, row id, row
	itemDelete      itemKind = 2 // table, row id
	itemCreateTable itemKind = 3 // TableDef
	itemDropTable   itemKind = 4 // table
	itemTruncate    itemKind = 5 // table
	itemCreateIndex itemKind = 6 // table, IndexDef
	itemDropIndex   itemKind = 7 // table, index id
	itemReshape     itemKind = 8 // TableDef; the rows follow as puts
)

// schemaItem is the log's part of a schema change.
type schemaItem struct {
	kind    itemKind
	table   ObjectID
	def     *TableDef
	index   *IndexDef
	indexID uint32
	rows    *tableData // reshape: the new contents
}

// redo encodes the transaction: its number, then its items up to the end. Of
// several changes to a row only the last is logged.
func (tx *Tx) redo() ([]byte, error) {
	b := appendID(tx.w.id)
	var err error
	for i := range tx.ops {
		o := &tx.ops[i]
		if !o.isLogged() {
			continue
		}
		switch o.kind {
		case opInsert, opUpdate:
			if o.rec.head.Load() == o.ver {
				b = appendPut(b, o.data.table.id, o.rec.id, o.ver.row)
			}
		case opDelete:
			if o.rec.before(tx.w) {
				b = append(b, byte(itemDelete))
				b = binary.AppendUvarint(b, uint64(o.data.table.id))
				b = binary.AppendUvarint(b, uint64(o.rec.id))
			}
		case opSchema:
			if b, err = o.schema.append(b); err != nil {
				return nil, err
			}
		}
	}
	return b, nil
}

// appendID returns the beginning of a transaction's record.
func appendID(id uint64) []byte { return binary.AppendUvarint(nil, id) }

// Spaces returns the databases in which the transaction has made changes that
// are logged.
func (tx *Tx) Spaces() []uint32 {
	var list []uint32
	add := func(space uint32) {
		if !slices.Contains(list, space) {
			list = append(list, space)
		}
	}
	for i := range tx.ops {
		o := &tx.ops[i]
		switch {
		case !o.isLogged():
		case o.data != nil:
			add(o.data.table.space)
		case o.schema != nil && o.schema.def != nil:
			add(o.schema.def.Space)
		}
	}
	return list
}

// before reports whether the row was there before own changed it.
func (r *record) before(own *writer) bool {
	v := r.head.Load()
	for v != nil && v.by == own {
		v = v.prev.Load()
	}
	return v != nil && v.row != nil
}

func appendPut(b []byte, table ObjectID, id RowID, row types.Row) []byte {
	b = append(b, byte(itemPut))
	b = binary.AppendUvarint(b, uint64(table))
	b = binary.AppendUvarint(b, uint64(id))
	return appendRow(b, row)
}

// appendRow appends a row with its length before it. The length has a fixed
// place of four bytes, so that the row can be encoded where it stays.
func appendRow(b []byte, row types.Row) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	b = types.AppendRow(b, row)
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

func (it *schemaItem) append(b []byte) ([]byte, error) {
	b = append(b, byte(it.kind))
	b = binary.AppendUvarint(b, uint64(it.table))
	var doc any
	switch it.kind {
	case itemDropIndex:
		return binary.AppendUvarint(b, uint64(it.indexID)), nil
	case itemCreateTable, itemReshape:
		doc = it.def
	case itemCreateIndex:
		doc = it.index
	default:
		return b, nil
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("storage: definition of table %d: %w", it.table, err)
	}
	b = binary.AppendUvarint(b, uint64(len(text)))
	b = append(b, text...)
	if it.kind == itemReshape {
		it.rows.rows.Scan(func(id RowID, rec *record) bool {
			if h := rec.head.Load(); h != nil && h.row != nil {
				b = appendPut(b, it.table, id, h.row)
			}
			return true
		})
	}
	return b, nil
}

var errShortRecord = errors.New("record ends early")

// redoReader takes a record apart.
type redoReader struct {
	b   []byte
	err error
}

func (r *redoReader) more() bool { return r.err == nil && len(r.b) > 0 }

func (r *redoReader) byte() byte {
	if len(r.b) == 0 {
		r.err = errShortRecord
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *redoReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.err, r.b = errShortRecord, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *redoReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.err, r.b = errShortRecord, nil
		return nil
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

func (r *redoReader) row() types.Row {
	n := r.take(4)
	if r.err != nil {
		return nil
	}
	p := r.take(uint64(binary.LittleEndian.Uint32(n)))
	if r.err != nil {
		return nil
	}
	row, err := types.DecodeRow(p)
	if err != nil {
		r.err = err
	}
	return row
}

func (r *redoReader) json(v any) {
	p := r.take(r.uvarint())
	if r.err == nil {
		r.err = json.Unmarshal(p, v)
	}
}

package tds

import (
	"fmt"

	"loopbroker/engine/types"
)

// RowEncoder writes the rows of one result set.
type RowEncoder struct {
	columns []wireType
	// nbc allows NBCROW, which clients before version 7.3B do not know.
	nbc bool
}

// Append appends a row as ROW ([MS-TDS] 2.2.7.19), or as NBCROW (2.2.7.16) if
// that is shorter, or if a column that should have no NULL has one.
func (e *RowEncoder) Append(dst []byte, row []types.Value) ([]byte, error) {
	if len(row) != len(e.columns) {
		return dst, fmt.Errorf("tds: %d values in a row of %d columns", len(row), len(e.columns))
	}
	start := len(dst)
	nbc := e.nbc && e.compress(row)
	if nbc {
		dst = append(dst, tokenNBCRow)
		at := len(dst)
		dst = append(dst, make([]byte, (len(row)+7)/8)...)
		for i := range row {
			if row[i].IsNull() {
				dst[at+i/8] |= 1 << (i % 8)
			}
		}
	} else {
		dst = append(dst, tokenRow)
	}
	var err error
	for i := range row {
		if nbc && row[i].IsNull() {
			continue
		}
		if dst, err = e.columns[i].append(dst, row[i]); err != nil {
			return dst[:start], fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return dst, nil
}

// compress reports whether NBCROW is to be used.
func (e *RowEncoder) compress(row []types.Value) bool {
	saved := 0
	for i := range row {
		if !row[i].IsNull() {
			continue
		}
		switch w := &e.columns[i]; {
		case w.fixed:
			return true
		case w.plp:
			saved += 8
		case w.id == idVariant:
			saved += 4
		case w.isShort():
			saved += 2
		default:
			saved++
		}
	}
	return saved > (len(row)+7)/8
}

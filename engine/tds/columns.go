package tds

import (
	"fmt"

	"loopbroker/engine/types"
)

// Column describes a column of a result set or of a client's rows.
type Column struct {
	Name string
	Type types.Type
	// Nullable is set if the column can hold NULL.
	Nullable bool
	// Identity and Computed are properties of a table's column.
	Identity, Computed bool
	// Updatable is set if a cursor can change the column.
	Updatable bool
	// Key and Hidden mark a column of a cursor or browse-mode result that
	// identifies the row, and one that the statement did not ask for.
	Key, Hidden bool
}

// The flags of a column ([MS-TDS] 2.2.7.4).
const (
	flagNullable   = 0x0001
	flagUpdatable  = 0x0004
	flagUnknown    = 0x0008 // it is not known whether it can be updated
	flagIdentity   = 0x0010
	flagComputed   = 0x0020
	flagTVPDefault = 0x0200 // a TVP's column without values ([MS-TDS] 2.2.5.5.5.3)
	flagHidden     = 0x2000
	flagKey        = 0x4000

	noMetadata = 0xFFFF
	maxColumns = 4096 // of a SELECT list
)

func (c *Column) flags() uint16 {
	var f uint16
	if c.Nullable {
		f |= flagNullable
	}
	switch {
	case c.Updatable:
		f |= flagUpdatable
	case !c.Identity && !c.Computed && c.Type.Kind != types.KindRowVersion:
		f |= flagUnknown
	}
	if c.Identity {
		f |= flagIdentity
	}
	if c.Computed {
		f |= flagComputed
	}
	if c.Key {
		f |= flagKey
	}
	if c.Hidden {
		f |= flagHidden
	}
	return f
}

// AppendColumns appends COLMETADATA ([MS-TDS] 2.2.7.4) and returns the encoder
// of the rows. With hide the descriptions stay out: the client asked for none.
// The version is the one in use with the client.
func AppendColumns(dst []byte, columns []Column, hide bool, version uint32) ([]byte, *RowEncoder, error) {
	e := &RowEncoder{columns: make([]wireType, len(columns)), nbc: version == Version80 || version >= Version73B}
	if len(columns) == 0 || len(columns) > maxColumns {
		return dst, nil, fmt.Errorf("tds: a result set of %d columns", len(columns))
	}
	start := len(dst)
	dst = append(dst, tokenColMetadata)
	if hide {
		dst = appendU16(dst, noMetadata)
	} else {
		dst = appendU16(dst, uint16(len(columns)))
	}
	for i := range columns {
		col := &columns[i]
		// A text type has no fixed-length form: only nullable matters.
		w, err := newWireType(col.Type, col.Nullable)
		if err != nil {
			return dst[:start], nil, fmt.Errorf("column %d: %w", i+1, err)
		}
		e.columns[i] = w
		if hide {
			continue
		}
		dst = appendU32(dst, w.userType())
		dst = appendU16(dst, col.flags())
		dst = w.appendInfo(dst)
		switch w.id {
		case idText, idNText, idImage:
			dst = append(dst, 0) // the name of the table: no parts
		}
		dst = appendBVarChar(dst, col.Name)
	}
	return dst, e, nil
}

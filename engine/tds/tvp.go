package tds

import "loopbroker/engine/types"

// TableValue is the value of a table-valued parameter.
type TableValue struct {
	// Database, Schema and TypeName name the table type; the first two may be
	// empty. A name may be empty as a whole: the procedure's declaration tells the type.
	Database, Schema, TypeName string
	// Columns describe the rows; a client may leave names out. There are none
	// if the client sent no table, which counts as an empty one.
	Columns []TableColumn
	Rows    []types.Row
}

// TableColumn describes a column of a TableValue.
type TableColumn struct {
	Column
	// Default is set if the client sent no values for the column: the rows
	// hold NULL there, and the default of the table type applies.
	Default bool
}

// The tokens of a TVP.
const (
	tvpEnd         = 0x00
	tvpRow         = 0x01
	tvpOrderUnique = 0x10
	tvpOrdering    = 0x11

	maxTableColumns = 1024
)

// tableValue reads TVP_TYPE_INFO and the rows ([MS-TDS] 2.2.5.5.5).
func (c *cursor) tableValue() *TableValue {
	t := &TableValue{Database: c.bVarChar(), Schema: c.bVarChar(), TypeName: c.bVarChar()}
	infos := c.tableColumns(t)
	if c.err != nil {
		return t
	}
	order := c.tableOptions(len(t.Columns))
	for c.err == nil {
		switch token := c.u8(); token {
		case tvpEnd:
			return t
		case tvpRow:
			if len(infos) == 0 {
				c.malformed("a table-valued parameter with rows but no columns")
				return t
			}
			if row := c.tableRow(t, infos, order); c.err == nil {
				t.Rows = append(t.Rows, row)
			}
		default:
			if c.err == nil {
				c.malformed("token 0x%02X in a table-valued parameter", token)
			}
		}
	}
	return t
}

// tableColumns reads TVP_COLMETADATA.
func (c *cursor) tableColumns(t *TableValue) []typeInfo {
	n := c.u16()
	if c.err != nil || n == noMetadata {
		return nil
	}
	if n > maxTableColumns {
		c.malformed("a table-valued parameter of %d columns", n)
		return nil
	}
	var infos []typeInfo
	for range n {
		c.u32() // USERTYPE
		flags := c.u16()
		ti := c.typeInfo(inParam)
		col := TableColumn{Default: flags&flagTVPDefault != 0}
		col.Type = ti.typ
		col.Nullable = flags&flagNullable != 0
		col.Identity = flags&flagIdentity != 0
		col.Computed = flags&flagComputed != 0
		col.Name = c.bVarChar()
		if c.err != nil {
			return nil
		}
		t.Columns = append(t.Columns, col)
		infos = append(infos, ti)
	}
	return infos
}

// tableOptions reads what may stand between the columns and the rows, and
// returns the order of the values in a row. TVP_ORDER_UNIQUE is a hint for the
// optimizer.
func (c *cursor) tableOptions(columns int) []int {
	var order []int
	for c.err == nil {
		switch token := c.u8(); token {
		case tvpEnd:
			return order
		case tvpOrderUnique:
			c.take(3 * int(c.u16()))
		case tvpOrdering:
			order = c.tableOrdering(columns)
		default:
			if c.err == nil {
				c.malformed("token 0x%02X before the rows of a table-valued parameter", token)
			}
		}
	}
	return nil
}

// tableOrdering reads TVP_COLUMN_ORDERING: for each value of a row the ordinal
// of its column, from 1.
func (c *cursor) tableOrdering(columns int) []int {
	n := int(c.u16())
	if c.err != nil {
		return nil
	}
	if n != columns {
		c.malformed("the order of %d columns of %d", n, columns)
		return nil
	}
	order := make([]int, n)
	seen := make([]bool, n)
	for i := range order {
		at := int(c.u16()) - 1
		if c.err != nil {
			return nil
		}
		if at < 0 || at >= n || seen[at] {
			c.malformed("column %d of %d in an order", at+1, n)
			return nil
		}
		order[i], seen[at] = at, true
	}
	return order
}

// tableRow reads TVP_ROW.
func (c *cursor) tableRow(t *TableValue, infos []typeInfo, order []int) types.Row {
	row := make(types.Row, len(infos))
	for i := range infos {
		at := i
		if order != nil {
			at = order[i]
		}
		if t.Columns[at].Default {
			continue
		}
		row[at] = c.value(&infos[at])
		if c.err != nil {
			return nil
		}
	}
	return row
}

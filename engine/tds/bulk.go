package tds

import (
	"errors"
	"fmt"
	"io"

	"loopbroker/engine/types"
)

// maxBulkItem is the longest row, or list of columns, of a bulk load: what
// a row of maximal values takes. More is a broken stream.
const maxBulkItem = maxLong

// BulkDecoder reads the rows of a bulk load ([MS-TDS] 2.2.6.1) while they
// arrive.
type BulkDecoder struct {
	// next returns more bytes, which stay good until the next call, and io.EOF
	// at the end of the message.
	next    func() ([]byte, error)
	buf     []byte // bytes that have arrived
	pos     int    // of them read
	ended   bool
	infos   []typeInfo
	columns []Column
	row     types.Row
	err     error // sticks
}

// NewBulkDecoder reads the description of the columns from a message that next
// delivers piece by piece.
func NewBulkDecoder(next func() ([]byte, error)) (*BulkDecoder, error) {
	d := &BulkDecoder{next: next}
	if d.err = d.read(d.readColumns); d.err != nil {
		return nil, d.err
	}
	d.row = make(types.Row, len(d.infos))
	return d, nil
}

// Columns describes the rows.
func (d *BulkDecoder) Columns() []Column { return d.columns }

// Next returns the next row, good until the next call, and io.EOF after the last.
func (d *BulkDecoder) Next() (types.Row, error) {
	if d.err == nil {
		d.err = d.read(d.readRow)
	}
	if d.err != nil {
		return nil, d.err
	}
	return d.row, nil
}

// read decodes one item, with more bytes whenever it runs out of them. Each
// further attempt waits for twice as many bytes as the last, so that the time
// for a big value stays linear.
func (d *BulkDecoder) read(item func(*cursor) error) error {
	for {
		c := cursor{b: d.buf, pos: d.pos}
		err := item(&c)
		if err == nil || !errors.Is(err, ErrShort) {
			d.pos = c.pos
			return err
		}
		if d.ended {
			return err
		}
		if err := d.fill(2*(len(d.buf)-d.pos) + 1); err != nil {
			return err
		}
	}
}

// fill gets at least want unread bytes, unless the message ends.
func (d *BulkDecoder) fill(want int) error {
	if want > 2*maxBulkItem {
		return fmt.Errorf("%w: a bulk row of more than %d bytes", ErrMalformed, maxBulkItem)
	}
	d.buf = append(d.buf[:0], d.buf[d.pos:]...)
	d.pos = 0
	for len(d.buf) < want && !d.ended {
		b, err := d.next()
		switch {
		case err == io.EOF: //nolint:errorlint // a lost connection wraps io.EOF and is another end
			d.ended = true
		case err != nil:
			return err
		}
		d.buf = append(d.buf, b...)
	}
	return nil
}

// readColumns reads COLMETADATA.
func (d *BulkDecoder) readColumns(c *cursor) error {
	d.infos, d.columns = nil, nil
	if token := c.u8(); c.err == nil && token != tokenColMetadata {
		c.malformed("token 0x%02X at the start of a bulk load", token)
	}
	n := c.u16()
	if c.err == nil && (n == 0 || n == noMetadata || n > maxTableColumns) {
		c.malformed("a bulk load of %d columns", n)
	}
	for i := 0; i < int(n) && c.err == nil; i++ {
		c.u32() // USERTYPE
		flags := c.u16()
		ti := c.typeInfo(inBulk)
		name := c.bVarChar()
		if c.err != nil {
			break
		}
		d.infos = append(d.infos, ti)
		d.columns = append(d.columns, Column{
			Name: name, Type: ti.typ, Nullable: flags&flagNullable != 0,
			Identity: flags&flagIdentity != 0, Computed: flags&flagComputed != 0,
		})
	}
	return c.err
}

// readRow reads ROW, NBCROW or the DONE at the end.
func (d *BulkDecoder) readRow(c *cursor) error {
	const doneSize = 12
	if d.ended && c.left() == 0 {
		return io.EOF // a client may leave DONE out
	}
	var nulls []byte
	switch token := c.u8(); {
	case c.err != nil:
		return c.err
	case token == tokenRow:
	case token == tokenNBCRow:
		nulls = c.take((len(d.infos) + 7) / 8)
	case token == tokenDone:
		if c.take(doneSize); c.err != nil {
			return c.err
		}
		return io.EOF
	default:
		c.malformed("token 0x%02X in a bulk load", token)
	}
	for i := range d.infos {
		if nulls != nil && nulls[i/8]&(1<<(i%8)) != 0 {
			d.row[i] = types.Null
			continue
		}
		d.row[i] = c.value(&d.infos[i])
		if c.err != nil {
			return asParamError(c.err, i+1, d.columns[i].Name)
		}
	}
	return c.err
}

package tds

import "loopbroker/engine/types"

// Batch is a SQLBatch message.
type Batch struct {
	Headers Headers
	Text    string
}

// ParseBatch reads a SQLBatch message ([MS-TDS] 2.2.6.7).
func ParseBatch(b []byte) (Batch, error) {
	c := cursor{b: b}
	batch := Batch{Headers: c.headers()}
	if c.err == nil && c.left()%2 != 0 {
		c.malformed("batch text of %d bytes", c.left())
	}
	if c.err != nil {
		return Batch{}, c.err
	}
	batch.Text = types.DecodeUTF16(c.b[c.pos:])
	return batch, nil
}

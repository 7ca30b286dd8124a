package tds

// The headers of ALL_HEADERS ([MS-TDS] 2.2.5.3).
const (
	headerNotification = 1
	headerTransaction  = 2
	headerTrace        = 3

	headerMin            = 6 // length and type
	headerTransactionLen = headerMin + 12
)

// Headers are what a request carries before its data.
type Headers struct {
	// Transaction is the descriptor that ENVCHANGE gave the client, 0 outside
	// a transaction.
	Transaction uint64
	// Outstanding is the number of requests under way on the connection.
	Outstanding uint32
}

// headers reads ALL_HEADERS. Query notifications and trace activities are
// passed over; they ask for nothing that changes the answer.
func (c *cursor) headers() Headers {
	var h Headers
	start := c.pos
	total := int64(c.u32())
	if c.err != nil {
		return h
	}
	if total < 4 || total > int64(len(c.b)-start) {
		c.malformed("ALL_HEADERS of %d bytes", total)
		return h
	}
	end := start + int(total)
	for c.err == nil && c.pos < end {
		n := int64(c.u32())
		typ := c.u16()
		if n < headerMin || n > int64(end-c.pos+headerMin) {
			c.malformed("header of %d bytes", n)
			return h
		}
		data := cursor{b: c.take(int(n) - headerMin)}
		switch typ {
		case headerTransaction:
			if n != headerTransactionLen {
				c.malformed("transaction header of %d bytes", n)
				return h
			}
			h.Transaction = data.u64()
			h.Outstanding = data.u32()
		case headerNotification, headerTrace:
		default:
			c.malformed("header type %d", typ)
		}
	}
	return h
}

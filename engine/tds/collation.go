package tds

import "loopbroker/engine/types"

// COLLATION is 20 bits of LCID, 8 bits of flags, 4 bits of version and a byte
// with the sort order of a SQL_ collation ([MS-TDS] 2.2.5.1.2).
const (
	collationSize = 5
	// utf8Flag, in the last byte of the flags, marks data in UTF-8.
	utf8Flag = 0x04
	utf8Byte = 3
)

// wireCollation is COLLATION.
type wireCollation [collationSize]byte

// appendCollation appends COLLATION.
func appendCollation(dst []byte, c *types.Collation) []byte {
	if c == nil {
		c = types.DefaultCollation
	}
	w := c.TDS()
	return append(dst, w[:]...)
}

// collation reads COLLATION.
func (c *cursor) collation() (w wireCollation) {
	copy(w[:], c.take(collationSize))
	return w
}

// known returns the collation that w stands for, the default if the engine
// does not have it: the collation of a parameter decides nothing but its code page.
func (w wireCollation) known() *types.Collation {
	if c, ok := types.CollationFromTDS(w); ok {
		return c
	}
	return types.DefaultCollation
}

// text decodes char and varchar data. UTF-8 goes by its flag; all else that
// the engine offers is code page 1252.
func (w wireCollation) text(b []byte) string {
	if w[utf8Byte]&utf8Flag != 0 {
		return types.ValidText(string(b))
	}
	return types.DecodeVarChar(b)
}

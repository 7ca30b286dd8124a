package tds

import (
	"encoding/binary"
	"errors"
	"fmt"

	"loopbroker/engine/types"
)

var (
	// ErrMalformed is wrapped by the error for input that breaks the protocol.
	ErrMalformed = errors.New("tds: malformed message")
	// ErrShort is wrapped by the error for input that ends too early. It wraps
	// ErrMalformed; only a stream (BulkDecoder) can be continued with more bytes.
	ErrShort = fmt.Errorf("%w: it ends too early", ErrMalformed)
)

// cursor reads little-endian fields of a message. The first fault sticks: from
// then on every read returns zero, so that a decoder checks err once for a
// group of fields.
type cursor struct {
	b   []byte
	pos int
	err error
}

// left is the number of bytes not read yet.
func (c *cursor) left() int { return len(c.b) - c.pos }

// fail records the first fault.
func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// malformed records a fault that names what was wrong.
func (c *cursor) malformed(format string, args ...any) {
	c.fail(fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...))
}

// take returns the next n bytes without a copy, or nil.
func (c *cursor) take(n int) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > c.left() {
		c.err = ErrShort
		return nil
	}
	b := c.b[c.pos : c.pos+n : c.pos+n]
	c.pos += n
	return b
}

func (c *cursor) u8() byte {
	if c.err != nil || c.pos >= len(c.b) {
		c.fail(ErrShort)
		return 0
	}
	v := c.b[c.pos]
	c.pos++
	return v
}

func (c *cursor) u16() uint16 {
	b := c.take(2)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint16(b)
}

func (c *cursor) u32() uint32 {
	b := c.take(4)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

func (c *cursor) u64() uint64 {
	b := c.take(8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// bVarChar reads a B_VARCHAR: a count of UTF-16 units in one byte, then the
// units ([MS-TDS] 2.2.5.2.2).
func (c *cursor) bVarChar() string { return c.utf16(int(c.u8())) }

// usVarChar reads a US_VARCHAR: the same with a count in two bytes.
func (c *cursor) usVarChar() string { return c.utf16(int(c.u16())) }

// utf16 reads n UTF-16 units.
func (c *cursor) utf16(n int) string {
	b := c.take(2 * n)
	if b == nil {
		return ""
	}
	return types.DecodeUTF16(b)
}

func appendU16(dst []byte, v uint16) []byte { return binary.LittleEndian.AppendUint16(dst, v) }
func appendU32(dst []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(dst, v) }
func appendU64(dst []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(dst, v) }

// The longest B_VARCHAR and the longest text of a message, in UTF-16 units.
const (
	maxBVarChar    = 255
	maxMessageText = 2047 // as SQL Server cuts RAISERROR's text
)

// appendBVarChar writes a B_VARCHAR, cut to what fits.
func appendBVarChar(dst []byte, s string) []byte {
	at := len(dst)
	dst = types.AppendUTF16(append(dst, 0), s)
	n := (len(dst) - at - 1) / 2
	if n > maxBVarChar {
		n = maxBVarChar
		dst = dst[:at+1+2*n]
	}
	dst[at] = byte(n)
	return dst
}

// appendUSVarChar writes a US_VARCHAR of at most limit units.
func appendUSVarChar(dst []byte, s string, limit int) []byte {
	at := len(dst)
	dst = types.AppendUTF16(append(dst, 0, 0), s)
	n := (len(dst) - at - 2) / 2
	if n > limit {
		n = limit
		dst = dst[:at+2+2*n]
	}
	binary.LittleEndian.PutUint16(dst[at:], uint16(n))
	return dst
}

// beginLength reserves a two-byte length; endLength fills it in.
func beginLength(dst []byte) ([]byte, int) { return append(dst, 0, 0), len(dst) }

func endLength(dst []byte, at int) []byte {
	binary.LittleEndian.PutUint16(dst[at:], uint16(len(dst)-at-2))
	return dst
}

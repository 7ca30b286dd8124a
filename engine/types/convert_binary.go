package types

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"

	"loopbroker/engine/sqlerr"
)

func hexText(s string) string { return hex.EncodeToString([]byte(s)) }

func (c *conversion) toBinary(v Value) (Value, error) {
	switch k := v.kind; {
	case k.IsBinary(), k == KindUniqueIdentifier:
		return c.fitBinary(v.s, v.kind)
	case k.IsChar():
		return c.textToBinary(v)
	case k == KindXML:
		return c.fitBinary(string(EncodeUTF16(v.s)), v.kind)
	}
	return c.fitBinary(string(numberBytes(v)), v.kind)
}

// fitBinary brings bytes to the length of the target. Numbers are padded and cut
// on the left (a decimal is cut on the right), all else on the right.
func (c *conversion) fitBinary(s string, from Kind) (Value, error) {
	n := c.to.Length
	switch {
	case c.to.Kind == KindRowVersion:
		n = 8
	case n == Max || c.to.Kind == KindImage:
		n = math.MaxInt
	}
	padded := c.to.Kind.isPadded() || c.to.Kind == KindRowVersion
	switch {
	case len(s) > n && from.IsNumeric() && from != KindDecimal:
		s = s[len(s)-n:]
	case len(s) > n:
		if c.purpose == forStore && strings.Trim(s[n:], "\x00") != "" {
			return Null, &ErrTruncated{Value: Value{kind: c.to.Kind, s: s[:n]}, To: c.to}
		}
		s = s[:n]
	case len(s) < n && padded && (from.IsNumeric() || from.IsDateTime()):
		s = strings.Repeat("\x00", n-len(s)) + s
	case len(s) < n && padded:
		s += strings.Repeat("\x00", n-len(s))
	}
	return Value{kind: c.to.Kind, s: s}, nil
}

// numberBytes is the form that numbers and dates have as varbinary.
func numberBytes(v Value) []byte {
	n := uint64(v.n)
	switch v.kind {
	case KindBit, KindTinyInt:
		return []byte{byte(n)}
	case KindSmallInt:
		return binary.BigEndian.AppendUint16(nil, uint16(n))
	case KindInt, KindSmallMoney:
		return binary.BigEndian.AppendUint32(nil, uint32(n))
	case KindBigInt, KindMoney, KindFloat:
		return binary.BigEndian.AppendUint64(nil, n)
	case KindReal:
		return binary.BigEndian.AppendUint32(nil, math.Float32bits(float32(v.Float())))
	case KindDecimal:
		sign := byte(1)
		if v.neg {
			sign = 0
		}
		b := []byte{v.prec, v.scale, 0, sign}
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, n), uint64(v.m))
		for len(b) > 8 && binary.LittleEndian.Uint32(b[len(b)-4:]) == 0 {
			b = b[:len(b)-4] // as few groups of four bytes as the number needs
		}
		return b
	}
	return appendTimeBinary(nil, v)
}

func (c *conversion) textToBinary(v Value) (Value, error) {
	if c.style == 1 || c.style == 2 {
		s := v.s
		if c.style == 1 {
			if len(s) < 2 || s[0] != '0' || s[1]|0x20 != 'x' {
				return Null, badText(v, c.to.Kind)
			}
			s = s[2:]
		}
		b, err := hex.DecodeString(s)
		if err != nil {
			return Null, badText(v, c.to.Kind)
		}
		return c.fitBinary(string(b), v.kind)
	}
	if c.style != 0 {
		return Null, sqlerr.New(9809, c.style, v.kind.String(), c.to.Kind.String())
	}
	if v.kind.IsUnicode() {
		return c.fitBinary(string(EncodeUTF16(v.s)), v.kind)
	}
	if isASCII(v.s) {
		return c.fitBinary(v.s, v.kind)
	}
	return c.fitBinary(string(EncodeVarChar(v.s)), v.kind)
}

// guidWire maps the place of a byte in the text of a uniqueidentifier to its
// place on the wire: the first three groups have their lowest byte first.
var guidWire = [16]byte{3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15}

// NewUniqueIdentifier returns a uniqueidentifier of its 16 bytes in wire order.
func NewUniqueIdentifier(wire [16]byte) Value {
	return Value{kind: KindUniqueIdentifier, s: string(wire[:])}
}

// UniqueIdentifierFromUUID returns a uniqueidentifier of the bytes in the order
// of the text, as a uuid.UUID has them.
func UniqueIdentifierFromUUID(uuid [16]byte) Value {
	var w [16]byte
	for i, at := range guidWire {
		w[at] = uuid[i]
	}
	return NewUniqueIdentifier(w)
}

// UUID returns the bytes of a uniqueidentifier in the order of its text.
func (v Value) UUID() (uuid [16]byte) {
	if len(v.s) == 16 {
		for i, at := range guidWire {
			uuid[i] = v.s[at]
		}
	}
	return uuid
}

// ParseUniqueIdentifier reads a uniqueidentifier such as
// 6F9619FF-8B86-D011-B42D-00C04FC964FF, with or without braces; what follows it
// does not count. Anything else is error 8169.
func ParseUniqueIdentifier(s string) (Value, error) {
	s = strings.TrimLeft(s, " ")
	braces := strings.HasPrefix(s, "{")
	if braces {
		s = s[1:]
	}
	if len(s) < 36 || (braces && (len(s) < 37 || s[36] != '}')) {
		return Null, sqlerr.New(8169)
	}
	var uuid [16]byte
	at := 0
	for i := 0; i < 36; {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return Null, sqlerr.New(8169)
			}
			i++
			continue
		}
		if _, err := hex.Decode(uuid[at:at+1], []byte(s[i:i+2])); err != nil {
			return Null, sqlerr.New(8169)
		}
		at++
		i += 2
	}
	return UniqueIdentifierFromUUID(uuid), nil
}

func formatGUID(wire string) string {
	if len(wire) != 16 {
		return "0x" + hexText(wire)
	}
	const digits = "0123456789ABCDEF"
	var b [36]byte
	at := 0
	for i := range 16 {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b[at] = '-'
			at++
		}
		c := wire[guidWire[i]]
		b[at], b[at+1] = digits[c>>4], digits[c&0xF]
		at += 2
	}
	return string(b[:])
}

func (c *conversion) toGUID(v Value) (Value, error) {
	switch {
	case v.kind == KindUniqueIdentifier:
		return v, nil
	case v.kind.IsChar():
		return ParseUniqueIdentifier(v.s)
	}
	var w [16]byte
	copy(w[:], v.s)
	return NewUniqueIdentifier(w), nil
}

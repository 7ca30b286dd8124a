package tds

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// instanceError is a value that its type does not allow, in a message that is otherwise sound.
type instanceError struct{ typ types.Type }

func (e *instanceError) Error() string {
	return fmt.Sprintf("tds: not a valid instance of data type %s", e.typ)
}

// asParamError turns an instanceError into error 8023, which names the
// parameter (from 1).
func asParamError(err error, ordinal int, name string) error {
	var inst *instanceError
	if !errors.As(err, &inst) {
		return err
	}
	return sqlerr.New(8023, ordinal, name, inst.typ.Kind.String())
}

// invalid records that the value read is none of the type.
func (c *cursor) invalid(ti *typeInfo) types.Value {
	c.fail(&instanceError{ti.typ})
	return types.Null
}

// value reads a value of the given type ([MS-TDS] 2.2.5.5).
func (c *cursor) value(ti *typeInfo) types.Value {
	switch ti.id {
	case idNull:
		return types.Null
	case idInt1, idBit, idInt2, idInt4, idDateTim4, idFlt4, idMoney, idDateTime, idFlt8, idMoney4, idInt8:
		return c.fixedValue(ti, ti.id, c.take(ti.size))
	case idIntN, idBitN, idFltN, idMoneyN, idDateTimN:
		b := c.byteLength(ti)
		if b == nil {
			return types.Null
		}
		if fixedID(ti.id, len(b)) == idNull {
			return c.invalid(ti)
		}
		return c.fixedValue(ti, fixedID(ti.id, ti.size), widen(b, ti))
	case idText, idNText, idImage:
		return c.longValue(ti)
	case idVariant:
		return c.variant()
	}
	if ti.plp {
		b, ok := c.plp()
		if !ok {
			return types.Null
		}
		return c.data(ti, b)
	}
	switch ti.id {
	case idBigVarBinary, idBigBinary, idBigVarChar, idBigChar, idNVarChar, idNChar:
		n := int(c.u16())
		if c.err != nil || n == shortNull {
			return types.Null
		}
		if n > ti.size && (n > 1 || ti.size > 0) {
			return c.invalid(ti)
		}
		return c.data(ti, c.take(n))
	case idVarBinary, idBinary, idVarChar, idChar:
		if b := c.byteLength(ti); b != nil {
			return c.data(ti, b)
		}
		return types.Null
	}
	b := c.byteLength(ti)
	if b == nil {
		return types.Null
	}
	return c.scaled(ti, b)
}

// byteLength reads data with a length of one byte, nil for NULL.
func (c *cursor) byteLength(ti *typeInfo) []byte {
	n := int(c.u8())
	if c.err != nil || n == 0 {
		return nil
	}
	if n > ti.size {
		c.invalid(ti)
		return nil
	}
	return c.take(n)
}

// widen gives an integer the size of its declared type: a value may be
// narrower than that.
func widen(b []byte, ti *typeInfo) []byte {
	if ti.id != idIntN || len(b) == ti.size {
		return b
	}
	n := types.Value{}
	switch len(b) {
	case 1:
		n = types.NewBigInt(int64(b[0]))
	case 2:
		n = types.NewBigInt(int64(int16(binary.LittleEndian.Uint16(b))))
	default:
		n = types.NewBigInt(int64(int32(binary.LittleEndian.Uint32(b))))
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(n.Int()))[:ti.size]
}

// fixedValue returns the value of a fixed-length type.
func (c *cursor) fixedValue(ti *typeInfo, id byte, b []byte) types.Value {
	if c.err != nil {
		return types.Null
	}
	if len(b) != fixedSize(id) {
		return c.invalid(ti)
	}
	switch id {
	case idBit:
		return types.NewBit(b[0] != 0)
	case idInt1:
		return types.NewTinyInt(int64(b[0]))
	case idInt2:
		return types.NewSmallInt(int64(int16(binary.LittleEndian.Uint16(b))))
	case idInt4:
		return types.NewInt(int64(int32(binary.LittleEndian.Uint32(b))))
	case idInt8:
		return types.NewBigInt(int64(binary.LittleEndian.Uint64(b)))
	case idFlt4:
		f := float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return c.invalid(ti)
		}
		return types.NewReal(f)
	case idFlt8:
		f := math.Float64frombits(binary.LittleEndian.Uint64(b))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return c.invalid(ti)
		}
		return types.NewFloat(f)
	case idMoney4:
		return types.NewSmallMoney(int64(int32(binary.LittleEndian.Uint32(b))))
	case idMoney: // the high half comes first
		hi, lo := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		return types.NewMoney(int64(uint64(hi)<<32 | uint64(lo)))
	case idDateTim4:
		return c.smallDateTime(ti, binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:]))
	case idDateTime:
		return c.dateTime(ti, int32(binary.LittleEndian.Uint32(b)), binary.LittleEndian.Uint32(b[4:]))
	}
	return c.invalid(ti)
}

// data returns the value of character or binary data.
func (c *cursor) data(ti *typeInfo, b []byte) types.Value {
	if c.err != nil {
		return types.Null
	}
	switch ti.id {
	case idNVarChar, idNChar, idNText, idXML:
		if len(b)%2 != 0 {
			return c.invalid(ti)
		}
		if ti.id == idXML {
			return c.xml(b)
		}
		return types.NewString(ti.typ.Kind, types.DecodeUTF16(b))
	case idVarChar, idChar, idBigVarChar, idBigChar, idText:
		return types.NewString(ti.typ.Kind, ti.collation.text(b))
	}
	return types.NewBinary(ti.typ.Kind, string(b))
}

// xml returns an xml value. A byte order mark is dropped; the binary form,
// which begins with DF FF, is sent only to servers that ask for it.
func (c *cursor) xml(b []byte) types.Value {
	if len(b) >= 2 {
		switch {
		case b[0] == 0xFF && b[1] == 0xFE:
			b = b[2:]
		case b[0] == 0xDF && b[1] == 0xFF:
			c.fail(sqlerr.Unsupported("binary xml"))
			return types.Null
		}
	}
	return types.NewString(types.KindXML, types.DecodeUTF16(b))
}

// longValue reads text, ntext or image: a length of four bytes in a parameter,
// after a text pointer and a timestamp in a row ([MS-TDS] 2.2.7.19).
func (c *cursor) longValue(ti *typeInfo) types.Value {
	if ti.where == inBulk {
		n := int(c.u8())
		if n == 0 {
			return types.Null
		}
		c.take(n)
		c.take(8)
	}
	n := c.u32()
	if c.err != nil || n == math.MaxUint32 {
		return types.Null
	}
	if n > maxLong {
		c.malformed("%d bytes of %s", n, ti.typ)
		return types.Null
	}
	return c.data(ti, c.take(int(n)))
}

// The length field of a PLP value ([MS-TDS] 2.2.5.2.3).
const (
	plpNull    = math.MaxUint64
	plpUnknown = math.MaxUint64 - 1
)

// plp reads partially length-prefixed data; false means NULL.
func (c *cursor) plp() ([]byte, bool) {
	total := c.u64()
	if c.err != nil || total == plpNull {
		return nil, false
	}
	if total != plpUnknown && total > maxLong {
		c.malformed("a value of %d bytes", total)
		return nil, false
	}
	var data []byte
	for chunks := 0; ; chunks++ {
		n := c.u32()
		if c.err != nil {
			return nil, false
		}
		if n == 0 {
			break
		}
		if n > maxLong || len(data)+int(n) > maxLong {
			c.malformed("a chunk of %d bytes", n)
			return nil, false
		}
		chunk := c.take(int(n))
		if chunks == 0 {
			data = chunk // its capacity ends with it: append copies
		} else {
			data = append(data, chunk...)
		}
	}
	if total != plpUnknown && total != uint64(len(data)) {
		c.malformed("%d bytes where %d were announced", len(data), total)
		return nil, false
	}
	if data == nil {
		data = []byte{}
	}
	return data, true
}

// variant reads a sql_variant ([MS-TDS] 2.2.5.5.3): the type's id, the number
// of bytes of its properties, the properties, the value.
func (c *cursor) variant() types.Value {
	n := c.u32()
	if c.err != nil || n == 0 {
		return types.Null
	}
	if n < 2 || n > maxVariantData {
		c.malformed("a sql_variant of %d bytes", n)
		return types.Null
	}
	v := cursor{b: c.take(int(n))}
	if c.err != nil {
		return types.Null
	}
	ti := typeInfo{id: v.u8()}
	props := cursor{b: v.take(int(v.u8()))}
	switch ti.id {
	case idTimeN, idDateTime2N, idDateTimeOffset:
		props.timeInfo(&ti)
	case idDecimalN, idNumericN:
		ti.prec, ti.scale = props.u8(), props.u8()
		if ti.prec < 1 || ti.prec > maxPrecision || ti.scale > ti.prec {
			props.fail(&instanceError{types.TypeVariant})
		}
		ti.size = maxDecimalBytes
	case idBigVarChar, idBigChar, idNVarChar, idNChar:
		ti.collation = props.collation()
		ti.size = int(props.u16())
	case idBigVarBinary, idBigBinary:
		ti.size = int(props.u16())
	case idGUID:
		ti.size = guidSize
	case idDateN:
		ti.size = dateSize
	}
	ti.typ = ti.engineType()
	var value types.Value
	data := v.take(v.left())
	if v.err == nil && props.err == nil {
		value = v.variantValue(&ti, data)
	}
	if v.err != nil || props.err != nil {
		c.fail(&instanceError{types.TypeVariant})
		return types.Null
	}
	return value
}

// variantValue returns the value of the base type.
func (c *cursor) variantValue(ti *typeInfo, data []byte) types.Value {
	switch ti.id {
	case idInt1, idBit, idInt2, idInt4, idDateTim4, idFlt4, idMoney, idDateTime, idFlt8, idMoney4, idInt8:
		return c.fixedValue(ti, ti.id, data)
	case idTimeN, idDateTime2N, idDateTimeOffset, idDecimalN, idNumericN, idGUID, idDateN:
		return c.scaled(ti, data)
	case idBigVarChar, idBigChar, idNVarChar, idNChar, idBigVarBinary, idBigBinary:
		return c.data(ti, data)
	}
	return c.invalid(ti)
}

// uintOf returns a little-endian number of up to eight bytes.
func uintOf(b []byte) uint64 {
	var n uint64
	for i := len(b) - 1; i >= 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	return n
}

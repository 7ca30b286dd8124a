package tds

import (
	"encoding/binary"
	"fmt"
	"math"

	"loopbroker/engine/types"
)

// valueError is a value that does not fit its column: a defect of the caller.
func (w *wireType) valueError(v types.Value) error {
	return fmt.Errorf("tds: a %s value does not fit a %s column", v.Kind(), w.typ)
}

// appendNull appends NULL. A fixed-length type has none: such a row needs NBCROW.
func (w *wireType) appendNull(dst []byte) ([]byte, error) {
	switch {
	case w.fixed:
		return dst, fmt.Errorf("tds: NULL in a %s column that is declared NOT NULL", w.typ)
	case w.plp:
		return appendU64(dst, plpNull), nil
	case w.id == idVariant:
		return appendU32(dst, 0), nil
	case w.isShort():
		return appendU16(dst, shortNull), nil
	}
	return append(dst, 0), nil
}

func (w *wireType) isShort() bool {
	switch w.id {
	case idBigChar, idBigVarChar, idNChar, idNVarChar, idBigBinary, idBigVarBinary:
		return true
	}
	return false
}

// append appends a value, NULL included.
func (w *wireType) append(dst []byte, v types.Value) ([]byte, error) {
	if v.IsNull() {
		return w.appendNull(dst)
	}
	switch w.id {
	case idVariant:
		return w.appendVariant(dst, v)
	case idText, idNText, idImage:
		return w.appendLong(dst, v)
	}
	if w.isShort() || w.plp {
		return w.appendData(dst, v)
	}
	if w.fixed {
		return w.appendRaw(dst, v)
	}
	at := len(dst)
	dst, err := w.appendRaw(append(dst, 0), v)
	if err != nil {
		return dst[:at], err
	}
	dst[at] = byte(len(dst) - at - 1)
	return dst, nil
}

// appendRaw appends the bytes of a value that is neither character nor binary
// data.
func (w *wireType) appendRaw(dst []byte, v types.Value) ([]byte, error) {
	if v.Kind() != w.typ.Kind && !(v.Kind().IsInteger() && w.typ.Kind.IsInteger()) {
		return dst, w.valueError(v)
	}
	switch w.typ.Kind {
	case types.KindBit:
		if v.Bool() {
			return append(dst, 1), nil
		}
		return append(dst, 0), nil
	case types.KindTinyInt:
		return append(dst, byte(v.Int())), nil
	case types.KindSmallInt:
		return appendU16(dst, uint16(v.Int())), nil
	case types.KindInt:
		return appendU32(dst, uint32(v.Int())), nil
	case types.KindBigInt:
		return appendU64(dst, uint64(v.Int())), nil
	case types.KindReal:
		return appendU32(dst, math.Float32bits(float32(v.Float()))), nil
	case types.KindFloat:
		return appendU64(dst, math.Float64bits(v.Float())), nil
	case types.KindSmallMoney:
		return appendU32(dst, uint32(v.MoneyUnits())), nil
	case types.KindMoney:
		units := uint64(v.MoneyUnits())
		return appendU32(appendU32(dst, uint32(units>>32)), uint32(units)), nil
	case types.KindUniqueIdentifier:
		if len(v.Raw()) != guidSize {
			return dst, w.valueError(v)
		}
		return append(dst, v.Raw()...), nil
	}
	return w.appendScaled(dst, v)
}

// text reports whether the kind is one of character data, xml included.
func isText(k types.Kind) bool { return k.IsChar() || k == types.KindXML }

// appendContent appends the bytes of character or binary data without a length.
func (w *wireType) appendContent(dst []byte, v types.Value) ([]byte, error) {
	if isText(w.typ.Kind) != isText(v.Kind()) || !isText(v.Kind()) && !v.Kind().IsBinary() {
		return dst, w.valueError(v)
	}
	switch w.id {
	case idNChar, idNVarChar, idNText, idXML:
		return types.AppendUTF16(dst, v.Text()), nil
	case idBigChar, idBigVarChar, idText:
		return types.AppendVarChar(dst, v.Text()), nil
	}
	return append(dst, v.Raw()...), nil
}

// appendData appends data with a two-byte length, or as PLP in one chunk.
func (w *wireType) appendData(dst []byte, v types.Value) ([]byte, error) {
	at := len(dst)
	head := 2
	if w.plp {
		head = 8 + 4
	}
	dst = append(dst, make([]byte, head)...)
	dst, err := w.appendContent(dst, v)
	n := len(dst) - at - head
	switch {
	case err != nil:
		return dst[:at], err
	case !w.plp && n > w.size:
		return dst[:at], fmt.Errorf("tds: %d bytes in a %s column", n, w.typ)
	case !w.plp:
		binary.LittleEndian.PutUint16(dst[at:], uint16(n))
		return dst, nil
	case n > maxLong:
		return dst[:at], fmt.Errorf("tds: %d bytes in a %s column", n, w.typ)
	}
	binary.LittleEndian.PutUint64(dst[at:], uint64(n))
	if n == 0 { // the terminator takes the place of the chunk's length
		return dst, nil
	}
	binary.LittleEndian.PutUint32(dst[at+8:], uint32(n))
	return appendU32(dst, 0), nil
}

// appendLong appends text, ntext or image as a row has it: a text pointer and
// a timestamp, which no client of this engine can use, then the data
// ([MS-TDS] 2.2.7.19).
func (w *wireType) appendLong(dst []byte, v types.Value) ([]byte, error) {
	const pointer, stamp = 16, 8
	at := len(dst)
	dst = append(dst, pointer)
	dst = append(dst, make([]byte, pointer+stamp+4)...)
	start := len(dst)
	dst, err := w.appendContent(dst, v)
	if err != nil {
		return dst[:at], err
	}
	binary.LittleEndian.PutUint32(dst[start-4:], uint32(len(dst)-start))
	return dst, nil
}

// appendVariant appends a sql_variant ([MS-TDS] 2.2.5.5.3).
func (w *wireType) appendVariant(dst []byte, v types.Value) ([]byte, error) {
	base, err := newWireType(variantType(v), false)
	if err != nil {
		return dst, err
	}
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0, base.id, 0)
	props := len(dst)
	switch base.id {
	case idDecimalN:
		dst = append(dst, base.typ.Precision, base.typ.Scale)
	case idTimeN, idDateTime2N, idDateTimeOffset:
		dst = append(dst, base.typ.Scale)
	case idBigChar, idBigVarChar, idNChar, idNVarChar:
		dst = appendU16(appendCollation(dst, types.DefaultCollation), maxShort)
	case idBigBinary, idBigVarBinary:
		dst = appendU16(dst, maxShort)
	}
	dst[props-1] = byte(len(dst) - props)
	start := len(dst)
	if base.isShort() {
		dst, err = base.appendContent(dst, v)
	} else {
		dst, err = base.appendRaw(dst, v)
	}
	if err == nil && len(dst)-start > maxShort {
		err = fmt.Errorf("tds: %d bytes in a sql_variant", len(dst)-start)
	}
	if err != nil {
		return dst[:at], err
	}
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst, nil
}

// variantType returns the type that a value has inside a sql_variant.
func variantType(v types.Value) types.Type {
	t := types.Type{Kind: v.Kind(), Scale: v.Scale(), Precision: v.Precision()}
	switch {
	case v.Kind() == types.KindRowVersion:
		t.Kind, t.Length = types.KindBinary, rowVersionSize
	case v.Kind().IsChar():
		t.Length, t.Collation = maxShort, types.DefaultCollation
	case v.Kind().IsBinary():
		t.Length = maxShort
	}
	return t
}

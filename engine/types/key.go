package types

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strings"
)

// The sort key of one value. NULL is one byte, keyNull; nothing else begins with
// it. No key is the beginning of another one, so that the keys of several
// columns can be put behind each other, each of them ascending or descending
// (all bytes inverted), and the key of fewer columns is the beginning of those
// that start with the same values.
//
//	integers, money, dates  keyInteger plus or minus the number of bytes, then the bytes
//	decimal                 the same, of the number in the scale of the type
//	float, real             keyValue, 8 bytes
//	character data          the collation's key
//	binary data             keyValue, bytes with 00 as 00 FF, 00 01
//	uniqueidentifier        keyValue, 16 bytes in SQL Server's order
//	sql_variant             keyValue, the family, the key of the family's widest type
const (
	keyNull       = 0x00
	keyValue      = 0x01
	keyInteger    = 0x80
	keyEscape     = 0xFF
	keyTerminator = 0x01
)

// AppendKey appends the sort key of v as a value of a column of type t: the
// order of the bytes of two keys (bytes.Compare) is the order that Compare gives
// in t's collation, NULL first; with desc it is the reverse order. v is NULL or
// has the kind of t; a decimal is brought to t's scale. Values of different
// integer kinds have the same key if they are the same number.
func AppendKey(dst []byte, v Value, t Type, desc bool) []byte {
	start := len(dst)
	dst = appendAscending(dst, v, t)
	if desc {
		for i := start; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

func appendAscending(dst []byte, v Value, t Type) []byte {
	switch v.kind {
	case KindNull:
		return append(dst, keyNull)
	case KindBit, KindTinyInt, KindSmallInt, KindInt, KindBigInt, KindMoney, KindSmallMoney, KindDate, KindDecimal:
		if t.Kind == KindVariant {
			return appendVariantKey(dst, v)
		}
		if v.kind == KindDecimal || t.Kind == KindDecimal {
			return appendDecimalKey(dst, v, t)
		}
		return appendIntKey(dst, v.n)
	}
	if t.Kind == KindVariant {
		return appendVariantKey(dst, v)
	}
	switch v.kind {
	case KindFloat, KindReal:
		return binary.BigEndian.AppendUint64(append(dst, keyValue), sortableFloat(v.Float()))
	case KindTime:
		return appendIntKey(dst, v.m)
	case KindSmallDateTime:
		return appendIntKey(dst, v.n*minutesPerDay+v.m)
	case KindDateTime:
		return appendIntKey(dst, v.n*unitsPerDay+v.m)
	case KindDateTime2, KindDateTimeOffset:
		return appendIntKey(dst, v.n*ticksPerDay+v.m)
	case KindUniqueIdentifier:
		return appendGUIDKey(append(dst, keyValue), v.s)
	}
	if v.kind.IsChar() {
		return collationOr(t.Collation).AppendKey(dst, v.s, v.kind.IsUnicode())
	}
	return appendBytesKey(append(dst, keyValue), v.s)
}

// appendIntKey appends a number in as few bytes as it needs; their count comes
// first and keeps the order.
func appendIntKey(dst []byte, n int64) []byte {
	if n >= 0 {
		return appendMagnitude(append(dst, keyInteger+byte(byteLen(uint64(n)))), uint64(n), 0)
	}
	return appendMagnitude(append(dst, keyInteger-1-byte(byteLen(^uint64(n)))), ^uint64(n), math.MaxUint64)
}

func byteLen(n uint64) int { return (bits.Len64(n) + 7) / 8 }

func appendMagnitude(dst []byte, n, invert uint64) []byte {
	for i := byteLen(n) - 1; i >= 0; i-- {
		dst = append(dst, byte((n^invert)>>(8*i)))
	}
	return dst
}

// appendDecimalKey appends the key of an exact number in the scale of t. It is
// that of appendIntKey for numbers of scale zero that fit an int64.
func appendDecimalKey(dst []byte, v Value, t Type) []byte {
	d := v.exactDecimal()
	scale := d.scale
	if t.Kind == KindDecimal {
		scale = t.Scale
	}
	mag, ok := d.mag(), true
	if scale > d.scale {
		mag, ok = mag.scaleUp(int(scale - d.scale))
	} else {
		mag = mag.scaleDown(int(d.scale-scale), true)
	}
	if !ok { // greater than all numbers of the type
		mag = u128{math.MaxUint64, math.MaxUint64}
	}
	if mag.hi == 0 {
		if !d.neg || mag.lo == 0 {
			return appendMagnitude(append(dst, keyInteger+byte(byteLen(mag.lo))), mag.lo, 0)
		}
		return appendMagnitude(append(dst, keyInteger-1-byte(byteLen(mag.lo-1))), mag.lo-1, math.MaxUint64)
	}
	invert, tag := uint64(0), byte(keyInteger+8+byteLen(mag.hi))
	if d.neg {
		invert, tag = math.MaxUint64, byte(keyInteger-1-8-byteLen(mag.hi))
	}
	dst = appendMagnitude(append(dst, tag), mag.hi, invert)
	return binary.BigEndian.AppendUint64(dst, mag.lo^invert)
}

func appendGUIDKey(dst []byte, s string) []byte {
	if len(s) != 16 {
		return appendBytesKey(dst, s)
	}
	for _, i := range guidOrder {
		dst = append(dst, s[i])
	}
	return dst
}

// appendBytesKey appends binary data without the zeros at its end, which do not
// count.
func appendBytesKey(dst []byte, s string) []byte {
	for _, b := range []byte(strings.TrimRight(s, "\x00")) {
		dst = append(dst, b)
		if b == 0 {
			dst = append(dst, keyEscape)
		}
	}
	return append(dst, 0, keyTerminator)
}

// appendVariantKey appends family and value. Exact numbers share one key: the
// integer part, then 38 digits behind the point.
func appendVariantKey(dst []byte, v Value) []byte {
	dst = append(dst, keyValue, byte(v.kind.family()))
	switch {
	case v.kind.IsExact():
		return appendExactKey(dst, v.exactDecimal())
	case v.kind.IsApproximate():
		return binary.BigEndian.AppendUint64(dst, sortableFloat(v.Float()))
	case v.kind.IsDateTime():
		m := v.moment().utc()
		return appendIntKey(dst, int64(m.days)*ticksPerDay+m.ticks)
	case v.kind.IsChar():
		return DefaultCollation.AppendKey(dst, v.s, true)
	case v.kind == KindUniqueIdentifier:
		return appendGUIDKey(dst, v.s)
	}
	return appendBytesKey(dst, v.s)
}

// appendExactKey appends integer part and fraction of a decimal of any scale so
// that equal numbers have equal keys.
func appendExactKey(dst []byte, d Value) []byte {
	whole := d.mag().scaleDown(int(d.scale), false)
	shifted, _ := whole.scaleUp(int(d.scale))
	fraction, _ := d.mag().sub(shifted).scaleUp(MaxPrecision - int(d.scale))
	start := len(dst)
	dst = append(dst, 1)
	dst = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, whole.hi), whole.lo)
	dst = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, fraction.hi), fraction.lo)
	if d.neg {
		for i := start; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
		dst[start] = 0
	}
	return dst
}

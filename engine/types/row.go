package types

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// ErrCorruptRow is what DecodeRow returns for bytes that are no row.
var ErrCorruptRow = errors.New("types: corrupt row")

// AppendRow appends the stored form of a row: the number of values, then each
// value as its kind and what it holds. The form does not depend on the types of
// the columns nor on the process.
//
//	row     = count(uvarint) value*
//	value   = kind(byte) payload
//	NULL                          nothing
//	integers, money, date         n(varint)
//	decimal                       precision, scale, sign(bytes) hi, lo(uvarint)
//	float, real                   8 or 4 bytes, little endian
//	time, datetime2               scale(byte) [n(varint)] m(uvarint)
//	datetimeoffset                scale(byte) offset(varint) n(varint) m(uvarint)
//	datetime, smalldatetime       n(varint) m(uvarint)
//	characters, binary, xml       length(uvarint) bytes
//	uniqueidentifier              16 bytes
func AppendRow(dst []byte, r Row) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(r)))
	for _, v := range r {
		dst = appendValue(dst, v)
	}
	return dst
}

func appendValue(dst []byte, v Value) []byte {
	dst = append(dst, byte(v.kind))
	switch v.kind {
	case KindNull:
		return dst
	case KindBit, KindTinyInt, KindSmallInt, KindInt, KindBigInt, KindMoney, KindSmallMoney, KindDate:
		return binary.AppendVarint(dst, v.n)
	case KindDecimal:
		sign := byte(0)
		if v.neg {
			sign = 1
		}
		dst = append(dst, v.prec, v.scale, sign)
		return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(v.m)), uint64(v.n))
	case KindFloat:
		return binary.LittleEndian.AppendUint64(dst, uint64(v.n))
	case KindReal:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v.Float())))
	case KindTime:
		return binary.AppendUvarint(append(dst, v.scale), uint64(v.m))
	case KindDateTime2:
		return binary.AppendUvarint(binary.AppendVarint(append(dst, v.scale), v.n), uint64(v.m))
	case KindDateTimeOffset:
		dst = binary.AppendVarint(append(dst, v.scale), int64(v.off))
		return binary.AppendUvarint(binary.AppendVarint(dst, v.n), uint64(v.m))
	case KindDateTime, KindSmallDateTime:
		return binary.AppendUvarint(binary.AppendVarint(dst, v.n), uint64(v.m))
	case KindUniqueIdentifier:
		if len(v.s) == 16 {
			return append(dst, v.s...)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(v.s)))
	return append(dst, v.s...)
}

// DecodeRow returns the row that AppendRow wrote to src. It checks every value,
// its range included, and returns an error that wraps ErrCorruptRow for
// anything else; src must hold nothing more. The row does not share src.
func DecodeRow(src []byte) (Row, error) {
	d := rowDecoder{s: string(src)}
	count := d.uvarint()
	if d.failed || count > uint64(len(d.s)) {
		return nil, fmt.Errorf("%w: number of values", ErrCorruptRow)
	}
	row := make(Row, count)
	for i := range row {
		row[i] = d.value()
		if d.failed {
			return nil, fmt.Errorf("%w: value %d of %d", ErrCorruptRow, i+1, count)
		}
	}
	if d.s != "" {
		return nil, fmt.Errorf("%w: %d bytes behind the last value", ErrCorruptRow, len(d.s))
	}
	return row, nil
}

// rowDecoder reads from the front of s. After a fault it only returns zeros.
type rowDecoder struct {
	s      string
	failed bool
}

func (d *rowDecoder) fail() { d.failed, d.s = true, "" }

func (d *rowDecoder) bytes(n uint64) string {
	if n > uint64(len(d.s)) {
		d.fail()
		return ""
	}
	b := d.s[:n]
	d.s = d.s[n:]
	return b
}

func (d *rowDecoder) byte() byte {
	b := d.bytes(1)
	if b == "" {
		return 0
	}
	return b[0]
}

func (d *rowDecoder) uvarint() uint64 {
	var x uint64
	for i := 0; i < len(d.s) && i < binary.MaxVarintLen64; i++ {
		b := d.s[i]
		if i == binary.MaxVarintLen64-1 && b > 1 {
			break
		}
		x |= uint64(b&0x7F) << (7 * i)
		if b < 0x80 {
			d.s = d.s[i+1:]
			return x
		}
	}
	d.fail()
	return 0
}

func (d *rowDecoder) varint() int64 {
	u := d.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// ranged reads a varint that must lie between low and high.
func (d *rowDecoder) ranged(low, high int64) int64 {
	n := d.varint()
	if n < low || n > high {
		d.fail()
		return 0
	}
	return n
}

// below reads a uvarint that must be less than limit.
func (d *rowDecoder) below(limit int64) int64 {
	n := d.uvarint()
	if n >= uint64(limit) {
		d.fail()
		return 0
	}
	return int64(n)
}

func (d *rowDecoder) scale() uint8 {
	s := d.byte()
	if s > MaxTimeScale {
		d.fail()
		return 0
	}
	return s
}

func (d *rowDecoder) value() Value {
	kind := Kind(d.byte())
	switch kind {
	case KindNull:
		return Null
	case KindBit, KindTinyInt, KindSmallInt, KindInt, KindBigInt, KindMoney, KindSmallMoney:
		r := integerRanges[kind]
		return Value{kind: kind, n: d.ranged(r.low, r.high)}
	case KindDecimal:
		return d.decimal()
	case KindFloat:
		return d.float(8)
	case KindReal:
		return d.float(4)
	case KindDate, KindTime, KindSmallDateTime, KindDateTime, KindDateTime2, KindDateTimeOffset:
		return d.dateTime(kind)
	case KindChar, KindVarChar, KindNChar, KindNVarChar, KindText, KindNText, KindXML:
		s := d.bytes(d.uvarint())
		if !utf8.ValidString(s) && !wellFormed(s) {
			d.fail()
		}
		return Value{kind: kind, s: s}
	case KindBinary, KindVarBinary, KindImage, KindRowVersion:
		return Value{kind: kind, s: d.bytes(d.uvarint())}
	case KindUniqueIdentifier:
		return Value{kind: kind, s: d.bytes(16)}
	}
	d.fail()
	return Null
}

func (d *rowDecoder) decimal() Value {
	prec, scale, sign := d.byte(), d.byte(), d.byte()
	mag := u128{hi: d.uvarint(), lo: d.uvarint()}
	if prec < 1 || prec > MaxPrecision || scale > prec || sign > 1 || (sign == 1 && mag.isZero()) || mag.cmp(pow10[prec]) >= 0 {
		d.fail()
		return Null
	}
	return newDecimal(mag, sign == 1, prec, scale)
}

func (d *rowDecoder) float(size int) Value {
	b := []byte(d.bytes(uint64(size)))
	if len(b) != size {
		return Null
	}
	v := Value{kind: KindReal}
	f := float64(0)
	if size == 8 {
		v.kind = KindFloat
		f = math.Float64frombits(binary.LittleEndian.Uint64(b))
	} else {
		f = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		d.fail()
		return Null
	}
	v.n = int64(math.Float64bits(f))
	return v
}

func (d *rowDecoder) dateTime(kind Kind) Value {
	v := Value{kind: kind}
	if kind.hasScale() {
		v.scale = d.scale()
	}
	switch kind {
	case KindDate:
		v.n = d.ranged(0, maxDays)
	case KindTime:
		v.m = d.below(ticksPerDay)
	case KindSmallDateTime:
		v.n = d.ranged(0, maxSmallDays)
		v.m = d.below(minutesPerDay)
	case KindDateTime:
		v.n = d.ranged(days1753, maxDateTime)
		v.m = d.below(unitsPerDay)
	case KindDateTime2:
		v.n = d.ranged(0, maxDays)
		v.m = d.below(ticksPerDay)
	case KindDateTimeOffset:
		v.off = int16(d.ranged(-maxOffset, maxOffset))
		v.n = d.ranged(0, maxDays)
		v.m = d.below(ticksPerDay)
	}
	return v
}

// integerRange is what an integer or money kind can hold.
type integerRange struct{ low, high int64 }

var integerRanges = [...]integerRange{
	KindBit: {0, 1}, KindTinyInt: {0, math.MaxUint8}, KindSmallInt: {math.MinInt16, math.MaxInt16},
	KindInt: {math.MinInt32, math.MaxInt32}, KindBigInt: {math.MinInt64, math.MaxInt64},
	KindSmallMoney: {math.MinInt32, math.MaxInt32}, KindMoney: {math.MinInt64, math.MaxInt64},
}

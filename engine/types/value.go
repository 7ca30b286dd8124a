package types

import (
	"math"
)

// Kind is a data type without its length, precision, scale or collation.
type Kind uint8

// The kinds. KindNull is the kind of the untyped NULL literal, and of every
// Value that is NULL; a column or an expression always has one of the others,
// but for the literal itself.
const (
	KindNull Kind = iota
	KindBit
	KindTinyInt
	KindSmallInt
	KindInt
	KindBigInt
	KindDecimal // decimal and numeric
	KindSmallMoney
	KindMoney
	KindReal
	KindFloat
	KindDate
	KindTime
	KindSmallDateTime
	KindDateTime
	KindDateTime2
	KindDateTimeOffset
	KindChar
	KindVarChar
	KindNChar
	KindNVarChar
	KindText  // text
	KindNText // ntext
	KindBinary
	KindVarBinary
	KindImage      // image
	KindRowVersion // rowversion, timestamp
	KindUniqueIdentifier
	KindXML
	KindVariant // sql_variant; a Value never has it, it has its base kind
	KindTable   // a table variable or table-valued parameter; never in a Value
	KindCursor  // a cursor variable; never in a Value
)

// Max is the Length of the (max) types.
const Max = -1

// Type is a complete data type. Two types are the same type if they are ==.
type Type struct {
	Kind Kind
	// Length is in characters (UTF-16 code units) for nchar and nvarchar, in
	// bytes for char, varchar, binary and varbinary; Max for the (max) types
	// and zero for all other kinds.
	Length int
	// Precision and Scale are those of decimal; Scale alone is the number of
	// fractional digits of time, datetime2 and datetimeoffset.
	Precision, Scale uint8
	// Collation is that of character types, nil for all other kinds.
	Collation *Collation
}

// Value is one SQL value: NULL, or a value of one kind. It is immutable and
// may be copied. The zero Value is NULL.
//
// A Value knows its kind, and for decimal, time, datetime2 and datetimeoffset
// its scale, so that a sql_variant needs no wrapper. The length and collation
// of character data belong to the Type of the column or expression.
type Value struct {
	kind  Kind
	scale uint8 // decimal, time, datetime2, datetimeoffset
	prec  uint8 // decimal: declared precision, 1 to 38
	neg   bool  // decimal: sign
	off   int16 // datetimeoffset: minutes east of UTC

	// n holds, by kind: bit and integers; money in 1/10000; float and real as
	// IEEE bits; days since 0001-01-01 for date, datetime2 and datetimeoffset
	// (the UTC date); days since 1900-01-01 for datetime and smalldatetime;
	// the low half of a decimal's magnitude.
	n int64

	// m holds, by kind: ticks of 100 ns since midnight for time, datetime2 and
	// datetimeoffset (UTC); 1/300 s since midnight for datetime; minutes since
	// midnight for smalldatetime; the high half of a decimal's magnitude.
	m int64

	// s holds character data as UTF-8 (an unpaired surrogate in its three-byte
	// form), binary data as its bytes, a uniqueidentifier as its 16 bytes in
	// wire order.
	s string
}

// Null is the NULL value.
var Null = Value{}

// IsNull reports whether v is NULL.
func (v Value) IsNull() bool { return v.kind == KindNull }

// Kind returns the kind of v, KindNull for NULL.
func (v Value) Kind() Kind { return v.kind }

// Int returns the number held by a bit or an integer.
func (v Value) Int() int64 { return v.n }

// Bool reports whether a bit or an integer is not zero.
func (v Value) Bool() bool { return v.n != 0 }

// Float returns the number held by a float or a real.
func (v Value) Float() float64 { return math.Float64frombits(uint64(v.n)) }

// Text returns character data as UTF-8, or the text of an xml value.
func (v Value) Text() string { return v.s }

// Bytes returns the bytes of a binary value, a rowversion or a
// uniqueidentifier. The caller may keep and change the slice.
func (v Value) Bytes() []byte { return []byte(v.s) }

// Raw returns the same bytes as Bytes without a copy, as a string.
func (v Value) Raw() string { return v.s }

// Scale returns the scale of a decimal or of a time-like value.
func (v Value) Scale() uint8 { return v.scale }

// Precision returns the declared precision of a decimal.
func (v Value) Precision() uint8 { return v.prec }

// MoneyUnits returns a money value in units of 1/10000.
func (v Value) MoneyUnits() int64 { return v.n }

// NewBit returns a bit.
func NewBit(b bool) Value {
	if b {
		return Value{kind: KindBit, n: 1}
	}
	return Value{kind: KindBit}
}

// NewTinyInt returns a tinyint. The caller has checked the range.
func NewTinyInt(n int64) Value { return Value{kind: KindTinyInt, n: n} }

// NewSmallInt returns a smallint. The caller has checked the range.
func NewSmallInt(n int64) Value { return Value{kind: KindSmallInt, n: n} }

// NewInt returns an int. The caller has checked the range.
func NewInt(n int64) Value { return Value{kind: KindInt, n: n} }

// NewBigInt returns a bigint.
func NewBigInt(n int64) Value { return Value{kind: KindBigInt, n: n} }

// NewFloat returns a float.
func NewFloat(f float64) Value { return Value{kind: KindFloat, n: int64(math.Float64bits(f))} }

// NewReal returns a real, rounded to single precision.
func NewReal(f float64) Value {
	return Value{kind: KindReal, n: int64(math.Float64bits(float64(float32(f))))}
}

// NewMoney returns a money of the given units of 1/10000.
func NewMoney(units int64) Value { return Value{kind: KindMoney, n: units} }

// NewSmallMoney returns a smallmoney of the given units of 1/10000.
func NewSmallMoney(units int64) Value { return Value{kind: KindSmallMoney, n: units} }

// NewNVarChar returns an nvarchar.
func NewNVarChar(s string) Value { return Value{kind: KindNVarChar, s: s} }

// NewVarChar returns a varchar.
func NewVarChar(s string) Value { return Value{kind: KindVarChar, s: s} }

// NewString returns character data of the given kind. It neither pads nor cuts.
func NewString(k Kind, s string) Value { return Value{kind: k, s: s} }

// NewVarBinary returns a varbinary.
func NewVarBinary(b []byte) Value { return Value{kind: KindVarBinary, s: string(b)} }

// NewBinary returns binary data of the given kind (binary, varbinary, image,
// rowversion, uniqueidentifier). It neither pads nor cuts.
func NewBinary(k Kind, raw string) Value { return Value{kind: k, s: raw} }

// Row is one row of a table or a result, a value a column.
type Row = []Value

// Frequent types.
var (
	TypeBit              = Type{Kind: KindBit}
	TypeTinyInt          = Type{Kind: KindTinyInt}
	TypeSmallInt         = Type{Kind: KindSmallInt}
	TypeInt              = Type{Kind: KindInt}
	TypeBigInt           = Type{Kind: KindBigInt}
	TypeFloat            = Type{Kind: KindFloat}
	TypeReal             = Type{Kind: KindReal}
	TypeDate             = Type{Kind: KindDate}
	TypeDateTime         = Type{Kind: KindDateTime}
	TypeUniqueIdentifier = Type{Kind: KindUniqueIdentifier}
	TypeRowVersion       = Type{Kind: KindRowVersion}
	TypeVariant          = Type{Kind: KindVariant}
	TypeNull             = Type{Kind: KindNull}
)

// DateTime2 returns the type datetime2(scale).
func DateTime2(scale uint8) Type { return Type{Kind: KindDateTime2, Scale: scale} }

// Decimal returns the type decimal(precision, scale).
func Decimal(precision, scale uint8) Type {
	return Type{Kind: KindDecimal, Precision: precision, Scale: scale}
}

// NVarChar returns the type nvarchar(length) in the default collation.
func NVarChar(length int) Type {
	return Type{Kind: KindNVarChar, Length: length, Collation: DefaultCollation}
}

// VarChar returns the type varchar(length) in the default collation.
func VarChar(length int) Type {
	return Type{Kind: KindVarChar, Length: length, Collation: DefaultCollation}
}

// VarBinary returns the type varbinary(length).
func VarBinary(length int) Type { return Type{Kind: KindVarBinary, Length: length} }

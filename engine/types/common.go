package types

import "loopbroker/engine/sqlerr"

// Common returns the type that values of types a and b are brought to when they
// meet in CASE, COALESCE, UNION, IN or a comparison ("Data type precedence"): the
// kind of the higher precedence, the greater length, precision and scale enough
// for both. Error 206 if the lower type does not convert to the higher one.
//
// Collation: the types carry the collation but not how it came about. Where the
// two differ, the one that is not the default wins; two others are error 468. A
// caller that tracks coercibility uses ResolveCollation before.
func Common(a, b Type) (Type, error) {
	switch {
	case a == b, b.Kind == KindNull:
		return a, nil
	case a.Kind == KindNull:
		return b, nil
	}
	high, low := a, b
	if precedence[b.Kind] > precedence[a.Kind] {
		high, low = b, a
	}
	if err := ImplicitlyConvertible(low, high); err != nil {
		return Type{}, err
	}
	switch k := high.Kind; {
	case k == KindDecimal:
		return commonDecimal(high, exactType(low)), nil
	case k.IsChar() && low.Kind.IsChar():
		return commonText(high, low)
	case k == KindBinary || k == KindVarBinary:
		high.Length = commonLength(high, low, MaxVarChar)
	case k.IsChar(): // with binary data
		limit := MaxVarChar
		if k.IsUnicode() {
			limit = MaxNVarChar
		}
		if high.Length != 0 {
			high.Length = commonLength(high, low, limit)
		}
	case k == KindTime || k == KindDateTime2 || k == KindDateTimeOffset:
		high.Scale = max(high.Scale, timeScale(low))
	}
	return high, nil
}

// timeScale is the number of fractional digits of a date or time type.
func timeScale(t Type) uint8 {
	if t.Kind == KindDateTime {
		return 3
	}
	return t.Scale
}

func commonLength(a, b Type, limit int) int {
	if a.Length == Max || b.Length == Max {
		return Max
	}
	return min(max(a.Length, b.Length), limit)
}

func commonText(high, low Type) (Type, error) {
	c, err := commonCollation(high.Collation, low.Collation)
	if err != nil {
		return Type{}, err
	}
	high.Collation = c
	if high.Kind.IsLOB() {
		return high, nil
	}
	limit := MaxVarChar
	if high.Kind.IsUnicode() {
		limit = MaxNVarChar
	}
	length := commonLength(high, low, limit)
	if high.Kind.isPadded() && (length == Max || !low.Kind.isPadded()) {
		high.Kind++ // char becomes varchar, nchar becomes nvarchar
	}
	high.Length = length
	return high, nil
}

func commonCollation(a, b *Collation) (*Collation, error) {
	switch {
	case a == b, b == nil, b == DefaultCollation:
		return a, nil
	case a == nil, a == DefaultCollation:
		return b, nil
	}
	return nil, sqlerr.New(468, a.Name, b.Name, "equal to")
}

// Coercibility says how an expression came by its collation ("Collation
// precedence"). The stronger one has the higher value.
type Coercibility uint8

// The coercibility labels.
const (
	// CoercibleDefault is that of variables, parameters, literals and functions
	// that take no character data.
	CoercibleDefault Coercibility = iota
	// CoercibleImplicit is that of a column.
	CoercibleImplicit
	// CoercibleNone is that of an expression over columns whose collations
	// conflict.
	CoercibleNone
	// CoercibleExplicit is that of an expression with COLLATE.
	CoercibleExplicit
)

// ResolveCollation returns collation and label of an expression over two
// operands. operation names the expression in error 468, which two explicit
// collations that differ give: "equal to", "concatenation". Two columns whose
// collations differ give CoercibleNone; an operation that has to compare then
// raises 468 by itself.
func ResolveCollation(a *Collation, al Coercibility, b *Collation, bl Coercibility, operation string) (*Collation, Coercibility, error) {
	switch {
	case a == nil:
		return b, bl, nil
	case b == nil:
		return a, al, nil
	case al > bl:
		return a, al, nil
	case bl > al:
		return b, bl, nil
	case a == b:
		return a, al, nil
	case al == CoercibleExplicit:
		return nil, al, sqlerr.New(468, a.Name, b.Name, operation)
	case al == CoercibleDefault:
		return a, al, nil
	}
	return a, CoercibleNone, nil
}

// exactType returns the decimal type that holds all of an exact kind.
func exactType(t Type) Type {
	switch t.Kind {
	case KindDecimal:
		return t
	case KindMoney:
		return Decimal(19, 4)
	case KindSmallMoney:
		return Decimal(10, 4)
	case KindBit, KindTinyInt, KindSmallInt, KindInt, KindBigInt:
		return Decimal(integerDigits(t.Kind), 0)
	}
	return Decimal(0, 0) // adds nothing to the other type: a text, a date
}

func commonDecimal(a, b Type) Type {
	scale := max(a.Scale, b.Scale)
	whole := max(a.Precision-a.Scale, b.Precision-b.Scale)
	return shrink(int(whole)+int(scale), int(scale), int(whole))
}

// shrink returns decimal(precision, scale), which has whole digits in front of
// the point; beyond 38 digits the scale gives way.
func shrink(precision, scale, whole int) Type {
	if precision > MaxPrecision {
		precision = MaxPrecision
		scale = min(scale, MaxPrecision-min(whole, MaxPrecision))
	}
	return Decimal(uint8(precision), uint8(scale))
}

// TypeOf returns the type that v itself has, as a constant or in a sql_variant:
// varchar and nvarchar of its length, decimal of its precision and scale.
func TypeOf(v Value) Type {
	t := Type{Kind: v.kind}
	switch k := v.kind; {
	case k == KindDecimal:
		t.Precision, t.Scale = v.prec, v.scale
	case k.hasScale():
		t.Scale = v.scale
	case k.IsChar():
		t.Collation = DefaultCollation
		if !k.IsLOB() {
			t.Length = max(UTF16Len(v.s), 1)
			if t.Length > MaxVarChar || (k.IsUnicode() && t.Length > MaxNVarChar) {
				t.Length = Max
			}
		}
	case k == KindBinary || k == KindVarBinary:
		t.Length = max(len(v.s), 1)
		if t.Length > MaxVarChar {
			t.Length = Max
		}
	}
	return t
}

// ConstantType is TypeOf for an operand of arithmetic with a decimal: an integer
// constant counts with the digits it has, 5 as decimal(1,0).
func ConstantType(v Value) Type {
	if v.kind.IsInteger() && v.kind != KindBit {
		return Decimal(uint8(u128{0, magnitude(v.n)}.digits()), 0)
	}
	return TypeOf(v)
}

// textLengths are the lengths of the texts that values of a kind become where a
// text is needed, as in CONCAT.
var textLengths = map[Kind]int{
	KindNull: 1, KindBit: 1, KindTinyInt: 4, KindSmallInt: 6, KindInt: 12, KindBigInt: 24, KindDecimal: 41, KindSmallMoney: 40,
	KindMoney: 40, KindReal: 23, KindFloat: 23, KindDate: 40, KindTime: 40, KindSmallDateTime: 40, KindDateTime: 40,
	KindDateTime2: 40, KindDateTimeOffset: 40, KindUniqueIdentifier: 40,
}

// TextLength returns the length of the varchar that a value of type t becomes
// where a text is needed: 12 for an int, the length itself for a text.
func TextLength(t Type) int {
	if n, ok := textLengths[t.Kind]; ok {
		return n
	}
	return t.Length
}

// DataLength returns the number of bytes that DATALENGTH shows for v: for a
// decimal by its number, not by its precision.
func (v Value) DataLength() int {
	switch k := v.kind; {
	case k.IsUnicode(), k == KindXML:
		return 2 * UTF16Len(v.s)
	case k.IsChar():
		return VarCharLen(v.s)
	case k == KindDecimal:
		switch {
		case v.m == 0 && uint64(v.n) < 1<<32:
			return 5
		case v.m == 0:
			return 9
		case uint64(v.m) < 1<<32:
			return 13
		}
		return 17
	case k.IsBinary(), k == KindUniqueIdentifier:
		return len(v.s)
	}
	return Type{Kind: v.kind, Scale: v.scale}.MaxBytes()
}

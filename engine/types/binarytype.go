package types

import "loopbroker/engine/sqlerr"

const minDivideScale = 6

// BinaryType returns the type of a op b, before anything is computed: by
// precedence, and for decimals by the documented rules ("Precision, scale, and
// length"). + of two texts or two binaries is their concatenation. Errors: 402
// and 8117 for operands the operator does not take, 206 and 257 for operands
// that do not convert.
func BinaryType(op Op, a, b Type) (Type, error) {
	switch {
	case a.Kind == KindNull && b.Kind == KindNull:
		return TypeInt, nil
	case a.Kind == KindNull:
		a = b
	case b.Kind == KindNull:
		b = a
	}
	if op.isBitwise() {
		return bitwiseType(op, a, b)
	}
	if a.Kind == KindVariant || b.Kind == KindVariant {
		return Type{}, variantOperands(op, a, b)
	}
	if op == OpAdd && isConcatenation(a, b) {
		return concatenationType(a, b)
	}
	return arithmeticType(op, a, b)
}

func isConcatenation(a, b Type) bool {
	return (a.Kind.IsChar() && b.Kind.IsChar()) || (isBytes(a.Kind) && isBytes(b.Kind)) ||
		(a.Kind.IsChar() && isBytes(b.Kind)) || (isBytes(a.Kind) && b.Kind.IsChar())
}

func isBytes(k Kind) bool { return k == KindBinary || k == KindVarBinary }

// concatenationType adds the lengths; without a (max) operand the result ends at
// 8000 bytes.
func concatenationType(a, b Type) (Type, error) {
	if a.Kind.IsLOB() || b.Kind.IsLOB() {
		return Type{}, incompatible(OpAdd, a, b)
	}
	t, err := Common(a, b)
	if err != nil {
		return Type{}, err
	}
	switch {
	case t.Kind == KindChar && (a.Kind != KindChar || b.Kind != KindChar):
		t.Kind = KindVarChar
	case t.Kind == KindNChar && (a.Kind != KindNChar || b.Kind != KindNChar):
		t.Kind = KindNVarChar
	case t.Kind == KindBinary && (a.Kind != KindBinary || b.Kind != KindBinary):
		t.Kind = KindVarBinary
	}
	if t.Length != Max {
		limit := MaxVarChar
		if t.Kind.IsUnicode() {
			limit = MaxNVarChar
		}
		t.Length = min(a.Length+b.Length, limit)
	}
	return t, nil
}

func incompatible(op Op, a, b Type) error {
	return sqlerr.New(402, a.operandName(), b.operandName(), op.String())
}

func invalidOperand(op Op, t Type) error {
	return sqlerr.New(8117, t.operandName(), op.String())
}

// operandName is the name of a type in errors about operators.
func (t Type) operandName() string {
	if t.Kind == KindDecimal {
		return t.Kind.valueName()
	}
	return t.clashName()
}

// bitwiseType needs an integer on one side; the other one may also be a text or
// binary data, which are converted to it.
func bitwiseType(op Op, a, b Type) (Type, error) {
	switch {
	case a.Kind.IsInteger() && b.Kind.IsInteger():
		if precedence[b.Kind] > precedence[a.Kind] {
			return Type{Kind: b.Kind}, nil
		}
		return Type{Kind: a.Kind}, nil
	case a.Kind.IsInteger() && isBits(b.Kind):
		return Type{Kind: a.Kind}, nil
	case b.Kind.IsInteger() && isBits(a.Kind):
		return Type{Kind: b.Kind}, nil
	case !isBits(a.Kind) && !isBits(b.Kind):
		return Type{}, invalidOperand(op, a)
	}
	return Type{}, incompatible(op, a, b)
}

// isBits reports whether k may stand beside an integer in & | and ^.
func isBits(k Kind) bool {
	return k.IsInteger() || isBytes(k) || (k.IsChar() && !k.IsLOB())
}

func arithmeticType(op Op, a, b Type) (Type, error) {
	for _, t := range []Type{a, b} {
		switch k := t.Kind; {
		case k.IsLOB(), k == KindXML, k == KindTable, k == KindCursor:
			return Type{}, invalidOperand(op, t)
		}
	}
	high, low := a, b
	if precedence[b.Kind] > precedence[a.Kind] {
		high, low = b, a
	}
	if err := arithmeticOperands(op, a, b, high, low); err != nil {
		return Type{}, err
	}
	if err := ImplicitlyConvertible(low, high); err != nil {
		return Type{}, err
	}
	if high.Kind == KindDecimal {
		return decimalType(op, operandDecimal(a, high), operandDecimal(b, high)), nil
	}
	return high, nil
}

// arithmeticOperands returns the error for kinds that op does not take.
func arithmeticOperands(op Op, a, b, high, low Type) error {
	k := high.Kind
	switch {
	case op == OpMod && (a.Kind.IsApproximate() || b.Kind.IsApproximate()):
		if a.Kind.IsApproximate() && b.Kind.IsApproximate() {
			return invalidOperand(op, a)
		}
		return incompatible(op, a, b)
	case k == KindDateTime || k == KindSmallDateTime:
		switch {
		case op != OpAdd && op != OpSub:
			return invalidOperand(op, high)
		case low.Kind == KindDate || low.Kind == KindTime:
			return incompatible(op, a, b)
		}
		return nil
	case k.IsNumeric() && k != KindBit:
		return nil
	case k == KindBit, isBytes(k): // with a bit, a text or binary data
		if op == OpMul || op == OpDiv {
			return invalidOperand(op, a)
		}
		return incompatible(op, a, b)
	case k == low.Kind, k.IsChar():
		return invalidOperand(op, high)
	case low.Kind.IsNumeric(): // date, time, datetime2, …
		return sqlerr.New(206, a.operandName(), b.operandName())
	}
	return incompatible(op, a, b)
}

// variantOperands returns the error for an operand of sql_variant, which no
// operator takes.
func variantOperands(op Op, a, b Type) error {
	other := a
	if a.Kind == KindVariant {
		other = b
	}
	if op != OpMod && other.Kind.IsNumeric() && other.Kind != KindBit {
		return sqlerr.New(257, KindVariant.String(), other.operandName())
	}
	return incompatible(op, a, b)
}

// operandDecimal is the decimal that an operand of decimal arithmetic becomes; a
// text takes the other operand's type.
func operandDecimal(t, high Type) Type {
	if d := exactType(t); d.Precision > 0 {
		return d
	}
	return high
}

// decimalType returns precision and scale of the result.
func decimalType(op Op, a, b Type) Type {
	p1, s1, p2, s2 := int(a.Precision), int(a.Scale), int(b.Precision), int(b.Scale)
	switch op {
	case OpMul:
		return shrinkProduct(p1+p2+1, s1+s2)
	case OpDiv:
		scale := max(minDivideScale, s1+p2+1)
		return shrinkProduct(p1-s1+s2+scale, scale)
	case OpMod:
		scale := max(s1, s2)
		return Decimal(uint8(max(min(p1-s1, p2-s2)+scale, 1)), uint8(scale))
	}
	scale, whole := max(s1, s2), max(p1-s1, p2-s2)
	return shrink(whole+scale+1, scale, whole)
}

// shrinkProduct reduces the result of * and / to 38 digits: the scale gives way
// to the digits in front of the point, but not below six.
func shrinkProduct(precision, scale int) Type {
	if precision > MaxPrecision {
		scale = min(scale, max(minDivideScale, MaxPrecision-(precision-scale)))
		precision = MaxPrecision
	}
	return Decimal(uint8(precision), uint8(scale))
}

// UnaryType returns the type of -x, or of ~x: 8117 for an operand that the
// operator does not take.
func UnaryType(t Type, bitNot bool) (Type, error) {
	if bitNot {
		switch {
		case t.Kind == KindNull:
			return TypeInt, nil
		case t.Kind.IsInteger():
			return t, nil
		}
		return Type{}, sqlerr.New(8117, t.operandName(), "'~'")
	}
	switch {
	case t.Kind == KindNull:
		return TypeInt, nil
	case t.Kind == KindTinyInt:
		return TypeSmallInt, nil
	case t.Kind.IsNumeric() && t.Kind != KindBit:
		return t, nil
	}
	return Type{}, sqlerr.New(8117, t.operandName(), "minus")
}

package types

import (
	"math"
	"math/big"
	"math/bits"

	"loopbroker/engine/sqlerr"
)

// Arith computes a op b in the type that BinaryType gave. Operands of other kinds
// are converted implicitly first. NULL gives NULL. Errors: 8115 for a result out
// of range, 8134 for a division by zero, those of the conversions.
func Arith(op Op, a, b Value, result Type) (Value, error) {
	if a.kind == KindNull || b.kind == KindNull {
		return Null, nil
	}
	switch k := result.Kind; {
	case k.IsInteger():
		return arithInteger(op, a, b, k)
	case k == KindDecimal:
		return arithDecimal(op, a, b, result)
	case k.IsApproximate():
		return arithFloat(op, a, b, result)
	case k.IsMoney():
		return arithMoney(op, a, b, result)
	case k == KindDateTime || k == KindSmallDateTime:
		return arithDateTime(op, a, b, result)
	case op == OpAdd && (k.IsChar() || isBytes(k)):
		return concatenate(a, b, result)
	}
	return Null, invalidOperand(op, result)
}

func divideByZero() error { return sqlerr.New(8134) }

func arithInteger(op Op, a, b Value, k Kind) (Value, error) {
	x, y := a.n, b.n
	if !a.kind.IsInteger() || !b.kind.IsInteger() {
		var err error
		if a, err = Assign(a, Type{Kind: k}); err == nil {
			b, err = Assign(b, Type{Kind: k})
		}
		if err != nil {
			return Null, err
		}
		x, y = a.n, b.n
	}
	var n int64
	ok := true
	switch op {
	case OpAdd:
		n = x + y
		ok = (n > x) == (y > 0)
	case OpSub:
		n = x - y
		ok = (n < x) == (y > 0)
	case OpMul:
		n, ok = mulInt64(x, y)
	case OpDiv, OpMod:
		if y == 0 {
			return Null, divideByZero()
		}
		if y == -1 && x == integerRanges[k].low && x < 0 { // its quotient has no place, % fails too
			return Null, overflow(expression, k)
		}
		if n = x / y; op == OpMod {
			n = x % y
		}
	case OpBitAnd:
		n = x & y
	case OpBitOr:
		n = x | y
	case OpBitXor:
		n = x ^ y
	}
	if r := integerRanges[k]; !ok || n < r.low || n > r.high {
		return Null, overflow(expression, k)
	}
	return Value{kind: k, n: n}, nil
}

func mulInt64(x, y int64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(x), magnitude(y))
	if (x < 0) != (y < 0) {
		return -int64(lo), hi == 0 && lo <= 1<<63
	}
	return int64(lo), hi == 0 && lo <= math.MaxInt64
}

func arithFloat(op Op, a, b Value, t Type) (Value, error) {
	a, err := operand(a, t)
	if err != nil {
		return Null, err
	}
	if b, err = operand(b, t); err != nil {
		return Null, err
	}
	x, y := a.Float(), b.Float()
	var f float64
	switch op {
	case OpAdd:
		f = x + y
	case OpSub:
		f = x - y
	case OpMul:
		f = x * y
	case OpDiv:
		if y == 0 {
			return Null, divideByZero()
		}
		f = x / y
	default:
		return Null, incompatible(op, t, t)
	}
	if math.IsInf(f, 0) || math.IsNaN(f) || (t.Kind == KindReal && math.IsInf(float64(float32(f)), 0)) {
		return Null, overflow(expression, t.Kind)
	}
	if t.Kind == KindReal {
		return NewReal(f), nil
	}
	return NewFloat(f), nil
}

// operand converts v to the kind of t unless it has that kind.
func operand(v Value, t Type) (Value, error) {
	if v.kind == t.Kind {
		return v, nil
	}
	return Assign(v, t)
}

func arithMoney(op Op, a, b Value, t Type) (Value, error) {
	a, err := operand(a, t)
	if err != nil {
		return Null, err
	}
	if b, err = operand(b, t); err != nil {
		return Null, err
	}
	switch op {
	case OpMul, OpDiv:
		return scaleMoney(op, a.n, b.n, t.Kind)
	}
	return arithInteger(op, NewBigInt(a.n), NewBigInt(b.n), t.Kind)
}

// scaleMoney multiplies, rounding to 1/10000, or divides, cutting off.
func scaleMoney(op Op, x, y int64, k Kind) (Value, error) {
	mag := u128{0, magnitude(x)}
	if op == OpMul {
		mag, _ = mag.mul64(magnitude(y))
		mag = mag.scaleDown(4, true)
	} else {
		if y == 0 {
			return Null, divideByZero()
		}
		mag, _ = mag.mul64(10000)
		mag, _ = mag.div64(magnitude(y))
	}
	n, ok := newDecimal(mag, (x < 0) != (y < 0), MaxPrecision, 0).truncInt()
	if r := integerRanges[k]; !ok || n < r.low || n > r.high {
		return Null, overflow(expression, k)
	}
	return Value{kind: k, n: n}, nil
}

func arithDateTime(op Op, a, b Value, t Type) (Value, error) {
	a, err := operand(a, TypeDateTime)
	if err != nil {
		return Null, err
	}
	if b, err = operand(b, TypeDateTime); err != nil {
		return Null, err
	}
	total := a.n*unitsPerDay + a.m
	if other := b.n*unitsPerDay + b.m; op == OpAdd {
		total += other
	} else {
		total -= other
	}
	days := floorDiv(total, unitsPerDay)
	v := NewDateTime(int(days), total-days*unitsPerDay)
	if days < days1753 || days > maxDateTime {
		return Null, overflow(expression, t.Kind)
	}
	if t.Kind == KindSmallDateTime {
		var ok bool
		if v, ok = v.moment().smallDateTime(); !ok {
			return Null, overflow(expression, t.Kind)
		}
	}
	return v, nil
}

// concatenate puts two texts or two binaries together. A result without (max)
// ends at its type's length.
func concatenate(a, b Value, t Type) (Value, error) {
	if err := CheckBuilt(int64(len(a.s)) + int64(len(b.s))); err != nil {
		return Null, err
	}
	if isBytes(t.Kind) {
		s := a.s + b.s
		if t.Length != Max && len(s) > t.Length {
			s = s[:t.Length]
		}
		return Value{kind: t.Kind, s: s}, nil
	}
	long := t
	long.Length = Max
	long.Kind = KindVarChar
	if t.Kind.IsUnicode() {
		long.Kind = KindNVarChar
	}
	var err error
	if a, err = concatOperand(a, long); err != nil {
		return Null, err
	}
	if b, err = concatOperand(b, long); err != nil {
		return Null, err
	}
	s := ConcatText(a.s, b.s)
	if t.Length != Max && len(s) > t.Length {
		s = UTF16Substring(s, 0, t.Length)
	}
	return Value{kind: t.Kind, s: s}, nil
}

func concatOperand(v Value, t Type) (Value, error) {
	if v.kind.IsUnicode() == t.Kind.IsUnicode() && v.kind.IsChar() {
		return v, nil
	}
	return Assign(v, t)
}

func arithDecimal(op Op, a, b Value, t Type) (Value, error) {
	a, err := decimalOperand(a, t)
	if err != nil {
		return Null, err
	}
	if b, err = decimalOperand(b, t); err != nil {
		return Null, err
	}
	var mag u128
	neg, ok := false, false
	switch op {
	case OpAdd:
		mag, neg, ok = addDecimals(a, b, b.neg, t.Scale)
	case OpSub:
		mag, neg, ok = addDecimals(a, b, !b.neg, t.Scale)
	case OpMul:
		neg = a.neg != b.neg
		mag, ok = mulDecimals(a, b, t.Scale)
	case OpDiv:
		if b.mag().isZero() {
			return Null, divideByZero()
		}
		neg = a.neg != b.neg
		mag, ok = divDecimals(a, b, t.Scale)
	case OpMod:
		if b.mag().isZero() {
			return Null, divideByZero()
		}
		neg = a.neg
		mag, ok = modDecimals(a, b, t.Scale)
	}
	if !ok || mag.cmp(pow10[t.Precision]) >= 0 {
		return Null, overflow(expression, KindDecimal)
	}
	return newDecimal(mag, neg, t.Precision, t.Scale), nil
}

// decimalOperand returns an operand as a decimal; a text takes scale enough for
// what it says.
func decimalOperand(v Value, t Type) (Value, error) {
	switch {
	case v.kind == KindDecimal:
		return v, nil
	case v.kind.IsExact():
		return v.exactDecimal(), nil
	}
	return Assign(v, Decimal(MaxPrecision, t.Scale))
}

// addDecimals adds two decimals, b with the given sign, and rounds to scale.
func addDecimals(a, b Value, bneg bool, scale uint8) (u128, bool, bool) {
	wide := max(a.scale, b.scale)
	x, okx := a.mag().scaleUp(int(wide - a.scale))
	y, oky := b.mag().scaleUp(int(wide - b.scale))
	if !okx || !oky {
		return addWide(a, b, bneg, wide, scale)
	}
	var sum u128
	neg := a.neg
	switch {
	case a.neg == bneg:
		var carry uint64
		if sum, carry = x.add(y); carry != 0 {
			return addWide(a, b, bneg, wide, scale)
		}
	case x.cmp(y) >= 0:
		sum = x.sub(y)
	default:
		sum, neg = y.sub(x), bneg
	}
	if scale < wide {
		return sum.scaleDown(int(wide-scale), true), neg, true
	}
	sum, ok := sum.scaleUp(int(scale - wide))
	return sum, neg, ok
}

// addWide is addDecimals for numbers that need more than 128 bits on the way.
func addWide(a, b Value, bneg bool, wide, scale uint8) (u128, bool, bool) {
	x := new(big.Int).Mul(a.mag().big(), pow10[wide-a.scale].big())
	y := new(big.Int).Mul(b.mag().big(), pow10[wide-b.scale].big())
	if a.neg {
		x.Neg(x)
	}
	if bneg {
		y.Neg(y)
	}
	x.Add(x, y)
	neg := x.Sign() < 0
	x.Abs(x)
	if scale < wide {
		d := pow10[wide-scale].big()
		x.Add(x, new(big.Int).Rsh(d, 1)).Quo(x, d)
	} else {
		x.Mul(x, pow10[scale-wide].big())
	}
	mag, ok := u128FromBig(x)
	return mag, neg, ok
}

func mulDecimals(a, b Value, scale uint8) (u128, bool) {
	product := int(a.scale) + int(b.scale)
	if product <= int(scale) {
		mag, ok := a.mag().mul(b.mag()).u128()
		if !ok {
			return mag, false
		}
		return mag.scaleUp(int(scale) - product)
	}
	return a.mag().mul(b.mag()).scaleDown(product - int(scale)).u128()
}

// divDecimals divides and cuts off what does not fit the scale.
func divDecimals(a, b Value, scale uint8) (u128, bool) {
	k := int(scale) - int(a.scale) + int(b.scale)
	if k >= 0 && b.m == 0 {
		if x, ok := a.mag().scaleUp(k); ok {
			q, _ := x.div64(uint64(b.n))
			return q, true
		}
		if k <= MaxPrecision {
			q, _ := a.mag().mul(pow10[k]).div64(uint64(b.n))
			return q.u128()
		}
	}
	x, y := a.mag().big(), b.mag().big()
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(k, -k))), nil)
	if k >= 0 {
		x.Mul(x, p)
	} else {
		y.Mul(y, p)
	}
	return u128FromBig(x.Quo(x, y))
}

func modDecimals(a, b Value, scale uint8) (u128, bool) {
	wide := max(a.scale, b.scale)
	x, okx := a.mag().scaleUp(int(wide - a.scale))
	y, oky := b.mag().scaleUp(int(wide - b.scale))
	if okx && oky && x.hi == 0 && y.hi == 0 {
		return rescaleMod(u128{0, x.lo % y.lo}, wide, scale)
	}
	p := new(big.Int).Mul(a.mag().big(), pow10[wide-a.scale].big())
	q := new(big.Int).Mul(b.mag().big(), pow10[wide-b.scale].big())
	mag, ok := u128FromBig(p.Rem(p, q))
	if !ok {
		return mag, false
	}
	return rescaleMod(mag, wide, scale)
}

func rescaleMod(mag u128, from, to uint8) (u128, bool) {
	if to < from {
		return mag.scaleDown(int(from-to), true), true
	}
	return mag.scaleUp(int(to - from))
}

// Neg returns -v in the type that UnaryType gave.
func Neg(v Value, result Type) (Value, error) {
	switch k := v.kind; {
	case k == KindNull:
		return Null, nil
	case k.IsInteger():
		return arithInteger(OpSub, Value{kind: k}, v, result.Kind)
	case k.IsMoney():
		return arithInteger(OpSub, NewBigInt(0), NewBigInt(v.n), k)
	case k == KindDecimal:
		return newDecimal(v.mag(), !v.neg, v.prec, v.scale), nil
	case k == KindFloat:
		return NewFloat(-v.Float()), nil
	case k == KindReal:
		return NewReal(-v.Float()), nil
	}
	return Null, sqlerr.New(8117, v.kind.valueName(), "minus")
}

// BitNot returns ~v in the type that UnaryType gave.
func BitNot(v Value, result Type) (Value, error) {
	switch {
	case v.kind == KindNull:
		return Null, nil
	case result.Kind == KindBit:
		return NewBit(v.n == 0), nil
	case result.Kind == KindTinyInt:
		return NewTinyInt(^v.n & 0xFF), nil
	case v.kind.IsInteger():
		return Value{kind: result.Kind, n: ^v.n}, nil
	}
	return Null, sqlerr.New(8117, v.kind.valueName(), "'~'")
}

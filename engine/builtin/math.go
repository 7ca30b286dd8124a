package builtin

import (
	"math"
	"math/big"
	"strconv"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// mathFuncs are the mathematical functions ("Mathematical functions
// (Transact-SQL)").
func mathFuncs() []*Func {
	fs := []*Func{
		pure("ABS", 1, 1, numericType("ABS", sameDecimal), evalAbs),
		pure("CEILING", 1, 1, numericType("CEILING", wholeDecimal), evalCeiling),
		pure("FLOOR", 1, 1, numericType("FLOOR", wholeDecimal), evalFloor),
		pure("SIGN", 1, 1, numericType("SIGN", sameDecimal), evalSign),
		lenient("ROUND", 2, 3, roundType, evalRound),
		pure("POWER", 2, 2, numericType("POWER", wideDecimal), evalPower),
		pure("DEGREES", 1, 1, numericType("DEGREES", angleDecimal), evalAngle(180/math.Pi)),
		pure("RADIANS", 1, 1, numericType("RADIANS", angleDecimal), evalAngle(math.Pi/180)),
		pure("LOG", 1, 2, floatType("LOG"), evalLog),
		pure("ATN2", 2, 2, floatType("ATN2"), evalAtn2),
		lenient("PI", 0, 0, fixed(types.TypeFloat), func(call) (types.Value, error) { return types.NewFloat(math.Pi), nil }),
		{Name: "RAND", Min: 0, Max: 1, Type: fixed(types.TypeFloat), Eval: evaluator("RAND", evalRand)},
	}
	for name, f := range map[string]func(float64) float64{
		"SQRT": math.Sqrt, "SQUARE": func(x float64) float64 { return x * x }, "EXP": math.Exp, "LOG10": math.Log10,
		"SIN": math.Sin, "COS": math.Cos, "TAN": math.Tan, "ASIN": math.Asin, "ACOS": math.Acos, "ATAN": math.Atan,
		"COT": func(x float64) float64 { return 1 / math.Tan(x) },
	} {
		fs = append(fs, pure(name, 1, 1, floatType(name), evalFloat(f)))
	}
	return fs
}

// Types of the result for a decimal argument.
func sameDecimal(t types.Type) types.Type  { return t }
func wholeDecimal(t types.Type) types.Type { return types.Decimal(t.Precision, 0) }
func wideDecimal(t types.Type) types.Type  { return types.Decimal(38, t.Scale) }
func angleDecimal(t types.Type) types.Type { return types.Decimal(38, max(t.Scale, 18)) }

// numericType is the documented type rule of the functions that keep the type
// of a number: small integers become int, small money becomes money, real, bit
// and character data become float.
func numericType(name string, decimal func(types.Type) types.Type) typeFunc {
	return func(args []types.Type, _ []*types.Value) (types.Type, error) {
		for i, a := range args {
			if _, ok := widened(a, decimal); !ok {
				return types.Type{}, badArgument(a, i+1, name)
			}
		}
		t, _ := widened(args[0], decimal)
		return t, nil
	}
}

// widened is the type in which a function computes with an argument of type t;
// ok is false for a type that is no number.
func widened(t types.Type, decimal func(types.Type) types.Type) (w types.Type, ok bool) {
	switch t.Kind {
	case types.KindTinyInt, types.KindSmallInt, types.KindInt:
		return types.TypeInt, true
	case types.KindBigInt:
		return t, true
	case types.KindDecimal:
		return decimal(t), true
	case types.KindMoney, types.KindSmallMoney:
		return types.TypeMoney, true
	case types.KindFloat, types.KindReal, types.KindBit, types.KindNull, types.KindVariant,
		types.KindChar, types.KindVarChar, types.KindNChar, types.KindNVarChar:
		return types.TypeFloat, true
	}
	return t, false
}

// floatType is the type rule of the functions that compute with float.
func floatType(name string) typeFunc {
	return func(args []types.Type, consts []*types.Value) (types.Type, error) {
		_, err := numericType(name, sameDecimal)(args, consts)
		return types.TypeFloat, err
	}
}

// finite is a float result; what is not a number is error 3623.
func finite(f float64) (types.Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return types.Null, sqlerr.New(3623)
	}
	return types.NewFloat(f), nil
}

func evalFloat(f func(float64) float64) evalFunc {
	return func(c call) (types.Value, error) {
		x, err := c.float(0)
		if err != nil {
			return types.Null, err
		}
		y := f(x)
		if math.IsInf(y, 0) && c.name != "LOG10" && c.name != "COT" {
			return types.Null, overflow(types.TypeFloat)
		}
		return finite(y)
	}
}

// overflow is error 8115 for an expression.
func overflow(t types.Type) error {
	name := t.Kind.String()
	if t.Kind == types.KindDecimal {
		name = "numeric"
	}
	return sqlerr.New(8115, "expression", name)
}

// number is the first argument in the type of the result, or for a decimal
// result as the decimal it is.
func (c call) number() (types.Value, error) {
	v := c.args[0]
	if c.result.Kind == v.Kind() {
		return v, nil
	}
	return types.Convert(v, c.result, 0)
}

// fromBig is an exact number of the type of the result: n / 10^scale, rounded
// to the scale of the result.
func (c call) fromBig(n *big.Int, scale int) (types.Value, error) {
	return exactValue(n, scale, c.result)
}

func evalAbs(c call) (types.Value, error) {
	v, err := c.number()
	if err != nil {
		return types.Null, err
	}
	switch {
	case v.Kind() == types.KindFloat:
		return types.NewFloat(math.Abs(v.Float())), nil
	case v.Kind().IsInteger() && v.Int() >= 0:
		return v, nil
	case v.Kind() == types.KindInt && v.Int() > math.MinInt32:
		return types.NewInt(-v.Int()), nil
	}
	n, scale := exactParts(v)
	return c.fromBig(n.Abs(n), scale)
}

func evalSign(c call) (types.Value, error) {
	v, err := c.number()
	if err != nil {
		return types.Null, err
	}
	if v.Kind() == types.KindFloat {
		switch f := v.Float(); {
		case f > 0:
			return types.NewFloat(1), nil
		case f < 0:
			return types.NewFloat(-1), nil
		}
		return types.NewFloat(0), nil
	}
	n, _ := exactParts(v)
	return c.fromBig(big.NewInt(int64(n.Sign())), 0)
}

func evalCeiling(c call) (types.Value, error) { return c.whole(math.Ceil, 1) }
func evalFloor(c call) (types.Value, error)   { return c.whole(math.Floor, -1) }

// whole rounds to a whole number, up for a direction of 1 and down for -1.
func (c call) whole(f func(float64) float64, direction int) (types.Value, error) {
	v := c.args[0]
	if c.result.Kind != types.KindDecimal {
		var err error
		if v, err = c.number(); err != nil {
			return types.Null, err
		}
	}
	switch {
	case v.Kind() == types.KindFloat:
		return types.NewFloat(f(v.Float())), nil
	case v.Kind().IsInteger():
		return v, nil
	}
	n, scale := exactParts(v)
	q, r := new(big.Int).QuoRem(n, pow10(scale), new(big.Int))
	if r.Sign() == direction {
		q.Add(q, big.NewInt(int64(direction)))
	}
	return c.fromBig(q, 0)
}

// roundType keeps the type of the number. Length and function must be numbers.
func roundType(args []types.Type, consts []*types.Value) (types.Type, error) {
	for i, t := range args[1:] {
		if !t.Kind.IsNumeric() && t.Kind != types.KindNull {
			return types.Type{}, badArgument(t, i+2, "ROUND")
		}
	}
	return numericType("ROUND", sameDecimal)(args[:1], consts)
}

// evalRound is ROUND(x, length [, function]); a function other than zero or NULL
// truncates.
func evalRound(c call) (types.Value, error) {
	if c.args[0].IsNull() || c.args[1].IsNull() {
		return types.Null, nil
	}
	v, err := c.number()
	if err != nil {
		return types.Null, err
	}
	length, err := c.integer(1)
	if err != nil {
		return types.Null, err
	}
	truncate := false
	if len(c.args) == 3 && !c.args[2].IsNull() {
		n, err := c.integer(2)
		if err != nil {
			return types.Null, err
		}
		truncate = n != 0
	}
	if v.Kind() == types.KindFloat {
		return types.NewFloat(roundFloat(v.Float(), length, truncate)), nil
	}
	n, scale := exactParts(v)
	drop := int64(scale) - length
	if drop <= 0 {
		return c.fromBig(n, scale)
	}
	if drop > 60 {
		return c.fromBig(new(big.Int), 0)
	}
	unit := pow10(int(drop))
	q, r := new(big.Int).QuoRem(n, unit, new(big.Int))
	if !truncate && r.Abs(r).Lsh(r, 1).Cmp(unit) >= 0 {
		q.Add(q, big.NewInt(int64(n.Sign())))
	}
	return c.fromBig(q.Mul(q, unit), scale)
}

// roundFloat rounds by the exact value of f: 2.675 is a little less than that,
// and so becomes 2.67.
func roundFloat(f float64, length int64, truncate bool) float64 {
	if length > 340 || f == 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return f
	}
	if length < -308 {
		return 0
	}
	unit := new(big.Rat).SetInt(pow10(int(max(length, -length))))
	scaled := new(big.Rat).SetFloat64(f)
	if length < 0 {
		scaled.Quo(scaled, unit)
	} else {
		scaled.Mul(scaled, unit)
	}
	if scaled.IsInt() {
		return f
	}
	q, r := new(big.Int).QuoRem(scaled.Num(), scaled.Denom(), new(big.Int))
	if !truncate && r.Abs(r).Lsh(r, 1).Cmp(scaled.Denom()) >= 0 {
		q.Add(q, big.NewInt(int64(scaled.Sign())))
	}
	rounded := new(big.Rat).SetInt(q)
	if length < 0 {
		rounded.Mul(rounded, unit)
	} else {
		rounded.Quo(rounded, unit)
	}
	result, _ := rounded.Float64()
	return result
}

// evalPower computes with float and gives the type of the first argument.
func evalPower(c call) (types.Value, error) {
	x, err := c.float(0)
	if err != nil {
		return types.Null, err
	}
	y, err := c.float(1)
	if err != nil {
		return types.Null, err
	}
	if x == 0 && y < 0 {
		return types.Null, sqlerr.New(8134)
	}
	f := math.Pow(x, y)
	if math.IsNaN(f) {
		return types.Null, sqlerr.New(3623)
	}
	return c.fromFloat(f)
}

// fromFloat is f in the type of the result: truncated to an integer, rounded to
// the scale of a decimal.
func (c call) fromFloat(f float64) (types.Value, error) {
	if math.IsInf(f, 0) {
		return types.Null, overflow(c.result)
	}
	switch c.result.Kind {
	case types.KindFloat:
		return types.NewFloat(f), nil
	case types.KindInt, types.KindBigInt:
		limit := float64(math.MaxInt32)
		if c.result.Kind == types.KindBigInt {
			limit = math.MaxInt64
		}
		if f = math.Trunc(f); math.Abs(f) > limit || f == math.MaxInt64 {
			return types.Null, sqlerr.New(232, c.result.Kind.String(), strconv.FormatFloat(f, 'f', 6, 64))
		}
		if c.result.Kind == types.KindInt {
			return types.NewInt(int64(f)), nil
		}
		return types.NewBigInt(int64(f)), nil
	}
	scale := 4
	if c.result.Kind == types.KindDecimal {
		scale = int(c.result.Scale)
	}
	// One digit more than needed, so that exactValue rounds half away from zero.
	text := strconv.FormatFloat(f, 'f', scale+1, 64)
	n, ok := new(big.Int).SetString(removePoint(text), 10)
	if !ok {
		return types.Null, overflow(c.result)
	}
	return c.fromBig(n, scale+1)
}

func evalAngle(factor float64) evalFunc {
	return func(c call) (types.Value, error) {
		x, err := c.float(0)
		if err != nil {
			return types.Null, err
		}
		return c.fromFloat(x * factor)
	}
}

func evalLog(c call) (types.Value, error) {
	x, err := c.float(0)
	if err != nil {
		return types.Null, err
	}
	if len(c.args) == 1 {
		return finite(math.Log(x))
	}
	base, err := c.float(1)
	if err != nil {
		return types.Null, err
	}
	if base == 10 {
		return finite(math.Log10(x))
	}
	return finite(math.Log(x) / math.Log(base))
}

func evalAtn2(c call) (types.Value, error) {
	y, err := c.float(0)
	if err != nil {
		return types.Null, err
	}
	x, err := c.float(1)
	if err != nil {
		return types.Null, err
	}
	if x == 0 && y == 0 {
		return types.Null, sqlerr.New(3623)
	}
	return finite(math.Atan2(y, x))
}

package builtin

import (
	"math"
	"math/big"
	"strings"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// aggregates are the aggregates by name ("Aggregate functions (Transact-SQL)").
// COUNT(*) is COUNT without an argument.
var aggregates = func() map[string]*Aggregate {
	m := map[string]*Aggregate{}
	add := func(name string, least, most int, warns bool, t func([]types.Type) (types.Type, error), fresh func(args []types.Type, result types.Type) Accumulator) {
		m[name] = &Aggregate{Name: name, Min: least, Max: most, Warns: warns, Type: t, New: fresh}
	}
	always := func(t types.Type) func([]types.Type) (types.Type, error) {
		return func([]types.Type) (types.Type, error) { return t, nil }
	}
	count := func(_ []types.Type, result types.Type) Accumulator { return &counter{result: result} }
	add("COUNT", 0, 1, true, countType(types.TypeInt), count)
	add("COUNT_BIG", 0, 1, true, countType(types.TypeBigInt), count)
	add("SUM", 1, 1, true, sumType("sum", func(t types.Type) types.Type { return types.Decimal(38, t.Scale) }), newSum(false))
	add("AVG", 1, 1, true, sumType("avg", func(t types.Type) types.Type { return types.Decimal(38, max(t.Scale, 6)) }), newSum(true))
	add("MIN", 1, 1, true, extremeType("min"), newExtreme(-1))
	add("MAX", 1, 1, true, extremeType("max"), newExtreme(1))
	for name, v := range map[string]variance{
		"STDEV": {root: true}, "STDEVP": {root: true, population: true}, "VAR": {}, "VARP": {population: true},
	} {
		add(name, 1, 1, true, varianceType(strings.ToLower(name)), func([]types.Type, types.Type) Accumulator { fresh := v; return &fresh })
	}
	add("STRING_AGG", 2, 2, false, stringAggType, newStringAgg)
	m["STRING_AGG"].Ordered = true
	add("CHECKSUM_AGG", 1, 1, true, always(types.TypeInt), func([]types.Type, types.Type) Accumulator { return &checksumAgg{} })
	return m
}()

// badOperand is error 8117.
func badOperand(t types.Type, operator string) error {
	name := t.Kind.String()
	if t.Kind == types.KindDecimal {
		name = "numeric"
	}
	return sqlerr.New(8117, name, operator)
}

func countType(result types.Type) func([]types.Type) (types.Type, error) {
	return func(args []types.Type) (types.Type, error) {
		for _, t := range args {
			if t.Kind.IsLOB() {
				return result, badOperand(t, "count")
			}
		}
		return result, nil
	}
}

// counter counts the rows whose argument is not NULL, or all without one.
type counter struct {
	n      int64
	result types.Type
}

func (a *counter) Step(args []types.Value) error {
	if len(args) == 0 || !args[0].IsNull() {
		a.n++
	}
	return nil
}

func (a *counter) Result() (types.Value, error) {
	if a.result.Kind == types.KindBigInt {
		return types.NewBigInt(a.n), nil
	}
	if a.n > math.MaxInt32 {
		return types.Null, overflow(types.TypeInt)
	}
	return types.NewInt(a.n), nil
}

// sumType is the type of SUM and AVG: integers stay integers, small ones become
// int.
func sumType(operator string, decimal func(types.Type) types.Type) func([]types.Type) (types.Type, error) {
	return func(args []types.Type) (types.Type, error) {
		switch t := args[0]; t.Kind {
		case types.KindTinyInt, types.KindSmallInt, types.KindInt:
			return types.TypeInt, nil
		case types.KindBigInt:
			return t, nil
		case types.KindDecimal:
			return decimal(t), nil
		case types.KindMoney, types.KindSmallMoney:
			return types.TypeMoney, nil
		case types.KindFloat, types.KindReal:
			return types.TypeFloat, nil
		}
		return types.Type{}, badOperand(args[0], operator)
	}
}

// sum is SUM, and AVG if mean is set. Exact numbers are added exactly: in an
// int64 while they fit, else in a big.Int, as multiples of 1/10^scale.
type sum struct {
	mean   bool
	result types.Type
	n      int64
	small  int64
	large  *big.Int
	scale  int
	float  float64
}

func newSum(mean bool) func([]types.Type, types.Type) Accumulator {
	return func(args []types.Type, result types.Type) Accumulator {
		a := &sum{mean: mean, result: result}
		switch result.Kind {
		case types.KindMoney:
			a.scale = 4
		case types.KindDecimal:
			a.scale = int(args[0].Scale)
		}
		return a
	}
}

func (a *sum) Step(args []types.Value) error {
	v := args[0]
	if v.IsNull() {
		return nil
	}
	a.n++
	switch {
	case v.Kind().IsApproximate():
		a.float += v.Float()
	case v.Kind().IsInteger():
		a.add(v.Int())
	case v.Kind().IsMoney():
		a.add(v.MoneyUnits())
	default:
		hi, lo, neg := v.DecimalParts()
		if hi != 0 || lo > math.MaxInt64 || int(v.Scale()) != a.scale {
			n, scale := exactParts(v)
			a.addBig(rescale(n, scale, a.scale))
			break
		}
		if neg {
			a.add(-int64(lo))
		} else {
			a.add(int64(lo))
		}
	}
	return nil
}

func (a *sum) add(n int64) {
	total := a.small + n
	if (n > 0) == (total > a.small) || n == 0 {
		a.small = total
		return
	}
	a.addBig(big.NewInt(n))
}

func (a *sum) addBig(n *big.Int) {
	if a.large == nil {
		a.large = new(big.Int)
	}
	a.large.Add(a.large, n)
}

func (a *sum) Result() (types.Value, error) {
	if a.n == 0 {
		return types.Null, nil
	}
	if a.result.Kind == types.KindFloat {
		total := a.float
		if a.mean {
			total /= float64(a.n)
		}
		if math.IsInf(total, 0) || math.IsNaN(total) {
			return types.Null, overflow(types.TypeFloat)
		}
		return types.NewFloat(total), nil
	}
	total := big.NewInt(a.small)
	if a.large != nil {
		total.Add(total, a.large)
	}
	sumType := a.result
	if a.mean && sumType.Kind == types.KindDecimal {
		sumType = types.Decimal(38, uint8(a.scale))
	}
	v, err := exactValue(total, a.scale, sumType)
	if err != nil || !a.mean {
		return v, err
	}
	// The division truncates, as / does.
	scale := a.scale
	if a.result.Kind == types.KindDecimal {
		scale = int(a.result.Scale)
	}
	total.Mul(total, pow10(scale-a.scale))
	return exactValue(total.Quo(total, big.NewInt(a.n)), scale, a.result)
}

func extremeType(operator string) func([]types.Type) (types.Type, error) {
	return func(args []types.Type) (types.Type, error) {
		switch t := args[0]; t.Kind {
		case types.KindBit, types.KindText, types.KindNText, types.KindImage, types.KindXML, types.KindNull, types.KindTable, types.KindCursor:
			return types.Type{}, badOperand(t, operator)
		default:
			return t, nil
		}
	}
}

// extreme is MIN with a direction of -1 and MAX with 1.
type extreme struct {
	direction int
	best      types.Value
	collation *types.Collation
}

func newExtreme(direction int) func([]types.Type, types.Type) Accumulator {
	return func(args []types.Type, _ types.Type) Accumulator {
		return &extreme{direction: direction, collation: args[0].Collation}
	}
}

func (a *extreme) Step(args []types.Value) error {
	v := args[0]
	if v.IsNull() {
		return nil
	}
	if a.best.IsNull() || types.Compare(v, a.best, a.collation)*a.direction > 0 {
		a.best = v
	}
	return nil
}

func (a *extreme) Result() (types.Value, error) { return a.best, nil }

func varianceType(operator string) func([]types.Type) (types.Type, error) {
	return func(args []types.Type) (types.Type, error) {
		if t := args[0]; !t.Kind.IsNumeric() || t.Kind == types.KindBit {
			return types.Type{}, badOperand(t, operator)
		}
		return types.TypeFloat, nil
	}
}

// variance is VAR, VARP, STDEV and STDEVP, by Welford's method.
type variance struct {
	root, population bool
	n, mean, squares float64
}

func (a *variance) Step(args []types.Value) error {
	v := args[0]
	if v.IsNull() {
		return nil
	}
	f, err := call{args: args}.float(0)
	if err != nil {
		return err
	}
	a.n++
	d := f - a.mean
	a.mean += d / a.n
	a.squares += d * (f - a.mean)
	return nil
}

func (a *variance) Result() (types.Value, error) {
	by := a.n
	if !a.population {
		by--
	}
	if by < 1 {
		return types.Null, nil
	}
	v := a.squares / by
	if a.root {
		v = math.Sqrt(v)
	}
	return types.NewFloat(v), nil
}

// stringAggType is the type of STRING_AGG: nvarchar(4000) but for varchar and
// the (max) types.
func stringAggType(args []types.Type) (types.Type, error) {
	t := args[0]
	switch {
	case t.Kind.IsLOB() || t.Kind == types.KindTable || t.Kind == types.KindCursor || t.Kind == types.KindVariant:
		return types.Type{}, badArgument(t, 1, "STRING_AGG")
	case !args[1].Kind.IsChar() && args[1].Kind != types.KindNull:
		return types.Type{}, badArgument(args[1], 2, "STRING_AGG")
	case t.IsMax():
		return stringType(t.Kind.IsUnicode(), types.Max, collationOf(args)), nil
	case t.Kind == types.KindChar || t.Kind == types.KindVarChar:
		return stringType(false, types.MaxVarChar, t.Collation), nil
	}
	return stringType(true, types.MaxNVarChar, collationOf(args)), nil
}

// stringAgg joins the values that are not NULL. The rows come in the order of
// WITHIN GROUP.
type stringAgg struct {
	result types.Type
	sb     strings.Builder
	units  int
	any    bool
}

func newStringAgg(_ []types.Type, result types.Type) Accumulator { return &stringAgg{result: result} }

func (a *stringAgg) Step(args []types.Value) error {
	if args[0].IsNull() {
		return nil
	}
	s, err := textOf(args[0])
	if err != nil {
		return err
	}
	if a.any && !args[1].IsNull() {
		s = args[1].Text() + s
	}
	a.any = true
	a.units += types.UTF16Len(s)
	if !a.result.IsMax() && a.units > a.result.Length {
		return sqlerr.New(9829)
	}
	if err := types.CheckBuilt(int64(a.sb.Len()) + int64(len(s))); err != nil {
		return err
	}
	a.sb.WriteString(s)
	return nil
}

func (a *stringAgg) Result() (types.Value, error) {
	if !a.any {
		return types.Null, nil
	}
	return types.NewString(a.result.Kind, a.sb.String()), nil
}

// checksumAgg is the exclusive or of its arguments, whatever their order.
type checksumAgg struct {
	sum int64
	any bool
}

func (a *checksumAgg) Step(args []types.Value) error {
	if args[0].IsNull() {
		return nil
	}
	n, err := intOf(args[0])
	a.sum ^= n
	a.any = true
	return err
}

func (a *checksumAgg) Result() (types.Value, error) {
	if !a.any {
		return types.Null, nil
	}
	return types.NewInt(a.sum), nil
}

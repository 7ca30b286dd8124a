package builtin

import (
	"math"
	"math/big"
	"strings"

	"loopbroker/engine/types"
)

// exactParts is an exact number as n / 10^scale. The caller may change n.
func exactParts(v types.Value) (n *big.Int, scale int) {
	switch v.Kind() {
	case types.KindMoney, types.KindSmallMoney:
		return big.NewInt(v.MoneyUnits()), 4
	case types.KindDecimal:
		hi, lo, neg := v.DecimalParts()
		n = new(big.Int).SetUint64(hi)
		n.Add(n.Lsh(n, 64), new(big.Int).SetUint64(lo))
		if neg {
			n.Neg(n)
		}
		return n, int(v.Scale())
	}
	return big.NewInt(v.Int()), 0
}

// removePoint removes the decimal point of a number.
func removePoint(s string) string { return strings.Replace(s, ".", "", 1) }

func pow10(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// rescale is n / 10^from as a multiple of 1 / 10^to, rounded half away from zero.
func rescale(n *big.Int, from, to int) *big.Int {
	if to >= from {
		return new(big.Int).Mul(n, pow10(to-from))
	}
	unit := pow10(from - to)
	q, r := new(big.Int).QuoRem(n, unit, new(big.Int))
	if r.Abs(r).Lsh(r, 1).Cmp(unit) >= 0 {
		q.Add(q, big.NewInt(int64(n.Sign())))
	}
	return q
}

// exactValue is n / 10^scale as a value of t, an exact numeric type; what does
// not fit is error 8115.
func exactValue(n *big.Int, scale int, t types.Type) (types.Value, error) {
	switch t.Kind {
	case types.KindDecimal:
		n = rescale(n, scale, int(t.Scale))
		if new(big.Int).Abs(n).Cmp(pow10(int(t.Precision))) >= 0 {
			return types.Null, overflow(t)
		}
		hi := new(big.Int).Rsh(new(big.Int).Abs(n), 64)
		lo := new(big.Int).And(new(big.Int).Abs(n), new(big.Int).SetUint64(math.MaxUint64))
		return types.NewDecimal(hi.Uint64(), lo.Uint64(), n.Sign() < 0, t.Precision, t.Scale), nil
	case types.KindMoney:
		n = rescale(n, scale, 4)
		if !n.IsInt64() {
			return types.Null, overflow(t)
		}
		return types.NewMoney(n.Int64()), nil
	}
	n = rescale(n, scale, 0)
	if !n.IsInt64() || t.Kind == types.KindInt && int64(int32(n.Int64())) != n.Int64() {
		return types.Null, overflow(t)
	}
	if t.Kind == types.KindInt {
		return types.NewInt(n.Int64()), nil
	}
	return types.NewBigInt(n.Int64()), nil
}

package types

import (
	"cmp"
	"hash/maphash"
	"math"
	"math/bits"
	"strings"
)

// Compare compares two values of the same kind, neither of them NULL: -1, 0
// or 1. Character data is compared in c, trailing blanks do not count; binary
// data as if padded with zeros; decimals by their number, whatever the scale.
//
// Texts of different kinds are compared by the Unicode rules if one of them is
// Unicode data. Other values of different kinds are compared as sql_variant values are: by family
// (date and time, approximate number, exact number, character, binary,
// uniqueidentifier, from the highest to the lowest), within a family by value.
// NULL sorts before all else.
func Compare(a, b Value, c *Collation) int {
	if a.kind != b.kind {
		if a.kind.IsChar() && b.kind.IsChar() {
			return collationOr(c).Compare(a.s, b.s, a.kind.IsUnicode() || b.kind.IsUnicode())
		}
		return CompareVariant(a, b)
	}
	switch a.kind {
	case KindBit, KindTinyInt, KindSmallInt, KindInt, KindBigInt, KindMoney, KindSmallMoney, KindDate:
		return cmp.Compare(a.n, b.n)
	case KindVarChar, KindChar, KindText:
		return collationOr(c).Compare(a.s, b.s, false)
	case KindNVarChar, KindNChar, KindNText:
		return collationOr(c).Compare(a.s, b.s, true)
	case KindDecimal:
		return compareDecimals(a, b)
	case KindFloat, KindReal:
		return cmp.Compare(a.Float(), b.Float())
	case KindTime, KindSmallDateTime, KindDateTime, KindDateTime2, KindDateTimeOffset:
		if d := cmp.Compare(a.n, b.n); d != 0 {
			return d
		}
		return cmp.Compare(a.m, b.m)
	case KindUniqueIdentifier:
		return compareGUIDs(a.s, b.s)
	case KindXML:
		return cmp.Compare(a.s, b.s)
	}
	return compareBytes(a.s, b.s)
}

func collationOr(c *Collation) *Collation {
	if c == nil {
		return DefaultCollation
	}
	return c
}

// Equal reports whether Compare finds a and b equal. Two NULLs are equal, as in
// DISTINCT and GROUP BY.
func Equal(a, b Value, c *Collation) bool { return Compare(a, b, c) == 0 }

// Hash returns a number that is the same for values that Equal finds equal and
// that have the same kind, or are both integers. It holds for this process only.
func Hash(v Value, c *Collation) uint64 {
	switch {
	case v.kind == KindNull:
		return 0
	case v.kind.IsInteger(), v.kind.IsMoney(), v.kind == KindDate:
		return mix(uint64(v.n))
	case v.kind.IsChar():
		return collationOr(c).Hash(v.s, v.kind.IsUnicode())
	case v.kind == KindDecimal:
		return hashDecimal(v)
	case v.kind.IsApproximate():
		if v.Float() == 0 {
			return mix(0)
		}
		return mix(uint64(v.n))
	case v.kind.IsDateTime():
		return mix(mix(uint64(v.n)) + uint64(v.m))
	case v.kind.IsBinary():
		return maphash.String(hashSeed, strings.TrimRight(v.s, "\x00"))
	}
	return maphash.String(hashSeed, v.s)
}

func mix(x uint64) uint64 {
	hi, lo := bits.Mul64(x^0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)
	return hi ^ lo
}

func hashDecimal(v Value) uint64 {
	mag, scale := v.mag(), v.scale
	for scale > 0 {
		q, r := mag.div64(10)
		if r != 0 {
			break
		}
		mag = q
		scale--
	}
	h := mix(mag.lo) + mix(mag.hi+uint64(scale))
	if v.neg {
		h++
	}
	return h
}

func compareDecimals(a, b Value) int {
	if s, t := a.DecimalSign(), b.DecimalSign(); s != t {
		return cmp.Compare(s, t)
	}
	var d int
	if a.scale == b.scale {
		d = a.mag().cmp(b.mag())
	} else {
		d = compareScaled(a.mag(), a.scale, b.mag(), b.scale)
	}
	if a.neg {
		return -d
	}
	return d
}

func compareScaled(a u128, s uint8, b u128, t uint8) int {
	x, y := a.mul(pow10[max(s, t)-s]), b.mul(pow10[max(s, t)-t])
	for i := len(x) - 1; i >= 0; i-- {
		if x[i] != y[i] {
			return cmp.Compare(x[i], y[i])
		}
	}
	return 0
}

// guidOrder is the order in which SQL Server compares the bytes of a
// uniqueidentifier: the last six first ("Comparing GUID and uniqueidentifier
// values").
var guidOrder = [16]byte{10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3}

func compareGUIDs(a, b string) int {
	if len(a) != 16 || len(b) != 16 {
		return cmp.Compare(a, b)
	}
	for _, i := range guidOrder {
		if a[i] != b[i] {
			return cmp.Compare(a[i], b[i])
		}
	}
	return 0
}

// compareBytes compares binary data; the shorter one counts as padded with
// zeros.
func compareBytes(a, b string) int {
	n := min(len(a), len(b))
	if d := cmp.Compare(a[:n], b[:n]); d != 0 {
		return d
	}
	if strings.Trim(a[n:], "\x00") == "" && strings.Trim(b[n:], "\x00") == "" {
		return 0
	}
	return cmp.Compare(len(a), len(b))
}

// family is the place of a kind among the families of sql_variant ("sql_variant
// (Transact-SQL)"); the higher family is the greater value.
func (k Kind) family() int {
	switch {
	case k == KindNull:
		return 0
	case k == KindUniqueIdentifier:
		return 1
	case k.IsBinary():
		return 2
	case k.IsChar():
		return 3
	case k.IsExact():
		return 4
	case k.IsApproximate():
		return 5
	case k.IsDateTime():
		return 6
	}
	return 7
}

// CompareVariant compares two sql_variant values, as AppendKey orders them:
// by family, then by value. Character data is compared in the default collation
// by its Unicode rules, since the base kinds of a column may be mixed.
func CompareVariant(a, b Value) int {
	f := a.kind.family()
	if d := cmp.Compare(f, b.kind.family()); d != 0 {
		return d
	}
	switch {
	case a.kind.IsInteger() && b.kind.IsInteger():
		return cmp.Compare(a.n, b.n)
	case a.kind.IsChar():
		return DefaultCollation.Compare(a.s, b.s, true)
	case a.kind.IsExact():
		return compareDecimals(a.exactDecimal(), b.exactDecimal())
	case a.kind.IsApproximate():
		return cmp.Compare(a.Float(), b.Float())
	case a.kind.IsDateTime():
		m, o := a.moment().utc(), b.moment().utc()
		if d := cmp.Compare(m.days, o.days); d != 0 {
			return d
		}
		return cmp.Compare(m.ticks, o.ticks)
	case a.kind == KindUniqueIdentifier:
		return compareGUIDs(a.s, b.s)
	}
	return compareBytes(a.s, b.s)
}

// sortableFloat returns bits that compare as unsigned numbers like f does.
func sortableFloat(f float64) uint64 {
	if f == 0 {
		f = 0 // no negative zero
	}
	b := math.Float64bits(f)
	if b&(1<<63) != 0 {
		return ^b
	}
	return b | 1<<63
}

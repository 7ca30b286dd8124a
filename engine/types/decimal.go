package types

import (
	"math"
	"math/big"
	"strconv"

	"loopbroker/engine/sqlerr"
)

// A decimal is its magnitude, an integer of up to 38 digits, divided by ten to
// the power of its scale, with a sign. Zero is never negative.

// NewDecimal returns a decimal of the magnitude hi*2^64+lo. The caller has
// checked that the magnitude has at most prec digits, and that scale <= prec <= 38.
func NewDecimal(hi, lo uint64, neg bool, prec, scale uint8) Value {
	return Value{kind: KindDecimal, n: int64(lo), m: int64(hi), neg: neg && hi|lo != 0, prec: prec, scale: scale}
}

// DecimalParts returns magnitude and sign of a decimal, for the wire.
func (v Value) DecimalParts() (hi, lo uint64, neg bool) {
	return uint64(v.m), uint64(v.n), v.neg
}

// DecimalSign returns -1, 0 or 1.
func (v Value) DecimalSign() int {
	switch {
	case v.neg:
		return -1
	case v.n|v.m == 0:
		return 0
	}
	return 1
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func (v Value) mag() u128 { return u128{uint64(v.m), uint64(v.n)} }

func newDecimal(mag u128, neg bool, prec, scale uint8) Value {
	return NewDecimal(mag.hi, mag.lo, neg, prec, scale)
}

// ParseDecimal returns the decimal of a literal such as 12, -0.50 or .5: its
// precision and scale are those of the digits that are written. Leading zeros do
// not count. More than 38 digits give error 1007, all else that is no number
// gives 8114.
func ParseDecimal(text string) (Value, error) {
	mag, neg, scale, status := scanDecimal(text, MaxPrecision)
	switch status {
	case scanSyntax:
		return Null, sqlerr.New(8114, "varchar", "numeric")
	case scanOverflow:
		return Null, sqlerr.New(1007, text)
	}
	prec := max(mag.digits(), scale, 1)
	return newDecimal(mag, neg, uint8(prec), uint8(scale)), nil
}

type scanStatus uint8

const (
	scanOK scanStatus = iota
	scanSyntax
	scanOverflow
)

// scanDecimal reads [blanks][sign]digits[.digits][blanks]. Digits behind the
// point beyond maxScale are rounded away.
func scanDecimal(s string, maxScale int) (mag u128, neg bool, scale int, status scanStatus) {
	s = trimBlanks(s)
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	point, digits, cut := false, 0, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '.' && !point {
			point = true
			continue
		}
		if c < '0' || c > '9' {
			return mag, neg, scale, scanSyntax
		}
		digits++
		if point && scale == maxScale {
			if !cut && c >= '5' {
				mag, _ = mag.add(u128{0, 1})
			}
			cut = true
			continue
		}
		var carry uint64
		if mag, carry = mag.mul64(10); carry != 0 {
			status = scanOverflow
		}
		if mag, carry = mag.add(u128{0, uint64(c - '0')}); carry != 0 || mag.cmp(pow10[MaxPrecision]) >= 0 {
			status = scanOverflow
		}
		if point {
			scale++
		}
	}
	if digits == 0 {
		return mag, neg, scale, scanSyntax
	}
	if mag.cmp(pow10[MaxPrecision]) >= 0 {
		status = scanOverflow
	}
	return mag, neg, scale, status
}

// DecimalText returns the digits of a decimal with all places of its scale:
// -12.50.
func (v Value) DecimalText() string {
	var buf [44]byte
	return string(appendDecimal(buf[:0], v.mag(), v.neg, int(v.scale)))
}

func appendDecimal(dst []byte, mag u128, neg bool, scale int) []byte {
	if neg {
		dst = append(dst, '-')
	}
	start := len(dst)
	dst = mag.appendTo(dst)
	if scale == 0 {
		return dst
	}
	for len(dst)-start <= scale { // 0.05 needs leading zeros
		dst = append(dst, 0)
		copy(dst[start+1:], dst[start:])
		dst[start] = '0'
	}
	dst = append(dst, 0)
	point := len(dst) - 1 - scale
	copy(dst[point+1:], dst[point:])
	dst[point] = '.'
	return dst
}

// rescale returns v in precision and scale, rounded half away from zero, and
// false if it does not fit.
func (v Value) rescale(prec, scale uint8) (Value, bool) {
	mag, ok := v.mag(), true
	switch {
	case scale > v.scale:
		mag, ok = mag.scaleUp(int(scale - v.scale))
	case scale < v.scale:
		mag = mag.scaleDown(int(v.scale-scale), true)
	}
	if !ok || mag.cmp(pow10[prec]) >= 0 {
		return Null, false
	}
	return newDecimal(mag, v.neg, prec, scale), true
}

// exactDecimal returns any exact number as a decimal of the same value.
func (v Value) exactDecimal() Value {
	switch v.kind {
	case KindDecimal:
		return v
	case KindMoney:
		return NewDecimal(0, magnitude(v.n), v.n < 0, 19, 4)
	case KindSmallMoney:
		return NewDecimal(0, magnitude(v.n), v.n < 0, 10, 4)
	}
	return NewDecimal(0, magnitude(v.n), v.n < 0, integerDigits(v.kind), 0)
}

// integerDigits is the precision of a decimal that holds all of an integer kind.
func integerDigits(k Kind) uint8 {
	switch k {
	case KindBit:
		return 1
	case KindTinyInt:
		return 3
	case KindSmallInt:
		return 5
	case KindInt:
		return 10
	}
	return 19
}

// truncInt returns the integer part of a decimal, and false if that is no int64.
func (v Value) truncInt() (int64, bool) {
	mag := v.mag().scaleDown(int(v.scale), false)
	if mag.hi != 0 {
		return 0, false
	}
	if v.neg {
		return -int64(mag.lo), mag.lo <= 1<<63
	}
	return int64(mag.lo), mag.lo <= math.MaxInt64
}

// decimalFloat returns the float next to a decimal.
func (v Value) decimalFloat() float64 {
	if v.m == 0 && uint64(v.n) < 1<<53 && v.scale <= 22 {
		f := float64(v.n) / math.Pow10(int(v.scale))
		if v.neg {
			return -f
		}
		return f
	}
	f, err := strconv.ParseFloat(v.DecimalText(), 64)
	if err != nil {
		return 0 // cannot be: the text is a number of 38 digits
	}
	return f
}

// floatToDecimal returns f in precision and scale, rounded half away from zero,
// and false if it does not fit.
func floatToDecimal(f float64, prec, scale uint8) (Value, bool) {
	if math.IsNaN(f) || math.Abs(f) >= 1e38 {
		return Null, false
	}
	frac, exp := math.Frexp(math.Abs(f))
	m := new(big.Int).SetUint64(uint64(frac * (1 << 53)))
	exp -= 53
	m.Mul(m, pow10[scale].big())
	if exp >= 0 {
		m.Lsh(m, uint(exp))
	} else {
		m.Rsh(m, uint(-exp)-1)
		m.Rsh(m.Add(m, big.NewInt(1)), 1)
	}
	mag, ok := u128FromBig(m)
	if !ok || mag.cmp(pow10[prec]) >= 0 {
		return Null, false
	}
	return newDecimal(mag, f < 0, prec, scale), true
}

func trimBlanks(s string) string {
	for s != "" && isBlank(s[0]) {
		s = s[1:]
	}
	for s != "" && isBlank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

func isBlank(c byte) bool { return c == ' ' || (c >= '\t' && c <= '\r') }

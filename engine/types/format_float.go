package types

import (
	"math"
	"strconv"
	"strings"
)

// floatDigits is how many digits SQL Server makes of a float before it rounds
// them to the number that a style asks for, half away from zero.
const floatDigits = 17

// formatFloat writes a float or real in one of CONVERT's styles: 0 up to six
// digits, 1 eight digits, 2 sixteen digits, 3 seventeen digits; 126 sixteen, for
// real eight. All other styles are style 0.
func formatFloat(v Value, style int) string {
	digits, plain := 6, false
	switch {
	case style == 1, style == 126 && v.kind == KindReal:
		digits = 8
	case style == 2, style == 126:
		digits = 16
	case style == 3:
		digits = floatDigits
	default:
		plain = true
	}
	sign, mantissa, exp := roundedDigits(v.Float(), digits)
	if plain {
		mantissa = mantissa[:1] + strings.TrimRight(mantissa[1:], "0")
		if exp >= -4 && exp < digits {
			return sign + placePoint(mantissa, exp)
		}
	}
	s := sign + mantissa[:1]
	if len(mantissa) > 1 {
		s += "." + mantissa[1:]
	}
	esign := "+"
	if exp < 0 {
		esign, exp = "-", -exp
	}
	return s + "e" + esign + string(appendDigits(nil, exp, 3))
}

// roundedDigits returns the first n digits of f and the exponent of the first.
func roundedDigits(f float64, n int) (sign, digits string, exp int) {
	if math.Signbit(f) {
		sign = "-"
	}
	b := strconv.AppendFloat(nil, math.Abs(f), 'e', floatDigits-1, 64)
	exp, _ = strconv.Atoi(string(b[floatDigits+2:])) // d.d…de±XX
	b[1] = b[0]
	b = b[1 : floatDigits+1]
	if n >= len(b) {
		return sign, string(b), exp
	}
	up := b[n] >= '5'
	b = b[:n]
	for i := n - 1; up && i >= 0; i-- {
		if up = b[i] == '9'; up {
			b[i] = '0'
		} else {
			b[i]++
		}
	}
	if up { // 9.99… became 10
		b[0] = '1'
		exp++
	}
	return sign, string(b), exp
}

// placePoint writes digits whose first one stands for 10^exp.
func placePoint(digits string, exp int) string {
	switch {
	case exp < 0:
		return "0." + strings.Repeat("0", -exp-1) + digits
	case len(digits) <= exp+1:
		return digits + strings.Repeat("0", exp+1-len(digits))
	}
	return digits[:exp+1] + "." + digits[exp+1:]
}

// fixedFloat writes f with six places, as error 232 does: no more than seventeen
// digits, then zeros.
func fixedFloat(f float64) string {
	sign, digits, exp := roundedDigits(f, floatDigits)
	if exp < floatDigits {
		return strconv.FormatFloat(f, 'f', 6, 64)
	}
	return sign + placePoint(digits, exp) + ".000000"
}

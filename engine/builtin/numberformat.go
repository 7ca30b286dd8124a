package builtin

import (
	"strconv"
	"strings"

	"loopbroker/engine/types"
)

// formatNumber writes a number by a .NET numeric format string, standard or
// custom; ok is false if the format is not valid.
func (c *culture) formatNumber(v types.Value, format string) (text string, ok bool) {
	if format == "" {
		format = "G"
	}
	if verb, precision, standard := standardFormat(format); standard {
		return c.standardNumber(v, verb, precision)
	}
	return c.customNumber(numberOf(v), format), true
}

// standardFormat splits a letter and up to two digits.
func standardFormat(format string) (verb byte, precision int, ok bool) {
	c := format[0] | 0x20
	if c < 'a' || c > 'z' || len(format) > 3 {
		return 0, 0, false
	}
	if len(format) == 1 {
		return format[0], -1, true
	}
	n, err := strconv.Atoi(format[1:])
	if err != nil || n < 0 {
		return 0, 0, false
	}
	return format[0], n, true
}

func (c *culture) standardNumber(v types.Value, verb byte, precision int) (string, bool) {
	n := numberOf(v)
	places := precision
	if places < 0 {
		places = 2
	}
	switch verb | 0x20 {
	case 'c':
		n = n.round(places)
		body := c.grouped(n)
		pattern := c.currencyPositive
		if n.negative && !n.isZero() {
			pattern = c.currencyNegative
		}
		return strings.NewReplacer("$", c.currency, "n", body).Replace(pattern), true
	case 'n':
		n = n.round(places)
		return n.sign() + c.grouped(n), true
	case 'p':
		n = n.shift(2).round(places)
		return n.sign() + strings.Replace(c.percent, "n", c.grouped(n), 1), true
	case 'f':
		n = n.round(places)
		return n.sign() + c.plain(n), true
	case 'd':
		if !v.Kind().IsInteger() {
			return "", false
		}
		return n.sign() + strings.Repeat("0", max(precision-max(len(n.whole), 1), 0)) + orZero(n.whole), true
	case 'x':
		return hexNumber(v, verb, precision)
	case 'e':
		if precision < 0 {
			precision = 6
		}
		return c.scientific(n, verb, precision, 3), true
	case 'g', 'r':
		if verb|0x20 == 'r' && !v.Kind().IsApproximate() {
			return "", false
		}
		return c.general(v, n, verb, precision), true
	}
	return "", false
}

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
}

// sign is the minus sign; a number that has been rounded to zero has none.
func (n decimalNumber) sign() string {
	if n.negative && !n.isZero() {
		return "-"
	}
	return ""
}

// plain is the number without its sign and without groups.
func (c *culture) plain(n decimalNumber) string {
	s := orZero(n.whole)
	if n.frac != "" {
		s += c.decimal + n.frac
	}
	return s
}

// grouped is plain with groups of three digits.
func (c *culture) grouped(n decimalNumber) string {
	n.whole = groupDigits(orZero(n.whole), c.group)
	return c.plain(n)
}

func groupDigits(s, separator string) string {
	var parts []string
	for len(s) > 3 {
		parts = append([]string{s[len(s)-3:]}, parts...)
		s = s[:len(s)-3]
	}
	return strings.Join(append([]string{s}, parts...), separator)
}

func hexNumber(v types.Value, verb byte, precision int) (string, bool) {
	bits := map[types.Kind]int{types.KindTinyInt: 8, types.KindSmallInt: 16, types.KindInt: 32, types.KindBigInt: 64}[v.Kind()]
	if bits == 0 {
		return "", false
	}
	s := strconv.FormatUint(uint64(v.Int())&(^uint64(0)>>(64-bits)), 16)
	if verb == 'X' {
		s = strings.ToUpper(s)
	}
	return strings.Repeat("0", max(precision-len(s), 0)) + s, true
}

// scientific is d.ddddE+ddd.
func (c *culture) scientific(n decimalNumber, verb byte, precision, exponentDigits int) string {
	exponent := 0
	if !n.isZero() {
		digits := strings.TrimLeft(n.whole+n.frac, "0")
		exponent = len(digits) - 1 - len(n.frac)
		n = n.shift(-exponent)
	}
	n = n.round(precision)
	if len(n.whole) > 1 { // rounded up to ten
		exponent++
		n = n.shift(-1).round(precision)
	}
	sign := "+"
	if exponent < 0 {
		sign, exponent = "-", -exponent
	}
	e := strconv.Itoa(exponent)
	return n.sign() + c.plain(n) + string(verb) + sign + strings.Repeat("0", max(exponentDigits-len(e), 0)) + e
}

// general is the shorter of fixed and scientific notation. Decimals keep their
// zeros.
func (c *culture) general(v types.Value, n decimalNumber, verb byte, precision int) string {
	exact := !v.Kind().IsApproximate()
	if exact && precision <= 0 {
		return n.sign() + c.plain(n)
	}
	if precision <= 0 {
		precision = 15
		if v.Kind() == types.KindReal {
			precision = 7
		}
	}
	digits := strings.TrimLeft(n.whole+n.frac, "0")
	exponent := len(digits) - 1 - len(n.frac)
	if digits == "" {
		return "0"
	}
	if exponent >= precision || exponent < -5 {
		e := byte('E')
		if verb == 'g' {
			e = 'e'
		}
		s := c.scientific(n, e, precision-1, 2)
		mantissa, rest, _ := strings.Cut(s, string(e))
		if strings.Contains(mantissa, c.decimal) {
			mantissa = strings.TrimSuffix(strings.TrimRight(mantissa, "0"), c.decimal)
		}
		return mantissa + string(e) + rest
	}
	n = n.round(max(precision-1-exponent, 0))
	n.frac = strings.TrimRight(n.frac, "0")
	return n.sign() + c.plain(n)
}

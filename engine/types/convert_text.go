package types

import (
	"math"
	"strconv"
	"strings"

	"loopbroker/engine/sqlerr"
)

func (c *conversion) toText(v Value) (Value, error) {
	switch k := v.kind; {
	case k.IsChar():
		return c.fitText(v.s, k)
	case k.IsInteger():
		return c.integerToText(v)
	case k == KindXML:
		return c.fitText(v.s, k)
	case k.IsBinary():
		return c.binaryToText(v)
	case k.IsDateTime():
		return c.timeToText(v)
	case k == KindUniqueIdentifier:
		return c.limitedText(formatGUID(v.s), func() error { return sqlerr.New(8170) })
	case k.IsMoney():
		return c.limitedText(formatMoney(v.n, c.style), func() error { return sqlerr.New(234, c.to.Kind.String()) })
	case k == KindDecimal:
		return c.limitedText(v.DecimalText(), func() error { return sqlerr.WithState(8115, 5, "numeric", c.to.Kind.String()) })
	}
	return c.limitedText(formatFloat(v, c.style), func() error {
		return sqlerr.New(232, c.to.Kind.String(), fixedFloat(v.Float()))
	})
}

// room is the length of the target in code units.
func (c *conversion) room() int {
	if c.to.Length == Max || c.to.Kind.IsLOB() {
		return math.MaxInt
	}
	return c.to.Length
}

// fitText brings s to code page and length of the target. Cutting blanks off is
// no truncation.
func (c *conversion) fitText(s string, from Kind) (Value, error) {
	if !c.to.Kind.IsUnicode() && from != KindVarChar && from != KindChar && from != KindText && !isASCII(s) {
		s = toVarChar(s)
	}
	n := c.room()
	if len(s) > n || c.to.Kind.isPadded() {
		if length := UTF16Len(s); length > n {
			cut := Value{kind: c.to.Kind, s: UTF16Substring(s, 0, n)}
			if c.purpose == forStore && strings.TrimRight(UTF16Substring(s, n, length-n), " ") != "" {
				return Null, &ErrTruncated{Value: cut, To: c.to}
			}
			return cut, nil
		} else if c.to.Kind.isPadded() && length < n {
			s += strings.Repeat(" ", n-length)
		}
	}
	return Value{kind: c.to.Kind, s: s}, nil
}

// limitedText is fitText for kinds that are not cut: tooLong makes the error.
func (c *conversion) limitedText(s string, tooLong func() error) (Value, error) {
	if len(s) > c.room() {
		return Null, tooLong()
	}
	return c.fitText(s, KindVarChar)
}

func (c *conversion) integerToText(v Value) (Value, error) {
	s := strconv.FormatInt(v.n, 10)
	if len(s) <= c.room() {
		return c.fitText(s, KindVarChar)
	}
	if v.kind != KindBigInt && !c.to.Kind.IsUnicode() {
		return c.fitText("*", KindVarChar)
	}
	return Null, overflow(expression, c.to.Kind)
}

func (c *conversion) binaryToText(v Value) (Value, error) {
	switch {
	case c.style == 1 || c.style == 2:
		return c.hexadecimal(v)
	case c.style != 0:
		return Null, sqlerr.New(9809, c.style, v.kind.String(), c.to.Kind.String())
	case c.to.Kind.IsUnicode():
		return c.fitText(DecodeUTF16([]byte(v.s)), KindNVarChar)
	}
	return c.fitText(DecodeVarChar([]byte(v.s)), KindVarChar)
}

// hexadecimal writes the bytes in style 1 or 2: as many whole bytes as fit.
func (c *conversion) hexadecimal(v Value) (Value, error) {
	s := strings.ToUpper(hexText(v.s))
	if c.style == 1 {
		s = "0x" + s
	}
	if n := c.room(); len(s) > n {
		s = s[:n&^1]
	}
	return c.fitText(s, KindVarChar)
}

func (c *conversion) timeToText(v Value) (Value, error) {
	style := c.style
	if style == 0 {
		style = defaultStyle(v.kind)
	}
	l, ok := layouts[style]
	if !ok {
		return Null, badStyle(style, v.kind, c.to.Kind)
	}
	var buf [40]byte
	b, ok := formatMoment(buf[:0], v, l)
	switch {
	case ok:
	case style == 14 || style == 114:
		return Null, badStyle(style, v.kind, c.to.Kind)
	default:
		return Null, sqlerr.New(8114, v.kind.String(), c.to.Kind.String())
	}
	return c.fitText(string(b), KindVarChar)
}

// formatMoney writes an amount in one of CONVERT's styles: 1 with commas, 2 and
// 126 four places; all others are style 0, two places.
func formatMoney(units int64, style int) string {
	mag, places := u128{0, magnitude(units)}, 4
	if style != 2 && style != 126 {
		mag, places = mag.scaleDown(2, true), 2
	}
	s := string(appendDecimal(nil, mag, units < 0 && !mag.isZero(), places))
	if style != 1 {
		return s
	}
	first := 0
	if s[0] == '-' {
		first = 1
	}
	for i := len(s) - places - 1 - 3; i > first; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// String returns v as text, for messages and tests: numbers and texts as
// CONVERT(nvarchar, …) shows them, dates in style 121, binary data in
// hexadecimal, NULL as "NULL".
func (v Value) String() string {
	switch k := v.kind; {
	case k == KindNull:
		return "NULL"
	case k.IsInteger():
		return strconv.FormatInt(v.n, 10)
	case k == KindDecimal:
		return v.DecimalText()
	case k.IsMoney():
		return formatMoney(v.n, 0)
	case k.IsApproximate():
		return formatFloat(v, 0)
	case k.IsDateTime():
		b, _ := formatMoment(nil, v, layouts[121])
		return string(b)
	case k == KindUniqueIdentifier:
		return formatGUID(v.s)
	case k.IsBinary():
		return "0x" + hexText(v.s)
	}
	return v.s
}

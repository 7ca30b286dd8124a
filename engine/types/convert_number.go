package types

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"loopbroker/engine/sqlerr"
)

func (c *conversion) toInteger(v Value) (Value, error) {
	switch k := v.kind; {
	case k.IsInteger():
		return c.integer(v.n, k)
	case k.IsChar():
		return c.textToInteger(v)
	case c.to.Kind == KindBit && k.IsNumeric():
		return NewBit(!v.isZero()), nil
	case k == KindDecimal:
		n, ok := v.truncInt()
		if !ok {
			return Null, overflow(expression, c.to.Kind)
		}
		return c.integer(n, k)
	case k.IsMoney():
		return c.integer(roundMoney(v.n), k)
	case k.IsApproximate():
		return c.floatToInteger(v)
	case k == KindDateTime, k == KindSmallDateTime:
		return c.integer(int64(math.Floor(v.dayNumber()+0.5)), k)
	}
	n := binaryInt(v.s)
	switch c.to.Kind {
	case KindBit:
		return NewBit(strings.Trim(v.s, "\x00") != ""), nil
	case KindTinyInt:
		n &= 0xFF
	case KindSmallInt:
		n = int64(int16(n))
	case KindInt:
		n = int64(int32(n))
	}
	return Value{kind: c.to.Kind, n: n}, nil
}

// isZero reports whether a number is zero.
func (v Value) isZero() bool {
	if v.kind.IsApproximate() {
		return v.Float() == 0
	}
	return v.n == 0 && v.m == 0
}

// integer makes an integer of the target kind of n, which came from kind from.
func (c *conversion) integer(n int64, from Kind) (Value, error) {
	k := c.to.Kind
	if k == KindBit {
		return NewBit(n != 0), nil
	}
	if r := integerRanges[k]; n >= r.low && n <= r.high {
		return Value{kind: k, n: n}, nil
	}
	switch {
	case from.IsMoney():
		return Null, moneyOverflow(n, k)
	case k >= KindInt || from == KindBigInt || from == KindDecimal:
		return Null, overflow(expression, k)
	}
	state := uint8(1)
	if k == KindTinyInt {
		state = 2
	}
	return Null, sqlerr.WithState(220, state, k.String(), strconv.FormatInt(n, 10))
}

// moneyOverflow is the error for an amount, rounded to n, that no integer kind k
// holds.
func moneyOverflow(n int64, k Kind) error {
	switch k {
	case KindTinyInt:
		return sqlerr.WithState(232, 11, k.String(), fixedFloat(float64(n)))
	case KindSmallInt:
		return sqlerr.WithState(237, 2, k.String())
	}
	return sqlerr.New(237, k.String())
}

// roundMoney rounds units of 1/10000 to a whole number, half away from zero.
func roundMoney(units int64) int64 {
	q, r := units/10000, units%10000
	switch {
	case r >= 5000:
		q++
	case r <= -5000:
		q--
	}
	return q
}

func (c *conversion) floatToInteger(v Value) (Value, error) {
	f := math.Trunc(v.Float())
	r := integerRanges[c.to.Kind]
	if f >= float64(r.low) && f < float64(r.high)+1 && f < 1<<63 {
		return Value{kind: c.to.Kind, n: int64(f)}, nil
	}
	if c.to.Kind == KindBigInt {
		return Null, overflow(expression, KindBigInt)
	}
	state := uint8(c.to.Kind - KindTinyInt + 1)
	return Null, sqlerr.WithState(232, state, c.to.Kind.String(), fixedFloat(v.Float()))
}

func (c *conversion) textToInteger(v Value) (Value, error) {
	if len(v.s) > MaxNVarChar && UTF16Len(v.s) > MaxNVarChar {
		return Null, sqlerr.WithState(8152, 10)
	}
	s := strings.Trim(v.s, " ")
	if c.to.Kind == KindBit {
		switch {
		case strings.EqualFold(s, "true"):
			return NewBit(true), nil
		case strings.EqualFold(s, "false"):
			return NewBit(false), nil
		}
	}
	n, status := scanInteger(s)
	switch {
	case status == scanSyntax:
		return Null, badText(v, c.to.Kind)
	case c.to.Kind == KindBit:
		return NewBit(n != 0 || status == scanOverflow), nil
	}
	if r := integerRanges[c.to.Kind]; status == scanOK && n >= r.low && n <= r.high {
		return Value{kind: c.to.Kind, n: n}, nil
	}
	switch c.to.Kind {
	case KindTinyInt:
		return Null, sqlerr.New(244, v.kind.String(), v.s, "INT1")
	case KindSmallInt:
		return Null, sqlerr.New(244, v.kind.String(), v.s, "INT2")
	case KindInt:
		return Null, sqlerr.New(248, v.kind.String(), v.s)
	}
	return Null, overflow(expression, KindBigInt)
}

// scanInteger reads [sign][blanks]digits. Nothing at all, and a sign alone, are
// zero, as in SQL Server.
func scanInteger(s string) (int64, scanStatus) {
	negative := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = strings.TrimLeft(s[1:], " ")
	}
	var n uint64
	status := scanOK
	for i := 0; i < len(s); i++ {
		d := s[i] - '0'
		if d > 9 {
			return 0, scanSyntax
		}
		if n > (math.MaxUint64-9)/10 {
			status = scanOverflow
			continue
		}
		n = n*10 + uint64(d)
	}
	switch {
	case status != scanOK:
	case negative && n <= 1<<63:
		return -int64(n), scanOK
	case !negative && n < 1<<63:
		return int64(n), scanOK
	}
	return 0, scanOverflow
}

func (c *conversion) toDecimal(v Value) (Value, error) {
	p, s := c.to.Precision, c.to.Scale
	switch k := v.kind; {
	case k == KindDecimal && v.prec == p && v.scale == s:
		return v, nil
	case k.IsExact():
		if d, ok := v.exactDecimal().rescale(p, s); ok {
			return d, nil
		}
	case k.IsChar():
		return c.textToDecimal(v)
	case k.IsApproximate():
		if d, ok := floatToDecimal(v.Float(), p, s); ok {
			return d, nil
		}
		return Null, sqlerr.WithState(8115, 6, k.valueName(), "numeric")
	case k == KindDateTime, k == KindSmallDateTime:
		if d, ok := floatToDecimal(v.dayNumber(), p, s); ok {
			return d, nil
		}
	default:
		return c.binaryToDecimal(v)
	}
	return Null, numericOverflow(v.kind)
}

func (c *conversion) textToDecimal(v Value) (Value, error) {
	mag, neg, scale, status := scanDecimal(v.s, int(c.to.Scale))
	if status == scanSyntax {
		return Null, badText(v, KindDecimal)
	}
	mag, ok := mag.scaleUp(int(c.to.Scale) - scale)
	if status != scanOK || !ok || mag.cmp(pow10[c.to.Precision]) >= 0 {
		return Null, numericOverflow(v.kind)
	}
	return newDecimal(mag, neg, c.to.Precision, c.to.Scale), nil
}

// binaryToDecimal reads the form that decimal has as varbinary: precision,
// scale, a zero, the sign, then the magnitude with the lowest byte first.
func (c *conversion) binaryToDecimal(v Value) (Value, error) {
	b := v.s
	if len(b) < 8 || len(b) > 20 || b[0] < 1 || b[0] > MaxPrecision || b[1] > b[0] || b[3] > 1 {
		return Null, sqlerr.New(8114, v.kind.String(), "numeric")
	}
	var w [16]byte
	copy(w[:], b[4:])
	mag := u128{hi: binary.LittleEndian.Uint64(w[8:]), lo: binary.LittleEndian.Uint64(w[:8])}
	if mag.cmp(pow10[b[0]]) >= 0 {
		return Null, sqlerr.New(8114, v.kind.String(), "numeric")
	}
	d, ok := newDecimal(mag, b[3] == 0, b[0], b[1]).rescale(c.to.Precision, c.to.Scale)
	if !ok {
		return Null, numericOverflow(KindDecimal)
	}
	return d, nil
}

func (c *conversion) toMoney(v Value) (Value, error) {
	switch k := v.kind; {
	case k.IsMoney():
		return c.money(v.n, k.String())
	case k.IsInteger():
		if v.n > math.MaxInt64/10000 || v.n < math.MinInt64/10000 {
			return Null, overflow(expression, c.to.Kind)
		}
		return c.money(v.n*10000, expression)
	case k == KindDecimal:
		return c.decimalToMoney(v, k)
	case k.IsApproximate(), k == KindDateTime, k == KindSmallDateTime:
		f := v.dayNumber()
		if k.IsApproximate() {
			f = v.Float()
		}
		d, ok := floatToDecimal(f, MaxPrecision, 4)
		if !ok {
			return Null, overflow(k.valueName(), c.to.Kind)
		}
		return c.decimalToMoney(d, k)
	case k.IsChar():
		return c.textToMoney(v)
	}
	n := binaryInt(v.s)
	if c.to.Kind == KindSmallMoney {
		n = int64(int32(n))
	}
	return Value{kind: c.to.Kind, n: n}, nil
}

func (c *conversion) decimalToMoney(v Value, from Kind) (Value, error) {
	d, ok := v.rescale(MaxPrecision, 4)
	if ok {
		var n int64
		d.scale = 0
		if n, ok = d.truncInt(); ok {
			return c.money(n, from.valueName())
		}
	}
	return Null, overflow(from.valueName(), c.to.Kind)
}

func (c *conversion) money(units int64, from string) (Value, error) {
	if r := integerRanges[c.to.Kind]; units < r.low || units > r.high {
		return Null, overflow(from, c.to.Kind)
	}
	return Value{kind: c.to.Kind, n: units}, nil
}

// currencySigns may stand before an amount of money.
const currencySigns = "$¢£¤¥৲৳฿៛€₡₢₣₤₥₦₧₨₩₪₫₱﷼﹩＄￠￡￥￦"

func (c *conversion) textToMoney(v Value) (Value, error) {
	units, status := scanMoney(v.s)
	r := integerRanges[c.to.Kind]
	switch {
	case status == scanSyntax:
		return Null, badText(v, c.to.Kind)
	case status == scanOverflow || units < r.low || units > r.high:
		if c.to.Kind == KindMoney {
			return Null, sqlerr.New(236)
		}
		return Null, sqlerr.New(294)
	}
	return Value{kind: c.to.Kind, n: units}, nil
}

// scanMoney reads an amount with optional sign, currency sign and commas.
func scanMoney(s string) (int64, scanStatus) {
	s = trimBlanks(s)
	sign := ""
	for s != "" {
		r, size := decodeRune(s)
		if (r == '-' || r == '+') && sign == "" {
			sign = s[:1]
		} else if !strings.ContainsRune(currencySigns, r) && r != ' ' {
			break
		}
		s = s[size:]
	}
	if s == "" {
		return 0, scanOK
	}
	if s[0] < '.' || s[0] == '/' {
		return 0, scanSyntax
	}
	mag, _, scale, status := scanDecimal(sign+strings.ReplaceAll(s, ",", ""), 4)
	if status != scanOK {
		return 0, status
	}
	mag, ok := mag.scaleUp(4 - scale)
	n, fits := newDecimal(mag, sign == "-", MaxPrecision, 0).truncInt()
	if !ok || !fits {
		return 0, scanOverflow
	}
	return n, scanOK
}

func (c *conversion) toFloat(v Value) (Value, error) {
	switch k := v.kind; {
	case k.IsApproximate():
		return c.float(v.Float(), k)
	case k.IsInteger():
		return c.float(float64(v.n), k)
	case k == KindDecimal:
		return c.float(v.decimalFloat(), k)
	case k.IsMoney():
		return c.float(float64(v.n)/10000, k)
	case k.IsChar():
		f, status := scanFloat(v.s)
		switch status {
		case scanSyntax:
			return Null, badText(v, c.to.Kind)
		case scanOverflow:
			return Null, overflow(k.String(), c.to.Kind)
		}
		return c.float(f, k)
	}
	return c.float(v.dayNumber(), v.kind)
}

func (c *conversion) float(f float64, from Kind) (Value, error) {
	if c.to.Kind == KindFloat {
		return NewFloat(f), nil
	}
	if math.IsInf(float64(float32(f)), 0) {
		if from == KindFloat {
			return Null, sqlerr.New(232, "real", fixedFloat(f))
		}
		return Null, overflow(expression, KindReal)
	}
	return NewReal(f), nil
}

// scanFloat reads [sign]digits[.digits][e[sign]digits] with blanks around it; the
// exponent may be written with a d. Nothing at all is zero.
func scanFloat(s string) (float64, scanStatus) {
	s = trimBlanks(s)
	if s == "" {
		return 0, scanOK
	}
	digits, exponent, point := 0, 0, false
	for i := 0; i < len(s); i++ {
		switch ch := s[i] | 0x20; {
		case ch >= '0' && ch <= '9' && s[i] >= '0':
			digits++
		case s[i] == '.' && !point && exponent == 0:
			point = true
		case (s[i] == '-' || s[i] == '+') && (i == 0 || i == exponent):
		case (ch == 'e' || ch == 'd') && exponent == 0 && digits > 0:
			exponent, digits = i+1, 0
		default:
			return 0, scanSyntax
		}
	}
	if digits == 0 {
		return 0, scanSyntax
	}
	if exponent > 0 && s[exponent-1]|0x20 == 'd' {
		s = s[:exponent-1] + "e" + s[exponent:]
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, scanOverflow
	}
	return f, scanOK
}

// binaryInt reads the last eight bytes of b as a number, highest byte first.
func binaryInt(b string) int64 {
	if len(b) > 8 {
		b = b[len(b)-8:]
	}
	var n uint64
	for i := 0; i < len(b); i++ {
		n = n<<8 | uint64(b[i])
	}
	return int64(n)
}

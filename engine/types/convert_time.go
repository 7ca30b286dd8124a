package types

import (
	"encoding/binary"
	"math"

	"loopbroker/engine/sqlerr"
)

// dayNumber is a datetime or smalldatetime as a number of days since 1900-01-01.
func (v Value) dayNumber() float64 {
	if v.kind == KindSmallDateTime {
		return float64(v.n) + float64(v.m)/minutesPerDay
	}
	return float64(v.n) + float64(v.m)/unitsPerDay
}

func (c *conversion) toDateTime(v Value) (Value, error) {
	switch k := v.kind; {
	case k == c.to.Kind && (!k.hasScale() || v.scale == c.to.Scale):
		return v, nil
	case k.IsDateTime():
		return c.moment(v.moment(), k)
	case k.IsChar():
		return c.textToDateTime(v)
	case k.IsApproximate():
		return c.dayNumber(v.Float())
	case k.IsNumeric():
		return c.dayNumber(exactFloat(v))
	}
	return c.binaryToDateTime(v)
}

func exactFloat(v Value) float64 { return v.exactDecimal().decimalFloat() }

// moment makes a value of the target kind of m.
func (c *conversion) moment(m moment, from Kind) (Value, error) {
	v, ok := m.value(c.to.Kind, c.to.Scale)
	if !ok {
		return Null, outOfRange(from, c.to.Kind)
	}
	return v, nil
}

func outOfRange(from, to Kind) error { return sqlerr.New(242, from.String(), to.String()) }

// dayNumber makes a datetime or smalldatetime of a number of days.
func (c *conversion) dayNumber(f float64) (Value, error) {
	if f < days1753-1 || f > maxDateTime+1 {
		return Null, overflow(expression, c.to.Kind)
	}
	days := math.Floor(f)
	units := math.Floor((f-days)*unitsPerDay + 0.5)
	m := moment{days: int(days) + days1900, ticks: (int64(units)*100_000 + 1) / 3}
	if m.ticks >= ticksPerDay {
		m = moment{days: m.days + 1}
	}
	v, ok := m.value(c.to.Kind, 0)
	if !ok {
		return Null, overflow(expression, c.to.Kind)
	}
	return v, nil
}

func (c *conversion) textToDateTime(v Value) (Value, error) {
	legacy := c.to.Kind == KindDateTime || c.to.Kind == KindSmallDateTime
	rules, ok := readRules(c.style, c.opts.DateFormat, legacy)
	if !ok || c.style == 130 || c.style == 131 {
		return Null, badStyle(c.style, v.kind, c.to.Kind)
	}
	m, status := parseMoment(v.s, rules)
	if status == dateOK {
		if c.to.Kind != KindDateTimeOffset {
			m.off = 0
		}
		if t, ok := m.carry().value(c.to.Kind, c.to.Scale); ok {
			return t, nil
		}
		status = dateRange
		if c.to.Kind == KindDateTimeOffset {
			return Null, sqlerr.WithState(8114, 31, v.kind.String(), c.to.Kind.String())
		}
	}
	switch {
	case legacy && status == dateRange:
		return Null, outOfRange(v.kind, c.to.Kind)
	case status == dateStyle && !legacy:
		return Null, sqlerr.WithState(9807, 0, c.style)
	case c.to.Kind == KindSmallDateTime:
		return Null, sqlerr.New(295)
	}
	return Null, sqlerr.New(241)
}

// badStyle is the answer to a style that there is not, or that is left out.
func badStyle(style int, from, to Kind) error {
	switch style {
	case 130, 131:
		return sqlerr.Unsupported("CONVERT style 130 and 131 (Hijri calendar)")
	}
	if to.IsChar() {
		return sqlerr.New(281, style, from.String())
	}
	return sqlerr.New(9809, style, from.String(), to.String())
}

// binaryToDateTime reads the form that the kinds have as varbinary: datetime and
// smalldatetime with the highest byte first, the later kinds with the lowest.
func (c *conversion) binaryToDateTime(v Value) (Value, error) {
	b := []byte(v.s)
	var m moment
	var ok bool
	switch c.to.Kind {
	case KindDateTime:
		n := uint64(binaryInt(v.s))
		t := NewDateTime(int(int32(n>>32)), int64(uint32(n)))
		ok = t.m < unitsPerDay && t.n >= days1753 && t.n <= maxDateTime
		m = t.moment()
	case KindSmallDateTime:
		n := uint32(binaryInt(v.s))
		t := NewSmallDateTime(int(n>>16), int64(n&0xFFFF))
		ok = t.m < minutesPerDay
		m = t.moment()
	case KindDate:
		if ok = len(b) == 3; ok {
			m.days = int(b[0]) | int(b[1])<<8 | int(b[2])<<16
		}
	default:
		m, ok = momentFromWire(b, c.to.Kind)
	}
	if ok {
		if t, fits := m.value(c.to.Kind, c.to.Scale); fits {
			return t, nil
		}
	}
	return Null, sqlerr.New(8114, v.kind.String(), c.to.Kind.String())
}

// momentFromWire reads scale, time of day, day and offset, as the kind has them.
func momentFromWire(b []byte, kind Kind) (moment, bool) {
	rest := 0
	switch kind {
	case KindDateTime2:
		rest = 3
	case KindDateTimeOffset:
		rest = 5
	}
	if len(b) < 1 || b[0] > MaxTimeScale || len(b) != 1+timeBytes(b[0])+rest {
		return moment{}, false
	}
	size := timeBytes(b[0])
	var w [8]byte
	copy(w[:], b[1:1+size])
	ticks := binary.LittleEndian.Uint64(w[:]) * pow10[MaxTimeScale-b[0]].lo
	m := moment{days: days1900, ticks: int64(ticks)}
	if ticks >= ticksPerDay {
		return m, false
	}
	b = b[1+size:]
	if rest >= 3 {
		m.days = int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	}
	if rest == 5 {
		off := int(int16(binary.LittleEndian.Uint16(b[3:])))
		if off < -maxOffset || off > maxOffset {
			return m, false
		}
		m = m.shift(off)
	}
	return m, true
}

// appendTimeBinary appends the form that a date or time has as varbinary.
func appendTimeBinary(dst []byte, v Value) []byte {
	switch v.kind {
	case KindDateTime:
		dst = binary.BigEndian.AppendUint32(dst, uint32(int32(v.n)))
		return binary.BigEndian.AppendUint32(dst, uint32(v.m))
	case KindSmallDateTime:
		dst = binary.BigEndian.AppendUint16(dst, uint16(v.n))
		return binary.BigEndian.AppendUint16(dst, uint16(v.m))
	case KindDate:
		return append(dst, byte(v.n), byte(v.n>>8), byte(v.n>>16))
	}
	dst = append(dst, v.scale)
	n := uint64(v.m) / pow10[MaxTimeScale-v.scale].lo
	for i := range timeBytes(v.scale) {
		dst = append(dst, byte(n>>(8*i)))
	}
	if v.kind == KindTime {
		return dst
	}
	dst = append(dst, byte(v.n), byte(v.n>>8), byte(v.n>>16))
	if v.kind == KindDateTimeOffset {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(v.off))
	}
	return dst
}

package tds

import (
	"encoding/binary"
	"math/bits"

	"loopbroker/engine/types"
)

// Limits of the date types.
const (
	maxDays        = 3652058         // of 9999-12-31 since 0001-01-01
	ticksPerDay    = 864_000_000_000 // of 100 ns
	minDateTime    = -53690          // 1753-01-01, in days since 1900-01-01
	maxDateTime    = 2958463         // 9999-12-31
	threeHundreds  = 300 * 86400     // of a day
	minutesPerDay  = 1440
	maxZoneMinutes = 14 * 60
)

var tickUnits = [maxTimeScale + 1]int64{10_000_000, 1_000_000, 100_000, 10_000, 1000, 100, 10, 1}

// scaled returns a decimal, a date or time type, or a uniqueidentifier from
// its bytes ([MS-TDS] 2.2.5.5.1).
func (c *cursor) scaled(ti *typeInfo, b []byte) types.Value {
	if c.err != nil {
		return types.Null
	}
	switch ti.id {
	case idGUID:
		if len(b) != guidSize {
			return c.invalid(ti)
		}
		return types.NewBinary(types.KindUniqueIdentifier, string(b))
	case idDecimalN, idNumericN, idDecimal, idNumeric:
		return c.decimal(ti, b)
	}
	return c.timeValue(ti, b)
}

// decimal reads sign (0 is negative) and magnitude.
func (c *cursor) decimal(ti *typeInfo, b []byte) types.Value {
	if len(b) < 2 || b[0] > 1 {
		return c.invalid(ti)
	}
	var buf [16]byte
	copy(buf[:], b[1:])
	lo, hi := binary.LittleEndian.Uint64(buf[:]), binary.LittleEndian.Uint64(buf[8:])
	if !fitsPrecision(hi, lo, ti.prec) {
		return c.invalid(ti)
	}
	return types.NewDecimal(hi, lo, b[0] == 0, ti.prec, ti.scale)
}

// fitsPrecision reports whether the magnitude has at most prec digits.
func fitsPrecision(hi, lo uint64, prec uint8) bool {
	limit := powersOf10[prec]
	_, borrow := bits.Sub64(lo, limit[1], 0)
	_, borrow = bits.Sub64(hi, limit[0], borrow)
	return borrow == 1
}

// powersOf10 are 10^0 to 10^38 as high and low halves.
var powersOf10 = func() (p [maxPrecision + 1][2]uint64) {
	p[0] = [2]uint64{0, 1}
	for i := 1; i < len(p); i++ {
		carry, lo := bits.Mul64(p[i-1][1], 10)
		p[i] = [2]uint64{p[i-1][0]*10 + carry, lo}
	}
	return p
}()

// timeValue reads date, time, datetime2 and datetimeoffset: the time of day in
// units of its scale, the date in days, the zone in minutes.
func (c *cursor) timeValue(ti *typeInfo, b []byte) types.Value {
	if len(b) != ti.size {
		return c.invalid(ti)
	}
	var ticks int64
	if ti.id != idDateN {
		n := timeSize(ti.scale)
		units := uintOf(b[:n])
		if units >= uint64(ticksPerDay/tickUnits[ti.scale]) {
			return c.invalid(ti)
		}
		ticks = int64(units) * tickUnits[ti.scale]
		b = b[n:]
		if ti.id == idTimeN {
			return types.NewTime(ticks, ti.scale)
		}
	}
	days := int(uintOf(b[:dateSize]))
	if days > maxDays {
		return c.invalid(ti)
	}
	switch ti.id {
	case idDateN:
		return types.NewDate(days)
	case idDateTime2N:
		return types.NewDateTime2(days, ticks, ti.scale)
	}
	zone := int(int16(binary.LittleEndian.Uint16(b[dateSize:])))
	if zone < -maxZoneMinutes || zone > maxZoneMinutes {
		return c.invalid(ti)
	}
	// The local time must be within the calendar as well.
	local := int64(days)*minutesPerDay + ticks/(ticksPerDay/minutesPerDay) + int64(zone)
	if local < 0 || local >= (maxDays+1)*minutesPerDay {
		return c.invalid(ti)
	}
	return types.NewDateTimeOffset(days, ticks, zone, ti.scale)
}

// dateTime reads a datetime: days since 1900, and 1/300 s.
func (c *cursor) dateTime(ti *typeInfo, days int32, parts uint32) types.Value {
	if days < minDateTime || days > maxDateTime || parts >= threeHundreds {
		return c.invalid(ti)
	}
	return types.NewDateTime(int(days), int64(parts))
}

// smallDateTime reads a smalldatetime: days since 1900, and minutes.
func (c *cursor) smallDateTime(ti *typeInfo, days, minutes uint16) types.Value {
	if minutes >= minutesPerDay {
		return c.invalid(ti)
	}
	return types.NewSmallDateTime(int(days), int64(minutes))
}

// appendScaled appends a decimal or a date or time type without a length.
func (w *wireType) appendScaled(dst []byte, v types.Value) ([]byte, error) {
	switch w.typ.Kind {
	case types.KindDecimal:
		return w.appendDecimal(dst, v)
	case types.KindDateTime:
		return appendU32(appendU32(dst, uint32(v.Days())), uint32(v.Ticks())), nil
	case types.KindSmallDateTime:
		return appendU16(appendU16(dst, uint16(v.Days())), uint16(v.Ticks())), nil
	case types.KindDate:
		return appendDays(dst, v.Days()), nil
	case types.KindTime, types.KindDateTime2, types.KindDateTimeOffset:
	default:
		return dst, w.valueError(v)
	}
	units := v.Ticks() / tickUnits[w.typ.Scale]
	for range timeSize(w.typ.Scale) {
		dst = append(dst, byte(units))
		units >>= 8
	}
	if w.typ.Kind == types.KindTime {
		return dst, nil
	}
	dst = appendDays(dst, v.Days())
	if w.typ.Kind == types.KindDateTimeOffset {
		dst = appendU16(dst, uint16(v.Offset()))
	}
	return dst, nil
}

func appendDays(dst []byte, days int) []byte {
	return append(dst, byte(days), byte(days>>8), byte(days>>16))
}

// appendDecimal appends sign and magnitude in the size of the precision. The
// value must have the scale of the column.
func (w *wireType) appendDecimal(dst []byte, v types.Value) ([]byte, error) {
	hi, lo, neg := v.DecimalParts()
	if v.Scale() != w.typ.Scale || !fitsPrecision(hi, lo, w.typ.Precision) {
		return dst, w.valueError(v)
	}
	sign := byte(1)
	if neg {
		sign = 0
	}
	var buf [16]byte
	binary.LittleEndian.PutUint64(buf[:], lo)
	binary.LittleEndian.PutUint64(buf[8:], hi)
	return append(append(dst, sign), buf[:decimalSize(w.typ.Precision)-1]...), nil
}

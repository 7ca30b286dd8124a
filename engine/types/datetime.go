package types

import "time"

const (
	ticksPerSecond = 10_000_000 // of 100 ns
	ticksPerMinute = 60 * ticksPerSecond
	ticksPerDay    = 86400 * ticksPerSecond
	unitsPerSecond = 300 // of datetime
	unitsPerDay    = 86400 * unitsPerSecond
	minutesPerDay  = 1440

	maxDays       = 3652058 // 9999-12-31
	days1900      = 693595  // 1900-01-01, counted from 0001-01-01
	days1753      = -53690  // 1753-01-01, counted from 1900-01-01
	maxDateTime   = maxDays - days1900
	maxSmallDays  = 65535 // 2079-06-06
	unixDays      = 719162
	maxOffset     = 14 * 60
	minYear       = 1
	maxYear       = 9999
	defaultCutoff = 2049 // "two digit year cutoff"
)

// NewDate returns the date that is days after 0001-01-01.
func NewDate(days int) Value { return Value{kind: KindDate, n: int64(days)} }

// DateFromYMD returns the date of a year, month and day, and false if there is
// no such day in the years 1 to 9999.
func DateFromYMD(year, month, day int) (Value, bool) {
	days, ok := daysFromYMD(year, month, day)
	if !ok {
		return Null, false
	}
	return NewDate(days), true
}

// NewTime returns a time of day in ticks of 100 ns since midnight. The caller
// has rounded it to the scale.
func NewTime(ticks int64, scale uint8) Value {
	return Value{kind: KindTime, m: ticks, scale: scale}
}

// NewDateTime returns a datetime: days since 1900-01-01 and 1/300 seconds since
// midnight.
func NewDateTime(days int, ticks300 int64) Value {
	return Value{kind: KindDateTime, n: int64(days), m: ticks300}
}

// NewSmallDateTime returns a smalldatetime: days since 1900-01-01 and minutes
// since midnight.
func NewSmallDateTime(days int, minutes int64) Value {
	return Value{kind: KindSmallDateTime, n: int64(days), m: minutes}
}

// NewDateTime2 returns a datetime2: days since 0001-01-01 and ticks of 100 ns
// since midnight, rounded to the scale by the caller.
func NewDateTime2(days int, ticks int64, scale uint8) Value {
	return Value{kind: KindDateTime2, n: int64(days), m: ticks, scale: scale}
}

// NewDateTimeOffset returns a datetimeoffset: days since 0001-01-01 and ticks of
// 100 ns since midnight, both in UTC, and the offset in minutes east of UTC.
func NewDateTimeOffset(utcDays int, ticks int64, offMinutes int, scale uint8) Value {
	return Value{kind: KindDateTimeOffset, n: int64(utcDays), m: ticks, off: int16(offMinutes), scale: scale}
}

// Days returns the day that v holds: since 0001-01-01 for date, datetime2 and
// datetimeoffset (UTC), since 1900-01-01 for datetime and smalldatetime.
func (v Value) Days() int { return int(v.n) }

// Ticks returns the time of day that v holds: 100 ns for time, datetime2 and
// datetimeoffset (UTC), 1/300 s for datetime, minutes for smalldatetime.
func (v Value) Ticks() int64 { return v.m }

// Offset returns the minutes east of UTC of a datetimeoffset, zero for others.
func (v Value) Offset() int { return int(v.off) }

// moment is a point in time as it is shown: a day since 0001-01-01 and ticks of
// 100 ns, local to the offset.
type moment struct {
	days  int
	ticks int64
	off   int
}

// moment returns what v shows. A time is on 1900-01-01, a date at midnight.
func (v Value) moment() moment {
	switch v.kind {
	case KindDate:
		return moment{days: int(v.n)}
	case KindTime:
		return moment{days: days1900, ticks: v.m}
	case KindSmallDateTime:
		return moment{days: int(v.n) + days1900, ticks: v.m * ticksPerMinute}
	case KindDateTime:
		seconds, units := v.m/unitsPerSecond, v.m%unitsPerSecond
		return moment{days: int(v.n) + days1900, ticks: seconds*ticksPerSecond + (units*100_000+1)/3}
	case KindDateTimeOffset:
		return moment{days: int(v.n), ticks: v.m}.shift(int(v.off))
	}
	return moment{days: int(v.n), ticks: v.m}
}

// shift moves m by minutes and remembers the offset.
func (m moment) shift(minutes int) moment {
	m.ticks += int64(minutes) * ticksPerMinute
	m.off = minutes
	for m.ticks < 0 {
		m.ticks += ticksPerDay
		m.days--
	}
	for m.ticks >= ticksPerDay {
		m.ticks -= ticksPerDay
		m.days++
	}
	return m
}

// utc returns m in UTC.
func (m moment) utc() moment {
	off := m.off
	m = m.shift(-off)
	m.off = off
	return m
}

// Local returns day (since 0001-01-01) and ticks of 100 ns as v shows them, for
// any date or time kind: local time for a datetimeoffset, 1900-01-01 for a time.
func (v Value) Local() (days int, ticks int64) {
	m := v.moment()
	return m.days, m.ticks
}

// YMD returns year, month and day as v shows them.
func (v Value) YMD() (year, month, day int) { return ymdFromDays(v.moment().days) }

// ToGoTime returns v as a time.Time: in a zone of its offset for a
// datetimeoffset, in UTC for others.
func (v Value) ToGoTime() time.Time {
	m := v.moment()
	loc := time.UTC
	if v.kind == KindDateTimeOffset {
		m = m.utc()
		if v.off != 0 {
			loc = time.FixedZone("", int(v.off)*60)
		}
	}
	return time.Unix(int64(m.days-unixDays)*86400+m.ticks/ticksPerSecond, m.ticks%ticksPerSecond*100).In(loc)
}

// FromGoTime returns the value of a date or time kind that shows what t shows in
// its own location; scale is that of time, datetime2 and datetimeoffset. What
// lies outside of the range of the kind becomes the nearest value of it.
func FromGoTime(kind Kind, scale uint8, t time.Time) Value {
	_, seconds := t.Zone()
	off := seconds / 60
	sec := t.Unix() + int64(off)*60
	days := int(floorDiv(sec, 86400)) + unixDays
	m := moment{days: days, ticks: (sec-int64(days-unixDays)*86400)*ticksPerSecond + int64(t.Nanosecond()/100)}
	m = m.clamp(0, maxDays)
	if kind == KindDateTimeOffset {
		m.off = max(min(off, maxOffset), -maxOffset)
	}
	switch kind {
	case KindSmallDateTime:
		m = m.clamp(days1900, days1900+maxSmallDays)
	case KindDateTime:
		m = m.clamp(days1900+days1753, maxDays)
	}
	v, ok := m.value(kind, scale)
	if !ok { // rounded over the end of the range
		m.ticks -= m.ticks % ticksPerSecond
		v, _ = m.value(kind, scale)
	}
	return v
}

func (m moment) clamp(low, high int) moment {
	switch {
	case m.days < low:
		return moment{days: low}
	case m.days > high:
		return moment{days: high, ticks: ticksPerDay - ticksPerSecond}
	}
	return m
}

// value returns m as a value of a date or time kind, rounded to its scale, and
// false if it is outside of the range.
func (m moment) value(kind Kind, scale uint8) (Value, bool) {
	switch kind {
	case KindDate:
		return NewDate(m.days), m.days >= 0 && m.days <= maxDays
	case KindTime:
		t := roundTicks(m.ticks, scale)
		if t == ticksPerDay { // the last moment of the day is not rounded into the next
			t -= int64(pow10[MaxTimeScale-scale].lo)
		}
		return NewTime(t, scale), true
	case KindSmallDateTime:
		return m.smallDateTime()
	case KindDateTime:
		return m.dateTime()
	case KindDateTime2:
		m = m.round(scale)
		return NewDateTime2(m.days, m.ticks, scale), m.days >= 0 && m.days <= maxDays
	}
	m = m.round(scale)
	u := m.utc()
	ok := m.days >= 0 && m.days <= maxDays && u.days >= 0 && u.days <= maxDays
	return NewDateTimeOffset(u.days, u.ticks, m.off, scale), ok
}

// smallDateTime rounds to the minute: 29.998 seconds and less go down.
func (m moment) smallDateTime() (Value, bool) {
	minutes := m.ticks / ticksPerMinute
	if m.ticks%ticksPerMinute >= 29_999*(ticksPerSecond/1000) {
		minutes++
	}
	days := m.days - days1900
	if minutes == minutesPerDay {
		minutes = 0
		days++
	}
	return NewSmallDateTime(days, minutes), days >= 0 && days <= maxSmallDays
}

// dateTime rounds to 1/300 of a second.
func (m moment) dateTime() (Value, bool) {
	seconds, rest := m.ticks/ticksPerSecond, m.ticks%ticksPerSecond
	units := seconds*unitsPerSecond + (rest*unitsPerSecond+ticksPerSecond/2)/ticksPerSecond
	days := m.days - days1900
	if units == unitsPerDay {
		units = 0
		days++
	}
	return NewDateTime(days, units), days >= days1753 && days <= maxDateTime
}

func (m moment) round(scale uint8) moment {
	m.ticks = roundTicks(m.ticks, scale)
	if m.ticks == ticksPerDay {
		m.ticks = 0
		m.days++
	}
	return m
}

// roundTicks rounds ticks of 100 ns to a scale; the result may be a whole day.
func roundTicks(ticks int64, scale uint8) int64 {
	if scale >= MaxTimeScale {
		return ticks
	}
	unit := int64(pow10[MaxTimeScale-scale].lo)
	return (ticks + unit/2) / unit * unit
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

var daysBefore = [...]int{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365}

func isLeap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

// DaysInMonth returns the number of days of a month, 1 to 12.
func DaysInMonth(year, month int) int {
	if month == 2 && isLeap(year) {
		return 29
	}
	return daysBefore[month] - daysBefore[month-1]
}

func daysFromYMD(year, month, day int) (int, bool) {
	if year < minYear || year > maxYear || month < 1 || month > 12 || day < 1 || day > DaysInMonth(year, month) {
		return 0, false
	}
	y := year - 1
	days := y*365 + y/4 - y/100 + y/400 + daysBefore[month-1] + day - 1
	if month > 2 && isLeap(year) {
		days++
	}
	return days, true
}

func ymdFromDays(days int) (year, month, day int) {
	n400, d := days/146097, days%146097
	n100 := min(d/36524, 3)
	d -= n100 * 36524
	n4 := d / 1461
	d -= n4 * 1461
	n1 := min(d/365, 3)
	d -= n1 * 365
	year = n400*400 + n100*100 + n4*4 + n1 + 1
	month = d/31 + 1
	for month < 12 && d >= daysBeforeMonth(year, month+1) {
		month++
	}
	return year, month, d - daysBeforeMonth(year, month) + 1
}

func daysBeforeMonth(year, month int) int {
	if month > 2 && isLeap(year) {
		return daysBefore[month-1] + 1
	}
	return daysBefore[month-1]
}

package builtin

import (
	"strings"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// datePart is a part of a date or time.
type datePart uint8

const (
	partYear datePart = iota
	partQuarter
	partMonth
	partDayOfYear
	partDay
	partWeek
	partWeekday
	partHour
	partMinute
	partSecond
	partMillisecond
	partMicrosecond
	partNanosecond
	partOffset
	partISOWeek
)

var partNames = [...]string{
	"year", "quarter", "month", "dayofyear", "day", "week", "weekday", "hour", "minute", "second",
	"millisecond", "microsecond", "nanosecond", "tzoffset", "iso_week",
}

func (p datePart) String() string { return partNames[p] }

// dateParts are the words for a part, as "DATEPART (Transact-SQL)" lists them.
var dateParts = map[string]datePart{
	"year": partYear, "yy": partYear, "yyyy": partYear,
	"quarter": partQuarter, "qq": partQuarter, "q": partQuarter,
	"month": partMonth, "mm": partMonth, "m": partMonth,
	"dayofyear": partDayOfYear, "dy": partDayOfYear, "y": partDayOfYear,
	"day": partDay, "dd": partDay, "d": partDay,
	"week": partWeek, "wk": partWeek, "ww": partWeek,
	"weekday": partWeekday, "dw": partWeekday, "w": partWeekday,
	"hour": partHour, "hh": partHour,
	"minute": partMinute, "mi": partMinute, "n": partMinute,
	"second": partSecond, "ss": partSecond, "s": partSecond,
	"millisecond": partMillisecond, "ms": partMillisecond,
	"microsecond": partMicrosecond, "mcs": partMicrosecond,
	"nanosecond": partNanosecond, "ns": partNanosecond,
	"tzoffset": partOffset, "tz": partOffset,
	"iso_week": partISOWeek, "isowk": partISOWeek, "isoww": partISOWeek,
}

// parsePart is the date part of a word; one that is none is error 155.
func parsePart(word, function string) (datePart, error) {
	p, ok := dateParts[strings.ToLower(word)]
	if !ok {
		return 0, sqlerr.New(155, word, strings.ToLower(function))
	}
	return p, nil
}

// constPart is the date part of a call whose first argument is the word.
func constPart(consts []*types.Value, function string) (datePart, bool, error) {
	if len(consts) == 0 || consts[0] == nil {
		return 0, false, nil
	}
	p, err := parsePart(consts[0].Text(), function)
	return p, err == nil, err
}

// part is the date part of the first argument.
func (c call) part() (datePart, error) { return parsePart(c.args[0].Text(), c.name) }

// unsupportedPart is error 9810.
func unsupportedPart(p datePart, function string, k types.Kind) error {
	return sqlerr.New(9810, p, strings.ToLower(function), k)
}

// hasPart reports whether a value of kind k has part p.
func hasPart(k types.Kind, p datePart) bool {
	clock := p >= partHour && p <= partNanosecond
	switch {
	case p == partOffset:
		return k == types.KindDateTimeOffset || k == types.KindDateTime2
	case k == types.KindDate:
		return !clock
	case k == types.KindTime:
		return clock
	}
	return true
}

// civil is a point in time taken apart.
type civil struct {
	days             int // since 0001-01-01
	ticks            int64
	year, month, day int
	subsecond        int64 // nanoseconds
}

func takeApart(v types.Value) civil {
	var t civil
	t.days, t.ticks = v.Local()
	t.year, t.month, t.day = types.NewDate(t.days).YMD()
	t.subsecond = t.ticks % ticksPerSecond * 100
	if v.Kind() == types.KindDateTime {
		t.subsecond = v.Ticks() % 300 * 1_000_000_000 / 300
	}
	return t
}

const (
	ticksPerSecond = 10_000_000
	ticksPerMinute = 60 * ticksPerSecond
	ticksPerHour   = 60 * ticksPerMinute
	ticksPerDay    = 24 * ticksPerHour
)

// dayOfYear counts from one.
func (t civil) dayOfYear() int { return t.days - dayNumber(t.year, 1, 1) + 1 }

// dayNumber is the number of days since 0001-01-01 of a date that exists.
func dayNumber(year, month, day int) int {
	v, _ := types.DateFromYMD(year, month, day)
	return v.Days()
}

// weekdayFrom is the number of days since the first day of the week, which is 1
// for Monday to 7 for Sunday. The 1st of January of the year 1 was a Monday.
func weekdayFrom(days, first int) int { return ((days-(first-1))%7 + 7) % 7 }

// week is the week of the year: the 1st of January is in week 1.
func (t civil) week(first int) int {
	january := dayNumber(t.year, 1, 1)
	return (t.days-january+weekdayFrom(january, first))/7 + 1
}

// isoWeek is the week by ISO 8601: week 1 has the year's first Thursday.
func (t civil) isoWeek() int {
	thursday := t.days - weekdayFrom(t.days, 1) + 3
	if thursday < 0 {
		return 52 // 0000-12-30, of which the calendar knows nothing
	}
	year, _, _ := types.NewDate(thursday).YMD()
	return (thursday-dayNumber(year, 1, 1))/7 + 1
}

// get is the number that DATEPART gives.
func (t civil) get(p datePart, v types.Value, first int) int64 {
	switch p {
	case partYear:
		return int64(t.year)
	case partQuarter:
		return int64(t.month+2) / 3
	case partMonth:
		return int64(t.month)
	case partDayOfYear:
		return int64(t.dayOfYear())
	case partDay:
		return int64(t.day)
	case partWeek:
		return int64(t.week(first))
	case partWeekday:
		return int64(weekdayFrom(t.days, first)) + 1
	case partHour:
		return t.ticks / ticksPerHour
	case partMinute:
		return t.ticks / ticksPerMinute % 60
	case partSecond:
		return t.ticks / ticksPerSecond % 60
	case partMillisecond:
		if v.Kind() == types.KindDateTime {
			return (t.subsecond + 500_000) / 1_000_000
		}
		return t.subsecond / 1_000_000
	case partMicrosecond:
		return t.subsecond / 1000
	case partNanosecond:
		return t.subsecond
	case partOffset:
		return int64(v.Offset())
	}
	return int64(t.isoWeek())
}

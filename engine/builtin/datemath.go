package builtin

import (
	"math"
	"strings"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// dateFuncs are the functions that compute with dates and make them.
func dateFuncs() []*Func {
	return []*Func{
		{Name: "DATEADD", Min: 3, Max: 3, DatePart: true, Type: dateAddType, Eval: strict("DATEADD", evalDateAdd)},
		{Name: "DATEDIFF", Min: 3, Max: 3, DatePart: true, Type: dateDiffType("DATEDIFF", types.TypeInt), Eval: strict("DATEDIFF", evalDateDiff)},
		{Name: "DATEDIFF_BIG", Min: 3, Max: 3, DatePart: true, Type: dateDiffType("DATEDIFF_BIG", types.TypeBigInt), Eval: strict("DATEDIFF_BIG", evalDateDiff)},
		pure("DATEFROMPARTS", 3, 3, fixed(types.TypeDate), evalDateFromParts),
		pure("DATETIMEFROMPARTS", 7, 7, fixed(types.TypeDateTime), evalDateTimeFromParts),
		pure("SMALLDATETIMEFROMPARTS", 5, 5, fixed(types.TypeSmallDateTime), evalSmallDateTimeFromParts),
		pure("TIMEFROMPARTS", 5, 5, fromPartsType(4, types.Time, types.KindTime), evalTimeFromParts),
		pure("DATETIME2FROMPARTS", 8, 8, fromPartsType(7, types.DateTime2, types.KindDateTime2), evalDateTime2FromParts),
		pure("DATETIMEOFFSETFROMPARTS", 10, 10, fromPartsType(9, types.DateTimeOffset, types.KindDateTimeOffset), evalDateTimeOffsetFromParts),
		dated("SWITCHOFFSET", 2, 2, offsetType("SWITCHOFFSET"), evalSwitchOffset),
		dated("TODATETIMEOFFSET", 2, 2, offsetType("TODATETIMEOFFSET"), evalToDateTimeOffset),
	}
}

// dateAddType keeps the type of a date; text and numbers become datetime.
func dateAddType(args []types.Type, consts []*types.Value) (types.Type, error) {
	p, known, err := constPart(consts, "DATEADD")
	if err != nil {
		return types.Type{}, err
	}
	t := args[2]
	if !isDateArgument(t) {
		return t, badArgument(t, 3, "DATEADD")
	}
	if args[1].Kind.IsDateTime() {
		return t, badArgument(args[1], 2, "DATEADD")
	}
	if !t.Kind.IsDateTime() {
		t = types.TypeDateTime
	}
	if known {
		err = addable(p, t.Kind)
	}
	return t, err
}

// addable reports a part that DATEADD does not add to a value of kind k.
func addable(p datePart, k types.Kind) error {
	if p == partOffset || p == partISOWeek {
		return sqlerr.New(9806, p, "dateadd")
	}
	fine := p == partMicrosecond || p == partNanosecond
	if !hasPart(k, p) || fine && (k == types.KindDateTime || k == types.KindSmallDateTime) {
		return unsupportedPart(p, "DATEADD", k)
	}
	return nil
}

// partTicks is the length of a part in ticks of 100 ns, zero for months and
// years, and for nanoseconds.
var partTicks = map[datePart]int64{
	partDayOfYear: ticksPerDay, partDay: ticksPerDay, partWeekday: ticksPerDay, partWeek: 7 * ticksPerDay,
	partHour: ticksPerHour, partMinute: ticksPerMinute, partSecond: ticksPerSecond,
	partMillisecond: ticksPerSecond / 1000, partMicrosecond: 10,
}

func evalDateAdd(c call) (types.Value, error) {
	p, err := c.part()
	if err != nil {
		return types.Null, err
	}
	n, err := c.integer(1)
	if err != nil {
		return types.Null, err
	}
	v := c.args[2]
	if v.Kind() != c.result.Kind {
		if v, err = c.convert(v, c.result); err != nil {
			return types.Null, err
		}
	}
	if err := addable(p, v.Kind()); err != nil {
		return types.Null, err
	}
	days, ticks := v.Local()
	switch p {
	case partYear, partQuarter, partMonth:
		n *= map[datePart]int64{partYear: 12, partQuarter: 3, partMonth: 1}[p]
		var ok bool
		if days, ok = addMonths(days, n); !ok {
			return types.Null, sqlerr.New(517, v.Kind())
		}
	case partNanosecond:
		ticks += roundDiv(n, 100)
	case partDay, partDayOfYear, partWeekday:
		days += int(n)
	case partWeek:
		days += int(n) * 7
	default:
		ticks += n * partTicks[p]
	}
	return c.moment(v, days, ticks)
}

// roundDiv divides with rounding half away from zero.
func roundDiv(n, by int64) int64 {
	if n < 0 {
		return -((-n + by/2) / by)
	}
	return (n + by/2) / by
}

// addMonths keeps the day of the month, or takes the month's last.
func addMonths(days int, n int64) (int, bool) {
	year, month, day := types.NewDate(days).YMD()
	m := int64(year)*12 + int64(month-1) + n
	if m < 12 || m >= 120000 {
		return 0, false
	}
	year, month = int(m/12), int(m%12)+1
	return dayNumber(year, month, min(day, types.DaysInMonth(year, month))), true
}

// maxDay is 9999-12-31.
const maxDay = 3652058

// moment is the value of v's kind, scale and offset that shows the given time.
func (c call) moment(v types.Value, days int, ticks int64) (types.Value, error) {
	if v.Kind() == types.KindTime {
		ticks = (ticks%ticksPerDay + ticksPerDay) % ticksPerDay
		return types.Convert(types.NewTime(ticks, 7), types.Time(v.Scale()), 0)
	}
	carry := ticks / ticksPerDay
	if ticks%ticksPerDay < 0 {
		carry--
	}
	days64 := int64(days) + carry
	ticks -= carry * ticksPerDay
	if days64 < 0 || days64 > maxDay {
		return types.Null, sqlerr.New(517, v.Kind())
	}
	days = int(days64)
	var out types.Value
	var err error
	switch v.Kind() {
	case types.KindDate:
		return types.NewDate(days), nil
	case types.KindDateTimeOffset:
		utcDays, utcTicks := days, ticks-int64(v.Offset())*ticksPerMinute
		if utcTicks < 0 {
			utcDays, utcTicks = utcDays-1, utcTicks+ticksPerDay
		} else if utcTicks >= ticksPerDay {
			utcDays, utcTicks = utcDays+1, utcTicks-ticksPerDay
		}
		if utcDays < 0 || utcDays > maxDay {
			return types.Null, sqlerr.New(517, v.Kind())
		}
		out, err = types.Convert(types.NewDateTimeOffset(utcDays, utcTicks, v.Offset(), 7), types.DateTimeOffset(v.Scale()), 0)
	default:
		to := types.Type{Kind: v.Kind(), Scale: v.Scale()}
		out, err = types.Convert(types.NewDateTime2(days, ticks, 7), to, 0)
	}
	if err != nil {
		return types.Null, sqlerr.New(517, v.Kind())
	}
	return out, nil
}

func dateDiffType(name string, result types.Type) typeFunc {
	return func(args []types.Type, consts []*types.Value) (types.Type, error) {
		p, known, err := constPart(consts, name)
		if err != nil {
			return types.Type{}, err
		}
		for i := 1; i <= 2; i++ {
			if !isDateArgument(args[i]) {
				return types.Type{}, badArgument(args[i], i+1, name)
			}
		}
		if known {
			err = comparable(p, name)
		}
		return result, err
	}
}

func comparable(p datePart, name string) error {
	if p == partOffset || p == partISOWeek {
		return sqlerr.New(9806, p, strings.ToLower(name))
	}
	return nil
}

// instant is argument i in UTC, as DATEDIFF compares it.
func (c call) instant(i int) (days int, ticks int64, err error) {
	v, err := c.date(i)
	if err != nil {
		return 0, 0, err
	}
	if v.Kind() == types.KindDateTimeOffset {
		return v.Days(), v.Ticks(), nil
	}
	days, ticks = v.Local()
	return days, ticks, nil
}

// evalDateDiff counts the boundaries between two points in time.
func evalDateDiff(c call) (types.Value, error) {
	p, err := c.part()
	if err != nil {
		return types.Null, err
	}
	if err := comparable(p, c.name); err != nil {
		return types.Null, err
	}
	days1, ticks1, err := c.instant(1)
	if err != nil {
		return types.Null, err
	}
	days2, ticks2, err := c.instant(2)
	if err != nil {
		return types.Null, err
	}
	n, ok := boundaries(p, days1, ticks1, days2, ticks2)
	if !ok || c.result.Kind == types.KindInt && n != int64(int32(n)) {
		return types.Null, sqlerr.WithState(535, 0)
	}
	return c.count(n), nil
}

func boundaries(p datePart, days1 int, ticks1 int64, days2 int, ticks2 int64) (int64, bool) {
	y1, m1, _ := types.NewDate(days1).YMD()
	y2, m2, _ := types.NewDate(days2).YMD()
	switch p {
	case partYear:
		return int64(y2 - y1), true
	case partQuarter:
		return int64((y2*4 + (m2-1)/3) - (y1*4 + (m1-1)/3)), true
	case partMonth:
		return int64((y2*12 + m2) - (y1*12 + m1)), true
	case partDay, partDayOfYear, partWeekday:
		return int64(days2 - days1), true
	case partWeek: // always from Sunday to Sunday
		return int64((days2+1)/7 - (days1+1)/7), true
	}
	t1, t2 := int64(days1)*ticksPerDay+ticks1, int64(days2)*ticksPerDay+ticks2
	if p == partNanosecond {
		d := t2 - t1
		return d * 100, d <= math.MaxInt64/100 && d >= math.MinInt64/100
	}
	unit := partTicks[p]
	return t2/unit - t1/unit, true
}

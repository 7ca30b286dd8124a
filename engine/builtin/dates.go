package builtin

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// datePartFuncs are the functions that take a date apart ("Date and time data
// types and functions (Transact-SQL)"). They are not folded: what text means
// and on which day a week begins depends on the session.
func datePartFuncs() []*Func {
	datePart := func(name string, t types.Type, eval evalFunc) *Func {
		return &Func{Name: name, Min: 2, Max: 2, DatePart: true, Type: partType(name, t), Eval: strict(name, eval)}
	}
	return []*Func{
		datePart("DATEPART", types.TypeInt, evalDatePart),
		datePart("DATENAME", types.NVarChar(30), evalDateName),
		dated("YEAR", 1, 1, calendarType("YEAR"), evalPart(partYear)),
		dated("MONTH", 1, 1, calendarType("MONTH"), evalPart(partMonth)),
		dated("DAY", 1, 1, calendarType("DAY"), evalPart(partDay)),
		dated("EOMONTH", 1, 2, fixed(types.TypeDate), evalEndOfMonth),
		{Name: "ISDATE", Min: 1, Max: 1, Type: isDateType, Eval: evaluator("ISDATE", evalIsDate)},
	}
}

// dated is a function that is NULL if any argument is and that may have to read
// a date from text.
func dated(name string, least, most int, t typeFunc, eval evalFunc) *Func {
	return &Func{Name: name, Min: least, Max: most, Type: t, Eval: strict(name, eval)}
}

// convert converts by the session's date format.
func (c call) convert(v types.Value, t types.Type) (types.Value, error) {
	var o types.ConvertOptions
	if c.env != nil {
		o.DateFormat, _ = types.ParseDateFormat(c.env.Options().DateFormat)
	}
	return types.ConvertWith(o, v, t, 0)
}

func (c call) dateFirst() int {
	if c.env != nil {
		if first := c.env.Options().DateFirst; first >= 1 && first <= 7 {
			return first
		}
	}
	return 7
}

// date is argument i as a date or time: text may have an offset, numbers count
// days from 1900.
func (c call) date(i int) (types.Value, error) {
	v := c.args[i]
	switch {
	case v.Kind().IsDateTime():
		return v, nil
	case v.Kind().IsChar():
		return c.textDate(v)
	}
	return c.convert(v, types.TypeDateTime)
}

// textDate reads text as a datetime2, or as a datetimeoffset if it has an
// offset.
func (c call) textDate(v types.Value) (types.Value, error) {
	d, err := c.convert(v, types.DateTimeOffset(7))
	if err != nil {
		return types.Null, err
	}
	if d.Offset() != 0 {
		return d, nil
	}
	return types.NewDateTime2(d.Days(), d.Ticks(), 7), nil
}

// isDateArgument reports whether a date may come from an argument of type t.
func isDateArgument(t types.Type) bool {
	switch t.Kind {
	case types.KindImage, types.KindXML, types.KindUniqueIdentifier, types.KindRowVersion, types.KindTable, types.KindCursor,
		types.KindText, types.KindNText:
		return false
	}
	return true
}

func calendarType(name string) typeFunc {
	return func(args []types.Type, _ []*types.Value) (types.Type, error) {
		if !isDateArgument(args[0]) {
			return types.Type{}, badArgument(args[0], 1, name)
		}
		if args[0].Kind == types.KindTime {
			p := map[string]datePart{"YEAR": partYear, "MONTH": partMonth, "DAY": partDay}[name]
			return types.Type{}, unsupportedPart(p, name, types.KindTime)
		}
		return types.TypeInt, nil
	}
}

// partType checks the word and, where the type is known, whether the type has
// the part.
func partType(name string, result types.Type) typeFunc {
	return func(args []types.Type, consts []*types.Value) (types.Type, error) {
		p, known, err := constPart(consts, name)
		if err != nil {
			return types.Type{}, err
		}
		if !isDateArgument(args[1]) {
			return types.Type{}, badArgument(args[1], 2, name)
		}
		if known && args[1].Kind.IsDateTime() && !hasPart(args[1].Kind, p) {
			return types.Type{}, unsupportedPart(p, name, args[1].Kind)
		}
		return result, nil
	}
}

func evalPart(p datePart) evalFunc {
	return func(c call) (types.Value, error) {
		v, err := c.date(0)
		if err != nil {
			return types.Null, err
		}
		if !hasPart(v.Kind(), p) {
			return types.Null, unsupportedPart(p, c.name, v.Kind())
		}
		return types.NewInt(takeApart(v).get(p, v, c.dateFirst())), nil
	}
}

// partOf is the part and the date of DATEPART and DATENAME.
func (c call) partOf() (datePart, types.Value, error) {
	p, err := c.part()
	if err != nil {
		return 0, types.Null, err
	}
	v, err := c.date(1)
	if err != nil {
		return 0, types.Null, err
	}
	if !hasPart(v.Kind(), p) {
		return 0, types.Null, unsupportedPart(p, c.name, v.Kind())
	}
	return p, v, nil
}

func evalDatePart(c call) (types.Value, error) {
	p, v, err := c.partOf()
	if err != nil {
		return types.Null, err
	}
	return types.NewInt(takeApart(v).get(p, v, c.dateFirst())), nil
}

func evalDateName(c call) (types.Value, error) {
	p, v, err := c.partOf()
	if err != nil {
		return types.Null, err
	}
	t := takeApart(v)
	switch p {
	case partMonth, partWeekday:
		names, err := c.calendarNames()
		if err != nil {
			return types.Null, err
		}
		if p == partMonth {
			return types.NewNVarChar(names.months[t.month-1]), nil
		}
		return types.NewNVarChar(names.days[weekdayFrom(t.days, 7)]), nil
	case partOffset:
		return types.NewNVarChar(offsetText(v.Offset())), nil
	}
	return types.NewNVarChar(strconv.FormatInt(t.get(p, v, c.dateFirst()), 10)), nil
}

// offsetText is an offset as +hh:mm.
func offsetText(minutes int) string {
	sign := '+'
	if minutes < 0 {
		sign, minutes = '-', -minutes
	}
	return fmt.Sprintf("%c%02d:%02d", sign, minutes/60, minutes%60)
}

// evalEndOfMonth is EOMONTH(date, months).
func evalEndOfMonth(c call) (types.Value, error) {
	v, err := c.convert(c.args[0], types.TypeDate)
	if err != nil {
		return types.Null, err
	}
	var add int64
	if len(c.args) == 2 {
		if add, err = c.integer(1); err != nil {
			return types.Null, err
		}
	}
	year, month, _ := v.YMD()
	m := int64(year)*12 + int64(month-1) + add
	if m < 12 || m >= 120000 {
		return types.Null, sqlerr.New(517, "date")
	}
	year, month = int(m/12), int(m%12)+1
	end, _ := types.DateFromYMD(year, month, types.DaysInMonth(year, month))
	return end, nil
}

func isDateType(args []types.Type, _ []*types.Value) (types.Type, error) {
	switch args[0].Kind {
	case types.KindDate, types.KindTime, types.KindDateTime2, types.KindDateTimeOffset, types.KindText, types.KindNText,
		types.KindImage, types.KindXML:
		return types.Type{}, badArgument(args[0], 1, "ISDATE")
	}
	return types.TypeInt, nil
}

// evalIsDate is 1 for what converts to datetime as text.
func evalIsDate(c call) (types.Value, error) {
	v := c.args[0]
	if v.IsNull() {
		return types.NewInt(0), nil
	}
	if v.Kind() == types.KindDateTime || v.Kind() == types.KindSmallDateTime {
		return types.NewInt(1), nil
	}
	s, err := c.text(0)
	if err != nil || s == "" {
		return types.NewInt(0), nil
	}
	if _, err := c.convert(types.NewNVarChar(s), types.TypeDateTime); err != nil {
		return types.NewInt(0), nil
	}
	return types.NewInt(1), nil
}

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
		return types.Null, sqlerr.New(535)
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

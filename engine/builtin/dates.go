package builtin

import (
	"fmt"
	"strconv"

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

package builtin

import (
	"strings"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// fromPartsType is the type of a function whose argument at precisionAt is the
// scale of its result; it must be a constant.
func fromPartsType(precisionAt int, make func(uint8) types.Type, kind types.Kind) typeFunc {
	return func(args []types.Type, consts []*types.Value) (types.Type, error) {
		if len(consts) <= precisionAt || consts[precisionAt] == nil || consts[precisionAt].IsNull() {
			return types.Type{}, sqlerr.New(10760, kind)
		}
		n, err := intOf(*consts[precisionAt])
		if err != nil {
			return types.Type{}, err
		}
		if n < 0 || n > types.MaxTimeScale {
			return types.Type{}, sqlerr.New(1002, 1, n)
		}
		return make(uint8(n)), nil
	}
}

// integers are all arguments as numbers.
func (c call) integers() ([10]int64, error) {
	var n [10]int64
	for i := range c.args {
		var err error
		if n[i], err = c.integer(i); err != nil {
			return n, err
		}
	}
	return n, nil
}

// invalidParts is error 289.
func invalidParts(k types.Kind) error { return sqlerr.New(289, k) }

// dayOf is the day of a year, month and day, as days since 0001-01-01.
func dayOf(n []int64) (int, bool) {
	if n[0] < 1 || n[0] > 9999 {
		return 0, false
	}
	v, ok := types.DateFromYMD(int(n[0]), int(n[1]), int(n[2]))
	return v.Days(), ok && n[1] == int64(int(n[1]))
}

// clockOf is the time of an hour, minute and second in ticks.
func clockOf(n []int64) (int64, bool) {
	if n[0] < 0 || n[0] > 23 || n[1] < 0 || n[1] > 59 || n[2] < 0 || n[2] > 59 {
		return 0, false
	}
	return n[0]*ticksPerHour + n[1]*ticksPerMinute + n[2]*ticksPerSecond, true
}

// fraction is a fraction of a second in units of the given scale, in ticks.
func fraction(n int64, scale uint8) (int64, bool) {
	unit, most := int64(ticksPerSecond), int64(1)
	for range scale {
		unit /= 10
		most *= 10
	}
	return n * unit, n >= 0 && n < most
}

func evalDateFromParts(c call) (types.Value, error) {
	n, err := c.integers()
	if err != nil {
		return types.Null, err
	}
	days, ok := dayOf(n[:])
	if !ok {
		return types.Null, invalidParts(types.KindDate)
	}
	return types.NewDate(days), nil
}

func evalDateTimeFromParts(c call) (types.Value, error) {
	n, err := c.integers()
	if err != nil {
		return types.Null, err
	}
	days, ok1 := dayOf(n[:])
	ticks, ok2 := clockOf(n[3:])
	ms, ok3 := fraction(n[6], 3)
	if !ok1 || !ok2 || !ok3 {
		return types.Null, invalidParts(types.KindDateTime)
	}
	return c.made(types.NewDateTime2(days, ticks+ms, 7))
}

func evalSmallDateTimeFromParts(c call) (types.Value, error) {
	n, err := c.integers()
	if err != nil {
		return types.Null, err
	}
	days, ok1 := dayOf(n[:])
	ticks, ok2 := clockOf([]int64{n[3], n[4], 0})
	if !ok1 || !ok2 {
		return types.Null, invalidParts(types.KindSmallDateTime)
	}
	return c.made(types.NewDateTime2(days, ticks, 7))
}

// made is v in the type of the result; what is out of its range is error 289.
func (c call) made(v types.Value) (types.Value, error) {
	out, err := types.Convert(v, c.result, 0)
	if err != nil {
		return types.Null, invalidParts(c.result.Kind)
	}
	return out, nil
}

func evalTimeFromParts(c call) (types.Value, error) {
	n, err := c.integers()
	if err != nil {
		return types.Null, err
	}
	ticks, ok1 := clockOf(n[:])
	part, ok2 := fraction(n[3], c.result.Scale)
	if !ok1 || !ok2 {
		return types.Null, invalidParts(types.KindTime)
	}
	return types.NewTime(ticks+part, c.result.Scale), nil
}

// stamp is the date and time of seven numbers.
func (c call) stamp(n []int64) (days int, ticks int64, ok bool) {
	days, ok1 := dayOf(n)
	ticks, ok2 := clockOf(n[3:])
	part, ok3 := fraction(n[6], c.result.Scale)
	return days, ticks + part, ok1 && ok2 && ok3
}

func evalDateTime2FromParts(c call) (types.Value, error) {
	n, err := c.integers()
	if err != nil {
		return types.Null, err
	}
	days, ticks, ok := c.stamp(n[:])
	if !ok {
		return types.Null, invalidParts(types.KindDateTime2)
	}
	return types.NewDateTime2(days, ticks, c.result.Scale), nil
}

func evalDateTimeOffsetFromParts(c call) (types.Value, error) {
	n, err := c.integers()
	if err != nil {
		return types.Null, err
	}
	days, ticks, ok := c.stamp(n[:])
	hours, minutes := n[7], n[8]
	offset := hours*60 + minutes
	if !ok || minutes < -59 || minutes > 59 || hours*minutes < 0 || offset < -maxOffset || offset > maxOffset {
		return types.Null, invalidParts(types.KindDateTimeOffset)
	}
	v, ok := offsetValue(days, ticks, int(offset), c.result.Scale)
	if !ok {
		return types.Null, invalidParts(types.KindDateTimeOffset)
	}
	return v, nil
}

// maxOffset is the greatest offset of a datetimeoffset in minutes.
const maxOffset = 14 * 60

// offsetValue is a datetimeoffset that shows the given time.
func offsetValue(days int, ticks int64, offset int, scale uint8) (types.Value, bool) {
	ticks -= int64(offset) * ticksPerMinute
	switch {
	case ticks < 0:
		days, ticks = days-1, ticks+ticksPerDay
	case ticks >= ticksPerDay:
		days, ticks = days+1, ticks-ticksPerDay
	}
	return types.NewDateTimeOffset(days, ticks, offset, scale), days >= 0 && days <= maxDay
}

// offsetType is datetimeoffset with the scale of the first argument.
func offsetType(name string) typeFunc {
	return func(args []types.Type, _ []*types.Value) (types.Type, error) {
		t := args[0]
		if !isDateArgument(t) {
			return t, badArgument(t, 1, name)
		}
		switch t.Kind {
		case types.KindTime, types.KindDateTime2, types.KindDateTimeOffset:
			return types.DateTimeOffset(t.Scale), nil
		case types.KindDate, types.KindSmallDateTime:
			return types.DateTimeOffset(0), nil
		case types.KindDateTime:
			return types.DateTimeOffset(3), nil
		}
		return types.DateTimeOffset(7), nil
	}
}

// offset is argument i as minutes: a number, or text as +hh:mm.
func (c call) offset(i int) (int, error) {
	v := c.args[i]
	if !v.Kind().IsChar() {
		n, err := intOf(v)
		if err != nil {
			return 0, err
		}
		if n < -maxOffset || n > maxOffset {
			return 0, sqlerr.New(9812, strings.ToLower(c.name))
		}
		return int(n), nil
	}
	s := strings.TrimSpace(v.Text())
	digit := func(i int) int { return int(s[i] - '0') }
	if len(s) != 6 || s[3] != ':' || s[0] != '+' && s[0] != '-' {
		return 0, sqlerr.New(9812, strings.ToLower(c.name))
	}
	for _, i := range []int{1, 2, 4, 5} {
		if s[i] < '0' || s[i] > '9' {
			return 0, sqlerr.New(9812, strings.ToLower(c.name))
		}
	}
	minutes := digit(4)*10 + digit(5)
	n := (digit(1)*10+digit(2))*60 + minutes
	if n > maxOffset || minutes > 59 {
		return 0, sqlerr.New(9812, strings.ToLower(c.name))
	}
	if s[0] == '-' {
		n = -n
	}
	return n, nil
}

// evalSwitchOffset keeps the instant and changes the offset.
func evalSwitchOffset(c call) (types.Value, error) {
	v, err := c.convert(c.args[0], c.result)
	if err != nil {
		return types.Null, err
	}
	offset, err := c.offset(1)
	if err != nil {
		return types.Null, err
	}
	local := int64(v.Days())*ticksPerDay + v.Ticks() + int64(offset)*ticksPerMinute
	if local < 0 || local >= (maxDay+1)*ticksPerDay {
		return types.Null, sqlerr.New(9813, "switchoffset")
	}
	return types.NewDateTimeOffset(v.Days(), v.Ticks(), offset, c.result.Scale), nil
}

// evalToDateTimeOffset keeps the time that is shown and gives it an offset.
func evalToDateTimeOffset(c call) (types.Value, error) {
	v, err := c.convert(c.args[0], types.DateTime2(c.result.Scale))
	if err != nil {
		return types.Null, err
	}
	offset, err := c.offset(1)
	if err != nil {
		return types.Null, err
	}
	out, ok := offsetValue(v.Days(), v.Ticks(), offset, c.result.Scale)
	if !ok {
		return types.Null, sqlerr.New(9813, "todatetimeoffset")
	}
	return out, nil
}

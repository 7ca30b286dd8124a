package types

import "strings"

// DateFormat is the order of year, month and day in a numeric date: SET
// DATEFORMAT. The zero DateFormat is mdy, that of us_english.
type DateFormat uint8

// The date formats.
const (
	FormatMDY DateFormat = iota
	FormatDMY
	FormatYMD
	FormatYDM
	FormatMYD
	FormatDYM
)

var dateFormatNames = [...]string{"mdy", "dmy", "ymd", "ydm", "myd", "dym"}

// String returns the name as SET DATEFORMAT takes it.
func (f DateFormat) String() string { return dateFormatNames[f] }

// ParseDateFormat returns the format of a name such as "dmy", in any case.
func ParseDateFormat(name string) (DateFormat, bool) {
	for i, n := range dateFormatNames {
		if strings.EqualFold(n, name) {
			return DateFormat(i), true
		}
	}
	return FormatMDY, false
}

// monthNames and monthShort are those of us_english.
var (
	monthNames = [...]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
	monthShort = [...]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
)

// layout is what a CONVERT style writes; the letters are replaced:
//
//	Y four digits of the year, y two, M month, D day, d day padded with a blank,
//	N short month name, H hour of 24, h hour of 12 padded with a blank, k the
//	same but not padded for a time, m minute, s second, f fraction behind a point,
//	F fraction behind a colon (a point in the later types),
//	g fraction behind a point unless it is zero, P AM or PM, o offset behind a
//	blank, O offset; | separates the date part from the time part.
type layout string

// layouts are the documented styles ("CAST and CONVERT (Transact-SQL)", Date and
// time styles), without 130 and 131.
var layouts = map[int]layout{
	0: "N d Y | k:mPo", 100: "N d Y | k:mPo",
	1: "M/D/y", 101: "M/D/Y",
	2: "y.M.D", 102: "Y.M.D",
	3: "D/M/y", 103: "D/M/Y",
	4: "D.M.y", 104: "D.M.Y",
	5: "D-M-y", 105: "D-M-Y",
	6: "D N y", 106: "D N Y",
	7: "N D, y", 107: "N D, Y",
	8: "|H:m:so", 108: "|H:m:so", 24: "|H:m:so",
	9: "N d Y | k:m:sFPo", 109: "N d Y | k:m:sFPo",
	10: "M-D-y", 110: "M-D-Y",
	11: "y/M/D", 111: "Y/M/D",
	12: "yMD", 112: "YMD",
	13: "D N Y | H:m:sFo", 113: "D N Y | H:m:sFo",
	14: "|H:m:sFo", 114: "|H:m:sFo",
	20: "Y-M-D | H:m:so", 120: "Y-M-D | H:m:so",
	21: "Y-M-D | H:m:sfo", 121: "Y-M-D | H:m:sfo", 25: "Y-M-D | H:m:sfo",
	22: "M/D/y | h:m:s Po",
	23: "Y-M-D",
	// Not documented, but there.
	26: "Y-D-M | H:m:sfo", 27: "M-D-Y | H:m:sfo", 28: "M-Y-D | H:m:sfo", 29: "D-M-Y | H:m:sfo", 30: "D-Y-M | H:m:sfo",
	31: "Y-D-M", 32: "M-D-Y", 33: "M-Y-D", 34: "D-M-Y", 35: "D-Y-M",
	126: "Y-M-DT|H:m:sgO", 127: "Y-M-DT|H:m:sgZ",
}

// defaultStyle is the style without one: that of datetime differs from the later
// types.
func defaultStyle(k Kind) int {
	if k == KindDateTime || k == KindSmallDateTime {
		return 0
	}
	return 121
}

// ExplicitStyle returns the style to give to Convert for CONVERT(…, style) that
// names one: 0 means "none given" there, and for date and time values the style
// 0 that is written out is the same as 100.
func ExplicitStyle(from Kind, style int) int {
	if style == 0 && from.IsDateTime() {
		return 100
	}
	return style
}

// readRules returns how a text is read in a style of CONVERT: the order of the
// parts, the digits of the year, and which forms are taken. ok is false for a
// style that the later types do not know; the legacy types take it for a style
// of text.
func readRules(style int, order DateFormat, legacy bool) (r dateRules, ok bool) {
	r = dateRules{order: order, legacy: legacy, iso: true, zulu: true}
	switch style {
	case 0:
		return r, true
	case 126, 127:
		r.order, r.forced, r.yearDigits, r.zulu = FormatYMD, true, 4, style == 127
		return r, true
	case 1, 10, 101, 110:
		r.order = FormatMDY
	case 3, 4, 5, 103, 104, 105:
		r.order = FormatDMY
	case 2, 11, 102, 111, 20, 21, 120, 121:
		r.order = FormatYMD
	case 22, 23, 25:
		r.textOnly = legacy
		r.order = FormatYMD
		if style == 22 {
			r.order = FormatMDY
		}
	default:
		r.textOnly = true
		if _, ok = layouts[style]; (!ok || style > 25 && style < 100) && !legacy {
			return r, false
		}
	}
	r.forced, r.yearDigits = true, 2
	if style >= 100 || (style >= 20 && style != 22) {
		r.yearDigits = 4
	}
	if legacy {
		r.iso, r.zulu, r.isoFault = false, false, dateSyntax
		if r.yearDigits == 4 && !r.textOnly {
			r.isoFault = dateRange
		}
	}
	return r, true
}

// formatMoment appends v by a style, and reports whether there is anything to
// show: a date has no time part, a time no date part.
func formatMoment(dst []byte, v Value, l layout) ([]byte, bool) {
	m := v.moment()
	digits := int(v.scale)
	switch v.kind {
	case KindDateTime, KindSmallDateTime:
		digits = 3
		m = m.round(3)
	}
	if strings.HasSuffix(string(l), "Z") && v.kind == KindDateTimeOffset {
		m = m.utc()
	}
	date, clock, both := strings.Cut(string(l), "|")
	start := len(dst)
	if v.kind != KindTime {
		if both && v.kind == KindDate {
			date = strings.TrimRight(date, "T ")
		}
		dst = appendDatePart(dst, m, date)
	}
	if v.kind != KindDate {
		if v.kind == KindTime {
			clock = strings.TrimLeft(clock, " ")
		}
		dst = appendTimePart(dst, v, m, clock, digits)
	}
	return dst, len(dst) > start
}

func appendDatePart(dst []byte, m moment, l string) []byte {
	year, month, day := ymdFromDays(m.days)
	for _, c := range []byte(strings.TrimSuffix(l, " ")) {
		switch c {
		case 'Y':
			dst = appendDigits(dst, year, 4)
		case 'y':
			dst = appendDigits(dst, year%100, 2)
		case 'M':
			dst = appendDigits(dst, month, 2)
		case 'D':
			dst = appendDigits(dst, day, 2)
		case 'd':
			dst = appendPadded(dst, day)
		case 'N':
			dst = append(dst, monthShort[month-1]...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func appendTimePart(dst []byte, v Value, m moment, l string, digits int) []byte {
	seconds := int(m.ticks / ticksPerSecond)
	fraction := int(m.ticks%ticksPerSecond) / int(pow10[MaxTimeScale-digits].lo)
	hour := seconds / 3600
	for _, c := range []byte(l) {
		switch c {
		case 'H':
			dst = appendDigits(dst, hour, 2)
		case 'h', 'k':
			h := (hour+11)%12 + 1
			if c == 'k' && v.kind == KindTime && h < 10 {
				dst = append(dst, byte('0'+h))
				continue
			}
			dst = appendPadded(dst, h)
		case 'm':
			dst = appendDigits(dst, seconds/60%60, 2)
		case 's':
			dst = appendDigits(dst, seconds%60, 2)
		case 'f', 'F', 'g':
			if digits == 0 || (c == 'g' && fraction == 0) {
				continue
			}
			point := byte('.')
			if c == 'F' && !v.kind.hasScale() {
				point = ':'
			}
			dst = appendDigits(append(dst, point), fraction, digits)
		case 'P':
			dst = append(dst, "AP"[hour/12], 'M')
		case 'o', 'O':
			if v.kind == KindDateTimeOffset {
				dst = appendOffset(dst, m.off, c == 'o')
			}
		case 'Z':
			if v.kind == KindDateTimeOffset {
				dst = append(dst, 'Z')
			}
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func appendOffset(dst []byte, off int, blank bool) []byte {
	if blank {
		dst = append(dst, ' ')
	}
	sign := byte('+')
	if off < 0 {
		sign, off = '-', -off
	}
	return appendDigits(append(appendDigits(append(dst, sign), off/60, 2), ':'), off%60, 2)
}

func appendDigits(dst []byte, n, width int) []byte {
	for range width {
		dst = append(dst, '0')
	}
	for i := len(dst) - 1; width > 0; i, width, n = i-1, width-1, n/10 {
		dst[i] = byte('0' + n%10)
	}
	return dst
}

func appendPadded(dst []byte, n int) []byte {
	if n < 10 {
		return append(dst, ' ', byte('0'+n))
	}
	return appendDigits(dst, n, 2)
}

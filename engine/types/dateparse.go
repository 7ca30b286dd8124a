package types

import "strings"

// Two readers of dates, as SQL Server has them: one for datetime and
// smalldatetime ("legacy"), which takes nearly anything in any order, and one for
// the later types, which is stricter but takes seven fractional digits and
// offsets. Both take ISO 8601, ODBC escapes, numeric dates with / - or .,
// unseparated dates, month names, each with or without a time ("datetime",
// "date", Supported string literal formats).

// dateRules are what SET DATEFORMAT and the style of CONVERT ask for.
type dateRules struct {
	order  DateFormat
	legacy bool
	// forced says that a style names the order: the year stands where the style
	// has it.
	forced bool
	// yearDigits is how many digits the year of a numeric date must have; zero
	// for any.
	yearDigits int
	// textOnly styles take no numeric date with separators.
	textOnly bool
	// iso says whether the form with a T is taken; isoFault is the answer if not.
	iso      bool
	isoFault dateStatus
	// zulu says whether Z is taken by the legacy reader.
	zulu bool
}

type dateStatus uint8

const (
	dateOK     dateStatus = iota
	dateSyntax            // no date or time at all
	dateRange             // the parts are there, but out of range
	dateStyle             // not in the style that is asked for
)

// dateScan reads one text as a date and time.
type dateScan struct {
	dateRules
	s string

	numbers  [3]dateNumber
	count    int
	seps     int  // separators between the parts of the date
	sep      byte // the first of them
	month    int  // from a name
	monthAt  int  // how many numbers stand before it
	commas   int
	commaAt  int  // how many numbers stand before the comma
	open     bool // a separator or comma waits for what follows
	hasClock bool
	ticks    int64
	off      int
	status   dateStatus
}

type dateNumber struct{ value, digits int }

// parseMoment reads s.
func parseMoment(s string, rules dateRules) (moment, dateStatus) {
	d := &dateScan{dateRules: rules, s: s}
	d.blanks()
	d.s = strings.TrimRight(d.s, " ")
	if d.s == "" {
		return moment{days: days1900}, dateOK
	}
	d.odbc()
	if isISO(d.s) {
		return d.isoForm()
	}
	d.scan()
	m := moment{days: days1900, ticks: d.ticks, off: d.off}
	if d.status == dateOK && (d.count > 0 || d.month > 0) {
		m.days = d.date()
	}
	return m, d.status
}

// blanks skips blanks; the later types skip tabs too.
func (d *dateScan) blanks() bool {
	n := len(d.s)
	for d.s != "" && (d.s[0] == ' ' || (d.s[0] == '\t' && !d.legacy)) {
		d.s = d.s[1:]
	}
	return len(d.s) < n
}

// odbc strips the braces and quotes of {ts '…'}, {d '…'} and {t '…'}.
func (d *dateScan) odbc() {
	if !strings.HasPrefix(d.s, "{") || !strings.HasSuffix(d.s, "}") {
		return
	}
	inner := trimBlanks(d.s[1 : len(d.s)-1])
	kind, text, ok := strings.Cut(inner, "'")
	kind = strings.ToLower(trimBlanks(kind))
	if !ok || !strings.HasSuffix(text, "'") || (kind != "ts" && kind != "d" && kind != "t") {
		d.fail(dateSyntax)
		return
	}
	d.s, d.order, d.forced = trimBlanks(text[:len(text)-1]), FormatYMD, true
}

// fail notes the first fault; a syntax error ends the scan and outweighs a value
// out of range.
func (d *dateScan) fail(s dateStatus) {
	if d.status == dateOK || s == dateSyntax {
		d.status = s
	}
	if s == dateSyntax {
		d.s = ""
	}
}

func (d *dateScan) scan() {
	for d.s != "" {
		if d.blanks() {
			continue
		}
		c := d.s[0]
		switch {
		case isDigit(c):
			d.number()
		case isUpperASCII(c) || isLowerASCII(c):
			d.word()
		case c == '/' || c == '-' || c == '.':
			d.separator(c)
		case c == ',':
			d.comma()
		default:
			d.fail(dateSyntax)
		}
	}
	switch {
	case d.open && d.legacy && d.seps == 0:
		d.fail(dateRange) // a comma at the end
	case d.open, d.count == 0 && d.month == 0 && !d.hasClock:
		d.fail(dateSyntax)
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// separator reads the sign between two parts of a date.
func (d *dateScan) separator(c byte) {
	switch {
	case d.count+min(d.month, 1) == 0, d.open, d.hasClock && !d.legacy:
		d.fail(dateSyntax)
		return
	case d.count+min(d.month, 1) >= len(d.numbers):
		d.fail(dateRange)
	case d.seps > 0 && c != d.sep && !d.legacy:
		d.fail(dateSyntax)
		return
	}
	if d.seps == 0 {
		d.sep = c
	}
	d.seps++
	d.open = true
	d.s = d.s[1:]
}

// comma reads a comma beside a month name: the legacy reader takes it between
// any two parts, the later one only in front of the year at the end.
func (d *dateScan) comma() {
	switch {
	case d.seps > 0, !d.legacy && (d.month == 0 || d.commas > 0):
		d.fail(dateSyntax)
		return
	case d.open, d.count+d.month == 0, d.count > 0 && d.numbers[d.count-1].digits == 4:
		d.fail(dateRange)
	}
	d.commas++
	d.commaAt = d.count
	d.open = true
	d.s = d.s[1:]
}

func (d *dateScan) digits() dateNumber {
	var n dateNumber
	for n.digits < len(d.s) && isDigit(d.s[n.digits]) {
		if n.digits < 9 {
			n.value = n.value*10 + int(d.s[n.digits]-'0')
		}
		n.digits++
	}
	d.s = d.s[n.digits:]
	return n
}

// number reads a number of the date, or the whole time of day.
func (d *dateScan) number() {
	n := d.digits()
	rest := trimBlanks(d.s)
	switch {
	case strings.HasPrefix(d.s, ":"), len(rest) >= 2 && isMeridian(rest[:2]):
		d.clock(n)
	case d.hasClock && !d.legacy:
		d.fail(dateSyntax)
	case d.count == len(d.numbers):
		d.fail(dateRange)
	default:
		d.numbers[d.count] = n
		d.count++
		d.open = false
		d.dateZulu()
	}
}

func isMeridian(s string) bool { return strings.EqualFold(s, "AM") || strings.EqualFold(s, "PM") }

// dateZulu reads the Z that may follow yyyy-mm-dd, and for the legacy reader a
// year alone.
func (d *dateScan) dateZulu() {
	rest := d.s
	if d.legacy {
		rest = strings.TrimLeft(rest, " ")
	}
	if rest != "Z" {
		return
	}
	whole := d.count == 3 && d.seps == 2 && d.sep == '-' && d.numbers[0].digits == 4
	if d.legacy && d.zulu {
		whole = whole || (d.count == 1 && d.numbers[0].digits == 4)
	} else if d.legacy {
		whole = false
	}
	if whole {
		d.s = ""
	}
}

// word reads a month name.
func (d *dateScan) word() {
	n := 0
	for n < len(d.s) && (isUpperASCII(d.s[n]) || isLowerASCII(d.s[n])) {
		n++
	}
	w := d.s[:n]
	d.s = d.s[n:]
	if d.hasClock && !d.legacy {
		d.fail(dateSyntax)
		return
	}
	for i, name := range monthNames {
		if strings.EqualFold(w, name) || strings.EqualFold(w, monthShort[i]) {
			if d.month > 0 {
				d.fail(dateRange)
			}
			d.month, d.monthAt, d.open = i+1, d.count, false
			return
		}
	}
	if d.legacy && isMeridian(w) {
		d.fail(dateRange)
		return
	}
	d.fail(dateSyntax)
}

// date puts the numbers together.
func (d *dateScan) date() int {
	var year, month, day int
	status := dateSyntax
	switch {
	case d.month > 0:
		year, day, status = d.named()
		month = d.month
	case d.count == 1 && d.seps == 0 && d.commas == 0:
		year, month, day, status = d.unseparated()
	case d.count == 3 && d.seps == 2 && d.textOnly:
		status = dateStyle
	case d.count == 3 && d.seps == 2:
		year, month, day, status = d.separated()
	}
	if status != dateOK {
		d.fail(status)
		return 0
	}
	days, ok := daysFromYMD(year, month, day)
	if !ok {
		d.fail(dateRange)
	}
	return days
}

// named reads day and year around a month name: a number of four digits is the
// year; of two short ones the first is the day.
func (d *dateScan) named() (year, day int, status dateStatus) {
	a, b := d.numbers[0], d.numbers[1]
	if d.seps > 0 && (d.seps != 2 || d.count != 2 || d.monthAt != 1) {
		return 0, 0, dateSyntax // Jan-2-2024
	}
	if d.commas > 0 && !d.legacy && (d.count != 2 || d.commaAt != 1 || a.digits == 4) {
		return 0, 0, dateSyntax
	}
	switch {
	case d.count == 1 && a.digits == 4:
		return a.value, 1, dateOK
	case d.count == 3:
		return 0, 0, dateRange
	case d.count != 2:
		return 0, 0, dateSyntax
	case a.digits == 4 && b.digits <= 2:
		return a.value, b.value, dateOK
	case b.digits == 4 && a.digits <= 2:
		return b.value, a.value, dateOK
	case a.digits <= 2 && b.digits <= 2:
		return fullYear(b.value), a.value, dateOK
	}
	return 0, 0, dateSyntax
}

func (d *dateScan) unseparated() (year, month, day int, status dateStatus) {
	n := d.numbers[0]
	switch n.digits {
	case 8:
		return n.value / 10000, n.value / 100 % 100, n.value % 100, dateOK
	case 6:
		return fullYear(n.value / 10000), n.value / 100 % 100, n.value % 100, dateOK
	case 4:
		return n.value, 1, 1, dateOK
	}
	return 0, 0, 0, dateSyntax
}

func (d *dateScan) separated() (year, month, day int, status dateStatus) {
	order, status := d.partOrder()
	if status != dateOK {
		return 0, 0, 0, status
	}
	for i, c := range []byte(order) {
		n := d.numbers[i]
		if c == 'y' {
			if d.yearDigits != 0 && n.digits != d.yearDigits || n.digits > 4 || n.digits == 3 && !d.legacy {
				return 0, 0, 0, dateSyntax
			}
			year = n.value
			if n.digits < 4 {
				year = fullYear(year)
			}
			continue
		}
		if n.digits > 3 || n.digits > 2 && !d.legacy {
			return 0, 0, 0, dateSyntax
		}
		if c == 'm' {
			month = n.value
		} else {
			day = n.value
		}
	}
	return year, month, day, dateOK
}

// partOrder returns the order of the three parts of a numeric date. For the
// legacy types the one part of four digits is the year, wherever it stands, and
// month and day keep their order; for the later types only in front, where it
// means year, month, day.
func (d *dateScan) partOrder() (string, dateStatus) {
	order := dateFormatNames[d.order]
	at, longs := -1, 0
	for i, n := range d.numbers {
		if n.digits == 4 {
			at = i
			longs++
		}
	}
	switch {
	case longs > 1:
		return "", dateRange
	case d.legacy && at >= 0:
		rest := strings.Replace(order, "y", "", 1)
		return rest[:at] + "y" + rest[at:], dateOK
	case d.legacy || d.forced:
	case at == 0:
		return "ymd", dateOK
	case d.order == FormatYDM:
		return "", dateSyntax
	case d.order == FormatYMD && at == 2:
		return "mdy", dateOK
	}
	return order, dateOK
}

// fullYear completes a year of two digits: up to 49 it is 20xx.
func fullYear(year int) int {
	switch {
	case year >= 100:
		return year
	case year <= defaultCutoff%100:
		return defaultCutoff/100*100 + year
	}
	return (defaultCutoff/100-1)*100 + year
}

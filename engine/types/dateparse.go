package types

import "strings"

// dateScan reads one text as a date and time. The formats are those documented
// for datetime ("Supported string literal formats"): ISO 8601, ODBC, unseparated,
// numeric with / - or ., and month names, each with or without a time; either
// of date and time may stand first.
type dateScan struct {
	s      string
	order  DateFormat
	legacy bool // datetime and smalldatetime: yyyy-mm-dd depends on DATEFORMAT
	iso    bool // yyyy-mm-ddT…

	numbers  [3]dateNumber
	count    int
	sep      byte // between the numbers of the date
	month    int  // from a name
	monthAt  int  // how many numbers stand before it
	hasClock bool
	hasZone  bool
	ticks    int64
	off      int
	status   dateStatus
}

type dateNumber struct{ value, digits int }

type dateStatus uint8

const (
	dateOK     dateStatus = iota
	dateSyntax            // no date or time at all
	dateRange             // the parts are there, but out of range
)

// parseMoment reads s. legacy says that the target is datetime or smalldatetime.
func parseMoment(s string, order DateFormat, legacy bool) (moment, *dateScan) {
	d := &dateScan{s: trimBlanks(s), order: order, legacy: legacy}
	if d.s == "" {
		return moment{days: days1900}, d
	}
	d.odbc()
	d.scan()
	m := moment{days: days1900, ticks: d.ticks, off: d.off}
	if d.status == dateOK && (d.count > 0 || d.month > 0) {
		m.days = d.date()
	}
	return m, d
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
		d.status = dateSyntax
		return
	}
	d.s, d.order = trimBlanks(text[:len(text)-1]), FormatYMD
}

func (d *dateScan) fail(s dateStatus) {
	if d.status == dateOK {
		d.status = s
	}
	if s == dateSyntax {
		d.status = s
		d.s = ""
	}
}

func (d *dateScan) scan() {
	for d.s != "" {
		c := d.s[0]
		switch {
		case isBlank(c):
			d.s = d.s[1:]
		case c >= '0' && c <= '9':
			d.number()
		case isUpperASCII(c) || isLowerASCII(c):
			d.word()
		case (c == '/' || c == '-' || c == '.') && d.count > 0 && d.count < 3 && !d.hasClock:
			d.separator(c)
		case c == ',' && (d.month > 0 || d.count > 0):
			d.s = d.s[1:]
		default:
			d.fail(dateSyntax)
		}
	}
	if d.count == 0 && d.month == 0 && !d.hasClock {
		d.fail(dateSyntax)
	}
}

// separator reads the sign between two numbers of a date; a month name may stand
// on either side of it (30-Nov-2026).
func (d *dateScan) separator(c byte) {
	if d.sep != 0 && d.sep != c {
		d.fail(dateSyntax)
		return
	}
	d.sep = c
	d.s = trimBlanks(d.s[1:])
	if d.s == "" {
		d.fail(dateSyntax)
	}
}

func (d *dateScan) digits() dateNumber {
	var n dateNumber
	for n.digits < len(d.s) && d.s[n.digits] >= '0' && d.s[n.digits] <= '9' {
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
	case strings.HasPrefix(d.s, ":"):
		d.clock(n)
	case len(rest) >= 2 && isMeridian(rest[:2]):
		d.clock(n)
	case d.count == len(d.numbers) || n.digits > 8:
		d.fail(dateSyntax)
	default:
		d.numbers[d.count] = n
		d.count++
	}
}

func isMeridian(s string) bool { return strings.EqualFold(s, "AM") || strings.EqualFold(s, "PM") }

// word reads a month name, or the T of ISO 8601.
func (d *dateScan) word() {
	n := 0
	for n < len(d.s) && (isUpperASCII(d.s[n]) || isLowerASCII(d.s[n])) {
		n++
	}
	w := d.s[:n]
	d.s = d.s[n:]
	if w == "T" && d.count == 3 && d.sep == '-' && d.month == 0 && !d.hasClock && !d.iso && d.numbers[0].digits == 4 {
		d.iso = true
		if d.s == "" || d.s[0] < '0' || d.s[0] > '9' {
			d.fail(dateSyntax)
		}
		return
	}
	if len(w) >= 3 && d.month == 0 {
		for i, name := range monthNames {
			if strings.EqualFold(w, name) || strings.EqualFold(w, name[:3]) {
				d.month, d.monthAt = i+1, d.count
				if d.s != "" && (d.s[0] == '-' || d.s[0] == '/' || d.s[0] == '.') {
					d.s = d.s[1:]
				}
				return
			}
		}
	}
	d.fail(dateSyntax)
}

// clock reads hh[:mm[:ss[.fffffff]]] [AM|PM] [zone] behind the hour.
func (d *dateScan) clock(hour dateNumber) {
	if d.hasClock || hour.digits > 2 {
		d.fail(dateSyntax)
		return
	}
	d.hasClock = true
	var minute, second dateNumber
	if strings.HasPrefix(d.s, ":") {
		minute = d.part()
		if strings.HasPrefix(d.s, ":") {
			second = d.part()
			d.fraction()
		}
	}
	h := hour.value
	if rest := trimBlanks(d.s); len(rest) >= 2 && isMeridian(rest[:2]) {
		pm := rest[0]|0x20 == 'p'
		d.s = rest[2:]
		switch {
		case h > 12:
			if !pm || h > 23 {
				d.fail(dateRange)
			}
		case h == 12 && !pm:
			h = 0
		case h < 12 && pm:
			h += 12
		}
	}
	if h > 23 || minute.value > 59 || second.value > 59 {
		d.fail(dateRange)
	}
	d.ticks += int64(h*3600+minute.value*60+second.value) * ticksPerSecond
	d.zone()
}

// part reads a colon and one or two digits.
func (d *dateScan) part() dateNumber {
	d.s = d.s[1:]
	n := d.digits()
	if n.digits == 0 || n.digits > 2 {
		d.fail(dateSyntax)
	}
	return n
}

// fraction reads .fffffff, or :fff in thousandths.
func (d *dateScan) fraction() {
	if d.s == "" || (d.s[0] != '.' && d.s[0] != ':') {
		return
	}
	colon := d.s[0] == ':'
	d.s = d.s[1:]
	n := d.digits()
	limit := MaxTimeScale
	if d.legacy || colon {
		limit = 3
	}
	if n.digits == 0 || n.digits > limit {
		d.fail(dateSyntax)
		return
	}
	scale := n.digits
	if colon {
		scale = 3
	}
	d.ticks = int64(n.value) * int64(pow10[MaxTimeScale-scale].lo)
}

// zone reads Z, +hh:mm or -hh:mm.
func (d *dateScan) zone() {
	rest := trimBlanks(d.s)
	if rest == "" {
		return
	}
	if (rest[0] == 'Z' || rest[0] == 'z') && (len(rest) == 1 || isBlank(rest[1])) {
		d.hasZone, d.s = true, rest[1:]
		return
	}
	if rest[0] != '+' && rest[0] != '-' {
		return
	}
	negative := rest[0] == '-'
	if d.legacy {
		d.fail(dateSyntax)
		return
	}
	d.s = rest[1:]
	hour := d.digits()
	if hour.digits == 0 || hour.digits > 2 || !strings.HasPrefix(d.s, ":") {
		d.fail(dateSyntax)
		return
	}
	minute := d.part()
	d.off = hour.value*60 + minute.value
	if d.off > maxOffset || minute.value > 59 {
		d.fail(dateRange)
	}
	if negative {
		d.off = -d.off
	}
	d.hasZone = true
}

// date puts the numbers together.
func (d *dateScan) date() int {
	var year, month, day int
	var ok bool
	switch {
	case d.month > 0:
		year, day, ok = d.named()
		month = d.month
	case d.count == 1:
		year, month, day, ok = d.unseparated()
	case d.count == 3 && d.sep != 0:
		year, month, day, ok = d.separated()
	}
	if !ok {
		d.fail(dateSyntax)
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
func (d *dateScan) named() (year, day int, ok bool) {
	a, b := d.numbers[0], d.numbers[1]
	switch {
	case d.count == 1 && a.digits == 4:
		return a.value, 1, true
	case d.count != 2:
		return 0, 0, false
	case a.digits == 4 && b.digits <= 2:
		return a.value, b.value, true
	case b.digits == 4 && a.digits <= 2:
		return b.value, a.value, true
	case a.digits <= 2 && b.digits <= 2:
		return fullYear(b.value), a.value, true
	}
	return 0, 0, false
}

func (d *dateScan) unseparated() (year, month, day int, ok bool) {
	n := d.numbers[0]
	switch n.digits {
	case 8:
		return n.value / 10000, n.value / 100 % 100, n.value % 100, true
	case 6:
		return fullYear(n.value / 10000), n.value / 100 % 100, n.value % 100, true
	case 4:
		return n.value, 1, 1, true
	}
	return 0, 0, 0, false
}

func (d *dateScan) separated() (year, month, day int, ok bool) {
	at := -1 // where the year stands
	for i, n := range d.numbers {
		switch {
		case n.digits == 4 && at < 0:
			at = i
		case n.digits > 2:
			return 0, 0, 0, false
		}
	}
	order := dateFormatNames[d.order]
	if d.iso || (at == 0 && !d.legacy) {
		order = "ymd"
	}
	if at >= 0 { // month and day keep their order around the year
		rest := strings.Replace(order, "y", "", 1)
		order = rest[:at] + "y" + rest[at:]
	}
	for i, c := range []byte(order) {
		v := d.numbers[i].value
		switch c {
		case 'y':
			year = v
			if at < 0 {
				year = fullYear(v)
			}
		case 'm':
			month = v
		case 'd':
			day = v
		}
	}
	return year, month, day, true
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

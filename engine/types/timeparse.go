package types

import "strings"

// clock reads hh[:mm[:ss[.fffffff]]] [AM|PM] [zone] behind the hour.
func (d *dateScan) clock(hour dateNumber) {
	width := 2
	if d.legacy {
		width = 3
	}
	switch {
	case hour.digits > width, d.open && !d.legacy:
		d.fail(dateSyntax)
		return
	case d.hasClock:
		d.fail(dateRange)
	}
	d.hasClock = true
	var minute, second dateNumber
	if strings.HasPrefix(d.s, ":") {
		minute = d.part(width)
		if strings.HasPrefix(d.s, ":") {
			second = d.part(width)
			d.fraction()
		} else if d.legacy && strings.HasPrefix(d.s, ".") {
			d.fraction()
		}
	}
	h := d.meridian(hour.value)
	if h > 23 || minute.value > 59 || second.value > 59 {
		d.fail(dateRange)
	}
	d.ticks += int64(h*3600+minute.value*60+second.value) * ticksPerSecond
	d.zone()
}

// meridian reads AM or PM and returns the hour of 24.
func (d *dateScan) meridian(h int) int {
	rest := strings.TrimLeft(d.s, " ")
	if len(rest) < 2 || !isMeridian(rest[:2]) || (len(rest) > 2 && (isUpperASCII(rest[2]) || isLowerASCII(rest[2]))) {
		return h
	}
	pm := rest[0]|0x20 == 'p'
	d.s = rest[2:]
	switch {
	case h > 12 && !pm, h == 0 && pm:
		d.fail(dateRange)
	case h == 12 && !pm:
		return 0
	case h < 12 && pm:
		return h + 12
	}
	return h
}

// part reads a colon and a number of at most width digits.
func (d *dateScan) part(width int) dateNumber {
	d.s = d.s[1:]
	n := d.digits()
	if n.digits == 0 || n.digits > width {
		d.fail(dateSyntax)
	}
	return n
}

// fraction reads .fffffff, or :fff in thousandths. The later types round what is
// behind the seventh digit.
func (d *dateScan) fraction() {
	if d.s == "" || (d.s[0] != '.' && d.s[0] != ':') {
		return
	}
	colon := d.s[0] == ':'
	text := d.s[1:]
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	if n == 0 || (n > 3 && (d.legacy || colon)) {
		d.fail(dateSyntax)
		return
	}
	d.s = text[n:]
	var ticks int64
	for i := range MaxTimeScale + 1 {
		ticks *= 10
		if i < n {
			ticks += int64(text[i] - '0')
		}
	}
	if colon {
		ticks /= int64(pow10[3-n].lo)
	}
	d.ticks = (ticks + 5) / 10
}

// zone reads Z, +hh:mm or -hh:mm. The legacy reader takes Z behind a time alone,
// and no offset.
func (d *dateScan) zone() {
	rest := trimBlanks(d.s)
	if rest == "Z" && (!d.legacy || d.zulu && d.count == 0 && d.month == 0) {
		d.s = ""
		return
	}
	if rest == "" || (rest[0] != '+' && rest[0] != '-') || d.legacy {
		return
	}
	d.s = trimBlanks(rest[1:])
	hour := d.digits()
	if hour.digits == 0 || hour.digits > 2 || !strings.HasPrefix(d.s, ":") {
		d.fail(dateSyntax)
		return
	}
	minute := d.part(2)
	d.off = hour.value*60 + minute.value
	if d.off > maxOffset || minute.value > 59 || d.s != "" {
		d.fail(dateSyntax)
	}
	if rest[0] == '-' {
		d.off = -d.off
	}
}

// isISO reports whether s begins with yyyy-mm-ddT.
func isISO(s string) bool {
	if len(s) < 11 || s[4] != '-' || s[7] != '-' || s[10] != 'T' {
		return false
	}
	return allDigits(s[:4]) && allDigits(s[5:7]) && allDigits(s[8:10])
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return true
}

// isoForm reads yyyy-mm-ddThh:mm:ss[.fffffff][zone]: no part may be left out, no
// blank may stand between them.
func (d *dateScan) isoForm() (moment, dateStatus) {
	if !d.iso {
		return moment{}, d.isoFault
	}
	s := d.s
	two := func(at int) int { return int(s[at]-'0')*10 + int(s[at+1]-'0') }
	if len(s) < 19 || s[13] != ':' || s[16] != ':' || !allDigits(s[11:13]) || !allDigits(s[14:16]) || !allDigits(s[17:19]) {
		return moment{}, dateSyntax
	}
	days, ok := daysFromYMD(two(0)*100+two(2), two(5), two(8))
	hour, minute, second := two(11), two(14), two(17)
	if !ok || hour > 23 || minute > 59 || second > 59 {
		return moment{}, dateRange
	}
	d.s = s[19:]
	if strings.HasPrefix(d.s, ".") {
		d.fraction()
	}
	if rest := d.s; rest != "" {
		if rest[0] != '+' && rest[0] != '-' && rest != "Z" {
			return moment{}, dateSyntax
		}
		d.zone()
		if d.s != "" {
			return moment{}, dateSyntax
		}
	}
	ticks := d.ticks + int64(hour*3600+minute*60+second)*ticksPerSecond
	return moment{days: days, ticks: ticks, off: d.off}.carry(), d.status
}

// carry moves a whole day of ticks, which rounding a fraction may give, to the
// day.
func (m moment) carry() moment {
	if m.ticks >= ticksPerDay {
		m.ticks -= ticksPerDay
		m.days++
	}
	return m
}

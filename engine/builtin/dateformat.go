package builtin

import (
	"fmt"
	"strconv"
	"strings"

	"loopbroker/engine/types"
)

// standardDates are the .NET standard date formats that do not depend on the
// culture.
var standardDates = map[string]string{
	"s": "yyyy'-'MM'-'dd'T'HH':'mm':'ss",
	"u": "yyyy'-'MM'-'dd HH':'mm':'ss'Z'",
	"R": "ddd, dd MMM yyyy HH':'mm':'ss 'GMT'", "r": "ddd, dd MMM yyyy HH':'mm':'ss 'GMT'",
	"O": "yyyy'-'MM'-'dd'T'HH':'mm':'ss'.'fffffffK", "o": "yyyy'-'MM'-'dd'T'HH':'mm':'ss'.'fffffffK",
}

// standardDate is the custom format of a standard date format.
func (c *culture) standardDate(format string) (string, bool) {
	switch format {
	case "d", "":
		return c.shortDate, true
	case "D":
		return c.longDate, true
	case "t":
		return c.shortTime, true
	case "T":
		return c.longTime, true
	case "f":
		return c.longDate + " " + c.shortTime, true
	case "F":
		return c.longDate + " " + c.longTime, true
	case "g":
		return c.shortDate + " " + c.shortTime, true
	case "G":
		return c.shortDate + " " + c.longTime, true
	case "M", "m":
		return c.monthDay, true
	case "Y", "y":
		return c.yearMonth, true
	}
	s, ok := standardDates[format]
	return s, ok
}

// formatDate writes a date by a .NET date format string; ok is false if the
// format is not valid.
func (c *culture) formatDate(v types.Value, format string) (string, bool) {
	if len(format) <= 1 {
		standard, ok := c.standardDate(format)
		if !ok {
			return "", false
		}
		if format != "" && strings.Contains("RroOsu", format) {
			c = &culture{names: &english, dateSeparator: "/"}
		}
		format = standard
	} else if format[0] == '%' {
		format = format[1:]
	}
	w := dateWriter{culture: c, value: v, civil: takeApart(v)}
	ok := w.write(format)
	return w.sb.String(), ok
}

// dateWriter writes the parts of a date.
type dateWriter struct {
	culture *culture
	value   types.Value
	civil   civil
	sb      strings.Builder
}

func (w *dateWriter) write(format string) bool {
	for i := 0; i < len(format); {
		ch := format[i]
		n := 1
		for i+n < len(format) && format[i+n] == ch {
			n++
		}
		switch ch {
		case '\'', '"':
			end := strings.IndexByte(format[i+1:], ch)
			if end < 0 {
				return false
			}
			w.sb.WriteString(format[i+1 : i+1+end])
			i += end + 2
			continue
		case '\\':
			if i+1 == len(format) {
				return false
			}
			w.sb.WriteByte(format[i+1])
			i += 2
			continue
		case '%':
			i++
			continue
		}
		if !w.part(ch, n) {
			return false
		}
		i += n
	}
	return true
}

// part writes a run of n times the same character.
func (w *dateWriter) part(ch byte, n int) bool {
	t := w.civil
	names := w.culture.names
	hour := int(t.ticks / ticksPerHour)
	switch ch {
	case 'd':
		switch weekday := weekdayFrom(t.days, 7); {
		case n >= 4:
			w.sb.WriteString(names.days[weekday])
		case n == 3:
			w.sb.WriteString(names.shortDays[weekday])
		default:
			w.number(t.day, n)
		}
	case 'M':
		switch {
		case n >= 4:
			w.sb.WriteString(names.months[t.month-1])
		case n == 3:
			w.sb.WriteString(names.shortMonths[t.month-1])
		default:
			w.number(t.month, n)
		}
	case 'y':
		year := t.year
		if n <= 2 {
			year %= 100
		}
		w.number(year, n)
	case 'h':
		w.number((hour+11)%12+1, min(n, 2))
	case 'H':
		w.number(hour, min(n, 2))
	case 'm':
		w.number(int(t.ticks/ticksPerMinute%60), min(n, 2))
	case 's':
		w.number(int(t.ticks/ticksPerSecond%60), min(n, 2))
	case 'f', 'F':
		return w.fraction(ch, n)
	case 't':
		mark := w.culture.am
		if hour >= 12 {
			mark = w.culture.pm
		}
		if n == 1 && mark != "" {
			mark = mark[:1]
		}
		w.sb.WriteString(mark)
	case 'z', 'K':
		w.zone(ch, n)
	case 'g':
		w.sb.WriteString("A.D.")
	case '/':
		w.sb.WriteString(strings.Repeat(w.culture.dateSeparator, n))
	default:
		w.sb.WriteString(strings.Repeat(string(ch), n))
	}
	return true
}

func (w *dateWriter) number(n, digits int) {
	s := strconv.Itoa(n)
	w.sb.WriteString(strings.Repeat("0", max(digits-len(s), 0)) + s)
}

// fraction writes digits of the second; F leaves out zeros at the end, and the
// point before them.
func (w *dateWriter) fraction(ch byte, n int) bool {
	if n > 7 {
		return false
	}
	digits := fmt.Sprintf("%07d", w.civil.subsecond/100)[:n]
	if w.value.Kind() == types.KindDateTime {
		digits = fmt.Sprintf("%03d0000", (w.civil.subsecond+500_000)/1_000_000)[:n]
	}
	if ch == 'F' {
		digits = strings.TrimRight(digits, "0")
		if s := w.sb.String(); digits == "" && strings.HasSuffix(s, ".") {
			w.sb.Reset()
			w.sb.WriteString(s[:len(s)-1])
		}
	}
	w.sb.WriteString(digits)
	return true
}

// zone writes the offset; K is empty for a type that has none.
func (w *dateWriter) zone(ch byte, n int) {
	hasOffset := w.value.Kind() == types.KindDateTimeOffset
	if ch == 'K' && !hasOffset {
		return
	}
	text := offsetText(w.value.Offset())
	switch {
	case ch == 'K' || n >= 3:
		w.sb.WriteString(text)
	case n == 2:
		w.sb.WriteString(text[:3])
	default:
		w.sb.WriteString(text[:1] + strings.TrimPrefix(text[1:3], "0"))
	}
}

// formatSpan writes a time, which .NET formats as a span: every character that
// is not a part must be quoted or escaped.
func formatSpan(v types.Value, format string) (string, bool) {
	if format == "c" || format == "t" || format == "T" || format == "" {
		format = `hh\:mm\:ss`
		if v.Ticks()%ticksPerSecond != 0 {
			format += `\.fffffff`
		}
	} else if len(format) == 1 {
		return "", false
	}
	for i := 0; i < len(format); i++ {
		switch ch := format[i]; ch {
		case '\\':
			i++
		case '\'', '"':
			end := strings.IndexByte(format[i+1:], ch)
			if end < 0 {
				return "", false
			}
			i += end + 1
		case 'd', 'h', 'm', 's', 'f', 'F', '%':
		default:
			return "", false
		}
	}
	var sb strings.Builder
	w := spanWriter{ticks: v.Ticks()}
	ok := w.write(&sb, format)
	return sb.String(), ok
}

type spanWriter struct{ ticks int64 }

func (w spanWriter) write(sb *strings.Builder, format string) bool {
	for i := 0; i < len(format); {
		ch := format[i]
		n := 1
		for i+n < len(format) && format[i+n] == ch {
			n++
		}
		switch ch {
		case '\\':
			if i+1 == len(format) {
				return false
			}
			sb.WriteByte(format[i+1])
			i += 2
			continue
		case '\'', '"':
			end := strings.IndexByte(format[i+1:], ch)
			sb.WriteString(format[i+1 : i+1+end])
			i += end + 2
			continue
		case '%':
			i++
			continue
		case 'f', 'F':
			if n > 7 {
				return false
			}
			digits := fmt.Sprintf("%07d", w.ticks%ticksPerSecond)[:n]
			if ch == 'F' {
				digits = strings.TrimRight(digits, "0")
			}
			sb.WriteString(digits)
		default:
			if n > 2 && ch != 'd' {
				return false
			}
			value := map[byte]int64{'d': 0, 'h': w.ticks / ticksPerHour, 'm': w.ticks / ticksPerMinute % 60, 's': w.ticks / ticksPerSecond % 60}[ch]
			fmt.Fprintf(sb, "%0*d", n, value)
		}
		i += n
	}
	return true
}

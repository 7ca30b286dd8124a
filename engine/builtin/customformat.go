package builtin

import (
	"strconv"
	"strings"
)

// customNumber writes a number by a custom format: up to three sections for
// positive and negative numbers and zero.
func (c *culture) customNumber(n decimalNumber, format string) string {
	sections := splitSections(format)
	section := sections[0]
	switch {
	case n.isZero() && len(sections) > 2:
		section = sections[2]
	case n.negative && !n.isZero() && len(sections) > 1 && sections[1] != "":
		section = sections[1]
		n.negative = false
	}
	p := parseCustom(section)
	rounded := n.shift(2*p.percents + 3*p.permilles - 3*p.thousands)
	if p.exponent == "" {
		rounded = rounded.round(p.placesMost)
		if rounded.isZero() && !n.isZero() && len(sections) > 2 {
			p = parseCustom(sections[2])
		}
	}
	return p.write(c, rounded)
}

// splitSections splits at semicolons that are not quoted.
func splitSections(format string) []string {
	var sections []string
	from := 0
	for i := 0; i < len(format); i++ {
		switch format[i] {
		case '\\':
			i++
		case '\'', '"':
			if end := strings.IndexByte(format[i+1:], format[i]); end >= 0 {
				i += end + 1
			}
		case ';':
			sections = append(sections, format[from:i])
			from = i + 1
		}
	}
	return append(sections, format[from:])
}

// customFormat is one section of a custom numeric format.
type customFormat struct {
	items               []customItem
	wholeLeast          int // digits before the point at least
	wholeDigits         int // digit placeholders before the point
	placesLeast         int
	placesMost          int
	grouping            bool
	percents, permilles int
	thousands           int    // divisions by a thousand
	exponent            string // E+ and its zeros
}

// customItem is a literal, a digit placeholder, the point or the exponent.
type customItem struct {
	kind    byte // 'l', '0' or '#', '.', 'e'
	literal string
}

func parseCustom(s string) customFormat {
	var p customFormat
	point := false
	firstZero := -1
	lastDigit := -1
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; ch {
		case '0', '#':
			lastDigit = len(p.items)
			p.items = append(p.items, customItem{kind: ch})
			if point {
				p.placesMost++
				if ch == '0' {
					p.placesLeast = p.placesMost
				}
			} else {
				p.wholeDigits++
				if ch == '0' && firstZero < 0 {
					firstZero = p.wholeDigits
				}
			}
		case '.':
			if !point {
				p.items = append(p.items, customItem{kind: '.'})
			}
			point = true
		case ',':
			p.comma(s[i+1:], point, lastDigit)
		case '%':
			p.percents++
			p.items = append(p.items, customItem{'l', "%"})
		case '\'', '"':
			end := strings.IndexByte(s[i+1:], ch)
			if end < 0 {
				end = len(s) - i - 1
			}
			p.items = append(p.items, customItem{'l', s[i+1 : i+1+end]})
			i += end + 1
		case '\\':
			if i+1 < len(s) {
				i++
				p.items = append(p.items, customItem{'l', s[i : i+1]})
			}
		case 'E', 'e':
			if n := exponentLen(s[i:]); n > 0 && p.exponent == "" {
				p.exponent = s[i : i+n]
				p.items = append(p.items, customItem{kind: 'e'})
				i += n - 1
				continue
			}
			p.items = append(p.items, customItem{'l', string(ch)})
		default:
			if strings.HasPrefix(s[i:], "‰") {
				p.permilles++
				p.items = append(p.items, customItem{'l', "‰"})
				i += len("‰") - 1
				continue
			}
			p.items = append(p.items, customItem{'l', string(ch)})
		}
	}
	if firstZero >= 0 {
		p.wholeLeast = p.wholeDigits - firstZero + 1
	}
	return p
}

// comma is a group separator between digits, or, directly before the point or
// the end of the digits, a division by a thousand.
func (p *customFormat) comma(rest string, point bool, lastDigit int) {
	if point || lastDigit < 0 {
		return
	}
	after := strings.TrimLeft(rest, ",")
	if after != "" && (after[0] == '0' || after[0] == '#') {
		p.grouping = true
		return
	}
	p.thousands++
}

func exponentLen(s string) int {
	i := 1
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	start := i
	for i < len(s) && s[i] == '0' {
		i++
	}
	if i == start {
		return 0
	}
	return i
}

// write fills the placeholders from n, which is rounded to the places there are.
func (p customFormat) write(c *culture, n decimalNumber) string {
	exponent := 0
	if p.exponent != "" && !n.isZero() {
		digits := strings.TrimLeft(n.whole+n.frac, "0")
		exponent = len(digits) - len(n.frac) - max(p.wholeDigits, 1)
		n = n.shift(-exponent).round(p.placesMost)
	} else {
		n = n.round(p.placesMost)
	}
	whole := n.whole
	if len(whole) < p.wholeLeast {
		whole = strings.Repeat("0", p.wholeLeast-len(whole)) + whole
	}
	frac := strings.TrimRight(n.frac, "0")
	if len(frac) < p.placesLeast {
		frac = n.frac[:p.placesLeast]
	}
	var sb strings.Builder
	sb.WriteString(n.sign())
	placeholder := 0
	point := false
	for _, item := range p.items {
		switch item.kind {
		case 'l':
			sb.WriteString(item.literal)
		case 'e':
			sb.WriteString(p.exponentText(exponent))
		case '.':
			point = true
			if frac != "" {
				sb.WriteString(c.decimal)
			}
		default:
			if point {
				if frac != "" {
					sb.WriteByte(frac[0])
					frac = frac[1:]
				}
				continue
			}
			p.digit(c, &sb, whole, placeholder)
			placeholder++
		}
	}
	return sb.String()
}

// digit writes what stands at the placeholder of the given number before the
// point: the first one takes all digits that have no placeholder.
func (p customFormat) digit(c *culture, sb *strings.Builder, whole string, placeholder int) {
	at := len(whole) - (p.wholeDigits - placeholder) // index of the digit
	from := at
	if placeholder == 0 {
		from = 0
	}
	for i := max(from, 0); i <= at; i++ {
		sb.WriteByte(whole[i])
		if left := len(whole) - 1 - i; p.grouping && left > 0 && left%3 == 0 {
			sb.WriteString(c.group)
		}
	}
}

func (p customFormat) exponentText(exponent int) string {
	sign := ""
	zeros := len(p.exponent) - 1
	if p.exponent[1] == '+' || p.exponent[1] == '-' {
		zeros--
		if p.exponent[1] == '+' {
			sign = "+"
		}
	}
	if exponent < 0 {
		sign, exponent = "-", -exponent
	}
	e := strconv.Itoa(exponent)
	return p.exponent[:1] + sign + strings.Repeat("0", max(zeros-len(e), 0)) + e
}

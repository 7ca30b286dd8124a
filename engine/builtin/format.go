package builtin

import (
	"strconv"
	"strings"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// formatFuncs are FORMAT and FORMATMESSAGE.
func formatFuncs() []*Func {
	message := lenient("FORMATMESSAGE", 1, 21, formatMessageType, evalFormatMessage)
	message.Deterministic = false
	return []*Func{
		message,
		{Name: "FORMAT", Min: 2, Max: 3, Type: formatType, Eval: strict("FORMAT", evalFormat)},
	}
}

func formatMessageType(args []types.Type, _ []*types.Value) (types.Type, error) {
	t := args[0]
	if !t.Kind.IsChar() && !t.Kind.IsInteger() && t.Kind != types.KindNull || t.Kind.IsLOB() {
		return types.Type{}, badArgument(t, 1, "FORMATMESSAGE")
	}
	return types.NVarChar(MaxMessage + 1), nil
}

func formatType(args []types.Type, _ []*types.Value) (types.Type, error) {
	k := args[0].Kind
	if !(k.IsNumeric() && k != types.KindBit) && !k.IsDateTime() && k != types.KindNull && k != types.KindVariant {
		return types.Type{}, badArgument(args[0], 1, "FORMAT")
	}
	return types.NVarChar(types.MaxNVarChar), nil
}

// culture is how one culture writes numbers and dates.
type culture struct {
	names            *calendarNames
	decimal, group   string
	currency         string
	currencyPositive string // $ and n stand for the sign and the number
	currencyNegative string
	percent          string
	dateSeparator    string
	am, pm           string
	shortDate        string
	longDate         string
	shortTime        string
	longTime         string
	monthDay         string
	yearMonth        string
}

var americanCulture = &culture{
	names: &english, decimal: ".", group: ",", currency: "$", currencyPositive: "$n", currencyNegative: "($n)", percent: "n%",
	dateSeparator: "/", am: "AM", pm: "PM", shortDate: "M/d/yyyy", longDate: "dddd, MMMM d, yyyy", shortTime: "h:mm tt",
	longTime: "h:mm:ss tt", monthDay: "MMMM d", yearMonth: "MMMM yyyy",
}

// cultures are the cultures that FORMAT knows, in lower case.
var cultures = map[string]*culture{
	"en-us": americanCulture,
	"": {
		names: &english, decimal: ".", group: ",", currency: "¤", currencyPositive: "$n", currencyNegative: "($n)", percent: "n %",
		dateSeparator: "/", am: "AM", pm: "PM", shortDate: "MM/dd/yyyy", longDate: "dddd, dd MMMM yyyy", shortTime: "HH:mm",
		longTime: "HH:mm:ss", monthDay: "MMMM dd", yearMonth: "yyyy MMMM",
	},
	"en-gb": {
		names: &english, decimal: ".", group: ",", currency: "£", currencyPositive: "$n", currencyNegative: "-$n", percent: "n%",
		dateSeparator: "/", am: "AM", pm: "PM", shortDate: "dd/MM/yyyy", longDate: "dd MMMM yyyy", shortTime: "HH:mm",
		longTime: "HH:mm:ss", monthDay: "d MMMM", yearMonth: "MMMM yyyy",
	},
	"de-de": {
		names: &german, decimal: ",", group: ".", currency: "€", currencyPositive: "n $", currencyNegative: "-n $", percent: "n %",
		dateSeparator: ".", shortDate: "dd.MM.yyyy", longDate: "dddd, d. MMMM yyyy", shortTime: "HH:mm", longTime: "HH:mm:ss",
		monthDay: "d. MMMM", yearMonth: "MMMM yyyy",
	},
	"fr-fr": {
		names: &french, decimal: ",", group: "\u00a0", currency: "€", currencyPositive: "n $", currencyNegative: "-n $", percent: "n %",
		dateSeparator: "/", shortDate: "dd/MM/yyyy", longDate: "dddd d MMMM yyyy", shortTime: "HH:mm", longTime: "HH:mm:ss",
		monthDay: "d MMMM", yearMonth: "MMMM yyyy",
	},
}

// languageCultures are the cultures of the values of SET LANGUAGE.
var languageCultures = map[string]string{
	"": "en-us", "us_english": "en-us", "english": "en-us", "british": "en-gb", "british english": "en-gb",
	"deutsch": "de-de", "german": "de-de", "français": "fr-fr", "french": "fr-fr",
}

// culture is the culture of the third argument, or of the session's language.
func (c call) culture() (*culture, error) {
	if len(c.args) < 3 {
		language := ""
		if c.env != nil {
			language = c.env.Options().Language
		}
		name, ok := languageCultures[strings.ToLower(language)]
		if !ok {
			return nil, sqlerr.Unsupported("FORMAT with the language " + language)
		}
		return cultures[name], nil
	}
	name, err := c.text(2)
	if err != nil {
		return nil, err
	}
	found, ok := cultures[strings.ToLower(name)]
	switch {
	case ok:
		return found, nil
	case isCultureName(name):
		return nil, sqlerr.Unsupported("FORMAT with the culture " + name)
	}
	return nil, sqlerr.New(9818, name)
}

// isCultureName reports whether name has the form of a culture's name.
func isCultureName(name string) bool {
	language, rest, _ := strings.Cut(name, "-")
	if len(language) < 2 || len(language) > 3 {
		return false
	}
	for _, c := range language + rest {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-') {
			return false
		}
	}
	return len(rest) != 1
}

// evalFormat is NULL for a format that is not valid, as documented.
func evalFormat(c call) (types.Value, error) {
	format, err := c.text(1)
	if err != nil {
		return types.Null, err
	}
	culture, err := c.culture()
	if err != nil {
		return types.Null, err
	}
	v := c.args[0]
	var text string
	var ok bool
	switch {
	case v.Kind() == types.KindTime:
		text, ok = formatSpan(v, format)
	case v.Kind().IsDateTime():
		text, ok = culture.formatDate(v, format)
	default:
		text, ok = culture.formatNumber(v, format)
	}
	if !ok {
		return types.Null, nil
	}
	return c.str(text)
}

// decimalNumber is a number as its decimal digits.
type decimalNumber struct {
	negative    bool
	whole, frac string // whole has no leading zeros and may be empty
}

// numberOf takes a number apart; a float has 15 significant digits and a real 7.
func numberOf(v types.Value) decimalNumber {
	var s string
	switch {
	case v.Kind() == types.KindFloat:
		s = significant(v.Float(), 15)
	case v.Kind() == types.KindReal:
		s = significant(v.Float(), 7)
	case v.Kind() == types.KindDecimal:
		s = v.DecimalText()
	case v.Kind().IsMoney():
		n, _ := exactParts(v)
		s = n.String()
		sign := ""
		if s[0] == '-' {
			sign, s = "-", s[1:]
		}
		for len(s) < 5 {
			s = "0" + s
		}
		s = sign + s[:len(s)-4] + "." + s[len(s)-4:]
	default:
		s = strconv.FormatInt(v.Int(), 10)
	}
	var n decimalNumber
	n.negative = strings.HasPrefix(s, "-")
	n.whole, n.frac, _ = strings.Cut(strings.TrimPrefix(s, "-"), ".")
	n.whole = strings.TrimLeft(n.whole, "0")
	return n
}

// significant is f with n significant digits, without an exponent.
func significant(f float64, n int) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'e', n-1, 64), 64)
	if err != nil {
		rounded = f
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// isZero reports whether all digits are zero.
func (n decimalNumber) isZero() bool { return n.whole == "" && strings.Trim(n.frac, "0") == "" }

// round rounds to places behind the point, half away from zero, and pads with
// zeros.
func (n decimalNumber) round(places int) decimalNumber {
	if len(n.frac) <= places {
		n.frac += strings.Repeat("0", places-len(n.frac))
		return n
	}
	up := n.frac[places] >= '5'
	digits := []byte(n.whole + n.frac[:places])
	if up {
		i := len(digits) - 1
		for ; i >= 0 && digits[i] == '9'; i-- {
			digits[i] = '0'
		}
		if i >= 0 {
			digits[i]++
		} else {
			digits = append([]byte{'1'}, digits...)
		}
	}
	split := len(digits) - places
	n.whole, n.frac = strings.TrimLeft(string(digits[:split]), "0"), string(digits[split:])
	return n
}

// shift moves the decimal point by places to the right.
func (n decimalNumber) shift(places int) decimalNumber {
	for ; places > 0; places-- {
		if n.frac == "" {
			n.frac = "0"
		}
		n.whole, n.frac = strings.TrimLeft(n.whole+n.frac[:1], "0"), n.frac[1:]
	}
	for ; places < 0; places++ {
		digit := "0"
		if n.whole != "" {
			digit, n.whole = n.whole[len(n.whole)-1:], n.whole[:len(n.whole)-1]
		}
		n.frac = digit + n.frac
	}
	return n
}

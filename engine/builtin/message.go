package builtin

import (
	"errors"
	"strconv"
	"strings"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// MaxMessage is the number of characters that a message has at most; a longer
// one is cut and ends in an ellipsis.
const MaxMessage = 2047

// messageSpec is one conversion of a message: %[flags][width][.precision][h|l|I64]type.
type messageSpec struct {
	minus, plus      bool
	zero, sharp      bool
	blank            bool
	width, precision int // -1 for none
	long             bool
	verb             byte
}

// FormatMessage puts args into a message by the rules of RAISERROR and
// FORMATMESSAGE ("RAISERROR (Transact-SQL)"): %d %i %u %o %x %X %s %% with flags,
// width and precision, where a star takes the number from the arguments. A
// missing or NULL argument is written as (null). Errors are 2748, 2786 and 2787.
func FormatMessage(format string, args []types.Value) (string, error) {
	m := messageWriter{args: args}
	for {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			m.sb.WriteString(format)
			return cutMessage(m.sb.String()), nil
		}
		m.sb.WriteString(format[:i])
		format = format[i+1:]
		if strings.HasPrefix(format, "%") {
			m.sb.WriteByte('%')
			format = format[1:]
			continue
		}
		rest, err := m.conversion(format)
		if err != nil {
			return "", err
		}
		format = rest
	}
}

func cutMessage(s string) string {
	if types.UTF16Len(s) <= MaxMessage {
		return s
	}
	return types.UTF16Substring(s, 0, MaxMessage-3) + "..."
}

type messageWriter struct {
	args []types.Value
	next int
	sb   strings.Builder
}

// conversion writes one argument and returns what follows its specification.
func (m *messageWriter) conversion(s string) (string, error) {
	spec, rest, err := m.parse(s)
	if err != nil {
		return "", err
	}
	if m.next >= len(m.args) || m.args[m.next].IsNull() {
		m.next++
		m.sb.WriteString("(null)")
		return rest, nil
	}
	v := m.args[m.next]
	m.next++
	if err := allowed(v, m.next); err != nil {
		return "", err
	}
	text, ok := spec.format(v)
	if !ok {
		return "", sqlerr.New(2786, m.next)
	}
	m.sb.WriteString(spec.pad(text))
	return rest, nil
}

// allowed reports whether a value may be put into a message: error 2748.
func allowed(v types.Value, number int) error {
	switch v.Kind() {
	case types.KindNull, types.KindTinyInt, types.KindSmallInt, types.KindInt, types.KindBigInt,
		types.KindChar, types.KindVarChar, types.KindNChar, types.KindNVarChar, types.KindBinary, types.KindVarBinary:
		return nil
	}
	name := v.Kind().String()
	if v.Kind() == types.KindDecimal {
		name = "numeric"
	}
	return sqlerr.New(2748, name, number)
}

func (m *messageWriter) parse(s string) (messageSpec, string, error) {
	spec := messageSpec{width: -1, precision: -1}
	i := 0
flags:
	for ; i < len(s); i++ {
		switch s[i] {
		case '-':
			spec.minus = true
		case '+':
			spec.plus = true
		case '0':
			spec.zero = true
		case '#':
			spec.sharp = true
		case ' ':
			spec.blank = true
		default:
			break flags
		}
	}
	var err error
	if spec.width, i, err = m.number(s, i); err != nil {
		return spec, "", err
	}
	if i < len(s) && s[i] == '.' {
		if spec.precision, i, err = m.number(s, i+1); err != nil {
			return spec, "", err
		}
		spec.precision = max(spec.precision, 0)
	}
	switch {
	case strings.HasPrefix(s[i:], "I64"):
		spec.long = true
		i += 3
	case i < len(s) && (s[i] == 'h' || s[i] == 'l'):
		i++
	}
	if i == len(s) || strings.IndexByte("diuoxXs", s[i]) < 0 {
		return spec, "", sqlerr.New(2787, "%"+s[:min(i+1, len(s))])
	}
	spec.verb = s[i]
	return spec, s[i+1:], nil
}

// number reads a width or precision: digits, or a star for the next argument.
func (m *messageWriter) number(s string, i int) (n, end int, err error) {
	if i < len(s) && s[i] == '*' {
		if m.next >= len(m.args) || !m.args[m.next].Kind().IsInteger() {
			return 0, i, sqlerr.New(2786, m.next+1)
		}
		n := int(min(m.args[m.next].Int(), MaxMessage))
		m.next++
		return n, i + 1, nil
	}
	start := i
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == start {
		return -1, i, nil
	}
	n, convErr := strconv.Atoi(s[start:i])
	if convErr != nil || n > MaxMessage {
		n = MaxMessage
	}
	return n, i, nil
}

// format is v as text without padding to the width; ok is false if it is of the
// wrong type for the conversion.
func (s messageSpec) format(v types.Value) (text string, ok bool) {
	if s.verb == 's' {
		if !v.Kind().IsChar() && !v.Kind().IsBinary() {
			return "", false
		}
		text = v.Text()
		if v.Kind().IsBinary() {
			text = types.DecodeVarChar(v.Bytes())
		}
		if s.precision >= 0 {
			text = types.UTF16Substring(text, 0, s.precision)
		}
		return text, true
	}
	if !v.Kind().IsInteger() || (v.Kind() == types.KindBigInt) != s.long {
		return "", false
	}
	return s.integer(v.Int()), true
}

func (s messageSpec) integer(n int64) string {
	sign, digits := "", ""
	unsigned := uint64(n)
	if !s.long {
		unsigned = uint64(uint32(n))
	}
	switch s.verb {
	case 'd', 'i':
		magnitude := uint64(n)
		switch {
		case n < 0:
			sign, magnitude = "-", -magnitude
		case s.plus:
			sign = "+"
		case s.blank:
			sign = " "
		}
		digits = strconv.FormatUint(magnitude, 10)
	case 'u':
		digits = strconv.FormatUint(unsigned, 10)
	case 'o':
		digits = strconv.FormatUint(unsigned, 8)
		if s.sharp && digits[0] != '0' {
			digits = "0" + digits
		}
	default:
		digits = strconv.FormatUint(unsigned, 16)
		if s.sharp && n != 0 {
			sign = "0x"
		}
		if s.verb == 'X' {
			digits, sign = strings.ToUpper(digits), strings.ToUpper(sign)
		}
	}
	least := s.precision
	if s.zero && !s.minus && s.precision < 0 {
		least = s.width - len(sign)
	}
	if len(digits) < least {
		digits = strings.Repeat("0", least-len(digits)) + digits
	}
	return sign + digits
}

// pad brings text to the width.
func (s messageSpec) pad(text string) string {
	n := s.width
	left := s.minus
	if n < -1 { // a negative star
		n, left = -n, true
	}
	missing := n - types.UTF16Len(text)
	if missing <= 0 {
		return text
	}
	if left {
		return text + strings.Repeat(" ", missing)
	}
	return strings.Repeat(" ", missing) + text
}

// terseMessage is what FORMATMESSAGE returns, where RAISERROR raises an error,
// for a message that cannot be formatted.
const terseMessage = "Error: 50000, Severity: -1, State: 1. (Params:). The error is printed in terse mode because there was error during formatting. Tracing, ETW, notifications etc are skipped.\r\n"

// evalFormatMessage is FORMATMESSAGE: the message is text, or the number of one
// of the engine's messages. Numbers below 13000 give NULL, as documented.
func evalFormatMessage(c call) (types.Value, error) {
	v := c.args[0]
	if v.IsNull() {
		return types.Null, nil
	}
	var format string
	if v.Kind().IsChar() {
		format = v.Text()
	} else {
		n, err := c.integer(0)
		if err != nil || n < 13000 {
			return types.Null, err
		}
		_, text, ok := sqlerr.Template(int32(n))
		if !ok {
			return types.Null, nil
		}
		format = text
	}
	s, err := FormatMessage(format, c.args[1:])
	var e *sqlerr.Error
	if format == "" || errors.As(err, &e) && (e.Number == 2786 || e.Number == 2787) {
		return types.NewNVarChar(terseMessage), nil
	}
	return types.NewNVarChar(s), err
}

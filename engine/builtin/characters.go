package builtin

import (
	"math"
	"strconv"
	"strings"

	"loopbroker/engine/builtin/json"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// characterFuncs are the functions of single characters, of names and of
// numbers as text.
func characterFuncs() []*Func {
	return []*Func{
		pure("ASCII", 1, 1, refusing("ASCII", fixed(types.TypeInt), lobs...), evalASCII),
		pure("UNICODE", 1, 1, refusing("UNICODE", fixed(types.TypeInt), lobs...), evalUnicode),
		pure("CHAR", 1, 1, fixed(types.Char(1)), evalChar),
		pure("NCHAR", 1, 1, fixed(types.NChar(1)), evalNChar),
		pure("QUOTENAME", 1, 2, fixed(types.NVarChar(258)), evalQuoteName),
		pure("PARSENAME", 2, 2, fixed(sysname), evalParseName),
		pure("SOUNDEX", 1, 1, soundexType("SOUNDEX", types.VarChar(4)), evalSoundex),
		pure("DIFFERENCE", 2, 2, soundexType("DIFFERENCE", types.TypeInt), evalDifference),
		lenient("STR", 1, 3, strType, evalStr),
		pure("STRING_ESCAPE", 2, 2, fixed(types.NVarChar(types.Max)), evalStringEscape),
	}
}

func soundexType(name string, t types.Type) typeFunc { return refusing(name, fixed(t), lobs...) }

func evalASCII(c call) (types.Value, error) {
	s, err := c.text(0)
	if err != nil || s == "" {
		return types.Null, err
	}
	return types.NewInt(int64(types.EncodeVarChar(s)[0])), nil
}

func evalUnicode(c call) (types.Value, error) {
	s, err := c.text(0)
	if err != nil || s == "" {
		return types.Null, err
	}
	return types.NewInt(int64(appendUnits(nil, s)[0])), nil
}

func evalChar(c call) (types.Value, error) {
	n, err := c.integer(0)
	if err != nil || n < 0 || n > 255 {
		return types.Null, err
	}
	return types.NewString(types.KindChar, types.DecodeVarChar([]byte{byte(n)})), nil
}

func evalNChar(c call) (types.Value, error) {
	n, err := c.integer(0)
	if err != nil || n < 0 || n > 0xFFFF {
		return types.Null, err
	}
	return types.NewString(types.KindNChar, unitText([]uint16{uint16(n)})), nil
}

// quotes are the characters that QUOTENAME accepts, with what closes them.
var quotes = map[string][2]string{
	"[": {"[", "]"}, "]": {"[", "]"}, "'": {"'", "'"}, `"`: {`"`, `"`}, "`": {"`", "`"},
	"(": {"(", ")"}, ")": {"(", ")"}, "<": {"<", ">"}, ">": {"<", ">"}, "{": {"{", "}"}, "}": {"{", "}"},
}

func evalQuoteName(c call) (types.Value, error) {
	s, err := c.text(0)
	if err != nil {
		return types.Null, err
	}
	quote := "["
	if len(c.args) == 2 {
		if quote, err = c.text(1); err != nil {
			return types.Null, err
		}
		if quote != "" {
			quote = quote[:1]
		}
	}
	pair, ok := quotes[quote]
	if !ok || types.UTF16Len(s) > 128 {
		return types.Null, nil
	}
	return types.NewNVarChar(pair[0] + strings.ReplaceAll(s, pair[1], pair[1]+pair[1]) + pair[1]), nil
}

// evalParseName is PARSENAME(name, piece): piece 1 is the object, 4 the server.
func evalParseName(c call) (types.Value, error) {
	s, err := c.text(0)
	if err != nil {
		return types.Null, err
	}
	piece, err := c.integer(1)
	if err != nil {
		return types.Null, err
	}
	parts, ok := SplitName(s)
	if !ok || piece < 1 || piece > int64(len(parts)) {
		return types.Null, nil
	}
	part := parts[len(parts)-int(piece)]
	if part == "" {
		return types.Null, nil
	}
	return types.NewNVarChar(part), nil
}

// SplitName splits a name of one to four parts, which may be in brackets or
// double quotes; ok is false if it is none. A part may be empty but the last.
func SplitName(s string) (parts []string, ok bool) {
	for {
		s = strings.TrimLeft(s, " ")
		var part string
		if s != "" && (s[0] == '[' || s[0] == '"') {
			if part, s, ok = quotedPart(s); !ok {
				return nil, false
			}
			s = strings.TrimLeft(s, " ")
			if s != "" && s[0] != '.' {
				return nil, false
			}
		} else {
			n := strings.IndexByte(s, '.')
			if n < 0 {
				n = len(s)
			}
			part, s = strings.TrimRight(s[:n], " "), s[n:]
			if strings.ContainsAny(part, `[]"`) {
				return nil, false
			}
		}
		if types.UTF16Len(part) > 128 {
			return nil, false
		}
		parts = append(parts, part)
		if s == "" {
			return parts, part != "" && len(parts) <= 4
		}
		s = s[1:]
	}
}

// quotedPart reads a part in brackets or quotes; the closing character is
// doubled inside of it.
func quotedPart(s string) (part, rest string, ok bool) {
	closing := byte('"')
	if s[0] == '[' {
		closing = ']'
	}
	var sb strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] == closing {
			if i+1 < len(s) && s[i+1] == closing {
				i++
			} else {
				return sb.String(), s[i+1:], true
			}
		}
		sb.WriteByte(s[i])
	}
	return "", "", false
}

// soundexCodes are the digits of the letters a to z; a vowel and Y have 0, H
// and W, which do not separate two equal letters, have a blank.
const soundexCodes = "01230120022455012623010202"

// soundex is the four-character code of s: "SOUNDEX (Transact-SQL)".
func soundex(s string) string {
	code := make([]byte, 0, 4)
	last := byte('0')
	for i := 0; i < len(s) && len(code) < 4; i++ {
		c := s[i] &^ 0x20
		if c < 'A' || c > 'Z' {
			if len(code) == 0 {
				return "0000"
			}
			break
		}
		d := soundexCodes[c-'A']
		switch {
		case len(code) == 0:
			code = append(code, c)
		case c == 'H' || c == 'W':
			continue
		case d != '0' && d != last:
			code = append(code, d)
		}
		last = d
	}
	if len(code) == 0 {
		return "0000"
	}
	for len(code) < 4 {
		code = append(code, '0')
	}
	return string(code)
}

func evalSoundex(c call) (types.Value, error) {
	s, err := c.text(0)
	return types.NewVarChar(soundex(s)), err
}

// evalDifference counts the places in which two codes agree.
func evalDifference(c call) (types.Value, error) {
	s, err := c.texts(2)
	if err != nil {
		return types.Null, err
	}
	a, b := soundex(s[0]), soundex(s[1])
	n := 0
	for i := range 4 {
		if a[i] == b[i] {
			n++
		}
	}
	return types.NewInt(int64(n)), nil
}

// strType is varchar of the length that is asked for.
func strType(args []types.Type, consts []*types.Value) (types.Type, error) {
	length := 10
	if len(args) > 1 {
		length = types.MaxVarChar
		if n, ok := constInt(consts, 1); ok {
			length = int(min(max(n, 1), types.MaxVarChar))
		}
	}
	return types.VarChar(length), nil
}

// evalStr is STR(number, length, decimals): right-justified, asterisks if the
// whole part does not fit. NULL decimals are none.
func evalStr(c call) (types.Value, error) {
	if c.args[0].IsNull() || len(c.args) > 1 && c.args[1].IsNull() {
		return types.Null, nil
	}
	f, err := c.float(0)
	if err != nil {
		return types.Null, err
	}
	length, decimals := int64(10), int64(0)
	if len(c.args) > 1 {
		if length, err = c.integer(1); err != nil {
			return types.Null, err
		}
	}
	if len(c.args) > 2 && !c.args[2].IsNull() {
		if decimals, err = c.integer(2); err != nil {
			return types.Null, err
		}
	}
	if length <= 0 || length > types.MaxVarChar || decimals < 0 {
		return types.Null, nil
	}
	return types.NewVarChar(strNumber(f, int(length), int(min(decimals, 16)))), nil
}

func strNumber(f float64, length, decimals int) string {
	whole := strconv.FormatFloat(math.Trunc(f), 'f', 0, 64)
	if f < 0 && whole[0] != '-' {
		whole = "-" + whole
	}
	if len(whole) > length {
		return strings.Repeat("*", length)
	}
	decimals = min(decimals, max(length-len(whole)-1, 0))
	text := strconv.FormatFloat(roundFloat(f, int64(decimals), false), 'f', decimals, 64)
	if len(text) > length {
		return strings.Repeat("*", length)
	}
	return strings.Repeat(" ", length-len(text)) + text
}

func evalStringEscape(c call) (types.Value, error) {
	s, err := c.texts(2)
	if err != nil {
		return types.Null, err
	}
	if !strings.EqualFold(s[1], "json") {
		return types.Null, sqlerr.Unsupported("STRING_ESCAPE of type " + s[1])
	}
	return types.NewNVarChar(json.Escape(s[0])), nil
}

package json

import (
	"encoding/base64"
	"strconv"
	"strings"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// AppendValue appends a SQL value as JSON text: numbers and bits as they are,
// date types in ISO form, binary data in base64, everything else as a string,
// NULL as null.
func AppendValue(dst []byte, v types.Value) ([]byte, error) {
	switch v.Kind() {
	case types.KindNull:
		return append(dst, "null"...), nil
	case types.KindBit:
		return strconv.AppendBool(dst, v.Bool()), nil
	case types.KindTinyInt, types.KindSmallInt, types.KindInt, types.KindBigInt:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case types.KindMoney, types.KindSmallMoney:
		return appendMoney(dst, v.MoneyUnits()), nil
	case types.KindFloat:
		return appendFloat(dst, v.Float(), 15), nil
	case types.KindReal:
		return appendFloat(dst, v.Float(), 7), nil
	case types.KindBinary, types.KindVarBinary, types.KindImage, types.KindRowVersion:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.Bytes())
		return append(dst, '"'), nil
	case types.KindDate, types.KindTime, types.KindSmallDateTime, types.KindDateTime, types.KindDateTime2, types.KindDateTimeOffset:
		text, err := isoText(v)
		return AppendString(dst, text), err
	case types.KindChar, types.KindVarChar, types.KindNChar, types.KindNVarChar, types.KindText, types.KindNText, types.KindXML:
		return AppendString(dst, v.Text()), nil
	case types.KindDecimal:
		text, err := types.Convert(v, types.NVarChar(50), 0)
		return append(dst, text.Text()...), err
	}
	text, err := types.Convert(v, types.NVarChar(4000), 0)
	return AppendString(dst, text.Text()), err
}

func appendMoney(dst []byte, units int64) []byte {
	n := uint64(units)
	if units < 0 {
		dst = append(dst, '-')
		n = -n
	}
	dst = strconv.AppendUint(dst, n/10000, 10)
	frac := strconv.FormatUint(10000+n%10000, 10)
	return append(append(dst, '.'), frac[1:]...)
}

// appendFloat writes a number in scientific notation with an exponent of three
// digits.
func appendFloat(dst []byte, f float64, digits int) []byte {
	s := strconv.FormatFloat(f, 'e', digits, 64)
	i := strings.IndexByte(s, 'e') + 2
	dst = append(dst, s[:i]...)
	for range 3 - (len(s) - i) {
		dst = append(dst, '0')
	}
	return append(dst, s[i:]...)
}

// isoText is a date type in ISO form; a fraction of nothing but zeros is left
// out and UTC is written as Z.
func isoText(v types.Value) (string, error) {
	c, err := types.Convert(v, types.NVarChar(50), 126)
	if err != nil {
		return "", err
	}
	s := c.Text()
	zone := ""
	if v.Kind() == types.KindDateTimeOffset && len(s) > 6 {
		s, zone = s[:len(s)-6], s[len(s)-6:]
		s = strings.TrimRight(s, " ")
		if zone == "+00:00" {
			zone = "Z"
		}
	}
	if i := strings.LastIndexByte(s, '.'); i >= 0 && strings.Trim(s[i+1:], "0") == "" {
		s = s[:i]
	}
	return s + zone, nil
}

// ColumnValue is the value of a column of OPENJSON's WITH clause: Column,
// converted to the type of the column.
func (i Item) ColumnValue(p *Path, asJSON bool, t types.Type) (types.Value, error) {
	text, ok, err := i.Column(p, asJSON)
	if err != nil || !ok {
		return types.Null, err
	}
	switch t.Kind {
	case types.KindBinary, types.KindVarBinary:
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return types.Null, sqlerr.WithState(13612, 5)
		}
		if t.Length != types.Max && len(raw) > t.Length {
			return types.Null, sqlerr.New(13613)
		}
		return types.Convert(types.NewVarBinary(raw), t, 0)
	case types.KindText, types.KindNText, types.KindImage, types.KindVariant:
		return types.Null, sqlerr.New(13614)
	}
	return types.Convert(types.NewNVarChar(text), t, 0)
}

package builtin_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"loopbroker/engine/builtin"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// session is the Env of the tests.
type session struct {
	options builtin.Options
	random  *builtin.Random
}

func (session) Now() time.Time { return time.Date(2026, 11, 30, 21, 54, 58, 123456700, time.UTC) }

func (session) Property(name string, _ []types.Value) (types.Value, error) {
	return types.NewNVarChar(name), nil
}

func (s session) Options() builtin.Options { return s.options }

func (s session) Random() *builtin.Random { return s.random }

func newSession() session {
	return session{options: builtin.Options{DateFirst: 7, DateFormat: "mdy", Language: "us_english"}, random: &builtin.Random{}}
}

// expression reads a call such as LEFT('abc', 2), with constants and calls as
// arguments: 'a' N'a' 1 1.5 1e0 $1 0xAB NULL, a bare word for a date part, and a
// type before a text, as in date'2020-01-01', for other types.
type expression struct {
	t    *testing.T
	env  session
	text string
	pos  int
}

// evaluate is the value of a call as "type value", or its error as "number text".
func evaluate(t *testing.T, env session, text string) string {
	t.Helper()
	e := expression{t: t, env: env, text: text}
	v, typ, err := e.operand()
	return show(v, typ, err)
}

func show(v types.Value, typ types.Type, err error) string {
	var e *sqlerr.Error
	switch {
	case errors.As(err, &e):
		return fmt.Sprintf("%d %s", e.Number, e.Message)
	case err != nil:
		return err.Error()
	case v.IsNull():
		return typ.String() + " NULL"
	case v.Kind().IsBinary():
		return fmt.Sprintf("%s 0x%X", typ, v.Bytes())
	}
	return typ.String() + " " + v.String()
}

func (e *expression) space() {
	for e.pos < len(e.text) && e.text[e.pos] == ' ' {
		e.pos++
	}
}

func (e *expression) word(ok func(c byte) bool) string {
	start := e.pos
	for e.pos < len(e.text) && ok(e.text[e.pos]) {
		e.pos++
	}
	return e.text[start:e.pos]
}

func (e *expression) operand() (types.Value, types.Type, error) {
	e.t.Helper()
	e.space()
	c := e.text[e.pos]
	switch {
	case c == '\'':
		return e.literal("varchar")
	case c == '-' || c >= '0' && c <= '9':
		return e.number()
	}
	name := e.word(func(c byte) bool {
		return c == '_' || c == '@' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
	})
	switch {
	case e.pos < len(e.text) && e.text[e.pos] == '\'':
		return e.literal(name)
	case e.pos < len(e.text) && e.text[e.pos] == '(':
		e.pos++
		return e.call(strings.ToUpper(name))
	case name == "NULL":
		return types.Null, types.TypeNull, nil
	}
	return types.NewVarChar(name), types.VarChar(max(len(name), 1)), nil
}

func (e *expression) number() (types.Value, types.Type, error) {
	word := e.word(func(c byte) bool { return strings.IndexByte("+-.0123456789eExABCDF", c) >= 0 })
	var v types.Value
	var err error
	switch {
	case strings.HasPrefix(word, "0x"):
		v, err = types.ParseBinaryLiteral(word[2:])
	case strings.Contains(word, "e"):
		var f float64
		f, err = strconv.ParseFloat(word, 64)
		v = types.NewFloat(f)
	case strings.Contains(word, "."):
		v, err = types.ParseDecimal(word)
	default:
		var n int64
		n, err = strconv.ParseInt(word, 10, 64)
		v = types.NewInt(n)
		if n != int64(int32(n)) {
			v = types.NewBigInt(n)
		}
	}
	if err != nil {
		e.t.Fatalf("%s: %v", word, err)
	}
	return v, types.TypeOf(v), nil
}

// testTypes are the words before a text.
var testTypes = map[string]types.Type{
	"varcharmax": types.VarChar(types.Max), "nvarcharmax": types.NVarChar(types.Max), "text": types.TypeText, "char10": types.Char(10),
	"bin2": types.NVarChar(100).WithCollation(types.BinaryCollation),
	"date": types.TypeDate, "time": types.Time(7), "datetime": types.TypeDateTime, "datetime2": types.DateTime2(7),
	"smalldatetime": types.TypeSmallDateTime, "datetimeoffset": types.DateTimeOffset(7), "bit": types.TypeBit, "tinyint": types.TypeTinyInt,
	"smallint": types.TypeSmallInt, "bigint": types.TypeBigInt, "money": types.TypeMoney, "smallmoney": types.TypeSmallMoney, "real": types.TypeReal,
	"float": types.TypeFloat, "guid": types.TypeUniqueIdentifier, "null_int": types.TypeInt, "null_varchar": types.VarChar(10),
	"CI_AI": types.NVarChar(100),
}

func (e *expression) literal(word string) (types.Value, types.Type, error) {
	var sb strings.Builder
	for e.pos++; e.pos < len(e.text); e.pos++ {
		if e.text[e.pos] == '\'' {
			e.pos++
			if e.pos == len(e.text) || e.text[e.pos] != '\'' {
				break
			}
		}
		sb.WriteByte(e.text[e.pos])
	}
	s := sb.String()
	switch word {
	case "varchar":
		return types.NewVarChar(s), types.TypeOf(types.NewVarChar(s)), nil
	case "N":
		return types.NewNVarChar(s), types.TypeOf(types.NewNVarChar(s)), nil
	}
	typ, ok := testTypes[word]
	if !ok {
		e.t.Fatalf("unknown type %s", word)
	}
	if strings.HasPrefix(word, "null_") {
		return types.Null, typ, nil
	}
	v, err := types.Convert(types.NewNVarChar(s), typ, 0)
	if err != nil {
		e.t.Fatalf("%s'%s': %v", word, s, err)
	}
	return v, typ, nil
}

func (e *expression) call(name string) (types.Value, types.Type, error) {
	e.t.Helper()
	f, ok := builtin.Lookup(name)
	if !ok {
		e.t.Fatalf("no function %s", name)
	}
	var args []types.Value
	var argTypes []types.Type
	var consts []*types.Value
	for e.space(); e.text[e.pos] != ')'; e.space() {
		if e.text[e.pos] == ',' {
			e.pos++
		}
		v, typ, err := e.operand()
		if err != nil {
			return v, typ, err
		}
		args, argTypes, consts = append(args, v), append(argTypes, typ), append(consts, &v)
	}
	e.pos++
	if err := f.CheckArity(len(args)); err != nil {
		return types.Null, types.Type{}, err
	}
	typ, err := f.Type(argTypes, consts)
	if err != nil {
		return types.Null, typ, err
	}
	v, err := f.Eval(e.env, args, argTypes, typ)
	return v, typ, err
}

// check runs a table of calls and results.
func check(t *testing.T, tests [][2]string) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt[0], func(t *testing.T) {
			t.Parallel()
			if got := evaluate(t, newSession(), tt[0]); got != tt[1] {
				t.Errorf("got  %q\nwant %q", got, tt[1])
			}
		})
	}
}

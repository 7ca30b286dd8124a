package builtin

import (
	"strings"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// typeFunc is the Type of a Func.
type typeFunc = func(args []types.Type, consts []*types.Value) (types.Type, error)

// call is one evaluation of a function.
type call struct {
	name   string
	env    Env
	args   []types.Value
	types  []types.Type
	result types.Type
}

// evalFunc computes the result of a call.
type evalFunc = func(c call) (types.Value, error)

// pure is a deterministic function that is NULL if any argument is.
func pure(name string, least, most int, t typeFunc, eval evalFunc) *Func {
	return &Func{Name: name, Min: least, Max: most, Type: t, Deterministic: true, Eval: strict(name, eval)}
}

// lenient is a deterministic function that sees its NULL arguments.
func lenient(name string, least, most int, t typeFunc, eval evalFunc) *Func {
	return &Func{Name: name, Min: least, Max: most, Type: t, Deterministic: true, Eval: evaluator(name, eval)}
}

func strict(name string, eval evalFunc) func(Env, []types.Value, []types.Type, types.Type) (types.Value, error) {
	return func(env Env, args []types.Value, argTypes []types.Type, result types.Type) (types.Value, error) {
		for _, a := range args {
			if a.IsNull() {
				return types.Null, nil
			}
		}
		return eval(call{name, env, args, argTypes, result})
	}
}

func evaluator(name string, eval evalFunc) func(Env, []types.Value, []types.Type, types.Type) (types.Value, error) {
	return func(env Env, args []types.Value, argTypes []types.Type, result types.Type) (types.Value, error) {
		return eval(call{name, env, args, argTypes, result})
	}
}

// text is argument i as character data.
func (c call) text(i int) (string, error) { return textOf(c.args[i]) }

// textOf is v as character data; binary data is taken as the bytes of varchar.
func textOf(v types.Value) (string, error) {
	switch k := v.Kind(); {
	case k.IsChar() || k == types.KindXML:
		return v.Text(), nil
	case k.IsBinary():
		return types.DecodeVarChar(v.Bytes()), nil
	}
	t, err := types.Convert(v, types.NVarChar(types.Max), 0)
	return t.Text(), err
}

// integer is argument i as an int.
func (c call) integer(i int) (int64, error) { return intOf(c.args[i]) }

// intOf is v as an int; what does not fit is error 8115 or 248.
func intOf(v types.Value) (int64, error) {
	switch v.Kind() {
	case types.KindBit, types.KindTinyInt, types.KindSmallInt, types.KindInt:
		return v.Int(), nil
	}
	n, err := types.Convert(v, types.TypeInt, 0)
	return n.Int(), err
}

// bigint is argument i as a bigint.
func (c call) bigint(i int) (int64, error) {
	v := c.args[i]
	if v.Kind().IsInteger() {
		return v.Int(), nil
	}
	n, err := types.Convert(v, types.TypeBigInt, 0)
	return n.Int(), err
}

// float is argument i as a float.
func (c call) float(i int) (float64, error) {
	v := c.args[i]
	if v.Kind().IsApproximate() {
		return v.Float(), nil
	}
	f, err := types.Convert(v, types.TypeFloat, 0)
	return f.Float(), err
}

// str is character data of the type of the result, cut to its length.
func (c call) str(s string) (types.Value, error) {
	return types.Assign(types.NewString(c.result.Kind, s), c.result)
}

// collationOf is the collation of the first argument that has one.
func collationOf(args []types.Type) *types.Collation {
	for _, t := range args {
		if t.Collation != nil {
			return t.Collation
		}
	}
	return types.DefaultCollation
}

// fixed is the type rule of a function whose result is always of type t. The
// arguments may be of any type that converts to character data or numbers.
func fixed(t types.Type) typeFunc {
	return func([]types.Type, []*types.Value) (types.Type, error) { return t, nil }
}

// refusing is rule, but with error 8116 for arguments of the given kinds.
func refusing(name string, rule typeFunc, kinds ...types.Kind) typeFunc {
	return func(args []types.Type, consts []*types.Value) (types.Type, error) {
		for i, t := range args {
			for _, k := range kinds {
				if t.Kind == k {
					return types.Type{}, badArgument(t, i+1, name)
				}
			}
		}
		return rule(args, consts)
	}
}

// lobs are the kinds that most functions refuse.
var lobs = []types.Kind{types.KindText, types.KindNText, types.KindImage, types.KindXML, types.KindTable, types.KindCursor}

// badArgument is error 8116.
func badArgument(t types.Type, n int, function string) error {
	kind := t.Kind.String()
	if t.Kind == types.KindDecimal {
		kind = "numeric"
	}
	return sqlerr.New(8116, kind, n, strings.ToLower(function))
}

// isUnicode reports whether an argument is Unicode character data.
func isUnicode(args []types.Type) bool {
	for _, t := range args {
		if t.Kind.IsUnicode() || t.Kind == types.KindXML {
			return true
		}
	}
	return false
}

// charLength is the greatest number of characters that a value of t has as
// character data; types.Max for the (max) types.
func charLength(t types.Type) int {
	switch t.Kind {
	case types.KindChar, types.KindVarChar, types.KindNChar, types.KindNVarChar, types.KindBinary, types.KindVarBinary:
		return t.Length
	case types.KindText, types.KindNText, types.KindImage, types.KindXML:
		return types.Max
	case types.KindNull:
		return 1
	case types.KindBit:
		return 1
	case types.KindTinyInt:
		return 3
	case types.KindSmallInt:
		return 6
	case types.KindInt:
		return 12
	case types.KindBigInt:
		return 24
	case types.KindDecimal:
		return 41
	case types.KindMoney, types.KindSmallMoney, types.KindFloat, types.KindReal:
		return 40
	case types.KindUniqueIdentifier:
		return 36
	case types.KindRowVersion:
		return 8
	}
	return 40
}

// stringType is varchar or nvarchar of the given length: (max) if that is
// types.Max, and never more than the bounded types hold.
func stringType(unicode bool, length int, c *types.Collation) types.Type {
	most := types.MaxVarChar
	t := types.VarChar(length)
	if unicode {
		most = types.MaxNVarChar
		t = types.NVarChar(length)
	}
	if length != types.Max {
		t.Length = min(max(length, 1), most)
	}
	return t.WithCollation(c)
}

// likeFirst is the type rule of functions whose result is character data as
// long as the first argument: UPPER, RTRIM, REVERSE, …
func likeFirst(name string) typeFunc {
	rule := func(args []types.Type, _ []*types.Value) (types.Type, error) {
		return stringType(isUnicode(args[:1]), charLength(args[0]), collationOf(args[:1])), nil
	}
	return refusing(name, rule, lobs...)
}

package builtin

import (
	"strings"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// logicFuncs choose among their arguments. The executor evaluates no more of
// the arguments than it needs.
func logicFuncs() []*Func {
	lazy := func(name string, least, most int, t typeFunc, eval evalFunc) *Func {
		f := lenient(name, least, most, t, eval)
		f.Lazy = true
		return f
	}
	return []*Func{
		lazy("COALESCE", 2, -1, coalesceType, evalCoalesce),
		lazy("ISNULL", 2, 2, isNullType, evalIsNull),
		lazy("NULLIF", 2, 2, nullIfType, evalNullIf),
		lazy("IIF", 3, 3, iifType, evalIIF),
		lazy("CHOOSE", 2, maxArguments, chooseType, evalChoose),
		lenient("ISNUMERIC", 1, 1, fixed(types.TypeInt), evalIsNumeric),
	}
}

// commonType is the type of highest precedence, with noType if all are NULL
// constants.
func commonType(args []types.Type, noType error) (types.Type, error) {
	t := types.TypeNull
	for _, a := range args {
		if a.Kind == types.KindNull {
			continue
		}
		if t.Kind == types.KindNull {
			t = a
			continue
		}
		var err error
		if t, err = types.Common(t, a); err != nil {
			return t, err
		}
	}
	if t.Kind == types.KindNull && noType != nil {
		return t, noType
	}
	return t, nil
}

func coalesceType(args []types.Type, _ []*types.Value) (types.Type, error) {
	return commonType(args, sqlerr.New(4127))
}

func iifType(args []types.Type, _ []*types.Value) (types.Type, error) {
	return commonType(args[1:], sqlerr.New(8133))
}

func chooseType(args []types.Type, _ []*types.Value) (types.Type, error) {
	return commonType(args[1:], sqlerr.New(8133))
}

// isNullType is the type of the first argument, unless that is the NULL
// constant.
func isNullType(args []types.Type, _ []*types.Value) (types.Type, error) {
	if args[0].Kind != types.KindNull {
		return args[0], types.ImplicitlyConvertible(args[1], args[0])
	}
	if args[1].Kind != types.KindNull {
		return args[1], nil
	}
	return types.TypeInt, nil
}

func nullIfType(args []types.Type, _ []*types.Value) (types.Type, error) {
	if args[0].Kind == types.KindNull {
		return types.TypeNull, sqlerr.New(4151)
	}
	if args[1].Kind == types.KindNull {
		return args[0], nil
	}
	_, err := types.Common(args[0], args[1])
	return args[0], err
}

// as is argument i in the type of the result.
func (c call) as(i int) (types.Value, error) {
	v := c.args[i]
	if v.IsNull() || c.result.Kind == types.KindVariant {
		return v, nil
	}
	return types.Assign(v, c.result)
}

func evalCoalesce(c call) (types.Value, error) {
	for i, v := range c.args {
		if !v.IsNull() {
			return c.as(i)
		}
	}
	return types.Null, nil
}

func evalIsNull(c call) (types.Value, error) {
	if c.args[0].IsNull() {
		return c.as(1)
	}
	return c.as(0)
}

func evalNullIf(c call) (types.Value, error) {
	a, b := c.args[0], c.args[1]
	if a.IsNull() || b.IsNull() {
		return a, nil
	}
	t, err := types.Common(c.types[0], c.types[1])
	if err != nil {
		return types.Null, err
	}
	x, err := types.Convert(a, t, 0)
	if err != nil {
		return types.Null, err
	}
	y, err := types.Convert(b, t, 0)
	if err != nil {
		return types.Null, err
	}
	if types.Equal(x, y, t.Collation) {
		return types.Null, nil
	}
	return a, nil
}

func evalIIF(c call) (types.Value, error) {
	if v := c.args[0]; !v.IsNull() && v.Bool() {
		return c.as(1)
	}
	return c.as(2)
}

func evalChoose(c call) (types.Value, error) {
	if c.args[0].IsNull() {
		return types.Null, nil
	}
	n, err := c.integer(0)
	if err != nil || n < 1 || n >= int64(len(c.args)) {
		return types.Null, err
	}
	return c.as(int(n))
}

// evalIsNumeric is 1 for what converts to at least one numeric type, and for
// the lone signs that money accepts.
func evalIsNumeric(c call) (types.Value, error) {
	v := c.args[0]
	numeric := v.Kind().IsNumeric() || v.Kind().IsChar() && numericText(v.Text())
	if numeric {
		return types.NewInt(1), nil
	}
	return types.NewInt(0), nil
}

func numericText(s string) bool {
	s = strings.TrimSpace(s)
	if s == "" {
		return false
	}
	if strings.Trim(s, "+-.,$£€¥") == "" && types.UTF16Len(s) == 1 {
		return true
	}
	text := types.NewVarChar(s)
	if _, err := types.Convert(text, types.TypeMoney, 0); err == nil {
		return true
	}
	if _, err := types.Convert(text, types.TypeFloat, 0); err == nil {
		return true
	}
	// An exponent may be written with d, as in Fortran.
	if i := strings.LastIndexAny(s, "dD"); i > 0 {
		_, err := types.Convert(types.NewVarChar(s[:i]+"e"+s[i+1:]), types.TypeFloat, 0)
		return err == nil
	}
	_, err := types.Convert(text, types.Decimal(38, 0), 0)
	return err == nil
}

package builtin

import (
	"strings"
	"unicode"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// stringFuncs are the functions that cut and build character data ("String
// functions (Transact-SQL)").
func stringFuncs() []*Func {
	return []*Func{
		pure("LEN", 1, 1, lengthType("LEN", types.KindText, types.KindNText, types.KindImage), evalLen),
		pure("DATALENGTH", 1, 1, lengthType("DATALENGTH"), evalDataLength),
		pure("SUBSTRING", 3, 3, substringType, evalSubstring),
		pure("LEFT", 2, 2, endType("LEFT"), evalLeft),
		pure("RIGHT", 2, 2, endType("RIGHT"), evalRight),
		pure("REPLICATE", 2, 2, replicateType, evalReplicate),
		pure("REVERSE", 1, 1, likeFirst("REVERSE"), evalReverse),
		lenient("STUFF", 4, 4, stuffType, evalStuff),
		pure("UPPER", 1, 1, likeFirst("UPPER"), evalCase(unicode.ToUpper)),
		pure("LOWER", 1, 1, likeFirst("LOWER"), evalCase(unicode.ToLower)),
		pure("LTRIM", 1, 2, likeFirst("LTRIM"), evalTrim(true, false)),
		pure("RTRIM", 1, 2, likeFirst("RTRIM"), evalTrim(false, true)),
		pure("TRIM", 1, 2, trimType, evalTrim(true, true)),
		lenient("CONCAT", 2, maxArguments, concatType("CONCAT"), evalConcat),
		lenient("CONCAT_WS", 3, maxArguments, concatType("CONCAT_WS"), evalConcatWS),
		pure("SPACE", 1, 1, fixed(types.VarChar(types.MaxVarChar)), evalSpace),
	}
}

// lengthType is int, bigint for the (max) types.
func lengthType(name string, refused ...types.Kind) typeFunc {
	rule := func(args []types.Type, _ []*types.Value) (types.Type, error) {
		if args[0].IsMax() {
			return types.TypeBigInt, nil
		}
		return types.TypeInt, nil
	}
	return refusing(name, rule, refused...)
}

func (c call) length(n int) types.Value { return c.count(int64(n)) }

// count is a number of the type of the result, int or bigint.
func (c call) count(n int64) types.Value {
	if c.result.Kind == types.KindBigInt {
		return types.NewBigInt(n)
	}
	return types.NewInt(n)
}

func evalLen(c call) (types.Value, error) {
	if c.args[0].Kind().IsBinary() {
		return c.length(len(strings.TrimRight(c.args[0].Raw(), " "))), nil
	}
	s, err := c.text(0)
	return c.length(types.UTF16Len(strings.TrimRight(s, " "))), err
}

func evalDataLength(c call) (types.Value, error) {
	return c.length(c.args[0].DataLength()), nil
}

// substringType keeps character data character data and binary data binary
// data; everything else is refused.
func substringType(args []types.Type, consts []*types.Value) (types.Type, error) {
	t := args[0]
	length := cutLength(charLength(t), consts, 2)
	switch {
	case t.Kind.IsChar():
		return stringType(t.Kind.IsUnicode(), length, t.Collation), nil
	case t.Kind.IsBinary():
		if length != types.Max {
			length = max(length, 1)
		}
		return types.VarBinary(length), nil
	case t.Kind == types.KindVariant:
		return types.Type{}, sqlerr.New(257, "sql_variant", "varchar")
	}
	return types.Type{}, badArgument(t, 1, "SUBSTRING")
}

// cutLength is the length of the result of a function that cuts: no more than
// the constant argument at i, if it is one.
func cutLength(length int, consts []*types.Value, i int) int {
	if n, ok := constInt(consts, i); ok && n >= 0 && length != types.Max {
		return min(length, int(n))
	}
	return length
}

// endType is the type rule of LEFT and RIGHT.
func endType(name string) typeFunc {
	rule := func(args []types.Type, consts []*types.Value) (types.Type, error) {
		length := cutLength(charLength(args[0]), consts, 1)
		return stringType(isUnicode(args[:1]), length, collationOf(args[:1])), nil
	}
	return refusing(name, rule, lobs...)
}

// span is what start and length, which count from one and may be before the
// text, leave of a text of n units.
func span(start, length int64, n int) (from, to int) {
	end := start + length
	if length > 0 && end < start { // overflow
		end = int64(n) + 1
	}
	from64 := min(max(start-1, 0), int64(n))
	to64 := min(max(end-1, from64), int64(n))
	return int(from64), int(to64)
}

func evalSubstring(c call) (types.Value, error) {
	start, err := c.bigint(1)
	if err != nil {
		return types.Null, err
	}
	length, err := c.bigint(2)
	if err != nil {
		return types.Null, err
	}
	if length < 0 {
		return types.Null, sqlerr.New(537)
	}
	if c.args[0].Kind().IsBinary() {
		raw := c.args[0].Raw()
		from, to := span(start, length, len(raw))
		return types.NewBinary(types.KindVarBinary, raw[from:to]), nil
	}
	s, err := c.text(0)
	if err != nil {
		return types.Null, err
	}
	return c.cut(s, start, length), nil
}

// cut is the part of s that start and length name, as the result.
func (c call) cut(s string, start, length int64) types.Value {
	n := len(s)
	if !isASCII(s) {
		n = types.UTF16Len(s)
	}
	from, to := span(start, length, n)
	return types.NewString(c.result.Kind, types.UTF16Substring(s, from, to-from))
}

func evalLeft(c call) (types.Value, error) {
	s, err := c.text(0)
	if err != nil {
		return types.Null, err
	}
	n, err := c.bigint(1)
	if err != nil {
		return types.Null, err
	}
	if n < 0 {
		return types.Null, sqlerr.New(537)
	}
	return c.cut(s, 1, n), nil
}

func evalRight(c call) (types.Value, error) {
	s, err := c.text(0)
	if err != nil {
		return types.Null, err
	}
	n, err := c.bigint(1)
	if err != nil {
		return types.Null, err
	}
	if n < 0 {
		return types.Null, sqlerr.New(536, "RIGHT")
	}
	length := int64(types.UTF16Len(s))
	return c.cut(s, length-min(n, length)+1, n), nil
}

// replicateType is the longest type of the family, (max) only if the argument
// is.
func replicateType(args []types.Type, _ []*types.Value) (types.Type, error) {
	t := args[0]
	if t.Kind.IsLOB() || t.Kind == types.KindXML {
		return types.Type{}, badArgument(t, 1, "REPLICATE")
	}
	length := types.MaxVarChar
	if t.IsMax() {
		length = types.Max
	}
	return stringType(t.Kind.IsUnicode(), length, collationOf(args[:1])), nil
}

func evalReplicate(c call) (types.Value, error) {
	s, err := c.text(0)
	if err != nil {
		return types.Null, err
	}
	n, err := c.bigint(1)
	if err != nil || n < 0 {
		return types.Null, err
	}
	if s == "" || n == 0 {
		return types.NewString(c.result.Kind, ""), nil
	}
	if !c.result.IsMax() {
		n = min(n, int64(c.result.Length/types.UTF16Len(s))+1)
		return c.str(strings.Repeat(s, int(n)))
	}
	unit := int64(len(s))
	if c.result.Kind.IsUnicode() {
		unit = 2 * int64(types.UTF16Len(s))
	}
	if err := types.CheckBuilt(unit * min(n, types.MaxLOBBytes+1)); err != nil {
		return types.Null, err
	}
	return types.NewString(c.result.Kind, strings.Repeat(s, int(n))), nil
}

func evalReverse(c call) (types.Value, error) {
	s, err := c.text(0)
	if err != nil {
		return types.Null, err
	}
	if isASCII(s) {
		b := make([]byte, len(s))
		for i := range len(s) {
			b[len(s)-1-i] = s[i]
		}
		return types.NewString(c.result.Kind, string(b)), nil
	}
	u := appendUnits(nil, s)
	for i, j := 0, len(u)-1; i < j; i, j = i+1, j-1 {
		u[i], u[j] = u[j], u[i]
	}
	return types.NewString(c.result.Kind, unitText(u)), nil
}

// stuffType is (max) if an argument is, and binary if the first argument is. It
// is as long as the text without what constants say is deleted, and what is put
// in; without constants as long as a bounded type can be.
func stuffType(args []types.Type, consts []*types.Value) (types.Type, error) {
	t := args[0]
	if t.Kind.IsLOB() || t.Kind == types.KindXML || t.Kind == types.KindVariant {
		return types.Type{}, badArgument(t, 1, "STUFF")
	}
	length := types.MaxVarChar
	n, put := charLength(t), charLength(args[3])
	start, ok1 := constInt(consts, 1)
	deleted, ok2 := constInt(consts, 2)
	switch {
	case n == types.Max || put == types.Max:
		length = types.Max
	case ok1 && ok2 && start <= int64(n):
		length = int(min(int64(n)-min(deleted, int64(n)-start+1)+int64(put), types.MaxVarChar))
	}
	if t.Kind.IsBinary() {
		return types.VarBinary(length), nil
	}
	both := []types.Type{t, args[3]}
	return stringType(isUnicode(both), length, collationOf(both)), nil
}

// constInt is the constant argument at i as a number.
func constInt(consts []*types.Value, i int) (int64, bool) {
	if len(consts) <= i || consts[i] == nil || consts[i].IsNull() {
		return 0, false
	}
	n, err := intOf(*consts[i])
	return n, err == nil
}

// evalStuff is STUFF(s, start, length, with): NULL if a position is not in s. A
// NULL with deletes.
func evalStuff(c call) (types.Value, error) {
	if c.args[0].IsNull() || c.args[1].IsNull() || c.args[2].IsNull() {
		return types.Null, nil
	}
	start, err := c.bigint(1)
	if err != nil {
		return types.Null, err
	}
	length, err := c.bigint(2)
	if err != nil {
		return types.Null, err
	}
	if c.args[0].Kind().IsBinary() {
		with := ""
		if v := c.args[3]; !v.IsNull() {
			b, err := types.Convert(v, types.VarBinary(types.Max), 0)
			if err != nil {
				return types.Null, err
			}
			with = b.Raw()
		}
		raw := c.args[0].Raw()
		if start < 1 || length < 0 || start > int64(len(raw)) {
			return types.Null, nil
		}
		if err := types.CheckBuilt(int64(len(raw)) + int64(len(with))); err != nil {
			return types.Null, err
		}
		from, to := span(start, length, len(raw))
		return types.Assign(types.NewBinary(types.KindVarBinary, raw[:from]+with+raw[to:]), c.result)
	}
	s, err := c.text(0)
	if err != nil {
		return types.Null, err
	}
	with := ""
	if !c.args[3].IsNull() {
		if with, err = c.text(3); err != nil {
			return types.Null, err
		}
	}
	n := types.UTF16Len(s)
	if start < 1 || length < 0 || start > int64(n) {
		return types.Null, nil
	}
	if err := types.CheckBuilt(int64(len(s)) + int64(len(with))); err != nil {
		return types.Null, err
	}
	from, to := span(start, length, n)
	return c.str(types.UTF16Substring(s, 0, from) + with + types.UTF16Substring(s, to, n-to))
}

// evalCase maps character by character; one whose counterpart the code page
// lacks stays as it is.
func evalCase(f func(rune) rune) evalFunc {
	return func(c call) (types.Value, error) {
		s, err := c.text(0)
		if err != nil {
			return types.Null, err
		}
		unicodeResult := c.result.Kind.IsUnicode()
		return types.NewString(c.result.Kind, strings.Map(func(r rune) rune {
			if r < 0x80 || unicodeResult {
				return f(r)
			}
			if m := f(r); types.DecodeVarChar(types.EncodeVarChar(string(m))) == string(m) {
				return m
			}
			return r
		}, s)), nil
	}
}

package builtin

import (
	"strings"

	"loopbroker/engine/types"
)

// trimType is likeFirst for the argument that is trimmed, which is the last.
func trimType(args []types.Type, consts []*types.Value) (types.Type, error) {
	return likeFirst("TRIM")(args[len(args)-1:], nil)
}

// evalTrim is TRIM(s), TRIM(characters FROM s) with the characters first, and
// LTRIM and RTRIM with the characters last.
func evalTrim(left, right bool) evalFunc {
	return func(c call) (types.Value, error) {
		at, set := 0, 1
		if len(c.args) == 2 && c.name == "TRIM" {
			at, set = 1, 0
		}
		s, err := c.text(at)
		if err != nil {
			return types.Null, err
		}
		if len(c.args) == 1 {
			if left {
				s = strings.TrimLeft(s, " ")
			}
			if right {
				s = strings.TrimRight(s, " ")
			}
			return types.NewString(c.result.Kind, s), nil
		}
		characters, err := c.text(set)
		if err != nil {
			return types.Null, err
		}
		m := matcher{collationOf(c.types[at : at+1]), isUnicode(c.types)}
		u, chars := appendUnits(nil, s), appendUnits(nil, characters)
		for left && len(u) > 0 && m.index(chars, u[:1], 0) >= 0 {
			u = u[1:]
		}
		for right && len(u) > 0 && m.index(chars, u[len(u)-1:], 0) >= 0 {
			u = u[:len(u)-1]
		}
		return types.NewString(c.result.Kind, unitText(u)), nil
	}
}

// concatType is as long as the arguments together; Unicode if one of them is,
// (max) if one of them is.
func concatType(name string) typeFunc {
	rule := func(args []types.Type, _ []*types.Value) (types.Type, error) {
		length := 0
		for i, t := range args {
			n := charLength(t)
			if n == types.Max {
				length = types.Max
				break
			}
			if name == "CONCAT_WS" && i == 0 {
				n *= len(args) - 2
			}
			length += n
		}
		return stringType(isUnicode(args), length, collationOf(args)), nil
	}
	return refusing(name, rule, types.KindTable, types.KindCursor)
}

// concatText is argument i of CONCAT: binary data is read as characters.
func (c call) concatText(i int) (string, error) {
	if v := c.args[i]; v.IsNull() {
		return "", nil
	}
	return c.text(i)
}

func evalConcat(c call) (types.Value, error) {
	var sb strings.Builder
	for i := range c.args {
		s, err := c.concatText(i)
		if err != nil {
			return types.Null, err
		}
		if err := types.CheckBuilt(int64(sb.Len()) + int64(len(s))); err != nil {
			return types.Null, err
		}
		sb.WriteString(s)
	}
	return c.str(sb.String())
}

// evalConcatWS leaves NULLs out, with their separator.
func evalConcatWS(c call) (types.Value, error) {
	separator, err := c.concatText(0)
	if err != nil {
		return types.Null, err
	}
	var parts []string
	size := int64(0)
	for i := 1; i < len(c.args); i++ {
		if c.args[i].IsNull() {
			continue
		}
		s, err := c.text(i)
		if err != nil {
			return types.Null, err
		}
		size += int64(len(s)) + int64(len(separator))
		if err := types.CheckBuilt(size); err != nil {
			return types.Null, err
		}
		parts = append(parts, s)
	}
	return c.str(strings.Join(parts, separator))
}

func evalSpace(c call) (types.Value, error) {
	n, err := c.bigint(0)
	if err != nil || n < 0 {
		return types.Null, err
	}
	return types.NewVarChar(strings.Repeat(" ", int(min(n, types.MaxVarChar)))), nil
}

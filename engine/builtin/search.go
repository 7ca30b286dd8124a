package builtin

import (
	"strings"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// searchFuncs are the functions that look for text in text, by the rules of the
// collation.
func searchFuncs() []*Func {
	return []*Func{
		pure("CHARINDEX", 2, 3, positionType("CHARINDEX"), evalCharIndex),
		pure("PATINDEX", 2, 2, positionType("PATINDEX"), evalPatIndex),
		pure("REPLACE", 3, 3, replaceType, evalReplace),
		pure("TRANSLATE", 3, 3, translateType, evalTranslate),
	}
}

// positionType is int, bigint if the text that is searched is of a (max) type.
func positionType(name string) typeFunc {
	return func(args []types.Type, _ []*types.Value) (types.Type, error) {
		if args[0].Kind.IsLOB() || args[0].Kind == types.KindXML {
			return types.Type{}, badArgument(args[0], 1, name)
		}
		if args[1].Kind == types.KindImage || args[1].Kind == types.KindXML {
			return types.Type{}, badArgument(args[1], 2, name)
		}
		if args[1].IsMax() {
			return types.TypeBigInt, nil
		}
		return types.TypeInt, nil
	}
}

// texts are the first n arguments as character data.
func (c call) texts(n int) ([3]string, error) {
	var s [3]string
	for i := range n {
		var err error
		if s[i], err = c.text(i); err != nil {
			return s, err
		}
	}
	return s, nil
}

// matcher compares by the collation of the arguments from first on.
func (c call) matcher(first int) matcher {
	return matcher{collationOf(c.types[first:]), isUnicode(c.types)}
}

func evalCharIndex(c call) (types.Value, error) {
	s, err := c.texts(2)
	if err != nil {
		return types.Null, err
	}
	from := int64(1)
	if len(c.args) == 3 {
		if from, err = c.bigint(2); err != nil {
			return types.Null, err
		}
	}
	var partBuf, textBuf [128]uint16
	part, text := appendUnits(partBuf[:0], s[0]), appendUnits(textBuf[:0], s[1])
	if len(part) == 0 || from > int64(len(text)) {
		return c.length(0), nil
	}
	at := c.matcher(1).index(text, part, int(max(from-1, 0)))
	return c.length(at + 1), nil
}

func evalPatIndex(c call) (types.Value, error) {
	s, err := c.texts(2)
	if err != nil {
		return types.Null, err
	}
	m := c.matcher(1)
	p, err := patterns.compile(s[0], m.collation, m.unicode)
	if err != nil {
		return types.Null, err
	}
	var buf [128]uint16
	return c.length(p.find(appendUnits(buf[:0], s[1]))), nil
}

// replaceType is as long as a bounded type can be, (max) if the text that is
// searched is.
func replaceType(args []types.Type, _ []*types.Value) (types.Type, error) {
	for i, t := range args {
		if t.Kind.IsLOB() || t.Kind == types.KindXML || t.Kind == types.KindVariant {
			return types.Type{}, badArgument(t, i+1, "REPLACE")
		}
	}
	length := types.MaxVarChar
	if args[0].IsMax() || args[2].IsMax() {
		length = types.Max
	}
	return stringType(isUnicode(args), length, collationOf(args)), nil
}

func evalReplace(c call) (types.Value, error) {
	s, err := c.texts(3)
	if err != nil {
		return types.Null, err
	}
	text, old, with := s[0], s[1], s[2]
	m := c.matcher(0)
	switch {
	case old == "":
		return c.str(text)
	case m.collation.Binary:
		if n := strings.Count(text, old); n > 0 {
			if err := types.CheckBuilt(int64(len(text)) + int64(n)*int64(len(with)-len(old))); err != nil {
				return types.Null, err
			}
		}
		return c.str(strings.ReplaceAll(text, old, with))
	}
	var textBuf, partBuf [128]uint16
	u, part := appendUnits(textBuf[:0], text), appendUnits(partBuf[:0], old)
	at := m.index(u, part, 0)
	if at < 0 {
		return c.str(text)
	}
	replacement := appendUnits(nil, with)
	n := 0
	for i := at; i >= 0; i = m.index(u, part, i+len(part)) {
		n++
	}
	size := len(u) + n*(len(replacement)-len(part))
	if err := types.CheckBuilt(2 * int64(size)); err != nil {
		return types.Null, err
	}
	b := make([]uint16, 0, size)
	from := 0
	for ; at >= 0; at = m.index(u, part, from) {
		b = append(append(b, u[from:at]...), replacement...)
		from = at + len(part)
	}
	return c.str(unitText(append(b, u[from:]...)))
}

// translateType is the type of the first argument as character data.
func translateType(args []types.Type, _ []*types.Value) (types.Type, error) {
	for i, t := range args {
		if t.Kind.IsLOB() || t.Kind == types.KindXML {
			return types.Type{}, badArgument(t, i+1, "TRANSLATE")
		}
	}
	return stringType(isUnicode(args), charLength(args[0]), collationOf(args)), nil
}

func evalTranslate(c call) (types.Value, error) {
	s, err := c.texts(3)
	if err != nil {
		return types.Null, err
	}
	u, from, to := appendUnits(nil, s[0]), appendUnits(nil, s[1]), appendUnits(nil, s[2])
	if len(from) != len(to) {
		return types.Null, sqlerr.New(9828)
	}
	m := c.matcher(0)
	for i := range u {
		if at := m.index(from, u[i:i+1], 0); at >= 0 {
			u[i] = to[at]
		}
	}
	return types.NewString(c.result.Kind, unitText(u)), nil
}

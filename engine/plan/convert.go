package plan

import (
	"errors"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// convertTo wraps x in an implicit conversion to t, unless it has the type.
func (b *binder) convertTo(x Expr, t types.Type) Expr {
	from := x.Type()
	if from == t || t.Kind == types.KindNull || t.Kind == types.KindVariant {
		return x
	}
	if c, ok := x.(*Const); ok && c.Value.IsNull() {
		return &Const{T: t}
	}
	if from.Kind == t.Kind && from.Kind.IsChar() && from.Length == t.Length {
		return x
	}
	return fold(&Convert{X: x, T: t, Implicit: true})
}

// assignTo is convertTo with the check that the implicit conversion exists.
func (b *binder) assignTo(n syntax.Node, x Expr, t types.Type, mode ConvertMode) (Expr, error) {
	from := x.Type()
	if from.Kind != types.KindNull && from.Kind != t.Kind {
		if err := types.ImplicitlyConvertible(from, t); err != nil {
			return nil, lineOf(n, err)
		}
	}
	if mode == ModeAssign && from != t {
		if c, ok := x.(*Const); ok && c.Value.IsNull() {
			return &Const{T: t}, nil
		}
		return fold(&Convert{X: x, T: t, Mode: ModeAssign, Implicit: true}), nil
	}
	return b.convertTo(x, t), nil
}

func (b *binder) cast(n *syntax.Cast) (Expr, error) {
	t, err := b.castType(n.Type)
	if err != nil {
		return nil, lineOf(n, err)
	}
	x, err := b.value(n.X)
	if err != nil {
		return nil, err
	}
	c := &Convert{X: x, T: t}
	if n.Try {
		c.Mode = ModeTry
	}
	if n.Style != nil {
		if c.Style, err = b.value(n.Style); err != nil {
			return nil, err
		}
	}
	if n.Form == syntax.FormParse {
		if c.Style != nil {
			culture, ok := c.Style.(*Const)
			if !ok || !sameName(culture.Value.Text(), "en-US") {
				return nil, unsupported(n, "PARSE with a culture other than en-US")
			}
			c.Style = nil
		}
		c.Parse = true
	} else if c.Style != nil {
		c.Style = b.convertTo(c.Style, types.TypeInt)
	}
	if t.Kind.IsChar() {
		if k, level := collationOf(x); k != nil && level > 0 {
			c.T = t.WithCollation(k)
		}
	}
	return fold(c), nil
}

// castType resolves a type in CAST, where a length left out means 30.
func (b *binder) castType(dt syntax.DataType) (types.Type, error) {
	if dt.Name.Schema.Name == "" {
		if t, err := types.CastTypeFromName(dt.Name.Object.Name, dt.Args, dt.Max); err == nil {
			return t, nil
		}
	}
	return b.env.DataType(dt)
}

// collationOf returns the collation of a character expression and how strongly
// it holds: 0 for a constant or variable, 1 for a column, 2 for COLLATE.
func collationOf(x Expr) (*types.Collation, int) {
	t := x.Type()
	if !t.Kind.IsChar() {
		return nil, 0
	}
	switch n := x.(type) {
	case *Collated:
		return t.Collation, 2
	case *Column:
		return t.Collation, 1
	case *Convert:
		if c, level := collationOf(n.X); level > 0 {
			return c, level
		}
		return t.Collation, 0
	case *Const, *Variable:
		return t.Collation, 0
	}
	best, level := t.Collation, 0
	x.visit(func(p *Expr) {
		if c, l := collationOf(*p); l > level {
			best, level = c, l
		}
	}, func(*Query) {})
	return best, level
}

// collation settles which collation an operator uses. Error 468.
func (b *binder) collation(n syntax.Node, op string, list ...Expr) (*types.Collation, error) {
	var best *types.Collation
	level := -1
	for _, x := range list {
		c, l := collationOf(x)
		switch {
		case c == nil:
		case l > level:
			best, level = c, l
		case l == level && l > 0 && c != best:
			return nil, fail(n, 468, c.Name, best.Name, op)
		}
	}
	if best == nil {
		best = types.DefaultCollation
	}
	return best, nil
}

func (b *binder) collate(n *syntax.Collate) (Expr, error) {
	x, err := b.value(n.X)
	if err != nil {
		return nil, err
	}
	name := n.Collation.Name
	c := types.DefaultCollation
	if !sameName(name, "database_default") && !sameName(name, "catalog_default") {
		var ok bool
		if c, ok = types.LookupCollation(name); !ok {
			return nil, fail(n, 448, name)
		}
	}
	t := x.Type()
	if !t.Kind.IsChar() {
		return nil, fail(n, 447, t.Kind.String())
	}
	return &Collated{X: x, T: t.WithCollation(c)}, nil
}

// common brings a list of expressions to one type, as CASE and UNION do.
func (b *binder) common(n syntax.Node, op string, list []Expr) ([]Expr, types.Type, error) {
	t, err := commonType(list)
	if err != nil {
		return nil, t, lineOf(n, err)
	}
	if t.Kind.IsChar() {
		c, err := b.collation(n, op, list...)
		if err != nil {
			return nil, t, err
		}
		t = t.WithCollation(c)
	}
	out := make([]Expr, len(list))
	for i, x := range list {
		out[i] = b.convertTo(x, t)
	}
	return out, t, nil
}

func commonType(list []Expr) (types.Type, error) {
	t := types.TypeNull
	for _, x := range list {
		u := x.Type()
		switch {
		case u.Kind == types.KindNull:
		case t.Kind == types.KindNull:
			t = u
		default:
			var err error
			if t, err = types.Common(t, u); err != nil {
				return t, err
			}
		}
	}
	return t, nil
}

// typesOp maps an operator to that of package types.
func typesOp(op syntax.BinaryOp) types.Op {
	switch op {
	case syntax.OpAdd:
		return types.OpAdd
	case syntax.OpSub:
		return types.OpSub
	case syntax.OpMul:
		return types.OpMul
	case syntax.OpDiv:
		return types.OpDiv
	case syntax.OpMod:
		return types.OpMod
	case syntax.OpBitAnd:
		return types.OpBitAnd
	case syntax.OpBitOr:
		return types.OpBitOr
	}
	return types.OpBitXor
}

// TypesOp returns the operator of package types for an Arith.
func (e *Arith) TypesOp() types.Op { return typesOp(e.Op) }

// fold evaluates an expression of constants. One that fails is left for the
// run, where the error belongs.
func fold(x Expr) Expr {
	switch n := x.(type) {
	case *Convert:
		c, ok := n.X.(*Const)
		if !ok || n.Parse || n.T.Kind.IsDateTime() {
			return x
		}
		style := 0
		if n.Style != nil {
			s, ok := n.Style.(*Const)
			if !ok || s.Value.IsNull() {
				return x
			}
			style = int(s.Value.Int())
		}
		v, err := ConvertValue(n.Mode, c.Value, n.T, style)
		if err != nil {
			return x
		}
		return &Const{Value: v, T: n.T}
	case *Arith:
		l, lok := n.L.(*Const)
		r, rok := n.R.(*Const)
		if !lok || !rok || l.Value.IsNull() || r.Value.IsNull() {
			return x
		}
		if v, err := types.Arith(n.TypesOp(), l.Value, r.Value, n.T); err == nil {
			return &Const{Value: v, T: n.T}
		}
	case *Negate:
		if c, ok := n.X.(*Const); ok && !c.Value.IsNull() {
			if v, err := types.Neg(c.Value, n.T); err == nil {
				return &Const{Value: v, T: n.T}
			}
		}
	}
	return x
}

// ConvertValue converts by the rules of mode.
func ConvertValue(mode ConvertMode, v types.Value, t types.Type, style int) (types.Value, error) {
	switch mode {
	case ModeAssign:
		return types.Assign(v, t)
	case ModeTry:
		out, err := types.Convert(v, t, style)
		if e, ok := errors.AsType[*sqlerr.Error](err); ok && e.Number != 529 {
			return types.Null, nil
		}
		return out, err
	}
	return types.Convert(v, t, style)
}

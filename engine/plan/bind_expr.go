package plan

import (
	"strings"

	"loopbroker/engine/builtin"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// value binds an expression that must be a value.
func (b *binder) value(e syntax.Expr) (Expr, error) {
	x, err := b.expr(e)
	if err != nil {
		return nil, err
	}
	if IsCondition(x) {
		return nil, fail(e, 102, "expression")
	}
	return x, nil
}

// condition binds an expression that must be a condition.
func (b *binder) condition(e syntax.Expr) (Expr, error) {
	x, err := b.expr(e)
	if err != nil {
		return nil, err
	}
	if f, ok := x.(*Func); ok && f.F.ColumnArg { // UPDATE(column) in a trigger
		return &Compare{Op: syntax.OpEq, L: x, R: &Const{Value: types.NewBit(true), T: types.TypeBit}}, nil
	}
	if !IsCondition(x) {
		return nil, fail(e, 4145, "condition")
	}
	return x, nil
}

func (b *binder) values(list []syntax.Expr) ([]Expr, error) {
	out := make([]Expr, len(list))
	for i, e := range list {
		x, err := b.value(e)
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	return out, nil
}

// expr binds one node.
func (b *binder) expr(e syntax.Expr) (Expr, error) {
	switch n := e.(type) {
	case *syntax.Literal:
		return b.literal(n)
	case *syntax.Variable:
		return b.variable(n)
	case *syntax.GlobalVariable:
		f, ok := builtin.Lookup(n.Name)
		if !ok {
			return nil, fail(n, 137, n.Name)
		}
		return b.builtin(n, f, nil, "")
	case *syntax.ColumnRef:
		return b.column(n)
	case *syntax.Paren:
		return b.expr(n.X)
	case *syntax.Unary:
		return b.unary(n)
	case *syntax.Binary:
		return b.binary(n)
	case *syntax.Collate:
		return b.collate(n)
	case *syntax.Cast:
		return b.cast(n)
	case *syntax.Case:
		return b.caseOf(n)
	case *syntax.Call:
		return b.call(n)
	case *syntax.AtTimeZone:
		f, ok := builtin.Lookup("AT TIME ZONE")
		if !ok {
			return nil, unsupported(n, "AT TIME ZONE")
		}
		return b.builtin(n, f, []syntax.Expr{n.X, n.Zone}, "")
	case *syntax.NextValue:
		return b.nextValue(n)
	case *syntax.Star:
		return nil, fail(n, 102, "*")
	}
	return b.predicate(e)
}

// predicate binds the nodes that are conditions, and queries.
func (b *binder) predicate(e syntax.Expr) (Expr, error) {
	switch n := e.(type) {
	case *syntax.IsNull:
		x, err := b.value(n.X)
		if err != nil {
			return nil, err
		}
		return &IsNull{X: x, Not: n.Not}, nil
	case *syntax.IsDistinct:
		l, r, c, err := b.operands(n, "is distinct from", n.L, n.R)
		if err != nil {
			return nil, err
		}
		return &Distinct{L: l, R: r, Collation: c, Not: n.Not}, nil
	case *syntax.Between:
		return b.between(n)
	case *syntax.In:
		return b.in(n)
	case *syntax.Like:
		return b.like(n)
	case *syntax.Exists:
		q, err := b.subquery(n.Query)
		if err != nil {
			return nil, err
		}
		return &Exists{Query: q}, nil
	case *syntax.Quantified:
		return b.quantified(n)
	case *syntax.Subquery:
		q, err := b.oneColumn(n, n.Query)
		if err != nil {
			return nil, err
		}
		return &ScalarQuery{Query: q, T: q.Items[0].Type()}, nil
	}
	return nil, unsupported(e, "this expression")
}

// literal binds a constant.
func (b *binder) literal(n *syntax.Literal) (Expr, error) {
	v, t, err := literalValue(n)
	if err != nil {
		return nil, lineOf(n, err)
	}
	return &Const{Value: v, T: t}, nil
}

func literalValue(n *syntax.Literal) (v types.Value, t types.Type, err error) {
	switch n.Kind {
	case syntax.LitNull:
		return types.Null, types.TypeNull, nil
	case syntax.LitInt:
		v, err = types.ParseIntLiteral(n.Text)
	case syntax.LitDecimal:
		v, err = types.ParseDecimalLiteral(n.Text)
	case syntax.LitFloat:
		v, err = types.ParseFloatLiteral(n.Text)
	case syntax.LitMoney:
		v, err = types.ParseMoneyLiteral(n.Text)
	case syntax.LitBinary:
		v, err = types.ParseBinaryLiteral(n.Text)
	case syntax.LitString:
		v = types.NewVarChar(types.DecodeVarChar(types.EncodeVarChar(n.Text)))
		return v, types.VarChar(textLength(types.VarCharLen(n.Text), 8000)), nil
	case syntax.LitNString:
		v = types.NewNVarChar(n.Text)
		return v, types.NVarChar(textLength(types.UTF16Len(n.Text), 4000)), nil
	default:
		return types.Null, types.TypeNull, sqlerr.New(156, "DEFAULT")
	}
	if err != nil {
		return types.Null, types.TypeNull, err
	}
	if n.Kind == syntax.LitBinary {
		return v, types.VarBinary(textLength(len(v.Raw()), 8000)), nil
	}
	return v, types.TypeOf(v), nil
}

func textLength(n, limit int) int {
	if n > limit {
		return types.Max
	}
	return max(n, 1)
}

func (b *binder) variable(n *syntax.Variable) (Expr, error) {
	if b.params != nil {
		if p, ok := b.params[strings.ToUpper(n.Name)]; ok {
			return p()
		}
	}
	slot, t, err := b.env.Variable(n.Name)
	if err != nil {
		return nil, lineOf(n, err)
	}
	return &Variable{Slot: slot, T: t, Name: n.Name}, nil
}

func (b *binder) unary(n *syntax.Unary) (Expr, error) {
	if n.Op == syntax.OpNot {
		x, err := b.condition(n.X)
		if err != nil {
			return nil, err
		}
		return negation(x), nil
	}
	if l, ok := n.X.(*syntax.Literal); ok && n.Op == syntax.OpMinus && l.Kind == syntax.LitInt && l.Text == "2147483648" {
		return &Const{Value: types.NewInt(-1 << 31), T: types.TypeInt}, nil
	}
	x, err := b.value(n.X)
	if err != nil || n.Op == syntax.OpPlus {
		return x, err
	}
	t, err := types.UnaryType(x.Type(), n.Op == syntax.OpBitNot)
	if err != nil {
		return nil, lineOf(n, err)
	}
	if n.Op == syntax.OpBitNot {
		return &BitNot{X: x, T: t}, nil
	}
	return fold(&Negate{X: x, T: t}), nil
}

// negation is NOT x, pushed into conditions that have a negative form.
func negation(x Expr) Expr {
	switch n := x.(type) {
	case *Not:
		return n.X
	case *IsNull:
		return &IsNull{X: n.X, Not: !n.Not}
	case *Compare:
		return &Compare{Op: inverse[n.Op], L: n.L, R: n.R, Collation: n.Collation}
	}
	return &Not{X: x}
}

// inverse is the comparison that is true when the other is false.
var inverse = map[syntax.BinaryOp]syntax.BinaryOp{
	syntax.OpEq: syntax.OpNe, syntax.OpNe: syntax.OpEq, syntax.OpLt: syntax.OpGe,
	syntax.OpGe: syntax.OpLt, syntax.OpGt: syntax.OpLe, syntax.OpLe: syntax.OpGt,
}

func (b *binder) binary(n *syntax.Binary) (Expr, error) {
	switch {
	case n.Op == syntax.OpAnd || n.Op == syntax.OpOr:
		return b.logic(n)
	case n.Op >= syntax.OpEq:
		l, r, c, err := b.operands(n, operatorName[n.Op], n.L, n.R)
		if err != nil {
			return nil, err
		}
		if (n.Op == syntax.OpEq || n.Op == syntax.OpNe) && !b.env.Options().AnsiNulls && (mayBeNullWord(l) || mayBeNullWord(r)) {
			return &Distinct{L: l, R: r, Collation: c, Not: n.Op == syntax.OpEq}, nil
		}
		return &Compare{Op: n.Op, L: l, R: r, Collation: c}, nil
	}
	l, err := b.value(n.L)
	if err != nil {
		return nil, err
	}
	r, err := b.value(n.R)
	if err != nil {
		return nil, err
	}
	return b.arith(n, n.Op, l, r)
}

// mayBeNullWord reports whether x is the NULL literal or a variable: with SET
// ANSI_NULLS OFF an equality with one of these finds NULLs.
func mayBeNullWord(x Expr) bool {
	switch n := stripConvert(x).(type) {
	case *Const:
		return n.Value.IsNull()
	case *Variable:
		return true
	}
	return false
}

var operatorName = map[syntax.BinaryOp]string{
	syntax.OpAdd: "add", syntax.OpSub: "subtract", syntax.OpMul: "multiply", syntax.OpDiv: "divide", syntax.OpMod: "modulo",
	syntax.OpBitAnd: "'&'", syntax.OpBitOr: "'|'", syntax.OpBitXor: "'^'", syntax.OpEq: "equal to", syntax.OpNe: "not equal to",
	syntax.OpLt: "less than", syntax.OpLe: "less than or equal to", syntax.OpGt: "greater than",
	syntax.OpGe: "greater than or equal to",
}

// arith binds an operator whose operands are bound.
func (b *binder) arith(n syntax.Node, op syntax.BinaryOp, l, r Expr) (Expr, error) {
	t, err := types.BinaryType(typesOp(op), l.Type(), r.Type())
	if err != nil {
		return nil, lineOf(n, err)
	}
	if t.Kind.IsChar() {
		c, err := b.collation(n, operatorName[op], l, r)
		if err != nil {
			return nil, err
		}
		t = t.WithCollation(c)
	}
	return fold(&Arith{Op: op, L: l, R: r, T: t}), nil
}

// logic binds AND and OR, flattening chains without recursion on their length.
func (b *binder) logic(n *syntax.Binary) (Expr, error) {
	var parts []syntax.Expr
	var collect func(e syntax.Expr)
	collect = func(e syntax.Expr) {
		for {
			bin, ok := e.(*syntax.Binary)
			if !ok || bin.Op != n.Op {
				parts = append(parts, e)
				return
			}
			collect(bin.L)
			e = bin.R
		}
	}
	collect(n)
	list := make([]Expr, 0, len(parts))
	for _, p := range parts {
		x, err := b.condition(p)
		if err != nil {
			return nil, err
		}
		switch sub := x.(type) {
		case *And:
			if n.Op == syntax.OpAnd {
				list = append(list, sub.List...)
				continue
			}
		case *Or:
			if n.Op == syntax.OpOr {
				list = append(list, sub.List...)
				continue
			}
		}
		list = append(list, x)
	}
	if n.Op == syntax.OpAnd {
		return &And{List: list}, nil
	}
	return equalities(list), nil
}

// equalities turns x = a OR x = b into x IN (a, b), which an index can seek.
func equalities(list []Expr) Expr {
	var in *InList
	for _, e := range list {
		c, ok := e.(*Compare)
		if !ok || c.Op != syntax.OpEq {
			return &Or{List: list}
		}
		x, v := c.L, c.R
		if !isColumn(x) {
			x, v = v, x
		}
		if !isColumn(x) || readsColumns(v) {
			return &Or{List: list}
		}
		if in == nil {
			in = &InList{X: x, List: []Expr{v}, Collation: c.Collation}
			continue
		}
		if text(x) != text(in.X) || c.Collation != in.Collation || !sameComparison(v.Type(), in.List[0].Type()) {
			return &Or{List: list}
		}
		in.List = append(in.List, v)
	}
	return in
}

func sameComparison(a, b types.Type) bool {
	return a.Kind == b.Kind || (a.Kind.IsInteger() && b.Kind.IsInteger())
}

func isColumn(e Expr) bool { _, ok := e.(*Column); return ok }

func readsColumns(e Expr) bool {
	found := hasQuery(e)
	columnsOf(e, func(*Column) { found = true })
	return found
}

// operands binds both sides of a comparison and brings them to one kind.
func (b *binder) operands(n syntax.Node, op string, le, re syntax.Expr) (l, r Expr, c *types.Collation, err error) {
	if l, err = b.value(le); err != nil {
		return nil, nil, nil, err
	}
	if r, err = b.value(re); err != nil {
		return nil, nil, nil, err
	}
	return b.unify(n, op, l, r)
}

func (b *binder) unify(n syntax.Node, op string, l, r Expr) (Expr, Expr, *types.Collation, error) {
	t, err := comparisonType(op, l.Type(), r.Type())
	if err != nil {
		return nil, nil, nil, lineOf(n, err)
	}
	var c *types.Collation
	if t.Kind.IsChar() {
		if c, err = b.collation(n, op, l, r); err != nil {
			return nil, nil, nil, err
		}
	}
	return b.comparable(l, t), b.comparable(r, t), c, nil
}

// comparisonType is the type in which two operands are compared.
func comparisonType(op string, a, c types.Type) (types.Type, error) {
	for _, t := range []types.Type{a, c} {
		if t.Kind.IsLOB() || t.Kind == types.KindXML {
			if a.Kind.IsLOB() && c.Kind.IsLOB() {
				return types.Type{}, sqlerr.New(306)
			}
			return types.Type{}, sqlerr.New(402, a.Kind.String(), c.Kind.String(), op)
		}
	}
	t, err := types.Common(a, c)
	if err != nil {
		return t, err
	}
	return t, nil
}

// comparable converts x to the kind of t; whole numbers compare as they are.
func (b *binder) comparable(x Expr, t types.Type) Expr {
	k := x.Type().Kind
	if k == t.Kind || k == types.KindNull || (k.IsInteger() && t.Kind.IsInteger()) || t.Kind == types.KindVariant {
		return x
	}
	if k.IsChar() && t.Kind.IsChar() {
		t.Length = types.Max
		if t.Kind == types.KindChar || t.Kind == types.KindVarChar {
			t.Kind = types.KindVarChar
		} else {
			t.Kind = types.KindNVarChar
		}
	}
	return b.convertTo(x, t)
}

func (b *binder) between(n *syntax.Between) (Expr, error) {
	low, err := b.binary(&syntax.Binary{Pos: n.Pos, Op: syntax.OpGe, L: n.X, R: n.Low})
	if err != nil {
		return nil, err
	}
	high, err := b.binary(&syntax.Binary{Pos: n.Pos, Op: syntax.OpLe, L: n.X, R: n.High})
	if err != nil {
		return nil, err
	}
	both := &And{List: []Expr{low, high}}
	if n.Not {
		return &Not{X: both}, nil
	}
	return both, nil
}

func (b *binder) in(n *syntax.In) (Expr, error) {
	x, err := b.value(n.X)
	if err != nil {
		return nil, err
	}
	if n.Query != nil {
		q, err := b.oneColumn(n, n.Query)
		if err != nil {
			return nil, err
		}
		t, c, err := b.queryOperand(n, "equal to", x, q)
		if err != nil {
			return nil, err
		}
		return &InQuery{X: b.comparable(x, t), Query: q, Compare: t, Collation: c, Not: n.Not}, nil
	}
	list, err := b.values(n.List)
	if err != nil {
		return nil, err
	}
	t := x.Type()
	for _, e := range list {
		if t, err = comparisonType("equal to", t, e.Type()); err != nil {
			return nil, lineOf(n, err)
		}
	}
	var c *types.Collation
	if t.Kind.IsChar() {
		if c, err = b.collation(n, "equal to", append([]Expr{x}, list...)...); err != nil {
			return nil, err
		}
	}
	for i := range list {
		list[i] = b.comparable(list[i], t)
	}
	return &InList{X: b.comparable(x, t), List: list, Collation: c, Not: n.Not}, nil
}

// queryOperand finds the type in which x is compared with the column of q.
func (b *binder) queryOperand(n syntax.Node, op string, x Expr, q *Query) (types.Type, *types.Collation, error) {
	t, err := comparisonType(op, x.Type(), q.Items[0].Type())
	if err != nil {
		return t, nil, lineOf(n, err)
	}
	var c *types.Collation
	if t.Kind.IsChar() {
		c, err = b.collation(n, op, x, q.Items[0])
	}
	q.Items[0] = b.comparable(q.Items[0], t)
	return t, c, err
}

func (b *binder) quantified(n *syntax.Quantified) (Expr, error) {
	l, err := b.value(n.L)
	if err != nil {
		return nil, err
	}
	q, err := b.oneColumn(n, n.Query)
	if err != nil {
		return nil, err
	}
	t, c, err := b.queryOperand(n, operatorName[n.Op], l, q)
	if err != nil {
		return nil, err
	}
	return &Quantified{Op: n.Op, All: n.All, L: b.comparable(l, t), Query: q, Compare: t, Collation: c}, nil
}

func (b *binder) like(n *syntax.Like) (Expr, error) {
	parts := []syntax.Expr{n.X, n.Pattern}
	if n.Escape != nil {
		parts = append(parts, n.Escape)
	}
	xs, err := b.values(parts)
	if err != nil {
		return nil, err
	}
	c, err := b.collation(n, "like", xs...)
	if err != nil {
		return nil, err
	}
	for i, x := range xs {
		k := x.Type().Kind
		if k == types.KindNull || k.IsChar() {
			continue
		}
		if k.IsLOB() || k == types.KindXML {
			return nil, fail(n, 8116, k.String(), i+1, "like")
		}
		xs[i] = b.convertTo(x, types.NVarChar(types.Max))
	}
	l := &Like{X: xs[0], Pattern: xs[1], Collation: c, Not: n.Not}
	if len(xs) > 2 {
		l.Escape = xs[2]
	}
	return l, nil
}

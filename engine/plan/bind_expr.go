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

var operatorName = map[syntax.BinaryOp]string{
	syntax.OpAdd: "add", syntax.OpSub: "subtract", syntax.OpMul: "multiply", syntax.OpDiv: "divide", syntax.OpMod: "modulo",
	syntax.OpBitAnd: "'&'", syntax.OpBitOr: "'|'", syntax.OpBitXor: "'^'", syntax.OpEq: "equal to", syntax.OpNe: "not equal to",
	syntax.OpLt: "less than", syntax.OpLe: "less than or equal to", syntax.OpGt: "greater than",
	syntax.OpGe: "greater than or equal to",
}

// operandType is the type of an operand beside another: an integer constant
// counts with the digits it has where the other operand is a decimal.
func operandType(e, other Expr) types.Type {
	if c, ok := e.(*Const); ok && other.Type().Kind == types.KindDecimal && !c.Value.IsNull() && c.T.Kind != types.KindBit {
		return types.ConstantType(c.Value)
	}
	return e.Type()
}

// arith binds an operator whose operands are bound.
func (b *binder) arith(n syntax.Node, op syntax.BinaryOp, l, r Expr) (Expr, error) {
	t, err := types.BinaryType(typesOp(op), operandType(l, r), operandType(r, l))
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

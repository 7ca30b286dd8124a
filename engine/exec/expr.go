package exec

import (
	"errors"
	"fmt"
	"math"

	"loopbroker/engine/catalog"
	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// evalFunc computes a value in the current frame.
type evalFunc func(r *run) (types.Value, error)

// tri is a truth value of three-valued logic.
type tri uint8

const (
	isFalse tri = iota
	isTrue
	isUnknown
)

func truth(b bool) tri {
	if b {
		return isTrue
	}
	return isFalse
}

// condFunc computes a condition in the current frame.
type condFunc func(r *run) (tri, error)

// compiler turns the bound tree of one statement into closures.
type compiler struct {
	stmt *plan.Stmt
	err  error
	// targets are the sources whose rows a modification changes.
	targets map[int]bool
}

func (c *compiler) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *compiler) exprs(list []plan.Expr) []evalFunc {
	out := make([]evalFunc, len(list))
	for i, x := range list {
		if x != nil {
			out[i] = c.expr(x)
		}
	}
	return out
}

// expr compiles an expression; a condition becomes a bit or NULL.
func (c *compiler) expr(x plan.Expr) evalFunc {
	if plan.IsCondition(x) {
		cond := c.cond(x)
		return func(r *run) (types.Value, error) {
			t, err := cond(r)
			if err != nil || t == isUnknown {
				return types.Null, err
			}
			return types.NewBit(t == isTrue), nil
		}
	}
	switch n := x.(type) {
	case *plan.Const:
		v := n.Value
		return func(*run) (types.Value, error) { return v, nil }
	case *plan.Column:
		return column(n)
	case *plan.Variable:
		slot := n.Slot
		return func(r *run) (types.Value, error) { return r.vars[slot], nil }
	case *plan.Convert:
		return c.convert(n)
	case *plan.Arith:
		return c.arith(n)
	case *plan.Negate:
		return c.unary(n.X, n.T, types.Neg)
	case *plan.BitNot:
		return c.unary(n.X, n.T, types.BitNot)
	case *plan.Collated:
		return c.expr(n.X)
	case *plan.Case:
		return c.caseOf(n)
	case *plan.Coalesce:
		return c.coalesce(n)
	case *plan.Func:
		return c.function(n)
	case *plan.UserFunc:
		return c.userFunc(n)
	case *plan.NextValue:
		s := n.Sequence
		return func(r *run) (types.Value, error) { return r.nextValue(s) }
	case *plan.ScalarQuery:
		return c.scalarQuery(n)
	}
	c.fail(sqlerr.Unsupported(fmt.Sprintf("expression %T", x)))
	return func(*run) (types.Value, error) { return types.Null, nil }
}

func column(n *plan.Column) evalFunc {
	src, col := n.Src, n.Col
	return func(r *run) (types.Value, error) {
		row := r.rows[src]
		if row == nil {
			return types.Null, nil
		}
		return row[col], nil
	}
}

func (c *compiler) unary(x plan.Expr, t types.Type, f func(types.Value, types.Type) (types.Value, error)) evalFunc {
	eval := c.expr(x)
	return func(r *run) (types.Value, error) {
		v, err := eval(r)
		if err != nil || v.IsNull() {
			return types.Null, err
		}
		return f(v, t)
	}
}

// convert compiles a conversion.
func (c *compiler) convert(n *plan.Convert) evalFunc {
	eval, t, mode := c.expr(n.X), n.T, n.Mode
	if n.Parse {
		return c.parse(n, eval)
	}
	if n.Style != nil {
		return c.convertStyle(n, eval)
	}
	if mode != plan.ModeTry && t.Kind == types.KindBigInt && n.X.Type().Kind.IsInteger() {
		return func(r *run) (types.Value, error) {
			v, err := eval(r)
			if err != nil || v.IsNull() {
				return types.Null, err
			}
			return types.NewBigInt(v.Int()), nil
		}
	}
	if mode == plan.ModeAssign && t == n.X.Type() {
		return eval
	}
	return func(r *run) (types.Value, error) {
		v, err := eval(r)
		if err != nil || v.IsNull() {
			return types.Null, err
		}
		return convertValue(r, mode, v, t, 0)
	}
}

func (c *compiler) convertStyle(n *plan.Convert, eval evalFunc) evalFunc {
	t, mode, style := n.T, n.Mode, c.expr(n.Style)
	return func(r *run) (types.Value, error) {
		v, err := eval(r)
		if err != nil {
			return types.Null, err
		}
		s, err := style(r)
		if err != nil || v.IsNull() || s.IsNull() {
			return types.Null, err
		}
		return convertValue(r, mode, v, t, types.ExplicitStyle(v.Kind(), int(s.Int())))
	}
}

// convertValue converts under the SET options of the session, which matter for
// dates in text.
func convertValue(r *run, mode plan.ConvertMode, v types.Value, t types.Type, style int) (types.Value, error) {
	if !t.Kind.IsDateTime() || !v.Kind().IsChar() {
		return plan.ConvertValue(mode, v, t, style)
	}
	var o types.ConvertOptions
	o.DateFormat, _ = types.ParseDateFormat(r.rt.Options().DateFormat)
	if mode == plan.ModeAssign {
		return types.AssignWith(o, v, t)
	}
	out, err := types.ConvertWith(o, v, t, style)
	if e, ok := errors.AsType[*sqlerr.Error](err); ok && mode == plan.ModeTry && e.Number != 529 {
		return types.Null, nil
	}
	return out, err
}

// parse compiles PARSE and TRY_PARSE.
func (c *compiler) parse(n *plan.Convert, eval evalFunc) evalFunc {
	t, try := n.T, n.Mode == plan.ModeTry
	return func(r *run) (types.Value, error) {
		v, err := eval(r)
		if err != nil || v.IsNull() {
			return types.Null, err
		}
		out, err := convertValue(r, plan.ModeConvert, v, t, 0)
		if err != nil {
			if try {
				return types.Null, nil
			}
			return types.Null, sqlerr.New(9819, v.Text(), t.Kind.String(), "en-US")
		}
		return out, nil
	}
}

// arith compiles an operator, with short ways for whole numbers.
func (c *compiler) arith(n *plan.Arith) evalFunc {
	l, rr, t, op := c.expr(n.L), c.expr(n.R), n.T, n.TypesOp()
	if fast := intArith(n, l, rr); fast != nil {
		return fast
	}
	concat := t.Kind.IsChar() && n.Op == syntax.OpAdd
	return func(r *run) (types.Value, error) {
		a, err := l(r)
		if err != nil {
			return types.Null, err
		}
		b, err := rr(r)
		if err != nil {
			return types.Null, err
		}
		if a.IsNull() || b.IsNull() {
			if concat && !r.rt.Options().ConcatNullYieldsNull {
				return concatNull(a, b, t)
			}
			return types.Null, nil
		}
		return types.Arith(op, a, b, t)
	}
}

// concatNull is concatenation with SET CONCAT_NULL_YIELDS_NULL OFF.
func concatNull(a, b types.Value, t types.Type) (types.Value, error) {
	switch {
	case a.IsNull() && b.IsNull():
		return types.Null, nil
	case a.IsNull():
		return types.Convert(b, t, 0)
	}
	return types.Convert(a, t, 0)
}

// intArith is + and - of int and bigint; nil for everything else.
func intArith(n *plan.Arith, l, rr evalFunc) evalFunc {
	k := n.T.Kind
	if (k != types.KindInt && k != types.KindBigInt) || !n.L.Type().Kind.IsInteger() || !n.R.Type().Kind.IsInteger() {
		return nil
	}
	sign := int64(1)
	switch n.Op {
	case syntax.OpAdd:
	case syntax.OpSub:
		sign = -1
	default:
		return nil
	}
	t := n.T
	op := n.TypesOp()
	return func(r *run) (types.Value, error) {
		a, err := l(r)
		if err != nil {
			return types.Null, err
		}
		b, err := rr(r)
		if err != nil || a.IsNull() || b.IsNull() {
			return types.Null, err
		}
		x, y := a.Int(), b.Int()
		if y != math.MinInt64 {
			y *= sign
			s := x + y
			if k == types.KindInt {
				if s >= math.MinInt32 && s <= math.MaxInt32 {
					return types.NewInt(s), nil
				}
			} else if (s > x) == (y > 0) {
				return types.NewBigInt(s), nil
			}
		}
		return types.Arith(op, a, b, t)
	}
}

func (c *compiler) caseOf(n *plan.Case) evalFunc {
	conds := make([]condFunc, len(n.Whens))
	thens := make([]evalFunc, len(n.Whens))
	for i, w := range n.Whens {
		conds[i], thens[i] = c.cond(w.Cond), c.expr(w.Then)
	}
	otherwise := func(*run) (types.Value, error) { return types.Null, nil }
	if n.Else != nil {
		otherwise = c.expr(n.Else)
	}
	return func(r *run) (types.Value, error) {
		for i, cond := range conds {
			t, err := cond(r)
			if err != nil {
				return types.Null, err
			}
			if t == isTrue {
				return thens[i](r)
			}
		}
		return otherwise(r)
	}
}

func (c *compiler) coalesce(n *plan.Coalesce) evalFunc {
	args := c.exprs(n.Args)
	return func(r *run) (types.Value, error) {
		for _, a := range args {
			v, err := a(r)
			if err != nil || !v.IsNull() {
				return v, err
			}
		}
		return types.Null, nil
	}
}

// function compiles a call of a built-in function.
func (c *compiler) function(n *plan.Func) evalFunc {
	args, f, t := c.exprs(n.Args), n.F, n.T
	argTypes := make([]types.Type, len(n.Args))
	for i, a := range n.Args {
		argTypes[i] = a.Type()
	}
	name := f.Name
	return func(r *run) (types.Value, error) {
		base := len(r.args)
		for _, a := range args {
			v, err := a(r)
			if err != nil {
				r.args = r.args[:base]
				return types.Null, err
			}
			r.args = append(r.args, v)
		}
		vs := r.args[base:len(r.args):len(r.args)]
		var (
			v   types.Value
			err error
		)
		if f.FromSession {
			v, err = r.rt.Property(name, vs)
		} else {
			v, err = f.Eval(r.rt, vs, argTypes, t)
		}
		r.args = r.args[:base]
		return v, err
	}
}

func (c *compiler) userFunc(n *plan.UserFunc) evalFunc {
	args, m, t := c.exprs(n.Args), n.Module, n.T
	return func(r *run) (types.Value, error) {
		vs, err := r.arguments(args)
		if err != nil {
			return types.Null, err
		}
		v, err := r.rt.CallFunction(m, vs)
		if err != nil || v.IsNull() {
			return types.Null, err
		}
		return types.Assign(v, t)
	}
}

// defaultArgument marks an argument written as DEFAULT.
var defaultArgument = types.NewBinary(types.KindImage, "\x00default")

// IsDefault reports whether an argument that CallFunction or CallTableFunction
// received was written as DEFAULT.
func IsDefault(v types.Value) bool { return v == defaultArgument }

func (r *run) arguments(args []evalFunc) ([]types.Value, error) {
	vs := make([]types.Value, len(args))
	for i, a := range args {
		if a == nil {
			vs[i] = defaultArgument
			continue
		}
		v, err := a(r)
		if err != nil {
			return nil, err
		}
		vs[i] = v
	}
	return vs, nil
}

// sequenceValue is the number that a sequence gave for a row.
type sequenceValue struct {
	sequence *catalog.Sequence
	row      uint64
	v        types.Value
}

// nextValue takes the next number of a sequence; all references within one row
// get the same.
func (r *run) nextValue(s *catalog.Sequence) (types.Value, error) {
	for i := range r.sequences {
		c := &r.sequences[i]
		if c.sequence != s {
			continue
		}
		if c.row == r.row {
			return c.v, nil
		}
		v, err := r.rt.NextValue(s)
		c.v, c.row = v, r.row
		return v, err
	}
	v, err := r.rt.NextValue(s)
	r.sequences = append(r.sequences, sequenceValue{s, r.row, v})
	return v, err
}

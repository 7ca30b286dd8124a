package exec

import (
	"fmt"

	"loopbroker/engine/builtin"
	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// conds compiles a conjunction; nil for no conditions.
func (c *compiler) conds(list []plan.Expr) condFunc {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return c.cond(list[0])
	}
	return c.and(list)
}

// cond compiles a condition.
func (c *compiler) cond(x plan.Expr) condFunc {
	switch n := x.(type) {
	case *plan.And:
		return c.and(n.List)
	case *plan.Or:
		return c.or(n.List)
	case *plan.Not:
		f := c.cond(n.X)
		return func(r *run) (tri, error) {
			t, err := f(r)
			if t == isUnknown {
				return t, err
			}
			return t ^ 1, err
		}
	case *plan.Compare:
		return c.compare(n)
	case *plan.Distinct:
		return c.distinct(n)
	case *plan.IsNull:
		f, not := c.expr(n.X), n.Not
		return func(r *run) (tri, error) {
			v, err := f(r)
			return truth(v.IsNull() != not), err
		}
	case *plan.InList:
		return c.inList(n)
	case *plan.Like:
		return c.like(n)
	case *plan.InQuery:
		return c.inQuery(n)
	case *plan.Exists:
		return c.exists(n)
	case *plan.Quantified:
		return c.quantified(n)
	}
	c.fail(sqlerr.Unsupported(fmt.Sprintf("condition %T", x)))
	return func(*run) (tri, error) { return isUnknown, nil }
}

func (c *compiler) and(list []plan.Expr) condFunc {
	fs := make([]condFunc, len(list))
	for i, x := range list {
		fs[i] = c.cond(x)
	}
	return func(r *run) (tri, error) {
		out := isTrue
		for _, f := range fs {
			t, err := f(r)
			if err != nil || t == isFalse {
				return isFalse, err
			}
			if t == isUnknown {
				out = isUnknown
			}
		}
		return out, nil
	}
}

func (c *compiler) or(list []plan.Expr) condFunc {
	fs := make([]condFunc, len(list))
	for i, x := range list {
		fs[i] = c.cond(x)
	}
	return func(r *run) (tri, error) {
		out := isFalse
		for _, f := range fs {
			t, err := f(r)
			if err != nil || t == isTrue {
				return t, err
			}
			if t == isUnknown {
				out = isUnknown
			}
		}
		return out, nil
	}
}

// holds turns the order of two values into the truth of a comparison.
func holds(op syntax.BinaryOp, order int) bool {
	switch op {
	case syntax.OpEq:
		return order == 0
	case syntax.OpNe:
		return order != 0
	case syntax.OpLt:
		return order < 0
	case syntax.OpLe:
		return order <= 0
	case syntax.OpGt:
		return order > 0
	}
	return order >= 0
}

// compareValues compares two values that are not NULL.
func compareValues(a, b types.Value, coll *types.Collation) int {
	if a.Kind() != b.Kind() && a.Kind().IsInteger() && b.Kind().IsInteger() {
		switch x, y := a.Int(), b.Int(); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	return types.Compare(a, b, coll)
}

func (c *compiler) compare(n *plan.Compare) condFunc {
	l, rr, op, coll := c.expr(n.L), c.expr(n.R), n.Op, n.Collation
	if n.L.Type().Kind.IsInteger() && n.R.Type().Kind.IsInteger() {
		return compareInts(l, rr, op)
	}
	return func(r *run) (tri, error) {
		a, err := l(r)
		if err != nil {
			return isUnknown, err
		}
		b, err := rr(r)
		if err != nil || a.IsNull() || b.IsNull() {
			return isUnknown, err
		}
		return truth(holds(op, compareValues(a, b, coll))), nil
	}
}

func compareInts(l, rr evalFunc, op syntax.BinaryOp) condFunc {
	return func(r *run) (tri, error) {
		a, err := l(r)
		if err != nil {
			return isUnknown, err
		}
		b, err := rr(r)
		if err != nil || a.IsNull() || b.IsNull() {
			return isUnknown, err
		}
		x, y := a.Int(), b.Int()
		switch op {
		case syntax.OpEq:
			return truth(x == y), nil
		case syntax.OpNe:
			return truth(x != y), nil
		case syntax.OpLt:
			return truth(x < y), nil
		case syntax.OpLe:
			return truth(x <= y), nil
		case syntax.OpGt:
			return truth(x > y), nil
		}
		return truth(x >= y), nil
	}
}

func (c *compiler) distinct(n *plan.Distinct) condFunc {
	l, rr, coll, not := c.expr(n.L), c.expr(n.R), n.Collation, n.Not
	return func(r *run) (tri, error) {
		a, err := l(r)
		if err != nil {
			return isUnknown, err
		}
		b, err := rr(r)
		if err != nil {
			return isUnknown, err
		}
		differ := a.IsNull() != b.IsNull()
		if !a.IsNull() && !b.IsNull() {
			differ = compareValues(a, b, coll) != 0
		}
		return truth(differ != not), nil
	}
}

func (c *compiler) inList(n *plan.InList) condFunc {
	x, list, coll, not := c.expr(n.X), c.exprs(n.List), n.Collation, n.Not
	return func(r *run) (tri, error) {
		v, err := x(r)
		if err != nil || v.IsNull() {
			return isUnknown, err
		}
		unknown := false
		for _, f := range list {
			w, err := f(r)
			if err != nil {
				return isUnknown, err
			}
			if w.IsNull() {
				unknown = true
				continue
			}
			if compareValues(v, w, coll) == 0 {
				return truth(!not), nil
			}
		}
		if unknown {
			return isUnknown, nil
		}
		return truth(not), nil
	}
}

func (c *compiler) like(n *plan.Like) condFunc {
	x, not, coll := c.expr(n.X), n.Not, n.Collation
	unicode := n.X.Type().Kind.IsUnicode() || n.Pattern.Type().Kind.IsUnicode()
	compiled, err := constantPattern(n, unicode)
	if err != nil {
		c.fail(err)
	}
	if compiled != nil {
		return func(r *run) (tri, error) {
			v, err := x(r)
			if err != nil || v.IsNull() {
				return isUnknown, err
			}
			return truth(compiled.Match(v.Text()) != not), nil
		}
	}
	pattern := c.expr(n.Pattern)
	var escape evalFunc
	if n.Escape != nil {
		escape = c.expr(n.Escape)
	}
	return func(r *run) (tri, error) {
		v, err := x(r)
		if err != nil {
			return isUnknown, err
		}
		p, err := pattern(r)
		if err != nil || v.IsNull() || p.IsNull() {
			return isUnknown, err
		}
		var esc *string
		if escape != nil {
			e, err := escape(r)
			if err != nil || e.IsNull() {
				return isUnknown, err
			}
			s := e.Text()
			esc = &s
		}
		ok, err := builtin.Like(v.Text(), p.Text(), esc, coll, unicode)
		return truth(ok != not), err
	}
}

// constantPattern compiles a constant pattern; nil for any other.
func constantPattern(n *plan.Like, unicode bool) (*builtin.Pattern, error) {
	p, ok := n.Pattern.(*plan.Const)
	if !ok || p.Value.IsNull() {
		return nil, nil
	}
	var esc *string
	if n.Escape != nil {
		e, ok := n.Escape.(*plan.Const)
		if !ok || e.Value.IsNull() {
			return nil, nil
		}
		s := e.Value.Text()
		esc = &s
	}
	return builtin.CompileLike(p.Value.Text(), esc, n.Collation, unicode)
}

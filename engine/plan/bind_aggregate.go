package plan

import (
	"strings"

	"loopbroker/engine/builtin"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// aggregate binds an aggregate call without OVER.
func (b *binder) aggregate(n *syntax.Call, name string) (Expr, error) {
	if b.scope == nil {
		return nil, fail(n, 147)
	}
	switch b.scope.clause {
	case clauseWhere, clauseOn:
		return nil, fail(n, 147)
	case clauseGroup:
		return nil, fail(n, 144)
	case clauseAggregate, clauseNone:
		return nil, fail(n, 130)
	}
	saved := b.scope.clause
	b.scope.clause = clauseAggregate
	a, err := b.aggregateArgs(n, name)
	b.scope.clause = saved
	if err != nil {
		return nil, err
	}
	b.scope.aggregated = true
	return a, nil
}

func (b *binder) aggregateArgs(n *syntax.Call, name string) (*Aggregate, error) {
	a := &Aggregate{Name: name, Distinct: n.Distinct}
	if len(n.Args) == 1 {
		if _, star := n.Args[0].(*syntax.Star); star {
			if name != "COUNT" && name != "COUNT_BIG" {
				return nil, fail(n, 102, "*")
			}
			a.T = types.TypeInt
			if name == "COUNT_BIG" {
				a.T = types.TypeBigInt
			}
			return a, nil
		}
	}
	f, ok := builtin.LookupAggregate(name)
	if !ok {
		return nil, unsupported(n, name)
	}
	a.F = f
	if err := f.CheckArity(len(n.Args)); err != nil {
		return nil, lineOf(n, err)
	}
	if len(n.Within) > 0 && !f.Ordered {
		return nil, fail(n, 10757, n.Name.Object.Name)
	}
	args, err := b.values(n.Args)
	if err != nil {
		return nil, err
	}
	a.Args = args
	argTypes := make([]types.Type, len(args))
	for i, x := range args {
		argTypes[i] = x.Type()
		if hasQuery(x) {
			return nil, fail(n, 130)
		}
	}
	if a.T, err = f.Type(argTypes); err != nil {
		return nil, lineOf(n, err)
	}
	for _, o := range n.Within {
		x, err := b.value(o.X)
		if err != nil {
			return nil, err
		}
		a.Within = append(a.Within, SortKey{X: x, Desc: o.Desc})
	}
	return a, nil
}

// ranking are the window functions that are not aggregates.
var ranking = map[string]bool{
	"ROW_NUMBER": true, "RANK": true, "DENSE_RANK": true, "NTILE": true,
	"LAG": true, "LEAD": true, "FIRST_VALUE": true, "LAST_VALUE": true,
}

// window binds a call with an OVER clause.
func (b *binder) window(n *syntax.Call, name string) (Expr, error) {
	if b.scope == nil || (b.scope.clause != clauseSelect && b.scope.clause != clauseOrder) {
		return nil, fail(n, 4108)
	}
	w := &Window{Name: name}
	if !ranking[name] {
		a, err := b.aggregateArgs(n, name)
		if err != nil {
			return nil, err
		}
		if a.Distinct || len(a.Within) > 0 {
			return nil, fail(n, 10759)
		}
		w.F, w.Args, w.T = a.F, a.Args, a.T
	} else if err := b.rankingArgs(n, w); err != nil {
		return nil, err
	}
	part, err := b.values(n.Over.PartitionBy)
	if err != nil {
		return nil, err
	}
	w.Partition = part
	for _, o := range n.Over.OrderBy {
		x, err := b.value(o.X)
		if err != nil {
			return nil, err
		}
		w.Order = append(w.Order, SortKey{X: x, Desc: o.Desc})
	}
	if ranking[name] && len(w.Order) == 0 {
		return nil, fail(n, 4112, n.Name.Object.Name)
	}
	if w.Frame, err = b.frame(n, w); err != nil {
		return nil, err
	}
	return w, nil
}

func (b *binder) rankingArgs(n *syntax.Call, w *Window) error {
	args, err := b.values(n.Args)
	if err != nil {
		return err
	}
	w.Args, w.T = args, types.TypeBigInt
	low, high := 0, 0
	switch w.Name {
	case "NTILE", "FIRST_VALUE", "LAST_VALUE":
		low, high = 1, 1
	case "LAG", "LEAD":
		low, high = 1, 3
	}
	if len(args) < low || len(args) > high {
		return fail(n, 174, strings.ToLower(w.Name), high)
	}
	switch w.Name {
	case "NTILE":
		w.Args[0] = b.convertTo(args[0], types.TypeBigInt)
	case "LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE":
		w.T = args[0].Type()
		if len(args) > 1 {
			w.Args[1] = b.convertTo(args[1], types.TypeBigInt)
		}
		if len(args) > 2 {
			w.Args[2], err = b.assignTo(n, args[2], w.T, ModeConvert)
		}
	}
	return err
}

// frame binds the frame of a window; nil for the default one.
func (b *binder) frame(n *syntax.Call, w *Window) (*Frame, error) {
	f := n.Over.Frame
	if f == nil {
		return nil, nil
	}
	if len(w.Order) == 0 || (ranking[w.Name] && w.Name != "FIRST_VALUE" && w.Name != "LAST_VALUE") {
		return nil, fail(n, 10752, n.Name.Object.Name)
	}
	out := &Frame{Range: f.Range}
	for i, in := range []syntax.FrameBound{f.Start, f.End} {
		bound := FrameBound{Kind: in.Kind}
		if in.Offset != nil {
			x, err := b.value(in.Offset)
			if err != nil {
				return nil, err
			}
			c, ok := x.(*Const)
			if !ok || !c.T.Kind.IsInteger() {
				return nil, unsupported(n, "a window frame offset that is not a constant")
			}
			if f.Range {
				return nil, fail(n, 4194)
			}
			bound.Offset = c.Value.Int()
		}
		if i == 0 {
			out.Start = bound
		} else {
			out.End = bound
		}
	}
	return out, nil
}

package plan

import (
	"strings"
	"time"

	"loopbroker/engine/builtin"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

func (b *binder) caseOf(n *syntax.Case) (Expr, error) {
	c := &Case{}
	var results []Expr
	for _, w := range n.Whens {
		var cond Expr
		var err error
		if n.Input != nil {
			cond, err = b.binary(&syntax.Binary{Pos: n.Pos, Op: syntax.OpEq, L: n.Input, R: w.Cond})
		} else {
			cond, err = b.condition(w.Cond)
		}
		if err != nil {
			return nil, err
		}
		then, err := b.value(w.Then)
		if err != nil {
			return nil, err
		}
		c.Whens = append(c.Whens, When{Cond: cond})
		results = append(results, then)
	}
	if n.Else != nil {
		x, err := b.value(n.Else)
		if err != nil {
			return nil, err
		}
		results = append(results, x)
	}
	return b.finishCase(n, c, results)
}

// finishCase gives the branches of c their results, brought to one type.
func (b *binder) finishCase(n syntax.Node, c *Case, results []Expr) (Expr, error) {
	results, t, err := b.common(n, "CASE", results)
	if err != nil {
		return nil, err
	}
	c.T = t
	for i := range c.Whens {
		c.Whens[i].Then = results[i]
	}
	if len(results) > len(c.Whens) {
		c.Else = results[len(c.Whens)]
	}
	return c, nil
}

// lazy binds the functions that do not evaluate all their arguments.
func (b *binder) lazy(n *syntax.Call, name string) (Expr, bool, error) {
	switch name {
	case "COALESCE":
		x, err := b.coalesce(n)
		return x, true, err
	case "ISNULL":
		x, err := b.isnull(n)
		return x, true, err
	case "NULLIF":
		x, err := b.nullif(n)
		return x, true, err
	case "IIF":
		if len(n.Args) != 3 {
			return nil, true, fail(n, 174, "iif", 3)
		}
		x, err := b.caseOf(&syntax.Case{Pos: n.Pos, Whens: []syntax.When{{Cond: n.Args[0], Then: n.Args[1]}}, Else: n.Args[2]})
		return x, true, err
	case "CHOOSE":
		x, err := b.choose(n)
		return x, true, err
	}
	return nil, false, nil
}

func (b *binder) coalesce(n *syntax.Call) (Expr, error) {
	if len(n.Args) < 2 {
		return nil, fail(n, 102, ")")
	}
	args, err := b.values(n.Args)
	if err != nil {
		return nil, err
	}
	args, t, err := b.common(n, "COALESCE", args)
	if err != nil {
		return nil, err
	}
	if t.Kind == types.KindNull {
		return nil, fail(n, 4127)
	}
	return &Coalesce{Args: args, T: t}, nil
}

func (b *binder) isnull(n *syntax.Call) (Expr, error) {
	if len(n.Args) != 2 {
		return nil, fail(n, 174, "isnull", 2)
	}
	args, err := b.values(n.Args)
	if err != nil {
		return nil, err
	}
	t := args[0].Type()
	if t.Kind == types.KindNull {
		t = defaultType(args[1].Type())
	}
	if args[1], err = b.assignTo(n, args[1], t, ModeConvert); err != nil {
		return nil, err
	}
	return &Coalesce{Args: []Expr{b.convertTo(args[0], t), args[1]}, T: t, First: true}, nil
}

func (b *binder) nullif(n *syntax.Call) (Expr, error) {
	if len(n.Args) != 2 {
		return nil, fail(n, 174, "nullif", 2)
	}
	cond, err := b.binary(&syntax.Binary{Pos: n.Pos, Op: syntax.OpEq, L: n.Args[0], R: n.Args[1]})
	if err != nil {
		return nil, err
	}
	x, err := b.value(n.Args[0])
	if err != nil {
		return nil, err
	}
	t := x.Type()
	return &Case{Whens: []When{{Cond: cond, Then: &Const{T: t}}}, Else: x, T: t}, nil
}

func (b *binder) choose(n *syntax.Call) (Expr, error) {
	if len(n.Args) < 2 {
		return nil, fail(n, 189, "choose", 2, 255)
	}
	c := &Case{}
	var results []Expr
	for i, a := range n.Args[1:] {
		index, err := b.value(n.Args[0])
		if err != nil {
			return nil, err
		}
		x, err := b.value(a)
		if err != nil {
			return nil, err
		}
		at := &Const{Value: types.NewInt(int64(i + 1)), T: types.TypeInt}
		c.Whens = append(c.Whens, When{Cond: &Compare{Op: syntax.OpEq, L: b.convertTo(index, types.TypeInt), R: at}})
		results = append(results, x)
	}
	return b.finishCase(n, c, results)
}

// call binds a function call of any kind.
func (b *binder) call(n *syntax.Call) (Expr, error) {
	if n.Receiver != nil {
		return nil, unsupported(n, "methods of xml and CLR types")
	}
	name := strings.ToUpper(n.Name.Object.Name)
	if n.Name.Schema.Name != "" {
		return b.userFunc(n)
	}
	if n.Over != nil {
		return b.window(n, name)
	}
	if x, ok, err := b.lazy(n, name); ok {
		return x, err
	}
	if _, ok := builtin.LookupAggregate(name); ok || (name == "COUNT" || name == "COUNT_BIG") {
		return b.aggregate(n, name)
	}
	if ranking[name] {
		return nil, fail(n, 10753, n.Name.Object.Name)
	}
	f, ok := builtin.Lookup(name)
	if !ok {
		return b.userFunc(n)
	}
	args, part := n.Args, ""
	if (f.DatePart || f.ColumnArg) && len(args) > 0 {
		word, ok := args[0].(*syntax.ColumnRef)
		if !ok || len(word.Parts) != 1 {
			return nil, fail(n, 1023, 1, strings.ToLower(name))
		}
		part, args = word.Parts[0].Name, args[1:]
	}
	return b.builtin(n, f, args, part)
}

// builtin binds a call of a built-in function.
func (b *binder) builtin(n syntax.Node, f *builtin.Func, list []syntax.Expr, part string) (Expr, error) {
	args, err := b.values(list)
	if err != nil {
		return nil, err
	}
	switch {
	case f.DatePart && part != "":
		args = append([]Expr{&Const{Value: types.NewVarChar(part), T: types.VarChar(len(part))}}, args...)
	case f.ColumnArg && part != "":
		args = append([]Expr{&Const{Value: types.NewNVarChar(part), T: types.NVarChar(128)}}, args...)
	}
	if err := f.CheckArity(len(args)); err != nil {
		return nil, lineOf(n, err)
	}
	if f.Raw != nil && returnsJSON(args[len(args)-1]) {
		f = f.Raw
	}
	argTypes := make([]types.Type, len(args))
	consts := make([]*types.Value, len(args))
	constant := true
	for i, a := range args {
		argTypes[i] = a.Type()
		if c, ok := a.(*Const); ok {
			consts[i] = &c.Value
		} else {
			constant = false
		}
	}
	t, err := f.Type(argTypes, consts)
	if err != nil {
		return nil, lineOf(n, err)
	}
	if t.Kind.IsChar() && !f.FromSession {
		if c, level := collationOf(&Func{Args: args, T: t}); level > 0 {
			t = t.WithCollation(c)
		}
	}
	x := &Func{F: f, Args: args, Part: part, T: t}
	if constant && f.Deterministic && !f.Volatile && !f.FromSession && f.Eval != nil {
		return b.foldFunc(x, argTypes), nil
	}
	return x, nil
}

// returnsJSON reports whether x is JSON text to be embedded as it is.
func returnsJSON(x Expr) bool {
	switch n := x.(type) {
	case *Func:
		return n.F.ReturnsJSON
	case *ScalarQuery:
		return n.Query.For != nil && !n.Query.For.Clause.XML
	}
	return false
}

// foldFunc evaluates a deterministic function of constants.
func (b *binder) foldFunc(x *Func, argTypes []types.Type) Expr {
	args := make([]types.Value, len(x.Args))
	for i, a := range x.Args {
		args[i] = a.(*Const).Value
	}
	v, err := x.F.Eval(foldEnv{b.env.Options()}, args, argTypes, x.T)
	if err != nil {
		return x
	}
	return &Const{Value: v, T: x.T}
}

func (b *binder) userFunc(n *syntax.Call) (Expr, error) {
	m, err := b.env.Function(n.Name)
	if err != nil {
		return nil, lineOf(n, err)
	}
	b.addModule(m)
	if b.outermost {
		b.use(m, "EXECUTE")
	}
	name := m.Schema + "." + m.Name
	if len(n.Args) > len(m.Parameters) {
		return nil, fail(n, 8144, name)
	}
	if len(n.Args) < len(m.Parameters) {
		return nil, fail(n, 313, name)
	}
	call := &UserFunc{Module: m, T: m.Returns}
	args, err := b.moduleArgs(n, m.Parameters, n.Args)
	call.Args = args
	return call, err
}

// nextValue binds NEXT VALUE FOR.
func (b *binder) nextValue(n *syntax.NextValue) (Expr, error) {
	if n.Over != nil {
		return nil, unsupported(n, "NEXT VALUE FOR with OVER")
	}
	s, err := b.env.Sequence(n.Sequence)
	if err != nil {
		return nil, lineOf(n, err)
	}
	if b.outermost {
		b.use(s, "UPDATE")
	}
	return &NextValue{Sequence: s, T: s.Type}, nil
}

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

// foldEnv is the session of a constant expression.
type foldEnv struct{ options builtin.Options }

// Property has no answer while a statement is compiled.
func (foldEnv) Property(name string, _ []types.Value) (types.Value, error) {
	return types.Null, sqlerr.Unsupported(name + " in a constant expression")
}

// Options implements builtin.Env.
func (e foldEnv) Options() builtin.Options { return e.options }

// Now implements builtin.Env. Deterministic functions do not ask for it.
func (foldEnv) Now() time.Time { return time.Time{} }

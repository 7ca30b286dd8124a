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

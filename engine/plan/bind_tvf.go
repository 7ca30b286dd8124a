package plan

import (
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// tableFunc binds a table-valued function.
func (b *binder) tableFunc(n *syntax.TableFunc, nullable bool) (Rel, error) {
	if n.Call.Receiver != nil {
		return nil, unsupported(n, "methods of xml and CLR types")
	}
	name := strings.ToUpper(n.Call.Name.Object.Name)
	if n.Call.Name.Schema.Name == "" {
		switch name {
		case "OPENJSON":
			return b.openJSON(n)
		case "STRING_SPLIT":
			return b.stringSplit(n)
		case "GENERATE_SERIES", "OPENXML", "OPENQUERY", "OPENROWSET", "OPENDATASOURCE", "CHANGETABLE", "CONTAINSTABLE", "FREETEXTTABLE":
			return nil, unsupported(n, name)
		}
	}
	o, err := b.env.Relation(n.Call.Name)
	if err != nil {
		return nil, lineOf(n, err)
	}
	m, ok := o.(*catalog.Module)
	if !ok || (m.ModuleKind != catalog.KindInlineFunction && m.ModuleKind != catalog.KindTableFunction) {
		return nil, fail(n, 215, n.Call.Name.Object.Name)
	}
	if b.outermost {
		b.use(m, "SELECT")
	}
	full := m.Schema + "." + m.Name
	switch {
	case len(n.Call.Args) > len(m.Parameters):
		return nil, fail(n, 8144, full)
	case len(n.Call.Args) < len(m.Parameters):
		return nil, fail(n, 313, full)
	}
	if m.ModuleKind == catalog.KindInlineFunction {
		return b.inlineFunc(n, m, nullable)
	}
	return b.moduleFunc(n, m)
}

// addFunc makes a table-valued function a relation of the scope.
func (b *binder) addFunc(n *syntax.TableFunc, f *TableFunc, name string, cols []OutColumn) (Rel, error) {
	r := &relation{name: name, aliased: n.Alias.Name != ""}
	if r.aliased {
		r.name = n.Alias.Name
	}
	for i, o := range cols {
		f.Columns = append(f.Columns, o.T)
		r.cols = append(r.cols, relColumn{name: o.Name, out: o,
			x: &Column{Src: f.Src, Col: i, T: o.T, Name: o.Name, Label: r.name + "." + o.Name, Nullable: o.Nullable}})
	}
	if err := rename(n, r.name, r.cols, n.Columns); err != nil {
		return nil, err
	}
	return f, b.add(n, r)
}

func (b *binder) textArgs(n *syntax.TableFunc, low, high int) ([]Expr, error) {
	name := strings.ToLower(n.Call.Name.Object.Name)
	if len(n.Call.Args) < low || len(n.Call.Args) > high {
		return nil, fail(n, 189, name, low, high)
	}
	args, err := b.values(n.Call.Args)
	if err != nil {
		return nil, err
	}
	for i, x := range args[:min(2, len(args))] {
		k := x.Type().Kind
		if k != types.KindNull && (!k.IsChar() || k.IsLOB()) {
			return nil, fail(n, 8116, k.String(), i+1, name)
		}
	}
	return args, nil
}

func (b *binder) openJSON(n *syntax.TableFunc) (Rel, error) {
	args, err := b.textArgs(n, 1, 2)
	if err != nil {
		return nil, err
	}
	f := &TableFunc{Src: b.source(), Kind: FuncOpenJSON, Args: args}
	if len(n.With) == 0 {
		key := types.NVarChar(4000)
		if c, ok := types.LookupCollation("Latin1_General_BIN2"); ok {
			key = key.WithCollation(c)
		}
		return b.addFunc(n, f, "OPENJSON", []OutColumn{
			{Name: "key", T: key}, {Name: "value", T: types.NVarChar(types.Max), Nullable: true}, {Name: "type", T: types.TypeTinyInt}})
	}
	var cols []OutColumn
	for _, c := range n.With {
		t, err := b.env.DataType(c.Type)
		if err != nil {
			return nil, lineOf(n, err)
		}
		if c.AsJSON && !(t.Kind == types.KindNVarChar && t.Length == types.Max) {
			return nil, fail(n, 13618)
		}
		path := "$." + quoteJSONKey(c.Name.Name)
		if c.Path != nil {
			path = *c.Path
		}
		f.With = append(f.With, JSONColumn{Name: c.Name.Name, T: t, Path: path, JSON: c.AsJSON})
		cols = append(cols, OutColumn{Name: c.Name.Name, T: t, Nullable: true})
	}
	return b.addFunc(n, f, "OPENJSON", cols)
}

// quoteJSONKey writes a key of a JSON path in its quoted form.
func quoteJSONKey(key string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}

func (b *binder) stringSplit(n *syntax.TableFunc) (Rel, error) {
	args, err := b.textArgs(n, 2, 3)
	if err != nil {
		return nil, err
	}
	t := types.NVarChar(types.Max)
	if u := args[0].Type(); u.Kind.IsChar() {
		t = u
		if u.Kind == types.KindChar {
			t.Kind = types.KindVarChar
		}
		if u.Kind == types.KindNChar {
			t.Kind = types.KindNVarChar
		}
	}
	cols := []OutColumn{{Name: "value", T: t, Nullable: true}}
	if len(args) == 3 {
		c, ok := args[2].(*Const)
		if !ok {
			return nil, fail(n, 8748)
		}
		if c.Value.Bool() {
			cols = append(cols, OutColumn{Name: "ordinal", T: types.TypeBigInt})
		}
	}
	return b.addFunc(n, &TableFunc{Src: b.source(), Kind: FuncSplit, Args: args[:2]}, "STRING_SPLIT", cols)
}

// moduleFunc binds a multi-statement function.
func (b *binder) moduleFunc(n *syntax.TableFunc, m *catalog.Module) (Rel, error) {
	b.addModule(m)
	args, err := b.moduleArgs(n.Call, m.Parameters, n.Call.Args)
	if err != nil {
		return nil, err
	}
	var cols []OutColumn
	for _, c := range m.Columns {
		cols = append(cols, OutColumn{Name: c.Name, T: c.Type, Nullable: c.Nullable})
	}
	return b.addFunc(n, &TableFunc{Src: b.source(), Kind: FuncModule, Module: m, Args: args}, m.Name, cols)
}

// inlineFunc expands an inline function: its parameters stand for the
// arguments, bound anew for each use.
func (b *binder) inlineFunc(n *syntax.TableFunc, m *catalog.Module, nullable bool) (Rel, error) {
	tree, err := moduleTree(m)
	if err != nil {
		return nil, err
	}
	f, ok := tree.(*syntax.CreateFunction)
	if !ok {
		return nil, fail(n, 208, m.Name)
	}
	in, err := b.inModule(n, m)
	if err != nil {
		return nil, err
	}
	in.params = map[string]func() (Expr, error){}
	for i := range f.Params {
		p, arg := f.Params[i], n.Call.Args[i]
		t := m.Parameters[i].Type
		if l, ok := arg.(*syntax.Literal); ok && l.Kind == syntax.LitDefault {
			if p.Default == nil {
				return nil, fail(n, 201, m.Name, p.Name)
			}
			in.params[strings.ToUpper(p.Name)] = func() (Expr, error) { return in.constantOf(p.Default, t) }
			continue
		}
		in.params[strings.ToUpper(p.Name)] = func() (Expr, error) {
			x, err := b.value(arg)
			if err != nil {
				return nil, err
			}
			return b.assignTo(n, x, t, ModeAssign)
		}
	}
	// An argument that cannot be bound is an error even if nothing uses it.
	for i := range f.Params {
		if _, err := in.params[strings.ToUpper(f.Params[i].Name)](); err != nil {
			return nil, err
		}
	}
	in.ctes = in.ctes.push(f.With, in)
	q, err := in.query(f.Query, placeInner)
	if err != nil {
		return nil, err
	}
	alias := n.Alias
	if alias.Name == "" {
		alias.Name = m.Name
	}
	return b.addQuery(n, q, alias, n.Columns, nullable)
}

// constantOf binds the default of a parameter.
func (b *binder) constantOf(e syntax.Expr, t types.Type) (Expr, error) {
	x, err := b.with(nil).value(e)
	if err != nil {
		return nil, err
	}
	return b.convertTo(x, t), nil
}

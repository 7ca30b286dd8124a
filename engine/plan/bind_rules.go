package plan

import (
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/syntax"
)

// rules binds the defaults, computed columns, checks and keys of a table; the
// row being written is in source src.
func (b *binder) rules(t *catalog.Table, src int) (*Rules, error) {
	return b.rulesWithin(t, src, map[int32]*Rules{})
}

func (b *binder) rulesWithin(t *catalog.Table, src int, done map[int32]*Rules) (*Rules, error) {
	r := &Rules{Src: src, Defaults: make([]Expr, len(t.Columns)), Computed: make([]Expr, len(t.Columns))}
	done[t.ID] = r
	over, err := b.overTable(t, src, t.Name)
	if err != nil {
		return nil, err
	}
	plain := *b
	plain.scope, plain.ctes, plain.params, plain.outermost = nil, nil, nil, false
	for i, c := range t.Columns {
		if err := r.column(&plain, over, i, c); err != nil {
			return nil, err
		}
	}
	for _, c := range t.Checks {
		if c.Disabled {
			continue
		}
		tree, err := syntax.ParseExpr(c.Text, syntax.Options{QuotedIdentifier: true})
		if err != nil {
			return nil, err
		}
		x, err := over.condition(tree)
		if err != nil {
			return nil, err
		}
		r.Checks = append(r.Checks, Check{Check: c, X: x})
	}
	return r, b.keys(t, r, done)
}

func (r *Rules) column(plain, over *binder, i int, c *catalog.Column) error {
	text, in := c.Default, plain
	if c.Computed {
		text, in = c.ComputedText, over
	}
	if text == "" {
		return nil
	}
	tree, err := syntax.ParseExpr(text, syntax.Options{QuotedIdentifier: true})
	if err != nil {
		return err
	}
	x, err := in.value(tree)
	if err != nil {
		return err
	}
	if c.Computed {
		r.Computed[i] = x
	} else {
		r.Defaults[i] = x
	}
	return nil
}

// keys binds the foreign keys on both sides of a table.
func (b *binder) keys(t *catalog.Table, r *Rules, done map[int32]*Rules) error {
	for _, k := range t.ForeignKeys {
		if k.Disabled {
			continue
		}
		parent := t
		if k.RefTable != t.ID {
			var err error
			if parent, err = b.env.TableByID(t.DatabaseID, k.RefTable); err != nil {
				return err
			}
		}
		b.addTable(parent)
		r.Keys = append(r.Keys, Reference{Key: k, Child: t, Parent: parent})
	}
	seen := map[int32]bool{}
	for _, id := range t.ReferencedBy {
		if seen[id] {
			continue
		}
		seen[id] = true
		child := t
		if id != t.ID {
			var err error
			if child, err = b.env.TableByID(t.DatabaseID, id); err != nil {
				return err
			}
		}
		b.addTable(child)
		if err := b.references(t, child, r, done); err != nil {
			return err
		}
	}
	return nil
}

func (b *binder) references(t, child *catalog.Table, r *Rules, done map[int32]*Rules) error {
	for _, k := range child.ForeignKeys {
		if k.RefTable != t.ID || k.Disabled {
			continue
		}
		ref := Reference{Key: k, Child: child, Parent: t}
		if acts(k.OnDelete) || acts(k.OnUpdate) {
			ref.Rules = done[child.ID]
			if ref.Rules == nil {
				var err error
				if ref.Rules, err = b.rulesWithin(child, b.source(), done); err != nil {
					return err
				}
			}
		}
		r.References = append(r.References, ref)
	}
	return nil
}

// acts reports whether a referential action changes the child.
func acts(action string) bool { return action != "" && action != "NO ACTION" }

// TableRules binds the rules of a table on their own, for the check of existing
// rows. The row stands in source 0.
func TableRules(env Binder, t *catalog.Table) (rules *Rules, sources, states int, err error) {
	b := newBinder(env)
	rules, err = b.rules(t, b.source())
	return rules, b.sources, b.states, err
}

// ModuleColumns binds the query of a view or an inline function and describes
// its columns.
func ModuleColumns(env Binder, m *catalog.Module) ([]OutColumn, error) {
	b := newBinder(env)
	b.scope = &scope{clause: clauseOn}
	var q *Query
	var names []syntax.Ident
	var err error
	if m.ModuleKind == catalog.KindView {
		q, names, err = b.viewQuery(nil, m)
	} else {
		q, err = b.functionQuery(m)
	}
	if err != nil {
		return nil, err
	}
	_, r, err := b.queryRelation(nil, q, m.Name, names, false)
	if err != nil {
		return nil, err
	}
	out := make([]OutColumn, len(r.cols))
	for i := range r.cols {
		out[i] = r.cols[i].out
	}
	return out, nil
}

// functionQuery binds the query of an inline function with NULL for each
// parameter.
func (b *binder) functionQuery(m *catalog.Module) (*Query, error) {
	tree, err := moduleTree(m)
	if err != nil {
		return nil, err
	}
	f, ok := tree.(*syntax.CreateFunction)
	if !ok {
		return nil, fail(nil, 208, m.Name)
	}
	in, err := b.inModule(nil, m)
	if err != nil {
		return nil, err
	}
	in.params = map[string]func() (Expr, error){}
	for i := range f.Params {
		t := m.Parameters[i].Type
		in.params[strings.ToUpper(f.Params[i].Name)] = func() (Expr, error) { return &Variable{T: t, Name: "@p"}, nil }
	}
	in.ctes = in.ctes.push(f.With, in)
	return in.query(f.Query, placeInner)
}

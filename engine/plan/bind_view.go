package plan

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// maxViewDepth bounds views within views (error 217).
const maxViewDepth = 32

// viewQuery binds the query of a view in the view's own environment.
func (b *binder) viewQuery(n syntax.Node, m *catalog.Module) (*Query, []syntax.Ident, error) {
	tree, err := moduleTree(m)
	if err != nil {
		return nil, nil, err
	}
	v, ok := tree.(*syntax.CreateView)
	if !ok {
		return nil, nil, fail(n, 208, m.Name)
	}
	in, err := b.inModule(n, m)
	if err != nil {
		return nil, nil, err
	}
	in.ctes = in.ctes.push(v.With, in)
	q, err := in.query(v.Query, placeInner)
	if err != nil {
		return nil, nil, err
	}
	return q, v.Columns, nil
}

// inModule returns the binder for the text of a view or function.
func (b *binder) inModule(n syntax.Node, m *catalog.Module) (*binder, error) {
	if b.depth >= maxViewDepth {
		return nil, fail(n, 217)
	}
	b.addModule(m)
	in := *b
	in.env, in.params, in.ctes, in.scope, in.outermost = b.env.Module(m), nil, nil, nil, false
	in.depth++
	return &in, nil
}

// parsed is the tree of a module's text, kept with the module.
type parsed struct{ tree syntax.Statement }

func moduleTree(m *catalog.Module) (syntax.Statement, error) {
	if p, ok := m.Compiled.Load().(*parsed); ok {
		return p.tree, nil
	}
	tree, err := syntax.ParseModule(m.Text, syntax.Options{QuotedIdentifier: m.QuotedIdentifier})
	if err != nil {
		return nil, err
	}
	if m.Compiled.Load() == nil {
		m.Compiled.Store(&parsed{tree: tree})
	}
	return tree, nil
}

// addQuery makes a query a relation of the scope.
func (b *binder) addQuery(n syntax.Node, q *Query, alias syntax.Ident, names []syntax.Ident, nullable bool) (Rel, error) {
	rel, r, err := b.queryRelation(n, q, alias.Name, names, nullable)
	if err != nil {
		return nil, err
	}
	r.name, r.aliased = alias.Name, true
	return rel, b.add(n, r)
}

// queryRelation turns a query into a relation: merged into the query around it
// when it only selects and joins, else evaluated as a source of its own.
func (b *binder) queryRelation(n syntax.Node, q *Query, name string, names []syntax.Ident, nullable bool) (Rel, *relation, error) {
	r := &relation{name: name}
	var rel Rel
	merge := q.For == nil && q.block.simple() && !b.blocked(q, nullable)
	src := 0
	inline := !merge && b.target != "" && sameName(b.target, name) && changeable(q)
	if inline {
		rel = &Inline{Query: q}
		r.inline = rel
	} else if merge {
		rel = q.block.from
		if rel == nil {
			rel = &OneRow{}
		}
		if len(q.block.where) > 0 {
			rel = &Filter{X: rel, Conds: q.block.where}
		}
		r.inline = rel
	} else {
		src = b.source()
		rel = &Derived{Src: src, Name: name, Query: q}
	}
	if q.For != nil {
		q = forShape(q)
	}
	for i, x := range q.Items {
		out := q.Columns[i]
		out.T, out.Alias = defaultType(out.T), false
		col := relColumn{name: out.Name, x: x, out: out}
		if !merge && !inline {
			col.x = &Column{Src: src, Col: i, T: defaultType(x.Type()), Name: out.Name, Nullable: canBeNull(x), Base: out.Base}
		}
		r.cols = append(r.cols, col)
	}
	if err := rename(n, name, r.cols, names); err != nil {
		return nil, nil, err
	}
	for i := range r.cols {
		r.cols[i].out.Name = r.cols[i].name
		if c, ok := r.cols[i].x.(*Column); ok {
			c.Label = name + "." + r.cols[i].name
		}
	}
	return rel, r, checkNames(n, name, r.cols)
}

// changeable reports whether the frames of a query are rows of its tables.
func changeable(q *Query) bool {
	b := q.block
	return q.For == nil && b.set == nil && !b.grouped && !b.distinct
}

// blocked reports whether a query must not be merged: an item cannot be copied
// or must become NULL in an outer join.
func (b *binder) blocked(q *Query, null bool) bool {
	for _, x := range q.Items {
		if hasQuery(x) || volatile(x) || x.Type().Kind == types.KindNull {
			return true
		}
		if _, plain := x.(*Column); null && !plain {
			return true
		}
	}
	return null && q.block.from == nil
}

// volatile reports whether x gives another value each time.
func volatile(x Expr) bool {
	found := false
	rewrite(&x, func(e Expr) Expr {
		switch n := e.(type) {
		case *Func:
			found = found || n.F.Volatile
		case *NextValue:
			found = true
		}
		return nil
	})
	return found
}

// forShape is what a query with a FOR clause looks like from outside: one
// column of text.
func forShape(q *Query) *Query {
	t := types.NVarChar(types.Max)
	return &Query{Items: []Expr{&Const{T: t}}, Columns: []OutColumn{{Name: "", T: t, Nullable: true}}}
}

package plan

import (
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// cteScope holds the common table expressions that a query sees.
type cteScope struct {
	parent *cteScope
	name   string
	def    *syntax.CTE
	env    *binder // the binder of the WITH clause
	// self is set while the recursive part of the expression is bound: the
	// name stands for the rows of the step before.
	self *recursion
}

// recursion is the recursive common table expression being bound.
type recursion struct {
	id   int
	cols []OutColumn
	used int
}

// push adds the expressions of a WITH clause; each sees those before it.
func (s *cteScope) push(list []syntax.CTE, env *binder) *cteScope {
	for i := range list {
		in := *env
		in.ctes, in.scope = s, nil
		s = &cteScope{parent: s, name: list[i].Name.Name, def: &list[i], env: &in}
	}
	return s
}

func (s *cteScope) find(name string) *cteScope {
	for ; s != nil; s = s.parent {
		if sameName(s.name, name) {
			return s
		}
	}
	return nil
}

// cteRef binds a reference to a common table expression.
func (b *binder) cteRef(n *syntax.TableRef, c *cteScope, nullable bool) (Rel, error) {
	alias := n.Alias
	if alias.Name == "" {
		alias = n.Name.Object
	}
	if c.self != nil {
		return b.workTable(n, c, alias)
	}
	if _, err := bindHints(n.Hints, nil); err != nil {
		return nil, err
	}
	rel, cols, err := b.recursive(c)
	if err != nil {
		return nil, err
	}
	if rel != nil {
		r := &relation{name: alias.Name, aliased: true, cols: cols}
		return rel, b.add(n, r)
	}
	q, err := b.cteQuery(c)
	if err != nil {
		return nil, err
	}
	return b.addQuery(n, q, alias, c.def.Columns, nullable)
}

// cteQuery binds the query of a common table expression anew.
func (b *binder) cteQuery(c *cteScope) (*Query, error) {
	in := *c.env
	in.option, in.depth = b.option, b.depth
	return in.query(c.def.Query, placeInner)
}

// workTable binds a reference of a recursive query to itself.
func (b *binder) workTable(n *syntax.TableRef, c *cteScope, alias syntax.Ident) (Rel, error) {
	c.self.used++
	w := &WorkTable{Src: b.source(), ID: c.self.id}
	r := &relation{name: alias.Name, aliased: true}
	for i, o := range c.self.cols {
		r.cols = append(r.cols, relColumn{name: o.Name, out: o,
			x: &Column{Src: w.Src, Col: i, T: o.T, Name: o.Name, Label: alias.Name + "." + o.Name, Nullable: true}})
	}
	return w, b.add(n, r)
}

// unionMembers are the members of a chain of UNION ALL.
func unionMembers(q syntax.QueryExpr) []syntax.QueryExpr {
	s, ok := q.(*syntax.SetOp)
	if !ok || s.Kind != syntax.UnionAll || len(s.OrderBy) > 0 || s.Offset != nil {
		return []syntax.QueryExpr{q}
	}
	return append(unionMembers(s.L), s.R)
}

// recursive binds c as a recursive expression. It returns nil when c does not
// refer to itself.
func (b *binder) recursive(c *cteScope) (Rel, []relColumn, error) {
	members := unionMembers(c.def.Query)
	if len(members) < 2 || !mentions(c.def.Query, c.name) {
		return nil, nil, nil
	}
	in := *c.env
	in.option, in.depth = b.option, b.depth
	anchor, err := in.query(members[0], placeInner)
	if err != nil {
		return nil, nil, err
	}
	rec := &Recursive{ID: b.state(), Src: b.source(), Name: c.name, Anchor: anchor, Max: b.option.maxRecursion}
	self := &recursion{id: rec.ID}
	for i, o := range anchor.Columns {
		o.T, o.Base = defaultType(o.T), nil
		if i < len(c.def.Columns) {
			o.Name = c.def.Columns[i].Name
		}
		self.cols = append(self.cols, o)
		rec.Columns = append(rec.Columns, o.T)
		anchor.Items[i] = b.convertTo(anchor.Items[i], o.T)
	}
	in.ctes = &cteScope{parent: in.ctes, name: c.name, def: c.def, env: c.env, self: self}
	for _, m := range members[1:] {
		if err := b.recursiveMember(&in, m, rec, self, c.name); err != nil {
			return nil, nil, err
		}
	}
	if len(rec.Steps) == 0 {
		return nil, nil, nil
	}
	cols := make([]relColumn, len(self.cols))
	for i, o := range self.cols {
		o.Alias = false
		cols[i] = relColumn{name: o.Name, out: o, x: &Column{Src: rec.Src, Col: i, T: o.T, Name: o.Name, Label: c.name + "." + o.Name, Nullable: true}}
	}
	if len(c.def.Columns) > 0 {
		if err := rename(c.def.Query, c.name, cols, c.def.Columns); err != nil {
			return nil, nil, err
		}
	}
	return rec, cols, checkNames(c.def.Query, c.name, cols)
}

// recursiveMember binds one member after the first: a further anchor or a step.
func (b *binder) recursiveMember(in *binder, m syntax.QueryExpr, rec *Recursive, self *recursion, name string) error {
	self.used = 0
	q, err := in.query(m, placeInner)
	if err != nil {
		return err
	}
	if len(q.Items) != len(self.cols) {
		return fail(m, 205)
	}
	if self.used > 1 {
		return fail(m, 253, name)
	}
	if self.used == 0 {
		rec.Anchor, err = b.combineAnchor(m, rec.Anchor, q)
		return err
	}
	if q.block.grouped || q.block.distinct || q.block.top != nil {
		return unsupported(m, "GROUP BY, DISTINCT or TOP in the recursive part of a common table expression")
	}
	for i := range q.Items {
		from, to := q.Items[i].Type(), self.cols[i].T
		if from.Kind != to.Kind && from.Kind != types.KindNull || from.Kind == to.Kind && from.Kind.IsChar() && longer(from.Length, to.Length) {
			return fail(m, 240, self.cols[i].Name, name)
		}
		q.Items[i] = b.convertTo(q.Items[i], to)
	}
	rec.Steps = append(rec.Steps, q)
	return nil
}

func (b *binder) combineAnchor(n syntax.Node, l, r *Query) (*Query, error) {
	q, err := b.combine(n, syntax.UnionAll, l, r)
	if err != nil {
		return nil, err
	}
	q.ID, q.lo, q.hi = b.state(), min(l.lo, r.lo), b.sources
	q.Correlated = l.Correlated || r.Correlated
	return q, nil
}

func longer(a, c int) bool {
	if c == -1 {
		return false
	}
	return a == -1 || a > c
}

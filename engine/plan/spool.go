package plan

import (
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// repeatedly plans a source that is read once for each row of others: by a seek
// if there is one, else from a spool.
func (f *fromPlan) repeatedly(it *fromItem, conds []Expr, placed sources) Rel {
	if s, ok := it.rel.(*Scan); ok {
		probe := *s
		f.choosePath(&probe, conds, f.known(it.own), nil)
		if len(probe.Path.Keys) > 0 || s.Kind == ScanPseudo && !hasEquality(conds, it.own) {
			return f.leaf(it, conds, nil)
		}
	}
	_, work := it.rel.(*WorkTable)
	if len(it.deps) > 0 || (work && len(placed) == 0) {
		return f.leaf(it, conds, nil)
	}
	var local, joint []Expr
	for _, c := range conds {
		if it.readsOnlyOwn(c) {
			local = append(local, c)
		} else {
			joint = append(joint, c)
		}
	}
	if len(placed) == 0 && len(joint) == 0 && f.readsOutside(it) {
		return f.leaf(it, conds, nil)
	}
	sp := &Spool{ID: f.b.state()}
	var rest []Expr
	for _, c := range joint {
		if !f.hashKey(sp, it, c) {
			rest = append(rest, c)
		}
	}
	if len(placed) == 0 && len(sp.Build) == 0 && len(joint) > 0 && !cheapToKeep(it.rel) {
		return f.leaf(it, conds, nil)
	}
	if len(placed) == 0 && f.readsOutside(it) {
		return f.leaf(it, conds, nil)
	}
	sp.Again = work || f.readsOutside(it)
	sub := &fromPlan{planner: f.planner, all: f.all, forceOrder: f.forceOrder}
	if it.lone {
		sp.X, _ = sub.outer(it, local, nil)
	} else {
		sp.X = sub.leaf(it, local, nil)
	}
	sp.Sources = sorted(it.own)
	return filtered(sp, rest)
}

// cheapToKeep reports whether a relation is worth keeping even without a key to
// look it up by.
func cheapToKeep(r Rel) bool {
	_, table := r.(*Scan)
	return !table
}

func hasEquality(conds []Expr, own sources) bool {
	for _, c := range conds {
		if n, ok := c.(*Compare); ok && n.Op == syntax.OpEq && own.overlaps(sourcesOf(c, nil)) {
			return true
		}
	}
	return false
}

// readsOnlyOwn reports whether a condition reads no source but it's own.
func (it *fromItem) readsOnlyOwn(c Expr) bool {
	for s := range sourcesOf(c, nil) {
		if !it.own[s] && !definedInside(c, s) {
			return false
		}
	}
	return true
}

// definedInside reports whether a query within x binds source s.
func definedInside(x Expr, s int) bool {
	found := false
	var walk func(*Expr)
	walk = func(e *Expr) {
		(*e).visit(walk, func(q *Query) { found = found || (s >= q.lo && s < q.hi) })
	}
	walk(&x)
	return found
}

// readsOutside reports whether an item reads rows around this FROM clause.
func (f *fromPlan) readsOutside(it *fromItem) bool {
	inner := sources{}
	inner.add(it.own)
	lo, hi := rangeOf(it.rel)
	out := false
	visitRel(&it.rel, func(x *Expr) {
		for s := range sourcesOf(*x, nil) {
			if !inner[s] && (s < lo || s >= hi) && !definedInside(*x, s) {
				out = true
			}
		}
	})
	return out
}

// rangeOf is the range of sources bound by the query of a derived relation.
func rangeOf(r Rel) (lo, hi int) {
	switch n := r.(type) {
	case *Derived:
		return n.Query.lo, n.Query.hi
	case *Recursive:
		lo, hi = n.Anchor.lo, n.Anchor.hi
		for _, s := range n.Steps {
			lo, hi = min(lo, s.lo), max(hi, s.hi)
		}
	}
	return lo, hi
}

// hashKey makes an equality between the item and others a key of the spool.
func (f *fromPlan) hashKey(sp *Spool, it *fromItem, c Expr) bool {
	n, ok := c.(*Compare)
	if !ok || n.Op != syntax.OpEq {
		return false
	}
	build, probe := n.L, n.R
	if len(sourcesOf(build, it.own)) == 0 {
		build, probe = probe, build
	}
	if hasQuery(build) || hasQuery(probe) || len(sourcesOf(probe, it.own)) > 0 || !it.readsOnlyOwn(build) || len(sourcesOf(build, it.own)) == 0 {
		return false
	}
	t, ok := hashType(build.Type(), probe.Type(), n.Collation)
	if !ok {
		return false
	}
	sp.Build = append(sp.Build, f.b.convertTo(build, t))
	sp.Probe = append(sp.Probe, f.b.convertTo(probe, t))
	sp.Keys = append(sp.Keys, t)
	return true
}

// hashType is the type in which the two sides of an equality have equal keys.
func hashType(a, c types.Type, coll *types.Collation) (types.Type, bool) {
	if a.Kind.IsInteger() && c.Kind.IsInteger() {
		return types.TypeBigInt, true
	}
	if a.Kind.IsChar() && c.Kind.IsChar() {
		return types.NVarChar(types.Max).WithCollation(coll), true
	}
	if a == c {
		return a, true
	}
	t, err := types.Common(a, c)
	return t, err == nil && t.Kind != types.KindVariant
}

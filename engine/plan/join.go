package plan

// fromPlan plans one FROM clause, or one side of an outer join.
type fromPlan struct {
	*planner
	repeated   bool // runs once for each row of something around it
	forceOrder bool
	all        sources
	items      []*fromItem
	conds      []Expr
}

// fromItem is one source or outer join of an inner join.
type fromItem struct {
	rel  Rel
	own  sources
	deps sources // sources of the other items that it reads
	lone bool    // a Join that is not inner
}

// plan orders the items and attaches every condition as early as it can be
// checked. ordered says that the frames come in the order of want.
func (f *fromPlan) plan(tree Rel, conds []Expr, want []SortKey) (rel Rel, ordered bool) {
	f.conds = append([]Expr(nil), conds...)
	f.flatten(tree)
	f.all = sources{}
	for _, it := range f.items {
		it.own = definedBy(it.rel)
		f.all.add(it.own)
	}
	for _, it := range f.items {
		it.deps = sources{}
		visitRel(&it.rel, func(x *Expr) {
			for s := range sourcesOf(*x, f.all) {
				if !it.own[s] {
					it.deps[s] = true
				}
			}
		})
	}
	startup := f.startup()
	placed := sources{}
	items := f.items
	for len(items) > 0 {
		i := f.next(items, placed, want, rel == nil)
		it := items[i]
		items = append(items[:i:i], items[i+1:]...)
		mine := f.take(it, placed)
		if rel == nil {
			rel, ordered = f.first(it, mine, want)
		} else {
			rel = f.join(rel, it, mine, placed)
		}
		placed.add(it.own)
	}
	if len(f.conds) > 0 {
		rel = &Filter{X: rel, Conds: f.conds}
	}
	if len(startup) > 0 {
		rel = &Filter{X: rel, Conds: startup, Startup: true}
	}
	return rel, ordered
}

// flatten collects the items of inner joins, with the conditions on them.
func (f *fromPlan) flatten(r Rel) {
	switch n := r.(type) {
	case *Filter:
		f.conds = append(f.conds, n.Conds...)
		f.flatten(n.X)
		return
	case *OneRow:
		if len(f.items) > 0 {
			return
		}
	case *Join:
		if n.Kind == JoinLeft && f.rejects(n) {
			n.Kind = JoinInner
		}
		switch n.Kind {
		case JoinInner, JoinApply:
			f.flatten(n.L)
			f.flatten(n.R)
			f.conds = append(f.conds, n.On...)
			return
		}
		f.items = append(f.items, &fromItem{rel: n, lone: true})
		return
	}
	f.items = append(f.items, &fromItem{rel: r})
}

// rejects reports whether a condition above an outer join is never true for a
// row that the join made up.
func (f *fromPlan) rejects(j *Join) bool {
	right := definedBy(j.R)
	for _, c := range f.conds {
		for _, x := range strictOperands(c) {
			if col, ok := stripConvert(x).(*Column); ok && right[col.Src] {
				return true
			}
		}
	}
	return false
}

// strictOperands are the operands of c that make it not true when NULL.
func strictOperands(c Expr) []Expr {
	switch n := c.(type) {
	case *Compare:
		return []Expr{n.L, n.R}
	case *InList:
		return []Expr{n.X}
	case *Like:
		return []Expr{n.X}
	case *IsNull:
		if n.Not {
			return []Expr{n.X}
		}
	}
	return nil
}

func stripConvert(x Expr) Expr {
	for {
		c, ok := x.(*Convert)
		if !ok {
			return x
		}
		x = c.X
	}
}

// startup takes the conditions that read no source of this FROM clause.
func (f *fromPlan) startup() []Expr {
	var out, rest []Expr
	for _, c := range f.conds {
		if len(sourcesOf(c, f.all)) == 0 && !volatile(c) {
			out = append(out, c)
		} else {
			rest = append(rest, c)
		}
	}
	f.conds = rest
	return out
}

// take removes the conditions that can be checked once it is placed.
func (f *fromPlan) take(it *fromItem, placed sources) []Expr {
	var mine, rest []Expr
	for _, c := range f.conds {
		if f.ready(c, it, placed) {
			mine = append(mine, c)
		} else {
			rest = append(rest, c)
		}
	}
	f.conds = rest
	return mine
}

func (f *fromPlan) ready(c Expr, it *fromItem, placed sources) bool {
	for s := range sourcesOf(c, f.all) {
		if !placed[s] && !it.own[s] {
			return false
		}
	}
	return true
}

// next picks the item to place next.
func (f *fromPlan) next(items []*fromItem, placed sources, want []SortKey, first bool) int {
	best, bestScore := -1, -1
	for i, it := range items {
		if !placed.has(it.deps) {
			continue
		}
		if f.forceOrder {
			return i
		}
		if n := f.merit(it, placed, want, first); n > bestScore {
			best, bestScore = i, n
		}
	}
	if best < 0 {
		return 0
	}
	return best
}

// merit says how good it is to place it now.
func (f *fromPlan) merit(it *fromItem, placed sources, want []SortKey, first bool) int {
	var conds []Expr
	linked := false
	for _, c := range f.conds {
		if !f.ready(c, it, placed) {
			continue
		}
		of := sourcesOf(c, f.all)
		if it.own.overlaps(of) {
			conds = append(conds, c)
			linked = linked || placed.overlaps(of)
		}
	}
	base := 0
	if linked {
		base = 300
	}
	switch r := it.rel.(type) {
	case *Scan:
		if !first {
			want = nil
		}
		probe := *r
		rest := f.choosePath(&probe, conds, f.known(it.own), want)
		switch {
		case probe.Path.Single:
			return base + 5000
		case len(probe.Path.Keys) > 0:
			return base + 2000 + 100*len(probe.Path.Keys)
		case probe.Path.Lo != nil || probe.Path.Hi != nil:
			return base + 700
		case r.Kind != ScanTable:
			return base + 500
		case r.Table.Temporary:
			return base + 450
		case len(want) > 0 && delivers(r.Src, &probe.Path, want, probe.Path.Desc):
			return base + 400
		case len(rest) > 0:
			return base + 200
		}
		return base + 100
	case *Values, *TableFunc, *WorkTable, *OneRow:
		return base + 600
	case *Join:
		if r.Kind == JoinLeft || r.Kind == JoinOuterApply {
			inner := &fromItem{rel: r.L, own: definedBy(r.L)}
			if _, ok := r.L.(*Scan); ok {
				return f.merit(inner, placed, want, first)
			}
		}
	}
	return base + 150
}

func (s sources) overlaps(o sources) bool {
	for k := range o {
		if s[k] {
			return true
		}
	}
	return false
}

// known returns the test whether an expression reads none of own.
func (f *fromPlan) known(own sources) func(Expr) bool {
	return func(x Expr) bool { return len(sourcesOf(x, own)) == 0 }
}

// first places the first item.
func (f *fromPlan) first(it *fromItem, conds []Expr, want []SortKey) (Rel, bool) {
	if it.lone {
		return f.outer(it, conds, want)
	}
	if f.repeated {
		return f.repeatedly(it, conds, sources{}), false
	}
	rel := f.leaf(it, conds, want)
	s, ok := rel.(*Scan)
	return rel, ok && len(want) > 0 && s.Path.Index >= 0 && delivers(s.Src, &s.Path, want, s.Path.Desc)
}

// join places a further item under a join with what is there.
func (f *fromPlan) join(l Rel, it *fromItem, conds []Expr, placed sources) Rel {
	j := &Join{Kind: JoinInner, L: l, Left: sorted(placed), Right: sorted(it.own)}
	if it.lone && (len(it.deps) > 0 || f.seeksLeft(it, conds)) {
		sub := &fromPlan{planner: f.planner, repeated: true, forceOrder: f.forceOrder}
		j.R, _ = sub.outer(it, conds, nil)
		return j
	}
	j.R = f.repeatedly(it, conds, placed)
	return j
}

// seeksLeft reports whether the left side of an outer join can be found by a
// seek for each row before it.
func (f *fromPlan) seeksLeft(it *fromItem, conds []Expr) bool {
	j := it.rel.(*Join)
	s, ok := j.L.(*Scan)
	if !ok || j.Kind == JoinFull {
		return false
	}
	right := definedBy(j.R)
	var below []Expr
	for _, c := range conds {
		if len(sourcesOf(c, right)) == 0 {
			below = append(below, c)
		}
	}
	probe := *s
	f.choosePath(&probe, below, f.known(it.own), nil)
	return len(probe.Path.Keys) > 0
}

// leaf plans a single source with the conditions on it.
func (f *fromPlan) leaf(it *fromItem, conds []Expr, want []SortKey) Rel {
	switch r := it.rel.(type) {
	case *Scan:
		r.Filter = f.choosePath(r, conds, f.known(it.own), want)
	case *SystemScan:
		r.Filter = conds
	case *TableFunc:
		r.Filter = conds
	case *Derived:
		for _, c := range conds {
			if !it.own.overlaps(sourcesOf(c, f.all)) || !f.push(r, c) {
				r.Filter = append(r.Filter, c)
			}
		}
		f.query(r.Query, f.repeated || r.Query.Correlated)
	case *Recursive:
		r.Filter = conds
		f.query(r.Anchor, false)
		for _, s := range r.Steps {
			f.query(s, true)
		}
	case *Inline:
		f.query(r.Query, false)
		return filtered(r.Query.Root, conds)
	default:
		return filtered(it.rel, conds)
	}
	return it.rel
}

func filtered(r Rel, conds []Expr) Rel {
	if len(conds) == 0 {
		return r
	}
	return &Filter{X: r, Conds: conds}
}

// outer plans an item that is an outer join.
func (f *fromPlan) outer(it *fromItem, conds []Expr, want []SortKey) (Rel, bool) {
	j := it.rel.(*Join)
	if j.Kind == JoinFull {
		return f.full(it, j, conds)
	}
	left := definedBy(j.L)
	right := definedBy(j.R)
	var below, above []Expr
	for _, c := range conds {
		if len(sourcesOf(c, right)) == 0 {
			below = append(below, c)
		} else {
			above = append(above, c)
		}
	}
	lf := &fromPlan{planner: f.planner, repeated: f.repeated, forceOrder: f.forceOrder}
	l, ordered := lf.plan(j.L, below, want)
	rf := &fromPlan{planner: f.planner, repeated: true, forceOrder: f.forceOrder}
	r, _ := rf.plan(j.R, j.On, nil)
	out := &Join{Kind: JoinLeft, L: l, R: r, Left: sorted(left), Right: sorted(right)}
	return filtered(out, above), ordered
}

// full plans a full outer join: the right side is kept and its unmatched frames
// come last.
func (f *fromPlan) full(it *fromItem, j *Join, conds []Expr) (Rel, bool) {
	lf := &fromPlan{planner: f.planner}
	l, _ := lf.plan(j.L, nil, nil)
	rf := &fromPlan{planner: f.planner}
	r, _ := rf.plan(j.R, nil, nil)
	right := &fromItem{rel: r, own: definedBy(j.R)}
	sp := &Spool{ID: f.b.state(), X: r, Sources: sorted(right.own), Again: f.readsOutside(it)}
	var rest []Expr
	for _, c := range j.On {
		if !f.hashKey(sp, right, c) {
			rest = append(rest, c)
		}
	}
	out := &Join{Kind: JoinFull, L: l, R: sp, On: rest, Left: sorted(definedBy(j.L)), Right: sp.Sources}
	return filtered(out, conds), false
}

package plan

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// Path is how a Scan reads its table.
type Path struct {
	// Index is the position of the index, -1 for a heap in row order.
	Index int
	// Keys give the values of the leading key columns.
	Keys []PathKey
	// Lo and Hi bound the key column after Keys; nil for no bound.
	Lo, Hi *PathBound
	Desc   bool
	// Single is set when at most one row can match.
	Single bool
	// sortedBy is the order of the rows; unique says that no two rows are equal
	// in all of it.
	sortedBy []sortColumn
	unique   bool
}

// PathKey is the value of one key column: one expression, a list, or a query
// whose values are collected before the scan begins.
type PathKey struct {
	Values []Expr
	Query  *Query
	Null   bool // IS NULL
	T      types.Type
	Desc   bool
}

// PathBound is one end of a range on a key column.
type PathBound struct {
	X         Expr
	Inclusive bool
	T         types.Type
	Desc      bool
}

// sortColumn is one column of the order in which a path delivers rows.
type sortColumn struct {
	col  int
	desc bool
	one  bool // the path fixes the column to one value
}

func (p *Path) parts(x func(*Expr), q func(*Query)) {
	for i := range p.Keys {
		visitList(p.Keys[i].Values, x)
		if p.Keys[i].Query != nil {
			q(p.Keys[i].Query)
		}
	}
	if p.Lo != nil {
		x(&p.Lo.X)
	}
	if p.Hi != nil {
		x(&p.Hi.X)
	}
}

// sarg is a condition that an index can use: column op value.
type sarg struct {
	col   int
	op    syntax.BinaryOp
	x     Expr
	list  []Expr
	query *Query
	null  bool
	cond  Expr
	// wide is set when the column is compared as Unicode data, which may sort
	// in another order: only equality can use the index.
	wide bool
}

// maxSeeks bounds the seeks that lists of values may multiply to.
const maxSeeks = 2048

// sargs finds the usable conditions on source src; the other sides read
// sources of avail only.
func sargs(src int, conds []Expr, inner func(Expr) bool) []sarg {
	var out []sarg
	for _, c := range conds {
		if s, ok := sargOf(src, c, inner); ok {
			s.cond = c
			out = append(out, s)
		}
	}
	return out
}

var mirrored = map[syntax.BinaryOp]syntax.BinaryOp{
	syntax.OpEq: syntax.OpEq, syntax.OpLt: syntax.OpGt, syntax.OpLe: syntax.OpGe,
	syntax.OpGt: syntax.OpLt, syntax.OpGe: syntax.OpLe,
}

func sargOf(src int, c Expr, inner func(Expr) bool) (sarg, bool) {
	switch n := c.(type) {
	case *Compare:
		if n.Op == syntax.OpNe {
			return sarg{}, false
		}
		if s, ok := compareSarg(src, n.Op, n.L, n.R, n.Collation, inner); ok {
			return s, true
		}
		return compareSarg(src, mirrored[n.Op], n.R, n.L, n.Collation, inner)
	case *InList:
		if n.Not {
			return sarg{}, false
		}
		col, ok := keyColumn(src, n.X, n.Collation)
		if !ok || len(n.List) > maxSeeks {
			return sarg{}, false
		}
		for _, x := range n.List {
			if !inner(x) || hasQuery(x) {
				return sarg{}, false
			}
		}
		return sarg{col: col, op: syntax.OpEq, list: n.List}, true
	case *InQuery:
		col, ok := keyColumn(src, n.X, n.Collation)
		if n.Not || !ok || n.Query.Correlated {
			return sarg{}, false
		}
		return sarg{col: col, op: syntax.OpEq, query: n.Query}, true
	case *IsNull:
		col, ok := n.X.(*Column)
		if n.Not || !ok || col.Src != src {
			return sarg{}, false
		}
		return sarg{col: col.Col, op: syntax.OpEq, null: true}, true
	}
	return sarg{}, false
}

func compareSarg(src int, op syntax.BinaryOp, l, r Expr, c *types.Collation, inner func(Expr) bool) (sarg, bool) {
	col, ok := keyColumn(src, l, c)
	if !ok || !inner(r) {
		return sarg{}, false
	}
	return sarg{col: col, op: op, x: r, wide: l.Type().Kind.IsChar() && !isColumn(l)}, true
}

// keyColumn reports whether x is a column of src as an index orders it: bare,
// or widened in a way that keeps the order.
func keyColumn(src int, x Expr, c *types.Collation) (int, bool) {
	if v, ok := x.(*Convert); ok && v.Implicit && v.Style == nil && widens(v.X.Type(), v.T) {
		x = v.X
	}
	col, ok := x.(*Column)
	if !ok || col.Src != src {
		return 0, false
	}
	if col.T.Kind.IsChar() && c != nil && col.T.Collation != c {
		return 0, false
	}
	return col.Col, true
}

// widens reports whether converting from one type to the other keeps order and
// distinctness.
func widens(from, to types.Type) bool {
	a, c := from.Kind, to.Kind
	switch {
	case a.IsInteger() && (c.IsInteger() || c == types.KindDecimal || c.IsMoney()):
		return c != types.KindBit && (c.IsInteger() || c == types.KindDecimal || c == types.KindMoney)
	case a.IsChar() && c.IsChar():
		return !a.IsLOB() && !c.IsLOB() && (to.Length == types.Max || to.Length >= from.Length)
	case a == types.KindDecimal && c == types.KindDecimal:
		return to.Scale >= from.Scale && to.Precision-to.Scale >= from.Precision-from.Scale
	case a == types.KindDate:
		return c == types.KindDateTime2 || c == types.KindDateTimeOffset
	case a == types.KindDateTime2 && c == types.KindDateTime2:
		return to.Scale >= from.Scale
	case (a == types.KindBinary || a == types.KindVarBinary) && c == types.KindVarBinary:
		return true
	}
	return false
}

// candidate is a path with its merit.
type candidate struct {
	path Path
	used []Expr // conditions that the path answers
	eq   int    // key columns fixed by one value
	list int    // key columns fixed by several
	rng  int    // ends of the range
}

// score orders candidates; more is better.
func (c *candidate) score(ordered bool, t *catalog.Table) int {
	s := 0
	switch {
	case c.path.Single:
		s = 100000
	case c.eq+c.list > 0:
		s = 1000*c.eq + 900*c.list + 100*c.rng
		if c.rng > 0 {
			s += 50
		}
	case c.rng > 0:
		s = 400 + 50*c.rng
	}
	if ordered {
		s += 600
	}
	if c.path.Index == 0 && t.HasClustered {
		s += 2
	}
	if c.path.Index > 0 || (c.path.Index == 0 && !t.HasClustered) {
		s++
	}
	return s
}

// choosePath picks the access path of a scan for the conditions on it. inner
// says whether an expression is known before the scan begins. want is the order
// the consumer would like, nil for none. It returns the conditions left over.
func (p *planner) choosePath(s *Scan, conds []Expr, inner func(Expr) bool, want []SortKey) []Expr {
	t := s.Table
	best := candidate{path: Path{Index: -1}}
	if t.HasClustered {
		best.path.Index = 0
	}
	if s.Kind == ScanPseudo {
		s.Path = best.path
		return conds
	}
	usable := sargs(s.Src, conds, inner)
	bestScore := -1
	for i, ix := range t.Indexes {
		if ix.Disabled || (s.Hints.HasIndex && s.Hints.Index != i) || (s.Hints.ForceScan && !ix.Clustered) {
			continue
		}
		if ix.Filter != "" && !p.filterImplied(s, ix, conds) {
			continue
		}
		c := indexCandidate(t, i, usable, s.Hints.ForceScan)
		ordered := false
		if len(want) > 0 {
			ordered = c.orderBy(s, want)
		}
		if n := c.score(ordered, t); n > bestScore && (ordered || s.Hints.HasIndex || i == 0 && t.HasClustered || c.eq+c.list+c.rng > 0) {
			best, bestScore = c, n
		}
	}
	s.Path = best.path
	return without(conds, best.used)
}

// indexCandidate matches the key columns of index i with the conditions.
func indexCandidate(t *catalog.Table, i int, usable []sarg, scan bool) candidate {
	ix := t.Indexes[i]
	c := candidate{path: Path{Index: i, unique: ix.Unique}}
	seeks, single := 1, ix.Unique
	k := 0
	for ; k < len(ix.Keys) && !scan; k++ {
		key := ix.Keys[k]
		s := equality(usable, key.Column, seeks)
		if s == nil {
			break
		}
		pk := PathKey{Values: s.list, Query: s.query, Null: s.null, T: t.Columns[key.Column].Type, Desc: key.Desc}
		if s.x != nil {
			pk.Values = []Expr{s.x}
		}
		one := s.query == nil && len(pk.Values) <= 1
		if one {
			c.eq++
		} else {
			c.list++
			seeks *= max(len(pk.Values), 1)
			single = false
		}
		c.path.sortedBy = append(c.path.sortedBy, sortColumn{col: key.Column, desc: key.Desc, one: one})
		c.path.Keys = append(c.path.Keys, pk)
		c.used = append(c.used, s.cond)
	}
	c.path.Single = single && k == len(ix.Keys)
	if k < len(ix.Keys) && !scan {
		c.bounds(t, ix.Keys[k], usable)
	}
	for ; k < len(ix.Keys); k++ {
		c.path.sortedBy = append(c.path.sortedBy, sortColumn{col: ix.Keys[k].Column, desc: ix.Keys[k].Desc})
	}
	return c
}

// equality picks the best equality on a column: one value before a list before
// a query.
func equality(usable []sarg, col, seeks int) *sarg {
	var best *sarg
	for i := range usable {
		s := &usable[i]
		if s.col != col || s.op != syntax.OpEq {
			continue
		}
		switch {
		case s.list == nil && s.query == nil:
			return s
		case s.list != nil && seeks*len(s.list) <= maxSeeks && (best == nil || best.query != nil):
			best = s
		case s.query != nil && best == nil && seeks == 1:
			best = s
		}
	}
	return best
}

// bounds adds the range conditions on the key column after the equalities. They
// stay among the conditions to check as well: rounding a bound to the type of
// the column may widen the range.
func (c *candidate) bounds(t *catalog.Table, key catalog.IndexKey, usable []sarg) {
	for i := range usable {
		s := &usable[i]
		if s.col != key.Column || s.x == nil || s.wide {
			continue
		}
		b := &PathBound{X: s.x, Inclusive: s.op == syntax.OpGe || s.op == syntax.OpLe, T: t.Columns[key.Column].Type, Desc: key.Desc}
		switch s.op {
		case syntax.OpGt, syntax.OpGe:
			if c.path.Lo == nil {
				c.path.Lo = b
				c.rng++
			}
		case syntax.OpLt, syntax.OpLe:
			if c.path.Hi == nil {
				c.path.Hi = b
				c.rng++
			}
		}
	}
}

// orderBy reports whether the path delivers the wanted order, reading the index
// backwards if that helps.
func (c *candidate) orderBy(s *Scan, want []SortKey) bool {
	for _, desc := range []bool{false, true} {
		if delivers(s.Src, &c.path, want, desc) {
			c.path.Desc = desc
			return true
		}
	}
	return false
}

// delivers reports whether rows of the path, read backwards if desc, are in the
// wanted order.
func delivers(src int, p *Path, want []SortKey, desc bool) bool {
	by, at := p.sortedBy, 0
	distinct := p.Single // no two rows are equal in what was compared so far
	for _, k := range want {
		col, ok := k.X.(*Column)
		if !ok {
			if constantKey(k.X) {
				continue
			}
			return false
		}
		if col.Src != src {
			return false
		}
		if distinct || fixed(by, col.Col) {
			continue
		}
		for at < len(by) && by[at].one {
			at++
		}
		if at == len(by) || by[at].col != col.Col || (by[at].desc != desc) != k.Desc {
			return false
		}
		at++
		rest := at
		for rest < len(by) && by[rest].one {
			rest++
		}
		distinct = p.unique && rest == len(by)
	}
	return true
}

func fixed(by []sortColumn, col int) bool {
	for _, s := range by {
		if s.one && s.col == col {
			return true
		}
	}
	return false
}

func constantKey(x Expr) bool {
	switch x.(type) {
	case *Const, *Variable:
		return true
	}
	return false
}

func without(list, drop []Expr) []Expr {
	var out []Expr
next:
	for _, x := range list {
		for _, d := range drop {
			if x == d {
				continue next
			}
		}
		out = append(out, x)
	}
	return out
}

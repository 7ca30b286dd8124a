package plan

func visitList(list []Expr, x func(*Expr)) {
	for i := range list {
		if list[i] != nil {
			x(&list[i])
		}
	}
}

func visitOne(e *Expr, x func(*Expr)) {
	if *e != nil {
		x(e)
	}
}

func visitKeys(keys []SortKey, x func(*Expr)) {
	for i := range keys {
		x(&keys[i].X)
	}
}

func (e *Const) visit(func(*Expr), func(*Query))     {}
func (e *Column) visit(func(*Expr), func(*Query))    {}
func (e *Variable) visit(func(*Expr), func(*Query))  {}
func (e *NextValue) visit(func(*Expr), func(*Query)) {}
func (e *Convert) visit(x func(*Expr), _ func(*Query)) {
	x(&e.X)
	visitOne(&e.Style, x)
}
func (e *Arith) visit(x func(*Expr), _ func(*Query))    { x(&e.L); x(&e.R) }
func (e *Negate) visit(x func(*Expr), _ func(*Query))   { x(&e.X) }
func (e *BitNot) visit(x func(*Expr), _ func(*Query))   { x(&e.X) }
func (e *Collated) visit(x func(*Expr), _ func(*Query)) { x(&e.X) }
func (e *Compare) visit(x func(*Expr), _ func(*Query))  { x(&e.L); x(&e.R) }
func (e *Distinct) visit(x func(*Expr), _ func(*Query)) { x(&e.L); x(&e.R) }
func (e *And) visit(x func(*Expr), _ func(*Query))      { visitList(e.List, x) }
func (e *Or) visit(x func(*Expr), _ func(*Query))       { visitList(e.List, x) }
func (e *Not) visit(x func(*Expr), _ func(*Query))      { x(&e.X) }
func (e *IsNull) visit(x func(*Expr), _ func(*Query))   { x(&e.X) }
func (e *InList) visit(x func(*Expr), _ func(*Query)) {
	x(&e.X)
	visitList(e.List, x)
}
func (e *InQuery) visit(x func(*Expr), q func(*Query)) { x(&e.X); q(e.Query) }
func (e *Like) visit(x func(*Expr), _ func(*Query)) {
	x(&e.X)
	x(&e.Pattern)
	visitOne(&e.Escape, x)
}
func (e *Exists) visit(_ func(*Expr), q func(*Query))      { q(e.Query) }
func (e *Quantified) visit(x func(*Expr), q func(*Query))  { x(&e.L); q(e.Query) }
func (e *ScalarQuery) visit(_ func(*Expr), q func(*Query)) { q(e.Query) }
func (e *Case) visit(x func(*Expr), _ func(*Query)) {
	for i := range e.Whens {
		x(&e.Whens[i].Cond)
		x(&e.Whens[i].Then)
	}
	visitOne(&e.Else, x)
}
func (e *Coalesce) visit(x func(*Expr), _ func(*Query)) { visitList(e.Args, x) }
func (e *Func) visit(x func(*Expr), _ func(*Query))     { visitList(e.Args, x) }
func (e *UserFunc) visit(x func(*Expr), _ func(*Query)) { visitList(e.Args, x) }
func (e *Aggregate) visit(x func(*Expr), _ func(*Query)) {
	visitList(e.Args, x)
	visitKeys(e.Within, x)
}
func (e *Window) visit(x func(*Expr), _ func(*Query)) {
	visitList(e.Args, x)
	visitList(e.Partition, x)
	visitKeys(e.Order, x)
}

func cloneList(list []Expr) []Expr { return append([]Expr(nil), list...) }

func (e *Const) clone() Expr       { c := *e; return &c }
func (e *Column) clone() Expr      { c := *e; return &c }
func (e *Variable) clone() Expr    { c := *e; return &c }
func (e *NextValue) clone() Expr   { c := *e; return &c }
func (e *Convert) clone() Expr     { c := *e; return &c }
func (e *Arith) clone() Expr       { c := *e; return &c }
func (e *Negate) clone() Expr      { c := *e; return &c }
func (e *BitNot) clone() Expr      { c := *e; return &c }
func (e *Collated) clone() Expr    { c := *e; return &c }
func (e *Compare) clone() Expr     { c := *e; return &c }
func (e *Distinct) clone() Expr    { c := *e; return &c }
func (e *And) clone() Expr         { return &And{List: cloneList(e.List)} }
func (e *Or) clone() Expr          { return &Or{List: cloneList(e.List)} }
func (e *Not) clone() Expr         { c := *e; return &c }
func (e *IsNull) clone() Expr      { c := *e; return &c }
func (e *InQuery) clone() Expr     { c := *e; return &c }
func (e *Like) clone() Expr        { c := *e; return &c }
func (e *Exists) clone() Expr      { c := *e; return &c }
func (e *Quantified) clone() Expr  { c := *e; return &c }
func (e *ScalarQuery) clone() Expr { c := *e; return &c }
func (e *InList) clone() Expr      { c := *e; c.List = cloneList(e.List); return &c }
func (e *Case) clone() Expr        { c := *e; c.Whens = append([]When(nil), e.Whens...); return &c }
func (e *Coalesce) clone() Expr    { c := *e; c.Args = cloneList(e.Args); return &c }
func (e *Func) clone() Expr        { c := *e; c.Args = cloneList(e.Args); return &c }
func (e *UserFunc) clone() Expr    { c := *e; c.Args = cloneList(e.Args); return &c }
func (e *Aggregate) clone() Expr {
	c := *e
	c.Args = cloneList(e.Args)
	c.Within = append([]SortKey(nil), e.Within...)
	return &c
}
func (e *Window) clone() Expr {
	c := *e
	c.Args, c.Partition = cloneList(e.Args), cloneList(e.Partition)
	c.Order = append([]SortKey(nil), e.Order...)
	return &c
}

// hasQuery reports whether e contains a query.
func hasQuery(e Expr) bool {
	found := false
	var x func(*Expr)
	x = func(p *Expr) { (*p).visit(x, func(*Query) { found = true }) }
	x(&e)
	return found
}

// substitute returns a copy of e in which f has replaced columns. The copy
// shares nothing with e that is ever changed. ok is false when e contains a
// query, which cannot be copied.
func substitute(e Expr, f func(*Column) Expr) (Expr, bool) {
	if hasQuery(e) {
		return nil, false
	}
	return replaceColumns(e, f), true
}

func replaceColumns(e Expr, f func(*Column) Expr) Expr {
	if c, ok := e.(*Column); ok {
		if r := f(c); r != nil {
			return r
		}
		return c.clone()
	}
	n := e.clone()
	n.visit(func(p *Expr) { *p = replaceColumns(*p, f) }, func(*Query) {})
	return n
}

// rewrite replaces every part of *p for which f returns an expression, top
// down, through queries too. Parts of a replacement are left alone.
func rewrite(p *Expr, f func(Expr) Expr) {
	if n := f(*p); n != nil {
		*p = n
		return
	}
	(*p).visit(func(q *Expr) { rewrite(q, f) }, func(q *Query) { q.visitExprs(func(q *Expr) { rewrite(q, f) }) })
}

// columnsOf calls f for each column that e reads, through queries too.
func columnsOf(e Expr, f func(*Column)) {
	rewrite(&e, func(x Expr) Expr {
		if c, ok := x.(*Column); ok {
			f(c)
		}
		return nil
	})
}

// sources is a set of sources.
type sources map[int]bool

func (s sources) add(o sources) {
	for k := range o {
		s[k] = true
	}
}

func (s sources) has(o sources) bool {
	for k := range o {
		if !s[k] {
			return false
		}
	}
	return true
}

// sourcesOf returns the sources that e reads and that are in of.
func sourcesOf(e Expr, of sources) sources {
	out := sources{}
	columnsOf(e, func(c *Column) {
		if of == nil || of[c.Src] {
			out[c.Src] = true
		}
	})
	return out
}

// conjuncts splits a condition at its ANDs.
func conjuncts(e Expr) []Expr {
	if e == nil {
		return nil
	}
	if a, ok := e.(*And); ok {
		var out []Expr
		for _, x := range a.List {
			out = append(out, conjuncts(x)...)
		}
		return out
	}
	return []Expr{e}
}

package plan

func (r *Scan) parts(_ func(*Rel), x func(*Expr), q func(*Query)) {
	visitList(r.Filter, x)
	r.Path.parts(x, q)
}
func (r *SystemScan) parts(_ func(*Rel), x func(*Expr), _ func(*Query)) { visitList(r.Filter, x) }
func (r *OneRow) parts(func(*Rel), func(*Expr), func(*Query))           {}
func (r *Derived) parts(_ func(*Rel), x func(*Expr), q func(*Query)) {
	q(r.Query)
	visitList(r.Filter, x)
}
func (r *Values) parts(_ func(*Rel), x func(*Expr), _ func(*Query)) {
	for i := range r.Rows {
		visitList(r.Rows[i], x)
	}
}
func (r *TableFunc) parts(_ func(*Rel), x func(*Expr), _ func(*Query)) {
	visitList(r.Args, x)
	visitList(r.Filter, x)
}
func (r *Join) parts(c func(*Rel), x func(*Expr), _ func(*Query)) {
	c(&r.L)
	c(&r.R)
	visitList(r.On, x)
}
func (r *Filter) parts(c func(*Rel), x func(*Expr), _ func(*Query)) {
	c(&r.X)
	visitList(r.Conds, x)
}
func (r *Spool) parts(c func(*Rel), x func(*Expr), _ func(*Query)) {
	c(&r.X)
	visitList(r.Build, x)
	visitList(r.Probe, x)
}
func (r *Aggregation) parts(c func(*Rel), x func(*Expr), q func(*Query)) {
	c(&r.X)
	visitList(r.Group, x)
	for _, a := range r.Aggs {
		a.visit(x, q)
	}
}
func (r *Windowing) parts(c func(*Rel), x func(*Expr), q func(*Query)) {
	c(&r.X)
	for _, w := range r.Calls {
		w.visit(x, q)
	}
}
func (r *Dedup) parts(c func(*Rel), x func(*Expr), _ func(*Query)) {
	c(&r.X)
	visitList(r.Items, x)
}
func (r *Sort) parts(c func(*Rel), x func(*Expr), _ func(*Query)) {
	c(&r.X)
	visitKeys(r.Keys, x)
	visitOne(&r.Limit, x)
}
func (r *Limit) parts(c func(*Rel), x func(*Expr), _ func(*Query)) {
	c(&r.X)
	visitOne(&r.Top, x)
	visitKeys(r.Ties, x)
	visitOne(&r.Offset, x)
	visitOne(&r.Fetch, x)
}
func (r *SetOp) parts(_ func(*Rel), x func(*Expr), q func(*Query)) {
	q(r.L)
	q(r.R)
	visitList(r.Filter, x)
}
func (r *Recursive) parts(_ func(*Rel), x func(*Expr), q func(*Query)) {
	q(r.Anchor)
	for _, s := range r.Steps {
		q(s)
	}
	visitList(r.Filter, x)
}
func (r *Inline) parts(_ func(*Rel), _ func(*Expr), q func(*Query)) { q(r.Query) }
func (r *WorkTable) parts(func(*Rel), func(*Expr), func(*Query))    {}

func (r *Scan) defines(s sources)       { s[r.Src] = true }
func (r *SystemScan) defines(s sources) { s[r.Src] = true }
func (r *OneRow) defines(sources)       {}
func (r *Derived) defines(s sources)    { s[r.Src] = true }
func (r *Values) defines(s sources)     { s[r.Src] = true }
func (r *TableFunc) defines(s sources)  { s[r.Src] = true }
func (r *Join) defines(s sources)       { r.L.defines(s); r.R.defines(s) }
func (r *Filter) defines(s sources)     { r.X.defines(s) }
func (r *Spool) defines(s sources)      { r.X.defines(s) }
func (r *Aggregation) defines(s sources) {
	s[r.Src] = true
}
func (r *Windowing) defines(s sources) { r.X.defines(s); s[r.Src] = true }
func (r *Dedup) defines(s sources)     { s[r.Src] = true }
func (r *Sort) defines(s sources)      { r.X.defines(s) }
func (r *Limit) defines(s sources)     { r.X.defines(s) }
func (r *SetOp) defines(s sources)     { s[r.Src] = true }
func (r *Recursive) defines(s sources) { s[r.Src] = true }
func (r *WorkTable) defines(s sources) { s[r.Src] = true }
func (r *Inline) defines(s sources) {
	if r.Query.planned {
		r.Query.Root.defines(s)
		return
	}
	if b := r.Query.block; b.from != nil {
		b.from.defines(s)
		if len(b.windows) > 0 {
			s[b.winSrc] = true
		}
	}
}

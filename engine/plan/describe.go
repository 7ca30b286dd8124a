package plan

import (
	"fmt"
	"strings"

	"loopbroker/engine/syntax"
)

// Describe shows the plan of a statement, an operator a line, children indented
// below their parents.
func (s *Stmt) Describe() string {
	var d describer
	switch {
	case s.Query != nil:
		d.query("select", s.Query, 0)
	case s.Insert != nil:
		d.line(0, "insert %s", s.Insert.Target.Table.Name)
		if s.Insert.Source != nil {
			d.query("query", s.Insert.Source, 1)
		}
	case s.Update != nil:
		d.line(0, "update %s", s.Update.Target.Table.Name)
		d.rel(s.Update.Root, 1)
	case s.Delete != nil:
		d.line(0, "delete %s", s.Delete.Target.Table.Name)
		d.rel(s.Delete.Root, 1)
	case s.Merge != nil:
		d.line(0, "merge %s", s.Merge.Target.Table.Name)
		d.rel(s.Merge.Root, 1)
	case s.Instead != nil:
		d.line(0, "instead of %s on %s", s.Instead.Verb, s.Instead.View.Name)
		if s.Instead.Root != nil {
			d.rel(s.Instead.Root, 1)
		}
	case s.Truncate != nil:
		d.line(0, "truncate %s", s.Truncate.Name)
	}
	return d.String()
}

// describer writes a plan.
type describer struct{ strings.Builder }

func (d *describer) line(depth int, format string, args ...any) {
	d.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(d, format, args...)
	d.WriteByte('\n')
}

func named(list ...Expr) string {
	w := printer{names: true}
	w.list("", list, "")
	return w.String()
}

func orderText(keys []SortKey) string {
	w := printer{names: true}
	w.keys(keys)
	return w.String()
}

func (d *describer) query(title string, q *Query, depth int) {
	d.line(depth, "%s %s", title, named(q.Items...))
	d.rel(q.Root, depth+1)
}

func (d *describer) filter(list []Expr, depth int) {
	if len(list) > 0 {
		d.line(depth, "where %s", named(list...))
	}
}

func (d *describer) rel(r Rel, depth int) {
	switch n := r.(type) {
	case *Scan:
		d.line(depth, "%s", n.describe())
		d.filter(n.Filter, depth+1)
	case *SystemScan:
		d.line(depth, "system view %s", n.View.Name)
		d.filter(n.Filter, depth+1)
	case *OneRow:
		d.line(depth, "one row")
	case *Derived:
		d.query("derived "+n.Name, n.Query, depth)
		d.filter(n.Filter, depth+1)
	case *Values:
		d.line(depth, "values of %d rows", len(n.Rows))
	case *TableFunc:
		d.line(depth, "function (%s)", named(n.Args...))
		d.filter(n.Filter, depth+1)
	case *Join:
		d.line(depth, "%s join", [...]string{"inner", "left", "full", "apply", "outer apply"}[n.Kind])
		d.filter(n.On, depth+1)
		d.rel(n.L, depth+1)
		d.rel(n.R, depth+1)
	case *Filter:
		word := "filter"
		if n.Startup {
			word = "if"
		}
		d.line(depth, "%s %s", word, named(n.Conds...))
		d.rel(n.X, depth+1)
	case *Spool:
		if len(n.Build) > 0 {
			d.line(depth, "hash %s = %s", named(n.Build...), named(n.Probe...))
		} else {
			d.line(depth, "spool")
		}
		d.rel(n.X, depth+1)
	default:
		d.upper(r, depth)
	}
}

func (d *describer) upper(r Rel, depth int) {
	switch n := r.(type) {
	case *Aggregation:
		var aggs []Expr
		for _, a := range n.Aggs {
			aggs = append(aggs, a)
		}
		d.line(depth, "aggregate %s by %s", named(aggs...), named(n.Group...))
		d.rel(n.X, depth+1)
	case *Windowing:
		var calls []Expr
		for _, c := range n.Calls {
			calls = append(calls, c)
		}
		d.line(depth, "window %s", named(calls...))
		d.rel(n.X, depth+1)
	case *Dedup:
		d.line(depth, "distinct")
		d.rel(n.X, depth+1)
	case *Sort:
		d.line(depth, "sort %s", orderText(n.Keys))
		d.rel(n.X, depth+1)
	case *Limit:
		if n.Top != nil {
			d.line(depth, "top %s", named(n.Top))
		} else {
			d.line(depth, "offset")
		}
		d.rel(n.X, depth+1)
	case *SetOp:
		d.line(depth, "%s", [...]string{"union", "union all", "except", "intersect"}[n.Kind])
		d.query("left", n.L, depth+1)
		d.query("right", n.R, depth+1)
	case *Recursive:
		d.line(depth, "recursive %s", n.Name)
		d.query("anchor", n.Anchor, depth+1)
		for _, s := range n.Steps {
			d.query("step", s, depth+1)
		}
	case *WorkTable:
		d.line(depth, "previous rows")
	}
}

// describe is one line: what is read and how.
func (r *Scan) describe() string {
	if r.Kind == ScanPseudo {
		return "read " + r.Name
	}
	name := r.Table.Name
	if r.Name != name {
		name += " " + r.Name
	}
	p := &r.Path
	if p.Index < 0 {
		return "scan " + name
	}
	ix := r.Table.Indexes[p.Index]
	verb := "scan"
	if len(p.Keys) > 0 || p.Lo != nil || p.Hi != nil {
		verb = "seek"
	}
	out := fmt.Sprintf("%s %s.%s", verb, name, ix.Name)
	for i, k := range p.Keys {
		col := r.Table.Columns[ix.Keys[i].Column].Name
		switch {
		case k.Null:
			out += fmt.Sprintf(" %s is null", col)
		case k.Query != nil:
			out += fmt.Sprintf(" %s in query", col)
		case len(k.Values) > 1:
			out += fmt.Sprintf(" %s in (%s)", col, named(k.Values...))
		default:
			out += fmt.Sprintf(" %s = %s", col, named(k.Values...))
		}
	}
	out += p.rangeText(r)
	if p.Desc {
		out += " backward"
	}
	if p.Single {
		out += " (one row)"
	}
	return out
}

func (p *Path) rangeText(n *Scan) string {
	if p.Lo == nil && p.Hi == nil {
		return ""
	}
	ix := n.Table.Indexes[p.Index]
	col := n.Table.Columns[ix.Keys[len(p.Keys)].Column].Name
	out := ""
	if p.Lo != nil {
		op := syntax.OpGt
		if p.Lo.Inclusive {
			op = syntax.OpGe
		}
		out += fmt.Sprintf(" %s %s %s", col, opText[op], named(p.Lo.X))
	}
	if p.Hi != nil {
		op := syntax.OpLt
		if p.Hi.Inclusive {
			op = syntax.OpLe
		}
		out += fmt.Sprintf(" %s %s %s", col, opText[op], named(p.Hi.X))
	}
	return out
}

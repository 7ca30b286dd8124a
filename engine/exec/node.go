package exec

import (
	"fmt"

	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// node is a compiled relation: it puts one frame after another in place and
// calls the sink for each.
type node interface {
	run(r *run, sink func() error) error
}

// rel compiles a relation.
func (c *compiler) rel(x plan.Rel) node {
	switch n := x.(type) {
	case *plan.Scan:
		return c.scan(n)
	case *plan.SystemScan:
		return &systemNode{src: n.Src, view: n.View, filter: c.conds(n.Filter)}
	case *plan.OneRow:
		return oneRow{}
	case *plan.Derived:
		return &derivedNode{src: n.Src, query: c.query(n.Query), filter: c.conds(n.Filter)}
	case *plan.Values:
		v := &valuesNode{src: n.Src}
		for _, row := range n.Rows {
			v.rows = append(v.rows, c.exprs(row))
		}
		return v
	case *plan.TableFunc:
		return c.tableFunc(n)
	case *plan.Join:
		return c.join(n)
	case *plan.Filter:
		if n.Startup {
			return &startupNode{x: c.rel(n.X), cond: c.conds(n.Conds)}
		}
		return &filterNode{x: c.rel(n.X), cond: c.conds(n.Conds)}
	case *plan.Spool:
		return c.spool(n)
	case *plan.Aggregation:
		return c.aggregation(n)
	case *plan.Windowing:
		return c.windowing(n)
	case *plan.Dedup:
		return c.dedup(n)
	case *plan.Sort:
		return c.sort(n)
	case *plan.Limit:
		return c.limit(n)
	case *plan.SetOp:
		return c.setOp(n)
	case *plan.Recursive:
		return c.recursive(n)
	case *plan.WorkTable:
		return &workNode{src: n.Src, id: n.ID}
	}
	c.fail(sqlerr.Unsupported(fmt.Sprintf("relation %T", x)))
	return oneRow{}
}

// pass calls the sink if the filter, which may be nil, is true.
func pass(r *run, filter condFunc, sink func() error) error {
	if filter != nil {
		t, err := filter(r)
		if err != nil {
			return err
		}
		if t != isTrue {
			return nil
		}
	}
	return sink()
}

// passRows passes rows that are in memory already as those of source src.
func passRows(r *run, src int, rows []types.Row, filter condFunc, sink func() error) error {
	for _, row := range rows {
		r.rows[src] = row
		if err := pass(r, filter, sink); err != nil {
			return err
		}
	}
	return nil
}

type oneRow struct{}

func (oneRow) run(_ *run, sink func() error) error { return sink() }

type filterNode struct {
	x    node
	cond condFunc
}

func (n *filterNode) run(r *run, sink func() error) error {
	return n.x.run(r, func() error { return pass(r, n.cond, sink) })
}

// startupNode checks its condition before it runs anything.
type startupNode struct {
	x    node
	cond condFunc
}

func (n *startupNode) run(r *run, sink func() error) error {
	t, err := n.cond(r)
	if err != nil || t != isTrue {
		return err
	}
	return n.x.run(r, sink)
}

type valuesNode struct {
	src  int
	rows [][]evalFunc
}

func (n *valuesNode) run(r *run, sink func() error) error {
	for _, fs := range n.rows {
		row := make(types.Row, len(fs))
		for i, f := range fs {
			v, err := f(r)
			if err != nil {
				return err
			}
			row[i] = v
		}
		r.rows[n.src] = row
		if err := sink(); err != nil {
			return err
		}
	}
	return nil
}

type derivedNode struct {
	src    int
	query  *query
	filter condFunc
}

func (n *derivedNode) run(r *run, sink func() error) error {
	return n.query.rows(r, func(row types.Row) error {
		r.rows[n.src] = row
		return pass(r, n.filter, sink)
	})
}

// frames keeps frames: the rows of some sources, and the row ids where one of
// them is the target of a modification.
type frames struct {
	sources []int
	ids     bool
}

// frame is one kept frame.
type frame struct {
	rows []types.Row
	ids  []storage.RowID
}

// frames returns how frames of the given sources are kept.
func (c *compiler) frames(list []int) frames {
	f := frames{sources: list}
	for _, s := range list {
		f.ids = f.ids || c.targets[s]
	}
	return f
}

func (f *frames) capture(r *run) frame {
	out := frame{rows: make([]types.Row, len(f.sources))}
	for i, s := range f.sources {
		out.rows[i] = r.rows[s]
	}
	if f.ids {
		r.hit = true
		out.ids = make([]storage.RowID, len(f.sources))
		for i, s := range f.sources {
			out.ids[i] = r.ids[s]
		}
	}
	return out
}

func (f *frames) restore(r *run, x *frame) {
	for i, s := range f.sources {
		r.rows[s] = x.rows[i]
	}
	if f.ids {
		for i, s := range f.sources {
			r.ids[s] = x.ids[i]
		}
	}
}

// clear makes the sources those of a row that an outer join makes up.
func clearSources(r *run, list []int) {
	for _, s := range list {
		r.rows[s] = nil
	}
}

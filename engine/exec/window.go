package exec

import (
	"slices"

	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// windowNode computes window functions over all frames of its child.
type windowNode struct {
	frames
	x     node
	src   int
	calls []windowCall
}

// windowCall is one compiled window function.
type windowCall struct {
	name      string
	agg       *aggregateCall // nil for ranking and offset functions
	args      []evalFunc
	partition sortKeys
	order     sortKeys
	frame     *plan.Frame
	at        int // position in the row
}

func (c *compiler) windowing(n *plan.Windowing) node {
	w := &windowNode{frames: c.frames(n.Sources), x: c.rel(n.X), src: n.Src}
	for i, p := range n.Calls {
		call := windowCall{name: p.Name, args: c.exprs(p.Args), order: c.sortKeys(p.Order), frame: p.Frame, at: i}
		var keys []plan.SortKey
		for _, x := range p.Partition {
			keys = append(keys, plan.SortKey{X: x})
		}
		call.partition = c.sortKeys(keys)
		if p.F != nil || p.Name == "COUNT" || p.Name == "COUNT_BIG" {
			a := c.aggregate(p.F, p.Args, p.T, false, nil)
			call.agg = &a
		}
		w.calls = append(w.calls, call)
	}
	return w
}

// windowRow is one row of a partition.
type windowRow struct {
	at              int // of the kept frame
	partition, keys []types.Value
	args            []types.Value
}

func (n *windowNode) run(r *run, sink func() error) error {
	var all []frame
	rows := make([][]windowRow, len(n.calls)) // by call
	err := n.x.run(r, func() error {
		for i := range n.calls {
			row, err := n.calls[i].read(r, len(all))
			if err != nil {
				return err
			}
			rows[i] = append(rows[i], row)
		}
		all = append(all, n.capture(r))
		return r.tick()
	})
	if err != nil {
		return err
	}
	out := make([]types.Row, len(all))
	for i := range out {
		out[i] = make(types.Row, len(n.calls))
	}
	for i := range n.calls {
		if err := n.calls[i].compute(r, rows[i], out); err != nil {
			return err
		}
	}
	// The rows leave in the order of the last function, as if it had been
	// computed over a sorted stream.
	for _, w := range rows[len(rows)-1] {
		n.restore(r, &all[w.at])
		r.rows[n.src] = out[w.at]
		if err := sink(); err != nil {
			return err
		}
	}
	return nil
}

func (c *windowCall) read(r *run, at int) (windowRow, error) {
	w := windowRow{at: at}
	var err error
	if w.partition, err = c.partition.values(r); err != nil {
		return w, err
	}
	if w.keys, err = c.order.values(r); err != nil {
		return w, err
	}
	w.args = make([]types.Value, len(c.args))
	for i, f := range c.args {
		if w.args[i], err = f(r); err != nil {
			return w, err
		}
	}
	return w, nil
}

// compute sorts the rows and fills in the function's values.
func (c *windowCall) compute(r *run, rows []windowRow, out []types.Row) error {
	slices.SortStableFunc(rows, func(a, b windowRow) int {
		if d := c.partition.compare(a.partition, b.partition); d != 0 {
			return d
		}
		return c.order.compare(a.keys, b.keys)
	})
	for start := 0; start < len(rows); {
		end := start + 1
		for end < len(rows) && c.partition.compare(rows[start].partition, rows[end].partition) == 0 {
			end++
		}
		part := rows[start:end]
		set := func(i int, v types.Value) { out[part[i].at][c.at] = v }
		var err error
		if c.agg != nil {
			err = c.aggregate(r, part, set)
		} else {
			err = c.rank(part, set)
		}
		if err != nil {
			return err
		}
		start = end
	}
	return nil
}

func (c *windowCall) peers(part []windowRow, i, j int) bool {
	return c.order.compare(part[i].keys, part[j].keys) == 0
}

// rank computes the functions that are not aggregates.
func (c *windowCall) rank(part []windowRow, set func(int, types.Value)) error {
	switch c.name {
	case "ROW_NUMBER":
		for i := range part {
			set(i, types.NewBigInt(int64(i+1)))
		}
	case "RANK", "DENSE_RANK":
		rank, dense := int64(1), int64(1)
		for i := range part {
			if i > 0 && !c.peers(part, i-1, i) {
				rank = int64(i + 1)
				dense++
			}
			if c.name == "RANK" {
				set(i, types.NewBigInt(rank))
			} else {
				set(i, types.NewBigInt(dense))
			}
		}
	case "NTILE":
		return ntile(part, set)
	case "LAG", "LEAD":
		return c.offset(part, set)
	case "FIRST_VALUE", "LAST_VALUE":
		for i := range part {
			lo, hi := c.bounds(part, i)
			switch {
			case lo > hi:
				set(i, types.Null)
			case c.name == "FIRST_VALUE":
				set(i, part[lo].args[0])
			default:
				set(i, part[hi].args[0])
			}
		}
	default:
		return sqlerr.Unsupported("window function " + c.name)
	}
	return nil
}

func ntile(part []windowRow, set func(int, types.Value)) error {
	tiles := part[0].args[0]
	if tiles.IsNull() || tiles.Int() < 1 {
		return sqlerr.New(4113, "NTILE")
	}
	n, k := int64(len(part)), tiles.Int()
	size, larger := n/k, n%k
	tile, left := int64(1), size
	if larger > 0 {
		left++
	}
	for i := range part {
		if left == 0 {
			tile++
			left = size
			if tile <= larger {
				left++
			}
		}
		set(i, types.NewBigInt(tile))
		left--
	}
	return nil
}

func (c *windowCall) offset(part []windowRow, set func(int, types.Value)) error {
	for i := range part {
		n := int64(1)
		if len(c.args) > 1 {
			v := part[i].args[1]
			if v.IsNull() || v.Int() < 0 {
				return sqlerr.New(8730)
			}
			n = v.Int()
		}
		at := int64(i) - n
		if c.name == "LEAD" {
			at = int64(i) + n
		}
		switch {
		case at >= 0 && at < int64(len(part)):
			set(i, part[at].args[0])
		case len(c.args) > 2:
			set(i, part[i].args[2])
		default:
			set(i, types.Null)
		}
	}
	return nil
}

// bounds is the frame of row i: the first and the last row in it.
func (c *windowCall) bounds(part []windowRow, i int) (lo, hi int) {
	last := len(part) - 1
	if len(c.order.exprs) == 0 {
		return 0, last
	}
	f := c.frame
	if f == nil {
		f = &plan.Frame{Range: true, Start: plan.FrameBound{Kind: syntax.UnboundedPreceding}, End: plan.FrameBound{Kind: syntax.CurrentRow}}
	}
	return max(c.edge(part, i, f.Start, f.Range, false), 0), min(c.edge(part, i, f.End, f.Range, true), last)
}

func (c *windowCall) edge(part []windowRow, i int, b plan.FrameBound, ranged, end bool) int {
	switch b.Kind {
	case syntax.UnboundedPreceding:
		return 0
	case syntax.UnboundedFollowing:
		return len(part) - 1
	case syntax.OffsetPreceding:
		return i - int(b.Offset)
	case syntax.OffsetFollowing:
		return i + int(b.Offset)
	}
	if !ranged {
		return i
	}
	step := -1
	if end {
		step = 1
	}
	for j := i + step; j >= 0 && j < len(part) && c.peers(part, i, j); j += step {
		i = j
	}
	return i
}

// aggregate computes an aggregate over the frame of each row. A frame that
// begins with the partition only grows, so that it is computed on the go.
func (c *windowCall) aggregate(r *run, part []windowRow, set func(int, types.Value)) error {
	acc := c.agg.start()
	from, next := 0, 0
	for i := range part {
		lo, hi := c.bounds(part, i)
		if lo != from || next > hi+1 {
			acc, from, next = c.agg.start(), lo, lo
		}
		for ; next <= hi; next++ {
			if c.agg.f == nil {
				acc.rows++
			} else if err := acc.add(r, part[next].args); err != nil {
				return err
			}
		}
		v, err := acc.result()
		if err != nil {
			return err
		}
		set(i, v)
		if err := r.tick(); err != nil {
			return err
		}
	}
	return nil
}

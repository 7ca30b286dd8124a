package exec

import (
	"slices"

	"loopbroker/engine/builtin"
	"loopbroker/engine/plan"
	"loopbroker/engine/types"
)

// aggregateCall is one compiled aggregate.
type aggregateCall struct {
	f        *builtin.Aggregate // nil for COUNT(*)
	args     []evalFunc
	argTypes []types.Type
	result   types.Type
	distinct bool
	within   *sortKeys
}

func (c *compiler) aggregate(f *builtin.Aggregate, args []plan.Expr, t types.Type, distinct bool, within []plan.SortKey) aggregateCall {
	a := aggregateCall{f: f, args: c.exprs(args), argTypes: exprTypes(args), result: t, distinct: distinct}
	if len(within) > 0 {
		k := c.sortKeys(within)
		a.within = &k
	}
	return a
}

// accumulation is the state of one aggregate of one group.
type accumulation struct {
	call  *aggregateCall
	rows  int64 // COUNT(*)
	acc   builtin.Accumulator
	seen  *rowSet
	queue []ordered
}

// ordered is one row of an aggregate with WITHIN GROUP.
type ordered struct{ keys, args []types.Value }

func (a *aggregateCall) start() accumulation {
	s := accumulation{call: a}
	if a.f != nil {
		s.acc = a.f.New(a.argTypes, a.result)
	}
	if a.distinct {
		s.seen = newRowSet(a.argTypes)
	}
	return s
}

// step adds the current frame.
func (s *accumulation) step(r *run) error {
	a := s.call
	if a.f == nil {
		s.rows++
		return nil
	}
	base := len(r.args)
	for _, f := range a.args {
		v, err := f(r)
		if err != nil {
			r.args = r.args[:base]
			return err
		}
		r.args = append(r.args, v)
	}
	err := s.add(r, r.args[base:len(r.args):len(r.args)])
	r.args = r.args[:base]
	return err
}

func (s *accumulation) add(r *run, args []types.Value) error {
	a := s.call
	if a.f.Warns && len(args) > 0 && args[0].IsNull() {
		r.nulls = true
	}
	if s.seen != nil {
		if ok, err := s.seen.add(args); err != nil || !ok {
			return err
		}
	}
	if a.within == nil {
		return s.acc.Step(args)
	}
	keys, err := a.within.values(r)
	if err != nil {
		return err
	}
	s.queue = append(s.queue, ordered{keys, slices.Clone(args)})
	return nil
}

func (s *accumulation) result() (types.Value, error) {
	if s.call.f == nil {
		if s.call.result.Kind == types.KindBigInt {
			return types.NewBigInt(s.rows), nil
		}
		return types.NewInt(s.rows), nil
	}
	if s.call.within != nil {
		slices.SortStableFunc(s.queue, func(a, b ordered) int { return s.call.within.compare(a.keys, b.keys) })
		for _, o := range s.queue {
			if err := s.acc.Step(o.args); err != nil {
				return types.Null, err
			}
		}
	}
	return s.acc.Result()
}

// aggregateNode groups frames by a hash of the group expressions.
type aggregateNode struct {
	x      node
	src    int
	group  []evalFunc
	types  []types.Type
	calls  []aggregateCall
	scalar bool
}

func (c *compiler) aggregation(n *plan.Aggregation) node {
	a := &aggregateNode{x: c.rel(n.X), src: n.Src, group: c.exprs(n.Group), scalar: n.Scalar}
	for _, x := range n.Group {
		t := x.Type()
		a.types = append(a.types, keyType(t, t.Collation))
	}
	for _, g := range n.Aggs {
		a.calls = append(a.calls, c.aggregate(g.F, g.Args, g.T, g.Distinct, g.Within))
	}
	return a
}

// group is one group of an aggregation.
type group struct {
	row  types.Row // of the group expressions, with room for the aggregates
	accs []accumulation
}

func (n *aggregateNode) newGroup(row types.Row) *group {
	g := &group{row: row, accs: make([]accumulation, len(n.calls))}
	for i := range n.calls {
		g.accs[i] = n.calls[i].start()
	}
	return g
}

func (g *group) step(r *run) error {
	for i := range g.accs {
		if err := g.accs[i].step(r); err != nil {
			return err
		}
	}
	return r.tick()
}

func (n *aggregateNode) run(r *run, sink func() error) error {
	var groups []*group
	if len(n.group) == 0 {
		g := n.newGroup(make(types.Row, 0, len(n.calls)))
		groups = append(groups, g)
		if err := n.x.run(r, func() error { return g.step(r) }); err != nil {
			return err
		}
	} else if err := n.collect(r, &groups); err != nil {
		return err
	}
	for _, g := range groups {
		for i := range g.accs {
			v, err := g.accs[i].result()
			if err != nil {
				return err
			}
			g.row = append(g.row, v)
		}
		r.rows[n.src] = g.row
		if err := sink(); err != nil {
			return err
		}
	}
	return nil
}

// collect fills the groups, in the order of their first rows.
func (n *aggregateNode) collect(r *run, groups *[]*group) error {
	byKey := map[string]*group{}
	values := make(types.Row, len(n.group))
	var key []byte
	return n.x.run(r, func() error {
		key = key[:0]
		for i, f := range n.group {
			v, err := f(r)
			if err != nil {
				return err
			}
			values[i] = v
			if key, err = appendKeyOf(key, v, n.types[i]); err != nil {
				return err
			}
		}
		g := byKey[string(key)]
		if g == nil {
			g = n.newGroup(append(make(types.Row, 0, len(values)+len(n.calls)), values...))
			byKey[string(key)] = g
			*groups = append(*groups, g)
		}
		return g.step(r)
	})
}

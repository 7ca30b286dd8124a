package exec

import (
	"errors"
	"slices"

	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// sortKeys are the compiled keys of an order.
type sortKeys struct {
	exprs []evalFunc
	desc  []bool
	colls []*types.Collation
}

func (c *compiler) sortKeys(keys []plan.SortKey) sortKeys {
	var s sortKeys
	for _, k := range keys {
		s.exprs = append(s.exprs, c.expr(k.X))
		s.desc = append(s.desc, k.Desc)
		s.colls = append(s.colls, k.X.Type().Collation)
	}
	return s
}

func (s *sortKeys) values(r *run) ([]types.Value, error) {
	out := make([]types.Value, len(s.exprs))
	for i, f := range s.exprs {
		v, err := f(r)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// compare orders two sets of key values; NULL comes first.
func (s *sortKeys) compare(a, b []types.Value) int {
	for i := range s.exprs {
		d := compareNulls(a[i], b[i], s.colls[i])
		if d != 0 {
			if s.desc[i] {
				return -d
			}
			return d
		}
	}
	return 0
}

// compareNulls is compareValues with NULL before everything.
func compareNulls(a, b types.Value, coll *types.Collation) int {
	switch {
	case a.IsNull() && b.IsNull():
		return 0
	case a.IsNull():
		return -1
	case b.IsNull():
		return 1
	}
	return compareValues(a, b, coll)
}

// sortNode orders frames.
type sortNode struct {
	frames
	x     node
	keys  sortKeys
	limit evalFunc
}

// keyed is a kept frame with its key values.
type keyed struct {
	frame
	keys []types.Value
}

func (c *compiler) sort(n *plan.Sort) node {
	s := &sortNode{frames: c.frames(n.Sources), x: c.rel(n.X), keys: c.sortKeys(n.Keys)}
	if n.Limit != nil {
		s.limit = c.expr(n.Limit)
	}
	return s
}

// topSlack is how many frames more than wanted a sort with a limit lets pile up.
const topSlack = 512

func (n *sortNode) run(r *run, sink func() error) error {
	want := -1
	if n.limit != nil {
		v, err := n.limit(r)
		if err != nil {
			return err
		}
		if !v.IsNull() && v.Int() >= 0 && v.Int() < 1<<20 {
			want = int(v.Int())
		}
	}
	var all []keyed
	order := func() { slices.SortStableFunc(all, func(a, b keyed) int { return n.keys.compare(a.keys, b.keys) }) }
	err := n.x.run(r, func() error {
		keys, err := n.keys.values(r)
		if err != nil {
			return err
		}
		all = append(all, keyed{n.capture(r), keys})
		if want >= 0 && len(all) >= 2*want+topSlack {
			order()
			clear(all[want:])
			all = all[:want]
		}
		return r.tick()
	})
	if err != nil {
		return err
	}
	order()
	for i := range all {
		n.restore(r, &all[i].frame)
		if err := sink(); err != nil {
			return err
		}
	}
	return nil
}

// limitNode is TOP, OFFSET and FETCH.
type limitNode struct {
	frames
	x                  node
	top, offset, fetch evalFunc
	percent            bool
	ties               *sortKeys
}

func (c *compiler) limit(n *plan.Limit) node {
	l := &limitNode{frames: c.frames(n.Sources), x: c.rel(n.X), percent: n.Percent}
	if n.Top != nil {
		l.top = c.expr(n.Top)
	}
	if n.Offset != nil {
		l.offset = c.expr(n.Offset)
	}
	if n.Fetch != nil {
		l.fetch = c.expr(n.Fetch)
	}
	if len(n.Ties) > 0 {
		k := c.sortKeys(n.Ties)
		l.ties = &k
	}
	return l
}

// count evaluates a number of rows.
func count(r *run, f evalFunc, low int64, number int32) (int64, error) {
	v, err := f(r)
	if err != nil {
		return 0, err
	}
	if v.IsNull() {
		return 0, sqlerr.New(1060)
	}
	if v.Int() < low {
		return 0, sqlerr.New(number)
	}
	return v.Int(), nil
}

func (n *limitNode) run(r *run, sink func() error) error {
	skip, take := int64(0), int64(-1)
	var err error
	if n.offset != nil {
		if skip, err = count(r, n.offset, 0, 10742); err != nil {
			return err
		}
	}
	switch {
	case n.fetch != nil:
		take, err = count(r, n.fetch, 1, 10744)
	case n.percent:
		return n.percentage(r, sink)
	case n.top != nil:
		take, err = count(r, n.top, 0, 127)
	}
	if err != nil || take == 0 {
		return err
	}
	return n.cut(r, skip, take, sink)
}

// cut passes take frames after the first skip ones; a negative take is all.
func (n *limitNode) cut(r *run, skip, take int64, sink func() error) error {
	c := &cutter{skip: skip, take: take, sink: sink}
	pass := c.pass
	if take >= 0 && n.ties != nil {
		pass = func() error { return c.passTies(r, n.ties) }
	}
	err := n.x.run(r, pass)
	if c.stopped && errors.Is(err, errStop) {
		return nil
	}
	return err
}

// cutter counts the frames that limitNode.cut lets through.
type cutter struct {
	skip, take, seen int64
	stopped          bool
	last             []types.Value // keys of the last frame, WITH TIES
	sink             func() error
}

func (c *cutter) pass() error {
	if c.seen++; c.seen <= c.skip {
		return nil
	}
	if err := c.sink(); err != nil {
		return err
	}
	if c.take >= 0 && c.seen >= c.skip+c.take {
		c.stopped = true
		return errStop
	}
	return nil
}

// passTies lets frames through that are equal to the last one, too.
func (c *cutter) passTies(r *run, order *sortKeys) error {
	if c.seen++; c.seen <= c.skip {
		return nil
	}
	keys, err := order.values(r)
	if err != nil {
		return err
	}
	if c.seen > c.skip+c.take && order.compare(keys, c.last) != 0 {
		c.stopped = true
		return errStop
	}
	c.last = keys
	return c.sink()
}

// percentage is TOP … PERCENT: the rows have to be counted first.
func (n *limitNode) percentage(r *run, sink func() error) error {
	v, err := n.top(r)
	if err != nil {
		return err
	}
	if v.IsNull() || v.Float() < 0 || v.Float() > 100 {
		return sqlerr.New(1031)
	}
	var all []frame
	if err := n.x.run(r, func() error {
		all = append(all, n.capture(r))
		return r.tick()
	}); err != nil {
		return err
	}
	want := float64(len(all)) * v.Float() / 100
	take := int64(want)
	if float64(take) < want {
		take++
	}
	if take == 0 {
		return nil
	}
	kept := limitNode{frames: n.frames, x: &framesNode{n.frames, all}, ties: n.ties}
	return kept.cut(r, 0, take, sink)
}

// framesNode replays kept frames.
type framesNode struct {
	frames
	all []frame
}

func (n *framesNode) run(r *run, sink func() error) error {
	for i := range n.all {
		n.restore(r, &n.all[i])
		if err := sink(); err != nil {
			return err
		}
	}
	return nil
}

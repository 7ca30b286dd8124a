package exec

import (
	"loopbroker/engine/plan"
	"loopbroker/engine/types"
)

// joinNode runs its right side for every frame of its left one.
type joinNode struct {
	kind        plan.JoinKind
	l, r        node
	on          condFunc
	left, right []int
	again       []int // spools to forget when the join starts
}

func (c *compiler) join(n *plan.Join) node {
	j := &joinNode{kind: n.Kind, l: c.rel(n.L), r: c.rel(n.R), on: c.conds(n.On), left: n.Left, right: n.Right}
	againSpools(n.R, &j.again)
	if n.Kind == plan.JoinFull {
		spool := j.r.(*spoolNode)
		spool.full = true
		return &fullNode{joinNode: *j, spool: spool}
	}
	return j
}

// againSpools lists the spools below r that depend on rows around their query.
func againSpools(r plan.Rel, out *[]int) {
	switch n := r.(type) {
	case *plan.Spool:
		if n.Again {
			*out = append(*out, n.ID)
		}
		againSpools(n.X, out)
	case *plan.Filter:
		againSpools(n.X, out)
	case *plan.Join:
		againSpools(n.L, out)
		againSpools(n.R, out)
	}
}

func (n *joinNode) run(r *run, sink func() error) error {
	for _, id := range n.again {
		r.states[id] = nil
	}
	matched := false
	inner := func() error {
		if n.on != nil {
			t, err := n.on(r)
			if err != nil {
				return err
			}
			if t != isTrue {
				return nil
			}
		}
		matched = true
		return sink()
	}
	return n.l.run(r, func() error {
		matched = false
		if err := n.r.run(r, inner); err != nil {
			return err
		}
		if matched || n.kind != plan.JoinLeft {
			return nil
		}
		clearSources(r, n.right)
		return sink()
	})
}

// fullNode is a full outer join over a spool.
type fullNode struct {
	joinNode
	spool *spoolNode
}

func (n *fullNode) run(r *run, sink func() error) error {
	for _, id := range n.again {
		r.states[id] = nil
	}
	kept, err := n.spool.fill(r)
	if err != nil {
		return err
	}
	matched := make([]bool, len(kept.frames))
	err = n.l.run(r, func() error {
		found := false
		err := n.spool.each(r, kept, func(i int) error {
			t := isTrue
			if n.on != nil {
				var err error
				if t, err = n.on(r); err != nil {
					return err
				}
			}
			if t != isTrue {
				return nil
			}
			found, matched[i] = true, true
			return sink()
		})
		if err != nil || found {
			return err
		}
		clearSources(r, n.right)
		return sink()
	})
	if err != nil {
		return err
	}
	for i := range kept.frames {
		if matched[i] {
			continue
		}
		clearSources(r, n.left)
		n.spool.restore(r, &kept.frames[i])
		if err := sink(); err != nil {
			return err
		}
	}
	return nil
}

// spoolNode keeps the frames of its child, by key if it has keys.
type spoolNode struct {
	frames
	id           int
	x            node
	build, probe []evalFunc
	keys         []types.Type
	full         bool // keeps frames without a key too
}

// kept are the frames of a spool in a run.
type kept struct {
	frames []frame
	byKey  map[string][]int32
}

func (c *compiler) spool(n *plan.Spool) node {
	return &spoolNode{frames: c.frames(n.Sources), id: n.ID, x: c.rel(n.X), build: c.exprs(n.Build), probe: c.exprs(n.Probe), keys: n.Keys}
}

// fill returns the kept frames, running the child the first time.
func (n *spoolNode) fill(r *run) (*kept, error) {
	if k, ok := r.states[n.id].(*kept); ok {
		return k, nil
	}
	k := &kept{}
	if len(n.keys) > 0 {
		k.byKey = map[string][]int32{}
	}
	err := n.x.run(r, func() error {
		if k.byKey != nil {
			key, ok, err := n.key(r, nil, n.build)
			if err != nil || (!ok && !n.full) {
				return err
			}
			if ok {
				k.byKey[string(key)] = append(k.byKey[string(key)], int32(len(k.frames)))
			}
		}
		k.frames = append(k.frames, n.capture(r))
		return r.tick()
	})
	if err != nil {
		return nil, err
	}
	r.states[n.id] = k
	return k, nil
}

// key encodes the values of a key; ok is false when one is NULL, which equals
// nothing.
func (n *spoolNode) key(r *run, dst []byte, fs []evalFunc) (key []byte, ok bool, err error) {
	for i, f := range fs {
		v, err := f(r)
		if err != nil || v.IsNull() {
			return dst, false, err
		}
		if dst, err = appendKeyOf(dst, v, n.keys[i]); err != nil {
			return dst, false, err
		}
	}
	return dst, true, nil
}

func (n *spoolNode) run(r *run, sink func() error) error {
	k, err := n.fill(r)
	if err != nil {
		return err
	}
	return n.each(r, k, func(int) error { return sink() })
}

// each restores the frames that match the current ones, one after another.
func (n *spoolNode) each(r *run, k *kept, f func(int) error) error {
	if k.byKey == nil {
		for i := range k.frames {
			n.restore(r, &k.frames[i])
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	key, ok, err := n.key(r, nil, n.probe)
	if err != nil || !ok {
		return err
	}
	for _, i := range k.byKey[string(key)] {
		n.restore(r, &k.frames[i])
		if err := f(int(i)); err != nil {
			return err
		}
	}
	return nil
}

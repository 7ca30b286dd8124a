package history

import (
	"fmt"
	"slices"
	"strings"
)

// graph has moments as nodes, and an edge from each to those that came later.
// The moments of the client's clock are a line through it, so an edge to and
// from the line stands for all that was sent after something was answered.
type graph struct {
	nodes []node
	ticks int // nodes[:ticks] are the clock
	out   [][]edge
	ends  map[*transaction]int
}

// node is a moment.
type node struct {
	kind nodeKind
	st   *statement // whose moment it is
}

type nodeKind uint8

const (
	tick   nodeKind = iota
	ending          // a transaction ended
	seeing          // a statement read a row
	view            // a statement, or transaction, read everything
)

// edge says that a moment came before another.
type edge struct {
	to   int
	why  why
	seen *version   // what was read
	made *version   // what came before or after
	st   *statement // that read it
}

type why uint8

const (
	clockwise why = iota // sent or answered
	saw                  // the version was committed before it was read
	replaced             // what was read was current until then
	kept                 // what was read was to stay to the end of the transaction
	newest               // a SNAPSHOT transaction has seen the newest version of what it changes
	follows              // versions of a key follow each other
)

func newGraph(ticks int64) *graph {
	g := &graph{ticks: int(ticks) + 1, ends: map[*transaction]int{}}
	g.nodes = make([]node, g.ticks)
	g.out = make([][]edge, g.ticks)
	for i := range g.ticks - 1 {
		g.out[i] = append(g.out[i], edge{to: i + 1})
	}
	return g
}

// add adds a moment between two ticks.
func (g *graph) add(n node, sent, answered int64) int {
	id := len(g.nodes)
	g.nodes = append(g.nodes, n)
	g.out = append(g.out, []edge{{to: int(answered)}})
	g.out[sent] = append(g.out[sent], edge{to: id})
	return id
}

// end returns the moment at which a transaction ended.
func (g *graph) end(t *transaction) int {
	id, ok := g.ends[t]
	if !ok {
		id = g.add(node{ending, t.ended}, t.ended.sent, t.ended.answered)
		g.ends[t] = id
	}
	return id
}

// after says that a moment came after a version was committed.
func (g *graph) after(moment int, v *version, w why, st *statement) {
	if v.by == nil {
		return
	}
	if e := g.end(v.by); e != moment {
		g.out[e] = append(g.out[e], edge{to: moment, why: w, seen: v, made: v, st: st})
	}
}

// before says that a moment at which seen was current came before made was.
func (g *graph) before(moment int, seen, made *version, w why, st *statement) {
	if e := g.end(made.by); e != moment {
		g.out[moment] = append(g.out[moment], edge{to: e, why: w, seen: seen, made: made, st: st})
	}
}

// circleStep is an edge of a circle.
type circleStep struct {
	from int
	edge edge
}

// circle returns the circle with the fewest edges beside the clock, nil if there
// is none.
func (g *graph) circle() []circleStep {
	var best []circleStep
	cost := 1 << 30
	const sources = 400 // enough to find a short one
	tried := 0
	for _, component := range g.components() {
		in := make(map[int]bool, len(component))
		for _, n := range component {
			in[n] = true
		}
		for _, n := range component {
			if n < g.ticks || tried >= sources {
				continue
			}
			tried++
			if path, c := g.shortest(n, in); c < cost {
				best, cost = path, c
			}
		}
	}
	return best
}

// shortest returns the shortest way from a node back to it; edges of the clock
// cost nothing.
func (g *graph) shortest(start int, in map[int]bool) ([]circleStep, int) {
	type reached struct {
		cost int
		by   circleStep
	}
	seen := map[int]reached{}
	front := []int{start}
	costs := map[int]int{start: 0}
	settled := map[int]bool{}
	for cost := 0; len(front) > 0; cost++ {
		var next []int
		for i := 0; i < len(front); i++ { // grows by edges that cost nothing
			n := front[i]
			if settled[n] || costs[n] != cost {
				continue
			}
			settled[n] = true
			for _, e := range g.out[n] {
				c := cost
				if e.why != clockwise {
					c++
				}
				if !in[e.to] {
					continue
				}
				if old, ok := seen[e.to]; ok && old.cost <= c {
					continue
				}
				if e.to == start && n != start || e.to != start {
					seen[e.to] = reached{c, circleStep{n, e}}
				}
				if e.to == start {
					continue
				}
				if known, ok := costs[e.to]; ok && known <= c {
					continue
				}
				costs[e.to] = c
				if c == cost {
					front = append(front, e.to)
				} else {
					next = append(next, e.to)
				}
			}
		}
		front = next
	}
	last, ok := seen[start]
	if !ok {
		return nil, 1 << 30
	}
	path := []circleStep{last.by}
	for at := last.by.from; at != start; {
		s := seen[at].by
		path = append(path, s)
		at = s.from
	}
	slices.Reverse(path)
	return path, last.cost
}

// components returns the strongly connected components of more than one node
// (Tarjan, without recursion).
func (g *graph) components() (found [][]int) {
	n := len(g.nodes)
	index, low := make([]int, n), make([]int, n)
	onStack := make([]bool, n)
	var stack []int
	type frame struct{ node, edge int }
	count := 0
	for root := range n {
		if index[root] != 0 {
			continue
		}
		work := []frame{{node: root}}
		for len(work) > 0 {
			f := &work[len(work)-1]
			v := f.node
			if f.edge == 0 {
				count++
				index[v], low[v] = count, count
				stack, onStack[v] = append(stack, v), true
			}
			if f.edge < len(g.out[v]) {
				w := g.out[v][f.edge].to
				f.edge++
				if index[w] == 0 {
					work = append(work, frame{node: w})
				} else if onStack[w] {
					low[v] = min(low[v], index[w])
				}
				continue
			}
			work = work[:len(work)-1]
			if len(work) > 0 {
				up := work[len(work)-1].node
				low[up] = min(low[up], low[v])
			}
			if low[v] != index[v] {
				continue
			}
			at := slices.Index(stack, v)
			component := slices.Clone(stack[at:])
			for _, w := range component {
				onStack[w] = false
			}
			stack = stack[:at]
			if len(component) > 1 {
				found = append(found, component)
			}
		}
	}
	return found
}

// explain makes a fault of a circle.
func (g *graph) explain(circle []circleStep) Fault {
	for len(circle) > 1 && circle[0].from < g.ticks { // begin at a moment
		circle = append(circle[1:], circle[0])
	}
	var b strings.Builder
	var involved []*statement
	b.WriteString("these moments come one before the other in a circle:")
	for i := 0; i < len(circle); i++ {
		s := circle[i]
		from := g.nodes[s.from]
		involved = append(involved, from.st)
		if s.edge.why != clockwise {
			involved = append(involved, s.edge.st)
			for _, v := range []*version{s.edge.seen, s.edge.made} {
				if v != nil && v.st != nil {
					involved = append(involved, v.st)
				}
			}
			fmt.Fprintf(&b, "\n  - %s", g.reason(s))
			continue
		}
		for i+1 < len(circle) && circle[i].edge.to < g.ticks {
			i++
		}
		fmt.Fprintf(&b, "\n  - %s was answered before %s was sent", from.st.name(), g.nodes[circle[i].edge.to].st.name())
	}
	return newFault("order", b.String(), involved...)
}

// moment names a node.
func (g *graph) moment(id int) string {
	n := g.nodes[id]
	switch n.kind {
	case ending:
		if n.st.txn.committed {
			return fmt.Sprintf("the commit of %s", n.st.txn)
		}
		return fmt.Sprintf("the end of %s", n.st.txn)
	case view:
		return fmt.Sprintf("the moment whose rows %s read", n.st.name())
	}
	return fmt.Sprintf("the moment at which %s read the row", n.st.name())
}

func (g *graph) reason(s circleStep) string {
	from, to, e := g.moment(s.from), g.moment(s.edge.to), s.edge
	switch e.why {
	case saw:
		return fmt.Sprintf("%s is before %s: %s found %v", from, to, e.st.name(), e.seen)
	case replaced:
		return fmt.Sprintf("%s is before %s: %s found %v, and then %s %s", from, to, e.st.name(), e.seen, e.made.st.name(), e.made.did())
	case kept:
		return fmt.Sprintf("%s is before %s: %s found %v, which was to stay so, and then %s %s", from, to, e.st.name(), e.seen, e.made.st.name(), e.made.did())
	case newest:
		return fmt.Sprintf("%s is before %s: %s changed %v, so its view must have had it", from, to, e.st.name(), e.seen)
	}
	return fmt.Sprintf("%s is before %s: %v comes after %v", from, to, e.made, e.seen)
}

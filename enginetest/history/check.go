package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Check returns what a history shows that must not be, the shortest explanations
// first.
func Check(h *History) []Fault {
	c := &checker{h: h, chains: buildChains(h), faults: slices.Clone(h.Faults)}
	c.faults = append(c.faults, c.chains.faults...)
	var last int64
	for _, t := range h.txns {
		for _, st := range t.statements {
			last = max(last, st.answered)
		}
	}
	c.g = newGraph(last)
	for _, k := range slices.SortedFunc(maps.Keys(c.chains.of), compareKeys) {
		for _, v := range c.chains.of[k].versions {
			if v.next != nil && v.by != nil {
				c.g.before(c.g.end(v.by), v, v.next, follows, nil)
			}
		}
	}
	for _, t := range h.txns {
		c.transaction(t)
	}
	if circle := c.g.circle(); circle != nil {
		c.faults = append(c.faults, c.g.explain(circle))
	}
	c.final()
	slices.SortStableFunc(c.faults, func(a, b Fault) int { return cmp.Compare(len(a.Statements), len(b.Statements)) })
	return c.faults
}

func compareKeys(a, b key) int {
	if a.t != b.t {
		return slices.Index(tables, a.t) - slices.Index(tables, b.t)
	}
	return int(a.id - b.id)
}

// checker is the state of a check.
type checker struct {
	h      *History
	chains *chains
	g      *graph
	faults []Fault
}

func (c *checker) fault(rule, text string, statements ...*statement) {
	c.faults = append(c.faults, newFault(rule, text, statements...))
}

// transaction checks what one transaction saw and did.
func (c *checker) transaction(t *transaction) {
	if t.ended == nil {
		return // told already
	}
	seen := -1 // the moment of a SNAPSHOT transaction
	var first *statement
	for st := range t.data() {
		if first == nil {
			first = st
		}
		if st.failed() {
			if st.number == duplicateKey && st.inserts >= 0 {
				c.duplicate(st)
			}
			continue
		}
		if t.level == Snapshot && seen < 0 {
			seen = c.g.add(node{view, first}, first.sent, st.answered)
		}
		o := &observer{c: c, st: st, own: ownRows(t, st), view: seen, whole: -1}
		o.check()
	}
}

// ownRows returns what a transaction itself has made of keys before one of its
// statements.
func ownRows(t *transaction, until *statement) map[key]*Row {
	own := map[key]*Row{}
	for _, st := range t.statements[:until.n] {
		for _, ch := range st.changes {
			if ch.undo == nil || ch.undo.n > until.n {
				own[ch.key] = ch.new
			}
		}
	}
	return own
}

// duplicate checks that the key that an insertion met was there.
func (c *checker) duplicate(st *statement) {
	k := key{st.table, st.inserts}
	if row, ok := ownRows(st.txn, st)[k]; ok {
		if row == nil {
			c.fault("own writes", fmt.Sprintf("%s met %v, which its transaction had removed", st.name(), k), st)
		}
		return
	}
	o := &observer{c: c, st: st, view: -1, whole: -1}
	o.disjunct(k, finding{what: "a duplicate of", fits: func(r *Row) bool { return r != nil }, now: true})
}

// final compares the tables with what was committed.
func (c *checker) final() {
	for _, f := range c.h.final {
		rows := map[key]*Row{}
		for i := range f.rows {
			rows[key{f.table, f.rows[i].ID}] = &f.rows[i]
		}
		if len(rows) != len(f.rows) {
			c.fault("final state", fmt.Sprintf("%s read WHERE %s has a key twice: %s", f.table, f.by, rowList(f.rows)))
		}
		total := int64(0)
		for _, r := range f.rows {
			total += r.Val
		}
		if want := int64(c.h.Params.Accounts) * initialBalance; f.table == account && total != want {
			c.fault("sum", fmt.Sprintf("the accounts have %d at the end, the transfers keep %d", total, want))
		}
		for _, k := range c.chains.keys[f.table] {
			last := c.chains.of[k].last()
			got := rows[k]
			delete(rows, k)
			if (got == nil) != (last.row == nil) || got != nil && *got != *last.row {
				c.fault("final state", fmt.Sprintf("WHERE %s has %v for %v; committed was %v", f.by, got, k, last), last.st)
			}
		}
		for k, r := range rows {
			c.fault("final state", fmt.Sprintf("WHERE %s has %v, which nobody committed: %v", f.by, k, r))
		}
	}
	if c.h.locks != 0 {
		c.fault("locks left", fmt.Sprintf("%d locks are held when every transaction has ended", c.h.locks))
	}
}

package history

import (
	"cmp"
	"fmt"
	"slices"
)

// version is a committed state of a key.
type version struct {
	key  key
	row  *Row         // nil: not there
	by   *transaction // nil: it was so at the beginning
	st   *statement   // that wrote it, the last one of the transaction
	next *version
	n    int // in the chain
}

// chain is the committed versions of a key, in their order.
type chain struct {
	key      key
	versions []*version
}

// writing is one row as a statement wrote it, whatever became of it.
type writing struct {
	row  *Row
	st   *statement
	undo *statement
	// committed is the version that it became: nil if it was rolled back, or
	// overwritten by its own transaction.
	committed *version
}

type writeID struct {
	key key
	ver int64
}

// chains are all that was written.
type chains struct {
	of     map[key]*chain
	keys   map[table][]key // in order
	writes map[writeID]*writing
	faults []Fault
}

// installed is what a committed transaction did to a key.
type installed struct {
	key         key
	txn         *transaction
	old         *Row
	new         *Row
	first, last *statement
	used        bool
}

// buildChains puts the committed writes of each key in order: an update or a
// deletion tells what it replaced; an insertion replaces a deletion, and the
// answers of two insertions come in the order of the insertions, because a
// transaction's commit is sent after its answers.
func buildChains(h *History) *chains {
	c := &chains{of: map[key]*chain{}, keys: map[table][]key{}, writes: map[writeID]*writing{}}
	for k, r := range h.initial {
		c.writes[writeID{k, r.Ver}] = &writing{row: &r}
	}
	byKey := map[key][]*installed{}
	for _, t := range h.txns {
		c.note(t)
		for _, in := range installedBy(t) {
			byKey[in.key] = append(byKey[in.key], in)
		}
	}
	for k := range h.initial {
		if byKey[k] == nil {
			byKey[k] = nil
		}
	}
	for k, list := range byKey {
		first := &version{key: k}
		if r, ok := h.initial[k]; ok {
			first.row = &r
			c.writes[writeID{k, r.Ver}].committed = first
		}
		c.of[k] = c.order(first, list)
		c.keys[k.t] = append(c.keys[k.t], k)
	}
	for t := range c.keys {
		slices.SortFunc(c.keys[t], func(a, b key) int { return cmp.Compare(a.id, b.id) })
	}
	return c
}

// note remembers every row that a transaction wrote.
func (c *chains) note(t *transaction) {
	for _, st := range t.statements {
		for _, ch := range st.changes {
			if ch.new != nil {
				c.writes[writeID{ch.key, ch.new.Ver}] = &writing{row: ch.new, st: st, undo: ch.undo}
			}
		}
	}
}

// installedBy returns what a committed transaction did to each key.
func installedBy(t *transaction) []*installed {
	if !t.committed {
		return nil
	}
	of := map[key]*installed{}
	var list []*installed
	for _, st := range t.statements {
		for _, ch := range st.changes {
			if ch.undo != nil {
				continue
			}
			in := of[ch.key]
			if in == nil {
				in = &installed{key: ch.key, txn: t, old: ch.old, first: st}
				of[ch.key] = in
				list = append(list, in)
			}
			in.new, in.last = ch.new, st
		}
	}
	return slices.DeleteFunc(list, func(in *installed) bool { return in.old == nil && in.new == nil })
}

// order makes the chain of a key.
func (c *chains) order(first *version, list []*installed) *chain {
	ch := &chain{key: first.key, versions: []*version{first}}
	after := map[int64][]*installed{}
	var inserts []*installed
	for _, in := range list {
		if in.old == nil {
			inserts = append(inserts, in)
		} else {
			after[in.old.Ver] = append(after[in.old.Ver], in)
		}
	}
	slices.SortFunc(inserts, func(a, b *installed) int { return cmp.Compare(a.first.answered, b.first.answered) })
	c.follow(ch, after)
	for _, in := range inserts {
		if last := ch.last(); last.row != nil {
			c.fault("inserted twice", fmt.Sprintf("%v was inserted while it was there: as written by %s", ch.key, versionName(last.row.Ver)), in.first, last.st)
		}
		c.install(ch, in)
		c.follow(ch, after)
	}
	for _, in := range list {
		if !in.used {
			c.strayed(ch, in)
		}
	}
	return ch
}

// follow appends what replaced the last version, as long as something did.
func (c *chains) follow(ch *chain, after map[int64][]*installed) {
	for ch.last().row != nil {
		list := after[ch.last().row.Ver]
		if len(list) == 0 {
			return
		}
		for _, in := range list[1:] {
			rule := "lost update"
			if ch.key.t == job && in.new != nil && in.new.Grp == 1 {
				rule = "claimed twice"
			}
			in.used = true
			c.fault(rule, fmt.Sprintf("%v as written by %s was replaced twice: by %s and by %s",
				ch.key, versionName(in.old.Ver), list[0].last.name(), in.last.name()), list[0].last, in.last, ch.last().st)
		}
		c.install(ch, list[0])
	}
}

func (c *chains) install(ch *chain, in *installed) {
	in.used = true
	v := &version{key: ch.key, row: in.new, by: in.txn, st: in.last, n: len(ch.versions)}
	ch.last().next = v
	ch.versions = append(ch.versions, v)
	if in.new != nil {
		c.writes[writeID{ch.key, in.new.Ver}].committed = v
	}
}

// strayed is a write whose predecessor is not a committed version.
func (c *chains) strayed(ch *chain, in *installed) {
	w := c.writes[writeID{ch.key, in.old.Ver}]
	text := fmt.Sprintf("%s replaced %v as written by %s, which was never committed", in.first.name(), ch.key, versionName(in.old.Ver))
	var st *statement
	if w != nil {
		st = w.st
	}
	c.fault("dirty write", text, in.first, st)
}

func (c *chains) fault(rule, text string, statements ...*statement) {
	c.faults = append(c.faults, newFault(rule, text, statements...))
}

func (ch *chain) last() *version { return ch.versions[len(ch.versions)-1] }

func (v *version) String() string {
	switch {
	case v.row != nil && v.by == nil:
		return fmt.Sprintf("%v as the setup wrote it", v.key)
	case v.row != nil:
		return fmt.Sprintf("%v as %s wrote it", v.key, v.st.name())
	case v.by == nil:
		return fmt.Sprintf("the absence of %v at the beginning", v.key)
	}
	return fmt.Sprintf("the absence of %v after %s removed it", v.key, v.st.name())
}

// did says what the making of the version was.
func (v *version) did() string {
	switch {
	case v.row == nil:
		return "removed it"
	case v.n > 0 && v.st != nil && v.row.Prev == 0:
		return "inserted it"
	}
	return "changed it"
}

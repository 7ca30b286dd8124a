package history

import (
	"fmt"
	"slices"
)

// observer checks one statement.
type observer struct {
	c     *checker
	st    *statement
	own   map[key]*Row
	view  int // the moment of a SNAPSHOT transaction, -1 for none
	whole int // the moment of the statement, once it has one
}

func (o *observer) check() {
	seen := map[key]bool{}
	switch o.st.kind {
	case query, aggregate:
		o.rows(seen)
	case dml:
		for i := range o.st.changes {
			o.change(&o.st.changes[i])
			seen[o.st.changes[i].key] = true
		}
	}
	r := &o.st.reading
	if !o.st.searches || !r.complete || r.moments == dirty {
		return
	}
	for _, k := range o.c.chains.keys[o.st.table] {
		if !seen[k] {
			o.absent(k)
		}
	}
}

// moment returns the moment at which the statement read one of its rows.
func (o *observer) moment() int {
	switch o.st.reading.moments {
	case perView:
		return o.view
	case perStatement:
		if o.whole < 0 {
			o.whole = o.c.g.add(node{view, o.st}, o.st.sent, o.st.answered)
		}
		return o.whole
	}
	return o.row()
}

// row is a moment of its own.
func (o *observer) row() int { return o.c.g.add(node{seeing, o.st}, o.st.sent, o.st.answered) }

func (o *observer) fault(rule, format string, args ...any) {
	o.c.fault(rule, fmt.Sprintf(o.st.name()+" "+format, args...), o.st)
}

// moving reports whether the statement may meet a moving row twice or not.
func (o *observer) moving() bool {
	st := o.st
	heap := o.c.h.Params.Heap && st.table == item
	return st.searches && st.reading.moments == perRow && !st.reading.ranges && st.where.moving(heap)
}

// rows checks the rows of a query.
func (o *observer) rows(seen map[key]bool) {
	st := o.st
	sum, known := int64(0), true
	for i := range st.rows {
		r := &st.rows[i]
		k := key{st.table, r.ID}
		if again := st.reading.moments == dirty || o.moving(); seen[k] && !again {
			o.fault("row twice", "read %v twice", k)
		}
		seen[k] = true
		w := o.c.chains.writes[writeID{k, r.Ver}]
		if w == nil {
			known = false
		} else {
			sum += w.row.Val
			if st.kind == query && *w.row != *r {
				o.fault("torn row", "read %v, which was written as %v", r, w.row)
			}
			if !st.where.holds(w.row) {
				o.fault("wrong row", "read %v, which its condition does not choose", w.row)
			}
		}
		o.saw(k, r.Ver, w)
	}
	if st.kind == aggregate {
		o.sums(sum, known)
	}
}

// sums checks an aggregate against its rows, and that transfers keep the sum.
func (o *observer) sums(sum int64, known bool) {
	st := o.st
	if st.count != int64(len(st.rows)) || known && st.sum != sum {
		o.fault("aggregate", "has count %d and sum %d; its rows have %d and %d", st.count, st.sum, len(st.rows), sum)
	}
	one := st.reading.moments == perStatement || st.reading.moments == perView || st.reading.ranges
	if st.table != account || st.where.kind != everyRow || !one || !st.reading.complete {
		return
	}
	total := int64(o.c.h.Params.Accounts) * initialBalance
	for _, before := range st.txn.statements[:st.n] {
		for _, ch := range before.changes {
			if ch.key.t == account && (ch.undo == nil || ch.undo.n > st.n) {
				total += ch.new.Val - ch.old.Val
			}
		}
	}
	if st.sum != total {
		o.fault("sum", "found %d in the accounts, the transfers keep %d", st.sum, total)
	}
}

// saw checks one row that was read.
func (o *observer) saw(k key, ver int64, w *writing) {
	if own, ok := o.own[k]; ok {
		if own == nil || own.Ver != ver {
			o.fault("own writes", "read %v as written by %s; its transaction had made it %v", k, versionName(ver), own)
		}
		return
	}
	if o.st.reading.moments == dirty {
		o.sawDirty(k, ver, w)
		return
	}
	if v := o.committed(k, ver, w, "dirty read"); v != nil {
		o.exact(v, o.moment(), o.st.reading.rows)
	}
}

// committed returns the version that a row is, nil with a fault if it is none.
func (o *observer) committed(k key, ver int64, w *writing, rule string) *version {
	switch {
	case w == nil:
		o.fault(rule, "met %v as written by %s, which failed or never was", k, versionName(ver))
	case w.committed != nil:
		return w.committed
	case !w.st.txn.committed:
		o.c.fault(rule, fmt.Sprintf("%s met %v as written by %s, which was rolled back", o.st.name(), k, w.st.name()), o.st, w.st)
	case w.undo != nil:
		o.c.fault(rule, fmt.Sprintf("%s met %v as written by %s, which was rolled back to a savepoint", o.st.name(), k, w.st.name()), o.st, w.st)
	default:
		o.c.fault(rule, fmt.Sprintf("%s met %v as written by %s, which was not the last word of its transaction", o.st.name(), k, w.st.name()), o.st, w.st)
	}
	return nil
}

// sawDirty checks a row that need not have been committed: it was there at all,
// and not after it had been rolled back or replaced.
func (o *observer) sawDirty(k key, ver int64, w *writing) {
	if w == nil {
		if !o.failing(ver) {
			o.fault("ghost", "read %v as written by %s, which never was", k, versionName(ver))
		}
		return
	}
	if w.st == nil {
		return
	}
	gone := w.undo
	if !w.st.txn.committed {
		gone = w.st.txn.ended
	}
	switch {
	case w.st.sent > o.st.answered, gone != nil && gone.answered < o.st.sent:
		o.c.fault("ghost", fmt.Sprintf("%s read %v as written by %s, which was rolled back before", o.st.name(), k, w.st.name()), o.st, w.st)
	case w.committed != nil && w.committed.next != nil:
		o.c.g.before(o.row(), w.committed, w.committed.next, replaced, o.st)
	}
}

// failing reports whether a version is of a statement that failed, or was
// rolled back with its answer unknown, while this one ran.
func (o *observer) failing(ver int64) bool {
	for _, t := range o.c.h.txns {
		for _, st := range t.statements {
			if st.version == ver && st.kind == dml && st.failed() {
				end := st.answered
				if st.number == cancelled && t.ended != nil {
					end = t.ended.answered
				}
				return st.sent < o.st.answered && end > o.st.sent
			}
		}
	}
	return false
}

// exact says that a version was current at a moment, and to the end of the
// transaction if it was to be kept.
func (o *observer) exact(v *version, moment int, keep bool) {
	o.c.g.after(moment, v, saw, o.st)
	next := v.next
	if next == nil {
		return
	}
	o.c.g.before(moment, v, next, replaced, o.st)
	if keep && !o.st.undone && next.by != o.st.txn {
		o.c.g.before(o.c.g.end(o.st.txn), v, next, kept, o.st)
	}
}

// change checks one row that was written, and that it was the newest version.
func (o *observer) change(ch *change) {
	st := o.st
	if ch.new != nil {
		prev := int64(0)
		if ch.old != nil {
			prev = ch.old.Ver
		}
		if ch.new.Ver != st.version || ch.new.Prev != prev {
			o.fault("torn row", "wrote %v over version %s", ch.new, versionName(prev))
		}
	}
	if ch.old != nil && st.searches && !st.where.holds(ch.old) {
		o.fault("wrong row", "changed %v, which its condition does not choose", ch.old)
	}
	if own, ok := o.own[ch.key]; ok {
		if (own == nil) != (ch.old == nil) || own != nil && *own != *ch.old {
			o.fault("own writes", "replaced %v; its transaction had made it %v", ch.old, own)
		}
		return
	}
	if ch.old == nil {
		o.disjunct(ch.key, finding{what: "a place for", fits: func(r *Row) bool { return r == nil }, keep: true, now: true})
		return
	}
	w := o.c.chains.writes[writeID{ch.key, ch.old.Ver}]
	v := o.committed(ch.key, ch.old.Ver, w, "dirty write")
	if v == nil {
		return
	}
	if *v.row != *ch.old {
		o.fault("torn row", "replaced %v, which was written as %v", ch.old, v.row)
	}
	o.exact(v, o.row(), true)
	switch st.reading.moments {
	case perView:
		o.c.g.after(o.view, v, newest, o.st)
	case perStatement:
		o.exact(v, o.moment(), true)
	}
}

// absent checks a key that was not found.
func (o *observer) absent(k key) {
	st := o.st
	if own, ok := o.own[k]; ok {
		if own != nil && st.where.holds(own) {
			o.fault("own writes", "did not find %v; its transaction had made it %v", k, own)
		}
		return
	}
	o.disjunct(k, finding{what: "nothing of", fits: func(r *Row) bool { return r == nil || !st.where.holds(r) }, keep: st.reading.ranges})
}

// finding is what a statement found of a key without saying which version.
type finding struct {
	what string
	fits func(*Row) bool // the versions that it may have been
	keep bool            // it was to stay so to the end of the transaction
	now  bool            // a row view has no part in it
}

// disjunct says that one of the versions that fit was current at a moment of
// reading; which one is told by the clock as far as it can be.
func (o *observer) disjunct(k key, f finding) {
	st := o.st
	ch := o.c.chains.of[k]
	if ch == nil {
		ch = &chain{key: k, versions: []*version{{key: k}}}
	}
	from, to := st.sent, st.answered
	if st.reading.moments == perView && !f.now {
		from, to = o.c.g.nodes[o.view].st.sent, int64(o.c.g.out[o.view][0].to)
	}
	low, high, possible := -1, -1, 0
	for i, v := range ch.versions {
		if v.by != nil && v.by.ended.sent > to || v.next != nil && v.next.by.ended.answered < from {
			continue
		}
		possible++
		if f.fits(v.row) {
			if low < 0 {
				low = i
			}
			high = i
		}
	}
	if o.moving() && possible > 1 {
		return // it may have moved past the scan
	}
	if low < 0 {
		o.missing(ch, f.what, from, to)
		return
	}
	if len(ch.versions) == 1 {
		return
	}
	var m int
	if f.now {
		m = o.row()
	} else {
		m = o.moment()
	}
	o.c.g.after(m, ch.versions[low], saw, o.st)
	keep := f.keep && !st.undone
	for _, v := range ch.versions[high+1:] {
		if v.by == st.txn {
			keep = false
		}
		if f.fits(v.row) {
			continue
		}
		o.c.g.before(m, ch.versions[high], v, replaced, o.st)
		if keep {
			o.c.g.before(o.c.g.end(st.txn), ch.versions[high], v, kept, o.st)
		}
		return
	}
}

// missing is the fault of a key for which no version fits.
func (o *observer) missing(ch *chain, what string, from, to int64) {
	involved := []*statement{o.st}
	text := fmt.Sprintf("%s found %s %v between %d and %d, when there was", o.st.name(), what, ch.key, from, to)
	for _, v := range ch.versions {
		if v.by != nil && v.by.ended.sent > to || v.next != nil && v.next.by.ended.answered < from {
			continue
		}
		text += fmt.Sprintf(" %v;", v)
		involved = append(involved, v.st)
	}
	o.c.fault("missing row", text, append(involved, o.open(ch.key, from, to)...)...)
}

// open are the statements of others that had changed a key and whose
// transactions were open at some time.
func (o *observer) open(k key, from, to int64) (found []*statement) {
	for _, t := range o.c.h.txns {
		if t == o.st.txn || t.ended == nil || t.ended.answered < from {
			continue
		}
		for _, st := range t.statements {
			if st.sent < to && slices.ContainsFunc(st.changes, func(c change) bool { return c.key == k }) {
				found = append(found, st)
			}
		}
	}
	return found
}

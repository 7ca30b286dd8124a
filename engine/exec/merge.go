package exec

import (
	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// mergeBody is MERGE.
type mergeBody struct {
	w         *writer
	root      node
	unmatched node
	source    []int
	clauses   []mergeClause
	output    *output
	action    int
	columns   []int // changed by any UPDATE
	fires     [3]bool
}

// mergeClause is one compiled WHEN.
type mergeClause struct {
	match   syntax.MergeMatch
	and     condFunc
	action  Action
	sets    []setClause
	columns []int
	given   []bool
	values  []evalFunc
}

func (c *compiler) merge(n *plan.Merge) body {
	b := &mergeBody{w: c.writer(n.Target), root: c.rel(n.Root), source: n.Source, output: c.output(n.Output), action: n.ActionSrc}
	if n.Unmatched != nil {
		b.unmatched = c.rel(n.Unmatched)
	}
	for i := range n.Clauses {
		p := &n.Clauses[i]
		m := mergeClause{match: p.Match}
		if p.And != nil {
			m.and = c.cond(p.And)
		}
		switch {
		case p.Insert != nil:
			m.action, m.columns = ActionInsert, p.Insert.Columns
			m.given, m.values = givenColumns(len(b.w.table.Columns), m.columns), c.exprs(p.Values)
		case p.Delete:
			m.action = ActionDelete
		default:
			m.action = ActionUpdate
			m.sets, m.columns = c.sets(p.Sets)
			b.columns = append(b.columns, m.columns...)
		}
		b.fires[m.action] = true
		if triggers(b.w.table, m.action, true) {
			c.fail(sqlerr.Unsupported("MERGE into a table with INSTEAD OF triggers"))
		}
		if n.Output != nil && n.Output.Into == nil && triggers(b.w.table, m.action, false) {
			c.fail(sqlerr.New(334, b.w.table.Name))
		}
		b.clauses = append(b.clauses, m)
	}
	return b
}

// merging is what a MERGE has collected.
type merging struct {
	p       place
	updates changeSet
	deletes changeSet
	inserts []types.Row
	outs    []types.Row
	acted   map[storage.RowID]struct{}
	matched map[storage.RowID]struct{}
	columns []int // of the inserts
}

func (b *mergeBody) run(r *run, out func(types.Row) error) (int64, error) {
	p, err := b.w.open(r)
	if err != nil {
		return 0, err
	}
	m := &merging{p: p, acted: map[storage.RowID]struct{}{}, matched: map[storage.RowID]struct{}{}}
	src := b.w.target.Src
	err = b.root.run(r, func() error {
		r.hit = true
		if r.rows[src] == nil {
			return b.act(r, m, syntax.WhenNotMatchedByTarget)
		}
		m.matched[r.ids[src]] = struct{}{}
		return b.act(r, m, syntax.WhenMatched)
	})
	if err == nil && b.unmatched != nil {
		clearSources(r, b.source)
		err = b.unmatched.run(r, func() error {
			if _, ok := m.matched[r.ids[src]]; ok {
				r.hit = true
				return nil
			}
			return b.act(r, m, syntax.WhenNotMatchedBySource)
		})
	}
	if err != nil {
		return 0, err
	}
	return b.write(r, m, out)
}

// act carries out the first clause that fits the current frame.
func (b *mergeBody) act(r *run, m *merging, match syntax.MergeMatch) error {
	for i := range b.clauses {
		c := &b.clauses[i]
		if c.match != match {
			continue
		}
		if c.and != nil {
			t, err := c.and(r)
			if err != nil {
				return err
			}
			if t != isTrue {
				continue
			}
		}
		return b.take(r, m, c)
	}
	return nil
}

func (b *mergeBody) take(r *run, m *merging, c *mergeClause) error {
	src := b.w.target.Src
	r.rows[b.action] = types.Row{types.NewNVarChar(c.action.String())}
	if c.action == ActionInsert {
		row, err := b.newRow(r, m, c)
		if err != nil {
			return err
		}
		m.inserts, m.columns = append(m.inserts, row), c.columns
		return b.output.compute(r, &m.outs)
	}
	r.hit = true
	id, old := r.ids[src], r.rows[src]
	if _, ok := m.acted[id]; ok {
		return sqlerr.New(8672)
	}
	m.acted[id] = struct{}{}
	if c.action == ActionDelete {
		m.deletes.add(id, old, nil)
		r.rows[b.w.target.New] = nil
		return b.output.compute(r, &m.outs)
	}
	row, err := b.w.apply(r, c.sets, old, false)
	if err != nil {
		return err
	}
	m.updates.add(id, old, row)
	return b.output.compute(r, &m.outs)
}

func (b *mergeBody) newRow(r *run, m *merging, c *mergeClause) (types.Row, error) {
	r.row++
	row := make(types.Row, len(b.w.table.Columns))
	for i, f := range c.values {
		col := c.columns[i]
		if f == nil {
			f = b.w.defaults[col]
		}
		if f == nil {
			continue
		}
		v, err := f(r)
		if err != nil {
			return nil, err
		}
		if row[col], err = b.w.store(r, v, col); err != nil {
			return nil, err
		}
	}
	if id := b.w.identity; id >= 0 && c.given[id] {
		if !r.rt.IdentityInsert(m.p.table) {
			return nil, sqlerr.New(544, b.w.table.Name)
		}
		if err := b.w.observeIn(m.p.table, row); err != nil {
			return nil, err
		}
	}
	if err := b.w.complete(r, m.p, row, c.given); err != nil {
		return nil, err
	}
	return row, b.w.finish(r, row, "MERGE")
}

// write stores everything; triggers fire for each action that the statement
// names.
func (b *mergeBody) write(r *run, m *merging, out func(types.Row) error) (int64, error) {
	if b.fires[ActionDelete] {
		if err := b.w.deleteAll(r, m.p, &m.deletes, "MERGE"); err != nil {
			return 0, err
		}
	}
	if b.fires[ActionUpdate] {
		if err := b.w.updateAll(r, m.p, &m.updates, b.columns, "MERGE"); err != nil {
			return 0, err
		}
	}
	if b.fires[ActionInsert] {
		_, err := b.w.insertAll(r, m.p, m.inserts, m.columns, "MERGE", func() {
			if b.w.identity >= 0 && len(m.inserts) > 0 {
				r.rt.SetIdentity(m.inserts[len(m.inserts)-1][b.w.identity], m.p.table)
			}
		})
		if err != nil {
			return 0, err
		}
	}
	rows := int64(len(m.inserts) + len(m.updates.ids) + len(m.deletes.ids))
	return rows, b.output.emit(r, m.outs, out)
}

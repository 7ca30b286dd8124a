package exec

import (
	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// setClause is one compiled assignment of UPDATE.
type setClause struct {
	column, slot int
	assign       bool // convert for the variable, which takes the column's value
	varT         types.Type
	x            evalFunc
}

func (c *compiler) sets(list []plan.Set) (out []setClause, columns []int) {
	for _, s := range list {
		out = append(out, setClause{column: s.Column, slot: s.Slot, assign: s.Column >= 0 && s.Slot >= 0, varT: s.VarT, x: c.expr(s.X)})
		if s.Column >= 0 {
			columns = append(columns, s.Column)
		}
	}
	return out, columns
}

// apply computes the row after an UPDATE of the current one.
func (w *writer) apply(r *run, sets []setClause, old types.Row, instead bool) (types.Row, error) {
	r.row++
	row := append(types.Row(nil), old...)
	for i := range sets {
		s := &sets[i]
		v, err := s.x(r)
		if err != nil {
			return nil, err
		}
		if s.column >= 0 {
			if v, err = w.store(r, v, s.column); err != nil {
				return nil, err
			}
			row[s.column] = v
		}
		if s.slot < 0 {
			continue
		}
		if s.assign {
			if v, err = types.Assign(v, s.varT); err != nil {
				return nil, err
			}
		}
		r.vars[s.slot] = v
	}
	if instead {
		r.rows[w.target.New] = row
		return row, nil
	}
	if w.version >= 0 {
		row[w.version] = r.rt.NextRowVersion()
	}
	return row, w.finish(r, row, "UPDATE")
}

// updateBody is UPDATE.
type updateBody struct {
	w       *writer
	root    node
	sets    []setClause
	columns []int
	instead bool
	output  *output
}

func (c *compiler) update(n *plan.Update) body {
	b := &updateBody{w: c.writer(n.Target), root: c.rel(n.Root), output: c.output(n.Output)}
	b.sets, b.columns = c.sets(n.Sets)
	b.instead = triggers(n.Target.Table, ActionUpdate, true)
	if n.Output != nil && n.Output.Into == nil && triggers(n.Target.Table, ActionUpdate, false) {
		c.fail(sqlerr.New(334, n.Target.Table.Name))
	}
	return b
}

func (b *updateBody) run(r *run, out func(types.Row) error) (int64, error) {
	p, err := b.w.open(r)
	if err != nil {
		return 0, err
	}
	var s changeSet
	src := b.w.target.Src
	err = limited(r, b.root, func() error {
		r.hit = true
		old, id := r.rows[src], r.ids[src]
		if old == nil || !s.first(id) {
			return nil
		}
		row, err := b.w.apply(r, b.sets, old, b.instead)
		if err != nil {
			return err
		}
		s.add(id, old, row)
		return b.output.compute(r, &s.outs)
	})
	if err != nil {
		return 0, err
	}
	handled := false
	if b.instead {
		if handled, err = r.rt.InsteadOf(p.table, ActionUpdate, s.news, s.olds, b.columns); err == nil && !handled {
			err = b.settle(r, &s)
		}
	}
	if err == nil && !handled && len(b.columns) > 0 {
		err = b.w.updateAll(r, p, &s, b.columns, "UPDATE")
	}
	if err != nil {
		return 0, err
	}
	return int64(len(s.ids)), b.output.emit(r, s.outs, out)
}

// settle checks rows that were meant for an INSTEAD OF trigger.
func (b *updateBody) settle(r *run, s *changeSet) error {
	for _, row := range s.news {
		if b.w.version >= 0 {
			row[b.w.version] = r.rt.NextRowVersion()
		}
		if err := b.w.finish(r, row, "UPDATE"); err != nil {
			return err
		}
	}
	return nil
}

// deleteBody is DELETE.
type deleteBody struct {
	w       *writer
	root    node
	instead bool
	output  *output
}

func (c *compiler) delete(n *plan.Delete) body {
	b := &deleteBody{w: c.writer(n.Target), root: c.rel(n.Root), output: c.output(n.Output)}
	b.instead = triggers(n.Target.Table, ActionDelete, true)
	if n.Output != nil && n.Output.Into == nil && triggers(n.Target.Table, ActionDelete, false) {
		c.fail(sqlerr.New(334, n.Target.Table.Name))
	}
	return b
}

func (b *deleteBody) run(r *run, out func(types.Row) error) (int64, error) {
	p, err := b.w.open(r)
	if err != nil {
		return 0, err
	}
	var s changeSet
	src := b.w.target.Src
	err = limited(r, b.root, func() error {
		r.hit = true
		old, id := r.rows[src], r.ids[src]
		if old == nil || !s.first(id) {
			return nil
		}
		s.add(id, old, nil)
		return b.output.compute(r, &s.outs)
	})
	if err != nil {
		return 0, err
	}
	handled := false
	if b.instead {
		handled, err = r.rt.InsteadOf(p.table, ActionDelete, nil, s.olds, nil)
	}
	if err == nil && !handled {
		err = b.w.deleteAll(r, p, &s, "DELETE")
	}
	if err != nil {
		return 0, err
	}
	return int64(len(s.ids)), b.output.emit(r, s.outs, out)
}

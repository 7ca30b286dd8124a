package exec

import (
	"errors"

	"loopbroker/engine/builtin/json"
	"loopbroker/engine/catalog"
	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// statement compiles the body of a statement.
func (c *compiler) statement(p *plan.Stmt) body {
	c.targets = map[int]bool{}
	switch {
	case p.Query != nil:
		return c.selectBody(p)
	case p.Insert != nil:
		return c.insert(p.Insert)
	case p.Update != nil:
		c.targets[p.Update.Target.Src] = true
		return c.update(p.Update)
	case p.Delete != nil:
		c.targets[p.Delete.Target.Src] = true
		return c.delete(p.Delete)
	case p.Merge != nil:
		c.targets[p.Merge.Target.Src] = true
		return c.merge(p.Merge)
	case p.Instead != nil:
		return c.instead(p.Instead)
	}
	return &truncateBody{table: p.Truncate}
}

// columnsOf describes the columns of a query or an OUTPUT clause.
func columnsOf(list []plan.OutColumn) []Column {
	out := make([]Column, len(list))
	for i, c := range list {
		out[i] = Column{Name: c.Name, Type: c.T, Nullable: c.Nullable, Computed: c.Computed}
		if c.Base != nil {
			out[i].Identity, out[i].UserType = c.Base.Identity, c.Base.UserType
		}
	}
	return out
}

// describe fills in the columns of the statement's result.
func (s *Statement) describe() {
	p := s.plan
	output := func(o *plan.Output) {
		if o != nil && o.Into == nil {
			s.columns = columnsOf(o.Columns)
		}
	}
	switch {
	case p.Query != nil && p.Into != nil:
		s.into = columnsOf(p.Query.Columns)
	case p.Query != nil && p.Query.For != nil:
		name := json.ResultColumn
		if p.Query.For.Clause.XML {
			name = "XML_F52E2B61-18A1-11d1-B105-00805F49916B"
		}
		s.columns = []Column{{Name: name, Type: types.NVarChar(types.Max), Nullable: true}}
	case p.Query != nil && !p.Assigns():
		s.columns = columnsOf(p.Query.Columns)
	case p.Insert != nil:
		output(p.Insert.Output)
	case p.Update != nil:
		output(p.Update.Output)
	case p.Delete != nil:
		output(p.Delete.Output)
	case p.Merge != nil:
		output(p.Merge.Output)
	}
}

// selectBody is SELECT.
type selectBody struct {
	query  *query
	assign []plan.Assignment
}

func (c *compiler) selectBody(p *plan.Stmt) body {
	return &selectBody{query: c.query(p.Query), assign: p.Assign}
}

// limited runs a relation under SET ROWCOUNT.
func limited(r *run, n node, sink func() error) error {
	limit := r.rt.RowLimit()
	if limit <= 0 {
		return n.run(r, sink)
	}
	seen, stopped := int64(0), false
	err := n.run(r, func() error {
		if err := sink(); err != nil {
			return err
		}
		if seen++; seen >= limit {
			stopped = true
			return errStop
		}
		return nil
	})
	if stopped && errors.Is(err, errStop) {
		return nil
	}
	return err
}

func (b *selectBody) run(r *run, out func(types.Row) error) (int64, error) {
	rows := int64(0)
	if len(b.assign) > 0 {
		err := limited(r, b.query.root, func() error {
			rows++
			r.row++
			for i, f := range b.query.items {
				v, err := f(r)
				if err != nil {
					return err
				}
				r.vars[b.assign[i].Slot] = v
			}
			return nil
		})
		return rows, err
	}
	if b.query.forClause != nil {
		v, err := b.query.forClause.text(r, b.query)
		if err != nil || v.IsNull() {
			return 0, err
		}
		err = chunks(v.Text(), func(row types.Row) error { rows++; return out(row) })
		return rows, err
	}
	err := limited(r, b.query.root, func() error {
		row, err := b.query.row(r)
		if err != nil {
			return err
		}
		rows++
		return out(row)
	})
	return rows, err
}

// runInto stores the rows in a table that has just been created.
func (b *selectBody) runInto(r *run, t *catalog.Table) (int64, error) {
	var all []types.Row
	if _, err := b.run(r, func(row types.Row) error { all = append(all, row); return nil }); err != nil {
		return 0, err
	}
	w := &writer{table: t, identity: -1}
	for i, c := range t.Columns {
		if c.Identity {
			w.identity = i
		}
	}
	p := place{t, r.rt.Tx()}
	for _, row := range all {
		for i := range row {
			v, err := w.store(r, row[i], i)
			if err != nil {
				return 0, err
			}
			row[i] = v
			if v.IsNull() && !t.Columns[i].Nullable {
				return 0, sqlerr.New(515, t.Columns[i].Name, t.Database+"."+qualified(t), "INSERT")
			}
		}
		if err := w.observe(row); err != nil {
			return 0, err
		}
		if _, err := w.insert(r, p, row); err != nil {
			return 0, err
		}
	}
	return int64(len(all)), nil
}

// truncateBody is TRUNCATE TABLE.
type truncateBody struct{ table *catalog.Table }

func (b *truncateBody) run(r *run, _ func(types.Row) error) (int64, error) {
	return 0, Truncate(r.rt, b.table)
}

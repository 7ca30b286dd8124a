package exec

import (
	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// insertBody is INSERT.
type insertBody struct {
	w        *writer
	columns  []int
	given    []bool // columns with a value
	values   [][]evalFunc
	source   *query
	top      node // source under TOP, nil without
	exec     bool
	explicit bool // the identity column is given
	instead  bool
	output   *output
}

func (c *compiler) insert(n *plan.Insert) body {
	b := &insertBody{w: c.writer(n.Target), columns: n.Columns, exec: n.Exec, explicit: n.Identity}
	b.given = givenColumns(len(n.Target.Table.Columns), n.Columns)
	for _, row := range n.Values {
		b.values = append(b.values, c.exprs(row))
	}
	if n.Source != nil {
		b.source = c.query(n.Source)
		if n.Top != nil {
			b.top = &limitNode{x: b.source.root, top: c.expr(n.Top.N), percent: n.Top.Percent}
			if n.Top.Percent {
				c.fail(sqlerr.Unsupported("TOP PERCENT in INSERT"))
			}
		}
	}
	b.instead = triggers(n.Target.Table, ActionInsert, true)
	b.output = c.output(n.Output)
	if n.Output != nil && n.Output.Into == nil && triggers(n.Target.Table, ActionInsert, false) {
		c.fail(sqlerr.New(334, n.Target.Table.Name))
	}
	return b
}

func givenColumns(n int, columns []int) []bool {
	out := make([]bool, n)
	for _, c := range columns {
		out[c] = true
	}
	return out
}

// writes collects what an INSERT is about to store.
type writes struct {
	p    place
	rows []types.Row
	outs []types.Row
	few  [1]types.Row // where rows begins: most statements insert one
}

func (b *insertBody) run(r *run, out func(types.Row) error) (int64, error) {
	if b.exec {
		return 0, sqlerr.Unsupported("INSERT … EXEC here")
	}
	s, err := b.begin(r)
	if err != nil {
		return 0, err
	}
	switch {
	case b.source != nil:
		err = b.fromQuery(r, s)
	case len(b.values) == 0:
		err = b.build(r, s, nil)
	default:
		err = b.fromValues(r, s)
	}
	if err != nil {
		return 0, err
	}
	return b.write(r, s, out)
}

// runInput inserts rows that the caller collected.
func (b *insertBody) runInput(r *run, input []types.Row, out func(types.Row) error) (int64, error) {
	s, err := b.begin(r)
	if err != nil {
		return 0, err
	}
	for _, row := range input {
		if len(row) != len(b.columns) {
			return 0, sqlerr.New(213)
		}
		if err := b.build(r, s, row); err != nil {
			return 0, err
		}
	}
	return b.write(r, s, out)
}

func (b *insertBody) begin(r *run) (*writes, error) {
	p, err := b.w.open(r)
	if err != nil {
		return nil, err
	}
	if b.w.identity >= 0 {
		on := r.rt.IdentityInsert(p.table)
		if b.explicit && !on {
			return nil, sqlerr.New(544, b.w.table.Name)
		}
		if !b.explicit && on {
			return nil, sqlerr.New(545, b.w.table.Name)
		}
	}
	s := &writes{p: p}
	s.rows = s.few[:0]
	return s, nil
}

func (b *insertBody) fromValues(r *run, s *writes) error {
	for _, fs := range b.values {
		r.row++
		row := make(types.Row, len(b.w.table.Columns))
		for i, f := range fs {
			col := b.columns[i]
			if f == nil {
				if f = b.w.defaults[col]; f == nil && b.w.version == col {
					f = func(r *run) (types.Value, error) { return r.rt.NextRowVersion(), nil }
				}
			}
			if f == nil {
				continue
			}
			v, err := f(r)
			if err != nil {
				return err
			}
			if row[col], err = b.w.store(r, v, col); err != nil {
				return err
			}
		}
		if err := b.add(r, s, row); err != nil {
			return err
		}
	}
	return nil
}

func (b *insertBody) fromQuery(r *run, s *writes) error {
	if b.source.forClause != nil {
		return b.source.rows(r, func(row types.Row) error { return b.build(r, s, row) })
	}
	root := b.source.root
	if b.top != nil {
		root = b.top
	}
	return limited(r, root, func() error {
		row, err := b.source.row(r)
		if err != nil {
			return err
		}
		return b.build(r, s, row)
	})
}

// build makes a table row of the values for the named columns.
func (b *insertBody) build(r *run, s *writes, values types.Row) error {
	row := make(types.Row, len(b.w.table.Columns))
	for i, v := range values {
		var err error
		if row[b.columns[i]], err = b.w.store(r, v, b.columns[i]); err != nil {
			return err
		}
	}
	return b.add(r, s, row)
}

// add completes and checks a row.
func (b *insertBody) add(r *run, s *writes, row types.Row) error {
	given := b.given
	if len(b.values) == 0 && b.source == nil && !b.exec {
		given = make([]bool, len(given)) // DEFAULT VALUES
	}
	if b.instead && b.w.identity >= 0 && !given[b.w.identity] {
		given = append([]bool(nil), given...)
		given[b.w.identity] = true
		row[b.w.identity], _ = types.Convert(types.NewInt(0), b.w.table.Columns[b.w.identity].Type, 0)
	}
	if err := b.w.complete(r, s.p, row, given); err != nil {
		return err
	}
	if !b.instead {
		if err := b.w.finish(r, row, "INSERT"); err != nil {
			return err
		}
		if b.explicit {
			if err := b.w.observeIn(s.p.table, row); err != nil {
				return err
			}
		}
	} else {
		r.rows[b.w.target.New] = row
	}
	s.rows = append(s.rows, row)
	return b.output.compute(r, &s.outs)
}

func (b *insertBody) write(r *run, s *writes, out func(types.Row) error) (int64, error) {
	if b.instead {
		handled, err := r.rt.InsteadOf(s.p.table, ActionInsert, s.rows, nil, b.columns)
		if err != nil {
			return 0, err
		}
		if handled {
			return int64(len(s.rows)), b.output.emit(r, s.outs, out)
		}
		if err := b.settle(r, s); err != nil {
			return 0, err
		}
	}
	stored, err := b.w.insertAll(r, s.p, s.rows, b.columns, "INSERT", func() {
		if b.w.identity >= 0 && len(s.rows) > 0 {
			r.rt.SetIdentity(s.rows[len(s.rows)-1][b.w.identity], s.p.table)
		}
	})
	if err != nil {
		return 0, err
	}
	return int64(len(stored)), b.output.emit(r, s.outs, out)
}

// settle makes real rows of those meant for an INSTEAD OF trigger, which does
// not fire for the statements inside itself.
func (b *insertBody) settle(r *run, s *writes) error {
	given := make([]bool, len(b.w.table.Columns))
	for i := range given {
		given[i] = i != b.w.version && (i != b.w.identity || b.explicit)
	}
	s.outs = nil
	for _, row := range s.rows {
		if err := b.w.complete(r, s.p, row, given); err != nil {
			return err
		}
		if err := b.w.finish(r, row, "INSERT"); err != nil {
			return err
		}
		if b.explicit {
			if err := b.w.observeIn(s.p.table, row); err != nil {
				return err
			}
		}
		if err := b.output.compute(r, &s.outs); err != nil {
			return err
		}
	}
	return nil
}

// output is a compiled OUTPUT clause; nil for none.
type output struct {
	items   []evalFunc
	into    *writer
	columns []int
	given   []bool
}

func (c *compiler) output(o *plan.Output) *output {
	if o == nil {
		return nil
	}
	out := &output{items: c.exprs(o.Items)}
	if o.Into != nil {
		out.into, out.columns = c.writer(o.Into.Target), o.Into.Columns
		out.given = givenColumns(len(o.Into.Target.Table.Columns), o.Into.Columns)
		if t := o.Into.Target.Table; len(t.Triggers) > 0 {
			c.fail(sqlerr.New(331, t.Name))
		}
		if t := o.Into.Target.Table; len(t.ForeignKeys) > 0 || len(t.ReferencedBy) > 0 {
			c.fail(sqlerr.New(332, t.Name))
		}
	}
	return out
}

// compute adds the clause's row for the current frame.
func (o *output) compute(r *run, outs *[]types.Row) error {
	if o == nil {
		return nil
	}
	row := make(types.Row, len(o.items))
	for i, f := range o.items {
		v, err := f(r)
		if err != nil {
			return err
		}
		row[i] = v
	}
	*outs = append(*outs, row)
	return nil
}

// emit sends the rows to the client, or stores them for OUTPUT … INTO.
func (o *output) emit(r *run, outs []types.Row, out func(types.Row) error) error {
	if o == nil {
		return nil
	}
	if o.into == nil {
		for _, row := range outs {
			if err := out(row); err != nil {
				return err
			}
		}
		return nil
	}
	p, err := o.into.open(r)
	if err != nil {
		return err
	}
	for _, values := range outs {
		row := make(types.Row, len(o.given))
		for i, v := range values {
			if row[o.columns[i]], err = o.into.store(r, v, o.columns[i]); err != nil {
				return err
			}
		}
		if err := o.into.complete(r, p, row, o.given); err != nil {
			return err
		}
		if err := o.into.finish(r, row, "INSERT"); err != nil {
			return err
		}
		if _, err := o.into.insert(r, p, row); err != nil {
			return err
		}
	}
	return nil
}

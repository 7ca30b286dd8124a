package exec

import (
	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// insteadBody is a modification of a view that an INSTEAD OF trigger carries
// out.
type insteadBody struct {
	plan   *plan.Instead
	action Action
	source *query
	values [][]evalFunc
	root   node
	items  []evalFunc
	sets   []setClause
	column []int // that an UPDATE names
}

func (c *compiler) instead(n *plan.Instead) body {
	b := &insteadBody{plan: n}
	switch n.Verb {
	case "UPDATE":
		b.action = ActionUpdate
	case "DELETE":
		b.action = ActionDelete
	}
	if n.Source != nil {
		b.source = c.query(n.Source)
	}
	for _, row := range n.Values {
		b.values = append(b.values, c.exprs(row))
	}
	if n.Root != nil {
		b.root, b.items = c.rel(n.Root), c.exprs(n.Items)
		b.sets, b.column = c.sets(n.Sets)
	}
	return b
}

func (b *insteadBody) run(r *run, _ func(types.Row) error) (int64, error) {
	var inserted, deleted []types.Row
	columns := b.column
	var err error
	if b.action == ActionInsert {
		inserted, err = b.inserted(r)
		columns = b.plan.Columns
	} else {
		inserted, deleted, err = b.changed(r)
	}
	if err != nil {
		return 0, err
	}
	handled, err := r.rt.InsteadOf(b.plan.View, b.action, inserted, deleted, columns)
	if err == nil && !handled {
		err = sqlerr.New(4403, b.plan.View.Name)
	}
	return int64(max(len(inserted), len(deleted))), err
}

// inserted are the rows of an INSERT in the shape of the view.
func (b *insteadBody) inserted(r *run) ([]types.Row, error) {
	var out []types.Row
	add := func(values types.Row) {
		row := make(types.Row, len(b.plan.Types))
		for i, v := range values {
			row[b.plan.Columns[i]] = v
		}
		out = append(out, row)
	}
	if b.source != nil {
		err := limited(r, b.source.root, func() error {
			row, err := b.source.row(r)
			if err != nil {
				return err
			}
			add(row)
			return nil
		})
		return out, err
	}
	for _, fs := range b.values {
		r.row++
		values := make(types.Row, len(fs))
		for i, f := range fs {
			if f == nil {
				continue
			}
			v, err := f(r)
			if err != nil {
				return nil, err
			}
			values[i] = v
		}
		add(values)
	}
	return out, nil
}

// changed are the rows before and after an UPDATE, or those of a DELETE.
func (b *insteadBody) changed(r *run) (inserted, deleted []types.Row, err error) {
	err = limited(r, b.root, func() error {
		r.row++
		old := make(types.Row, len(b.items))
		for i, f := range b.items {
			v, err := f(r)
			if err != nil {
				return err
			}
			old[i] = v
		}
		deleted = append(deleted, old)
		if b.action == ActionDelete {
			return nil
		}
		row := append(types.Row(nil), old...)
		for i := range b.sets {
			v, err := b.sets[i].x(r)
			if err != nil {
				return err
			}
			row[b.sets[i].column] = v
		}
		inserted = append(inserted, row)
		return nil
	})
	return inserted, deleted, err
}

package exec

import (
	"strings"

	"loopbroker/engine/builtin/json"
	"loopbroker/engine/catalog"
	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

func (c *compiler) tableFunc(n *plan.TableFunc) node {
	args, filter := c.exprs(n.Args), c.conds(n.Filter)
	switch n.Kind {
	case plan.FuncSplit:
		return &splitNode{src: n.Src, args: args, filter: filter, value: n.Columns[0], ordinal: len(n.Columns) > 1}
	case plan.FuncModule:
		return &moduleNode{src: n.Src, module: n.Module, args: args, filter: filter}
	}
	j := &jsonNode{src: n.Src, args: args, filter: filter}
	for _, w := range n.With {
		p, err := json.ParsePath(w.Path)
		if err != nil {
			c.fail(err)
		}
		j.columns = append(j.columns, jsonColumn{name: w.Name, t: w.T, path: p, json: w.JSON})
	}
	return j
}

// splitNode is STRING_SPLIT.
type splitNode struct {
	src     int
	args    []evalFunc
	filter  condFunc
	value   types.Type
	ordinal bool
}

func (n *splitNode) run(r *run, sink func() error) error {
	vs, err := r.arguments(n.args)
	if err != nil {
		return err
	}
	sep := vs[1]
	if sep.IsNull() || types.UTF16Len(sep.Text()) != 1 {
		return sqlerr.New(214, "separator", "nchar(1)/nvarchar(1)")
	}
	if vs[0].IsNull() {
		return nil
	}
	for i, part := range strings.Split(vs[0].Text(), sep.Text()) {
		row := types.Row{types.NewString(n.value.Kind, part)}
		if n.ordinal {
			row = append(row, types.NewBigInt(int64(i+1)))
		}
		r.rows[n.src] = row
		if err := pass(r, n.filter, sink); err != nil {
			return err
		}
	}
	return nil
}

// moduleNode is a multi-statement function.
type moduleNode struct {
	src    int
	module *catalog.Module
	args   []evalFunc
	filter condFunc
}

func (n *moduleNode) run(r *run, sink func() error) error {
	vs, err := r.arguments(n.args)
	if err != nil {
		return err
	}
	rows, err := r.rt.CallTableFunction(n.module, vs)
	if err != nil {
		return err
	}
	return passRows(r, n.src, rows, n.filter, sink)
}

// jsonNode is OPENJSON.
type jsonNode struct {
	src     int
	args    []evalFunc
	columns []jsonColumn
	filter  condFunc
}

type jsonColumn struct {
	name string
	t    types.Type
	path *json.Path
	json bool
}

func (n *jsonNode) run(r *run, sink func() error) error {
	vs, err := r.arguments(n.args)
	if err != nil {
		return err
	}
	if vs[0].IsNull() {
		return nil
	}
	path := json.RootPath()
	if len(vs) > 1 {
		if vs[1].IsNull() {
			return nil
		}
		if path, err = json.ParsePath(vs[1].Text()); err != nil {
			return err
		}
	}
	items, err := json.Open(vs[0].Text(), path, len(n.columns) > 0)
	if err != nil {
		return err
	}
	for {
		it, ok := items.Next()
		if !ok {
			return nil
		}
		row, err := n.row(r, &it)
		if err != nil {
			return err
		}
		r.rows[n.src] = row
		if err := pass(r, n.filter, sink); err != nil {
			return err
		}
	}
}

func (n *jsonNode) row(r *run, it *json.Item) (types.Row, error) {
	if len(n.columns) == 0 {
		value := types.NewNVarChar(it.Text())
		if it.Kind == json.Null {
			value = types.Null
		}
		return types.Row{types.NewNVarChar(it.Key), value, types.NewTinyInt(int64(it.Kind))}, nil
	}
	row := make(types.Row, len(n.columns))
	for i := range n.columns {
		c := &n.columns[i]
		if c.t.Kind.IsBinary() || c.t.Kind.IsLOB() || c.t.Kind == types.KindVariant {
			v, err := it.ColumnValue(c.path, c.json, c.t) // base64, and types that are refused
			if err != nil {
				return nil, err
			}
			row[i] = v
			continue
		}
		text, ok, err := it.Column(c.path, c.json)
		if err != nil || !ok {
			if err != nil {
				return nil, err
			}
			continue
		}
		if row[i], err = convertValue(r, plan.ModeConvert, types.NewNVarChar(text), c.t, 0); err != nil {
			return nil, err
		}
	}
	return row, nil
}

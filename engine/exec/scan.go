package exec

import (
	"bytes"
	"slices"

	"loopbroker/engine/catalog"
	"loopbroker/engine/plan"
	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// scanNode reads a table.
type scanNode struct {
	src    int
	kind   plan.ScanKind
	slot   int
	table  *catalog.Table
	hints  plan.Hints
	filter condFunc
	path   seekPath
	target bool
}

// seekPath is a compiled access path.
type seekPath struct {
	index  int
	keys   []seekKey
	lo, hi *seekBound
	desc   bool
	single bool // every key has one value
	point  bool // and there is no range: one seek
	byKey  bool // a point of the whole clustered key
}

type seekKey struct {
	values []evalFunc
	query  *query
	null   bool
	t      types.Type
	desc   bool
}

type seekBound struct {
	x         evalFunc
	inclusive bool
	t         types.Type
	desc      bool
}

func (c *compiler) scan(n *plan.Scan) node {
	s := &scanNode{src: n.Src, kind: n.Kind, slot: n.Slot, table: n.Table, hints: n.Hints, filter: c.conds(n.Filter), target: n.Target}
	s.path = seekPath{index: n.Path.Index, desc: n.Path.Desc, single: true}
	for _, k := range n.Path.Keys {
		key := seekKey{values: c.exprs(k.Values), null: k.Null, t: k.T, desc: k.Desc}
		if k.Query != nil {
			key.query = c.query(k.Query)
		}
		s.path.single = s.path.single && k.Query == nil && (k.Null || len(k.Values) == 1)
		s.path.keys = append(s.path.keys, key)
	}
	s.path.point = s.path.single && n.Path.Lo == nil && n.Path.Hi == nil
	s.path.byKey = s.path.point && n.Path.Single && n.Path.Index == 0 && n.Table.HasClustered
	s.path.lo, s.path.hi = c.bound(n.Path.Lo), c.bound(n.Path.Hi)
	return s
}

func (c *compiler) bound(b *plan.PathBound) *seekBound {
	if b == nil {
		return nil
	}
	return &seekBound{x: c.expr(b.X), inclusive: b.Inclusive, t: b.T, desc: b.Desc}
}

func (n *scanNode) run(r *run, sink func() error) error {
	t, tx := n.table, (*storage.Tx)(nil)
	switch n.kind {
	case plan.ScanPseudo:
		return passRows(r, n.src, r.rt.PseudoRows(n.slot), n.filter, sink)
	case plan.ScanTableVariable:
		t, tx = r.rt.TableVariable(n.slot)
	default:
		tx = r.tx()
	}
	var a storage.Access
	if n.kind == plan.ScanTable {
		var err error
		if a, err = r.access(t, &n.hints, n.target, n.path.byKey); err != nil {
			return err
		}
		a.Reference = n.src
	} else {
		a = storage.Access{Mode: storage.None, Timeout: storage.Forever}
	}
	if n.path.point {
		key, ok, err := n.path.pointKey(r)
		if err != nil || !ok {
			return err
		}
		rg := storage.Prefix(key)
		rg.Desc = n.path.desc
		return n.read(r, tx, t, rg, a, sink)
	}
	if n.path.single {
		rg, ok, err := n.path.oneRange(r)
		if err != nil || !ok {
			return err
		}
		return n.read(r, tx, t, rg, a, sink)
	}
	ranges, err := n.path.ranges(r)
	if err != nil {
		return err
	}
	for _, rg := range ranges {
		if err := n.read(r, tx, t, rg, a, sink); err != nil {
			return err
		}
	}
	return nil
}

// read scans one range.
func (n *scanNode) read(r *run, tx *storage.Tx, t *catalog.Table, rg storage.Range, a storage.Access, sink func() error) error {
	cur := tx.Scan(r.ctx, t.Store, n.path.index, rg, a)
	defer cur.Close()
	for cur.Next() {
		if err := r.tick(); err != nil {
			return err
		}
		r.rows[n.src] = cur.Row()
		if n.filter != nil {
			ok, err := n.filter(r)
			if err != nil {
				return err
			}
			if ok != isTrue {
				cur.Release()
				continue
			}
		}
		if !n.target {
			if err := sink(); err != nil {
				return err
			}
			continue
		}
		r.ids[n.src], r.hit = cur.ID(), false
		err := sink()
		if !r.hit {
			cur.Release()
		}
		if err != nil {
			return err
		}
	}
	return cur.Err()
}

// pointKey is the key of a path with one value for each column; ok is false
// when no row can match. The key is good until the next one is made.
func (p *seekPath) pointKey(r *run) (key []byte, ok bool, err error) {
	key = r.keyBuf[:0]
	r.keyBuf = nil // a query in a value makes keys too
	key, ok, err = p.appendPrefix(r, key)
	r.keyBuf = key
	return key, ok, err
}

// appendPrefix appends the key of columns with one value each.
func (p *seekPath) appendPrefix(r *run, key []byte) (_ []byte, ok bool, err error) {
	for i := range p.keys {
		k := &p.keys[i]
		v := types.Null
		if !k.null {
			if v, err = k.values[0](r); err != nil || v.IsNull() {
				return key, false, err
			}
			if v, ok = seekValue(v, k.t); !ok {
				return key, false, nil
			}
		}
		key = types.AppendKey(key, v, k.t, k.desc)
	}
	return key, true, nil
}

// oneRange is the range of a path whose columns have one value each, with a
// bound on the column after them; ok is false when no row can match. Its keys
// are good until the next one is made.
func (p *seekPath) oneRange(r *run) (rg storage.Range, ok bool, err error) {
	buf := r.keyBuf[:0]
	r.keyBuf = nil // a query in a value makes keys too
	if buf, ok, err = p.appendPrefix(r, buf); err != nil || !ok {
		return rg, false, err
	}
	lo, hi, ok, err := p.bounds(r)
	if err != nil || !ok {
		return rg, false, err
	}
	prefix := len(buf)
	buf = append(append(buf, buf[:prefix]...), lo.key...)
	low := len(buf)
	buf = append(append(buf, buf[:prefix]...), hi.key...)
	r.keyBuf = buf
	return storage.Range{
		Lo:   storage.Bound{Key: buf[prefix:low], Inclusive: lo.inclusive || lo.open},
		Hi:   storage.Bound{Key: buf[low:], Inclusive: hi.inclusive || hi.open},
		Desc: p.desc,
	}, true, nil
}

// seekValue brings a value to the type of a key column; ok is false when the
// column cannot hold it.
func seekValue(v types.Value, t types.Type) (types.Value, bool) {
	from := v.Kind()
	switch {
	case from.IsInteger() && t.Kind.IsInteger():
		return v, true
	case from == t.Kind && (from != types.KindDecimal || v.Scale() <= t.Scale):
		return v, true
	}
	out, err := types.Convert(v, t, 0)
	if err != nil {
		return v, false
	}
	back, err := types.Convert(out, types.TypeOf(v), 0)
	if err != nil || types.Compare(back, v, t.Collation) != 0 {
		return v, false
	}
	return out, true
}

// ranges are the ranges of a path in the order of its index.
func (p *seekPath) ranges(r *run) ([]storage.Range, error) {
	prefixes := [][]byte{nil}
	for i := range p.keys {
		keys, err := p.keys[i].alternatives(r)
		if err != nil {
			return nil, err
		}
		var next [][]byte
		for _, pre := range prefixes {
			for _, k := range keys {
				next = append(next, append(pre[:len(pre):len(pre)], k...))
			}
		}
		prefixes = next
	}
	if p.desc {
		slices.Reverse(prefixes)
	}
	lo, hi, ok, err := p.bounds(r)
	if err != nil || !ok {
		return nil, err
	}
	out := make([]storage.Range, 0, len(prefixes))
	for _, pre := range prefixes {
		out = append(out, storage.Range{Lo: lo.after(pre), Hi: hi.after(pre), Desc: p.desc})
	}
	return out, nil
}

// alternatives are the encoded values of one key column, in index order and
// without duplicates.
func (k *seekKey) alternatives(r *run) ([][]byte, error) {
	if k.null {
		return [][]byte{types.AppendKey(nil, types.Null, k.t, k.desc)}, nil
	}
	var values []types.Value
	if k.query != nil {
		s, err := k.query.set(r, keyType(k.query.types[0], k.t.Collation))
		if err != nil {
			return nil, err
		}
		values = s.values
	}
	for _, f := range k.values {
		v, err := f(r)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	var out [][]byte
	for _, v := range values {
		if v.IsNull() {
			continue
		}
		if v, ok := seekValue(v, k.t); ok {
			out = append(out, types.AppendKey(nil, v, k.t, k.desc))
		}
	}
	slices.SortFunc(out, bytes.Compare)
	return slices.CompactFunc(out, bytes.Equal), nil
}

// edge is one end of a range, relative to the key columns before it.
type edge struct {
	key       []byte
	inclusive bool
	open      bool // no bound
}

func (e edge) after(prefix []byte) storage.Bound {
	if e.open {
		return storage.Bound{Key: prefix, Inclusive: true}
	}
	return storage.Bound{Key: append(prefix[:len(prefix):len(prefix)], e.key...), Inclusive: e.inclusive}
}

// bounds computes the two edges; ok is false when nothing can be between them.
// A bound that the column cannot represent is left open: the condition is
// checked on each row as well.
func (p *seekPath) bounds(r *run) (lo, hi edge, ok bool, err error) {
	lo, hi = edge{open: true}, edge{open: true}
	if p.lo == nil && p.hi == nil {
		return lo, hi, true, nil
	}
	some := p.lo
	if some == nil {
		some = p.hi
	}
	// NULL is before all values and in no range.
	null := edge{key: types.AppendKey(nil, types.Null, some.t, some.desc)}
	low, high := null, edge{open: true}
	if p.lo != nil {
		var known bool
		if known, err = p.lo.edge(r, &low); err != nil || !known {
			return lo, hi, false, err
		}
	}
	if p.hi != nil {
		var known bool
		if known, err = p.hi.edge(r, &high); err != nil || !known {
			return lo, hi, false, err
		}
	}
	if some.desc {
		low, high = high, low
	}
	return low, high, true, nil
}

// edge sets e to the bound's value; known is false for NULL, which is equal to
// nothing.
func (b *seekBound) edge(r *run, e *edge) (known bool, err error) {
	v, err := b.x(r)
	if err != nil || v.IsNull() {
		return false, err
	}
	if v, ok := seekValue(v, b.t); ok {
		*e = edge{key: types.AppendKey(nil, v, b.t, b.desc), inclusive: b.inclusive}
	}
	return true, nil
}

// systemNode reads a system view.
type systemNode struct {
	src    int
	view   *catalog.SystemView
	filter condFunc
}

func (n *systemNode) run(r *run, sink func() error) error {
	rows, err := n.view.Rows(r.rt.Viewer())
	if err != nil {
		return err
	}
	return passRows(r, n.src, rows, n.filter, sink)
}

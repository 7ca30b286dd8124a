package exec

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// writer stores rows of one table by its rules.
type writer struct {
	target     plan.Target
	table      *catalog.Table
	defaults   []evalFunc
	computed   []evalFunc
	checks     []check
	keys       []*reference // of the table
	references []*reference // to the table
	identity   int          // position of the identity column, -1 for none
	version    int          // of the rowversion column, -1 for none
	hasComp    bool
}

// check is a compiled CHECK constraint.
type check struct {
	c    *catalog.Check
	cond condFunc
}

func (c *compiler) writer(t plan.Target) *writer {
	w := c.rules(t.Table, t.Rules, map[*plan.Rules]*writer{})
	out := *w
	out.target = t
	return &out
}

// rules compiles the rules of a table; done breaks the circles of foreign keys.
func (c *compiler) rules(t *catalog.Table, rules *plan.Rules, done map[*plan.Rules]*writer) *writer {
	if w, ok := done[rules]; ok {
		return w
	}
	w := &writer{table: t, identity: -1, version: -1, target: plan.Target{Table: t, New: rules.Src, Src: rules.Src}}
	done[rules] = w
	w.defaults, w.computed = c.exprs(rules.Defaults), c.exprs(rules.Computed)
	for i, col := range t.Columns {
		if col.Identity {
			w.identity = i
		}
		if col.RowVersion {
			w.version = i
		}
		w.hasComp = w.hasComp || col.Computed
	}
	for _, k := range rules.Checks {
		w.checks = append(w.checks, check{k.Check, c.cond(k.X)})
	}
	for i := range rules.Keys {
		w.keys = append(w.keys, c.reference(&rules.Keys[i], done))
	}
	for i := range rules.References {
		w.references = append(w.references, c.reference(&rules.References[i], done))
	}
	return w
}

// place is where a writer stores rows in a run.
type place struct {
	table *catalog.Table
	tx    *storage.Tx
}

// private remembers how to undo the changes of a failed statement to a table
// variable, which the session's savepoint does not cover.
type private struct {
	tx   *storage.Tx
	mark storage.Mark
}

func (w *writer) open(r *run) (place, error) {
	if w.target.Kind == plan.ScanTableVariable {
		t, tx := r.rt.TableVariable(w.target.Slot)
		r.privates = append(r.privates, private{tx, tx.Savepoint()})
		return place{t, tx}, nil
	}
	p := place{w.table, r.tx()}
	if h := &w.target.Hints; h.TabLock || h.TabLockX {
		return p, p.tx.Lock(r.ctx, p.table.Store.Resource(), storage.X, r.timeout)
	}
	return p, nil
}

// qualified is the name of a table as errors show it.
func qualified(t *catalog.Table) string {
	if t.Schema == "" {
		return t.Name
	}
	return t.Schema + "." + t.Name
}

// store converts a value to the type of a column.
func (w *writer) store(r *run, v types.Value, col int) (types.Value, error) {
	t := &w.table.Columns[col].Type
	if v.IsNull() {
		return v, nil
	}
	if k := v.Kind(); k == t.Kind && k < types.KindDecimal {
		return v, nil
	}
	var o types.ConvertOptions
	if t.Kind.IsDateTime() && v.Kind().IsChar() {
		o.DateFormat, _ = types.ParseDateFormat(r.rt.Options().DateFormat)
	}
	out, err := types.StoreWith(o, v, *t)
	if err != nil {
		return out, StoreError(err, w.table, col)
	}
	return out, nil
}

// StoreError names the table and the column in an error of types.Store: 2628.
func StoreError(err error, t *catalog.Table, col int) error {
	var cut *types.ErrTruncated
	if errors.As(err, &cut) {
		return sqlerr.New(2628, t.Database+"."+qualified(t), t.Columns[col].Name, cut.Value.String())
	}
	return err
}

// complete fills in what the statement does not give a new row: identity,
// rowversion and defaults. given tells the columns that have a value.
func (w *writer) complete(r *run, p place, row types.Row, given []bool) error {
	for i, c := range w.table.Columns {
		switch {
		case given[i] || c.Computed:
		case c.Identity:
			v, err := nextIdentity(p.table, c.Type)
			if err != nil {
				return err
			}
			row[i] = v
		case c.RowVersion:
			row[i] = r.rt.NextRowVersion()
		case w.defaults[i] != nil:
			v, err := w.defaults[i](r)
			if err != nil {
				return err
			}
			if row[i], err = w.store(r, v, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// IdentityRange is the range of an identity column of type t.
func IdentityRange(t types.Type) (low, high int64) {
	switch t.Kind {
	case types.KindTinyInt:
		return 0, 255
	case types.KindSmallInt:
		return math.MinInt16, math.MaxInt16
	case types.KindInt:
		return math.MinInt32, math.MaxInt32
	case types.KindDecimal:
		if t.Precision < 19 {
			limit := int64(math.Pow10(int(t.Precision))) - 1
			return -limit, limit
		}
	}
	return math.MinInt64, math.MaxInt64
}

func nextIdentity(t *catalog.Table, typ types.Type) (types.Value, error) {
	low, high := IdentityRange(typ)
	n, ok, err := t.Identity.Next(low, high)
	if err != nil {
		return types.Null, err
	}
	if !ok {
		return types.Null, sqlerr.New(8115, "IDENTITY", typ.Kind.String())
	}
	switch typ.Kind {
	case types.KindInt:
		return types.NewInt(n), nil
	case types.KindBigInt:
		return types.NewBigInt(n), nil
	}
	return types.Convert(types.NewBigInt(n), typ, 0)
}

// observe makes the counter of the writer's table continue after an explicit
// identity value.
func (w *writer) observe(row types.Row) error { return w.observeIn(w.table, row) }

func (w *writer) observeIn(t *catalog.Table, row types.Row) error {
	if w.identity < 0 || t.Identity == nil || row[w.identity].IsNull() {
		return nil
	}
	n, err := types.Convert(row[w.identity], types.TypeBigInt, 0)
	if err != nil {
		return err
	}
	return t.Identity.Observe(n.Int())
}

// finish computes the computed columns of a row and checks it against NOT NULL
// and CHECK. The row becomes the current one of the writer's source.
func (w *writer) finish(r *run, row types.Row, verb string) error {
	r.rows[w.target.New] = row
	if w.hasComp {
		for i, f := range w.computed {
			if f == nil {
				continue
			}
			v, err := f(r)
			if err != nil {
				return err
			}
			if row[i], err = w.store(r, v, i); err != nil {
				return err
			}
		}
	}
	for i, c := range w.table.Columns {
		if !c.Nullable && row[i].IsNull() && (!c.Computed || c.Persisted) {
			return sqlerr.New(515, c.Name, w.table.Database+"."+qualified(w.table), verb)
		}
	}
	for i := range w.checks {
		t, err := w.checks[i].cond(r)
		if err != nil {
			return err
		}
		if t == isFalse {
			return w.violates(w.checks[i].c, verb)
		}
	}
	return nil
}

// violates is error 547 for a check.
func (w *writer) violates(c *catalog.Check, verb string) error {
	column := ""
	if c.Column >= 0 && c.Column < len(w.table.Columns) {
		column = fmt.Sprintf(", column '%s'", w.table.Columns[c.Column].Name)
	}
	return sqlerr.WithState(547, 0, verb, "CHECK", c.Name, w.table.Database, qualified(w.table), column)
}

// named gives a storage error its number where it needs the names of the table.
func named(err error, t *catalog.Table) error {
	var dup *storage.DuplicateError
	if !errors.As(err, &dup) {
		return err
	}
	for _, ix := range t.Indexes {
		if uint32(ix.ID) != dup.Index {
			continue
		}
		switch {
		case ix.PrimaryKey:
			return sqlerr.New(2627, "PRIMARY KEY", ix.Name, qualified(t), KeyText(dup.Key))
		case ix.UniqueConstraint:
			return sqlerr.New(2627, "UNIQUE KEY", ix.Name, qualified(t), KeyText(dup.Key))
		}
		return sqlerr.New(2601, qualified(t), ix.Name, KeyText(dup.Key))
	}
	return err
}

// KeyText is the values of a key as errors 2601 and 2627 show them.
func KeyText(key types.Row) string {
	parts := make([]string, len(key))
	for i, v := range key {
		if parts[i] = v.String(); v.IsNull() {
			parts[i] = "<NULL>"
		}
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// insert stores a new row. stored is false when the index ignores duplicates.
func (w *writer) insert(r *run, p place, row types.Row) (stored bool, err error) {
	_, err = p.tx.Insert(r.ctx, p.table.Store, row, r.timeout)
	if err == nil {
		return true, nil
	}
	if ignoresDuplicate(err, p.table) {
		r.ignored = true
		return false, nil
	}
	return false, named(err, p.table)
}

// ignoresDuplicate reports whether err is a duplicate in an index with
// IGNORE_DUP_KEY.
func ignoresDuplicate(err error, t *catalog.Table) bool {
	var dup *storage.DuplicateError
	if !errors.As(err, &dup) {
		return false
	}
	for _, ix := range t.Indexes {
		if uint32(ix.ID) == dup.Index {
			return ix.IgnoreDupKey
		}
	}
	return false
}

// triggers reports whether t has an enabled trigger for the action.
func triggers(t *catalog.Table, a Action, instead bool) bool {
	for _, m := range t.Triggers {
		if m.Disabled || m.InsteadOf != instead {
			continue
		}
		if (a == ActionInsert && m.OnInsert) || (a == ActionUpdate && m.OnUpdate) || (a == ActionDelete && m.OnDelete) {
			return true
		}
	}
	return false
}

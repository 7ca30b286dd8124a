package session

import (
	"errors"

	"loopbroker/engine/catalog"
	"loopbroker/engine/exec"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// createIndex runs CREATE INDEX.
func (x *Session) createIndex(ch *catalog.Change, s *syntax.CreateIndex) error {
	db, t, err := x.ownTable(s.Table, 1088)
	if err != nil {
		return err
	}
	changed := t.Clone()
	sh := &shaper{x: x, t: changed}
	ix, err := sh.index(&s.Index, -1)
	if err != nil {
		return err
	}
	return x.addIndex(ch, db, t, changed, ix)
}

// addIndex gives a table an index, built over its rows: error 1505.
func (x *Session) addIndex(ch *catalog.Change, db *catalog.Database, old, changed *catalog.Table, ix *catalog.Index) error {
	sh := &shaper{x: x, t: changed}
	if err := sh.addIndex(ix); err != nil {
		return err
	}
	ix.ID = 2
	for _, other := range changed.Indexes {
		if other != ix {
			ix.ID = max(ix.ID, other.ID+1)
		}
	}
	if ix.Clustered {
		ix.ID = 1
		changed.HasClustered = true
		n := len(changed.Indexes)
		copy(changed.Indexes[1:], changed.Indexes[:n-1])
		changed.Indexes[0] = ix
	}
	def, err := x.indexDef(changed, ix)
	if err != nil {
		return err
	}
	if err := x.txn.tx.CreateIndex(x.ctx, changed.Store, def); err != nil {
		var dup *storage.DuplicateError
		if errors.As(err, &dup) {
			return sqlerr.New(1505, qualified(changed), ix.Name, exec.KeyText(dup.Key))
		}
		return err
	}
	return x.put(ch, db, old, changed)
}

// qualified is the name of a table with its schema, as errors show it.
func qualified(t *catalog.Table) string { return t.Schema + "." + t.Name }

// alterIndex runs ALTER INDEX. There are no pages to rebuild.
func (x *Session) alterIndex(_ *catalog.Change, s *syntax.AlterIndex) error {
	_, t, err := x.ownTable(s.Table, 1088)
	if err != nil {
		return err
	}
	if s.Action == "DISABLE" || s.Action == "SET" {
		return sqlerr.Unsupported("ALTER INDEX " + s.Action)
	}
	if catalog.Fold(s.Name.Name) == "all" {
		return nil
	}
	for _, ix := range t.Indexes {
		if catalog.Fold(ix.Name) == catalog.Fold(s.Name.Name) {
			return nil
		}
	}
	return sqlerr.New(2727, s.Name.Name)
}

// alterTable runs ALTER TABLE.
func (x *Session) alterTable(ch *catalog.Change, s *syntax.AlterTable) error {
	db, t, err := x.ownTable(s.Table, 4902)
	if err != nil {
		return err
	}
	a := &s.Action
	switch {
	case len(a.AddColumns) > 0 || len(a.AddConstraints) > 0:
		return x.alterAdd(ch, db, t, a)
	case len(a.DropConstraints) > 0 || len(a.DropColumns) > 0:
		return x.alterDrop(ch, db, t, a)
	case a.AlterColumn != nil:
		return x.alterColumn(ch, db, t, a.AlterColumn)
	case len(a.SetOptions) > 0:
		return x.alterSet(ch, db, t, a.SetOptions)
	case a.EnableTrigger || a.DisableTrigger:
		return x.setTriggers(ch, db, t, a.Triggers, a.TriggersAll, a.EnableTrigger)
	case len(a.CheckConstraints) > 0 || a.CheckAll:
		return x.checkConstraints(ch, db, t, a)
	}
	return sqlerr.Unsupported("this form of ALTER TABLE")
}

func (x *Session) alterSet(ch *catalog.Change, db *catalog.Database, t *catalog.Table, options []syntax.IndexOption) error {
	changed := t.Clone()
	for _, o := range options {
		if o.Name != "LOCK_ESCALATION" {
			return sqlerr.Unsupported("ALTER TABLE SET " + o.Name)
		}
		switch o.Value {
		case "TABLE", "AUTO", "DISABLE":
			changed.LockEscalation = o.Value
		default:
			return sqlerr.New(102, o.Value)
		}
	}
	return x.put(ch, db, t, changed)
}

// alterAdd adds columns and constraints.
func (x *Session) alterAdd(ch *catalog.Change, db *catalog.Database, t *catalog.Table, a *syntax.AlterTableAction) error {
	changed := t.Clone()
	sh := &shaper{x: x, t: changed, newID: x.constraintIDs(db)}
	first := len(changed.Columns)
	for i := range a.AddColumns {
		if err := sh.column(&a.AddColumns[i], x.nextColumnID(changed)); err != nil {
			return err
		}
	}
	var indexes []*catalog.Index
	add := func(c *syntax.Constraint, column int) error {
		before := len(changed.Indexes)
		if err := sh.constraint(c, column); err != nil {
			return x.noConstraint(err)
		}
		if len(changed.Indexes) > before { // built below, over the rows
			indexes = append(indexes, changed.Indexes[before])
			changed.Indexes = changed.Indexes[:before]
		}
		return nil
	}
	for i := range a.AddColumns {
		for j := range a.AddColumns[i].Constraints {
			if err := add(&a.AddColumns[i].Constraints[j], first+i); err != nil {
				return err
			}
		}
	}
	for i := range a.AddConstraints {
		if err := add(&a.AddConstraints[i], -1); err != nil {
			return err
		}
	}
	if err := x.uniqueNew(db, t, changed); err != nil {
		return err
	}
	if len(a.AddColumns) > 0 {
		if err := x.fillColumns(changed, first); err != nil {
			return err
		}
	}
	if err := x.put(ch, db, t, changed); err != nil {
		return err
	}
	for _, ix := range indexes {
		next := changed.Clone()
		if err := x.addIndex(ch, db, changed, next, ix); err != nil {
			return x.noConstraint(err)
		}
		changed = next
	}
	if db != nil {
		if err := x.linkForeignKeys(ch, db, changed); err != nil {
			return err
		}
	}
	return x.validate(t, changed)
}

// uniqueNew checks the names of constraints that an ALTER TABLE adds.
func (x *Session) uniqueNew(db *catalog.Database, old, changed *catalog.Table) error {
	fresh := &catalog.Table{Header: changed.Header}
	fresh.Checks = changed.Checks[len(old.Checks):]
	fresh.ForeignKeys = changed.ForeignKeys[len(old.ForeignKeys):]
	return x.uniqueConstraintNames(db, fresh)
}

func (x *Session) constraintIDs(db *catalog.Database) func() int32 {
	if db == nil {
		return x.srv.cat.NextTempID
	}
	return db.NewObjectID
}

func (x *Session) nextColumnID(t *catalog.Table) int {
	id := int32(0)
	for _, c := range t.Columns {
		id = max(id, c.ID)
	}
	return int(id) + 1
}

// fillColumns gives the rows of a table their values in new columns: the
// default where a column does not allow NULL, error 4901.
func (x *Session) fillColumns(t *catalog.Table, first int) error {
	defaults, err := exec.CompileDefaults(&binder{x: x}, t)
	if err != nil {
		return err
	}
	computed, err := x.computedColumns(t, first)
	if err != nil {
		return err
	}
	rt := &runtime{x: x, f: x.frame}
	return x.txn.tx.Rewrite(x.ctx, t.Store, len(t.Columns), func(r types.Row) (types.Row, error) {
		row := make(types.Row, len(t.Columns))
		copy(row, r[:first])
		for i := first; i < len(t.Columns); i++ {
			v, err := x.initialValue(rt, t, i, defaults)
			if err != nil {
				return nil, err
			}
			row[i] = v
		}
		for i, e := range computed { // they read the others
			v, err := e.Eval(rt, row)
			if err != nil {
				return nil, err
			}
			if row[i], err = types.Store(v, t.Columns[i].Type); err != nil {
				return nil, exec.StoreError(err, t, i)
			}
		}
		return row, nil
	})
}

// computedColumns compiles the computed columns of a table from position first
// on, by their positions.
func (x *Session) computedColumns(t *catalog.Table, first int) (map[int]*exec.RowExpr, error) {
	out := map[int]*exec.RowExpr{}
	for i := first; i < len(t.Columns); i++ {
		c := t.Columns[i]
		if !c.Computed {
			continue
		}
		tree, err := syntax.ParseExpr(c.ComputedText, syntax.Options{QuotedIdentifier: true})
		if err != nil {
			return nil, err
		}
		if out[i], err = exec.CompileRowExpr(&binder{x: x}, t, tree); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// initialValue is the value that existing rows get in a new column.
func (x *Session) initialValue(rt *runtime, t *catalog.Table, i int, defaults exec.Defaults) (types.Value, error) {
	c := t.Columns[i]
	switch {
	case c.Computed:
		return types.Null, nil
	case c.RowVersion:
		return rt.NextRowVersion(), nil
	case c.Identity:
		low, high := exec.IdentityRange(c.Type)
		n, _, err := t.Identity.Next(low, high)
		if err != nil {
			return types.Null, err
		}
		return types.Convert(types.NewBigInt(n), c.Type, 0)
	case !c.Nullable && c.Default == "":
		return types.Null, sqlerr.New(4901, c.Name, t.Name)
	case !c.Nullable:
		v, err := defaults.Value(rt, i)
		if err != nil {
			return types.Null, err
		}
		return types.Store(v, c.Type)
	}
	return types.Null, nil
}

// validate checks the rows of a table against new checks and foreign keys,
// except those that were added WITH NOCHECK: error 547.
func (x *Session) validate(old, changed *catalog.Table) error {
	var checks []*catalog.Check
	for _, c := range changed.Checks[len(old.Checks):] {
		if !c.NotTrusted {
			checks = append(checks, c)
		}
	}
	var keys []*catalog.ForeignKey
	for _, k := range changed.ForeignKeys[len(old.ForeignKeys):] {
		if !k.NotTrusted {
			keys = append(keys, k)
		}
	}
	if len(checks) == 0 && len(keys) == 0 {
		return nil
	}
	return exec.Validate(&binder{x: x}, &runtime{x: x, f: x.frame}, changed, checks, keys, "ALTER TABLE")
}

// alterDrop drops columns and constraints.
func (x *Session) alterDrop(ch *catalog.Change, db *catalog.Database, t *catalog.Table, a *syntax.AlterTableAction) error {
	changed := t.Clone()
	for _, n := range a.DropConstraints {
		found, err := x.dropConstraint(changed, n.Name)
		if err != nil {
			return err
		}
		if !found && !a.IfExists {
			return x.after(sqlerr.New(3728, n.Name), sqlerr.New(3727))
		}
	}
	var gone []int
	for _, n := range a.DropColumns {
		at := changed.Column(n.Name)
		if at < 0 {
			if a.IfExists {
				continue
			}
			return sqlerr.New(4924, "ALTER TABLE DROP COLUMN", n.Name, t.Name)
		}
		if err := columnFree(changed, at); err != nil {
			return x.after(err, sqlerr.New(4922, "ALTER TABLE DROP COLUMN", n.Name))
		}
		gone = append(gone, at)
	}
	if len(gone) > 0 {
		if err := x.removeColumns(changed, gone); err != nil {
			return err
		}
	}
	if err := x.unlinkForeignKeys(ch, db, t, changed); err != nil {
		return err
	}
	return x.put(ch, db, t, changed)
}

// after sends the first of two errors that SQL Server gives for one fault, and
// returns the second, which is the one that a CATCH sees.
func (x *Session) after(first error, second *sqlerr.Error) error {
	var e *sqlerr.Error
	if !errors.As(first, &e) {
		return first
	}
	if f := x.frame; f != nil && !f.inTry() {
		e = e.At(f.line)
		if f.module != nil {
			e = inModule(e, f)
		}
		x.send(e)
	}
	return second
}

// noConstraint adds error 1750 to one about a constraint or its index.
func (x *Session) noConstraint(err error) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Number {
	case 1505, 1767, 1769, 1770, 1774, 1776, 1779, 8110, 8111, 1911, 1919:
		return x.after(e, sqlerr.New(1750))
	}
	return err
}

// dropConstraint removes a constraint from a definition.
func (x *Session) dropConstraint(t *catalog.Table, name string) (bool, error) {
	key := catalog.Fold(name)
	for i, c := range t.Checks {
		if catalog.Fold(c.Name) == key {
			t.Checks = append(t.Checks[:i:i], t.Checks[i+1:]...)
			return true, nil
		}
	}
	for i, f := range t.ForeignKeys {
		if catalog.Fold(f.Name) == key {
			t.ForeignKeys = append(t.ForeignKeys[:i:i], t.ForeignKeys[i+1:]...)
			return true, nil
		}
	}
	for i, c := range t.Columns {
		if catalog.Fold(c.DefaultName) == key && c.DefaultName != "" {
			n := *c
			n.Default, n.DefaultName, n.DefaultID = "", "", 0
			t.Columns[i] = &n
			return true, nil
		}
	}
	for i, ix := range t.Indexes {
		if (ix.PrimaryKey || ix.UniqueConstraint) && catalog.Fold(ix.Name) == key {
			return true, x.removeIndex(t, i)
		}
	}
	return false, nil
}

// removeIndex removes an index from a definition and its storage.
func (x *Session) removeIndex(t *catalog.Table, i int) error {
	ix := t.Indexes[i]
	if err := x.txn.ensure(x).DropIndex(t.Store, uint32(ix.ID)); err != nil {
		return err
	}
	t.Indexes = append(t.Indexes[:i:i], t.Indexes[i+1:]...)
	t.HasClustered = t.HasClustered && !ix.Clustered
	return nil
}

// columnFree refuses to drop a column that something needs, error 5074.
func columnFree(t *catalog.Table, at int) error {
	name := t.Columns[at].Name
	needed := func(kind, by string) error { return sqlerr.New(5074, kind, by, "column", name) }
	for _, ix := range t.Indexes {
		for _, k := range ix.Keys {
			if k.Column == at {
				return needed("index", ix.Name)
			}
		}
	}
	for _, f := range t.ForeignKeys {
		for _, c := range f.Columns {
			if c == at {
				return needed("object", f.Name)
			}
		}
	}
	for _, c := range t.Checks {
		if c.Column == at {
			return needed("object", c.Name)
		}
	}
	if t.Columns[at].DefaultName != "" {
		return needed("object", t.Columns[at].DefaultName)
	}
	return nil
}

// removeColumns takes columns out of a definition and out of its rows.
func (x *Session) removeColumns(t *catalog.Table, gone []int) error {
	drop := map[int]bool{}
	for _, at := range gone {
		drop[at] = true
	}
	position := make([]int, len(t.Columns))
	kept := make([]*catalog.Column, 0, len(t.Columns))
	for i, c := range t.Columns {
		position[i] = len(kept)
		if !drop[i] {
			kept = append(kept, c)
		} else if c.Identity {
			t.Identity = nil
		}
	}
	for i, ix := range t.Indexes {
		n := *ix
		n.Keys = append([]catalog.IndexKey(nil), ix.Keys...)
		for j := range n.Keys {
			n.Keys[j].Column = position[n.Keys[j].Column]
		}
		n.Include = nil
		for _, c := range ix.Include {
			if !drop[c] {
				n.Include = append(n.Include, position[c])
			}
		}
		t.Indexes[i] = &n
	}
	for i, f := range t.ForeignKeys {
		n := *f
		n.Columns = make([]int, len(f.Columns))
		for j, c := range f.Columns {
			n.Columns[j] = position[c]
		}
		t.ForeignKeys[i] = &n
	}
	for i, c := range t.Checks {
		if c.Column >= 0 {
			n := *c
			n.Column = position[c.Column]
			t.Checks[i] = &n
		}
	}
	t.Columns = kept
	return x.rewriteTable(t, func(r types.Row) (types.Row, error) {
		row := make(types.Row, 0, len(kept))
		for i, v := range r {
			if !drop[i] {
				row = append(row, v)
			}
		}
		return row, nil
	})
}

// rewriteTable rewrites the rows of a table whose columns have changed place or
// type: its storage is made anew, because the keys of its indexes change too.
func (x *Session) rewriteTable(t *catalog.Table, f func(types.Row) (types.Row, error)) error {
	def, err := x.tableDef(t)
	if err != nil {
		return err
	}
	return x.txn.tx.RewriteAs(x.ctx, t.Store, def.Columns, def.Indexes, f)
}

// alterColumn changes the type, nullability or collation of a column.
func (x *Session) alterColumn(ch *catalog.Change, db *catalog.Database, t *catalog.Table, d *syntax.ColumnDef) error {
	at := t.Column(d.Name.Name)
	if at < 0 {
		return sqlerr.New(4924, "ALTER TABLE ALTER COLUMN", d.Name.Name, t.Name)
	}
	old := t.Columns[at]
	if old.Computed || old.RowVersion {
		return sqlerr.New(4928, old.Name, "COMPUTED")
	}
	changed := t.Clone()
	c := *old
	typ, err := (&shaper{x: x, t: changed}).columnType(d, at+1)
	if err != nil {
		return err
	}
	c.Type, c.Nullable = typ, true
	if d.Null != nil {
		c.Nullable = *d.Null
	}
	if old.Identity {
		c.Nullable = false
	}
	changed.Columns[at] = &c
	err = x.rewriteTable(changed, func(r types.Row) (types.Row, error) {
		v, err := types.Store(r[at], typ)
		if err != nil {
			return nil, exec.StoreError(err, changed, at)
		}
		if v.IsNull() && !c.Nullable {
			return nil, sqlerr.New(515, c.Name, db.Name+"."+qualified(t), "UPDATE")
		}
		row := append(types.Row(nil), r...)
		row[at] = v
		return row, nil
	})
	if err != nil {
		return err
	}
	return x.put(ch, db, t, changed)
}

// checkConstraints runs ALTER TABLE … [NO]CHECK CONSTRAINT.
func (x *Session) checkConstraints(ch *catalog.Change, db *catalog.Database, t *catalog.Table, a *syntax.AlterTableAction) error {
	changed := t.Clone()
	want := map[string]bool{}
	for _, n := range a.CheckConstraints {
		want[catalog.Fold(n.Name)] = false
	}
	selected := func(name string) bool {
		key := catalog.Fold(name)
		if _, ok := want[key]; ok {
			want[key] = true
			return true
		}
		return a.CheckAll
	}
	for i, c := range changed.Checks {
		if selected(c.Name) {
			n := *c
			n.Disabled, n.NotTrusted = a.NoCheck, true
			changed.Checks[i] = &n
		}
	}
	for i, f := range changed.ForeignKeys {
		if selected(f.Name) {
			n := *f
			n.Disabled, n.NotTrusted = a.NoCheck, true
			changed.ForeignKeys[i] = &n
		}
	}
	for name, found := range want {
		if !found {
			return sqlerr.New(4917, name)
		}
	}
	return x.put(ch, db, t, changed)
}

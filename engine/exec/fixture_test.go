package exec_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loopbroker/engine/builtin"
	"loopbroker/engine/catalog"
	"loopbroker/engine/exec"
	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// database is a small catalog over a real store.
type database struct {
	store     *storage.Store
	objects   map[string]catalog.Object
	sequences map[string]*catalog.Sequence
	nextID    int32
	version   atomic.Uint64
}

// conn is one session: its binder and its runtime at once.
type conn struct {
	t          testing.TB
	db         *database
	owner      *storage.Owner
	tx         *storage.Tx
	private    *storage.Tx
	level      storage.Isolation
	rcsi       bool
	timeout    time.Duration
	names      []string
	types      []types.Type
	vars       []types.Value
	tables     map[string]int
	tableVars  []*catalog.Table
	identity   types.Value
	identityOn bool
	rowLimit   int64
	pseudo     [2][]types.Row
	pseudoOf   *catalog.Table
	warnings   []int32
	fired      []string
	columns    []exec.Column
	calls      int

	ansiNullsOff, inTrigger bool

	viewTriggers              []*catalog.Module
	insertedRows, deletedRows []types.Row
}

func newDatabase(t testing.TB) *database {
	t.Helper()
	s, err := storage.Open(t.Context(), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.WithoutCancel(t.Context())) })
	return &database{store: s, objects: map[string]catalog.Object{}, sequences: map[string]*catalog.Sequence{}, nextID: 100}
}

func (db *database) connect(t testing.TB) *conn {
	t.Helper()
	c := &conn{t: t, db: db, owner: db.store.NewOwner(1), timeout: 5 * time.Second, tables: map[string]int{}}
	c.tx = db.store.Begin(c.owner)
	c.private = db.store.Begin(nil)
	t.Cleanup(func() { c.tx.Rollback(); c.private.Rollback(); c.owner.Close() })
	return c
}

// newConn is a session on a database of its own, after the given script.
func newConn(t testing.TB, script string) *conn {
	t.Helper()
	c := newDatabase(t).connect(t)
	c.script(script)
	return c
}

// script runs statements and fails the test on any error.
func (c *conn) script(text string) {
	c.t.Helper()
	if err := c.exec(text, nil); err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
}

// query runs statements and returns the rows as text, values joined by |.
func (c *conn) query(text string) ([]string, error) {
	c.t.Helper()
	var out []string
	err := c.exec(text, func(r types.Row) error { out = append(out, rowText(r)); return nil })
	return out, err
}

func rowText(r types.Row) string {
	parts := make([]string, len(r))
	for i, v := range r {
		if parts[i] = v.String(); v.IsNull() {
			parts[i] = "NULL"
		}
	}
	return strings.Join(parts, "|")
}

// exec runs batches separated by GO.
func (c *conn) exec(text string, out func(types.Row) error) error {
	for _, part := range strings.Split(text, "\nGO\n") {
		if err := c.batch(part, out); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) batch(text string, out func(types.Row) error) error {
	batch, err := syntax.Parse(text, syntax.Options{QuotedIdentifier: true})
	if err != nil {
		return err
	}
	if out == nil {
		out = func(types.Row) error { return nil }
	}
	for _, s := range batch.Statements {
		if err := c.statement(s, out); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) statement(s syntax.Statement, out func(types.Row) error) error {
	switch n := s.(type) {
	case *syntax.CreateTable:
		_, err := c.createTable(n.Name.Object.Name, &n.Body, false)
		return err
	case *syntax.CreateIndex:
		return c.createIndex(n)
	case *syntax.CreateView:
		return c.createModule(&catalog.Module{Header: c.head(n.Name.Object.Name), ModuleKind: catalog.KindView, Text: n.Text, QuotedIdentifier: true})
	case *syntax.CreateFunction:
		return c.createFunction(n)
	case *syntax.CreateSequence:
		q := &catalog.Sequence{Header: c.head(n.Name.Object.Name), Type: types.TypeBigInt, Start: 1, Increment: 1, Min: 1, Max: 1 << 40, Counter: catalog.NewCounter(1, 1)}
		c.db.sequences[strings.ToLower(q.Name)] = q
		return nil
	case *syntax.Declare:
		return c.declare(n)
	case *syntax.SetVariable:
		e, err := exec.CompileExpr(c, n.X)
		if err != nil {
			return err
		}
		slot, typ, err := c.Variable(n.Name)
		if err != nil {
			return err
		}
		v, err := e.Eval(rt{c})
		if err == nil {
			c.vars[slot], err = types.Assign(v, typ)
		}
		return err
	case *syntax.SetOption:
		c.identityOn = n.On
		return nil
	}
	st, err := exec.CompileStatement(c, s)
	if err != nil {
		return err
	}
	mark := c.tx.Savepoint()
	if into := st.Into(); into != nil {
		t := &catalog.Table{Header: c.head(into.Object.Name)}
		for i, col := range st.IntoColumns() {
			t.Columns = append(t.Columns, &catalog.Column{ID: int32(i + 1), Name: col.Name, Type: col.Type, Nullable: col.Nullable})
		}
		if err := c.store(t, false); err != nil {
			return err
		}
		_, err = st.RunInto(rt{c}, t)
	} else {
		c.columns = st.Columns()
		_, err = st.Run(rt{c}, out)
	}
	if err != nil {
		c.tx.RollbackTo(mark)
	}
	return err
}

func (c *conn) head(name string) catalog.Header {
	c.db.nextID++
	return catalog.Header{ID: c.db.nextID, Database: "db", DatabaseID: 5, Schema: "dbo", Name: name}
}

func (c *conn) createModule(m *catalog.Module) error {
	c.db.objects[strings.ToLower(m.Name)] = m
	return nil
}

func (c *conn) createFunction(n *syntax.CreateFunction) error {
	m := &catalog.Module{Header: c.head(n.Name.Object.Name), ModuleKind: catalog.KindScalarFunction, Text: n.Text, QuotedIdentifier: true, Returns: types.TypeInt}
	if n.Inline {
		m.ModuleKind = catalog.KindInlineFunction
	}
	for _, p := range n.Params {
		t, err := c.DataType(p.Type)
		if err != nil {
			return err
		}
		m.Parameters = append(m.Parameters, catalog.Parameter{Name: p.Name, Type: t, HasDefault: p.Default != nil})
	}
	return c.createModule(m)
}

func (c *conn) declare(n *syntax.Declare) error {
	for _, v := range n.Variables {
		if v.Table != nil {
			t, err := c.createTable(v.Name, v.Table, true)
			if err != nil {
				return err
			}
			c.tables[strings.ToLower(v.Name)] = len(c.tableVars)
			c.tableVars = append(c.tableVars, t)
			continue
		}
		typ, err := c.DataType(v.Type)
		if err != nil {
			return err
		}
		c.names, c.types, c.vars = append(c.names, strings.ToLower(v.Name)), append(c.types, typ), append(c.vars, types.Null)
		if v.Init != nil {
			if err := c.statement(&syntax.SetVariable{Name: v.Name, X: v.Init}, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// createTable makes a table of its definition, as much of it as tests need.
func (c *conn) createTable(name string, body *syntax.TableBody, private bool) (*catalog.Table, error) {
	t := &catalog.Table{Header: c.head(name), Temporary: private}
	if private {
		t.Schema = ""
	}
	var keys []syntax.Constraint
	for i := range body.Columns {
		d := &body.Columns[i]
		col := &catalog.Column{ID: int32(i + 1), Name: d.Name.Name, Nullable: d.Null == nil || *d.Null}
		if d.Computed != nil {
			col.Computed, col.Persisted, col.ComputedText = true, d.Persisted, d.ComputedText
			typ, err := exec.ComputedType(c, t, d.Computed)
			if err != nil {
				return nil, err
			}
			col.Type = typ
		} else {
			typ, err := c.DataType(d.Type)
			if err != nil {
				return nil, err
			}
			col.Type = typ
			col.RowVersion = typ.Kind == types.KindRowVersion
		}
		if d.Identity != nil {
			col.Identity, col.Nullable = true, false
			t.Identity = catalog.NewCounter(1, 1)
		}
		t.Columns = append(t.Columns, col)
		for _, k := range d.Constraints {
			if k.Kind == syntax.DefaultConstraint {
				col.Default = k.Text
				continue
			}
			if len(k.Columns) == 0 {
				k.Columns = []syntax.IndexColumn{{Name: d.Name}}
			}
			keys = append(keys, k)
		}
	}
	keys = append(keys, body.Constraints...)
	return t, c.constraints(t, keys, private)
}

func (c *conn) constraints(t *catalog.Table, keys []syntax.Constraint, private bool) error {
	var rest []*catalog.Index
	for i, k := range keys {
		name := k.Name.Name
		if name == "" {
			name = fmt.Sprintf("c%d_%s", i, t.Name)
		}
		switch k.Kind {
		case syntax.CheckConstraint:
			col := -1
			if len(k.Columns) == 1 {
				col = position(t, k.Columns[0].Name.Name)
			}
			t.Checks = append(t.Checks, &catalog.Check{Name: name, Text: k.Text, Column: col})
		case syntax.ForeignKey:
			parent := c.db.objects[strings.ToLower(k.RefTable.Object.Name)].(*catalog.Table)
			fk := &catalog.ForeignKey{Name: name, RefTable: parent.ID, OnDelete: k.OnDelete, OnUpdate: k.OnUpdate}
			for j := range k.Columns {
				fk.Columns = append(fk.Columns, position(t, k.Columns[j].Name.Name))
				fk.RefColumns = append(fk.RefColumns, position(parent, k.RefColumns[j].Name))
			}
			t.ForeignKeys = append(t.ForeignKeys, fk)
			parent.ReferencedBy = append(parent.ReferencedBy, t.ID)
		default:
			ix := &catalog.Index{Name: name, Unique: true, PrimaryKey: k.Kind == syntax.PrimaryKey, UniqueConstraint: k.Kind == syntax.UniqueKey}
			for _, col := range k.Columns {
				at := position(t, col.Name.Name)
				ix.Keys = append(ix.Keys, catalog.IndexKey{Column: at, Desc: col.Desc})
				if ix.PrimaryKey {
					t.Columns[at].Nullable = false
				}
			}
			if ix.PrimaryKey && (k.Clustered == nil || *k.Clustered) {
				ix.ID, ix.Clustered, t.HasClustered = 1, true, true
				t.Indexes = append([]*catalog.Index{ix}, t.Indexes...)
				continue
			}
			rest = append(rest, ix)
		}
	}
	for i, ix := range rest {
		ix.ID = int32(i + 2)
		t.Indexes = append(t.Indexes, ix)
	}
	return c.store(t, private)
}

func (c *conn) tableOf(name string) (*catalog.Table, *storage.Table, bool) {
	t, ok := c.db.objects[name].(*catalog.Table)
	if !ok {
		return nil, nil, false
	}
	return t, t.Store, true
}

func position(t *catalog.Table, name string) int {
	for i, c := range t.Columns {
		if strings.EqualFold(c.Name, name) {
			return i
		}
	}
	return -1
}

func storageIndex(t *catalog.Table, ix *catalog.Index) storage.IndexDef {
	d := storage.IndexDef{ID: uint32(ix.ID), Unique: ix.Unique, Clustered: ix.Clustered}
	for _, k := range ix.Keys {
		d.Key = append(d.Key, storage.KeyColumn{Ordinal: k.Column, Type: t.Columns[k.Column].Type, Desc: k.Desc})
	}
	return d
}

func (c *conn) store(t *catalog.Table, private bool) error {
	def := storage.TableDef{ID: storage.ObjectID(t.ID), Space: 5, Columns: len(t.Columns), Private: private, Temporary: private}
	for _, ix := range t.Indexes {
		def.Indexes = append(def.Indexes, storageIndex(t, ix))
	}
	tx := c.db.store.Begin(nil)
	var err error
	if t.Store, err = tx.CreateTable(def); err != nil {
		return err
	}
	if !private {
		c.db.objects[strings.ToLower(t.Name)] = t
	}
	return tx.Commit(c.t.Context())
}

func (c *conn) createIndex(n *syntax.CreateIndex) error {
	t := c.db.objects[strings.ToLower(n.Table.Object.Name)].(*catalog.Table)
	ix := &catalog.Index{ID: int32(len(t.Indexes) + 2), Name: n.Index.Name.Name, Unique: n.Index.Unique, Filter: n.Index.WhereText}
	for _, k := range n.Index.Columns {
		ix.Keys = append(ix.Keys, catalog.IndexKey{Column: position(t, k.Name.Name), Desc: k.Desc})
	}
	for _, o := range n.Index.Options {
		ix.IgnoreDupKey = ix.IgnoreDupKey || o.Name == "IGNORE_DUP_KEY"
	}
	def := storageIndex(t, ix)
	if ix.Filter != "" {
		f, err := exec.CompileRowExpr(c, t, n.Index.Where)
		if err != nil {
			return err
		}
		def.Filter = f.Test
	}
	if err := c.tx.CreateIndex(c.t.Context(), t.Store, def); err != nil {
		return err
	}
	t.Indexes = append(t.Indexes, ix)
	return nil
}

// commit ends the transaction and begins the next one.
func (c *conn) commit() {
	c.t.Helper()
	if err := c.tx.Commit(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.tx = c.db.store.Begin(c.owner)
}

func (c *conn) rollback() {
	c.tx.Rollback()
	c.tx = c.db.store.Begin(c.owner)
}

// number is the message number of an error, 0 for none.
func number(err error) int32 {
	if e, ok := errors.AsType[*sqlerr.Error](err); ok {
		return e.Number
	}
	if err != nil {
		return -1
	}
	return 0
}

// ---------------------------------------------------------------- plan.Binder

func (c *conn) Relation(n syntax.Name) (catalog.Object, error) {
	if o, ok := c.db.objects[strings.ToLower(n.Object.Name)]; ok {
		return o, nil
	}
	return nil, sqlerr.New(208, n.Object.Name)
}

func (c *conn) TableByID(_ uint32, id int32) (*catalog.Table, error) {
	for _, o := range c.db.objects {
		if t, ok := o.(*catalog.Table); ok && t.ID == id {
			return t, nil
		}
	}
	return nil, sqlerr.New(208, strconv.Itoa(int(id)))
}

func (c *conn) Variable(name string) (int, types.Type, error) {
	for i, n := range c.names {
		if n == strings.ToLower(name) {
			return i, c.types[i], nil
		}
	}
	return 0, types.Type{}, sqlerr.New(137, name)
}

func (c *conn) TableVariable(name string) (int, *catalog.Table, error) {
	if slot, ok := c.tables[strings.ToLower(name)]; ok {
		return slot, c.tableVars[slot], nil
	}
	return 0, nil, sqlerr.New(1087, name)
}

func (c *conn) DataType(dt syntax.DataType) (types.Type, error) {
	return types.TypeFromName(dt.Name.Object.Name, dt.Args, dt.Max, 1)
}

func (c *conn) Function(n syntax.Name) (*catalog.Module, error) {
	if m, ok := c.db.objects[strings.ToLower(n.Object.Name)].(*catalog.Module); ok && n.Schema.Name != "" {
		return m, nil
	}
	return nil, sqlerr.New(195, n.Object.Name)
}

func (c *conn) Sequence(n syntax.Name) (*catalog.Sequence, error) {
	if s, ok := c.db.sequences[strings.ToLower(n.Object.Name)]; ok {
		return s, nil
	}
	return nil, sqlerr.New(208, n.Object.Name)
}

func (c *conn) PseudoTable(name string) (int, *catalog.Table, bool) {
	if c.pseudoOf == nil {
		return 0, nil, false
	}
	switch strings.ToLower(name) {
	case "inserted":
		return 0, c.pseudoOf, true
	case "deleted":
		return 1, c.pseudoOf, true
	}
	return 0, nil, false
}

func (c *conn) ViewTriggers(*catalog.Module) []*catalog.Module { return c.viewTriggers }

func (c *conn) Module(*catalog.Module) plan.Binder { return moduleBinder{c} }

// moduleBinder is the binder of a view: it sees no variables.
type moduleBinder struct{ *conn }

func (moduleBinder) Variable(name string) (int, types.Type, error) {
	return 0, types.Type{}, sqlerr.New(137, name)
}

func (c *conn) Options() builtin.Options {
	return builtin.Options{DateFirst: 7, DateFormat: "mdy", Language: "us_english", ConcatNullYieldsNull: true, AnsiNulls: !c.ansiNullsOff, AnsiPadding: true, AnsiWarnings: true, ArithAbort: true}
}

// --------------------------------------------------------------- exec.Runtime

// rt is the runtime of c; TableVariable means another method there.
type rt struct{ *conn }

func (r rt) TableVariable(slot int) (*catalog.Table, *storage.Tx) {
	return r.tableVars[slot], r.private
}

func (r rt) Context() context.Context     { return r.t.Context() }
func (r rt) Tx() *storage.Tx              { return r.tx }
func (r rt) Isolation() storage.Isolation { return r.level }
func (r rt) LockTimeout() time.Duration   { return r.timeout }
func (r rt) Variables() []types.Value     { return r.vars }

func (r rt) ReadView(*catalog.Table) (*storage.View, error) {
	switch {
	case r.level == storage.Snapshot:
		return r.tx.SnapshotView(), nil
	case r.rcsi:
		return r.db.store.StatementView(), nil
	}
	return nil, nil
}

func (r rt) PseudoRows(slot int) []types.Row { return r.pseudo[slot] }

// CallFunction doubles its argument: the session's part is not tested here.
func (r rt) CallFunction(_ *catalog.Module, args []types.Value) (types.Value, error) {
	r.calls++
	return types.NewInt(2 * args[0].Int()), nil
}

func (r rt) CallTableFunction(*catalog.Module, []types.Value) ([]types.Row, error) { return nil, nil }

func (r rt) Viewer() catalog.Viewer { return nil }

func (r rt) NextValue(s *catalog.Sequence) (types.Value, error) {
	n, _, err := s.Counter.Next(s.Min, s.Max)
	return types.NewBigInt(n), err
}

func (r rt) SetIdentity(v types.Value, _ *catalog.Table) { r.identity = v }
func (r rt) IdentityInsert(*catalog.Table) bool          { return r.identityOn }
func (r rt) RowLimit() int64                             { return r.rowLimit }

func (r rt) AfterTriggers(t *catalog.Table, a exec.Action, inserted, deleted []types.Row, updated []int) error {
	r.fired = append(r.fired, fmt.Sprintf("after %s %s %d %d %v", a, t.Name, len(inserted), len(deleted), updated))
	return nil
}

func (r rt) InsteadOf(o catalog.Object, a exec.Action, inserted, deleted []types.Row, _ []int) (bool, error) {
	r.fired = append(r.fired, fmt.Sprintf("instead of %s %s %d %d", a, o.Head().Name, len(inserted), len(deleted)))
	r.insertedRows, r.deletedRows = inserted, deleted
	return !r.inTrigger, nil
}

func (r rt) NextRowVersion() types.Value {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], r.db.version.Add(1))
	return types.NewBinary(types.KindRowVersion, string(b[:]))
}

func (r rt) Warn(number int32, _ string) { r.warnings = append(r.warnings, number) }
func (r rt) Now() time.Time              { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func (r rt) Property(name string, _ []types.Value) (types.Value, error) {
	switch name {
	case "@@SPID":
		return types.NewSmallInt(51), nil
	case "SCOPE_IDENTITY":
		return r.identity, nil
	}
	return types.Null, nil
}

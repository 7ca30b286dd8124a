package session

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/exec"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// shaper builds the definition of a table from its CREATE TABLE.
type shaper struct {
	x *Session
	t *catalog.Table
	p *program // for expressions of table variables; may be nil
	// newID makes ids for constraints.
	newID func() int32
	// nullable are the columns that were written with NULL.
	nullable map[int]bool
}

// tableShape builds the shape of a table variable or table type.
func (x *Session) tableShape(name string, body *syntax.TableBody, p *program) (*catalog.Table, error) {
	t := &catalog.Table{TypeOnly: true, UsesAnsiNulls: x.opts.ansiNulls}
	t.Name, t.DatabaseID = name, catalog.TempDBID
	s := &shaper{x: x, t: t, p: p, newID: x.srv.cat.NextTempID}
	return t, s.body(body)
}

// body adds columns, constraints and indexes.
func (s *shaper) body(b *syntax.TableBody) error {
	s.nullable = map[int]bool{}
	for i := range b.Columns {
		if err := s.column(&b.Columns[i], i+1); err != nil {
			return err
		}
		if null := b.Columns[i].Null; null != nil && *null {
			s.nullable[i] = true
		}
	}
	for i := range b.Columns {
		c := &b.Columns[i]
		for j := range c.Constraints {
			if err := s.constraint(&c.Constraints[j], i); err != nil {
				return s.x.noConstraint(err)
			}
		}
	}
	for i := range b.Constraints {
		if err := s.constraint(&b.Constraints[i], -1); err != nil {
			return s.x.noConstraint(err)
		}
	}
	for i := range b.Columns {
		for j := range b.Columns[i].Indexes {
			if err := s.inlineIndex(&b.Columns[i].Indexes[j], i); err != nil {
				return err
			}
		}
	}
	for i := range b.Indexes {
		if err := s.inlineIndex(&b.Indexes[i], -1); err != nil {
			return err
		}
	}
	s.orderIndexes()
	return nil
}

// orderIndexes puts the clustered index first, where the storage wants it, and
// numbers the indexes: 1 for the clustered one, 2 and up for the others.
func (s *shaper) orderIndexes() {
	list := make([]*catalog.Index, 0, len(s.t.Indexes))
	for _, ix := range s.t.Indexes {
		if ix.Clustered {
			ix.ID = 1
			list = append(list, ix)
		}
	}
	s.t.HasClustered = len(list) > 0
	next := int32(2)
	for _, ix := range s.t.Indexes {
		if !ix.Clustered {
			ix.ID = next
			next++
			list = append(list, ix)
		}
	}
	s.t.Indexes = list
}

// column adds one column.
func (s *shaper) column(d *syntax.ColumnDef, id int) error {
	if s.t.Column(d.Name.Name) >= 0 {
		return sqlerr.New(2705, d.Name.Name, s.t.Name)
	}
	if d.Sparse {
		return sqlerr.Unsupported("SPARSE column")
	}
	c := &catalog.Column{ID: int32(id), Name: d.Name.Name, Nullable: true, RowGUID: d.RowGUIDCol}
	s.t.Columns = append(s.t.Columns, c)
	if d.Computed != nil {
		return s.computed(c, d)
	}
	t, err := s.columnType(d, id)
	if err != nil {
		return err
	}
	c.Type = t
	if u, ok := s.x.userType(d.Type.Name); ok && u.Table == nil {
		c.UserType, c.Nullable = u.Name, u.Nullable
	} else if strings.EqualFold(d.Type.Name.Object.Name, "sysname") {
		c.UserType, c.Nullable = "sysname", false
	}
	switch {
	case d.Null != nil:
		c.Nullable = *d.Null
	case s.x.opts.ansiNullDfltOff && !s.x.opts.ansiNullDfltOn:
		c.Nullable = false
	}
	if t.Kind == types.KindRowVersion {
		c.RowVersion = true
		if d.Null == nil {
			c.Nullable = false
		}
	}
	if d.Identity != nil {
		return s.identity(c, d)
	}
	return nil
}

// columnType resolves the type of a column with its collation.
func (s *shaper) columnType(d *syntax.ColumnDef, id int) (types.Type, error) {
	t, err := s.x.dataType(d.Type)
	if err != nil {
		return t, err
	}
	if t.Kind == types.KindCursor {
		return t, sqlerr.New(2715, id, "cursor")
	}
	if d.Collation.Name == "" {
		return t, nil
	}
	if t.Collation == nil {
		return t, sqlerr.New(447, t.Kind.String())
	}
	c, err := s.x.collation(d.Collation.Name)
	t.Collation = c
	return t, err
}

// collation finds a collation by name, error 448.
func (x *Session) collation(name string) (*types.Collation, error) {
	if strings.EqualFold(name, "database_default") {
		return x.db.Collation, nil
	}
	c, ok := types.LookupCollation(name)
	if !ok {
		return nil, sqlerr.New(448, name)
	}
	return c, nil
}

// computed completes a computed column.
func (s *shaper) computed(c *catalog.Column, d *syntax.ColumnDef) error {
	c.Computed, c.Persisted, c.ComputedText = true, d.Persisted, d.ComputedText
	t, err := exec.ComputedType(&binder{x: s.x, p: s.p}, s.t, d.Computed)
	c.Type = t
	return err
}

// identity completes an identity column.
func (s *shaper) identity(c *catalog.Column, d *syntax.ColumnDef) error {
	if s.t.Identity != nil {
		return sqlerr.New(2744, s.t.Name)
	}
	if d.Null != nil && *d.Null || !exactWhole(c.Type) {
		return sqlerr.New(2749, c.Name)
	}
	seed, err := s.constant(d.Identity.Seed, 1)
	if err != nil {
		return err
	}
	step, err := s.constant(d.Identity.Increment, 1)
	if err != nil {
		return err
	}
	c.Identity, c.Nullable = true, false
	s.t.Identity = catalog.NewCounter(seed, step)
	return nil
}

func exactWhole(t types.Type) bool {
	return isInteger(t.Kind) || t.Kind == types.KindDecimal && t.Scale == 0
}

// constant evaluates a number in DDL.
func (s *shaper) constant(e syntax.Expr, absent int64) (int64, error) {
	return s.x.constantNumber(e, absent)
}

func (x *Session) constantNumber(e syntax.Expr, absent int64) (int64, error) {
	if e == nil {
		return absent, nil
	}
	f := x.newFrame(emptyProgram, nil, x.frame)
	v, err := newLazyExpr(e).eval(x, f)
	if err != nil {
		return 0, err
	}
	v, err = types.Convert(v, types.TypeBigInt, 0)
	return v.Int(), err
}

// systemName makes the name of a constraint that was not given one, in the
// form of SQL Server's: PK__table__0123456789ABCDEF.
func systemName(prefix, table, column string) string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	table = strings.TrimLeft(table, "#@")
	name := prefix + "__" + cut(table, 9) + "__"
	if column != "" {
		name += cut(column, 5) + "__"
		return name + strings.ToUpper(hex.EncodeToString(b[:4]))
	}
	return name + strings.ToUpper(hex.EncodeToString(b[:]))
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}

// constraint adds a constraint; column is the position of the column it was
// written with, -1 for a table constraint.
func (s *shaper) constraint(d *syntax.Constraint, column int) error {
	switch d.Kind {
	case syntax.PrimaryKey, syntax.UniqueKey:
		return s.key(d, column)
	case syntax.CheckConstraint:
		return s.check(d, column)
	case syntax.DefaultConstraint:
		return s.fallback(d, column)
	case syntax.ForeignKey:
		return s.foreignKey(d, column)
	}
	return sqlerr.Unsupported("constraint")
}

func (s *shaper) key(d *syntax.Constraint, column int) error {
	primary := d.Kind == syntax.PrimaryKey
	ix := &catalog.Index{
		Name: d.Name.Name, Unique: true, PrimaryKey: primary, UniqueConstraint: !primary,
		ConstraintID: s.newID(), SystemNamed: d.Name.Name == "", AllowRowLocks: true, AllowPageLocks: true,
	}
	prefix := "UQ"
	if primary {
		prefix = "PK"
		if s.hasPrimaryKey() {
			if s.t.Store == nil {
				return sqlerr.New(8110, s.t.Name)
			}
			return sqlerr.New(1779, s.t.Name)
		}
	}
	if ix.Name == "" {
		ix.Name = systemName(prefix, s.t.Name, "")
	}
	ix.Clustered = primary && s.clusteredIndex() == nil
	if d.Clustered != nil {
		ix.Clustered = *d.Clustered
	}
	cols := d.Columns
	if column >= 0 && len(cols) == 0 {
		cols = []syntax.IndexColumn{{Name: syntax.Ident{Name: s.t.Columns[column].Name}}}
	}
	if err := s.keyColumns(ix, cols); err != nil {
		return err
	}
	if primary {
		for _, k := range ix.Keys {
			c := *s.t.Columns[k.Column]
			if c.Nullable && (s.nullable[k.Column] || s.t.Store != nil) {
				return sqlerr.New(8111, s.t.Name)
			}
			c.Nullable = false
			s.t.Columns[k.Column] = &c
		}
	}
	if err := indexOptions(ix, d.Options); err != nil {
		return err
	}
	return s.addIndex(ix)
}

func (s *shaper) hasPrimaryKey() bool {
	for _, ix := range s.t.Indexes {
		if ix.PrimaryKey {
			return true
		}
	}
	return false
}

func (s *shaper) clusteredIndex() *catalog.Index {
	for _, ix := range s.t.Indexes {
		if ix.Clustered {
			return ix
		}
	}
	return nil
}

// keyColumns resolves the key columns of an index, error 1911 and 1919.
func (s *shaper) keyColumns(ix *catalog.Index, cols []syntax.IndexColumn) error {
	for _, c := range cols {
		at := s.t.Column(c.Name.Name)
		if at < 0 {
			return sqlerr.New(1911, c.Name.Name)
		}
		t := s.t.Columns[at].Type
		if t.Length == types.Max || t.Kind == types.KindXML || t.Kind == types.KindText || t.Kind == types.KindNText || t.Kind == types.KindImage {
			return sqlerr.New(1919, c.Name.Name, s.t.Name)
		}
		ix.Keys = append(ix.Keys, catalog.IndexKey{Column: at, Desc: c.Desc})
	}
	return nil
}

// indexOptions applies the WITH options of an index.
func indexOptions(ix *catalog.Index, options []syntax.IndexOption) error {
	for _, o := range options {
		on := o.Value == "ON"
		switch o.Name {
		case "IGNORE_DUP_KEY":
			ix.IgnoreDupKey = on
		case "ALLOW_ROW_LOCKS":
			ix.AllowRowLocks = on
		case "ALLOW_PAGE_LOCKS":
			ix.AllowPageLocks = on
		case "FILLFACTOR", "PAD_INDEX", "STATISTICS_NORECOMPUTE", "SORT_IN_TEMPDB", "DROP_EXISTING", "ONLINE", "MAXDOP",
			"DATA_COMPRESSION", "OPTIMIZE_FOR_SEQUENTIAL_KEY", "STATISTICS_INCREMENTAL":
			// They say how pages are filled and built; there are no pages here.
			if o.Name == "DROP_EXISTING" && on {
				return sqlerr.Unsupported("DROP_EXISTING")
			}
		default:
			return sqlerr.Unsupported("index option " + o.Name)
		}
	}
	return nil
}

// addIndex adds an index, error 1902, 1913 and 1934.
func (s *shaper) addIndex(ix *catalog.Index) error {
	for _, other := range s.t.Indexes {
		if ix.Clustered && other.Clustered {
			return sqlerr.New(1902, s.t.Name, other.Name)
		}
		if catalog.Fold(other.Name) == catalog.Fold(ix.Name) {
			return sqlerr.New(1913, ix.Name, s.t.Name)
		}
	}
	if err := s.x.checkSettings(s.t, ix); err != nil {
		return err
	}
	s.t.Indexes = append(s.t.Indexes, ix)
	return nil
}

// inlineIndex adds an index written inside CREATE TABLE.
func (s *shaper) inlineIndex(d *syntax.IndexDef, column int) error {
	ix, err := s.index(d, column)
	if err != nil {
		return err
	}
	return s.addIndex(ix)
}

// index builds an index that is not a constraint's.
func (s *shaper) index(d *syntax.IndexDef, column int) (*catalog.Index, error) {
	ix := &catalog.Index{
		Name: d.Name.Name, Unique: d.Unique, Clustered: d.Clustered, Filter: d.WhereText,
		AllowRowLocks: true, AllowPageLocks: true,
	}
	cols := d.Columns
	if column >= 0 && len(cols) == 0 {
		cols = []syntax.IndexColumn{{Name: syntax.Ident{Name: s.t.Columns[column].Name}}}
	}
	if err := s.keyColumns(ix, cols); err != nil {
		return nil, err
	}
	for _, inc := range d.Include {
		at := s.t.Column(inc.Name)
		if at < 0 {
			return nil, sqlerr.New(1911, inc.Name)
		}
		ix.Include = append(ix.Include, at)
	}
	if ix.Filter != "" {
		if ix.Clustered {
			return nil, sqlerr.New(156, "WHERE").At(d.Line)
		}
		if _, err := s.x.indexFilter(s.t, ix); err != nil {
			return nil, err
		}
	}
	return ix, indexOptions(ix, d.Options)
}

func (s *shaper) check(d *syntax.Constraint, column int) error {
	c := &catalog.Check{ID: s.newID(), Name: d.Name.Name, Text: d.Text, Column: column, SystemNamed: d.Name.Name == "", NotTrusted: d.WithNoCheck}
	if c.Name == "" {
		name := ""
		if column >= 0 {
			name = s.t.Columns[column].Name
		}
		c.Name = systemName("CK", s.t.Name, name)
	}
	s.t.Checks = append(s.t.Checks, c)
	return nil
}

func (s *shaper) fallback(d *syntax.Constraint, column int) error {
	if d.ForColumn.Name != "" {
		if column = s.t.Column(d.ForColumn.Name); column < 0 {
			return sqlerr.New(1752, d.ForColumn.Name, s.t.Name)
		}
	}
	c := *s.t.Columns[column]
	if c.Default != "" {
		return sqlerr.New(1781)
	}
	c.Default, c.DefaultName, c.DefaultID = d.Text, d.Name.Name, s.newID()
	if c.DefaultName == "" {
		c.DefaultName, c.DefaultSystem = systemName("DF", s.t.Name, c.Name), true
	}
	s.t.Columns[column] = &c
	return nil
}

// foreignKey adds a foreign key, error 1767, 1769, 1774 and 1776.
func (s *shaper) foreignKey(d *syntax.Constraint, column int) error {
	if s.t.TypeOnly || s.t.Temporary {
		s.x.inform(1756, 0, "Skipping FOREIGN KEY constraint '"+d.Name.Name+"' definition for temporary table. FOREIGN KEY constraints are not enforced on local or global temporary tables.")
		return nil
	}
	fk := &catalog.ForeignKey{
		ID: s.newID(), Name: d.Name.Name, SystemNamed: d.Name.Name == "", NotTrusted: d.WithNoCheck,
		OnDelete: action(d.OnDelete), OnUpdate: action(d.OnUpdate),
	}
	if fk.Name == "" {
		fk.Name = systemName("FK", s.t.Name, "")
	}
	ref := s.t
	if !strings.EqualFold(d.RefTable.Object.Name, s.t.Name) {
		o, _, err := s.x.lookup(d.RefTable, "")
		if err != nil {
			return err
		}
		t, ok := o.(*catalog.Table)
		if !ok {
			return sqlerr.New(1767, fk.Name, displayName(d.RefTable))
		}
		ref = t
	}
	fk.RefTable = ref.ID
	if column >= 0 && len(d.Columns) == 0 {
		fk.Columns = []int{column}
	}
	for _, c := range d.Columns {
		at := s.t.Column(c.Name.Name)
		if at < 0 {
			return sqlerr.New(1769, fk.Name, c.Name.Name, s.t.Name)
		}
		fk.Columns = append(fk.Columns, at)
	}
	if err := s.references(fk, ref, d); err != nil {
		return err
	}
	s.t.ForeignKeys = append(s.t.ForeignKeys, fk)
	return nil
}

func action(written string) string {
	if written == "" {
		return "NO ACTION"
	}
	return written
}

// references finds the referenced key of a foreign key.
func (s *shaper) references(fk *catalog.ForeignKey, ref *catalog.Table, d *syntax.Constraint) error {
	for _, c := range d.RefColumns {
		at := ref.Column(c.Name)
		if at < 0 {
			return sqlerr.New(1770, fk.Name, c.Name, ref.Name)
		}
		fk.RefColumns = append(fk.RefColumns, at)
	}
	for _, ix := range ref.Indexes {
		if !ix.Unique || ix.Filter != "" {
			continue
		}
		if len(fk.RefColumns) == 0 && ix.PrimaryKey {
			for _, k := range ix.Keys {
				fk.RefColumns = append(fk.RefColumns, k.Column)
			}
		}
		if sameColumns(ix.Keys, fk.RefColumns) {
			if len(fk.Columns) != len(fk.RefColumns) {
				return sqlerr.New(1774, fk.Name, ref.Name)
			}
			return nil
		}
	}
	return sqlerr.New(1776, ref.Name, fk.Name)
}

func sameColumns(keys []catalog.IndexKey, cols []int) bool {
	if len(keys) != len(cols) {
		return false
	}
	for _, k := range keys {
		found := false
		for _, c := range cols {
			found = found || c == k.Column
		}
		if !found {
			return false
		}
	}
	return true
}

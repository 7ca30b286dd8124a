package session

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/exec"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// wholeRange is the range of an integer type.
func wholeRange(t types.Type) (low, high int64) {
	switch t.Kind {
	case types.KindTinyInt:
		return 0, math.MaxUint8
	case types.KindSmallInt:
		return math.MinInt16, math.MaxInt16
	case types.KindInt:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

func (x *Session) createSequence(ch *catalog.Change, s *syntax.CreateSequence) error {
	db, h, err := x.newHeader(s.Name, "CREATE SEQUENCE")
	if err != nil {
		return err
	}
	q := &catalog.Sequence{Header: h, Type: types.TypeBigInt, CacheSize: 50}
	if s.Type != nil {
		if q.Type, err = x.dataType(*s.Type); err != nil {
			return err
		}
		if !exactWhole(q.Type) {
			return sqlerr.New(11702, s.Name.Object.Name)
		}
	}
	if q.Increment, err = x.constantNumber(s.Options.IncrementBy, 1); err != nil {
		return err
	}
	if q.Increment == 0 {
		return sqlerr.New(11700, s.Name.Object.Name)
	}
	low, high := wholeRange(q.Type)
	if q.Min, err = x.constantNumber(s.Options.MinValue, low); err != nil {
		return err
	}
	if q.Max, err = x.constantNumber(s.Options.MaxValue, high); err != nil {
		return err
	}
	first := q.Min
	if q.Increment < 0 {
		first = q.Max
	}
	if q.Start, err = x.constantNumber(s.Options.StartWith, first); err != nil {
		return err
	}
	if q.Start < q.Min || q.Start > q.Max {
		return sqlerr.New(11703, s.Name.Object.Name)
	}
	q.Cycle = s.Options.Cycle != nil && *s.Options.Cycle
	q.Counter = catalog.NewCounter(q.Start, q.Increment)
	return ch.PutObject(db, q)
}

func (x *Session) alterSequence(ch *catalog.Change, s *syntax.AlterSequence) error {
	o, db, err := x.lookup(s.Name, "")
	if err != nil {
		return err
	}
	q, ok := o.(*catalog.Sequence)
	if !ok {
		return sqlerr.New(208, displayName(s.Name))
	}
	if err := x.mayAlter(db, q); err != nil {
		return err
	}
	if err := x.lockObject(db.ID, q.ID); err != nil {
		return err
	}
	n := *q
	if n.Increment, err = x.constantNumber(s.Options.IncrementBy, q.Increment); err != nil {
		return err
	}
	if n.Min, err = x.constantNumber(s.Options.MinValue, q.Min); err != nil {
		return err
	}
	if n.Max, err = x.constantNumber(s.Options.MaxValue, q.Max); err != nil {
		return err
	}
	if s.Options.Cycle != nil {
		n.Cycle = *s.Options.Cycle
	}
	next, used := q.Counter.Last()
	next += n.Increment
	if !used {
		next = q.Start
	}
	if s.Options.Restart || s.Options.RestartWith != nil {
		if next, err = x.constantNumber(s.Options.RestartWith, q.Start); err != nil {
			return err
		}
		n.Start = next
	}
	n.Counter = catalog.NewCounter(next, n.Increment)
	n.Counter.Replaces(x.txn.tx, q.Counter)
	n.Modified = x.srv.now()
	return ch.PutObject(db, &n)
}

func (x *Session) createSynonym(ch *catalog.Change, s *syntax.CreateSynonym) error {
	db, h, err := x.newHeader(s.Name, "CREATE SYNONYM")
	if err != nil {
		return err
	}
	t := s.Target
	return ch.PutObject(db, &catalog.Synonym{
		Header: h, Target: [4]string{t.Server.Name, t.Database.Name, t.Schema.Name, t.Object.Name},
	})
}

func (x *Session) createType(ch *catalog.Change, s *syntax.CreateType) error {
	db, sc, err := x.target(s.Name)
	if err != nil {
		return err
	}
	if err := x.mayCreate(db, "CREATE TYPE"); err != nil {
		return err
	}
	if _, exists := db.Type(sc.Name, s.Name.Object.Name); exists {
		return sqlerr.New(219, s.Name.Object.Name)
	}
	u := &catalog.UserType{Schema: sc.ID, Name: s.Name.Object.Name, Nullable: true}
	if s.Table != nil {
		if u.Table, err = x.tableShape(u.Name, s.Table, nil); err != nil {
			return err
		}
		u.Table.ID, u.Table.Schema, u.Table.SchemaID = db.NewObjectID(), sc.Name, sc.ID
		return ch.PutType(db, u)
	}
	if u.Base, err = x.dataType(s.Base); err != nil {
		return err
	}
	if s.Null != nil {
		u.Nullable = *s.Null
	}
	return ch.PutType(db, u)
}

func (x *Session) createSchema(ch *catalog.Change, s *syntax.CreateSchema) error {
	if err := x.mayCreate(x.db, "CREATE SCHEMA"); err != nil {
		return err
	}
	if _, exists := x.db.Schema(s.Name.Name); exists {
		return sqlerr.New(2714, s.Name.Name)
	}
	owner := x.ident.user
	if s.Owner.Name != "" {
		p, ok := x.db.Principal(s.Owner.Name)
		if !ok {
			return sqlerr.New(15151, "find", "user", s.Owner.Name)
		}
		owner = p
	}
	return ch.PutSchema(x.db, &catalog.Schema{Name: s.Name.Name, Owner: owner.ID})
}

func (x *Session) createDatabase(ch *catalog.Change, s *syntax.CreateDatabase) error {
	if x.txn.count > 0 {
		return sqlerr.New(226, "CREATE DATABASE")
	}
	if !x.ident.login.Sysadmin() {
		return sqlerr.New(262, "CREATE DATABASE", "master")
	}
	if _, exists := x.srv.cat.Database(s.Name.Name); exists {
		return sqlerr.New(1801, s.Name.Name)
	}
	collation := types.DefaultCollation
	if s.Collation.Name != "" {
		c, err := x.collation(s.Collation.Name)
		if err != nil {
			return err
		}
		collation = c
	}
	_, err := ch.CreateDatabase(s.Name.Name, collation.Name, x.ident.login.Name)
	return err
}

// databaseOnOff are the ON | OFF options of ALTER DATABASE that are accepted in
// the one state in which this engine always is; the other is refused.
var databaseOnOff = map[string]string{
	"AUTO_CLOSE": "OFF", "AUTO_SHRINK": "OFF", "TRUSTWORTHY": "OFF", "DB_CHAINING": "OFF", "ENCRYPTION": "OFF",
	"AUTO_CREATE_STATISTICS": "ON", "AUTO_UPDATE_STATISTICS": "ON", "PARAMETERIZATION": "SIMPLE",
	"RECOVERY": "SIMPLE", "PAGE_VERIFY": "CHECKSUM", "QUERY_STORE": "OFF", "ACCELERATED_DATABASE_RECOVERY": "OFF",
	"ANSI_NULL_DEFAULT": "OFF", "ANSI_NULLS": "OFF", "ANSI_PADDING": "OFF", "ANSI_WARNINGS": "OFF", "ARITHABORT": "OFF",
	"RECURSIVE_TRIGGERS": "OFF", "MULTI_USER": "", "READ_WRITE": "", "ONLINE": "",
}

func (x *Session) alterDatabase(ch *catalog.Change, s *syntax.AlterDatabase) error {
	db := x.db
	if !s.Current {
		d, ok := x.srv.cat.Database(s.Name.Name)
		if !ok {
			return sqlerr.New(5011, s.Name.Name)
		}
		db = d
	}
	if x.txn.count > 0 {
		return sqlerr.New(226, "ALTER DATABASE")
	}
	if !x.owns(db) {
		return sqlerr.New(5011, db.Name)
	}
	if s.Collation.Name != "" || s.ModifyName.Name != "" {
		return sqlerr.Unsupported("ALTER DATABASE other than SET")
	}
	if err := x.useFor(db, s); err != nil {
		return err
	}
	o := db.Options()
	for _, opt := range s.Options {
		on := opt.Value == "ON"
		switch opt.Name {
		case "READ_COMMITTED_SNAPSHOT":
			o.ReadCommittedSnapshot = on
		case "ALLOW_SNAPSHOT_ISOLATION":
			o.AllowSnapshot = on
		case "DELAYED_DURABILITY":
			if err := x.setDelayedDurability(&o, opt.Value); err != nil {
				return err
			}
		case "COMPATIBILITY_LEVEL":
			n, err := strconv.Atoi(opt.Value)
			if err != nil || n < 100 || n > 160 || n%10 != 0 {
				return sqlerr.New(15048, opt.Value)
			}
			o.Compatibility = int32(n)
		default:
			if accepted, known := databaseOnOff[opt.Name]; !known || accepted != opt.Value {
				return sqlerr.Unsupported(strings.TrimSpace("ALTER DATABASE SET " + opt.Name + " " + opt.Value))
			}
		}
	}
	return ch.SetOptions(db, o)
}

// selectInto runs SELECT … INTO: it creates the table, then fills it.
func (x *Session) selectInto(f *frame, stmt *exec.Statement, a access) (int64, error) {
	a.writes = true
	var rows int64
	err := x.inStatement(f, a, func() error {
		t, err := x.createInto(*stmt.Into(), stmt.IntoColumns())
		if err != nil {
			return err
		}
		rows, err = stmt.RunInto(&f.rt, t)
		return err
	})
	return rows, err
}

// createInto creates the table of a SELECT … INTO, error 1038.
func (x *Session) createInto(n syntax.Name, cols []exec.Column) (*catalog.Table, error) {
	t := &catalog.Table{LockEscalation: "TABLE", UsesAnsiNulls: x.opts.ansiNulls}
	var (
		db  *catalog.Database
		err error
	)
	if isTemporary(n.Object.Name) {
		t.Temporary = true
		now := x.srv.now()
		t.Header = catalog.Header{
			ID: x.srv.cat.NextTempID(), Database: "tempdb", DatabaseID: catalog.TempDBID, Schema: "dbo", SchemaID: 1,
			Name: n.Object.Name, Created: now, Modified: now,
		}
	} else if db, t.Header, err = x.newHeader(n, "CREATE TABLE"); err != nil {
		return nil, err
	}
	for i, c := range cols {
		if c.Name == "" {
			return nil, sqlerr.New(1038)
		}
		if t.Column(c.Name) >= 0 {
			return nil, sqlerr.New(2705, c.Name, t.Name)
		}
		col := &catalog.Column{ID: int32(i + 1), Name: c.Name, Type: c.Type, Nullable: c.Nullable, UserType: c.UserType}
		if c.Identity {
			col.Identity, t.Identity = true, catalog.NewCounter(1, 1)
		}
		t.Columns = append(t.Columns, col)
	}
	return t, x.materialise(x.change(), db, t)
}

// drop runs DROP of any kind of object.
func (x *Session) drop(ch *catalog.Change, s *syntax.Drop) error {
	for i, n := range s.Names {
		var err error
		switch s.Kind {
		case "TABLE":
			err = x.dropTable(ch, s, n)
		case "INDEX":
			err = x.dropIndex(ch, s, n, s.On[i])
		case "SCHEMA":
			err = x.dropSchema(ch, s, n)
		case "TYPE":
			err = x.dropType(ch, s, n)
		case "DATABASE":
			err = x.dropDatabase(ch, s, n)
		case "USER", "ROLE", "LOGIN":
			err = x.dropPrincipal(ch, s, n)
		default:
			err = x.dropObject(ch, s, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// absent is the answer to DROP of what is not there, error 3701.
func absent(s *syntax.Drop, n syntax.Name) error {
	if s.IfExists {
		return nil
	}
	return sqlerr.New(3701, "drop", strings.ToLower(s.Kind), displayName(n))
}

// dropKinds are the object kinds that a DROP statement may name.
var dropKinds = map[string][]catalog.ObjectKind{
	"VIEW": {catalog.KindView}, "PROCEDURE": {catalog.KindProcedure}, "TRIGGER": {catalog.KindTrigger},
	"FUNCTION": {catalog.KindScalarFunction, catalog.KindInlineFunction, catalog.KindTableFunction},
	"SEQUENCE": {catalog.KindSequence}, "SYNONYM": {catalog.KindSynonym},
}

// objectAt finds an object without following synonyms.
func (x *Session) objectAt(n syntax.Name) (catalog.Object, *catalog.Database, error) {
	db := x.db
	if n.Database.Name != "" {
		var err error
		if db, err = x.otherDatabase(n.Database.Name); err != nil {
			return nil, nil, err
		}
	}
	schemas := []string{n.Schema.Name}
	if n.Schema.Name == "" {
		schemas = []string{x.defaultSchema(), "dbo"}
	}
	for _, sc := range schemas {
		if o, ok := db.Object(sc, n.Object.Name); ok {
			return o, db, nil
		}
	}
	return nil, db, nil
}

func (x *Session) dropObject(ch *catalog.Change, s *syntax.Drop, n syntax.Name) error {
	o, db, err := x.objectAt(n)
	if err != nil {
		return err
	}
	if o == nil {
		return absent(s, n)
	}
	right := false
	for _, k := range dropKinds[s.Kind] {
		right = right || k == o.Kind()
	}
	if !right {
		return sqlerr.New(3705, s.Kind, displayName(n), displayName(n), kindWord(o.Kind()), strings.ToUpper(kindWord(o.Kind())))
	}
	if err := x.mayDrop(db, o, strings.ToLower(s.Kind), displayName(n)); err != nil {
		return err
	}
	if err := x.lockObject(db.ID, o.Head().ID); err != nil {
		return err
	}
	if m, ok := o.(*catalog.Module); ok && m.ModuleKind == catalog.KindTrigger {
		if err := x.detachTrigger(ch, db, m); err != nil {
			return err
		}
	}
	return ch.DropObject(db, o)
}

func kindWord(k catalog.ObjectKind) string {
	switch k {
	case catalog.KindTable:
		return "table"
	case catalog.KindSequence:
		return "sequence"
	case catalog.KindSynonym:
		return "synonym"
	}
	return strings.ToLower(moduleWord(k))
}

func (x *Session) detachTrigger(ch *catalog.Change, db *catalog.Database, m *catalog.Module) error {
	o, _ := db.ObjectByID(m.Parent)
	t, ok := o.(*catalog.Table)
	if !ok {
		return nil
	}
	if err := x.lockObject(db.ID, t.ID); err != nil {
		return err
	}
	changed := t.Clone()
	changed.Triggers = nil
	for _, other := range t.Triggers {
		if other.ID != m.ID {
			changed.Triggers = append(changed.Triggers, other)
		}
	}
	return x.put(ch, db, t, changed)
}

func (x *Session) dropTable(ch *catalog.Change, s *syntax.Drop, n syntax.Name) error {
	if t, ok := x.tempTable(n.Object.Name); ok {
		if err := x.txn.ensure(x).DropTable(t.Store); err != nil {
			return err
		}
		entry := tempTable{name: catalog.Fold(t.Name), table: t, frame: x.tempFrame(t)}
		x.removeTemp(t)
		x.txn.tx.OnRollback(func() { x.temps = append(x.temps, entry) })
		return nil
	}
	o, db, err := x.objectAt(n)
	if err != nil {
		return err
	}
	if o == nil {
		return absent(s, n)
	}
	t, ok := o.(*catalog.Table)
	if !ok {
		return sqlerr.New(3705, "TABLE", displayName(n), displayName(n), kindWord(o.Kind()), strings.ToUpper(kindWord(o.Kind())))
	}
	if err := x.mayDrop(db, t, "table", displayName(n)); err != nil {
		return err
	}
	if err := x.lockObject(db.ID, t.ID); err != nil {
		return err
	}
	for _, id := range t.ReferencedBy {
		if id == t.ID {
			continue
		}
		if other, ok := db.ObjectByID(id); ok && refersTo(other.(*catalog.Table), t.ID) {
			return sqlerr.New(3726, displayName(n))
		}
	}
	for _, m := range t.Triggers {
		if err := ch.DropObject(db, m); err != nil {
			return err
		}
	}
	if err := x.txn.tx.DropTable(t.Store); err != nil {
		return err
	}
	if err := x.unlinkForeignKeys(ch, db, t, nil); err != nil {
		return err
	}
	return ch.DropObject(db, t)
}

// unlinkForeignKeys tells the tables to which t referred that it does so no longer,
// as a dropped table or with what is left of it.
func (x *Session) unlinkForeignKeys(ch *catalog.Change, db *catalog.Database, t, left *catalog.Table) error {
	for _, fk := range t.ForeignKeys {
		o, _ := db.ObjectByID(fk.RefTable)
		ref, ok := o.(*catalog.Table)
		if !ok || ref.ID == t.ID || !slices.Contains(ref.ReferencedBy, t.ID) || left != nil && refersTo(left, ref.ID) {
			continue
		}
		if err := x.lockObject(db.ID, ref.ID); err != nil {
			return err
		}
		changed := ref.Clone()
		changed.ReferencedBy = slices.DeleteFunc(changed.ReferencedBy, func(id int32) bool { return id == t.ID })
		if err := ch.PutObject(db, changed); err != nil {
			return err
		}
	}
	return nil
}

func refersTo(t *catalog.Table, id int32) bool {
	for _, f := range t.ForeignKeys {
		if f.RefTable == id {
			return true
		}
	}
	return false
}

func (x *Session) tempFrame(t *catalog.Table) *frame {
	for _, e := range x.temps {
		if e.table == t {
			return e.frame
		}
	}
	return nil
}

func (x *Session) dropIndex(ch *catalog.Change, s *syntax.Drop, n, on syntax.Name) error {
	db, t, err := x.ownTable(on, 4902)
	if err != nil {
		return err
	}
	for i, ix := range t.Indexes {
		if catalog.Fold(ix.Name) != catalog.Fold(n.Object.Name) {
			continue
		}
		if ix.PrimaryKey {
			return sqlerr.New(3723, t.Name+"."+ix.Name, "PRIMARY KEY")
		}
		if ix.UniqueConstraint {
			return sqlerr.New(3723, t.Name+"."+ix.Name, "UNIQUE KEY")
		}
		changed := t.Clone()
		if err := x.removeIndex(changed, i); err != nil {
			return err
		}
		return x.put(ch, db, t, changed)
	}
	if s.IfExists {
		return nil
	}
	return sqlerr.WithState(3701, 7, "drop", "index", displayName(on)+"."+n.Object.Name)
}

func (x *Session) dropSchema(ch *catalog.Change, s *syntax.Drop, n syntax.Name) error {
	sc, ok := x.db.Schema(n.Object.Name)
	if !ok {
		if s.IfExists {
			return nil
		}
		return sqlerr.New(15151, "drop", "schema", n.Object.Name)
	}
	if err := x.mayCreate(x.db, "CREATE SCHEMA"); err != nil {
		return err
	}
	if sc.ID <= 4 {
		return sqlerr.New(15150, "schema", sc.Name)
	}
	for _, o := range x.db.Objects() {
		if o.Head().SchemaID == sc.ID {
			return sqlerr.New(3729, "drop schema", sc.Name, o.Head().Name)
		}
	}
	for _, t := range x.db.Types() {
		if t.Schema == sc.ID {
			return sqlerr.New(3729, "drop schema", sc.Name, t.Name)
		}
	}
	return ch.DropSchema(x.db, sc)
}

func (x *Session) dropType(ch *catalog.Change, s *syntax.Drop, n syntax.Name) error {
	u, ok := x.userType(n)
	if !ok {
		return absent(s, n)
	}
	if err := x.mayCreate(x.db, "CREATE TYPE"); err != nil {
		return err
	}
	for _, o := range x.db.Objects() {
		switch o := o.(type) {
		case *catalog.Table:
			for _, c := range o.Columns {
				if c.UserType == u.Name {
					return sqlerr.New(3732, u.Name, o.Name)
				}
			}
		case *catalog.Module:
			for _, p := range o.Parameters {
				if u.Table != nil && p.Table == u.Table.ID {
					return sqlerr.New(3732, u.Name, o.Name)
				}
			}
		}
	}
	return ch.DropType(x.db, u)
}

func (x *Session) dropDatabase(ch *catalog.Change, s *syntax.Drop, n syntax.Name) error {
	if x.txn.count > 0 {
		return sqlerr.New(574, "DROP DATABASE")
	}
	db, ok := x.srv.cat.Database(n.Object.Name)
	if !ok {
		return absent(s, n)
	}
	if db.ID <= catalog.MSDBID {
		return sqlerr.New(3708, "drop", "database", db.Name)
	}
	if !x.owns(db) {
		return absent(s, n)
	}
	if x.srv.inUse(db) {
		return sqlerr.New(3702, "drop", db.Name)
	}
	if err := x.txn.tx.Lock(x.ctx, storage.DatabaseResource(db.ID), storage.X, x.opts.lockTimeout); err != nil {
		return err
	}
	for _, o := range db.Objects() {
		if t, ok := o.(*catalog.Table); ok && t.Store != nil {
			if err := x.txn.tx.DropTable(t.Store); err != nil {
				return err
			}
		}
	}
	return ch.DropDatabase(db)
}

// inUse reports whether a session is in the database.
func (s *Server) inUse(db *catalog.Database) bool {
	s.links.drop(db.Name)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.sessions {
		if x.info.database() == db.Name {
			return true
		}
	}
	return false
}

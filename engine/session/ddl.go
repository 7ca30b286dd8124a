package session

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
)

// ddlStatement compiles the statements that define objects.
func (c *compiler) ddlStatement(s syntax.Statement) bool {
	run := ddl(s)
	if run == nil {
		return false
	}
	c.emit(s, func(x *Session, f *frame) error {
		if x.functions > 0 {
			return sqlerr.New(443, "DDL")
		}
		if x.opts.fmtOnly {
			return sqlerr.Unsupported("data definition under SET FMTONLY ON")
		}
		if x.opts.isolation == storage.Snapshot && x.txn.count > 0 {
			return sqlerr.New(3964)
		}
		err := x.inStatement(f, access{writes: true}, func() error { return run(x, x.change()) })
		if err == nil {
			x.rowCount, x.lastError = 0, 0
		}
		return err
	})
	return true
}

// change returns the catalog changes of the running statement.
func (x *Session) change() *catalog.Change { return x.srv.cat.Change(x.ctx, x.txn.ensure(x)) }

// ddl returns what a statement does, nil when it is not a definition.
func ddl(s syntax.Statement) func(x *Session, ch *catalog.Change) error {
	switch s := s.(type) {
	case *syntax.CreateTable:
		return func(x *Session, ch *catalog.Change) error { return x.createTable(ch, s) }
	case *syntax.CreateIndex:
		return func(x *Session, ch *catalog.Change) error { return x.createIndex(ch, s) }
	case *syntax.AlterTable:
		return func(x *Session, ch *catalog.Change) error { return x.alterTable(ch, s) }
	case *syntax.AlterIndex:
		return func(x *Session, ch *catalog.Change) error { return x.alterIndex(ch, s) }
	case *syntax.Drop:
		return func(x *Session, ch *catalog.Change) error { return x.drop(ch, s) }
	case *syntax.CreateProcedure:
		return func(x *Session, ch *catalog.Change) error { return x.createProcedure(ch, s) }
	case *syntax.CreateFunction:
		return func(x *Session, ch *catalog.Change) error { return x.createFunction(ch, s) }
	case *syntax.CreateView:
		return func(x *Session, ch *catalog.Change) error { return x.createView(ch, s) }
	case *syntax.CreateTrigger:
		return func(x *Session, ch *catalog.Change) error { return x.createTrigger(ch, s) }
	case *syntax.EnableTrigger:
		return func(x *Session, ch *catalog.Change) error { return x.enableTrigger(ch, s) }
	case *syntax.CreateSequence:
		return func(x *Session, ch *catalog.Change) error { return x.createSequence(ch, s) }
	case *syntax.AlterSequence:
		return func(x *Session, ch *catalog.Change) error { return x.alterSequence(ch, s) }
	case *syntax.CreateSynonym:
		return func(x *Session, ch *catalog.Change) error { return x.createSynonym(ch, s) }
	case *syntax.CreateType:
		return func(x *Session, ch *catalog.Change) error { return x.createType(ch, s) }
	case *syntax.CreateSchema:
		return func(x *Session, ch *catalog.Change) error { return x.createSchema(ch, s) }
	case *syntax.CreateDatabase:
		return func(x *Session, ch *catalog.Change) error { return x.createDatabase(ch, s) }
	case *syntax.AlterDatabase:
		return func(x *Session, ch *catalog.Change) error { return x.alterDatabase(ch, s) }
	}
	return nil
}

// target is the database and schema in which a new object goes, error 2760.
func (x *Session) target(n syntax.Name) (*catalog.Database, *catalog.Schema, error) {
	db := x.db
	if n.Database.Name != "" {
		var err error
		if db, err = x.otherDatabase(n.Database.Name); err != nil {
			return nil, nil, err
		}
	}
	schema := n.Schema.Name
	if schema == "" {
		schema = x.defaultSchema()
	}
	sc, ok := db.Schema(schema)
	if !ok {
		return nil, nil, sqlerr.New(2760, schema)
	}
	return db, sc, nil
}

// newHeader makes the header of a new object and locks it for the transaction,
// error 2714.
func (x *Session) newHeader(n syntax.Name, permission string) (*catalog.Database, catalog.Header, error) {
	db, sc, err := x.target(n)
	if err != nil {
		return nil, catalog.Header{}, err
	}
	if err := x.mayCreate(db, permission); err != nil {
		return nil, catalog.Header{}, err
	}
	if err := x.lockName(db, sc, n.Object.Name); err != nil {
		return nil, catalog.Header{}, err
	}
	if _, exists := db.Object(sc.Name, n.Object.Name); exists || db.ConstraintName(sc.ID, n.Object.Name) {
		return nil, catalog.Header{}, sqlerr.New(2714, n.Object.Name)
	}
	now := x.srv.now()
	h := catalog.Header{
		ID: db.NewObjectID(), Database: db.Name, DatabaseID: db.ID, Schema: sc.Name, SchemaID: sc.ID,
		Name: n.Object.Name, Created: now, Modified: now,
	}
	return db, h, x.lockObject(db.ID, h.ID)
}

// lockName serialises the creation of objects of one name.
func (x *Session) lockName(db *catalog.Database, sc *catalog.Schema, name string) error {
	return x.txn.tx.Lock(x.ctx, storage.MetadataResource(db.ID, sc.Name+"."+catalog.Fold(name)), storage.X, x.opts.lockTimeout)
}

// lockObject takes the Sch-M lock of a definition.
func (x *Session) lockObject(database uint32, id int32) error {
	return x.txn.tx.Lock(x.ctx, storage.ObjectResource(database, catalog.StoreID(database, id)), storage.SchM, x.opts.lockTimeout)
}

// ownTable finds a table to change, and locks it; missing is the error number
// when there is none.
func (x *Session) ownTable(n syntax.Name, missing int32) (*catalog.Database, *catalog.Table, error) {
	if t, ok := x.tempTable(n.Object.Name); ok {
		return nil, t, nil
	}
	for {
		o, db, err := x.lookup(n, x.moduleSchema())
		if err != nil {
			return nil, nil, err
		}
		t, ok := o.(*catalog.Table)
		if !ok {
			return nil, nil, sqlerr.New(missing, displayName(n))
		}
		if err := x.mayAlter(db, t); err != nil {
			return nil, nil, err
		}
		if err := x.lockObject(db.ID, t.ID); err != nil {
			return nil, nil, err
		}
		if now, ok := db.ObjectByID(t.ID); ok && now == catalog.Object(t) {
			return db, t, nil
		}
	}
}

// put stores a changed table, temporary or not.
func (x *Session) put(ch *catalog.Change, db *catalog.Database, old, t *catalog.Table) error {
	t.Modified = x.srv.now()
	if t.Temporary {
		x.replaceTemp(x.txn.tx, old, t)
		return nil
	}
	return ch.PutObject(db, t)
}

// createTable runs CREATE TABLE.
func (x *Session) createTable(ch *catalog.Change, s *syntax.CreateTable) error {
	t := &catalog.Table{LockEscalation: "TABLE", UsesAnsiNulls: x.opts.ansiNulls}
	var (
		db  *catalog.Database
		err error
	)
	newID := x.srv.cat.NextTempID
	if isTemporary(s.Name.Object.Name) {
		if len(s.Name.Object.Name) > 1 && s.Name.Object.Name[1] == '#' {
			return sqlerr.Unsupported("global temporary table")
		}
		t.Temporary = true
		t.Header = catalog.Header{
			ID: newID(), Database: "tempdb", DatabaseID: catalog.TempDBID, Schema: "dbo", SchemaID: 1,
			Name: s.Name.Object.Name, Created: x.srv.now(), Modified: x.srv.now(),
		}
	} else {
		if db, t.Header, err = x.newHeader(s.Name, "CREATE TABLE"); err != nil {
			return err
		}
		newID = db.NewObjectID
	}
	sh := &shaper{x: x, t: t, newID: newID}
	if err := sh.body(&s.Body); err != nil {
		return err
	}
	if err := x.uniqueConstraintNames(db, t); err != nil {
		return err
	}
	return x.materialise(ch, db, t)
}

// materialise creates the rows of a new table and puts it into the catalog.
func (x *Session) materialise(ch *catalog.Change, db *catalog.Database, t *catalog.Table) error {
	def, err := x.tableDef(t)
	if err != nil {
		return err
	}
	store, err := x.txn.ensure(x).CreateTable(def)
	if err != nil {
		return err
	}
	t.Store = store
	if t.Temporary {
		return x.addTemp(x.txn.tx, t)
	}
	if err := ch.PutObject(db, t); err != nil {
		return err
	}
	return x.linkForeignKeys(ch, db, t)
}

// linkForeignKeys tells the referenced tables who refers to them.
func (x *Session) linkForeignKeys(ch *catalog.Change, db *catalog.Database, t *catalog.Table) error {
	for _, fk := range t.ForeignKeys {
		o, _ := db.ObjectByID(fk.RefTable)
		ref, ok := o.(*catalog.Table)
		if !ok {
			continue
		}
		if err := x.lockObject(db.ID, ref.ID); err != nil {
			return err
		}
		changed := ref.Clone()
		if !containsID(changed.ReferencedBy, t.ID) {
			changed.ReferencedBy = append(changed.ReferencedBy, t.ID)
		}
		if err := ch.PutObject(db, changed); err != nil {
			return err
		}
	}
	return nil
}

func containsID(list []int32, id int32) bool {
	for _, v := range list {
		if v == id {
			return true
		}
	}
	return false
}

// uniqueConstraintNames refuses names of constraints that are taken, error 2714.
func (x *Session) uniqueConstraintNames(db *catalog.Database, t *catalog.Table) error {
	if db == nil {
		return nil
	}
	var names []string
	for _, ix := range t.Indexes {
		if (ix.PrimaryKey || ix.UniqueConstraint) && !ix.SystemNamed {
			names = append(names, ix.Name)
		}
	}
	for _, c := range t.Checks {
		if !c.SystemNamed {
			names = append(names, c.Name)
		}
	}
	for _, f := range t.ForeignKeys {
		if !f.SystemNamed {
			names = append(names, f.Name)
		}
	}
	for _, c := range t.Columns {
		if c.DefaultName != "" && !c.DefaultSystem {
			names = append(names, c.DefaultName)
		}
	}
	for _, n := range names {
		if o, exists := db.Object(t.Schema, n); exists && o.Head().ID != t.ID || db.ConstraintName(t.SchemaID, n) {
			return sqlerr.New(2714, n)
		}
	}
	return nil
}

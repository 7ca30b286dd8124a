package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// The classes of rows in the system table.
const (
	classDatabase    = "database"
	classSchema      = "schema"
	classType        = "type"
	classPrincipal   = "principal"
	classPermissions = "permissions"
	classLogin       = "login"
	classLink        = "link"
	classConfig      = "config"
	classCounter     = "counter"
	classTable       = "table"
	classModule      = "module"
	classSequence    = "sequence"
	classSynonym     = "synonym"
)

// systemTableID is the store's identity of the system table: object 1 of
// database 0, which no database has.
const systemTableID storage.ObjectID = 1

// The columns of the system table.
const (
	sysDatabase = iota
	sysClass
	sysID
	sysDefinition
	sysColumns
)

func classOf(o Object) string {
	switch o.(type) {
	case *Table:
		return classTable
	case *Module:
		return classModule
	case *Sequence:
		return classSequence
	case *Synonym:
		return classSynonym
	}
	panic(fmt.Sprintf("catalog: %T is not stored", o))
}

// lasting reports whether the objects of a database survive a restart.
func lasting(database uint32) bool { return database != TempDBID }

// systemTable is the definition of the system table.
func systemTable() storage.TableDef {
	return storage.TableDef{
		ID:      systemTableID,
		Columns: sysColumns,
		Indexes: []storage.IndexDef{{
			ID: 1, Unique: true, Clustered: true,
			Key: []storage.KeyColumn{
				{Ordinal: sysDatabase, Type: types.TypeBigInt},
				{Ordinal: sysClass, Type: binaryName},
				{Ordinal: sysID, Type: types.TypeInt},
			},
		}},
	}
}

// binaryName is the type of the class column: compared byte by byte.
var binaryName = types.Type{Kind: types.KindVarChar, Length: 20, Collation: mustCollation("Latin1_General_100_BIN2")}

func mustCollation(name string) *types.Collation {
	c, ok := types.LookupCollation(name)
	if !ok {
		panic("catalog: unknown collation " + name)
	}
	return c
}

func systemKey(database uint32, class string, id int32) types.Row {
	return types.Row{types.NewBigInt(int64(database)), types.NewString(types.KindVarChar, class), types.NewInt(int64(id)), types.Null}
}

// systemRange is the range of rows of one key; without id, of one class;
// without class, of one database.
func systemRange(database uint32, class string, id *int32) storage.Range {
	key := types.AppendKey(nil, types.NewBigInt(int64(database)), types.TypeBigInt, false)
	if class != "" {
		key = types.AppendKey(key, types.NewString(types.KindVarChar, class), binaryName, false)
	}
	if id != nil {
		key = types.AppendKey(key, types.NewInt(int64(*id)), types.TypeInt, false)
	}
	b := storage.Bound{Key: key, Inclusive: true}
	return storage.Range{Lo: b, Hi: b}
}

// updateAccess locks the rows that a change replaces, for as long as the
// transaction runs.
var updateAccess = storage.Access{Mode: storage.X, Hold: true, Timeout: -1}

// store writes the stored form of a thing.
func (c *Change) store(database uint32, class string, id int32, v any) error {
	if !lasting(database) {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("store %s %d: %w", class, id, err)
	}
	row := systemKey(database, class, id)
	row[sysDefinition] = types.NewNVarChar(string(text))
	cur := c.tx.Scan(c.ctx, c.s.system, 0, systemRange(database, class, &id), updateAccess)
	found := cur.Next()
	rowID := cur.ID()
	cur.Close()
	if err := cur.Err(); err != nil {
		return err
	}
	if found {
		return c.tx.Update(c.ctx, c.s.system, rowID, row, -1)
	}
	_, err = c.tx.Insert(c.ctx, c.s.system, row, -1)
	return err
}

// remove deletes the stored form of a thing.
func (c *Change) remove(database uint32, class string, id int32) error {
	return c.removeRange(database, systemRange(database, class, &id))
}

// removeAll deletes everything stored for a database.
func (c *Change) removeAll(database uint32) error {
	return c.removeRange(database, systemRange(database, "", nil))
}

func (c *Change) removeRange(database uint32, r storage.Range) error {
	if !lasting(database) {
		return nil
	}
	var ids []storage.RowID
	cur := c.tx.Scan(c.ctx, c.s.system, 0, r, updateAccess)
	for cur.Next() {
		ids = append(ids, cur.ID())
	}
	cur.Close()
	if err := cur.Err(); err != nil {
		return err
	}
	for _, id := range ids {
		if err := c.tx.Delete(c.ctx, c.s.system, id, -1); err != nil {
			return err
		}
	}
	return nil
}

// attach makes a counter tell the log how far it has come. The promise is a
// transaction of its own: numbers are never taken back.
func (s *Server) attach(database uint32, id int32, c *Counter) {
	if !lasting(database) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.save = func(st counterState) error { return s.storeNow(database, classCounter, id, st) }
}

// storeNow stores one row in a transaction of its own.
func (s *Server) storeNow(database uint32, class string, id int32, what any) error {
	owner := s.Store.NewOwner(0)
	defer owner.Close()
	tx := s.Store.Begin(owner)
	if err := s.Change(s.ctx, tx).store(database, class, id, what); err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit(s.ctx)
}

// counterOf is the counter of a table with an identity column or of a sequence,
// nil for what has none.
func counterOf(o Object) *Counter {
	switch o := o.(type) {
	case *Table:
		return o.Identity
	case *Sequence:
		return o.Counter
	}
	return nil
}

// Close writes down how far the counters have really come, instead of what has
// been promised for them. Nobody may use the catalog any more. A log that takes
// nothing more is no error: it was one before, and the numbers go on after the
// promise, as after a crash.
func (s *Server) Close(ctx context.Context) error {
	owner := s.Store.NewOwner(0)
	defer owner.Close()
	tx := s.Store.Begin(owner)
	ch := s.Change(ctx, tx)
	err := ch.saveRowVersion()
	for _, d := range s.Databases() {
		for _, o := range d.Objects() {
			c := counterOf(o)
			if st := c.state(); err == nil && c.promised(st) {
				err = ch.store(d.ID, classCounter, o.Head().ID, st)
			}
		}
	}
	if err != nil || !tx.Writes() {
		tx.Rollback()
		return err
	}
	err = tx.Commit(ctx)
	if errors.Is(err, storage.ErrLogFailed) || errors.Is(err, storage.ErrLogFull) {
		return nil
	}
	return err
}

// promised reports whether more has been promised than st.
func (c *Counter) promised(st counterState) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.save != nil && c.hasRes && c.reserved != st.Last
}

// database is the stored form of a Database.
type database struct {
	Name, Collation, Owner string
	Created                time.Time
	Options                DatabaseOptions
}

func storedDatabase(d *Database, o DatabaseOptions) database {
	return database{Name: d.Name, Collation: d.Collation.Name, Owner: d.Owner, Created: d.Created, Options: o}
}

// Open returns the catalog that is in the store; an empty store gets the system
// databases. The context ends when the server does.
func Open(ctx context.Context, store *storage.Store, name string, now func() time.Time) (*Server, error) {
	s := &Server{
		Name: name, Store: store, Now: now, ctx: ctx,
		databases: map[string]*Database{}, byID: map[uint32]*Database{},
		logins: map[string]*Login{}, links: map[string]*LinkedServer{}, configs: map[string]int64{},
		nextLogin: firstLogin,
	}
	for id, name := range map[uint32]string{MasterID: "master", TempDBID: "tempdb", ModelID: "model", MSDBID: "msdb"} {
		d, err := newDatabase(id, name, types.DefaultCollation.Name, "sa", now())
		if err != nil {
			return nil, err
		}
		d.AllowSnapshot.Store(id == MasterID || id == MSDBID)
		s.putDatabase(d)
	}
	s.counters.last.Store(firstRowVersion)
	if t := store.Table(systemTableID); t != nil {
		s.system = t
		return s, s.load(ctx)
	}
	owner := store.NewOwner(0)
	defer owner.Close()
	tx := store.Begin(owner)
	t, err := tx.CreateTable(systemTable())
	if err != nil {
		tx.Rollback()
		return nil, err
	}
	s.system = t
	return s, tx.Commit(ctx)
}

// firstLogin is the principal_id before the first login; lower ones are those
// of fixed server principals.
const firstLogin = 256

// firstRowVersion is where rowversion values begin in a new database.
const firstRowVersion = 2000

// fixedSchemas are the schemas every database has.
var fixedSchemas = []Schema{
	{ID: 1, Name: "dbo", Owner: DBOID},
	{ID: 2, Name: "guest", Owner: GuestID},
	{ID: 3, Name: "INFORMATION_SCHEMA", Owner: InfoID},
	{ID: 4, Name: "sys", Owner: SysID},
}

func newDatabase(id uint32, name, collation, owner string, created time.Time) (*Database, error) {
	c, ok := types.LookupCollation(collation)
	if !ok {
		return nil, fmt.Errorf("database %s: unknown collation %s", name, collation)
	}
	d := &Database{
		ID: id, Name: name, Created: created, Collation: c, Owner: owner,
		objects: map[objectKey]Object{}, byID: map[int32]Object{},
		schemas: map[string]*Schema{}, schemaByID: map[int32]*Schema{},
		principals: map[string]*Principal{}, byPrincID: map[int32]*Principal{},
		types: map[objectKey]*UserType{},
	}
	d.setOptions(DatabaseOptions{DelayedDurability: "DISABLED", Compatibility: 160})
	for i := range fixedSchemas {
		d.putSchema(&fixedSchemas[i])
	}
	for _, p := range []*Principal{
		{ID: PublicID, Name: "public", Kind: DatabaseRole, Owner: DBOID},
		{ID: DBOID, Name: "dbo", Kind: SQLUser, Login: "", DefaultSchema: "dbo"},
		{ID: GuestID, Name: "guest", Kind: SQLUser, DefaultSchema: "guest"},
		{ID: InfoID, Name: "INFORMATION_SCHEMA", Kind: SQLUser},
		{ID: SysID, Name: "sys", Kind: SQLUser},
	} {
		d.putPrincipal(p)
	}
	for i, role := range fixedRoles {
		d.putPrincipal(&Principal{ID: fixedRole + int32(i), Name: role, Kind: DatabaseRole, Owner: DBOID, Fixed: true})
	}
	d.nextObject.Store(901577000) // user object ids begin well above those of system objects
	d.nextSchema.Store(4)
	d.nextPrincipal.Store(firstUser - 1)
	d.nextType.Store(256)
	return d, nil
}

// load reads the stored catalog.
func (s *Server) load(ctx context.Context) error {
	owner := s.Store.NewOwner(0)
	defer owner.Close()
	tx := s.Store.Begin(owner)
	defer tx.Rollback()
	var rest []types.Row // what belongs to a database, after the databases
	cur := tx.Scan(ctx, s.system, 0, storage.Range{}, storage.Access{Mode: storage.None})
	defer cur.Close()
	for cur.Next() {
		row := cur.Row()
		switch row[sysClass].Text() {
		case classDatabase, classLogin, classLink, classConfig, classRowVersion:
			if err := s.loadServerRow(row); err != nil {
				return err
			}
		default:
			rest = append(rest, row)
		}
	}
	if err := cur.Err(); err != nil {
		return err
	}
	for _, row := range rest {
		if err := s.loadDatabaseRow(row); err != nil {
			return err
		}
	}
	return s.connect(rest)
}

func (s *Server) loadServerRow(row types.Row) error {
	text, id := []byte(row[sysDefinition].Text()), uint32(row[sysDatabase].Int())
	switch row[sysClass].Text() {
	case classDatabase:
		var st database
		if err := json.Unmarshal(text, &st); err != nil {
			return fmt.Errorf("load database %d: %w", id, err)
		}
		d, ok := s.byID[id]
		if !ok {
			var err error
			if d, err = newDatabase(id, st.Name, st.Collation, st.Owner, st.Created); err != nil {
				return err
			}
			s.putDatabase(d)
		}
		d.setOptions(st.Options)
		return nil
	case classLogin:
		var l Login
		if err := json.Unmarshal(text, &l); err != nil {
			return fmt.Errorf("load login: %w", err)
		}
		s.logins[Fold(l.Name)] = &l
		s.nextLogin = max(s.nextLogin, l.ID)
		return nil
	case classLink:
		var l LinkedServer
		if err := json.Unmarshal(text, &l); err != nil {
			return fmt.Errorf("load linked server: %w", err)
		}
		s.links[Fold(l.Name)] = &l
		return nil
	case classRowVersion:
		return s.loadRowVersion(row)
	default:
		return json.Unmarshal(text, &s.configs)
	}
}

// decode fills v from the definition of a row.
func decode[T any](row types.Row) (*T, error) {
	v := new(T)
	if err := json.Unmarshal([]byte(row[sysDefinition].Text()), v); err != nil {
		return nil, fmt.Errorf("load %s %d: %w", row[sysClass].Text(), row[sysID].Int(), err)
	}
	return v, nil
}

func (s *Server) loadDatabaseRow(row types.Row) error {
	d, ok := s.byID[uint32(row[sysDatabase].Int())]
	if !ok {
		return fmt.Errorf("load %s %d: no database %d", row[sysClass].Text(), row[sysID].Int(), row[sysDatabase].Int())
	}
	var err error
	switch row[sysClass].Text() {
	case classSchema:
		var sc *Schema
		if sc, err = decode[Schema](row); err == nil {
			d.putSchema(sc)
			d.nextSchema.Store(max(d.nextSchema.Load(), sc.ID))
		}
	case classType:
		var t *UserType
		if t, err = decode[UserType](row); err == nil {
			d.types[objectKey{t.Schema, Fold(t.Name)}] = t
			d.nextType.Store(max(d.nextType.Load(), t.ID))
		}
	case classPrincipal:
		var p *Principal
		if p, err = decode[Principal](row); err == nil {
			d.putPrincipal(p)
			if p.ID < fixedRole {
				d.nextPrincipal.Store(max(d.nextPrincipal.Load(), p.ID))
			}
		}
	case classPermissions:
		var g *[]Permission
		if g, err = decode[[]Permission](row); err == nil {
			d.grants = *g
		}
	case classTable:
		err = loadObject[Table](d, row)
	case classModule:
		err = loadObject[Module](d, row)
	case classSequence:
		err = loadObject[Sequence](d, row)
	case classSynonym:
		err = loadObject[Synonym](d, row)
	}
	return err
}

// loadObject adds one stored object to its database.
func loadObject[T any, P interface {
	*T
	Object
}](d *Database, row types.Row) error {
	v, err := decode[T](row)
	if err != nil {
		return err
	}
	o := P(v)
	h := o.Head()
	d.objects[objectKey{h.SchemaID, Fold(h.Name)}], d.byID[h.ID] = o, o
	d.noteID(h.ID)
	if t, ok := any(v).(*Table); ok {
		for _, id := range t.constraintIDs() {
			d.noteID(id)
		}
	}
	return nil
}

func (d *Database) noteID(id int32) { d.nextObject.Store(max(d.nextObject.Load(), id)) }

func (t *Table) constraintIDs() []int32 {
	var ids []int32
	for _, ix := range t.Indexes {
		ids = append(ids, ix.ConstraintID)
	}
	for _, c := range t.Checks {
		ids = append(ids, c.ID)
	}
	for _, f := range t.ForeignKeys {
		ids = append(ids, f.ID)
	}
	for _, c := range t.Columns {
		ids = append(ids, c.DefaultID)
	}
	return ids
}

// connect ties loaded objects to each other and to the store: tables to their
// rows, triggers to their tables, foreign keys to what they reference, counters
// to their progress.
func (s *Server) connect(rows []types.Row) error {
	for _, d := range s.byID {
		for _, o := range d.Objects() {
			switch o := o.(type) {
			case *Table:
				o.Store = s.Store.Table(StoreID(d.ID, o.ID))
				if o.Store == nil && !o.TypeOnly {
					return fmt.Errorf("load table %s.%s: the store has no rows for it", d.Name, o.Name)
				}
				if o.Identity != nil {
					s.attach(d.ID, o.ID, o.Identity)
				}
				for _, f := range o.ForeignKeys {
					if ref, ok := d.byID[f.RefTable].(*Table); ok {
						ref.ReferencedBy = append(ref.ReferencedBy, o.ID)
					}
				}
			case *Module:
				if t, ok := d.byID[o.Parent].(*Table); ok && o.ModuleKind == KindTrigger {
					t.Triggers = append(t.Triggers, o)
				}
			case *Sequence:
				s.attach(d.ID, o.ID, o.Counter)
			}
		}
	}
	for _, row := range rows {
		if row[sysClass].Text() != classCounter {
			continue
		}
		st, err := decode[counterState](row)
		if err != nil {
			return err
		}
		d := s.byID[uint32(row[sysDatabase].Int())]
		if c := counterOf(d.byID[int32(row[sysID].Int())]); c != nil {
			c.resume(*st)
		}
	}
	return nil
}

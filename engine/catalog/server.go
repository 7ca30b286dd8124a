package catalog

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// The identities of the system databases.
const (
	MasterID uint32 = 1 + iota
	TempDBID
	ModelID
	MSDBID
	firstUserDatabase
)

// Server is the catalog of one instance. It is safe for concurrent use.
type Server struct {
	// Name is what @@SERVERNAME shows.
	Name  string
	Store *storage.Store
	// ctx ends when the server does.
	ctx context.Context

	// Now is the server's clock.
	Now func() time.Time

	system *storage.Table // the stored form of the catalog

	mu        sync.RWMutex // guards the maps below
	databases map[string]*Database
	byID      map[uint32]*Database
	logins    map[string]*Login
	links     map[string]*LinkedServer
	configs   map[string]int64
	nextLogin int32

	counters rowVersions
	tempID   atomic.Int32
	// version rises with every change of a server-level object.
	version atomic.Uint64
}

// Database is one database. Its maps are guarded by mu; the objects in them are
// never changed in place.
type Database struct {
	ID      uint32
	Name    string
	Created time.Time

	// ReadCommittedSnapshot and AllowSnapshot are the database options of
	// those names.
	ReadCommittedSnapshot, AllowSnapshot atomic.Bool
	// DelayedDurability is DISABLED, ALLOWED or FORCED.
	delayedDurability atomic.Pointer[string]
	compatibility     atomic.Int32
	Collation         *types.Collation
	// Owner is the login that created the database.
	Owner string

	mu         sync.RWMutex
	version    atomic.Uint64
	objects    map[objectKey]Object
	byID       map[int32]Object
	schemas    map[string]*Schema
	schemaByID map[int32]*Schema
	principals map[string]*Principal
	byPrincID  map[int32]*Principal
	types      map[objectKey]*UserType
	grants     []Permission

	nextObject    atomic.Int32
	nextSchema    atomic.Int32
	nextPrincipal atomic.Int32
	nextType      atomic.Int32
}

// objectKey finds an object by its schema and its folded name.
type objectKey struct {
	schema int32
	name   string
}

// Schema is a schema of a database.
type Schema struct {
	ID    int32
	Name  string
	Owner int32 // principal id
}

// UserType is a user-defined type: an alias of a base type, or a table type.
type UserType struct {
	ID       int32 // user_type_id
	Schema   int32
	Name     string
	Base     types.Type
	Nullable bool
	// Table is the shape of a table type, nil for an alias.
	Table *Table
}

// Fold returns the form under which a name is looked up: names are compared
// without regard to case, as in the default collation.
func Fold(name string) string {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c >= 'A' && c <= 'Z' || c >= 0x80 {
			return strings.ToLower(name)
		}
	}
	return name
}

// Version returns the version of the database's objects. A plan that was made
// at another version may be out of date.
func (d *Database) Version() uint64 { return d.version.Load() }

// CompatibilityLevel returns the compatibility level, such as 160.
func (d *Database) CompatibilityLevel() int32 { return d.compatibility.Load() }

// DelayedDurability returns DISABLED, ALLOWED or FORCED.
func (d *Database) DelayedDurability() string {
	if p := d.delayedDurability.Load(); p != nil {
		return *p
	}
	return "DISABLED"
}

// Version returns the version of the server-level objects.
func (s *Server) Version() uint64 { return s.version.Load() }

// Database returns a database by name; ok is false when there is none.
func (s *Server) Database(name string) (d *Database, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	d, ok = s.databases[Fold(name)]
	return d, ok
}

// DatabaseByID returns a database by its id.
func (s *Server) DatabaseByID(id uint32) (d *Database, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	d, ok = s.byID[id]
	return d, ok
}

// Databases returns all databases by id.
func (s *Server) Databases() []*Database {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]*Database, 0, len(s.byID))
	for _, d := range s.byID {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b *Database) int { return int(a.ID) - int(b.ID) })
	return out
}

// NextTempID returns a new object id for a temporary object; it is negative.
func (s *Server) NextTempID() int32 { return s.tempID.Add(-1) }

// StoreID returns the store's identity of an object.
func StoreID(database uint32, object int32) storage.ObjectID {
	return storage.ObjectID(uint64(database)<<32 | uint64(uint32(object)))
}

// Schema returns a schema by name.
func (d *Database) Schema(name string) (*Schema, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	sc, ok := d.schemas[Fold(name)]
	return sc, ok
}

// SchemaByID returns a schema by id.
func (d *Database) SchemaByID(id int32) (*Schema, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	sc, ok := d.schemaByID[id]
	return sc, ok
}

// Schemas returns all schemas by id.
func (d *Database) Schemas() []*Schema {
	d.mu.RLock()
	defer d.mu.RUnlock()
	out := make([]*Schema, 0, len(d.schemaByID))
	for _, sc := range d.schemaByID {
		out = append(out, sc)
	}
	slices.SortFunc(out, func(a, b *Schema) int { return int(a.ID - b.ID) })
	return out
}

// Object returns an object by schema and name; ok is false when there is none.
func (d *Database) Object(schema, name string) (o Object, ok bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	sc, ok := d.schemas[Fold(schema)]
	if !ok {
		return nil, false
	}
	o, ok = d.objects[objectKey{sc.ID, Fold(name)}]
	return o, ok
}

// ObjectByID returns an object by its id.
func (d *Database) ObjectByID(id int32) (o Object, ok bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	o, ok = d.byID[id]
	return o, ok
}

// Objects returns all objects by id.
func (d *Database) Objects() []Object {
	d.mu.RLock()
	defer d.mu.RUnlock()
	out := make([]Object, 0, len(d.byID))
	for _, o := range d.byID {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b Object) int { return int(a.Head().ID - b.Head().ID) })
	return out
}

// Type returns a user-defined type.
func (d *Database) Type(schema, name string) (*UserType, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	sc, ok := d.schemas[Fold(schema)]
	if !ok {
		return nil, false
	}
	t, ok := d.types[objectKey{sc.ID, Fold(name)}]
	return t, ok
}

// Types returns all user-defined types by id.
func (d *Database) Types() []*UserType {
	d.mu.RLock()
	defer d.mu.RUnlock()
	out := make([]*UserType, 0, len(d.types))
	for _, t := range d.types {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *UserType) int { return int(a.ID - b.ID) })
	return out
}

// NewObjectID returns a new object id.
func (d *Database) NewObjectID() int32 { return d.nextObject.Add(1) }

// ConstraintName reports whether a constraint or index-backed key of that name
// exists in the schema: constraints share the names of objects.
func (d *Database) ConstraintName(schema int32, name string) bool {
	name = Fold(name)
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, o := range d.byID {
		t, ok := o.(*Table)
		if !ok || t.SchemaID != schema {
			continue
		}
		if slices.ContainsFunc(t.constraintNames(), func(n string) bool { return Fold(n) == name }) {
			return true
		}
	}
	return false
}

// constraintNames lists the constraints of the table.
func (t *Table) constraintNames() []string {
	var names []string
	for _, ix := range t.Indexes {
		if ix.PrimaryKey || ix.UniqueConstraint {
			names = append(names, ix.Name)
		}
	}
	for _, c := range t.Checks {
		names = append(names, c.Name)
	}
	for _, f := range t.ForeignKeys {
		names = append(names, f.Name)
	}
	for _, c := range t.Columns {
		if c.DefaultName != "" {
			names = append(names, c.DefaultName)
		}
	}
	return names
}

// Column returns the position of a column by name, -1 when there is none.
func (t *Table) Column(name string) int {
	name = Fold(name)
	for i, c := range t.Columns {
		if Fold(c.Name) == name {
			return i
		}
	}
	return -1
}

// Clone returns a copy of the table whose slices can be changed without
// touching t. Columns, indexes and constraints themselves are shared: replace,
// do not change them.
func (t *Table) Clone() *Table {
	c := *t
	c.Columns = slices.Clone(t.Columns)
	c.Indexes = slices.Clone(t.Indexes)
	c.Checks = slices.Clone(t.Checks)
	c.ForeignKeys = slices.Clone(t.ForeignKeys)
	c.ReferencedBy = slices.Clone(t.ReferencedBy)
	c.Triggers = slices.Clone(t.Triggers)
	return &c
}

// Database not found: the error that a name in USE or a four-part name gives.
func unknownDatabase(name string) error { return sqlerr.New(911, name) }

// MustDatabase returns a database or error 911.
func (s *Server) MustDatabase(name string) (*Database, error) {
	if d, ok := s.Database(name); ok {
		return d, nil
	}
	return nil, unknownDatabase(name)
}

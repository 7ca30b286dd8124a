package catalog

import (
	"time"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// ObjectKind is the type code of sys.objects.
type ObjectKind string

// The kinds of objects, with the codes of sys.objects.
const (
	KindTable          ObjectKind = "U"
	KindView           ObjectKind = "V"
	KindProcedure      ObjectKind = "P"
	KindScalarFunction ObjectKind = "FN"
	KindInlineFunction ObjectKind = "IF"
	KindTableFunction  ObjectKind = "TF"
	KindTrigger        ObjectKind = "TR"
	KindSequence       ObjectKind = "SO"
	KindSynonym        ObjectKind = "SN"
	KindTableType      ObjectKind = "TT"
	KindPrimaryKey     ObjectKind = "PK"
	KindUnique         ObjectKind = "UQ"
	KindForeignKey     ObjectKind = "F"
	KindCheck          ObjectKind = "C"
	KindDefault        ObjectKind = "D"
	KindSystemView     ObjectKind = "S" // sys.* and INFORMATION_SCHEMA.*, never stored
)

// Header is what all objects have.
type Header struct {
	// ID is the object_id, unique in its database; temporary objects have
	// negative ones.
	ID int32
	// Database is the name of the database, Schema that of the schema.
	Database, Schema, Name string
	DatabaseID             uint32
	SchemaID               int32
	Created, Modified      time.Time
	Owner                  int32 // principal id, 0 for the owner of the schema
}

// Object is anything with a name in a schema.
type Object interface {
	Head() *Header
	Kind() ObjectKind
}

// Head returns h itself; objects embed a Header.
func (h *Header) Head() *Header { return h }

// Table is a table, a temporary table, a table variable or a table type.
type Table struct {
	Header
	Columns []*Column
	// Indexes are in the order of the store's: Indexes[i] is index i of Store.
	// A heap has none, or only nonclustered ones; HasClustered tells.
	Indexes      []*Index
	HasClustered bool
	Checks       []*Check
	ForeignKeys  []*ForeignKey
	// ReferencedBy lists the tables whose foreign keys point here.
	ReferencedBy []int32 `json:"-"`
	// Triggers are the enabled and disabled triggers, in firing order.
	Triggers []*Module `json:"-"`
	// Identity is the counter of the identity column, nil without one. It is
	// shared by all versions of the table object.
	Identity *Counter
	// Store holds the rows. It is nil for a table type.
	Store *storage.Table `json:"-"`
	// Temporary tables belong to one session and are not logged.
	Temporary bool
	// TypeOnly is a table type: a shape without rows.
	TypeOnly bool
	// LockEscalation is TABLE, AUTO or DISABLE, as sys.tables shows it.
	LockEscalation string
	// UsesAnsiNulls is recorded from the session that created the table.
	UsesAnsiNulls bool
}

// Kind implements Object.
func (t *Table) Kind() ObjectKind {
	if t.TypeOnly {
		return KindTableType
	}
	return KindTable
}

// Column is one column of a table.
type Column struct {
	// ID is the column_id, from 1; dropped columns leave gaps. The position in
	// Table.Columns is the position in a stored row.
	ID       int32
	Name     string
	Type     types.Type
	UserType string // the declared type name where it is not the base type (sysname, dbo.x)
	Nullable bool
	Identity bool
	// Computed columns are evaluated when read, Persisted ones when written.
	Computed     bool
	Persisted    bool
	ComputedText string
	// Default is the text of the default expression, empty without one.
	Default       string
	DefaultName   string
	DefaultID     int32
	DefaultSystem bool // the name was made up by the system
	RowGUID       bool
	RowVersion    bool // a rowversion column: set by every insert and update
}

// Index is an index or the index behind a key constraint.
type Index struct {
	// ID is the index_id: 1 for the clustered index, 2 and up for others.
	ID               int32
	Name             string
	Unique           bool
	Clustered        bool
	PrimaryKey       bool
	UniqueConstraint bool
	ConstraintID     int32 // object id of the key constraint
	SystemNamed      bool
	Keys             []IndexKey
	Include          []int  // positions in Table.Columns
	Filter           string // text of the filter, empty without one
	IgnoreDupKey     bool
	AllowRowLocks    bool
	AllowPageLocks   bool
	FillFactor       int
	Disabled         bool
}

// IndexKey is one key column of an index.
type IndexKey struct {
	Column int // position in Table.Columns
	Desc   bool
}

// Check is a CHECK constraint.
type Check struct {
	ID          int32
	Name        string
	Text        string
	Column      int // position of the column it was written with, -1 for a table constraint
	Disabled    bool
	NotTrusted  bool
	SystemNamed bool
}

// ForeignKey is a FOREIGN KEY constraint.
type ForeignKey struct {
	ID                 int32
	Name               string
	Columns            []int // positions in the referencing table
	RefTable           int32
	RefColumns         []int  // positions in the referenced table
	OnDelete, OnUpdate string // NO ACTION, CASCADE, SET NULL, SET DEFAULT
	Disabled           bool
	NotTrusted         bool
	SystemNamed        bool
}

// Parameter is a parameter of a module.
type Parameter struct {
	Name     string // with the leading @; empty for a function's result
	Type     types.Type
	UserType string
	// Table is the object id of the table type of a table-valued parameter.
	Table      int32
	Output     bool
	HasDefault bool
	ReadOnly   bool
}

// Module is a procedure, function, view or trigger: an object with a text.
type Module struct {
	Header
	ModuleKind ObjectKind
	// Text is the text of the CREATE statement as sys.sql_modules shows it.
	Text                        string
	QuotedIdentifier, AnsiNulls bool
	SchemaBinding, Recompile    bool
	ExecuteAs                   string // CALLER, OWNER, SELF or a user name
	Parameters                  []Parameter
	Returns                     types.Type // scalar functions
	// Parent is the table of a trigger.
	Parent                       int32
	InsteadOf                    bool
	OnInsert, OnUpdate, OnDelete bool
	Disabled                     bool
	// Columns are those of a view or table-valued function.
	Columns []*Column `json:"-"`
	// Compiled holds what a later stage made of Text. It is set by that stage
	// and dropped with the object.
	Compiled Cache `json:"-"`
}

// Kind implements Object.
func (m *Module) Kind() ObjectKind { return m.ModuleKind }

// Sequence is a sequence object.
type Sequence struct {
	Header
	Type                       types.Type
	Start, Increment, Min, Max int64
	Cycle                      bool
	CacheSize                  int64 // 0 for NO CACHE
	Counter                    *Counter
}

// Kind implements Object.
func (*Sequence) Kind() ObjectKind { return KindSequence }

// Synonym is another name for an object.
type Synonym struct {
	Header
	Target [4]string // server, database, schema, object; empty where not written
}

// Kind implements Object.
func (*Synonym) Kind() ObjectKind { return KindSynonym }

// SystemView is a catalog view or a dynamic management view.
type SystemView struct {
	Header
	Columns []*Column
	// Rows computes the rows for a viewer. The viewer is what the session
	// offers, see Viewer.
	Rows func(v Viewer) ([]types.Row, error)
}

// Kind implements Object.
func (*SystemView) Kind() ObjectKind { return KindSystemView }

package syntax

// TableBody is the parenthesised part of CREATE TABLE, of a table variable and
// of a table type.
type TableBody struct {
	Columns     []ColumnDef
	Constraints []Constraint
	Indexes     []IndexDef
}

// ColumnDef is one column.
type ColumnDef struct {
	Pos
	Name      Ident
	Type      DataType
	Computed  Expr // AS expr; Type is empty then
	Persisted bool
	Collation Ident
	Null      *bool // nil when neither NULL nor NOT NULL is written
	Identity  *IdentitySpec
	// NotForReplication is that of IDENTITY; it has no effect without
	// replication.
	NotForReplication bool
	// ComputedText is the source text of Computed.
	ComputedText string
	RowGUIDCol   bool
	Sparse       bool
	Constraints  []Constraint // those written with the column
	Indexes      []IndexDef
}

// IdentitySpec is IDENTITY(seed, increment).
type IdentitySpec struct{ Seed, Increment Expr }

// ConstraintKind is the kind of a constraint.
type ConstraintKind uint8

// The kinds of constraints.
const (
	PrimaryKey ConstraintKind = iota
	UniqueKey
	ForeignKey
	CheckConstraint
	DefaultConstraint
)

// Constraint is a constraint of a table or of a column.
type Constraint struct {
	Pos
	Kind      ConstraintKind
	Name      Ident // empty when unnamed
	Clustered *bool // nil when not written
	Columns   []IndexColumn
	Options   []IndexOption
	// Foreign keys.
	RefTable           Name
	RefColumns         []Ident
	OnDelete, OnUpdate string // upper case: NO ACTION, CASCADE, SET NULL, SET DEFAULT; empty when not written
	// Check is the condition of a CHECK; Default the value of a DEFAULT, and
	// ForColumn its column when written as a table constraint.
	Check     Expr
	Default   Expr
	ForColumn Ident
	// Text is the source text of Check or Default without the outer
	// parentheses being changed.
	Text string
	// WithNoCheck is ALTER TABLE … WITH NOCHECK ADD CONSTRAINT.
	WithNoCheck bool
	// WithValues is ADD column DEFAULT … WITH VALUES.
	WithValues bool
	FileGroup  Ident // ON filegroup, of keys
	// NotForReplication has no effect without replication.
	NotForReplication bool
}

// IndexColumn is one key column.
type IndexColumn struct {
	Name Ident
	Desc bool
}

// IndexOption is one option of WITH (…): upper-case name, value as written in
// upper case.
type IndexOption struct{ Name, Value string }

// IndexDef is CREATE INDEX and the inline INDEX of CREATE TABLE.
type IndexDef struct {
	Pos
	Name      Ident
	Unique    bool
	Clustered bool
	Columns   []IndexColumn
	Include   []Ident
	Where     Expr
	WhereText string
	Options   []IndexOption
	FileGroup Ident // ON filegroup
}

// CreateTable is CREATE TABLE.
type CreateTable struct {
	Pos
	Name    Name
	Body    TableBody
	Options []IndexOption // DATA_COMPRESSION
	// FileGroup and TextImageOn are the filegroups of ON and TEXTIMAGE_ON.
	FileGroup, TextImageOn Ident
}

// CreateIndex is CREATE INDEX … ON table.
type CreateIndex struct {
	Pos
	Table Name
	Index IndexDef
}

// AlterTable is ALTER TABLE with one action.
type AlterTable struct {
	Pos
	Table  Name
	Action AlterTableAction
}

// AlterTableAction is what an ALTER TABLE does. Exactly one part is set.
type AlterTableAction struct {
	AddColumns      []ColumnDef
	AddConstraints  []Constraint // may stand beside AddColumns
	DropColumns     []Ident
	DropConstraints []Ident
	IfExists        bool
	AlterColumn     *ColumnDef
	// AlterOptions is the WITH (ONLINE = …) of ALTER COLUMN, which changes only
	// how long locks are held.
	AlterOptions []IndexOption
	// SetOption is SET (LOCK_ESCALATION = DISABLE).
	SetOptions []IndexOption
	// CheckConstraint is [NO]CHECK CONSTRAINT name|ALL.
	CheckConstraints  []Ident
	CheckAll, NoCheck bool
	// WithCheck is WITH CHECK CHECK CONSTRAINT: existing rows are checked.
	WithCheck bool
	// Triggers is ENABLE|DISABLE TRIGGER names|ALL.
	Triggers                      []Ident
	TriggersAll                   bool
	EnableTrigger, DisableTrigger bool
}

// AlterIndex is ALTER INDEX name ON table REBUILD|REORGANIZE|DISABLE|SET.
type AlterIndex struct {
	Pos
	Name    Ident // ALL for every index
	Table   Name
	Action  string
	Options []IndexOption
}

// Drop is DROP of any object: kind in upper case (TABLE, VIEW, PROCEDURE,
// FUNCTION, TRIGGER, SEQUENCE, SYNONYM, TYPE, SCHEMA, DATABASE, USER, LOGIN,
// ROLE, INDEX).
type Drop struct {
	Pos
	Kind     string
	IfExists bool
	Names    []Name
	// On is the table of DROP INDEX name ON table, one an entry of Names, and
	// With the source text of its WITH (…), empty when not written. The options
	// say how the index is dropped, not what.
	On   []Name
	With []string
}

// Parameter is one parameter of a procedure or function.
type Parameter struct {
	Pos
	Name     string // with the leading @
	Type     DataType
	Default  Expr // nil without a default
	Output   bool
	ReadOnly bool
	Varying  bool
}

// ModuleForm says how a module is created.
type ModuleForm uint8

// The forms of CREATE.
const (
	FormCreate ModuleForm = iota
	FormAlter
	FormCreateOrAlter
)

// ModuleOptions are the WITH options of a module.
type ModuleOptions struct {
	ExecuteAs              *ExecuteContext
	Recompile              bool
	SchemaBinding          bool
	Encryption             bool
	ReturnsNullOnNullInput bool
	ViewMetadata           bool
	Inline                 *bool // INLINE = ON|OFF
}

// CreateProcedure is CREATE | ALTER PROCEDURE. Text is the whole text of the
// batch's statement, as sys.sql_modules shows it.
type CreateProcedure struct {
	Pos
	Form    ModuleForm
	Name    Name
	Params  []Parameter
	Options ModuleOptions
	Body    []Statement
	Text    string
}

// CreateFunction is CREATE | ALTER FUNCTION: scalar (Returns and Body), inline
// (Query), or multi-statement (TableVar, TableBody and Body).
type CreateFunction struct {
	Pos
	Form     ModuleForm
	Name     Name
	Params   []Parameter
	Options  ModuleOptions
	Returns  DataType
	Inline   bool
	With     []CTE
	Query    QueryExpr
	TableVar string
	Table    *TableBody
	Body     []Statement
	Text     string
}

// CreateView is CREATE | ALTER VIEW.
type CreateView struct {
	Pos
	Form        ModuleForm
	Name        Name
	Columns     []Ident
	Options     ModuleOptions
	With        []CTE
	Query       QueryExpr
	CheckOption bool
	Text        string
}

// CreateTrigger is CREATE | ALTER TRIGGER on a table or view.
type CreateTrigger struct {
	Pos
	Form                   ModuleForm
	Name                   Name
	Table                  Name
	Options                ModuleOptions
	InsteadOf              bool
	Insert, Update, Delete bool
	Body                   []Statement
	Text                   string
}

// EnableTrigger is ENABLE | DISABLE TRIGGER … ON table.
type EnableTrigger struct {
	Pos
	Enable bool
	Names  []Name
	All    bool
	Table  Name
}

// SequenceOptions are the options of CREATE and ALTER SEQUENCE; nil when not
// written.
type SequenceOptions struct {
	StartWith, RestartWith, IncrementBy, MinValue, MaxValue Expr
	Restart, NoMinValue, NoMaxValue                         bool
	Cycle                                                   *bool
	Cache                                                   Expr
	NoCache                                                 bool
}

// CreateSequence is CREATE SEQUENCE.
type CreateSequence struct {
	Pos
	Name    Name
	Type    *DataType
	Options SequenceOptions
}

// AlterSequence is ALTER SEQUENCE.
type AlterSequence struct {
	Pos
	Name    Name
	Options SequenceOptions
}

// CreateSynonym is CREATE SYNONYM name FOR target.
type CreateSynonym struct {
	Pos
	Name, Target Name
}

// CreateType is CREATE TYPE name FROM base, or AS TABLE (…).
type CreateType struct {
	Pos
	Name  Name
	Base  DataType
	Null  *bool
	Table *TableBody
}

// CreateSchema is CREATE SCHEMA name [AUTHORIZATION owner].
type CreateSchema struct {
	Pos
	Name  Ident
	Owner Ident
}

// CreateDatabase is CREATE DATABASE name [COLLATE c].
type CreateDatabase struct {
	Pos
	Name      Ident
	Collation Ident
}

// AlterDatabase is ALTER DATABASE name|CURRENT SET options, each an upper-case
// option with its words: "READ_COMMITTED_SNAPSHOT" "ON".
type AlterDatabase struct {
	Pos
	Name       Ident
	Current    bool
	Options    []IndexOption
	Collation  Ident
	ModifyName Ident
	// Termination is WITH ROLLBACK IMMEDIATE, NO_WAIT, ROLLBACK AFTER n.
	Termination string
}

// CreateLogin is CREATE | ALTER LOGIN name WITH PASSWORD = '…'.
type CreateLogin struct {
	Pos
	Alter           bool
	Name            Ident
	Password        *string
	Options         []IndexOption
	Disable, Enable bool
	FromWindows     bool
}

// CreateUser is CREATE | ALTER USER name [FOR LOGIN l | WITHOUT LOGIN] [WITH DEFAULT_SCHEMA = s].
type CreateUser struct {
	Pos
	Alter         bool
	Name          Ident
	Login         Ident
	WithoutLogin  bool
	DefaultSchema Ident
	NewName       Ident
}

// CreateRole is CREATE ROLE name [AUTHORIZATION owner].
type CreateRole struct {
	Pos
	Name  Ident
	Owner Ident
}

// AlterRole is ALTER ROLE name ADD|DROP MEMBER m; Server marks ALTER SERVER ROLE.
type AlterRole struct {
	Pos
	Server bool
	Name   Ident
	Add    Ident
	Drop   Ident
}

// Grant is GRANT, DENY or REVOKE.
type Grant struct {
	Pos
	Verb        string   // GRANT, DENY, REVOKE
	Permissions []string // upper case: EXECUTE, SELECT, VIEW SERVER STATE …
	Columns     []Ident
	Class       string // upper case: OBJECT, SCHEMA, DATABASE, SERVER, LOGIN, USER, TYPE, ROLE; empty when ON is absent
	On          *Name
	To          []Ident
	GrantOption bool
	Cascade     bool
}

// AlterAuthorization is ALTER AUTHORIZATION ON class::name TO owner.
type AlterAuthorization struct {
	Pos
	Class string
	On    Name
	To    Ident
}

// AlterSchema is ALTER SCHEMA s TRANSFER object.
type AlterSchema struct {
	Pos
	Schema Ident
	Object Name
}

func (*CreateTable) statement()        {}
func (*CreateIndex) statement()        {}
func (*AlterTable) statement()         {}
func (*AlterIndex) statement()         {}
func (*Drop) statement()               {}
func (*CreateProcedure) statement()    {}
func (*CreateFunction) statement()     {}
func (*CreateView) statement()         {}
func (*CreateTrigger) statement()      {}
func (*EnableTrigger) statement()      {}
func (*CreateSequence) statement()     {}
func (*AlterSequence) statement()      {}
func (*CreateSynonym) statement()      {}
func (*CreateType) statement()         {}
func (*CreateSchema) statement()       {}
func (*CreateDatabase) statement()     {}
func (*AlterDatabase) statement()      {}
func (*CreateLogin) statement()        {}
func (*CreateUser) statement()         {}
func (*CreateRole) statement()         {}
func (*AlterRole) statement()          {}
func (*Grant) statement()              {}
func (*AlterAuthorization) statement() {}
func (*AlterSchema) statement()        {}

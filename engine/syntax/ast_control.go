package syntax

// Block is BEGIN … END.
type Block struct {
	Pos
	Body []Statement
}

// If is IF cond THEN-statement [ELSE statement].
type If struct {
	Pos
	Cond Expr
	Then Statement
	Else Statement // nil without ELSE
}

// While is WHILE cond statement.
type While struct {
	Pos
	Cond Expr
	Body Statement
}

// Break is BREAK.
type Break struct{ Pos }

// Continue is CONTINUE.
type Continue struct{ Pos }

// Goto is GOTO label.
type Goto struct {
	Pos
	Label Ident
}

// Label is label:.
type Label struct {
	Pos
	Name Ident
}

// Return is RETURN [X].
type Return struct {
	Pos
	X Expr
}

// TryCatch is BEGIN TRY … END TRY BEGIN CATCH … END CATCH.
type TryCatch struct {
	Pos
	Try, Catch []Statement
}

// Throw is THROW [number, message, state]; all nil for the bare form.
type Throw struct {
	Pos
	Number, Message, State Expr
}

// RaiseError is RAISERROR (msg, severity, state, args…) WITH options.
type RaiseError struct {
	Pos
	Message, Severity, State Expr
	Args                     []Expr
	Log, NoWait, SetError    bool
}

// Print is PRINT X.
type Print struct {
	Pos
	X Expr
}

// WaitFor is WAITFOR DELAY X or WAITFOR TIME X.
type WaitFor struct {
	Pos
	Time bool
	X    Expr
}

// Declare is DECLARE with all its variables.
type Declare struct {
	Pos
	Variables []VariableDecl
}

// VariableDecl is one variable of a DECLARE. Table is set for a table
// variable, else Type; Init may be nil.
type VariableDecl struct {
	Pos
	Name  string // with the leading @
	Type  DataType
	Table *TableBody
	Init  Expr
}

// SetVariable is SET @v = X; Op is the operator of a compound assignment.
type SetVariable struct {
	Pos
	Name string
	Op   *BinaryOp
	X    Expr
	// Cursor is set for SET @c = CURSOR FOR ….
	Cursor *CursorDef
}

// SetOption is SET option value: SET NOCOUNT ON, SET LOCK_TIMEOUT 100, SET
// IDENTITY_INSERT t ON, SET DEADLOCK_PRIORITY LOW, SET CONTEXT_INFO 0x….
// Option is in upper case, its words separated by one blank; SET A, B ON gives
// one statement with two Options.
type SetOption struct {
	Pos
	Options []string
	On      bool   // ON or OFF, where the option takes that
	Value   Expr   // the value, where the option takes one
	Words   string // DEADLOCK_PRIORITY LOW, TRANSACTION ISOLATION LEVEL SNAPSHOT: upper-case words
	Table   *Name  // IDENTITY_INSERT
}

// Use is USE database.
type Use struct {
	Pos
	Database Ident
}

// BeginTran is BEGIN TRAN[SACTION] [name] [WITH MARK].
type BeginTran struct {
	Pos
	Name Expr // Literal (string) or Variable; nil without a name
	Mark bool
	// MarkText is the description after WITH MARK, nil without one.
	MarkText Expr
	// Distributed is BEGIN DISTRIBUTED TRANSACTION.
	Distributed bool
}

// CommitTran is COMMIT [TRAN [name]] and COMMIT WORK.
type CommitTran struct {
	Pos
	Name              Expr
	DelayedDurability bool
}

// RollbackTran is ROLLBACK [TRAN [name]] and ROLLBACK WORK.
type RollbackTran struct {
	Pos
	Name Expr
}

// SaveTran is SAVE TRAN name.
type SaveTran struct {
	Pos
	Name Expr
}

// Exec is EXEC of a procedure, of a string, or of a string AT a server.
//
// A procedure is named by Proc, or by the variable ProcVar (EXEC @name). A
// string is the concatenation of Strings.
type Exec struct {
	Pos
	Return  string // variable of "EXEC @rc = …", with the leading @
	Proc    *Name
	ProcVar string
	Args    []ExecArg
	Strings []Expr
	Server  Ident           // EXEC (…) AT server
	As      *ExecuteContext // EXEC (…) AS USER = '…'
	With    []string        // RECOMPILE, RESULT SETS …: upper-case words
}

// ExecArg is one argument: positional, or named by Name (with the leading @).
type ExecArg struct {
	Pos
	Name   string
	X      Expr // a Literal of kind LitDefault for DEFAULT
	Output bool
}

// ExecuteContext is AS CALLER | SELF | OWNER | USER = '…' | LOGIN = '…'.
type ExecuteContext struct {
	Pos
	Kind       string // upper case: CALLER, SELF, OWNER, USER, LOGIN
	Name       Expr   // for USER and LOGIN
	NoRevert   bool
	CookieInto string // WITH COOKIE INTO @v
}

// ExecuteAs is the statement EXECUTE AS ….
type ExecuteAs struct {
	Pos
	Context ExecuteContext
}

// Revert is REVERT [WITH COOKIE = @v].
type Revert struct {
	Pos
	Cookie Expr
}

// CursorDef is what a cursor iterates over, with its options in upper case.
type CursorDef struct {
	Pos
	Options   []string // LOCAL, FAST_FORWARD, STATIC …
	Select    *SelectStmt
	Update    []Ident // FOR UPDATE OF …
	ForUpdate bool
}

// DeclareCursor is DECLARE name CURSOR … FOR select.
type DeclareCursor struct {
	Pos
	Name Ident
	Def  CursorDef
}

// CursorOp is OPEN, CLOSE or DEALLOCATE of a cursor. Name has the leading @
// for a cursor variable.
type CursorOp struct {
	Pos
	Op     string // OPEN, CLOSE, DEALLOCATE
	Name   string
	Global bool
}

// Fetch is FETCH [NEXT|PRIOR|…] FROM cursor [INTO @a, @b].
type Fetch struct {
	Pos
	Direction string // upper case: NEXT, PRIOR, FIRST, LAST, ABSOLUTE, RELATIVE
	N         Expr   // for ABSOLUTE and RELATIVE
	Name      string
	Global    bool
	Into      []string
}

// Kill is KILL spid.
type Kill struct {
	Pos
	Session Expr
}

// Checkpoint is CHECKPOINT; Reconfigure is RECONFIGURE.
type Checkpoint struct{ Pos }

// Reconfigure is RECONFIGURE [WITH OVERRIDE].
type Reconfigure struct{ Pos }

// Unsupported is a statement that T-SQL has and this parser knows by name only.
// Running it is error 40510. A statement that the tree holds but for one clause
// becomes an Unsupported as a whole, so that no clause is ever ignored.
type Unsupported struct {
	Pos
	Feature string
	Text    string // the source text of the statement
}

func (*Block) statement()         {}
func (*If) statement()            {}
func (*While) statement()         {}
func (*Break) statement()         {}
func (*Continue) statement()      {}
func (*Goto) statement()          {}
func (*Label) statement()         {}
func (*Return) statement()        {}
func (*TryCatch) statement()      {}
func (*Throw) statement()         {}
func (*RaiseError) statement()    {}
func (*Print) statement()         {}
func (*WaitFor) statement()       {}
func (*Declare) statement()       {}
func (*SetVariable) statement()   {}
func (*SetOption) statement()     {}
func (*Use) statement()           {}
func (*BeginTran) statement()     {}
func (*CommitTran) statement()    {}
func (*RollbackTran) statement()  {}
func (*SaveTran) statement()      {}
func (*Exec) statement()          {}
func (*ExecuteAs) statement()     {}
func (*Revert) statement()        {}
func (*DeclareCursor) statement() {}
func (*CursorOp) statement()      {}
func (*Fetch) statement()         {}
func (*Kill) statement()          {}
func (*Checkpoint) statement()    {}
func (*Reconfigure) statement()   {}
func (*Unsupported) statement()   {}

package syntax

// Pos is a place in the text of a batch.
type Pos struct {
	Offset int32 // bytes from the start of the batch
	Line   int32 // from 1
}

// At returns the position itself; nodes embed a Pos and so gain the method.
func (p Pos) At() Pos { return p }

// Node is any node of the tree.
type Node interface{ At() Pos }

// Statement is one statement of a batch.
type Statement interface {
	Node
	statement()
}

// Expr is a scalar expression or a condition.
type Expr interface {
	Node
	expr()
}

// TableExpr is one source of a FROM clause.
type TableExpr interface {
	Node
	tableExpr()
}

// QueryExpr is a query: a SELECT, or several of them combined.
type QueryExpr interface {
	Node
	queryExpr()
}

// Batch is what the client sends at once.
type Batch struct {
	Text       string
	Statements []Statement
}

// Ident is a name as written, without its quotes. Quoted tells "x" and [x] from x.
type Ident struct {
	Pos
	Name   string
	Quoted bool
}

// Name is an object name of one to four parts; the last part is the object.
// A part left out (db..object) is an empty Ident.
type Name struct {
	Pos
	Server, Database, Schema, Object Ident
}

// DataType is a type as written: nvarchar(max), decimal(18, 2), dbo.IdList.
type DataType struct {
	Pos
	Name   Name
	Max    bool  // (max)
	Args   []int // length, or precision and scale; nil when none is given
	Cursor bool  // CURSOR, CURSOR VARYING
}

// ---------------------------------------------------------------- expressions

// LiteralKind says how a literal was written.
type LiteralKind uint8

// The kinds of literals.
const (
	LitNull    LiteralKind = iota
	LitInt                 // 42, any number of digits
	LitDecimal             // 4.2, never with the point at the end
	LitFloat               // 4e2
	LitMoney               // $4.2, Text without the sign of the currency
	LitString              // 'x', Text decoded
	LitNString             // N'x', Text decoded
	LitBinary              // 0xAB, Text is the hexadecimal digits
	LitDefault             // DEFAULT, where the grammar allows it
)

// Literal is a constant.
type Literal struct {
	Pos
	Kind LiteralKind
	Text string
}

// Variable is @x; Name has the leading @.
type Variable struct {
	Pos
	Name string
}

// GlobalVariable is @@x; Name is in upper case with the leading @@.
type GlobalVariable struct {
	Pos
	Name string
}

// ColumnRef is a name used as a value: c, t.c, dbo.t.c. Parts has one to four
// entries. $IDENTITY, $ROWGUID and $action are one-part references.
type ColumnRef struct {
	Pos
	Parts []Ident
}

// Star is * or t.* in a select list, and * in COUNT(*).
type Star struct {
	Pos
	Qualifier []Ident // nil for a bare *
}

// UnaryOp is an operator of one operand.
type UnaryOp uint8

// The unary operators.
const (
	OpPlus UnaryOp = iota
	OpMinus
	OpBitNot
	OpNot
)

// Unary is op X.
type Unary struct {
	Pos
	Op UnaryOp
	X  Expr
}

// BinaryOp is an operator of two operands.
type BinaryOp uint8

// The binary operators.
const (
	OpAdd BinaryOp = iota
	OpSub
	OpMul
	OpDiv
	OpMod
	OpBitAnd
	OpBitOr
	OpBitXor
	OpAnd
	OpOr
	OpEq
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe
)

// Binary is L op R: arithmetic, comparison, AND and OR. String concatenation
// is OpAdd.
type Binary struct {
	Pos  // of the operator
	Op   BinaryOp
	L, R Expr
}

// Collate is X COLLATE name.
type Collate struct {
	Pos
	X         Expr
	Collation Ident
}

// AtTimeZone is X AT TIME ZONE zone.
type AtTimeZone struct {
	Pos
	X, Zone Expr
}

// IsNull is X IS [NOT] NULL.
type IsNull struct {
	Pos
	X   Expr
	Not bool
}

// IsDistinct is L IS [NOT] DISTINCT FROM R.
type IsDistinct struct {
	Pos
	L, R Expr
	Not  bool
}

// Between is X [NOT] BETWEEN Low AND High.
type Between struct {
	Pos
	X, Low, High Expr
	Not          bool
}

// In is X [NOT] IN (list) or X [NOT] IN (query); one of List and Query is set.
type In struct {
	Pos
	X     Expr
	List  []Expr
	Query QueryExpr
	Not   bool
}

// Like is X [NOT] LIKE Pattern [ESCAPE Escape].
type Like struct {
	Pos
	X, Pattern, Escape Expr // Escape may be nil
	Not                bool
}

// Exists is EXISTS (query).
type Exists struct {
	Pos
	Query QueryExpr
}

// Quantified is L op ALL|ANY|SOME (query).
type Quantified struct {
	Pos
	Op    BinaryOp
	All   bool
	L     Expr
	Query QueryExpr
}

// Subquery is a query used as a value.
type Subquery struct {
	Pos
	Query QueryExpr
}

// Paren is a parenthesised expression, kept for the sake of the printer.
type Paren struct {
	Pos
	X Expr
}

// When is one WHEN … THEN of a CASE.
type When struct {
	Cond, Then Expr
}

// Case is both forms of CASE; Input is nil for the searched form, Else may be nil.
type Case struct {
	Pos
	Input Expr
	Whens []When
	Else  Expr
}

// Cast is CAST, TRY_CAST (X AS Type), CONVERT and TRY_CONVERT (Type, X, Style),
// PARSE and TRY_PARSE (X AS Type USING Culture).
type Cast struct {
	Pos
	Form  CastForm
	Try   bool
	X     Expr
	Type  DataType
	Style Expr // style of CONVERT or culture of PARSE; nil when none is given
}

// CastForm tells the spellings of Cast apart.
type CastForm uint8

// The spellings of Cast.
const (
	FormCast CastForm = iota
	FormConvert
	FormParse
)

// Call is a function call. Built-in names have a Name of one part. Date parts
// (DATEADD(day, …)) arrive as one-part ColumnRef arguments. COALESCE, NULLIF,
// IIF, CHOOSE, ISNULL, JSON_VALUE and the like are ordinary calls; so are
// NEXT VALUE FOR (NextValue) and CAST (Cast) not. CURRENT_TIMESTAMP, USER,
// CURRENT_USER, SESSION_USER, SYSTEM_USER are calls without parentheses.
// TRIM(c FROM s) is TRIM with the arguments s and c; with LEADING or TRAILING
// it is LTRIM(s, c) or RTRIM(s, c).
type Call struct {
	Pos
	Name     Name
	Args     []Expr
	Distinct bool        // COUNT(DISTINCT x)
	Within   []OrderItem // WITHIN GROUP (ORDER BY …)
	Over     *Over       // nil without OVER
	NoParens bool
	Receiver Expr // x.query('…'): a method call on an expression; nil otherwise
	// Predicate marks a call that is a condition: UPDATE(column) in a trigger.
	Predicate bool
}

// Over is an OVER clause.
type Over struct {
	Pos
	PartitionBy []Expr
	OrderBy     []OrderItem
	Frame       *Frame
}

// Frame is the ROWS or RANGE clause of OVER.
type Frame struct {
	Range      bool
	Start, End FrameBound
}

// FrameBound is one end of a frame.
type FrameBound struct {
	Kind   FrameBoundKind
	Offset Expr // for OffsetPreceding and OffsetFollowing
}

// FrameBoundKind is the kind of a frame bound.
type FrameBoundKind uint8

// The kinds of frame bounds.
const (
	UnboundedPreceding FrameBoundKind = iota
	OffsetPreceding
	CurrentRow
	OffsetFollowing
	UnboundedFollowing
)

// NextValue is NEXT VALUE FOR sequence [OVER (…)].
type NextValue struct {
	Pos
	Sequence Name
	Over     *Over
}

func (*Literal) expr()        {}
func (*Variable) expr()       {}
func (*GlobalVariable) expr() {}
func (*ColumnRef) expr()      {}
func (*Star) expr()           {}
func (*Unary) expr()          {}
func (*Binary) expr()         {}
func (*Collate) expr()        {}
func (*AtTimeZone) expr()     {}
func (*IsNull) expr()         {}
func (*IsDistinct) expr()     {}
func (*Between) expr()        {}
func (*In) expr()             {}
func (*Like) expr()           {}
func (*Exists) expr()         {}
func (*Quantified) expr()     {}
func (*Subquery) expr()       {}
func (*Paren) expr()          {}
func (*Case) expr()           {}
func (*Cast) expr()           {}
func (*Call) expr()           {}
func (*NextValue) expr()      {}

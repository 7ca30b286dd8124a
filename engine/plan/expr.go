package plan

import (
	"loopbroker/engine/builtin"
	"loopbroker/engine/catalog"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// Expr is a bound scalar expression or condition.
type Expr interface {
	// Type is the type of the value; conditions have ConditionType.
	Type() types.Type
	// visit calls the functions with the places of the direct parts.
	visit(x func(*Expr), q func(*Query))
	// clone returns a copy that shares no slice of parts with the original.
	clone() Expr
}

// ConditionType is the type of a condition. It is not the type of any value.
var ConditionType = types.Type{Kind: types.KindBit, Precision: 1}

// IsCondition reports whether e is a condition rather than a value.
func IsCondition(e Expr) bool { return e.Type() == ConditionType }

// Const is a constant.
type Const struct {
	Value types.Value
	T     types.Type
}

// Column is a column of a source.
type Column struct {
	Src, Col int
	T        types.Type
	Name     string
	Label    string // qualified name for messages
	Nullable bool
	Base     *catalog.Column // the table column behind it, nil for others
}

// Variable is a local variable.
type Variable struct {
	Slot int
	T    types.Type
	Name string
}

// ConvertMode says by which rules a Convert converts.
type ConvertMode uint8

// The rules of conversion.
const (
	ModeConvert ConvertMode = iota // CAST, CONVERT and implicit conversion
	ModeTry                        // TRY_CAST, TRY_CONVERT
	ModeAssign                     // storing into a variable
)

// Convert converts X to T.
type Convert struct {
	X     Expr
	T     types.Type
	Style Expr // nil for 0
	Mode  ConvertMode
	Parse bool // PARSE: a text that is not of the type is an error of its own
	// Implicit conversions are not written in the text.
	Implicit bool
}

// Arith is an arithmetic or bit operator, or string concatenation.
type Arith struct {
	Op   syntax.BinaryOp
	L, R Expr
	T    types.Type
}

// Negate is -X.
type Negate struct {
	X Expr
	T types.Type
}

// BitNot is ~X.
type BitNot struct {
	X Expr
	T types.Type
}

// Collated is X COLLATE c.
type Collated struct {
	X Expr
	T types.Type
}

// Compare is L op R; the operands are of one kind, or both whole numbers.
type Compare struct {
	Op        syntax.BinaryOp
	L, R      Expr
	Collation *types.Collation
}

// Distinct is L IS [NOT] DISTINCT FROM R.
type Distinct struct {
	L, R      Expr
	Collation *types.Collation
	Not       bool
}

// And is the conjunction of at least two conditions.
type And struct{ List []Expr }

// Or is the disjunction of at least two conditions.
type Or struct{ List []Expr }

// Not is NOT X.
type Not struct{ X Expr }

// IsNull is X IS [NOT] NULL.
type IsNull struct {
	X   Expr
	Not bool
}

// InList is X [NOT] IN (list), the elements of X's kind.
type InList struct {
	X         Expr
	List      []Expr
	Collation *types.Collation
	Not       bool
}

// InQuery is X [NOT] IN (query).
type InQuery struct {
	X         Expr
	Query     *Query
	Compare   types.Type // both sides are converted to this
	Collation *types.Collation
	Not       bool
}

// Like is X [NOT] LIKE Pattern [ESCAPE Escape].
type Like struct {
	X, Pattern, Escape Expr
	Collation          *types.Collation
	Not                bool
}

// Exists is EXISTS (query).
type Exists struct{ Query *Query }

// Quantified is L op ALL|ANY (query).
type Quantified struct {
	Op        syntax.BinaryOp
	All       bool
	L         Expr
	Query     *Query
	Compare   types.Type
	Collation *types.Collation
}

// ScalarQuery is a query used as a value.
type ScalarQuery struct {
	Query *Query
	T     types.Type
}

// When is one branch of a Case.
type When struct{ Cond, Then Expr }

// Case is CASE, IIF, CHOOSE and NULLIF in the searched form; Else may be nil.
type Case struct {
	Whens []When
	Else  Expr
	T     types.Type
}

// Coalesce is COALESCE and ISNULL: the first argument that is not NULL.
type Coalesce struct {
	Args []Expr
	T    types.Type
	// First is set for ISNULL, which cannot be NULL when its second is not.
	First bool
}

// Func is a call of a built-in function.
type Func struct {
	F    *builtin.Func
	Args []Expr
	Part string // the date part, for functions that take one
	T    types.Type
}

// UserFunc is a call of a user-defined scalar function.
type UserFunc struct {
	Module *catalog.Module
	Args   []Expr // nil for DEFAULT
	T      types.Type
}

// NextValue is NEXT VALUE FOR.
type NextValue struct {
	Sequence *catalog.Sequence
	T        types.Type
}

// Aggregate is an aggregate call before its query is grouped; planning
// replaces it by a column of the aggregation.
type Aggregate struct {
	F        *builtin.Aggregate // nil for COUNT(*)
	Name     string
	Args     []Expr
	Distinct bool
	Within   []SortKey // WITHIN GROUP
	T        types.Type
}

// Window is a call with an OVER clause; planning replaces it by a column.
type Window struct {
	Name      string
	F         *builtin.Aggregate // nil for ranking and offset functions
	Args      []Expr
	Partition []Expr
	Order     []SortKey
	Frame     *Frame
	T         types.Type
}

// Frame is a ROWS or RANGE frame with bound offsets.
type Frame struct {
	Range      bool
	Start, End FrameBound
}

// FrameBound is one end of a Frame.
type FrameBound struct {
	Kind   syntax.FrameBoundKind
	Offset int64
}

// SortKey is one key of an ORDER BY.
type SortKey struct {
	X    Expr
	Desc bool
}

// Type implements Expr.
func (e *Const) Type() types.Type { return e.T }

// Type implements Expr.
func (e *Column) Type() types.Type { return e.T }

// Type implements Expr.
func (e *Variable) Type() types.Type { return e.T }

// Type implements Expr.
func (e *Convert) Type() types.Type { return e.T }

// Type implements Expr.
func (e *Arith) Type() types.Type { return e.T }

// Type implements Expr.
func (e *Negate) Type() types.Type { return e.T }

// Type implements Expr.
func (e *BitNot) Type() types.Type { return e.T }

// Type implements Expr.
func (e *Collated) Type() types.Type { return e.T }

// Type implements Expr.
func (e *Compare) Type() types.Type { return ConditionType }

// Type implements Expr.
func (e *Distinct) Type() types.Type { return ConditionType }

// Type implements Expr.
func (e *And) Type() types.Type { return ConditionType }

// Type implements Expr.
func (e *Or) Type() types.Type { return ConditionType }

// Type implements Expr.
func (e *Not) Type() types.Type { return ConditionType }

// Type implements Expr.
func (e *IsNull) Type() types.Type { return ConditionType }

// Type implements Expr.
func (e *InList) Type() types.Type { return ConditionType }

// Type implements Expr.
func (e *InQuery) Type() types.Type { return ConditionType }

// Type implements Expr.
func (e *Like) Type() types.Type { return ConditionType }

// Type implements Expr.
func (e *Exists) Type() types.Type { return ConditionType }

// Type implements Expr.
func (e *Quantified) Type() types.Type { return ConditionType }

// Type implements Expr.
func (e *ScalarQuery) Type() types.Type { return e.T }

// Type implements Expr.
func (e *Case) Type() types.Type { return e.T }

// Type implements Expr.
func (e *Coalesce) Type() types.Type { return e.T }

// Type implements Expr.
func (e *Func) Type() types.Type { return e.T }

// Type implements Expr.
func (e *UserFunc) Type() types.Type { return e.T }

// Type implements Expr.
func (e *NextValue) Type() types.Type { return e.T }

// Type implements Expr.
func (e *Aggregate) Type() types.Type { return e.T }

// Type implements Expr.
func (e *Window) Type() types.Type { return e.T }

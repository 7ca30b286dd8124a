package syntax

// OrderItem is one item of an ORDER BY list.
type OrderItem struct {
	X    Expr
	Desc bool
}

// Top is TOP (N) [PERCENT] [WITH TIES].
type Top struct {
	Pos
	N        Expr
	Percent  bool
	WithTies bool
}

// SelectItem is one item of a select list.
type SelectItem struct {
	Pos
	X     Expr  // a *Star for * and t.*
	Alias Ident // X AS Alias, Alias = X; empty when none is given
	// Assign is the variable of "@v = X", with the leading @; AssignOp is the
	// operator of a compound assignment (@v += X).
	Assign   string
	AssignOp *BinaryOp
}

// Select is one SELECT … FROM … of a query (a query specification).
type Select struct {
	Pos
	Distinct bool
	Top      *Top
	Items    []SelectItem
	Into     *Name
	From     []TableExpr // comma-separated
	Where    Expr
	GroupBy  *GroupBy
	Having   Expr
	// OrderBy, Offset, Fetch and For are those of the whole query when the
	// Select is one; in a SetOp they stand there.
	OrderBy []OrderItem
	Offset  Expr
	Fetch   Expr
	For     *ForClause
}

// GroupBy is a GROUP BY clause. Sets holds grouping sets when GROUPING SETS,
// ROLLUP or CUBE is written; otherwise Items alone is set.
type GroupBy struct {
	Pos
	Items []Expr
	Sets  [][]Expr
}

// SetOpKind is UNION, UNION ALL, EXCEPT or INTERSECT.
type SetOpKind uint8

// The set operators.
const (
	Union SetOpKind = iota
	UnionAll
	Except
	Intersect
)

// SetOp combines two queries.
type SetOp struct {
	Pos
	Kind    SetOpKind
	L, R    QueryExpr
	OrderBy []OrderItem
	Offset  Expr
	Fetch   Expr
	For     *ForClause
}

// ValuesQuery is VALUES (…), (…): a row constructor used as a query, in a
// derived table or as the source of an INSERT.
type ValuesQuery struct {
	Pos
	Rows [][]Expr
}

func (*Select) queryExpr()      {}
func (*SetOp) queryExpr()       {}
func (*ValuesQuery) queryExpr() {}

// ForClause is FOR JSON or FOR XML.
type ForClause struct {
	Pos
	XML                 bool    // FOR XML, else FOR JSON
	Mode                string  // upper case: AUTO, PATH, RAW, EXPLICIT
	ElementName         *string // PATH('x')
	Root                *string // ROOT, ROOT('x'); empty string for the default name
	IncludeNullValues   bool
	WithoutArrayWrapper bool
	Type                bool // FOR XML …, TYPE
	Elements            bool
}

// Hint is one table hint: upper-case name, and the index of INDEX(…) or
// INDEX = ….
type Hint struct {
	Pos
	Name string
	Args []Ident
}

// TableRef names a table, view or table-valued thing in FROM, or a target.
type TableRef struct {
	Pos
	Name    Name
	Alias   Ident
	Hints   []Hint
	Columns []Ident // alias(c1, c2)
}

// VariableRef is a table variable in FROM: @t AS x.
type VariableRef struct {
	Pos
	Name  string // with the leading @
	Alias Ident
	Hints []Hint
}

// DerivedTable is (query) AS x (c1, c2).
type DerivedTable struct {
	Pos
	Query   QueryExpr
	Alias   Ident
	Columns []Ident
}

// TableFunc is a table-valued function in FROM: OPENJSON(…) WITH (…),
// STRING_SPLIT(…), dbo.f(…), x.nodes('…').
type TableFunc struct {
	Pos
	Call    *Call
	Alias   Ident
	Columns []Ident
	With    []OpenJSONColumn // OPENJSON only
}

// OpenJSONColumn is one column of OPENJSON's WITH clause.
type OpenJSONColumn struct {
	Name   Ident
	Type   DataType
	Path   *string
	AsJSON bool
}

// JoinKind is the kind of a join.
type JoinKind uint8

// The kinds of joins.
const (
	InnerJoin JoinKind = iota
	LeftJoin
	RightJoin
	FullJoin
	CrossJoin
	CrossApply
	OuterApply
)

// Join is L join R ON Cond; Cond is nil for CROSS JOIN and APPLY.
type Join struct {
	Pos
	Kind JoinKind
	L, R TableExpr
	On   Expr
	Hint string // LOOP, HASH, MERGE, REMOTE or empty
}

// ParenTable is a parenthesised join.
type ParenTable struct {
	Pos
	X TableExpr
}

// Pivot is X PIVOT (agg(col) FOR col IN (values)) AS alias.
type Pivot struct {
	Pos
	X        TableExpr
	Unpivot  bool
	Agg      *Call // PIVOT only
	ValueCol Ident // UNPIVOT only
	For      ColumnRef
	In       []Ident
	Alias    Ident
}

func (*TableRef) tableExpr()     {}
func (*VariableRef) tableExpr()  {}
func (*DerivedTable) tableExpr() {}
func (*TableFunc) tableExpr()    {}
func (*Join) tableExpr()         {}
func (*ParenTable) tableExpr()   {}
func (*Pivot) tableExpr()        {}

// CTE is one common table expression. Query may also be a data-modification
// target through the WITH of Update and Delete.
type CTE struct {
	Pos
	Name    Ident
	Columns []Ident
	Query   QueryExpr
}

// QueryHint is one hint of an OPTION clause: upper-case words, and a number or
// variable list where the hint takes one (MAXRECURSION 100).
type QueryHint struct {
	Pos
	Name string
	Args []Expr
}

// SelectStmt is a query used as a statement.
type SelectStmt struct {
	Pos
	With   []CTE
	Query  QueryExpr
	Option []QueryHint
}

// Output is an OUTPUT clause: items, and the target of OUTPUT … INTO.
type Output struct {
	Pos
	Items       []SelectItem // columns of inserted. and deleted., $action
	Into        TableExpr    // *TableRef or *VariableRef; nil without INTO
	IntoColumns []Ident
}

// Insert is INSERT. The source is one of Query (SELECT, VALUES), Exec, or
// neither for DEFAULT VALUES.
type Insert struct {
	Pos
	With    []CTE
	Top     *Top
	Target  TableExpr // *TableRef or *VariableRef
	Columns []Ident
	Output  *Output
	Query   QueryExpr // DEFAULT in VALUES is a Literal of kind LitDefault
	Exec    *Exec
	Option  []QueryHint
}

// SetClause is one assignment of UPDATE: column = X, @v = X, @v = column = X;
// Op is the operator of a compound assignment (+=), nil for =.
type SetClause struct {
	Pos
	Column   *ColumnRef // nil for @v = X
	Variable string     // with the leading @; empty for column = X
	Op       *BinaryOp
	X        Expr
	// Method is the call of column.WRITE(…), nil otherwise.
	Method *Call
}

// InsertBulk is INSERT BULK table (columns) WITH (options): the statement before
// a bulk load message. An option in parentheses, ORDER (a), has its source text
// as the value.
type InsertBulk struct {
	Pos
	Table   Name
	Columns []ColumnDef
	Options []IndexOption
}

// Update is UPDATE. Target may be an alias of From, a CTE, a table, a table
// variable or an updatable view.
type Update struct {
	Pos
	With   []CTE
	Top    *Top
	Target TableExpr
	Set    []SetClause
	Output *Output
	From   []TableExpr
	Where  Expr
	// CurrentOf is the cursor of WHERE CURRENT OF, empty otherwise.
	CurrentOf string
	Option    []QueryHint
}

// Delete is DELETE, with the same targets as Update.
type Delete struct {
	Pos
	With      []CTE
	Top       *Top
	Target    TableExpr
	Output    *Output
	From      []TableExpr
	Where     Expr
	CurrentOf string
	Option    []QueryHint
}

// MergeMatch is the condition of a MERGE clause.
type MergeMatch uint8

// The conditions of MERGE clauses.
const (
	WhenMatched MergeMatch = iota
	WhenNotMatchedByTarget
	WhenNotMatchedBySource
)

// MergeAction is one WHEN … THEN … of a MERGE. Exactly one of Update, Delete
// and Insert is set.
type MergeAction struct {
	Pos
	Match  MergeMatch
	And    Expr
	Update []SetClause
	Delete bool
	Insert *MergeInsert
}

// MergeInsert is the INSERT of a MERGE; nil Values means DEFAULT VALUES.
type MergeInsert struct {
	Columns []Ident
	Values  []Expr
}

// Merge is MERGE.
type Merge struct {
	Pos
	With    []CTE
	Top     *Top
	Target  TableExpr
	Source  TableExpr
	On      Expr
	Actions []MergeAction
	Output  *Output
	Option  []QueryHint
}

// Truncate is TRUNCATE TABLE.
type Truncate struct {
	Pos
	Table Name
}

func (*SelectStmt) statement() {}
func (*Insert) statement()     {}
func (*InsertBulk) statement() {}
func (*Update) statement()     {}
func (*Delete) statement()     {}
func (*Merge) statement()      {}
func (*Truncate) statement()   {}

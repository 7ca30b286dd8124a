package plan

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// Rel is a relation: something that puts one frame after another before its
// consumer.
type Rel interface {
	// parts calls the functions with the places of the direct parts.
	parts(r func(*Rel), x func(*Expr), q func(*Query))
	// defines adds the sources that the relation and its children fill.
	defines(s sources)
}

// ScanKind says where the rows of a Scan come from.
type ScanKind uint8

// The kinds of scans.
const (
	ScanTable ScanKind = iota
	ScanTableVariable
	ScanPseudo // inserted and deleted
)

// Scan reads a table by an access path.
type Scan struct {
	Src    int
	Kind   ScanKind
	Slot   int // of a table variable or pseudo table
	Table  *catalog.Table
	Name   string // exposed name
	Hints  Hints
	Filter []Expr // conditions that the path leaves over
	Path   Path
	// Target marks the table that a modification changes: it is read with
	// update locks and its row ids are kept.
	Target bool
}

// SystemScan reads a system view.
type SystemScan struct {
	Src    int
	View   *catalog.SystemView
	Filter []Expr
}

// OneRow is the relation of one empty row.
type OneRow struct{}

// Derived evaluates a query as a source.
type Derived struct {
	Src    int
	Name   string
	Query  *Query
	Filter []Expr
}

// Values is a row constructor.
type Values struct {
	Src  int
	Rows [][]Expr
}

// FuncKind is the kind of a table-valued function.
type FuncKind uint8

// The table-valued functions.
const (
	FuncOpenJSON FuncKind = iota
	FuncSplit
	FuncModule // a multi-statement function of the user
)

// TableFunc is a table-valued function.
type TableFunc struct {
	Src     int
	Kind    FuncKind
	Args    []Expr
	Module  *catalog.Module
	With    []JSONColumn // OPENJSON … WITH
	Columns []types.Type
	Filter  []Expr
}

// JSONColumn is one column of OPENJSON … WITH.
type JSONColumn struct {
	Name string
	T    types.Type
	Path string
	JSON bool
}

// JoinKind is the kind of a join after planning.
type JoinKind uint8

// The kinds of joins.
const (
	JoinInner JoinKind = iota
	JoinLeft
	JoinFull
	// JoinApply and JoinOuterApply exist before planning only; they become
	// inner and left joins whose right side reads the left one's columns.
	JoinApply
	JoinOuterApply
)

// Join runs R for every frame of L.
type Join struct {
	Kind JoinKind
	L, R Rel
	On   []Expr
	// Right are the sources of R, which an outer join sets to NULL.
	Right []int
	Left  []int // of L, for a full join
	Hint  string
}

// Filter passes the frames for which all conditions are true.
type Filter struct {
	X     Rel
	Conds []Expr
	// Startup conditions do not depend on X and are evaluated once before it.
	Startup bool
}

// Spool keeps the frames of X for the rest of the run. With Probe and Build it
// is a hash table that is asked for the frames with equal keys.
type Spool struct {
	ID           int
	X            Rel
	Sources      []int
	Build, Probe []Expr
	Keys         []types.Type
	// Again spools depend on rows around the query and are filled anew each
	// time the join above them starts.
	Again bool
}

// Inline is a query whose frames are wanted instead of its rows: the target of
// a modification behind a view or a common table expression. It exists before
// planning only.
type Inline struct{ Query *Query }

// Aggregation groups frames. A row of its source has the group expressions and
// then the aggregates.
type Aggregation struct {
	X      Rel
	Src    int
	Group  []Expr
	Aggs   []*Aggregate
	Scalar bool // no GROUP BY: one row even without input
}

// Windowing computes window functions. A row of its source has one value a
// call.
type Windowing struct {
	X       Rel
	Src     int
	Sources []int
	Calls   []*Window
}

// Dedup passes the first of each set of equal rows of Items, as its source.
type Dedup struct {
	X     Rel
	Src   int
	Items []Expr
}

// Sort orders frames.
type Sort struct {
	X       Rel
	Keys    []SortKey
	Sources []int
	// Limit, when not nil, is the number of frames wanted.
	Limit Expr
}

// Limit cuts the frames.
type Limit struct {
	X       Rel
	Top     Expr
	Percent bool
	Ties    []SortKey // WITH TIES: the order
	Offset  Expr
	Fetch   Expr
	Sources []int
}

// SetOp combines queries of equal shape; its source has one column an item.
type SetOp struct {
	Src     int
	Kind    syntax.SetOpKind
	L, R    *Query
	Columns []types.Type
	Filter  []Expr
}

// Recursive is a recursive common table expression.
type Recursive struct {
	ID      int
	Src     int
	Name    string
	Anchor  *Query
	Steps   []*Query
	Columns []types.Type
	Max     int64 // MAXRECURSION, 0 for no limit
	Filter  []Expr
}

// WorkTable is the reference of a recursive query to itself.
type WorkTable struct {
	Src int
	ID  int // of the Recursive
}

// OutColumn describes one column of a query.
type OutColumn struct {
	Name     string
	T        types.Type
	Nullable bool
	Base     *catalog.Column
	Computed bool
	Alias    bool // named by AS
	Table    string
}

// Query is a query: a relation and the items computed for each of its frames.
type Query struct {
	ID      int // of its state in a run
	Root    Rel
	Items   []Expr
	Columns []OutColumn
	For     *For
	// Correlated queries read sources around them.
	Correlated bool

	lo, hi  int // sources bound in here
	block   *block
	planned bool
}

// For is a FOR JSON or FOR XML clause.
type For struct {
	Clause *syntax.ForClause
	Levels []string // FOR JSON AUTO: table of each column
}

// Top is a bound TOP clause.
type Top struct {
	N       Expr
	Percent bool
	Ties    bool
}

// block is a query before planning.
type block struct {
	from     Rel // nil without FROM
	where    []Expr
	grouped  bool
	groups   []Expr
	aggSrc   int
	aggs     []*Aggregate
	having   []Expr
	winSrc   int
	windows  []*Window
	distinct bool
	distSrc  int
	rows     []Expr // the items under a DISTINCT
	order    []SortKey
	top      *Top
	offset   Expr
	fetch    Expr
	option   options
	// set is not nil for a combined query; order, offset and fetch apply to it.
	set Rel
}

// simple reports whether the block is a selection and projection of joins.
func (b *block) simple() bool {
	return b.set == nil && !b.grouped && len(b.windows) == 0 && !b.distinct && len(b.order) == 0 &&
		b.top == nil && b.offset == nil && b.fetch == nil
}

// options are the query hints that matter.
type options struct {
	maxRecursion int64
	forceOrder   bool
}

// visitExprs calls f with the places of all expressions of q, in derived tables
// too.
func (q *Query) visitExprs(f func(*Expr)) {
	visitList(q.Items, f)
	if q.planned {
		visitRel(&q.Root, f)
		return
	}
	b := q.block
	if b == nil {
		return
	}
	visitRel(&b.from, f)
	visitRel(&b.set, f)
	visitList(b.where, f)
	visitList(b.groups, f)
	for _, a := range b.aggs {
		a.visit(f, func(*Query) {})
	}
	visitList(b.having, f)
	for _, w := range b.windows {
		w.visit(f, func(*Query) {})
	}
	visitList(b.rows, f)
	visitKeys(b.order, f)
	if b.top != nil {
		f(&b.top.N)
	}
	visitOne(&b.offset, f)
	visitOne(&b.fetch, f)
}

// visitRel calls f with the places of all expressions below r.
func visitRel(r *Rel, f func(*Expr)) {
	if *r == nil {
		return
	}
	(*r).parts(func(c *Rel) { visitRel(c, f) }, f, func(q *Query) { q.visitExprs(f) })
}

// definedBy returns the sources that r fills.
func definedBy(r Rel) sources {
	s := sources{}
	if r != nil {
		r.defines(s)
	}
	return s
}

func sorted(s sources) []int {
	out := make([]int, 0, len(s))
	for k := range s {
		out = append(out, k)
	}
	for i := range out {
		for j := i; j > 0 && out[j] < out[j-1]; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

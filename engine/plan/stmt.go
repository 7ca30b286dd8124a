package plan

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// Stmt is a bound and planned statement. Of Query, Insert, Update, Delete,
// Merge, Truncate and Instead exactly one is set.
type Stmt struct {
	Query    *Query
	Assign   []Assignment // SELECT @v = …, one an item of Query
	Into     *syntax.Name
	Insert   *Insert
	Update   *Update
	Delete   *Delete
	Merge    *Merge
	Truncate *catalog.Table
	Instead  *Instead
	Target   catalog.Object

	// Sources and States are the sizes of a run's frame and of its caches.
	Sources, States int
	Tables          []*catalog.Table
	Modules         []*catalog.Module
	Uses            []Use
}

// Assigns reports whether s is a SELECT that assigns variables.
func (s *Stmt) Assigns() bool { return len(s.Assign) > 0 }

// Scalar is a bound expression with what it needs to run.
type Scalar struct {
	X               Expr
	Sources, States int
	Tables          []*catalog.Table
	Modules         []*catalog.Module
	Uses            []Use
}

// Use is one permission that a statement needs on an object.
type Use struct {
	Object     catalog.Object
	Permission string // SELECT, INSERT, UPDATE, DELETE, EXECUTE
}

// Assignment stores an item into a variable.
type Assignment struct {
	Slot int
	T    types.Type
}

// Target is the table that a modification changes.
type Target struct {
	Table *catalog.Table
	// View is the view that an INSERT names, until the table behind it is found.
	View *catalog.Module
	Kind ScanKind // ScanTable or ScanTableVariable
	Slot int
	// Src is the source whose current row is the target row of an UPDATE or
	// DELETE, and New the source of the row after the change; checks, computed
	// columns and OUTPUT read them.
	Src, New int
	Hints    Hints
	Rules    *Rules
}

// Rules are what every row of a table has to obey.
type Rules struct {
	// Defaults has the default of each column, nil without one.
	Defaults []Expr
	// Computed has the value of each computed column, reading source Src.
	Computed []Expr
	Checks   []Check
	Src      int
	// Keys are the foreign keys of the table, References those that point to it.
	Keys, References []Reference
}

// Check is a bound CHECK constraint.
type Check struct {
	Check *catalog.Check
	X     Expr
}

// Reference is a foreign key with both ends.
type Reference struct {
	Key           *catalog.ForeignKey
	Child, Parent *catalog.Table
	// Rules are those of the child, for actions that change it; nil for
	// NO ACTION.
	Rules *Rules
}

// Output is a bound OUTPUT clause.
type Output struct {
	Items   []Expr
	Columns []OutColumn
	// Into is the target of OUTPUT … INTO, nil without one.
	Into *InsertInto
}

// InsertInto is where rows go: the columns of a target in the order of the
// values; the others get their defaults.
type InsertInto struct {
	Target  Target
	Columns []int
}

// Insert is a bound INSERT.
type Insert struct {
	InsertInto
	// Source gives the rows; nil for DEFAULT VALUES and for rows from EXEC.
	Source *Query
	// Values is set instead of Source for a VALUES list: nil marks DEFAULT.
	Values [][]Expr
	Exec   bool
	Top    *Top
	Output *Output
	// Named are the columns written in the text, for COLUMNS_UPDATED.
	Identity bool // the identity column is among Columns
}

// Set is one assignment of an UPDATE. Column is -1 for a variable alone; Slot
// is -1 without a variable.
type Set struct {
	Column int
	Slot   int
	VarT   types.Type
	X      Expr
}

// Update is a bound UPDATE: Root gives a frame for each row to change.
type Update struct {
	Target Target
	Root   Rel
	Sets   []Set
	Output *Output
}

// Delete is a bound DELETE.
type Delete struct {
	Target Target
	Root   Rel
	Output *Output
}

// MergeClause is one WHEN of a MERGE.
type MergeClause struct {
	Match  syntax.MergeMatch
	And    Expr
	Sets   []Set
	Delete bool
	Insert *InsertInto
	Values []Expr
}

// Merge is a bound MERGE. Root is the source joined to the target; the target
// is missing when its source has no row.
type Merge struct {
	Target  Target
	Source  []int
	Root    Rel
	Clauses []MergeClause
	Output  *Output
	// Unmatched finds the target rows without a source, for NOT MATCHED BY
	// SOURCE; nil when no clause needs it.
	Unmatched Rel
	ActionSrc int // source of $action
}

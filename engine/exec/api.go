package exec

import (
	"context"
	"time"

	"loopbroker/engine/builtin"
	"loopbroker/engine/catalog"
	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// Action is what a data modification does to rows.
type Action uint8

// The actions.
const (
	ActionInsert Action = iota
	ActionUpdate
	ActionDelete
)

// String returns the action as SQL writes it.
func (a Action) String() string { return [...]string{"INSERT", "UPDATE", "DELETE"}[a] }

// Column describes one column of a result set.
type Column struct {
	Name                         string
	Type                         types.Type
	Nullable, Identity, Computed bool
	UserType                     string // the declared type name of a base column (sysname), usually empty
}

// Runtime is the session of a run. It is used by one goroutine at a time.
type Runtime interface {
	builtin.Env
	// Context ends the run when it is cancelled.
	Context() context.Context
	// Tx is the transaction of the statement, never nil while one runs that
	// reads or writes tables.
	Tx() *storage.Tx
	// Isolation is the session's level.
	Isolation() storage.Isolation
	// ReadView returns the row versions that plain reads of t see, or nil when
	// they lock. The executor asks once for each table of a statement and closes
	// the view, unless the level is SNAPSHOT, whose view the transaction keeps.
	ReadView(t *catalog.Table) (*storage.View, error)
	// LockTimeout is SET LOCK_TIMEOUT; negative waits for ever.
	LockTimeout() time.Duration
	// Variables are the frame's slots. The executor writes assigned variables
	// there, already of the variable's type.
	Variables() []types.Value
	// TableVariable is the storage behind a table variable and the private
	// transaction for it.
	TableVariable(slot int) (*catalog.Table, *storage.Tx)
	// PseudoRows are the rows of inserted or deleted.
	PseudoRows(slot int) []types.Row
	// CallFunction runs a user-defined scalar function.
	CallFunction(m *catalog.Module, args []types.Value) (types.Value, error)
	// CallTableFunction runs a multi-statement table-valued function.
	CallTableFunction(m *catalog.Module, args []types.Value) ([]types.Row, error)
	// Viewer is what system views read through.
	Viewer() catalog.Viewer
	// NextValue takes the next number of a sequence.
	NextValue(s *catalog.Sequence) (types.Value, error)
	// SetIdentity records the last identity value an INSERT produced.
	SetIdentity(v types.Value, t *catalog.Table)
	// IdentityInsert reports SET IDENTITY_INSERT t ON.
	IdentityInsert(t *catalog.Table) bool
	// RowLimit is SET ROWCOUNT, 0 for none.
	RowLimit() int64
	// AfterTriggers fires the AFTER triggers of t; updated lists the columns a
	// SET clause or an INSERT names.
	AfterTriggers(t *catalog.Table, action Action, inserted, deleted []types.Row, updated []int) error
	// InsteadOf runs the INSTEAD OF trigger of a table or view; handled is
	// false when there is none for the action.
	InsteadOf(t catalog.Object, action Action, inserted, deleted []types.Row, updated []int) (handled bool, err error)
	// NextRowVersion returns a new rowversion.
	NextRowVersion() types.Value
	// Warn sends an informational message such as 8153.
	Warn(number int32, text string)
}

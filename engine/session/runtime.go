package session

import (
	"context"
	"encoding/binary"
	"time"

	"loopbroker/engine/builtin"
	"loopbroker/engine/catalog"
	"loopbroker/engine/exec"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// runtime is what the executor sees of a session while a statement of a frame
// runs.
type runtime struct {
	x *Session
	f *frame
}

var _ exec.Runtime = (*runtime)(nil)

// Context implements exec.Runtime.
func (r *runtime) Context() context.Context { return r.x.ctx }

// Tx implements exec.Runtime.
func (r *runtime) Tx() *storage.Tx { return r.x.txn.ensure(r.x) }

// Isolation implements exec.Runtime.
func (r *runtime) Isolation() storage.Isolation { return r.x.opts.isolation }

// ReadView implements exec.Runtime.
func (r *runtime) ReadView(t *catalog.Table) (*storage.View, error) {
	if t.Temporary || t.TypeOnly {
		return nil, nil
	}
	switch r.x.opts.isolation {
	case storage.Snapshot:
		return r.x.txn.ensure(r.x).SnapshotView(), nil
	case storage.ReadCommitted:
		db := r.x.db
		if t.DatabaseID != db.ID {
			db, _ = r.x.srv.cat.DatabaseByID(t.DatabaseID)
		}
		if db != nil && db.ReadCommittedSnapshot.Load() {
			return r.x.srv.store.StatementView(), nil
		}
	}
	return nil, nil
}

// LockTimeout implements exec.Runtime.
func (r *runtime) LockTimeout() time.Duration { return r.x.opts.lockTimeout }

// Variables implements exec.Runtime.
func (r *runtime) Variables() []types.Value { return r.f.vars }

// TableVariable implements exec.Runtime.
func (r *runtime) TableVariable(slot int) (*catalog.Table, *storage.Tx) {
	return r.x.tableVariable(r.f, slot)
}

// PseudoRows implements exec.Runtime.
func (r *runtime) PseudoRows(slot int) []types.Row {
	if slot == pseudoInserted {
		return r.f.inserted
	}
	return r.f.deleted
}

// CallFunction implements exec.Runtime.
func (r *runtime) CallFunction(m *catalog.Module, args []types.Value) (types.Value, error) {
	return r.x.callFunction(m, args)
}

// CallTableFunction implements exec.Runtime.
func (r *runtime) CallTableFunction(m *catalog.Module, args []types.Value) ([]types.Row, error) {
	return r.x.runTableFunction(m, args)
}

// Viewer implements exec.Runtime.
func (r *runtime) Viewer() catalog.Viewer { return viewer{r.x} }

// NextValue implements exec.Runtime.
func (r *runtime) NextValue(s *catalog.Sequence) (types.Value, error) {
	n, ok, err := s.Counter.Next(s.Min, s.Max)
	if err != nil {
		return types.Null, err
	}
	if !ok && s.Cycle {
		first := s.Min
		if s.Increment < 0 {
			first = s.Max
		}
		if err := s.Counter.Restart(first); err != nil {
			return types.Null, err
		}
		n, ok, err = s.Counter.Next(s.Min, s.Max)
	}
	if err != nil {
		return types.Null, err
	}
	if !ok {
		return types.Null, sqlerr.New(11728, s.Name)
	}
	return types.Convert(types.NewBigInt(n), s.Type, 0)
}

// SetIdentity implements exec.Runtime.
func (r *runtime) SetIdentity(v types.Value, _ *catalog.Table) {
	r.f.scope = v
	r.x.lastIdentity = v
}

// IdentityInsert implements exec.Runtime.
func (r *runtime) IdentityInsert(t *catalog.Table) bool {
	return r.x.insertOn == t.ID && r.x.insertDB == t.DatabaseID
}

// RowLimit implements exec.Runtime.
func (r *runtime) RowLimit() int64 { return r.x.opts.rowCount }

// AfterTriggers implements exec.Runtime.
func (r *runtime) AfterTriggers(t *catalog.Table, action exec.Action, inserted, deleted []types.Row, updated []int) error {
	return r.x.afterTriggers(r.f, t, action, inserted, deleted, updated)
}

// InsteadOf implements exec.Runtime.
func (r *runtime) InsteadOf(o catalog.Object, action exec.Action, inserted, deleted []types.Row, updated []int) (bool, error) {
	return r.x.insteadOf(r.f, o, action, inserted, deleted, updated)
}

// NextRowVersion implements exec.Runtime.
func (r *runtime) NextRowVersion() types.Value {
	return rowVersionValue(r.x.srv.cat.NextRowVersion())
}

func rowVersionValue(n uint64) types.Value {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	return types.NewBinary(types.KindRowVersion, string(b[:]))
}

// Warn implements exec.Runtime.
func (r *runtime) Warn(number int32, text string) { r.x.inform(number, 1, text) }

// Now implements builtin.Env.
func (r *runtime) Now() time.Time {
	if r.x.statement.IsZero() || r.f.function {
		return r.x.srv.now().UTC()
	}
	return r.x.statement
}

// Options implements builtin.Env.
func (r *runtime) Options() builtin.Options { return r.x.opts.builtin() }

// Property implements builtin.Env.
func (r *runtime) Property(name string, args []types.Value) (types.Value, error) {
	return r.x.property(r.f, name, args)
}

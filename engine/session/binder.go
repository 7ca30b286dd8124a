package session

import (
	"strings"

	"loopbroker/engine/builtin"
	"loopbroker/engine/catalog"
	"loopbroker/engine/plan"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// binder resolves names for one compilation. It holds schema locks on what it
// has resolved until close, so that an object that another transaction is
// changing is waited for.
type binder struct {
	x *Session
	p *program // its variables are visible; nil inside views
	// owner is the module whose text is bound: names without a schema are
	// looked up in its schema first.
	owner *catalog.Module

	temps    []*catalog.Table
	resolved bool
	locks    []storage.Resource
	parent   *binder // of a view's or function's text
}

var (
	_ plan.Binder       = (*binder)(nil)
	_ plan.ViewTriggers = (*binder)(nil)
)

// close gives the schema locks back.
func (b *binder) close() {
	for _, r := range b.locks {
		b.x.owner.Unlock(r)
	}
	b.locks = nil
}

// root is the binder of the statement.
func (b *binder) root() *binder {
	for b.parent != nil {
		b = b.parent
	}
	return b
}

// stable waits until no other transaction is changing the object, and holds it
// so until close.
func (b *binder) stable(database uint32, id int32) error {
	r := storage.ObjectResource(database, catalog.StoreID(database, id))
	root := b.root()
	b.x.info.refresh(b.x) // it may wait
	if err := b.x.owner.Lock(b.x.ctx, r, storage.SchS, b.x.opts.lockTimeout); err != nil {
		return err
	}
	root.locks = append(root.locks, r)
	return nil
}

// Relation implements plan.Binder.
func (b *binder) Relation(n syntax.Name) (catalog.Object, error) {
	root := b.root()
	root.resolved = true
	if n.Server.Name != "" {
		return nil, sqlerr.Unsupported("four-part name in a query").At(n.Line)
	}
	if t, ok := b.x.tempTable(n.Object.Name); ok {
		root.temps = append(root.temps, t)
		return t, nil
	}
	o, db, err := b.x.lookup(n, b.schemaOfOwner())
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, sqlerr.New(208, displayName(n)).At(n.Line)
	}
	if o.Kind() == catalog.KindSystemView || isSystemFunction(o) {
		return o, nil
	}
	if err := b.stable(db.ID, o.Head().ID); err != nil {
		return nil, err
	}
	// It may have changed while we waited.
	if o, db, err = b.x.lookup(n, b.schemaOfOwner()); err != nil {
		return nil, err
	}
	switch o := o.(type) {
	case *catalog.Table:
		return o, nil
	case *catalog.Module:
		if o.ModuleKind == catalog.KindView || o.ModuleKind == catalog.KindInlineFunction || o.ModuleKind == catalog.KindTableFunction {
			return o, nil
		}
	}
	_ = db
	return nil, sqlerr.New(208, displayName(n)).At(n.Line)
}

// schemaOfOwner is the schema of the module being bound, empty for a batch.
func (b *binder) schemaOfOwner() string {
	switch {
	case b.owner != nil:
		return b.owner.Schema
	case b.p != nil && b.p.module != nil:
		return b.p.module.Schema
	}
	return ""
}

// TableByID implements plan.Binder.
func (b *binder) TableByID(database uint32, id int32) (*catalog.Table, error) {
	if db, ok := b.x.srv.cat.DatabaseByID(database); ok {
		if o, ok := db.ObjectByID(id); ok {
			if t, ok := o.(*catalog.Table); ok {
				return t, nil
			}
		}
	}
	return nil, sqlerr.New(8630, "a foreign key names a table that does not exist")
}

// Variable implements plan.Binder.
func (b *binder) Variable(name string) (int, types.Type, error) {
	if b.p != nil {
		if slot, ok := b.p.index[catalog.Fold(name)]; ok {
			return slot, b.p.vars[slot].typ, nil
		}
	}
	return 0, types.Type{}, sqlerr.New(137, name)
}

// TableVariable implements plan.Binder.
func (b *binder) TableVariable(name string) (int, *catalog.Table, error) {
	if b.p != nil {
		if slot, ok := b.p.tindex[catalog.Fold(name)]; ok {
			return slot, b.p.tables[slot].shape, nil
		}
	}
	return 0, nil, sqlerr.New(1087, name)
}

// DataType implements plan.Binder.
func (b *binder) DataType(dt syntax.DataType) (types.Type, error) { return b.x.dataType(dt) }

// Function implements plan.Binder.
func (b *binder) Function(n syntax.Name) (*catalog.Module, error) {
	b.root().resolved = true
	if n.Schema.Name == "" { // user-defined scalar functions need the schema
		if name := strings.ToUpper(n.Object.Name); builtin.Missing(name) {
			return nil, sqlerr.Unsupported(name).At(n.Line)
		}
		return nil, sqlerr.New(195, n.Object.Name).At(n.Line)
	}
	o, db, err := b.x.lookup(n, b.schemaOfOwner())
	if err != nil {
		return nil, err
	}
	m, ok := o.(*catalog.Module)
	if !ok || m.ModuleKind != catalog.KindScalarFunction {
		return nil, sqlerr.New(4121, n.Schema.Name, displayName(n)).At(n.Line)
	}
	return m, b.stable(db.ID, m.ID)
}

// Sequence implements plan.Binder.
func (b *binder) Sequence(n syntax.Name) (*catalog.Sequence, error) {
	b.root().resolved = true
	o, db, err := b.x.lookup(n, b.schemaOfOwner())
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, sqlerr.New(208, displayName(n)).At(n.Line)
	}
	s, ok := o.(*catalog.Sequence)
	if !ok {
		return nil, sqlerr.New(11726, displayName(n)).At(n.Line)
	}
	return s, b.stable(db.ID, s.ID)
}

// The slots of the rows that a trigger sees.
const (
	pseudoInserted = iota
	pseudoDeleted
)

// PseudoTable implements plan.Binder.
func (b *binder) PseudoTable(name string) (int, *catalog.Table, bool) {
	if b.p == nil || b.p.trigger == nil {
		return 0, nil, false
	}
	switch catalog.Fold(name) {
	case "inserted":
		return pseudoInserted, b.p.trigger, true
	case "deleted":
		return pseudoDeleted, b.p.trigger, true
	}
	return 0, nil, false
}

// ViewTriggers implements plan.ViewTriggers.
func (b *binder) ViewTriggers(view *catalog.Module) []*catalog.Module { return b.x.triggersOf(view) }

// Module implements plan.Binder.
func (b *binder) Module(m *catalog.Module) plan.Binder {
	return &binder{x: b.x, owner: m, parent: b}
}

// Options implements plan.Binder.
func (b *binder) Options() builtin.Options { return b.x.opts.builtin() }

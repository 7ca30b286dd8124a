package session

import (
	"context"
	"fmt"

	"loopbroker/engine/catalog"
	"loopbroker/engine/exec"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// background is the context of work that must be done although the request
// that caused it may have ended.
func (x *Session) background() context.Context {
	if x.ctx == nil {
		return x.srv.base
	}
	return context.WithoutCancel(x.ctx)
}

// tableDef is the storage's view of a table.
func (x *Session) tableDef(t *catalog.Table) (storage.TableDef, error) {
	def := storage.TableDef{
		ID:    catalog.StoreID(t.DatabaseID, t.ID),
		Space: t.DatabaseID, Columns: len(t.Columns), Temporary: t.Temporary,
	}
	for _, ix := range t.Indexes {
		d, err := x.indexDef(t, ix)
		if err != nil {
			return def, err
		}
		def.Indexes = append(def.Indexes, d)
	}
	return def, nil
}

// indexDef is the storage's view of an index.
func (x *Session) indexDef(t *catalog.Table, ix *catalog.Index) (storage.IndexDef, error) {
	def := storage.IndexDef{ID: uint32(ix.ID), Unique: ix.Unique, Clustered: ix.Clustered}
	for _, k := range ix.Keys {
		def.Key = append(def.Key, storage.KeyColumn{Ordinal: k.Column, Type: t.Columns[k.Column].Type, Desc: k.Desc})
	}
	if ix.Filter == "" {
		return def, nil
	}
	test, err := x.indexFilter(t, ix)
	def.Filter = test
	return def, err
}

// indexFilter compiles the filter of an index.
func (x *Session) indexFilter(t *catalog.Table, ix *catalog.Index) (func(types.Row) bool, error) {
	e, err := syntax.ParseExpr(ix.Filter, syntax.Options{QuotedIdentifier: true})
	if err != nil {
		return nil, err
	}
	b := &binder{x: x}
	defer b.close()
	cond, err := exec.CompileRowExpr(b, t, e)
	if err != nil {
		return nil, err
	}
	return cond.Test, nil
}

// bindFilters gives the filtered indexes of the tables that recovery brought
// back their filters again.
func (s *Server) bindFilters(ctx context.Context) error {
	for _, db := range s.cat.Databases() {
		x := &Session{srv: s, db: db, opts: defaultOptions(true), ctx: ctx, owner: s.store.NewOwner(0), local: map[*lazyStatement]*compiledStatement{}}
		for _, o := range db.Objects() {
			t, ok := o.(*catalog.Table)
			if !ok || t.Store == nil {
				continue
			}
			for _, ix := range t.Indexes {
				if ix.Filter == "" {
					continue
				}
				test, err := x.indexFilter(t, ix)
				if err == nil {
					err = t.Store.RebindFilter(uint32(ix.ID), test)
				}
				if err != nil {
					return fmt.Errorf("index %s of %s: %w", ix.Name, t.Name, err)
				}
			}
		}
		x.owner.Close()
	}
	return nil
}

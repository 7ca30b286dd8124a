package session

import (
	"context"

	"loopbroker/engine/catalog"
	"loopbroker/engine/storage"
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
func tableDef(t *catalog.Table) storage.TableDef {
	def := storage.TableDef{
		ID:    catalog.StoreID(t.DatabaseID, t.ID),
		Space: t.DatabaseID, Columns: len(t.Columns), Temporary: t.Temporary,
	}
	for _, ix := range t.Indexes {
		def.Indexes = append(def.Indexes, indexDef(t, ix))
	}
	return def
}

// indexDef is the storage's view of an index.
func indexDef(t *catalog.Table, ix *catalog.Index) storage.IndexDef {
	def := storage.IndexDef{ID: uint32(ix.ID), Unique: ix.Unique, Clustered: ix.Clustered}
	for _, k := range ix.Keys {
		def.Key = append(def.Key, storage.KeyColumn{Ordinal: k.Column, Type: t.Columns[k.Column].Type, Desc: k.Desc})
	}
	return def
}

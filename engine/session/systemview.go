package session

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/types"
)

// systemView finds a catalog view, or a dynamic management view of the server.
func (x *Session) systemView(schema, name string) (*catalog.SystemView, bool) {
	if v, ok := catalog.LookupSystemView(schema, name); ok {
		return v, true
	}
	v, ok := dynamicViews[catalog.Fold(name)]
	return v, ok && catalog.Fold(schema) == "sys"
}

// viewOf is a system view as it shows a database, which need not be the
// session's. Dynamic management views are of the server.
func (x *Session) viewOf(v *catalog.SystemView, db *catalog.Database) *catalog.SystemView {
	if own, ok := catalog.LookupSystemView(catalog.Fold(v.Schema), v.Name); db == x.db || !ok || own != v {
		return v
	}
	other := *v
	other.Rows = func(reader catalog.Viewer) ([]types.Row, error) {
		return v.Rows(databaseViewer{reader.(viewer), db})
	}
	return &other
}

// databaseViewer looks at a database that is named before the view.
type databaseViewer struct {
	viewer
	db *catalog.Database
}

// CurrentDatabase implements catalog.Viewer.
func (v databaseViewer) CurrentDatabase() *catalog.Database { return v.db }

// Visible implements catalog.Reader.
func (v databaseViewer) Visible(o catalog.Object) bool {
	return v.x.seesObject(v.db, o)
}

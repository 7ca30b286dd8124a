package session

import "loopbroker/engine/catalog"

// systemView finds a catalog view, or a dynamic management view of the server.
func (x *Session) systemView(schema, name string) (*catalog.SystemView, bool) {
	if v, ok := catalog.LookupSystemView(schema, name); ok {
		return v, true
	}
	v, ok := dynamicViews[catalog.Fold(name)]
	return v, ok && catalog.Fold(schema) == "sys"
}

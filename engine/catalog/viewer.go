package catalog

import "loopbroker/engine/types"

// Viewer is what a system view needs of the session that reads it. The session
// implements it; views that need more assert a wider interface of their own.
type Viewer interface {
	// CurrentDatabase is the database whose objects the view shows.
	CurrentDatabase() *Database
	// Property answers session functions by name, see builtin.Env.
	Property(name string, args []types.Value) (types.Value, error)
}

package types

import "loopbroker/engine/sqlerr"

const (
	// MaxLOBBytes is the size of the largest value that SQL Server stores.
	MaxLOBBytes = 1<<31 - 1

	// MaxBuiltBytes is the size of the largest value that an expression of this
	// engine may build. A few such values at a time still fit a small machine.
	MaxBuiltBytes = 256 << 20
)

// CheckBuilt returns the error for a value of n bytes that an expression is about
// to build, or nil if it may: 7119 over MaxLOBBytes, and 701, which says that
// memory is short, over MaxBuiltBytes.
func CheckBuilt(n int64) error {
	switch {
	case n <= MaxBuiltBytes:
		return nil
	case n <= MaxLOBBytes:
		return sqlerr.New(701)
	default:
		return sqlerr.New(7119, int64(MaxLOBBytes))
	}
}

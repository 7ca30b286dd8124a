//go:build !plantedfault

package storage

// planted reports whether the locks and views are to go wrong in one way. Only
// programs that are built with the tag plantedfault can be made to.
func planted(plantedFault) bool { return false }

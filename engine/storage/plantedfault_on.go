//go:build plantedfault

package storage

import "os"

// planted reports whether the environment asks for a fault. With the tag
// plantedfault the program is one that checkers must find wanting, and nothing
// else.
func planted(f plantedFault) bool { return os.Getenv("LOOPBROKER_PLANT") == string(f) }

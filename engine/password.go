package engine

import (
	"crypto/rand"

	"loopbroker/engine/types"
)

// defaultCollation is that of new databases.
var defaultCollation = types.DefaultCollation.Name

// randomPassword makes a password for a server that only its own process uses.
func randomPassword() string { return rand.Text() + "a1!" }

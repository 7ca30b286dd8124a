package enginetest_test

import (
	"testing"

	"loopbroker/enginetest"
)

// TestScripts runs the golden scripts. To accept new output after reading it:
// go test ./enginetest -rewrite
func TestScripts(t *testing.T) {
	t.Parallel()
	enginetest.Scripts(t, "testdata")
}

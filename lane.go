package loopbroker

import (
	"fmt"
	"strings"
)

// Lane is a logical queue of the transport table. A lane is how the broker keeps
// callers who wait apart from those who do not.
type Lane string

// The broker's own lanes, in the order in which a worker serves them.
const (
	// LaneWait holds the requests of callers who wait for the answer.
	LaneWait Lane = "api.wait"

	// LaneNormal holds the requests that nobody waits for.
	LaneNormal Lane = "api.normal"

	// LaneLow holds the requests that may stand back behind all others.
	LaneLow Lane = "api.low"
)

// Lanes returns the broker's lanes, the most urgent first.
func Lanes() []Lane { return []Lane{LaneWait, LaneNormal, LaneLow} }

// String returns the lane as it is stored.
func (l Lane) String() string { return string(l) }

// Validate returns an error that wraps ErrInvalid unless l can name a logical
// queue: 1 to 200 characters with no blank at either end, because SQL Server pads
// the shorter side of a comparison with blanks.
func (l Lane) Validate() error {
	text := string(l)
	if text == "" || len(text) > 200 || strings.TrimSpace(text) != text {
		return fmt.Errorf("%w: lane %q", ErrInvalid, text)
	}
	return nil
}

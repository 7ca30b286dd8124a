package loopbroker

import "fmt"

// State says how far a request has come. The set is closed, and a state never
// says why: that is the [ErrorClass].
type State string

// The states of a request, as they are stored.
const (
	// StateQueued means that the request waits for a worker, for the first time
	// or again after a release.
	StateQueued State = "queued"

	// StateRunning means that a worker holds a live lease on the request.
	StateRunning State = "running"

	// StateCompleted means that the request was carried out and answered,
	// whatever the answer says.
	StateCompleted State = "completed"

	// StateFailed means that the request was given up. The error class says why.
	StateFailed State = "failed"

	// StateExpired means that the time to start the request had passed before a
	// worker could. It was not run.
	StateExpired State = "expired"

	// StateCancelled means that its owner or an admin called the request off.
	StateCancelled State = "cancelled"
)

// States lists every state, in the order of a request's life.
func States() []State {
	return []State{StateQueued, StateRunning, StateCompleted, StateFailed, StateExpired, StateCancelled}
}

// ParseState returns the state that text names, or an error that wraps
// ErrInvalid. The comparison is exact.
func ParseState(text string) (State, error) {
	switch s := State(text); s {
	case StateQueued, StateRunning, StateCompleted, StateFailed, StateExpired, StateCancelled:
		return s, nil
	default:
		return "", fmt.Errorf("%w: state %q", ErrInvalid, text)
	}
}

// Final reports whether a request in this state has its reply and will never
// leave the state.
func (s State) Final() bool {
	switch s {
	case StateCompleted, StateFailed, StateExpired, StateCancelled:
		return true
	default:
		return false
	}
}

// String returns the state as it is stored.
func (s State) String() string { return string(s) }

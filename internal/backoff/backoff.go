// Package backoff computes pauses between attempts.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Policy is exponential backoff with full jitter: the pause after attempt n is a
// random part of Base doubled n-1 times, at most Cap. The spread keeps callers that
// failed together from coming back together.
type Policy struct {
	// Base is the longest pause after the first attempt. Must be positive.
	Base time.Duration

	// Cap is the longest pause of all. Must be at least Base.
	Cap time.Duration

	// Random returns a number in [0, n). It must be safe for concurrent use.
	//
	// Defaults to the runtime's source.
	Random func(n int64) int64
}

// Delay returns the pause after the attempt, which counts from 1. It is never
// shorter than floor, what the other side asked for, and then spread a little
// beyond it: up to a tenth of floor on top, so that those it asked do not all come
// at the same moment.
func (p Policy) Delay(attempt int, floor time.Duration) time.Duration {
	ceiling := p.Cap
	if shift := max(attempt-1, 0); shift < 62 && p.Base < p.Cap>>shift {
		ceiling = p.Base << shift
	}
	pause := p.draw(ceiling)
	if floor <= 0 {
		return pause
	}
	return max(pause, floor+p.draw(floor/10))
}

// draw returns a random duration in [0, limit].
func (p Policy) draw(limit time.Duration) time.Duration {
	if limit <= 0 {
		return 0
	}
	random := p.Random
	if random == nil {
		random = rand.Int64N
	}
	return time.Duration(random(int64(limit) + 1))
}

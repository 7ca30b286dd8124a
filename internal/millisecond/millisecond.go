// Package millisecond converts between durations and the int milliseconds in
// which the database counts.
package millisecond

import (
	"math"
	"time"
)

// Up returns d in whole milliseconds, rounded up, within [0, math.MaxInt32]: a
// positive duration never becomes 0, which would mean something else.
func Up(d time.Duration) int32 {
	if d <= 0 {
		return 0
	}
	ms := (d-1)/time.Millisecond + 1
	return int32(min(int64(ms), math.MaxInt32))
}

// Down returns d in whole milliseconds, rounded down, within [0, math.MaxInt32].
// It is for measurements.
func Down(d time.Duration) int32 {
	return int32(max(0, min(d.Milliseconds(), math.MaxInt32)))
}

// Duration returns ms as a duration. What is longer than a duration can be becomes
// the longest or the shortest.
func Duration(ms int64) time.Duration {
	const limit = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(max(-limit, min(ms, limit))) * time.Millisecond
}

package millisecond_test

import (
	"math"
	"testing"
	"time"

	"loopbroker/internal/millisecond"
)

func TestUpAndDown(t *testing.T) {
	t.Parallel()

	tests := []struct {
		in       time.Duration
		up, down int32
	}{
		{-time.Second, 0, 0},
		{0, 0, 0},
		{1, 1, 0},
		{time.Millisecond, 1, 1},
		{time.Millisecond + 1, 2, 1},
		{1999 * time.Microsecond, 2, 1},
		{time.Hour, 3_600_000, 3_600_000},
		{math.MaxInt64, math.MaxInt32, math.MaxInt32},
	}
	for _, tt := range tests {
		if got := millisecond.Up(tt.in); got != tt.up {
			t.Errorf("Up(%s) = %d, want %d", tt.in, got, tt.up)
		}
		if got := millisecond.Down(tt.in); got != tt.down {
			t.Errorf("Down(%s) = %d, want %d", tt.in, got, tt.down)
		}
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()

	for in, want := range map[int64]time.Duration{
		0:             0,
		-5:            -5 * time.Millisecond,
		1500:          1500 * time.Millisecond,
		math.MaxInt64: math.MaxInt64 / time.Millisecond * time.Millisecond,
		math.MinInt64: -(math.MaxInt64 / time.Millisecond * time.Millisecond),
	} {
		if got := millisecond.Duration(in); got != want {
			t.Errorf("Duration(%d) = %d, want %d", in, got, want)
		}
	}
}

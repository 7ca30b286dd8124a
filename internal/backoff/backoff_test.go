package backoff_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"loopbroker/internal/backoff"
)

func TestPolicy_Delay(t *testing.T) {
	t.Parallel()

	highest := func(n int64) int64 { return n - 1 }
	lowest := func(int64) int64 { return 0 }
	tests := []struct {
		name    string
		random  func(int64) int64
		attempt int
		floor   time.Duration
		want    time.Duration
	}{
		{"first", highest, 1, 0, time.Second},
		{"second", highest, 2, 0, 2 * time.Second},
		{"fifth", highest, 5, 0, 16 * time.Second},
		{"cap", highest, 7, 0, time.Minute},
		{"absurd", highest, math.MaxInt, 0, time.Minute},
		{"zeroth is like the first", highest, 0, 0, time.Second},
		{"full jitter reaches zero", lowest, 5, 0, 0},
		{"floor", lowest, 1, 3 * time.Second, 3 * time.Second},
		{"floor is spread", highest, 1, 30 * time.Second, 33 * time.Second},
		{"pause beyond the floor", highest, 6, 3 * time.Second, 32 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := backoff.Policy{Base: time.Second, Cap: time.Minute, Random: tt.random}
			if got := p.Delay(tt.attempt, tt.floor); got != tt.want {
				t.Errorf("Delay(%d, %s) = %s, want %s", tt.attempt, tt.floor, got, tt.want)
			}
		})
	}
}

func TestPolicy_DelayBounds(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		base := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "base"))
		limit := base + time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "more"))
		floor := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "floor"))
		attempt := rapid.IntRange(-3, 200).Draw(t, "attempt")
		got := backoff.Policy{Base: base, Cap: limit}.Delay(attempt, floor)
		if got < floor || got > max(limit, floor+floor/10) {
			t.Fatalf("Delay(%d, %s) = %s, outside of its bounds", attempt, floor, got)
		}
	})
}

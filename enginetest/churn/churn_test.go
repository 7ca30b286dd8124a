package churn_test

import (
	"testing"

	"loopbroker/enginetest/churn"
)

// TestRun is not parallel: it looks at the heap.
func TestRun(t *testing.T) { //nolint:paralleltest // it looks at the heap
	for name, views := range map[string]bool{"without views": false, "with views": true} {
		t.Run(name, func(t *testing.T) {
			left, err := churn.Run(t.Context(), churn.Params{Rows: 20_000, Sessions: 4, Views: views})
			if err != nil {
				t.Fatal(err)
			}
			if !left.Nothing() {
				t.Errorf("left of the rows: %+v", left)
			}
		})
	}
}

func TestNothing(t *testing.T) {
	t.Parallel()
	if !(churn.Left{Heap: 1 << 20}).Nothing() {
		t.Error("what the runtime keeps counts as rows")
	}
	for _, left := range []churn.Left{{Records: 1}, {Versions: 1}, {Waiting: 1}, {Locks: 1}, {Heap: 1 << 30}} {
		if left.Nothing() {
			t.Errorf("%+v counts as nothing", left)
		}
	}
}

package turnover_test

import (
	"testing"

	"loopbroker/engine"
	"loopbroker/enginetest"
	"loopbroker/enginetest/turnover"
)

// TestRun is the short version. It is not parallel: it looks at the heap.
func TestRun(t *testing.T) { //nolint:paralleltest // it looks at the heap
	got, err := turnover.Run(t.Context(), enginetest.Server(t, engine.Options{}), turnover.Options{Rows: 5000, Sessions: 4})
	if err != nil {
		t.Fatal(err)
	}
	if !got.OK() || got.Rows < 5000 {
		t.Errorf("memory does not end where it began: %s", got)
	}
	t.Log(got)
}

// TestRunNotices: sessions that keep rows are noticed, by the rows and by the heap.
func TestRunNotices(t *testing.T) { //nolint:paralleltest // it looks at the heap
	got, err := turnover.Run(t.Context(), enginetest.Server(t, engine.Options{}), turnover.Options{Rows: 5000, Sessions: 4, WarmUp: 1000}.WithFault())
	if err != nil {
		t.Fatal(err)
	}
	if got.OK() || got.Kept == 0 || got.After-got.Before < 6<<20 {
		t.Errorf("rows that are kept are not noticed: %s", got)
	}
}

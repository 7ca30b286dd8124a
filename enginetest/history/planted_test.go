//go:build plantedfault

package history_test

import (
	"testing"
	"time"

	"loopbroker/enginetest/history"
)

// faultBound is how long a planted fault may stay unseen.
const faultBound = time.Minute

// TestPlantedFaultIsFound breaks the engine's locks and views in one way at a
// time. Each is found, and its seed shows it again.
func TestPlantedFaultIsFound(t *testing.T) {
	faults := []string{
		"skip-row-s", "skip-row-x", "skip-u", "skip-gap", "skip-insert-intention", "early-release", "stale-view", "skip-first-committer",
	}
	for _, fault := range faults {
		t.Run(fault, func(t *testing.T) {
			t.Setenv("LOOPBROKER_PLANT", fault)
			got, err := history.Campaign{Seed: 1, For: faultBound}.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Failures) == 0 {
				t.Fatalf("not found in %d histories", got.Histories)
			}
			f := got.Failures[0]
			t.Logf("found after %s in history %d\n%v", got.Elapsed.Round(time.Millisecond), got.Histories, f)
			if !f.Params.Parallel && f.Again == 0 {
				t.Errorf("seed %d did not show it again in %d runs", f.Params.Seed, f.Tries)
			}
		})
	}
}

// TestNoFault: without a planted fault the same program finds nothing.
func TestNoFault(t *testing.T) {
	run(t, 1, 3)
}

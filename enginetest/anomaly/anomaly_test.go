package anomaly_test

import (
	"testing"

	"loopbroker/enginetest"
	"loopbroker/enginetest/anomaly"
)

// TestMatrix runs every anomaly at every level.
func TestMatrix(t *testing.T) {
	t.Parallel()
	scripts, err := anomaly.Matrix()
	if err != nil {
		t.Fatal(err)
	}
	runAll(t, scripts)
}

// TestScenarios runs the scripts of lock hints, deadlocks, snapshots, time-outs.
func TestScenarios(t *testing.T) {
	t.Parallel()
	scripts, err := anomaly.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	runAll(t, scripts)
}

func runAll(t *testing.T, scripts []*anomaly.Script) {
	t.Helper()
	for _, s := range scripts {
		for _, c := range s.Cases {
			levels := c.Levels
			if len(levels) == 0 {
				levels = []anomaly.Level{""}
			}
			for _, l := range levels {
				t.Run(s.Name+"/"+c.Name+string(l), func(t *testing.T) {
					t.Parallel()
					out, err := anomaly.Run(t.Context(), enginetest.Open(t), s, c, l)
					if err != nil {
						t.Fatal(err)
					}
					for _, d := range out.Differences {
						t.Error(d)
					}
				})
			}
		}
	}
}

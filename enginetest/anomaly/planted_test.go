//go:build plantedfault

package anomaly_test

import (
	"strings"
	"testing"

	"loopbroker/enginetest/anomaly"
)

// TestPlantedFaults: with one lock or version rule left out, cells of the matrix
// are not what the documentation says, and are named.
func TestPlantedFaults(t *testing.T) {
	for _, tt := range []struct{ fault, anomaly string }{
		{"skip-row-s", "non-repeatable read"},
		{"skip-u", "lost update (read with UPDLOCK)"},
		{"skip-row-x", "dirty read"},
		{"skip-gap", "write skew over a range"},
		{"skip-insert-intention", "phantom (insert)"},
		{"early-release", "read skew"},
		{"skip-first-committer", "lost update (read, then write)"},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			t.Setenv("LOOPBROKER_PLANT", tt.fault)
			all, err := anomaly.Matrix()
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for _, s := range all {
				if s.Name != tt.anomaly {
					continue
				}
				err = anomaly.Print(t.Context(), &out, anomaly.Embedded, []*anomaly.Script{s})
			}
			if err == nil || !strings.Contains(err.Error(), "the documentation says") {
				t.Errorf("the fault was not found:\n%s%v", out.String(), err)
			}
		})
	}
}

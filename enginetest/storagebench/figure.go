package storagebench

import (
	"fmt"
	"io"
	"slices"
)

// Figure is one measurement.
type Figure struct {
	Benchmark string  `json:"benchmark"`
	Name      string  `json:"name"`
	Value     float64 `json:"value"`
	Unit      string  `json:"unit"`
	// Ratio is that to the contender named by Beside, 0 without one.
	Ratio  float64 `json:"ratio,omitempty"`
	Beside string  `json:"beside,omitempty"`
	// Target says what is to be reached, empty where nothing is.
	Target  string `json:"target,omitempty"`
	Reached bool   `json:"reached,omitempty"`
}

// Summary counts the targets.
type Summary struct {
	Reached int `json:"targets_reached"`
	Targets int `json:"targets"`
}

// String is the last line of a run.
func (s Summary) String() string {
	return fmt.Sprintf("bench-storage: targets reached %d of %d", s.Reached, s.Targets)
}

// add counts a figure.
func (s *Summary) add(f Figure) {
	if f.Target == "" {
		return
	}
	s.Targets++
	if f.Reached {
		s.Reached++
	}
}

// Header prints the names of the columns of Print.
func Header(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%-9s %-60s %12s %-12s %6s %-22s %s\n", "benchmark", "measured", "value", "unit", "ratio", "beside", "target")
	return err
}

// Print prints the figure as a line of a table.
func (f Figure) Print(w io.Writer) error {
	ratio, target := "", ""
	if f.Beside != "" {
		ratio = fmt.Sprintf("%.2f", f.Ratio)
	}
	if f.Target != "" {
		target = f.Target + ": not reached"
		if f.Reached {
			target = f.Target + ": reached"
		}
	}
	value := fmt.Sprintf("%.0f", f.Value)
	if f.Value < 100 {
		value = fmt.Sprintf("%.2f", f.Value)
	}
	_, err := fmt.Fprintf(w, "%-9s %-60s %12s %-12s %6s %-22s %s\n", f.Benchmark, f.Name, value, f.Unit, ratio, f.Beside, target)
	return err
}

// median returns the middle one of the values, 0 without any.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// ratios divides the rounds of one contender by those of another.
func ratios(of, by []float64) []float64 {
	out := make([]float64, min(len(of), len(by)))
	for i := range out {
		out[i] = of[i] / by[i]
	}
	return out
}

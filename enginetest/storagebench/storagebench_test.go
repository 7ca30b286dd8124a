package storagebench_test

import (
	"strings"
	"testing"

	"loopbroker/enginetest/storagebench"
)

// TestQuick runs every benchmark with sizes that take no time. What it measures
// means nothing; that there is something, and how much, does.
func TestQuick(t *testing.T) {
	t.Parallel()
	want := map[string]struct{ figures, targets int }{
		"memory":   {2, 2},
		"commits":  {8, 1},
		"claims":   {30, 24},
		"recovery": {3, 3},
	}
	for _, name := range storagebench.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			figures := 0
			sum, err := storagebench.Run(t.Context(), storagebench.Options{Only: name, Quick: true, Dir: t.TempDir()}, func(f storagebench.Figure) error {
				figures++
				if f.Benchmark != name || f.Name == "" || f.Unit == "" {
					t.Errorf("got %+v, want a figure of %s", f, name)
				}
				if f.Value <= 0 && name != "memory" || f.Beside != "" && f.Ratio <= 0 {
					t.Errorf("%s: got %v %s and a ratio of %v, want positive ones", f.Name, f.Value, f.Unit, f.Ratio)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if w := want[name]; figures != w.figures || sum.Targets != w.targets {
				t.Errorf("got %d figures with %d targets, want %d with %d", figures, sum.Targets, w.figures, w.targets)
			}
		})
	}
}

// TestUnknownName refuses a name that is none.
func TestUnknownName(t *testing.T) {
	t.Parallel()
	_, err := storagebench.Run(t.Context(), storagebench.Options{Only: "speed"}, func(storagebench.Figure) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "claims") {
		t.Errorf("got %v, want an error that lists the names", err)
	}
}

// TestPrint prints a line for each kind of figure.
func TestPrint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		figure storagebench.Figure
		want   []string
	}{
		{"plain", storagebench.Figure{Name: "bare", Value: 1234.4, Unit: "commits/s"}, []string{"1234", "commits/s"}},
		{"reached", storagebench.Figure{Value: 5, Ratio: 0.6, Beside: "bare", Target: "at least 0.5", Reached: true}, []string{"5.00", "0.60", "bare", "at least 0.5: reached"}},
		{"missed", storagebench.Figure{Target: "at least 0.5"}, []string{"at least 0.5: not reached"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			if err := tt.figure.Print(&b); err != nil {
				t.Fatal(err)
			}
			for _, w := range tt.want {
				if !strings.Contains(b.String(), w) {
					t.Errorf("got %q, want %q in it", b.String(), w)
				}
			}
		})
	}
	if got, want := (storagebench.Summary{Reached: 3, Targets: 5}).String(), "bench-storage: targets reached 3 of 5"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

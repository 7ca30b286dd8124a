package history

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Campaign runs histories of one seed after the other.
type Campaign struct {
	// Seed is that of the first history.
	Seed uint64
	// Histories is how many to run, 0 for as many as there is time for.
	Histories int
	// For is how long to run, at least one history.
	For time.Duration
	// Failures is after how many histories with faults to stop.
	//
	// Defaults to 1.
	Failures int
	// Progress is told after each history, when it is not nil.
	Progress func(Totals)
	// Failed is told each history with faults, when it is not nil.
	Failed func(Failure)
}

// Totals are what a campaign has done so far.
type Totals struct {
	Seed         uint64 // of the last history
	Histories    int
	Transactions int
	Committed    int
	Waits        int // statements that were seen waiting
	Failures     []Failure
	Elapsed      time.Duration
}

// Failure is a history with faults.
type Failure struct {
	Params Params
	Faults []Fault
	// Again and Tries tell how often the seed has shown a fault again.
	Again, Tries int
}

// shown is how many faults of a history are written out: most have one cause.
const shown = 3

// String explains the failure.
func (f Failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d fails (%s)\n", f.Params.Seed, f.Params)
	if f.Tries > 0 {
		fmt.Fprintf(&b, "run again: fails %d times of %d\n", f.Again, f.Tries)
	}
	for i, fault := range f.Faults {
		if i == shown {
			fmt.Fprintf(&b, "… and %d more\n", len(f.Faults)-shown)
			break
		}
		b.WriteString(fault.String())
	}
	return b.String()
}

// tries is how often a failing seed is run again.
const tries = 3

// Run runs the histories. Its error is that they could not be run; the
// failures are in the Totals.
func (c Campaign) Run(ctx context.Context) (Totals, error) {
	begun := time.Now()
	t := Totals{Seed: c.Seed}
	for n := 0; ; n++ {
		t.Elapsed = time.Since(begun)
		if c.Histories > 0 && n == c.Histories || c.Histories == 0 && n > 0 && t.Elapsed >= c.For || len(t.Failures) >= max(c.Failures, 1) {
			return t, nil
		}
		t.Seed = c.Seed + uint64(n)
		p := ParamsOf(t.Seed)
		h, err := Run(ctx, p)
		if err != nil {
			return t, err
		}
		all, committed := h.Transactions()
		t.Histories++
		t.Transactions += all
		t.Committed += committed
		t.Waits += h.waits
		if faults := Check(h); len(faults) > 0 {
			f := Failure{Params: p, Faults: faults}
			if err := f.again(ctx); err != nil {
				return t, err
			}
			t.Failures = append(t.Failures, f)
			if c.Failed != nil {
				c.Failed(f)
			}
		}
		if c.Progress != nil {
			t.Elapsed = time.Since(begun)
			c.Progress(t)
		}
	}
}

// again runs the seed of a failure again.
func (f *Failure) again(ctx context.Context) error {
	for f.Tries < tries {
		h, err := Run(ctx, f.Params)
		if err != nil {
			return err
		}
		f.Tries++
		if len(Check(h)) > 0 {
			f.Again++
		}
	}
	return nil
}

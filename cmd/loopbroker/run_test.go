package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestDemo(t *testing.T) {
	t.Parallel()
	code, out, errs := command(t, "demo")
	if code != exitOK {
		t.Fatalf("got code %d; %s%s", code, errs, out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	last := lines[len(lines)-len(steps()):]
	for i, s := range steps() {
		if !strings.HasPrefix(last[i], "ok ") || !strings.Contains(last[i], s.title) {
			t.Errorf("line %d: got %q, want ok and %q", i, last[i], s.title)
		}
	}
	wantAll(t, out, "EXEC @code = dbo.sp_api_request", "5 of 5 times = 100 %", "@@TRANCOUNT = 1")

	code, quiet, _ := command(t, "demo", "--quiet")
	if n := strings.Count(quiet, "\n"); code != exitOK || n != len(steps()) {
		t.Errorf("quiet: code %d, %d lines, want %d:\n%s", code, n, len(steps()), quiet)
	}
}

func TestBench(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"in memory": {"--requests", "20", "--concurrency", "2"},
		"over TCP":  {"--requests", "10", "--concurrency", "2", "--tcp"},
		"on disk":   {"--requests", "10", "--concurrency", "2", "--durability", "full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := command(t, append([]string{"bench", "--json"}, args...)...)
			if code != exitOK {
				t.Fatalf("got code %d; %s%s", code, errs, out)
			}
			var names []string
			for line := range strings.Lines(out) {
				var r result
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				names = append(names, r.Scenario)
				calls := int64(r.Requests)
				if r.Scenario == "direct" {
					calls = 0
				}
				if r.Failed != 0 || r.PerSecond <= 0 || r.P50 <= 0 || r.P99 < r.P50 || r.LoopbackCalls != calls || r.MaxRSS <= 0 {
					t.Errorf("got %+v", r)
				}
			}
			if got := strings.Join(names, " "); got != "fire-and-forget wait direct" {
				t.Errorf("got scenarios %s", got)
			}
		})
	}
}

func TestBenchTable(t *testing.T) {
	t.Parallel()
	code, out, errs := command(t, "bench", "--scenario", "direct", "--requests", "3", "--concurrency", "1")
	if code != exitOK {
		t.Fatalf("got code %d; %s", code, errs)
	}
	wantAll(t, out, "per second", "direct")
	if n := strings.Count(out, "\n"); n != 2 {
		t.Errorf("got %d lines, want 2:\n%s", n, out)
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	var values []time.Duration
	for i := range 100 {
		values = append(values, time.Duration(i+1))
	}
	for _, tt := range []struct {
		values []time.Duration
		p      int
		want   time.Duration
	}{
		{nil, 50, 0},
		{values[:1], 50, 1},
		{values[:1], 99, 1},
		{values[:2], 50, 1},
		{values[:3], 50, 2},
		{values, 50, 50},
		{values, 99, 99},
		{values, 100, 100},
	} {
		if got := percentile(tt.values, tt.p); got != tt.want {
			t.Errorf("percentile %d of %d values: got %d, want %d", tt.p, len(tt.values), got, tt.want)
		}
	}
}

func TestFleetKill(t *testing.T) {
	t.Parallel()
	code, out, errs := command(t, "fleet-kill", "--requests", "300", "--callers", "16", "--lease", "2s")
	if code != exitOK {
		t.Fatalf("got code %d; %s%s", code, errs, out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if got, want := lines[len(lines)-1], "requests 300, replies 300, doubled 0, lost 0"; got != want {
		t.Errorf("last line: got %q, want %q", got, want)
	}
	wantAll(t, out, "half-way: SIGKILL to the processes")
}

// TestLedger plants what the ledger is there to see.
func TestLedger(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	base := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(ms int) time.Time { return base.Add(time.Duration(ms) * time.Millisecond) }
	l := newLedger(6)
	for _, r := range []struct {
		n  int
		at time.Time
	}{
		{1, at(0)},               // once
		{2, at(0)}, {2, at(999)}, // within its lease
		{3, at(0)}, {3, at(1000)}, // after it
		{4, at(10)}, {4, at(1001)}, // after the lease that is known to have ended at 1000
		{5, at(0)}, {5, at(1200)}, // within the renewed lease
		{7, at(0)}, // no such request
	} {
		if got, want := l.begin(r.n, r.at), r.n < 7; got != want {
			t.Errorf("begin(%d): got %v, want %v", r.n, got, want)
		}
	}
	l.leased(map[int]time.Time{4: at(1000), 5: at(1500)})
	runs, again, doubled, unseen := l.tally(lease)
	if runs != 9 || again != 4 || doubled != 2 || unseen != 1 {
		t.Errorf("got %d runs, %d again, %d doubled, %d unseen; want 9, 4, 2, 1", runs, again, doubled, unseen)
	}
}

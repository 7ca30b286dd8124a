package httpfetch

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"loopbroker"
)

// newHost returns a host with the limits, as one of so many workers.
func newHost(l limits, workers int) *host {
	h := &host{key: "http://h:80"}
	h.configure(l.share(workers), time.Time{})
	return h
}

// mustEnter begins a visit that has to be let in.
func mustEnter(t *testing.T, h *host) *visit {
	t.Helper()
	v, err := h.enter()
	if err != nil {
		t.Fatalf("enter: %v", err)
	}
	return v
}

// mustGiveBack makes a visit that has to be given back with the class, and returns
// the pause.
func mustGiveBack(t *testing.T, h *host, class loopbroker.ErrorClass) time.Duration {
	t.Helper()
	v, err := h.enter()
	var f *loopbroker.Fault
	if !errors.As(err, &f) || f.Class != class || !f.Deferred || !f.Retryable {
		t.Fatalf("enter = %v, %v, want a deferral of class %s", v, err, class)
	}
	if f.RetryAfter <= 0 {
		t.Fatalf("the pause is %s", f.RetryAfter)
	}
	return f.RetryAfter
}

// fail makes n attempts that fail.
func fail(t *testing.T, h *host, n int) {
	t.Helper()
	for range n {
		mustEnter(t, h).leave(errFailed, loopbroker.ErrorClassConnect)
	}
}

func TestHost_Concurrency(t *testing.T) {
	t.Parallel()
	h := newHost(limits{concurrency: 2}, 1)
	a, b := mustEnter(t, h), mustEnter(t, h)
	mustGiveBack(t, h, loopbroker.ErrorClassHostBusy)
	a.leave(nil, "")
	a.leave(nil, "") // the second time does nothing
	c := mustEnter(t, h)
	mustGiveBack(t, h, loopbroker.ErrorClassHostBusy)
	b.leave(errNeutral, "")
	c.leave(errFailed, loopbroker.ErrorClassDNS)
	if s := h.state(); s.InFlight != 0 || s.Deferred != 2 || s.Breaker != loopbroker.BreakerClosed {
		t.Errorf("state = %+v", s)
	}
}

// TestHost_Rate: a limit of the whole fleet holds, although each worker keeps its
// own count; the limits that users were promised elsewhere had no effect.
func TestHost_Rate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const workers, perSecond, seconds = 4, 10, 60
		fleet := make([]*host, workers)
		for i := range fleet {
			fleet[i] = newHost(limits{perSecond: perSecond, burst: 1}, workers)
		}
		passed := 0
		for end := time.Now().Add(seconds * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) { // fake time
			for _, h := range fleet {
				if v, err := h.enter(); err == nil {
					passed++
					v.leave(nil, "")
				}
			}
		}
		if low, high := perSecond*seconds*95/100, perSecond*seconds+workers; passed < low || passed > high {
			t.Errorf("%d requests in %d s, want %d to %d", passed, seconds, low, high)
		}
	})
}

// TestHost_Line: jobs that meet a limit together come back one after the other, when
// there is room, instead of all at once again and again.
func TestHost_Line(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(limits{perSecond: 10, burst: 1}, 1)
		mustEnter(t, h).leave(nil, "")
		last := time.Duration(0)
		for i := range 200 {
			pause := mustGiveBack(t, h, loopbroker.ErrorClassHostBusy)
			if pause <= last || pause > time.Duration(i+1)*100*time.Millisecond {
				t.Fatalf("job %d waits %s after one that waits %s", i, pause, last)
			}
			last = pause
		}
		for range 1000 {
			if pause := mustGiveBack(t, h, loopbroker.ErrorClassHostBusy); pause > maxDeferral {
				t.Fatalf("a job waits %s, over the longest pause", pause)
			}
		}
	})
}

// TestHost_Breaker walks the breaker around its states.
func TestHost_Breaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(limits{failures: 3, open: 10 * time.Second}, 1)
		fail(t, h, 2)
		if s := h.state(); s.Breaker != loopbroker.BreakerClosed || s.Failures != 2 || s.LastFailure != loopbroker.ErrorClassConnect {
			t.Errorf("after two failures: %+v", s)
		}
		fail(t, h, 1)
		if s := h.state(); s.Breaker != loopbroker.BreakerOpen || s.OpenFor != 10*time.Second {
			t.Errorf("after three failures: %+v", s)
		}
		time.Sleep(4 * time.Second) // fake time
		if pause := mustGiveBack(t, h, loopbroker.ErrorClassHostOpen); pause < 6*time.Second || pause > 7*time.Second {
			t.Errorf("given back for %s, want what is left of 10 s", pause)
		}
		time.Sleep(7 * time.Second)

		// Half open: one probe, and nobody beside it.
		probe := mustEnter(t, h)
		for range 5 {
			mustGiveBack(t, h, loopbroker.ErrorClassHostOpen)
		}
		if s := h.state(); s.Breaker != loopbroker.BreakerHalfOpen || s.InFlight != 1 {
			t.Errorf("while it is probed: %+v", s)
		}
		probe.leave(errNeutral, "") // called off: says nothing, and leaves room for another
		mustEnter(t, h).leave(errFailed, loopbroker.ErrorClassTimeoutHeader)
		if s := h.state(); s.Breaker != loopbroker.BreakerOpen || s.OpenFor != 10*time.Second {
			t.Errorf("after a probe that failed: %+v", s)
		}
		time.Sleep(11 * time.Second)
		mustEnter(t, h).leave(nil, "")
		if s := h.state(); s.Breaker != loopbroker.BreakerClosed || s.Failures != 0 {
			t.Errorf("after a probe that did not: %+v", s)
		}
		mustEnter(t, h).leave(nil, "")
	})
}

// TestHost_BreakerCounts states what opens it.
func TestHost_BreakerCounts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		run  func(t *testing.T, h *host)
		want loopbroker.BreakerState
	}{
		{"every second attempt fails", func(t *testing.T, h *host) {
			for range 5 {
				mustEnter(t, h).leave(nil, "")
				fail(t, h, 1)
			}
		}, loopbroker.BreakerOpen},
		{"one in four fails", func(t *testing.T, h *host) {
			for range 20 {
				for range 3 {
					mustEnter(t, h).leave(nil, "")
				}
				fail(t, h, 1)
			}
		}, loopbroker.BreakerClosed},
		{"failures of long ago", func(t *testing.T, h *host) {
			for range 20 {
				fail(t, h, 1)
				time.Sleep(20 * time.Second) // fake time
			}
		}, loopbroker.BreakerClosed},
		{"nothing but what says nothing", func(t *testing.T, h *host) {
			for range 20 {
				mustEnter(t, h).leave(errNeutral, "")
			}
		}, loopbroker.BreakerClosed},
		{"late reports of before it opened", func(t *testing.T, h *host) {
			late := mustEnter(t, h)
			fail(t, h, 5)
			late.leave(nil, "")
		}, loopbroker.BreakerOpen},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHost(limits{failures: 5}, 1)
				tt.run(t, h)
				if s := h.state(); s.Breaker != tt.want || s.InFlight != 0 {
					t.Errorf("state = %+v, want %s", s, tt.want)
				}
			})
		})
	}
}

// TestHost_RateKeepsTheProbe: a probe that meets the rate is not lost.
func TestHost_RateKeepsTheProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(limits{failures: 1, open: time.Millisecond, perSecond: 1, burst: 1}, 1)
		fail(t, h, 1)
		time.Sleep(2 * time.Millisecond) // fake time
		for range 3 {
			mustGiveBack(t, h, loopbroker.ErrorClassHostBusy)
		}
		time.Sleep(time.Second)
		mustEnter(t, h).leave(nil, "")
		if s := h.state(); s.Breaker != loopbroker.BreakerClosed {
			t.Errorf("state = %+v", s)
		}
	})
}

func TestHost_Reset(t *testing.T) {
	t.Parallel()
	h := &Handler{}
	set := func(at time.Time, l limits) {
		h.hosts.configure(map[string]limits{"http://h:80": l.share(1)}, map[string]time.Time{"http://h:80": at})
	}
	l := limits{failures: 2, open: time.Hour}
	long := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	set(long, l)
	one := h.hosts.find("http://h:80")
	want := func(step string, state loopbroker.BreakerState) {
		t.Helper()
		if s := h.HostStates(); len(s) != 1 || s[0].Breaker != state || s[0].Host != "http://h:80" {
			t.Errorf("%s: states = %+v, want %s", step, s, state)
		}
	}
	fail(t, one, 2)
	want("failed", loopbroker.BreakerOpen)
	set(long, l)
	want("the same policy again", loopbroker.BreakerOpen)
	set(long, limits{failures: 2, open: time.Hour, concurrency: 5, perSecond: 100})
	want("other limits", loopbroker.BreakerOpen)
	set(long.Add(time.Second), l)
	want("an admin asks", loopbroker.BreakerClosed)
	fail(t, one, 2)
	if h.ResetHost("http://other:80") || !h.ResetHost("http://h:80") {
		t.Error("ResetHost does not tell a host from none")
	}
	want("this process is asked", loopbroker.BreakerClosed)
	if s := h.HostStates(); s[0].Failures != 0 || s[0].LastFailure != "" {
		t.Errorf("after the reset: %+v", s[0])
	}
	fail(t, one, 2)
	set(long.Add(time.Second), limits{})
	want("no breaker any more", loopbroker.BreakerClosed)
	mustEnter(t, one).leave(errFailed, loopbroker.ErrorClassDNS)
}

// TestHosts_Forgotten keeps a host that the policy has lost while it is in use.
func TestHosts_Forgotten(t *testing.T) {
	t.Parallel()
	h := &Handler{}
	h.hosts.configure(map[string]limits{"a": {concurrency: 1}, "b": {}}, nil)
	v := mustEnter(t, h.hosts.find("a"))
	h.hosts.configure(nil, nil)
	if h.hosts.find("a") == nil || h.hosts.find("b") != nil {
		t.Errorf("states = %+v, want only the host in use", h.HostStates())
	}
	v.leave(nil, "")
	h.hosts.configure(nil, nil)
	if s := h.HostStates(); len(s) != 0 {
		t.Errorf("states = %+v, want none", s)
	}
}

func TestLimits_Share(t *testing.T) {
	t.Parallel()
	tests := []struct {
		limits  limits
		workers int
		want    limits
	}{
		{limits{}, 3, limits{open: defaultOpen}},
		{limits{concurrency: 10, perSecond: 10}, 1, limits{concurrency: 10, perSecond: 10, burst: 10, open: defaultOpen}},
		{limits{concurrency: 10, perSecond: 10, burst: 8}, 4, limits{concurrency: 2, perSecond: 2.5, burst: 2, open: defaultOpen}},
		{limits{concurrency: 2, perSecond: 2, open: time.Second}, 8, limits{concurrency: 1, perSecond: 0.25, burst: 1, open: time.Second}},
	}
	for _, tt := range tests {
		if got := tt.limits.share(tt.workers); got != tt.want {
			t.Errorf("%+v for %d: %+v, want %+v", tt.limits, tt.workers, got, tt.want)
		}
	}
}

// TestVerdict states what each class says about a host. A class that is new must be
// thought about here.
func TestVerdict(t *testing.T) {
	t.Parallel()
	opts := Options{}.WithDefaults()
	failed := map[loopbroker.ErrorClass]bool{
		"dns": true, "connect": true, "tls": true, "certificate": true, "connection_lost": true, "http_protocol": true,
		"timeout_connect": true, "timeout_tls": true, "timeout_header": true, "timeout_body": true, "timeout_attempt": true, "timeout_total": true,
	}
	answered := map[loopbroker.ErrorClass]bool{"too_large_reply": true, "redirect": true}
	for _, class := range loopbroker.ErrorClasses() {
		got := verdict(class, time.Minute, &opts)
		switch {
		case failed[class] && !errors.Is(got, errFailed),
			answered[class] && got != nil,
			!failed[class] && !answered[class] && !errors.Is(got, errNeutral):
			t.Errorf("%s: %v", class, got)
		}
	}
	if got := verdict(loopbroker.ErrorClassTimeoutHeader, time.Millisecond, &opts); !errors.Is(got, errNeutral) {
		t.Errorf("a caller who gives it a millisecond: %v, want nothing about the host", got)
	}
	for status, want := range map[int]error{200: nil, 404: nil, 429: nil, 500: errFailed, 503: errFailed} {
		if got := statusVerdict(status); !errors.Is(got, want) {
			t.Errorf("status %d: %v, want %v", status, got, want)
		}
	}
}

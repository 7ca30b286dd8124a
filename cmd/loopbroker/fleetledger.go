package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// runTime is how long the service takes for an answer, so that a killed worker
// has requests in flight.
const runTime = 5 * time.Millisecond

// ledger is a service that records every run of every request.
type ledger struct {
	mu    sync.Mutex
	runs  [][]time.Time     // when each run of a request began; index 0 is unused
	until map[int]time.Time // ends of the leases that lived after the kill
}

func newLedger(requests int) *ledger {
	return &ledger{runs: make([][]time.Time, requests+1), until: map[int]time.Time{}}
}

// answerTo is what the service answers to request n.
func answerTo(n int) string { return fmt.Sprintf("answer %d", n) }

// ServeHTTP implements http.Handler.
func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/run/"))
	if err != nil || !l.begin(n, time.Now()) {
		http.NotFound(w, r)
		return
	}
	select {
	case <-time.After(runTime):
	case <-r.Context().Done():
		return
	}
	_, _ = fmt.Fprint(w, answerTo(n))
}

// begin notes a run and reports whether there is such a request.
func (l *ledger) begin(n int, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < 1 || n >= len(l.runs) {
		return false
	}
	l.runs[n] = append(l.runs[n], at)
	return true
}

// leased notes the ends of leases, by the database's clock, which is this
// process's.
func (l *ledger) leased(until map[int]time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, t := range until {
		l.until[n] = t
	}
}

// tally counts all runs, those that were not the first of their request, those
// among them that began within the lease before, and the requests without a run.
//
// A lease begins a moment before its run. For the requests that were leased when
// workers were killed its end is known; for all others the start of the run
// before is taken for the start of the lease, which errs on the strict side.
func (l *ledger) tally(lease time.Duration) (runs, again, doubled, unseen int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, starts := range l.runs {
		if n == 0 {
			continue
		}
		if len(starts) == 0 {
			unseen++
		}
		runs += len(starts)
		for i := 1; i < len(starts); i++ {
			again++
			end, known := l.until[n]
			if !known || i > 1 {
				end = starts[i-1].Add(lease)
			}
			if starts[i].Before(end) {
				doubled++
			}
		}
	}
	return runs, again, doubled, unseen
}

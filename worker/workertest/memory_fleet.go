package workertest

import (
	"context"
	"maps"
	"slices"
	"time"

	"loopbroker"
)

// OnComplete gives a queued request a completion procedure. It gets three runs, with
// a second between them.
func (m *Memory) OnComplete(requestID int64, timeout time.Duration, run func(context.Context) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.after[requestID] = &completion{run: run, timeout: timeout}
}

// SetPolicy sets what Policy returns.
func (m *Memory) SetPolicy(p loopbroker.Policy) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.policy = p
}

// Hosts returns what the last beat with news said about hosts.
func (m *Memory) Hosts() []loopbroker.HostState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.hosts)
}

// Policy implements loopbroker.PolicySource.
func (m *Memory) Policy(ctx context.Context) (loopbroker.Policy, error) {
	if err := m.begin(ctx, "Policy"); err != nil {
		return loopbroker.Policy{}, err
	}
	defer m.mu.Unlock()
	return m.policy, nil
}

// dueCompletions returns the requests whose completion procedures are due. The store
// is locked.
func (m *Memory) dueCompletions(now time.Time) []int64 {
	var out []int64
	for _, id := range slices.Sorted(maps.Keys(m.after)) {
		if c := m.after[id]; !c.due.IsZero() && !c.due.After(now) && c.token.IsZero() {
			out = append(out, id)
		}
	}
	return out
}

// DueCompletions implements loopbroker.Completer. A lease on one never lapses.
func (m *Memory) DueCompletions(ctx context.Context, n int) ([]loopbroker.DueCompletion, error) {
	if err := m.begin(ctx, "DueCompletions"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	due := m.dueCompletions(m.Now())
	var out []loopbroker.DueCompletion
	for _, id := range due[:min(n, len(due))] {
		c := m.after[id]
		c.token = newUUID()
		c.attempts++
		out = append(out, loopbroker.DueCompletion{Lease: loopbroker.Lease{RequestID: id, Token: c.token}, Timeout: c.timeout})
	}
	return out, nil
}

// held returns the completion procedure of a lease, or nil. The store is locked.
func (m *Memory) held(d loopbroker.DueCompletion) *completion {
	c := m.after[d.Lease.RequestID]
	if c == nil || c.token != d.Lease.Token {
		return nil
	}
	return c
}

// RunCompletion implements loopbroker.Completer.
func (m *Memory) RunCompletion(ctx context.Context, d loopbroker.DueCompletion) (loopbroker.CompletionOutcome, error) {
	if err := m.begin(ctx, "RunCompletion"); err != nil {
		return 0, err
	}
	c := m.held(d)
	m.mu.Unlock()
	if c == nil {
		return loopbroker.CompletionLost, nil
	}
	err := c.run(ctx)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		delete(m.after, d.Lease.RequestID)
		return loopbroker.CompletionDone, nil
	}
	return m.fail(d), nil
}

// FailCompletion implements loopbroker.Completer.
func (m *Memory) FailCompletion(ctx context.Context, d loopbroker.DueCompletion, _ string) (loopbroker.CompletionOutcome, error) {
	if err := m.begin(ctx, "FailCompletion"); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	return m.fail(d), nil
}

// fail notes a run that failed. The store is locked.
func (m *Memory) fail(d loopbroker.DueCompletion) loopbroker.CompletionOutcome {
	c := m.held(d)
	switch {
	case c == nil:
		return loopbroker.CompletionLost
	case c.attempts >= completionAttempts:
		delete(m.after, d.Lease.RequestID)
		return loopbroker.CompletionBuried
	default:
		c.token, c.due = loopbroker.UUID{}, m.Now().Add(time.Second)
		return loopbroker.CompletionRetried
	}
}

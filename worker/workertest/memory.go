package workertest

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"loopbroker"
)

// Memory is a store in memory, for tests. It keeps the promises of
// loopbroker.Queue, loopbroker.Registry and loopbroker.Janitor. Use NewMemory.
type Memory struct {
	// Now is the store's clock. Set it before the first call.
	//
	// Defaults to time.Now.
	Now func() time.Time

	// Fail is called at the start of each method with its name; if it returns an
	// error, the method does nothing and returns it. It must be safe for concurrent
	// use. Set it before the first call.
	//
	// Defaults to no faults.
	Fail func(method string) error

	// DeferOver makes Claim defer content of more bytes than this. Set it before
	// the first call.
	//
	// Defaults to 64 KiB.
	DeferOver int

	mu      sync.Mutex
	nextID  int64                            // guarded by mu
	rows    map[loopbroker.UUID]*row         // guarded by mu; the queue
	calls   map[int64]loopbroker.Request     // guarded by mu
	replies map[int64]loopbroker.Reply       // guarded by mu
	workers map[string]loopbroker.WorkerInfo // guarded by mu
	buried  map[int64]string                 // guarded by mu; reasons
	counts  map[string]int                   // guarded by mu; calls of each method
	hosts   []loopbroker.HostState           // guarded by mu; of the last beat with news
	policy  loopbroker.Policy                // guarded by mu
	after   map[int64]*completion            // guarded by mu; by request
}

// completion is the completion procedure of a request.
type completion struct {
	run      func(context.Context) error
	timeout  time.Duration
	token    loopbroker.UUID // zero if free
	due      time.Time       // zero until there is a reply
	attempts int
}

// completionAttempts is how often a completion procedure is run.
const completionAttempts = 3

// row is one row of the queue.
type row struct {
	requestID   int64
	messageID   loopbroker.UUID
	lane        loopbroker.Lane
	created     time.Time
	available   time.Time
	expires     time.Time // zero if never
	lockedUntil time.Time // zero if free
	token       loopbroker.UUID
	attempts    int
	cancelled   bool
	misplaced   bool
}

var (
	_ loopbroker.Queue        = (*Memory)(nil)
	_ loopbroker.Registry     = (*Memory)(nil)
	_ loopbroker.Janitor      = (*Memory)(nil)
	_ loopbroker.Completer    = (*Memory)(nil)
	_ loopbroker.PolicySource = (*Memory)(nil)
)

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{
		Now:       time.Now,
		Fail:      func(string) error { return nil },
		DeferOver: 64 << 10,
		rows:      map[loopbroker.UUID]*row{},
		calls:     map[int64]loopbroker.Request{},
		replies:   map[int64]loopbroker.Reply{},
		workers:   map[string]loopbroker.WorkerInfo{},
		buried:    map[int64]string{},
		counts:    map[string]int{},
		after:     map[int64]*completion{},
	}
}

// begin counts a call and lets the test fail it. On success the store is locked.
func (m *Memory) begin(ctx context.Context, method string) error {
	m.mu.Lock()
	m.counts[method]++
	m.mu.Unlock()
	if err := m.Fail(method); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	return nil
}

// newUUID returns a random identifier.
func newUUID() loopbroker.UUID {
	var u loopbroker.UUID
	binary.NativeEndian.PutUint64(u[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(u[8:], rand.Uint64())
	return u
}

// Enqueue stores a request and returns its id. MaxAttempts defaults to 3 and Lane
// to LaneNormal.
func (m *Memory) Enqueue(r loopbroker.Request) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.MaxAttempts = cmp.Or(r.MaxAttempts, 3)
	r.Lane = cmp.Or(r.Lane, loopbroker.LaneNormal)
	m.nextID++
	now := m.Now()
	q := &row{requestID: m.nextID, messageID: newUUID(), lane: r.Lane, created: now, available: now.Add(r.Due)}
	if r.Expires > 0 {
		q.expires = now.Add(r.Expires)
	}
	m.calls[m.nextID] = r
	m.rows[q.messageID] = q
	return m.nextID
}

// EnqueueMisplaced is Enqueue for a request whose row was put where every worker
// looks, whatever its type.
func (m *Memory) EnqueueMisplaced(r loopbroker.Request) int64 {
	id := m.Enqueue(r)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, q := range m.rows {
		if q.requestID == id {
			q.misplaced = true
		}
	}
	return id
}

// EnqueuePoison stores a queue row that names no request.
func (m *Memory) EnqueuePoison() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.Now()
	q := &row{messageID: newUUID(), lane: loopbroker.LaneNormal, created: now, available: now}
	m.rows[q.messageID] = q
}

// Cancel calls a queued or running request off: Heartbeat reports it.
func (m *Memory) Cancel(requestID int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, q := range m.rows {
		if q.requestID == requestID {
			q.cancelled = true
		}
	}
}

// Reply returns the reply of a request, if there is one.
func (m *Memory) Reply(requestID int64) (loopbroker.Reply, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.replies[requestID]
	return r, ok
}

// Buried returns the reason for which a request was buried, if it was. Rows
// without a request are under 0.
func (m *Memory) Buried(requestID int64) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	reason, ok := m.buried[requestID]
	return reason, ok
}

// Queued returns how many rows are in the queue, leased ones included.
func (m *Memory) Queued() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.rows)
}

// Attempts returns how often a queued request has been claimed.
func (m *Memory) Attempts(requestID int64) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, q := range m.rows {
		if q.requestID == requestID {
			return q.attempts
		}
	}
	return 0
}

// Workers returns the registered processes by ID.
func (m *Memory) Workers() map[string]loopbroker.WorkerInfo {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.workers)
}

// Forget removes a registered process behind its back.
func (m *Memory) Forget(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.workers, id)
}

// Count returns how often a method was called.
func (m *Memory) Count(method string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counts[method]
}

// Claim implements loopbroker.Queue.
func (m *Memory) Claim(ctx context.Context, ask loopbroker.ClaimRequest) (loopbroker.Claimed, error) {
	if ask.N < 1 || ask.Lease <= 0 || len(ask.Types) == 0 {
		return loopbroker.Claimed{}, fmt.Errorf("%w: claim of %d for %s of the types %q", loopbroker.ErrInvalid, ask.N, ask.Lease, ask.Types)
	}
	if err := m.begin(ctx, "Claim"); err != nil {
		return loopbroker.Claimed{}, err
	}
	defer m.mu.Unlock()

	now := m.Now()
	var due []*row
	for _, q := range m.rows {
		call, known := m.calls[q.requestID]
		served := !known || q.misplaced || slices.Contains(ask.Types, call.Type)
		if served && !q.available.After(now) && !q.lockedUntil.After(now) {
			due = append(due, q)
		}
	}
	lanes := loopbroker.Lanes()
	slices.SortFunc(due, func(a, b *row) int {
		return cmp.Or(
			cmp.Compare(slices.Index(lanes, a.lane), slices.Index(lanes, b.lane)),
			a.available.Compare(b.available), a.created.Compare(b.created), cmp.Compare(a.requestID, b.requestID))
	})
	due = due[:min(ask.N, len(due))]
	out := loopbroker.Claimed{CompletionsDue: len(m.dueCompletions(now)) > 0}
	for _, q := range due {
		waited := now.Sub(q.available)
		q.attempts++
		q.token = newUUID()
		q.lockedUntil = now.Add(ask.Lease)
		q.available = q.lockedUntil
		out.Deliveries = append(out.Deliveries, m.delivery(q, now, waited))
	}
	return out, nil
}

// delivery returns what Claim hands out for a row. The store is locked.
func (m *Memory) delivery(q *row, now time.Time, waited time.Duration) loopbroker.Delivery {
	d := loopbroker.Delivery{
		Lease: loopbroker.Lease{RequestID: q.requestID, MessageID: q.messageID, Token: q.token},
		Lane:  q.lane,
	}
	call, ok := m.calls[q.requestID]
	if !ok {
		d.Poison = "the queue row names no request"
		return d
	}
	d.Job = loopbroker.Job{
		RequestID: q.requestID, Type: call.Type, Attempt: q.attempts, MaxAttempts: call.MaxAttempts,
		AttemptTimeout: call.AttemptTimeout, Queued: waited, Age: now.Sub(q.created),
		Expired: q.attempts == 1 && !q.expires.IsZero() && !q.expires.After(now),
	}
	if d.Deferred = len(call.JSON)+len(call.Body) > m.DeferOver; !d.Deferred {
		d.Job.JSON, d.Job.Body = call.JSON, slices.Clone(call.Body)
	}
	return d
}

// leased returns the row of a lease, or nil if the lease was lost. The store is
// locked.
func (m *Memory) leased(l loopbroker.Lease) *row {
	q := m.rows[l.MessageID]
	if q == nil || q.token != l.Token || q.token.IsZero() {
		return nil
	}
	return q
}

// Load implements loopbroker.Queue.
func (m *Memory) Load(ctx context.Context, l loopbroker.Lease) (string, []byte, error) {
	if err := m.begin(ctx, "Load"); err != nil {
		return "", nil, err
	}
	defer m.mu.Unlock()
	if m.leased(l) == nil {
		return "", nil, fmt.Errorf("load request %d: %w", l.RequestID, loopbroker.ErrLeaseLost)
	}
	call := m.calls[l.RequestID]
	return call.JSON, slices.Clone(call.Body), nil
}

// Complete implements loopbroker.Queue.
func (m *Memory) Complete(ctx context.Context, batch []loopbroker.Completion) ([]loopbroker.Settlement, error) {
	if err := m.begin(ctx, "Complete"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	for _, c := range batch {
		if !c.Reply.State.Final() || c.Lease.RequestID == 0 {
			return nil, fmt.Errorf("%w: completion of request %d with state %q", loopbroker.ErrInvalid, c.Lease.RequestID, c.Reply.State)
		}
	}
	out := make([]loopbroker.Settlement, len(batch))
	for i, c := range batch {
		if m.leased(c.Lease) == nil {
			out[i] = loopbroker.SettledLost
			continue
		}
		delete(m.rows, c.Lease.MessageID)
		out[i] = m.store(c)
	}
	return out, nil
}

// store inserts a reply unless there is one. The store is locked.
func (m *Memory) store(c loopbroker.Completion) loopbroker.Settlement {
	if _, ok := m.replies[c.Lease.RequestID]; ok {
		return loopbroker.SettledAnswered
	}
	m.replies[c.Lease.RequestID] = c.Reply
	if after := m.after[c.Lease.RequestID]; after != nil {
		after.due = m.Now()
	}
	return loopbroker.Settled
}

// Release implements loopbroker.Queue.
func (m *Memory) Release(ctx context.Context, l loopbroker.Lease, delay time.Duration, refund bool) (loopbroker.Settlement, error) {
	if err := m.begin(ctx, "Release"); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	if after := m.after[l.RequestID]; after != nil && after.token == l.Token && !l.Token.IsZero() {
		after.token, after.due = loopbroker.UUID{}, m.Now().Add(delay)
		after.attempts--
		return loopbroker.Settled, nil
	}
	q := m.leased(l)
	if q == nil {
		return loopbroker.SettledLost, nil
	}
	if q.cancelled {
		delete(m.rows, l.MessageID)
		return m.store(loopbroker.Completion{Lease: l, Reply: loopbroker.Reply{
			State: loopbroker.StateCancelled, ErrorClass: loopbroker.ErrorClassCancelled, Attempts: q.attempts,
		}}), nil
	}
	q.token, q.lockedUntil = loopbroker.UUID{}, time.Time{}
	q.available = m.Now().Add(delay)
	if refund {
		q.attempts--
	}
	return loopbroker.Settled, nil
}

// DeadLetter implements loopbroker.Queue.
func (m *Memory) DeadLetter(ctx context.Context, c loopbroker.Completion, reason string) (loopbroker.Settlement, error) {
	if err := m.begin(ctx, "DeadLetter"); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	if m.leased(c.Lease) == nil {
		return loopbroker.SettledLost, nil
	}
	delete(m.rows, c.Lease.MessageID)
	m.buried[c.Lease.RequestID] = reason
	if c.Lease.RequestID == 0 {
		return loopbroker.Settled, nil
	}
	return m.store(c), nil
}

// Register implements loopbroker.Registry.
func (m *Memory) Register(ctx context.Context, w loopbroker.WorkerInfo) error {
	if err := m.begin(ctx, "Register"); err != nil {
		return err
	}
	defer m.mu.Unlock()
	m.workers[w.ID] = w
	return nil
}

// Unregister implements loopbroker.Registry.
func (m *Memory) Unregister(ctx context.Context, id string) error {
	if err := m.begin(ctx, "Unregister"); err != nil {
		return err
	}
	defer m.mu.Unlock()
	delete(m.workers, id)
	return nil
}

// Heartbeat implements loopbroker.Registry.
func (m *Memory) Heartbeat(ctx context.Context, b loopbroker.Beat) (loopbroker.BeatResult, error) {
	if err := m.begin(ctx, "Heartbeat"); err != nil {
		return loopbroker.BeatResult{}, err
	}
	defer m.mu.Unlock()
	if b.Hosts != nil {
		m.hosts = slices.Clone(b.Hosts)
	}
	var out loopbroker.BeatResult
	_, known := m.workers[b.Worker]
	out.Unregistered = !known
	until := m.Now().Add(b.Life)
	for _, l := range b.Leases {
		q := m.leased(l)
		switch {
		case q == nil:
			out.Lost = append(out.Lost, l)
		case q.cancelled:
			out.Cancelled = append(out.Cancelled, l)
		default:
			q.lockedUntil, q.available = until, until
		}
	}
	return out, nil
}

// Sweep implements loopbroker.Janitor. It expires and buries; it purges nothing.
func (m *Memory) Sweep(ctx context.Context, batch int) (loopbroker.Swept, error) {
	if err := m.begin(ctx, "Sweep"); err != nil {
		return loopbroker.Swept{}, err
	}
	defer m.mu.Unlock()
	out := loopbroker.Swept{Elected: true}
	now := m.Now()
	for id, q := range m.rows {
		call, ok := m.calls[q.requestID]
		if !ok || q.available.After(now) || q.lockedUntil.After(now) {
			continue
		}
		c := loopbroker.Completion{Lease: loopbroker.Lease{RequestID: q.requestID, MessageID: id}}
		switch {
		case q.attempts == 0 && !q.expires.IsZero() && !q.expires.After(now) && out.Expired < batch:
			out.Expired++
			c.Reply = loopbroker.Reply{State: loopbroker.StateExpired, ErrorClass: loopbroker.ErrorClassExpired}
		case q.attempts >= call.MaxAttempts && out.Buried < batch:
			out.Buried++
			m.buried[q.requestID] = "the last allowed attempt ended with its worker"
			c.Reply = loopbroker.Reply{State: loopbroker.StateFailed, ErrorClass: loopbroker.ErrorClassAttemptsExhausted, Attempts: q.attempts}
		default:
			continue
		}
		delete(m.rows, id)
		m.store(c)
	}
	return out, nil
}

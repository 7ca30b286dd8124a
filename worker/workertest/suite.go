// Package workertest holds the behaviour that every store of jobs must show, and
// a store in memory that shows it. A new implementation needs one test: a call to
// Run.
package workertest

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loopbroker"
	"loopbroker/worker"
)

// lease is the life of most leases that the suite takes: longer than any test.
const lease = time.Minute

// Harness is one store under test. It is empty at first.
type Harness struct {
	// Store is the store.
	Store worker.Store

	// Enqueue stores a request and returns its id.
	Enqueue func(t testing.TB, r loopbroker.Request) int64

	// Reply returns the stored reply of a request, if there is one.
	Reply func(t testing.TB, requestID int64) (loopbroker.Reply, bool)

	// Pass lets at least d pass on the store's clock.
	Pass func(d time.Duration)
}

// Run checks that the stores made by open keep the promises of loopbroker.Queue,
// loopbroker.Registry and loopbroker.Janitor. Each subtest gets a fresh one.
func Run(t *testing.T, open func(t testing.TB) Harness) {
	t.Helper()

	for _, tt := range []struct {
		name string
		run  func(*testing.T, Harness)
	}{
		{"ClaimOfNothing", testClaimOfNothing},
		{"ClaimRefusesNonsense", testClaimRefusesNonsense},
		{"ClaimHandsOutContent", testClaimHandsOutContent},
		{"ClaimIsExclusive", testClaimIsExclusive},
		{"ClaimKeepsOrder", testClaimKeepsOrder},
		{"ClaimGivesServedTypes", testClaimGivesServedTypes},
		{"ClaimWaitsUntilDue", testClaimWaitsUntilDue},
		{"ClaimMarksExpired", testClaimMarksExpired},
		{"ConcurrentClaims", testConcurrentClaims},
		{"LoadOfDeferred", testLoadOfDeferred},
		{"LapsedLeaseIsClaimedAgain", testLapsedLeaseIsClaimedAgain},
		{"CompleteStoresReply", testCompleteStoresReply},
		{"CompleteOfBatch", testCompleteOfBatch},
		{"CompleteTwice", testCompleteTwice},
		{"StaleHolderIsRefused", testStaleHolderIsRefused},
		{"ReleaseDelays", testReleaseDelays},
		{"ReleaseRefunds", testReleaseRefunds},
		{"DeadLetterBuries", testDeadLetterBuries},
		{"HeartbeatRenews", testHeartbeatRenews},
		{"HeartbeatReportsLost", testHeartbeatReportsLost},
		{"Registration", testRegistration},
		{"SweepExpires", testSweepExpires},
		{"SweepBuriesExhausted", testSweepBuriesExhausted},
		{"PolicyIsRead", testPolicyIsRead},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, open(t))
		})
	}
}

// request is a request that nothing is special about.
func request() loopbroker.Request {
	return loopbroker.Request{Type: "echo", JSON: `{"n":1}`, AttemptTimeout: 5 * time.Second, MaxAttempts: 3}
}

// reply is a reply with every field set.
func reply() loopbroker.Reply {
	return loopbroker.Reply{
		State: loopbroker.StateCompleted, HTTPStatus: 200, JSON: `{"status":200,"headers":{},"body":"ü😀"}`, ContentType: "text/plain",
		Attempts: 1, Worker: "suite", Timings: loopbroker.Timings{
			Queue: time.Millisecond, DNS: 2 * time.Millisecond, Connect: 3 * time.Millisecond,
			TLS: 4 * time.Millisecond, FirstByte: 5 * time.Millisecond, Total: 6 * time.Millisecond,
		},
	}
}

// take claims requests of the type that most tests use.
func (h Harness) take(t testing.TB, n int, life time.Duration) ([]loopbroker.Delivery, error) {
	out, err := h.Store.Claim(t.Context(), loopbroker.ClaimRequest{N: n, Lease: life, Types: []string{"echo"}})
	return out.Deliveries, err
}

// claim takes deliveries and fails unless there are exactly want.
func (h Harness) claim(t testing.TB, n, want int) []loopbroker.Delivery {
	t.Helper()
	ds, err := h.take(t, n, lease)
	if err != nil {
		t.Fatalf("Claim: %v", err)
	}
	if len(ds) != want {
		t.Fatalf("Claim(%d) gave %d deliveries, want %d", n, len(ds), want)
	}
	return ds
}

// complete settles one delivery.
func (h Harness) complete(t testing.TB, l loopbroker.Lease, r loopbroker.Reply) loopbroker.Settlement {
	t.Helper()
	s, err := h.Store.Complete(t.Context(), []loopbroker.Completion{{Lease: l, Reply: r}})
	if err != nil || len(s) != 1 {
		t.Fatalf("Complete: %v, %v", s, err)
	}
	return s[0]
}

// steal takes a short lease on the only request, lets it lapse and claims again.
func (h Harness) steal(t testing.TB) (stale, live loopbroker.Delivery) {
	t.Helper()
	const brief = 50 * time.Millisecond
	ds, err := h.take(t, 1, brief)
	if err != nil || len(ds) != 1 {
		t.Fatalf("Claim: %d deliveries, %v, want 1", len(ds), err)
	}
	h.Pass(2 * brief)
	return ds[0], h.claim(t, 1, 1)[0]
}

func testClaimOfNothing(t *testing.T, h Harness) { h.claim(t, 10, 0) }

func testClaimRefusesNonsense(t *testing.T, h Harness) {
	for _, p := range []struct {
		n    int
		life time.Duration
	}{{0, lease}, {-1, lease}, {1, 0}, {1, -lease}} {
		if _, err := h.take(t, p.n, p.life); !errors.Is(err, loopbroker.ErrInvalid) {
			t.Errorf("Claim(%d, %s) = %v, want ErrInvalid", p.n, p.life, err)
		}
	}
}

func testClaimHandsOutContent(t *testing.T, h Harness) {
	r := request()
	r.JSON, r.Body, r.MaxAttempts = `{"text":"ü😀"}`, []byte{0, 1, 0xff}, 7
	id := h.Enqueue(t, r)
	d := h.claim(t, 5, 1)[0]
	want := loopbroker.Job{
		RequestID: id, Type: r.Type, JSON: r.JSON, Body: r.Body, Attempt: 1, MaxAttempts: 7, AttemptTimeout: r.AttemptTimeout,
	}
	got := d.Job
	if got.Queued < 0 || got.Queued > lease || got.Age < 0 {
		t.Errorf("Queued = %s, Age = %s", got.Queued, got.Age)
	}
	if got.RequestID != want.RequestID || got.Type != want.Type || got.JSON != want.JSON || !bytes.Equal(got.Body, want.Body) ||
		got.Attempt != 1 || got.MaxAttempts != 7 || got.AttemptTimeout != want.AttemptTimeout || got.Expired {
		t.Errorf("Job = %+v, want %+v", got, want)
	}
	if d.Lease.RequestID != id || d.Lease.MessageID.IsZero() || d.Lease.Token.IsZero() || d.Lane != loopbroker.LaneNormal || d.Deferred || d.Poison != "" {
		t.Errorf("Delivery = %+v", d)
	}
}

func testClaimIsExclusive(t *testing.T, h Harness) {
	h.Enqueue(t, request())
	h.claim(t, 1, 1)
	h.claim(t, 1, 0)
}

func testClaimKeepsOrder(t *testing.T, h Harness) {
	var want []int64
	ids := map[loopbroker.Lane][]int64{}
	for _, lane := range []loopbroker.Lane{loopbroker.LaneLow, loopbroker.LaneNormal, loopbroker.LaneLow, loopbroker.LaneNormal} {
		r := request()
		r.Lane = lane
		ids[lane] = append(ids[lane], h.Enqueue(t, r))
		h.Pass(5 * time.Millisecond) // so that no two are due at the same tick
	}
	want = append(append(want, ids[loopbroker.LaneNormal]...), ids[loopbroker.LaneLow]...)
	var got []int64
	for _, n := range []int{1, 2, 5} {
		ds, err := h.take(t, n, lease)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range ds {
			got = append(got, d.Lease.RequestID)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("claimed %v, want %v", got, want)
	}
}

func testClaimGivesServedTypes(t *testing.T, h Harness) {
	r := request()
	r.Type = "other"
	other := h.Enqueue(t, r)
	echo := h.Enqueue(t, request())
	if ds := h.claim(t, 10, 1); ds[0].Lease.RequestID != echo {
		t.Errorf("claimed request %d, want %d", ds[0].Lease.RequestID, echo)
	}
	out, err := h.Store.Claim(t.Context(), loopbroker.ClaimRequest{N: 10, Lease: lease, Types: []string{"echo", "none", "other"}})
	if err != nil || len(out.Deliveries) != 1 || out.Deliveries[0].Lease.RequestID != other || out.CompletionsDue {
		t.Errorf("Claim of three types = %+v, %v, want request %d", out, err, other)
	}
	if _, err := h.Store.Claim(t.Context(), loopbroker.ClaimRequest{N: 1, Lease: lease}); !errors.Is(err, loopbroker.ErrInvalid) {
		t.Errorf("Claim of no type = %v, want ErrInvalid", err)
	}
}

func testPolicyIsRead(t *testing.T, h Harness) {
	if _, err := h.Store.Policy(t.Context()); err != nil {
		t.Errorf("Policy: %v", err)
	}
	if due, err := h.Store.DueCompletions(t.Context(), 5); err != nil || len(due) != 0 {
		t.Errorf("DueCompletions = %v, %v, want none", due, err)
	}
}

func testClaimWaitsUntilDue(t *testing.T, h Harness) {
	r := request()
	r.Due = 300 * time.Millisecond
	h.Enqueue(t, r)
	h.claim(t, 1, 0)
	h.Pass(r.Due + 50*time.Millisecond)
	h.claim(t, 1, 1)
}

func testClaimMarksExpired(t *testing.T, h Harness) {
	r := request()
	r.Expires = 50 * time.Millisecond
	id := h.Enqueue(t, r)
	h.Pass(2 * r.Expires)
	d := h.claim(t, 1, 1)[0]
	if !d.Job.Expired {
		t.Error("Expired = false, want true")
	}
	expired := loopbroker.Reply{State: loopbroker.StateExpired, ErrorClass: loopbroker.ErrorClassExpired, ErrorMessage: "too late"}
	if s := h.complete(t, d.Lease, expired); s != loopbroker.Settled {
		t.Errorf("Complete = %s, want stored", s)
	}
	if got, ok := h.Reply(t, id); !ok || got.State != loopbroker.StateExpired || got.ErrorClass != loopbroker.ErrorClassExpired || got.ErrorMessage != "too late" {
		t.Errorf("reply = %+v, %v", got, ok)
	}
}

func testConcurrentClaims(t *testing.T, h Harness) {
	const requests, claimers = 60, 6
	for range requests {
		h.Enqueue(t, request())
	}
	var mu sync.Mutex
	seen := map[int64]int{}
	var group sync.WaitGroup
	for range claimers {
		group.Go(func() {
			for {
				ds, err := h.take(t, 4, lease)
				if err != nil {
					t.Errorf("Claim: %v", err)
					return
				}
				if len(ds) == 0 {
					return
				}
				mu.Lock()
				for _, d := range ds {
					seen[d.Lease.RequestID]++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	// READPAST may step over a row that is locked at the moment; it is due still.
	for {
		ds, err := h.take(t, requests, lease)
		if err != nil {
			t.Fatal(err)
		}
		if len(ds) == 0 {
			break
		}
		for _, d := range ds {
			seen[d.Lease.RequestID]++
		}
	}
	if len(seen) != requests {
		t.Errorf("claimed %d requests, want %d", len(seen), requests)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("request %d was claimed %d times, want once", id, n)
		}
	}
}

func testLoadOfDeferred(t *testing.T, h Harness) {
	r := request()
	r.JSON, r.Body = `"`+strings.Repeat("ü", 80<<10)+`"`, bytes.Repeat([]byte{0xfe}, 200<<10)
	r.JSON = `{"a":` + r.JSON + `}`
	h.Enqueue(t, r)
	d := h.claim(t, 1, 1)[0]
	if !d.Deferred || d.Job.JSON != "" || d.Job.Body != nil {
		t.Fatalf("Deferred = %v with %d characters and %d bytes, want true and none", d.Deferred, len(d.Job.JSON), len(d.Job.Body))
	}
	text, body, err := h.Store.Load(t.Context(), d.Lease)
	if err != nil || text != r.JSON || !bytes.Equal(body, r.Body) {
		t.Errorf("Load gave %d characters, %d bytes, %v, want %d and %d", len(text), len(body), err, len(r.JSON), len(r.Body))
	}
	h.complete(t, d.Lease, reply())
	if _, _, err := h.Store.Load(t.Context(), d.Lease); !errors.Is(err, loopbroker.ErrLeaseLost) {
		t.Errorf("Load after the end = %v, want ErrLeaseLost", err)
	}
}

func testLapsedLeaseIsClaimedAgain(t *testing.T, h Harness) {
	h.Enqueue(t, request())
	stale, live := h.steal(t)
	if live.Job.Attempt != 2 || live.Lease.RequestID != stale.Lease.RequestID || live.Lease.Token == stale.Lease.Token {
		t.Errorf("claimed again: %+v after %+v", live, stale)
	}
}

func testCompleteStoresReply(t *testing.T, h Harness) {
	for _, body := range [][]byte{nil, {0, 0xff, 1}} {
		id := h.Enqueue(t, request())
		want := reply()
		want.Body = body
		if s := h.complete(t, h.claim(t, 1, 1)[0].Lease, want); s != loopbroker.Settled {
			t.Errorf("Complete = %s, want stored", s)
		}
		h.checkReply(t, id, want)
		h.claim(t, 1, 0)
	}
}

// checkReply compares a stored reply.
func (h Harness) checkReply(t testing.TB, id int64, want loopbroker.Reply) {
	t.Helper()
	got, ok := h.Reply(t, id)
	if !ok {
		t.Errorf("request %d has no reply", id)
		return
	}
	if !bytes.Equal(got.Body, want.Body) {
		t.Errorf("request %d: body = %v, want %v", id, got.Body, want.Body)
	}
	got.Body, want.Body = nil, nil
	if got.State != want.State || got.HTTPStatus != want.HTTPStatus || got.ErrorClass != want.ErrorClass || got.ErrorMessage != want.ErrorMessage ||
		got.MSError != want.MSError || got.JSON != want.JSON || got.ContentType != want.ContentType || got.Attempts != want.Attempts ||
		got.Worker != want.Worker || got.Timings != want.Timings {
		t.Errorf("request %d: reply = %+v, want %+v", id, got, want)
	}
}

func testCompleteOfBatch(t *testing.T, h Harness) {
	const n = 5
	for range n {
		h.Enqueue(t, request())
	}
	ds := h.claim(t, n, n)
	big := reply()
	big.JSON = `{"status":200,"headers":{},"body":"` + strings.Repeat("x", 100<<10) + `"}`
	binary := reply()
	binary.Body = bytes.Repeat([]byte{7}, 1000)
	failed := loopbroker.Reply{
		State: loopbroker.StateFailed, ErrorClass: loopbroker.ErrorClassBadURL, ErrorMessage: `a "quoted" \ ü`, MSError: 31609, Attempts: 1, Worker: "suite",
	}
	replies := []loopbroker.Reply{reply(), big, binary, failed, reply()}
	batch := make([]loopbroker.Completion, n)
	for i, d := range ds {
		batch[i] = loopbroker.Completion{Lease: d.Lease, Reply: replies[i]}
	}
	batch[4].Lease.Token[0] ^= 0xff // somebody else's
	got, err := h.Store.Complete(t.Context(), batch)
	want := []loopbroker.Settlement{loopbroker.Settled, loopbroker.Settled, loopbroker.Settled, loopbroker.Settled, loopbroker.SettledLost}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Complete = %v, %v, want %v", got, err, want)
	}
	for i, d := range ds[:4] {
		h.checkReply(t, d.Lease.RequestID, replies[i])
	}
	if r, ok := h.Reply(t, ds[4].Lease.RequestID); ok {
		t.Errorf("the lost completion left a reply: %+v", r)
	}
}

func testCompleteTwice(t *testing.T, h Harness) {
	id := h.Enqueue(t, request())
	l := h.claim(t, 1, 1)[0].Lease
	h.complete(t, l, reply())
	second := reply()
	second.HTTPStatus = 500
	if s := h.complete(t, l, second); s != loopbroker.SettledLost {
		t.Errorf("the second Complete = %s, want lease lost", s)
	}
	h.checkReply(t, id, reply())
}

func testStaleHolderIsRefused(t *testing.T, h Harness) {
	id := h.Enqueue(t, request())
	stale, live := h.steal(t)
	if s := h.complete(t, stale.Lease, reply()); s != loopbroker.SettledLost {
		t.Errorf("Complete = %s, want lease lost", s)
	}
	if s, err := h.Store.Release(t.Context(), stale.Lease, 0, false); err != nil || s != loopbroker.SettledLost {
		t.Errorf("Release = %s, %v, want lease lost", s, err)
	}
	dead := loopbroker.Completion{Lease: stale.Lease, Reply: loopbroker.Reply{State: loopbroker.StateFailed, ErrorClass: loopbroker.ErrorClassHandlerPanic}}
	if s, err := h.Store.DeadLetter(t.Context(), dead, "stale"); err != nil || s != loopbroker.SettledLost {
		t.Errorf("DeadLetter = %s, %v, want lease lost", s, err)
	}
	if _, _, err := h.Store.Load(t.Context(), stale.Lease); !errors.Is(err, loopbroker.ErrLeaseLost) {
		t.Errorf("Load = %v, want ErrLeaseLost", err)
	}
	if r, ok := h.Reply(t, id); ok {
		t.Fatalf("the stale holder stored %+v", r)
	}
	if s := h.complete(t, live.Lease, reply()); s != loopbroker.Settled {
		t.Errorf("the live holder's Complete = %s, want stored", s)
	}
}

func testReleaseDelays(t *testing.T, h Harness) {
	const delay = 300 * time.Millisecond
	h.Enqueue(t, request())
	if s, err := h.Store.Release(t.Context(), h.claim(t, 1, 1)[0].Lease, delay, false); err != nil || s != loopbroker.Settled {
		t.Fatalf("Release = %s, %v, want stored", s, err)
	}
	h.claim(t, 1, 0)
	h.Pass(delay + 50*time.Millisecond)
	if got := h.claim(t, 1, 1)[0].Job.Attempt; got != 2 {
		t.Errorf("Attempt = %d, want 2", got)
	}
}

func testReleaseRefunds(t *testing.T, h Harness) {
	h.Enqueue(t, request())
	if s, err := h.Store.Release(t.Context(), h.claim(t, 1, 1)[0].Lease, 0, true); err != nil || s != loopbroker.Settled {
		t.Fatalf("Release = %s, %v, want stored", s, err)
	}
	if got := h.claim(t, 1, 1)[0].Job.Attempt; got != 1 {
		t.Errorf("Attempt = %d, want 1", got)
	}
}

func testDeadLetterBuries(t *testing.T, h Harness) {
	id := h.Enqueue(t, request())
	want := loopbroker.Reply{
		State: loopbroker.StateFailed, ErrorClass: loopbroker.ErrorClassConnect, ErrorMessage: "nobody there", MSError: 31608, Attempts: 1, Worker: "suite",
		Timings: loopbroker.Timings{Total: 9 * time.Millisecond},
	}
	c := loopbroker.Completion{Lease: h.claim(t, 1, 1)[0].Lease, Reply: want}
	if s, err := h.Store.DeadLetter(t.Context(), c, "connect: nobody there"); err != nil || s != loopbroker.Settled {
		t.Fatalf("DeadLetter = %s, %v, want stored", s, err)
	}
	h.checkReply(t, id, want)
	h.claim(t, 1, 0)
	if s, err := h.Store.DeadLetter(t.Context(), c, "again"); err != nil || s != loopbroker.SettledLost {
		t.Errorf("the second DeadLetter = %s, %v, want lease lost", s, err)
	}
}

func testHeartbeatRenews(t *testing.T, h Harness) {
	const brief = 200 * time.Millisecond
	h.Enqueue(t, request())
	h.register(t, "w1")
	ds, err := h.take(t, 1, brief)
	if err != nil || len(ds) != 1 {
		t.Fatalf("Claim: %d deliveries, %v, want 1", len(ds), err)
	}
	out, err := h.Store.Heartbeat(t.Context(), loopbroker.Beat{Worker: "w1", Busy: 1, Leases: []loopbroker.Lease{ds[0].Lease}, Life: lease})
	if err != nil || out.Unregistered || len(out.Lost)+len(out.Cancelled) != 0 {
		t.Fatalf("Heartbeat = %+v, %v", out, err)
	}
	h.Pass(2 * brief)
	h.claim(t, 1, 0)
	if s := h.complete(t, ds[0].Lease, reply()); s != loopbroker.Settled {
		t.Errorf("Complete = %s, want stored", s)
	}
}

func testHeartbeatReportsLost(t *testing.T, h Harness) {
	h.register(t, "w1")
	h.Enqueue(t, request())
	stale, live := h.steal(t)
	for l, want := range map[loopbroker.Lease][]loopbroker.Lease{live.Lease: nil, stale.Lease: {stale.Lease}} {
		out, err := h.Store.Heartbeat(t.Context(), loopbroker.Beat{Worker: "w1", Busy: 2, Leases: []loopbroker.Lease{l}, Life: lease})
		if err != nil || !slices.Equal(out.Lost, want) || len(out.Cancelled) != 0 {
			t.Errorf("Heartbeat = %+v, %v, want %v lost", out, err, want)
		}
	}
}

// register announces a worker.
func (h Harness) register(t testing.TB, id string) {
	t.Helper()
	w := loopbroker.WorkerInfo{ID: id, Host: "host", PID: 1, Version: "test", Slots: 4, Types: []string{"echo", "http"}}
	if err := h.Store.Register(t.Context(), w); err != nil {
		t.Fatalf("Register: %v", err)
	}
}

func testRegistration(t *testing.T, h Harness) {
	beat := func(want bool) {
		t.Helper()
		out, err := h.Store.Heartbeat(t.Context(), loopbroker.Beat{Worker: "w1", Life: lease})
		if err != nil || out.Unregistered != want {
			t.Errorf("Heartbeat = %+v, %v, want Unregistered %v", out, err, want)
		}
	}
	beat(true)
	h.register(t, "w1")
	h.register(t, "w1")
	beat(false)
	for range 2 {
		if err := h.Store.Unregister(t.Context(), "w1"); err != nil {
			t.Errorf("Unregister: %v", err)
		}
	}
	beat(true)
}

func testSweepExpires(t *testing.T, h Harness) {
	r := request()
	r.Expires = 50 * time.Millisecond
	id := h.Enqueue(t, r)
	other := h.Enqueue(t, request())
	h.Pass(2 * r.Expires)
	out, err := h.Store.Sweep(t.Context(), 100)
	if err != nil || !out.Elected || out.Expired != 1 || out.Buried != 0 {
		t.Errorf("Sweep = %+v, %v, want 1 expired", out, err)
	}
	if got, ok := h.Reply(t, id); !ok || got.State != loopbroker.StateExpired || got.ErrorClass != loopbroker.ErrorClassExpired {
		t.Errorf("reply = %+v, %v, want expired", got, ok)
	}
	if got := h.claim(t, 5, 1)[0].Lease.RequestID; got != other {
		t.Errorf("claimed request %d, want %d", got, other)
	}
}

func testSweepBuriesExhausted(t *testing.T, h Harness) {
	r := request()
	r.MaxAttempts = 1
	id := h.Enqueue(t, r)
	const brief = 50 * time.Millisecond
	if ds, err := h.take(t, 1, brief); err != nil || len(ds) != 1 {
		t.Fatalf("Claim: %d deliveries, %v, want 1", len(ds), err)
	}
	h.Pass(2 * brief)
	out, err := h.Store.Sweep(t.Context(), 100)
	if err != nil || !out.Elected || out.Buried != 1 || out.Expired != 0 {
		t.Errorf("Sweep = %+v, %v, want 1 buried", out, err)
	}
	if got, ok := h.Reply(t, id); !ok || got.State != loopbroker.StateFailed || got.ErrorClass != loopbroker.ErrorClassAttemptsExhausted {
		t.Errorf("reply = %+v, %v, want attempts exhausted", got, ok)
	}
	h.claim(t, 1, 0)
}

package catalog

import (
	"encoding/json"
	"sync"
	"sync/atomic"

	"loopbroker/engine/storage"
)

// reserveAhead is how many numbers a counter promises to the log at once. After
// a crash the rest of a promise is skipped, as SQL Server skips up to 1,000
// numbers of its identity cache: a number is never handed out twice. A server that
// is closed writes down how far its counters have really come.
const reserveAhead = 1000

// Counter hands out the numbers of an identity column or a sequence. Numbers
// are never taken back: a rolled back insert leaves a gap, as in SQL Server.
// It is safe for concurrent use.
type Counter struct {
	mu        sync.Mutex
	seed      int64
	increment int64
	last      int64
	used      bool

	// reserved is the number up to which the log has been told; save tells it.
	// Both are unused for temporary objects.
	reserved int64
	hasRes   bool
	save     func(counterState) error
}

// NewCounter returns a counter that begins at seed.
func NewCounter(seed, increment int64) *Counter {
	return &Counter{seed: seed, increment: increment}
}

// Seed returns the first number, Increment the step.
func (c *Counter) Seed() int64 { return c.seed }

// Increment returns the step from one number to the next.
func (c *Counter) Increment() int64 { return c.increment }

// Next returns the next number. ok is false when it would leave low to high.
func (c *Counter) Next(low, high int64) (n int64, ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n = c.seed
	if c.used {
		n = c.last + c.increment
		if (c.increment > 0 && n < c.last) || (c.increment < 0 && n > c.last) {
			return 0, false, nil
		}
	}
	if n < low || n > high {
		return 0, false, nil
	}
	if err := c.promise(n); err != nil {
		return 0, false, err
	}
	c.last, c.used = n, true
	return n, true, nil
}

// Take hands out a range of count numbers that follow each other; ok is false
// when they do not all lie between low and high.
func (c *Counter) Take(count, low, high int64) (first, last int64, ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first = c.seed
	if c.used {
		first = c.last + c.increment
	}
	last = first + (count-1)*c.increment
	overflown := (count-1)*c.increment/c.increment != count-1 || (c.increment > 0) != (last >= first) && last != first
	if overflown || min(first, last) < low || max(first, last) > high || c.used && (c.increment > 0) != (first > c.last) {
		return 0, 0, false, nil
	}
	if err := c.promise(last); err != nil {
		return 0, 0, false, err
	}
	c.last, c.used = last, true
	return first, last, true, nil
}

// promise makes sure that the log knows that numbers up to n may be in use.
// The caller holds mu.
func (c *Counter) promise(n int64) error {
	if c.save == nil {
		return nil
	}
	if c.hasRes && (c.increment >= 0 && n <= c.reserved || c.increment < 0 && n >= c.reserved) {
		return nil
	}
	return c.tell(counterState{Last: c.ahead(n), Used: true})
}

// ahead is the number up to which a promise reaches that is made for n.
func (c *Counter) ahead(n int64) int64 {
	upTo := n + (reserveAhead-1)*c.increment
	if (c.increment > 0) != (upTo > n) { // overflow
		return n
	}
	return upTo
}

// tell tells the log. The caller holds mu.
func (c *Counter) tell(st counterState) error {
	if err := c.save(st); err != nil {
		return err
	}
	c.reserved, c.hasRes = st.Last, st.Used
	return nil
}

// Observe makes the counter continue after n when n is beyond the last number:
// an explicit value was stored in the identity column.
func (c *Counter) Observe(n int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used && (c.increment >= 0 && n <= c.last || c.increment < 0 && n >= c.last) {
		return nil
	}
	if err := c.promise(n); err != nil {
		return err
	}
	c.last, c.used = n, true
	return nil
}

// Last returns the last number handed out; ok is false before the first.
func (c *Counter) Last() (n int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.used
}

// Restart makes the next number n, at once and for good: a sequence that cycles
// begins again.
func (c *Counter) Restart(n int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seed, c.used, c.hasRes = n, false, false
	return nil
}

// RestartIn makes the next number n, unless the transaction is rolled back. Nobody
// else may use the counter until it ends. Up to then the log keeps the promise
// that was made: a crash must not give the numbers again that rows have which the
// transaction removes.
func (c *Counter) RestartIn(tx *storage.Tx, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seed, last, used := c.seed, c.last, c.used
	c.seed, c.used = n, false
	tx.OnRollback(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.seed, c.last, c.used = seed, last, used
	})
	tx.OnCommit(c.settle)
}

// Replaces makes c take the place of the counter of a sequence that tx alters, as
// RestartIn does.
func (c *Counter) Replaces(tx *storage.Tx, old *Counter) {
	old.mu.Lock()
	reserved, has := old.reserved, old.hasRes && (old.increment > 0) == (c.increment > 0)
	old.mu.Unlock()
	c.mu.Lock()
	c.reserved, c.hasRes = reserved, has
	c.mu.Unlock()
	tx.OnCommit(c.settle)
}

// settle makes the promise one for the numbers since the restart. If that cannot
// be logged, the old one stays, which is too high at worst.
func (c *Counter) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.save == nil {
		return
	}
	st := counterState{Used: c.used}
	if c.used {
		st.Last = c.ahead(c.last)
	}
	_ = c.tell(st)
}

// counterState is the stored form of a counter's progress.
type counterState struct {
	Last int64
	Used bool
}

// resume continues after a number that the log knows.
func (c *Counter) resume(st counterState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.used = st.Last, st.Used
	c.reserved, c.hasRes = st.Last, st.Used
}

// counterSpec is the stored form of a counter's definition.
type counterSpec struct{ Seed, Increment int64 }

// MarshalJSON implements json.Marshaler: the definition, not the progress.
func (c *Counter) MarshalJSON() ([]byte, error) {
	return json.Marshal(counterSpec{c.seed, c.increment})
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Counter) UnmarshalJSON(b []byte) error {
	var s counterSpec
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	c.seed, c.increment = s.Seed, s.Increment
	return nil
}

// Cache holds one value that a later stage derived from an object. It is safe
// for concurrent use.
type Cache struct{ v atomic.Pointer[any] }

// Load returns the value, nil when none was stored.
func (c *Cache) Load() any {
	if p := c.v.Load(); p != nil {
		return *p
	}
	return nil
}

// Store replaces the value.
func (c *Cache) Store(v any) { c.v.Store(&v) }

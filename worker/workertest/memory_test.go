package workertest_test

import (
	"sync"
	"testing"
	"time"

	"loopbroker"
	"loopbroker/worker/workertest"
)

// clock is a clock that moves when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time // guarded by mu
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestMemory(t *testing.T) {
	t.Parallel()

	workertest.Run(t, func(testing.TB) workertest.Harness {
		c := &clock{now: time.Unix(1, 0)}
		store := workertest.NewMemory()
		store.Now = c.Now
		return workertest.Harness{
			Store:   store,
			Enqueue: func(_ testing.TB, r loopbroker.Request) int64 { return store.Enqueue(r) },
			Reply:   func(_ testing.TB, id int64) (loopbroker.Reply, bool) { return store.Reply(id) },
			Pass:    c.Pass,
		}
	})
}

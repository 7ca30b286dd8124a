package worker_test

import (
	"context"
	"fmt"

	"loopbroker"
	"loopbroker/worker"
	"loopbroker/worker/workertest"
)

// A worker runs until its context is done. Here the handler itself ends the run, at
// the last job.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	store := workertest.NewMemory()
	for _, who := range []string{`"Ada"`, `"Grace"`} {
		store.Enqueue(loopbroker.Request{Type: "greet", JSON: who})
	}

	greet := func(_ context.Context, j loopbroker.Job) (loopbroker.Reply, error) {
		if j.JSON == `"Grace"` {
			stop()
		}
		return loopbroker.Reply{JSON: `"hello, ` + j.JSON[1:]}, nil
	}
	w, err := worker.New(store, worker.Options{
		Slots:    1,
		Handlers: map[string]loopbroker.Handler{"greet": loopbroker.HandlerFunc(greet)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("drained:", w.Run(ctx) == nil)
	for id := range int64(2) {
		reply, _ := store.Reply(id + 1)
		fmt.Println(reply.State, reply.JSON)
	}

	// Output:
	// drained: true
	// completed "hello, Ada"
	// completed "hello, Grace"
}

package storage

import (
	"context"
	"runtime"
	"sync"
)

// inOrder runs work for everything that produce emits, on several goroutines,
// and use for each result, in the order of production. The first error of the
// three in that order ends it.
func inOrder[J, R any](ctx context.Context, produce func(emit func(J) error) error, work func(J) (R, error), use func(R) error) error {
	type outcome struct {
		r   R
		err error
	}
	type job struct {
		j    J
		done chan outcome
	}
	ctx, cancel := context.WithCancel(ctx)
	workers := min(runtime.GOMAXPROCS(0), 4)
	jobs := make(chan job, workers)
	results := make(chan chan outcome, 4*workers)
	var produced error
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(results)
		defer close(jobs)
		produced = produce(func(j J) error {
			next := job{j, make(chan outcome, 1)}
			select {
			case results <- next.done:
			case <-ctx.Done():
				return ctx.Err()
			}
			jobs <- next // the workers take it whatever happens
			return nil
		})
	})
	for range workers {
		wg.Go(func() {
			for j := range jobs {
				r, err := work(j.j)
				j.done <- outcome{r, err}
			}
		})
	}
	var err error
	for done := range results {
		o := <-done
		if err == nil {
			err = o.err
		}
		if err == nil {
			err = use(o.r)
		}
		if err != nil {
			cancel()
		}
	}
	wg.Wait()
	outer := ctx.Err()
	cancel()
	switch {
	case err != nil:
		return err
	case produced != nil:
		return produced
	}
	return outer
}

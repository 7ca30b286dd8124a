package churn

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
	"loopbroker/enginetest"
)

// Params say what goes through the table.
type Params struct {
	Rows     int64 // rows that arrive and go
	Sessions int
	Views    bool // views are opened and closed meanwhile
}

// Left is what is left when the table is empty.
type Left struct {
	Records  int   // rows in memory, deleted ones included
	Versions int64 // superseded versions
	Waiting  int   // rows that wait to be tidied up
	Locks    int
	Heap     int64 // bytes by which the heap has grown
}

// heapAllowance is what the heap may grow by: what the runtime and the store keep
// for later, whatever the number of rows.
const heapAllowance = 4 << 20

// Nothing reports whether nothing is left.
func (l Left) Nothing() bool {
	return l.Records == 0 && l.Versions == 0 && l.Waiting == 0 && l.Locks == 0 && l.Heap <= heapAllowance
}

// batch is how many rows a transaction inserts or claims.
const batch = 20

// States of a row.
const (
	ready  = 0
	leased = 1
)

// churn is one run.
type churn struct {
	store         *storage.Store
	table         *storage.Table
	rows          int64
	arrived, gone atomic.Int64
}

// Run lets rows go through a table of a store in memory. The heap is that of the
// process: nothing else is to go on in it.
func Run(ctx context.Context, p Params) (left Left, err error) {
	s, err := storage.Open(ctx, storage.Options{})
	if err != nil {
		return Left{}, err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	c := &churn{store: s}
	if c.table, err = createTable(ctx, s); err != nil {
		return Left{}, err
	}
	p.Rows -= p.Rows % batch
	c.rows = min(p.Rows, 100*batch) // makes what stays: maps, stacks, the code's own
	if err := c.pass(ctx, p); err != nil {
		return Left{}, err
	}
	before := enginetest.Heap()
	c.rows = p.Rows
	if err := c.pass(ctx, p); err != nil {
		return Left{}, err
	}
	st := s.Stats()
	return Left{
		Records: c.table.Records(), Versions: st.KeptVersions, Waiting: st.Garbage, Locks: len(s.Locks()), Heap: enginetest.Heap() - before,
	}, nil
}

// createTable makes a queue table: a clustered key, and an index of the rows that
// can be claimed.
func createTable(ctx context.Context, s *storage.Store) (*storage.Table, error) {
	key := []storage.KeyColumn{{Ordinal: 0, Type: types.TypeBigInt}}
	tx := s.Begin(nil)
	t, err := tx.CreateTable(storage.TableDef{ID: 1, Space: 1, Columns: 3, Indexes: []storage.IndexDef{
		{ID: 1, Unique: true, Clustered: true, Key: key},
		{ID: 2, Key: key, Filter: func(r types.Row) bool { return r[1].Int() == ready }},
	}})
	if err != nil {
		tx.Rollback()
		return nil, err
	}
	return t, tx.Commit(ctx)
}

// pass lets c.rows rows go through the table, and waits until the store has come
// round to tidying up.
func (c *churn) pass(ctx context.Context, p Params) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.arrived.Store(0)
	c.gone.Store(0)
	var wg sync.WaitGroup
	for n := range max(p.Sessions, 1) {
		wg.Go(func() {
			w := &worker{churn: c, ctx: ctx, owner: c.store.NewOwner(int32(n + 1))}
			defer w.owner.Close()
			if err := w.run(n); err != nil {
				cancel(err)
			}
		})
	}
	if p.Views {
		wg.Go(func() { c.openViews(ctx) })
	}
	wg.Wait()
	for c.store.Stats().Garbage > 0 && ctx.Err() == nil {
		wait(ctx)
	}
	return context.Cause(ctx)
}

func wait(ctx context.Context) {
	select {
	case <-time.After(time.Millisecond):
	case <-ctx.Done():
	}
}

// openViews opens views and closes them, in such an order that some get old while
// newer ones come and go.
func (c *churn) openViews(ctx context.Context) {
	var views [4]*storage.View
	for i := 0; c.gone.Load() < c.rows && ctx.Err() == nil; i++ {
		at := i % len(views)
		if v := views[at]; v != nil && i%3 != 0 {
			v.Close()
			views[at] = nil
		} else if v == nil {
			views[at] = c.store.StatementView()
		}
		for next := min(c.gone.Load()+5*batch, c.rows); c.gone.Load() < next && ctx.Err() == nil; {
			runtime.Gosched()
		}
	}
	for _, v := range views {
		v.Close()
	}
}

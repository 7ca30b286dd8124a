package churn

import (
	"context"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// worker is one session.
type worker struct {
	*churn

	ctx   context.Context //nolint:containedctx // of one pass
	owner *storage.Owner
}

// run works until all rows have gone. Some of what it does is rolled back; round
// decides what.
func (w *worker) run(round int) error {
	for ; w.gone.Load() < w.rows; round++ {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if first := w.arrived.Add(batch) - batch; first < w.rows {
			insert := func(tx *storage.Tx) error { return w.insert(tx, first) }
			if err := w.transaction(round%5 == 0, insert); err != nil {
				return err
			}
		}
		if err := w.work(round); err != nil {
			return err
		}
	}
	return nil
}

// work claims rows, leases them, and removes them.
func (w *worker) work(round int) error {
	var claimed []storage.RowID
	claim := func(tx *storage.Tx) (err error) {
		claimed, err = w.claim(tx)
		return err
	}
	if round%3 == 0 { // a claim that is given back
		tx := w.store.Begin(w.owner)
		defer tx.Rollback()
		return claim(tx)
	}
	if err := w.transaction(false, claim); err != nil || len(claimed) == 0 {
		return err
	}
	err := w.transaction(round%4 == 0, func(tx *storage.Tx) error {
		for _, id := range claimed {
			if err := tx.Delete(w.ctx, w.table, id, storage.Forever); err != nil {
				return err
			}
		}
		return nil
	})
	w.gone.Add(int64(len(claimed)))
	return err
}

// transaction does something in a transaction; twice, if the first attempt is to be
// rolled back.
func (w *worker) transaction(twice bool, do func(*storage.Tx) error) error {
	if twice {
		tx := w.store.Begin(w.owner)
		err := do(tx)
		tx.Rollback()
		if err != nil {
			return err
		}
	}
	tx := w.store.Begin(w.owner)
	if err := do(tx); err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit(w.ctx)
}

func row(id int64, state int64) types.Row {
	return types.Row{types.NewBigInt(id), types.NewInt(state), types.NewNVarChar("what a message says")}
}

func (w *worker) insert(tx *storage.Tx, first int64) error {
	for id := first; id < first+batch; id++ {
		if _, err := tx.Insert(w.ctx, w.table, row(id, ready), storage.Forever); err != nil {
			return err
		}
	}
	return nil
}

// claim leases the first rows that are ready and that nobody has locked.
func (w *worker) claim(tx *storage.Tx) (claimed []storage.RowID, err error) {
	c := tx.Scan(w.ctx, w.table, 1, storage.Range{}, storage.Access{Mode: storage.U, Hold: true, ReadPast: true, Timeout: storage.Forever})
	defer c.Close()
	for len(claimed) < batch && c.Next() {
		id := c.ID()
		if err := tx.Update(w.ctx, w.table, id, row(c.Row()[0].Int(), leased), storage.Forever); err != nil {
			return nil, err
		}
		claimed = append(claimed, id)
	}
	return claimed, c.Err()
}

package storagebench

import (
	"context"
	"encoding/binary"
	"sync/atomic"
	"time"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// lease is how long a claimed row stays claimed: longer than any measurement.
const lease = time.Hour

// Columns of the queue table as the store has it. Its keys are those of the
// broker's queue table: clustered on (queue, available_at, created_at), and the
// id.
const (
	queueID = iota
	queueName
	queueAvailable
	queueCreated
	queueLocked
	queueAttempts
	queuePayload
	queueColumns
)

// queueKey is the name of the queue. Others have rows before and after it.
var queueKey = types.NewNVarChar("api.normal")

var queueNameType = types.TypeOf(queueKey)

func queueDef(number int) storage.TableDef {
	return storage.TableDef{ID: rowTable + 1 + storage.ObjectID(number), Space: 1, Columns: queueColumns, Indexes: []storage.IndexDef{
		{ID: 1, Clustered: true, Key: []storage.KeyColumn{
			{Ordinal: queueName, Type: queueNameType}, {Ordinal: queueAvailable, Type: types.TypeBigInt}, {Ordinal: queueCreated, Type: types.TypeBigInt},
		}},
		{ID: 2, Unique: true, Key: []storage.KeyColumn{{Ordinal: queueID, Type: types.TypeUniqueIdentifier}}},
	}}
}

// storeClaims claims through the store.
type storeClaims struct{ store *storage.Store }

func openStoreClaims(ctx context.Context) (claimLevel, error) {
	s, err := storage.Open(ctx, storage.Options{})
	return &storeClaims{s}, err
}

func (l *storeClaims) close(ctx context.Context) error { return l.store.Close(ctx) }

// storeQueue is a queue table in the store.
type storeQueue struct {
	store *storage.Store
	table *storage.Table
	ids   atomic.Uint64
	open  []*storage.Tx // what keeps rows locked
}

func (l *storeClaims) queue(ctx context.Context, number int, s situation) (claimQueue, error) {
	tx := l.store.Begin(nil)
	t, err := tx.CreateTable(queueDef(number))
	if err != nil {
		tx.Rollback()
		return nil, err
	}
	q := &storeQueue{store: l.store, table: t}
	begin := time.Now().Add(-lease).UnixMicro()
	for i := range s.backlog + s.leased + s.locked {
		if _, err := tx.Insert(ctx, t, q.message(begin+int64(i)), storage.Forever); err != nil {
			tx.Rollback()
			return nil, err
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return nil, err
	}
	for _, n := range parts(s.leased) {
		if tx, err = q.claim(ctx, nil, n); err == nil {
			err = tx.Commit(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, n := range parts(s.locked) {
		if tx, err = q.claim(ctx, nil, n); err != nil {
			return nil, err
		}
		q.open = append(q.open, tx)
	}
	return q, nil
}

// parts divides n among the claimers that hold rows.
func parts(n int) []int {
	const each = 500
	var p []int
	for ; n > 0; n -= each {
		p = append(p, min(n, each))
	}
	return p
}

// message makes a row that is due at a time.
func (q *storeQueue) message(due int64) types.Row {
	var id [16]byte
	n := q.ids.Add(1)
	binary.BigEndian.PutUint64(id[8:], n*0x9E3779B97F4A7C15) // ids are in no order
	binary.BigEndian.PutUint64(id[:], n)
	at := types.NewBigInt(due)
	return types.Row{types.NewUniqueIdentifier(id), queueKey, at, at, types.Null, types.NewInt(0), types.NewNVarChar(`{"id":1234567}`)}
}

// due is the range of what may be claimed now.
func due(now int64) storage.Range {
	name := types.AppendKey(nil, queueKey, queueNameType, false)
	to := types.AppendKey(name[:len(name):len(name)], types.NewBigInt(now), types.TypeBigInt, false)
	return storage.Range{Lo: storage.Bound{Key: name, Inclusive: true}, Hi: storage.Bound{Key: to, Inclusive: true}}
}

// claim leases the first n rows that are due and that nobody has locked, in a
// transaction that it leaves open.
func (q *storeQueue) claim(ctx context.Context, o *storage.Owner, n int) (*storage.Tx, error) {
	tx := q.store.Begin(o)
	_, err := q.claimIn(ctx, tx, n)
	if err != nil {
		tx.Rollback()
	}
	return tx, err
}

// claimIn is claim in a transaction. It returns the rows.
func (q *storeQueue) claimIn(ctx context.Context, tx *storage.Tx, n int) ([]storage.RowID, error) {
	type target struct {
		id  storage.RowID
		row types.Row
	}
	now := time.Now()
	c := tx.Scan(ctx, q.table, 0, due(now.UnixMicro()), storage.Access{Mode: storage.U, Hold: true, ReadPast: true, Timeout: storage.Forever})
	var found []target // all are found before the first is changed
	for len(found) < n && c.Next() {
		found = append(found, target{c.ID(), c.Row()})
	}
	err := c.Err()
	c.Close()
	until := types.NewBigInt(now.Add(lease).UnixMicro())
	var claimed []storage.RowID
	for _, f := range found {
		if err != nil {
			break
		}
		row := append(types.Row(nil), f.row...)
		row[queueAvailable], row[queueLocked], row[queueAttempts] = until, until, types.NewInt(row[queueAttempts].Int()+1)
		claimed = append(claimed, f.id)
		err = tx.Update(ctx, q.table, f.id, row, storage.Forever)
	}
	return claimed, err
}

func (q *storeQueue) claimer(_ context.Context, sessions int) (func(context.Context, int, time.Time) (int, error), func() error, error) {
	owners := make([]*storage.Owner, sessions)
	for i := range owners {
		owners[i] = q.store.NewOwner(int32(i))
	}
	do := func(ctx context.Context, worker int, deadline time.Time) (int, error) {
		claims := 0
		_, err := until(ctx, deadline, func() error {
			n, err := q.cycle(ctx, owners[worker])
			claims += n
			return err
		})
		return claims, err
	}
	return do, func() error {
		for _, o := range owners {
			o.Close()
		}
		return nil
	}, nil
}

// cycle lets a row arrive, claims one and removes it. It returns how many it
// has claimed: none if others had locked what there was.
func (q *storeQueue) cycle(ctx context.Context, o *storage.Owner) (int, error) {
	tx := q.store.Begin(o)
	_, err := tx.Insert(ctx, q.table, q.message(time.Now().UnixMicro()), storage.Forever)
	if err != nil {
		tx.Rollback()
		return 0, err
	}
	if err := tx.Commit(ctx); err != nil {
		return 0, err
	}
	tx = q.store.Begin(o)
	claimed, err := q.claimIn(ctx, tx, 1)
	if err != nil {
		tx.Rollback()
		return 0, err
	}
	if err := tx.Commit(ctx); err != nil {
		return 0, err
	}
	for _, id := range claimed {
		tx = q.store.Begin(o)
		if err := tx.Delete(ctx, q.table, id, storage.Forever); err != nil {
			tx.Rollback()
			return 0, err
		}
		if err := tx.Commit(ctx); err != nil {
			return 0, err
		}
	}
	return len(claimed), nil
}

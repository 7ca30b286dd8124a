package storagebench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"loopbroker/engine"
	"loopbroker/engine/storage"
)

const (
	manySessions = 32
	// inBatch is how many rows a batch of T-SQL inserts, each a transaction.
	inBatch = 20
	// commitTarget is what the store must reach of the bare file's commits.
	commitTarget = 0.6
)

// commitLevels are the ways to commit one row, each beside the bare log.
type commitLevels struct {
	store *storage.Store
	table *storage.Table
	sql   *server
	bare  *bareLog
	rec   []byte

	key atomic.Int64
}

// commits measures synced commits of single rows.
func (b *bench) commits(ctx context.Context) (err error) {
	dir, remove, err := b.tempDir()
	if err != nil {
		return err
	}
	defer remove()
	l, err := openLevels(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close(ctx)) }()
	for _, sessions := range []int{1, manySessions} {
		if err := b.commitsWith(ctx, l, sessions); err != nil {
			return err
		}
	}
	return nil
}

// openLevels opens the bare log, the store and the engine below dir.
func openLevels(ctx context.Context, dir string) (l *commitLevels, err error) {
	l = &commitLevels{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close(ctx))
		}
	}()
	if l.bare, err = openBareLog(dir); err != nil {
		return l, err
	}
	if l.store, err = storage.Open(ctx, storage.Options{Dir: dir + "/store"}); err != nil {
		return l, err
	}
	if l.table, err = createRows(ctx, l.store); err != nil {
		return l, err
	}
	if l.sql, err = openServer(ctx, engine.Options{Dir: dir + "/engine"}); err != nil {
		return l, err
	}
	if err = l.sql.execAll(ctx, createRowsSQL); err != nil {
		return l, err
	}
	// The bare log gets records of the size that the store's have.
	before := l.store.Stats().LogBytes
	const probe = 8
	for range probe {
		if err = insertRow(ctx, l.store, nil, l.table, l.key.Add(1)); err != nil {
			return l, err
		}
	}
	l.rec = make([]byte, (l.store.Stats().LogBytes-before)/probe)
	for i := range l.rec {
		l.rec[i] = byte(i) | 1
	}
	return l, nil
}

func (l *commitLevels) close(ctx context.Context) error {
	var errs []error
	if l.bare != nil {
		errs = append(errs, l.bare.close())
	}
	if l.store != nil {
		errs = append(errs, l.store.Close(ctx))
	}
	if l.sql != nil {
		errs = append(errs, l.sql.close(ctx))
	}
	return errors.Join(errs...)
}

// commitsWith measures all levels with so many sessions.
func (b *bench) commitsWith(ctx context.Context, l *commitLevels, sessions int) (err error) {
	conns, err := l.sql.sessions(ctx, sessions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(conns)) }()
	bare := &contender{name: "bare log file", sessions: sessions, do: l.commitBare}
	store := &contender{name: "store, Tx.Insert and Commit", sessions: sessions, do: l.commitStore(sessions)}
	batch := &contender{name: fmt.Sprintf("T-SQL, INSERT in autocommit, %d in a batch", inBatch), sessions: sessions, do: l.commitBatch(conns)}
	single := &contender{name: "T-SQL, INSERT in autocommit, one in an RPC", sessions: sessions, do: l.commitSingle(conns)}
	all := []*contender{bare, store, batch, single}
	if err := b.inTurns(ctx, all); err != nil {
		return err
	}
	for _, c := range all {
		f := Figure{Name: fmt.Sprintf("%d sessions: %s", sessions, c.name), Value: median(c.rounds), Unit: "commits/s"}
		if c != bare {
			f.Ratio, f.Beside = median(ratios(c.rounds, bare.rounds)), bare.name
		}
		if c == store && sessions == manySessions {
			f.Target, f.Reached = fmt.Sprintf("ratio at least %.2f", commitTarget), f.Ratio >= commitTarget
		}
		if err := b.figure(f); err != nil {
			return err
		}
	}
	return nil
}

func (l *commitLevels) commitBare(ctx context.Context, _ int, deadline time.Time) (int, error) {
	return until(ctx, deadline, func() error { return l.bare.commit(l.rec) })
}

func (l *commitLevels) commitStore(sessions int) func(context.Context, int, time.Time) (int, error) {
	owners := make([]*storage.Owner, sessions)
	for i := range owners {
		owners[i] = l.store.NewOwner(int32(i))
	}
	return func(ctx context.Context, worker int, deadline time.Time) (int, error) {
		return until(ctx, deadline, func() error { return insertRow(ctx, l.store, owners[worker], l.table, l.key.Add(1)) })
	}
}

// commitBatch inserts in a loop of the engine's own, so that the client costs
// little.
func (l *commitLevels) commitBatch(conns []*sql.Conn) func(context.Context, int, time.Time) (int, error) {
	const batch = `SET NOCOUNT ON;
DECLARE @i bigint = 0;
WHILE @i < @n
BEGIN
    INSERT INTO dbo.item (id, body) VALUES (@from + @i, REPLICATE('a', 192));
    SET @i += 1;
END;`
	return func(ctx context.Context, worker int, deadline time.Time) (int, error) {
		n, err := until(ctx, deadline, func() error {
			_, err := conns[worker].ExecContext(ctx, batch, sql.Named("n", inBatch), sql.Named("from", l.key.Add(inBatch)))
			return err
		})
		return n * inBatch, err
	}
}

func (l *commitLevels) commitSingle(conns []*sql.Conn) func(context.Context, int, time.Time) (int, error) {
	return func(ctx context.Context, worker int, deadline time.Time) (int, error) {
		return until(ctx, deadline, func() error {
			_, err := conns[worker].ExecContext(ctx, "INSERT INTO dbo.item (id, body) VALUES (@id, REPLICATE('a', 192))", sql.Named("id", l.key.Add(inBatch)))
			return err
		})
	}
}

// closeAll gives sessions back.
func closeAll(conns []*sql.Conn) (err error) {
	for _, c := range conns {
		err = errors.Join(err, c.Close())
	}
	return err
}

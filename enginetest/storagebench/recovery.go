package storagebench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"loopbroker/engine"
	"loopbroker/engine/storage"
)

const (
	recoveryTarget = 10 // seconds
	recoveryRounds = 3
	// noCheckpoint lets the log grow as it likes.
	noCheckpoint = 1 << 40
)

// recovery measures how long it takes to open a directory of a million rows.
func (b *bench) recovery(ctx context.Context) error {
	for _, r := range []struct {
		name string
		run  func(context.Context, string) ([]float64, error)
	}{
		{"from a checkpoint, the store", b.fromCheckpoint},
		{"from the log, a transaction a row, the store", b.fromLog},
		{"from a checkpoint, the engine", b.engineFromCheckpoint},
	} {
		seconds, err := b.recover(ctx, r.run)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		f := Figure{
			Name: fmt.Sprintf("%d rows of 200 bytes %s", b.rows, r.name), Value: median(seconds), Unit: "s",
			Target: fmt.Sprintf("under %d s", recoveryTarget), Reached: median(seconds) < recoveryTarget,
		}
		if err := b.figure(f); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) recover(ctx context.Context, run func(context.Context, string) ([]float64, error)) ([]float64, error) {
	dir, remove, err := b.tempDir()
	if err != nil {
		return nil, err
	}
	defer remove()
	return run(ctx, dir)
}

// fill makes the rows in a store, without waiting for the disk.
func (b *bench) fill(ctx context.Context, o storage.Options) (*storage.Store, error) {
	o.Durability = storage.Relaxed
	s, err := storage.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	t, err := createRows(ctx, s)
	for i := 0; i < b.rows && err == nil; i++ {
		err = insertRow(ctx, s, nil, t, int64(i))
	}
	if err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

// fromCheckpoint opens what a clean end left.
func (b *bench) fromCheckpoint(ctx context.Context, dir string) ([]float64, error) {
	o := storage.Options{Dir: dir}
	s, err := b.fill(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.Close(ctx); err != nil {
		return nil, err
	}
	return b.reopen(ctx, o, 0)
}

// fromLog opens what a crash would leave if there had never been a checkpoint.
func (b *bench) fromLog(ctx context.Context, dir string) ([]float64, error) {
	o := storage.Options{Dir: dir, CheckpointBytes: noCheckpoint}
	s, err := b.fill(ctx, o)
	if err != nil {
		return nil, err
	}
	abandon(ctx, s)
	return b.reopen(ctx, o, int64(b.rows))
}

// abandon closes a store without its last checkpoint: it has no time for one.
func abandon(ctx context.Context, s *storage.Store) {
	over, cancel := context.WithCancel(ctx)
	cancel()
	_ = s.Close(over) // says that the checkpoint was not taken
}

// reopen measures Open, and checks that it did what it should.
func (b *bench) reopen(ctx context.Context, o storage.Options, replayed int64) ([]float64, error) {
	var seconds []float64
	for range recoveryRounds {
		begin := time.Now()
		s, err := storage.Open(ctx, o)
		if err != nil {
			return nil, err
		}
		seconds = append(seconds, time.Since(begin).Seconds())
		t := s.Table(rowTable)
		if t == nil || t.Rows() != int64(b.rows) {
			err = errors.New("rows are missing")
		}
		if n := s.Replayed().Records; err == nil && (n < replayed || replayed == 0 && n > 0) {
			err = fmt.Errorf("%d transactions were replayed, want %d", n, replayed)
		}
		abandon(ctx, s)
		if err != nil {
			return nil, err
		}
	}
	return seconds, nil
}

// engineFromCheckpoint opens an engine whose table was filled through T-SQL.
func (b *bench) engineFromCheckpoint(ctx context.Context, dir string) ([]float64, error) {
	o := engine.Options{Dir: dir, Durability: engine.Relaxed}
	s, err := openServer(ctx, o)
	if err != nil {
		return nil, err
	}
	err = s.execAll(ctx, createRowsSQL)
	if err == nil {
		_, err = s.db.ExecContext(ctx, fillRowsSQL, sql.Named("n", b.rows))
	}
	if err := errors.Join(err, s.close(ctx)); err != nil {
		return nil, err
	}
	var seconds []float64
	for range recoveryRounds {
		begin := time.Now()
		if s, err = openServer(ctx, o); err != nil {
			return nil, err
		}
		seconds = append(seconds, time.Since(begin).Seconds())
		var n int
		err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM dbo.item").Scan(&n)
		if err == nil && n != b.rows {
			err = fmt.Errorf("%d rows, want %d", n, b.rows)
		}
		if err := errors.Join(err, s.close(ctx)); err != nil {
			return nil, err
		}
	}
	return seconds, nil
}

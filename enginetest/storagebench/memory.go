package storagebench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"loopbroker/engine"
	"loopbroker/engine/storage"
)

const (
	megabyte     = 1 << 20
	memoryTarget = 600 // MB for a million rows of 200 bytes
)

// memory measures the resident memory of rows, once through the store and once
// as a table of the engine.
func (b *bench) memory(ctx context.Context) error {
	for _, m := range []struct {
		name string
		fill func(context.Context, int) (func() error, error)
	}{
		{"a table of the store", fillStore},
		{"a table of the engine, through T-SQL", fillServer},
	} {
		if err := b.memoryOf(ctx, m.name, m.fill); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// memoryOf compares the resident memory before and after. Without rows first:
// what an engine and its code need once is no part of a row.
func (b *bench) memoryOf(ctx context.Context, name string, fill func(context.Context, int) (func() error, error)) error {
	done, err := fill(ctx, 1)
	if err != nil {
		return err
	}
	if err := done(); err != nil {
		return err
	}
	before, err := settled()
	if err != nil {
		return err
	}
	if done, err = fill(ctx, b.rows); err != nil {
		return err
	}
	after, err := settled()
	if err := errors.Join(err, done()); err != nil {
		return err
	}
	perMillion := (after - before) / megabyte / float64(b.rows) * 1e6
	return b.figure(Figure{
		Name: fmt.Sprintf("%d rows of 200 bytes in %s", b.rows, name), Value: perMillion, Unit: "MB/million",
		Target: fmt.Sprintf("at most %d", memoryTarget), Reached: perMillion <= memoryTarget,
	})
}

// settled returns the resident memory when all that is free has been given back.
func settled() (float64, error) {
	runtime.GC()
	debug.FreeOSMemory()
	return resident()
}

func fillStore(ctx context.Context, rows int) (func() error, error) {
	s, err := storage.Open(ctx, storage.Options{})
	if err != nil {
		return nil, err
	}
	t, err := createRows(ctx, s)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if err := insertRow(ctx, s, nil, t, int64(i)); err != nil {
			return nil, err
		}
	}
	return func() error { return s.Close(ctx) }, nil
}

func fillServer(ctx context.Context, rows int) (func() error, error) {
	s, err := openServer(ctx, engine.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.execAll(ctx, createRowsSQL); err != nil {
		return nil, err
	}
	if _, err := s.db.ExecContext(ctx, fillRowsSQL, sql.Named("n", rows)); err != nil {
		return nil, err
	}
	return func() error { return s.close(ctx) }, nil
}

package anomaly

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"loopbroker/engine"
	"loopbroker/enginetest"
)

// endTimeout bounds the end of a database.
const endTimeout = 10 * time.Second

// Embedded is the Opener of an embedded engine in memory, a new one each time.
func Embedded(ctx context.Context) (*sql.DB, func() error, error) {
	srv, err := engine.Open(ctx, engine.Options{})
	if err != nil {
		return nil, nil, fmt.Errorf("open engine: %w", err)
	}
	db := sql.OpenDB(srv.Connector())
	return db, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		return errors.Join(db.Close(), srv.Close(ctx))
	}, nil
}

// Server returns the Opener of a real server, which makes a new database each
// time and drops it at its end. The DSN's login must be allowed to.
func Server(dsn string) Opener {
	return func(ctx context.Context) (*sql.DB, func() error, error) { return enginetest.Database(ctx, dsn) }
}

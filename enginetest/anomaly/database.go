package anomaly

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"loopbroker/engine"
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
	return func(ctx context.Context) (*sql.DB, func() error, error) {
		cfg, err := msdsn.Parse(dsn)
		if err != nil {
			return nil, nil, fmt.Errorf("DSN: %w", err)
		}
		admin := sql.OpenDB(mssql.NewConnectorConfig(cfg))
		name := "anomaly_" + strings.ReplaceAll(uuid.NewString(), "-", "")
		if _, err := admin.ExecContext(ctx, "CREATE DATABASE ["+name+"]"); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("create database: %w", err), admin.Close())
		}
		cfg.Database = name
		db := sql.OpenDB(mssql.NewConnectorConfig(cfg))
		return db, func() error {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
			defer cancel()
			err := db.Close()
			_, dropErr := admin.ExecContext(ctx, "ALTER DATABASE ["+name+"] SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE ["+name+"]")
			return errors.Join(err, dropErr, admin.Close())
		}, nil
	}
}

package enginetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"loopbroker/engine"
)

// DSNVariable names the environment variable with the DSN of a SQL Server on
// which the tests run instead of the embedded engine.
const DSNVariable = "LOOPBROKER_TEST_DSN"

// OnServer reports whether tests run against a real server.
func OnServer() bool { return os.Getenv(DSNVariable) != "" }

// closeTimeout bounds the end of an engine.
const closeTimeout = 10 * time.Second

// Server starts an embedded engine in memory that ends with the test.
func Server(t testing.TB, o engine.Options) *engine.Server {
	t.Helper()
	srv, err := engine.Open(t.Context(), o)
	if err != nil {
		t.Fatalf("open engine: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), closeTimeout)
		defer cancel()
		if err := srv.Close(ctx); err != nil {
			t.Errorf("close engine: %v", err)
		}
	})
	return srv
}

// Open returns a database of the test's own.
func Open(t testing.TB) *sql.DB {
	t.Helper()
	if OnServer() {
		return openServer(t, os.Getenv(DSNVariable))
	}
	db := sql.OpenDB(Server(t, engine.Options{}).Connector())
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// openServer makes a database on a real server, and drops it with the test.
func openServer(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, end, err := Database(t.Context(), dsn)
	if err != nil {
		t.Fatalf("%s: %v", DSNVariable, err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
	return db
}

// Database makes a new database on a real server, and returns what drops it. The
// DSN's login must be allowed to.
func Database(ctx context.Context, dsn string) (*sql.DB, func() error, error) {
	cfg, err := msdsn.Parse(dsn)
	if err != nil {
		return nil, nil, fmt.Errorf("DSN: %w", err)
	}
	admin := sql.OpenDB(mssql.NewConnectorConfig(cfg))
	name := "t_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	if _, err := admin.ExecContext(ctx, "CREATE DATABASE ["+name+"]"); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("create database: %w", err), admin.Close())
	}
	cfg.Database = name
	db := sql.OpenDB(mssql.NewConnectorConfig(cfg))
	return db, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err := db.Close()
		_, dropErr := admin.ExecContext(ctx, "ALTER DATABASE ["+name+"] SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE ["+name+"]")
		return errors.Join(err, dropErr, admin.Close())
	}, nil
}

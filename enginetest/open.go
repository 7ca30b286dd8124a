package enginetest

import (
	"context"
	"database/sql"
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
	admin, err := sql.Open("sqlserver", dsn)
	if err != nil {
		t.Fatalf("%s: %v", DSNVariable, err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	name := "t_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	if _, err := admin.ExecContext(t.Context(), "CREATE DATABASE ["+name+"]"); err != nil {
		t.Fatalf("create database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), closeTimeout)
		defer cancel()
		drop := fmt.Sprintf("ALTER DATABASE [%s] SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE [%[1]s]", name)
		if _, err := admin.ExecContext(ctx, drop); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
	cfg, err := msdsn.Parse(dsn)
	if err != nil {
		t.Fatalf("%s: %v", DSNVariable, err)
	}
	cfg.Database = name
	db := sql.OpenDB(mssql.NewConnectorConfig(cfg))
	t.Cleanup(func() { _ = db.Close() })
	return db
}

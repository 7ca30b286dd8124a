package enginetest

import (
	"context"
	"database/sql"
	"runtime"
	"time"

	"loopbroker/engine"
)

// Heap is what is in use, in bytes, after everything that can go has gone.
func Heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Report tells the progress every second until ctx ends.
func Report(ctx context.Context, progress func() int, tell func(int)) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			tell(progress())
		}
	}
}

// NewDatabase makes a database of that name, in place of one that is there, and
// runs the batch schema in it.
func NewDatabase(ctx context.Context, srv *engine.Server, name string, rcsi bool, schema string) error {
	admin := sql.OpenDB(srv.ConnectorFor("sa", srv.Password(), "master"))
	defer admin.Close()
	setting := "OFF"
	if rcsi {
		setting = "ON"
	}
	for _, stmt := range []string{
		"DROP DATABASE IF EXISTS " + name, "CREATE DATABASE " + name,
		"ALTER DATABASE " + name + " SET READ_COMMITTED_SNAPSHOT " + setting, "USE " + name + "; " + schema,
	} {
		if _, err := admin.ExecContext(ctx, stmt); err != nil {
			return err
		}
	}
	return nil
}

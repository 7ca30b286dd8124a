package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/golang-sql/sqlexp"
	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker/engine"
	"loopbroker/engine/storage"
)

// instance is an engine of a test, with a connection of sa in the database
// loopbroker.
type instance struct {
	*testing.T
	srv  *engine.Server
	db   *sql.DB
	conn *sql.Conn
}

func open(t *testing.T, o engine.Options) *instance {
	t.Helper()
	srv, err := engine.Open(t.Context(), o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	in := &instance{T: t, srv: srv, db: sql.OpenDB(srv.Connector())}
	if in.conn, err = in.db.Conn(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.close)
	return in
}

func (in *instance) close() {
	in.Helper()
	if in.srv == nil {
		return
	}
	_, _ = in.conn.Close(), in.db.Close()
	if err := in.srv.Close(context.WithoutCancel(in.Context())); err != nil {
		in.Errorf("close: %v", err)
	}
	in.srv = nil
}

// another returns a further connection.
func (in *instance) another() *sql.Conn {
	in.Helper()
	c, err := in.db.Conn(in.Context())
	if err != nil {
		in.Fatal(err)
	}
	in.Cleanup(func() { _ = c.Close() })
	return c
}

func (in *instance) run(texts ...string) {
	in.Helper()
	for _, text := range texts {
		if _, err := in.conn.ExecContext(in.Context(), text); err != nil {
			in.Fatalf("%s: %v", text, err)
		}
	}
}

// value returns the one value that a query gives, as text.
func (in *instance) value(query string) string {
	in.Helper()
	var v any
	if err := in.conn.QueryRowContext(in.Context(), query).Scan(&v); err != nil {
		in.Errorf("%s: %v", query, err)
	}
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

func (in *instance) want(query, want string) {
	in.Helper()
	if got := in.value(query); got != want {
		in.Errorf("%s: got %s, want %s", query, got, want)
	}
}

// numbers returns the numbers of the errors of a batch, in their order.
func numbers(err error) (list []int32) {
	var e mssql.Error
	if !errors.As(err, &e) {
		return nil
	}
	if len(e.All) == 0 {
		return []int32{e.Number}
	}
	for _, one := range e.All {
		list = append(list, one.Number)
	}
	return list
}

// messages runs a batch and returns what the server says on the way.
func (in *instance) messages(text string) (list []mssql.Error) {
	in.Helper()
	m := &sqlexp.ReturnMessage{}
	rows, err := in.conn.QueryContext(in.Context(), text, m)
	if err != nil {
		in.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	for {
		switch msg := m.Message(in.Context()).(type) {
		case sqlexp.MsgNotice:
			var e mssql.Error
			if err, ok := msg.Message.(error); ok && errors.As(err, &e) {
				list = append(list, e)
			} else {
				list = append(list, mssql.Error{Message: msg.Message.String()})
			}
		case sqlexp.MsgError:
			in.Fatalf("%s: %v", text, msg.Error)
		case sqlexp.MsgNextResultSet:
			if !rows.NextResultSet() {
				if err := rows.Err(); err != nil {
					in.Errorf("%s: %v", text, err)
				}
				return list
			}
		}
	}
}

// faultFS is the disk, with faults.
type faultFS struct {
	storage.FS
	mu    sync.Mutex
	write func(name string) error // asked before a file is created, grows or is written
	sync  func(name string)       // told before a file is synced
}

func newFaultFS() *faultFS { return &faultFS{FS: storage.Options{Dir: "."}.WithDefaults().FS} }

func (fs *faultFS) set(write func(string) error, sync func(string)) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.write, fs.sync = write, sync
}

func (fs *faultFS) mayWrite(name string) error {
	fs.mu.Lock()
	f := fs.write
	fs.mu.Unlock()
	if f == nil {
		return nil
	}
	return f(filepath.Base(name))
}

func (fs *faultFS) syncs(name string) {
	fs.mu.Lock()
	f := fs.sync
	fs.mu.Unlock()
	if f != nil {
		f(filepath.Base(name))
	}
}

func (fs *faultFS) Create(name string) (storage.File, error) {
	if err := fs.mayWrite(name); err != nil {
		return nil, err
	}
	f, err := fs.FS.Create(name)
	return faultFile{f, fs, name}, err
}

func (fs *faultFS) Open(name string) (storage.File, error) {
	f, err := fs.FS.Open(name)
	return faultFile{f, fs, name}, err
}

type faultFile struct {
	storage.File
	fs   *faultFS
	name string
}

var _ io.WriterAt = faultFile{}

func (f faultFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.fs.mayWrite(f.name); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, at)
}

func (f faultFile) Sync() error {
	f.fs.syncs(f.name)
	return f.File.Sync()
}

func isSegment(name string) bool { return strings.HasSuffix(name, ".seg") }

// errorTexts returns the texts of the errors of a batch.
func errorTexts(err error) (list []string) {
	var e mssql.Error
	if errors.As(err, &e) {
		for _, one := range e.All {
			list = append(list, one.Message)
		}
	}
	return list
}

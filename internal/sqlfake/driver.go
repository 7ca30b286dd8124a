// Package sqlfake is a database/sql driver whose answers a test writes. It knows as
// much of go-mssqldb's ways as our packages use: procedures called by name with
// named parameters, output parameters and return status.
package sqlfake

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"

	mssql "github.com/microsoft/go-mssqldb"
)

// Call is one call of a statement or procedure.
type Call struct {
	// Text is the statement, or the procedure's name.
	Text string

	// Args are the named parameters that were sent, outputs excluded.
	Args map[string]any

	// Outs are the names of the output parameters.
	Outs []string

	// InTx reports whether the call was made within a transaction of its connection.
	InTx bool

	// Conn numbers the connection, from 1.
	Conn int
}

// Answer is what a call gets.
type Answer struct {
	// Err, if set, is all there is.
	Err error

	// Columns and Rows are the result set; there is none without Columns.
	Columns []string
	Rows    [][]driver.Value

	// Status is the return status.
	Status int

	// Outs are the values of output parameters by name. One that is not there
	// stays as it was. Nil sets a pointer or a sql.Null type to null.
	Outs map[string]any
}

// Handler answers the calls. It must be safe for concurrent use.
type Handler func(ctx context.Context, c Call) Answer

// Open returns a database whose calls the handler answers. Begin, commit and
// rollback are calls with the texts "BEGIN", "COMMIT" and "ROLLBACK".
func Open(h Handler) *sql.DB { return sql.OpenDB(&connector{handler: h}) }

type connector struct {
	handler Handler

	mu    sync.Mutex
	count int // guarded by mu; connections made
}

func (c *connector) Connect(context.Context) (driver.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	return &conn{handler: c.handler, number: c.count}, nil
}

func (c *connector) Driver() driver.Driver { return fakeDriver{} }

type fakeDriver struct{}

func (fakeDriver) Open(string) (driver.Conn, error) { return nil, errors.New("sqlfake: use Open") }

// conn is one connection. database/sql uses it from one goroutine at a time.
type conn struct {
	handler Handler
	number  int
	inTx    bool

	status *mssql.ReturnStatus // of the call that is being prepared
	outs   map[string]any      // destinations of its output parameters
}

var (
	_ driver.QueryerContext    = (*conn)(nil)
	_ driver.ExecerContext     = (*conn)(nil)
	_ driver.ConnBeginTx       = (*conn)(nil)
	_ driver.NamedValueChecker = (*conn)(nil)
)

func (c *conn) Prepare(string) (driver.Stmt, error) {
	return nil, errors.New("sqlfake: no prepared statements")
}
func (c *conn) Close() error              { return nil }
func (c *conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) } //nolint:forbidigo // the interface has no context

func (c *conn) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	a := c.handler(ctx, Call{Text: "BEGIN", Conn: c.number})
	if a.Err != nil {
		return nil, a.Err
	}
	c.inTx = true
	return tx{c}, nil
}

type tx struct{ conn *conn }

func (t tx) Commit() error   { return t.end("COMMIT") }
func (t tx) Rollback() error { return t.end("ROLLBACK") }

func (t tx) end(text string) error {
	t.conn.inTx = false
	return t.conn.handler(context.Background(), Call{Text: text, InTx: true, Conn: t.conn.number}).Err //nolint:forbidigo // the interface has no context
}

// CheckNamedValue takes what the driver of SQL Server takes.
func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	switch value := v.Value.(type) {
	case *mssql.ReturnStatus:
		c.status = value
		return driver.ErrRemoveArgument
	case sql.Out:
		if c.outs == nil {
			c.outs = map[string]any{}
		}
		c.outs[v.Name] = value.Dest
		return nil
	case mssql.UniqueIdentifier:
		return nil
	default:
		converted, err := driver.DefaultParameterConverter.ConvertValue(value)
		v.Value = converted
		return err
	}
}

func (c *conn) call(ctx context.Context, text string, args []driver.NamedValue) (Answer, error) {
	call := Call{Text: text, Args: map[string]any{}, InTx: c.inTx, Conn: c.number}
	for _, a := range args {
		if _, ok := a.Value.(sql.Out); ok {
			call.Outs = append(call.Outs, a.Name)
			continue
		}
		call.Args[a.Name] = a.Value
	}
	status, outs := c.status, c.outs
	c.status, c.outs = nil, nil
	answer := c.handler(ctx, call)
	if answer.Err != nil {
		return answer, answer.Err
	}
	if status != nil {
		*status = mssql.ReturnStatus(answer.Status)
	}
	for name, value := range answer.Outs {
		dest, ok := outs[name]
		if !ok {
			return answer, fmt.Errorf("sqlfake: %s has no output parameter %s", text, name)
		}
		if err := assign(dest, value); err != nil {
			return answer, fmt.Errorf("sqlfake: output parameter %s: %w", name, err)
		}
	}
	return answer, nil
}

// assign stores an output value.
func assign(dest, value any) error {
	if scanner, ok := dest.(sql.Scanner); ok {
		return scanner.Scan(value)
	}
	target := reflect.ValueOf(dest).Elem()
	if value == nil {
		target.SetZero()
		return nil
	}
	source := reflect.ValueOf(value)
	if !source.CanConvert(target.Type()) {
		return fmt.Errorf("%T does not fit %s", value, target.Type())
	}
	target.Set(source.Convert(target.Type()))
	return nil
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if _, err := c.call(ctx, text, args); err != nil {
		return nil, err
	}
	return driver.RowsAffected(0), nil
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	a, err := c.call(ctx, text, args)
	if err != nil {
		return nil, err
	}
	return &rows{answer: a}, nil
}

type rows struct {
	answer Answer
	next   int
}

func (r *rows) Columns() []string { return r.answer.Columns }
func (r *rows) Close() error      { return nil }

func (r *rows) Next(dest []driver.Value) error {
	if r.next == len(r.answer.Rows) {
		return io.EOF
	}
	copy(dest, r.answer.Rows[r.next])
	r.next++
	return nil
}

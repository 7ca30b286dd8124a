package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/golang-sql/sqlexp"
	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker/tsql"
)

// sqlCommand runs T-SQL: a small sqlcmd.
type sqlCommand struct {
	target
	Query []string `short:"Q" sep:"none" placeholder:"TEXT" help:"Run this text and exit. May be given more than once."`
	Input []string `short:"i" sep:"none" placeholder:"FILE" help:"Run this file, with GO between batches. May be given more than once."`
	Go    bool     `short:"k" name:"keep-going" help:"Go on with the next batch after an error. The exit code still tells."`
}

// Help is shown by --help.
func (sqlCommand) Help() string {
	return `Without -Q and -i the script is read from standard input. A line that is GO ends
a batch; GO 5 runs it five times. Result sets and messages are printed in the
order in which the server sends them. The exit code is 1 if a batch failed.

Examples:
  loopbroker sql -Q "SELECT @@VERSION"
  loopbroker sql --dsn "sqlserver://sa:…@127.0.0.1:1433?database=app" -i script.sql
  echo "PRINT 'hello'" | loopbroker sql`
}

// Run implements the command.
func (c *sqlCommand) Run(app *app) error {
	scripts, err := c.scripts(app.ctx, app.stdin)
	if err != nil {
		return err
	}
	watched, lose := context.WithCancelCause(app.ctx)
	defer lose(nil)
	c.dialer = &watchingDialer{lost: func() { time.AfterFunc(lastWords, func() { lose(errConnectionLost) }) }}
	a := *app
	a.ctx = watched
	return c.connect(&a, func(ctx context.Context, db *sql.DB) error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		p := &printer{out: app.stdout}
		failed := 0
		for _, s := range scripts {
			batches, err := tsql.Split(s)
			if err != nil {
				return usageError{err}
			}
			for _, b := range batches {
				for range max(b.Count, 1) {
					if err := p.batch(ctx, conn, b.Text); err != nil {
						return err
					}
					if p.failed {
						failed++
						p.failed = false
						if !c.Go {
							return errFailedBatch
						}
					}
				}
			}
		}
		if failed > 0 {
			return errFailedBatch
		}
		return nil
	})
}

// errConnectionLost ends a batch whose connection ended before its result.
var errConnectionLost = errors.New("the connection to the server was lost; what the batch had done by then is not known")

// lastWords is how long the driver has to pass on what came before the end of
// the connection.
const lastWords = 300 * time.Millisecond

// watchingDialer tells when a connection ends under the driver, which would wait
// for the rest of the batch for ever.
type watchingDialer struct {
	net.Dialer
	lost func()
}

// DialContext implements mssql.Dialer.
func (d *watchingDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := d.Dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &watchedConn{Conn: c, lost: d.lost}, nil
}

type watchedConn struct {
	net.Conn
	lost func()
}

// Read implements net.Conn.
func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.lost()
	}
	return n, err
}

// errFailedBatch ends the command after an error that the server has reported
// and the printer has shown.
var errFailedBatch = errors.New("a batch failed")

// scripts reads what is to be run.
func (c *sqlCommand) scripts(ctx context.Context, stdin io.Reader) ([]string, error) {
	out := append([]string(nil), c.Query...)
	for _, f := range c.Input {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, usageError{err}
		}
		text, err := scriptText(b)
		if err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", f, err)}
		}
		out = append(out, text)
	}
	if len(out) > 0 {
		return out, nil
	}
	// A terminal or pipe cannot be told to stop reading; the reader ends with
	// the process.
	type input struct {
		text []byte
		err  error
	}
	read := make(chan input, 1)
	go func() {
		b, err := io.ReadAll(stdin)
		read <- input{b, err}
	}()
	select {
	case in := <-read:
		if in.err != nil {
			return nil, in.err
		}
		text, err := scriptText(in.text)
		if err != nil {
			return nil, usageError{err}
		}
		return []string{text}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// scriptText decodes a script: UTF-16 with a byte order mark, which SQL Server
// Management Studio writes, or UTF-8 with or without one.
func scriptText(b []byte) (string, error) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(b, []byte{0xFF, 0xFE}):
		order = binary.LittleEndian
	case bytes.HasPrefix(b, []byte{0xFE, 0xFF}):
		order = binary.BigEndian
	case !utf8.Valid(b):
		return "", errors.New("the script is neither UTF-8 nor UTF-16 with a byte order mark")
	case bytes.IndexByte(b, 0) >= 0:
		return "", errors.New("the script holds NUL characters; is it UTF-16 without a byte order mark?")
	default:
		return strings.TrimPrefix(string(b), "\uFEFF"), nil
	}
	if b = b[2:]; len(b)%2 != 0 {
		return "", errors.New("the script is UTF-16 with half a character at its end")
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units)), nil
}

// printer shows results and messages as they come.
type printer struct {
	out    io.Writer
	failed bool // the batch reported an error
}

// batch runs one batch and prints what it gives. The error is one of the
// connection; an error of the batch is printed.
func (p *printer) batch(ctx context.Context, conn *sql.Conn, text string) error {
	msgs := &sqlexp.ReturnMessage{}
	rows, err := conn.QueryContext(ctx, text, msgs)
	if err != nil {
		return p.problem(err)
	}
	defer rows.Close()
	for active := true; active; {
		switch m := msgs.Message(ctx).(type) {
		case sqlexp.MsgNotice:
			if err := p.notice(m.Message); err != nil {
				return err
			}
		case sqlexp.MsgError:
			if err := p.problem(m.Error); err != nil {
				return err
			}
		case sqlexp.MsgRowsAffected:
			unit := "rows"
			if m.Count == 1 {
				unit = "row"
			}
			if _, err := fmt.Fprintf(p.out, "(%d %s affected)\n", m.Count, unit); err != nil {
				return err
			}
		case sqlexp.MsgNext:
			if err := p.table(rows); err != nil {
				return p.problem(err)
			}
		case sqlexp.MsgNextResultSet:
			active = rows.NextResultSet()
		}
	}
	err = rows.Err()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return p.problem(err)
	}
	// A connection that was cut in the middle can look like one whose batch has
	// ended.
	if err := conn.PingContext(ctx); err != nil {
		return fmt.Errorf("%w: %w", errConnectionLost, err)
	}
	return nil
}

func (p *printer) notice(m fmt.Stringer) error {
	_, err := fmt.Fprintln(p.out, m.String())
	return err
}

// problem prints an error of the server; any other is returned.
func (p *printer) problem(err error) error {
	var e mssql.Error
	if !errors.As(err, &e) {
		return err
	}
	p.failed = true
	all := e.All
	if len(all) == 0 {
		all = []mssql.Error{e}
	}
	for _, e := range all {
		where := ""
		if e.ProcName != "" {
			where = ", Procedure " + e.ProcName
		}
		if _, err := fmt.Fprintf(p.out, "Msg %d, Level %d, State %d%s, Line %d\n%s\n", e.Number, e.Class, e.State, where, e.LineNo, e.Message); err != nil {
			return err
		}
	}
	return nil
}

// sampleRows is how many rows are looked at to choose the width of columns;
// what comes after is printed as it arrives.
const sampleRows = 500

// maxWidth is the widest a column is padded to.
const maxWidth = 60

// table prints one result set. Next is not called again once it has reported
// false: the driver would go on with the next result set.
func (p *printer) table(rows *sql.Rows) error {
	cols, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	var sample [][]string
	var width []int // known once the head is printed
	for rows.Next() {
		r, err := scanText(rows, cols)
		if err != nil {
			return err
		}
		if width == nil {
			if sample = append(sample, r); len(sample) < sampleRows {
				continue
			}
			if width, err = p.head(cols, sample); err != nil {
				return err
			}
			continue
		}
		if err := p.line(r, width); err != nil {
			return err
		}
	}
	if width == nil {
		if _, err := p.head(cols, sample); err != nil {
			return err
		}
	}
	return rows.Err()
}

// head prints the names of the columns and the first rows, and returns the widths
// that it has chosen for all.
func (p *printer) head(cols []*sql.ColumnType, sample [][]string) ([]int, error) {
	width := make([]int, len(cols))
	names := make([]string, len(cols))
	rules := make([]string, len(cols))
	for i, c := range cols {
		names[i], width[i] = c.Name(), max(utf8.RuneCountInString(c.Name()), 1)
		for _, r := range sample {
			width[i] = max(width[i], min(utf8.RuneCountInString(r[i]), maxWidth))
		}
		rules[i] = strings.Repeat("-", width[i])
	}
	for _, line := range append([][]string{names, rules}, sample...) {
		if err := p.line(line, width); err != nil {
			return nil, err
		}
	}
	return width, nil
}

// line prints the cells of a row.
func (p *printer) line(cells []string, width []int) error {
	var sb strings.Builder
	for i, s := range cells {
		if i > 0 {
			sb.WriteByte(' ')
		}
		sb.WriteString(s)
		if i < len(cells)-1 {
			sb.WriteString(strings.Repeat(" ", max(width[i]-utf8.RuneCountInString(s), 0)))
		}
	}
	_, err := fmt.Fprintln(p.out, strings.TrimRight(sb.String(), " "))
	return err
}

// scanText reads a row as text.
func scanText(rows *sql.Rows, cols []*sql.ColumnType) ([]string, error) {
	vals := make([]any, len(cols))
	for i := range vals {
		vals[i] = new(any)
	}
	if err := rows.Scan(vals...); err != nil {
		return nil, err
	}
	out := make([]string, len(cols))
	for i, v := range vals {
		out[i] = cellText(*v.(*any), cols[i].DatabaseTypeName())
	}
	return out, nil
}

// timeLayouts are how the date types are shown.
var timeLayouts = map[string]string{
	"DATE": "2006-01-02", "TIME": "15:04:05.0000000", "DATETIME": "2006-01-02 15:04:05.000", "SMALLDATETIME": "2006-01-02 15:04:00",
	"DATETIME2": "2006-01-02 15:04:05.0000000", "DATETIMEOFFSET": "2006-01-02 15:04:05.0000000 -07:00",
}

// cellText is one value as text, as sqlcmd shows it.
func cellText(v any, typeName string) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case bool:
		if v {
			return "1"
		}
		return "0"
	case time.Time:
		if layout, ok := timeLayouts[typeName]; ok {
			return v.Format(layout)
		}
		return v.Format(time.RFC3339Nano)
	case []byte:
		switch typeName {
		case "UNIQUEIDENTIFIER":
			var u mssql.UniqueIdentifier
			if u.Scan(v) == nil {
				return u.String()
			}
		case "DECIMAL", "NUMERIC", "MONEY", "SMALLMONEY":
			return string(v)
		}
		return fmt.Sprintf("0x%X", v)
	}
	return fmt.Sprint(v)
}

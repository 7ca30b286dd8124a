package enginetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/golang-sql/sqlexp"
	mssql "github.com/microsoft/go-mssqldb"
)

// Scripts runs every script below dir, each on a database of its own.
func Scripts(t *testing.T, dir string) {
	t.Helper()
	datadriven.Walk(t, dir, func(t *testing.T, path string) {
		s := &script{db: Open(t), sessions: map[string]*sql.Conn{}, running: map[string]chan string{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.command(t, d) })
		s.close()
	})
}

// script is the state of one running script.
type script struct {
	db       *sql.DB
	sessions map[string]*sql.Conn
	running  map[string]chan string
}

func (s *script) close() {
	for _, done := range s.running {
		<-done
	}
	for _, c := range s.sessions {
		_ = c.Close()
	}
}

// command runs one block: "sql [session=NAME] [async]", or "wait session=NAME".
func (s *script) command(t *testing.T, d *datadriven.TestData) string {
	name := "main"
	d.MaybeScanArgs(t, "session", &name)
	switch d.Cmd {
	case "sql":
		conn, ok := s.sessions[name]
		if !ok {
			var err error
			if conn, err = s.db.Conn(t.Context()); err != nil {
				d.Fatalf(t, "connect: %v", err)
			}
			s.sessions[name] = conn
		}
		if !d.HasArg("async") {
			return Run(t.Context(), conn, d.Input)
		}
		done := make(chan string, 1)
		s.running[name] = done
		ctx, text := t.Context(), d.Input
		go func() { done <- Run(ctx, conn, text) }()
		return ""
	case "wait":
		out := <-s.running[name]
		delete(s.running, name)
		return out
	}
	d.Fatalf(t, "unknown command %q", d.Cmd)
	return ""
}

// Run runs a batch and returns its results and messages as text, in the order
// in which the server sends them.
func Run(ctx context.Context, conn *sql.Conn, text string) string {
	var sb strings.Builder
	msgs := &sqlexp.ReturnMessage{}
	rows, err := conn.QueryContext(ctx, text, msgs)
	if err != nil {
		writeError(&sb, err)
		return sb.String()
	}
	defer rows.Close()
	for active := true; active; {
		switch m := msgs.Message(ctx).(type) {
		case sqlexp.MsgNotice:
			fmt.Fprintln(&sb, noticeText(m.Message))
		case sqlexp.MsgError:
			writeError(&sb, m.Error)
		case sqlexp.MsgRowsAffected:
			fmt.Fprintf(&sb, "(%d rows)\n", m.Count)
		case sqlexp.MsgNext:
			if err := writeRows(&sb, rows); err != nil {
				writeError(&sb, err)
			}
		case sqlexp.MsgNextResultSet:
			active = rows.NextResultSet()
		}
	}
	if err := rows.Err(); err != nil {
		writeError(&sb, err)
	}
	return sb.String()
}

// noticeText is the text of a message without the driver's own words.
func noticeText(m fmt.Stringer) string {
	if e, ok := m.(mssql.Error); ok {
		return e.Message
	}
	return m.String()
}

// writeError writes an error as the server's messages are written.
func writeError(sb *strings.Builder, err error) {
	var e mssql.Error
	if !errors.As(err, &e) {
		fmt.Fprintf(sb, "error: %v\n", err)
		return
	}
	proc := ""
	if e.ProcName != "" {
		proc = ", Procedure " + e.ProcName
	}
	fmt.Fprintf(sb, "Msg %d, Level %d, State %d%s, Line %d: %s\n", e.Number, e.Class, e.State, proc, e.LineNo, e.Message)
}

// writeRows writes a result set: the names, then a line a row, values separated
// by " | ".
func writeRows(sb *strings.Builder, rows *sql.Rows) error {
	cols, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	for i, c := range cols {
		if i > 0 {
			sb.WriteString(" | ")
		}
		name := c.Name()
		if name == "" {
			name = "(no name)"
		}
		sb.WriteString(name)
	}
	sb.WriteByte('\n')
	for rows.Next() {
		vals := make([]any, len(cols))
		for i := range vals {
			vals[i] = new(any)
		}
		if err := rows.Scan(vals...); err != nil {
			return err
		}
		for i, v := range vals {
			if i > 0 {
				sb.WriteString(" | ")
			}
			sb.WriteString(Text(*v.(*any), cols[i].DatabaseTypeName()))
		}
		sb.WriteByte('\n')
	}
	return rows.Err()
}

// Text is one value as scripts show it.
func Text(v any, typeName string) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case bool:
		if v {
			return "1"
		}
		return "0"
	case time.Time:
		return v.Format("2006-01-02T15:04:05.9999999Z07:00")
	case []byte:
		if typeName == "DECIMAL" || typeName == "MONEY" || typeName == "SMALLMONEY" {
			return string(v)
		}
		if typeName == "UNIQUEIDENTIFIER" {
			var u mssql.UniqueIdentifier
			if u.Scan(v) == nil {
				return u.String()
			}
		}
		return fmt.Sprintf("0x%X", v)
	}
	return fmt.Sprint(v)
}

package anomaly

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/golang-sql/sqlexp"
	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker/enginetest"
)

// session is a connection that a script names.
type session struct {
	name   string
	conn   *sql.Conn
	id     int           // @@SPID
	step   *Step         // the running batch, nil when idle
	done   chan struct{} // closed when it has ended
	result result
}

// result is what a batch gave.
type result struct {
	lines  []string // rows and messages, and counts as "(1 row affected)"
	errors []int32
}

func openSession(ctx context.Context, db *sql.DB, name string, level Level) (*session, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("session %s: connect: %w", name, err)
	}
	s := &session{name: name, conn: conn}
	if err := conn.QueryRowContext(ctx, "SELECT @@SPID").Scan(&s.id); err != nil {
		return nil, errors.Join(fmt.Errorf("session %s: %w", name, err), conn.Close())
	}
	if level != "" {
		if _, err := conn.ExecContext(ctx, level.session()); err != nil {
			return nil, errors.Join(fmt.Errorf("session %s: %w", name, err), conn.Close())
		}
	}
	return s, nil
}

// start runs a step in the background.
func (s *session) start(ctx context.Context, step *Step) {
	s.step, s.done, s.result = step, make(chan struct{}), result{}
	go func(done chan struct{}) {
		defer close(done)
		s.result = batch(ctx, s.conn, step.SQL)
	}(s.done)
}

// ended reports whether the running batch has ended.
func (s *session) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// close rolls back what is open and ends the connection.
func (s *session) close(ctx context.Context) error {
	if s.step != nil {
		<-s.done // the run's context has ended it
	}
	_, err := s.conn.ExecContext(ctx, "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION")
	if errors.Is(err, context.Canceled) || errors.Is(err, sql.ErrConnDone) {
		err = nil
	}
	return errors.Join(err, s.conn.Close())
}

// batch runs a batch and collects what it gives, in the order of the server.
func batch(ctx context.Context, conn *sql.Conn, text string) result {
	var r result
	msgs := &sqlexp.ReturnMessage{}
	rows, err := conn.QueryContext(ctx, text, msgs)
	if err != nil {
		r.fail(err)
		return r
	}
	defer func() { _ = rows.Close() }()
	for active := true; active; {
		switch m := msgs.Message(ctx).(type) {
		case sqlexp.MsgNotice:
			r.lines = append(r.lines, notice(m.Message))
		case sqlexp.MsgError:
			r.fail(m.Error)
		case sqlexp.MsgRowsAffected:
			r.lines = append(r.lines, countLine(m.Count))
		case sqlexp.MsgNext:
			r.read(rows)
		case sqlexp.MsgNextResultSet:
			active = rows.NextResultSet()
		}
	}
	if err := rows.Err(); err != nil && len(r.errors) == 0 {
		r.fail(err)
	}
	return r
}

// noRows stands for an empty result.
const noRows = "(no rows)"

func countLine(n int64) string {
	if n == 1 {
		return "(1 row affected)"
	}
	return fmt.Sprintf("(%d rows affected)", n)
}

func isCount(line string) bool { return strings.HasSuffix(line, " affected)") }

func notice(m fmt.Stringer) string {
	var e mssql.Error
	if err, ok := m.(error); ok && errors.As(err, &e) {
		return e.Message
	}
	return m.String()
}

func (r *result) fail(err error) {
	if n := len(r.lines); n > 0 && r.lines[n-1] == noRows {
		r.lines = r.lines[:n-1] // the columns of a result that never came
	}
	var e mssql.Error
	if !errors.As(err, &e) {
		r.errors = append(r.errors, -1)
		r.lines = append(r.lines, "error: "+err.Error())
		return
	}
	r.errors = append(r.errors, e.Number)
	r.lines = append(r.lines, fmt.Sprintf("error %d: %s", e.Number, e.Message))
}

// read appends the rows of a result set.
func (r *result) read(rows *sql.Rows) {
	cols, err := rows.ColumnTypes()
	if err != nil {
		r.fail(err)
		return
	}
	none := true
	for rows.Next() {
		none = false
		values := make([]any, len(cols))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			r.fail(err)
			return
		}
		texts := make([]string, len(cols))
		for i, v := range values {
			texts[i] = enginetest.Text(*v.(*any), cols[i].DatabaseTypeName())
		}
		r.lines = append(r.lines, strings.Join(texts, " | "))
	}
	if none {
		r.lines = append(r.lines, noRows)
	}
}

// rows is the result as conditions see it; ok is false after an error.
func (r *result) rows() (text string, ok bool) {
	if len(r.errors) > 0 {
		return "", false
	}
	var rows []string
	for _, l := range r.lines {
		if !isCount(l) {
			rows = append(rows, l)
		}
	}
	return strings.Join(rows, ", "), true
}

// differs compares the result with the lines of a script, and says how it
// differs, or "".
func (r *result) differs(want []string, ids map[string]int) string {
	counted := false
	for _, w := range want {
		counted = counted || isCount(w)
	}
	var got []string
	for _, l := range r.lines {
		if !isCount(l) || counted {
			got = append(got, l)
		}
	}
	same := len(got) == len(want) || len(want) == 0 && len(r.errors) == 0
	for i := 0; same && i < len(want); i++ {
		same = sameLine(got[i], want[i], ids)
	}
	if same {
		return ""
	}
	return fmt.Sprintf("got %s, the script says %s", quoted(got), quoted(want))
}

func quoted(lines []string) string {
	if len(lines) == 0 {
		return "nothing"
	}
	return `"` + strings.Join(lines, `" "`) + `"`
}

// sameLine compares a line with one of the script.
func sameLine(got, want string, ids map[string]int) bool {
	if number, ok := strings.CutPrefix(want, "error "); ok && !strings.Contains(number, ":") {
		return strings.HasPrefix(got, want+":")
	}
	for name, id := range ids {
		want = strings.ReplaceAll(want, "{"+name+"}", fmt.Sprint(id))
	}
	return got == want
}

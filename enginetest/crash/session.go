package crash

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"
)

// session is one session of the load. It knows what its rows are.
type session struct {
	id     int
	db     *sql.DB
	conn   *sql.Conn
	out    *pipe
	rnd    *rand.Rand
	state  state
	nextID int64
}

// transaction is what the session has done since BEGIN TRANSACTION.
type transaction struct {
	*session
	number  int64
	after   state // with the changes
	changes []entry
	given   []string
}

// errGone is the end of a connection that the session has cut itself.
var errGone = errors.New("the connection was cut")

// work makes transactions until the process is killed.
func (s *session) work(ctx context.Context) (err error) {
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if s.rnd.IntN(100) == 0 {
			if err := s.checkpoint(ctx); err != nil {
				return err
			}
		}
		err := s.transaction(ctx)
		var sqlErr mssql.Error
		switch {
		case errors.Is(err, errGone):
			if s.conn, err = s.db.Conn(ctx); err != nil {
				return err
			}
		case errors.As(err, &sqlErr) && sqlErr.Number == 1205:
			if err := s.exec(ctx, "IF @@TRANCOUNT > 0 ROLLBACK"); err != nil {
				return err
			}
		case err != nil:
			return err
		}
	}
	return ctx.Err()
}

func (s *session) exec(ctx context.Context, stmt string, args ...any) error {
	_, err := s.conn.ExecContext(ctx, stmt, args...)
	return err
}

// checkpoint makes all that was acknowledged before durable.
func (s *session) checkpoint(ctx context.Context) error {
	if err := s.out.send(message{Kind: kindBegin, Session: s.id}); err != nil {
		return err
	}
	if err := s.exec(ctx, "CHECKPOINT"); err != nil {
		return err
	}
	return s.out.send(message{Kind: kindAck, Session: s.id})
}

// number is that of the session's last transaction.
func (s *session) number() int64 {
	return number(s.state[place{"progress", strconv.Itoa(s.id)}])
}

// transaction makes one transaction of some actions, and ends it in one way or
// the other.
func (s *session) transaction(ctx context.Context) error {
	t := &transaction{session: s, number: s.number() + 1, after: s.state.clone()}
	if err := s.exec(ctx, "BEGIN TRANSACTION"); err != nil {
		return err
	}
	for range 1 + s.rnd.IntN(4) {
		if err := t.step(ctx); err != nil {
			return err
		}
	}
	if err := s.exec(ctx, "UPDATE dbo.progress SET number = @p1 WHERE session = @p2", t.number, s.id); err != nil {
		return err
	}
	t.set("progress", strconv.Itoa(s.id), t.number)
	switch n := s.rnd.IntN(100); {
	case n < 14:
		if err := s.exec(ctx, "ROLLBACK TRANSACTION"); err != nil {
			return err
		}
		return s.out.send(message{Kind: kindUndone, Session: s.id, Number: t.number, Given: t.given})
	case n == 14:
		return s.cut()
	default:
		return t.commit(ctx, n >= 85)
	}
}

// cut ends the connection in the middle of the transaction.
func (s *session) cut() error {
	err := s.conn.Raw(func(any) error { return driver.ErrBadConn }) // the pool closes it
	if errors.Is(err, driver.ErrBadConn) {
		err = errGone
	}
	return errors.Join(err, s.conn.Close())
}

// step does one thing, and takes some of them back by a savepoint.
func (t *transaction) step(ctx context.Context) error {
	if t.rnd.IntN(7) != 0 {
		return t.act(ctx)
	}
	if err := t.exec(ctx, "SAVE TRANSACTION here"); err != nil {
		return err
	}
	mark, before := len(t.changes), t.after.clone()
	for range 1 + t.rnd.IntN(2) {
		if err := t.act(ctx); err != nil {
			return err
		}
	}
	if err := t.exec(ctx, "ROLLBACK TRANSACTION here"); err != nil {
		return err
	}
	t.changes, t.after = t.changes[:mark], before
	return nil
}

// commit announces the transaction, commits it, and tells that it is
// acknowledged.
func (t *transaction) commit(ctx context.Context, delayed bool) error {
	m := message{Kind: kindBegin, Session: t.id, Number: t.number, Delayed: delayed, Changes: t.changes, Given: t.given}
	if err := t.out.send(m); err != nil {
		return err
	}
	stmt := "COMMIT TRANSACTION"
	if delayed {
		stmt += " WITH (DELAYED_DURABILITY = ON)"
	}
	if err := t.exec(ctx, stmt); err != nil {
		return err
	}
	t.state = t.after
	m.Kind, m.Changes = kindAck, nil
	return t.out.send(m)
}

// set notes a row as the transaction has left it, drop that it is gone.
func (t *transaction) set(table, key string, values ...any) {
	t.note(entry{Table: table, Key: key, Row: text(values...)})
}

func (t *transaction) drop(table, key string) { t.note(entry{Table: table, Key: key, Gone: true}) }

func (t *transaction) note(e entry) {
	t.changes = append(t.changes, e)
	t.after.apply([]entry{e})
}

// keys returns the keys of a table's rows, in order.
func (t *transaction) keys(table string) []string {
	var keys []string
	for p := range t.after {
		if p.table == table {
			keys = append(keys, p.key)
		}
	}
	slices.Sort(keys)
	return keys
}

// pick returns one of the keys of a table's rows.
func (t *transaction) pick(table string) (string, bool) {
	keys := t.keys(table)
	if len(keys) == 0 {
		return "", false
	}
	return keys[t.rnd.IntN(len(keys))], true
}

// row returns the values of a row.
func (t *transaction) row(table, key string) []string {
	return strings.Split(t.after[place{table, key}], "|")
}

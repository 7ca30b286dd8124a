package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"

	mssql "github.com/microsoft/go-mssqldb"
)

// The errors that a history expects.
const (
	cancelled      = -1
	lockTimeout    = 1222
	deadlock       = 1205
	updateConflict = 3960
	duplicateKey   = 2627
	duplicateIndex = 2601
)

// clock orders what the client sends and gets.
type clock struct{ n atomic.Int64 }

func (c *clock) tick() int64 { return c.n.Add(1) }

// session is a connection and what it is about to do.
type session struct {
	n     int
	p     *Params
	conn  *sql.Conn
	id    int // @@SPID
	clock *clock
	rnd   *rand.Rand
	txns  []*transaction
	plan  plan

	// stepped
	running  *statement
	stopping bool // the running statement has been cancelled
	cancel   context.CancelFunc
	done     chan struct{}
}

func openSession(ctx context.Context, db *sql.DB, p *Params, n int, c *clock) (*session, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("session %d: %w", n, err)
	}
	s := &session{n: n, p: p, conn: conn, clock: c, rnd: rand.New(rand.NewPCG(p.Seed, uint64(n)))}
	err = conn.QueryRowContext(ctx, "SELECT @@SPID").Scan(&s.id)
	if err == nil && s.rnd.IntN(3) == 0 {
		_, err = conn.ExecContext(ctx, fmt.Sprintf("SET DEADLOCK_PRIORITY %d", s.rnd.IntN(21)-10))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("session %d: %w", n, err), conn.Close())
	}
	return s, nil
}

// run sends a statement and takes down the answer.
func (s *session) run(ctx context.Context, st *statement) {
	st.sent = s.clock.tick()
	err := s.send(ctx, st)
	st.answered = s.clock.tick()
	if err == nil {
		return
	}
	st.err, st.rows, st.changes = err, nil, nil
	var e mssql.Error
	switch {
	case errors.As(err, &e):
		st.number = e.Number
	case ctx.Err() != nil:
		st.number = cancelled
	}
}

func (s *session) send(ctx context.Context, st *statement) (err error) {
	switch st.kind {
	case query, aggregate, dml:
	default:
		_, err = s.conn.ExecContext(ctx, st.text)
		return err
	}
	rows, err := s.conn.QueryContext(ctx, st.text)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		switch st.kind {
		case query:
			err = st.scanRow(rows)
		case aggregate:
			err = st.scanAggregate(rows)
		default:
			err = st.scanChange(rows)
		}
		if err != nil {
			return err
		}
	}
	return rows.Err()
}

func (st *statement) scanRow(rows *sql.Rows) error {
	var r Row
	if err := rows.Scan(&r.ID, &r.Grp, &r.Code, &r.Val, &r.Ver, &r.Prev); err != nil {
		return err
	}
	st.rows = append(st.rows, r)
	return nil
}

// scanAggregate takes the versions apart: the rest of the rows is added by the
// checker.
func (st *statement) scanAggregate(rows *sql.Rows) error {
	var list sql.NullString
	if err := rows.Scan(&st.count, &st.sum, &list); err != nil {
		return err
	}
	if !list.Valid {
		return nil
	}
	for part := range strings.SplitSeq(list.String, ",") {
		id, ver, _ := strings.Cut(part, ":")
		var r Row
		var err error
		if r.ID, err = strconv.ParseInt(id, 10, 64); err != nil {
			return err
		}
		if r.Ver, err = strconv.ParseInt(ver, 10, 64); err != nil {
			return err
		}
		st.rows = append(st.rows, r)
	}
	return nil
}

// scanChange reads the columns of deleted and inserted, NULL where there is none.
func (st *statement) scanChange(rows *sql.Rows) error {
	var v [12]sql.NullInt64
	dest := make([]any, len(v))
	for i := range v {
		dest[i] = &v[i]
	}
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	c := change{old: rowOf(v[:6]), new: rowOf(v[6:])}
	switch {
	case c.new != nil:
		c.key = key{st.table, c.new.ID}
	case c.old != nil:
		c.key = key{st.table, c.old.ID}
	}
	st.changes = append(st.changes, c)
	return nil
}

func rowOf(v []sql.NullInt64) *Row {
	if !v[0].Valid {
		return nil
	}
	return &Row{v[0].Int64, v[1].Int64, v[2].Int64, v[3].Int64, v[4].Int64, v[5].Int64}
}

// transactionCount asks for @@TRANCOUNT after an error.
func (s *session) transactionCount(ctx context.Context) (n int, err error) {
	err = s.conn.QueryRowContext(ctx, "SELECT @@TRANCOUNT").Scan(&n)
	return n, err
}

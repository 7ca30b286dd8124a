package loopback

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"loopbroker"
	"loopbroker/internal/brokercall"
	"loopbroker/tsql"
)

// sendTimeout bounds one send. The link gives up by itself after a second or two;
// this is for a connection that does not answer at all.
const sendTimeout = 10 * time.Second

// Sender makes requests for callers that are inside a transaction of their own,
// which the requests do not belong to. It is safe for concurrent use.
type Sender struct {
	db     *sql.DB
	schema tsql.Schema
}

// NewSender returns a sender. It does not take over db, and calls nothing yet.
func NewSender(db *sql.DB, schema tsql.Schema) *Sender { return &Sender{db: db, schema: schema} }

// Send makes the request on a connection of its own and returns its id. The pool
// must have one to spare beside the caller's transaction; if it can never have one,
// Send says so instead of waiting for itself.
func (s *Sender) Send(ctx context.Context, r loopbroker.Request) (int64, error) {
	if s.db.Stats().MaxOpenConnections == 1 {
		return 0, fmt.Errorf("send request: %w: the pool has one connection, which the caller's transaction holds", loopbroker.ErrInvalid)
	}
	return s.send(ctx, s.db, r)
}

// SendTx makes the request through the linked server, from the transaction's own
// session, which is what the request's record then names. The transaction stays as
// it is and decides nothing: the request is there even if it is rolled back.
// ErrNotSent means that nothing was stored and the transaction can go on.
func (s *Sender) SendTx(ctx context.Context, tx *sql.Tx, r loopbroker.Request) (int64, error) {
	if tx == nil {
		return 0, fmt.Errorf("send request: %w: no transaction", loopbroker.ErrInvalid)
	}
	return s.send(ctx, tx, r)
}

func (s *Sender) send(ctx context.Context, db brokercall.Execer, r loopbroker.Request) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, sendTimeout, errors.New("no answer in time"))
	defer cancel()
	return brokercall.Request(ctx, db, s.schema, r)
}

package worker

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker"
	"loopbroker/internal/millisecond"
	"loopbroker/tsql"
)

// settlement reads the return status of a settling procedure.
func settlement(status int) (loopbroker.Settlement, error) {
	switch tsql.Outcome(status) {
	case tsql.OutcomeDone:
		return loopbroker.Settled, nil
	case tsql.OutcomeLeaseLost:
		return loopbroker.SettledLost, nil
	case tsql.OutcomeAnswered:
		return loopbroker.SettledAnswered, nil
	default:
		return 0, fmt.Errorf("%w: outcome %d", loopbroker.ErrSchema, status)
	}
}

// Release implements loopbroker.Queue.
func (s *SQLStore) Release(ctx context.Context, l loopbroker.Lease, delay time.Duration, refund bool) (loopbroker.Settlement, error) {
	status, err := s.exec(ctx, tsql.ProcRelease,
		append(leaseArgs(l), sql.Named("delay_ms", millisecond.Up(delay)), sql.Named("refund", refund))...)
	if err != nil {
		return 0, &loopbroker.OpError{Op: "release job", RequestID: l.RequestID, Err: err}
	}
	return settlement(status)
}

// maxReason is the width of a reason and of an error message.
const maxReason = 2048

// clip cuts a text to at most limit UTF-16 units, which is how nvarchar counts.
func clip(text string, limit int) string {
	units := 0
	for i, r := range text {
		width := 1
		if r >= 0x10000 {
			width = 2
		}
		if units += width; units > limit {
			return text[:i]
		}
	}
	return text
}

// null returns nil for the zero value, so that the column becomes NULL.
func null[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// replyColumn is one column of a reply, in the way the procedures take it.
type replyColumn struct {
	name  string
	value any
}

// replyColumns returns the columns of a reply from http_status on, without the
// body. NULL stands for what did not happen.
func replyColumns(r loopbroker.Reply) []replyColumn {
	t := r.Timings
	return []replyColumn{
		{"http_status", null(r.HTTPStatus)},
		{"error_class", null(string(r.ErrorClass))},
		{"error_message", null(clip(r.ErrorMessage, maxReason))},
		{"ms_error", null(r.MSError)},
		{"json_out", null(r.JSON)},
		{"content_type", null(clip(r.ContentType, 400))},
		{"attempts", null(r.Attempts)},
		{"worker", null(clip(r.Worker, 200))},
		{"queue_ms", millisecond.Down(t.Queue)},
		{"dns_ms", null(millisecond.Down(t.DNS))},
		{"connect_ms", null(millisecond.Down(t.Connect))},
		{"tls_ms", null(millisecond.Down(t.TLS))},
		{"first_byte_ms", null(millisecond.Down(t.FirstByte))},
		{"total_ms", millisecond.Down(t.Total)},
	}
}

// replyArgs returns the parameters of a reply, the body included.
func replyArgs(r loopbroker.Reply) []any {
	var args []any
	for _, c := range replyColumns(r) {
		args = append(args, sql.Named(c.name, c.value))
	}
	if r.Body != nil {
		args = append(args, sql.Named("body_out", r.Body))
	}
	return args
}

// maxShared is the most characters of output that a reply may have and still share
// a call: what is larger would make the others wait for its way to the server.
const maxShared = 64 << 10

// Complete implements loopbroker.Queue. Small texts go together in one call, the
// others by themselves.
func (s *SQLStore) Complete(ctx context.Context, batch []loopbroker.Completion) ([]loopbroker.Settlement, error) {
	out := make([]loopbroker.Settlement, len(batch))
	var shared []int
	for i, c := range batch {
		if !c.Reply.State.Final() || c.Lease.RequestID == 0 {
			return nil, fmt.Errorf("%w: completion of request %d with state %q", loopbroker.ErrInvalid, c.Lease.RequestID, c.Reply.State)
		}
		if c.Reply.Body == nil && len(c.Reply.JSON) <= maxShared && utf8.ValidString(c.Reply.JSON) {
			shared = append(shared, i)
		}
	}
	if len(shared) < 2 {
		shared = nil
	}
	if err := s.completeShared(ctx, batch, shared, out); err != nil {
		return nil, err
	}
	for i, c := range batch {
		if len(shared) > 0 && shared[0] == i {
			shared = shared[1:]
			continue
		}
		var err error
		if out[i], err = s.completeOne(ctx, c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// completeOne stores one reply.
func (s *SQLStore) completeOne(ctx context.Context, c loopbroker.Completion) (loopbroker.Settlement, error) {
	args := append(leaseArgs(c.Lease), sql.Named("request_id", c.Lease.RequestID), sql.Named("state", string(c.Reply.State)))
	status, err := s.exec(ctx, tsql.ProcComplete, append(args, replyArgs(c.Reply)...)...)
	if err != nil {
		return 0, &loopbroker.OpError{Op: "complete job", RequestID: c.Lease.RequestID, Err: err}
	}
	return settlement(status)
}

// completeShared stores the replies at the given indexes in one call.
func (s *SQLStore) completeShared(ctx context.Context, batch []loopbroker.Completion, indexes []int, out []loopbroker.Settlement) error {
	if len(indexes) == 0 {
		return nil
	}
	replies := make([]map[string]any, 0, len(indexes))
	byMessage := make(map[loopbroker.UUID]int, len(indexes))
	for _, i := range indexes {
		c := batch[i]
		byMessage[c.Lease.MessageID] = i
		o := map[string]any{
			"message_id": c.Lease.MessageID.String(), "lock_id": c.Lease.Token.String(),
			"request_id": c.Lease.RequestID, "state": string(c.Reply.State),
		}
		for _, column := range replyColumns(c.Reply) {
			if column.value != nil {
				o[column.name] = column.value
			}
		}
		replies = append(replies, o)
	}
	data, err := json.Marshal(replies)
	if err != nil {
		return fmt.Errorf("encode replies: %w", err)
	}
	_, err = s.query(ctx, s.db, tsql.ProcCompleteBatch, func(rows *sql.Rows, _ []string) error {
		var message mssql.UniqueIdentifier
		var code int
		if err := rows.Scan(&message, &code); err != nil {
			return err
		}
		i, ok := byMessage[loopbroker.UUID(message)]
		if !ok {
			return fmt.Errorf("%w: a message that was not completed", loopbroker.ErrSchema)
		}
		out[i], err = settlement(code)
		return err
	}, sql.Named("replies", string(data)))
	return err
}

// DeadLetter implements loopbroker.Queue.
func (s *SQLStore) DeadLetter(ctx context.Context, c loopbroker.Completion, reason string) (loopbroker.Settlement, error) {
	args := append(leaseArgs(c.Lease), sql.Named("request_id", null(c.Lease.RequestID)), sql.Named("reason", clip(reason, maxReason)))
	status, err := s.exec(ctx, tsql.ProcDeadLetter, append(args, replyArgs(c.Reply)...)...)
	if err != nil {
		return 0, &loopbroker.OpError{Op: "bury job", RequestID: c.Lease.RequestID, Err: err}
	}
	return settlement(status)
}

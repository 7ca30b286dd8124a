package operator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker"
	"loopbroker/internal/brokercall"
	"loopbroker/internal/millisecond"
	"loopbroker/tsql"
)

// Filter says which requests or dead letters are meant. A zero field means any.
type Filter struct {
	// State is one of the states of a request, as it is stored.
	State string

	// Type is the job type.
	Type string

	// Host is the host of an HTTP request, with its port if the URL has one; a host
	// without a port means all of its ports.
	Host string

	// Class is the error class.
	Class string

	// OlderThan and NewerThan bound the age.
	OlderThan, NewerThan time.Duration

	// Limit is the most rows.
	Limit int
}

// Listed is one row of a list of requests.
type Listed struct {
	ID           int64      `json:"id"`
	Type         string     `json:"type"`
	State        string     `json:"state"`
	Method       string     `json:"method,omitempty"`
	URL          string     `json:"url,omitempty"`
	HTTPStatus   int        `json:"http_status,omitempty"`
	ErrorClass   string     `json:"error_class,omitempty"`
	ErrorMessage string     `json:"error_message,omitempty"`
	Lane         string     `json:"lane"`
	RequestedBy  string     `json:"requested_by"`
	Attempts     int        `json:"attempts"`
	MaxAttempts  int        `json:"max_attempts"`
	CreatedAt    time.Time  `json:"created_at"`
	CompletedAt  *time.Time `json:"completed_at,omitempty"`
	TotalMS      int64      `json:"total_ms,omitempty"`
	AgeMS        int64      `json:"age_ms"`
}

// Requests lists the newest requests that the filter leaves.
func (o *Operator) Requests(ctx context.Context, f Filter) ([]Listed, error) {
	var out []Listed
	err := o.query(ctx, tsql.StatementRequestList, func(rows *sql.Rows) error {
		var (
			r                           Listed
			method, url, class, message sql.NullString
			status, attempts, total     sql.NullInt64
			completed                   sql.NullTime
		)
		err := rows.Scan(&r.ID, &r.Type, &r.State, &method, &url, &status, &class, &message, &r.Lane, &r.RequestedBy,
			&attempts, &r.MaxAttempts, &r.CreatedAt, &completed, &total, &r.AgeMS)
		r.Method, r.URL, r.ErrorClass, r.ErrorMessage = method.String, url.String, class.String, message.String
		r.HTTPStatus, r.Attempts, r.TotalMS = int(status.Int64), int(attempts.Int64), total.Int64
		if completed.Valid {
			r.CompletedAt = &completed.Time
		}
		out = append(out, r)
		return err
	}, sql.Named("state", nullString(f.State)), sql.Named("type", nullString(f.Type)), sql.Named("host", nullString(f.Host)),
		sql.Named("error_class", nullString(f.Class)), sql.Named("older_ms", nullMillis(f.OlderThan)),
		sql.Named("newer_ms", nullMillis(f.NewerThan)), sql.Named("limit", f.Limit))
	return out, err
}

// Request returns what there is to know about one request. The error wraps
// loopbroker.ErrUnknownRequest if there is none.
func (o *Operator) Request(ctx context.Context, id int64) (brokercall.Record, error) {
	return brokercall.Read(ctx, o.db, o.schema, id)
}

// Collected is what a collect gave.
type Collected struct {
	Code    tsql.ReturnCode
	Status  int
	Text    string // the body as text
	Headers string
	Body    []byte // the body as bytes
	Output  string // the handler's output as it is
	Error   string
}

// Collect waits for the reply of a request, at most for the time given.
func (o *Operator) Collect(ctx context.Context, id int64, wait time.Duration) (Collected, error) {
	var (
		returned                       mssql.ReturnStatus
		status                         sql.NullInt64
		text, headers, failure, output sql.NullString
		c                              Collected
	)
	_, err := o.db.ExecContext(ctx, o.schema.Object(tsql.ProcCollect), &returned, sql.Named("id", id), sql.Named("wait", millisecond.Up(wait)),
		sql.Named("status", sql.Out{Dest: &status}), sql.Named("response", sql.Out{Dest: &text}),
		sql.Named("response_headers", sql.Out{Dest: &headers}), sql.Named("response_binary", sql.Out{Dest: &c.Body}),
		sql.Named("error", sql.Out{Dest: &failure}), sql.Named("dataout", sql.Out{Dest: &output}))
	if err != nil {
		return Collected{}, fmt.Errorf("collect request %d: %w", id, tsql.WrapError(err))
	}
	c.Code, c.Status, c.Text, c.Headers = tsql.ReturnCode(returned), int(status.Int64), text.String, headers.String
	c.Error, c.Output = failure.String, output.String
	return c, nil
}

// Cancelled says what became of a cancellation.
type Cancelled int

// The outcomes of a cancellation, as sp_api_cancel returns them.
const (
	CancelledNever   Cancelled = 0 // it never runs
	CancelledRunning Cancelled = 1 // it runs, and its worker will end it
	CancelledTooLate Cancelled = 2 // it has its reply
)

// Cancel calls a request off.
func (o *Operator) Cancel(ctx context.Context, id int64) (Cancelled, error) {
	var returned mssql.ReturnStatus
	var reason sql.NullString
	_, err := o.db.ExecContext(ctx, o.schema.Object(tsql.ProcCancel), &returned, sql.Named("id", id), sql.Named("error", sql.Out{Dest: &reason}))
	if err != nil {
		return 0, fmt.Errorf("cancel request %d: %w", id, tsql.WrapError(err))
	}
	if c := Cancelled(returned); c <= CancelledTooLate {
		return c, nil
	}
	err = tsql.ReturnCode(returned).Err()
	if reason.Valid {
		err = fmt.Errorf("%w: %s", err, reason.String)
	}
	return 0, fmt.Errorf("cancel request %d: %w", id, err)
}

// Redrive puts one failed, expired or cancelled request back as a new one.
func (o *Operator) Redrive(ctx context.Context, id int64) error {
	count, err := o.redrive(ctx, sql.Named("id", id))
	switch {
	case err != nil:
		return fmt.Errorf("redrive request %d: %w", id, err)
	case count == 0:
		return fmt.Errorf("redrive request %d: %w: it is unknown, is completed or not answered yet, or was redriven before", id, ErrNotFound)
	}
	return nil
}

// ErrNoFilter means that a change of many rows was asked for without saying which.
var ErrNoFilter = fmt.Errorf("%w: a filter is missing", loopbroker.ErrInvalid)

// RedriveAll puts failed requests back that the filter leaves, at most its limit, the
// oldest first. It knows no State and no Type; times are those of the reply.
func (o *Operator) RedriveAll(ctx context.Context, f Filter) (int, error) {
	if f.Host == "" && f.Class == "" && f.OlderThan == 0 && f.NewerThan == 0 {
		return 0, fmt.Errorf("redrive: %w", ErrNoFilter)
	}
	count, err := o.redrive(ctx, sql.Named("host", nullString(f.Host)), sql.Named("error_class", nullString(f.Class)),
		sql.Named("failed_before_ms", nullMillis(f.OlderThan)), sql.Named("failed_within_ms", nullMillis(f.NewerThan)), sql.Named("limit", f.Limit))
	if err != nil {
		return 0, fmt.Errorf("redrive: %w", err)
	}
	return count, nil
}

func (o *Operator) redrive(ctx context.Context, args ...any) (int, error) {
	var count sql.NullInt64
	_, err := o.db.ExecContext(ctx, o.schema.Object(tsql.ProcRedrive), append(args, sql.Named("count", sql.Out{Dest: &count}))...)
	return int(count.Int64), tsql.WrapError(err)
}

// Purge removes answered requests: all of a state, or of every state if it is
// empty, that were answered longer ago than the hours, or than the retention if
// hours is nil. It removes batch by batch and tells after each how many are gone.
func (o *Operator) Purge(ctx context.Context, state string, hours *int, batch int, progress func(gone int64)) (int64, error) {
	return o.purge(ctx, tsql.ProcPurge, hours, batch, progress, sql.Named("state", nullString(state)))
}

// PurgeDeadLetters removes buried rows, like Purge removes requests.
func (o *Operator) PurgeDeadLetters(ctx context.Context, hours *int, batch int, progress func(gone int64)) (int64, error) {
	return o.purge(ctx, tsql.ProcPurgeDead, hours, batch, progress)
}

// purgeRound is how many batches one call removes.
const purgeRound = 10

func (o *Operator) purge(ctx context.Context, procedure string, hours *int, batch int, progress func(int64), args ...any) (int64, error) {
	var older sql.NullInt64
	if hours != nil {
		older = sql.NullInt64{Int64: int64(*hours), Valid: true}
	}
	args = append(args, sql.Named("older_than_hours", older), sql.Named("batch", batch), sql.Named("max_batches", purgeRound))
	for total := int64(0); ; {
		var gone sql.NullInt64
		_, err := o.db.ExecContext(ctx, o.schema.Object(procedure), append(args[:len(args):len(args)], sql.Named("deleted", sql.Out{Dest: &gone}))...)
		if err != nil {
			return total, fmt.Errorf("purge: %w", tsql.WrapError(err))
		}
		if gone.Int64 == 0 {
			return total, nil
		}
		total += gone.Int64
		progress(total)
	}
}

// DeadLetter is a buried row of the queue.
type DeadLetter struct {
	MessageID   string    `json:"message_id"`
	RequestID   int64     `json:"request_id,omitempty"` // 0 if it is no request of ours
	Type        string    `json:"type,omitempty"`
	URL         string    `json:"url,omitempty"`
	RequestedBy string    `json:"requested_by,omitempty"`
	ErrorClass  string    `json:"error_class,omitempty"`
	Reason      string    `json:"reason"`
	Attempts    int       `json:"attempts"`
	BuriedAt    time.Time `json:"buried_at"`
	AgeMS       int64     `json:"age_ms"`
}

// DeadLetters lists the buried rows that the filter leaves, the newest first. It
// knows no State and no Type; times are those of the burial.
func (o *Operator) DeadLetters(ctx context.Context, f Filter) ([]DeadLetter, error) {
	var out []DeadLetter
	err := o.query(ctx, tsql.StatementDeadLetterList, func(rows *sql.Rows) error {
		var (
			d                             DeadLetter
			id                            sql.NullInt64
			kind, url, by, class, message sql.NullString
		)
		err := rows.Scan(&d.MessageID, &id, &kind, &url, &by, &class, &message, &d.Attempts, &d.BuriedAt, &d.AgeMS)
		d.RequestID, d.Type, d.URL, d.RequestedBy = id.Int64, kind.String, url.String, by.String
		d.ErrorClass, d.Reason = class.String, message.String
		out = append(out, d)
		return err
	}, sql.Named("host", nullString(f.Host)), sql.Named("error_class", nullString(f.Class)), sql.Named("older_ms", nullMillis(f.OlderThan)),
		sql.Named("newer_ms", nullMillis(f.NewerThan)), sql.Named("limit", f.Limit))
	return out, err
}

// RedriveDeadLetters redrives the requests of buried rows and returns how many it
// were, and how many rows have no request that can be redriven.
func (o *Operator) RedriveDeadLetters(ctx context.Context, f Filter) (redriven, left int, err error) {
	letters, err := o.DeadLetters(ctx, f)
	if err != nil {
		return 0, 0, err
	}
	for _, d := range letters {
		if d.RequestID == 0 {
			left++
			continue
		}
		switch err := o.Redrive(ctx, d.RequestID); {
		case errors.Is(err, ErrNotFound):
			left++
		case err != nil:
			return redriven, left, err
		default:
			redriven++
		}
	}
	return redriven, left, nil
}

func nullMillis(d time.Duration) sql.NullInt64 {
	return sql.NullInt64{Int64: d.Milliseconds(), Valid: d != 0}
}

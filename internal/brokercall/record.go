package brokercall

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"loopbroker"
	"loopbroker/internal/millisecond"
	"loopbroker/tsql"
)

// Queryer is what *sql.DB, *sql.Conn and *sql.Tx have in common here.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Record is one request and, if its state is final, its reply.
type Record struct {
	ID                              int64
	Type                            string
	State                           loopbroker.State
	Lane                            loopbroker.Lane
	RequestedBy                     string
	Attempts, MaxAttempts           int
	CreatedAt, ExpiresAt, Completed time.Time
	Reply                           loopbroker.Reply
}

// Read returns the record of a request, or ErrUnknownRequest.
func Read(ctx context.Context, db Queryer, schema tsql.Schema, id int64) (Record, error) {
	fail := func(err error) (Record, error) {
		return Record{}, &loopbroker.OpError{Op: "read request", RequestID: id, Err: tsql.WrapError(err)}
	}
	rows, err := db.QueryContext(ctx, schema.Statement(tsql.StatementRequest), sql.Named("id", id))
	if err != nil {
		return fail(err)
	}
	defer func() { _ = rows.Close() }() // rows.Err has what matters
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return fail(err)
		}
		return fail(loopbroker.ErrUnknownRequest)
	}
	r, err := scanRecord(rows)
	if err != nil {
		return fail(err)
	}
	return r, nil
}

// scanRecord reads the columns by name and past those that it does not know.
func scanRecord(rows *sql.Rows) (Record, error) {
	columns, err := rows.Columns()
	if err != nil {
		return Record{}, err
	}
	var r Record
	texts := map[string]*sql.NullString{}
	numbers := map[string]*sql.NullInt64{}
	times := map[string]*sql.NullTime{}
	dest := make([]any, len(columns))
	for i, name := range columns {
		switch name {
		case "type", "state", "lane", "requested_by", "json_out", "content_type", "error_class", "error_message", "worker":
			texts[name] = new(sql.NullString)
			dest[i] = texts[name]
		case "id", "http_status", "ms_error", "attempts", "max_attempts", "queue_ms", "dns_ms", "connect_ms", "tls_ms", "first_byte_ms", "total_ms":
			numbers[name] = new(sql.NullInt64)
			dest[i] = numbers[name]
		case "created_at", "expires_at", "completed_at":
			times[name] = new(sql.NullTime)
			dest[i] = times[name]
		case "body_out":
			dest[i] = &r.Reply.Body
		default:
			dest[i] = new(any)
		}
	}
	if err := rows.Scan(dest...); err != nil {
		return Record{}, err
	}
	if n := len(texts) + len(numbers) + len(times); n < 9+11+3 {
		return Record{}, fmt.Errorf("%w: the statement has %d of the columns of a request", loopbroker.ErrSchema, n)
	}

	number := func(name string) int { return int(numbers[name].Int64) }
	duration := func(name string) time.Duration { return millisecond.Duration(numbers[name].Int64) }
	r.ID, r.Type, r.Lane, r.RequestedBy = numbers["id"].Int64, texts["type"].String, loopbroker.Lane(texts["lane"].String), texts["requested_by"].String
	r.Attempts, r.MaxAttempts = number("attempts"), number("max_attempts")
	r.CreatedAt, r.ExpiresAt, r.Completed = times["created_at"].Time, times["expires_at"].Time, times["completed_at"].Time
	if r.State, err = loopbroker.ParseState(texts["state"].String); err != nil {
		return Record{}, err
	}
	if !r.State.Final() {
		r.Reply = loopbroker.Reply{}
		return r, nil
	}
	body := r.Reply.Body
	r.Reply = loopbroker.Reply{
		State: r.State, HTTPStatus: number("http_status"), ErrorClass: loopbroker.ErrorClass(texts["error_class"].String),
		ErrorMessage: texts["error_message"].String, MSError: number("ms_error"), JSON: texts["json_out"].String, Body: body,
		ContentType: texts["content_type"].String, Attempts: r.Attempts, Worker: texts["worker"].String,
		Timings: loopbroker.Timings{
			Queue: duration("queue_ms"), DNS: duration("dns_ms"), Connect: duration("connect_ms"), TLS: duration("tls_ms"),
			FirstByte: duration("first_byte_ms"), Total: duration("total_ms"),
		},
	}
	return r, nil
}

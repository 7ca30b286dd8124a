package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/netip"
	"time"

	"loopbroker"
	"loopbroker/httpfetch"
	"loopbroker/tsql"
)

// bench is what the scenarios share.
type bench struct {
	benchCommand
	broker  *broker
	url     string
	callers *sql.DB
}

// prepare connects the callers and runs the worker.
func (b *bench) prepare(ctx context.Context) error {
	// Each waiting caller takes one of the slots, which bound them on a server
	// that does other work.
	_, err := b.broker.db.ExecContext(ctx, "UPDATE "+b.broker.schema.Object(tsql.TableSetting)+
		" SET max_waiters = @p1 WHERE max_waiters < @p1", b.Concurrency)
	if err != nil {
		return fmt.Errorf("raise max_waiters: %w", err)
	}
	b.callers = sql.OpenDB(b.broker.srv.Connector())
	if b.TCP {
		addr, err := b.broker.srv.Listen(ctx, anyPort)
		if err != nil {
			return err
		}
		if b.callers, err = openDSN(ctx, b.broker.dsn(addr)); err != nil {
			return err
		}
		b.broker.db.Close()
		if b.broker.db, err = openDSN(ctx, b.broker.dsn(addr)); err != nil {
			return err
		}
	}
	return b.broker.startWorker(ctx)
}

func (b *bench) close() { _ = b.callers.Close() }

// call makes the batch of one request, the same text every time.
func (b *bench) call(wait int) string {
	return fmt.Sprintf(`DECLARE @code int, @id bigint, @status int;
BEGIN TRANSACTION;
EXEC @code = %s @url = N'%s', @wait = %d, @status = @status OUTPUT, @id = @id OUTPUT;
COMMIT TRANSACTION;
SELECT @code, @status;`, b.broker.schema.Object(tsql.ProcRequest), b.url, wait)
}

// caller returns the setup of callers that run the batch in a session of their
// own and expect the code.
func (b *bench) caller(batch string, want tsql.ReturnCode) func(context.Context) (func(context.Context) bool, func(), error) {
	return func(ctx context.Context) (func(context.Context) bool, func(), error) {
		session, err := b.callers.Conn(ctx)
		if err != nil {
			return nil, nil, err
		}
		call := func(ctx context.Context) bool {
			var code int
			var status sql.NullInt64
			err := session.QueryRowContext(ctx, batch).Scan(&code, &status)
			return err == nil && tsql.ReturnCode(code) == want
		}
		return call, func() { _ = session.Close() }, nil
	}
}

// fireAndForget sends without waiting and stops the clock when every reply is
// stored.
func (b *bench) fireAndForget(ctx context.Context) (measured, error) {
	begin := time.Now()
	m, err := each(ctx, b.Requests, b.Concurrency, b.caller(b.call(0), tsql.CodePending))
	if err != nil {
		return m, err
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	want := int64(b.Requests - m.failed)
	for done := int64(0); done < want; {
		select {
		case <-ctx.Done():
			return m, ctx.Err()
		case <-tick.C:
			s := b.broker.worker.Stats()
			done = s.Completed + s.Failed + s.Expired
		}
	}
	m.total = time.Since(begin)
	return m, b.checkReplies(ctx, &m)
}

// wait sends and gets the answer while the transaction is open.
func (b *bench) wait(ctx context.Context) (measured, error) {
	const wait = 30_000
	m, err := each(ctx, b.Requests, b.Concurrency, b.caller(b.call(wait), tsql.CodeCompleted))
	if err != nil {
		return m, err
	}
	return m, b.checkReplies(ctx, &m)
}

// checkReplies counts what the tables say after the clock has stopped.
func (b *bench) checkReplies(ctx context.Context, m *measured) error {
	good, err := b.broker.count(ctx, "SELECT COUNT(*) FROM "+b.broker.schema.Object(tsql.TableReply)+" WHERE state = N'completed' AND http_status = 200")
	if err != nil {
		return err
	}
	m.failed = max(m.failed, b.Requests-good)
	return nil
}

// direct calls the service with the worker's HTTP client and nothing else.
func (b *bench) direct(ctx context.Context) (measured, error) {
	client, err := httpfetch.New(httpfetch.Options{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		return measured{}, err
	}
	defer client.Close()
	job := loopbroker.Job{RequestID: 1, Type: loopbroker.TypeHTTP, JSON: `{"url":"` + b.url + `","method":"GET"}`, AttemptTimeout: 30 * time.Second}
	return each(ctx, b.Requests, b.Concurrency, func(context.Context) (func(context.Context) bool, func(), error) {
		call := func(ctx context.Context) bool {
			r, err := client.Handle(ctx, job)
			return err == nil && r.HTTPStatus == 200
		}
		return call, func() {}, nil
	})
}

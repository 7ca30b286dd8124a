package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"loopbroker/tsql"
)

// steps returns the story of the send that never arrives.
func steps() []step {
	return []step{
		{"the naive way", naiveWay},
		{"the loopback way", loopbackWay},
		{"the caller rolls back", callerRollsBack},
		{"@wait = 0, collected later", collectedLater},
		{"a slow endpoint", slowEndpoint},
		{"no worker", noWorker},
	}
}

// naiveTries is how often the naive way is tried: it fails every time.
const naiveTries = 5

// naiveWay puts the queue row into the caller's own transaction and waits there
// for the answer, which cannot come before the commit.
func naiveWay(ctx context.Context, s *story) (string, error) {
	session, err := s.caller.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer session.Close()
	quiet := s.quiet
	defer func() { s.quiet = quiet }()
	timedOut, before := 0, s.stub.seen("/hello")
	var id int64
	for try := 1; try <= naiveTries; try++ {
		var code, open int
		err := s.batch(ctx, session, fmt.Sprintf(`
BEGIN TRANSACTION;
EXEC dbo.sp_api_request @url = N'%s/hello', @on_commit = 1, @wait = 0, @id = @id OUTPUT;
EXEC @code = dbo.sp_api_collect @id = @id, @wait = 150, @response = @response OUTPUT;
SELECT @code, @id, @@TRANCOUNT;`, s.stub.url), &code, &id, &open)
		if err != nil {
			return "", err
		}
		if tsql.ReturnCode(code) == tsql.CodePending && open == 1 && s.stub.seen("/hello") == before {
			timedOut++
		}
		if try == naiveTries {
			break
		}
		if _, err := session.ExecContext(ctx, "ROLLBACK TRANSACTION"); err != nil {
			return "", err
		}
		s.quiet = true // shown once
	}
	s.quiet = quiet
	s.say("%d tries, %d time-outs, %d requests seen by the service: the row is not there for", naiveTries, timedOut, s.stub.seen("/hello")-before)
	s.say("anybody else before the transaction commits, and it cannot commit while it waits.")
	var code int
	err = s.batch(ctx, session, fmt.Sprintf(`
COMMIT TRANSACTION;
EXEC @code = dbo.sp_api_collect @id = %d, @wait = 3000, @response = @response OUTPUT;
SELECT @code;`, id), &code)
	if err != nil {
		return "", err
	}
	s.say("The last one commits, and is answered: code %d. The other four never happened.", code)
	what := fmt.Sprintf("timed out %d of %d times = %d %%", timedOut, naiveTries, 100*timedOut/naiveTries)
	if timedOut != naiveTries || code != 0 || s.stub.seen("/hello")-before != 1 {
		return "", fmt.Errorf("%s, code %d after the commit, %d requests seen", what, code, s.stub.seen("/hello")-before)
	}
	return what, nil
}

// loopbackWay gets the answer while the transaction is still open.
func loopbackWay(ctx context.Context, s *story) (string, error) {
	session, err := s.caller.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer session.Close()
	var code, status, open, own, others int
	var id int64
	var response string
	calls := s.broker.srv.LoopbackCalls()
	start := time.Now()
	err = s.batch(ctx, session, fmt.Sprintf(`
BEGIN TRANSACTION;
INSERT INTO dbo.invoice (id) VALUES (1);
EXEC @code = dbo.sp_api_request @url = N'%s/hello', @wait = 3000,
    @status = @status OUTPUT, @response = @response OUTPUT, @id = @id OUTPUT;
UPDATE dbo.invoice SET answer = @response WHERE id = 1;
SELECT @code, @status, @response, @id, @@TRANCOUNT, (SELECT COUNT(*) FROM dbo.invoice);`, s.stub.url),
		&code, &status, &response, &id, &open, &own)
	if err != nil {
		return "", err
	}
	took := time.Since(start)
	if others, err = s.broker.count(ctx, "SELECT COUNT(*) FROM dbo.invoice WITH (READPAST)"); err != nil {
		return "", err
	}
	s.say("code %d, status %d, %q after %.1f ms, with @@TRANCOUNT = %d.", code, status, response, millis(took), open)
	s.say("The caller sees %d invoice, every other session %d: its transaction is open and untouched.", own, others)
	s.say("The engine counts %d call through the linked server.", s.broker.srv.LoopbackCalls()-calls)
	if err := s.batch(ctx, session, "COMMIT TRANSACTION;"); err != nil {
		return "", err
	}
	committed, err := s.broker.count(ctx, "SELECT COUNT(*) FROM dbo.invoice WHERE answer = @p1", response)
	switch {
	case err != nil:
		return "", err
	case code != 0 || status != 200 || response == "":
		return "", fmt.Errorf("code %d, status %d, answer %q", code, status, response)
	case open != 1 || own != 1 || others != 0 || committed != 1:
		return "", fmt.Errorf("the transaction was not what it was: @@TRANCOUNT = %d, %d own rows, %d seen by others, %d committed", open, own, others, committed)
	case s.broker.srv.LoopbackCalls() == calls:
		return "", errors.New("no call came through the linked server")
	}
	return fmt.Sprintf("answered in %.1f ms while @@TRANCOUNT = 1", millis(took)), nil
}

// callerRollsBack shows that the request does not depend on its caller's fate.
func callerRollsBack(ctx context.Context, s *story) (string, error) {
	session, err := s.caller.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer session.Close()
	before := s.stub.seen("/render")
	var code, status, after int
	var id int64
	err = s.batch(ctx, session, fmt.Sprintf(`
BEGIN TRANSACTION;
INSERT INTO dbo.invoice (id) VALUES (2);
EXEC @code = dbo.sp_api_request @url = N'%s/render', @method = N'POST', @body = N'<invoice/>',
    @headers = N'{"Content-Type":"application/xml"}', @status = @status OUTPUT, @id = @id OUTPUT;
ROLLBACK TRANSACTION;
SELECT @code, @status, @id, @@TRANCOUNT;`, s.stub.url), &code, &status, &id, &after)
	if err != nil {
		return "", err
	}
	rows, err := s.broker.count(ctx, "SELECT COUNT(*) FROM dbo.invoice WHERE id = 2")
	if err != nil {
		return "", err
	}
	replies, err := s.broker.count(ctx, "SELECT COUNT(*) FROM dbo.api_broker_reply WHERE request_id = @p1", id)
	if err != nil {
		return "", err
	}
	reached := s.stub.seen("/render") - before
	s.say("status %d; rolled back: %d invoices with id 2 are left.", status, rows)
	s.say("The service has seen %d request, and %d reply row is stored.", reached, replies)
	if code != 0 || status != 201 || after != 0 || rows != 0 || reached != 1 || replies != 1 {
		return "", fmt.Errorf("code %d, status %d, %d rows left, %d requests seen, %d replies", code, status, rows, reached, replies)
	}
	return "row gone, request made, reply stored", nil
}

// collectedLater sends without waiting and asks for the answer afterwards.
func collectedLater(ctx context.Context, s *story) (string, error) {
	session, err := s.caller.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer session.Close()
	var code, status int
	var id int64
	start := time.Now()
	err = s.batch(ctx, session, fmt.Sprintf(`
BEGIN TRANSACTION;
EXEC @code = dbo.sp_api_request @url = N'%s/hello', @wait = 0, @id = @id OUTPUT;
COMMIT TRANSACTION;
SELECT @code, @id;`, s.stub.url), &code, &id)
	if err != nil {
		return "", err
	}
	took := time.Since(start)
	s.say("code %d (pending), request %d, after %.1f ms: nothing waited.", code, id, millis(took))
	if tsql.ReturnCode(code) != tsql.CodePending {
		return "", fmt.Errorf("code %d instead of 1", code)
	}
	var response sql.NullString
	err = s.batch(ctx, session, fmt.Sprintf(`
EXEC @code = dbo.sp_api_collect @id = %d, @wait = 3000, @status = @status OUTPUT, @response = @response OUTPUT;
SELECT @code, @status, @response;`, id), &code, &status, &response)
	if err != nil {
		return "", err
	}
	s.say("code %d, status %d, %q.", code, status, response.String)
	if code != 0 || status != 200 {
		return "", fmt.Errorf("collected code %d, status %d", code, status)
	}
	return fmt.Sprintf("sent in %.1f ms, collected later", millis(took)), nil
}

// slowWait is how long the caller waits for the slow endpoint, in milliseconds.
const slowWait = 400

// slowEndpoint shows that a wait is bounded and that what comes later is not
// lost. The endpoint answers only after the wait has ended.
func slowEndpoint(ctx context.Context, s *story) (string, error) {
	session, err := s.caller.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer session.Close()
	var code, status, open int
	var id int64
	start := time.Now()
	err = s.batch(ctx, session, fmt.Sprintf(`
BEGIN TRANSACTION;
EXEC @code = dbo.sp_api_request @url = N'%s/slow', @wait = %d, @id = @id OUTPUT;
SELECT @code, @id, @@TRANCOUNT;`, s.stub.url, slowWait), &code, &id, &open)
	if err != nil {
		return "", err
	}
	took := time.Since(start)
	s.say("code %d (pending) after %.0f ms with @wait = %d; @@TRANCOUNT = %d.", code, millis(took), slowWait, open)
	close(s.stub.release)
	if tsql.ReturnCode(code) != tsql.CodePending || open != 1 || s.stub.seen("/slow") != 1 {
		return "", fmt.Errorf("code %d, @@TRANCOUNT = %d, %d requests seen", code, open, s.stub.seen("/slow"))
	}
	// The clock of WAITFOR moves in steps of 10/3 ms and never past the deadline.
	if took < (slowWait-5)*time.Millisecond || took > 10*slowWait*time.Millisecond {
		return "", fmt.Errorf("the wait took %s", took)
	}
	var response sql.NullString
	err = s.batch(ctx, session, fmt.Sprintf(`
EXEC @code = dbo.sp_api_collect @id = %d, @wait = 3000, @status = @status OUTPUT, @response = @response OUTPUT;
COMMIT TRANSACTION;
SELECT @code, @status, @response;`, id), &code, &status, &response)
	if err != nil {
		return "", err
	}
	s.say("code %d, status %d, %q, collected in the same transaction.", code, status, response.String)
	if code != 0 || status != 200 {
		return "", fmt.Errorf("collected code %d, status %d", code, status)
	}
	return fmt.Sprintf("code 1 after %.0f ms, collected later", millis(took)), nil
}

// noWorker shows that nobody waits for an answer that cannot come, and that the
// request is kept for the next worker.
func noWorker(ctx context.Context, s *story) (string, error) {
	if err := s.broker.stopWorker(); err != nil {
		return "", err
	}
	session, err := s.caller.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer session.Close()
	var code, status int
	var id int64
	start := time.Now()
	err = s.batch(ctx, session, fmt.Sprintf(`
BEGIN TRANSACTION;
EXEC @code = dbo.sp_api_request @url = N'%s/hello', @wait = 10000, @id = @id OUTPUT;
COMMIT TRANSACTION;
SELECT @code, @id;`, s.stub.url), &code, &id)
	if err != nil {
		return "", err
	}
	took := time.Since(start)
	s.say("code %d (no live worker) after %.1f ms although @wait = 10000; the request is stored.", code, millis(took))
	if tsql.ReturnCode(code) != tsql.CodeNoWorker || took > 5*time.Second {
		return "", fmt.Errorf("code %d after %s", code, took)
	}
	if err := s.broker.startWorker(ctx); err != nil {
		return "", err
	}
	err = s.batch(ctx, session, fmt.Sprintf(`
EXEC @code = dbo.sp_api_collect @id = %d, @wait = 3000, @status = @status OUTPUT;
SELECT @code, @status;`, id), &code, &status)
	if err != nil {
		return "", err
	}
	s.say("A worker came: code %d, status %d.", code, status)
	if code != 0 || status != 200 {
		return "", fmt.Errorf("collected code %d, status %d", code, status)
	}
	return fmt.Sprintf("code 3 after %.1f ms, served later", millis(took)), nil
}

// millis is a duration in milliseconds.
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

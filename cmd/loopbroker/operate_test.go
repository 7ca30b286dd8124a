package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"loopbroker/internal/operator"
)

// operatedServer is a server whose commands a test runs.
type operatedServer struct {
	t        *testing.T
	dsn, url string
}

func operateForTest(t *testing.T, args ...string) *operatedServer {
	t.Helper()
	_, stubURL, port, password := serveForTest(t, args...)
	return &operatedServer{t: t, url: stubURL, dsn: fmt.Sprintf("sqlserver://sa:%s@127.0.0.1:%s?database=loopbroker&TrustServerCertificate=true", password, port)}
}

// run runs words of the command and returns what it prints; it must end with code.
func (s *operatedServer) run(code int, args ...string) string {
	s.t.Helper()
	got, out, errs := command(s.t, append(args, "--dsn", s.dsn)...)
	if got != code {
		s.t.Fatalf("%v: got code %d, want %d; %s%s", args, got, code, out, errs)
	}
	return out + errs
}

// ask makes a request and returns its id.
func (s *operatedServer) ask(path string, wait int, more string) string {
	s.t.Helper()
	url := path
	if strings.HasPrefix(path, "/") {
		url = s.url + path
	}
	out := s.run(exitOK, "sql", "-Q", fmt.Sprintf(`DECLARE @id bigint;
EXEC dbo.sp_api_request @url = N'%s', @wait = %d, @id = @id OUTPUT%s;
SELECT CONCAT(N'id ', @id) AS made;`, url, wait, more))
	m := regexp.MustCompile(`id (\d+)`).FindStringSubmatch(out)
	if m == nil {
		s.t.Fatalf("no id in %s", out)
	}
	return m[1]
}

// rows reads lines of JSON.
func rows[T any](t *testing.T, out string) []T {
	t.Helper()
	var all []T
	for line := range strings.Lines(out) {
		var one T
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		all = append(all, one)
	}
	return all
}

// TestRequests lists, shows, collects, cancels, redrives and purges.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := operateForTest(t)
	good := s.ask("/ok", 20000, "")
	bad := s.ask("http://127.0.0.1:1/refused", 20000, ", @max_attempts = 1")
	later := s.ask("/ok", 0, ", @due_ms = 3600000")

	list := func(args ...string) (ids []string) {
		t.Helper()
		for _, r := range rows[operator.Listed](t, s.run(exitOK, append([]string{"requests", "list", "--json"}, args...)...)) {
			ids = append(ids, fmt.Sprint(r.ID))
		}
		return ids
	}
	host := strings.TrimPrefix(s.url, "http://")
	for name, tt := range map[string]struct{ args, want []string }{
		"all":          {nil, []string{later, bad, good}},
		"limit":        {[]string{"--limit", "1"}, []string{later}},
		"state":        {[]string{"--state", "failed"}, []string{bad}},
		"queued":       {[]string{"--state", "queued"}, []string{later}},
		"host":         {[]string{"--host", host}, []string{later, good}},
		"host, a port": {[]string{"--host", "127.0.0.1:1"}, []string{bad}},
		"host, ports":  {[]string{"--host", "127.0.0.1"}, []string{later, bad, good}},
		"class":        {[]string{"--class", "connect"}, []string{bad}},
		"older":        {[]string{"--older-than", "1000h"}, nil},
		"newer":        {[]string{"--newer-than", "1000h"}, []string{later, bad, good}},
		"type":         {[]string{"--type", "file"}, nil},
	} {
		if got := list(tt.args...); strings.Join(got, ",") != strings.Join(tt.want, ",") {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
	wantAll(t, s.run(exitOK, "requests"), "GET "+s.url+"/ok", "failed", "connect")
	wantAll(t, s.run(exitOK, "requests", "show", bad), "error class", "connect", "1 of 1")
	wantAll(t, s.run(exitOK, "requests", "show", good, "--json"), `"state":"completed"`, `"http_status":200`)
	wantAll(t, s.run(exitFailed, "requests", "show", "999"), "999")
	if got := s.run(exitOK, "requests", "collect", good); got != "ok\n" {
		t.Errorf("collect: got %q", got)
	}
	wantAll(t, s.run(exitFailed, "requests", "collect", bad), "request "+bad)
	wantAll(t, s.run(exitFailed, "requests", "collect", later), "request "+later)
	wantAll(t, s.run(exitOK, "requests", "cancel", later), "never runs")
	wantAll(t, s.run(exitFailed, "requests", "cancel", good), "has its reply already")
	if got := list("--state", "cancelled"); len(got) != 1 || got[0] != later {
		t.Errorf("cancelled: got %v, want %s", got, later)
	}

	wantAll(t, s.run(exitUsage, "requests", "redrive"), "a filter is missing")
	wantAll(t, s.run(exitOK, "requests", "redrive", "--class", "timeout_tls"), "0 put back")
	wantAll(t, s.run(exitOK, "requests", "redrive", "--class", "connect", "--host", "127.0.0.1"), "1 put back")
	wantAll(t, s.run(exitFailed, "requests", "redrive", bad), "was redriven before")
	if got := list(); len(got) != 4 {
		t.Errorf("after the redrive: got %v, want 4 requests", got)
	}
	again := list("--limit", "1")[0]
	s.run(exitFailed, "requests", "collect", again, "--wait", "20s") // it failed again
	wantAll(t, s.run(exitOK, "purge", "--older-than", "0s", "--state", "completed"), "1 removed")
	if got := list("--state", "completed"); got != nil {
		t.Errorf("after the purge: got %v", got)
	}
	wantAll(t, s.run(exitOK, "purge"), "0 removed")
}

// TestDeadLetters buries a row that is no request.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	s := operateForTest(t)
	s.run(exitOK, "sql", "-Q", `INSERT INTO dbo.asyncresponse_transport_messages (id, queue, payload_json, dead_letter_reason, attempts)
VALUES (NEWID(), N'api.deadletter', N'nonsense', N'no request', 3);`)
	bad := s.ask("http://127.0.0.1:1/refused", 20000, ", @max_attempts = 1")

	letters := rows[operator.DeadLetter](t, s.run(exitOK, "dead-letters", "list", "--json"))
	if len(letters) != 2 || fmt.Sprint(letters[0].RequestID) != bad || letters[0].ErrorClass != "connect" || letters[1].RequestID != 0 || letters[1].Reason != "no request" {
		t.Errorf("got %+v", letters)
	}
	wantAll(t, s.run(exitOK, "dead-letters"), "no request", "http://127.0.0.1:1/refused")
	if got := s.run(exitOK, "dead-letters", "list", "--json", "--host", "127.0.0.1:1"); strings.Count(got, "\n") != 1 {
		t.Errorf("by host: got %s", got)
	}
	wantAll(t, s.run(exitOK, "health"), "yellow: there are dead letters")
	wantAll(t, s.run(exitFailed, "health", "--strict"), "yellow")
	wantAll(t, s.run(exitUsage, "dead-letters", "redrive"), "need a filter or --all")
	wantAll(t, s.run(exitOK, "dead-letters", "redrive", "--all"), "1 put back, 1 left")
	again := rows[operator.Listed](t, s.run(exitOK, "requests", "list", "--limit", "1", "--json"))[0].ID
	s.run(exitFailed, "requests", "collect", fmt.Sprint(again), "--wait", "20s") // it failed again and is buried
	wantAll(t, s.run(exitOK, "dead-letters", "purge"), "0 removed")
	wantAll(t, s.run(exitOK, "dead-letters", "purge", "--older-than", "0s"), "2 removed")
}

// TestHealth is red with work and without a worker.
func TestHealth(t *testing.T) {
	t.Parallel()
	s := operateForTest(t, "--no-worker")
	if got := rows[operator.Health](t, s.run(exitOK, "health", "--json")); got[0].Status != operator.Yellow {
		t.Errorf("without a worker: got %+v", got)
	}
	s.ask("/ok", 0, "")
	out := s.run(exitFailed, "health")
	wantAll(t, out, "red: requests are due and no worker lives", "0 workers, 1 due")
}

// TestEndpointsShowHostStates opens a breaker, and resets it.
func TestEndpointsShowHostStates(t *testing.T) {
	t.Parallel()
	s := operateForTest(t)
	wantAll(t, s.run(exitOK, "endpoints", "allow", "http://127.0.0.1:1", "--failures", "1", "--open-for", "1h"), "allows")
	wantAll(t, s.run(exitOK, "endpoints"), "1 failures, 1h0m0s")
	open := regexp.MustCompile(`(?m)^http://127\.0\.0\.1:1 +open `)
	for deadline := time.Now().Add(time.Minute); ; { // the worker reads the row and reports the breaker a little later
		s.ask("http://127.0.0.1:1/refused", 200, ", @max_attempts = 1")
		out := s.run(exitOK, "endpoints")
		if open.MatchString(out) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no open breaker in %s", out)
		}
	}
	if out := s.run(exitOK, "health", "--json"); !strings.Contains(out, `"open_breakers":1`) {
		t.Errorf("health: %s", out)
	}
	wantAll(t, s.run(exitOK, "endpoints", "reset", "http://127.0.0.1:1"), "close the breaker")
}

func TestOperatingNothing(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	for _, words := range []string{"verify", "requests list", "dead-letters", "purge", "health", "endpoints list", "credentials"} {
		args := strings.Fields(words)
		if code, _, errs := command(t, args...); code != exitUsage || !strings.Contains(errs, "need --dsn or --data") {
			t.Errorf("%s: code %d, %s", words, code, errs)
		}
		if code, _, errs := command(t, append(args, "--data", missing)...); code != exitUsage {
			t.Errorf("%s of a missing directory: code %d, %s", words, code, errs)
		}
		if _, err := os.Stat(missing); !os.IsNotExist(err) {
			t.Fatalf("%s made the directory", words)
		}
	}
}

func TestScriptText(t *testing.T) {
	t.Parallel()
	const script = "SELECT N'zürich 🎈' AS x\r\nGO\r\n"
	encode := func(order binary.AppendByteOrder, mark bool) []byte {
		var b []byte
		if mark {
			b = order.AppendUint16(b, 0xFEFF)
		}
		for _, u := range utf16.Encode([]rune(script)) {
			b = order.AppendUint16(b, u)
		}
		return b
	}
	for name, b := range map[string][]byte{
		"UTF-8": []byte(script), "UTF-8 with a mark": []byte("\uFEFF" + script),
		"UTF-16LE": encode(binary.LittleEndian, true), "UTF-16BE": encode(binary.BigEndian, true),
	} {
		if got, err := scriptText(b); err != nil || got != script {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	for name, b := range map[string][]byte{
		"UTF-16 without a mark": encode(binary.LittleEndian, false), "half": encode(binary.LittleEndian, true)[:9], "Latin 1": []byte("SELECT 'z\xfcrich'"),
	} {
		if got, err := scriptText(b); err == nil {
			t.Errorf("%s: got %q, want an error", name, got)
		}
	}
	file := filepath.Join(t.TempDir(), "script.sql")
	if err := os.WriteFile(file, encode(binary.LittleEndian, true), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := command(t, "sql", "-i", file); code != exitOK || !strings.Contains(out, "zürich 🎈") {
		t.Errorf("sql: code %d, %s%s", code, out, errs)
	}
}

// TestDoctor spoils one thing after the other.
func TestDoctor(t *testing.T) {
	t.Parallel()
	s := operateForTest(t)
	out := s.run(exitOK, "doctor", "--strict")
	wantAll(t, out, "ok       objects, roles and rights", "request survives a rollback in SERIALIZABLE", "with error 54002", "ok       workers: 1 alive")
	if strings.Contains(out, "repair:") {
		t.Errorf("a repair of nothing: %s", out)
	}
	spoil := func(text string) { t.Helper(); s.run(exitOK, "sql", "-Q", text) }
	spoil(`INSERT INTO dbo.api_broker_endpoint (name, scheme, host, port) VALUES (N'lonely', N'https', N'lonely.example', 443);
INSERT INTO dbo.api_broker_credential (name, endpoint) VALUES (N'lost', N'nowhere');`)
	wantAll(t, s.run(exitOK, "doctor"), "only admins may use lonely", "not there: lost")
	s.run(exitFailed, "doctor", "--strict")
	for _, tt := range []struct{ spoil, want string }{
		{"EXEC sys.sp_serveroption N'LinkedProjServer', N'rpc out', N'false'", "failure  rpc out"},
		{"EXEC sys.sp_serveroption N'LinkedProjServer', N'rpc out', N'true'; EXEC sys.sp_droplinkedsrvlogin N'LinkedProjServer', N'sa'", "failure  mapping"},
		{"EXEC sys.sp_dropserver N'LinkedProjServer', N'droplogins'", "failure  linked server"},
		{"REVOKE EXECUTE ON dbo.sp_api_request TO api_broker_caller", "sp_api_request"},
	} {
		spoil(tt.spoil)
		wantAll(t, s.run(exitFailed, "doctor"), tt.want, "repair:")
	}
	found := rows[struct{ Severity, Repair string }](t, strings.TrimSuffix(s.run(exitFailed, "doctor", "--json"), "loopbroker: "+errSick.Error()+"\n"))
	if len(found) == 0 || found[0].Severity == "" {
		t.Errorf("got %+v", found)
	}
}

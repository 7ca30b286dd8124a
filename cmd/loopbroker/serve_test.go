package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// serveForTest runs serve with a stub for its worker to call, and returns the
// stub's URL, the port and the password of sa.
func serveForTest(t *testing.T, args ...string) (server *background, stubURL, port, password string) {
	t.Helper()
	_, stubURL = start(t, `listening on (http://\S+)`, "stub", "--listen", anyPort)
	password = "Aa1!" + strings.Repeat("x", 8)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"serve", "--listen", anyPort, "--allow", stubURL, "--allow", "http://127.0.0.1:1", "--password-file", file}, args...)
	server, addr := start(t, `(?s)listening on (127\.0\.0\.1:\d+).*stop with`, args...)
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(server.out.String(), password) {
		t.Errorf("a password that is known is shown:\n%s", server.out)
	}
	return server, stubURL, port, password
}

// TestServe connects from outside, over TDS.
func TestServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, stubURL, port, password := serveForTest(t, "--data", dir)
	dsn := fmt.Sprintf("sqlserver://sa:%s@127.0.0.1:%s?database=loopbroker&TrustServerCertificate=true", password, port)
	script := fmt.Sprintf(`BEGIN TRANSACTION;
DECLARE @code int, @response nvarchar(max);
EXEC @code = dbo.sp_api_request @url = N'%s/ok', @wait = 20000, @response = @response OUTPUT;
SELECT @code AS code, @response AS response, @@TRANCOUNT AS trancount;
ROLLBACK TRANSACTION;
SELECT COUNT(*) AS replies FROM dbo.api_broker_reply;`, stubURL)
	code, out, errs := command(t, "sql", "--dsn", dsn, "-Q", script)
	if code != exitOK {
		t.Fatalf("got code %d; %s%s", code, errs, out)
	}
	wantAll(t, out, "0    ok       1", "replies\n-------\n1\n")
	if code := server.stop(); code != exitOK {
		t.Errorf("stop: got code %d, want 0:\n%s", code, server.out)
	}
	code, out, errs = command(t, "sql", "--data", dir, "-Q", "SELECT COUNT(*) AS replies FROM dbo.api_broker_reply")
	if code != exitOK || !strings.Contains(out, "replies\n-------\n1\n") {
		t.Errorf("after the stop: code %d; %s%s", code, errs, out)
	}
	// Again on the same directory: the link and its login are there already.
	_, stubURL, port, password = serveForTest(t, "--data", dir)
	dsn = fmt.Sprintf("sqlserver://sa:%s@127.0.0.1:%s?database=loopbroker&encrypt=disable", password, port)
	script = fmt.Sprintf(`BEGIN TRANSACTION;
DECLARE @code int;
EXEC @code = dbo.sp_api_request @url = N'%s/ok', @wait = 20000;
SELECT @code AS code;
COMMIT TRANSACTION;`, stubURL)
	if code, out, errs := command(t, "sql", "--dsn", dsn, "-Q", script); code != exitOK || !strings.Contains(out, "code\n----\n0\n") {
		t.Errorf("on the same directory: code %d; %s%s", code, errs, out)
	}
}

// TestServeMakesAPassword shows it once.
func TestServeMakesAPassword(t *testing.T) {
	t.Parallel()
	server, _ := start(t, `(?s)listening on (127\.0\.0\.1:\d+).*stop with`, "serve", "--listen", anyPort, "--no-worker")
	_, after, ok := strings.Cut(server.out.String(), "password of sa, shown this once: ")
	if password, _, _ := strings.Cut(after, "\n"); !ok || len(password) < 20 {
		t.Errorf("no password:\n%s", server.out)
	}
	wantAll(t, server.out.String(), "no worker runs here; start one: LOOPBROKER_DSN=")
}

// reError matches an error as tsql prints it; warnings have a severity up to 10.
var reError = regexp.MustCompile(`Msg \d+ \(severity (1[1-9]|2\d),`)

// TestFreeTDS runs the example scripts and a few more with a client that knows
// nothing of this project.
func TestFreeTDS(t *testing.T) {
	t.Parallel()
	tsql, err := exec.LookPath("tsql")
	if err != nil {
		t.Skip("tsql is not installed: apt-get install freetds-bin")
	}
	_, stubURL, port, password := serveForTest(t)
	client := func(t *testing.T, script string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), tsql, "-H", "127.0.0.1", "-p", port, "-U", "sa", "-P", password, "-D", "loopbroker", "-o", "q")
		cmd.Env = append(os.Environ(), "TDSVER=7.4", "LC_ALL=C.UTF-8")
		cmd.Stdin = strings.NewReader(script)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tsql: %v\n%s", err, out)
		}
		return string(out)
	}
	for _, e := range examples(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			out := client(t, e.render(stubURL))
			if reError.MatchString(out) {
				t.Errorf("an error:\n%s", out)
			}
			wantAll(t, out, e.expected...)
		})
	}
	t.Run("errors reach the client", func(t *testing.T) {
		t.Parallel()
		out := client(t, "EXEC dbo.sp_api_request @url = N'ftp://h/'\nGO\nSELECT 'still here'\nGO\n")
		wantAll(t, out, "54011", "@url must begin with http:// or https://.", "still here")
	})
	t.Run("types", func(t *testing.T) {
		t.Parallel()
		out := client(t, "SELECT CAST(1.50 AS decimal(9,2)), CAST('2026-02-03' AS date), N'z\u00fcrich', CAST(NULL AS int), 0x0aFF\nGO\n")
		wantAll(t, out, "1.50", "2026", "z\u00fcrich", "NULL", "0aff")
	})
}

// TestSetup prepares a server like an admin would, and uses it like a worker and
// an application would.
func TestSetup(t *testing.T) {
	_, stubURL, port, password := serveForTest(t, "--no-worker")
	t.Setenv(linkPasswordVariable, "Li'nk/1:@?")
	t.Setenv(workerPasswordVariable, "Worker-1")
	t.Setenv(callerPasswordVariable, "Caller-1")
	as := func(login, password string) string {
		return fmt.Sprintf("sqlserver://%s:%s@127.0.0.1:%s?database=app&TrustServerCertificate=true", login, password, port)
	}
	for range 2 { // it can be run again
		code, out, errs := command(t, "setup", "--dsn", as("sa", password), "--allow", stubURL)
		if code != exitOK {
			t.Fatalf("setup: code %d; %s%s", code, errs, out)
		}
		wantAll(t, out, "login loopbroker_link is in the role api_broker_loopback\n", "login loopbroker_worker", "the loopback is set up and proved")
	}
	if code, out, errs := command(t, "verify", "--dsn", as("sa", password)); code != exitOK {
		t.Errorf("verify: code %d; %s%s", code, errs, out)
	}
	start(t, `(worker started)`, "worker", "--dsn", as(workerLogin, "Worker-1"), "-v")
	code, out, errs := command(t, "sql", "--dsn", as(callerLogin, "Caller-1"), "-Q", fmt.Sprintf(`BEGIN TRANSACTION;
DECLARE @code int, @response nvarchar(max), @error nvarchar(2048);
EXEC @code = dbo.sp_api_request @url = N'%s/ok', @wait = 20000, @response = @response OUTPUT, @error = @error OUTPUT;
SELECT @code AS code, @response AS response, @error AS error;
COMMIT TRANSACTION;`, stubURL))
	if code != exitOK || !strings.Contains(out, "0    ok       NULL") {
		t.Errorf("the application: code %d; %s%s", code, errs, out)
	}
	code, out, _ = command(t, "sql", "--dsn", as(callerLogin, "Caller-1"), "-Q", "SELECT COUNT(*) FROM dbo.api_broker_call")
	if code != exitFailed {
		t.Errorf("the application reads a table: got code %d, want %d", code, exitFailed)
	}
	wantAll(t, out, "Msg 229")
	code, out, _ = command(t, "sql", "--dsn", as(workerLogin, "Worker-1"), "-Q", "EXEC dbo.sp_api_request @url = N'http://h/'")
	if code != exitFailed {
		t.Errorf("the worker calls: got code %d, want %d", code, exitFailed)
	}
	wantAll(t, out, "Msg 229")
}

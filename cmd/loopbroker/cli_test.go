package main

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	code, out, errs := command(t, "version")
	if code != exitOK || errs != "" {
		t.Fatalf("got code %d, %q", code, errs)
	}
	wantAll(t, out, "loopbroker devel, schema version 2")
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":           "Start with: loopbroker demo",
		"demo":       "the naive way",
		"serve":      "graceful",
		"worker":     "--allow-network",
		"setup":      "LOOPBROKER_LINK_PASSWORD",
		"deploy":     "--schema",
		"verify":     "--schema",
		"sql":        "GO 5",
		"bench":      "fire-and-forget",
		"fleet-kill": "SIGKILL",
		"stub":       "/slow?ms=2000",
		"version":    "version",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{name, "--help"}
			if name == "" {
				args = nil // no words at all: the same as --help
			}
			code, out, errs := command(t, args...)
			if code != exitOK || errs != "" {
				t.Errorf("got code %d, %q", code, errs)
			}
			if name == "serve" {
				want = "SIGTERM or SIGINT stops it"
			}
			wantAll(t, out, want)
		})
	}
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing.sql")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"unknown command":       {[]string{"dance"}, "unexpected argument dance"},
		"unknown flag":          {[]string{"demo", "--loud"}, "unknown flag --loud"},
		"worker without DSN":    {[]string{"worker"}, "missing flags: --dsn"},
		"malformed DSN":         {[]string{"sql", "--dsn", "sqlserver://sa:p/word@h", "-Q", "SELECT 1"}, "the DSN is malformed"},
		"DSN and data":          {[]string{"sql", "--dsn", "sqlserver://h", "--data", "d", "-Q", "SELECT 1"}, "exclude each other"},
		"missing file":          {[]string{"sql", "-i", missing}, "missing.sql"},
		"malformed GO":          {[]string{"sql", "-Q", "SELECT 1\nGO x"}, "GO takes a count"},
		"bad schema":            {[]string{"deploy", "--schema", "a b"}, "schema \"a b\""},
		"durability":            {[]string{"bench", "--durability", "some"}, "--durability must be one of"},
		"concurrency":           {[]string{"bench", "--concurrency", "0"}, "--concurrency of 1"},
		"kill all":              {[]string{"fleet-kill", "--kill", "4"}, "so that a worker is left"},
		"lease":                 {[]string{"fleet-kill", "--lease", "10ms"}, "--lease of at least"},
		"listen on all":         {[]string{"serve", "--listen", "0.0.0.0:0", "--no-worker"}, "--no-loopback-only takes it"},
		"memory with data":      {[]string{"serve", "--data", "d", "--durability", "none"}, "leave --data out"},
		"password file missing": {[]string{"serve", "--password-file", missing}, "missing.sql"},
		"setup without secret":  {[]string{"setup", "--dsn", "sqlserver://h?database=a"}, "$LOOPBROKER_LINK_PASSWORD is empty"},
		"no slots":              {[]string{"worker", "--dsn", "sqlserver://h", "--slots", "0"}, "need --slots of at least 1"},
		"no lease":              {[]string{"serve", "--lease", "0s"}, "need --lease of at least"},
		"no credentials":        {[]string{"worker", "--dsn", "sqlserver://h", "--credentials", missing}, "--credentials"},
		"unknown class":         {[]string{"requests", "list", "--dsn", "sqlserver://h", "--class", "x"}, "no error class"},
		"unknown state":         {[]string{"requests", "list", "--dsn", "sqlserver://h", "--state", "x"}, "--state must be one of"},
		"age below zero":        {[]string{"purge", "--dsn", "sqlserver://h", "--older-than=-1h"}, "not negative"},
		"ids and a filter":      {[]string{"requests", "redrive", "--dsn", "sqlserver://h", "1", "--host", "h"}, "exclude each other"},
		"host bits":             {[]string{"worker", "--dsn", "sqlserver://h", "--allow-network", "ten"}, "--allow-network"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := command(t, tt.args...)
			if code != exitUsage {
				t.Errorf("got code %d, want %d; %s%s", code, exitUsage, out, errs)
			}
			wantAll(t, errs, tt.want)
			if strings.Contains(errs, "p/word") {
				t.Errorf("the password is shown: %s", errs)
			}
		})
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	code, _, errs := command(t, "verify", "--dsn", "sqlserver://sa:secret@127.0.0.1:1?database=a")
	if code != exitFailed {
		t.Errorf("got code %d, want %d", code, exitFailed)
	}
	wantAll(t, errs, "connect to 127.0.0.1 as sa")
	if strings.Contains(errs, "secret") {
		t.Errorf("the password is shown: %s", errs)
	}
}

func TestDeployAndVerifyADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if code, out, errs := command(t, "verify", "--data", dir); code != exitFailed {
		t.Errorf("verify before deployment: got code %d, want %d; %s%s", code, exitFailed, out, errs)
	}
	for range 2 { // idempotent
		code, out, errs := command(t, "deploy", "--data", dir)
		if code != exitOK {
			t.Fatalf("deploy: code %d; %s", code, errs)
		}
		wantAll(t, out, "deployed schema version 2 into dbo and verified it")
	}
	code, out, errs := command(t, "verify", "--data", dir)
	if code != exitOK {
		t.Errorf("verify: code %d; %s", code, errs)
	}
	wantAll(t, out, "everything is as this version expects it")

	if code, _, errs := command(t, "sql", "--data", dir, "-Q", "ALTER TABLE dbo.api_broker_worker ADD extra int NOT NULL"); code != exitOK {
		t.Fatalf("spoil a table: code %d; %s", code, errs)
	}
	code, out, _ = command(t, "verify", "--data", dir)
	if code != exitFailed {
		t.Errorf("verify of a spoiled table: got code %d, want %d", code, exitFailed)
	}
	wantAll(t, out, "api_broker_worker", "extra")
}

func TestPasswordFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("Sec,ret/1:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := serveCommand{PasswordFile: file}
	got, made, err := c.password()
	if err != nil || made || got != "Sec,ret/1:" {
		t.Errorf("got %q, %v, %v", got, made, err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.password(); err == nil {
		t.Error("an empty file: no error")
	}
}

// TestWorkerWaitsForItsDatabase starts a worker before its server, and stops it:
// it has waited, and it ends cleanly.
func TestWorkerWaitsForItsDatabase(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	log := &stopAt{word: "database away", stop: stop}
	code := run(ctx, []string{"worker", "--dsn", "sqlserver://sa:secret@" + addr + "?database=x"}, strings.NewReader(""), io.Discard, log)
	if code != 0 || !strings.Contains(log.text.String(), "database away") || strings.Contains(log.text.String(), "secret") {
		t.Errorf("exit code %d, log %q; want 0 after a warning without the password", code, log.text.String())
	}
}

// stopAt is a log that stops a command when a word comes.
type stopAt struct {
	word string
	stop func()
	text strings.Builder
}

// Write implements io.Writer.
func (s *stopAt) Write(b []byte) (int, error) {
	s.text.Write(b)
	if strings.Contains(string(b), s.word) {
		s.stop()
	}
	return len(b), nil
}

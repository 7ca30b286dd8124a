package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loopbroker/engine"
)

func TestRestoreFlag(t *testing.T) {
	t.Parallel()
	got := restores([]string{"a.bak", "/b/c.bak=d", "x=1/y.bak", "x=1/y.bak=z"})
	want := []engine.Restore{{File: "a.bak"}, {File: "/b/c.bak", Database: "d"}, {File: "x=1/y.bak"}, {File: "x=1/y.bak", Database: "z"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestServeRestores saves a running server's database, and starts another with
// it.
func TestServeRestores(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, stubURL, port, password := serveForTest(t, "--data", dir)
	dsn := func(port, password, database string) string {
		return fmt.Sprintf("sqlserver://sa:%s@127.0.0.1:%s?database=%s&TrustServerCertificate=true", password, port, database)
	}
	script := fmt.Sprintf(`EXEC dbo.sp_api_request @url = N'%s/ok', @wait = 20000;
GO
BACKUP DATABASE loopbroker TO DISK = N'saved.bak' WITH COMPRESSION;`, stubURL)
	code, out, errs := command(t, "sql", "--dsn", dsn(port, password, "loopbroker"), "-Q", script)
	if code != exitOK {
		t.Fatalf("got code %d; %s%s", code, errs, out)
	}
	wantAll(t, out+errs, "BACKUP DATABASE successfully processed")

	code, _, errs = command(t, "serve", "--listen", anyPort, "--no-worker", "--data", dir)
	if code != exitFailed {
		t.Errorf("a second server on the directory: code %d", code)
	}
	wantAll(t, errs, fmt.Sprintf("directory is in use by process %d: %s: stop the other process, or choose another directory", os.Getpid(), dir))
	server.stop()

	file := filepath.Join(dir, "backup", "saved.bak")
	fresh := filepath.Join(t.TempDir(), "fresh")
	again, _, port, password := serveForTest(t, "--data", fresh, "--restore", file, "--restore", file+"=copy")
	for _, database := range []string{"loopbroker", "copy"} {
		code, out, errs = command(t, "sql", "--dsn", dsn(port, password, database), "-Q", "SELECT COUNT(*) AS replies FROM dbo.api_broker_reply")
		if code != exitOK || !strings.Contains(out, "replies\n-------\n1\n") {
			t.Errorf("%s: code %d; %s%s", database, code, errs, out)
		}
	}
	again.stop()
	code, _, errs = command(t, "serve", "--listen", anyPort, "--no-worker", "--data", fresh, "--restore", file)
	if code != exitFailed {
		t.Errorf("restored again: code %d", code)
	}
	wantAll(t, errs, "the database is there and not empty: loopbroker has ", "restore under another name (FILE=NAME)")

	// A directory and a backup of a version to come.
	name := filepath.Join(fresh, "control")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[8]++
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs = command(t, "serve", "--listen", anyPort, "--no-worker", "--data", fresh)
	if code != exitFailed {
		t.Errorf("newer directory: code %d", code)
	}
	wantAll(t, errs, "newer format", name+" has format 2 and this program reads formats up to 1", "use the version of loopbroker that wrote it")
	if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, b) {
		t.Error("the refused directory was changed")
	}
}

package engine_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker/engine"
)

const logFull = "The transaction log for database 'loopbroker' is full due to 'NOTHING'."

// wantLogFull checks error 9002.
func wantLogFull(t *testing.T, what string, err error) {
	t.Helper()
	var e mssql.Error
	if !errors.As(err, &e) || e.Number != 9002 || e.Class != 17 || e.Message != logFull {
		t.Errorf("%s: got %v, want 9002, severity 17: %s", what, err, logFull)
	}
}

// TestFullDisk: while there is no space commits fail with 9002 and are rolled
// back; reading goes on, and so does everything when there is space again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fs := newFaultFS()
	in := open(t, engine.OnFS(engine.Options{Dir: dir, Password: "p"}, fs))
	in.run("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v int NOT NULL)", "INSERT INTO dbo.t VALUES (1, 1)")
	var full atomic.Bool
	fs.set(func(string) error {
		if full.Load() {
			return syscall.ENOSPC
		}
		return nil
	}, nil)
	for round := range 3 {
		full.Store(true)
		_, err := in.conn.ExecContext(t.Context(), "INSERT INTO dbo.t VALUES (100, 1)")
		wantLogFull(t, "a statement of its own", err)
		in.want("SELECT COUNT(*) FROM dbo.t WHERE id = 100", "0")
		in.run("BEGIN TRANSACTION; INSERT INTO dbo.t VALUES (101, 1); UPDATE dbo.t SET v = 77 WHERE id = 1")
		_, err = in.conn.ExecContext(t.Context(), "COMMIT")
		wantLogFull(t, "COMMIT", err)
		in.want("SELECT @@TRANCOUNT", "0")
		in.want("SELECT COUNT(*) FROM dbo.t WHERE id = 101 OR v = 77", "0")
		_, err = in.conn.ExecContext(t.Context(), "CREATE TABLE dbo.never (id int)")
		wantLogFull(t, "CREATE TABLE", err)
		in.want("SELECT COUNT(*) FROM sys.tables WHERE name = 'never'", "0")
		tx, err := in.db.BeginTx(t.Context(), nil) // through the driver's own transactions
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO dbo.t VALUES (102, 1)"); err != nil {
			t.Error(err)
		}
		wantLogFull(t, "Commit of the driver", tx.Commit())
		in.want("SET NOCOUNT ON; BEGIN TRY INSERT INTO dbo.t VALUES (103, 1); SELECT 0 END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH", "9002")
		full.Store(false)
		in.run(fmt.Sprintf("INSERT INTO dbo.t VALUES (%d, 1)", 2+round))
	}
	in.close()
	again := open(t, engine.Options{Dir: dir, Password: "p"})
	again.want("SELECT STRING_AGG(CAST(id AS varchar(9)), ',') WITHIN GROUP (ORDER BY id) FROM dbo.t", "1,2,3,4")
}

// TestFullTmpfs is the same on a real file system of a few megabytes.
func TestFullTmpfs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mounting a tmpfs does not work here: %v %s", err, out)
	}
	t.Cleanup(func() {
		if err := syscallUnmount(dir); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	data := filepath.Join(dir, "data")
	in := open(t, engine.Options{Dir: data, Password: "p"})
	in.run("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v nvarchar(max) NOT NULL)")
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	acked := 0
	insert := func() error {
		_, err := in.conn.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO dbo.t VALUES (%d, REPLICATE(N'x', 4000))", acked+1))
		if err == nil {
			acked++
		}
		return err
	}
	var err error
	for err == nil && acked < 5000 {
		err = insert()
	}
	wantLogFull(t, fmt.Sprintf("INSERT after %d", acked), err)
	in.want("SELECT COUNT(*) FROM dbo.t", fmt.Sprint(acked))
	for range 3 {
		wantLogFull(t, "again", insert())
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	before := acked
	for range 20 {
		if err := insert(); err != nil {
			t.Errorf("with space again: %v", err)
		}
	}
	left := t.TempDir() // as kill -9 leaves it
	if err := os.CopyFS(left, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	again := open(t, engine.Options{Dir: left, Password: "p"})
	again.want("SELECT COUNT(*) FROM dbo.t", fmt.Sprint(acked))
	again.want("SELECT MAX(id) FROM dbo.t", fmt.Sprint(acked))
	t.Logf("full after %d rows, %d with space again", before, acked)
	again.close()
	// The last checkpoint needs more room than there is: the log has it all.
	_, _ = in.conn.Close(), in.db.Close()
	if err := in.srv.Close(t.Context()); err != nil && !strings.Contains(err.Error(), "no space left") {
		t.Error(err)
	}
	in.srv = nil
}

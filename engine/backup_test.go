package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"loopbroker/engine"
	"loopbroker/engine/storage"
)

// filled are the statements that make a database worth saving.
var filled = []string{
	"CREATE LOGIN reader WITH PASSWORD = 'Pass_word1'; CREATE LOGIN saver WITH PASSWORD = 'Pass_word1'; CREATE LOGIN nobody WITH PASSWORD = 'Pass_word1'",
	"CREATE DATABASE shop; ALTER DATABASE shop SET READ_COMMITTED_SNAPSHOT ON; ALTER DATABASE shop SET ALLOW_SNAPSHOT_ISOLATION ON; ALTER DATABASE shop SET DELAYED_DURABILITY = ALLOWED",
	"USE shop",
	"CREATE TABLE dbo.t (id int IDENTITY(7,3) NOT NULL PRIMARY KEY, n int NOT NULL DEFAULT 3, s AS n * 2, rv rowversion, CHECK (n > 0))",
	"CREATE UNIQUE INDEX ux ON dbo.t (n) WHERE n < 100",
	"CREATE TABLE dbo.c (t int NOT NULL REFERENCES dbo.t(id), v nvarchar(max))",
	"INSERT INTO dbo.t (n) VALUES (1), (2), (300); INSERT INTO dbo.c VALUES (7, REPLICATE(CAST(N'é' AS nvarchar(max)), 100000))",
	"DELETE FROM dbo.t WHERE id = 10",
	"CREATE SEQUENCE dbo.sq AS int START WITH 5 INCREMENT BY 5; SELECT NEXT VALUE FOR dbo.sq; SELECT NEXT VALUE FOR dbo.sq",
	"CREATE SEQUENCE dbo.unused AS int START WITH 40",
	"CREATE VIEW dbo.v AS SELECT COUNT(*) AS c FROM dbo.t",
	"CREATE PROCEDURE dbo.p @a int AS SELECT @a + 1",
	"CREATE TRIGGER dbo.tr ON dbo.c AFTER INSERT AS UPDATE dbo.t SET n = n + 1 WHERE id IN (SELECT t FROM inserted)",
	"CREATE TYPE dbo.ids AS TABLE (id int); CREATE SYNONYM dbo.syn FOR dbo.t",
	"CREATE USER reader FOR LOGIN reader; CREATE USER saver FOR LOGIN saver; ALTER ROLE db_backupoperator ADD MEMBER saver; CREATE USER nobody FOR LOGIN nobody",
	"GRANT SELECT ON dbo.t TO reader; DENY SELECT ON dbo.c TO reader",
}

// restored are what must be so after a restore.
var restored = []struct{ query, want string }{
	{"SELECT STRING_AGG(CONCAT(id, ':', n, ':', s), ' ') WITHIN GROUP (ORDER BY id) FROM dbo.t", "7:1:2 13:300:600"},
	{"SELECT CONCAT(t, ' ', LEN(v), ' ', RIGHT(v, 1)) FROM dbo.c", "7 100000 é"},
	{"SELECT c FROM dbo.v", "2"},
	{"EXEC dbo.p 4", "5"},
	{"DECLARE @x dbo.ids; INSERT INTO @x VALUES (3); SELECT id FROM @x", "3"},
	{"SELECT MAX(id) FROM dbo.syn", "13"},
	{"SELECT IDENT_CURRENT('dbo.t')", "13"},
	{"SET NOCOUNT ON; INSERT INTO dbo.t DEFAULT VALUES; SELECT SCOPE_IDENTITY()", "16"},
	{"SELECT COUNT(DISTINCT rv) FROM dbo.t", "3"},
	{"SELECT CASE WHEN (SELECT rv FROM dbo.t WHERE id = 16) > ALL (SELECT rv FROM dbo.t WHERE id < 16) THEN 1 ELSE 0 END", "1"},
	{"SELECT NEXT VALUE FOR dbo.sq", "15"},
	{"SELECT NEXT VALUE FOR dbo.unused", "40"},
	{"SET NOCOUNT ON; BEGIN TRY INSERT INTO dbo.t (n) VALUES (1); SELECT 0 END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH", "2601"},
	{"SET NOCOUNT ON; BEGIN TRY DELETE FROM dbo.t WHERE id = 7; SELECT 0 END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH", "547"},
	{"SET NOCOUNT ON; INSERT INTO dbo.c VALUES (13, N''); SELECT n FROM dbo.t WHERE id = 13", "301"},
	{"SELECT CONCAT(is_read_committed_snapshot_on, snapshot_isolation_state, delayed_durability_desc) FROM sys.databases WHERE database_id = DB_ID()", "11ALLOWED"},
	{"EXECUTE AS USER = 'reader'; SELECT HAS_PERMS_BY_NAME('dbo.t', 'OBJECT', 'SELECT') * 10 + HAS_PERMS_BY_NAME('dbo.c', 'OBJECT', 'SELECT'); REVERT", "10"},
	{"EXECUTE AS USER = 'saver'; SELECT IS_MEMBER('db_backupoperator'); REVERT", "1"},
	{"SELECT OBJECT_SCHEMA_NAME(OBJECT_ID('dbo.t')) + '.' + OBJECT_NAME(OBJECT_ID(DB_NAME() + '.dbo.t'))", "dbo.t"},
	{"SET NOCOUNT ON; CREATE TABLE dbo.fresh (id int); INSERT INTO dbo.fresh VALUES (1); SELECT COUNT(*) FROM dbo.fresh", "1"},
}

func checkRestored(in *instance, database string) {
	in.Helper()
	in.run("USE " + database)
	for _, c := range restored {
		in.want(c.query, c.want)
	}
}

// TestBackupAndRestore saves a database, and brings it back in memory, in a
// directory, beside other databases and under another name; with a restart
// after it, and after changes that came after the backup.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := open(t, engine.Options{Dir: dir, Password: "p"})
	in.run(filled...)
	file := filepath.Join(t.TempDir(), "shop.bak")
	in.run(fmt.Sprintf("BACKUP DATABASE shop TO DISK = N'%s' WITH NAME = N'x', DESCRIPTION = N'y', CHECKSUM, COPY_ONLY", file))
	in.run("DECLARE @f nvarchar(100) = N'packed.bak', @d sysname = N'SHOP'; BACKUP DATABASE @d TO DISK = @f WITH COMPRESSION, FORMAT")
	packed := filepath.Join(dir, "backup", "packed.bak")
	big, small := fileSize(t, file), fileSize(t, packed)
	if small*2 > big {
		t.Errorf("compressed %d of %d bytes", small, big)
	}
	in.run("DELETE FROM dbo.c; DROP TABLE dbo.c; INSERT INTO dbo.t (n) VALUES (9); SELECT NEXT VALUE FOR dbo.sq; DROP USER reader")

	t.Run("in memory", func(t *testing.T) {
		t.Parallel()
		again := open(t, engine.Options{Restore: []engine.Restore{{File: packed}}})
		again.want("SELECT DB_ID('shop')", "5")
		again.want("SELECT DB_ID('loopbroker')", "6")
		checkRestored(again, "shop")
	})
	t.Run("as the database of the server", func(t *testing.T) {
		t.Parallel()
		again := open(t, engine.Options{Database: "shop", Restore: []engine.Restore{{File: file}}})
		checkRestored(again, "shop")
	})
	t.Run("in a directory, twice, under other names", func(t *testing.T) {
		t.Parallel()
		fresh := t.TempDir()
		o := engine.Options{Dir: fresh, Password: "p"}
		first := open(t, o)
		first.run("CREATE LOGIN reader WITH PASSWORD = 'Pass_word1'", "CREATE TABLE dbo.mine (id int)", "INSERT INTO dbo.mine VALUES (1)",
			"CREATE DATABASE vacant")
		first.close()
		o.Restore = []engine.Restore{{File: file, Database: "one"}, {File: packed, Database: "vacant"}}
		second := open(t, o)
		second.want("SELECT COUNT(*) FROM loopbroker.dbo.mine", "1")
		second.close()
		o.Restore = nil
		third := open(t, o) // nothing was done in between
		checkRestored(third, "vacant")
		checkRestored(third, "one")
		reader := third.srv.ConnectorFor("reader", "Pass_word1", "one")
		db := sql.OpenDB(reader)
		defer db.Close()
		if _, err := db.ExecContext(t.Context(), "SELECT COUNT(*) FROM dbo.t"); err != nil {
			t.Errorf("the login's user: %v", err)
		}
		third.close()
		o.Restore = []engine.Restore{{File: file, Database: "one"}}
		_, err := engine.Open(t.Context(), o)
		if !errors.Is(err, engine.ErrNotEmpty) || !strings.Contains(err.Error(), "one has ") || !strings.Contains(err.Error(), "FILE=NAME") {
			t.Errorf("over a database with objects: %v", err)
		}
		o.Restore = nil
		open(t, o).want("SELECT COUNT(*) FROM one.dbo.fresh", "1")
	})
	t.Run("a restored database is saved again", func(t *testing.T) {
		t.Parallel()
		again := open(t, engine.Options{Restore: []engine.Restore{{File: packed, Database: "two"}}})
		next := filepath.Join(t.TempDir(), "two.bak")
		again.run(fmt.Sprintf("BACKUP DATABASE two TO DISK = '%s'", next))
		checkRestored(open(t, engine.Options{Restore: []engine.Restore{{File: next}}}), "two")
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		damaged := filepath.Join(t.TempDir(), "damaged.bak")
		b[len(b)/2] ^= 4
		if err := os.WriteFile(damaged, b, 0o600); err != nil {
			t.Fatal(err)
		}
		fresh := t.TempDir()
		_, err = engine.Open(t.Context(), engine.Options{Dir: fresh, Restore: []engine.Restore{{File: file, Database: "a"}, {File: damaged, Database: "b"}}})
		var damage *storage.CorruptError
		if !errors.As(err, &damage) || damage.File != damaged || damage.Offset == 0 {
			t.Errorf("damaged: %v", err)
		}
		b[len(b)/2] ^= 4
		b[8] = 2
		if err := os.WriteFile(damaged, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err = engine.Open(t.Context(), engine.Options{Dir: fresh, Restore: []engine.Restore{{File: damaged}}}); !errors.Is(err, storage.ErrNewerFormat) {
			t.Errorf("newer: %v", err)
		}
		if _, err = engine.Open(t.Context(), engine.Options{Dir: fresh, Restore: []engine.Restore{{File: filepath.Join(fresh, "none.bak")}}}); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("missing: %v", err)
		}
		if _, err = engine.Open(t.Context(), engine.Options{Dir: fresh, Restore: []engine.Restore{{File: file, Database: "master"}}}); err == nil || !strings.Contains(err.Error(), "system database") {
			t.Errorf("master: %v", err)
		}
		if _, err = engine.Open(t.Context(), engine.Options{Dir: fresh, Restore: []engine.Restore{{File: file, Database: "x"}, {File: file, Database: "X"}}}); err == nil {
			t.Error("two files for one database: no error")
		}
		empty := open(t, engine.Options{Dir: fresh})
		empty.want("SELECT COUNT(*) FROM sys.databases WHERE database_id > 4", "1")
	})
}

func fileSize(t *testing.T, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestBackupMessages: what BACKUP says.
func TestBackupMessages(t *testing.T) {
	t.Parallel()
	in := open(t, engine.Options{})
	in.run(filled...)
	file := filepath.Join(t.TempDir(), "x.bak")
	list := in.messages(fmt.Sprintf("BACKUP DATABASE shop TO DISK = N'%s' WITH STATS = 25", file))
	var got []string
	for _, m := range list {
		got = append(got, m.Message)
	}
	n := len(got)
	if n < 3 || got[n-3] != "100 percent processed." || !strings.HasPrefix(got[n-2], "Processed ") ||
		!strings.HasSuffix(got[n-2], " pages for database 'shop', file 'shop' on file 1.") ||
		!strings.HasPrefix(got[n-1], "BACKUP DATABASE successfully processed ") || !strings.HasSuffix(got[n-1], " MB/sec).") {
		t.Errorf("got %q", got)
	}
	for _, m := range got[:max(n-3, 0)] {
		if !slices.Contains([]string{"25 percent processed.", "50 percent processed.", "75 percent processed."}, m) {
			t.Errorf("got %q", m)
		}
	}
	if list := in.messages(fmt.Sprintf("BACKUP DATABASE shop TO DISK = N'%s' WITH INIT", file)); len(list) != 2 {
		t.Errorf("without STATS: %v", list)
	}
}

// TestBackupErrors: each error comes with 3013 after it.
func TestBackupErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := open(t, engine.Options{})
	in.run(filled...)
	at := func(name string) string { return "N'" + filepath.Join(dir, name) + "'" }
	in.run("BACKUP DATABASE shop TO DISK = " + at("there.bak"))
	if err := os.WriteFile(filepath.Join(dir, "letter.txt"), []byte("not a backup but a letter that somebody wants to keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, text string
		want       []int32
	}{
		{"unknown database", "BACKUP DATABASE nowhere TO DISK = " + at("x"), []int32{911, 3013}},
		{"tempdb", "BACKUP DATABASE tempdb TO DISK = " + at("x"), []int32{3147, 3013}},
		{"no name", "DECLARE @d sysname; BACKUP DATABASE @d TO DISK = " + at("x"), []int32{3025, 3013}},
		{"in a transaction", "BEGIN TRANSACTION; BACKUP DATABASE shop TO DISK = " + at("x"), []int32{3021, 3013}},
		{"no directory", "BACKUP DATABASE shop TO DISK = " + at("none/x.bak"), []int32{3201, 3013}},
		{"a directory", "BACKUP DATABASE shop TO DISK = N'" + dir + "' WITH INIT", []int32{3201, 3013}},
		{"no file name", "BACKUP DATABASE shop TO DISK = N''", []int32{3044, 3013}},
		{"conflict", "BACKUP DATABASE shop TO DISK = " + at("x") + " WITH INIT, NOINIT", []int32{3031, 3013}},
		{"STATS", "BACKUP DATABASE shop TO DISK = " + at("x") + " WITH STATS = 101", []int32{3217, 3013}},
		{"not a backup", "BACKUP DATABASE shop TO DISK = " + at("letter.txt") + " WITH INIT", []int32{3242, 3013}},
		{"append", "BACKUP DATABASE shop TO DISK = " + at("there.bak"), []int32{40510}},
		{"append, said so", "BACKUP DATABASE shop TO DISK = " + at("there.bak") + " WITH NOINIT", []int32{40510}},
		{"relative path without a data directory", "BACKUP DATABASE shop TO DISK = N'x.bak'", []int32{40510}},
		{"log", "BACKUP LOG shop TO DISK = " + at("x"), []int32{40510}},
		{"restore", "RESTORE DATABASE shop FROM DISK = " + at("there.bak"), []int32{40510}},
		{"option", "BACKUP DATABASE shop TO DISK = " + at("x") + " WITH DIFFERENTIAL", []int32{40510}},
	}
	for _, tt := range tests {
		_, err := in.conn.ExecContext(t.Context(), tt.text)
		if got := numbers(err); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v (%v), want %v", tt.name, got, err, tt.want)
		}
		in.run("IF @@TRANCOUNT > 0 ROLLBACK")
	}
	in.want("BEGIN TRY BACKUP DATABASE nowhere TO DISK = "+at("x")+" END TRY BEGIN CATCH SELECT CONCAT(ERROR_NUMBER(), ' ', ERROR_MESSAGE()) END CATCH",
		"3013 BACKUP DATABASE is terminating abnormally.")
	_, err := in.conn.ExecContext(t.Context(), "BACKUP DATABASE shop TO DISK = "+at("none/x.bak"))
	if !strings.Contains(fmt.Sprint(errorTexts(err)), "Cannot open backup device '"+filepath.Join(dir, "none/x.bak")+
		"'. Operating system error 3(The system cannot find the path specified.).") {
		t.Errorf("got %q", errorTexts(err))
	}
	in.run("BACKUP DATABASE shop TO DISK = "+at("letter.txt")+" WITH FORMAT", "BACKUP DATABASE shop TO DISK = "+at("letter.txt")+" WITH INIT, SKIP, NOUNLOAD")
	for name, want := range map[string][]int32{"saver": nil, "nobody": {262, 3013}} {
		db := sql.OpenDB(in.srv.ConnectorFor(name, "Pass_word1", "shop"))
		_, err := db.ExecContext(t.Context(), "BACKUP DATABASE shop TO DISK = "+at("there.bak")+" WITH INIT")
		if got := numbers(err); !slices.Equal(got, want) {
			t.Errorf("as %s: got %v (%v), want %v", name, got, err, want)
		}
		_ = db.Close()
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// TestBackupUnderLoad saves a database while amounts are moved between its rows,
// and between two of its tables: the sum in each backup is the one it always is.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	in := open(t, engine.Options{Dir: t.TempDir(), Password: "p"})
	in.run("CREATE TABLE dbo.a (id int NOT NULL PRIMARY KEY, n int NOT NULL); CREATE TABLE dbo.b (id int NOT NULL PRIMARY KEY, n int NOT NULL)",
		`DECLARE @i int = 0; BEGIN TRANSACTION;
		WHILE @i < 200 BEGIN INSERT INTO dbo.a VALUES (@i, 100); INSERT INTO dbo.b VALUES (@i, 100); SET @i += 1 END; COMMIT`)
	ctx, cancel := context.WithCancel(t.Context())
	var moved atomic.Int64
	var wg sync.WaitGroup
	for n := range 4 {
		c := in.another()
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(n), 5))
			for ctx.Err() == nil {
				amount := rnd.IntN(7) - 3
				text := fmt.Sprintf("BEGIN TRANSACTION; UPDATE dbo.a SET n = n - %d WHERE id = %d; UPDATE dbo.b SET n = n + %[1]d WHERE id = %[3]d; COMMIT",
					amount, rnd.IntN(200), rnd.IntN(200))
				if _, err := c.ExecContext(ctx, text); err != nil && ctx.Err() == nil {
					t.Errorf("transfer: %v", err)
					return
				}
				moved.Add(1)
			}
		})
	}
	var files []string
	for i := range 6 {
		before := moved.Load()
		for moved.Load() == before && !t.Failed() {
		}
		files = append(files, filepath.Join(t.TempDir(), fmt.Sprintf("%d.bak", i)))
		in.run(fmt.Sprintf("BACKUP DATABASE loopbroker TO DISK = '%s'", files[i]))
	}
	cancel()
	wg.Wait()
	for _, file := range files {
		again := open(t, engine.Options{Database: "other", Restore: []engine.Restore{{File: file, Database: "r"}}})
		again.want("SELECT (SELECT SUM(n) FROM r.dbo.a) + (SELECT SUM(n) FROM r.dbo.b)", "40000")
	}
}

// TestRowVersionsGoOn over a restart, clean or not.
func TestRowVersionsGoOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := open(t, engine.Options{Dir: dir, Password: "p"})
	in.run("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, rv rowversion)", "INSERT INTO dbo.t (id) VALUES (1), (2), (3)")
	killed := t.TempDir()
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	in.close()
	for _, d := range []string{dir, killed} {
		again := open(t, engine.Options{Dir: d, Password: "p"})
		again.run("INSERT INTO dbo.t (id) VALUES (4)")
		again.want("SELECT CASE WHEN (SELECT rv FROM dbo.t WHERE id = 4) > ALL (SELECT rv FROM dbo.t WHERE id < 4) THEN 1 ELSE 0 END", "1")
	}
}

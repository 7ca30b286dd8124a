package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSQL(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stdin string
		args  []string
		code  int
		want  string
	}{
		"query with a comma": {args: []string{"-Q", "SELECT 1 AS a, N'x, y' AS b"}, want: "a b\n- ----\n1 x, y\n(1 row affected)\n"},
		"two queries":        {args: []string{"-Q", "SELECT 1 AS a", "-Q", "PRINT 'b'"}, want: "a\n-\n1\n(1 row affected)\nb\n"},
		"two result sets":    {args: []string{"-Q", "SELECT 1 AS a; SELECT 2 AS b"}, want: "a\n-\n1\n(1 row affected)\nb\n-\n2\n(1 row affected)\n"},
		"an empty one":       {args: []string{"-Q", "SELECT 1 AS a WHERE 1 = 0"}, want: "a\n-\n(0 rows affected)\n"},
		"stdin with GO": {
			stdin: "PRINT 'one'\nGO\nDECLARE @x int = 2;\nPRINT @x\ngo 2 -- twice\n", want: "one\n2\n2\n",
		},
		"a session for all batches": {stdin: "CREATE TABLE #t (a int)\nGO\nINSERT #t VALUES (7)\nGO\nSELECT a FROM #t\nGO", want: "(1 row affected)\na\n-\n7\n(1 row affected)\n"},
		"GO inside a string":        {stdin: "PRINT 'a\nGO\nb'\n", want: "a\nGO\nb\n"},
		"null and types": {
			args: []string{"-Q", "SELECT NULL AS n, CAST(1.50 AS decimal(9,2)) AS d, CAST('2026-02-03' AS date) AS t, 0x0aFF AS b, CAST(1 AS bit) AS f, CAST('00000000-0000-0000-0000-0000000000ab' AS uniqueidentifier) AS g"},
			want: "n    d    t          b      f g\n---- ---- ---------- ------ - ------------------------------------\n" +
				"NULL 1.50 2026-02-03 0x0AFF 1 00000000-0000-0000-0000-0000000000AB\n(1 row affected)\n",
		},
		"an error ends the script": {
			stdin: "PRINT 'a'\nGO\nTHROW 50001, 'no', 1\nGO\nPRINT 'c'\n", code: exitFailed,
			want: "a\nMsg 50001, Level 16, State 1, Line 1\nno\n",
		},
		"unless it is told to go on": {
			stdin: "THROW 50001, 'no', 1\nGO\nPRINT 'c'\n", args: []string{"-k"}, code: exitFailed,
			want: "Msg 50001, Level 16, State 1, Line 1\nno\nc\n",
		},
		"messages before an error": {
			args: []string{"-Q", "PRINT 'before'; SELECT 1 AS a; RAISERROR('bad %d', 16, 1, 5); PRINT 'after'"}, code: exitFailed,
			want: "before\na\n-\n1\n(1 row affected)\nMsg 50000, Level 16, State 1, Line 1\nbad 5\nafter\n",
		},
		"a syntax error": {
			args: []string{"-Q", "SELECT 1 FROM WHERE"}, code: exitFailed,
			want: "Msg 156, Level 15, State 1, Line 1\nIncorrect syntax near the keyword 'WHERE'.\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := commandWith(t, tt.stdin, append([]string{"sql"}, tt.args...)...)
			if code != tt.code || errs != "" {
				t.Errorf("got code %d, want %d; %s", code, tt.code, errs)
			}
			if out != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", out, tt.want)
			}
		})
	}
}

func TestSQLFilesOnADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "a,b.sql")
	if err := os.WriteFile(script, []byte("\ufeffCREATE TABLE dbo.t (a int)\r\nGO\r\nINSERT dbo.t VALUES (1), (2)\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	if code, out, errs := command(t, "sql", "--data", data, "-i", script); code != exitOK {
		t.Fatalf("got code %d; %s%s", code, out, errs)
	}
	code, out, errs := command(t, "sql", "--data", data, "-Q", "SELECT COUNT(*) AS n FROM dbo.t")
	if code != exitOK || !strings.Contains(out, "n\n-\n2\n") {
		t.Errorf("after reopening: code %d; %s%s", code, out, errs)
	}
}

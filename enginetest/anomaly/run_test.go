package anomaly_test

import (
	"errors"
	"strings"
	"testing"

	"loopbroker/enginetest"
	"loopbroker/enginetest/anomaly"
)

const runHead = `anomaly: test
happens if: first <> second
doc: none
setup:
    CREATE TABLE dbo.t (id int NOT NULL CONSTRAINT pk_t PRIMARY KEY, n int NOT NULL)
    INSERT INTO dbo.t VALUES (1, 1), (2, 2)
`

// TestWrongExpectations proves the runner: an expectation that is deliberately
// wrong is a difference, named by line and step, and the verdict is what happened
// nevertheless.
func TestWrongExpectations(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		verdict    anomaly.Verdict
		want       []string // the differences
	}{
		{"right", `level READ COMMITTED: happens
    session A first: SELECT n FROM dbo.t WHERE id = 1
        -> 1
    session B: UPDATE dbo.t SET n = 5 WHERE id = 1
        -> (1 row affected)
    session A second: SELECT n FROM dbo.t WHERE id = 1
        -> 5`, anomaly.Happens, nil},
		{"wrong outcome", `level READ COMMITTED: prevented (blocks)
    session A first: SELECT n FROM dbo.t WHERE id = 1
        -> 1
    session B: UPDATE dbo.t SET n = 5 WHERE id = 1
    session A second: SELECT n FROM dbo.t WHERE id = 1
        -> 5`, anomaly.Happens, []string{`s.txt:7: test at READ COMMITTED: the outcome is "happens", the documentation says "prevented (blocks)"`}},
		{"wrong value, wrong count, no error", `level READ COMMITTED: happens
    session A first: SELECT n FROM dbo.t WHERE id = 1
        -> 2
    session B: UPDATE dbo.t SET n = 5 WHERE id = 1
        -> (2 rows affected)
    session A second: SELECT n FROM dbo.t WHERE id = 1
        -> error 1205`, anomaly.Happens, []string{
			`s.txt:8: session A first: SELECT n FROM dbo.t WHERE id = 1: got "1", the script says "2"`,
			`s.txt:10: session B: UPDATE dbo.t SET n = 5 WHERE id = 1: got "(1 row affected)", the script says "(2 rows affected)"`,
			`s.txt:12: session A second: SELECT n FROM dbo.t WHERE id = 1: got "5", the script says "error 1205"`}},
		{"an error that is not written", `level READ COMMITTED: happens
    session A first: SELECT n FROM dbo.t WHERE id = 1
        -> 1
    session B: INSERT INTO dbo.t VALUES (1, 1)
    session A second: SELECT 2
        -> 2`, "happens", []string{`session B: INSERT INTO dbo.t VALUES (1, 1): got "error 2627:`}},
		{"does not block", `level READ COMMITTED: happens
    session A first: SELECT n FROM dbo.t WHERE id = 1
        -> 1
    session B: UPDATE dbo.t SET n = 5 WHERE id = 1   (blocks)
    session A second: SELECT n FROM dbo.t WHERE id = 1
        -> 5
    session B: (resumes)`, anomaly.Happens, []string{
			`s.txt:10: session B: UPDATE dbo.t SET n = 5 WHERE id = 1: does not block, the script says it does; it gave "(1 row affected)"`}},
		{"blocks", `level REPEATABLE READ: happens
    session A: BEGIN TRANSACTION
    session A first: SELECT n FROM dbo.t WHERE id = 1
        -> 1
    session B: UPDATE dbo.t SET n = 5 WHERE id = 1
    session A second: SELECT n FROM dbo.t WHERE id = 1
        -> 5
    session A: COMMIT`, anomaly.ByBlocking, []string{
			"s.txt:11: session B: UPDATE dbo.t SET n = 5 WHERE id = 1: waits for session A, the script says it does not block",
			`s.txt:12: session A second: SELECT n FROM dbo.t WHERE id = 1: got "1", the script says "5"`,
			`the outcome is "prevented (blocks)"`}},
		{"blocks for another", `level REPEATABLE READ: prevented (blocks)
    session A: BEGIN TRANSACTION
    session A first: SELECT n FROM dbo.t WHERE id = 1
        -> 1
    session B: UPDATE dbo.t SET n = 5 WHERE id = 1   (blocks for C)
    session A second: SELECT n FROM dbo.t WHERE id = 1
        -> 1
    session A: COMMIT
    session B: (resumes)`, anomaly.ByBlocking, []string{
			"s.txt:11: session B: UPDATE dbo.t SET n = 5 WHERE id = 1: waits for session A (id ", "the script says for C"}},
		{"resumes too early", `level REPEATABLE READ: prevented (blocks)
    session A: BEGIN TRANSACTION
    session A first: SELECT n FROM dbo.t WHERE id = 1
        -> 1
    session B: SET LOCK_TIMEOUT 1500
        UPDATE dbo.t SET n = 5 WHERE id = 1   (blocks)
    session A: WAITFOR DELAY '00:00:02'
    session A second: SELECT n FROM dbo.t WHERE id = 1
        -> 1
    session B: (resumes) error 1222`, "prevented (error 1222)", []string{
			"s.txt:14: session A second: SELECT n FROM dbo.t WHERE id = 1: session B has gone on before this step",
			`"error 1222: Lock request time out period exceeded." "The statement has been terminated.", the script says "error 1222"`,
			`the outcome is "prevented (error 1222)"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := anomaly.Parse("s.txt", runHead+tt.text+"\n")
			if err != nil {
				t.Fatal(err)
			}
			out, err := anomaly.Run(t.Context(), enginetest.Open(t), s, s.Cases[0], s.Cases[0].Levels[0])
			if err != nil {
				t.Fatal(err)
			}
			if out.Verdict != tt.verdict {
				t.Errorf("verdict %q, want %q", out.Verdict, tt.verdict)
			}
			got := errors.Join(out.Differences...)
			if (got == nil) != (tt.want == nil) {
				t.Errorf("differences %v, want %q", got, tt.want)
			}
			for _, w := range tt.want {
				if got != nil && !strings.Contains(got.Error(), w) {
					t.Errorf("differences:\n%v\nwant %s", got, w)
				}
			}
		})
	}
}

// TestPrint: a difference is named and is the error of the whole.
func TestPrint(t *testing.T) {
	t.Parallel()
	text := runHead
	for _, l := range anomaly.Levels() {
		text += "level " + string(l) + ": happens\n    session A first: SELECT 1\n        -> 1\n    session A second: SELECT 2\n        -> 2\n"
	}
	right, err := anomaly.Parse("right.txt", text)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := anomaly.Parse("wrong.txt", strings.Replace(text, "SNAPSHOT: happens", "SNAPSHOT: prevented (versions)", 1))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := anomaly.Print(t.Context(), &out, anomaly.Embedded, []*anomaly.Script{right}); err != nil {
		t.Errorf("no difference: %v", err)
	}
	if n := strings.Count(out.String(), "happens"); n != len(anomaly.Levels()) {
		t.Errorf("the table has %d cells:\n%s", n, out.String())
	}
	err = anomaly.Print(t.Context(), &out, anomaly.Embedded, []*anomaly.Script{wrong})
	if err == nil || !strings.Contains(err.Error(), `wrong.txt:`) || strings.Count(err.Error(), "\n") != 0 {
		t.Errorf("got %v, want one difference of wrong.txt", err)
	}
}

package anomaly_test

import (
	"errors"
	"strings"
	"testing"

	"loopbroker/enginetest/anomaly"
)

// TestParse: what a script says stands in its parts.
func TestParse(t *testing.T) {
	t.Parallel()
	s, err := anomaly.Parse("s.txt", `
anomaly: dirty read
about: one
about: two
happens if: seen = 90
doc: https://example.test/a
setup:
    CREATE TABLE dbo.t (n int)
# a comment
level READ COMMITTED, SERIALIZABLE: prevented (blocks)
    doc: https://example.test/b
    session A: UPDATE dbo.t
        SET n = 1
    session B seen: SELECT n FROM dbo.t   (blocks for A)
    session A: COMMIT
    session B: (resumes) 100
        -> 200
level SNAPSHOT: happens
    session B seen: SELECT n FROM dbo.t   (does not block)
        -> error 3960
`)
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cases[0]
	got := strings.Join([]string{
		s.Name, s.About, s.Condition.String(), strings.Join(s.Docs, " "), strings.Join(s.Setup, ";"), string(c.Want),
		string(c.Levels[0] + "+" + c.Levels[1]), c.Docs[0], c.Steps[0].SQL, c.Steps[1].Name + " for " + c.Steps[1].Blocker,
		strings.Join(c.Steps[3].Want, ","), string(s.Cases[1].Levels[0]), s.Cases[1].Steps[0].SQL,
	}, "|")
	want := "dirty read|one two|seen = 90|https://example.test/a|CREATE TABLE dbo.t (n int)|prevented (blocks)|" +
		"READ COMMITTED+SERIALIZABLE|https://example.test/b|UPDATE dbo.t\nSET n = 1|seen for A|100,200|SNAPSHOT|SELECT n FROM dbo.t"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if c.Steps[1].Mark != anomaly.Blocks || c.Steps[3].Mark != anomaly.Resumes || s.Cases[1].Steps[0].Mark != anomaly.Completes {
		t.Errorf("marks %v %v %v", c.Steps[1].Mark, c.Steps[3].Mark, s.Cases[1].Steps[0].Mark)
	}
}

// TestParseErrors: each fault is named with file, line and step.
func TestParseErrors(t *testing.T) {
	t.Parallel()
	const head = "scenario: s\ncase one:\n"
	for _, tt := range []struct{ name, text, want string }{
		{"no name", "case one:\n    session A: PRINT 1\n", `s.txt:1: no line "anomaly: NAME"`},
		{"no section", "scenario: s\n", "no section"},
		{"no steps", head, "s.txt:2: a section without steps"},
		{"unknown heading", "scenario: s\nverse: 1\n", "s.txt:2: unknown heading verse"},
		{"no colon", "scenario\n", "s.txt:1: no ':' in scenario"},
		{"unknown level", "scenario: s\ncase one at READ SOMETHING:\n", `s.txt:2: unknown isolation level "READ SOMETHING"`},
		{"unknown outcome", "anomaly: s\nlevel SNAPSHOT: perhaps\n", `s.txt:2: unknown outcome "perhaps"`},
		{"outcome without condition", "anomaly: s\nlevel SNAPSHOT: happens\n    session A: PRINT 1\n", `s.txt:2: "happens if:" and`},
		{"bad condition", "anomaly: s\nhappens if: x is 1\n", `s.txt:2: not of the form "step = value": x is 1`},
		{"condition on no step", "anomaly: s\nhappens if: x = 1\ndoc: u\nlevel SNAPSHOT: happens\n    session A y: PRINT 1\n", "s.txt:4: no step is named x"},
		{"no documentation", "anomaly: s\nhappens if: x = 1\nlevel SNAPSHOT: happens\n    session A x: PRINT 1\n", `s.txt:3: no line "doc: URL"`},
		{"level twice", "anomaly: s\nhappens if: x = 1\ndoc: u\nlevel SNAPSHOT, SNAPSHOT: happens\n    session A x: PRINT 1\n", "s.txt:4: SNAPSHOT has a section already"},
		{"lower-case session", head + "    session a: PRINT 1\n", `s.txt:3: not of the form "session A: batch": session a: PRINT 1`},
		{"empty batch", head + "    session A:\n", "s.txt:3: session A: : a step without a batch"},
		{"result before step", head + "    -> 1\n", "s.txt:3: not a step: -> 1"},
		{"batch after result", head + "    session A: PRINT 1\n        -> 1\n        PRINT 2\n", "s.txt:5: session A: PRINT 1: the batch has ended before PRINT 2"},
		{"resumes without block", head + "    session A: (resumes)\n", "s.txt:3: session A: (resumes): nothing of this session was blocked"},
		{"step while blocked", head + "    session A: PRINT 1   (blocks)\n    session A go: PRINT 2\n", `s.txt:4: session A go: PRINT 2: the session is blocked: "(resumes)" is missing`},
		{"blocked at the end", head + "    session A: PRINT 1   (blocks)\n", "session A is blocked at the end"},
		{"result of a blocked step", head + "    session A: PRINT 1   (blocks)\n        -> 1\n    session A: (resumes)\n", `a blocked step has its results at "(resumes)"`},
		{"name twice", head + "    session A x: PRINT 1\n    session A x: PRINT 2\n", "a second step of this name"},
		{"indented first", "    PRINT 1\n", "s.txt:1: an indented line before the first section"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := anomaly.Parse("s.txt", tt.text)
			var e *anomaly.Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

package crash_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loopbroker/engine"
	"loopbroker/enginetest/crash"
)

// lifeVariable is the environment variable that makes the test's process a victim.
const lifeVariable = "ENGINE_CRASH_LIFE"

func TestMain(m *testing.M) {
	text := os.Getenv(lifeVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var l crash.Life
	err := json.Unmarshal([]byte(text), &l)
	if err == nil {
		err = crash.Victim(context.Background(), l, os.Stdout)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// options are those of a short run.
func options(t *testing.T, rounds int) crash.Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return crash.Options{
		Dir: t.TempDir(), Rounds: rounds, Seed: 7,
		Command: func(ctx context.Context, l crash.Life) *exec.Cmd {
			text, err := json.Marshal(l)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(ctx, self)
			cmd.Env = append(os.Environ(), lifeVariable+"="+string(text))
			return cmd
		},
	}
}

// TestRun is the short version of the proof.
func TestRun(t *testing.T) {
	t.Parallel()
	const rounds = 10
	got, err := crash.Run(t.Context(), options(t, rounds))
	if err != nil {
		t.Fatal(err)
	}
	if want := "rounds 10, lost 0, resurrected 0"; got.String() != want || !got.OK() {
		t.Errorf("got %s, want %s\n%s", got, want, strings.Join(got.Faults, "\n"))
	}
	if got.Acked == 0 || got.Undone == 0 {
		t.Errorf("nothing was tried: %+v", got)
	}
	t.Logf("%+v", got)
}

// TestRunNotices damages the directory between a kill and the next start.
func TestRunNotices(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, dir, copied string) error
		count  func(crash.Result) int
		refuse string // or the next victim fails with this
	}{
		{
			name:   "an older copy",
			damage: func(_ *testing.T, dir, copied string) error { return replace(dir, copied) },
			count:  func(r crash.Result) int { return r.Lost },
		},
		{
			name:   "the end of the log cut off",
			damage: func(_ *testing.T, dir, _ string) error { return cutLog(dir) },
			refuse: "are missing",
		},
		{
			name: "a committed row deleted",
			damage: func(t *testing.T, dir, _ string) error {
				return change(t, dir, "DELETE TOP (1) FROM dbo.item")
			},
			count: func(r crash.Result) int { return r.Lost },
		},
		{
			name: "half a transaction",
			damage: func(t *testing.T, dir, _ string) error {
				return change(t, dir, "UPDATE TOP (1) dbo.account SET balance -= 1")
			},
			count: func(r crash.Result) int { return r.Lost },
		},
		{
			name: "a row that nobody committed",
			damage: func(t *testing.T, dir, _ string) error {
				return change(t, dir, "INSERT INTO dbo.item (id, session, number, val) VALUES (-1, 2, 1, 1)")
			},
			count: func(r crash.Result) int { return r.Resurrected },
		},
		{
			name: "a transaction that nobody committed",
			damage: func(t *testing.T, dir, _ string) error {
				return change(t, dir, "UPDATE dbo.progress SET number += 100 WHERE session = 1")
			},
			count: func(r crash.Result) int { return r.Resurrected },
		},
		{
			name: "numbers again",
			damage: func(t *testing.T, dir, _ string) error {
				return change(t, dir, "ALTER SEQUENCE dbo.counter RESTART WITH 1")
			},
			count: func(r crash.Result) int { return r.Resurrected },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const copyAt, damageAt = 2, 5
			copied := filepath.Join(t.TempDir(), "copy")
			got, err := crash.Run(t.Context(), options(t, 9).Between(func(round int, dir string) error {
				switch round {
				case copyAt:
					return os.CopyFS(copied, os.DirFS(dir))
				case damageAt:
					return tt.damage(t, dir, copied)
				}
				return nil
			}))
			if tt.refuse != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refuse) {
					t.Errorf("got error %v, %s; want one that contains %q", err, got, tt.refuse)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tt.count(got) == 0 || got.OK() {
				t.Errorf("nothing was noticed: %s", got)
			}
			if got.Rounds <= damageAt {
				t.Errorf("noticed in round %d, before the damage: %s", got.Rounds, strings.Join(got.Faults, "\n"))
			}
		})
	}
}

// replace puts a copy in the place of a directory.
func replace(dir, copied string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.CopyFS(dir, os.DirFS(copied))
}

// cutLog takes away all but the beginning of the newest segment that has
// anything in it.
func cutLog(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "log-*.seg"))
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range slices.Backward(names) {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if end := len(strings.TrimRight(string(b), "\x00")); end > 200 {
			clear(b[end*2/3:])
			return os.WriteFile(name, b, 0o600)
		}
	}
	return fmt.Errorf("no log in %v", names)
}

// change opens the engine and changes what it has.
func change(t *testing.T, dir, stmt string) error {
	srv, err := engine.Open(t.Context(), engine.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer srv.Close(t.Context())
	db := sql.OpenDB(srv.Connector())
	defer db.Close()
	_, err = db.ExecContext(t.Context(), stmt)
	return err
}

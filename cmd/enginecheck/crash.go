package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"loopbroker/enginetest/crash"
)

// crashCommand kills engines and looks at what they leave.
type crashCommand struct {
	Rounds int    `default:"500" help:"How many processes are killed."`
	Seed   uint64 `default:"1" help:"Decides what the processes do and when they are killed."`
	Dir    string `placeholder:"DIR" help:"An empty directory for the data; the default is one of its own, which is removed when nothing was found."`
}

// Help is shown by --help.
func (crashCommand) Help() string {
	return `In each round a process of its own opens the engine on the same data directory and
tells what it finds there; then six sessions load it with transactions over several tables:
inserts, updates, deletes, transfers between shared accounts, identity and sequence
numbers, tables that are created, altered, truncated and dropped, procedures, savepoints,
rollbacks, cut connections, commits with delayed durability, and a checkpoint after each 128 KiB of log.
Before it asks for a commit the process tells what it changes, and after the commit that
it is acknowledged. After at most 200 ms it gets SIGKILL; one in six already while
it starts and recovers.

The next process must find every acknowledged transaction (of those with delayed
durability all but a suffix), every other one whole or not at all, nothing that was rolled
back, indexes that agree with their tables, and no identity or sequence number
given out again. It must not have to replay more log than was written since the
last checkpoint.

When something is wrong the check ends, prints what, keeps the directory and names
it. The last line is: rounds N, lost 0, resurrected 0`
}

// lifeVariable is the environment variable that makes this program a victim.
const lifeVariable = "ENGINECHECK_LIFE"

// Run implements the command.
func (c *crashCommand) Run(ctx context.Context, out io.Writer) (err error) {
	if text := os.Getenv(lifeVariable); text != "" {
		return c.victim(ctx, text, out)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	dir := c.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "enginecheck-crash-"); err != nil {
			return err
		}
	}
	began := time.Now()
	fmt.Fprintf(out, "%d rounds in %s, seed %d\n", c.Rounds, dir, c.Seed)
	got, err := crash.Run(ctx, crash.Options{
		Dir: dir, Rounds: c.Rounds, Seed: c.Seed,
		Command: func(ctx context.Context, l crash.Life) *exec.Cmd {
			text, _ := json.Marshal(l) // strings and numbers only
			cmd := exec.CommandContext(ctx, self, "crash")
			cmd.Env = append(os.Environ(), lifeVariable+"="+string(text))
			return cmd
		},
		Progress: func(round int, r crash.Result) {
			if round%25 == 0 {
				fmt.Fprintf(out, "  round %d: %d transactions acknowledged, %.0f s\n", round, r.Acked, time.Since(began).Seconds())
			}
		},
	})
	for _, f := range got.Faults {
		fmt.Fprintln(out, " ", f)
	}
	fmt.Fprintf(out, "%d transactions acknowledged, %d of them with delayed durability, %d rolled back\n", got.Acked, got.Delayed, got.Undone)
	fmt.Fprintf(out, "%d recoveries, %d victims killed before they had told what they found, at most %d KiB of log replayed, %.0f s\n",
		got.Recovered, got.Early, got.Replayed>>10, time.Since(began).Seconds())
	if err != nil || !got.OK() {
		fmt.Fprintf(out, "the data directory is kept: %s\n", dir)
	} else if c.Dir == "" {
		err = os.RemoveAll(dir)
	}
	fmt.Fprintln(out, got)
	if err == nil && !got.OK() {
		err = errFound
	}
	return err
}

// victim is what the processes do that are killed.
func (c *crashCommand) victim(ctx context.Context, text string, out io.Writer) error {
	var l crash.Life
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return errors.Join(errors.New(lifeVariable), err)
	}
	return crash.Victim(ctx, l, out)
}

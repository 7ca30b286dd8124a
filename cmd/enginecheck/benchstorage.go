package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"loopbroker/enginetest/storagebench"
)

// benchStorageCommand measures the store.
type benchStorageCommand struct {
	Only  string `default:"all" enum:"all,memory,commits,claims,recovery" help:"Run one benchmark: ${enum}."`
	Quick bool   `help:"Sizes that take no time: shows that the benchmarks work, the figures mean nothing."`
	JSON  bool   `name:"json" help:"Print one line of JSON for each figure."`
	Dir   string `type:"existingdir" placeholder:"DIR" help:"Write and sync below this directory; the system's for temporary files without it."`
}

// Help is shown by --help.
func (benchStorageCommand) Help() string {
	return `Measures what the store must reach, each figure beside its baseline in the same
run, in turns; ratios are those of a round, figures medians of the rounds:

  memory    resident memory of a million rows of 200 bytes
  commits   synced single-row commits per second with 1 and 32 sessions, through
            the store and through T-SQL, beside a bare group-commit log file
  claims    claims per second with 1, 4 and 16 sessions, through the store and
            through T-SQL, in queues of different lengths
  recovery  the time to open a million rows, from a checkpoint and from the log

The last line counts the targets that were reached. It takes about six minutes,
and 2 GB of memory. The exit code is 0 whether targets are reached or not.

  go run ./cmd/enginecheck bench-storage
  go run ./cmd/enginecheck bench-storage --only commits --json`
}

// Run implements the command.
func (c *benchStorageCommand) Run(ctx context.Context, stdout io.Writer) error {
	o := storagebench.Options{Quick: c.Quick, Dir: c.Dir}
	if c.Only != "all" {
		o.Only = c.Only
	}
	print := func(f storagebench.Figure) error { return f.Print(stdout) }
	if c.JSON {
		lines := json.NewEncoder(stdout)
		print = func(f storagebench.Figure) error { return lines.Encode(f) }
	} else if err := storagebench.Header(stdout); err != nil {
		return err
	}
	sum, err := storagebench.Run(ctx, o, print)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(stdout).Encode(sum)
	}
	_, err = fmt.Fprintln(stdout, sum)
	return err
}

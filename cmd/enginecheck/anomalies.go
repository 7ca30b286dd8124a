package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"loopbroker/enginetest/anomaly"
)

// anomaliesCommand prints at which isolation levels which anomalies happen.
type anomaliesCommand struct {
	DSN  string `env:"LOOPBROKER_TEST_DSN" placeholder:"URL" help:"Ask this SQL Server instead of the embedded engine, for example sqlserver://sa:secret@host. Its login must be allowed to create databases."`
	Only string `placeholder:"TEXT" help:"Run only the anomalies whose name contains this text."`
}

// Help is shown by --help.
func (anomaliesCommand) Help() string {
	return `Runs two or three sessions against each other, step by step, for each textbook
anomaly at each isolation level, READ COMMITTED both by locks and by row versions
(READ_COMMITTED_SNAPSHOT), and prints a line an anomaly, a column a level:

  happens                    the anomaly was seen
  prevented (blocks)         a session waited for a lock of the other, and then read
                             or wrote the right thing
  prevented (versions)       nobody waited: a session saw an older version of the row
  prevented (error 3960)     a SNAPSHOT transaction met a changed row and was rolled back
  prevented (deadlock 1205)  each waited for the other, and one was rolled back

What Microsoft's documentation says stands in the scripts, with the pages:
enginetest/anomaly/testdata/matrix. Each cell that differs from it, and each step
that went otherwise, is named below the table by file, line and step, and the exit
code is 1.

  go run ./cmd/enginecheck anomalies
  go run ./cmd/enginecheck anomalies --only "write skew"
  LOOPBROKER_TEST_DSN=sqlserver://sa:secret@host go run ./cmd/enginecheck anomalies`
}

// Run implements the command.
func (c *anomaliesCommand) Run(ctx context.Context, out io.Writer) error {
	all, err := anomaly.Matrix()
	if err != nil {
		return err
	}
	var scripts []*anomaly.Script
	for _, s := range all {
		if strings.Contains(s.Name, c.Only) {
			scripts = append(scripts, s)
		}
	}
	if len(scripts) == 0 {
		return fmt.Errorf("no anomaly's name contains %q", c.Only)
	}
	open := anomaly.Opener(anomaly.Embedded)
	if c.DSN != "" {
		open = anomaly.Server(c.DSN)
	}
	return anomaly.Print(ctx, out, open, scripts)
}

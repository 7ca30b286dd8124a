package anomaly

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"text/tabwriter"
)

//go:embed testdata
var testdata embed.FS

// Matrix returns the scripts of the anomalies, in the order of the matrix's
// lines. Each has a section for every level.
func Matrix() ([]*Script, error) {
	scripts, err := load("matrix")
	if err != nil {
		return nil, err
	}
	for _, s := range scripts {
		for _, l := range Levels() {
			if s.at(l) == nil {
				return nil, &Error{File: s.File, Line: 1, Text: fmt.Sprintf("no section for %s", l)}
			}
		}
	}
	return scripts, nil
}

// Scenarios returns the scripts that are not about an anomaly: lock hints,
// deadlocks, snapshots, time-outs.
func Scenarios() ([]*Script, error) { return load("scenarios") }

func load(dir string) ([]*Script, error) {
	files, err := fs.Glob(testdata, "testdata/"+dir+"/*.txt")
	if err != nil {
		return nil, err
	}
	var scripts []*Script
	for _, f := range files {
		text, err := testdata.ReadFile(f)
		if err != nil {
			return nil, err
		}
		s, err := Parse(f, string(text))
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, s)
	}
	return scripts, nil
}

// at returns the section for a level, or nil.
func (s *Script) at(l Level) *Case {
	for _, c := range s.Cases {
		for _, have := range c.Levels {
			if have == l {
				return c
			}
		}
	}
	return nil
}

// Opener opens a new database that nobody else uses. What it returns besides
// ends it.
type Opener func(ctx context.Context) (db *sql.DB, end func() error, err error)

// Print runs the scripts at all levels and writes what happened as a table: a
// line an anomaly, a column a level. Its error is the differences between the
// server and the scripts, joined.
func Print(ctx context.Context, w io.Writer, open Opener, scripts []*Script) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := "anomaly"
	for _, l := range Levels() {
		line += "\t" + string(l)
	}
	_, err := fmt.Fprintln(t, line)
	errs := []error{err}
	for _, s := range scripts {
		line := s.Name
		for _, l := range Levels() {
			out, err := runAt(ctx, open, s, l)
			if err != nil {
				return err
			}
			errs = append(errs, out.Differences...)
			line += "\t" + string(out.Verdict)
		}
		_, err := fmt.Fprintln(t, line)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, t.Flush())...)
}

// runAt runs a script at a level on a new database.
func runAt(ctx context.Context, open Opener, s *Script, l Level) (Outcome, error) {
	db, end, err := open(ctx)
	if err != nil {
		return Outcome{}, err
	}
	out, err := Run(ctx, db, s, s.at(l), l)
	return out, errors.Join(err, end())
}

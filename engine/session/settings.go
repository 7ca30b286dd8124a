package session

import (
	"slices"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/exec"
	"loopbroker/engine/sqlerr"
)

// wrongSettings are the SET options that are not as filtered indexes and indexes
// on computed columns need them, in the order in which SQL Server names them.
func (o *setOptions) wrongSettings() []string {
	var wrong []string
	for _, s := range []struct {
		name string
		ok   bool
	}{
		{"ANSI_NULLS", o.ansiNulls},
		{"QUOTED_IDENTIFIER", o.quotedIdentifier},
		{"CONCAT_NULL_YIELDS_NULL", o.concatNull},
		{"ANSI_WARNINGS", o.ansiWarnings},
		{"ANSI_PADDING", o.ansiPadding},
		{"NUMERIC_ROUNDABORT", !o.numericRoundAbort},
		{"ARITHABORT", o.arithAbort || o.ansiWarnings},
	} {
		if !s.ok {
			wrong = append(wrong, s.name)
		}
	}
	return wrong
}

// sensitive reports whether an index depends on SET options: one with a filter,
// or on a computed column.
func sensitive(t *catalog.Table, ix *catalog.Index) bool {
	computed := func(column int) bool { return t.Columns[column].Computed }
	return ix.Filter != "" || slices.ContainsFunc(ix.Include, computed) ||
		slices.ContainsFunc(ix.Keys, func(k catalog.IndexKey) bool { return computed(k.Column) })
}

// checkSettings refuses to change or make indexes of a table that need other SET
// options, error 1934.
func (x *Session) checkSettings(t *catalog.Table, indexes ...*catalog.Index) error {
	wrong := x.opts.wrongSettings()
	if len(wrong) == 0 || !slices.ContainsFunc(indexes, func(ix *catalog.Index) bool { return sensitive(t, ix) }) {
		return nil
	}
	return sqlerr.New(1934, x.runningCommand(), strings.Join(wrong, ", "))
}

// checkTarget is checkSettings for what a statement changes.
func (x *Session) checkTarget(stmt *exec.Statement) error {
	if t, ok := stmt.Target().(*catalog.Table); ok && stmt.Writes() {
		return x.checkSettings(t, t.Indexes...)
	}
	return nil
}

// runningCommand names the running statement in errors.
func (x *Session) runningCommand() string {
	f := x.frame
	if f == nil || f.pc0 >= len(f.prog.code) {
		return "INSERT"
	}
	i := Info{at: activity{f.prog, f.module, f.prog.code[f.pc0].stmt}}
	return i.command()
}

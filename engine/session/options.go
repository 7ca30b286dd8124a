package session

import (
	"time"

	"loopbroker/engine/builtin"
	"loopbroker/engine/storage"
)

// setOptions are the SET options of a session. A module that changes them gives
// them back on return, so the struct is copied, never shared.
type setOptions struct {
	isolation storage.Isolation
	// isolationWord is the level as SQL writes it.

	ansiNulls, ansiPadding, ansiWarnings, ansiNullDfltOn bool
	arithAbort, concatNull, quotedIdentifier             bool
	numericRoundAbort, arithIgnore, ansiNullDfltOff      bool
	cursorCloseOnCommit                                  bool
	implicitTransactions, noCount, xactAbort             bool
	fmtOnly                                              bool

	rowCount         int64
	textSize         int64
	lockTimeout      time.Duration // negative waits for ever
	deadlockPriority int
	dateFirst        int
	dateFormat       string
	language         string
}

// defaultOptions are the options of a client that uses the ODBC defaults, as
// every TDS 7 driver does.
func defaultOptions(odbc bool) setOptions {
	o := setOptions{
		isolation:   storage.ReadCommitted,
		lockTimeout: -1,
		textSize:    2147483647,
		dateFirst:   7, dateFormat: "mdy", language: "us_english",
		concatNull: true,
	}
	if odbc {
		o.ansiNulls, o.ansiPadding, o.ansiWarnings, o.ansiNullDfltOn = true, true, true, true
		o.quotedIdentifier = true
	}
	return o
}

// The bits of @@OPTIONS.
const (
	optImplicitTransactions = 1 << (iota + 1)
	optCursorCloseOnCommit
	optAnsiWarnings
	optAnsiPadding
	optAnsiNulls
	optArithAbort
	optArithIgnore
	optQuotedIdentifier
	optNoCount
	optAnsiNullDfltOn
	optAnsiNullDfltOff
	optConcatNull
	optNumericRoundAbort
	optXactAbort
)

// bits returns @@OPTIONS.
func (o *setOptions) bits() int64 {
	var n int64
	for _, f := range []struct {
		on  bool
		bit int64
	}{
		{o.implicitTransactions, optImplicitTransactions},
		{o.cursorCloseOnCommit, optCursorCloseOnCommit},
		{o.ansiWarnings, optAnsiWarnings},
		{o.ansiPadding, optAnsiPadding},
		{o.ansiNulls, optAnsiNulls},
		{o.arithAbort, optArithAbort},
		{o.arithIgnore, optArithIgnore},
		{o.quotedIdentifier, optQuotedIdentifier},
		{o.noCount, optNoCount},
		{o.ansiNullDfltOn, optAnsiNullDfltOn},
		{o.ansiNullDfltOff, optAnsiNullDfltOff},
		{o.concatNull, optConcatNull},
		{o.numericRoundAbort, optNumericRoundAbort},
		{o.xactAbort, optXactAbort},
	} {
		if f.on {
			n |= f.bit
		}
	}
	return n
}

// ansiDefaults reports whether the options that SET ANSI_DEFAULTS sets are all on.
func (o *setOptions) ansiDefaults() bool {
	return o.ansiNulls && o.ansiNullDfltOn && o.ansiPadding && o.ansiWarnings && o.cursorCloseOnCommit && o.implicitTransactions && o.quotedIdentifier
}

// builtin returns the options that functions look at.
func (o *setOptions) builtin() builtin.Options {
	return builtin.Options{
		DateFirst: o.dateFirst, DateFormat: o.dateFormat, Language: o.language,
		ConcatNullYieldsNull: o.concatNull, AnsiNulls: o.ansiNulls, AnsiPadding: o.ansiPadding,
		AnsiWarnings: o.ansiWarnings, ArithAbort: o.arithAbort || o.ansiWarnings,
	}
}

// isolationNumbers are the levels as sys.dm_exec_sessions numbers them.
var isolationNumbers = map[storage.Isolation]int{
	storage.ReadUncommitted: 1, storage.ReadCommitted: 2, storage.RepeatableRead: 3, storage.Serializable: 4, storage.Snapshot: 5,
}

package session

import (
	"regexp"
	"strconv"
	"strings"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// dbccForm is a DBCC statement: its word and, in parentheses, its arguments.
var dbccForm = regexp.MustCompile(`(?is)^DBCC\s+(\w+)\s*(?:\(\s*([^()]*?)\s*\))?\s*(WITH\s+NO_INFOMSGS)?\s*$`)

// dbccStatement compiles the DBCC statements that tell about sessions; the
// others are refused.
func (c *compiler) dbccStatement(s syntax.Statement) bool {
	u, ok := s.(*syntax.Unsupported)
	if !ok || u.Feature != "DBCC" {
		return false
	}
	m := dbccForm.FindStringSubmatch(u.Text)
	if m == nil {
		return false
	}
	var run func(x *Session) error
	switch word := strings.ToUpper(m[1]); {
	case word == "USEROPTIONS" && m[2] == "":
		run = (*Session).userOptions
	case word == "INPUTBUFFER":
		first, _, _ := strings.Cut(m[2], ",")
		id, err := strconv.ParseInt(strings.TrimSpace(first), 10, 32)
		if err != nil {
			return false
		}
		run = func(x *Session) error { return x.sendInputBuffer(int32(id)) }
	default:
		return false
	}
	quiet := m[3] != ""
	c.emit(s, func(x *Session, _ *frame) error {
		if err := run(x); err != nil {
			return err
		}
		if !quiet {
			x.inform(2528, 1, "DBCC execution completed. If DBCC printed error messages, contact your system administrator.")
		}
		return nil
	})
	return true
}

// sendInputBuffer is DBCC INPUTBUFFER, error 7955.
func (x *Session) sendInputBuffer(id int32) error {
	rows, err := inputOf(x, []types.Value{types.NewSmallInt(int64(id)), types.Null})
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return sqlerr.New(7955, id)
	}
	return sendFields(x, []field[inputRow]{
		word("EventType", types.NVarChar(30), (*inputRow).eventType),
		fixed[inputRow]("Parameters", types.TypeSmallInt, 0),
		wordOrNull("EventInfo", types.NVarChar(4000), func(r *inputRow) string {
			text := []rune(r.text)
			return string(text[:min(len(text), 4000)])
		}),
	}, rows)
}

// userOption is a row of DBCC USEROPTIONS.
type userOption struct{ name, value string }

// userOptions is DBCC USEROPTIONS: the options that are set.
func (x *Session) userOptions() error {
	o := &x.opts
	rows := []userOption{
		{"textsize", strconv.FormatInt(o.textSize, 10)},
		{"language", o.language},
		{"dateformat", o.dateFormat},
		{"datefirst", strconv.Itoa(o.dateFirst)},
		{"lock_timeout", strconv.FormatInt(lockTimeoutMS(x), 10)},
	}
	for _, f := range []string{
		"QUOTED_IDENTIFIER", "ARITHABORT", "ARITHIGNORE", "NOCOUNT", "ANSI_NULL_DFLT_ON", "ANSI_NULL_DFLT_OFF", "ANSI_WARNINGS", "ANSI_PADDING",
		"ANSI_NULLS", "CONCAT_NULL_YIELDS_NULL", "CURSOR_CLOSE_ON_COMMIT", "IMPLICIT_TRANSACTIONS", "NUMERIC_ROUNDABORT", "XACT_ABORT",
	} {
		if *o.flag(f) {
			rows = append(rows, userOption{strings.ToLower(f), "SET"})
		}
	}
	level := levelWords[o.isolation]
	if o.isolation == storage.ReadCommitted && x.db.ReadCommittedSnapshot.Load() {
		level = "read committed snapshot"
	}
	rows = append(rows, userOption{"isolation level", level})
	return sendFields(x, []field[userOption]{
		word("Set Option", sysname, func(r *userOption) string { return r.name }),
		word("Value", sysname, func(r *userOption) string { return r.value }),
	}, rows)
}

// levelWords are the isolation levels as DBCC USEROPTIONS writes them.
var levelWords = map[storage.Isolation]string{
	storage.ReadUncommitted: "read uncommitted", storage.ReadCommitted: "read committed",
	storage.RepeatableRead: "repeatable read", storage.Serializable: "serializable", storage.Snapshot: "snapshot",
}

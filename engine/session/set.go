package session

import (
	"strings"
	"time"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

// flag is the SET option of that name that is on or off, nil when there is none.
func (o *setOptions) flag(name string) *bool {
	switch name {
	case "ANSI_NULLS":
		return &o.ansiNulls
	case "ANSI_PADDING":
		return &o.ansiPadding
	case "ANSI_WARNINGS":
		return &o.ansiWarnings
	case "ANSI_NULL_DFLT_ON":
		return &o.ansiNullDfltOn
	case "ANSI_NULL_DFLT_OFF":
		return &o.ansiNullDfltOff
	case "ARITHABORT":
		return &o.arithAbort
	case "ARITHIGNORE":
		return &o.arithIgnore
	case "CONCAT_NULL_YIELDS_NULL":
		return &o.concatNull
	case "QUOTED_IDENTIFIER":
		return &o.quotedIdentifier
	case "NUMERIC_ROUNDABORT":
		return &o.numericRoundAbort
	case "CURSOR_CLOSE_ON_COMMIT":
		return &o.cursorCloseOnCommit
	case "IMPLICIT_TRANSACTIONS":
		return &o.implicitTransactions
	case "NOCOUNT":
		return &o.noCount
	case "XACT_ABORT":
		return &o.xactAbort
	case "FMTONLY":
		return &o.fmtOnly
	}
	return nil
}

// harmless are the options that may be set to the value given without any
// effect on this engine; the other value is refused.
var harmless = map[string]bool{
	"NOEXEC": false, "PARSEONLY": false, "SHOWPLAN_ALL": false, "SHOWPLAN_TEXT": false, "SHOWPLAN_XML": false,
	"STATISTICS IO": false, "STATISTICS TIME": false, "STATISTICS XML": false, "STATISTICS PROFILE": false,
	"FORCEPLAN": false, "REMOTE_PROC_TRANSACTIONS": false, "FIPS_FLAGGER": false,
}

// levels are the isolation levels as SET TRANSACTION ISOLATION LEVEL names them.
var levels = map[string]storage.Isolation{
	"READ UNCOMMITTED": storage.ReadUncommitted, "READ COMMITTED": storage.ReadCommitted,
	"REPEATABLE READ": storage.RepeatableRead, "SERIALIZABLE": storage.Serializable, "SNAPSHOT": storage.Snapshot,
}

// setStatement compiles SET of options.
func (c *compiler) setStatement(s syntax.Statement) bool {
	set, ok := s.(*syntax.SetOption)
	if !ok {
		return false
	}
	value := optionalExpr(set.Value)
	c.emit(s, func(x *Session, f *frame) error {
		for _, name := range set.Options {
			if err := x.setOption(f, name, set, value); err != nil {
				return err
			}
		}
		return nil
	})
	return true
}

// setOption sets one option.
func (x *Session) setOption(f *frame, name string, s *syntax.SetOption, value *lazyExpr) error {
	if name == "ANSI_DEFAULTS" {
		for _, n := range []string{"ANSI_NULLS", "ANSI_NULL_DFLT_ON", "ANSI_PADDING", "ANSI_WARNINGS", "CURSOR_CLOSE_ON_COMMIT", "IMPLICIT_TRANSACTIONS", "QUOTED_IDENTIFIER"} {
			*x.opts.flag(n) = s.On
		}
		return nil
	}
	if flag := x.opts.flag(name); flag != nil {
		if f.module != nil && (name == "QUOTED_IDENTIFIER" || name == "ANSI_NULLS") {
			return nil // fixed when the module was created
		}
		*flag = s.On
		return nil
	}
	if quiet, ok := harmless[name]; ok {
		if s.On == quiet {
			return nil
		}
		return sqlerr.Unsupported("SET " + name)
	}
	switch name {
	case "TRANSACTION ISOLATION LEVEL":
		l, ok := levels[s.Words]
		if !ok {
			return sqlerr.Unsupported("isolation level " + s.Words)
		}
		x.opts.isolation = l
		return nil
	case "IDENTITY_INSERT":
		return x.setIdentityInsert(s)
	case "DEADLOCK_PRIORITY":
		return x.setDeadlockPriority(f, s, value)
	case "CONTEXT_INFO":
		return x.setContextInfo(f, value)
	}
	return x.setValue(f, name, s, value)
}

// setValue sets an option that has a value.
func (x *Session) setValue(f *frame, name string, s *syntax.SetOption, value *lazyExpr) error {
	text := s.Words
	var number int64
	if value != nil {
		v, err := value.eval(x, f)
		if err != nil {
			return err
		}
		text = strings.TrimSpace(v.String())
		if n, err := types.Convert(v, types.TypeBigInt, 0); err == nil && !n.IsNull() {
			number = n.Int()
		}
	}
	switch name {
	case "LOCK_TIMEOUT":
		x.opts.lockTimeout = -1
		if number >= 0 {
			x.opts.lockTimeout = time.Duration(number) * time.Millisecond
		}
	case "ROWCOUNT":
		if number < 0 {
			return sqlerr.New(1014)
		}
		x.opts.rowCount = number
	case "TEXTSIZE":
		x.opts.textSize = number
		if number <= 0 {
			x.opts.textSize = 4096
		}
	case "DATEFIRST":
		if number < 1 || number > 7 {
			return sqlerr.New(2742, number)
		}
		x.opts.dateFirst = int(number)
	case "DATEFORMAT":
		f := strings.ToLower(text)
		switch f {
		case "mdy", "dmy", "ymd", "ydm", "myd", "dym":
			x.opts.dateFormat = f
		default:
			return sqlerr.New(2741, text)
		}
	case "LANGUAGE":
		return x.setLanguage(text)
	case "QUERY_GOVERNOR_COST_LIMIT":
		if number != 0 {
			return sqlerr.Unsupported("SET QUERY_GOVERNOR_COST_LIMIT")
		}
	default:
		return sqlerr.New(195, name)
	}
	return nil
}

// languageSettings are what a language implies.
type languageSettings struct {
	name, alias string
	dateFormat  string
	dateFirst   int
}

// languages are the languages that SET LANGUAGE knows. Messages stay English,
// as they do in SQL Server for languages whose messages are not installed.
var languages = []languageSettings{
	{"us_english", "English", "mdy", 7},
	{"British", "British English", "dmy", 1},
	{"Deutsch", "German", "dmy", 1},
	{"Français", "French", "dmy", 1},
	{"Nederlands", "Dutch", "dmy", 1},
	{"Español", "Spanish", "dmy", 1},
	{"Italiano", "Italian", "dmy", 1},
	{"Svenska", "Swedish", "ymd", 1},
	{"Dansk", "Danish", "dmy", 1},
	{"Norsk", "Norwegian", "dmy", 1},
}

func (x *Session) setLanguage(name string) error {
	want := strings.Trim(name, "'\"[]")
	for _, l := range languages {
		if !strings.EqualFold(l.name, want) && !strings.EqualFold(l.alias, want) {
			continue
		}
		old := x.language
		x.opts.language, x.opts.dateFormat, x.opts.dateFirst = l.name, l.dateFormat, l.dateFirst
		x.language = l.name
		_ = x.out.Env(wire.EnvChange{Kind: wire.EnvLanguage, New: l.name, Old: old})
		x.inform(5703, 1, "Changed language setting to "+l.name+".")
		return nil
	}
	return sqlerr.New(2740, name)
}

func (x *Session) setIdentityInsert(s *syntax.SetOption) error {
	o, _, err := x.lookup(*s.Table, x.moduleSchema())
	if err != nil {
		return err
	}
	t, ok := o.(*catalog.Table)
	if tmp, found := x.tempTable(s.Table.Object.Name); found {
		t, ok = tmp, true
	}
	if !ok {
		return sqlerr.New(1088, displayName(*s.Table))
	}
	if t.Identity == nil {
		return sqlerr.New(8106, t.Name)
	}
	if !s.On {
		if x.insertOn == t.ID && x.insertDB == t.DatabaseID {
			x.insertOn = 0
		}
		return nil
	}
	if x.insertOn != 0 && (x.insertOn != t.ID || x.insertDB != t.DatabaseID) {
		return sqlerr.New(8107, x.insertTarget(), t.Name)
	}
	x.insertOn, x.insertDB = t.ID, t.DatabaseID
	return nil
}

// insertTarget names the table of SET IDENTITY_INSERT.
func (x *Session) insertTarget() string {
	if db, ok := x.srv.cat.DatabaseByID(x.insertDB); ok {
		if o, ok := db.ObjectByID(x.insertOn); ok {
			h := o.Head()
			return db.Name + "." + h.Schema + "." + h.Name
		}
	}
	for _, t := range x.temps {
		if t.table.ID == x.insertOn {
			return "tempdb.dbo." + t.table.Name
		}
	}
	return ""
}

// deadlockPriorities are the words of SET DEADLOCK_PRIORITY.
var deadlockPriorities = map[string]int{"LOW": -5, "NORMAL": 0, "HIGH": 5}

// setDeadlockPriority is SET DEADLOCK_PRIORITY with a word or an integer from
// -10 to 10, either also by a variable; NULL is NORMAL. Error 2755.
func (x *Session) setDeadlockPriority(f *frame, s *syntax.SetOption, value *lazyExpr) error {
	p, ok := deadlockPriorities[s.Words]
	if !ok {
		if value == nil {
			return sqlerr.New(2755)
		}
		v, err := value.eval(x, f)
		if err != nil {
			return err
		}
		p, ok = deadlockPriorities[strings.ToUpper(strings.TrimSpace(v.String()))]
		switch {
		case ok, v.IsNull():
		case v.Kind().IsInteger() && v.Int() >= -10 && v.Int() <= 10:
			p = int(v.Int())
		default:
			return sqlerr.New(2755)
		}
	}
	x.opts.deadlockPriority = p
	if x.txn.tx != nil {
		x.txn.tx.SetPriority(p)
	}
	return nil
}

func (x *Session) setContextInfo(f *frame, value *lazyExpr) error {
	v, err := value.eval(x, f)
	if err != nil {
		return err
	}
	if v, err = types.Convert(v, types.VarBinary(128), 0); err != nil {
		return err
	}
	padded := make([]byte, 128)
	copy(padded, v.Raw())
	x.ctxInfo = padded
	return nil
}

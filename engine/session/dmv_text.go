package session

import (
	"crypto/md5" //nolint:gosec // a name for a text, no secret
	"encoding/binary"
	"regexp"
	"strings"
	"unicode/utf8"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

// The event types of what a client sends.
const (
	languageEvent = "Language Event"
	rpcEvent      = "RPC Event"
)

// callText is what the input buffer shows of a call: the statement of one that
// runs a statement, else the name of the procedure.
func (x *Session) callText(call wire.Call) string {
	statement, params := -1, -1
	switch catalog.Fold(call.Name) {
	case "sp_executesql":
		statement, params = 0, 1
	case "sp_prepexec":
		statement, params = 2, 1
	}
	if statement >= 0 && statement < len(call.Params) {
		text := call.Params[statement].Value.Text()
		if params < len(call.Params) {
			return x.lastCall.text([3]string{call.Params[params].Value.Text(), text}, func() string {
				return declaredText(call.Params[params].Value.Text()) + text
			})
		}
		return text
	}
	return x.lastCall.text([3]string{call.Name, x.db.Name, x.defaultSchema()}, func() string { return x.procedureText(call.Name) })
}

// callCache keeps the text of the last call, which is often the next one too.
type callCache struct {
	key  [3]string
	made string
}

// text returns what make makes of the parts in key.
func (c *callCache) text(key [3]string, make func() string) string {
	if c.key != key || c.made == "" {
		c.key, c.made = key, make()
	}
	return c.made
}

// procedureText is what the input buffer shows of a procedure's name.
func (x *Session) procedureText(name string) string {
	n, ok := parseName(name)
	if !ok {
		return name
	}
	db, schema := n.Database.Name, n.Schema.Name
	if db == "" {
		db = x.db.Name
	}
	if schema == "" {
		if schema = x.defaultSchema(); systemProcedures[catalog.Fold(n.Object.Name)] != nil {
			schema = "sys"
		}
	}
	return db + "." + schema + "." + n.Object.Name + ";1"
}

// declaredText is the parameter list in front of a statement, as the text of a
// statement with parameters shows it.
func declaredText(params string) string {
	if params == "" {
		return ""
	}
	return "(" + params + ")"
}

// source is the text that the running statement is a part of, and the number of
// bytes in front of the program's own text.
func (a *activity) source() (text string, before int) {
	if a.prog == nil {
		return "", 0
	}
	d := ""
	if a.module == nil {
		d = declaredText(a.prog.declared)
	}
	return d + a.prog.text, len(d)
}

// offsets are where the running statement begins and ends in its text, in bytes
// of UTF-16; the end is -1 for the last statement.
func (i *Info) offsets() (from, to int64) {
	a := &i.at
	if a.stmt == nil {
		return 0, 0
	}
	text, before := a.source()
	begin := before + int(a.stmt.At().Offset)
	end := -1
	for _, in := range a.prog.code {
		if next := before + int(in.stmt.At().Offset); next > begin && (end < 0 || next < end) {
			end = next
		}
	}
	from = 2 * int64(types.UTF16Len(text[:begin]))
	if end < 0 {
		return from, -1
	}
	return from, from + 2*int64(types.UTF16Len(trimStatement(text[begin:end])))
}

var (
	// blockWord is a word that may stand between two statements.
	blockWord = regexp.MustCompile(`(?i)\b(?:else|begin(?:\s+(?:try|catch))?|end(?:\s+(?:try|catch))?)\s*$`)
	caseWord  = regexp.MustCompile(`(?i)\b(case|end)\b`)
)

// trimStatement takes away what lies between a statement and the next one.
func trimStatement(s string) string {
	for {
		s = strings.TrimRight(s, " \t\r\n;")
		at := blockWord.FindStringIndex(s)
		if at == nil || at[0] == 0 || openCases(s[:at[0]]) > 0 {
			return s
		}
		s = s[:at[0]]
	}
}

// openCases is how many CASE expressions lack their END.
func openCases(s string) int {
	n := 0
	for _, w := range caseWord.FindAllString(s, -1) {
		if strings.EqualFold(w, "case") {
			n++
		} else if n > 0 {
			n--
		}
	}
	return n
}

// The first bytes of a handle: of the text of a batch, or of a module.
const (
	batchHandle  = 2
	moduleHandle = 3
	handleLength = 44
)

// sqlHandle is the handle of the text that the session runs, or ran last; nil
// before the first request.
func (i *Info) sqlHandle() []byte {
	if m := i.at.module; m != nil {
		h := make([]byte, handleLength)
		h[0] = moduleHandle
		binary.LittleEndian.PutUint16(h[2:], uint16(m.DatabaseID))
		binary.LittleEndian.PutUint32(h[4:], uint32(m.ID))
		return h
	}
	if text, _ := i.at.source(); text != "" {
		return textHandle(text)
	}
	if i.request.text != "" {
		return textHandle(i.request.text)
	}
	return nil
}

func textHandle(text string) []byte {
	h := make([]byte, handleLength)
	h[0] = batchHandle
	sum := md5.Sum([]byte(text)) //nolint:gosec // a name for a text, no secret
	copy(h[4:], sum[:])
	return h
}

// sqlText is a row of sys.dm_exec_sql_text.
type sqlText struct {
	database, object int32 // 0 for a batch
	text             string
}

// textOfHandle finds the text of a handle: no row when nothing runs it any more
// and it has left the cache, error 569.
func textOfHandle(x *Session, args []types.Value) ([]sqlText, error) {
	if err := x.mayViewState("PERFORMANCE"); err != nil {
		return nil, err
	}
	if args[0].IsNull() {
		return nil, nil
	}
	h := args[0].Raw()
	if len(h) != handleLength || h[0] != batchHandle && h[0] != moduleHandle {
		return nil, sqlerr.New(569, "dm_exec_sql_text")
	}
	if h[0] == moduleHandle {
		return x.moduleText(h), nil
	}
	for _, i := range x.srv.Sessions() {
		texts := []string{i.request.text}
		if text, _ := i.at.source(); text != "" {
			texts = append(texts, text)
		}
		for _, text := range texts {
			if string(textHandle(text)) == h {
				return []sqlText{{text: text}}, nil
			}
		}
	}
	if text, ok := x.srv.programs.textOf(h); ok {
		return []sqlText{{text: text}}, nil
	}
	return nil, nil
}

func (x *Session) moduleText(h string) []sqlText {
	database, object := binary.LittleEndian.Uint16([]byte(h[2:])), int32(binary.LittleEndian.Uint32([]byte(h[4:])))
	db, ok := x.srv.cat.DatabaseByID(uint32(database))
	if !ok {
		return nil
	}
	o, ok := db.ObjectByID(object)
	if !ok {
		return nil
	}
	m, ok := o.(*catalog.Module)
	if !ok {
		return nil
	}
	return []sqlText{{int32(database), object, m.Text}}
}

// textOf is the text in the cache that has a handle.
func (c *programCache) textOf(h string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.items {
		if text := declaredText(key.params) + key.text; string(textHandle(text)) == h {
			return text, true
		}
	}
	return "", false
}

// inputRow is a row of sys.dm_exec_input_buffer.
type inputRow struct{ inputBuffer }

// eventType is the kind of what the client sent last.
func (r *inputRow) eventType() string {
	if r.event == "" {
		return "No Event"
	}
	return r.event
}

// inputOf is the input buffer of a session that the viewer may see.
func inputOf(x *Session, args []types.Value) ([]inputRow, error) {
	if args[0].IsNull() || !args[1].IsNull() && args[1].Int() != 0 {
		return nil, nil // request 0 is the only one there can be
	}
	id := int32(args[0].Int())
	if id != x.id {
		if err := x.mayViewState("PERFORMANCE"); err != nil {
			return nil, err
		}
	}
	for _, i := range x.srv.Sessions() {
		if i.ID == id {
			return []inputRow{{i.request}}, nil
		}
	}
	return nil, nil
}

func init() {
	idOrNullField := func(name string, t types.Type, value func(r *sqlText) int32) field[sqlText] {
		return computed(name, t, func(r *sqlText) types.Value { return idOrNull(t, value(r)) })
	}
	systemFunction("dm_exec_sql_text", []catalog.Parameter{{Name: "@handle", Type: handle}}, textOfHandle,
		idOrNullField("dbid", types.TypeSmallInt, func(r *sqlText) int32 { return r.database }),
		idOrNullField("objectid", types.TypeInt, func(r *sqlText) int32 { return r.object }),
		unset[sqlText]("number", types.TypeSmallInt),
		truth("encrypted", func(*sqlText) bool { return false }),
		wordOrNull("text", textMax, func(r *sqlText) string { return r.text }),
	)
	systemFunction("dm_exec_input_buffer", []catalog.Parameter{{Name: "@session_id", Type: types.TypeSmallInt}, {Name: "@request_id", Type: types.TypeInt}}, inputOf,
		word("event_type", text256, (*inputRow).eventType),
		fixed[inputRow]("parameters", types.TypeSmallInt, 0),
		wordOrNull("event_info", textMax, func(r *inputRow) string { return r.text }),
	)
}

// command is the kind of the running statement, as SQL Server names it.
func (i *Info) command() string {
	switch s := i.at.stmt.(type) {
	case *syntax.SelectStmt:
		if q, ok := s.Query.(*syntax.Select); ok && q.Into != nil {
			return "SELECT INTO"
		}
		return "SELECT"
	case *syntax.Insert:
		return "INSERT"
	case *syntax.Update:
		return "UPDATE"
	case *syntax.Delete:
		return "DELETE"
	case *syntax.Merge:
		return "MERGE"
	case *syntax.WaitFor:
		return "WAITFOR"
	case *syntax.If, *syntax.While:
		return "CONDITIONAL"
	case *syntax.Declare, *syntax.SetVariable:
		return "ASSIGN"
	case *syntax.Exec:
		return "EXECUTE"
	case *syntax.CommitTran:
		return "COMMIT TRANSACTION"
	case *syntax.RollbackTran:
		return "ROLLBACK TRANSACTION"
	case *syntax.BeginTran:
		return "BEGIN TRANSACTION"
	case *syntax.Truncate:
		return "TRUNCATE TABLE"
	case *syntax.CreateTable:
		return "CREATE TABLE"
	case *syntax.AlterTable:
		return "ALTER TABLE"
	case *syntax.CreateIndex:
		return "CREATE INDEX"
	case *syntax.CreateProcedure:
		return "CREATE PROCEDURE"
	case *syntax.CreateView:
		return "CREATE VIEW"
	case *syntax.CreateFunction:
		return "CREATE FUNCTION"
	case *syntax.CreateTrigger:
		return "CREATE TRIGGER"
	case *syntax.Kill:
		return "KILL"
	case nil:
		return i.firstWord()
	}
	return strings.ToUpper(i.statementWords())
}

// firstWord is the command of a request that has not reached a statement.
func (i *Info) firstWord() string {
	if i.request.event == rpcEvent {
		return "EXECUTE"
	}
	return "SELECT"
}

// statementWords are the words a statement begins with: the first, and the
// second of one that is about a kind of object.
func (i *Info) statementWords() string {
	text, before := i.at.source()
	words := strings.Fields(text[before+int(i.at.stmt.At().Offset):])
	switch {
	case len(words) == 0:
		return "SELECT"
	case len(words) > 1 && objectVerb[strings.ToUpper(words[0])]:
		return words[0] + " " + firstLetters(words[1])
	}
	return firstLetters(words[0])
}

var objectVerb = map[string]bool{"CREATE": true, "ALTER": true, "DROP": true, "BACKUP": true, "RESTORE": true, "SAVE": true}

// firstLetters is the beginning of a word that is made of letters.
func firstLetters(s string) string {
	for at, r := range s {
		if r >= utf8.RuneSelf || !('a' <= r|0x20 && r|0x20 <= 'z') {
			return s[:at]
		}
	}
	return s
}

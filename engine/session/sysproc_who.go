package session

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"loopbroker/engine/catalog"
	"loopbroker/engine/exec"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

func init() {
	registerProcedures(
		&sysProc{
			name: "sp_who", params: []sysParam{optional("@loginame", sysname)},
			run: func(x *Session, c *sysCall) (int32, error) { return sendWho(x, c, whoFields()) },
		},
		&sysProc{
			name: "sp_who2", params: []sysParam{optional("@loginame", sysname)},
			run: func(x *Session, c *sysCall) (int32, error) { return sendWho(x, c, who2Fields()) },
		},
		&sysProc{
			name: "sp_lock", params: []sysParam{optional("@spid1", types.TypeInt), optional("@spid2", types.TypeInt)},
			run: listLocks,
		},
	)
}

// sendFields sends a result set of a system procedure.
func sendFields[T any](x *Session, fields []field[T], list []T) error {
	cols := make([]exec.Column, len(fields))
	for i, f := range fields {
		cols[i] = exec.Column{Name: f.name, Type: f.typ, Nullable: f.nullable}
	}
	return x.sendRows(cols, rowsOfFields(fields, list))
}

// sendRows sends a whole result set as one statement's.
func (x *Session) sendRows(cols []exec.Column, rows []types.Row) error {
	out, err := x.rowsTo(cols)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := out(r); err != nil {
			return err
		}
	}
	x.rowCount = int64(len(rows))
	return x.out.Done(wire.Done{Rows: x.rowCount, HasRows: !x.opts.noCount, Command: wire.CommandSelect, InProc: true})
}

// sendWho sends the sessions that the argument of sp_who and sp_who2 names: a
// login, a session id, ACTIVE, or none for all; error 15007.
func sendWho(x *Session, c *sysCall, fields []field[sessionRow]) (int32, error) {
	rows := sessionRows(x)
	if c.values[0].IsNull() {
		return 0, sendFields(x, fields, rows)
	}
	who := strings.TrimSpace(c.text(0))
	id, err := strconv.ParseInt(who, 10, 32)
	var drop func(r sessionRow) bool
	switch {
	case strings.EqualFold(who, "active"):
		drop = func(r sessionRow) bool { return !r.Running }
	case err == nil:
		drop = func(r sessionRow) bool { return int64(r.ID) != id }
	default:
		if _, ok := x.srv.cat.Login(who); !ok {
			return 1, sqlerr.New(15007, who)
		}
		drop = func(r sessionRow) bool { return catalog.Fold(r.Login) != catalog.Fold(who) }
	}
	return 0, sendFields(x, fields, slices.DeleteFunc(rows, drop))
}

// whoFields are the columns of sp_who.
func whoFields() []field[sessionRow] {
	return []field[sessionRow]{
		number("spid", types.TypeSmallInt, func(r *sessionRow) int64 { return int64(r.ID) }),
		fixed[sessionRow]("ecid", types.TypeSmallInt, 0),
		word("status", types.NChar(30), func(r *sessionRow) string { return padded(r.processStatus(), 30) }),
		word("loginame", sysname, func(r *sessionRow) string { return r.Login }),
		word("hostname", types.NChar(128), func(r *sessionRow) string { return padded(r.Host, 128) }),
		word("blk", types.Char(5), func(r *sessionRow) string { return padded(strconv.Itoa(int(r.wait.blocker())), 5) }),
		word("dbname", sysname, func(r *sessionRow) string { return r.Database }),
		word("cmd", types.NChar(26), func(r *sessionRow) string { return padded(r.processCommand(), 26) }),
		fixed[sessionRow]("request_id", types.TypeInt, 0),
	}
}

// who2Fields are the columns of sp_who2: all text, with a dot for nothing.
func who2Fields() []field[sessionRow] {
	spid := word("SPID", types.Char(5), func(r *sessionRow) string { return padded(strconv.Itoa(int(r.ID)), 5) })
	zero := func(name string) field[sessionRow] {
		return word(name, types.VarChar(30), func(*sessionRow) string { return "0" })
	}
	return []field[sessionRow]{
		spid,
		word("Status", types.NVarChar(30), func(r *sessionRow) string {
			if !r.Running {
				return r.processStatus()
			}
			return strings.ToUpper(r.processStatus())
		}),
		word("Login", sysname, func(r *sessionRow) string { return r.Login }),
		word("HostName", sysname, func(r *sessionRow) string {
			if r.Host == "" {
				return "  ."
			}
			return r.Host
		}),
		word("BlkBy", types.Char(5), func(r *sessionRow) string {
			if r.wait.blocker() == 0 {
				return padded("  .", 5)
			}
			return padded(strconv.Itoa(int(r.wait.blocker())), 5)
		}),
		word("DBName", sysname, func(r *sessionRow) string { return r.Database }),
		word("Command", types.NVarChar(26), (*sessionRow).processCommand),
		zero("CPUTime"), zero("DiskIO"),
		word("LastBatch", types.VarChar(14), func(r *sessionRow) string { return lastBatch(r.LastRequest) }),
		word("ProgramName", sysname, func(r *sessionRow) string { return r.Program }),
		spid,
		word("REQUESTID", types.Char(5), func(*sessionRow) string { return padded("0", 5) }),
	}
}

// lastBatch is a time as sp_who2 shows it, without the year.
func lastBatch(t time.Time) string { return t.UTC().Format("01/02 15:04:05") }

// lockTypes are the short names of sp_lock.
var lockTypes = map[string]string{
	"DATABASE": "DB", "OBJECT": "TAB", "KEY": "KEY", "RID": "RID", "APPLICATION": "APP", "METADATA": "MD",
}

// listLocks is sp_lock.
func listLocks(x *Session, c *sysCall) (int32, error) {
	if err := x.mayViewState("PERFORMANCE"); err != nil {
		return 1, err
	}
	rows := lockRows(x)
	if !c.values[0].IsNull() {
		rows = slices.DeleteFunc(rows, func(r lockRow) bool {
			return int64(r.session) != c.values[0].Int() && (c.values[1].IsNull() || int64(r.session) != c.values[1].Int())
		})
	}
	return 0, sendFields(x, []field[lockRow]{
		number("spid", types.TypeSmallInt, func(r *lockRow) int64 { return int64(r.session) }),
		number("dbid", types.TypeSmallInt, func(r *lockRow) int64 { return int64(r.database) }),
		number("ObjId", types.TypeInt, func(r *lockRow) int64 { object, _ := r.place(); return int64(object) }),
		number("IndId", types.TypeSmallInt, func(r *lockRow) int64 { _, index := r.place(); return int64(index) }),
		word("Type", types.NChar(4), func(r *lockRow) string { return padded(lockTypes[r.kind], 4) }),
		word("Resource", types.NChar(32), func(r *lockRow) string { return padded(r.description, 32) }),
		word("Mode", types.NVarChar(8), func(r *lockRow) string { return r.mode }),
		word("Status", types.NVarChar(5), func(r *lockRow) string {
			if r.status == "CONVERT" {
				return "CNVRT"
			}
			return r.status
		}),
	}, rows)
}

// place is the object and index that a lock is on, 0 where there is none.
func (r *lockResource) place() (object, index int32) {
	switch r.kind {
	case "OBJECT":
		return int32(r.entity), 0
	case "KEY", "RID":
		return catalog.HobtObject(r.entity)
	}
	return 0, 0
}

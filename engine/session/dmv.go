package session

import (
	"slices"
	"time"

	"loopbroker/engine/catalog"
	"loopbroker/engine/types"
)

// dynamicViews are the dynamic management views, by folded name.
var dynamicViews = map[string]*catalog.SystemView{}

// dynamicView registers a view that only shows what a sysadmin, or the session
// itself, may see.
func dynamicView(name string, cols []*catalog.Column, rows func(x *Session) []types.Row) {
	v := &catalog.SystemView{Columns: cols, Rows: func(v catalog.Viewer) ([]types.Row, error) { return rows(v.(viewer).x), nil }}
	v.Name, v.Schema, v.ID = name, "sys", -int32(1000+len(dynamicViews))
	dynamicViews[name] = v
}

func column(name string, t types.Type, nullable bool) *catalog.Column {
	return &catalog.Column{Name: name, Type: t, Nullable: nullable}
}

func numbered(cols ...*catalog.Column) []*catalog.Column {
	for i, c := range cols {
		c.ID = int32(i + 1)
	}
	return cols
}

// visibleSessions are the sessions that a viewer may see.
func visibleSessions(x *Session) []Info {
	x.info.refresh(x)
	all := x.srv.Sessions()
	if x.ident.login.Sysadmin() {
		return all
	}
	return slices.DeleteFunc(all, func(i Info) bool { return i.ID != x.id })
}

func instant(t time.Time) types.Value { return types.FromGoTime(types.KindDateTime, 3, t.UTC()) }

func textOrNull(s string) types.Value {
	if s == "" {
		return types.Null
	}
	return types.NewNVarChar(s)
}

func init() {
	text := types.NVarChar(128)
	dynamicView("dm_exec_sessions", numbered(
		column("session_id", types.TypeSmallInt, false), column("login_time", types.TypeDateTime, false),
		column("host_name", text, true), column("program_name", text, true), column("host_process_id", types.TypeInt, true),
		column("client_interface_name", text, true), column("login_name", text, false), column("status", types.NVarChar(30), false),
		column("last_request_start_time", types.TypeDateTime, false), column("row_count", types.TypeBigInt, false),
		column("prev_error", types.TypeInt, false), column("original_login_name", text, false),
		column("transaction_isolation_level", types.TypeSmallInt, false), column("lock_timeout", types.TypeInt, false),
		column("database_id", types.TypeSmallInt, false), column("open_transaction_count", types.TypeInt, false),
		column("is_user_process", types.TypeBit, false),
	), func(x *Session) []types.Row {
		var rows []types.Row
		for _, i := range visibleSessions(x) {
			status := "sleeping"
			if i.Running {
				status = "running"
			}
			rows = append(rows, types.Row{
				types.NewSmallInt(int64(i.ID)), instant(i.LoginTime), textOrNull(i.Host), textOrNull(i.Program),
				types.NewInt(int64(i.ProcessID)), textOrNull(i.Client), types.NewNVarChar(i.Login), types.NewNVarChar(status),
				instant(i.LastRequest), types.NewBigInt(i.RowCount), types.NewInt(int64(i.LastError)), types.NewNVarChar(i.OriginalLogin),
				types.NewSmallInt(int64(i.Isolation)), types.NewInt(i.LockTimeout), types.NewSmallInt(int64(i.DatabaseID)),
				types.NewInt(int64(i.Transactions)), types.NewBit(true),
			})
		}
		return rows
	})
	dynamicView("dm_exec_connections", numbered(
		column("session_id", types.TypeInt, true), column("connect_time", types.TypeDateTime, false),
		column("net_transport", types.NVarChar(40), false), column("protocol_type", types.NVarChar(40), true),
		column("encrypt_option", types.NVarChar(40), false), column("auth_scheme", types.NVarChar(40), false),
		column("net_packet_size", types.TypeInt, true), column("client_net_address", types.VarChar(48), true),
		column("local_net_address", types.VarChar(48), true),
	), func(x *Session) []types.Row {
		var rows []types.Row
		for _, i := range visibleSessions(x) {
			encrypted := "FALSE"
			if i.Encrypted {
				encrypted = "TRUE"
			}
			rows = append(rows, types.Row{
				types.NewInt(int64(i.ID)), instant(i.LoginTime), types.NewNVarChar("TCP"), types.NewNVarChar("TSQL"),
				types.NewNVarChar(encrypted), types.NewNVarChar("SQL"), types.NewInt(int64(i.PacketSize)),
				types.NewVarChar(i.NetAddress), types.NewVarChar(i.LocalAddr),
			})
		}
		return rows
	})
	dynamicView("dm_exec_requests", numbered(
		column("session_id", types.TypeSmallInt, false), column("request_id", types.TypeInt, false),
		column("start_time", types.TypeDateTime, false), column("status", types.NVarChar(30), false),
		column("command", types.NVarChar(32), false), column("database_id", types.TypeSmallInt, false),
		column("blocking_session_id", types.TypeSmallInt, true), column("wait_type", types.NVarChar(60), true),
		column("wait_resource", types.NVarChar(256), false), column("open_transaction_count", types.TypeInt, false),
	), requestRows)
	lockViews()
}

// requestRows are the running requests with who blocks them.
func requestRows(x *Session) []types.Row {
	blockers := map[int32]lockWait{}
	for _, w := range x.srv.lockWaits() {
		blockers[w.session] = w
	}
	var rows []types.Row
	for _, i := range visibleSessions(x) {
		if !i.Running {
			continue
		}
		status, wait := "running", i.Wait
		b, blocked := blockers[i.ID]
		if blocked {
			wait = "LCK_M_" + b.mode
		}
		if wait != "" {
			status = "suspended"
		}
		rows = append(rows, types.Row{
			types.NewSmallInt(int64(i.ID)), types.NewInt(0), instant(i.LastRequest), types.NewNVarChar(status),
			types.NewNVarChar("BATCH"), types.NewSmallInt(int64(i.DatabaseID)), types.NewSmallInt(int64(b.blocker)),
			textOrNull(wait), types.NewNVarChar(b.resource), types.NewInt(int64(i.Transactions)),
		})
	}
	return rows
}

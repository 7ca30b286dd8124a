package session

import (
	"crypto/sha256"
	"encoding/binary"
	"net"
	"strconv"
	"strings"
	"time"

	"loopbroker/engine/catalog"
	"loopbroker/engine/types"
)

// The types of the columns of dynamic management views.
var (
	text30  = types.NVarChar(30)
	text32  = types.NVarChar(32)
	text40  = types.NVarChar(40)
	text60  = types.NVarChar(60)
	text256 = types.NVarChar(256)
	handle  = types.VarBinary(64)
	address = types.VarBinary(8)
)

// sessionRow is a session as the views of sessions, connections and requests
// show it.
type sessionRow struct {
	Info
	srv  *Server
	now  time.Time
	wait sessionWait
}

// sessionRows are the sessions that the viewer may see, with what they wait for.
func sessionRows(x *Session) []sessionRow {
	waits := x.srv.waits()
	var rows []sessionRow
	for _, i := range visibleSessions(x) {
		rows = append(rows, sessionRow{Info: i, srv: x.srv, now: x.srv.now(), wait: waitOf(i, waits)})
	}
	return rows
}

// status is the state of a session: it is suspended only as a request.
func (r *sessionRow) status() string {
	if r.Running {
		return "running"
	}
	return "sleeping"
}

// sid is the security identifier of a login by its name.
func (r *sessionRow) sid(login string) []byte {
	if l, ok := r.srv.cat.Login(login); ok {
		return catalog.LoginSID(l)
	}
	return []byte{}
}

// milliseconds is how long ago a moment was, as an int column shows it.
func (r *sessionRow) milliseconds(since time.Time) int64 {
	return min(r.now.Sub(since).Milliseconds(), 1<<31-1)
}

// remote splits the address of the client, and local that of the server. A
// connection within the process is one over shared memory.
func (r *sessionRow) remote() (host string, port int64) { return splitAddress(r.NetAddress) }
func (r *sessionRow) local() (host string, port int64)  { return splitAddress(r.LocalAddr) }

func splitAddress(a string) (string, int64) {
	host, port, err := net.SplitHostPort(a)
	if err != nil {
		return "<local machine>", 0
	}
	n, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return "<local machine>", 0
	}
	return host, n
}

// transport is the physical transport of the connection.
func (r *sessionRow) transport() string {
	if _, port := r.local(); port == 0 {
		return "Shared memory"
	}
	return "TCP"
}

// endpoint is the id of the endpoint that the client came in by: TSQL Default
// TCP or TSQL Local Machine.
func (r *sessionRow) endpoint() int64 {
	if r.transport() == "TCP" {
		return 4
	}
	return 2
}

// portOrNull is a port column: NULL for a connection that has none.
func portOrNull(name string, of func(r *sessionRow) (string, int64)) field[sessionRow] {
	return computed(name, types.TypeInt, func(r *sessionRow) types.Value {
		if _, port := of(r); port != 0 {
			return types.NewInt(port)
		}
		return types.Null
	})
}

// connection is the unique id of the connection, the same in every view.
func (r *sessionRow) connection() types.Value {
	var b [24]byte
	binary.LittleEndian.PutUint64(b[:], uint64(r.ID))
	binary.LittleEndian.PutUint64(b[8:], uint64(r.LoginTime.UnixNano()))
	binary.LittleEndian.PutUint64(b[16:], uint64(r.srv.started.UnixNano()))
	sum := sha256.Sum256(b[:])
	var id [16]byte
	copy(id[:], sum[:])
	id[7], id[8] = id[7]&0x0f|0x40, id[8]&0x3f|0x80 // as a random GUID
	return types.NewUniqueIdentifier(id)
}

// optionFields are the columns of SET options, the same for sessions and
// requests.
func optionFields() []field[sessionRow] {
	return []field[sessionRow]{
		number("text_size", types.TypeInt, func(r *sessionRow) int64 { return r.opts.textSize }),
		wordOrNull("language", sysname, func(r *sessionRow) string { return r.opts.language }),
		wordOrNull("date_format", types.NVarChar(3), func(r *sessionRow) string { return r.opts.dateFormat }),
		number("date_first", types.TypeSmallInt, func(r *sessionRow) int64 { return int64(r.opts.dateFirst) }),
		truth("quoted_identifier", func(r *sessionRow) bool { return r.opts.quotedIdentifier }),
		truth("arithabort", func(r *sessionRow) bool { return r.opts.arithAbort }),
		truth("ansi_null_dflt_on", func(r *sessionRow) bool { return r.opts.ansiNullDfltOn }),
		truth("ansi_defaults", func(r *sessionRow) bool { return r.opts.ansiDefaults() }),
		truth("ansi_warnings", func(r *sessionRow) bool { return r.opts.ansiWarnings }),
		truth("ansi_padding", func(r *sessionRow) bool { return r.opts.ansiPadding }),
		truth("ansi_nulls", func(r *sessionRow) bool { return r.opts.ansiNulls }),
		truth("concat_null_yields_null", func(r *sessionRow) bool { return r.opts.concatNull }),
		number("transaction_isolation_level", types.TypeSmallInt, func(r *sessionRow) int64 { return int64(r.Isolation) }),
		number("lock_timeout", types.TypeInt, func(r *sessionRow) int64 { return r.LockTimeout }),
		number("deadlock_priority", types.TypeInt, func(r *sessionRow) int64 { return int64(r.opts.deadlockPriority) }),
		number("row_count", types.TypeBigInt, func(r *sessionRow) int64 { return r.RowCount }),
		number("prev_error", types.TypeInt, func(r *sessionRow) int64 { return int64(r.LastError) }),
	}
}

func init() {
	fields := []field[sessionRow]{
		number("session_id", types.TypeSmallInt, func(r *sessionRow) int64 { return int64(r.ID) }),
		moment("login_time", func(r *sessionRow) time.Time { return r.LoginTime }),
		wordOrNull("host_name", sysname, func(r *sessionRow) string { return r.Host }),
		wordOrNull("program_name", sysname, func(r *sessionRow) string { return r.Program }),
		number("host_process_id", types.TypeInt, func(r *sessionRow) int64 { return int64(int32(r.ProcessID)) }),
		fixed[sessionRow]("client_version", types.TypeInt, 7), // TDS 7
		wordOrNull("client_interface_name", text32, func(r *sessionRow) string { return r.Client }),
		bytesOrNull("security_id", types.VarBinary(85), func(r *sessionRow) []byte { return r.sid(r.Login) }),
		word("login_name", sysname, func(r *sessionRow) string { return r.Login }),
		unset[sessionRow]("nt_domain", sysname),
		unset[sessionRow]("nt_user_name", sysname),
		word("status", text30, (*sessionRow).status),
		bytesOrNull("context_info", types.VarBinary(128), func(r *sessionRow) []byte { return r.contextInfo }),
		fixed[sessionRow]("cpu_time", types.TypeInt, 0),
		fixed[sessionRow]("memory_usage", types.TypeInt, 0),
		fixed[sessionRow]("total_scheduled_time", types.TypeInt, 0),
		number("total_elapsed_time", types.TypeInt, func(r *sessionRow) int64 { return r.milliseconds(r.LoginTime) }),
		number("endpoint_id", types.TypeInt, (*sessionRow).endpoint),
		moment("last_request_start_time", func(r *sessionRow) time.Time { return r.LastRequest }),
		moment("last_request_end_time", func(r *sessionRow) time.Time { return r.LastEnd }),
		fixed[sessionRow]("reads", types.TypeBigInt, 0),
		fixed[sessionRow]("writes", types.TypeBigInt, 0),
		fixed[sessionRow]("logical_reads", types.TypeBigInt, 0),
		truth("is_user_process", func(*sessionRow) bool { return true }),
	}
	fields = append(fields, optionFields()...)
	ownView("dm_exec_sessions", sessionRows, append(fields,
		bytesOrNull("original_security_id", types.VarBinary(85), func(r *sessionRow) []byte { return r.sid(r.OriginalLogin) }),
		word("original_login_name", sysname, func(r *sessionRow) string { return r.OriginalLogin }),
		unset[sessionRow]("last_successful_logon", types.TypeDateTime),
		unset[sessionRow]("last_unsuccessful_logon", types.TypeDateTime),
		unset[sessionRow]("unsuccessful_logons", types.TypeBigInt),
		fixed[sessionRow]("group_id", types.TypeInt, 2),
		number("database_id", types.TypeSmallInt, func(r *sessionRow) int64 { return int64(r.DatabaseID) }),
		fixed[sessionRow]("authenticating_database_id", types.TypeInt, 0),
		number("open_transaction_count", types.TypeInt, func(r *sessionRow) int64 { return int64(r.Transactions) }),
		fixed[sessionRow]("page_server_reads", types.TypeBigInt, 0),
		unset[sessionRow]("contained_availability_group_id", types.TypeUniqueIdentifier),
	)...)
	connectionView()
	processView()
}

// connectionView registers sys.dm_exec_connections. Addresses are a matter of
// security: it takes a permission of its own to see them.
func connectionView() {
	guardedView("dm_exec_connections", "SECURITY", sessionRows,
		number("session_id", types.TypeInt, func(r *sessionRow) int64 { return int64(r.ID) }),
		number("most_recent_session_id", types.TypeInt, func(r *sessionRow) int64 { return int64(r.ID) }),
		moment("connect_time", func(r *sessionRow) time.Time { return r.LoginTime }),
		word("net_transport", text40, (*sessionRow).transport),
		word("protocol_type", text40, func(*sessionRow) string { return "TSQL" }),
		number("protocol_version", types.TypeInt, func(r *sessionRow) int64 { return int64(int32(r.TDSVersion)) }),
		number("endpoint_id", types.TypeInt, (*sessionRow).endpoint),
		word("encrypt_option", text40, func(r *sessionRow) string { return strings.ToUpper(strconv.FormatBool(r.Encrypted)) }),
		word("auth_scheme", text40, func(*sessionRow) string { return "SQL" }),
		fixed[sessionRow]("node_affinity", types.TypeSmallInt, 0),
		unset[sessionRow]("num_reads", types.TypeInt),
		unset[sessionRow]("num_writes", types.TypeInt),
		moment("last_read", func(r *sessionRow) time.Time { return r.LastRequest }),
		moment("last_write", func(r *sessionRow) time.Time { return r.LastEnd }),
		number("net_packet_size", types.TypeInt, func(r *sessionRow) int64 { return int64(r.PacketSize) }),
		word("client_net_address", types.VarChar(48), func(r *sessionRow) string { h, _ := r.remote(); return h }),
		portOrNull("client_tcp_port", (*sessionRow).remote),
		wordOrNull("local_net_address", types.VarChar(48), func(r *sessionRow) string {
			if h, port := r.local(); port != 0 {
				return h
			}
			return ""
		}),
		portOrNull("local_tcp_port", (*sessionRow).local),
		computed("connection_id", types.TypeUniqueIdentifier, (*sessionRow).connection),
		unset[sessionRow]("parent_connection_id", types.TypeUniqueIdentifier),
		bytesOrNull("most_recent_sql_handle", handle, (*sessionRow).sqlHandle),
	)
}

// processView registers sys.sysprocesses, the view of SQL Server 2000 that the
// others have replaced.
func processView() {
	fixedText := func(name string, length int, value func(r *sessionRow) string) field[sessionRow] {
		return word(name, types.NChar(length), func(r *sessionRow) string { return padded(value(r), length) })
	}
	ownView("sysprocesses", sessionRows,
		number("spid", types.TypeSmallInt, func(r *sessionRow) int64 { return int64(r.ID) }),
		fixed[sessionRow]("kpid", types.TypeSmallInt, 0),
		number("blocked", types.TypeSmallInt, func(r *sessionRow) int64 { return int64(r.wait.blocker()) }),
		computed("waittype", types.Binary(2), func(*sessionRow) types.Value { return types.NewBinary(types.KindBinary, "\x00\x00") }),
		number("waittime", types.TypeBigInt, (*sessionRow).waitTime),
		fixedText("lastwaittype", 32, (*sessionRow).lastWait),
		fixedText("waitresource", 256, func(r *sessionRow) string { return r.wait.resource }),
		number("dbid", types.TypeSmallInt, func(r *sessionRow) int64 { return int64(r.DatabaseID) }),
		number("uid", types.TypeSmallInt, func(r *sessionRow) int64 { return int64(r.UserID) }),
		fixed[sessionRow]("cpu", types.TypeInt, 0),
		fixed[sessionRow]("physical_io", types.TypeBigInt, 0),
		fixed[sessionRow]("memusage", types.TypeInt, 0),
		moment("login_time", func(r *sessionRow) time.Time { return r.LoginTime }),
		moment("last_batch", func(r *sessionRow) time.Time { return r.LastRequest }),
		fixed[sessionRow]("ecid", types.TypeSmallInt, 0),
		number("open_tran", types.TypeSmallInt, func(r *sessionRow) int64 { return int64(r.Transactions) }),
		fixedText("status", 30, (*sessionRow).processStatus),
		computed("sid", types.Binary(86), func(r *sessionRow) types.Value {
			return types.NewBinary(types.KindBinary, string(append(r.sid(r.Login), make([]byte, 86)...)[:86]))
		}),
		fixedText("hostname", 128, func(r *sessionRow) string { return r.Host }),
		fixedText("program_name", 128, func(r *sessionRow) string { return r.Program }),
		fixedText("hostprocess", 10, func(r *sessionRow) string { return strconv.FormatUint(uint64(r.ProcessID), 10) }),
		fixedText("cmd", 26, (*sessionRow).processCommand),
		fixedText("nt_domain", 128, func(*sessionRow) string { return "" }),
		fixedText("nt_username", 128, func(*sessionRow) string { return "" }),
		fixedText("net_address", 12, func(*sessionRow) string { return "" }),
		fixedText("net_library", 12, func(r *sessionRow) string {
			if r.transport() == "TCP" {
				return "TCP/IP"
			}
			return "LPC"
		}),
		fixedText("loginame", 128, func(r *sessionRow) string { return r.Login }),
		computed("context_info", types.Binary(128), func(r *sessionRow) types.Value {
			return types.NewBinary(types.KindBinary, string(append(append([]byte{}, r.contextInfo...), make([]byte, 128)...)[:128]))
		}),
		computed("sql_handle", types.Binary(20), func(r *sessionRow) types.Value {
			return types.NewBinary(types.KindBinary, string(append(r.sqlHandle(), make([]byte, 20)...)[:20]))
		}),
		number("stmt_start", types.TypeInt, func(r *sessionRow) int64 { from, _ := r.offsets(); return from }),
		number("stmt_end", types.TypeInt, func(r *sessionRow) int64 { _, to := r.offsets(); return to }),
		fixed[sessionRow]("request_id", types.TypeInt, 0),
		unset[sessionRow]("page_resource", address),
	)
}

// padded is a text as a char column of a length holds it.
func padded(s string, length int) string {
	if n := len([]rune(s)); n < length {
		return s + strings.Repeat(" ", length-n)
	}
	return string([]rune(s)[:length])
}

// processStatus is the status that sp_who shows, of the request if one runs.
func (r *sessionRow) processStatus() string {
	switch {
	case !r.Running:
		return "sleeping"
	case r.wait.kind != "":
		return "suspended"
	}
	return "runnable"
}

// processCommand is the command that sp_who shows.
func (r *sessionRow) processCommand() string {
	if !r.Running {
		return "AWAITING COMMAND"
	}
	return r.command()
}

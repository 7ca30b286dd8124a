package session

import (
	"encoding/binary"
	"time"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// sessionWait is what a session waits for; the zero value of one that does not.
type sessionWait struct {
	kind     string // the wait type
	since    time.Time
	resource string
	blockers []int32
	lock     *storage.LockInfo // the lock request, nil for another wait
}

// blocker is the session that is waited for first, 0 for none.
func (w sessionWait) blocker() int32 {
	if len(w.blockers) == 0 {
		return 0
	}
	return w.blockers[0]
}

// waits are the sessions that wait for locks.
func (s *Server) waits() map[int32]sessionWait {
	s.mu.Lock()
	owners := make([]*storage.Owner, 0, len(s.sessions))
	for _, x := range s.sessions {
		owners = append(owners, x.owner)
	}
	s.mu.Unlock()
	waits := map[int32]sessionWait{}
	for _, o := range owners {
		l, ok := o.WaitsFor()
		if !ok {
			continue
		}
		waits[o.Session()] = sessionWait{
			kind: lockWaitType(l.ModeName), since: l.Since, resource: waitResource(s.lockResource(&l)), blockers: l.BlockedBy, lock: &l,
		}
	}
	return waits
}

// waitOf is what a session waits for: a lock, or what it says itself.
func waitOf(i Info, locks map[int32]sessionWait) sessionWait {
	if w, ok := locks[i.ID]; ok {
		return w
	}
	if i.Wait == "" {
		return sessionWait{}
	}
	return sessionWait{kind: i.Wait, since: i.WaitSince}
}

// lockWaitTypes are the wait types of modes whose names differ from the mode's.
var lockWaitTypes = map[string]string{
	"Sch-S": "SCH_S", "Sch-M": "SCH_M", "RangeS-S": "RS_S", "RangeS-U": "RS_U", "RangeI-N": "RIn_NL", "RangeX-X": "RX_X",
}

// lockWaitType is the wait type of a request for a lock in a mode.
func lockWaitType(mode string) string {
	if t, ok := lockWaitTypes[mode]; ok {
		mode = t
	}
	return "LCK_M_" + mode
}

// waitTime is how long the session has been waiting, in milliseconds.
func (r *sessionRow) waitTime() int64 {
	if r.wait.kind == "" {
		return 0
	}
	return max(0, r.milliseconds(r.wait.since))
}

// lastWait is the wait type of the present wait or of the one before.
func (r *sessionRow) lastWait() string {
	switch {
	case r.wait.kind != "":
		return r.wait.kind
	case r.LastWait != "":
		return r.LastWait
	}
	return "MISCELLANEOUS"
}

// requestStatus is the status of a running request.
func (r *sessionRow) requestStatus() string {
	if r.wait.kind != "" {
		return "suspended"
	}
	return "running"
}

// taskAddress stands for the address of the task of a session.
func taskAddress(session int32) []byte {
	return binary.BigEndian.AppendUint64(nil, 0x7ff000000000|uint64(uint32(session))<<12)
}

// runningRequests are the requests that run and that the viewer may see.
func runningRequests(x *Session) []sessionRow {
	var rows []sessionRow
	for _, r := range sessionRows(x) {
		if r.Running {
			rows = append(rows, r)
		}
	}
	return rows
}

func init() {
	fields := []field[sessionRow]{
		number("session_id", types.TypeSmallInt, func(r *sessionRow) int64 { return int64(r.ID) }),
		fixed[sessionRow]("request_id", types.TypeInt, 0),
		moment("start_time", func(r *sessionRow) time.Time { return r.LastRequest }),
		word("status", text30, (*sessionRow).requestStatus),
		word("command", text32, (*sessionRow).command),
		bytesOrNull("sql_handle", handle, (*sessionRow).sqlHandle),
		offsetField("statement_start_offset", func(r *sessionRow) int64 { from, _ := r.offsets(); return from }),
		offsetField("statement_end_offset", func(r *sessionRow) int64 { _, to := r.offsets(); return to }),
		unset[sessionRow]("plan_handle", handle),
		number("database_id", types.TypeSmallInt, func(r *sessionRow) int64 { return int64(r.DatabaseID) }),
		number("user_id", types.TypeInt, func(r *sessionRow) int64 { return int64(r.UserID) }),
		computed("connection_id", types.TypeUniqueIdentifier, (*sessionRow).connection),
		number("blocking_session_id", types.TypeSmallInt, func(r *sessionRow) int64 { return int64(r.wait.blocker()) }),
		wordOrNull("wait_type", text60, func(r *sessionRow) string { return r.wait.kind }),
		number("wait_time", types.TypeInt, (*sessionRow).waitTime),
		word("last_wait_type", text60, (*sessionRow).lastWait),
		word("wait_resource", text256, func(r *sessionRow) string { return r.wait.resource }),
		number("open_transaction_count", types.TypeInt, func(r *sessionRow) int64 { return int64(r.Transactions) }),
		fixed[sessionRow]("open_resultset_count", types.TypeInt, 1),
		number("transaction_id", types.TypeBigInt, func(r *sessionRow) int64 { return int64(r.TransactionID) }),
		bytesOrNull("context_info", types.VarBinary(128), func(r *sessionRow) []byte { return r.contextInfo }),
		fixed[sessionRow]("percent_complete", types.TypeReal, 0),
		fixed[sessionRow]("estimated_completion_time", types.TypeBigInt, 0),
		fixed[sessionRow]("cpu_time", types.TypeInt, 0),
		number("total_elapsed_time", types.TypeInt, func(r *sessionRow) int64 { return r.milliseconds(r.LastRequest) }),
		fixed[sessionRow]("scheduler_id", types.TypeInt, 0),
		bytesOrNull("task_address", address, func(r *sessionRow) []byte { return taskAddress(r.ID) }),
		fixed[sessionRow]("reads", types.TypeBigInt, 0),
		fixed[sessionRow]("writes", types.TypeBigInt, 0),
		fixed[sessionRow]("logical_reads", types.TypeBigInt, 0),
	}
	fields = append(fields, optionFields()...)
	ownView("dm_exec_requests", runningRequests, append(fields,
		number("nest_level", types.TypeInt, func(r *sessionRow) int64 { return int64(r.Nesting) }),
		fixed[sessionRow]("granted_query_memory", types.TypeInt, 0),
		truth("executing_managed_code", func(*sessionRow) bool { return false }),
		fixed[sessionRow]("group_id", types.TypeInt, 2),
		unset[sessionRow]("query_hash", types.Binary(8)),
		unset[sessionRow]("query_plan_hash", types.Binary(8)),
		unset[sessionRow]("statement_sql_handle", handle),
		unset[sessionRow]("statement_context_id", types.TypeBigInt),
		fixed[sessionRow]("dop", types.TypeInt, 1),
		unset[sessionRow]("parallel_worker_count", types.TypeInt),
		unset[sessionRow]("external_script_request_id", types.TypeUniqueIdentifier),
		truth("is_resumable", func(*sessionRow) bool { return false }),
		unset[sessionRow]("page_resource", types.Binary(8)),
		unset[sessionRow]("page_server_reads", types.TypeBigInt),
		unset[sessionRow]("dist_statement_id", types.TypeUniqueIdentifier),
	)...)
	waitingTaskView()
}

// offsetField is a column of the place of the running statement, NULL without
// one.
func offsetField(name string, value func(r *sessionRow) int64) field[sessionRow] {
	return computed(name, types.TypeInt, func(r *sessionRow) types.Value {
		if r.at.stmt == nil {
			return types.Null
		}
		return types.NewInt(value(r))
	})
}

// waitingTask is a task that waits, with one of those that it waits for.
type waitingTask struct {
	sessionRow
	blockedBy int32 // 0 for none
	resource  lockResource
	held      string // the mode in which others hold the resource
}

// waitingTasks are the waits of all sessions, a row for each blocker.
func waitingTasks(x *Session) []waitingTask {
	var (
		tasks []waitingTask
		locks []storage.LockInfo
	)
	for _, r := range sessionRows(x) {
		if r.wait.kind == "" {
			continue
		}
		t := waitingTask{sessionRow: r}
		if r.wait.lock == nil {
			tasks = append(tasks, t)
			continue
		}
		if locks == nil {
			locks = x.srv.store.Locks()
		}
		t.resource = x.srv.lockResource(r.wait.lock)
		t.held = heldMode(locks, r.wait.lock)
		for _, b := range r.wait.blockers {
			t.blockedBy = b
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// heldMode is the mode in which the resource of a waiting request is held, that
// of the request where it has been released meanwhile.
func heldMode(locks []storage.LockInfo, wanted *storage.LockInfo) string {
	for i := range locks {
		l := &locks[i]
		if l.Status == "GRANT" && l.Session != wanted.Session && sameResource(l, wanted) {
			return l.ModeName
		}
	}
	return wanted.ModeName
}

func waitingTaskView() {
	stateView("dm_os_waiting_tasks", waitingTasks,
		bytesOrNull("waiting_task_address", address, func(t *waitingTask) []byte { return taskAddress(t.ID) }),
		number("session_id", types.TypeSmallInt, func(t *waitingTask) int64 { return int64(t.ID) }),
		fixed[waitingTask]("exec_context_id", types.TypeInt, 0),
		number("wait_duration_ms", types.TypeBigInt, func(t *waitingTask) int64 { return t.waitTime() }),
		word("wait_type", text60, func(t *waitingTask) string { return t.wait.kind }),
		bytesOrNull("resource_address", address, func(t *waitingTask) []byte {
			if t.wait.lock == nil {
				return nil
			}
			return lockAddress(t.wait.lock)
		}),
		bytesOrNull("blocking_task_address", address, func(t *waitingTask) []byte {
			if t.blockedBy == 0 {
				return nil
			}
			return taskAddress(t.blockedBy)
		}),
		computed("blocking_session_id", types.TypeSmallInt, func(t *waitingTask) types.Value { return idOrNull(types.TypeSmallInt, t.blockedBy) }),
		computed("blocking_exec_context_id", types.TypeInt, func(t *waitingTask) types.Value {
			if t.blockedBy == 0 {
				return types.Null
			}
			return types.NewInt(0)
		}),
		wordOrNull("resource_description", types.NVarChar(3072), func(t *waitingTask) string {
			if t.wait.lock == nil {
				return ""
			}
			return t.resource.taskResource(t.wait.lock, t.held)
		}),
	)
}

// idOrNull is an id that is NULL where it is 0.
func idOrNull(t types.Type, id int32) types.Value {
	if id == 0 {
		return types.Null
	}
	return wholeOf(t, int64(id))
}

package session

import (
	"cmp"
	"slices"
	"time"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// waitRow is how often and how long sessions have waited for one kind of thing.
type waitRow struct {
	session int32
	storage.WaitStat
}

// waitType is the wait type of a counted wait.
func (r *waitRow) waitType() string {
	if r.Lock {
		return lockWaitType(r.Name)
	}
	return r.Name
}

// waitRows are the counts of a session, or of all.
func waitRows(session int32, stats []storage.WaitStat) []waitRow {
	rows := make([]waitRow, len(stats))
	for i, s := range stats {
		rows[i] = waitRow{session, s}
	}
	return rows
}

// sessionWaits are the counts of the sessions that the viewer may see.
func sessionWaits(x *Session) []waitRow {
	if !x.viewsState() {
		return waitRows(x.id, x.owner.Waits())
	}
	x.srv.mu.Lock()
	owners := make([]*storage.Owner, 0, len(x.srv.sessions))
	for _, s := range x.srv.sessions {
		owners = append(owners, s.owner)
	}
	x.srv.mu.Unlock()
	slices.SortFunc(owners, func(a, b *storage.Owner) int { return cmp.Compare(a.Session(), b.Session()) })
	var rows []waitRow
	for _, o := range owners {
		rows = append(rows, waitRows(o.Session(), o.Waits())...)
	}
	return rows
}

// waitCountFields are the columns that both views of counted waits have.
func waitCountFields() []field[waitRow] {
	return []field[waitRow]{
		word("wait_type", text60, (*waitRow).waitType),
		number("waiting_tasks_count", types.TypeBigInt, func(r *waitRow) int64 { return r.Count }),
		number("wait_time_ms", types.TypeBigInt, func(r *waitRow) int64 { return int64(r.Total / time.Millisecond) }),
		number("max_wait_time_ms", types.TypeBigInt, func(r *waitRow) int64 { return int64(r.Longest / time.Millisecond) }),
		fixed[waitRow]("signal_wait_time_ms", types.TypeBigInt, 0),
	}
}

func init() {
	stateView("dm_os_wait_stats", func(x *Session) []waitRow { return waitRows(0, x.srv.store.Waits()) }, waitCountFields()...)
	ownView("dm_exec_session_wait_stats", sessionWaits, append([]field[waitRow]{
		number("session_id", types.TypeSmallInt, func(r *waitRow) int64 { return int64(r.session) }),
	}, waitCountFields()...)...)
}

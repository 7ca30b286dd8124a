package session

import (
	"slices"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// lockWait is a session that waits for another's lock.
type lockWait struct {
	session, blocker int32
	mode, resource   string
}

// lockWaits are the sessions that wait for locks.
func (s *Server) lockWaits() []lockWait {
	var waits []lockWait
	for _, l := range s.store.Locks() {
		if l.Status == "GRANT" {
			continue
		}
		w := lockWait{session: l.Session, mode: l.ModeName, resource: l.Kind + ": " + l.Description}
		if len(l.BlockedBy) > 0 {
			w.blocker = l.BlockedBy[0]
		}
		waits = append(waits, w)
	}
	return waits
}

// lockViews registers the views of locks and transactions.
func lockViews() {
	word := types.NVarChar(60)
	dynamicView("dm_tran_locks", numbered(
		column("resource_type", word, false), column("resource_database_id", types.TypeInt, false),
		column("resource_description", types.NVarChar(256), false), column("resource_associated_entity_id", types.TypeBigInt, true),
		column("request_mode", word, false), column("request_type", word, false), column("request_status", word, false),
		column("request_session_id", types.TypeInt, false), column("request_owner_type", word, false),
		column("request_owner_id", types.TypeBigInt, true),
	), func(x *Session) []types.Row {
		var rows []types.Row
		for _, l := range x.visibleLocks() {
			owner := "TRANSACTION"
			if l.Tx == 0 {
				owner = "SESSION"
			}
			rows = append(rows, types.Row{
				types.NewNVarChar(l.Kind), types.NewInt(int64(l.Space)), types.NewNVarChar(l.Description),
				types.NewBigInt(int64(uint32(l.Object))), types.NewNVarChar(l.ModeName), types.NewNVarChar("LOCK"),
				types.NewNVarChar(l.Status), types.NewInt(int64(l.Session)), types.NewNVarChar(owner), types.NewBigInt(int64(l.Tx)),
			})
		}
		return rows
	})
	dynamicView("dm_os_waiting_tasks", numbered(
		column("session_id", types.TypeSmallInt, true), column("wait_type", word, true),
		column("blocking_session_id", types.TypeSmallInt, true), column("resource_description", types.NVarChar(3072), true),
	), func(x *Session) []types.Row {
		var rows []types.Row
		for _, w := range x.srv.lockWaits() {
			rows = append(rows, types.Row{
				types.NewSmallInt(int64(w.session)), types.NewNVarChar("LCK_M_" + w.mode),
				types.NewSmallInt(int64(w.blocker)), types.NewNVarChar(w.resource),
			})
		}
		return rows
	})
	dynamicView("dm_tran_active_transactions", numbered(
		column("transaction_id", types.TypeBigInt, false), column("name", types.NVarChar(32), false),
		column("transaction_begin_time", types.TypeDateTime, false), column("transaction_type", types.TypeInt, false),
		column("transaction_state", types.TypeInt, false),
	), func(x *Session) []types.Row {
		var rows []types.Row
		for _, t := range x.srv.store.Transactions() {
			rows = append(rows, types.Row{
				types.NewBigInt(int64(t.ID)), types.NewNVarChar("user_transaction"), instant(t.Begun), types.NewInt(1), types.NewInt(2),
			})
		}
		return rows
	})
	dynamicView("dm_tran_session_transactions", numbered(
		column("session_id", types.TypeInt, false), column("transaction_id", types.TypeBigInt, false),
		column("is_user_transaction", types.TypeBit, false), column("open_transaction_count", types.TypeInt, false),
	), func(x *Session) []types.Row {
		var rows []types.Row
		for _, i := range visibleSessions(x) {
			if i.Transactions > 0 {
				rows = append(rows, types.Row{
					types.NewInt(int64(i.ID)), types.NewBigInt(int64(i.TransactionID)), types.NewBit(true), types.NewInt(int64(i.Transactions)),
				})
			}
		}
		return rows
	})
}

// visibleLocks are the locks that the session may see.
func (x *Session) visibleLocks() []storage.LockInfo {
	all := x.srv.store.Locks()
	if x.ident.login.Sysadmin() {
		return all
	}
	return slices.DeleteFunc(all, func(l storage.LockInfo) bool { return l.Session != x.id })
}

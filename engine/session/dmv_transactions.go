package session

import (
	"encoding/binary"
	"slices"
	"time"

	"loopbroker/engine/catalog"
	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// tranRow is an open transaction with the session that it belongs to.
type tranRow struct {
	storage.TxInfo
	session Info
	now     time.Time
	// views is set while a statement of the transaction reads by versions.
	views bool
	// first is the oldest transaction that was open when the snapshot was taken,
	// 0 for a transaction without one.
	first uint64
}

// tranRows are the open transactions of sessions, oldest first.
func tranRows(x *Session) []tranRow {
	sessions := map[uint64]Info{}
	for _, i := range visibleSessions(x) {
		if i.TransactionID != 0 {
			sessions[i.TransactionID] = i
		}
	}
	viewing := map[uint64]bool{}
	for _, v := range x.srv.store.Views() {
		viewing[v.Tx] = true
	}
	var (
		rows   []tranRow
		oldest uint64
	)
	for _, t := range x.srv.store.Transactions() {
		i, ok := sessions[t.ID]
		if !ok {
			continue // of a table variable, or begun this moment
		}
		if oldest == 0 {
			oldest = t.ID
		}
		r := tranRow{TxInfo: t, session: i, now: x.srv.now(), views: viewing[t.ID]}
		if i.tran.snapshot {
			r.first = oldest
		}
		rows = append(rows, r)
	}
	return rows
}

// name is the transaction's name: a given one, or what SQL Server calls one
// that has none.
func (r *tranRow) name() string {
	t := &r.session.tran
	switch {
	case t.name != "":
		return t.name
	case t.implicit:
		return "implicit_transaction"
	case r.session.Transactions == 0:
		return r.session.command()
	}
	return "user_transaction"
}

// versioned reports whether the transaction makes or reads row versions.
func (r *tranRow) versioned(s *catalog.Server) bool {
	if r.session.tran.snapshot || r.views {
		return true
	}
	db, ok := s.DatabaseByID(r.session.DatabaseID)
	return ok && r.Changes > 0 && (db.AllowSnapshot.Load() || db.ReadCommittedSnapshot.Load())
}

func init() {
	id := number("transaction_id", types.TypeBigInt, func(r *tranRow) int64 { return int64(r.ID) })
	stateView("dm_tran_active_transactions", tranRows,
		id,
		word("name", text32, (*tranRow).name),
		moment("transaction_begin_time", func(r *tranRow) time.Time { return r.Begun }),
		fixed[tranRow]("transaction_type", types.TypeInt, 1),
		unset[tranRow]("transaction_uow", types.TypeUniqueIdentifier),
		fixed[tranRow]("transaction_state", types.TypeInt, 2),
		fixed[tranRow]("transaction_status", types.TypeInt, 0),
		fixed[tranRow]("transaction_status2", types.TypeInt, 258),
		fixed[tranRow]("dtc_state", types.TypeInt, 0),
		fixed[tranRow]("dtc_status", types.TypeInt, 0),
		fixed[tranRow]("dtc_isolation_level", types.TypeInt, -1),
		unset[tranRow]("filestream_transaction_id", types.VarBinary(128)),
	)
	stateView("dm_tran_session_transactions", userTransactions,
		number("session_id", types.TypeInt, func(r *tranRow) int64 { return int64(r.Session) }),
		id,
		computed("transaction_descriptor", types.Binary(8), func(r *tranRow) types.Value {
			return types.NewBinary(types.KindBinary, string(binary.LittleEndian.AppendUint64(nil, r.ID)))
		}),
		number("enlist_count", types.TypeInt, func(r *tranRow) int64 {
			if r.session.Running {
				return 1
			}
			return 0
		}),
		truth("is_user_transaction", func(*tranRow) bool { return true }),
		truth("is_local", func(*tranRow) bool { return true }),
		truth("is_enlisted", func(*tranRow) bool { return false }),
		truth("is_bound", func(*tranRow) bool { return false }),
		number("open_transaction_count", types.TypeInt, func(r *tranRow) int64 { return int64(r.session.Transactions) }),
	)
	databaseTransactionView()
	currentTransactionViews()
	stateView("dm_tran_active_snapshot_database_transactions", func(x *Session) []tranRow {
		return slices.DeleteFunc(tranRows(x), func(r tranRow) bool { return !r.versioned(x.srv.cat) })
	},
		id,
		number("transaction_sequence_num", types.TypeBigInt, func(r *tranRow) int64 { return int64(r.ID) }),
		unset[tranRow]("commit_sequence_num", types.TypeBigInt),
		number("is_snapshot", types.TypeInt, func(r *tranRow) int64 {
			if r.session.tran.snapshot {
				return 1
			}
			return 0
		}),
		number("session_id", types.TypeInt, func(r *tranRow) int64 { return int64(r.Session) }),
		number("first_snapshot_sequence_num", types.TypeBigInt, func(r *tranRow) int64 { return int64(r.first) }),
		fixed[tranRow]("max_version_chain_traversed", types.TypeInt, 0),
		fixed[tranRow]("average_version_chain_traversed", types.TypeReal, 0),
		number("elapsed_time_seconds", types.TypeBigInt, func(r *tranRow) int64 { return int64(r.now.Sub(r.Begun) / time.Second) }),
	)
}

// userTransactions are the transactions that outlive their statement.
func userTransactions(x *Session) []tranRow {
	return slices.DeleteFunc(tranRows(x), func(r tranRow) bool { return r.session.Transactions == 0 })
}

// databaseTran is the part of a transaction in one database.
type databaseTran struct {
	tranRow
	database uint32
}

// databaseTrans are the transactions with the databases in which they hold
// locks, or else in which their session is.
func databaseTrans(x *Session) []databaseTran {
	spaces := map[uint64][]uint32{}
	for _, l := range x.srv.store.Locks() {
		if l.Tx != 0 && !slices.Contains(spaces[l.Tx], l.Space) {
			spaces[l.Tx] = append(spaces[l.Tx], l.Space)
		}
	}
	var rows []databaseTran
	for _, r := range tranRows(x) {
		in := spaces[r.ID]
		if len(in) == 0 {
			in = []uint32{r.session.DatabaseID}
		}
		slices.Sort(in)
		for _, db := range in {
			rows = append(rows, databaseTran{r, db})
		}
	}
	return rows
}

// state is 4 for a transaction with changes to log, else 3.
func (r *databaseTran) state() int64 {
	if r.Changes > 0 {
		return 4
	}
	return 3
}

func databaseTransactionView() {
	lsn := types.Decimal(25, 0)
	stateView("dm_tran_database_transactions", databaseTrans,
		number("transaction_id", types.TypeBigInt, func(r *databaseTran) int64 { return int64(r.ID) }),
		number("database_id", types.TypeInt, func(r *databaseTran) int64 { return int64(r.database) }),
		moment("database_transaction_begin_time", func(r *databaseTran) time.Time {
			if r.Changes == 0 {
				return time.Time{} // nothing is logged yet
			}
			return r.Begun
		}),
		fixed[databaseTran]("database_transaction_type", types.TypeInt, 1),
		number("database_transaction_state", types.TypeInt, (*databaseTran).state),
		fixed[databaseTran]("database_transaction_status", types.TypeInt, 0),
		fixed[databaseTran]("database_transaction_status2", types.TypeInt, 258),
		number("database_transaction_log_record_count", types.TypeBigInt, func(r *databaseTran) int64 { return r.Changes }),
		fixed[databaseTran]("database_transaction_replicate_record_count", types.TypeInt, 0),
		fixed[databaseTran]("database_transaction_log_bytes_used", types.TypeBigInt, 0), // written at the commit
		fixed[databaseTran]("database_transaction_log_bytes_reserved", types.TypeBigInt, 0),
		fixed[databaseTran]("database_transaction_log_bytes_used_system", types.TypeInt, 0),
		fixed[databaseTran]("database_transaction_log_bytes_reserved_system", types.TypeInt, 0),
		unset[databaseTran]("database_transaction_begin_lsn", lsn),
		unset[databaseTran]("database_transaction_last_lsn", lsn),
		unset[databaseTran]("database_transaction_most_recent_savepoint_lsn", lsn),
		unset[databaseTran]("database_transaction_commit_lsn", lsn),
		unset[databaseTran]("database_transaction_last_rollback_lsn", lsn),
		unset[databaseTran]("database_transaction_next_undo_lsn", lsn),
	)
}

// currentTran is the transaction in which the viewing statement runs.
type currentTran struct {
	id           uint64
	snapshot     bool
	versioned    bool
	first        uint64
	last, useful uint64
}

// currentTrans has one row: the session's transaction, or that of the statement.
func currentTrans(x *Session) []currentTran {
	x.txn.ensure(x)
	c := currentTran{id: x.txn.tx.ID()}
	c.last, c.useful = c.id, 0
	for _, r := range tranRows(x) {
		c.last = max(c.last, r.ID)
		if !r.versioned(x.srv.cat) {
			continue
		}
		if r.ID == c.id {
			c.snapshot, c.versioned, c.first = r.session.tran.snapshot, true, r.first
		}
		if oldest := max(r.first, 1); c.useful == 0 || r.first != 0 && oldest < c.useful {
			c.useful = r.ID
			if r.first != 0 {
				c.useful = r.first
			}
		}
	}
	if c.useful == 0 {
		c.useful = c.last
	}
	return []currentTran{c}
}

// olderTran is a transaction that was open when the session's snapshot was taken.
type olderTran struct{ id uint64 }

// olderTrans are those of them that still are; none without a snapshot.
func olderTrans(x *Session) []olderTran {
	var older []olderTran
	for _, r := range tranRows(x) {
		if x.txn.tx != nil && r.ID == x.txn.tx.ID() {
			if r.session.tran.snapshot {
				return older
			}
			return nil
		}
		older = append(older, olderTran{r.ID})
	}
	return nil
}

func currentTransactionViews() {
	stateView("dm_tran_current_transaction", currentTrans,
		number("transaction_id", types.TypeBigInt, func(c *currentTran) int64 { return int64(c.id) }),
		number("transaction_sequence_num", types.TypeBigInt, func(c *currentTran) int64 {
			if !c.versioned {
				return 0
			}
			return int64(c.id)
		}),
		truth("transaction_is_snapshot", func(c *currentTran) bool { return c.snapshot }),
		computed("first_snapshot_sequence_num", types.TypeBigInt, func(c *currentTran) types.Value {
			if !c.snapshot {
				return types.Null
			}
			return types.NewBigInt(int64(c.first))
		}),
		number("last_transaction_sequence_num", types.TypeBigInt, func(c *currentTran) int64 { return int64(c.last) }),
		number("first_useful_sequence_num", types.TypeBigInt, func(c *currentTran) int64 { return int64(c.useful) }),
	)
	stateView("dm_tran_current_snapshot", olderTrans,
		number("transaction_sequence_num", types.TypeBigInt, func(o *olderTran) int64 { return int64(o.id) }),
	)
}

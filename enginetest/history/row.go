package history

import "fmt"

// Row is a row of any of the tables: they have the same columns.
type Row struct {
	ID, Grp, Code, Val int64
	Ver                int64 // who wrote this version
	Prev               int64 // the version before, 0 for an insertion
}

const columns = "id, grp, code, val, ver, prev"

// table is one of the tables of a history.
type table string

const (
	account table = "account" // always the same rows; transfers keep the sum of val
	item    table = "item"    // come and go
	job     table = "job"     // grp 0: free, 1: claimed
)

var tables = []table{account, item, job}

// key names a row of the history.
type key struct {
	t  table
	id int64
}

func (k key) String() string { return fmt.Sprintf("%s %d", k.t, k.id) }

// version numbers tell session, transaction and statement; 0 is the setup.
const (
	perSession     = 1_000_000
	perTransaction = 1_000
)

func versionOf(session, txn, step int) int64 {
	return int64(session)*perSession + int64(txn)*perTransaction + int64(step)
}

// versionName makes a version number readable.
func versionName(v int64) string {
	if v < perSession {
		return "the setup"
	}
	return fmt.Sprintf("S%d.T%d.%d", v/perSession, v%perSession/perTransaction, v%perTransaction)
}

func (r Row) String() string {
	return fmt.Sprintf("(%d grp %d code %d val %d by %s)", r.ID, r.Grp, r.Code, r.Val, versionName(r.Ver))
}

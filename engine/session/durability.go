package session

import (
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
)

func init() {
	registerProcedures(&sysProc{
		name: "sp_flush_log",
		run: func(x *Session, _ *sysCall) (int32, error) {
			if err := x.srv.store.Flush(x.ctx); err != nil {
				return 1, err
			}
			return 0, nil
		},
	})
}

// lazily reports whether a commit need not wait for the disk. What the database
// says comes before what COMMIT says, and a transaction that has changed more
// than one database always waits. Source: "Control transaction durability" in
// Microsoft's documentation.
func (t *transaction) lazily(x *Session) bool {
	if t.hard {
		return false
	}
	db := x.db
	changed := uint32(0)
	for _, id := range t.tx.Spaces() {
		switch {
		case id == 0: // the catalog's part of a definition
		case changed != 0:
			return false
		default:
			changed = id
		}
	}
	if changed != 0 && changed != db.ID {
		other, ok := x.srv.cat.DatabaseByID(changed)
		if !ok {
			return false
		}
		db = other
	}
	switch db.DelayedDurability() {
	case "FORCED":
		return true
	case "ALLOWED":
		return t.delayed
	}
	return false
}

// setDelayedDurability is ALTER DATABASE … SET DELAYED_DURABILITY. The change
// itself is durable when it returns, and so is what was committed before.
func (x *Session) setDelayedDurability(o *catalog.DatabaseOptions, value string) error {
	switch mode := strings.ToUpper(value); mode {
	case "DISABLED", "ALLOWED", "FORCED":
		o.DelayedDurability = mode
		x.txn.hard = true
		return nil
	}
	return sqlerr.New(102, value)
}

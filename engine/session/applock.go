package session

import (
	"context"
	"errors"
	"strconv"
	"time"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// The return codes of sp_getapplock.
const (
	applockGranted   = 0
	applockWaited    = 1
	applockTimeout   = -1
	applockCancelled = -2
	applockDeadlock  = -3
	applockInvalid   = -999
)

// applockModes are the lock modes of sp_getapplock.
var applockModes = map[string]storage.LockMode{
	"intentshared": storage.IS, "shared": storage.S, "update": storage.U,
	"intentexclusive": storage.IX, "exclusive": storage.X,
}

// applockNames are the names of APPLOCK_MODE.
var applockNames = map[string]storage.LockMode{
	"Shared": applockModes["shared"], "Update": applockModes["update"], "Exclusive": applockModes["exclusive"],
	"IntentShared": applockModes["intentshared"], "IntentExclusive": applockModes["intentexclusive"],
}

func init() {
	registerProcedures(
		&sysProc{
			name: "sp_getapplock",
			params: []sysParam{
				required("@resource", shortText), required("@lockmode", types.NVarChar(32)),
				defaulted("@lockowner", types.NVarChar(32), types.NewNVarChar("Transaction")),
				optional("@locktimeout", types.TypeInt),
				defaulted("@dbprincipal", sysname, types.NewNVarChar("public")),
			},
			run: getAppLock,
		},
		&sysProc{
			name: "sp_releaseapplock",
			params: []sysParam{
				required("@resource", shortText),
				defaulted("@lockowner", types.NVarChar(32), types.NewNVarChar("Transaction")),
				defaulted("@dbprincipal", sysname, types.NewNVarChar("public")),
			},
			run: releaseAppLock,
		},
	)
}

// applockResource names the resource of an application lock: it belongs to the
// database and to the principal that guards it.
func (x *Session) applockResource(principal, name string) (storage.Resource, bool) {
	p, ok := x.db.Principal(principal)
	if !ok {
		return storage.Resource{}, false
	}
	if p.ID != catalog.PublicID && x.ident.user.ID != catalog.DBOID && x.ident.user.ID != p.ID && !x.db.IsMember(x.ident.user.ID, p.Name) {
		return storage.Resource{}, false
	}
	return storage.ApplicationResource(x.db.ID, strconv.Itoa(int(p.ID))+applicationSeparator+name), true
}

// applicationSeparator stands between the principal and the name of an
// application lock.
const applicationSeparator = "\x00"

func getAppLock(x *Session, c *sysCall) (int32, error) {
	mode, ok := applockModes[catalog.Fold(c.text(1))]
	res, known := x.applockResource(c.text(4), c.text(0))
	if !ok || !known || c.values[0].IsNull() {
		return applockInvalid, nil
	}
	timeout := x.opts.lockTimeout
	if c.given[3] && !c.values[3].IsNull() {
		if n := c.values[3].Int(); n >= 0 {
			timeout = time.Duration(n) * time.Millisecond
		} else {
			timeout = -1
		}
	}
	var lock func(ctx context.Context, r storage.Resource, m storage.LockMode, timeout time.Duration) error
	switch catalog.Fold(c.text(2)) {
	case "transaction":
		if x.txn.count == 0 {
			return applockInvalid, nil
		}
		lock = x.txn.tx.Lock
	case "session":
		lock = x.owner.Lock
	default:
		return applockInvalid, nil
	}
	x.info.refresh(x) // it may wait
	granted := int32(applockGranted)
	err := lock(x.ctx, res, mode, 0)
	if errors.Is(err, storage.ErrLockTimeout) && timeout != 0 {
		granted = applockWaited
		err = lock(x.ctx, res, mode, timeout)
	}
	switch {
	case err == nil:
		return granted, nil
	case errors.Is(err, storage.ErrLockTimeout):
		return applockTimeout, nil
	case errors.Is(err, storage.ErrDeadlock):
		return applockDeadlock, nil
	case errors.Is(err, context.Canceled):
		return applockCancelled, err
	}
	return applockInvalid, err
}

func releaseAppLock(x *Session, c *sysCall) (int32, error) {
	res, known := x.applockResource(c.text(2), c.text(0))
	if !known {
		return applockInvalid, nil
	}
	released := false
	switch catalog.Fold(c.text(1)) {
	case "transaction":
		released = x.txn.count > 0 && x.txn.tx.Unlock(res)
	case "session":
		released = x.owner.Unlock(res)
	}
	if !released {
		return applockInvalid, sqlerr.New(1223, c.text(0))
	}
	return 0, nil
}

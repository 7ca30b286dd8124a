package session

import (
	"strconv"
	"strings"
	"time"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
)

// usePoll is the time between two looks at who uses a database.
const usePoll = 5 * time.Millisecond

// users are the other sessions in a database. Idle sessions of the loopback do
// not count: nobody uses them.
func (x *Session) users(db *catalog.Database) []int32 {
	var ids []int32
	for _, i := range x.srv.Sessions() {
		if i.DatabaseID == db.ID && i.ID != x.id && (!i.Loopback || i.Running) {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

// useAlone returns when no other session is in the database, as the change of
// some options asks for. What happens to the others is said by the termination
// of ALTER DATABASE: NO_WAIT is error 5070, ROLLBACK ends them, now or after
// some seconds; without one the statement waits, as long as LOCK_TIMEOUT allows
// (error 5061). Source: "ALTER DATABASE SET options" in Microsoft's
// documentation.
func (x *Session) useAlone(db *catalog.Database, termination string) error {
	if len(x.users(db)) == 0 {
		return nil
	}
	switch after, rollback := strings.CutPrefix(termination, "ROLLBACK AFTER "); {
	case termination == "NO_WAIT":
		return x.after(sqlerr.New(5070, db.Name), sqlerr.New(5069))
	case rollback:
		seconds, err := strconv.ParseUint(after, 10, 31)
		if err != nil {
			return sqlerr.New(102, after)
		}
		if left, err := x.waitForUsers(db, time.Duration(seconds)*time.Second); err != nil || !left {
			return err
		}
	case termination == "":
		left, err := x.waitForUsers(db, x.opts.lockTimeout)
		if err == nil && left {
			return x.after(sqlerr.New(5061, db.Name), sqlerr.New(5069))
		}
		return err
	}
	for _, id := range x.users(db) {
		_ = x.srv.kill(id, x.id) // it may have gone by itself
	}
	_, err := x.waitForUsers(db, -1)
	return err
}

// waitForUsers waits until no other session is in the database, for d at most;
// a negative d is no limit. left reports that some are still there.
func (x *Session) waitForUsers(db *catalog.Database, d time.Duration) (left bool, err error) {
	x.info.wait(x, "LCK_M_X")
	defer x.info.wait(x, "")
	var limit <-chan time.Time
	if d >= 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		limit = t.C
	}
	poll := time.NewTicker(usePoll)
	defer poll.Stop()
	for len(x.users(db)) > 0 {
		select {
		case <-poll.C:
		case <-limit:
			return true, nil
		case <-x.ctx.Done():
			return true, x.interrupted()
		}
	}
	return false, nil
}

// useFor makes the session the only one in the database if an option of ALTER
// DATABASE that asks for that changes; setting what is set already does not.
func (x *Session) useFor(db *catalog.Database, s *syntax.AlterDatabase) error {
	for _, o := range s.Options {
		if o.Name == "READ_COMMITTED_SNAPSHOT" && (o.Value == "ON") != db.ReadCommittedSnapshot.Load() {
			return x.useAlone(db, s.Termination)
		}
	}
	return nil
}

package storage

import "time"

// Forever is the time-out of a lock request that waits as long as it must.
const Forever time.Duration = -1

// Isolation is a transaction isolation level. Locks and views are chosen by the
// executor, statement by statement (Access); the transaction itself needs the
// level only to find update conflicts.
type Isolation uint8

// The isolation levels.
const (
	ReadCommitted Isolation = iota
	ReadUncommitted
	RepeatableRead
	Serializable
	Snapshot
)

// Access says how a scan locks what it reads. What to ask for:
//
//	READ UNCOMMITTED, NOLOCK        Mode None
//	READ COMMITTED by locks         Mode S
//	READ COMMITTED by versions      View: the statement's
//	REPEATABLE READ                 Mode S, Hold
//	SERIALIZABLE, HOLDLOCK          Mode S, Hold, Range
//	SNAPSHOT                        View: the transaction's
//	UPDLOCK                         Mode U, Hold
//	XLOCK                           Mode X, Hold
//	search of UPDATE and DELETE     Mode U, Hold; Cursor.Release for the rows that do not
//	                                qualify. Without Hold if each row is changed while
//	                                the cursor stands on it
//	TABLOCK, TABLOCKX               Table S (X for a change); Table X
type Access struct {
	// Mode is the lock taken on each row before it is returned: None, S, U, X.
	Mode LockMode
	// Hold keeps the row locks, and the intent lock on the table, until the
	// transaction ends.
	Hold bool
	// Range locks the scanned range against insertions too, to the end of the
	// transaction. It implies Hold.
	Range bool
	// ReadPast skips rows whose lock is not free at once.
	ReadPast bool
	// NoWait fails with ErrLockTimeout where the scan would have to wait.
	NoWait bool
	// Timeout is LOCK_TIMEOUT: Forever (any negative), or 0 for no wait.
	Timeout time.Duration
	// View makes it a versioned read: the view plus the transaction's own
	// changes, without row locks. With Mode U or X the row is locked as well,
	// and ErrSnapshotConflict is the answer if it changed since.
	View *View
	// Table is the lock on the table. None stands for the usual one: Sch-S for
	// None, IS for S, IX for U and X. A Table of X is always kept.
	Table LockMode
	// Reference is the place in its statement from which the table is read. Row
	// locks are counted by reference, see Statement.
	Reference int
}

func (a *Access) normalise() {
	if a.Range {
		a.Hold = true
	}
	if a.NoWait {
		a.Timeout = 0
	}
	if a.Mode == None {
		a.Hold, a.Range = false, false
	}
	if a.Table == None {
		switch a.Mode {
		case None:
			a.Table = SchS
		case S:
			a.Table = IS
		default:
			a.Table = IX
		}
	}
}

// upTo returns the layers of an index that a scan of tx reads.
func (a *Access) upTo(tx *Tx) layer {
	switch {
	case a.View != nil:
		return forViews
	case a.Range || (a.Mode != None && !a.ReadPast):
		return forLocking
	case (a.Mode == U || a.Mode == X) && !tx.hasRows():
		return forClaims
	}
	return forNewest
}

// rowWait is how long a row lock may take.
func (a *Access) rowWait() time.Duration {
	if a.ReadPast {
		return 0
	}
	return a.Timeout
}

// Bound is one end of a range: an encoded key or the beginning of one, which
// stands for all keys that begin with it. An empty Key is no bound.
type Bound struct {
	Key       []byte
	Inclusive bool
}

// Range is a range of an index, read upwards or, with Desc, downwards.
type Range struct {
	Lo, Hi Bound
	Desc   bool
}

// Prefix returns the range of the keys that begin with key.
func Prefix(key []byte) Range {
	return Range{Lo: Bound{Key: key, Inclusive: true}, Hi: Bound{Key: key, Inclusive: true}}
}

// span is a Range made ready: entries from lo up to, not including, hi.
type span struct {
	lo, hi string
	toEnd  bool // hi is no bound
	empty  bool // nothing can be in it
	point  string
	desc   bool
}

func newSpan(r Range) span {
	s := span{desc: r.Desc, toEnd: true}
	if len(r.Lo.Key) > 0 {
		s.lo = string(r.Lo.Key)
		if !r.Lo.Inclusive {
			next, ok := afterPrefix(s.lo)
			s.lo, s.empty = next, !ok
		}
	}
	if len(r.Hi.Key) > 0 {
		s.hi, s.toEnd = string(r.Hi.Key), false
		if r.Hi.Inclusive {
			next, ok := afterPrefix(s.hi)
			s.hi, s.toEnd = next, !ok
		}
	}
	if r.Lo.Inclusive && r.Hi.Inclusive && len(r.Lo.Key) > 0 && string(r.Lo.Key) == string(r.Hi.Key) {
		s.point = s.lo
	}
	if !s.toEnd && s.lo >= s.hi {
		s.empty = true
	}
	return s
}

// above reports whether key lies after the span.
func (s *span) above(key string) bool { return !s.toEnd && key >= s.hi }

// afterPrefix returns the smallest string greater than all that begin with p.
func afterPrefix(p string) (string, bool) {
	n := len(p)
	for n > 0 && p[n-1] == 0xff {
		n--
	}
	if n == 0 {
		return "", false
	}
	b := []byte(p[:n])
	b[n-1]++
	return string(b), true
}

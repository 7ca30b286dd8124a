package catalog

import (
	"encoding/json"
	"sync"
	"sync/atomic"

	"loopbroker/engine/types"
)

// classRowVersion is the class of the one row that says how far the rowversion
// numbers have come.
const classRowVersion = "rowversion"

// rowVersionsAhead is how many numbers are promised to the log at once. After a
// start the rest of a promise is skipped: a number is never given twice.
const rowVersionsAhead = 10000

// rowVersions is the source of rowversion values.
type rowVersions struct {
	last     atomic.Uint64
	reserved atomic.Uint64 // the log knows that numbers up to this may be in use

	mu sync.Mutex // held to reserve
}

// rowVersionState is the stored form.
type rowVersionState struct{ Last uint64 }

// NextRowVersion returns a new rowversion number.
func (s *Server) NextRowVersion() uint64 {
	n := s.counters.last.Add(1)
	if n > s.counters.reserved.Load() {
		s.reserveRowVersions(n)
	}
	return n
}

// LastRowVersion returns the newest rowversion number, as @@DBTS shows it.
func (s *Server) LastRowVersion() uint64 { return s.counters.last.Load() }

// reserveRowVersions tells the log that numbers from n on are in use. Where that
// fails so does, for the same reason, the commit of what the number is for; the
// next number tries again.
func (s *Server) reserveRowVersions(n uint64) {
	s.counters.mu.Lock()
	defer s.counters.mu.Unlock()
	if n <= s.counters.reserved.Load() {
		return
	}
	upTo := n + rowVersionsAhead
	if s.storeNow(0, classRowVersion, 0, rowVersionState{upTo}) == nil {
		s.counters.reserved.Store(upTo)
	}
}

// loadRowVersion continues after the numbers that the log knows.
func (s *Server) loadRowVersion(row types.Row) error {
	var st rowVersionState
	if err := json.Unmarshal([]byte(row[sysDefinition].Text()), &st); err != nil {
		return err
	}
	s.counters.last.Store(max(s.counters.last.Load(), st.Last))
	s.counters.reserved.Store(st.Last)
	return nil
}

// saveRowVersion stores the newest number, where more has been promised.
func (c *Change) saveRowVersion() error {
	last := c.s.counters.last.Load()
	if c.s.counters.reserved.Load() <= last {
		return nil
	}
	return c.store(0, classRowVersion, 0, rowVersionState{last})
}

// raiseRowVersion makes the numbers go on after n.
func (c *Change) raiseRowVersion(n uint64) error {
	if n <= c.s.counters.last.Load() {
		return nil
	}
	c.s.counters.last.Store(n)
	return c.store(0, classRowVersion, 0, rowVersionState{n})
}

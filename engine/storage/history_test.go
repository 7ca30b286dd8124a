package storage_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

var (
	historySeed    = flag.Uint64("history.seed", 0, "seed of the random histories; 0 chooses one")
	historySeconds = flag.Float64("history.seconds", 1, "how long random histories run")
)

// level is how one transaction of a history reads.
type level int

const (
	dirty level = iota // READ UNCOMMITTED
	committed
	committedVersions // READ COMMITTED by statement views
	repeatableRead
	serializableRead
	snapshotRead
	levels
)

// event is one thing that a transaction saw or did. Values are unique: a value
// tells who wrote it.
type event struct {
	kind   eventKind
	lo, hi int64           // keys
	saw    map[int64]int64 // key to value
	wrote  int64           // 0: deleted
	fresh  bool            // an insertion: it meets the present, not the view
	view   uint64          // commit number of the statement's view
}

type eventKind int

const (
	evRead eventKind = iota
	evWrite
	evDuplicate // an insertion was refused: the key was there
)

// transaction is what one committed transaction saw and did, in order, without
// what it took back itself.
type transaction struct {
	level  level
	csn    uint64 // 0: it changed nothing
	view   uint64 // SNAPSHOT: its view
	events []event
}

const historyKeys = 24

// TestHistories runs sessions of random transactions at all levels against one
// table, then checks against a plain map that every transaction saw what its
// level promises.
func TestHistories(t *testing.T) {
	t.Parallel()
	seed := *historySeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	end := time.Now().Add(time.Duration(*historySeconds * float64(time.Second)))
	n := 0
	for ; (n == 0 || time.Now().Before(end)) && !t.Failed(); n++ {
		runHistory(t, seed+uint64(n))
	}
	t.Logf("histories %d, first seed %d", n, seed)
}

func runHistory(t *testing.T, seed uint64) {
	t.Helper()
	const sessions, transactions = 8, 40
	f := newFixture(t, accounts())
	var values atomic.Int64
	all := make([][]transaction, sessions)
	var wg sync.WaitGroup
	for n := range sessions {
		wg.Go(func() {
			p := &player{
				f: f, o: f.s.NewOwner(int32(n + 1)), values: &values,
				rnd: rand.New(rand.NewPCG(seed, uint64(n))),
			}
			defer p.o.Close()
			for range transactions {
				if tx, ok := p.play(); ok {
					all[n] = append(all[n], tx)
				}
			}
		})
	}
	wg.Wait()
	w := f.session(99)
	final := make(map[int64]int64)
	for index := range 2 {
		clear(final)
		c := w.tx.Scan(t.Context(), f.tab, index, everything, readLocked)
		for c.Next() {
			final[c.Row()[0].Int()] = c.Row()[1].Int()
		}
		c.Close()
		if c.Err() != nil {
			t.Error(c.Err())
		}
		for _, fault := range checkHistory(slices.Concat(all...), final) {
			t.Errorf("seed %d, index %d: %s", seed, index, fault)
		}
	}
	w.rollback()
	f.wantNoLocks()
}

// player runs the transactions of one session.
type player struct {
	f      *fixture
	o      *storage.Owner
	rnd    *rand.Rand
	values *atomic.Int64

	tx     *storage.Tx
	record transaction
	err    error
}

// play runs one transaction. ok is false if it did not commit.
func (p *player) play() (tx transaction, ok bool) {
	p.tx, p.err = p.f.s.Begin(p.o), nil
	p.record = transaction{level: level(p.rnd.IntN(int(levels)))}
	if p.record.level == serializableRead {
		p.tx.SetIsolation(storage.Serializable)
	}
	if p.record.level == snapshotRead {
		p.tx.SetIsolation(storage.Snapshot)
		p.record.view = p.tx.SnapshotView().Number()
	}
	for range 1 + p.rnd.IntN(6) {
		p.step()
		if p.err == nil {
			continue
		}
		if !errors.Is(p.err, storage.ErrDeadlock) && !errors.Is(p.err, storage.ErrSnapshotConflict) {
			p.f.Errorf("level %d: %v", p.record.level, p.err)
		}
		p.tx.Rollback()
		return tx, false
	}
	if p.rnd.IntN(6) == 0 {
		p.tx.Rollback()
		return tx, false
	}
	p.f.wantNil(p.tx.Commit(p.f.Context()))
	p.record.csn = p.tx.CommitNumber()
	return p.record, true
}

func (p *player) step() {
	key := p.rnd.Int64N(historyKeys)
	switch p.rnd.IntN(8) {
	case 0, 1:
		p.read(key, key+p.rnd.Int64N(6))
	case 2:
		p.read(key, key)
	case 3:
		p.insert(key)
	case 4, 5:
		p.change(key, false)
	case 6:
		p.change(key, true)
	case 7:
		mark, events := p.tx.Savepoint(), len(p.record.events)
		p.change(key, false)
		if p.err == nil {
			p.insert((key + 1) % historyKeys)
		}
		if p.err == nil && p.rnd.IntN(2) == 0 {
			p.tx.RollbackTo(mark)
			p.record.events = p.record.events[:events]
		}
	}
}

func (p *player) access() storage.Access {
	switch p.record.level {
	case dirty:
		return nolock
	case repeatableRead:
		return repeatable
	case serializableRead:
		return serializable
	case snapshotRead:
		return storage.Access{View: p.tx.SnapshotView()}
	}
	return readLocked
}

func (p *player) read(lo, hi int64) {
	e := event{kind: evRead, lo: lo, hi: hi, saw: map[int64]int64{}}
	a := p.access()
	if p.record.level == committedVersions {
		v := p.f.s.StatementView()
		defer v.Close()
		a, e.view = storage.Access{View: v}, v.Number()
	}
	r := between(lo, hi)
	r.Desc = p.rnd.IntN(3) == 0
	c := p.tx.Scan(p.f.Context(), p.f.tab, 0, r, a)
	defer c.Close()
	for c.Next() {
		key := c.Row()[0].Int()
		if _, twice := e.saw[key]; twice && p.record.level != dirty && p.record.level != committed {
			p.f.Errorf("level %d: key %d twice in a scan", p.record.level, key)
		}
		e.saw[key] = c.Row()[1].Int()
	}
	p.err = c.Err()
	p.record.events = append(p.record.events, e)
}

func (p *player) insert(key int64) {
	value := p.values.Add(1)
	_, err := p.tx.Insert(p.f.Context(), p.f.tab, row(key, value, ""), storage.Forever)
	switch {
	case err == nil:
		p.record.events = append(p.record.events, event{kind: evWrite, lo: key, wrote: value, fresh: true})
	case errors.Is(err, storage.ErrDuplicate):
		// What was refused has read the key.
		p.record.events = append(p.record.events, event{kind: evDuplicate, lo: key})
	default:
		p.err = err
	}
}

// change updates or deletes the row with key, as an UPDATE statement does: it
// looks for the row with U, or in the snapshot, then changes it.
func (p *player) change(key int64, remove bool) {
	a := storage.Access{Mode: storage.U, Timeout: storage.Forever}
	switch {
	case p.record.level == snapshotRead:
		a = storage.Access{View: p.tx.SnapshotView()}
	case p.record.level == serializableRead:
		a.Range = true
	case p.rnd.IntN(4) == 0:
		a.ReadPast = true
	}
	c := p.tx.Scan(p.f.Context(), p.f.tab, 0, point(key), a)
	defer c.Close()
	for c.Next() {
		e := event{kind: evRead, lo: key, hi: key, saw: map[int64]int64{key: c.Row()[1].Int()}}
		w := event{kind: evWrite, lo: key}
		if remove {
			p.err = p.tx.Delete(p.f.Context(), p.f.tab, c.ID(), storage.Forever)
		} else {
			w.wrote = p.values.Add(1)
			p.err = p.tx.Update(p.f.Context(), p.f.tab, c.ID(), row(key, w.wrote, ""), storage.Forever)
		}
		if p.err != nil {
			return
		}
		p.record.events = append(p.record.events, e, w)
	}
	p.err = c.Err()
}

// checkHistory replays the committed transactions in the order of their commits
// on a map, and returns what does not fit.
func checkHistory(txs []transaction, final map[int64]int64) (faults []string) {
	var writers []*transaction
	ever := map[int64]bool{} // values ever committed
	for i := range txs {
		if txs[i].csn != 0 {
			writers = append(writers, &txs[i])
		}
		for _, e := range txs[i].events {
			if e.kind == evWrite {
				ever[e.wrote] = true
			}
		}
	}
	slices.SortFunc(writers, func(a, b *transaction) int { return cmp.Compare(a.csn, b.csn) })
	states := []state{{}} // states[i]: after the first i writers
	for _, w := range writers {
		next := maps.Clone(states[len(states)-1])
		next.apply(w.events)
		states = append(states, next)
	}
	at := func(csn uint64) state { // what a view of that number sees
		n, _ := slices.BinarySearchFunc(writers, csn+1, func(w *transaction, c uint64) int { return cmp.Compare(w.csn, c) })
		return states[n]
	}
	for i := range txs {
		if fault := txs[i].check(at, ever); fault != "" {
			faults = append(faults, fmt.Sprintf("level %d, commit %d: %s", txs[i].level, txs[i].csn, fault))
		}
	}
	if last := states[len(states)-1]; !maps.Equal(final, last) {
		faults = append(faults, fmt.Sprintf("at the end the table has %v, the model %v", final, last))
	}
	return faults
}

type state map[int64]int64

func (s state) apply(events []event) {
	for _, e := range events {
		switch {
		case e.kind != evWrite:
		case e.wrote == 0:
			delete(s, e.lo)
		default:
			s[e.lo] = e.wrote
		}
	}
}

func (s state) between(lo, hi int64) map[int64]int64 {
	found := map[int64]int64{}
	for k, v := range s {
		if k >= lo && k <= hi {
			found[k] = v
		}
	}
	return found
}

// check returns what the transaction should not have seen.
func (tx *transaction) check(at func(uint64) state, ever map[int64]bool) string {
	var own []event
	now := func(csn uint64) state {
		s := maps.Clone(at(csn))
		s.apply(own)
		return s
	}
	for i, e := range tx.events {
		fault := ""
		switch {
		case e.kind == evWrite:
			fault = tx.checkWrite(at, e)
			own = append(own, e)
		case e.kind == evDuplicate:
			if _, there := now(tx.csn - 1)[e.lo]; tx.csn != 0 && tx.level == serializableRead && !there {
				fault = "refused as a duplicate, but the key was free"
			}
		case i+1 < len(tx.events) && tx.isSearch(i) && tx.level != snapshotRead:
			if want := now(tx.csn-1).between(e.lo, e.hi); !maps.Equal(e.saw, want) {
				fault = fmt.Sprintf("changed %v, but it was %v: a lost update", e.saw, want)
			}
		default:
			fault = tx.checkRead(now, e, ever)
		}
		if fault != "" {
			return fmt.Sprintf("event %d: %s", i, fault)
		}
	}
	return ""
}

// isSearch reports whether event i is the search of the change that follows: it
// was read with U and then written, so nobody came between.
func (tx *transaction) isSearch(i int) bool {
	e, w := &tx.events[i], &tx.events[i+1]
	if w.kind != evWrite {
		return false
	}
	_, saw := e.saw[w.lo]
	return e.lo == w.lo && e.hi == w.lo && saw && !w.fresh
}

// checkWrite: under SNAPSHOT nobody else has changed the row since the view.
func (tx *transaction) checkWrite(at func(uint64) state, e event) string {
	if tx.level != snapshotRead || e.fresh {
		return ""
	}
	before, seen := at(tx.csn - 1)[e.lo], at(tx.view)[e.lo]
	if before != seen {
		return fmt.Sprintf("key %d was %d in the view and %d at the commit", e.lo, seen, before)
	}
	return ""
}

func (tx *transaction) checkRead(now func(uint64) state, e event, ever map[int64]bool) string {
	switch tx.level {
	case dirty:
		return ""
	case serializableRead:
		if tx.csn == 0 {
			break // its place in the order is not known; what it saw was committed
		}
		if want := now(tx.csn-1).between(e.lo, e.hi); !maps.Equal(e.saw, want) {
			return fmt.Sprintf("saw %v in %d-%d, serial order has %v", e.saw, e.lo, e.hi, want)
		}
	case snapshotRead, committedVersions:
		view := tx.view
		if tx.level == committedVersions {
			view = e.view
		}
		want := now(view).between(e.lo, e.hi)
		if !maps.Equal(e.saw, want) {
			return fmt.Sprintf("saw %v in %d-%d, the view has %v", e.saw, e.lo, e.hi, want)
		}
	case repeatableRead:
		if tx.csn == 0 {
			break
		}
		for k, v := range e.saw {
			if got := now(tx.csn - 1)[k]; got != v {
				return fmt.Sprintf("saw %d of key %d, at the commit it was %d", v, k, got)
			}
		}
	}
	for k, v := range e.saw {
		if !ever[v] {
			return fmt.Sprintf("saw %d of key %d, which was never committed", v, k)
		}
	}
	return ""
}

// TestMovingKeys: rows that change their keys in both indexes under views and
// locks; every reader finds each row exactly once.
func TestMovingKeys(t *testing.T) {
	t.Parallel()
	const rows, readers, scans = 20, 3, 40
	f := newFixture(t, accounts())
	w := f.session(1)
	ids := make([]storage.RowID, rows)
	for i := range ids {
		ids[i] = w.insert(row(int64(i)*1000, int64(i), "r"))
	}
	w.commit()
	var reading atomic.Int32
	reading.Store(readers)
	var wg sync.WaitGroup
	for n := range readers {
		wg.Go(func() {
			defer reading.Add(-1)
			r := f.session(int32(n + 2))
			for i := range scans {
				a := serializable
				if n > 0 {
					v := f.s.StatementView()
					a = storage.Access{View: v}
					defer v.Close() // late, so that old versions pile up
				}
				got, err := r.scan((n+i)%2, everything, a)
				if err == nil && len(got) != rows {
					t.Errorf("reader %d found %d rows: %q", n, len(got), got)
				} else if err != nil && !errors.Is(err, storage.ErrDeadlock) {
					t.Error(err)
				}
				r.rollback()
			}
		})
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for reading.Load() > 0 {
		i := rnd.IntN(rows)
		err := w.tx.Update(t.Context(), f.tab, ids[i], types.Row{
			types.NewInt(int64(i)*1000 + rnd.Int64N(900)), types.NewInt(rnd.Int64N(50)), types.NewNVarChar("r"),
		}, storage.Forever)
		switch {
		case errors.Is(err, storage.ErrDeadlock):
			w.rollback()
		case err != nil:
			t.Error(err)
		case rnd.IntN(3) == 0:
			w.rollback()
		default:
			w.commit()
		}
	}
	wg.Wait()
}

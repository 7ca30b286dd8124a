package claims

import (
	"context"
	"sync"
)

// unborn is where the ids begin of rows whose insertion is rolled back.
const unborn = 1 << 30

// ledger knows who holds which row, and which rows are gone for good. It is told
// of a claim after the engine has answered, and of its end before the engine is
// asked for it: a row that two sessions hold by the ledger, two held in truth.
type ledger struct {
	mu      sync.Mutex
	holder  []int32 // of the row with this id: 0 nobody
	taken   []bool  // its claim was committed
	deleted []bool  // by DELETE
	done    int     // rows that are taken

	twice    int // rows given out that were not free
	unborn   int // rows given out whose insertion was not committed
	returned int // rows given back

	committed, undone int // transactions that held rows

	sessions int           // claimers
	arriving int           // inserters that are not done
	idle     int           // claimers that wait in park
	epoch    int           // see now
	change   chan struct{} // closed at the end of an epoch in which somebody waits
	finished bool
}

func newLedger(rows, sessions, inserters int) *ledger {
	return &ledger{
		holder: make([]int32, rows), taken: make([]bool, rows), deleted: make([]bool, rows),
		sessions: sessions, arriving: inserters, change: make(chan struct{}),
	}
}

// claimed notes that a session was given rows.
func (l *ledger) claimed(session int32, ids []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if id >= unborn {
			l.unborn++
			continue
		}
		if l.holder[id] != 0 || l.taken[id] {
			l.twice++
		}
		l.holder[id] = session
	}
}

// release notes that a session is about to end its hold on rows, and keeps them
// or gives them back.
func (l *ledger) release(rows []held, keep bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range rows {
		if r.id >= unborn {
			continue
		}
		l.holder[r.id] = 0
		if !keep {
			l.returned++
			continue
		}
		if !l.taken[r.id] {
			l.done++
		}
		l.taken[r.id], l.deleted[r.id] = true, r.deleted
	}
}

// ended notes that a transaction has ended: what it gave back is free.
func (l *ledger) ended(committed, gaveBack bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if committed {
		l.committed++
	} else {
		l.undone++
	}
	if gaveBack || !committed {
		l.wake()
	}
}

// arrived notes that rows have arrived, or will not any more.
func (l *ledger) arrived(last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last {
		l.arriving--
	}
	l.wake()
}

// wake begins a new epoch. The caller holds mu.
func (l *ledger) wake() {
	l.epoch++
	if l.idle > 0 {
		close(l.change)
		l.change = make(chan struct{})
		l.idle = 0
	}
}

// now returns the epoch. What a claim does not find that begins now may be there
// in the next one.
func (l *ledger) now() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch
}

// park is for a claimer that found nothing and holds nothing: it waits until its
// epoch has ended. When all others wait too and no rows arrive any more, the
// claimer looks once more, alone; what it does not find then is not there.
func (l *ledger) park(ctx context.Context, epoch int, alone bool) (goOn, nowAlone bool, err error) {
	l.mu.Lock()
	last := l.idle == l.sessions-1 && l.arriving == 0
	switch {
	case l.finished:
		l.mu.Unlock()
		return false, false, nil
	case l.epoch != epoch, last && !alone:
		l.mu.Unlock()
		return true, last, nil
	case last:
		l.finished = true
		l.wake()
		l.mu.Unlock()
		return false, false, nil
	}
	l.idle++
	change := l.change
	l.mu.Unlock()
	select {
	case <-change:
		return true, false, nil
	case <-ctx.Done():
		return false, false, context.Cause(ctx)
	}
}

// progress returns how many rows are claimed for good.
func (l *ledger) progress() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done
}

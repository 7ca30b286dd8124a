package history

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// quick is how long an answer may take before the lock views are asked.
	quick = 300 * time.Microsecond
	// deadlockBound is how long a circle of waits may take to be broken.
	deadlockBound = 5 * time.Second
	// stepBound is how long a statement may neither answer nor wait.
	stepBound = 20 * time.Second
)

// scheduler sends one statement at a time.
type scheduler struct {
	h        *History
	rnd      *rand.Rand
	sessions []*session
	monitor  *sql.Conn
}

// stepped runs the sessions statement by statement, in an order drawn from the
// seed.
func (h *History) stepped(ctx context.Context, sessions []*session, monitor *sql.Conn) error {
	d := &scheduler{h: h, rnd: rand.New(rand.NewPCG(h.Params.Seed, 0)), sessions: sessions, monitor: monitor}
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		for _, s := range sessions {
			if s.running != nil {
				<-s.done
			}
		}
	}()
	finished := make(map[*session]bool)
	for {
		var free, blocked []*session
		for _, s := range sessions {
			switch {
			case s.running != nil:
				blocked = append(blocked, s)
			case !finished[s]:
				free = append(free, s)
			}
		}
		switch {
		case len(free) > 0 && len(blocked) > 0 && d.rnd.IntN(60) == 0:
			s := pick(d.rnd, blocked)
			if !s.running.cancellable() {
				continue
			}
			s.stopping = true
			s.cancel()
		case len(free) > 0:
			s := pick(d.rnd, free)
			st := s.next()
			if st == nil {
				finished[s] = true
				continue
			}
			s.start(ctx, st)
		case len(blocked) > 0:
			d.stuck("statements wait for locks when all other transactions have ended")
			return nil
		default:
			return nil
		}
		if ok, err := d.settle(ctx); err != nil || !ok {
			return err
		}
	}
}

// stuck is the fault of statements that do not come to an end.
func (d *scheduler) stuck(text string) {
	var running []*statement
	for _, s := range d.sessions {
		if s.running != nil {
			running = append(running, s.running)
		}
	}
	d.h.Faults = append(d.h.Faults, newFault("stuck", text, running...))
}

// start sends a statement in the background.
func (s *session) start(ctx context.Context, st *statement) {
	ctx, s.cancel = context.WithCancel(ctx)
	s.running, s.stopping, s.done = st, false, make(chan struct{})
	go func(done chan struct{}) {
		defer close(done)
		s.run(ctx, st)
	}(s.done)
}

func (s *session) answered() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// settle waits until every session has its answer or waits for a lock that
// nobody but an idle session can give it. ok is false when that does not happen.
func (d *scheduler) settle(ctx context.Context) (ok bool, err error) {
	bound := time.NewTimer(stepBound)
	defer bound.Stop()
	var before waits
	var circle time.Time
	for {
		if err := d.collect(ctx, quick); err != nil {
			return false, err
		}
		if d.running() == 0 {
			return true, nil
		}
		now, err := d.waiting(ctx)
		if err != nil {
			return false, err
		}
		select {
		case <-bound.C:
			d.stuck(fmt.Sprintf("statements neither answer nor wait within %s; %v", stepBound, now))
			return false, nil
		default:
		}
		settled := d.allWait(now) && before.same(now)
		before = now
		if !settled {
			circle = time.Time{}
			continue
		}
		if !now.circle() {
			d.takeDown(now)
			return true, nil
		}
		if circle.IsZero() {
			circle = time.Now()
		}
		if time.Since(circle) > deadlockBound {
			d.stuck(fmt.Sprintf("sessions wait for each other, and no victim is chosen within %s: %v", deadlockBound, now))
			return false, nil
		}
	}
}

// takeDown notes who waits.
func (d *scheduler) takeDown(now waits) {
	for _, s := range d.sessions {
		if s.running != nil && !s.running.waited && len(now[s.id]) > 0 {
			s.running.waited = true
			d.h.waits++
		}
	}
}

func (d *scheduler) running() (n int) {
	for _, s := range d.sessions {
		if s.running != nil {
			n++
		}
	}
	return n
}

// allWait reports whether every session without an answer waits for a lock, and
// will not stop by itself.
func (d *scheduler) allWait(now waits) bool {
	for _, s := range d.sessions {
		if s.running != nil && (len(now[s.id]) == 0 || s.running.timeout || s.stopping) {
			return false
		}
	}
	return true
}

// collect takes over the answers that are there, after a moment for those that
// are about to come.
func (d *scheduler) collect(ctx context.Context, moment time.Duration) error {
	t := time.NewTimer(moment)
	defer t.Stop()
	for _, s := range d.sessions {
		if s.running == nil || s.running.waited {
			continue
		}
		select {
		case <-s.done:
		case <-t.C:
			t.Reset(0)
		}
	}
	for _, s := range d.sessions {
		if s.running == nil || !s.answered() {
			continue
		}
		st := s.running
		s.running = nil
		s.cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fault, err := s.settle(ctx, st)
		if err != nil {
			return err
		}
		if fault != "" {
			d.h.Faults = append(d.h.Faults, newFault("answer", fault, st))
		}
	}
	return nil
}

// waits are the sessions that wait for locks, with those they wait for.
type waits map[int][]int

// waiting asks who waits for whom.
func (d *scheduler) waiting(ctx context.Context) (waits, error) {
	const text = `SELECT session_id, blocking_session_id FROM sys.dm_os_waiting_tasks
WHERE wait_type LIKE N'LCK[_]M[_]%' AND blocking_session_id IS NOT NULL ORDER BY session_id, blocking_session_id`
	rows, err := d.monitor.QueryContext(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("who waits: %w", err)
	}
	defer rows.Close()
	w := waits{}
	for rows.Next() {
		var id, blocker int
		if err := rows.Scan(&id, &blocker); err != nil {
			return nil, err
		}
		w[id] = append(w[id], blocker)
	}
	return w, rows.Err()
}

func (w waits) same(other waits) bool {
	if len(w) == 0 || len(w) != len(other) {
		return false
	}
	for id, blockers := range w {
		if fmt.Sprint(blockers) != fmt.Sprint(other[id]) {
			return false
		}
	}
	return true
}

// circle reports whether sessions wait for each other.
func (w waits) circle() bool {
	const onPath, done = 1, 2
	state := map[int]int{}
	var visit func(id int) bool
	visit = func(id int) bool {
		state[id] = onPath
		for _, b := range w[id] {
			if state[b] == onPath || state[b] == 0 && visit(b) {
				return true
			}
		}
		state[id] = done
		return false
	}
	for id := range w {
		if state[id] == 0 && visit(id) {
			return true
		}
	}
	return false
}

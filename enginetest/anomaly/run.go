package anomaly

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// Bound is how long a step may take before the run is given up. SQL
	// Server's deadlock monitor alone may take five seconds.
	Bound = 30 * time.Second
	// pollPause is the time between two looks at the lock views.
	pollPause = time.Millisecond
)

// Outcome is what a run has shown.
type Outcome struct {
	// Verdict is what happened, whatever the script expects; empty for a
	// scenario.
	Verdict Verdict
	// Differences are the steps that went otherwise than the script says, and
	// the verdict if it is not the one that is expected. They are *Error.
	Differences []error
}

// Run runs one section of a script at one level, "" for the default, on a
// database that is new and that nobody else uses. Its error is that the run
// could not be made; differences are in the Outcome.
func Run(ctx context.Context, db *sql.DB, s *Script, c *Case, level Level) (Outcome, error) {
	bounded, cancel := context.WithCancel(ctx)
	r := &run{script: s, c: c, sessions: map[string]*session{}, ids: map[string]int{}, results: map[string]string{}}
	err := r.all(bounded, db, level)
	cancel()
	closeErr := r.close(context.WithoutCancel(ctx))
	if err == nil && len(r.out.Differences) == 0 {
		err = closeErr // a run that was cut short leaves connections that cannot be used
	}
	return r.out, err
}

// run is the state of one run.
type run struct {
	script     *Script
	c          *Case
	sessions   map[string]*session
	ids        map[string]int
	monitor    *sql.Conn
	results    map[string]string // of named steps
	blocked    bool              // some step was
	numbers    []int32           // of all errors
	out        Outcome
	unfinished bool
}

func (r *run) close(ctx context.Context) error {
	var errs []error
	for _, s := range r.sessions {
		errs = append(errs, s.close(ctx))
	}
	if r.monitor != nil {
		errs = append(errs, r.monitor.Close())
	}
	return errors.Join(errs...)
}

func (r *run) differ(step *Step, format string, args ...any) {
	e := &Error{File: r.script.File, Line: r.c.Line, Text: fmt.Sprintf(format, args...)}
	if step != nil {
		e.Line, e.Step = step.Line, step.String()
	}
	r.out.Differences = append(r.out.Differences, e)
}

func (r *run) all(ctx context.Context, db *sql.DB, level Level) error {
	if err := r.prepare(ctx, db, level); err != nil {
		return err
	}
	for _, step := range r.c.Steps {
		if err := r.open(ctx, db, step.Session, level); err != nil {
			return err
		}
	}
	for _, step := range r.c.Steps {
		if err := r.one(ctx, step); err != nil {
			r.unfinished = true
			r.differ(step, "%v", err)
			break
		}
	}
	if r.script.Condition == nil {
		return nil
	}
	r.out.Verdict = r.verdict()
	if r.out.Verdict != r.c.Want {
		r.differ(nil, "%s at %s: the outcome is %q, the documentation says %q", r.script.Name, level, r.out.Verdict, r.c.Want)
	}
	return nil
}

// prepare sets the database up.
func (r *run) prepare(ctx context.Context, db *sql.DB, level Level) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("%s: connect: %w", r.script.File, err)
	}
	r.monitor = conn
	for _, text := range append(level.database(), r.script.Setup...) {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: setup: %s: %w", r.script.File, text, err)
		}
	}
	return nil
}

func (r *run) open(ctx context.Context, db *sql.DB, name string, level Level) error {
	if r.sessions[name] != nil {
		return nil
	}
	s, err := openSession(ctx, db, name, level)
	if err != nil {
		return fmt.Errorf("%s: %w", r.script.File, err)
	}
	r.sessions[name], r.ids[name] = s, s.id
	return nil
}

// one runs a step. Its error ends the run.
func (r *run) one(ctx context.Context, step *Step) error {
	s := r.sessions[step.Session]
	if step.Mark == Resumes {
		return r.resume(ctx, s, step)
	}
	for _, other := range r.sessions {
		if other.step != nil && other.ended() {
			r.differ(step, "session %s has gone on before this step", other.name)
		}
	}
	if s.step != nil {
		if err := r.wait(ctx, s, s.ended); err != nil {
			return fmt.Errorf("session %s is still at %s: %w", s.name, s.step, err)
		}
		r.finish(s)
	}
	s.start(ctx, step)
	if step.Mark == Deadlocks {
		return r.wait(ctx, s, r.anyEnded)
	}
	var blocker int
	err := r.wait(ctx, s, func() bool {
		if s.ended() {
			return true
		}
		blocker = r.blockerOf(ctx, s)
		return blocker != 0
	})
	if err != nil {
		return err
	}
	r.compare(s, step, blocker)
	return nil
}

// compare says whether a step that completed, or waits for blocker, did what
// the script says.
func (r *run) compare(s *session, step *Step, blocker int) {
	who := r.nameOf(blocker)
	switch {
	case blocker == 0 && step.Mark == Blocks:
		r.differ(step, "does not block, the script says it does; it gave %s", quoted(s.result.lines))
		r.finish(s)
	case blocker == 0:
		r.finish(s)
		if d := s.result.differs(step.Want, r.ids); d != "" {
			r.differ(step, "%s", d)
		}
	case step.Mark != Blocks:
		r.blocked = true
		r.differ(step, "waits for session %s, the script says it does not block", who)
	case who == "" || (step.Blocker != "" && who != step.Blocker):
		r.blocked = true
		r.differ(step, "waits for session %s (id %d), the script says for %s", who, blocker, cmp.Or(step.Blocker, "another session"))
	default:
		r.blocked = true
	}
}

// resume waits for the completion of a blocked step.
func (r *run) resume(ctx context.Context, s *session, step *Step) error {
	if s.step != nil { // or told already that it did not block
		if err := r.wait(ctx, s, s.ended); err != nil {
			return err
		}
		r.finish(s)
	}
	if d := s.result.differs(step.Want, r.ids); d != "" {
		r.differ(step, "%s", d)
	}
	return nil
}

// finish takes over the result of a step that has ended.
func (r *run) finish(s *session) {
	if s.step.Name != "" {
		if text, ok := s.result.rows(); ok {
			r.results[s.step.Name] = text
		}
	}
	r.numbers = append(r.numbers, s.result.errors...)
	s.step = nil
}

func (r *run) anyEnded() bool {
	for _, s := range r.sessions {
		if s.step != nil && s.ended() {
			return true
		}
	}
	return false
}

// wait polls until what is asked for is so.
func (r *run) wait(ctx context.Context, s *session, done func() bool) error {
	bound := time.NewTimer(Bound)
	defer bound.Stop()
	pause := time.NewTicker(pollPause)
	defer pause.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-bound.C:
			return fmt.Errorf("neither completes nor is seen waiting for a lock within %s", Bound)
		case <-s.done:
		case <-pause.C:
		}
	}
	return nil
}

// waiting finds whom a session waits for a lock of. Both views must say so.
const waiting = `SELECT COALESCE(MAX(r.blocking_session_id), 0) FROM sys.dm_exec_requests AS r
JOIN sys.dm_os_waiting_tasks AS w ON w.session_id = r.session_id AND w.blocking_session_id = r.blocking_session_id
WHERE r.session_id = @p1 AND r.blocking_session_id > 0 AND r.wait_type LIKE N'LCK[_]M[_]%'`

// blockerOf returns the id of the session that s waits for, 0 for none.
func (r *run) blockerOf(ctx context.Context, s *session) int {
	var id int
	if err := r.monitor.QueryRowContext(ctx, waiting, s.id).Scan(&id); err != nil {
		return 0 // the run's context has ended, or the next look will tell
	}
	return id
}

func (r *run) nameOf(id int) string {
	for name, n := range r.ids {
		if n == id {
			return name
		}
	}
	return ""
}

// verdict says what happened.
func (r *run) verdict() Verdict {
	switch {
	case r.unfinished:
		return Undecided
	case r.script.Condition.holds(r.results):
		return Happens
	case slices.Contains(r.numbers, 3960):
		return ByConflict
	case slices.Contains(r.numbers, 1205):
		return ByDeadlock
	case len(r.numbers) > 0:
		return Verdict("prevented (error " + strings.Trim(fmt.Sprint(r.numbers), "[]") + ")")
	case r.blocked:
		return ByBlocking
	}
	return ByVersions
}

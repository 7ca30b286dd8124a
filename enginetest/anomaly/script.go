package anomaly

import "fmt"

// Script is a parsed script.
type Script struct {
	File  string
	Name  string
	About string
	Docs  []string // pages that all sections rest on
	Setup []string // batches
	Cases []*Case
	// Condition tells from the steps' results whether the anomaly happened. It
	// is nil for a scenario.
	Condition *Condition
}

// Case is a section of a script: one story, for one level or more.
type Case struct {
	Name   string // of a scenario's case
	Line   int
	Levels []Level // empty: the default level of a new session
	Want   Verdict // empty for a scenario
	Docs   []string
	Steps  []*Step
}

// Mark is what a script says about the waiting of a step.
type Mark int

// The marks of steps.
const (
	Completes Mark = iota // the step does not wait for anybody
	Blocks                // it waits for a lock of another session
	Deadlocks             // it closes a circle of waits
	Resumes               // no step: the blocked one completes
)

// Step is one line of a story: a batch in a session, or its completion.
type Step struct {
	Line    int
	Session string
	Name    string
	SQL     string
	Mark    Mark
	Blocker string   // of Blocks: the session waited for, "" for any
	Want    []string // result lines, as the script has them
}

// String returns the step as it is named in errors.
func (s *Step) String() string {
	who := "session " + s.Session
	if s.Name != "" {
		who += " " + s.Name
	}
	if s.Mark == Resumes {
		return who + ": (resumes)"
	}
	return who + ": " + s.SQL
}

// Error is a fault of a script, or a difference between it and the server.
type Error struct {
	File string
	Line int
	Step string // "" for what is not in a step
	Text string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Step == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Step, e.Text)
}

package crash

import (
	"fmt"
	"slices"
	"strconv"
)

// judge knows what the victims have told, and compares what is there with it.
type judge struct {
	ready bool // making the tables has been acknowledged

	base  [sessions]state // as the tables were read last
	since [sessions][]told
	known [sessions]int64 // number of the session's last acknowledged transaction
	floor [sessions]int64 // of the last one that must be there
	given map[string]bool // numbers of acknowledged transactions

	acked, delayed, undone int
	lost, resurrected      int
	findings               []string

	checkpoints [sessions][sessions]int64 // what was acknowledged before a session asked for a checkpoint
}

// told is a transaction whose commit was asked for.
type told struct {
	number  int64
	delayed bool
	changes []entry
	before  [sessions]int64 // what was acknowledged before it asked
	given   []string
}

func newJudge() *judge {
	j := &judge{given: map[string]bool{}}
	for s := range j.base {
		j.base[s] = state{}
	}
	return j
}

// mostFindings is how many findings are kept of a round.
const mostFindings = 20

func (j *judge) find(format string, args ...any) {
	if len(j.findings) < mostFindings {
		j.findings = append(j.findings, fmt.Sprintf(format, args...))
	}
}

// hear takes a message of the load.
func (j *judge) hear(m message) {
	switch {
	case m.Text == setUp:
		j.ready = j.ready || m.Kind == kindAck
	case m.Kind == kindUndone:
		j.undone++
		j.repeated(m)
	case m.Number == 0 && m.Kind == kindBegin:
		j.checkpoints[m.Session] = j.known
	case m.Number == 0 && m.Kind == kindAck:
		j.raise(j.checkpoints[m.Session])
	case m.Kind == kindBegin:
		j.repeated(m)
		j.since[m.Session] = append(j.since[m.Session], told{number: m.Number, delayed: m.Delayed, changes: m.Changes, before: j.known, given: m.Given})
	case m.Kind == kindAck:
		j.acknowledge(m)
	}
}

// acknowledge notes what must be there from now on: unless the commit is delayed,
// the transaction and all that were acknowledged before it.
func (j *judge) acknowledge(m message) {
	list := j.since[m.Session]
	t := &list[len(list)-1]
	j.known[m.Session] = m.Number
	j.acked++
	if m.Delayed {
		j.delayed++
		return
	}
	j.floor[m.Session] = max(j.floor[m.Session], m.Number)
	j.raise(t.before)
	for _, n := range t.given {
		j.given[n] = true
	}
}

// raise says that what had been acknowledged then is durable.
func (j *judge) raise(known [sessions]int64) {
	for s, n := range known {
		j.floor[s] = max(j.floor[s], n)
	}
}

// repeated looks for numbers that an acknowledged transaction was given too.
func (j *judge) repeated(m message) {
	for _, n := range m.Given {
		if j.given[n] {
			j.resurrected++
			j.find("%s was given to transaction %d of session %d, and before to one that was acknowledged", n, m.Number, m.Session)
		}
	}
}

// verify compares the rows that are there with what must be, and goes on from
// them.
func (j *judge) verify(dump map[int]state) {
	seen := [sessions]int64{}
	for s := range sessions {
		seen[s] = number(dump[s][place{"progress", strconv.Itoa(s)}])
	}
	for s := range sessions { // who is there, was not before those that he came after
		for _, t := range j.since[s] {
			if t.number <= seen[s] {
				j.raise(t.before)
			}
		}
	}
	for s := range sessions {
		j.verifySession(s, seen[s], dump[s])
	}
	j.verifyAccounts(dump)
	for s, rows := range dump {
		if s < -1 || s >= sessions {
			j.resurrected += len(rows)
			j.find("%d rows are there of session %d, which never was", len(rows), s)
		}
	}
}

func (j *judge) verifySession(s int, seen int64, there state) {
	want, known := j.base[s], len(j.base[s]) > 0
	last := number(want[place{"progress", strconv.Itoa(s)}])
	for _, t := range j.since[s] {
		if t.number > seen {
			break
		}
		want.apply(t.changes)
		last = t.number
		for _, n := range t.given {
			j.given[n] = true
		}
	}
	if missing := j.floor[s] - seen; missing > 0 {
		j.lost += int(missing)
		j.find("session %d: transactions %d to %d were acknowledged and are not there", s, seen+1, j.floor[s])
	}
	if known && last != seen && seen >= j.floor[s] {
		j.resurrected++
		j.find("session %d: transaction %d is there, whose commit nobody asked for; the last was %d", s, seen, last)
	}
	if known || len(j.since[s]) > 0 {
		missing, extra := there.difference(want)
		j.lost += len(missing)
		j.resurrected += len(extra)
		for _, f := range slices.Concat(missing, extra) {
			j.find("session %d: after transaction %d %s", s, seen, f)
		}
	}
	j.base[s], j.since[s] = there, nil
	j.known[s], j.floor[s] = seen, seen
}

// verifyAccounts compares the accounts with what the sessions have moved.
func (j *judge) verifyAccounts(dump map[int]state) {
	for a := range accounts {
		key := strconv.Itoa(a)
		want := int64(opening)
		for s := range sessions {
			want += number(dump[s][place{"moved", key}])
		}
		got, ok := dump[-1][place{"account", key}]
		if !ok || number(got) != want {
			j.lost++
			j.find("account %d has %q, what the sessions have moved makes it %d", a, got, want)
		}
	}
	if n := len(dump[-1]); n > accounts {
		j.resurrected += n - accounts
		j.find("%d accounts are there, %d were made", n, accounts)
	}
}

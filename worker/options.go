package worker

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"loopbroker"
)

// Options configures a Worker. Every field but Handlers may be left zero.
type Options struct {
	// Handlers are the handlers by job type. Required.
	Handlers map[string]loopbroker.Handler

	// Slots is how many jobs run at once.
	//
	// Defaults to 64.
	Slots int

	// ID names the process; see loopbroker.WorkerInfo.
	//
	// Defaults to the host, the process id and a random part.
	ID string

	// Version is the version of the program, for the list of workers.
	//
	// Defaults to "devel".
	Version string

	// Lease is how long a claimed job stays ours without a sign of life.
	//
	// Defaults to 15 seconds.
	Lease time.Duration

	// Heartbeat is the pause between signs of life. It must leave room for three
	// of them within Lease.
	//
	// Defaults to a fifth of Lease.
	Heartbeat time.Duration

	// MinPoll is the pause after a claim that found something, and the first one
	// after a claim that found nothing.
	//
	// Defaults to 2 milliseconds.
	MinPoll time.Duration

	// MaxPoll is the longest pause of an idle worker. Pauses grow by a fifth each
	// time, so a worker that was busy a moment ago still looks often.
	//
	// Defaults to 1 second.
	MaxPoll time.Duration

	// MaxBatch is the most jobs that one claim takes.
	//
	// Defaults to 64.
	MaxBatch int

	// MaxShared is the most replies that share one call.
	//
	// Defaults to 50.
	MaxShared int

	// Completers is how many calls that store small replies run at once. One is
	// best unless the database is far away: what becomes ready during its call goes
	// together in the next. Large replies have calls of their own.
	//
	// Defaults to 1.
	Completers int

	// RetryBase and RetryCap shape the pause before the next attempt: a random part
	// of RetryBase doubled with each attempt, at most RetryCap.
	//
	// Default to 250 milliseconds and 1 minute.
	RetryBase, RetryCap time.Duration

	// TotalTimeout is the clock over all attempts of a job and the pauses between
	// them. It needs a queue that tells how old a job is.
	//
	// Defaults to 1 hour.
	TotalTimeout time.Duration

	// CallTimeout bounds one call of the database.
	//
	// Defaults to 10 seconds.
	CallTimeout time.Duration

	// OutageBase and OutageCap shape the pauses while the database is away.
	//
	// Default to 100 milliseconds and 10 seconds.
	OutageBase, OutageCap time.Duration

	// DrainTimeout is how long Run waits for running jobs after its context is
	// done, before their contexts end.
	//
	// Defaults to 20 seconds.
	DrainTimeout time.Duration

	// SettleTimeout is how long the settling of one outcome is tried, and how long
	// Run waits for handlers whose context has ended.
	//
	// Defaults to 10 seconds.
	SettleTimeout time.Duration

	// JanitorEvery is the pause between sweeps.
	//
	// Defaults to 15 seconds.
	JanitorEvery time.Duration

	// JanitorBatch is the most rows of each kind that a sweep handles.
	//
	// Defaults to 1000.
	JanitorBatch int

	// Policy puts the policy of the database in force in whatever needs it, such as
	// the HTTP handler. It gets the first one before the first job is claimed. Its
	// error is logged, and the policy counts as put in force as far as it goes.
	//
	// Nil means that no policy is read.
	Policy func(loopbroker.Policy) error

	// PolicyEvery is the pause between readings of the policy.
	//
	// Defaults to 2 seconds.
	PolicyEvery time.Duration

	// Hosts tells about the hosts that handlers call, for the heartbeat to report.
	//
	// Nil means that nothing is reported.
	Hosts loopbroker.HostReporter

	// CompletionSlots is how many completion procedures run at once.
	//
	// Defaults to 4.
	CompletionSlots int

	// Logger receives the worker's events.
	//
	// Defaults to no logging.
	Logger *zerolog.Logger
}

// WithDefaults returns a copy of o with every zero field filled in.
func (o Options) WithDefaults() Options {
	o.Slots = cmp.Or(o.Slots, 64)
	if o.ID == "" {
		o.ID = defaultID()
	}
	o.Version = cmp.Or(o.Version, "devel")
	o.Lease = cmp.Or(o.Lease, 15*time.Second)
	o.Heartbeat = cmp.Or(o.Heartbeat, o.Lease/5)
	o.MinPoll = cmp.Or(o.MinPoll, 2*time.Millisecond)
	o.MaxPoll = cmp.Or(o.MaxPoll, time.Second)
	o.MaxBatch = cmp.Or(o.MaxBatch, 64)
	o.MaxShared = cmp.Or(o.MaxShared, 50)
	o.Completers = cmp.Or(o.Completers, 1)
	o.RetryBase = cmp.Or(o.RetryBase, 250*time.Millisecond)
	o.RetryCap = cmp.Or(o.RetryCap, time.Minute)
	o.TotalTimeout = cmp.Or(o.TotalTimeout, time.Hour)
	o.CallTimeout = cmp.Or(o.CallTimeout, 10*time.Second)
	o.OutageBase = cmp.Or(o.OutageBase, 100*time.Millisecond)
	o.OutageCap = cmp.Or(o.OutageCap, 10*time.Second)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 20*time.Second)
	o.SettleTimeout = cmp.Or(o.SettleTimeout, 10*time.Second)
	o.JanitorEvery = cmp.Or(o.JanitorEvery, 15*time.Second)
	o.JanitorBatch = cmp.Or(o.JanitorBatch, 1000)
	o.PolicyEvery = cmp.Or(o.PolicyEvery, 2*time.Second)
	o.CompletionSlots = cmp.Or(o.CompletionSlots, 4)
	if o.Logger == nil {
		nop := zerolog.Nop()
		o.Logger = &nop
	}
	return o
}

// defaultID returns a name that no other run of any worker has.
func defaultID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%.100s/%d/%.8s", host, os.Getpid(), uuid.NewString())
}

// maxTypes is the width of what the list of workers keeps of the types.
const maxTypes = 398

// Validate reports everything wrong with o at once. It expects defaults to have
// been applied.
func (o Options) Validate() error {
	var errs []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	need(len(o.Handlers) > 0, "need Handlers")
	for _, name := range slices.Sorted(maps.Keys(o.Handlers)) {
		need(validType(name), "need job types of 1 to %d of a-z 0-9 . _ -, got %q", loopbroker.MaxTypeLength, name)
		need(o.Handlers[name] != nil, "need a handler for %q", name)
	}
	need(len(strings.Join(o.types(), ",")) <= maxTypes, "need Handlers whose types take at most %d characters", maxTypes)
	need(o.ID != "" && len(o.ID) <= 200, "need an ID of 1 to 200 characters, got %q", o.ID)
	need(len(o.Version) <= 64, "need a Version of at most 64 characters, got %q", o.Version)
	for _, n := range []struct {
		name  string
		value int
	}{
		{"Slots", o.Slots},
		{"MaxBatch", o.MaxBatch},
		{"MaxShared", o.MaxShared},
		{"Completers", o.Completers},
		{"JanitorBatch", o.JanitorBatch},
		{"CompletionSlots", o.CompletionSlots},
	} {
		need(n.value >= 1, "need %s >= 1, got %d", n.name, n.value)
	}
	need(o.JanitorBatch <= 1000, "need JanitorBatch <= 1000, got %d", o.JanitorBatch)
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"Lease", o.Lease},
		{"Heartbeat", o.Heartbeat},
		{"MinPoll", o.MinPoll},
		{"RetryBase", o.RetryBase},
		{"TotalTimeout", o.TotalTimeout},
		{"CallTimeout", o.CallTimeout},
		{"OutageBase", o.OutageBase},
		{"DrainTimeout", o.DrainTimeout},
		{"SettleTimeout", o.SettleTimeout},
		{"JanitorEvery", o.JanitorEvery},
		{"PolicyEvery", o.PolicyEvery},
	} {
		need(d.value > 0, "need %s > 0, got %s", d.name, d.value)
	}
	need(o.Heartbeat <= o.Lease/3, "need Heartbeat <= Lease/3, got %s and %s", o.Heartbeat, o.Lease)
	need(o.MaxPoll >= o.MinPoll, "need MaxPoll >= MinPoll, got %s and %s", o.MaxPoll, o.MinPoll)
	need(o.RetryCap >= o.RetryBase, "need RetryCap >= RetryBase, got %s and %s", o.RetryCap, o.RetryBase)
	need(o.OutageCap >= o.OutageBase, "need OutageCap >= OutageBase, got %s and %s", o.OutageCap, o.OutageBase)
	return errors.Join(errs...)
}

// types returns the job types in order.
func (o Options) types() []string { return slices.Sorted(maps.Keys(o.Handlers)) }

// validType reports whether name can be a job type.
func validType(name string) bool {
	return name != "" && len(name) <= loopbroker.MaxTypeLength &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}

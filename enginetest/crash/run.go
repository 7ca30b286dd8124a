package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// dataDir is the engine's directory within that of a run.
const dataDir = "data"

// Options are the settings of a run.
type Options struct {
	// Dir is where the engine has its data; it must be empty.
	Dir string
	// Rounds is how many victims are killed.
	Rounds int
	// Seed decides what the victims do, and when they are killed.
	Seed uint64
	// Command makes the process that calls Victim and writes to its standard output.
	Command func(ctx context.Context, l Life) *exec.Cmd
	// Progress is told after each round.
	Progress func(round int, r Result)

	// between is called between a kill and the next start, so that tests can damage
	// the directory.
	between func(round int, dir string) error
}

// Result is what a run has found.
type Result struct {
	Rounds      int
	Lost        int // acknowledged, and not there or not in full
	Resurrected int // there, and not committed, or given out twice
	Faults      []string

	Early     int   // victims that were killed before they had recovered and told what is there
	Acked     int   // transactions
	Delayed   int   // those with delayed durability
	Undone    int   // transactions that were rolled back
	Replayed  int64 // most log that a recovery had to replay, in bytes
	Recovered int   // recoveries
}

// OK reports whether nothing is wrong.
func (r Result) OK() bool { return r.Lost == 0 && r.Resurrected == 0 && len(r.Faults) == 0 }

// String is the line for the result.
func (r Result) String() string {
	return fmt.Sprintf("rounds %d, lost %d, resurrected %d", r.Rounds, r.Lost, r.Resurrected)
}

// mostReplayed is how much log a recovery may replay: what is written until a
// checkpoint is due, and while it is made.
const mostReplayed = 8 * CheckpointBytes

// Run kills victims, one after the other on the same directory, and verifies what
// each finds when it starts. It ends at the first round in which something is
// wrong. The last victim is not killed but looks at what the one before has left.
func Run(ctx context.Context, o Options) (Result, error) {
	rnd := rand.New(rand.NewPCG(o.Seed, 0))
	j := newJudge()
	var r Result
	for round := 0; round <= o.Rounds; round++ {
		v := &victim{judge: j, result: &r, life: Life{Dir: o.Dir, Seed: o.Seed<<16 + uint64(round)}}
		switch {
		case round == o.Rounds:
			v.last = true
		case rnd.IntN(6) == 0: // while it starts: most need more than 30 ms
			v.fromStart, v.after = true, time.Duration(rnd.IntN(60_000))*time.Microsecond
		default:
			v.after = time.Duration(rnd.IntN(200_000)) * time.Microsecond
		}
		if err := v.run(ctx, o.Command); err != nil {
			return r, fmt.Errorf("crash: round %d: %w", round+1, err)
		}
		if !v.last {
			r.Rounds++
		}
		r.Acked, r.Delayed, r.Undone, r.Lost, r.Resurrected = j.acked, j.delayed, j.undone, j.lost, j.resurrected
		r.Faults = slices.Concat(r.Faults, j.findings)
		if !r.OK() {
			return r, nil
		}
		if o.Progress != nil && !v.last {
			o.Progress(round+1, r)
		}
		if o.between != nil && !v.last {
			if err := o.between(round, filepath.Join(o.Dir, dataDir)); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// victim is one process.
type victim struct {
	judge     *judge
	result    *Result
	life      Life
	after     time.Duration // when it is killed,
	fromStart bool          // after its start, or else after it has told what is there
	last      bool          // it is killed when it has told what is there

	dump   map[int]state
	dumped bool
	failed error
	kill   *time.Timer
}

// run starts the process and hears what it says until it is gone.
func (v *victim) run(ctx context.Context, command func(context.Context, Life) *exec.Cmd) error {
	cmd := command(ctx, v.life)
	var trouble tail
	cmd.Stderr = &trouble
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }() // all has been read
	cmd.Stdout = in
	err = cmd.Start()
	_ = in.Close() // the process has its own
	if err != nil {
		return err
	}
	v.kill = time.AfterFunc(time.Hour, func() { _ = cmd.Process.Kill() }) // one that is gone has said why
	defer v.kill.Stop()
	if v.fromStart {
		v.kill.Reset(v.after)
	}
	v.dump = map[int]state{}
	err = receive(out, v.hear)
	if err != nil {
		_ = cmd.Process.Kill()
	}
	ended := cmd.Wait()
	switch {
	case err != nil || v.failed != nil:
		return errors.Join(err, v.failed)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case cmd.ProcessState.Exited():
		return fmt.Errorf("the victim ended by itself: %w: %s", ended, trouble)
	}
	if !v.dumped {
		v.result.Early++
	}
	return nil
}

// hear takes a message of the victim.
func (v *victim) hear(m message) error {
	switch m.Kind {
	case kindOpened:
		v.result.Recovered++
		v.result.Replayed = max(v.result.Replayed, m.Bytes)
		if m.Bytes > mostReplayed {
			v.judge.find("recovery replayed %d bytes in %d transactions, with a checkpoint after each %d bytes", m.Bytes, m.Count, CheckpointBytes)
		}
	case kindRow:
		if v.dump[m.Session] == nil {
			v.dump[m.Session] = state{}
		}
		v.dump[m.Session].apply(m.Changes)
	case kindDumped:
		v.dumped = true
		v.judge.verify(v.dump)
		switch {
		case v.last || len(v.judge.findings) > 0:
			v.kill.Reset(0)
		case !v.fromStart:
			v.kill.Reset(v.after)
		}
	case kindFault:
		v.judge.find("%s", m.Text)
	case kindFailed:
		v.failed = fmt.Errorf("the victim failed: %s", m.Text)
	default:
		if m.Text == setUp && m.Kind == kindBegin && v.judge.ready {
			v.judge.lost++
			v.judge.find("the tables are not there any more")
		}
		v.judge.hear(m)
	}
	return nil
}

// tail keeps the beginning of what a process writes.
type tail []byte

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	if room := 4096 - len(*t); room > 0 {
		*t = append(*t, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

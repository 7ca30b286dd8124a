package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// fleet is worker processes of this very program.
type fleet struct {
	members []*member
}

// member is one worker process.
type member struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser // its end tells the process to stop, and it ends with us
	stderr logTail
	ended  chan struct{} // closed when the process is gone
	killed bool
}

// stopTimeout is how long a worker may take to stop when it is told to.
const stopTimeout = 10 * time.Second

// startFleet starts n worker processes. The DSN goes through the environment.
func startFleet(ctx context.Context, n int, dsn string, lease time.Duration, slots int) (*fleet, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	f := &fleet{}
	for range n {
		m := &member{ended: make(chan struct{})}
		m.cmd = exec.CommandContext(ctx, self, "worker", "--until-eof", "--lease", lease.String(), "--slots", strconv.Itoa(slots),
			"--max-poll", "50ms", "--drain", "5s")
		m.cmd.Env = append(os.Environ(), "LOOPBROKER_DSN="+dsn)
		m.cmd.Stderr, m.cmd.Stdout = &m.stderr, &m.stderr
		if m.stdin, err = m.cmd.StdinPipe(); err == nil {
			err = m.cmd.Start()
		}
		if err != nil {
			f.stop()
			return nil, fmt.Errorf("start a worker: %w", err)
		}
		go func() { // ends with the process
			_ = m.cmd.Wait() // how it ended is seen in what is lost
			close(m.ended)
		}()
		f.members = append(f.members, m)
	}
	return f, nil
}

// kill ends the first n processes with SIGKILL, returns their ids, and waits
// until they are gone.
func (f *fleet) kill(n int) ([]int, error) {
	var pids []int
	var errs []error
	for _, m := range f.members[:n] {
		m.killed = true
		pids = append(pids, m.cmd.Process.Pid)
		errs = append(errs, m.cmd.Process.Kill())
	}
	for _, m := range f.members[:n] {
		<-m.ended
	}
	return pids, errors.Join(errs...)
}

// stop tells every process to stop and ends those that do not.
func (f *fleet) stop() {
	for _, m := range f.members {
		_ = m.stdin.Close() // a process that is gone has closed it
	}
	timeout := time.After(stopTimeout)
	for _, m := range f.members {
		select {
		case <-m.ended:
		case <-timeout:
			_ = m.cmd.Process.Kill()
			<-m.ended
		}
	}
}

// troubles returns what workers wrote that ended by themselves.
func (f *fleet) troubles() error {
	var errs []error
	for _, m := range f.members {
		select {
		case <-m.ended:
			if !m.killed {
				errs = append(errs, fmt.Errorf("worker %d ended: %s", m.cmd.Process.Pid, m.stderr.String()))
			}
		default:
		}
	}
	return errors.Join(errs...)
}

// maxLog is how much is kept of what a worker writes.
const maxLog = 4 << 10

// logTail keeps the end of what is written to it.
type logTail struct {
	mu  sync.Mutex
	buf []byte
}

// Write implements io.Writer.
func (l *logTail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, p...)
	if over := len(l.buf) - maxLog; over > 0 {
		l.buf = l.buf[over:]
	}
	return len(p), nil
}

// String returns what was kept.
func (l *logTail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(bytes.TrimSpace(l.buf))
}

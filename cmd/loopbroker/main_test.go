package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// runAsCommand is set in the environment of every process that a test starts, so
// that the test's own executable is the command there.
const runAsCommand = "LOOPBROKER_TEST_RUN_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(runAsCommand) != "" {
		main()
	}
	for _, v := range []string{"LOOPBROKER_DSN", dsnPasswordVariable, saPasswordVariable, linkPasswordVariable, workerPasswordVariable, callerPasswordVariable} {
		os.Unsetenv(v)
	}
	os.Setenv(runAsCommand, "1")
	os.Exit(m.Run())
}

// command runs the command with nothing on standard input.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return commandWith(t, "", args...)
}

// commandWith runs the command with a text on standard input.
func commandWith(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// background is a command that goes on until the test is over or stops it.
type background struct {
	out  *output
	stop func() int
}

// start runs the command until the test ends and returns once its output matches
// the expression, with the expression's group.
func start(t *testing.T, ready string, args ...string) (*background, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	b := &background{out: &output{changed: make(chan struct{}, 1)}}
	done := make(chan int, 1)
	go func() { done <- run(ctx, args, strings.NewReader(""), b.out, b.out) }()
	b.stop = sync.OnceValue(func() int {
		cancel()
		return <-done
	})
	t.Cleanup(func() { b.stop() })
	re := regexp.MustCompile(ready)
	timeout := time.After(time.Minute)
	for {
		if m := re.FindStringSubmatch(b.out.String()); m != nil {
			return b, m[1]
		}
		select {
		case <-b.out.changed:
		case code := <-done:
			done <- code
			t.Fatalf("%v ended with code %d:\n%s", args, code, b.out)
		case <-timeout:
			t.Fatalf("%v did not print %s:\n%s", args, ready, b.out)
		}
	}
}

// output collects what a command prints.
type output struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{}
}

var _ io.Writer = (*output)(nil)

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.changed <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// wantAll fails unless the text holds every part.
func wantAll(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("no %q in:\n%s", p, text)
		}
	}
}

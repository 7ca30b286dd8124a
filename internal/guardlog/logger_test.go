package guardlog_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"loopbroker/internal/guardlog"
)

// broken is a writer and a hook that fails in the way of the test.
type broken struct{ panics bool }

func (b broken) Write([]byte) (int, error) {
	if b.panics {
		panic("disk full")
	}
	return 0, errors.New("disk full")
}

func (b broken) Run(*zerolog.Event, zerolog.Level, string) { panic("hook") }

func TestLogger_Survives(t *testing.T) {
	t.Parallel()

	var zero guardlog.Logger
	loggers := map[string]guardlog.Logger{
		"zero":           zero,
		"discard":        guardlog.Discard(),
		"failing writer": guardlog.New(zerolog.New(broken{}), "x"),
		"panicking":      guardlog.New(zerolog.New(broken{panics: true}), "x"),
		"panicking hook": guardlog.New(zerolog.New(&bytes.Buffer{}).Hook(broken{}), "x"),
	}
	for name, log := range loggers {
		log = log.WithStr("a", "b").WithInt64("c", 1)
		log.Debug("one")
		log.Info("two", guardlog.Int("n", 1))
		log.Warn("three", func(*zerolog.Event) { panic(name) })
		log.Error("four", guardlog.Err(errors.New("x")))
	}
}

func TestLogger_Writes(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer
	log := guardlog.New(zerolog.New(&out).Level(zerolog.InfoLevel), "worker").WithStr(guardlog.KeyWorker, "w1")
	log.Debug("below the level")
	log.Info("job done", guardlog.Int(guardlog.KeyCount, 2))
	want := `{"level":"info","component":"worker","worker":"w1","count":2,"message":"job done"}`
	if got := strings.TrimSpace(out.String()); got != want {
		t.Errorf("wrote %s, want %s", got, want)
	}
}

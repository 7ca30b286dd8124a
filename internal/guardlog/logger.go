// Package guardlog wraps a zerolog.Logger so that logging cannot change an outcome:
// a hook or a writer that panics or fails costs its line and nothing else.
package guardlog

import (
	"io"
	"time"

	"github.com/rs/zerolog"
)

// The keys of the fields. Everything variable is a field; messages are constant.
const (
	KeyComponent  = "component"
	KeyWorker     = "worker"
	KeyRequest    = "request_id"
	KeyType       = "type"
	KeyAttempt    = "attempt"
	KeyErrorClass = "error_class"
	KeyDelay      = "delay"
	KeyCount      = "count"
	KeySettled    = "settled"
)

// Logger writes guarded lines. The zero value writes nothing.
type Logger struct {
	log zerolog.Logger
	set bool
}

// New returns a guarded logger with the component's name on each line.
func New(log zerolog.Logger, component string) Logger {
	return Logger{log: log, set: true}.with(func(c zerolog.Context) zerolog.Context {
		return c.Str(KeyComponent, component)
	})
}

// Discard returns a logger that writes nothing.
func Discard() Logger { return New(zerolog.New(io.Discard).Level(zerolog.Disabled), "") }

// WithStr returns a logger with one more field on each line.
func (l Logger) WithStr(key, value string) Logger {
	return l.with(func(c zerolog.Context) zerolog.Context { return c.Str(key, value) })
}

// WithInt64 returns a logger with one more field on each line.
func (l Logger) WithInt64(key string, value int64) Logger {
	return l.with(func(c zerolog.Context) zerolog.Context { return c.Int64(key, value) })
}

func (l Logger) with(f func(zerolog.Context) zerolog.Context) (out Logger) {
	if !l.set {
		return l
	}
	out = l
	defer func() { _ = recover() }() // the line's loss is the only consequence
	out.log = f(l.log.With()).Logger()
	return out
}

// Field adds something to a line.
type Field func(*zerolog.Event)

// Str is a text field.
func Str(key, value string) Field { return func(e *zerolog.Event) { e.Str(key, value) } }

// Int is a number field.
func Int(key string, value int) Field { return func(e *zerolog.Event) { e.Int(key, value) } }

// Duration is a duration field, in zerolog's unit.
func Duration(key string, value time.Duration) Field {
	return func(e *zerolog.Event) { e.Dur(key, value) }
}

// Err is the error field. It is for errors of the database and of our own; never
// for one whose text a remote party or a caller wrote.
func Err(err error) Field { return func(e *zerolog.Event) { e.Err(err) } }

// Debug writes a line.
func (l Logger) Debug(message string, fields ...Field) { l.write(zerolog.DebugLevel, message, fields) }

// Info writes a line.
func (l Logger) Info(message string, fields ...Field) { l.write(zerolog.InfoLevel, message, fields) }

// Warn writes a line.
func (l Logger) Warn(message string, fields ...Field) { l.write(zerolog.WarnLevel, message, fields) }

// Error writes a line.
func (l Logger) Error(message string, fields ...Field) { l.write(zerolog.ErrorLevel, message, fields) }

func (l Logger) write(level zerolog.Level, message string, fields []Field) {
	if !l.set {
		return
	}
	defer func() { _ = recover() }() // the line's loss is the only consequence
	e := l.log.WithLevel(level)
	if level < l.log.GetLevel() || e == nil {
		return
	}
	for _, f := range fields {
		f(e)
	}
	e.Msg(message)
}

// Package sqlerr holds the errors that the engine reports to a client, by the
// number, severity and text that SQL Server documents for them.
//
// Every stage of the engine returns these errors; none of them prints one. The
// session adds the procedure and the line, decides by the severity and the
// number what the error ends (statement, batch, transaction or connection), and
// the wire package encodes it.
package sqlerr

import "fmt"

// Error is one message of severity 11 or more.
type Error struct {
	// Number identifies the message, such as 8134.
	Number int32
	// Class is the severity, from 11 to 25. Severities of 20 and more end the
	// connection.
	Class uint8
	// State is the message state.
	State uint8
	// Message is the complete text, already in its final words.
	Message string
	// Procedure is the name of the module that raised the error, or empty.
	Procedure string
	// Line is the line within the batch or module, from 1. Zero means that the
	// session has still to fill it in.
	Line int32
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("Msg %d, Level %d, State %d, Line %d: %s", e.Number, e.Class, e.State, e.Line, e.Message)
}

// At returns a copy of e that names the line, unless e names one already.
func (e *Error) At(line int32) *Error {
	if e.Line != 0 {
		return e
	}
	c := *e
	c.Line = line
	return &c
}

// New returns the error with the given number. The text is the registered
// template with args put in by fmt's verbs. The state is 1 unless the template
// says otherwise. An unregistered number is a defect of the engine and panics.
func New(number int32, args ...any) *Error {
	m, ok := messages[number]
	if !ok {
		panic(fmt.Sprintf("sqlerr: message %d is not registered", number))
	}
	return &Error{Number: number, Class: m.class, State: max(m.state, 1), Message: fmt.Sprintf(m.text, args...)}
}

// WithState is New with an explicit state.
func WithState(number int32, state uint8, args ...any) *Error {
	e := New(number, args...)
	e.State = state
	return e
}

// Unsupported is the one answer to a feature that SQL Server has and this
// engine lacks: message 40510. The feature is named as a user would write it.
func Unsupported(feature string) *Error { return New(40510, feature) }

// Template returns severity and text template of a registered message.
func Template(number int32) (class uint8, text string, ok bool) {
	m, ok := messages[number]
	return m.class, m.text, ok
}

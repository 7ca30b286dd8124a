package wire

import (
	"context"
	"errors"
	"fmt"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/tds"
	"loopbroker/engine/types"
)

// output writes the tokens of one reply. It belongs to the loop's goroutine.
//
// Whether a DONE token is the last of a reply is known only when the request
// returns: one DONE is held back until the next token or the end.
type output struct {
	conn    *conn
	request *request
	encoder *tds.RowEncoder
	hide    bool   // the client wants no COLMETADATA
	command uint16 // of the final DONE if the session gives none

	held    heldDone
	holding bool
	failed  bool  // an error was sent since the last DONE
	class   uint8 // the highest severity that was sent
	err     error // of the connection; it sticks
	fault   error // of a value that the session has sent
}

// heldDone is a DONE token that is not written yet.
type heldDone struct {
	kind    tds.DoneKind
	status  tds.DoneStatus
	command uint16
	rows    int64
}

// begin makes o ready for the reply to r.
func (o *output) begin(r *request) {
	*o = output{conn: o.conn, request: r}
}

// rpc reports whether the statements of the request are inside procedures.
func (o *output) rpc() bool { return o.request.typ == tds.PacketRPC }

// check returns the reason why nothing more can be sent, if there is one.
func (o *output) check() error {
	if o.err != nil {
		return o.err
	}
	if o.fault != nil {
		return o.fault
	}
	if o.request.attention.Load() {
		return ErrAttention
	}
	return nil
}

// open is called before a token is appended.
func (o *output) open() error {
	if err := o.check(); err != nil {
		return err
	}
	o.release(tds.DoneMore)
	return nil
}

// release writes the DONE that is held back.
func (o *output) release(more tds.DoneStatus) {
	if !o.holding {
		return
	}
	o.holding = false
	w := o.conn.out
	w.buf = tds.AppendDone(w.buf, o.held.kind, o.held.status|more, o.held.command, o.held.rows)
}

// wrote is called after a token was appended.
func (o *output) wrote() error {
	if err := o.conn.out.spill(); err != nil {
		o.lost(err)
	}
	return o.err
}

// lost records that the client is gone.
func (o *output) lost(err error) {
	if o.err == nil {
		o.err = fmt.Errorf("%w: %w", ErrDisconnected, err)
	}
	o.conn.cancel(ErrDisconnected)
}

// Columns implements Output.
func (o *output) Columns(cols []Column) error {
	if err := o.open(); err != nil {
		return err
	}
	w := o.conn.out
	var err error
	w.buf, o.encoder, err = tds.AppendColumns(w.buf, cols, o.hide, o.conn.version)
	if err != nil {
		o.fault = err
		return err
	}
	return o.wrote()
}

var errNoColumns = errors.New("wire: a row without columns")

// Row implements Output.
func (o *output) Row(values []types.Value) error {
	if err := o.open(); err != nil {
		return err
	}
	if o.encoder == nil {
		o.fault = errNoColumns
		return o.fault
	}
	w := o.conn.out
	var err error
	if w.buf, err = o.encoder.Append(w.buf, values); err != nil {
		o.fault = err
		return err
	}
	return o.wrote()
}

// Done implements Output.
func (o *output) Done(d Done) error {
	if err := o.open(); err != nil {
		return err
	}
	h := heldDone{kind: tds.DoneBatch, command: d.Command}
	switch {
	case d.Proc:
		h.kind = tds.DoneProc
	case d.InProc || o.rpc():
		h.kind = tds.DoneInProc
	}
	if d.HasRows {
		h.status |= tds.DoneCount
		h.rows = d.Rows
	}
	if d.Error || o.failed {
		h.status |= tds.DoneError
	}
	o.held, o.holding, o.failed, o.encoder = h, true, false, nil
	return o.wrote()
}

// Message implements Output.
func (o *output) Message(m Message) error {
	if err := o.open(); err != nil {
		return err
	}
	o.say(m)
	return o.wrote()
}

func (o *output) say(m Message) {
	w := o.conn.out
	w.buf = tds.AppendMessage(w.buf, o.conn.message(m))
	if m.Class > tds.MaxInfoClass {
		o.failed = true
	}
	o.class = max(o.class, m.Class)
}

// ReturnStatus implements Output.
func (o *output) ReturnStatus(n int32) error {
	if err := o.open(); err != nil {
		return err
	}
	w := o.conn.out
	w.buf = tds.AppendReturnStatus(w.buf, n)
	return o.wrote()
}

// ReturnValue implements Output.
func (o *output) ReturnValue(ordinal int, name string, t types.Type, v types.Value) error {
	if err := o.open(); err != nil {
		return err
	}
	w := o.conn.out
	var err error
	if w.buf, err = tds.AppendReturnValue(w.buf, ordinal, name, t, v); err != nil {
		o.fault = err
		return err
	}
	return o.wrote()
}

// Env implements Output.
func (o *output) Env(e EnvChange) error {
	// A client must learn of the end of its transaction even after an attention.
	if o.err != nil {
		return o.err
	}
	o.release(tds.DoneMore)
	w := o.conn.out
	switch e.Kind {
	case EnvDatabase:
		w.buf = tds.AppendEnvDatabase(w.buf, e.New, e.Old)
	case EnvLanguage:
		w.buf = tds.AppendEnvLanguage(w.buf, e.New, e.Old)
	case EnvCollation:
		w.buf = tds.AppendEnvCollation(w.buf, e.Collation)
	case EnvBeginTransaction:
		w.buf = tds.AppendEnvBegin(w.buf, e.Transaction)
	case EnvCommitTransaction:
		w.buf = tds.AppendEnvCommit(w.buf, e.Transaction)
	case EnvRollbackTransaction:
		w.buf = tds.AppendEnvRollback(w.buf, e.Transaction)
	default:
		o.fault = fmt.Errorf("wire: environment change of kind %d", e.Kind)
		return o.fault
	}
	return o.wrote()
}

// Flush implements Output. A DONE that is held back stays so: nothing follows it yet.
func (o *output) Flush() error {
	if err := o.check(); err != nil {
		return err
	}
	if err := o.conn.out.flush(); err != nil {
		o.lost(err)
	}
	return o.err
}

// internal reports a failure of the engine itself; it ends the connection.
func (o *output) internal(what string) {
	o.release(tds.DoneMore)
	m := ErrorMessage(sqlerr.New(8630, what).At(1))
	m.Class = fatalClass
	o.say(m)
}

// nextCall ends one call of an RPC request that has several.
func (o *output) nextCall() {
	o.release(tds.DoneMore)
	o.endCall(tds.DoneMore)
}

// endCall writes the DONEPROC of a call.
func (o *output) endCall(more tds.DoneStatus) {
	status := more
	if o.failed {
		status |= tds.DoneError
	}
	o.failed, o.encoder = false, nil
	w := o.conn.out
	w.buf = tds.AppendDone(w.buf, tds.DoneProc, status, tds.CommandExecute, 0)
}

// ignore makes the reply to a message that the client took back ([MS-TDS] 2.2.1.7).
func (o *output) ignore() {
	w := o.conn.out
	w.buf = tds.AppendDone(w.buf[:tds.HeaderSize], tds.DoneBatch, tds.DoneError, 0, 0)
}

// finish writes the end of the reply. With an attention the statement that ran
// has no end of its own, unless the two have crossed.
func (o *output) finish(attention bool) {
	w := o.conn.out
	o.failed = o.failed || attention && !o.holding
	if o.fault != nil {
		o.conn.log.Error().Err(o.fault).Msg("a result cannot be sent")
		o.release(tds.DoneMore)
		o.say(ErrorMessage(sqlerr.New(8630, o.fault).At(1)))
	}
	if o.rpc() {
		o.release(tds.DoneMore)
		o.endCall(0)
		return
	}
	if o.holding && o.held.kind != tds.DoneInProc && o.fault == nil {
		o.release(0)
		return
	}
	o.release(tds.DoneMore)
	status := tds.DoneStatus(0)
	if o.failed {
		status = tds.DoneError
	}
	w.buf = tds.AppendDone(w.buf, tds.DoneBatch, status, o.command, 0)
}

// Interrupted reports whether ctx has ended because the client cancelled the
// request, as opposed to the end of the connection.
func Interrupted(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrAttention) }

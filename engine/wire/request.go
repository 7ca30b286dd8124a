package wire

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/tds"
)

// request is a message of the client that wants a reply.
type request struct {
	typ       tds.PacketType
	status    tds.Status // of the first packet: the reset bits
	payload   []byte
	bulk      *bulkStream // instead of payload, for a bulk load
	ignored   bool        // the client took the message back
	ctx       context.Context
	cancel    context.CancelCauseFunc
	attention atomic.Bool
}

// read turns packets into requests until the connection ends. It is the
// reader's whole life.
func (c *conn) read(requests chan<- *request) error {
	defer c.cancel(ErrDisconnected)
	for {
		h, b, err := c.in.packet(c.takeBuffer())
		if err != nil {
			return err
		}
		switch h.Type {
		case tds.PacketAttention:
			c.giveBuffer(b)
			c.attend(requests)
			continue
		case tds.PacketBulk:
			if err := c.readBulk(h, b, requests); err != nil {
				return err
			}
			continue
		case tds.PacketBatch, tds.PacketRPC, tds.PacketTM:
		default:
			return fmt.Errorf("%w: packet type %d after the login", tds.ErrMalformed, h.Type)
		}
		last, b, err := c.in.rest(h, b, c.server.options.MaxMessage)
		if err != nil {
			return err
		}
		ignored := last.Status&tds.StatusIgnore != 0
		c.submit(&request{typ: h.Type, status: h.Status, payload: b, ignored: ignored}, requests)
	}
}

// takeBuffer returns an empty buffer for a message.
func (c *conn) takeBuffer() []byte {
	select {
	case b := <-c.buffers:
		return b[:0]
	default:
		return make([]byte, 0, 512)
	}
}

// giveBuffer takes a buffer back that nothing refers to.
func (c *conn) giveBuffer(b []byte) {
	if cap(b) == 0 || cap(b) > keepBuffer {
		return
	}
	select {
	case c.buffers <- b:
	default:
	}
}

// submit hands a request to the loop, once the one before is answered.
func (c *conn) submit(r *request, requests chan<- *request) {
	r.ctx, r.cancel = context.WithCancelCause(c.ctx)
	c.mu.Lock()
	for c.busy {
		c.idle.Wait()
	}
	c.busy, c.current = true, r
	c.mu.Unlock()
	requests <- r
}

// attend cancels the request that runs. If there is none, its reply and the
// attention have crossed, and the attention is a request of its own.
func (c *conn) attend(requests chan<- *request) {
	if !c.cancelCurrent() {
		c.submit(&request{typ: tds.PacketAttention}, requests)
	}
}

// cancelCurrent cancels the request that runs, if there is one whose reply is
// not complete.
func (c *conn) cancelCurrent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.current
	if r == nil {
		return false
	}
	r.attention.Store(true)
	r.cancel(ErrAttention)
	return true
}

// conclude takes the request out of the reach of attentions and reports whether
// one has come. What comes later gets a reply of its own.
func (c *conn) conclude() (attention bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.current
	c.current = nil
	return r != nil && (r.attention.Load() || r.typ == tds.PacketAttention)
}

// settle ends a request.
func (c *conn) settle(r *request) {
	r.cancel(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy, c.current = false, nil
	c.idle.Broadcast()
}

// handle runs one request and sends its reply. An error ends the connection.
//
// A reply that an attention has cut short ends as others do; a message of its
// own with DONE_ATTN follows. [MS-TDS] 4.19.2 allows that DONE in the reply itself, but
// tedious waits for the second message, which is what SQL Server sends.
func (c *conn) handle(r *request) error {
	defer c.settle(r)
	o := &c.output
	o.begin(r)
	fatal := c.execute(r)
	if r.bulk != nil {
		switch err := r.bulk.drain(); {
		case errors.Is(err, errTakenBack):
			r.ignored = true
		case err != nil:
			return err
		}
	}
	attention := c.conclude()
	switch {
	case r.ignored:
		o.ignore()
	case r.typ != tds.PacketAttention:
		o.finish(attention)
	}
	if r.typ != tds.PacketAttention {
		if err := errorsFirst(c.out.end(), o.err); err != nil {
			return err
		}
	}
	if attention {
		c.out.buf = tds.AppendDone(c.out.buf, tds.DoneBatch, tds.DoneAttn, 0, 0)
		if err := c.out.end(); err != nil {
			return err
		}
	}
	if fatal == nil && o.class >= fatalClass {
		return errFatal
	}
	return fatal
}

// fatalClass is the severity from which on an error ends the connection.
const fatalClass = 20

var errFatal = errors.New("wire: an error of severity 20 or more was sent")

// execute lets the session do what the request asks for. An error ends the
// connection; the client has been told.
func (c *conn) execute(r *request) (fatal error) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error().Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg("panic in a request")
			fatal = errors.New("wire: panic in a request")
			c.output.internal("panic")
		}
	}()
	if r.ignored {
		c.giveBuffer(r.payload)
		return nil
	}
	const reset = tds.StatusResetConnection | tds.StatusResetConnectionSkip
	if r.status&reset != 0 {
		if err := c.reset(r); err != nil {
			return err
		}
	}
	err := c.dispatch(r)
	if err == nil {
		return nil
	}
	var known *sqlerr.Error
	if errors.As(err, &known) {
		_ = c.output.Message(ErrorMessage(known.At(1)))
		return nil
	}
	_ = c.output.Message(ErrorMessage(sqlerr.New(4002).At(1)))
	return err
}

// reset makes the session as new.
func (c *conn) reset(r *request) error {
	before := c.session.Database()
	if err := c.session.Reset(r.ctx, r.status&tds.StatusResetConnectionSkip != 0); err != nil {
		c.output.internal("reset of the connection")
		return fmt.Errorf("wire: reset: %w", err)
	}
	c.out.buf = tds.AppendEnvReset(c.out.buf)
	if now := c.session.Database(); now != before {
		c.out.buf = tds.AppendEnvDatabase(c.out.buf, now, before)
	}
	return nil
}

// dispatch decodes the request and calls the session's method for it. An error is a
// fault of the message.
func (c *conn) dispatch(r *request) error {
	o := &c.output
	switch r.typ {
	case tds.PacketBatch:
		batch, err := tds.ParseBatch(r.payload)
		c.giveBuffer(r.payload)
		if err != nil {
			return err
		}
		c.session.Batch(r.ctx, batch.Text, o)
	case tds.PacketRPC:
		return c.call(r)
	case tds.PacketTM:
		req, err := tds.ParseTMRequest(r.payload)
		c.giveBuffer(r.payload)
		if err != nil {
			return err
		}
		o.command = tds.CommandCommitTran
		if req.Kind == tds.TMBegin {
			o.command = tds.CommandBeginTran
		}
		c.session.Transaction(r.ctx, req, o)
	case tds.PacketBulk:
		decoder, err := tds.NewBulkDecoder(r.bulk.next)
		if err != nil {
			if errors.Is(err, errTakenBack) || errors.Is(err, ErrDisconnected) {
				return nil // drain finds it again
			}
			return err
		}
		o.command = tds.CommandBulkInsert
		c.session.Bulk(r.ctx, BulkRequest{Columns: decoder.Columns(), Next: decoder.Next}, o)
	}
	return nil
}

// call runs the procedures of an RPC request.
func (c *conn) call(r *request) error {
	o := &c.output
	rpc, err := tds.ParseRPC(r.payload)
	c.giveBuffer(r.payload)
	if err != nil {
		return err
	}
	for i := range rpc.Calls {
		if i > 0 {
			o.nextCall()
		}
		call := &rpc.Calls[i]
		name := call.Name
		if call.ProcID != 0 {
			name = tds.ProcName(call.ProcID)
		}
		o.hide = call.NoMetadata
		c.session.RPC(r.ctx, Call{
			Name: name, ProcID: call.ProcID, Params: call.Params, NoMetadata: call.NoMetadata,
			Recompile: call.Recompile, NoExec: call.NoExec,
		}, o)
		if o.check() != nil || o.class >= fatalClass {
			return nil
		}
	}
	return nil
}

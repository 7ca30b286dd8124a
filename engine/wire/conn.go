package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"loopbroker/engine/tds"
)

// conn is one connection. Its goroutine runs the loop; the reader has its own.
type conn struct {
	server *Server
	nc     net.Conn
	log    zerolog.Logger
	ctx    context.Context // ends with the connection
	cancel context.CancelCauseFunc

	raw     *bufio.Reader // nc
	in      packetReader
	out     *packetWriter
	strict  bool
	version uint32 // of TDS
	session Session
	output  output
	buffers chan []byte // for messages, given back by the loop

	mu       sync.Mutex
	idle     sync.Cond // busy has become false
	busy     bool      // a request is here and its reply is not sent yet
	current  *request  // of it: the one that an attention is for
	draining bool      // close as soon as there is no request
}

// newConn returns a connection whose context ends with ctx.
func newConn(ctx context.Context, s *Server, nc net.Conn) *conn {
	c := &conn{
		server:  s,
		nc:      nc,
		log:     s.options.Logger.With().Stringer("client", nc.RemoteAddr()).Logger(),
		out:     newPacketWriter(nc, tds.DefaultPacketSize),
		buffers: make(chan []byte, 2),
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.output.conn = c
	c.idle.L = &c.mu
	return c
}

// run serves the connection to its end.
func (c *conn) run() error {
	defer c.cancel(ErrDisconnected)
	defer c.nc.Close()
	// The end of the context must wake what waits for the client.
	stop := context.AfterFunc(c.ctx, c.interrupt)
	defer stop()
	err := c.handshake(c.ctx)
	if c.session != nil {
		defer c.closeSession()
	}
	if err != nil {
		return c.ended(err)
	}

	requests := make(chan *request)
	readErr := make(chan error, 1)
	go func() {
		defer close(requests)
		readErr <- c.read(requests)
	}()
	err = c.loop(requests)
	// The reader ends with the connection.
	c.cancel(ErrDisconnected)
	_ = c.nc.Close()
	for r := range requests {
		c.settle(r)
	}
	return c.ended(errorsFirst(err, <-readErr))
}

// loop runs the requests, one after the other.
func (c *conn) loop(requests <-chan *request) error {
	for r := range requests {
		if err := c.handle(r); err != nil {
			return err
		}
		if c.ctx.Err() != nil || c.isDraining() {
			return nil
		}
	}
	return nil
}

// ended turns the ways in which a connection ends in peace into no error.
func (c *conn) ended(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe),
		errors.Is(err, errFatal):
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("wire: the client did not log in in time")
	}
	return err
}

// kill ends the connection: the request that runs is cancelled, and what it
// has to say is still sent.
func (c *conn) kill(cause error) {
	c.mu.Lock()
	c.draining = true
	c.mu.Unlock()
	c.cancel(cause)
}

// drain closes the connection, after the request that runs.
func (c *conn) drain() {
	c.mu.Lock()
	c.draining = true
	c.mu.Unlock()
	c.closeIdle()
}

// closeIdle closes the connection unless a request runs, whose end does it then.
func (c *conn) closeIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.busy {
		_ = c.nc.Close()
	}
}

// lastWords is the time that a client has to take the reply of a request
// that was cancelled because the connection ends.
const lastWords = 2 * time.Second

// interrupt follows the end of the connection's context: nothing must wait for
// the client any more.
func (c *conn) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.busy {
		_ = c.nc.Close()
		return
	}
	now := time.Now()
	_ = c.nc.SetReadDeadline(now)
	_ = c.nc.SetWriteDeadline(now.Add(lastWords))
}

func (c *conn) isDraining() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.draining
}

// closeSession ends the session; a panic in it must not end the server.
func (c *conn) closeSession() {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error().Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg("panic at the end of a session")
		}
	}()
	c.session.Close()
}

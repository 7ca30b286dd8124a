package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"loopbroker/engine/tds"
)

// Server serves TDS connections. Create one with New; it is safe for
// concurrent use.
type Server struct {
	backend     Backend
	options     Options
	certificate func() (tls.Certificate, error)

	mu        sync.Mutex
	conns     map[*conn]struct{}
	listeners map[net.Listener]struct{}
	stopping  bool
	running   sync.WaitGroup // connections and accept loops
}

// ErrServerClosed is returned by Serve and ServeConn once Shutdown was called.
var ErrServerClosed = errors.New("wire: the server is closed")

// New returns a server of the backend's sessions. An error is a fault of the
// options.
func New(backend Backend, options Options) (*Server, error) {
	options = options.WithDefaults()
	if err := options.Validate(); err != nil {
		return nil, err
	}
	return &Server{
		backend:     backend,
		options:     options,
		certificate: sync.OnceValues(selfSigned),
		conns:       make(map[*conn]struct{}),
		listeners:   make(map[net.Listener]struct{}),
	}, nil
}

// Pauses after a failing Accept, which happens when there are no file
// descriptors left.
const (
	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

// Serve accepts connections until the context ends or Shutdown is called, and
// closes the listener. The end of the context ends the connections too; Serve
// does not wait for them (Shutdown does). It returns the context's cause, ErrServerClosed,
// or the error of a listener that has failed for good.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	if !s.addListener(ln) {
		return errors.Join(ErrServerClosed, ln.Close())
	}
	defer s.removeListener(ln)
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	pause := time.Duration(0)
	for {
		nc, err := ln.Accept()
		switch {
		case err == nil:
			pause = 0
			if s.begin() {
				go func() {
					defer s.running.Done()
					_ = s.serve(ctx, nc)
				}()
				continue
			}
			_ = nc.Close()
			return ErrServerClosed
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case s.isStopping():
			return ErrServerClosed
		case errors.Is(err, net.ErrClosed):
			return err
		}
		pause = min(max(2*pause, acceptPauseMin), acceptPauseMax)
		s.options.Logger.Warn().Err(err).Dur("pause", pause).Msg("accept failed")
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// ServeConn serves one connection and returns when it has ended and its session
// is closed; it closes nc. The end of the context ends the connection. A
// connection that the client has closed is no error.
func (s *Server) ServeConn(ctx context.Context, nc net.Conn) error {
	if !s.begin() {
		return errors.Join(ErrServerClosed, nc.Close())
	}
	defer s.running.Done()
	return s.serve(ctx, nc)
}

// DialContext connects to the server in memory and serves the connection; network and address are
// ignored. With HostName it makes the Server the Dialer of a *mssql.Connector.
// The context's end does not end the connection, as with a net.Dialer.
func (s *Server) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	if !s.begin() {
		return nil, ErrServerClosed
	}
	client, server := Pipe()
	go func() {
		defer s.running.Done()
		_ = s.serve(context.WithoutCancel(ctx), server)
	}()
	return client, nil
}

// HostName keeps a *mssql.Connector from looking up the name of the host.
func (s *Server) HostName() string { return s.options.ServerName }

// Shutdown closes the listeners and the connections that run no request, and
// waits for the others to finish theirs. When the context ends their requests
// are cancelled with the cause ErrShutdown, and Shutdown waits until the sessions have
// ended. It returns the context's error if that was necessary.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	for ln := range s.listeners {
		_ = ln.Close()
	}
	for c := range s.conns {
		c.drain()
	}
	s.mu.Unlock()

	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.conns {
		c.kill(ErrShutdown)
	}
	s.mu.Unlock()
	<-done
	return ctx.Err()
}

// Connections returns the number of connections, those that log in included.
func (s *Server) Connections() int { return s.count() }

func (s *Server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// begin announces a connection, unless the server stops.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.running.Add(1)
	return true
}

func (s *Server) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

func (s *Server) addListener(ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.listeners[ln] = struct{}{}
	s.running.Add(1)
	return true
}

func (s *Server) removeListener(ln net.Listener) {
	_ = ln.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, ln)
	s.running.Done()
}

// serve runs a connection.
func (s *Server) serve(ctx context.Context, nc net.Conn) error {
	c := newConn(ctx, s, nc)
	s.mu.Lock()
	s.conns[c] = struct{}{}
	if s.stopping {
		c.drain()
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	err := c.run()
	switch {
	case err == nil, errors.Is(err, errRefused):
		return nil
	case errors.Is(err, tds.ErrMalformed):
		c.log.Warn().Err(err).Msg("connection ended")
	default:
		c.log.Debug().Err(err).Msg("connection ended")
	}
	return err
}

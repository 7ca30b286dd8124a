package wire

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Pipe returns the two ends of a connection in memory. Unlike net.Pipe's, a
// write returns as soon as the data is in the buffer, so that a request
// and its reply cost no more than two switches of goroutines.
func Pipe() (client, server net.Conn) {
	up, down := newStream(), newStream()
	return &memConn{in: down, out: up}, &memConn{in: up, out: down}
}

// streamCapacity is the number of bytes that wait in one direction before a
// writer has to.
const streamCapacity = 256 << 10

// stream is one direction of a memConn.
type stream struct {
	mu       sync.Mutex
	readable sync.Cond // data, an end, or a deadline
	writable sync.Cond // room, an end, or a deadline
	buf      []byte
	start    int // buf[start:] is not read yet

	writerClosed bool // no more data will come
	readerClosed bool // nobody reads any more
	readBy       deadline
	writeBy      deadline
}

func newStream() *stream {
	s := &stream{}
	s.readable.L = &s.mu
	s.writable.L = &s.mu
	return s
}

// deadline is one of a stream's two deadlines, guarded by its mutex.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

// passed reports whether the deadline is over.
func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

// set changes the deadline; wake is called when it passes. The caller holds the mutex.
func (d *deadline) set(t time.Time, mu *sync.Mutex, wake *sync.Cond) {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.at = t
	wake.Broadcast()
	if t.IsZero() {
		return
	}
	if left := time.Until(t); left > 0 {
		d.timer = time.AfterFunc(left, func() {
			mu.Lock()
			defer mu.Unlock()
			wake.Broadcast()
		})
	}
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.readerClosed:
			return 0, net.ErrClosed
		case s.readBy.passed():
			return 0, os.ErrDeadlineExceeded
		case s.start < len(s.buf):
			n := copy(p, s.buf[s.start:])
			s.start += n
			if s.start == len(s.buf) {
				s.start, s.buf = 0, s.buf[:0]
			}
			s.writable.Signal()
			return n, nil
		case s.writerClosed:
			return 0, io.EOF
		case len(p) == 0:
			return 0, nil
		}
		s.readable.Wait()
	}
}

func (s *stream) write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := 0
	for {
		switch {
		case s.writerClosed:
			return done, net.ErrClosed
		case s.readerClosed:
			return done, io.ErrClosedPipe
		case s.writeBy.passed():
			return done, os.ErrDeadlineExceeded
		case len(p) == 0:
			return done, nil
		}
		room := streamCapacity - (len(s.buf) - s.start)
		if room == 0 {
			s.writable.Wait()
			continue
		}
		if s.start > 0 && len(s.buf)+min(room, len(p)) > cap(s.buf) {
			s.buf = s.buf[:copy(s.buf, s.buf[s.start:])]
			s.start = 0
		}
		n := min(room, len(p))
		s.buf = append(s.buf, p[:n]...)
		p = p[n:]
		done += n
		s.readable.Signal()
	}
}

// end marks one side of the stream as closed, which wakes everybody.
func (s *stream) end(side *bool, d *deadline) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*side = true
	if d.timer != nil {
		d.timer.Stop()
	}
	if s.readerClosed {
		s.buf, s.start = nil, 0
	}
	s.readable.Broadcast()
	s.writable.Broadcast()
}

// memConn is one end of a Pipe.
type memConn struct{ in, out *stream }

func (c *memConn) Read(p []byte) (int, error)  { return c.in.read(p) }
func (c *memConn) Write(p []byte) (int, error) { return c.out.write(p) }

// Close implements net.Conn. What has been written can still be read by the
// other end.
func (c *memConn) Close() error {
	c.out.end(&c.out.writerClosed, &c.out.writeBy)
	c.in.end(&c.in.readerClosed, &c.in.readBy)
	return nil
}

func (c *memConn) SetDeadline(t time.Time) error {
	return errorsFirst(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *memConn) SetReadDeadline(t time.Time) error {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	if c.in.readerClosed {
		return net.ErrClosed
	}
	c.in.readBy.set(t, &c.in.mu, &c.in.readable)
	return nil
}

func (c *memConn) SetWriteDeadline(t time.Time) error {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if c.out.writerClosed {
		return net.ErrClosed
	}
	c.out.writeBy.set(t, &c.out.mu, &c.out.writable)
	return nil
}

func errorsFirst(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *memConn) LocalAddr() net.Addr  { return memAddr{} }
func (c *memConn) RemoteAddr() net.Addr { return memAddr{} }

// memAddr is the address of both ends of a Pipe.
type memAddr struct{}

func (memAddr) Network() string { return "memory" }
func (memAddr) String() string  { return "<local machine>" }

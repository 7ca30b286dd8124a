package wire

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"loopbroker/engine/tds"
)

// bulkBudget is the number of bytes of a bulk load that wait for the session
// before the client has to.
const bulkBudget = 16 << 20

// errTakenBack ends a bulk load that the client has given up.
var errTakenBack = errors.New("wire: the client took the bulk load back")

// bulkStream carries the packets of a bulk load from the reader to the loop.
type bulkStream struct {
	conn    *conn
	mu      sync.Mutex
	changed sync.Cond
	chunks  [][]byte
	size    int
	err     error  // set at the end: io.EOF, or why there is no more
	ignore  bool   // nobody wants the rest
	last    []byte // given out by next
}

func newBulkStream(c *conn) *bulkStream {
	s := &bulkStream{conn: c}
	s.changed.L = &s.mu
	return s
}

// readBulk passes on a bulk load whose first packet is there. The request begins at
// once; its rows follow as they arrive.
func (c *conn) readBulk(h tds.Header, b []byte, requests chan<- *request) error {
	s := newBulkStream(c)
	status := h.Status
	c.submit(&request{typ: tds.PacketBulk, status: status, bulk: s}, requests)
	for {
		s.push(b)
		if h.Status&tds.StatusEOM != 0 {
			if h.Status&tds.StatusIgnore != 0 {
				s.end(errTakenBack)
			} else {
				s.end(io.EOF)
			}
			return nil
		}
		var err error
		if h, b, err = c.in.packet(c.takeBuffer()); err != nil {
			s.end(fmt.Errorf("%w: %w", ErrDisconnected, err))
			return err
		}
		if h.Type != tds.PacketBulk {
			err = fmt.Errorf("%w: packet type %d within a bulk load", tds.ErrMalformed, h.Type)
			s.end(fmt.Errorf("%w: %w", ErrDisconnected, err))
			return err
		}
	}
}

// push adds a packet's payload. It waits while too much is there already.
func (s *bulkStream) push(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.size > bulkBudget { // drain makes it 0
		s.changed.Wait()
	}
	if s.ignore {
		s.conn.giveBuffer(b)
		return
	}
	s.chunks = append(s.chunks, b)
	s.size += len(b)
	s.changed.Broadcast()
}

// end marks the end of the stream.
func (s *bulkStream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	s.changed.Broadcast()
}

// next returns the next bytes, good until the next call.
func (s *bulkStream) next() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn.giveBuffer(s.last)
	s.last = nil
	for len(s.chunks) == 0 && s.err == nil {
		s.changed.Wait()
	}
	if len(s.chunks) == 0 {
		return nil, s.err
	}
	s.last = s.chunks[0]
	s.chunks = s.chunks[1:]
	s.size -= len(s.last)
	s.changed.Broadcast()
	return s.last, nil
}

// drain throws the rest away and waits for the end of the message. An error
// means that the message did not end as it should.
func (s *bulkStream) drain() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ignore = true
	s.chunks, s.size = nil, 0
	s.changed.Broadcast()
	for s.err == nil {
		s.changed.Wait()
	}
	if s.err == io.EOF { //nolint:errorlint // a lost connection wraps io.EOF and is another end
		return nil
	}
	return s.err
}

package wire

import (
	"fmt"
	"io"

	"loopbroker/engine/tds"
)

// Sizes of buffers.
const (
	readBuffer = 8 << 10
	// keepBuffer is the largest buffer that is kept for the next message.
	keepBuffer = 64 << 10
	// flushAt is the number of bytes of a reply that are collected before they
	// are written.
	flushAt = 16 << 10
)

// packetReader reads packets from a connection.
type packetReader struct {
	r    io.Reader
	head [tds.HeaderSize]byte
}

// packet appends the payload of the next packet to dst.
func (p *packetReader) packet(dst []byte) (tds.Header, []byte, error) {
	if _, err := io.ReadFull(p.r, p.head[:]); err != nil {
		return tds.Header{}, dst, err
	}
	h, err := tds.ParseHeader(p.head[:])
	if err != nil {
		return h, dst, err
	}
	at := len(dst)
	n := int(h.Length) - tds.HeaderSize
	dst = append(dst, make([]byte, n)...)
	if _, err := io.ReadFull(p.r, dst[at:]); err != nil {
		return h, dst, err
	}
	return h, dst, nil
}

// rest appends the payloads of the packets of the message that h begins, up to its
// end. The message may have limit bytes.
func (p *packetReader) rest(h tds.Header, dst []byte, limit int) (tds.Header, []byte, error) {
	first := h
	for h.Status&tds.StatusEOM == 0 {
		var err error
		if h, dst, err = p.packet(dst); err != nil {
			return h, dst, err
		}
		if h.Type != first.Type {
			return h, dst, fmt.Errorf("%w: packet type %d within a message of type %d", tds.ErrMalformed, h.Type, first.Type)
		}
		if len(dst) > limit {
			return h, dst, fmt.Errorf("%w: a message of more than %d bytes", tds.ErrMalformed, limit)
		}
	}
	return h, dst, nil
}

// message reads a whole message of the given type.
func (p *packetReader) message(typ tds.PacketType, limit int) ([]byte, error) {
	h, b, err := p.packet(nil)
	if err != nil {
		return nil, err
	}
	if h.Type != typ {
		return nil, fmt.Errorf("%w: packet type %d instead of %d", tds.ErrMalformed, h.Type, typ)
	}
	_, b, err = p.rest(h, b, limit)
	return b, err
}

// packetWriter collects a reply and writes it in packets.
type packetWriter struct {
	w    io.Writer
	size int // of a packet
	spid uint16
	id   byte // of the next packet of the message
	// buf begins with room for a packet's header; the payload that is not
	// written yet follows. A reply that fits into one packet is not copied.
	buf     []byte
	packets []byte // reused
}

func newPacketWriter(w io.Writer, size int) *packetWriter {
	return &packetWriter{w: w, size: size, id: 1, buf: make([]byte, tds.HeaderSize, 512)}
}

// pending is the number of payload bytes that are not written.
func (p *packetWriter) pending() int { return len(p.buf) - tds.HeaderSize }

// spill writes the whole packets that are there, if there is enough to be
// worth it.
func (p *packetWriter) spill() error {
	room := p.size - tds.HeaderSize
	if p.pending() < max(flushAt, room+1) {
		return nil
	}
	// One byte at least stays: the last packet carries EOM.
	n := (p.pending() - 1) / room * room
	return p.send(n, false)
}

// flush writes everything; the message goes on.
func (p *packetWriter) flush() error {
	if p.pending() == 0 {
		return nil
	}
	return p.send(p.pending(), false)
}

// end writes everything and ends the message.
func (p *packetWriter) end() error {
	err := p.send(p.pending(), true)
	p.id = 1
	return err
}

// send writes the first n bytes of the payload.
func (p *packetWriter) send(n int, last bool) error {
	var err error
	if n+tds.HeaderSize <= p.size {
		h := tds.Header{Type: tds.PacketReply, Length: uint16(n + tds.HeaderSize), SPID: p.spid, ID: p.id}
		if last {
			h.Status = tds.StatusEOM
		}
		tds.PutHeader(p.buf, h)
		p.id++
		_, err = p.w.Write(p.buf[:n+tds.HeaderSize])
	} else {
		payload := p.buf[tds.HeaderSize : tds.HeaderSize+n]
		p.packets = tds.AppendPackets(p.packets[:0], tds.PacketReply, p.spid, p.size, p.id, payload, last)
		room := p.size - tds.HeaderSize
		p.id += byte((n + room - 1) / room)
		_, err = p.w.Write(p.packets)
	}
	left := copy(p.buf[tds.HeaderSize:], p.buf[tds.HeaderSize+n:])
	p.buf = p.buf[:tds.HeaderSize+left]
	if last {
		p.shrink()
	}
	return err
}

// shrink gives up what a big reply has needed.
func (p *packetWriter) shrink() {
	if cap(p.buf) > keepBuffer {
		p.buf = make([]byte, tds.HeaderSize, 512)
	}
	if cap(p.packets) > keepBuffer {
		p.packets = nil
	}
}

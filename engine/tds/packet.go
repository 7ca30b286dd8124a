package tds

import (
	"encoding/binary"
	"fmt"
)

// PacketType is the kind of a message, the first byte of each of its packets
// ([MS-TDS] 2.2.3.1.1).
type PacketType byte

// The packet types.
const (
	PacketBatch     PacketType = 1
	PacketRPC       PacketType = 3
	PacketReply     PacketType = 4
	PacketAttention PacketType = 6
	PacketBulk      PacketType = 7
	PacketFedAuth   PacketType = 8
	PacketTM        PacketType = 14
	PacketLogin7    PacketType = 16
	PacketSSPI      PacketType = 17
	PacketPrelogin  PacketType = 18
)

// Status holds the status bits of a packet ([MS-TDS] 2.2.3.1.2).
type Status byte

// The status bits.
const (
	StatusEOM                 Status = 0x01 // the last packet of the message
	StatusIgnore              Status = 0x02 // with EOM: the client takes the message back
	StatusResetConnection     Status = 0x08
	StatusResetConnectionSkip Status = 0x10 // reset, but keep the transaction
)

// HeaderSize is the size of a packet's header.
const HeaderSize = 8

// The limits of the packet size, header included ([MS-TDS] 2.2.6.4 PacketSize).
const (
	MinPacketSize     = 512
	DefaultPacketSize = 4096
	MaxPacketSize     = 32767
	// MaxEncryptedPacketSize is the limit on an encrypted connection: a packet
	// is to fit into one TLS record.
	MaxEncryptedPacketSize = 16383
)

// Header is the header of a packet ([MS-TDS] 2.2.3.1).
type Header struct {
	Type   PacketType
	Status Status
	// Length is that of the whole packet, the header included.
	Length uint16
	SPID   uint16
	ID     byte
}

// ParseHeader reads a header. The packet type must be one that exists, so that
// garbage is recognized by its first byte.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, ErrShort
	}
	h := Header{
		Type:   PacketType(b[0]),
		Status: Status(b[1]),
		Length: binary.BigEndian.Uint16(b[2:]),
		SPID:   binary.BigEndian.Uint16(b[4:]),
		ID:     b[6],
	}
	if h.Length < HeaderSize {
		return Header{}, fmt.Errorf("%w: packet length %d", ErrMalformed, h.Length)
	}
	switch h.Type {
	case PacketBatch, PacketRPC, PacketReply, PacketAttention, PacketBulk, PacketFedAuth, PacketTM, PacketLogin7,
		PacketSSPI, PacketPrelogin:
		return h, nil
	}
	return Header{}, fmt.Errorf("%w: packet type %d", ErrMalformed, h.Type)
}

// PutHeader writes h into the first HeaderSize bytes of dst.
func PutHeader(dst []byte, h Header) {
	_ = dst[HeaderSize-1]
	dst[0] = byte(h.Type)
	dst[1] = byte(h.Status)
	binary.BigEndian.PutUint16(dst[2:], h.Length)
	binary.BigEndian.PutUint16(dst[4:], h.SPID)
	dst[6] = h.ID
	dst[7] = 0 // Window, unused
}

// AppendPackets appends a message's payload cut into packets of the given size.
// The first packet has the number firstID; the last one has EOM if last is set. It is meant
// for whole packets: without last the payload must be a multiple of size - HeaderSize.
func AppendPackets(dst []byte, typ PacketType, spid uint16, size int, firstID byte, payload []byte, last bool) []byte {
	id := firstID
	for {
		n := min(len(payload), size-HeaderSize)
		h := Header{Type: typ, Length: uint16(n + HeaderSize), SPID: spid, ID: id}
		if last && n == len(payload) {
			h.Status = StatusEOM
		}
		var head [HeaderSize]byte
		PutHeader(head[:], h)
		dst = append(append(dst, head[:]...), payload[:n]...)
		payload = payload[n:]
		id++
		if len(payload) == 0 {
			return dst
		}
	}
}

// ClampPacketSize returns the packet size to use for a client that asks for
// the given one: limit at most, the default for 0.
func ClampPacketSize(asked, limit int) int {
	if asked == 0 {
		asked = DefaultPacketSize
	}
	return max(MinPacketSize, min(asked, limit))
}

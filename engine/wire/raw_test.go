package wire_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"

	"loopbroker/engine/tds"
	"loopbroker/engine/types"
)

// rawClient speaks just enough TDS to send what a driver would not.
type rawClient struct {
	t  testing.TB
	nc net.Conn
	r  io.Reader
	// out and in are reused by the benchmarks.
	in []byte
}

func newRawClient(t testing.TB, nc net.Conn) *rawClient {
	t.Helper()
	t.Cleanup(func() { _ = nc.Close() })
	return &rawClient{t: t, nc: nc, r: nc}
}

func (c *rawClient) send(typ tds.PacketType, status tds.Status, payload []byte) {
	c.t.Helper()
	b := make([]byte, tds.HeaderSize, tds.HeaderSize+len(payload))
	tds.PutHeader(b, tds.Header{Type: typ, Status: status, Length: uint16(len(payload) + tds.HeaderSize), ID: 1})
	if _, err := c.nc.Write(append(b, payload...)); err != nil {
		c.t.Fatal(err)
	}
}

// receive reads one message.
func (c *rawClient) receive() []byte {
	c.t.Helper()
	c.in = c.in[:0]
	for {
		var head [tds.HeaderSize]byte
		if _, err := io.ReadFull(c.r, head[:]); err != nil {
			c.t.Fatal(err)
		}
		h, err := tds.ParseHeader(head[:])
		if err != nil {
			c.t.Fatal(err)
		}
		at := len(c.in)
		c.in = append(c.in, make([]byte, int(h.Length)-tds.HeaderSize)...)
		if _, err := io.ReadFull(c.r, c.in[at:]); err != nil {
			c.t.Fatal(err)
		}
		if h.Status&tds.StatusEOM != 0 {
			return c.in
		}
	}
}

// drain reads to the end of the connection.
func (c *rawClient) drain() {
	c.t.Helper()
	if _, err := io.Copy(io.Discard, c.r); err != nil && !errors.Is(err, net.ErrClosed) {
		c.t.Errorf("got %v, want the end of the connection", err)
	}
}

// login logs in without encryption.
func (c *rawClient) login(user, secret string) {
	c.t.Helper()
	c.send(tds.PacketPrelogin, tds.StatusEOM, []byte{1, 0, 6, 0, 1, 0xFF, byte(tds.EncryptNotSup)})
	if answer, err := tds.ParsePrelogin(c.receive()); err != nil || answer.Encryption != tds.EncryptNotSup || answer.MARS {
		c.t.Fatalf("got PRELOGIN %+v, %v", answer, err)
	}
	c.send(tds.PacketLogin7, tds.StatusEOM, rawLogin(user, secret))
	if b := c.receive(); b[0] != 0xE3 {
		c.t.Fatalf("login: got token 0x%02X", b[0])
	}
}

// rawLogin returns a LOGIN7 message.
func rawLogin(user, secret string) []byte {
	const fixed = 94
	b := make([]byte, fixed)
	binary.LittleEndian.PutUint32(b[4:], tds.Version74)
	binary.LittleEndian.PutUint32(b[8:], tds.DefaultPacketSize)
	put := func(pair int, data []byte) {
		binary.LittleEndian.PutUint16(b[pair:], uint16(len(b)))
		binary.LittleEndian.PutUint16(b[pair+2:], uint16(len(data)/2))
		b = append(b, data...)
	}
	put(40, types.EncodeUTF16(user))
	hidden := types.EncodeUTF16(secret)
	for i, v := range hidden {
		hidden[i] = (v<<4 | v>>4) ^ 0xA5
	}
	put(44, hidden)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}

// headers is ALL_HEADERS outside of a transaction.
var headers = []byte{22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}

func (c *rawClient) batch(text string) {
	c.t.Helper()
	c.send(tds.PacketBatch, tds.StatusEOM, types.AppendUTF16(append([]byte(nil), headers...), text))
}

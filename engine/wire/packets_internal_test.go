package wire

import (
	"bytes"
	"testing"

	"loopbroker/engine/tds"
)

// TestPacketWriter checks the packets of replies of many sizes: numbered from
// 1, full but for the last and those that a flush has ended early, EOM on the
// last only, which is empty only if the whole reply is.
func TestPacketWriter(t *testing.T) {
	t.Parallel()
	const room = tds.MinPacketSize - tds.HeaderSize
	for _, size := range []int{0, 1, room - 1, room, room + 1, flushAt / room * room, 33 * room, 33*room + 1, 300 * room, 300*room - 1} {
		for _, step := range []int{1, 7, room, 3*room + 1, 100_000} {
			var out bytes.Buffer
			w := newPacketWriter(&out, tds.MinPacketSize)
			w.spid = 51
			for reply := range 2 {
				out.Reset()
				var want []byte
				for n := 0; n < size; n += step {
					for i := range min(step, size-n) {
						w.buf = append(w.buf, byte(n+i))
						want = append(want, byte(n+i))
					}
					if err := w.spill(); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.end(); err != nil {
					t.Fatal(err)
				}
				checkPackets(t, out.Bytes(), want, reply, step)
			}
		}
	}
}

func checkPackets(t *testing.T, b, want []byte, reply, step int) {
	t.Helper()
	var got []byte
	for id := byte(1); ; id++ {
		h, err := tds.ParseHeader(b)
		if err != nil || int(h.Length) > len(b) {
			t.Fatalf("size %d, step %d, reply %d: header %+v, %v", len(want), step, reply, h, err)
		}
		got = append(got, b[tds.HeaderSize:h.Length]...)
		b = b[h.Length:]
		last := h.Status == tds.StatusEOM
		if h.Type != tds.PacketReply || h.SPID != 51 || h.ID != id || last != (len(b) == 0) || !last && h.Length != tds.MinPacketSize ||
			last && h.Length == tds.HeaderSize && len(want) > 0 {
			t.Fatalf("size %d, step %d, reply %d: packet %d is %+v with %d bytes left", len(want), step, reply, id, h, len(b))
		}
		if last {
			break
		}
	}
	if !bytes.Equal(got, want) {
		t.Errorf("size %d, step %d, reply %d: got %d bytes, or other content", len(want), step, reply, len(got))
	}
}

// TestPacketWriterOneWrite checks that a reply of a few KB is one write.
func TestPacketWriterOneWrite(t *testing.T) {
	t.Parallel()
	var writes counter
	w := newPacketWriter(&writes, tds.DefaultPacketSize)
	w.buf = append(w.buf, make([]byte, 10_000)...)
	if err := w.spill(); err != nil {
		t.Fatal(err)
	}
	if err := w.end(); err != nil {
		t.Fatal(err)
	}
	if writes != 1 {
		t.Errorf("got %d writes, want 1", writes)
	}
	if cap(w.buf) > keepBuffer {
		t.Errorf("a buffer of %d bytes is kept", cap(w.buf))
	}
}

// counter counts writes.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c++
	return len(p), nil
}

package wire_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"loopbroker/engine/wire"
)

func TestPipeCarriesEverything(t *testing.T) {
	t.Parallel()
	client, server := wire.Pipe()
	r := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 3<<20)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	go func() {
		w := rand.New(rand.NewPCG(3, 4))
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 1+w.IntN(100_000))
			if _, err := client.Write(rest[:n]); err != nil {
				t.Error(err)
				break
			}
			rest = rest[n:]
		}
		_ = client.Close()
	}()
	var got bytes.Buffer
	buf := make([]byte, 1<<17)
	for {
		n, err := server.Read(buf[:1+r.IntN(len(buf))])
		got.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got.Bytes(), data) {
		t.Errorf("got %d bytes, want %d, or other content", got.Len(), len(data))
	}
	if _, err := server.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write to a closed reader: got %v, want %v", err, io.ErrClosedPipe)
	}
}

func TestPipeWriteDoesNotWait(t *testing.T) {
	t.Parallel()
	client, server := wire.Pipe()
	if n, err := client.Write(make([]byte, 100_000)); n != 100_000 || err != nil {
		t.Fatalf("got %d, %v", n, err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, server); n != 100_000 || err != nil {
		t.Errorf("got %d, %v after the other end was closed", n, err)
	}
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want %v", err, net.ErrClosed)
	}
	if _, err := client.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want %v", err, net.ErrClosed)
	}
}

func TestPipeDeadlines(t *testing.T) {
	t.Parallel()
	client, server := wire.Pipe()
	defer client.Close()
	defer server.Close()
	past := time.Now().Add(-time.Second)
	for name, set := range map[string]func(time.Time) error{"read": client.SetReadDeadline, "both": client.SetDeadline} {
		if err := set(past); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: got %v, want %v", name, err, os.ErrDeadlineExceeded)
		}
		if err := set(time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	// A deadline that passes, or that is set, while the call waits.
	if err := client.SetReadDeadline(time.Now().Add(5 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want %v", err, os.ErrDeadlineExceeded)
	}
	done := make(chan error, 1)
	go func() {
		_, err := server.Write(make([]byte, 1<<20)) // more than there is room for
		done <- err
	}()
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want %v: the deadline stays", err, os.ErrDeadlineExceeded)
	}
	if err := server.SetWriteDeadline(past); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want %v", err, os.ErrDeadlineExceeded)
	}
	// Without a deadline everything works on.
	if err := client.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := server.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := server.Write(make([]byte, 10)) // waits for room, if the write above has filled it
		done <- err
	}()
	defer func() { _ = client.Close(); <-done }()
	if n, err := client.Read(make([]byte, 10)); n != 10 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	var ne net.Error
	if err := os.ErrDeadlineExceeded; !errors.As(err, &ne) || !ne.Timeout() {
		t.Error("the deadline's error is no timeout")
	}
}

func TestPipeCloseWakes(t *testing.T) {
	t.Parallel()
	client, server := wire.Pipe()
	done := make(chan error, 2)
	go func() {
		_, err := server.Read(make([]byte, 1))
		done <- err
	}()
	go func() {
		_, err := server.Write(make([]byte, 1<<20))
		done <- err
	}()
	_ = client.Close()
	for range 2 {
		if err := <-done; !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v", err)
		}
	}
}

package wire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"testing"

	"loopbroker/engine/tds"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

// BenchmarkRoundTrip measures a request and its reply over a connection in
// memory or TCP, the client's share of raw bytes included.
func BenchmarkRoundTrip(b *testing.B) {
	batch := slices.Concat(headers, types.EncodeUTF16("select 1"))
	call := slices.Concat(headers, execCall("echo all"), execParams())
	for _, bc := range []struct {
		name    string
		typ     tds.PacketType
		payload []byte
	}{{"batch", tds.PacketBatch, batch}, {"rpc", tds.PacketRPC, call}} {
		for _, network := range []string{"memory", "tcp"} {
			b.Run(bc.name+"/"+network, func(b *testing.B) {
				s, err := wire.New(&backend{}, wire.Options{})
				if err != nil {
					b.Fatal(err)
				}
				var c *rawClient
				if network == "memory" {
					c = rawLoggedIn(b, s)
				} else {
					ln, err := net.Listen("tcp", "127.0.0.1:0")
					if err != nil {
						b.Fatal(err)
					}
					go func() { _ = s.Serve(context.Background(), ln) }()
					nc, err := net.Dial("tcp", ln.Addr().String())
					if err != nil {
						b.Fatal(err)
					}
					c = newRawClient(b, nc)
					c.login("sa", password)
				}
				request := make([]byte, tds.HeaderSize)
				tds.PutHeader(request, tds.Header{Type: bc.typ, Status: tds.StatusEOM, Length: uint16(len(bc.payload) + tds.HeaderSize), ID: 1})
				request = append(request, bc.payload...)
				reply := make([]byte, 4096)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.nc.Write(request); err != nil {
						b.Fatal(err)
					}
					n, err := c.nc.Read(reply)
					if err != nil || n < 20 {
						b.Fatal(n, err)
					}
				}
				_ = c.nc.Close()
				if err := s.Shutdown(context.Background()); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// execParams are the declaration and two parameters for execCall.
func execParams() []byte {
	b := []byte{0, 0, 0xE7, 0x40, 0x1F, 9, 4, 0xD0, 0, 0x34, 4, 0, '@', 0, 'p', 0}
	b = append(b, 2, '@', 0, 'p', 0, 0, 0x26, 4, 4, 7, 0, 0, 0)
	return append(b, 2, '@', 0, 'q', 0, 0, 0xE7, 0x40, 0x1F, 9, 4, 0xD0, 0, 0x34, 6, 0, 'a', 0, 'b', 0, 'c', 0)
}

// BenchmarkRows measures a result set of 1000 rows.
func BenchmarkRows(b *testing.B) {
	row := []types.Value{types.NewInt(1), types.NewNVarChar("a short name"), types.NewDateTime2(738944, 432_000_000_000, 7), types.Null}
	be := &backend{batches: map[string]batchFunc{"rows": func(_ context.Context, _ *session, out wire.Output) {
		_ = out.Columns([]wire.Column{
			{Name: "id", Type: types.TypeInt}, {Name: "name", Type: types.NVarChar(50)}, {Name: "at", Type: types.DateTime2(7)},
			{Name: "note", Type: types.NVarChar(types.Max), Nullable: true},
		})
		for range 1000 {
			if out.Row(row) != nil {
				return
			}
		}
		_ = out.Done(wire.Done{Rows: 1000, HasRows: true, Command: wire.CommandSelect})
	}}}
	s, err := wire.New(be, wire.Options{})
	if err != nil {
		b.Fatal(err)
	}
	c := rawLoggedIn(b, s)
	b.ReportAllocs()
	for b.Loop() {
		c.batch("rows")
		b.SetBytes(int64(len(c.receive())))
	}
	_ = c.nc.Close()
	if err := s.Shutdown(context.Background()); err != nil && !errors.Is(err, io.EOF) {
		b.Fatal(err)
	}
}

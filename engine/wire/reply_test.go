package wire_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/tds"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

// The tokens of expected replies.
func done(kind tds.DoneKind, status tds.DoneStatus, command uint16, rows int64) []byte {
	return tds.AppendDone(nil, kind, status, command, rows)
}

func oneRow(n int64) []byte {
	b, e, err := tds.AppendColumns(nil, []tds.Column{{Name: "n", Type: types.TypeInt}}, false, tds.Version74)
	if err != nil {
		panic(err)
	}
	if b, err = e.Append(b, []types.Value{types.NewInt(n)}); err != nil {
		panic(err)
	}
	return b
}

func errorToken(err *sqlerr.Error) []byte {
	return tds.AppendMessage(nil, tds.Message{
		Number: err.Number, State: err.State, Class: err.Class, Text: err.Message, Server: "srv", Procedure: err.Procedure, Line: err.Line,
	})
}

// execCall is an RPC request for sp_executesql with the given text, after ALL_HEADERS.
func execCall(text string) []byte {
	b := []byte{0xFF, 0xFF, 10, 0, 0, 0, 0, 0, 0xE7, 0x40, 0x1F, 9, 4, 0xD0, 0, 0x34}
	data := types.EncodeUTF16(text)
	b = append(b, byte(len(data)), byte(len(data)>>8))
	return append(b, data...)
}

// TestReplies compares whole replies with the tokens that clients rely on.
func TestReplies(t *testing.T) {
	t.Parallel()
	const (
		more, count, failed = tds.DoneMore, tds.DoneCount, tds.DoneError
		sel                 = tds.CommandSelect
	)
	divide := sqlerr.New(8134).At(1)
	statements := map[string]func(out wire.Output){
		"empty": func(wire.Output) {},
		"select": func(out wire.Output) {
			one(out, 1)
		},
		"two": func(out wire.Output) {
			one(out, 1)
			_ = out.Done(wire.Done{Rows: 3, HasRows: true, Command: wire.CommandUpdate})
		},
		"nocount": func(out wire.Output) {
			_ = out.Done(wire.Done{Rows: 3, Command: wire.CommandUpdate})
		},
		"error": func(out wire.Output) {
			_ = out.Message(wire.ErrorMessage(divide))
		},
		"error and on": func(out wire.Output) {
			_ = out.Message(wire.ErrorMessage(divide))
			_ = out.Done(wire.Done{Command: sel})
			one(out, 2)
		},
		"exec": func(out wire.Output) { // a procedure that selects, called in a batch
			_ = out.Columns([]wire.Column{{Name: "n", Type: types.TypeInt}})
			_ = out.Row([]types.Value{types.NewInt(4)})
			_ = out.Done(wire.Done{Rows: 1, HasRows: true, Command: sel, InProc: true})
			_ = out.ReturnStatus(3)
			_ = out.Done(wire.Done{Proc: true, Command: wire.CommandExecute})
		},
		"use": func(out wire.Output) {
			_ = out.Env(wire.EnvChange{Kind: wire.EnvDatabase, New: "b", Old: "a"})
			_ = out.Env(wire.EnvChange{Kind: wire.EnvLanguage, New: "f", Old: "e"})
			_ = out.Env(wire.EnvChange{Kind: wire.EnvCollation, Collation: types.DefaultCollation})
			_ = out.Done(wire.Done{Command: wire.CommandUse})
		},
		"output": func(out wire.Output) {
			_ = out.ReturnStatus(-1)
			_ = out.ReturnValue(2, "@x", types.TypeInt, types.NewInt(8))
		},
		"proc message": func(out wire.Output) {
			one(out, 1)
			_ = out.Message(wire.Message{Number: 50000, Class: 10, State: 1, Text: "note", Line: 2})
			_ = out.ReturnStatus(0)
		},
	}
	note := tds.AppendMessage(nil, tds.Message{Number: 50000, Class: 10, State: 1, Text: "note", Line: 2, Server: "srv"})
	status := func(n int32) []byte { return tds.AppendReturnStatus(nil, n) }
	value, err := tds.AppendReturnValue(nil, 2, "@x", types.TypeInt, types.NewInt(8))
	if err != nil {
		t.Fatal(err)
	}
	env := tds.AppendEnvCollation(tds.AppendEnvLanguage(tds.AppendEnvDatabase(nil, "b", "a"), "f", "e"), types.DefaultCollation)
	batch, proc, inproc := tds.DoneBatch, tds.DoneProc, tds.DoneInProc
	end := done(proc, 0, tds.CommandExecute, 0)

	cases := []struct {
		name  string
		batch [][]byte
		rpc   [][]byte
	}{
		{"empty", [][]byte{done(batch, 0, 0, 0)}, [][]byte{end}},
		{"select", [][]byte{oneRow(1), done(batch, count, sel, 1)}, [][]byte{oneRow(1), done(inproc, count|more, sel, 1), end}},
		{"two",
			[][]byte{oneRow(1), done(batch, count|more, sel, 1), done(batch, count, tds.CommandUpdate, 3)},
			[][]byte{oneRow(1), done(inproc, count|more, sel, 1), done(inproc, count|more, tds.CommandUpdate, 3), end}},
		{"nocount", [][]byte{done(batch, 0, tds.CommandUpdate, 0)}, [][]byte{done(inproc, more, tds.CommandUpdate, 0), end}},
		{"error",
			[][]byte{errorToken(divide), done(batch, failed, 0, 0)},
			[][]byte{errorToken(divide), done(proc, failed, tds.CommandExecute, 0)}},
		{"error and on",
			[][]byte{errorToken(divide), done(batch, failed|more, sel, 0), oneRow(2), done(batch, count, sel, 1)},
			[][]byte{errorToken(divide), done(inproc, failed|more, sel, 0), oneRow(2), done(inproc, count|more, sel, 1), end}},
		{"exec",
			[][]byte{oneRow(4), done(inproc, count|more, sel, 1), status(3), done(proc, 0, tds.CommandExecute, 0)},
			[][]byte{oneRow(4), done(inproc, count|more, sel, 1), status(3), done(proc, more, tds.CommandExecute, 0), end}},
		{"use", [][]byte{env, done(batch, 0, tds.CommandUse, 0)}, [][]byte{env, done(inproc, more, tds.CommandUse, 0), end}},
		{"output", [][]byte{status(-1), value, done(batch, 0, 0, 0)}, [][]byte{status(-1), value, end}},
		{"proc message",
			[][]byte{oneRow(1), done(batch, count|more, sel, 1), note, status(0), done(batch, 0, 0, 0)},
			[][]byte{oneRow(1), done(inproc, count|more, sel, 1), note, status(0), end}},
	}
	b := &backend{batches: map[string]batchFunc{}, calls: map[string]callFunc{}}
	for name, f := range statements {
		b.batches[name] = func(_ context.Context, _ *session, out wire.Output) { f(out) }
		b.calls[name] = func(_ context.Context, _ *session, _ wire.Call, out wire.Output) { f(out) }
	}
	waiting := make(chan struct{})
	wait := func(ctx context.Context, out wire.Output) {
		one(out, 1)
		if out.Columns([]wire.Column{{Name: "n", Type: types.TypeInt}}) == nil {
			waiting <- struct{}{}
		}
		<-ctx.Done()
		if err := out.Row([]types.Value{types.NewInt(1)}); !errors.Is(err, wire.ErrAttention) {
			t.Errorf("a row after the attention: got %v, want %v", err, wire.ErrAttention)
		}
	}
	b.batches["wait"] = func(ctx context.Context, _ *session, out wire.Output) { wait(ctx, out) }
	b.calls["wait"] = func(ctx context.Context, _ *session, _ wire.Call, out wire.Output) { wait(ctx, out) }
	c := rawLoggedIn(t, newServer(t, b, wire.Options{ServerName: "srv"}))
	for _, tc := range cases {
		c.batch(tc.name)
		compare(t, tc.name+" in a batch", c.receive(), tc.batch)
		c.send(tds.PacketRPC, tds.StatusEOM, append(slices.Clone(headers), execCall(tc.name)...))
		compare(t, tc.name+" in a call", c.receive(), tc.rpc)
	}

	// Two calls in one request.
	two := slices.Concat(headers, execCall("select"), []byte{0xFF}, execCall("error"))
	c.send(tds.PacketRPC, tds.StatusEOM, two)
	compare(t, "two calls", c.receive(), [][]byte{
		oneRow(1), done(inproc, count|more, sel, 1), done(proc, more, tds.CommandExecute, 0),
		errorToken(divide), done(proc, failed, tds.CommandExecute, 0),
	})

	// A client that has the metadata already.
	hidden := slices.Concat(headers, execCall("select"))
	hidden[len(headers)+4] = 2
	c.send(tds.PacketRPC, tds.StatusEOM, hidden)
	row := oneRow(1)
	row = row[bytes.IndexByte(row, 0xD1):]
	compare(t, "no metadata", c.receive(), [][]byte{{0x81, 0xFF, 0xFF}, row, done(inproc, count|more, sel, 1), end})

	// Reset comes first in the reply.
	c.send(tds.PacketBatch, tds.StatusEOM|tds.StatusResetConnectionSkip, slices.Concat(headers, types.EncodeUTF16("select")))
	compare(t, "reset", c.receive(), [][]byte{tds.AppendEnvReset(nil), oneRow(1), done(batch, count, sel, 1)})
	if want := []bool{true}; !slices.Equal(b.resets, want) {
		t.Errorf("got resets %v, want %v", b.resets, want)
	}

	// An attention while nothing runs.
	c.send(tds.PacketAttention, tds.StatusEOM, nil)
	compare(t, "attention", c.receive(), [][]byte{done(batch, tds.DoneAttn, 0, 0)})

	// A message that is taken back.
	c.send(tds.PacketBatch, 0, headers)
	c.send(tds.PacketBatch, tds.StatusEOM|tds.StatusIgnore, types.EncodeUTF16("select"))
	compare(t, "a message that was taken back", c.receive(), [][]byte{done(batch, failed, 0, 0)})

	// An attention while a statement runs: the reply is cut short, and the
	// acknowledgement is a message of its own.
	columns := oneRow(1)
	columns = columns[:bytes.IndexByte(columns, 0xD1)]
	c.batch("wait")
	<-waiting
	c.send(tds.PacketAttention, tds.StatusEOM, nil)
	compare(t, "a reply that is cut short", c.receive(), [][]byte{
		oneRow(1), done(batch, count|more, sel, 1), columns, done(batch, failed, 0, 0),
	})
	compare(t, "its attention", c.receive(), [][]byte{done(batch, tds.DoneAttn, 0, 0)})
	c.send(tds.PacketRPC, tds.StatusEOM, append(slices.Clone(headers), execCall("wait")...))
	<-waiting
	c.send(tds.PacketAttention, tds.StatusEOM, nil)
	compare(t, "a call that is cut short", c.receive(), [][]byte{
		oneRow(1), done(inproc, count|more, sel, 1), columns, done(proc, failed, tds.CommandExecute, 0),
	})
	compare(t, "its attention", c.receive(), [][]byte{done(batch, tds.DoneAttn, 0, 0)})

	// Requests that are sound but not supported are refused, and the connection goes on.
	c.send(tds.PacketTM, tds.StatusEOM, append(slices.Clone(headers), 0, 0, 0, 0))
	compare(t, "DTC", c.receive(), [][]byte{errorToken(sqlerr.Unsupported("distributed transactions").At(1)), done(batch, failed, 0, 0)})
	udt := slices.Concat(headers, execCall("select"), []byte{0, 0, 0xF0, 0xFF, 0xFF})
	c.send(tds.PacketRPC, tds.StatusEOM, udt)
	compare(t, "CLR type", c.receive(), [][]byte{errorToken(sqlerr.Unsupported("CLR types").At(1)), done(proc, failed, tds.CommandExecute, 0)})
	nan := slices.Concat(headers, execCall("select"), []byte{2, '@', 0, 'p', 0, 0, 0x6D, 8, 8, 0, 0, 0, 0, 0, 0, 0xF8, 0x7F})
	c.send(tds.PacketRPC, tds.StatusEOM, nan)
	compare(t, "NaN", c.receive(), [][]byte{errorToken(sqlerr.New(8023, 2, "@p", "float").At(1)), done(proc, failed, tds.CommandExecute, 0)})
}

func rawLoggedIn(t testing.TB, s *wire.Server) *rawClient {
	t.Helper()
	nc, err := s.DialContext(context.Background(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	c := newRawClient(t, nc)
	c.login("sa", password)
	return c
}

func compare(t *testing.T, what string, got []byte, want [][]byte) {
	t.Helper()
	if w := slices.Concat(want...); !bytes.Equal(got, w) {
		t.Errorf("%s:\ngot  % X\nwant % X", what, got, w)
	}
}

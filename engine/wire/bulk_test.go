package wire_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/tds"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

func TestTableValuedParameter(t *testing.T) {
	t.Parallel()
	type row struct {
		ID      int32
		Skipped string `tvp:"-"`
		Name    string
		Price   *float64
		Data    []byte
		When    time.Time
		Auto    int64 `tvp:"@identity"`
		Flag    sql.NullBool
	}
	price := 2.5
	when := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	var got wire.Param
	b := &backend{calls: map[string]callFunc{"use table": func(_ context.Context, _ *session, call wire.Call, out wire.Output) {
		got = call.Params[2]
		one(out, int64(len(got.Table.Rows)))
	}}}
	db := openMemory(t, newServer(t, b, wire.Options{}), "")
	for _, n := range []int{0, 1, 3, 3000} {
		rows := make([]row, n)
		for i := range rows {
			rows[i] = row{ID: int32(i), Name: fmt.Sprintf("näme %d", i), When: when, Flag: sql.NullBool{Bool: true, Valid: i%2 == 0}}
			if i%2 == 0 {
				rows[i].Price, rows[i].Data = &price, []byte{1, byte(i)}
			}
		}
		if c := scanOne[int](t, db, "use table", mssql.TVP{TypeName: "[app].[rows]", Value: rows}); c != n {
			t.Fatalf("got %d rows, want %d", c, n)
		}
		tv := got.Table
		if got.Type.Kind != types.KindTable || tv.Schema != "app" || tv.TypeName != "rows" || len(tv.Columns) != 7 {
			t.Fatalf("got parameter %+v, table %s.%s with %d columns", got, tv.Schema, tv.TypeName, len(tv.Columns))
		}
		for i, kind := range []types.Kind{
			types.KindInt, types.KindNVarChar, types.KindFloat, types.KindVarBinary, types.KindDateTimeOffset, types.KindBigInt, types.KindBit,
		} {
			if tv.Columns[i].Type.Kind != kind || tv.Columns[i].Default != (i == 5) {
				t.Errorf("column %d: got %+v, want kind %v", i, tv.Columns[i], kind)
			}
		}
		for i, r := range tv.Rows {
			even := i%2 == 0
			ok := r[0].Int() == int64(i) && r[1].Text() == fmt.Sprintf("näme %d", i) && r[2].IsNull() == !even &&
				r[3].IsNull() == !even && r[4].ToGoTime().Equal(when) && r[5].IsNull() && r[6].IsNull() == !even
			if even {
				ok = ok && r[2].Float() == price && r[3].Raw() == string([]byte{1, byte(i)}) && r[6].Bool()
			}
			if !ok {
				t.Fatalf("row %d: got %v", i, r)
			}
		}
	}
}

// bulkBackend has a table for go-mssqldb's bulk copy and keeps the rows.
func bulkBackend(cols []wire.Column) (b *backend, rows *[]types.Row) {
	rows = new([]types.Row)
	ok := func(_ context.Context, _ *session, out wire.Output) { _ = out.Done(wire.Done{}) }
	b = &backend{batches: map[string]batchFunc{
		"SET FMTONLY ON":  ok,
		"SET FMTONLY OFF": ok,
		"select * from [dbo].[t] SET FMTONLY OFF": func(_ context.Context, _ *session, out wire.Output) {
			_ = out.Columns(cols)
			_ = out.Done(wire.Done{Command: wire.CommandSelect})
		},
	}}
	b.bulk = func(_ context.Context, req wire.BulkRequest, out wire.Output) {
		if len(req.Columns) != len(cols) {
			fail(out, sqlerr.New(8144, "bulk").At(1))
			return
		}
		for {
			row, err := req.Next()
			if err == io.EOF { //nolint:errorlint // a lost connection wraps io.EOF and is another end
				break
			}
			if err != nil {
				_ = out.Message(wire.Message{Number: 4815, Class: 16, Text: err.Error(), Line: 1})
				return
			}
			if row[0].Int() == -1 {
				fail(out, sqlerr.New(8134).At(1))
				return
			}
			*rows = append(*rows, slices.Clone(row))
		}
		_ = out.Done(wire.Done{Rows: int64(len(*rows)), HasRows: true, Command: wire.CommandBulkInsert})
	}
	return b, rows
}

func TestBulkCopy(t *testing.T) {
	t.Parallel()
	var cols []wire.Column
	cases := columnCases()
	kept := cases[:0:0]
	for i, tc := range cases {
		switch tc.typ.Kind { // the driver cannot send these
		case types.KindVariant, types.KindRowVersion:
			continue
		}
		cols = append(cols, wire.Column{Name: fmt.Sprintf("c%d", i), Type: tc.typ, Nullable: len(kept) != 1 && len(kept) != 0})
		kept = append(kept, tc)
	}
	// An int that is never NULL comes first.
	cols = slices.Insert(cols, 0, wire.Column{Name: "id", Type: types.TypeInt})
	b, rows := bulkBackend(cols)
	s := newServer(t, b, wire.Options{})
	db := openMemory(t, s, "")
	names := make([]string, len(cols))
	for i := range cols {
		names[i] = cols[i].Name
	}
	announce := insertBulk(t, b)
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stmt, err := conn.PrepareContext(context.Background(), mssql.CopyIn("dbo.t", mssql.BulkOptions{}, names...))
	if err != nil {
		t.Fatal(err)
	}
	const n = 6
	for i := range n {
		args := []any{i}
		for j, tc := range kept {
			switch {
			case j > 1 && (i+j)%3 == 0:
				args = append(args, nil)
			case tc.typ.Kind == types.KindUniqueIdentifier:
				args = append(args, []byte(tc.value.Raw()))
			case tc.typ.Kind == types.KindVarChar || tc.typ.Kind == types.KindChar || tc.typ.Kind == types.KindText:
				args = append(args, types.EncodeVarChar(tc.value.Text()))
			default:
				if text, ok := tc.want.([]byte); ok && (tc.typ.Kind == types.KindDecimal || tc.typ.Kind.IsMoney()) {
					args = append(args, string(text))
					continue
				}
				args = append(args, tc.want)
			}
		}
		if _, err := stmt.Exec(args...); err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
	}
	res, err := stmt.Exec()
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := res.RowsAffected(); got != n {
		t.Errorf("got %d rows affected, want %d", got, n)
	}
	if err := stmt.Close(); err != nil { //nolint:sqlclosecheck // the close is what is tested
		t.Error(err)
	}
	if *announce == "" {
		t.Error("no INSERT BULK came")
	}
	if len(*rows) != n {
		t.Fatalf("got %d rows, want %d", len(*rows), n)
	}
	for i, row := range *rows {
		if row[0].Int() != int64(i) {
			t.Errorf("row %d: got id %d", i, row[0].Int())
		}
		for j, tc := range kept {
			want := tc.value
			if j > 1 && (i+j)%3 == 0 {
				want = types.Null
			}
			if tc.typ.Kind == types.KindXML && !want.IsNull() {
				want = types.NewNVarChar(want.Text()) // a bulk load has no xml
			}
			if got := row[j+1]; got != want {
				t.Errorf("row %d, column %d (%v): got %.100s %v, want %.100s %v", i, j, tc.typ, got.String(), got.Kind(), want.String(), want.Kind())
			}
		}
	}
	if got := scanOne[int](t, conn, "select 1"); got != 1 {
		t.Errorf("got %d after the bulk load", got)
	}
}

// insertBulk lets the backend accept INSERT BULK and remembers its text.
func insertBulk(t *testing.T, b *backend) *string {
	t.Helper()
	text := new(string)
	b.anyBatch = func(batch string, out wire.Output) bool {
		if !strings.HasPrefix(batch, "INSERT BULK ") {
			return false
		}
		*text = batch
		_ = out.Done(wire.Done{})
		return true
	}
	return text
}

// TestBulkRefused ends a load early: the rest of the client's rows is skipped.
func TestBulkRefused(t *testing.T) {
	t.Parallel()
	cols := []wire.Column{{Name: "n", Type: types.TypeInt, Nullable: true}, {Name: "s", Type: types.NVarChar(100), Nullable: true}}
	b, rows := bulkBackend(cols)
	insertBulk(t, b)
	db := openMemory(t, newServer(t, b, wire.Options{}), "")
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stmt, err := conn.PrepareContext(context.Background(), mssql.CopyIn("dbo.t", mssql.BulkOptions{}, "n", "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	for i := range 2000 {
		n := i
		if i == 10 {
			n = -1
		}
		if _, err := stmt.Exec(n, strings.Repeat("x", 50)); err != nil {
			t.Fatal(err)
		}
	}
	_, err = stmt.Exec()
	wantError(t, err, 8134)
	if len(*rows) != 10 {
		t.Errorf("got %d rows, want 10", len(*rows))
	}
	if got := scanOne[int](t, conn, "select 1"); got != 1 {
		t.Errorf("got %d after the bulk load", got)
	}
}

// TestBulkRefusedBig refuses a load that is larger than what may wait.
func TestBulkRefusedBig(t *testing.T) {
	t.Parallel()
	b := &backend{bulk: func(_ context.Context, _ wire.BulkRequest, out wire.Output) {
		fail(out, sqlerr.New(8134).At(1))
	}}
	c := rawLoggedIn(t, newServer(t, b, wire.Options{ServerName: "srv"}))
	c.send(tds.PacketBulk, 0, bulkColumns)
	rows := bytes.Repeat([]byte{0xD1, 5, 0, 0, 0}, 6000)
	for range 700 { // 21 MB
		c.send(tds.PacketBulk, 0, rows)
	}
	c.send(tds.PacketBulk, tds.StatusEOM, []byte{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	want := slices.Concat(errorToken(sqlerr.New(8134).At(1)), done(tds.DoneBatch, tds.DoneError, 0, 0))
	if got := c.receive(); !slices.Equal(got, want) {
		t.Errorf("got reply % X, want % X", got, want)
	}
}

// bulkColumns is COLMETADATA for one int column, n.
var bulkColumns = []byte{0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0x38, 1, 'n', 0}

// TestBulkTakenBack sends a part of a load and takes it back, with and without
// an attention.
func TestBulkTakenBack(t *testing.T) {
	t.Parallel()
	ends := make(chan error, 4)
	b := &backend{bulk: func(_ context.Context, req wire.BulkRequest, out wire.Output) {
		for {
			if _, err := req.Next(); err != nil {
				ends <- err
				_ = out.Message(wire.ErrorMessage(sqlerr.New(4002).At(1)))
				return
			}
		}
	}}
	s := newServer(t, b, wire.Options{})
	nc, err := s.DialContext(context.Background(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	c := newRawClient(t, nc)
	c.login("sa", password)
	row := []byte{0xD1, 5, 0, 0, 0}
	c.send(tds.PacketBulk, 0, slices.Concat(bulkColumns, row, row))
	c.send(tds.PacketBulk, tds.StatusEOM|tds.StatusIgnore, row)
	if err := <-ends; err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the rows ended with %v", err)
	}
	ignored := done(tds.DoneBatch, tds.DoneError, 0, 0)
	if got := c.receive(); !slices.Equal(got, ignored) {
		t.Errorf("got reply % X, want % X", got, ignored)
	}

	c.send(tds.PacketBulk, 0, slices.Concat(bulkColumns, row))
	c.send(tds.PacketBulk, tds.StatusEOM|tds.StatusIgnore, nil)
	c.send(tds.PacketAttention, tds.StatusEOM, nil)
	if err := <-ends; err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the rows ended with %v", err)
	}
	if got := c.receive(); !slices.Equal(got, ignored) {
		t.Errorf("got reply % X, want % X", got, ignored)
	}
	if got, want := c.receive(), done(tds.DoneBatch, tds.DoneAttn, 0, 0); !slices.Equal(got, want) {
		t.Errorf("got reply % X, want % X", got, want)
	}

	// A load that is cut ends the session.
	c.send(tds.PacketBulk, 0, slices.Concat(bulkColumns, row))
	if err := nc.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ends; !errors.Is(err, wire.ErrDisconnected) {
		t.Errorf("the rows ended with %v, want %v", err, wire.ErrDisconnected)
	}
	waitFor(t, "the session's end", func() bool { return b.closed.Load() == 1 })
}

// TestBulkStreams sends more than fits into memory budgets, row by row.
func TestBulkStreams(t *testing.T) {
	t.Parallel()
	seen := make(chan int, 1)
	first := make(chan struct{})
	b := &backend{bulk: func(_ context.Context, req wire.BulkRequest, out wire.Output) {
		n := 0
		for ; ; n++ {
			if _, err := req.Next(); err != nil {
				break
			}
			if n == 0 {
				close(first)
			}
		}
		seen <- n
		_ = out.Done(wire.Done{Rows: int64(n), HasRows: true, Command: wire.CommandBulkInsert})
	}}
	s := newServer(t, b, wire.Options{})
	nc, err := s.DialContext(context.Background(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	c := newRawClient(t, nc)
	c.login("sa", password)
	// An int and a varbinary(max) of 100 KB a row.
	cols := slices.Concat([]byte{0x81, 2, 0, 0, 0, 0, 0, 0, 0, 0x38, 1, 'n', 0}, []byte{0, 0, 0, 0, 1, 0, 0xA5, 0xFF, 0xFF, 1, 'b', 0})
	const size, rows = 100_000, 300
	row := []byte{0xD1, 5, 0, 0, 0}
	row = binary.LittleEndian.AppendUint64(row, size)
	row = binary.LittleEndian.AppendUint32(row, size)
	row = append(row, make([]byte, size)...)
	row = append(row, 0, 0, 0, 0)
	stream := slices.Clone(cols)
	for range rows {
		stream = append(stream, row...)
		for len(stream) > 4088 {
			c.send(tds.PacketBulk, 0, stream[:4088])
			stream = stream[4088:]
		}
		if first != nil {
			stream = append(stream, row...)
			c.send(tds.PacketBulk, 0, stream[:30000])
			stream = stream[30000:]
			for len(stream) > 4088 {
				c.send(tds.PacketBulk, 0, stream[:4088])
				stream = stream[4088:]
			}
			<-first // a row is read before the load is complete
			first = nil
		}
	}
	stream = append(stream, 0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	c.send(tds.PacketBulk, tds.StatusEOM, stream)
	got := c.receive()
	if n := <-seen; n != rows+1 || got[0] != 0xFD || binary.LittleEndian.Uint64(got[5:]) != uint64(n) {
		t.Errorf("got %d rows, reply % X", n, got)
	}
}

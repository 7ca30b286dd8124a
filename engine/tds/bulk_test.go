package tds_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/tds"
	"loopbroker/engine/types"
)

// pieces delivers b in pieces of n bytes.
func pieces(b []byte, n int) func() ([]byte, error) {
	buf := make([]byte, n) // used again and again, as a connection does
	return func() ([]byte, error) {
		if len(b) == 0 {
			return nil, io.EOF
		}
		k := copy(buf, b)
		b = b[k:]
		return buf[:k], nil
	}
}

// bulkLoad is id int, name nvarchar(10), note text, blob varbinary(max).
const bulkLoad = "81 0400" +
	"00000000 1000 38 02 69006400" +
	"00000000 0100 E7 1400" + collationBytes + "01 6E00" +
	"00000000 0100 23 FFFFFF7F" + collationBytes + "0100 7400 01 6F00" +
	"00000000 0100 A5 FFFF 01 6200" +
	"D1 01000000 0200 4100 10 FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF FFFFFFFFFFFFFFFF 02000000 E941 0300000000000000 03000000 010203 00000000" +
	"D1 02000000 FFFF 00 FFFFFFFFFFFFFFFF" +
	"D2 0E 03000000" +
	"D1 04000000 0000 10 00000000000000000000000000000000 0000000000000000 00000000 FEFFFFFFFFFFFFFF 00000000"

const bulkDone = "FD 0000 0000 0000000000000000"

func readBulk(b []byte, n int) ([]tds.Column, []types.Row, error) {
	d, err := tds.NewBulkDecoder(pieces(b, n))
	if err != nil {
		return nil, nil, err
	}
	var rows []types.Row
	for {
		row, err := d.Next()
		if errors.Is(err, io.EOF) {
			return d.Columns(), rows, nil
		}
		if err != nil {
			return d.Columns(), rows, err
		}
		rows = append(rows, slices.Clone(row))
	}
}

func TestBulkDecoder(t *testing.T) {
	t.Parallel()
	text := func(s string) types.Value { return types.NewString(types.KindText, s) }
	want := []types.Row{
		{types.NewInt(1), types.NewNVarChar("A"), text("éA"), types.NewVarBinary([]byte{1, 2, 3})},
		{types.NewInt(2), types.Null, types.Null, types.Null},
		{types.NewInt(3), types.Null, types.Null, types.Null},
		{types.NewInt(4), types.NewNVarChar(""), text(""), types.NewVarBinary(nil)},
	}
	for _, end := range []string{bulkDone, ""} {
		b := unhex(t, bulkLoad+end)
		for _, n := range []int{1, 2, 7, 64, len(b)} {
			cols, rows, err := readBulk(b, n)
			if err != nil {
				t.Fatalf("pieces of %d: %v", n, err)
			}
			if len(cols) != 4 || cols[0].Name != "id" || !cols[0].Identity || cols[0].Nullable || !cols[1].Nullable || cols[3].Type != types.VarBinary(types.Max) {
				t.Errorf("got columns %+v", cols)
			}
			if !slices.EqualFunc(rows, want, slices.Equal) {
				t.Errorf("pieces of %d: got %v, want %v", n, rows, want)
			}
		}
	}
}

func TestBulkFaults(t *testing.T) {
	t.Parallel()
	cols := "81 0100 00000000 0000 38 01 6100"
	for name, tc := range map[string]struct {
		wire   string
		number int32
	}{
		"nothing":            {"", 0},
		"other token":        {"D1", 0},
		"no columns":         {"81 0000", 0},
		"null columns":       {"81 FFFF", 0},
		"columns cut":        {"81 0100 00000000 0000 38 01", 0},
		"row cut":            {cols + "D1 0100", 0},
		"done cut":           {cols + "FD 0000", 0},
		"token after a row":  {cols + "D1 01000000 AA", 0},
		"xml":                {"81 0100 00000000 0000 F1 00 01 6100", 0},
		"CLR type":           {"81 0100 00000000 0000 F0", 40510},
		"value":              {"81 0100 00000000 0000 6D 08 01 6100 D1 08 000000000000F07F", 8023},
		"absurd value":       {"81 0100 00000000 0000 A5 FFFF 01 6100 D1 FEFFFFFFFFFFFFFF FFFFFF7F 00", 0},
		"columns of a TVP":   {"81 0100 00000000 0000 F3", 0},
		"bits of the NBCROW": {cols + "D2", 0},
	} {
		_, _, err := readBulk(unhex(t, tc.wire), 3)
		var e *sqlerr.Error
		switch {
		case tc.number == 0:
			if !errors.Is(err, tds.ErrMalformed) {
				t.Errorf("%s: got %v, want %v", name, err, tds.ErrMalformed)
			}
		case !errors.As(err, &e) || e.Number != tc.number:
			t.Errorf("%s: got %v, want error %d", name, err, tc.number)
		}
	}
	stop := errors.New("stop")
	d, err := tds.NewBulkDecoder(func() func() ([]byte, error) {
		first := true
		return func() ([]byte, error) {
			if first {
				first = false
				return unhex(t, cols), nil
			}
			return nil, stop
		}
	}())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := d.Next(); !errors.Is(err, stop) {
			t.Errorf("got %v, want the stream's error", err)
		}
	}
}

// TestBulkBigValue checks that a big value in small pieces is read in linear time: the decoder
// may look at each byte a few times only.
func TestBulkBigValue(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	b := unhex(t, "81 0100 00000000 0100 A5 FFFF 01 6200 D1")
	b = append(append(b, u64(size)...), 0, 0, 0x40, 0)
	b = append(append(b, make([]byte, size)...), 0, 0, 0, 0)
	_, rows, err := readBulk(b, 64)
	if err != nil || len(rows) != 1 || len(rows[0][0].Raw()) != size {
		t.Fatalf("got %d rows, %v", len(rows), err)
	}
	if !bytes.Equal(rows[0][0].Bytes(), make([]byte, size)) {
		t.Error("got other bytes")
	}
}

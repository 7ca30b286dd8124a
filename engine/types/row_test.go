package types_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"loopbroker/engine/types"
)

func TestRowRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		row := make(types.Row, rapid.IntRange(0, 8).Draw(t, "columns"))
		for i := range row {
			row[i] = genOrNull(t, rapid.SampledFrom(columnTypes).Draw(t, "type"))
		}
		stored := types.AppendRow(nil, row)
		got, err := types.DecodeRow(stored)
		if err != nil {
			t.Fatalf("DecodeRow: %v", err)
		}
		if len(got) != len(row) {
			t.Fatalf("%d values, want %d", len(got), len(row))
		}
		for i := range row {
			if got[i] != row[i] {
				t.Fatalf("value %d = %v %v, want %v %v", i, got[i].Kind(), got[i], row[i].Kind(), row[i])
			}
		}
		for n := range stored { // each shorter form is refused
			if _, err := types.DecodeRow(stored[:n]); !errors.Is(err, types.ErrCorruptRow) {
				t.Fatalf("the first %d of %d bytes: error %v, want ErrCorruptRow", n, len(stored), err)
			}
		}
	})
}

func TestDecodeRowRefuses(t *testing.T) {
	t.Parallel()
	for name, src := range map[string][]byte{
		"nothing":          {},
		"too many values":  {0xFF, 0xFF, 0x03},
		"unknown kind":     {1, 200},
		"bit of 2":         {1, byte(types.KindBit), 4},
		"tinyint of -1":    {1, byte(types.KindTinyInt), 1},
		"precision 39":     {1, byte(types.KindDecimal), 39, 0, 0, 0, 1},
		"scale over prec.": {1, byte(types.KindDecimal), 1, 2, 0, 0, 1},
		"too many digits":  {1, byte(types.KindDecimal), 1, 0, 0, 0, 10},
		"negative zero":    {1, byte(types.KindDecimal), 1, 0, 1, 0, 0},
		"NaN":              {1, byte(types.KindFloat), 0, 0, 0, 0, 0, 0, 0xF8, 0x7F},
		"time over a day":  {1, byte(types.KindTime), 7, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F},
		"time of a day":    binary.AppendUvarint([]byte{1, byte(types.KindTime), 7}, 864_000_000_000),
		"time scale 8":     {1, byte(types.KindTime), 8, 0},
		"no UTF-8":         {1, byte(types.KindNVarChar), 1, 0xFF},
		"length too great": {1, byte(types.KindVarBinary), 5, 1},
		"bytes behind it":  {1, byte(types.KindNull), 0},
		"overlong number":  {1, byte(types.KindBigInt), 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if row, err := types.DecodeRow(src); !errors.Is(err, types.ErrCorruptRow) {
				t.Errorf("DecodeRow = %v, %v, want ErrCorruptRow", row, err)
			}
		})
	}
}

// FuzzDecodeRow: no input makes DecodeRow panic, and what it accepts has one
// stored form that decodes to the same row and can be compared and printed.
func FuzzDecodeRow(f *testing.F) {
	dec, err := types.ParseDecimal("-12345678901234567890.123")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(types.AppendRow(nil, types.Row{types.Null, types.NewInt(-5), types.NewNVarChar("é😀"), dec}))
	f.Add(types.AppendRow(nil, types.Row{types.NewDateTime2(738000, 5, 7), types.NewFloat(1.5), types.NewVarBinary([]byte{0, 1})}))
	f.Add([]byte{1, byte(types.KindDateTimeOffset), 7, 0, 0, 0})
	f.Fuzz(func(t *testing.T, src []byte) {
		row, err := types.DecodeRow(src)
		if err != nil {
			return
		}
		again := types.AppendRow(nil, row)
		back, err := types.DecodeRow(again)
		if err != nil {
			t.Fatalf("the stored form of a decoded row is refused: %v", err)
		}
		if !bytes.Equal(types.AppendRow(nil, back), again) {
			t.Fatalf("stored forms differ")
		}
		for i := range row {
			if !types.Equal(row[i], back[i], nil) {
				t.Fatalf("value %d = %v, want %v", i, back[i], row[i])
			}
			typ := types.TypeOf(row[i])
			types.AppendKey(nil, row[i], typ, false)
			types.AppendKey(nil, row[i], types.TypeVariant, true)
		}
	})
}

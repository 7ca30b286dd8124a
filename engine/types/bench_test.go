package types_test

import (
	"testing"

	"loopbroker/engine/types"
)

// sinks keep the compiler from leaving the work out.
var (
	sinkInt   int
	sinkValue types.Value
	sinkBytes []byte
	sinkRow   types.Row
)

func BenchmarkCompare(b *testing.B) {
	cs, _ := types.LookupCollation("Latin1_General_100_CS_AS")
	for _, bc := range []struct {
		name string
		x, y types.Value
		c    *types.Collation
	}{
		{"int", types.NewInt(5), types.NewInt(7), nil},
		{"decimal", dec(b, "12345.67"), dec(b, "12345.68"), nil},
		{"varchar", types.NewVarChar("customer-000123 Open"), types.NewVarChar("customer-000123 open"), types.DefaultCollation},
		{"nvarchar", types.NewNVarChar("customer 000123 Open"), types.NewNVarChar("customer 000123 open"), types.DefaultCollation},
		{"nvarchar case-sensitive", types.NewNVarChar("customer 000123 Open"), types.NewNVarChar("customer 000123 open"), cs},
		{"nvarchar accents", types.NewNVarChar("Élodie Français"), types.NewNVarChar("élodie françois"), types.DefaultCollation},
		{"binary collation", types.NewNVarChar("customer 000123 Open"), types.NewNVarChar("customer 000123 open"), types.BinaryCollation},
		{"uniqueidentifier", types.UniqueIdentifierFromUUID([16]byte{15: 1}), types.UniqueIdentifierFromUUID([16]byte{15: 2}), nil},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sinkInt = types.Compare(bc.x, bc.y, bc.c)
			}
		})
	}
}

func BenchmarkArith(b *testing.B) {
	x, y := dec(b, "12345.6789"), dec(b, "-987.65")
	for _, bc := range []struct {
		name string
		op   types.Op
		x, y types.Value
		typ  types.Type
	}{
		{"int add", types.OpAdd, types.NewInt(5), types.NewInt(7), types.TypeInt},
		{"bigint multiply", types.OpMul, types.NewBigInt(5), types.NewInt(7), types.TypeBigInt},
		{"float divide", types.OpDiv, types.NewFloat(5), types.NewFloat(7), types.TypeFloat},
		{"decimal add", types.OpAdd, x, y, types.Decimal(11, 4)},
		{"decimal multiply", types.OpMul, x, y, types.Decimal(15, 6)},
		{"decimal divide", types.OpDiv, x, y, types.Decimal(17, 10)},
		{"decimal divide by 20 digits", types.OpDiv, x, dec(b, "12345678901234567890"), types.Decimal(38, 24)},
		{"money divide", types.OpDiv, types.NewMoney(5), types.NewMoney(7), types.TypeMoney},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sinkValue, _ = types.Arith(bc.op, bc.x, bc.y, bc.typ)
			}
		})
	}
}

func BenchmarkConvert(b *testing.B) {
	for _, bc := range []struct {
		name string
		v    types.Value
		typ  types.Type
	}{
		{"int to int", types.NewInt(5), types.TypeInt},
		{"int to bigint", types.NewInt(5), types.TypeBigInt},
		{"nvarchar to nvarchar", types.NewNVarChar("customer 000123"), types.NVarChar(50)},
		{"nvarchar to varchar", types.NewNVarChar("customer 000123"), types.VarChar(50)},
		{"varchar to int", types.NewVarChar("12345"), types.TypeInt},
		{"varchar to datetime2", types.NewVarChar("2026-11-30T01:02:03.4567891"), types.DateTime2(7)},
		{"decimal to decimal", dec(b, "123.456"), types.Decimal(18, 2)},
		{"int to nvarchar", types.NewInt(12345), types.NVarChar(30)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sinkValue, _ = types.Assign(bc.v, bc.typ)
			}
		})
	}
}

func BenchmarkAppendKey(b *testing.B) {
	for _, bc := range []struct {
		name string
		v    types.Value
		typ  types.Type
	}{
		{"int", types.NewInt(123456), types.TypeInt},
		{"nvarchar", types.NewNVarChar("customer 000123"), types.NVarChar(50)},
		{"nvarchar accents", types.NewNVarChar("Élodie Français"), types.NVarChar(50)},
		{"uniqueidentifier", types.UniqueIdentifierFromUUID([16]byte{15: 1}), types.TypeUniqueIdentifier},
		{"datetime2", types.NewDateTime2(738000, 5, 7), types.DateTime2(7)},
		{"decimal", dec(b, "12345.67"), types.Decimal(18, 2)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sinkBytes = types.AppendKey(sinkBytes[:0], bc.v, bc.typ, false)
			}
		})
	}
}

func BenchmarkRow(b *testing.B) {
	row := types.Row{
		types.NewBigInt(1234567), types.NewNVarChar("customer 000123"), types.NewDateTime2(738000, 5, 7),
		types.Null, types.NewInt(3), types.UniqueIdentifierFromUUID([16]byte{15: 1}), types.NewVarChar("a text of some length, as rows have them"),
	}
	stored := types.AppendRow(nil, row)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sinkBytes = types.AppendRow(sinkBytes[:0], row)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sinkRow, _ = types.DecodeRow(stored)
		}
	})
}

// The hot paths do not allocate.
func TestAllocations(t *testing.T) { //nolint:paralleltest // AllocsPerRun forbids it
	x, y := dec(t, "12345.6789"), dec(t, "-987.65")
	buf := make([]byte, 0, 100)
	for name, f := range map[string]func(){
		"compare int": func() { sinkInt = types.Compare(types.NewInt(1), types.NewInt(2), nil) },
		"compare text": func() {
			sinkInt = types.Compare(types.NewNVarChar("abc"), types.NewNVarChar("ABD"), types.DefaultCollation)
		},
		"add ints":       func() { sinkValue, _ = types.Arith(types.OpAdd, types.NewInt(1), types.NewInt(2), types.TypeInt) },
		"add decimals":   func() { sinkValue, _ = types.Arith(types.OpAdd, x, y, types.Decimal(11, 4)) },
		"assign int":     func() { sinkValue, _ = types.Assign(types.NewInt(1), types.TypeBigInt) },
		"assign text":    func() { sinkValue, _ = types.Assign(types.NewNVarChar("abc"), types.NVarChar(10)) },
		"key of an int":  func() { buf = types.AppendKey(buf[:0], types.NewInt(5), types.TypeInt, false) },
		"key of a text":  func() { buf = types.AppendKey(buf[:0], types.NewNVarChar("abc"), types.NVarChar(10), false) },
		"hash of a text": func() { sinkInt = int(types.Hash(types.NewNVarChar("abc"), types.DefaultCollation)) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

package tds_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/tds"
	"loopbroker/engine/types"
)

// collationBytes is the default collation.
const collationBytes = "0904D00034"

// rpcWith is an RPC request for sp_executesql with one parameter, @p, of the
// given TYPE_INFO and value.
func rpcWith(t testing.TB, info string) []byte {
	t.Helper()
	b := append(allHeaders(0), unhex(t, "FFFF 0A00 0000  02 40007000 00")...)
	return append(b, unhex(t, info)...)
}

// paramCase is a parameter as it travels, and what it means.
type paramCase struct {
	name  string
	wire  string // TYPE_INFO, value
	typ   types.Type
	value types.Value
}

func paramCases() []paramCase {
	const c = collationBytes
	bin := func(k types.Kind, s string) types.Value { return types.NewBinary(k, s) }
	guid := "\x04\x03\x02\x01\x06\x05\x08\x07\x09\x0A\x0B\x0C\x0D\x0E\x0F\x10"
	money, small := types.Type{Kind: types.KindMoney}, types.Type{Kind: types.KindSmallMoney}
	smallDT := types.Type{Kind: types.KindSmallDateTime}
	return []paramCase{
		{"null", "1F", types.Type{}, types.Null},
		{"int1", "30 FF", types.TypeTinyInt, types.NewTinyInt(255)},
		{"bit", "32 02", types.TypeBit, types.NewBit(true)},
		{"int2", "34 FEFF", types.TypeSmallInt, types.NewSmallInt(-2)},
		{"int4", "38 FEFFFFFF", types.TypeInt, types.NewInt(-2)},
		{"int8", "7F FEFFFFFFFFFFFFFF", types.TypeBigInt, types.NewBigInt(-2)},
		{"flt4", "3B 0000003F", types.TypeReal, types.NewReal(0.5)},
		{"flt8", "3E 000000000000E03F", types.TypeFloat, types.NewFloat(0.5)},
		{"money", "3C FFFFFFFF F0D8FFFF", money, types.NewMoney(-10000)},
		{"money4", "7A 10270000", small, types.NewSmallMoney(10000)},
		{"datetime", "3D FFFFFFFF 01000000", types.TypeDateTime, types.NewDateTime(-1, 1)},
		{"datetim4", "3A 0100 3C00", smallDT, types.NewSmallDateTime(1, 60)},
		{"intn 1", "26 01 01 FF", types.TypeTinyInt, types.NewTinyInt(255)},
		{"intn 2", "26 02 02 FEFF", types.TypeSmallInt, types.NewSmallInt(-2)},
		{"intn 4", "26 04 04 FEFFFFFF", types.TypeInt, types.NewInt(-2)},
		{"intn 8", "26 08 08 FEFFFFFFFFFFFFFF", types.TypeBigInt, types.NewBigInt(-2)},
		{"intn narrow", "26 08 04 FEFFFFFF", types.TypeBigInt, types.NewBigInt(-2)},
		{"intn null", "26 08 00", types.TypeBigInt, types.Null},
		{"bitn", "68 01 01 01", types.TypeBit, types.NewBit(true)},
		{"bitn null", "68 01 00", types.TypeBit, types.Null},
		{"fltn 4", "6D 04 04 0000003F", types.TypeReal, types.NewReal(0.5)},
		{"fltn null", "6D 08 00", types.TypeFloat, types.Null},
		{"moneyn 8", "6E 08 08 FFFFFFFF F0D8FFFF", money, types.NewMoney(-10000)},
		{"moneyn 4", "6E 04 04 10270000", small, types.NewSmallMoney(10000)},
		{"datetimn 8", "6F 08 08 FFFFFFFF 01000000", types.TypeDateTime, types.NewDateTime(-1, 1)},
		{"datetimn 4", "6F 04 04 0100 3C00", smallDT, types.NewSmallDateTime(1, 60)},
		{"datetimn null", "6F 04 00", smallDT, types.Null},
		{"guid", "24 10 10 0403020106050807090A0B0C0D0E0F10", types.TypeUniqueIdentifier, bin(types.KindUniqueIdentifier, guid)},
		{"guid null", "24 10 00", types.TypeUniqueIdentifier, types.Null},
		{"decimal", "6A 11 0A 02 05 00 D2040000", types.Decimal(10, 2), types.NewDecimal(0, 1234, true, 10, 2)},
		{"numeric", "6C 05 09 03 05 01 D2040000", types.Decimal(9, 3), types.NewDecimal(0, 1234, false, 9, 3)},
		{"decimal big", "6A 11 26 00 11 01 FFFFFFFF3F228A097AC4865AA84C3B4B", types.Decimal(38, 0), types.NewDecimal(0x4B3B4CA85A86C47A, 0x098A223FFFFFFFFF, false, 38, 0)},
		{"decimal null", "6A 11 26 00 00", types.Decimal(38, 0), types.Null},
		{"date", "28 03 DAB937", types.TypeDate, types.NewDate(3652058)},
		{"date null", "28 00", types.TypeDate, types.Null},
		{"time 0", "29 00 03 7F5101", types.Time(0), types.NewTime(86399*10_000_000, 0)},
		{"time 7", "29 07 05 FFBF692AC9", types.Time(7), types.NewTime(863_999_999_999, 7)},
		{"datetime2 3", "2A 03 07 E8030000 010000", types.DateTime2(3), types.NewDateTime2(1, 10_000_000, 3)},
		{"datetimeoffset 7", "2B 07 0A 0100000000 020000 A6FF", types.DateTimeOffset(7), types.NewDateTimeOffset(2, 1, -90, 7)},
		{"datetimeoffset null", "2B 07 00", types.DateTimeOffset(7), types.Null},
		{"varbinary legacy", "25 05 02 0102", types.VarBinary(5), types.NewVarBinary([]byte{1, 2})},
		{"varchar legacy", "27 05 02 4142", types.VarChar(5), types.NewVarChar("AB")},
		{"binary legacy", "2D 02 02 0102", types.Binary(2), bin(types.KindBinary, "\x01\x02")},
		{"char legacy null", "2F 05 00", types.Char(5), types.Null},
		{"varbinary", "A5 401F 0200 0102", types.VarBinary(8000), types.NewVarBinary([]byte{1, 2})},
		{"varbinary empty", "A5 401F 0000", types.VarBinary(8000), types.NewVarBinary(nil)},
		{"varbinary null", "A5 401F FFFF", types.VarBinary(8000), types.Null},
		{"binary", "AD 0200 0200 0102", types.Binary(2), bin(types.KindBinary, "\x01\x02")},
		{"varchar", "A7 0500" + c + "0200 E980", types.VarChar(5), types.NewVarChar("é€")},
		{"char", "AF 0200" + c + "0200 4120", types.Char(2), types.NewString(types.KindChar, "A ")},
		{"nvarchar", "E7 0A00" + c + "0400 7A013DD8", types.NVarChar(5), types.NewNVarChar("ź\xED\xA0\xBD")},
		{"nvarchar no collation", "E7 0A00 0000000000 0200 4100", types.NVarChar(5), types.NewNVarChar("A")},
		{"nvarchar zero", "E7 0000" + c + "0000", types.NVarChar(1), types.NewNVarChar("")},
		{"nvarchar null", "E7 0A00" + c + "FFFF", types.NVarChar(5), types.Null},
		{"nchar", "EF 0200" + c + "0200 4100", types.NChar(1), types.NewString(types.KindNChar, "A")},
		{"nvarchar max", "E7 FFFF" + c + "0400000000000000 02000000 4100 02000000 4200 00000000", types.NVarChar(types.Max), types.NewNVarChar("AB")},
		{"nvarchar max unknown", "E7 FFFF" + c + "FEFFFFFFFFFFFFFF 03000000 410042 01000000 00 00000000", types.NVarChar(types.Max), types.NewNVarChar("AB")},
		{"nvarchar max empty", "E7 FFFF" + c + "FEFFFFFFFFFFFFFF 00000000", types.NVarChar(types.Max), types.NewNVarChar("")},
		{"nvarchar max null", "E7 FFFF" + c + "FFFFFFFFFFFFFFFF", types.NVarChar(types.Max), types.Null},
		{"varchar max", "A7 FFFF" + c + "0100000000000000 01000000 41 00000000", types.VarChar(types.Max), types.NewVarChar("A")},
		{"varbinary max", "A5 FFFF 0100000000000000 01000000 41 00000000", types.VarBinary(types.Max), types.NewVarBinary([]byte{0x41})},
		{"xml", "F1 00 FEFFFFFFFFFFFFFF 04000000 FFFE 4100 00000000", types.Type{Kind: types.KindXML}, types.NewString(types.KindXML, "A")},
		{"xml schema", "F1 01 01 6100 01 6200 0100 6300 FFFFFFFFFFFFFFFF", types.Type{Kind: types.KindXML}, types.Null},
		{"text", "23 FFFFFF7F" + c + "02000000 E941", types.Type{Kind: types.KindText, Collation: types.DefaultCollation}, types.NewString(types.KindText, "éA")},
		{"ntext null", "63 FEFFFF7F" + c + "FFFFFFFF", types.Type{Kind: types.KindNText, Collation: types.DefaultCollation}, types.Null},
		{"image", "22 FFFFFF7F 01000000 41", types.Type{Kind: types.KindImage}, bin(types.KindImage, "A")},
		{"variant null", "62 491F0000 00000000", types.TypeVariant, types.Null},
		{"variant int", "62 491F0000 06000000 38 00 05000000", types.TypeVariant, types.NewInt(5)},
		{"variant nvarchar", "62 491F0000 0B000000 E7 07" + c + "401F 4100", types.TypeVariant, types.NewNVarChar("A")},
		{"variant varchar", "62 491F0000 0A000000 A7 07" + c + "401F 41", types.TypeVariant, types.NewVarChar("A")},
		{"variant varbinary", "62 491F0000 05000000 A5 02 401F 41", types.TypeVariant, types.NewVarBinary([]byte{0x41})},
		{"variant decimal", "62 491F0000 09000000 6C 02 0A 02 00 D2040000", types.TypeVariant, types.NewDecimal(0, 1234, true, 10, 2)},
		{"variant time", "62 491F0000 06000000 29 01 00 7F5101", types.TypeVariant, types.NewTime(86399*10_000_000, 0)},
		{"variant date", "62 491F0000 05000000 28 00 010000", types.TypeVariant, types.NewDate(1)},
		{"variant guid", "62 491F0000 12000000 24 00 0403020106050807090A0B0C0D0E0F10", types.TypeVariant, bin(types.KindUniqueIdentifier, guid)},
	}
}

func TestParamTypes(t *testing.T) {
	t.Parallel()
	for _, tc := range paramCases() {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := rpcWith(t, tc.wire)
			r, err := tds.ParseRPC(b)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Calls) != 1 || r.Calls[0].ProcID != tds.ProcExecuteSQL || len(r.Calls[0].Params) != 1 {
				t.Fatalf("got %+v", r)
			}
			p := r.Calls[0].Params[0]
			if p.Name != "@p" || p.Type != tc.typ || p.Value != tc.value {
				t.Errorf("got %s %v = %v (%v), want %v = %v (%v)", p.Name, p.Type, p.Value, p.Value.Kind(), tc.typ, tc.value, tc.value.Kind())
			}
			first := len(rpcWith(t, "")) - 6 // where the parameter begins
			checkPrefixes(t, b, func(n int) bool { return n == first }, func(b []byte) error { _, err := tds.ParseRPC(b); return err })
		})
	}
}

// TestParamFaults sends what no type allows.
func TestParamFaults(t *testing.T) {
	t.Parallel()
	const c = collationBytes
	for name, tc := range map[string]struct {
		wire   string
		number int32 // 0: the message is malformed
	}{
		"unknown type":           {"00 00", 0},
		"intn size":              {"26 03 03 000000", 0},
		"intn length":            {"26 04 03 000000", 8023},
		"intn longer":            {"26 04 08 0000000000000000", 8023},
		"bitn size":              {"68 02 00", 0},
		"float infinite":         {"6D 08 08 000000000000F07F", 8023},
		"real NaN":               {"3B 0000C07F", 8023},
		"guid length":            {"24 10 04 00000000", 8023},
		"decimal precision":      {"6A 11 27 00 00", 0},
		"decimal scale":          {"6A 11 0A 0B 00", 0},
		"decimal digits":         {"6A 05 01 00 05 01 0A000000", 8023},
		"decimal sign":           {"6A 05 01 00 05 02 01000000", 8023},
		"decimal without digits": {"6A 05 01 00 01 01", 8023},
		"time scale":             {"29 08 00", 0},
		"time of 24 hours":       {"29 00 03 805101", 8023},
		"time length":            {"29 00 04 00000000", 8023},
		"date too late":          {"28 03 DBB937", 8023},
		"datetime too early":     {"6F 08 08 4521FFFF 00000000", 8023},
		"datetime of 24 hours":   {"6F 08 08 00000000 00828B01", 8023},
		"smalldatetime minutes":  {"6F 04 04 0000 A005", 8023},
		"offset too far":         {"2B 07 0A 0000000000 010000 4903", 8023},
		"local time too early":   {"2B 07 0A 0000000000 000000 FFFF", 8023},
		"nvarchar odd":           {"E7 0A00" + c + "0300 410042", 8023},
		"nvarchar odd size":      {"E7 0900" + c + "0000", 0},
		"varchar longer":         {"A7 0200" + c + "0300 414243", 8023},
		"varchar of 8001":        {"A7 411F" + c + "0000", 0},
		"max, wrong total":       {"E7 FFFF" + c + "0500000000000000 02000000 4100 00000000", 0},
		"max, absurd total":      {"E7 FFFF" + c + "0000000001000000 00000000", 0},
		"max, absurd chunk":      {"E7 FFFF" + c + "FEFFFFFFFFFFFFFF FFFFFF7F", 0},
		"text of 3 GB":           {"23 FFFFFF7F" + c + "000000C0", 0},
		"variant too long":       {"62 491F0000 511F0000", 0},
		"variant too short":      {"62 491F0000 01000000 38", 0},
		"variant props":          {"62 491F0000 06000000 38 09 05000000", 8023},
		"variant base type":      {"62 491F0000 06000000 62 00 05000000", 8023},
		"variant length":         {"62 491F0000 05000000 38 00 050000", 8023},
		"variant decimal":        {"62 491F0000 09000000 6C 02 27 02 00 D2040000", 8023},
		"xml info":               {"F1 02", 0},
		"binary xml":             {"F1 00 FEFFFFFFFFFFFFFF 02000000 DFFF 00000000", 40510},
		"CLR type":               {"F0 0000", 40510},
		"json":                   {"F4", 40510},
		"vector":                 {"F5", 40510},
	} {
		_, err := tds.ParseRPC(rpcWith(t, tc.wire))
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
}

// TestRoundTrip encodes each value as a column, and reads the same bytes as a
// parameter: TYPE_INFO and values have one form in both directions.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, tc := range paramCases() {
		switch tc.typ.Kind {
		case types.KindNull, types.KindText, types.KindNText, types.KindImage: // differ between rows and parameters
			continue
		}
		for _, v := range []types.Value{tc.value, types.Null} {
			b, err := tds.AppendReturnValue(nil, 0, "@p", tc.typ, v)
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
				continue
			}
			const header = 1 + 2 + 1 + 4 + 1 + 4 + 2 // token, ordinal, name, status, user type, flags
			r, err := tds.ParseRPC(append(rpcWith(t, ""), b[header:]...))
			if err != nil {
				t.Errorf("%s: % X: %v", tc.name, b[header:], err)
				continue
			}
			if p := r.Calls[0].Params[0]; p.Type != tc.typ || p.Value != v {
				t.Errorf("%s: got %v = %v back, want %v = %v", tc.name, p.Type, p.Value, tc.typ, v)
			}
		}
	}
}

func TestColumnsAndRows(t *testing.T) {
	t.Parallel()
	cols := []tds.Column{
		{Name: "id", Type: types.TypeInt, Identity: true},
		{Name: "n", Type: types.NVarChar(2), Nullable: true, Updatable: true},
		{Name: "v", Type: types.TypeRowVersion},
		{Name: "t", Type: types.Type{Kind: types.KindText, Collation: types.DefaultCollation}, Nullable: true, Computed: true},
	}
	b, e, err := tds.AppendColumns(nil, cols, false, tds.Version74)
	if err != nil {
		t.Fatal(err)
	}
	want := unhex(t, "81 0400"+
		"00000000 1000 38 02 69006400"+
		"00000000 0500 E7 0400"+collationBytes+"01 6E00"+
		"50000000 0000 AD 0800 01 7600"+
		"00000000 2100 23 FFFFFF7F"+collationBytes+"00 01 7400")
	if !bytes.Equal(b, want) {
		t.Errorf("COLMETADATA:\ngot  % X\nwant % X", b, want)
	}
	stamp := types.NewBinary(types.KindRowVersion, "\x00\x00\x00\x00\x00\x00\x00\x07")
	pointer := strings.Repeat("00", 24)
	for _, tc := range []struct {
		name string
		row  []types.Value
		want string
	}{
		{"full", []types.Value{types.NewInt(1), types.NewNVarChar("ab"), stamp, types.NewString(types.KindText, "x")},
			"D1 01000000 0400 61006200 0800 0000000000000007 10" + pointer + "01000000 78"},
		{"one short null", []types.Value{types.NewInt(1), types.Null, stamp, types.NewString(types.KindText, "x")},
			"D2 02 01000000 0800 0000000000000007 10" + pointer + "01000000 78"},
		{"one tiny null", []types.Value{types.NewInt(1), types.NewNVarChar(""), stamp, types.Null},
			"D1 01000000 0000 0800 0000000000000007 00"},
		{"null where none should be", []types.Value{types.Null, types.NewNVarChar(""), stamp, types.Null},
			"D2 09 0000 0800 0000000000000007"},
	} {
		got, err := e.Append([]byte("x"), tc.row)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if want := append([]byte("x"), unhex(t, tc.want)...); !bytes.Equal(got, want) {
			t.Errorf("%s:\ngot  % X\nwant % X", tc.name, got, want)
		}
	}

	// A client of version 7.3A has no NBCROW.
	_, old, err := tds.AppendColumns(nil, cols, false, tds.Version73A)
	if err != nil {
		t.Fatal(err)
	}
	got, err := old.Append(nil, []types.Value{types.NewInt(1), types.Null, stamp, types.Null})
	if want := unhex(t, "D1 01000000 FFFF 0800 0000000000000007 00"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("version 7.3A: got % X, %v, want % X", got, err, want)
	}
	if got, err = old.Append([]byte("x"), make([]types.Value, 4)); err == nil || string(got) != "x" {
		t.Errorf("NULL in a column without NULL: got % X, %v", got, err)
	}

	if b, _, err = tds.AppendColumns(nil, cols, true, tds.Version74); err != nil || !bytes.Equal(b, []byte{0x81, 0xFF, 0xFF}) {
		t.Errorf("hidden: got % X, %v", b, err)
	}
}

// TestBadRows checks that a value that does not fit leaves the reply whole.
func TestBadRows(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		typ types.Type
		v   types.Value
	}{
		"text as a number":    {types.TypeInt, types.NewNVarChar("1")},
		"number as text":      {types.NVarChar(10), types.NewInt(1)},
		"number as max":       {types.NVarChar(types.Max), types.NewInt(1)},
		"binary as text":      {types.NVarChar(10), types.NewVarBinary([]byte{1})},
		"text as binary":      {types.VarBinary(10), types.NewVarChar("a")},
		"too long":            {types.NVarChar(2), types.NewNVarChar("abc")},
		"too many bytes":      {types.VarChar(2), types.NewVarChar("abc")},
		"other scale":         {types.Decimal(10, 2), types.NewDecimal(0, 1, false, 10, 3)},
		"too many digits":     {types.Decimal(2, 0), types.NewDecimal(0, 100, false, 3, 0)},
		"date as datetime":    {types.TypeDateTime, types.NewDate(1)},
		"short guid":          {types.TypeUniqueIdentifier, types.NewBinary(types.KindUniqueIdentifier, "abc")},
		"xml in a variant":    {types.TypeVariant, types.NewString(types.KindXML, "<a/>")},
		"too big in variant":  {types.TypeVariant, types.NewVarChar(strings.Repeat("x", 8001))},
		"number as old text":  {types.Type{Kind: types.KindNText, Collation: types.DefaultCollation}, types.NewInt(1)},
		"float as a real":     {types.TypeReal, types.NewFloat(1)},
		"money as smallmoney": {types.Type{Kind: types.KindSmallMoney}, types.NewMoney(1)},
	} {
		_, e, err := tds.AppendColumns(nil, []tds.Column{{Name: "c", Type: tc.typ, Nullable: true}}, false, tds.Version74)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := e.Append([]byte("x"), []types.Value{tc.v}); err == nil || string(got) != "x" {
			t.Errorf("%s: got % X, %v, want an error and nothing written", name, got, err)
		}
		if got, err := tds.AppendReturnValue([]byte("x"), 0, "", tc.typ, tc.v); err == nil || string(got) != "x" {
			t.Errorf("%s as an output: got % X, %v, want an error and nothing written", name, got, err)
		}
	}
	if _, _, err := tds.AppendColumns(nil, nil, false, tds.Version74); err == nil {
		t.Error("no columns: no error")
	}
	if _, _, err := tds.AppendColumns(nil, []tds.Column{{Type: types.Type{Kind: types.KindCursor}}}, false, tds.Version74); err == nil {
		t.Error("a cursor column: no error")
	}
	_, e, err := tds.AppendColumns(nil, []tds.Column{{Type: types.TypeInt}}, false, tds.Version74)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Append(nil, make([]types.Value, 2)); err == nil {
		t.Error("two values in a row of one column: no error")
	}
}

// TestCollations sends parameters of other collations, and columns of them.
func TestCollations(t *testing.T) {
	t.Parallel()
	for _, c := range types.Collations() {
		typ := types.NVarChar(5).WithCollation(c)
		b, err := tds.AppendReturnValue(nil, 0, "@p", typ, types.NewNVarChar("a"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := tds.ParseRPC(append(rpcWith(t, ""), b[15:]...))
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if got := r.Calls[0].Params[0].Type.Collation; got != c {
			t.Errorf("%s: came back as %s", c.Name, got.Name)
		}
	}
	// One that the engine does not know counts as the default.
	r, err := tds.ParseRPC(rpcWith(t, "E7 0A00 1104D00000 0200 4100"))
	if err != nil || r.Calls[0].Params[0].Type.Collation != types.DefaultCollation {
		t.Errorf("unknown collation: got %+v, %v", r, err)
	}
	// varchar in UTF-8.
	r, err = tds.ParseRPC(rpcWith(t, "A7 0A00 0904D02600 0200 C3A9"))
	if err != nil || r.Calls[0].Params[0].Value.Text() != "é" {
		t.Errorf("UTF-8: got %+v, %v", r, err)
	}
}

func TestRPCForms(t *testing.T) {
	t.Parallel()
	param := "02 40007000 %02 26 04 04 05000000"
	by := func(flags string) string { return strings.Replace(param, "%02", flags, 1) }
	name := "0400 64007000 2E007800"
	b := append(allHeaders(1), unhex(t, name+"0300"+by("01")+"FF"+"FFFF 0D00 0000"+by("02")+"FE"+"FFFF 0F00 0000")...)
	r, err := tds.ParseRPC(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Calls) != 3 || r.Headers.Transaction != 1 {
		t.Fatalf("got %+v", r)
	}
	first, second, third := r.Calls[0], r.Calls[1], r.Calls[2]
	if first.Name != "dp.x" || first.ProcID != 0 || !first.Recompile || !first.NoMetadata || len(first.Params) != 1 || !first.Params[0].Output || first.NoExec {
		t.Errorf("got first call %+v", first)
	}
	if second.ProcID != tds.ProcPrepExec || !second.Params[0].Default || second.Params[0].Output || !second.NoExec {
		t.Errorf("got second call %+v", second)
	}
	if third.ProcID != tds.ProcUnprepare || len(third.Params) != 0 {
		t.Errorf("got third call %+v", third)
	}
	for name, tc := range map[string]struct {
		wire   string
		number int32
	}{
		"unknown id":       {"FFFF 1000 0000", 2812},
		"id 0":             {"FFFF 0000 0000", 2812},
		"no name":          {"0000 0000", 0},
		"encrypted":        {"FFFF 0A00 0000" + by("08"), 40510},
		"name too long":    {"1704 0000", 0},
		"2101 parameters":  {"FFFF 0A00 0000" + strings.Repeat("00 00 30 01", 2101), 8003},
		"second call cut":  {"FFFF 0A00 0000 FF FFFF 0A", 0},
		"nothing":          {"", 0},
		"4097 calls":       {strings.Repeat("FFFF 0A00 0000 FF", 4097), 0},
		"headers and half": {"FF", 0},
	} {
		_, err := tds.ParseRPC(append(allHeaders(0), unhex(t, tc.wire)...))
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
	for id := range uint16(20) {
		if (tds.ProcName(id) != "") != (id >= 1 && id <= 15) {
			t.Errorf("ProcName(%d) = %q", id, tds.ProcName(id))
		}
	}
}

// tableParam is a TVP of dbo.t (a int, b nvarchar(max), c bigint default) after its id, F3.
const tableParam = "F3 00 03 640062006F00 01 7400 0300" +
	"00000000 0100 26 04 01 6100" +
	"00000000 0100 E7 FFFF" + collationBytes + "00" +
	"00000000 0002 26 08 00"

func TestTableValue(t *testing.T) {
	t.Parallel()
	rows := "01 04 01000000 FEFFFFFFFFFFFFFF 02000000 4100 00000000" + "01 00 FFFFFFFFFFFFFFFF" + "00"
	b := rpcWith(t, tableParam+"00"+rows)
	r, err := tds.ParseRPC(b)
	if err != nil {
		t.Fatal(err)
	}
	p := r.Calls[0].Params[0]
	tv := p.Table
	if p.Type.Kind != types.KindTable || tv == nil || tv.Schema != "dbo" || tv.TypeName != "t" || len(tv.Columns) != 3 || len(tv.Rows) != 2 {
		t.Fatalf("got %+v, %+v", p, tv)
	}
	if tv.Columns[0].Name != "a" || tv.Columns[0].Type != types.TypeInt || !tv.Columns[0].Nullable || tv.Columns[1].Type != types.NVarChar(types.Max) || !tv.Columns[2].Default {
		t.Errorf("got columns %+v", tv.Columns)
	}
	if !slices.Equal(tv.Rows[0], types.Row{types.NewInt(1), types.NewNVarChar("A"), types.Null}) || !slices.Equal(tv.Rows[1], make(types.Row, 3)) {
		t.Errorf("got rows %v", tv.Rows)
	}
	first := len(rpcWith(t, "")) - 6
	checkPrefixes(t, b, func(n int) bool { return n == first }, func(b []byte) error { _, err := tds.ParseRPC(b); return err })

	// Values in another order than the columns, and a unique hint.
	ordered := rpcWith(t, tableParam+"10 0100 0100 01 11 0300 0200 0100 0300 00"+"01 FFFFFFFFFFFFFFFF 04 07000000 00")
	if r, err = tds.ParseRPC(ordered); err != nil {
		t.Fatal(err)
	}
	if got := r.Calls[0].Params[0].Table.Rows; len(got) != 1 || got[0][0].Int() != 7 || !got[0][1].IsNull() {
		t.Errorf("ordered: got %v", got)
	}
	// No table at all.
	if r, err = tds.ParseRPC(rpcWith(t, "F3 00 00 01 7400 FFFF 00 00")); err != nil || r.Calls[0].Params[0].Table.TypeName != "t" {
		t.Errorf("null table: got %+v, %v", r, err)
	}
	for name, bad := range map[string]string{
		"rows without columns": "F3 00 00 00 FFFF 00 01",
		"token of the options": tableParam + "12",
		"token of the rows":    tableParam + "00 02",
		"order of too many":    tableParam + "11 0400 0100 0200 0300 0400 00 00",
		"order twice":          tableParam + "11 0300 0100 0100 0300 00 00",
		"order of 0":           tableParam + "11 0300 0000 0100 0300 00 00",
		"2000 columns":         "F3 00 00 00 D007",
	} {
		if _, err := tds.ParseRPC(rpcWith(t, bad)); !errors.Is(err, tds.ErrMalformed) {
			t.Errorf("%s: got %v, want %v", name, err, tds.ErrMalformed)
		}
	}
}

func TestMoneyAndFloatExtremes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		typ types.Type
		v   types.Value
	}{
		{types.Type{Kind: types.KindMoney}, types.NewMoney(math.MinInt64)},
		{types.Type{Kind: types.KindMoney}, types.NewMoney(math.MaxInt64)},
		{types.Type{Kind: types.KindSmallMoney}, types.NewSmallMoney(math.MinInt32)},
		{types.TypeFloat, types.NewFloat(-math.MaxFloat64)},
		{types.TypeReal, types.NewReal(math.SmallestNonzeroFloat32)},
		{types.TypeBigInt, types.NewBigInt(math.MinInt64)},
	} {
		b, err := tds.AppendReturnValue(nil, 0, "@p", tc.typ, tc.v)
		if err != nil {
			t.Fatal(err)
		}
		r, err := tds.ParseRPC(append(rpcWith(t, ""), b[15:]...))
		if err != nil || r.Calls[0].Params[0].Value != tc.v {
			t.Errorf("%v %v: got %+v, %v", tc.typ, tc.v, r, err)
		}
	}
}

// u64 is a little-endian number in hexadecimal, for building messages.
func u64(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

package types_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"loopbroker/engine/types"
)

func vc(s string) types.Value { return types.NewVarChar(s) }

// Values and rules of "CAST and CONVERT (Transact-SQL)".
func TestConvert(t *testing.T) {
	t.Parallel()
	big := types.NewBigInt
	widened, err := types.Convert(dec(t, "12.5"), types.Decimal(12, 3), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		v     types.Value
		typ   string
		style int
		want  string
	}{
		{"text to int", vc(" -12 "), "int", 0, "-12"},
		{"nothing is zero", vc(""), "int", 0, "0"},
		{"sign alone is zero", vc("-"), "int", 0, "0"},
		{"sign and blanks", vc("+ 7"), "int", 0, "7"},
		{"text to bit", vc("TRUE"), "bit", 0, "1"},
		{"number to bit", types.NewFloat(0.1), "bit", 0, "1"},
		{"decimal is cut to int", dec(t, "-10.6496"), "int", 0, "-10"},
		{"decimal is rounded to decimal", dec(t, "10.3496847"), "decimal(6,3)", 0, "10.350"},
		{"float is cut to int", types.NewFloat(-1.9), "int", 0, "-1"},
		{"money is rounded to int", types.NewMoney(103496), "int", 0, "10"},
		{"money is rounded to int, up", types.NewMoney(-105000), "int", 0, "-11"},
		{"decimal is rounded to money", dec(t, "10.3496847"), "money", 2, "10.35"},
		{"text to money", vc("-$1,234.56785"), "money", 0, "-1234.57"},
		{"text to decimal", vc("1.005"), "decimal(5,2)", 0, "1.01"},
		{"text to float", vc("1d2"), "float", 0, "100"},
		{"int to float", types.NewInt(3), "real", 0, "3"},
		{"int to text", types.NewInt(-7), "nvarchar(30)", 0, "-7"},
		{"int too long for varchar", types.NewInt(1000), "varchar(3)", 0, "*"},
		{"text is cut", vc("abcdef"), "varchar(3)", 0, "abc"},
		{"text is padded", vc("ab"), "nchar(4)", 0, "ab  "},
		{"question marks", types.NewNVarChar("aж😀€"), "varchar(30)", 0, "a???€"},
		{"best fit", types.NewNVarChar("ĀčπＡ"), "varchar(30)", 0, "AcpA"},
		{"surrogate pair is cut", types.NewNVarChar("a😀"), "nvarchar(2)", 0, "a\xED\xA0\xBD"},
		{"money to text", types.NewMoney(12345678912), "varchar(30)", 0, "1234567.89"},
		{"money with commas", types.NewMoney(-12345678912), "varchar(30)", 1, "-1,234,567.89"},
		{"money with four places", types.NewMoney(12345678912), "varchar(30)", 2, "1234567.8912"},
		{"money style 126", types.NewMoney(5), "varchar(30)", 126, "0.0005"},
		{"float to text", types.NewFloat(1234567.891), "varchar(30)", 0, "1.23457e+006"},
		{"small float to text", types.NewFloat(0.00001), "varchar(30)", 0, "1e-005"},
		{"float of six digits", types.NewFloat(123456.7), "varchar(30)", 0, "123457"},
		{"float is rounded twice", types.NewFloat(1.234575), "varchar(30)", 0, "1.23458"},
		{"float of nines", types.NewFloat(9999999), "varchar(30)", 0, "1e+007"},
		{"negative zero", types.NewFloat(math.Copysign(0, -1)), "varchar(30)", 0, "-0"},
		{"unknown float style", types.NewFloat(1.5), "varchar(30)", 77, "1.5"},
		{"unknown money style", types.NewMoney(15000), "varchar(30)", 77, "1.50"},
		{"hexadecimal in whole bytes", types.NewVarBinary([]byte{10, 11}), "varchar(3)", 1, "0x"},
		{"wide decimal in few bytes", widened, "varbinary(20)", 0, "0x0c030001d4300000"},
		{"float style 1", types.NewFloat(1234567.891), "varchar(30)", 1, "1.2345679e+006"},
		{"float style 2", types.NewFloat(0.1), "varchar(30)", 2, "1.000000000000000e-001"},
		{"float style 3", types.NewFloat(0.1), "varchar(30)", 3, "1.0000000000000001e-001"},
		{"text to binary", vc("aé"), "varbinary(10)", 0, "0x61e9"},
		{"Unicode text to binary", types.NewNVarChar("aé"), "varbinary(10)", 0, "0x6100e900"},
		{"hexadecimal with 0x", vc("0x4E616d65"), "varbinary(8)", 1, "0x4e616d65"},
		{"hexadecimal", vc("4E616d65"), "binary(6)", 2, "0x4e616d650000"},
		{"binary to hexadecimal", types.NewVarBinary([]byte("Name")), "char(10)", 1, "0x4E616D65"},
		{"binary to hexadecimal, cut", types.NewVarBinary([]byte("Name")), "char(4)", 2, "4E61"},
		{"binary to text", types.NewVarBinary([]byte("Name")), "varchar(10)", 0, "Name"},
		{"binary to Unicode text", types.NewVarBinary([]byte{0x41, 0, 0x42}), "nvarchar(10)", 0, "AB"},
		{"int to binary", types.NewInt(258), "varbinary(10)", 0, "0x00000102"},
		{"int to padded binary", types.NewInt(258), "binary(6)", 0, "0x000000000102"},
		{"int to short binary", types.NewInt(0x12345678), "binary(2)", 0, "0x5678"},
		{"binary to int", types.NewVarBinary([]byte{0xFF, 0xFF, 0xFF, 0xFF}), "int", 0, "-1"},
		{"long binary to smallint", types.NewVarBinary([]byte{1, 2, 0, 3}), "smallint", 0, "3"},
		{"decimal to binary", dec(t, "123.45"), "varbinary(20)", 0, "0x0502000139300000"},
		{"binary to decimal", types.NewVarBinary([]byte{5, 2, 0, 1, 0x39, 0x30, 0, 0}), "decimal(7,3)", 0, "123.450"},
		{"money to binary", types.NewMoney(10000), "varbinary(8)", 0, "0x0000000000002710"},
		{"float to binary", types.NewFloat(1), "binary(8)", 0, "0x3ff0000000000000"},
		{"datetime to binary", types.NewDateTime(1, 300), "binary(8)", 0, "0x000000010000012c"},
		{"binary to datetime", types.NewVarBinary([]byte{0, 0, 0, 1, 0, 0, 1, 0x2C}), "datetime", 0, "1900-01-02 00:00:01.000"},
		{"date to binary", types.NewDate(0x0B40A5), "varbinary(8)", 0, "0xa5400b"},
		{"datetime to int", types.NewDateTime(1, 12*3600*300), "int", 0, "2"},
		{"int to datetime", types.NewInt(1), "datetime", 0, "1900-01-02 00:00:00.000"},
		{"float to datetime", types.NewFloat(-0.5), "datetime", 0, "1899-12-31 12:00:00.000"},
		{"datetime to float", types.NewDateTime(2, 6*3600*300), "float", 0, "2.25"},
		{"datetime to datetime2 keeps the thirds", types.NewDateTime(0, 1), "datetime2(7)", 0, "1900-01-01 00:00:00.0033333"},
		{"time to datetime", types.NewTime(36_000_000_000, 7), "datetime", 0, "1900-01-01 01:00:00.000"},
		{"datetimeoffset to datetime2 is local", types.NewDateTimeOffset(738000, 0, 90, 0), "datetime2(0)", 0, "2021-07-30 01:30:00"},
		{"datetime2 to datetimeoffset", types.NewDateTime2(738000, 0, 0), "datetimeoffset(0)", 0, "2021-07-30 00:00:00 +00:00"},
		{"braces", vc("{6f9619ff-8b86-d011-b42d-00c04fc964ff}"), "uniqueidentifier", 0, "6F9619FF-8B86-D011-B42D-00C04FC964FF"},
		{"cut to a uniqueidentifier", vc("0E984725-C51C-4BF4-9960-E1C80E27ABA0wrong"), "uniqueidentifier", 0, "0E984725-C51C-4BF4-9960-E1C80E27ABA0"},
		{"binary to uniqueidentifier", types.NewVarBinary([]byte{1}), "uniqueidentifier", 0, "00000001-0000-0000-0000-000000000000"},
		{"bigint to int", big(5), "int", 0, "5"},
		{"variant keeps the value", big(5), "sql_variant", 0, "5"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			typ := typeOf(t, tc.typ)
			got, err := types.Convert(tc.v, typ, tc.style)
			if err != nil || got.String() != tc.want {
				t.Fatalf("%v %v as %v = %q, %v, want %q", tc.v.Kind(), tc.v, typ, got.String(), err, tc.want)
			}
			if typ.Kind != types.KindVariant && got.Kind() != typ.Kind {
				t.Errorf("kind = %v, want %v", got.Kind(), typ.Kind)
			}
		})
	}
}

func TestConvertErrors(t *testing.T) {
	t.Parallel()
	guidText := "0E984725-C51C-4BF4-9960-E1C80E27ABA0"
	for _, tc := range []struct {
		v      types.Value
		typ    string
		number int32
		text   string
	}{
		{vc("x1"), "int", 245, "Conversion failed when converting the varchar value 'x1' to data type int."},
		{types.NewNVarChar("1.5"), "int", 245, "Conversion failed when converting the nvarchar value '1.5' to data type int."},
		{vc("yes"), "bit", 245, "Conversion failed when converting the varchar value 'yes' to data type bit."},
		{vc("99999999999"), "int", 248, "The conversion of the varchar value '99999999999' overflowed an int column."},
		{vc("300"), "tinyint", 244, "The conversion of the varchar value '300' overflowed an INT1 column. Use a larger integer column."},
		{vc("40000"), "smallint", 244, "The conversion of the varchar value '40000' overflowed an INT2 column. Use a larger integer column."},
		{vc("x"), "bigint", 8114, "Error converting data type varchar to bigint."},
		{vc("9999999999999999999"), "bigint", 8115, "Arithmetic overflow error converting expression to data type bigint."},
		{vc("x"), "decimal(5,2)", 8114, "Error converting data type varchar to numeric."},
		{vc("1e5"), "decimal(5,2)", 8114, "Error converting data type varchar to numeric."},
		{vc("1000"), "decimal(5,2)", 8115, "Arithmetic overflow error converting varchar to data type numeric."},
		{vc("x"), "float", 8114, "Error converting data type varchar to float."},
		{vc("0x10"), "float", 8114, ""},
		{vc("inf"), "float", 8114, ""},
		{vc("1e400"), "float", 8115, "Arithmetic overflow error converting varchar to data type float."},
		{vc("x"), "money", 235, "Cannot convert a char value to money. The char value has incorrect syntax."},
		{vc("999999999999999"), "money", 236, ""},
		{vc("x"), "smallmoney", 293, ""},
		{vc("x"), "uniqueidentifier", 8169, "Conversion failed when converting from a character string to uniqueidentifier."},
		{types.NewInt(300), "tinyint", 220, "Arithmetic overflow error for data type tinyint, value = 300."},
		{types.NewInt(-1), "tinyint", 220, "Arithmetic overflow error for data type tinyint, value = -1."},
		{types.NewInt(40000), "smallint", 220, "Arithmetic overflow error for data type smallint, value = 40000."},
		{types.NewBigInt(1 << 40), "int", 8115, "Arithmetic overflow error converting expression to data type int."},
		{types.NewMoney(3000000000 * 10000), "int", 237, "There is insufficient result space to convert a money value to int."},
		{types.NewMoney(3000000), "tinyint", 232, ""},
		{dec(t, "300"), "tinyint", 8115, "Arithmetic overflow error converting expression to data type tinyint."},
		{vc(strings.Repeat("1", 4001)), "int", 8152, ""},
		{dec(t, "2147483648"), "int", 8115, "Arithmetic overflow error converting expression to data type int."},
		{types.NewFloat(12345.12), "tinyint", 232, "Arithmetic overflow error for type tinyint, value = 12345.120000."},
		{types.NewFloat(3e9), "int", 232, "Arithmetic overflow error for type int, value = 3000000000.000000."},
		{types.NewFloat(1e30), "int", 232, "Arithmetic overflow error for type int, value = 1000000000000000000000000000000.000000."},
		{vc("\t1"), "int", 245, ""},
		{types.NewFloat(1e300), "real", 232, ""},
		{types.NewInt(1000), "decimal(3,0)", 8115, "Arithmetic overflow error converting int to data type numeric."},
		{dec(t, "1000"), "decimal(3,0)", 8115, "Arithmetic overflow error converting numeric to data type numeric."},
		{types.NewFloat(1000), "decimal(3,0)", 8115, "Arithmetic overflow error converting float to data type numeric."},
		{dec(t, "1000000000000000"), "money", 8115, "Arithmetic overflow error converting numeric to data type money."},
		{types.NewInt(300000), "smallmoney", 8115, ""},
		{types.NewInt(1000), "nvarchar(3)", 8115, "Arithmetic overflow error converting expression to data type nvarchar."},
		{types.NewBigInt(1000), "varchar(3)", 8115, "Arithmetic overflow error converting expression to data type varchar."},
		{dec(t, "1000.5"), "varchar(3)", 8115, "Arithmetic overflow error converting numeric to data type varchar."},
		{types.NewMoney(10000000), "varchar(3)", 234, ""},
		{guid(t, guidText), "varchar(10)", 8170, ""},
		{types.NewDateTime2(0, 0, 7), "datetime", 242, "The conversion of a datetime2 data type to a datetime data type resulted in an out-of-range value."},
		{types.NewInt(3_000_000), "datetime", 8115, "Arithmetic overflow error converting expression to data type datetime."},
		{types.NewInt(1), "date", 529, "Explicit conversion from data type int to date is not allowed."},
		{types.NewDate(1), "time", 529, ""},
		{types.NewFloat(1), "uniqueidentifier", 529, ""},
		{types.NewVarBinary([]byte{1}), "float", 529, ""},
		{vc("zz"), "varbinary(8)", 0, ""},
	} {
		t.Run(tc.v.Kind().String()+" "+tc.typ, func(t *testing.T) {
			t.Parallel()
			_, err := types.Convert(tc.v, typeOf(t, tc.typ), 0)
			wantNumber(t, err, tc.number)
			if tc.text != "" && !strings.HasSuffix(err.Error(), ": "+tc.text) {
				t.Errorf("error = %v, want %s", err, tc.text)
			}
		})
	}
	_, err := types.Convert(vc("zz"), types.VarBinary(8), 2)
	wantNumber(t, err, 8114)
	_, err = types.Convert(vc("zz"), types.VarBinary(8), 3)
	wantNumber(t, err, 9809)
	_, err = types.Convert(types.NewVarBinary([]byte("zz")), types.VarChar(8), 3)
	wantNumber(t, err, 9809)
}

// The documented chart: some of its cells, both ways.
func TestConversionChart(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		from, to           string
		implicit, explicit int32
	}{
		{"int", "varchar(10)", 0, 0},
		{"varchar(10)", "varbinary(10)", 257, 0},
		{"nvarchar(10)", "varbinary(10)", 257, 0},
		{"varbinary(10)", "varchar(10)", 0, 0},
		{"money", "varchar(10)", 257, 0},
		{"varchar(10)", "money", 0, 0},
		{"datetime", "int", 257, 0},
		{"int", "datetime", 0, 0},
		{"int", "date", 206, 529},
		{"date", "int", 206, 529},
		{"date", "time", 206, 529},
		{"datetime", "time", 0, 0},
		{"uniqueidentifier", "int", 206, 529},
		{"uniqueidentifier", "varchar(36)", 0, 0},
		{"sql_variant", "int", 257, 0},
		{"int", "sql_variant", 0, 0},
		{"text", "varchar(10)", 0, 0},
		{"text", "int", 206, 529},
		{"image", "varchar(10)", 206, 529},
		{"xml", "nvarchar(max)", 257, 0},
		{"varchar(max)", "xml", 0, 0},
		{"float", "timestamp", 206, 529},
		{"timestamp", "bigint", 0, 0},
		{"decimal(5,2)", "decimal(3,1)", 0, 0},
	} {
		from, to := typeOf(t, tc.from), typeOf(t, tc.to)
		if got := number32(types.ImplicitlyConvertible(from, to)); got != tc.implicit {
			t.Errorf("implicitly from %s to %s: Msg %d, want %d", tc.from, tc.to, got, tc.implicit)
		}
		if got := number32(types.ExplicitlyConvertible(from, to)); got != tc.explicit {
			t.Errorf("explicitly from %s to %s: Msg %d, want %d", tc.from, tc.to, got, tc.explicit)
		}
	}
	err := types.ImplicitlyConvertible(types.NVarChar(types.Max), types.VarBinary(types.Max))
	if want := "data type nvarchar(max) to varbinary(max) is not allowed"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want one about %s", err, want)
	}
	if err := types.ImplicitlyConvertible(types.TypeNull, types.TypeDate); err != nil {
		t.Errorf("NULL to date: %v", err)
	}
}

func TestAssignAndStore(t *testing.T) {
	t.Parallel()
	long := vc("abcdef")
	if got, err := types.Assign(long, types.VarChar(3)); err != nil || got.Text() != "abc" {
		t.Errorf("Assign = %v, %v, want abc", got, err)
	}
	_, err := types.Store(long, types.VarChar(3))
	var truncated *types.ErrTruncated
	if !errors.As(err, &truncated) || truncated.Value.Text() != "abc" || truncated.To != types.VarChar(3) {
		t.Fatalf("Store: %v, want ErrTruncated with abc", err)
	}
	wantNumber(t, err, 8152)
	for _, tc := range []struct {
		v    types.Value
		typ  types.Type
		want string
	}{
		{vc("abc   "), types.VarChar(3), "abc"},
		{vc("abc   "), types.NVarChar(4), "abc "},
		{types.NewVarBinary([]byte{1, 0, 0}), types.VarBinary(1), "0x01"},
		{vc("ab"), types.Char(3), "ab "},
		{types.NewInt(5), types.TypeTinyInt, "5"},
		{types.NewNVarChar(strings.Repeat("x", 9000)), types.VarChar(types.Max), strings.Repeat("x", 9000)},
	} {
		if got, err := types.Store(tc.v, tc.typ); err != nil || got.String() != tc.want {
			t.Errorf("Store(%v, %v) = %q, %v, want %q", tc.v, tc.typ, got.String(), err, tc.want)
		}
	}
	_, err = types.Store(types.NewVarBinary([]byte{1, 2}), types.VarBinary(1))
	wantNumber(t, err, 8152)
	_, err = types.Store(types.NewInt(1), types.TypeDate)
	wantNumber(t, err, 206)
	_, err = types.Assign(types.NewMoney(1), types.VarChar(30))
	wantNumber(t, err, 257)
	if got, err := types.Store(types.Null, types.TypeDate); err != nil || !got.IsNull() {
		t.Errorf("Store(NULL) = %v, %v", got, err)
	}
}

// What goes to binary and comes back is the same value, for every kind that the
// chart takes both ways.
func TestBinaryRoundTrip(t *testing.T) {
	t.Parallel()
	for _, typ := range columnTypes {
		if typ.Kind.IsApproximate() || typ.Kind.IsBinary() || typ.Length == types.Max ||
			types.ExplicitlyConvertible(types.VarBinary(50), typ) != nil {
			continue
		}
		if typ.Kind.IsChar() {
			typ.Length = 50
		}
		rapid.Check(t, func(t *rapid.T) {
			v := genValue(t, typ)
			b, err := types.Convert(v, types.VarBinary(100), 0)
			if err != nil {
				t.Fatalf("%v %v to varbinary: %v", typ, v, err)
			}
			back, err := types.Convert(b, typ, 0)
			if err != nil || back != v {
				t.Fatalf("%v %v as binary %v = %v, %v", typ, v, b, back, err)
			}
		})
	}
}

// What goes to text and comes back is the same value for exact kinds.
func TestTextRoundTrip(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		typ   types.Type
		style int
	}{
		{types.TypeBit, 0}, {types.TypeTinyInt, 0}, {types.TypeInt, 0}, {types.TypeBigInt, 0}, {types.Decimal(38, 6), 0}, {types.TypeMoney, 2},
		{types.TypeFloat, 3}, {types.TypeReal, 3}, {types.TypeDate, 0}, {types.Time(7), 0}, {types.DateTime2(7), 0}, {types.DateTime2(7), 126},
		{types.TypeDateTimeOffset, 0}, {types.TypeDateTimeOffset, 126}, {types.TypeUniqueIdentifier, 0},
	} {
		rapid.Check(t, func(t *rapid.T) {
			v := genValue(t, tc.typ)
			text, err := types.Convert(v, types.NVarChar(100), tc.style)
			if err != nil {
				t.Fatalf("%v %v to text: %v", tc.typ, v, err)
			}
			back, err := types.Convert(text, tc.typ, 0)
			if err != nil || back != v {
				t.Fatalf("%v as text %q = %v, %v", tc.typ, text.Text(), back, err)
			}
		})
	}
}

// No text makes a conversion panic, and every error has a number.
func FuzzConvertText(f *testing.F) {
	for _, s := range []string{"", "-", "1e5", "0x1F", "2026-11-30T01:02:03.4567+02:00", "{ts '2026-01-01'}", "15 April 2026 4 PM", "$-1,000.5", "{6f9619ff-8b86-d011-b42d-00c04fc964ff}"} {
		f.Add(s, uint8(0))
	}
	targets := append([]types.Type{types.VarChar(3), types.NVarChar(2), types.NChar(5), types.Binary(3)}, columnTypes...)
	f.Fuzz(func(t *testing.T, s string, style uint8) {
		for _, v := range []types.Value{types.NewNVarChar(types.ValidText(s)), types.NewVarBinary([]byte(s))} {
			for _, typ := range targets {
				got, err := types.Convert(v, typ, int(style))
				if err != nil && number32(err) == 0 {
					t.Fatalf("%q as %v: error %v without a number", s, typ, err)
				}
				if err == nil && got.Kind() != typ.Kind {
					t.Fatalf("%q as %v has kind %v", s, typ, got.Kind())
				}
				if err == nil {
					if _, err := types.DecodeRow(types.AppendRow(nil, types.Row{got})); err != nil {
						t.Fatalf("%q as %v = %v is out of range: %v", s, typ, got, err)
					}
				}
			}
		}
	})
}

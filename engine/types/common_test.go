package types_test

import (
	"testing"

	"loopbroker/engine/types"
)

// "Data type precedence (Transact-SQL)"; lengths and scales of "Precision, scale,
// and length".
func TestCommon(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b, want string
		number     int32
	}{
		{"int", "bigint", "bigint", 0},
		{"int", "varchar(10)", "int", 0},
		{"bit", "int", "int", 0},
		{"int", "decimal(5,2)", "decimal(12,2)", 0},
		{"decimal(10,2)", "decimal(8,4)", "decimal(12,4)", 0},
		{"decimal(38,0)", "decimal(38,10)", "decimal(38,0)", 0},
		{"money", "decimal(5,1)", "decimal(19,4)", 0},
		{"decimal(5,2)", "float", "float", 0},
		{"varchar(10)", "decimal(5,2)", "decimal(5,2)", 0},
		{"varchar(10)", "varchar(20)", "varchar(20)", 0},
		{"varchar(5000)", "nvarchar(10)", "nvarchar(4000)", 0},
		{"char(5)", "char(3)", "char(5)", 0},
		{"nchar(5)", "varchar(3)", "nvarchar(5)", 0},
		{"nvarchar(10)", "nvarchar(max)", "nvarchar(max)", 0},
		{"binary(5)", "varbinary(8)", "varbinary(8)", 0},
		{"date", "datetime", "datetime", 0},
		{"datetime", "datetime2(0)", "datetime2(3)", 0},
		{"datetime2(3)", "datetimeoffset(1)", "datetimeoffset(3)", 0},
		{"date", "varchar(10)", "date", 0},
		{"int", "datetime", "datetime", 0},
		{"uniqueidentifier", "nvarchar(36)", "uniqueidentifier", 0},
		{"text", "varchar(10)", "text", 0},
		{"date", "time", "", 206},
		{"int", "date", "", 206},
		{"int", "uniqueidentifier", "", 206},
		{"sql_variant", "int", "sql_variant", 0},
	} {
		t.Run(tc.a+" "+tc.b, func(t *testing.T) {
			t.Parallel()
			a, b := typeOf(t, tc.a), typeOf(t, tc.b)
			for _, pair := range [][2]types.Type{{a, b}, {b, a}} {
				got, err := types.Common(pair[0], pair[1])
				wantNumber(t, err, tc.number)
				if err == nil && got.String() != tc.want {
					t.Errorf("Common(%v, %v) = %v, want %s", pair[0], pair[1], got, tc.want)
				}
			}
		})
	}
	if got, err := types.Common(types.TypeNull, types.TypeDate); err != nil || got != types.TypeDate {
		t.Errorf("Common(NULL, date) = %v, %v", got, err)
	}
}

// "Collation precedence (Transact-SQL)".
func TestResolveCollation(t *testing.T) {
	t.Parallel()
	a, b := types.DefaultCollation, collation(t, "Latin1_General_CS_AS")
	for _, tc := range []struct {
		name   string
		al, bl types.Coercibility
		b      *types.Collation
		want   *types.Collation
		label  types.Coercibility
		number int32
	}{
		{"explicit wins", types.CoercibleImplicit, types.CoercibleExplicit, b, b, types.CoercibleExplicit, 0},
		{"column wins over literal", types.CoercibleImplicit, types.CoercibleDefault, b, a, types.CoercibleImplicit, 0},
		{"two columns", types.CoercibleImplicit, types.CoercibleImplicit, b, a, types.CoercibleNone, 0},
		{"two equal columns", types.CoercibleImplicit, types.CoercibleImplicit, a, a, types.CoercibleImplicit, 0},
		{"conflict stays", types.CoercibleNone, types.CoercibleImplicit, b, a, types.CoercibleNone, 0},
		{"two explicit", types.CoercibleExplicit, types.CoercibleExplicit, b, nil, types.CoercibleExplicit, 468},
	} {
		got, label, err := types.ResolveCollation(a, tc.al, tc.b, tc.bl, "equal to")
		wantNumber(t, err, tc.number)
		if got != tc.want || label != tc.label {
			t.Errorf("%s: %v, %d, want %v, %d", tc.name, got, label, tc.want, tc.label)
		}
	}
}

func TestBinaryTypeAndErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		op         types.Op
		a, b, want string
		number     int32
	}{
		{types.OpAdd, "int", "int", "int", 0},
		{types.OpAdd, "tinyint", "tinyint", "tinyint", 0},
		{types.OpMul, "int", "bigint", "bigint", 0},
		{types.OpAdd, "int", "varchar(10)", "int", 0},
		{types.OpAdd, "varchar(10)", "varchar(5)", "varchar(15)", 0},
		{types.OpAdd, "varchar(5000)", "varchar(5000)", "varchar(8000)", 0},
		{types.OpAdd, "nvarchar(3000)", "varchar(3000)", "nvarchar(4000)", 0},
		{types.OpAdd, "char(2)", "char(3)", "char(5)", 0},
		{types.OpAdd, "char(2)", "varchar(3)", "varchar(5)", 0},
		{types.OpAdd, "varchar(2)", "nvarchar(max)", "nvarchar(max)", 0},
		{types.OpAdd, "varbinary(2)", "binary(3)", "varbinary(5)", 0},
		{types.OpAdd, "money", "int", "money", 0},
		{types.OpMul, "money", "float", "float", 0},
		{types.OpMul, "money", "decimal(5,2)", "decimal(25,6)", 0},
		{types.OpAdd, "real", "int", "real", 0},
		{types.OpAdd, "datetime", "int", "datetime", 0},
		{types.OpSub, "datetime", "datetime", "datetime", 0},
		{types.OpBitAnd, "smallint", "int", "int", 0},
		{types.OpBitOr, "varbinary(4)", "int", "int", 0},
		{types.OpBitAnd, "bit", "bit", "bit", 0},
		{types.OpAdd, "bit", "bit", "", 402},
		{types.OpSub, "varchar(5)", "varchar(5)", "", 8117},
		{types.OpMul, "datetime", "int", "", 8117},
		{types.OpAdd, "date", "int", "", 206},
		{types.OpAdd, "datetime2", "int", "", 206},
		{types.OpAdd, "date", "date", "", 8117},
		{types.OpAdd, "datetime", "time", "", 402},
		{types.OpAdd, "date", "varchar(10)", "", 402},
		{types.OpMod, "float", "int", "", 402},
		{types.OpBitAnd, "float", "int", "", 402},
		{types.OpBitAnd, "float", "decimal(5,2)", "", 8117},
		{types.OpBitAnd, "sql_variant", "sql_variant", "", 8117},
		{types.OpBitAnd, "sql_variant", "int", "", 402},
		{types.OpBitAnd, "varchar(5)", "int", "int", 0},
		{types.OpBitAnd, "varbinary(5)", "varbinary(5)", "", 402},
		{types.OpAdd, "text", "text", "", 402},
		{types.OpAdd, "uniqueidentifier", "int", "", 206},
		{types.OpAdd, "sql_variant", "int", "", 257},
		{types.OpAdd, "sql_variant", "date", "", 402},
		{types.OpMod, "float", "real", "", 8117},
		{types.OpMul, "bit", "bit", "", 8117},
		{types.OpAdd, "bit", "varchar(5)", "", 402},
		{types.OpSub, "varbinary(2)", "varbinary(2)", "", 402},
		{types.OpMul, "varbinary(2)", "varbinary(2)", "", 8117},
		{types.OpAdd, "varbinary(2)", "real", "", 206},
	} {
		t.Run(tc.a+" "+tc.op.String()+" "+tc.b, func(t *testing.T) {
			t.Parallel()
			got, err := types.BinaryType(tc.op, typeOf(t, tc.a), typeOf(t, tc.b))
			wantNumber(t, err, tc.number)
			if err == nil && got.String() != tc.want {
				t.Errorf("= %v, want %s", got, tc.want)
			}
		})
	}
	if got, err := types.BinaryType(types.OpAdd, types.TypeNull, types.NVarChar(5)); err != nil || got.Kind != types.KindNVarChar {
		t.Errorf("NULL + nvarchar = %v, %v", got, err)
	}
}

func TestArith(t *testing.T) {
	t.Parallel()
	const maxInt, maxBig, minBig = 1<<31 - 1, 1<<63 - 1, -1 << 63
	for _, tc := range []struct {
		name   string
		op     types.Op
		a, b   types.Value
		want   string
		number int32
	}{
		{"int", types.OpAdd, types.NewInt(2), types.NewInt(3), "5", 0},
		{"int overflow", types.OpAdd, types.NewInt(maxInt), types.NewInt(1), "", 8115},
		{"tinyint overflow", types.OpSub, types.NewTinyInt(1), types.NewTinyInt(2), "", 8115},
		{"bigint add overflow", types.OpAdd, types.NewBigInt(maxBig), types.NewBigInt(1), "", 8115},
		{"bigint subtract overflow", types.OpSub, types.NewBigInt(minBig), types.NewBigInt(1), "", 8115},
		{"bigint multiply overflow", types.OpMul, types.NewBigInt(1 << 40), types.NewBigInt(1 << 40), "", 8115},
		{"bigint smallest product", types.OpMul, types.NewBigInt(minBig), types.NewBigInt(1), "-9223372036854775808", 0},
		{"bigint smallest quotient", types.OpDiv, types.NewBigInt(minBig), types.NewBigInt(-1), "", 8115},
		{"bigint smallest rest", types.OpMod, types.NewBigInt(minBig), types.NewBigInt(-1), "", 8115},
		{"int division is cut", types.OpDiv, types.NewInt(-7), types.NewInt(2), "-3", 0},
		{"rest has the sign of the dividend", types.OpMod, types.NewInt(-7), types.NewInt(2), "-1", 0},
		{"division by zero", types.OpDiv, types.NewInt(1), types.NewInt(0), "", 8134},
		{"rest by zero", types.OpMod, types.NewInt(1), types.NewInt(0), "", 8134},
		{"text operand", types.OpAdd, types.NewInt(1), vc(" 2"), "3", 0},
		{"bad text operand", types.OpAdd, types.NewInt(1), vc("x"), "", 245},
		{"NULL", types.OpAdd, types.NewInt(1), types.Null, "NULL", 0},
		{"bits", types.OpBitXor, types.NewInt(6), types.NewInt(3), "5", 0},
		{"binary bits", types.OpBitAnd, types.NewVarBinary([]byte{0xFF}), types.NewInt(15), "15", 0},
		{"money times money", types.OpMul, types.NewMoney(15000), types.NewMoney(15000), "2.25", 0},
		{"money over money is cut", types.OpDiv, types.NewMoney(1_000_000), types.NewMoney(3_390_000), "0.29", 0}, // 0.2949
		{"money overflow", types.OpAdd, types.NewMoney(maxBig), types.NewMoney(1), "", 8115},
		{"money plus int", types.OpAdd, types.NewMoney(5000), types.NewInt(1), "1.50", 0},
		{"float", types.OpDiv, types.NewFloat(1), types.NewInt(4), "0.25", 0},
		{"float overflow", types.OpMul, types.NewFloat(1e300), types.NewFloat(1e300), "", 8115},
		{"float by zero", types.OpDiv, types.NewFloat(1), types.NewFloat(0), "", 8134},
		{"real", types.OpAdd, types.NewReal(0.1), types.NewReal(0.2), "0.3", 0},
		{"datetime plus days", types.OpAdd, types.NewDateTime(0, 0), dec(t, "1.5"), "1900-01-02 12:00:00.000", 0},
		{"datetime minus datetime", types.OpSub, types.NewDateTime(2, 0), types.NewDateTime(1, 300), "1900-01-01 23:59:59.000", 0},
		{"datetime overflow", types.OpAdd, types.NewDateTime(2958463, 0), types.NewInt(1), "", 8115},
		{"texts", types.OpAdd, vc("a"), types.NewNVarChar("b"), "ab", 0},
		{"halves of a pair meet", types.OpAdd, types.NewNVarChar("x\xED\xA0\xBD"), types.NewNVarChar("\xED\xB8\x80y"), "x😀y", 0},
		{"binaries", types.OpAdd, types.NewVarBinary([]byte{1}), types.NewVarBinary([]byte{2}), "0x0102", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			typ, err := types.BinaryType(tc.op, types.TypeOf(tc.a), types.TypeOf(tc.b))
			if err != nil {
				t.Fatal(err)
			}
			got, err := types.Arith(tc.op, tc.a, tc.b, typ)
			wantNumber(t, err, tc.number)
			if err == nil && got.String() != tc.want {
				t.Errorf("= %v, want %s", got, tc.want)
			}
		})
	}
}

func TestUnary(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		v      types.Value
		bitNot bool
		typ    string
		want   string
	}{
		{types.NewInt(5), false, "int", "-5"}, {types.NewTinyInt(5), false, "smallint", "-5"}, {types.NewMoney(5000), false, "money", "-0.50"},
		{types.NewFloat(1.5), false, "float", "-1.5"}, {types.NewInt(5), true, "int", "-6"}, {types.NewTinyInt(5), true, "tinyint", "250"},
		{types.NewBit(true), true, "bit", "0"}, {dec(t, "-1.5"), false, "decimal(2,1)", "1.5"},
	} {
		typ, err := types.UnaryType(types.TypeOf(tc.v), tc.bitNot)
		if err != nil || typ.String() != tc.typ {
			t.Errorf("UnaryType(%v) = %v, %v, want %s", tc.v.Kind(), typ, err, tc.typ)
			continue
		}
		op := types.Neg
		if tc.bitNot {
			op = types.BitNot
		}
		if got, err := op(tc.v, typ); err != nil || got.String() != tc.want {
			t.Errorf("of %v %v = %v, %v, want %s", tc.v.Kind(), tc.v, got, err, tc.want)
		}
	}
	_, err := types.Neg(types.NewInt(-1<<31), types.TypeInt)
	wantNumber(t, err, 8115)
	_, err = types.UnaryType(types.VarChar(5), false)
	wantNumber(t, err, 8117)
	_, err = types.UnaryType(types.TypeFloat, true)
	wantNumber(t, err, 8117)
}

func TestLiterals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		parse    func(string) (types.Value, error)
		in, want string
		kind     types.Kind
	}{
		{types.ParseIntLiteral, "2147483647", "2147483647", types.KindInt},
		{types.ParseIntLiteral, "2147483648", "2147483648", types.KindDecimal},
		{types.ParseIntLiteral, "00000000300", "300", types.KindInt},
		{types.ParseIntLiteral, "0000000000300", "300", types.KindDecimal},
		{types.ParseDecimalLiteral, "1.50", "1.50", types.KindDecimal},
		{types.ParseFloatLiteral, "1.5e3", "1500", types.KindFloat},
		{types.ParseFloatLiteral, "1e", "1", types.KindFloat},
		{types.ParseMoneyLiteral, "12.5", "12.50", types.KindMoney},
		{types.ParseBinaryLiteral, "ABC", "0x0abc", types.KindVarBinary},
		{types.ParseBinaryLiteral, "", "0x", types.KindVarBinary},
	} {
		if got, err := tc.parse(tc.in); err != nil || got.String() != tc.want || got.Kind() != tc.kind {
			t.Errorf("%q = %v %v, %v, want %v %s", tc.in, got.Kind(), got, err, tc.kind, tc.want)
		}
	}
	_, err := types.ParseFloatLiteral("1e400")
	wantNumber(t, err, 168)
	_, err = types.ParseMoneyLiteral("1000000000000000")
	wantNumber(t, err, 236)
	if got := types.ConstantType(types.NewInt(-123)); got != types.Decimal(3, 0) {
		t.Errorf("ConstantType(-123) = %v, want decimal(3,0)", got)
	}
}

// DATALENGTH counts the bytes of a value; a decimal by its number.
func TestDataLength(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		v    types.Value
		want int
	}{
		{types.NewInt(1), 4}, {types.NewNVarChar("a😀"), 6}, {types.NewVarChar("é"), 1}, {types.NewVarBinary([]byte{1, 2}), 2},
		{dec(t, "4294967295"), 5}, {dec(t, "4294967296"), 9}, {dec(t, "12345678901234567890"), 9}, {dec(t, "18446744073709551616"), 13},
		{dec(t, "12345678901234567"), 9}, {dec(t, "99999999999999999999999999999999999999"), 17},
		{types.NewTime(0, 2), 3}, {types.NewDateTime2(1, 0, 7), 8}, {types.NewDate(1), 3},
	} {
		if got := tc.v.DataLength(); got != tc.want {
			t.Errorf("DataLength of %v %v = %d, want %d", tc.v.Kind(), tc.v, got, tc.want)
		}
	}
	if got := types.TextLength(types.TypeInt); got != 12 {
		t.Errorf("TextLength(int) = %d, want 12", got)
	}
	if got := types.TextLength(types.NVarChar(7)); got != 7 {
		t.Errorf("TextLength(nvarchar(7)) = %d, want 7", got)
	}
}

package types_test

import (
	"testing"

	"github.com/cockroachdb/apd/v3"
	"pgregory.net/rapid"

	"loopbroker/engine/types"
)

func dec(t testing.TB, s string) types.Value {
	t.Helper()
	v, err := types.ParseDecimal(s)
	if err != nil {
		t.Fatalf("ParseDecimal(%q): %v", s, err)
	}
	return v
}

func TestParseDecimal(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, typ, text string }{
		{"0", "decimal(1,0)", "0"},
		{"-0.00", "decimal(2,2)", "0.00"},
		{"00012.50", "decimal(4,2)", "12.50"},
		{".5", "decimal(1,1)", "0.5"},
		{"5.", "decimal(1,0)", "5"},
		{"-0.05", "decimal(2,2)", "-0.05"},
		{"2147483648", "decimal(10,0)", "2147483648"},
		{"99999999999999999999999999999999999999", "decimal(38,0)", "99999999999999999999999999999999999999"},
		{"0.00000000000000000000000000000000000001", "decimal(38,38)", "0.00000000000000000000000000000000000001"},
	} {
		t.Run(tc.in, func(t *testing.T) {
			t.Parallel()
			v := dec(t, tc.in)
			if got := types.TypeOf(v).String(); got != tc.typ {
				t.Errorf("type = %s, want %s", got, tc.typ)
			}
			if got := v.DecimalText(); got != tc.text {
				t.Errorf("text = %s, want %s", got, tc.text)
			}
		})
	}
	_, err := types.ParseDecimal("100000000000000000000000000000000000000")
	wantNumber(t, err, 1007)
	for _, s := range []string{"", "-", ".", "1e5", "1.2.3", "12a", "--1"} {
		_, err := types.ParseDecimal(s)
		wantNumber(t, err, 8114)
	}
}

// The rules and examples of "Precision, scale, and length (Transact-SQL)".
func TestDecimalResultTypes(t *testing.T) {
	t.Parallel()
	d := types.Decimal
	for _, tc := range []struct {
		name string
		op   types.Op
		a, b types.Type
		want types.Type
	}{
		{"add", types.OpAdd, d(10, 2), d(5, 3), d(12, 3)},
		{"subtract", types.OpSub, d(18, 2), d(18, 0), d(21, 2)},
		{"multiply", types.OpMul, d(10, 2), d(5, 3), d(16, 5)},
		{"divide", types.OpDiv, d(10, 2), d(5, 3), d(19, 8)},
		{"modulo", types.OpMod, d(10, 2), d(5, 3), d(5, 3)},
		{"documented product of decimal(30,20)", types.OpMul, d(30, 20), d(30, 20), d(38, 17)},
		{"documented product of decimal(30,10)", types.OpMul, d(30, 10), d(30, 10), d(38, 6)},
		{"add beyond 38", types.OpAdd, d(38, 10), d(38, 5), d(38, 5)},
		{"add beyond 38, whole digits kept", types.OpAdd, d(38, 2), d(38, 2), d(38, 2)},
		{"divide beyond 38", types.OpDiv, d(38, 10), d(38, 10), d(38, 6)},
		{"int counts as decimal(10,0)", types.OpMul, d(5, 2), types.TypeInt, d(16, 2)},
		{"bigint counts as decimal(19,0)", types.OpAdd, d(5, 2), types.TypeBigInt, d(22, 2)},
		{"money counts as decimal(19,4)", types.OpAdd, d(5, 2), types.TypeMoney, d(20, 4)},
		{"literals", types.OpDiv, d(2, 1), d(1, 0), d(7, 6)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := types.BinaryType(tc.op, tc.a, tc.b)
			if err != nil || got != tc.want {
				t.Errorf("BinaryType(%v, %v, %v) = %v, %v, want %v", tc.op, tc.a, tc.b, got, err, tc.want)
			}
		})
	}
}

func TestDecimalArithmetic(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		op         types.Op
		a, b, want string
		number     int32
	}{
		{types.OpDiv, "2.0", "3", "0.666666", 0}, // cut, not rounded
		{types.OpDiv, "-2.0", "3", "-0.666666", 0},
		{types.OpDiv, "1", "0", "", 8134},
		{types.OpMod, "1", "0.0", "", 8134},
		{types.OpMod, "-7.5", "2", "-1.5", 0},
		{types.OpAdd, "0.1", "0.2", "0.3", 0},
		{types.OpSub, "0.1", "0.1", "0.0", 0},
		{types.OpMul, "-1.5", "1.5", "-2.25", 0},
		{types.OpAdd, "99999999999999999999999999999999999999", "1", "", 8115},
		{types.OpMul, "99999999999999999999", "99999999999999999999", "", 8115},
		{types.OpMul, ".99999999999999999999999999999999999999", ".99999999999999999999999999999999999999", "1.0000000000000000000000000000000000000", 0},
		{types.OpMul, ".88888888888888888888888888888888888889", ".77777777777777777777777777777777777777", "0.6913580246913580246913580246913580247", 0},
		{types.OpMul, "99999999999999999999999999999999999999", ".99999999999999999999999999999999999999", "", 8115},
	} {
		t.Run(tc.a+tc.op.String()+tc.b, func(t *testing.T) {
			t.Parallel()
			a, b := dec(t, tc.a), dec(t, tc.b)
			typ, err := types.BinaryType(tc.op, types.TypeOf(a), types.TypeOf(b))
			if err != nil {
				t.Fatal(err)
			}
			got, err := types.Arith(tc.op, a, b, typ)
			wantNumber(t, err, tc.number)
			if err == nil && got.DecimalText() != tc.want {
				t.Errorf("= %s, want %s", got.DecimalText(), tc.want)
			}
		})
	}
}

// The documented example of a product whose scale is reduced: 0.0000009 is
// rounded to 0.000001 in decimal(38,6).
func TestDecimalReducedScaleRounds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		scale uint8
		want  string
	}{{20, "0.00000090000000000"}, {10, "0.000001"}} {
		typ := types.Decimal(30, tc.scale)
		a, err := types.Convert(dec(t, "0.0000009000"), typ, 0)
		if err != nil {
			t.Fatal(err)
		}
		b, err := types.Convert(dec(t, "1.0000000000"), typ, 0)
		if err != nil {
			t.Fatal(err)
		}
		result, err := types.BinaryType(types.OpMul, typ, typ)
		if err != nil {
			t.Fatal(err)
		}
		got, err := types.Arith(types.OpMul, a, b, result)
		if err != nil || got.DecimalText() != tc.want {
			t.Errorf("decimal(30,%d): %v, %v, want %s", tc.scale, got, err, tc.want)
		}
	}
}

// apd computes with 200 digits and is the judge of every operator.
func TestDecimalAgainstOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := genDecimal().Draw(t, "a"), genDecimal().Draw(t, "b")
		op := rapid.SampledFrom([]types.Op{types.OpAdd, types.OpSub, types.OpMul, types.OpDiv, types.OpMod}).Draw(t, "op")
		typ, err := types.BinaryType(op, types.TypeOf(a), types.TypeOf(b))
		if err != nil {
			t.Fatal(err)
		}
		got, err := types.Arith(op, a, b, typ)
		if b.DecimalSign() == 0 && (op == types.OpDiv || op == types.OpMod) {
			if number32(err) != 8134 {
				t.Fatalf("error = %v, want 8134", err)
			}
			return
		}
		want, fits := oracle(t, op, a, b, typ)
		switch {
		case !fits:
			if number32(err) != 8115 {
				t.Fatalf("%v %v %v as %v = %v, %v, want 8115", a, op, b, typ, got, err)
			}
		case err != nil || got.DecimalText() != want:
			t.Fatalf("%v %v %v as %v = %v, %v, want %s", a, op, b, typ, got, err, want)
		}
	})
}

func oracle(t *rapid.T, op types.Op, a, b types.Value, typ types.Type) (string, bool) {
	x, y := apdOf(t, a), apdOf(t, b)
	ctx := apd.BaseContext.WithPrecision(200)
	ctx.Rounding = apd.RoundHalfUp
	z := new(apd.Decimal)
	var err error
	switch op {
	case types.OpAdd:
		_, err = ctx.Add(z, x, y)
	case types.OpSub:
		_, err = ctx.Sub(z, x, y)
	case types.OpMul:
		_, err = ctx.Mul(z, x, y)
	case types.OpDiv:
		ctx.Rounding = apd.RoundDown
		_, err = ctx.Quo(z, x, y)
	case types.OpMod:
		_, err = ctx.Rem(z, x, y)
	}
	if err == nil {
		_, err = ctx.Quantize(z, z, -int32(typ.Scale))
	}
	if err != nil {
		t.Fatalf("oracle: %v", err)
	}
	if z.IsZero() {
		z.Negative = false
	}
	return z.Text('f'), z.NumDigits() <= int64(typ.Precision)
}

func apdOf(t *rapid.T, v types.Value) *apd.Decimal {
	d, _, err := apd.NewFromString(v.DecimalText())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCompareDecimalsAgainstOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := genDecimal().Draw(t, "a"), genDecimal().Draw(t, "b")
		if rapid.Bool().Draw(t, "same number") {
			if v, err := types.Convert(a, types.Decimal(38, min(a.Scale()+3, 38)), 0); err == nil {
				b = v
			}
		}
		want := apdOf(t, a).Cmp(apdOf(t, b))
		if got := types.Compare(a, b, nil); got != want {
			t.Fatalf("Compare(%v, %v) = %d, want %d", a, b, got, want)
		}
		if want == 0 && types.Hash(a, nil) != types.Hash(b, nil) {
			t.Fatalf("%v and %v hash differently", a, b)
		}
	})
}

func TestDecimalConversionAgainstOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := genDecimal().Draw(t, "v")
		prec := uint8(rapid.IntRange(1, 38).Draw(t, "precision"))
		typ := types.Decimal(prec, uint8(rapid.IntRange(0, int(prec)).Draw(t, "scale")))
		ctx := apd.BaseContext.WithPrecision(200)
		ctx.Rounding = apd.RoundHalfUp
		z := new(apd.Decimal)
		if _, err := ctx.Quantize(z, apdOf(t, v), -int32(typ.Scale)); err != nil {
			t.Fatal(err)
		}
		if z.IsZero() {
			z.Negative = false
		}
		got, err := types.Convert(v, typ, 0)
		if z.NumDigits() > int64(typ.Precision) {
			if number32(err) != 8115 {
				t.Fatalf("%v as %v = %v, %v, want 8115", v, typ, got, err)
			}
			return
		}
		if err != nil || got.DecimalText() != z.Text('f') {
			t.Fatalf("%v as %v = %v, %v, want %s", v, typ, got, err, z.Text('f'))
		}
	})
}

func TestFloatToDecimal(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		f    float64
		typ  types.Type
		want string
	}{
		{0.5, types.Decimal(5, 0), "1"},
		{-2.5, types.Decimal(5, 0), "-3"},
		{0.1, types.Decimal(10, 4), "0.1000"},
		{1e-20, types.Decimal(38, 4), "0.0000"},
		{123456789012345680000, types.Decimal(38, 2), "123456789012345683968.00"},
	} {
		got, err := types.Convert(types.NewFloat(tc.f), tc.typ, 0)
		if err != nil || got.DecimalText() != tc.want {
			t.Errorf("%g as %v = %v, %v, want %s", tc.f, tc.typ, got, err, tc.want)
		}
	}
	_, err := types.Convert(types.NewFloat(1000), types.Decimal(3, 0), 0)
	wantNumber(t, err, 8115)
}

// Products of numbers of 38 digits need all of 256 bits on the way.
func TestWideProductsAgainstOracle(t *testing.T) {
	t.Parallel()
	fraction := types.Decimal(38, 38)
	typ, err := types.BinaryType(types.OpMul, fraction, fraction)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.StringOfN(rapid.RuneFrom([]rune("0123456789")), 38, 38, -1)
		var v [2]types.Value
		for i := range v {
			var err error
			if v[i], err = types.Convert(types.NewVarChar("."+digits.Draw(t, "digits")), fraction, 0); err != nil {
				t.Fatal(err)
			}
		}
		want, _ := oracle(t, types.OpMul, v[0], v[1], typ)
		if got, err := types.Arith(types.OpMul, v[0], v[1], typ); err != nil || got.DecimalText() != want {
			t.Fatalf("%v * %v = %v, %v, want %s", v[0], v[1], got, err, want)
		}
	})
}

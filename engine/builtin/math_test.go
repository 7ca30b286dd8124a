package builtin_test

import (
	"testing"

	"loopbroker/engine/builtin"
)

func TestMathFunctions(t *testing.T) {
	t.Parallel()
	check(t, [][2]string{
		{"ABS(-1.0)", "decimal(2,1) 1.0"},
		{"ABS(tinyint'5')", "int 5"},
		{"ABS(-2147483648)", "8115 Arithmetic overflow error converting expression to data type int."},
		{"ABS(money'-1.5')", "money 1.50"},
		{"ABS(real'-1.5')", "float 1.5"},
		{"ABS('-2.5')", "float 2.5"},
		{"ABS(datetime'2020-01-01')", "8116 Argument data type datetime is invalid for argument 1 of abs function."},
		// "CEILING", "FLOOR"
		{"CEILING(123.45)", "decimal(5,0) 124"},
		{"CEILING(-123.45)", "decimal(5,0) -123"},
		{"CEILING(money'0.01')", "money 1.00"},
		{"FLOOR(123.45)", "decimal(5,0) 123"},
		{"FLOOR(-123.45)", "decimal(5,0) -124"},
		{"FLOOR(5)", "int 5"},
		{"FLOOR(-0.5e0)", "float -1"},
		// "SIGN"
		{"SIGN(-125)", "int -1"},
		{"SIGN(-1.5)", "decimal(2,1) -1.0"},
		{"SIGN(0e0)", "float 0"},
		// "ROUND", examples
		{"ROUND(123.9994, 3)", "decimal(7,4) 123.9990"},
		{"ROUND(123.9995, 3)", "decimal(7,4) 124.0000"},
		{"ROUND(123.4545, 2)", "decimal(7,4) 123.4500"},
		{"ROUND(123.45, -2)", "decimal(5,2) 100.00"},
		{"ROUND(150.75, 0)", "decimal(5,2) 151.00"},
		{"ROUND(150.75, 0, 1)", "decimal(5,2) 150.00"},
		{"ROUND(748.58, -1)", "decimal(5,2) 750.00"},
		{"ROUND(748.58, -3)", "8115 Arithmetic overflow error converting expression to data type numeric."},
		{"ROUND(748.58, -4)", "decimal(5,2) 0.00"},
		{"ROUND(-15, -1)", "int -20"},
		{"ROUND(2.5e0, 0)", "float 3"},
		{"ROUND(-2.5e0, 0)", "float -3"},
		{"ROUND(2.675e0, 2)", "float 2.67"},
		{"ROUND(1.45e0, 1)", "float 1.4"},
		{"ROUND(-2.9e0, 0, 1)", "float -2"},
		{"ROUND(1e308, 1)", "float 1e+308"},
		{"ROUND(12.345, 2.7)", "decimal(5,3) 12.350"},
		{"ROUND(7.2, 0, NULL)", "decimal(2,1) 7.0"},
		{"ROUND(7.2, '0')", "8116 Argument data type varchar is invalid for argument 2 of round function."},
		{"ROUND(1234.5e0, -2)", "float 1200"},
		// "POWER", examples
		{"POWER(2, 10)", "int 1024"},
		{"POWER(2.0, 0.5)", "decimal(38,1) 1.4"},
		{"POWER(2, 31)", "232 Arithmetic overflow error for type int, value = 2147483648.000000."},
		{"POWER(2e0, 0.5)", "float 1.41421"},
		{"POWER(bigint'2', 40)", "bigint 1099511627776"},
		{"POWER(0, -1)", "8134 Divide by zero error encountered."},
		{"POWER(-1, 0.5)", "3623 An invalid floating point operation occurred."},
		// "DEGREES", "RADIANS"
		{"DEGREES(PI())", "float 180"},
		{"RADIANS(180)", "int 3"},
		{"RADIANS(45.0)", "decimal(38,18) 0.785398163397448279"},
		// float functions
		{"SQRT(2)", "float 1.41421"},
		{"SQRT(-1)", "3623 An invalid floating point operation occurred."},
		{"SQUARE(1.5)", "float 2.25"},
		{"EXP(1000)", "8115 Arithmetic overflow error converting expression to data type float."},
		{"LOG(EXP(1))", "float 1"},
		{"LOG(8, 2)", "float 3"},
		{"LOG(0)", "3623 An invalid floating point operation occurred."},
		{"LOG10(1000)", "float 3"},
		{"ACOS(2)", "3623 An invalid floating point operation occurred."},
		{"ATN2(35.175643, 129.44)", "float 0.265345"},
		{"COT(124.1332)", "float -0.040312"},
		{"SIN(0)", "float 0"},
		{"COS(0)", "float 1"},
		{"SQRT(null_int'')", "float NULL"},
	})
}

func TestRand(t *testing.T) {
	t.Parallel()
	// The numbers that SQL Server gives for a seed.
	for seed, want := range map[int32]float64{0: 0.943597390424144, 1: 0.713591993212924, 2: 0.713610626184182, 100: 0.715436657367485} {
		var r builtin.Random
		r.Seed(seed)
		if got := r.Next(); got < want-1e-15 || got > want+1e-15 {
			t.Errorf("RAND(%d): got %.15f, want %.15f", seed, got, want)
		}
	}
	env := newSession()
	first := evaluate(t, env, "RAND(7)")
	next := evaluate(t, env, "RAND()")
	if evaluate(t, env, "RAND(7)") != first || evaluate(t, env, "RAND()") != next || first == next {
		t.Error("a seed does not determine the numbers that follow")
	}
}

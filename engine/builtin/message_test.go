package builtin_test

import (
	"strings"
	"testing"

	"loopbroker/engine/builtin"
	"loopbroker/engine/types"
)

func TestFormatMessage(t *testing.T) {
	t.Parallel()
	n := func(i int64) types.Value { return types.NewInt(i) }
	s := types.NewVarChar
	tests := []struct {
		format string
		args   []types.Value
		want   string
	}{
		// "RAISERROR": examples A and B.
		{"This is message %s %d.", []types.Value{s("number"), n(5)}, "This is message number 5."},
		{"<<%*.*s>>", []types.Value{n(7), n(3), s("abcde")}, "<<    abc>>"},
		{"<<%7.3s>>", []types.Value{s("abcde")}, "<<    abc>>"},
		// "FORMATMESSAGE": example B.
		{"Signed int %i, %d %i, %d, %+i, %+d, %+i, %+d", []types.Value{n(5), n(-5), n(50), n(-50), n(-11), n(-11), n(11), n(11)}, "Signed int 5, -5 50, -50, -11, -11, +11, +11"},
		{"Signed int with up to 3 leading zeros %03i", []types.Value{n(5)}, "Signed int with up to 3 leading zeros 005"},
		{"Signed int with up to 20 leading zeros %020i", []types.Value{n(5)}, "Signed int with up to 20 leading zeros 00000000000000000005"},
		{"Signed int with leading zero 0 %020i", []types.Value{n(-55)}, "Signed int with leading zero 0 -0000000000000000055"},
		{"Bigint %I64d", []types.Value{types.NewBigInt(3000000000)}, "Bigint 3000000000"},
		{"Unsigned int %u, %u", []types.Value{n(50), n(-50)}, "Unsigned int 50, 4294967246"},
		{"Unsigned octal %o, %o", []types.Value{n(50), n(-50)}, "Unsigned octal 62, 37777777716"},
		{"Unsigned hexadecimal %x, %X, %X, %X, %x", []types.Value{n(11), n(11), n(-11), n(50), n(-50)}, "Unsigned hexadecimal b, B, FFFFFFF5, 32, ffffffce"},
		{"Unsigned octal with prefix: %#o, %#o", []types.Value{n(50), n(-50)}, "Unsigned octal with prefix: 062, 037777777716"},
		{"Unsigned hexadecimal with prefix: %#x, %#X, %#X, %X, %x", []types.Value{n(11), n(11), n(-11), n(50), n(-50)}, "Unsigned hexadecimal with prefix: 0xb, 0XB, 0XFFFFFFF5, 32, ffffffce"},
		{"Hello %s!", []types.Value{s("TEST")}, "Hello TEST!"},
		{"Hello %20s!", []types.Value{s("TEST")}, "Hello                 TEST!"},
		{"Hello %-20s!", []types.Value{s("TEST")}, "Hello TEST                !"},
		// What is missing, NULL or not a number.
		{"%d and %s", []types.Value{n(1)}, "1 and (null)"},
		{"%5s|%5d", []types.Value{types.Null}, "(null)|(null)"},
		{"%I64d", []types.Value{n(1)}, "2786 The data type of substitution parameter 1 does not match the expected type of the format specification."},
		{"100%%", nil, "100%"},
		{"% d", []types.Value{n(5)}, " 5"},
		{"%hd %ld", []types.Value{n(5), n(6)}, "5 6"},
		{"%d", []types.Value{s("x")}, "2786 The data type of substitution parameter 1 does not match the expected type of the format specification."},
		{"%s %s", []types.Value{s("x"), n(1)}, "2786 The data type of substitution parameter 2 does not match the expected type of the format specification."},
		{"%s", []types.Value{types.NewFloat(1)}, "2748 Cannot specify float data type (parameter 1) as a substitution parameter."},
		{"%z", []types.Value{n(1)}, "2787 Invalid format specification: '%z'."},
		{"50% off", []types.Value{n(1)}, "501ff"}, // "% o" is octal with a blank flag
		{"50%", nil, "2787 Invalid format specification: '%'."},
	}
	for _, tt := range tests {
		t.Run(tt.format, func(t *testing.T) {
			t.Parallel()
			got, err := builtin.FormatMessage(tt.format, tt.args)
			if err != nil {
				got = strings.TrimPrefix(show(types.Null, types.TypeNull, err), " ")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFormatMessageLength(t *testing.T) {
	t.Parallel()
	got, err := builtin.FormatMessage("%s", []types.Value{types.NewVarChar(strings.Repeat("x", 3000))})
	if err != nil || got != strings.Repeat("x", 2044)+"..." {
		t.Errorf("got %d characters, %v", len(got), err)
	}
}

func TestFormatMessageFunction(t *testing.T) {
	t.Parallel()
	check(t, [][2]string{
		{"FORMATMESSAGE('%s-%d', 'a', 1)", "nvarchar(2048) a-1"},
		{"FORMATMESSAGE(14262, 'x', 'y')", "nvarchar(2048) The specified x ('y') does not exist."},
		{"FORMATMESSAGE('%d', 'x')", "nvarchar(2048) Error: 50000, Severity: -1, State: 1. (Params:). The error is printed in terse mode because there was error during formatting. Tracing, ETW, notifications etc are skipped.\r\n"},
		{"FORMATMESSAGE('%s', 1.5)", "2748 Cannot specify numeric data type (parameter 1) as a substitution parameter."},
		{"FORMATMESSAGE(102, 'x')", "nvarchar(2048) NULL"},
		{"FORMATMESSAGE(1.5)", "8116 Argument data type numeric is invalid for argument 1 of formatmessage function."},
	})
}

package builtin_test

import (
	"math"
	"testing"

	"loopbroker/engine/builtin"
	"loopbroker/engine/types"
)

// aggregate runs an aggregate over rows of constants.
func aggregate(t *testing.T, name string, argTypes []types.Type, rows ...[]types.Value) string {
	t.Helper()
	a, ok := builtin.LookupAggregate(name)
	if !ok {
		t.Fatalf("no aggregate %s", name)
	}
	typ, err := a.Type(argTypes)
	if err != nil {
		return show(types.Null, typ, err)
	}
	acc := a.New(argTypes, typ)
	for _, row := range rows {
		if err := acc.Step(row); err != nil {
			return show(types.Null, typ, err)
		}
	}
	v, err := acc.Result()
	return show(v, typ, err)
}

// column makes rows of one value each; nil is NULL.
func column(t *testing.T, typ types.Type, values ...any) [][]types.Value {
	t.Helper()
	var rows [][]types.Value
	for _, x := range values {
		v := types.Null
		if x != nil {
			var err error
			if v, err = types.Convert(types.NewVarChar(x.(string)), typ, 0); err != nil {
				t.Fatal(err)
			}
		}
		rows = append(rows, []types.Value{v})
	}
	return rows
}

func TestAggregates(t *testing.T) {
	t.Parallel()
	d52, money := types.Decimal(5, 2), types.TypeMoney
	tests := []struct {
		name   string
		typ    types.Type
		values []any
		want   string
	}{
		{"COUNT", types.TypeInt, []any{"1", nil, "3"}, "int 2"},
		{"COUNT_BIG", types.TypeInt, []any{"1", nil}, "bigint 1"},
		{"SUM", types.TypeInt, []any{"1", nil, "3"}, "int 4"},
		{"SUM", types.TypeInt, []any{nil}, "int NULL"},
		{"SUM", types.TypeTinyInt, []any{"200", "200"}, "int 400"},
		{"SUM", types.TypeInt, []any{"2147483647", "1"}, "8115 Arithmetic overflow error converting expression to data type int."},
		{"SUM", types.TypeBigInt, []any{"9223372036854775807", "1"}, "8115 Arithmetic overflow error converting expression to data type bigint."},
		{"SUM", types.TypeBigInt, []any{"9223372036854775807", "1", "-1"}, "bigint 9223372036854775807"},
		{"SUM", d52, []any{"999.99", "0.02"}, "decimal(38,2) 1000.01"},
		{"SUM", types.Decimal(38, 0), []any{"99999999999999999999999999999999999999", "1"}, "8115 Arithmetic overflow error converting expression to data type numeric."},
		{"SUM", types.Decimal(38, 0), []any{"90000000000000000000000000000000000000", "-1"}, "decimal(38,0) 89999999999999999999999999999999999999"},
		{"SUM", money, []any{"1.25", "-0.5"}, "money 0.75"},
		{"SUM", types.TypeReal, []any{"1.5", "2"}, "float 3.5"},
		{"SUM", types.TypeBit, nil, "8117 Operand data type bit is invalid for sum operator."},
		{"SUM", types.VarChar(10), nil, "8117 Operand data type varchar is invalid for sum operator."},
		{"AVG", types.TypeInt, []any{"1", "2", nil}, "int 1"},
		{"AVG", types.TypeInt, []any{"-1", "-2"}, "int -1"},
		{"AVG", d52, []any{"1", "1", "0"}, "decimal(38,6) 0.666666"},
		{"AVG", money, []any{"1", "0", "0"}, "money 0.33"},
		{"AVG", types.TypeFloat, []any{"1", "2"}, "float 1.5"},
		{"AVG", types.TypeDate, nil, "8117 Operand data type date is invalid for avg operator."},
		{"MIN", types.VarChar(10), []any{"b", nil, "A"}, "varchar(10) A"},
		{"MAX", types.TypeDate, []any{"2020-01-01", "2021-01-01"}, "date 2021-01-01"},
		{"MAX", d52, []any{"-1.50", "-2"}, "decimal(5,2) -1.50"},
		{"MAX", types.TypeInt, nil, "int NULL"},
		{"MIN", types.TypeBit, nil, "8117 Operand data type bit is invalid for min operator."},
		{"VAR", types.TypeInt, []any{"1"}, "float NULL"},
		{"VARP", types.TypeInt, []any{"1"}, "float 0"},
		{"VAR", types.TypeInt, []any{"2", "4", "4", "4", "5", "5", "7", "9", "0"}, "float 6.77778"},
		{"STDEVP", d52, []any{"2", "4", "4", "4", "5", "5", "7", "9"}, "float 2"},
		{"STDEV", types.VarChar(5), nil, "8117 Operand data type varchar is invalid for stdev operator."},
		{"CHECKSUM_AGG", types.TypeInt, []any{"5", nil, "3"}, "int 6"},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+tt.typ.String()+" "+tt.want, func(t *testing.T) {
			t.Parallel()
			if got := aggregate(t, tt.name, []types.Type{tt.typ}, column(t, tt.typ, tt.values...)...); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	if got := aggregate(t, "COUNT", nil, nil, nil, nil); got != "int 3" {
		t.Errorf("COUNT(*): got %s", got)
	}
}

func TestSumOfExtremes(t *testing.T) {
	t.Parallel()
	rows := [][]types.Value{{types.NewBigInt(math.MinInt64)}, {types.NewBigInt(math.MinInt64)}, {types.NewBigInt(math.MaxInt64)}, {types.NewBigInt(math.MaxInt64)}}
	if got := aggregate(t, "SUM", []types.Type{types.TypeBigInt}, rows...); got != "bigint -2" {
		t.Errorf("got %s", got)
	}
}

func TestStringAgg(t *testing.T) {
	t.Parallel()
	v := types.NewVarChar
	rows := [][]types.Value{{v("a"), v(",")}, {types.Null, v(",")}, {v("b"), v(",")}}
	tests := []struct {
		typ  types.Type
		rows [][]types.Value
		want string
	}{
		{types.VarChar(10), rows, "varchar(8000) a,b"},
		{types.NVarChar(10), rows, "nvarchar(4000) a,b"},
		{types.NVarChar(types.Max), rows, "nvarchar(max) a,b"},
		{types.TypeInt, [][]types.Value{{types.NewInt(1), v("-")}, {types.NewInt(2), v("-")}}, "nvarchar(4000) 1-2"},
		{types.VarChar(10), nil, "varchar(8000) NULL"},
		{types.VarChar(10), [][]types.Value{{v("a"), types.Null}, {v("b"), types.Null}}, "varchar(8000) ab"},
		{types.TypeText, nil, "8116 Argument data type text is invalid for argument 1 of string_agg function."},
	}
	for _, tt := range tests {
		if got := aggregate(t, "STRING_AGG", []types.Type{tt.typ, types.VarChar(1)}, tt.rows...); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.typ, got, tt.want)
		}
	}
	var long [][]types.Value
	for range 4001 {
		long = append(long, []types.Value{v("a"), v(",")})
	}
	if got := aggregate(t, "STRING_AGG", []types.Type{types.VarChar(10), types.VarChar(1)}, long...); got != "9829 STRING_AGG aggregation result exceeded the limit of 8000 bytes. Use LOB types to avoid result truncation." {
		t.Errorf("too long: got %.60s", got)
	}
	if got := aggregate(t, "STRING_AGG", []types.Type{types.VarChar(types.Max), types.VarChar(1)}, long...); len(got) != len("varchar(max) ")+8001 {
		t.Errorf("long: got %d characters", len(got))
	}
}

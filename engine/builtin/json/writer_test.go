package json_test

import (
	"testing"

	"loopbroker/engine/builtin/json"
	"loopbroker/engine/types"
)

// write runs rows through a writer.
func write(t *testing.T, columns []json.Column, o json.Options, rows ...types.Row) string {
	t.Helper()
	w, err := json.NewWriter(columns, o)
	if err != nil {
		return result("", false, err)
	}
	for _, row := range rows {
		if err := w.Row(row); err != nil {
			t.Fatal(err)
		}
	}
	text, ok := w.Text()
	return result(text, ok, nil)
}

func names(list ...string) []json.Column {
	var columns []json.Column
	for _, name := range list {
		columns = append(columns, json.Column{Name: name})
	}
	return columns
}

func TestWriterPath(t *testing.T) {
	t.Parallel()
	one, two, null := types.NewInt(1), types.NewInt(2), types.Null
	root, empty := "data", ""
	tests := []struct {
		name    string
		columns []json.Column
		options json.Options
		rows    []types.Row
		want    string
	}{
		// "Format nested JSON output with PATH mode".
		{"nested", names("Id", "Info.Name", "Info.Age"), json.Options{}, []types.Row{{one, types.NewVarChar("a/b"), two}}, `[{"Id":1,"Info":{"Name":"a\/b","Age":2}}]`},
		{"deep", names("a.b.c"), json.Options{}, []types.Row{{one}, {two}}, `[{"a":{"b":{"c":1}}},{"a":{"b":{"c":2}}}]`},
		{"nulls left out", names("a", "x.p", "x.q"), json.Options{}, []types.Row{{one, null, null}}, `[{"a":1}]`},
		{"all null", names("a"), json.Options{}, []types.Row{{null}}, `[{}]`},
		{"nulls included", names("a", "x.p"), json.Options{IncludeNulls: true}, []types.Row{{one, null}}, `[{"a":1,"x":{"p":null}}]`},
		{"root", names("a"), json.Options{Root: &root}, []types.Row{{one}}, `{"data":[{"a":1}]}`},
		{"root without a name", names("a"), json.Options{Root: &empty}, []types.Row{{one}}, `{"":[{"a":1}]}`},
		{"no wrapper", names("a"), json.Options{NoWrapper: true}, []types.Row{{one}, {two}}, `{"a":1},{"a":2}`},
		{"no rows", names("a"), json.Options{}, nil, `NULL`},
		{"raw", []json.Column{{Name: "a", Raw: true}}, json.Options{}, []types.Row{{types.NewNVarChar(`[1,2]`)}}, `[{"a":[1,2]}]`},
		{"no name", names("a", ""), json.Options{}, nil, "13605/1"},
		{"same name", names("a", "a"), json.Options{}, nil, "13601/1"},
		{"value and object", names("a", "a.b"), json.Options{}, nil, "13601/1"},
		{"object reopened", names("x.a", "y.b", "x.c"), json.Options{}, nil, "13601/1"},
		{"empty step", names("x..a"), json.Options{}, nil, "13603/1"},
		{"root without wrapper", names("a"), json.Options{Root: &root, NoWrapper: true}, nil, "13620/1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := write(t, tt.columns, tt.options, tt.rows...); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestWriterAuto(t *testing.T) {
	t.Parallel()
	row := func(values ...any) types.Row {
		var r types.Row
		for _, v := range values {
			switch v := v.(type) {
			case int:
				r = append(r, types.NewInt(int64(v)))
			case string:
				r = append(r, types.NewVarChar(v))
			default:
				r = append(r, types.Null)
			}
		}
		return r
	}
	// "Format JSON output automatically with AUTO mode".
	columns := []json.Column{{Name: "id", Source: "p"}, {Name: "cnm", Source: "c"}, {Name: "nm", Source: "p"}, {Name: "calc"}}
	rows := []types.Row{row(1, "a1", "x", 7), row(1, "a2", "x", 7), row(2, "b1", "y", 8), row(3, nil, "z", nil)}
	got := write(t, columns, json.Options{Auto: true}, rows...)
	want := `[{"id":1,"nm":"x","calc":7,"c":[{"cnm":"a1"},{"cnm":"a2"}]},{"id":2,"nm":"y","calc":8,"c":[{"cnm":"b1"}]},{"id":3,"nm":"z","c":[{}]}]`
	if got != want {
		t.Errorf("two tables\n got %s\nwant %s", got, want)
	}
	three := []json.Column{{Name: "id", Source: "p"}, {Name: "cnm", Source: "c"}, {Name: "gnm", Source: "g"}}
	got = write(t, three, json.Options{Auto: true}, row(1, "a1", "g1"), row(1, "a1", "g2"), row(1, "a2", "g1"))
	want = `[{"id":1,"c":[{"cnm":"a1","g":[{"gnm":"g1"},{"gnm":"g2"}]},{"cnm":"a2","g":[{"gnm":"g1"}]}]}]`
	if got != want {
		t.Errorf("three tables\n got %s\nwant %s", got, want)
	}
	if got := write(t, []json.Column{{Name: "x.y", Source: "t"}}, json.Options{Auto: true}, row(1)); got != `[{"x.y":1}]` {
		t.Errorf("dots: got %s", got)
	}
	if got := write(t, names("a"), json.Options{Auto: true}); got != "13600/1" {
		t.Errorf("no table: got %s", got)
	}
}

func TestAppendValue(t *testing.T) {
	t.Parallel()
	convert := func(s string, to types.Type) types.Value {
		v, err := types.Convert(types.NewVarChar(s), to, 0)
		if err != nil {
			t.Fatalf("%s as %v: %v", s, to, err)
		}
		return v
	}
	// "How FOR JSON converts SQL Server data types to JSON data types".
	tests := []struct {
		value types.Value
		want  string
	}{
		{types.Null, `null`},
		{types.NewBit(true), `true`},
		{types.NewBigInt(-5), `-5`},
		{convert("1.50", types.Decimal(10, 2)), `1.50`},
		{convert("-0.05", types.TypeMoney), `-0.0500`},
		{types.NewFloat(1.5), `1.500000000000000e+000`},
		{types.NewFloat(-1e-120), `-1.000000000000000e-120`},
		{types.NewReal(1.5), `1.5000000e+000`},
		{convert("2020-01-02", types.TypeDate), `"2020-01-02"`},
		{convert("2020-01-02 03:04:05.1234567", types.DateTime2(7)), `"2020-01-02T03:04:05.1234567"`},
		{convert("2020-01-02 03:04:05", types.DateTime2(7)), `"2020-01-02T03:04:05"`},
		{convert("03:04:05.1234567", types.Time(7)), `"03:04:05.1234567"`},
		{convert("2020-01-02 03:04:05.1234567 +05:30", types.DateTimeOffset(7)), `"2020-01-02T03:04:05.1234567+05:30"`},
		{convert("2020-01-02 03:04:05 +00:00", types.DateTimeOffset(7)), `"2020-01-02T03:04:05Z"`},
		{convert("2020-01-02 03:04:05.100", types.TypeDateTime), `"2020-01-02T03:04:05.100"`},
		{convert("2020-01-01", types.TypeDateTime), `"2020-01-01T00:00:00"`},
		{convert("2020-01-02 03:04:00", types.TypeSmallDateTime), `"2020-01-02T03:04:00"`},
		{convert("12345678-1234-1234-1234-1234567890AB", types.TypeUniqueIdentifier), `"12345678-1234-1234-1234-1234567890AB"`},
		{types.NewVarBinary([]byte{1, 2, 255}), `"AQL/"`},
		{types.NewNVarChar("café ア €"), `"café ア €"`},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			got, err := json.AppendValue(nil, tt.value)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

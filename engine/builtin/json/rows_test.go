package json_test

import (
	"fmt"
	"strings"
	"testing"

	"loopbroker/engine/builtin/json"
	"loopbroker/engine/types"
)

func TestRowsDefaultSchema(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, path, want string }{
		// The example of the type column in "OPENJSON (Transact-SQL)".
		{"object", `{"String_value":"John","DoublePrecisionFloatingPoint_value":45,"DoublePrecisionFloatingPoint_value2":2.3456,"BooleanTrue_value":true,"BooleanFalse_value":false,"Null_value":null,"Array_value":["a","r"],"Object_value":{"obj":"x"}}`, "$",
			`String_value=John:1 DoublePrecisionFloatingPoint_value=45:2 DoublePrecisionFloatingPoint_value2=2.3456:2 BooleanTrue_value=true:3 BooleanFalse_value=false:3 Null_value=NULL:0 Array_value=["a","r"]:4 Object_value={"obj":"x"}:5`},
		{"path", `{"path":{"to":{"sub-object":["en-GB", "en-UK","de-AT","es-AR","sr-Cyrl"]}}}`, `$.path.to."sub-object"`,
			"0=en-GB:1 1=en-UK:1 2=de-AT:1 3=es-AR:1 4=sr-Cyrl:1"},
		{"escapes", `{"a\n\u0041":"b\tc"}`, "$", "a\nA=b\tc:1"},
		{"text after the value", `{"a":[1,2]}extra`, "$.a", "0=1:2 1=2:2"},
		{"absent", `{"a":1}`, "$.b", ""},
		{"absent, strict", `{"a":1}`, "strict $.b", "13608/1"},
		{"scalar", `{"a":1}`, "$.a", ""},
		{"scalar, strict", `{"a":1}`, "strict $.a", "13611/1"},
		{"not JSON", `{x}`, "$", "13609/4 x 1"},
		{"root scalar", `1`, "$", "13609/4 1 0"},
		{"not JSON before the path", `{x}`, "$.a", "13609/3 x 1"},
		{"unclosed value", `{"a":[1,2`, "$.a", "13609/4 . 9"},
		{"no colon", `{"a"1}`, "$.a", "13609/4 1 4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := json.ParsePath(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := json.Open(tt.text, p, false)
			if err != nil {
				if got := result("", false, err); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
				return
			}
			var got []string
			for item, ok := rows.Next(); ok; item, ok = rows.Next() {
				value, valid := item.Default()
				got = append(got, fmt.Sprintf("%s=%s:%d", item.Key, result(value, valid, nil), item.Kind))
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestRowsWithColumns(t *testing.T) {
	t.Parallel()
	// "OPENJSON (Transact-SQL)", the WITH clause.
	const orders = `[{"Order":{"Number":"SO43659","Date":"2011-05-31T00:00:00"},"AccountNumber":"AW29825","Item":{"Price":2024.9940,"Quantity":1}},
	 {"Order":{"Number":"SO43661","Date":"2011-06-01T00:00:00"},"AccountNumber":"AW73565","Item":{"Price":2024.9940,"Quantity":3}}]`
	column := func(item json.Item, path string, asJSON bool) string {
		p, err := json.ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		return result(item.Column(p, asJSON))
	}
	rows, err := json.Open(orders, json.RootPath(), true)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for item, ok := rows.Next(); ok; item, ok = rows.Next() {
		got = append(got, column(item, "$.Order.Number", false), column(item, "$.Item.Quantity", false), column(item, "$.Item", true),
			column(item, "$.Item", false), column(item, "$.None", false), column(item, "strict $.None", false), column(item, "strict $.AccountNumber", true))
	}
	want := `SO43659|1|{"Price":2024.9940,"Quantity":1}|NULL|NULL|13608/6|13624/1|SO43661|3|{"Price":2024.9940,"Quantity":3}|NULL|NULL|13608/6|13624/1`
	if got := strings.Join(got, "|"); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestRowsOfObjectWithColumns(t *testing.T) {
	t.Parallel()
	rows, err := json.Open(`{"a":{"b":"AQL/"}}`, json.KeyPath("a"), true)
	if err != nil {
		t.Fatal(err)
	}
	item, ok := rows.Next()
	if !ok {
		t.Fatal("no row")
	}
	v, err := item.ColumnValue(json.KeyPath("b"), false, types.VarBinary(10))
	if err != nil || v.Raw() != "\x01\x02\xff" {
		t.Errorf("got %x, %v", v.Raw(), err)
	}
	if _, err := item.ColumnValue(json.KeyPath("b"), false, types.VarBinary(2)); result("", false, err) != "13613/1" {
		t.Errorf("too long: %v", err)
	}
	if _, ok := rows.Next(); ok {
		t.Error("a second row")
	}
}

package builtin_test

import (
	"testing"

	"loopbroker/engine/builtin"
	"loopbroker/engine/types"
)

func BenchmarkFunctions(b *testing.B) {
	s := types.NewNVarChar("The quick brown fox jumps over the lazy dog")
	doc := types.NewNVarChar(`{"url":"https://example.com/a","method":"GET","headers":{"Accept":"application/json"},"timeout_ms":30000}`)
	day := types.FromGoTime(types.KindDateTime2, 7, newSession().Now())
	for _, bb := range []struct {
		name string
		args []types.Value
	}{
		{"LEN", []types.Value{s}},
		{"SUBSTRING", []types.Value{s, types.NewInt(5), types.NewInt(5)}},
		{"CHARINDEX", []types.Value{types.NewNVarChar("LAZY"), s}},
		{"REPLACE", []types.Value{s, types.NewNVarChar("fox"), types.NewNVarChar("cat")}},
		{"UPPER", []types.Value{s}},
		{"ISNULL", []types.Value{types.Null, types.NewInt(1)}},
		{"ABS", []types.Value{types.NewInt(-1)}},
		{"DATEADD", []types.Value{types.NewVarChar("second"), types.NewInt(5), day}},
		{"DATEDIFF", []types.Value{types.NewVarChar("ms"), day, day}},
		{"HASHBYTES", []types.Value{types.NewVarChar("SHA2_256"), s}},
		{"JSON_VALUE", []types.Value{doc, types.NewNVarChar("$.timeout_ms")}},
		{"JSON_QUERY", []types.Value{doc, types.NewNVarChar("$.headers")}},
	} {
		f, _ := builtin.Lookup(bb.name)
		var argTypes []types.Type
		consts := make([]*types.Value, len(bb.args))
		for i, v := range bb.args {
			argTypes = append(argTypes, types.TypeOf(v))
			consts[i] = &bb.args[i]
		}
		typ, err := f.Type(argTypes, consts)
		if err != nil {
			b.Fatal(err)
		}
		var env builtin.Env = newSession()
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Eval(env, bb.args, argTypes, typ); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

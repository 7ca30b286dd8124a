package builtin_test

import (
	"slices"
	"strings"
	"testing"

	"loopbroker/engine/builtin"
	"loopbroker/engine/types"
)

func TestRegistry(t *testing.T) {
	t.Parallel()
	all := builtin.Functions()
	if !slices.IsSorted(all) || len(all) < 190 {
		t.Errorf("%d functions", len(all))
	}
	for _, name := range all {
		f, ok := builtin.Lookup(name)
		switch {
		case !ok || f.Name != name || strings.ToUpper(name) != name:
			t.Errorf("%s is not registered under its name", name)
		case f.FromSession != (f.Eval == nil):
			t.Errorf("%s: FromSession is %v", name, f.FromSession)
		case f.Type == nil || f.Max >= 0 && f.Max < f.Min:
			t.Errorf("%s has no type or arity", name)
		case f.Deterministic && (f.Volatile || f.FromSession):
			t.Errorf("%s cannot be deterministic", name)
		case strings.HasPrefix(name, "@@") && !f.Variable:
			t.Errorf("%s is not a variable", name)
		}
		if err := f.CheckArity(f.Min - 1); err == nil {
			t.Errorf("%s takes too few arguments", name)
		}
		if err := f.CheckArity(f.Min); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range builtin.Aggregates() {
		if a, ok := builtin.LookupAggregate(name); !ok || a.Name != name || a.New == nil {
			t.Errorf("aggregate %s", name)
		}
	}
	if _, ok := builtin.Lookup("left"); ok {
		t.Error("names are in upper case")
	}
}

func TestSessionTypes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]types.Type{
		"@@ERROR": types.TypeInt, "@@SPID": types.TypeSmallInt, "@@IDENTITY": types.Decimal(38, 0), "XACT_STATE": types.TypeSmallInt,
		"SESSION_CONTEXT": types.TypeVariant, "ERROR_MESSAGE": types.NVarChar(4000), "OBJECT_ID": types.TypeInt, "SUSER_SNAME": types.NVarChar(128),
	} {
		f, ok := builtin.Lookup(name)
		if !ok {
			t.Errorf("no %s", name)
			continue
		}
		if got, err := f.Type(make([]types.Type, f.Min), make([]*types.Value, f.Min)); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
		}
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	for _, name := range builtin.Functions() {
		if builtin.Missing(name) {
			t.Errorf("%s is there", name)
		}
	}
	if !builtin.Missing("GREATEST") || builtin.Missing("DBO_MY_FUNCTION") {
		t.Error("what is missing is not known")
	}
}

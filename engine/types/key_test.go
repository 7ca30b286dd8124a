package types_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"loopbroker/engine/types"
)

// Keys order like Compare, ascending and descending, alone and behind each other.
func TestAppendKeyOrder(t *testing.T) {
	t.Parallel()
	for _, typ := range columnTypes {
		name := typ.String()
		if typ.Collation != nil {
			name += " " + typ.Collation.Name
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				a, b := genOrNull(t, typ), genOrNull(t, typ)
				x, y := genOrNull(t, types.TypeInt), genOrNull(t, types.TypeInt)
				d := types.Compare(a, b, typ.Collation)
				ka, kb := types.AppendKey(nil, a, typ, false), types.AppendKey(nil, b, typ, false)
				if got := bytes.Compare(ka, kb); got != sign(d) {
					t.Fatalf("Compare(%v, %v) = %d, keys % x and % x compare as %d", a, b, d, ka, kb, got)
				}
				if d == 0 && types.Hash(a, typ.Collation) != types.Hash(b, typ.Collation) {
					t.Fatalf("%v and %v are equal but hash differently", a, b)
				}
				checkPair(t, typ, a, b, x, y)
			})
		})
	}
}

// checkPair checks the keys of the rows (a, x) and (b, y), each column ascending
// or descending.
func checkPair(t *rapid.T, typ types.Type, a, b, x, y types.Value) {
	t.Helper()
	first, second := sign(types.Compare(a, b, typ.Collation)), sign(types.Compare(x, y, nil))
	for i := range 4 {
		desc1, desc2 := i&1 != 0, i&2 != 0
		ka := types.AppendKey(types.AppendKey(nil, a, typ, desc1), x, types.TypeInt, desc2)
		kb := types.AppendKey(types.AppendKey(nil, b, typ, desc1), y, types.TypeInt, desc2)
		want := first
		switch {
		case first != 0 && desc1:
			want = -first
		case first == 0 && desc2:
			want = -second
		case first == 0:
			want = second
		}
		if got := bytes.Compare(ka, kb); got != want {
			t.Fatalf("desc %t, %t: keys of (%v, %v) and (%v, %v) compare as %d, want %d", desc1, desc2, a, x, b, y, got, want)
		}
	}
}

func genOrNull(t *rapid.T, typ types.Type) types.Value {
	if rapid.IntRange(0, 9).Draw(t, "null") == 0 {
		return types.Null
	}
	return genValue(t, typ)
}

// The same number has the same key in all integer types, so that an index can be
// searched without a conversion.
func TestAppendKeyIntegers(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 1, 127, 128, 255} {
		want := types.AppendKey(nil, types.NewBigInt(n), types.TypeBigInt, false)
		for _, v := range []types.Value{types.NewTinyInt(n), types.NewSmallInt(n), types.NewInt(n)} {
			if got := types.AppendKey(nil, v, types.TypeBigInt, false); !bytes.Equal(got, want) {
				t.Errorf("key of %v %d = % x, want % x", v.Kind(), n, got, want)
			}
		}
	}
	if got := len(types.AppendKey(nil, types.NewInt(100), types.TypeInt, false)); got != 2 {
		t.Errorf("a small number takes %d bytes, want 2", got)
	}
}

func TestVariantKeyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kinds := []types.Type{
			types.TypeInt, types.TypeBigInt, types.Decimal(38, 6), types.Decimal(9, 2), types.TypeMoney, types.TypeFloat, types.TypeDateTime, types.DateTime2(7),
			types.TypeDate, types.NVarChar(20), types.VarChar(20), types.VarBinary(10), types.TypeUniqueIdentifier,
		}
		a := genOrNull(t, rapid.SampledFrom(kinds).Draw(t, "type a"))
		b := genOrNull(t, rapid.SampledFrom(kinds).Draw(t, "type b"))
		d := types.CompareVariant(a, b)
		ka, kb := types.AppendKey(nil, a, types.TypeVariant, false), types.AppendKey(nil, b, types.TypeVariant, false)
		if got := bytes.Compare(ka, kb); got != sign(d) {
			t.Fatalf("CompareVariant(%v %v, %v %v) = %d, keys % x and % x compare as %d", a.Kind(), a, b.Kind(), b, d, ka, kb, got)
		}
	})
}

// "Comparing GUID and uniqueidentifier values" (ADO.NET documentation): the last
// six bytes count most, then the groups from right to left.
func TestCompareUniqueIdentifiers(t *testing.T) {
	t.Parallel()
	sorted := []string{
		"3AAAAAAA-BBBB-CCCC-DDDD-1EEEEEEEEEEE",
		"2AAAAAAA-BBBB-CCCC-DDDD-2EEEEEEEEEEE",
		"1AAAAAAA-BBBB-CCCC-DDDD-3EEEEEEEEEEE",
	}
	for i := 1; i < len(sorted); i++ {
		a, b := guid(t, sorted[i-1]), guid(t, sorted[i])
		if types.Compare(a, b, nil) >= 0 {
			t.Errorf("%s does not sort before %s", sorted[i-1], sorted[i])
		}
	}
}

func guid(t *testing.T, s string) types.Value {
	t.Helper()
	v, err := types.ParseUniqueIdentifier(s)
	if err != nil {
		t.Fatalf("ParseUniqueIdentifier(%q): %v", s, err)
	}
	return v
}

// The end of binary data is not mistaken for a zero within it, whatever follows.
func TestBinaryKeyEnd(t *testing.T) {
	t.Parallel()
	typ := types.VarBinary(10)
	short := types.AppendKey(types.AppendKey(nil, types.NewVarBinary([]byte{1}), typ, false), types.Null, types.TypeInt, true)
	long := types.AppendKey(types.AppendKey(nil, types.NewVarBinary([]byte{1, 0, 1}), typ, false), types.NewInt(5), types.TypeInt, true)
	if bytes.Compare(short, long) >= 0 {
		t.Errorf("% x does not sort before % x", short, long)
	}
}

func TestCompareBinary(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		want int
	}{{"\x01", "\x01\x00", 0}, {"", "\x00", 0}, {"\x01", "\x01\x01", -1}, {"\x02", "\x01\xFF", 1}} {
		a, b := types.NewVarBinary([]byte(tc.a)), types.NewVarBinary([]byte(tc.b))
		if got := sign(types.Compare(a, b, nil)); got != tc.want {
			t.Errorf("Compare(%v, %v) = %d, want %d", a, b, got, tc.want)
		}
	}
}

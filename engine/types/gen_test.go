package types_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// wantNumber fails the test unless err is the SQL Server error of that number.
func wantNumber(t *testing.T, err error, number int32) {
	t.Helper()
	if got := number32(err); got != number {
		t.Fatalf("error = %v, want Msg %d", err, number)
	}
}

// number32 returns the number of err, zero for nil and other errors.
func number32(err error) int32 {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// letters are characters that collations treat in different ways: case, accents
// (composed or not), expansions, word-sort signs, width, kana, surrogate pairs,
// controls and blanks.
var letters = []rune("aAbBzZáÁàéÉeEßsSæÆœþðøØıŁ09²½ -'\t\x01!_.,+<=>~…ァぁｱＡアあ漢яЯй\u0301\u0308😀\uFFFD\u00A0ﬁ\uE000")

func genText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var wire []byte
		for _, u := range utf16.Encode(rapid.SliceOfN(rapid.SampledFrom(letters), 0, 6).Draw(t, "runes")) {
			wire = append(wire, byte(u), byte(u>>8))
		}
		if rapid.IntRange(0, 9).Draw(t, "half a pair") == 0 {
			wire = append(wire, 0x3D, 0xD8)
		}
		return types.DecodeUTF16(wire)
	})
}

// genVarCharText makes texts of characters that code page 1252 has.
func genVarCharText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return types.DecodeVarChar(types.EncodeVarChar(genText().Draw(t, "text")))
	})
}

// genDecimal makes decimals of all precisions and scales.
func genDecimal() *rapid.Generator[types.Value] {
	return rapid.Custom(func(t *rapid.T) types.Value {
		prec := rapid.IntRange(1, 38).Draw(t, "precision")
		scale := rapid.IntRange(0, prec).Draw(t, "scale")
		digits := rapid.StringOfN(rapid.RuneFrom([]rune("0123456789")), prec, prec, -1).Draw(t, "digits")
		text := digits[:prec-scale] + "." + digits[prec-scale:]
		if rapid.Bool().Draw(t, "negative") {
			text = "-" + text
		}
		v, err := types.Convert(types.NewVarChar(strings.TrimSuffix(text, ".")), types.Decimal(uint8(prec), uint8(scale)), 0)
		if err != nil {
			t.Fatalf("decimal %q: %v", text, err)
		}
		return v
	})
}

var guidBytes = rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0x7F, 0x80, 0xFF}), 16, 16)

// genValue makes a value of the type, not NULL.
func genValue(t *rapid.T, typ types.Type) types.Value {
	switch k := typ.Kind; {
	case k == types.KindBit:
		return types.NewBit(rapid.Bool().Draw(t, "bit"))
	case k == types.KindTinyInt:
		return types.NewTinyInt(int64(rapid.Byte().Draw(t, "tinyint")))
	case k == types.KindSmallInt:
		return types.NewSmallInt(int64(rapid.Int16().Draw(t, "smallint")))
	case k == types.KindInt:
		return types.NewInt(int64(rapid.Int32().Draw(t, "int")))
	case k == types.KindBigInt:
		return types.NewBigInt(rapid.Int64().Draw(t, "bigint"))
	case k == types.KindMoney:
		return types.NewMoney(rapid.Int64().Draw(t, "money"))
	case k == types.KindSmallMoney:
		return types.NewSmallMoney(int64(rapid.Int32().Draw(t, "smallmoney")))
	case k == types.KindFloat:
		return types.NewFloat(rapid.Float64Range(-1e300, 1e300).Draw(t, "float") + 0) // no negative zero
	case k == types.KindReal:
		return types.NewReal(float64(rapid.Float32Range(-1e38, 1e38).Draw(t, "real")) + 0) // no negative zero
	case k == types.KindDecimal:
		for {
			if v, err := types.Convert(genDecimal().Draw(t, "decimal"), typ, 0); err == nil {
				return v
			}
		}
	case k == types.KindDate:
		return types.NewDate(rapid.IntRange(0, 3652058).Draw(t, "days"))
	case k == types.KindTime:
		return types.NewTime(rapid.Int64Range(0, 863999999999).Draw(t, "ticks"), 7)
	case k == types.KindDateTime:
		return types.NewDateTime(rapid.IntRange(-53690, 2958463).Draw(t, "days"), rapid.Int64Range(0, 25919999).Draw(t, "units"))
	case k == types.KindSmallDateTime:
		return types.NewSmallDateTime(rapid.IntRange(0, 65535).Draw(t, "days"), rapid.Int64Range(0, 1439).Draw(t, "minutes"))
	case k == types.KindDateTime2:
		return types.NewDateTime2(rapid.IntRange(0, 3652058).Draw(t, "days"), rapid.Int64Range(0, 863999999999).Draw(t, "ticks"), 7)
	case k == types.KindDateTimeOffset:
		return types.NewDateTimeOffset(rapid.IntRange(1, 3652057).Draw(t, "days"), rapid.Int64Range(0, 863999999999).Draw(t, "ticks"),
			rapid.IntRange(-840, 840).Draw(t, "offset"), 7)
	case k == types.KindUniqueIdentifier:
		return types.NewBinary(k, string(guidBytes.Draw(t, "guid")))
	case k.IsUnicode():
		return types.NewString(k, genText().Draw(t, "text"))
	case k.IsChar():
		return types.NewString(k, genVarCharText().Draw(t, "text"))
	}
	return types.NewBinary(typ.Kind, string(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2, 0x80, 0xFF}), 0, 5).Draw(t, "bytes")))
}

// columnTypes are one type of each kind that a column may have, the character
// types in several collations.
var columnTypes = func() []types.Type {
	list := []types.Type{
		types.TypeBit, types.TypeTinyInt, types.TypeSmallInt, types.TypeInt, types.TypeBigInt, types.TypeMoney, types.TypeSmallMoney,
		types.TypeFloat, types.TypeReal, types.Decimal(38, 6), types.Decimal(9, 2), types.TypeDate, types.Time(7), types.TypeDateTime,
		types.TypeSmallDateTime, types.DateTime2(7), types.TypeDateTimeOffset, types.TypeUniqueIdentifier, types.VarBinary(10),
		types.Binary(4), types.TypeRowVersion,
	}
	for _, c := range types.Collations() {
		list = append(list, types.NVarChar(20).WithCollation(c), types.VarChar(20).WithCollation(c))
	}
	return list
}()

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

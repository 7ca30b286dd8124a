package types_test

import (
	"bytes"
	"errors"
	"fmt"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

func ExampleConvert() {
	v, err := types.Convert(types.NewNVarChar("2026-11-30T21:54:58.1234567"), types.DateTime2(3), 0)
	fmt.Println(v, err)

	text, err := types.Convert(v, types.VarChar(11), 106)
	fmt.Println(text, err)

	_, err = types.Convert(types.NewNVarChar("thirty"), types.TypeInt, 0)
	fmt.Println(err)
	// Output:
	// 2026-11-30 21:54:58.123 <nil>
	// 30 Nov 2026 <nil>
	// Msg 245, Level 16, State 1, Line 0: Conversion failed when converting the nvarchar value 'thirty' to data type int.
}

func ExampleStore() {
	_, err := types.Store(types.NewNVarChar("loopbroker"), types.NVarChar(4))
	if e := (*types.ErrTruncated)(nil); errors.As(err, &e) {
		fmt.Println(sqlerr.New(2628, "db.dbo.Queue", "Name", e.Value.String()).Message)
	}
	// Output:
	// String or binary data would be truncated in table 'db.dbo.Queue', column 'Name'. Truncated value: 'loop'.
}

func ExampleArith() {
	a, _ := types.ParseDecimalLiteral("2.0")
	b := types.NewInt(3)
	t, _ := types.BinaryType(types.OpDiv, types.ConstantType(a), types.ConstantType(b))
	v, err := types.Arith(types.OpDiv, a, b, t)
	fmt.Println(t, v, err)
	// Output:
	// decimal(7,6) 0.666666 <nil>
}

func ExampleAppendKey() {
	t := types.NVarChar(20)
	low := types.AppendKey(nil, types.NewNVarChar("Éva"), t, false)
	high := types.AppendKey(nil, types.NewNVarChar("eve"), t, false)
	fmt.Println(bytes.Compare(low, high), types.Compare(types.NewNVarChar("EVE "), types.NewNVarChar("eve"), t.Collation))
	// Output:
	// -1 0
}

func ExampleTypeFromName() {
	t, err := types.TypeFromName("national character varying", []int{40}, false, 1)
	fmt.Println(t, err)

	_, err = types.TypeFromName("decimal", []int{39}, false, 2)
	fmt.Println(err)
	// Output:
	// nvarchar(40) <nil>
	// Msg 2750, Level 16, State 1, Line 0: Column or parameter #2: Specified column precision 39 is greater than the maximum precision of 38.
}

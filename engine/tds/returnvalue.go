package tds

import "loopbroker/engine/types"

// AppendReturnValue appends RETURNVALUE, the value of an output parameter
// ([MS-TDS] 2.2.7.20). The large types that have no output form travel as the
// (max) types.
func AppendReturnValue(dst []byte, ordinal int, name string, t types.Type, v types.Value) ([]byte, error) {
	const statusOutput = 1
	switch t.Kind {
	case types.KindText:
		t.Kind, t.Length = types.KindVarChar, types.Max
	case types.KindNText:
		t.Kind, t.Length = types.KindNVarChar, types.Max
	case types.KindImage:
		t.Kind, t.Length = types.KindVarBinary, types.Max
	}
	w, err := newWireType(t, true)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	dst = appendU16(append(dst, tokenReturnValue), uint16(ordinal))
	dst = appendBVarChar(dst, name)
	dst = append(dst, statusOutput)
	dst = appendU32(dst, w.userType())
	dst = appendU16(dst, flagNullable)
	dst = w.appendInfo(dst)
	if dst, err = w.append(dst, v); err != nil {
		return dst[:start], err
	}
	return dst, nil
}

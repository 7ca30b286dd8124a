package tds

import (
	"fmt"

	"loopbroker/engine/types"
)

// wireType is the form in which values of one column or output parameter
// travel to the client.
type wireType struct {
	typ   types.Type
	id    byte
	size  int // fixed types: of the value; others: the longest in bytes
	fixed bool
	plp   bool
}

// newWireType returns the form of t. A column that is never NULL has the
// fixed-length form where there is one, as SQL Server's has.
func newWireType(t types.Type, nullable bool) (wireType, error) {
	w := wireType{typ: t, plp: t.Length == types.Max}
	short := func(id byte, unit, size int) wireType {
		w.id, w.size = id, size*unit
		return w
	}
	number := func(fixed, variable byte) (wireType, error) {
		w.id, w.size, w.fixed = variable, fixedSize(fixed), !nullable
		if w.fixed {
			w.id = fixed
		}
		return w, nil
	}
	switch t.Kind {
	case types.KindNull: // an untyped NULL is an int
		w.typ.Kind = types.KindInt
		return number(idInt4, idIntN)
	case types.KindBit:
		return number(idBit, idBitN)
	case types.KindTinyInt:
		return number(idInt1, idIntN)
	case types.KindSmallInt:
		return number(idInt2, idIntN)
	case types.KindInt:
		return number(idInt4, idIntN)
	case types.KindBigInt:
		return number(idInt8, idIntN)
	case types.KindReal:
		return number(idFlt4, idFltN)
	case types.KindFloat:
		return number(idFlt8, idFltN)
	case types.KindSmallMoney:
		return number(idMoney4, idMoneyN)
	case types.KindMoney:
		return number(idMoney, idMoneyN)
	case types.KindSmallDateTime:
		return number(idDateTim4, idDateTimN)
	case types.KindDateTime:
		return number(idDateTime, idDateTimN)
	case types.KindDecimal:
		w.id, w.size = idDecimalN, decimalSize(t.Precision)
	case types.KindDate:
		w.id, w.size = idDateN, dateSize
	case types.KindTime:
		w.id, w.size = idTimeN, timeSize(t.Scale)
	case types.KindDateTime2:
		w.id, w.size = idDateTime2N, timeSize(t.Scale)+dateSize
	case types.KindDateTimeOffset:
		w.id, w.size = idDateTimeOffset, timeSize(t.Scale)+dateSize+offsetSize
	case types.KindUniqueIdentifier:
		w.id, w.size = idGUID, guidSize
	case types.KindChar:
		return short(idBigChar, 1, t.Length), nil
	case types.KindVarChar:
		return short(idBigVarChar, 1, t.Length), nil
	case types.KindNChar:
		return short(idNChar, 2, t.Length), nil
	case types.KindNVarChar:
		return short(idNVarChar, 2, t.Length), nil
	case types.KindBinary:
		return short(idBigBinary, 1, t.Length), nil
	case types.KindVarBinary:
		return short(idBigVarBinary, 1, t.Length), nil
	case types.KindRowVersion:
		return short(idBigBinary, 1, rowVersionSize), nil
	case types.KindText:
		w.id = idText
	case types.KindNText:
		w.id = idNText
	case types.KindImage:
		w.id = idImage
	case types.KindXML:
		w.id, w.plp = idXML, true
	case types.KindVariant:
		w.id = idVariant
	default:
		return wireType{}, fmt.Errorf("tds: a column cannot have the type %v", t.Kind)
	}
	return w, nil
}

// decimalSize is the size of a decimal with its sign ([MS-TDS] 2.2.5.5.1.6).
func decimalSize(precision uint8) int {
	switch {
	case precision <= 9:
		return 5
	case precision <= 19:
		return 9
	case precision <= 28:
		return 13
	}
	return 17
}

// appendInfo appends TYPE_INFO.
func (w *wireType) appendInfo(dst []byte) []byte {
	dst = append(dst, w.id)
	switch w.id {
	case idIntN, idBitN, idFltN, idMoneyN, idDateTimN, idGUID:
		dst = append(dst, byte(w.size))
	case idDecimalN:
		dst = append(dst, byte(w.size), w.typ.Precision, w.typ.Scale)
	case idTimeN, idDateTime2N, idDateTimeOffset:
		dst = append(dst, w.typ.Scale)
	case idBigChar, idBigVarChar, idNChar, idNVarChar:
		dst = appendCollation(w.appendShort(dst), w.typ.Collation)
	case idBigBinary, idBigVarBinary:
		dst = w.appendShort(dst)
	case idXML:
		dst = append(dst, 0) // no schema
	case idText, idNText:
		size := uint32(maxLong)
		if w.id == idNText {
			size--
		}
		dst = appendCollation(appendU32(dst, size), w.typ.Collation)
	case idImage:
		dst = appendU32(dst, maxLong)
	case idVariant:
		dst = appendU32(dst, maxVariant)
	}
	return dst
}

func (w *wireType) appendShort(dst []byte) []byte {
	if w.plp {
		return appendU16(dst, plpMarker)
	}
	return appendU16(dst, uint16(w.size))
}

// userType is USERTYPE, which is 0 but for the one type without an id of its own.
func (w *wireType) userType() uint32 {
	if w.typ.Kind == types.KindRowVersion {
		return userTypeStamp
	}
	return 0
}

package tds

import (
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// The ids of the data types ([MS-TDS] 2.2.5.4).
const (
	idNull           = 0x1F
	idInt1           = 0x30
	idBit            = 0x32
	idInt2           = 0x34
	idInt4           = 0x38
	idDateTim4       = 0x3A
	idFlt4           = 0x3B
	idMoney          = 0x3C
	idDateTime       = 0x3D
	idFlt8           = 0x3E
	idMoney4         = 0x7A
	idInt8           = 0x7F
	idGUID           = 0x24
	idIntN           = 0x26
	idDecimal        = 0x37 // legacy
	idNumeric        = 0x3F // legacy
	idBitN           = 0x68
	idDecimalN       = 0x6A
	idNumericN       = 0x6C
	idFltN           = 0x6D
	idMoneyN         = 0x6E
	idDateTimN       = 0x6F
	idDateN          = 0x28
	idTimeN          = 0x29
	idDateTime2N     = 0x2A
	idDateTimeOffset = 0x2B
	idVarBinary      = 0x25 // legacy, as the three below
	idVarChar        = 0x27
	idBinary         = 0x2D
	idChar           = 0x2F
	idBigVarBinary   = 0xA5
	idBigVarChar     = 0xA7
	idBigBinary      = 0xAD
	idBigChar        = 0xAF
	idNVarChar       = 0xE7
	idNChar          = 0xEF
	idXML            = 0xF1
	idUDT            = 0xF0
	idTVP            = 0xF3
	idJSON           = 0xF4
	idVector         = 0xF5
	idText           = 0x23
	idImage          = 0x22
	idNText          = 0x63
	idVariant        = 0x62
)

// Limits of types.
const (
	plpMarker       = 0xFFFF // the length of a (max) type in TYPE_INFO
	shortNull       = 0xFFFF // the length of a NULL of a type with a two-byte length
	maxShort        = 8000
	maxVariant      = 8009
	maxVariantData  = 8016
	maxLong         = 0x7FFFFFFF
	maxPrecision    = 38
	maxTimeScale    = 7
	userTypeStamp   = 80 // USERTYPE of timestamp
	guidSize        = 16
	rowVersionSize  = 8
	dateSize        = 3
	offsetSize      = 2
	maxDecimalBytes = 17
)

// where tells which of the forms of TYPE_INFO and of values applies.
type where uint8

const (
	inParam where = iota // RPC parameters and TVP columns
	inBulk               // BulkLoadBCP
)

// typeInfo is TYPE_INFO ([MS-TDS] 2.2.5.6).
type typeInfo struct {
	id          byte
	size        int // the longest value in bytes; plpMarker for a (max) type
	prec, scale uint8
	collation   wireCollation
	plp         bool
	where       where
	typ         types.Type
}

// typeInfo reads TYPE_INFO, but for that of a TVP.
func (c *cursor) typeInfo(w where) typeInfo {
	ti := typeInfo{id: c.u8(), where: w}
	if c.err != nil {
		return ti
	}
	switch ti.id {
	case idNull, idInt1, idBit, idInt2, idInt4, idDateTim4, idFlt4, idMoney, idDateTime, idFlt8, idMoney4, idInt8:
		ti.size = fixedSize(ti.id)
	case idDateN:
		ti.size = dateSize
	case idTimeN, idDateTime2N, idDateTimeOffset:
		c.timeInfo(&ti)
	case idGUID, idIntN, idBitN, idFltN, idMoneyN, idDateTimN:
		ti.size = int(c.u8())
		c.checkSize(&ti)
	case idDecimalN, idNumericN, idDecimal, idNumeric:
		ti.size, ti.prec, ti.scale = int(c.u8()), c.u8(), c.u8()
		if c.err == nil && (ti.prec < 1 || ti.prec > maxPrecision || ti.scale > ti.prec || ti.size > maxDecimalBytes) {
			c.malformed("decimal(%d,%d) of %d bytes", ti.prec, ti.scale, ti.size)
		}
	case idVarBinary, idVarChar, idBinary, idChar:
		ti.size = int(c.u8())
		ti.collation = types.DefaultCollation.TDS()
	case idBigVarBinary, idBigBinary, idBigVarChar, idBigChar, idNVarChar, idNChar:
		c.shortInfo(&ti)
	case idXML:
		c.xmlInfo()
		ti.plp = true
		if w == inBulk {
			c.malformed("xml in a bulk load")
		}
	case idText, idNText, idImage, idVariant:
		c.longInfo(&ti)
	case idUDT:
		c.fail(sqlerr.Unsupported("CLR types"))
	case idJSON:
		c.fail(sqlerr.Unsupported("the json data type"))
	case idVector:
		c.fail(sqlerr.Unsupported("the vector data type"))
	default:
		c.malformed("data type 0x%02X", ti.id)
	}
	ti.typ = ti.engineType()
	return ti
}

func (c *cursor) timeInfo(ti *typeInfo) {
	ti.scale = c.u8()
	if ti.scale > maxTimeScale {
		c.malformed("scale %d of a time type", ti.scale)
		return
	}
	ti.size = timeSize(ti.scale)
	switch ti.id {
	case idDateTime2N:
		ti.size += dateSize
	case idDateTimeOffset:
		ti.size += dateSize + offsetSize
	}
}

func (c *cursor) shortInfo(ti *typeInfo) {
	ti.size = int(c.u16())
	switch ti.id {
	case idBigVarChar, idBigChar, idNVarChar, idNChar:
		ti.collation = c.collation()
	}
	ti.plp = ti.size == plpMarker
	switch {
	case !ti.plp && ti.size > maxShort:
		c.malformed("a data type of %d bytes", ti.size)
	case ti.size%2 != 0 && !ti.plp && (ti.id == idNVarChar || ti.id == idNChar):
		c.malformed("a Unicode type of %d bytes", ti.size)
	}
}

// xmlInfo reads XML_INFO; the schema collection, if there is one, only matters
// to the destination.
func (c *cursor) xmlInfo() {
	switch c.u8() {
	case 0:
	case 1:
		c.bVarChar()
		c.bVarChar()
		c.usVarChar()
	default:
		c.malformed("XML_INFO")
	}
}

func (c *cursor) longInfo(ti *typeInfo) {
	size := c.u32()
	if size > maxLong {
		size = maxLong
	}
	ti.size = int(size)
	if ti.id == idText || ti.id == idNText {
		ti.collation = c.collation()
	}
	if ti.where == inBulk && ti.id != idVariant {
		c.usVarChar() // the table's name, without a number of parts in a bulk load
	}
}

// checkSize refuses the lengths that a nullable type cannot have.
func (c *cursor) checkSize(ti *typeInfo) {
	if c.err != nil {
		return
	}
	ok := false
	switch ti.id {
	case idGUID:
		ok = ti.size == guidSize || ti.size == 0
	case idIntN:
		ok = ti.size == 1 || ti.size == 2 || ti.size == 4 || ti.size == 8
	case idBitN:
		ok = ti.size == 1
	case idFltN, idMoneyN, idDateTimN:
		ok = ti.size == 4 || ti.size == 8
	}
	if !ok {
		c.malformed("data type 0x%02X of %d bytes", ti.id, ti.size)
	}
}

// fixedSize is the size of a fixed-length type.
func fixedSize(id byte) int {
	switch id {
	case idInt1, idBit:
		return 1
	case idInt2:
		return 2
	case idInt4, idDateTim4, idFlt4, idMoney4:
		return 4
	case idInt8, idDateTime, idFlt8, idMoney:
		return 8
	}
	return 0
}

// timeSize is the size of the time of day with the given scale.
func timeSize(scale uint8) int {
	switch {
	case scale <= 2:
		return 3
	case scale <= 4:
		return 4
	}
	return 5
}

// fixedID returns the fixed-length type that a nullable type of the given size
// stands for.
func fixedID(id byte, size int) byte {
	switch id {
	case idIntN:
		switch size {
		case 1:
			return idInt1
		case 2:
			return idInt2
		case 4:
			return idInt4
		case 8:
			return idInt8
		}
	case idBitN:
		if size == 1 {
			return idBit
		}
	case idFltN:
		switch size {
		case 4:
			return idFlt4
		case 8:
			return idFlt8
		}
	case idMoneyN:
		switch size {
		case 4:
			return idMoney4
		case 8:
			return idMoney
		}
	case idDateTimN:
		switch size {
		case 4:
			return idDateTim4
		case 8:
			return idDateTime
		}
	}
	return idNull
}

// engineType returns the type that ti describes.
func (ti *typeInfo) engineType() types.Type {
	id := ti.id
	switch id {
	case idIntN, idBitN, idFltN, idMoneyN, idDateTimN:
		id = fixedID(id, ti.size)
	}
	switch id {
	case idDecimalN, idNumericN, idDecimal, idNumeric:
		return types.Decimal(ti.prec, ti.scale)
	case idTimeN, idDateTime2N, idDateTimeOffset:
		return types.Type{Kind: kindOf(id), Scale: ti.scale}
	case idVarBinary, idBinary, idBigVarBinary, idBigBinary:
		return types.Type{Kind: kindOf(id), Length: ti.length(1)}
	case idVarChar, idChar, idBigVarChar, idBigChar:
		return types.Type{Kind: kindOf(id), Length: ti.length(1), Collation: ti.collation.known()}
	case idNVarChar, idNChar:
		return types.Type{Kind: kindOf(id), Length: ti.length(2), Collation: ti.collation.known()}
	case idText, idNText:
		return types.Type{Kind: kindOf(id), Collation: ti.collation.known()}
	}
	return types.Type{Kind: kindOf(id)}
}

// length returns the declared length in units of the given size. Clients
// declare the length of an empty string as 0.
func (ti *typeInfo) length(unit int) int {
	if ti.plp {
		return types.Max
	}
	return max(ti.size/unit, 1)
}

// kindOf returns the kind of a type id, KindNull for the untyped NULL.
func kindOf(id byte) types.Kind {
	switch id {
	case idInt1:
		return types.KindTinyInt
	case idBit:
		return types.KindBit
	case idInt2:
		return types.KindSmallInt
	case idInt4:
		return types.KindInt
	case idInt8:
		return types.KindBigInt
	case idDateTim4:
		return types.KindSmallDateTime
	case idDateTime:
		return types.KindDateTime
	case idFlt4:
		return types.KindReal
	case idFlt8:
		return types.KindFloat
	case idMoney:
		return types.KindMoney
	case idMoney4:
		return types.KindSmallMoney
	case idGUID:
		return types.KindUniqueIdentifier
	case idDecimalN, idNumericN, idDecimal, idNumeric:
		return types.KindDecimal
	case idDateN:
		return types.KindDate
	case idTimeN:
		return types.KindTime
	case idDateTime2N:
		return types.KindDateTime2
	case idDateTimeOffset:
		return types.KindDateTimeOffset
	case idVarBinary, idBigVarBinary:
		return types.KindVarBinary
	case idBinary, idBigBinary:
		return types.KindBinary
	case idVarChar, idBigVarChar:
		return types.KindVarChar
	case idChar, idBigChar:
		return types.KindChar
	case idNVarChar:
		return types.KindNVarChar
	case idNChar:
		return types.KindNChar
	case idText:
		return types.KindText
	case idNText:
		return types.KindNText
	case idImage:
		return types.KindImage
	case idXML:
		return types.KindXML
	case idVariant:
		return types.KindVariant
	case idTVP:
		return types.KindTable
	}
	return types.KindNull
}

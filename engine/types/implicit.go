package types

import "loopbroker/engine/sqlerr"

// allowed says whether a conversion between two kinds is allowed.
type allowed uint8

const (
	notAllowed  allowed = iota
	withCast            // by CAST and CONVERT only
	implicitToo         // implicitly too
)

// kindClass groups kinds that are alike in the conversion table.
type kindClass uint8

const (
	classBinary kindClass = iota
	classChar
	classNChar
	classLegacyTime // datetime, smalldatetime
	classDate
	classTime
	classLateTime // datetime2, datetimeoffset
	classExact    // bit, integers, decimal
	classMoney
	classApprox
	classRowVersion
	classGUID
	classImage
	classText
	classNText
	classVariant
	classXML
	classOther // table, cursor
	classCount
)

var kindClasses = [...]kindClass{
	KindNull: classOther, KindBit: classExact, KindTinyInt: classExact, KindSmallInt: classExact, KindInt: classExact,
	KindBigInt: classExact, KindDecimal: classExact, KindSmallMoney: classMoney, KindMoney: classMoney,
	KindReal: classApprox, KindFloat: classApprox, KindDate: classDate, KindTime: classTime,
	KindSmallDateTime: classLegacyTime, KindDateTime: classLegacyTime, KindDateTime2: classLateTime,
	KindDateTimeOffset: classLateTime, KindChar: classChar, KindVarChar: classChar, KindNChar: classNChar,
	KindNVarChar: classNChar, KindText: classText, KindNText: classNText, KindBinary: classBinary,
	KindVarBinary: classBinary, KindImage: classImage, KindRowVersion: classRowVersion,
	KindUniqueIdentifier: classGUID, KindXML: classXML, KindVariant: classVariant, KindTable: classOther,
	KindCursor: classOther,
}

// conversionTable is the documented chart ("CAST and CONVERT (Transact-SQL)",
// Implicit conversions): I implicit, E by CAST only, - not at all. Columns are in
// the order of the classes:
//
//	binary char nchar legacy date time late exact money approx rowversion guid
//	image text ntext variant xml
var conversionTable = [classCount]string{
	classBinary:     "IIIIEEEII-III--II",
	classChar:       "EIIIIIIIIIEIIIIII",
	classNChar:      "EIIIIIIIII-I-IIII",
	classLegacyTime: "EIIIIIIEEEE----I-",
	classDate:       "EIIII-I--------I-",
	classTime:       "EIII-II--------I-",
	classLateTime:   "EIIIIII--------I-",
	classExact:      "IIII---IIII----I-",
	classMoney:      "IEEI---IIII----I-",
	classApprox:     "IIII---III-----I-",
	classRowVersion: "II-I---II-I-I----",
	classGUID:       "III--------I---I-",
	classImage:      "I---------I-I----",
	classText:       "-II----------II-I",
	classNText:      "-II----------II-I",
	classVariant:    "EEEEEEEEEE-E---I-",
	classXML:        "EEE-------------I",
	classOther:      "-----------------",
}

func allowedConversion(from, to Kind) allowed {
	if from == to && from != KindTable && from != KindCursor {
		return implicitToo
	}
	row := conversionTable[kindClasses[from]]
	at := int(kindClasses[to])
	if at >= len(row) {
		return notAllowed
	}
	switch row[at] {
	case 'I':
		return implicitToo
	case 'E':
		return withCast
	}
	return notAllowed
}

// ImplicitlyConvertible returns nil if a value of type from may be assigned to
// type to: error 257 if that takes CAST or CONVERT, 206 if there is no such
// conversion. The untyped NULL goes to every type.
func ImplicitlyConvertible(from, to Type) error {
	if from.Kind == KindNull {
		return nil
	}
	if from.Length == Max && to.Kind == KindVariant {
		return sqlerr.New(206, from.clashName(), to.clashName())
	}
	switch allowedConversion(from.Kind, to.Kind) {
	case implicitToo:
		return nil
	case withCast:
		return sqlerr.New(257, from.clashName(), to.clashName())
	}
	return sqlerr.New(206, from.clashName(), to.clashName())
}

// clashName is the name of a type in the errors 206, 257 and 529: without its
// length, but for (max).
func (t Type) clashName() string {
	if t.Length == Max {
		return t.Kind.String() + "(max)"
	}
	return t.Kind.String()
}

// ExplicitlyConvertible returns nil if CAST and CONVERT convert type from to type
// to, else error 529.
func ExplicitlyConvertible(from, to Type) error {
	if from.Kind == KindNull || allowedConversion(from.Kind, to.Kind) != notAllowed && (from.Length != Max || to.Kind != KindVariant) {
		return nil
	}
	return sqlerr.New(529, from.clashName(), to.clashName())
}

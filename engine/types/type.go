package types

import (
	"strconv"
	"strings"

	"loopbroker/engine/sqlerr"
)

// Limits of the types with a length that is not (max).
const (
	MaxVarChar     = 8000 // bytes of char, varchar, binary and varbinary
	MaxNVarChar    = 4000 // UTF-16 code units of nchar and nvarchar
	MaxPrecision   = 38   // digits of a decimal
	MaxTimeScale   = 7    // fractional digits of time, datetime2 and datetimeoffset
	defaultLength  = 1    // of char(…) without a length in a declaration
	castLength     = 30   // of char(…) without a length in CAST and CONVERT
	sysnameLength  = 128
	bitsOfReal     = 24
	maxBitsOfFloat = 53
)

// Frequent types that need no length.
var (
	TypeMoney          = Type{Kind: KindMoney}
	TypeSmallMoney     = Type{Kind: KindSmallMoney}
	TypeSmallDateTime  = Type{Kind: KindSmallDateTime}
	TypeImage          = Type{Kind: KindImage}
	TypeXML            = Type{Kind: KindXML}
	TypeSysname        = NVarChar(sysnameLength)
	TypeText           = Type{Kind: KindText, Collation: DefaultCollation}
	TypeNText          = Type{Kind: KindNText, Collation: DefaultCollation}
	TypeDateTimeOffset = Type{Kind: KindDateTimeOffset, Scale: MaxTimeScale}
)

// Time returns the type time(scale).
func Time(scale uint8) Type { return Type{Kind: KindTime, Scale: scale} }

// DateTimeOffset returns the type datetimeoffset(scale).
func DateTimeOffset(scale uint8) Type { return Type{Kind: KindDateTimeOffset, Scale: scale} }

// Char returns the type char(length) in the default collation.
func Char(length int) Type {
	return Type{Kind: KindChar, Length: length, Collation: DefaultCollation}
}

// NChar returns the type nchar(length) in the default collation.
func NChar(length int) Type {
	return Type{Kind: KindNChar, Length: length, Collation: DefaultCollation}
}

// Binary returns the type binary(length).
func Binary(length int) Type { return Type{Kind: KindBinary, Length: length} }

// WithCollation returns t in collation c if t is a character type, t itself
// otherwise.
func (t Type) WithCollation(c *Collation) Type {
	if t.Kind.IsChar() {
		t.Collation = c
	}
	return t
}

// IsMax reports whether t is varchar(max), nvarchar(max) or varbinary(max).
func (t Type) IsMax() bool { return t.Length == Max }

// String returns t as it is written in T-SQL: "nvarchar(max)",
// "decimal(18,2)", "datetime2(7)".
func (t Type) String() string {
	switch {
	case t.Length == Max:
		return t.Kind.String() + "(max)"
	case t.Kind == KindDecimal:
		return "decimal(" + strconv.Itoa(int(t.Precision)) + "," + strconv.Itoa(int(t.Scale)) + ")"
	case t.Kind.hasScale():
		return t.Kind.String() + "(" + strconv.Itoa(int(t.Scale)) + ")"
	case t.Length > 0:
		return t.Kind.String() + "(" + strconv.Itoa(t.Length) + ")"
	}
	return t.Kind.String()
}

// MaxBytes returns the greatest number of bytes a value of t takes in
// sys.columns.max_length: -1 for the (max) types.
func (t Type) MaxBytes() int {
	switch t.Kind {
	case KindBit, KindTinyInt:
		return 1
	case KindSmallInt:
		return 2
	case KindInt, KindReal, KindSmallMoney, KindSmallDateTime:
		return 4
	case KindDate:
		return 3
	case KindBigInt, KindFloat, KindMoney, KindDateTime, KindRowVersion:
		return 8
	case KindDecimal:
		return decimalBytes(t.Precision)
	case KindTime:
		return timeBytes(t.Scale)
	case KindDateTime2:
		return timeBytes(t.Scale) + 3
	case KindDateTimeOffset:
		return timeBytes(t.Scale) + 5
	case KindUniqueIdentifier, KindText, KindNText, KindImage:
		return 16
	case KindNChar, KindNVarChar:
		if t.Length == Max {
			return -1
		}
		return 2 * t.Length
	case KindXML:
		return -1
	case KindVariant:
		return 8016
	}
	return t.Length
}

// decimalBytes is the storage size of a decimal: 5, 9, 13 or 17 bytes.
func decimalBytes(precision uint8) int {
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

// timeBytes is the storage size of the time of day at a scale: 3 to 5 bytes.
func timeBytes(scale uint8) int {
	switch {
	case scale <= 2:
		return 3
	case scale <= 4:
		return 4
	}
	return 5
}

// MetaPrecision returns precision and scale as sys.columns and
// INFORMATION_SCHEMA show them: digits for numbers, characters for dates, zero
// for all else.
func (t Type) MetaPrecision() (precision, scale uint8) {
	fraction := t.Scale
	if fraction > 0 {
		fraction++ // the point
	}
	switch t.Kind {
	case KindBit:
		return 1, 0
	case KindTinyInt:
		return 3, 0
	case KindSmallInt:
		return 5, 0
	case KindInt:
		return 10, 0
	case KindBigInt:
		return 19, 0
	case KindDecimal:
		return t.Precision, t.Scale
	case KindSmallMoney:
		return 10, 4
	case KindMoney:
		return 19, 4
	case KindReal:
		return bitsOfReal, 0
	case KindFloat:
		return maxBitsOfFloat, 0
	case KindDate:
		return 10, 0
	case KindTime:
		return 8 + fraction, t.Scale
	case KindSmallDateTime:
		return 16, 0
	case KindDateTime:
		return 23, 3
	case KindDateTime2:
		return 19 + fraction, t.Scale
	case KindDateTimeOffset:
		return 26 + fraction, t.Scale
	}
	return 0, 0
}

// typeNames maps the names of the data types and their synonyms ("Data type
// synonyms (Transact-SQL)") in lower case.
var typeNames = map[string]Kind{
	"bit": KindBit, "tinyint": KindTinyInt, "smallint": KindSmallInt, "int": KindInt, "integer": KindInt,
	"bigint": KindBigInt, "decimal": KindDecimal, "dec": KindDecimal, "numeric": KindDecimal,
	"smallmoney": KindSmallMoney, "money": KindMoney, "real": KindReal, "float": KindFloat,
	"double precision": KindFloat, "date": KindDate, "time": KindTime, "smalldatetime": KindSmallDateTime,
	"datetime": KindDateTime, "datetime2": KindDateTime2, "datetimeoffset": KindDateTimeOffset,
	"char": KindChar, "character": KindChar, "varchar": KindVarChar, "char varying": KindVarChar,
	"character varying": KindVarChar, "nchar": KindNChar, "national char": KindNChar,
	"national character": KindNChar, "nvarchar": KindNVarChar, "national char varying": KindNVarChar,
	"national character varying": KindNVarChar, "text": KindText, "ntext": KindNText,
	"national text": KindNText, "binary": KindBinary, "varbinary": KindVarBinary,
	"binary varying": KindVarBinary, "image": KindImage, "rowversion": KindRowVersion,
	"timestamp": KindRowVersion, "uniqueidentifier": KindUniqueIdentifier, "xml": KindXML,
	"sql_variant": KindVariant, "table": KindTable, "cursor": KindCursor,
}

// TypeFromName returns the system data type of a name as written, in any case,
// synonyms included; character types get the default collation. args are the
// numbers in parentheses, isMax says that (max) stood there, and number is the
// place of the column, parameter or variable, for the error text. Errors: 2715
// for an unknown name (the caller has looked among the user-defined types
// before), 2716 for a length on a type that takes none, 2717, 2750 and 2751 for
// one out of range, 1001 for a length of zero.
//
// A character or binary type without a length has length 1, as in a
// declaration; CAST and CONVERT use CastTypeFromName, where it is 30.
func TypeFromName(name string, args []int, isMax bool, number int) (Type, error) {
	return typeFromName(name, args, isMax, number, defaultLength)
}

// CastTypeFromName is TypeFromName for the target of CAST and CONVERT: a
// missing length is 30.
func CastTypeFromName(name string, args []int, isMax bool) (Type, error) {
	return typeFromName(name, args, isMax, 1, castLength)
}

func typeFromName(name string, args []int, isMax bool, number, missing int) (Type, error) {
	lower := strings.ToLower(name)
	if lower == "sysname" {
		if len(args) > 0 || isMax {
			return Type{}, sqlerr.New(2716, number, "sysname")
		}
		return TypeSysname, nil
	}
	kind, ok := typeNames[lower]
	if !ok {
		return Type{}, sqlerr.New(2715, number, name)
	}
	t := Type{Kind: kind}
	if kind.IsChar() {
		t.Collation = DefaultCollation
	}
	if isMax && kind != KindVarChar && kind != KindNVarChar && kind != KindVarBinary {
		return Type{}, sqlerr.New(2716, number, lower)
	}
	switch kind {
	case KindChar, KindVarChar, KindNChar, KindNVarChar, KindBinary, KindVarBinary:
		return withLength(t, args, isMax, number, missing)
	case KindDecimal:
		return withPrecision(t, args, number)
	case KindTime, KindDateTime2, KindDateTimeOffset:
		return withTimeScale(t, args, number)
	case KindFloat:
		return withBits(t, args, number)
	}
	if len(args) > 0 {
		return Type{}, sqlerr.New(2716, number, kind.String())
	}
	return t, nil
}

func withLength(t Type, args []int, isMax bool, number, missing int) (Type, error) {
	if isMax {
		t.Length = Max
		return t, nil
	}
	limit := MaxVarChar
	if t.Kind.IsUnicode() {
		limit = MaxNVarChar
	}
	switch {
	case len(args) == 0:
		t.Length = missing
	case len(args) > 1:
		return Type{}, sqlerr.New(2716, number, t.Kind.String())
	case args[0] < 1:
		return Type{}, sqlerr.New(1001, 1, args[0])
	case args[0] > limit:
		return Type{}, sqlerr.New(2717, args[0], "type", t.Kind.String(), limit)
	default:
		t.Length = args[0]
	}
	return t, nil
}

func withPrecision(t Type, args []int, number int) (Type, error) {
	t.Precision = 18
	if len(args) > 2 {
		return Type{}, sqlerr.New(2716, number, t.Kind.String())
	}
	if len(args) > 0 {
		if args[0] > MaxPrecision {
			return Type{}, sqlerr.New(2750, number, args[0], MaxPrecision)
		}
		if args[0] < 1 {
			return Type{}, sqlerr.New(1001, 1, args[0])
		}
		t.Precision = uint8(args[0])
	}
	if len(args) > 1 {
		if args[1] < 0 || args[1] > int(t.Precision) {
			return Type{}, sqlerr.New(2751, number, args[1], int(t.Precision))
		}
		t.Scale = uint8(args[1])
	}
	return t, nil
}

func withTimeScale(t Type, args []int, number int) (Type, error) {
	t.Scale = MaxTimeScale
	if len(args) > 1 {
		return Type{}, sqlerr.New(2716, number, t.Kind.String())
	}
	if len(args) == 1 {
		if args[0] < 0 || args[0] > MaxTimeScale {
			return Type{}, sqlerr.New(1002, 1, args[0])
		}
		t.Scale = uint8(args[0])
	}
	return t, nil
}

// withBits turns float(1) to float(24) into real, as SQL Server does.
func withBits(t Type, args []int, number int) (Type, error) {
	switch {
	case len(args) > 1:
		return Type{}, sqlerr.New(2716, number, t.Kind.String())
	case len(args) == 0:
	case args[0] < 1:
		return Type{}, sqlerr.New(1001, 1, args[0])
	case args[0] > maxBitsOfFloat:
		return Type{}, sqlerr.New(2750, number, args[0], maxBitsOfFloat)
	case args[0] <= bitsOfReal:
		t.Kind = KindReal
	}
	return t, nil
}

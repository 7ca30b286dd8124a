package types

// kindNames are the names in metadata and error texts.
var kindNames = [...]string{
	KindNull: "NULL", KindBit: "bit", KindTinyInt: "tinyint", KindSmallInt: "smallint", KindInt: "int",
	KindBigInt: "bigint", KindDecimal: "decimal", KindSmallMoney: "smallmoney", KindMoney: "money",
	KindReal: "real", KindFloat: "float", KindDate: "date", KindTime: "time", KindSmallDateTime: "smalldatetime",
	KindDateTime: "datetime", KindDateTime2: "datetime2", KindDateTimeOffset: "datetimeoffset",
	KindChar: "char", KindVarChar: "varchar", KindNChar: "nchar", KindNVarChar: "nvarchar", KindText: "text",
	KindNText: "ntext", KindBinary: "binary", KindVarBinary: "varbinary", KindImage: "image",
	KindRowVersion: "timestamp", KindUniqueIdentifier: "uniqueidentifier", KindXML: "xml",
	KindVariant: "sql_variant", KindTable: "table", KindCursor: "cursor",
}

// String returns the name of k as it stands in metadata and error texts, such
// as "nvarchar".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// valueName is the name that conversion errors use for a value of kind k: a
// decimal is called numeric there.
func (k Kind) valueName() string {
	if k == KindDecimal {
		return "numeric"
	}
	return k.String()
}

// IsInteger reports whether k is bit, tinyint, smallint, int or bigint.
func (k Kind) IsInteger() bool { return k >= KindBit && k <= KindBigInt }

// IsMoney reports whether k is money or smallmoney.
func (k Kind) IsMoney() bool { return k == KindMoney || k == KindSmallMoney }

// IsExact reports whether k is an exact number: an integer, decimal or money.
func (k Kind) IsExact() bool { return k >= KindBit && k <= KindMoney }

// IsApproximate reports whether k is float or real.
func (k Kind) IsApproximate() bool { return k == KindFloat || k == KindReal }

// IsNumeric reports whether k is any number.
func (k Kind) IsNumeric() bool { return k >= KindBit && k <= KindFloat }

// IsDateTime reports whether k is one of the date and time kinds.
func (k Kind) IsDateTime() bool { return k >= KindDate && k <= KindDateTimeOffset }

// IsChar reports whether k is character data, Unicode or not, text and ntext
// included.
func (k Kind) IsChar() bool { return k >= KindChar && k <= KindNText }

// IsUnicode reports whether k is nchar, nvarchar or ntext.
func (k Kind) IsUnicode() bool { return k == KindNChar || k == KindNVarChar || k == KindNText }

// IsBinary reports whether k is binary data: binary, varbinary, image or
// rowversion.
func (k Kind) IsBinary() bool { return k >= KindBinary && k <= KindRowVersion }

// IsLOB reports whether k is text, ntext or image.
func (k Kind) IsLOB() bool { return k == KindText || k == KindNText || k == KindImage }

// isPadded reports whether values of k have their type's whole length.
func (k Kind) isPadded() bool { return k == KindChar || k == KindNChar || k == KindBinary }

// hasScale reports whether values of k have fractional digits by their type.
func (k Kind) hasScale() bool {
	return k == KindDecimal || k == KindTime || k == KindDateTime2 || k == KindDateTimeOffset
}

// precedence is the place of a kind in the documented data type precedence
// ("Data type precedence (Transact-SQL)"); the higher one wins.
var precedence = func() (p [KindCursor + 1]uint8) {
	order := []Kind{
		KindNull, KindBinary, KindVarBinary, KindChar, KindVarChar, KindNChar, KindNVarChar, KindUniqueIdentifier,
		KindRowVersion, KindImage, KindText, KindNText, KindBit, KindTinyInt, KindSmallInt, KindInt, KindBigInt,
		KindSmallMoney, KindMoney, KindDecimal, KindReal, KindFloat, KindTime, KindDate, KindSmallDateTime,
		KindDateTime, KindDateTime2, KindDateTimeOffset, KindXML, KindVariant, KindTable, KindCursor,
	}
	for i, k := range order {
		p[k] = uint8(i)
	}
	return p
}()

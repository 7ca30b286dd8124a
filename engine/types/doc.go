// Package types holds the SQL values: the data types with their ranges,
// precision and scale, the conversions between them, arithmetic, collations,
// comparison, and the two byte forms of a value (the sort key of an index entry
// and the stored form of a row).
//
// # Values and types
//
//	Value, Type, Row, Kind          value.go: one value; a complete type. Kind has IsInteger, IsChar, IsDateTime …
//	TypeFromName, CastTypeFromName  a type by its name as written, synonyms included (2715, 2716, 2717, 2750, 2751)
//	(Type).String()                 "nvarchar(max)", "decimal(18,2)"; MaxBytes, MetaPrecision for the catalog
//	TypeOf, ConstantType            the type that a value itself has; ConstantType for literals beside a decimal
//	TextLength, DataLength          the length a value has as a text; what DATALENGTH shows
//	(Value).String()                text for messages; NULL as "NULL", dates in style 121
//
// # Making and reading values
//
//	NewInt, NewNVarChar …           value.go
//	NewDecimal, ParseDecimal, DecimalText, DecimalParts
//	NewDate, DateFromYMD, NewTime, NewDateTime, NewSmallDateTime, NewDateTime2, NewDateTimeOffset
//	Days, Ticks, Offset             what is stored; Local, YMD: what is shown
//	ToGoTime, FromGoTime            from and to time.Time
//	NewUniqueIdentifier, UniqueIdentifierFromUUID, ParseUniqueIdentifier, UUID
//	ParseIntLiteral, ParseDecimalLiteral, ParseFloatLiteral, ParseMoneyLiteral, ParseBinaryLiteral
//
// # Conversions
//
//	Convert(v, to, style)           CAST and CONVERT; data that is too long is cut. Style 0 is "none given"
//	                                (ExplicitStyle turns CONVERT(…, 0) of a date into 100)
//	Assign(v, to)                   variables and parameters: implicit conversions, data too long is cut silently
//	Store(v, to)                    columns: implicit conversions, *ErrTruncated carries the cut value
//	ConvertWith, AssignWith, StoreWith take ConvertOptions (SET DATEFORMAT)
//	ImplicitlyConvertible, ExplicitlyConvertible   errors 206 and 257, 529, by type
//
// # Expressions
//
//	Common(a, b)                    the type of CASE, UNION, COALESCE, comparison operands
//	ResolveCollation                collation precedence, error 468
//	BinaryType(op, a, b), UnaryType result types of operators
//	Arith(op, a, b, result), Neg, BitNot
//
// # Comparison and byte forms
//
//	Compare(a, b, c)                operands of the same kind; blanks padded. CompareVariant for sql_variant
//	Equal, Hash(v, c)               consistent with Compare
//	AppendKey(dst, v, t, desc)      order-preserving sort key: bytes.Compare of keys = Compare of values; NULL first
//	AppendRow, DecodeRow            the stored form, independent of the process, checked
//	Collation, DefaultCollation, LookupCollation(name), CollationFromTDS
//
// # Character data
//
// Texts are UTF-8 in a Value. Lengths are in UTF-16 code units (UTF16Len,
// UTF16Substring, ConcatText), which for char and varchar data, in code page
// 1252, is also the number of bytes. EncodeUTF16, DecodeUTF16, EncodeVarChar and
// DecodeVarChar are the forms on the wire.
//
// Everything here may be used by any number of goroutines. Errors are
// *sqlerr.Error with the number that SQL Server gives, but for ErrTruncated and
// ErrCorruptRow.
package types

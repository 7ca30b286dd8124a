package catalog

import (
	"strings"

	"loopbroker/engine/types"
)

// systemType is a row of sys.types.
type systemType struct {
	name   string
	id     int32 // system_type_id
	userID int32 // user_type_id
	kind   types.Kind
	length int
	prec   int
	scale  int
}

// systemTypes are the system data types with their ids.
// Source: sys.types in Microsoft's documentation.
var systemTypes = []systemType{
	{"image", 34, 34, types.KindImage, 16, 0, 0},
	{"text", 35, 35, types.KindText, 16, 0, 0},
	{"uniqueidentifier", 36, 36, types.KindUniqueIdentifier, 16, 0, 0},
	{"date", 40, 40, types.KindDate, 3, 10, 0},
	{"time", 41, 41, types.KindTime, 5, 16, 7},
	{"datetime2", 42, 42, types.KindDateTime2, 8, 27, 7},
	{"datetimeoffset", 43, 43, types.KindDateTimeOffset, 10, 34, 7},
	{"tinyint", 48, 48, types.KindTinyInt, 1, 3, 0},
	{"smallint", 52, 52, types.KindSmallInt, 2, 5, 0},
	{"int", 56, 56, types.KindInt, 4, 10, 0},
	{"smalldatetime", 58, 58, types.KindSmallDateTime, 4, 16, 0},
	{"real", 59, 59, types.KindReal, 4, 24, 0},
	{"money", 60, 60, types.KindMoney, 8, 19, 4},
	{"datetime", 61, 61, types.KindDateTime, 8, 23, 3},
	{"float", 62, 62, types.KindFloat, 8, 53, 0},
	{"sql_variant", 98, 98, types.KindVariant, 8016, 0, 0},
	{"ntext", 99, 99, types.KindNText, 16, 0, 0},
	{"bit", 104, 104, types.KindBit, 1, 1, 0},
	{"decimal", 106, 106, types.KindDecimal, 17, 38, 38},
	{"numeric", 108, 108, types.KindNull, 17, 38, 38},
	{"smallmoney", 122, 122, types.KindSmallMoney, 4, 10, 4},
	{"bigint", 127, 127, types.KindBigInt, 8, 19, 0},
	{"varbinary", 165, 165, types.KindVarBinary, 8000, 0, 0},
	{"varchar", 167, 167, types.KindVarChar, 8000, 0, 0},
	{"binary", 173, 173, types.KindBinary, 8000, 0, 0},
	{"char", 175, 175, types.KindChar, 8000, 0, 0},
	{"timestamp", 189, 189, types.KindRowVersion, 8, 0, 0},
	{"nvarchar", 231, 231, types.KindNVarChar, 8000, 0, 0},
	{"nchar", 239, 239, types.KindNChar, 8000, 0, 0},
	{"xml", 241, 241, types.KindXML, -1, 0, 0},
	{"sysname", 231, 256, types.KindNull, 256, 0, 0},
}

// SystemTypeID returns the id of a system data type by name.
func SystemTypeID(name string) (int32, bool) {
	name = strings.ToLower(name)
	for _, t := range systemTypes {
		if t.name == name {
			return t.userID, true
		}
	}
	return 0, false
}

// SystemTypeName returns the name of a system data type by id.
func SystemTypeName(id int32) (string, bool) {
	for _, t := range systemTypes {
		if t.userID == id {
			return t.name, true
		}
	}
	return "", false
}

// typeIDs are the system_type_id and user_type_id of a column.
func (d *Database) typeIDs(t types.Type, userType string) (system, user int32) {
	for _, s := range systemTypes {
		if s.kind == t.Kind {
			system, user = s.id, s.userID
		}
	}
	if userType == "sysname" {
		return system, 256
	}
	if userType != "" {
		for _, u := range d.Types() {
			if u.Name == userType {
				return system, u.ID
			}
		}
	}
	return system, user
}

// typeNumbers are max_length, precision and scale of a type, as sys.columns
// shows them.
func typeNumbers(t types.Type) (length, precision, scale int) {
	for _, s := range systemTypes {
		if s.kind == t.Kind {
			length = s.length
		}
	}
	if n := t.MaxBytes(); n != 0 || t.Length == types.Max {
		length = n
	}
	if t.Length == types.Max {
		length = -1
	}
	p, s := t.MetaPrecision()
	return length, int(p), int(s)
}

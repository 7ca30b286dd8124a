package session

import (
	"strings"

	"loopbroker/engine/types"
)

// productVersion is what SERVERPROPERTY shows: drivers and tools choose their
// behaviour by it, and this engine follows SQL Server 2022.
const productVersion = "16.0.1000.6"

// databaseProperties are the functions of databases and of the server.
func databaseProperties() map[string]propertyFunc {
	return map[string]propertyFunc{
		"DB_ID":              dbID,
		"DB_NAME":            dbName,
		"DATABASEPROPERTYEX": databaseProperty,
		"SERVERPROPERTY":     serverProperty,
		"APP_NAME": func(x *Session, _ *frame, _ []types.Value) (types.Value, error) {
			return text(x.info.snapshot(x).Program)
		},
		"HOST_NAME": func(x *Session, _ *frame, _ []types.Value) (types.Value, error) { return text(x.info.host) },
		"HAS_DBACCESS": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			name, _ := argText(a[0])
			db, ok := x.srv.cat.Database(name)
			if !ok {
				return nothing()
			}
			return yesNo(x.userIn(db) != nil)
		},
	}
}

func dbID(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	if len(a) == 0 {
		return types.NewSmallInt(int64(x.db.ID)), nil
	}
	name, _ := argText(a[0])
	if db, ok := x.srv.cat.Database(name); ok {
		return types.NewSmallInt(int64(db.ID)), nil
	}
	return nothing()
}

func dbName(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	if len(a) == 0 {
		return text(x.db.Name)
	}
	id, _ := argInt(a[0])
	if db, ok := x.srv.cat.DatabaseByID(uint32(id)); ok {
		return text(db.Name)
	}
	return nothing()
}

func databaseProperty(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	name, _ := argText(a[0])
	property, _ := argText(a[1])
	db, ok := x.srv.cat.Database(name)
	if !ok {
		return nothing()
	}
	switch strings.ToLower(property) {
	case "collation":
		return text(db.Collation.Name)
	case "status":
		return text("ONLINE")
	case "updateability":
		return text("READ_WRITE")
	case "useraccess":
		return text("MULTI_USER")
	case "recovery":
		return text("SIMPLE")
	case "isreadcommittedsnapshoton":
		return yesNo(db.ReadCommittedSnapshot.Load())
	case "version":
		return whole(957)
	}
	return nothing()
}

func serverProperty(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	property, _ := argText(a[0])
	switch strings.ToLower(property) {
	case "productversion", "resourceversion":
		return text(productVersion)
	case "productmajorversion":
		return text("16")
	case "productminorversion":
		return text("0")
	case "productbuild":
		return text("1000")
	case "productlevel":
		return text("RTM")
	case "edition":
		return text("loopbroker embedded engine (64-bit)")
	case "editionid":
		return types.NewBigInt(0), nil
	case "engineedition":
		return whole(3)
	case "servername", "machinename", "computernamephysicalnetbios":
		return text(x.srv.cat.Name)
	case "instancename":
		return nothing()
	case "collation":
		return text(types.DefaultCollation.Name)
	case "isintegratedsecurityonly", "isclustered", "ishadrenabled", "issingleuser", "isfulltextinstalled", "ispolybaseinstalled", "isxtpsupported":
		return whole(0)
	case "processid":
		return nothing()
	case "lcid":
		return whole(1033)
	case "sqlcharset":
		return types.NewTinyInt(1), nil
	}
	return nothing()
}

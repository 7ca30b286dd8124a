package session

import (
	"slices"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// productVersion is what SERVERPROPERTY shows: drivers and tools choose their
// behaviour by it, and this engine follows SQL Server 2022.
const productVersion = "16.0.1000.6"

// applockNames are the names of APPLOCK_MODE.
var applockNames = map[string]storage.LockMode{
	"Shared": applockModes["shared"], "Update": applockModes["update"], "Exclusive": applockModes["exclusive"],
	"IntentShared": applockModes["intentshared"], "IntentExclusive": applockModes["intentexclusive"],
}

func text(s string) (types.Value, error) { return types.NewNVarChar(s), nil }
func whole(n int64) (types.Value, error) { return types.NewInt(n), nil }
func nothing() (types.Value, error)      { return types.Null, nil }
func yesNo(b bool) (types.Value, error) {
	if b {
		return whole(1)
	}
	return whole(0)
}

// identityProperties are the functions of catalog and principals.
func identityProperties() map[string]propertyFunc {
	return map[string]propertyFunc{
		"DB_ID":   dbID,
		"DB_NAME": dbName,
		"OBJECT_ID": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			name, ok := argText(a[0])
			if !ok {
				return nothing()
			}
			kind := ""
			if len(a) > 1 {
				kind, _ = argText(a[1])
			}
			return x.objectID(name, strings.ToUpper(strings.TrimSpace(kind)))
		},
		"OBJECT_NAME": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			if h := x.headByID(a); h != nil {
				return text(h.Name)
			}
			return nothing()
		},
		"OBJECT_SCHEMA_NAME": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			if h := x.headByID(a); h != nil {
				return text(h.Schema)
			}
			return nothing()
		},
		"OBJECT_DEFINITION": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			if m, ok := x.objectByID(a[0]).(*catalog.Module); ok {
				return text(m.Text)
			}
			return nothing()
		},
		"SCHEMA_ID": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			name := x.defaultSchema()
			if len(a) > 0 {
				name, _ = argText(a[0])
			}
			if sc, ok := x.db.Schema(name); ok {
				return whole(int64(sc.ID))
			}
			return nothing()
		},
		"SCHEMA_NAME": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			if len(a) == 0 {
				return text(x.defaultSchema())
			}
			id, _ := argInt(a[0])
			if sc, ok := x.db.SchemaByID(int32(id)); ok {
				return text(sc.Name)
			}
			return nothing()
		},
		"COL_LENGTH":         colLength,
		"COL_NAME":           colName,
		"COLUMNPROPERTY":     columnProperty,
		"OBJECTPROPERTY":     objectProperty,
		"OBJECTPROPERTYEX":   objectProperty,
		"INDEXPROPERTY":      indexProperty,
		"INDEX_COL":          indexCol,
		"TYPE_ID":            typeID,
		"TYPE_NAME":          typeName,
		"DATABASEPROPERTYEX": databaseProperty,
		"SERVERPROPERTY":     serverProperty,
		"IDENT_CURRENT":      identCurrent,
		"IDENT_SEED":         identSeed,
		"IDENT_INCR":         identIncr,

		"APP_NAME": func(x *Session, _ *frame, _ []types.Value) (types.Value, error) {
			return text(x.info.snapshot(x).Program)
		},
		"HOST_NAME":      func(x *Session, _ *frame, _ []types.Value) (types.Value, error) { return text(x.info.host) },
		"ORIGINAL_LOGIN": textProperty(func(x *Session) string { return x.originalLogin.Name }),
		"SYSTEM_USER":    textProperty(func(x *Session) string { return x.ident.login.Name }),
		"CURRENT_USER":   textProperty(func(x *Session) string { return x.ident.user.Name }),
		"SESSION_USER":   textProperty(func(x *Session) string { return x.ident.user.Name }),
		"USER":           textProperty(func(x *Session) string { return x.ident.user.Name }),
		"SUSER_NAME":     suserName,
		"SUSER_SNAME":    suserName,
		"SUSER_ID":       suserID,
		"SUSER_SID":      suserSID,
		"USER_NAME": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			if len(a) == 0 {
				return text(x.ident.user.Name)
			}
			id, _ := argInt(a[0])
			if p, ok := x.db.PrincipalByID(int32(id)); ok {
				return text(p.Name)
			}
			return nothing()
		},
		"USER_ID":               principalID,
		"DATABASE_PRINCIPAL_ID": principalID,
		"IS_MEMBER": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			name, _ := argText(a[0])
			if p, ok := x.db.Principal(name); !ok || p.Kind != catalog.DatabaseRole {
				return nothing()
			}
			return yesNo(x.db.IsMember(x.ident.user.ID, name))
		},
		"IS_ROLEMEMBER": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			name, _ := argText(a[0])
			user := x.ident.user
			if len(a) > 1 {
				who, _ := argText(a[1])
				p, ok := x.db.Principal(who)
				if !ok {
					return nothing()
				}
				user = p
			}
			if p, ok := x.db.Principal(name); !ok || p.Kind != catalog.DatabaseRole {
				return nothing()
			}
			return yesNo(x.db.IsMember(user.ID, name))
		},
		"IS_SRVROLEMEMBER": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			name, _ := argText(a[0])
			login := x.ident.login
			if len(a) > 1 {
				who, _ := argText(a[1])
				l, ok := x.srv.cat.Login(who)
				if !ok {
					return nothing()
				}
				login = l
			}
			if !slices.Contains(serverRoles, catalog.Fold(name)) {
				return nothing()
			}
			return yesNo(slices.Contains(login.Roles, catalog.Fold(name)) || login.Sysadmin())
		},
		"HAS_DBACCESS": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			name, _ := argText(a[0])
			db, ok := x.srv.cat.Database(name)
			if !ok {
				return nothing()
			}
			return yesNo(x.userIn(db) != nil)
		},
		"HAS_PERMS_BY_NAME": hasPermsByName,
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

// objectID finds the id of an object or constraint, NULL when there is none of
// the kind asked for.
func (x *Session) objectID(name, kind string) (types.Value, error) {
	n, ok := parseName(name)
	if !ok {
		return nothing()
	}
	if isTemporary(n.Object.Name) {
		if catalog.Fold(n.Database.Name) != "tempdb" && catalog.Fold(x.db.Name) != "tempdb" {
			return nothing()
		}
		if t, ok := x.tempTable(n.Object.Name); ok && (kind == "" || kind == "U") {
			return whole(int64(t.ID))
		}
		return nothing()
	}
	o, db, err := x.objectAt(n)
	if err != nil {
		return nothing()
	}
	if o != nil {
		if kind != "" && string(o.Kind()) != kind {
			return nothing()
		}
		return whole(int64(o.Head().ID))
	}
	if s := catalog.Fold(n.Schema.Name); s == "sys" || s == "information_schema" {
		if v, ok := x.systemView(s, n.Object.Name); ok && (kind == "" || kind == "V") {
			return whole(int64(v.ID))
		}
	}
	if id, k := constraintID(db, n.Schema.Name, n.Object.Name); id != 0 && (kind == "" || kind == k) {
		return whole(int64(id))
	}
	return nothing()
}

// constraintID finds a constraint by name.
func constraintID(db *catalog.Database, schema, name string) (int32, string) {
	key := catalog.Fold(name)
	for _, o := range db.Objects() {
		t, ok := o.(*catalog.Table)
		if !ok || schema != "" && catalog.Fold(schema) != catalog.Fold(t.Schema) {
			continue
		}
		for _, ix := range t.Indexes {
			if ix.ConstraintID != 0 && catalog.Fold(ix.Name) == key {
				if ix.PrimaryKey {
					return ix.ConstraintID, "PK"
				}
				return ix.ConstraintID, "UQ"
			}
		}
		for _, c := range t.Checks {
			if catalog.Fold(c.Name) == key {
				return c.ID, "C"
			}
		}
		for _, f := range t.ForeignKeys {
			if catalog.Fold(f.Name) == key {
				return f.ID, "F"
			}
		}
		for _, c := range t.Columns {
			if c.DefaultName != "" && catalog.Fold(c.DefaultName) == key {
				return c.DefaultID, "D"
			}
		}
	}
	return 0, ""
}

func (x *Session) objectByID(v types.Value) catalog.Object {
	id, ok := argInt(v)
	if !ok {
		return nil
	}
	o, _ := x.db.ObjectByID(int32(id))
	return o
}

// headByID finds an object by the arguments (id, database id).
func (x *Session) headByID(a []types.Value) *catalog.Header {
	id, ok := argInt(a[0])
	if !ok {
		return nil
	}
	db := x.db
	if len(a) > 1 {
		d, _ := argInt(a[1])
		other, ok := x.srv.cat.DatabaseByID(uint32(d))
		if !ok {
			return nil
		}
		db = other
	}
	if o, ok := db.ObjectByID(int32(id)); ok {
		return o.Head()
	}
	for _, t := range x.temps {
		if int64(t.table.ID) == id {
			return &t.table.Header
		}
	}
	return nil
}

// columnsOf are the columns of an object, nil when it has none.
func columnsOf(o catalog.Object) []*catalog.Column {
	switch o := o.(type) {
	case *catalog.Table:
		return o.Columns
	case *catalog.Module:
		return o.Columns
	case *catalog.SystemView:
		return o.Columns
	}
	return nil
}

func findColumn(list []*catalog.Column, name string) *catalog.Column {
	for _, c := range list {
		if catalog.Fold(c.Name) == catalog.Fold(name) {
			return c
		}
	}
	return nil
}

func colLength(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	table, _ := argText(a[0])
	column, _ := argText(a[1])
	n, ok := parseName(table)
	if !ok {
		return nothing()
	}
	var o catalog.Object
	if t, ok := x.tempTable(n.Object.Name); ok {
		o = t
	} else {
		var err error
		if o, _, err = x.lookup(n, ""); err != nil || o == nil {
			return nothing()
		}
	}
	c := findColumn(columnsOf(o), column)
	if c == nil {
		return nothing()
	}
	return types.NewSmallInt(int64(c.Type.MaxBytes())), nil
}

func colName(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	id, _ := argInt(a[1])
	for _, c := range columnsOf(x.objectByID(a[0])) {
		if int64(c.ID) == id {
			return text(c.Name)
		}
	}
	return nothing()
}

func columnProperty(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	name, _ := argText(a[1])
	property, _ := argText(a[2])
	c := findColumn(columnsOf(x.objectByID(a[0])), name)
	if c == nil {
		return nothing()
	}
	switch strings.ToLower(property) {
	case "allowsnull":
		return yesNo(c.Nullable)
	case "columnid", "ordinal":
		return whole(int64(c.ID))
	case "isidentity":
		return yesNo(c.Identity)
	case "iscomputed":
		return yesNo(c.Computed)
	case "isrowguidcol":
		return yesNo(c.RowGUID)
	case "precision":
		return whole(int64(c.Type.Precision))
	case "scale":
		return whole(int64(c.Type.Scale))
	case "charmaxlen":
		return whole(int64(c.Type.Length))
	case "issparse", "ishidden", "iscolumnset":
		return whole(0)
	}
	return nothing()
}

func objectProperty(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	o := x.objectByID(a[0])
	if o == nil {
		return nothing()
	}
	property, _ := argText(a[1])
	k := o.Kind()
	m, _ := o.(*catalog.Module)
	t, _ := o.(*catalog.Table)
	switch strings.ToLower(property) {
	case "istable", "isusertable":
		return yesNo(k == catalog.KindTable)
	case "isview":
		return yesNo(k == catalog.KindView)
	case "isprocedure":
		return yesNo(k == catalog.KindProcedure)
	case "istrigger":
		return yesNo(k == catalog.KindTrigger)
	case "isscalarfunction":
		return yesNo(k == catalog.KindScalarFunction)
	case "isinlinefunction":
		return yesNo(k == catalog.KindInlineFunction)
	case "istablefunction":
		return yesNo(k == catalog.KindInlineFunction || k == catalog.KindTableFunction)
	case "ismsshipped":
		return whole(0)
	case "schemaid":
		return whole(int64(o.Head().SchemaID))
	case "execisquotedidenton":
		return yesNo(m != nil && m.QuotedIdentifier)
	case "execisansinullson":
		return yesNo(m != nil && m.AnsiNulls)
	case "tablehasidentity":
		return yesNo(t != nil && t.Identity != nil)
	case "tablehasprimarykey":
		return yesNo(t != nil && slices.ContainsFunc(t.Indexes, func(i *catalog.Index) bool { return i.PrimaryKey }))
	case "tablehasclustindex":
		return yesNo(t != nil && t.HasClustered)
	}
	return nothing()
}

func indexOf(x *Session, a []types.Value, name string) (*catalog.Table, *catalog.Index) {
	t, ok := x.objectByID(a[0]).(*catalog.Table)
	if !ok {
		return nil, nil
	}
	for _, ix := range t.Indexes {
		if catalog.Fold(ix.Name) == catalog.Fold(name) {
			return t, ix
		}
	}
	return t, nil
}

func indexProperty(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	name, _ := argText(a[1])
	property, _ := argText(a[2])
	_, ix := indexOf(x, a, name)
	if ix == nil {
		return nothing()
	}
	switch strings.ToLower(property) {
	case "indexid":
		return whole(int64(ix.ID))
	case "isclustered":
		return yesNo(ix.Clustered)
	case "isunique":
		return yesNo(ix.Unique)
	case "ispagelockdisallowed":
		return yesNo(!ix.AllowPageLocks)
	case "isrowlockdisallowed":
		return yesNo(!ix.AllowRowLocks)
	}
	return nothing()
}

func indexCol(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	name, _ := argText(a[0])
	id, _ := argInt(a[1])
	key, _ := argInt(a[2])
	n, ok := parseName(name)
	if !ok {
		return nothing()
	}
	o, _, err := x.lookup(n, "")
	t, isTable := o.(*catalog.Table)
	if err != nil || !isTable {
		return nothing()
	}
	for _, ix := range t.Indexes {
		if int64(ix.ID) == id && key >= 1 && int(key) <= len(ix.Keys) {
			return text(t.Columns[ix.Keys[key-1].Column].Name)
		}
	}
	return nothing()
}

func typeID(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	name, _ := argText(a[0])
	n, ok := parseName(name)
	if !ok {
		return nothing()
	}
	if id, ok := catalog.SystemTypeID(n.Object.Name); ok && n.Schema.Name == "" {
		return whole(int64(id))
	}
	if u, ok := x.userType(n); ok {
		return whole(int64(u.ID))
	}
	return nothing()
}

func typeName(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	id, _ := argInt(a[0])
	if name, ok := catalog.SystemTypeName(int32(id)); ok {
		return text(name)
	}
	for _, u := range x.db.Types() {
		if int64(u.ID) == id {
			return text(u.Name)
		}
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

func (x *Session) identityTable(a []types.Value) *catalog.Table {
	name, _ := argText(a[0])
	n, ok := parseName(name)
	if !ok {
		return nil
	}
	if t, ok := x.tempTable(n.Object.Name); ok {
		return t
	}
	o, _, err := x.lookup(n, "")
	if t, ok := o.(*catalog.Table); ok && err == nil && t.Identity != nil {
		return t
	}
	return nil
}

func identCurrent(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	t := x.identityTable(a)
	if t == nil || t.Identity == nil {
		return nothing()
	}
	n, used := t.Identity.Last()
	if !used {
		n = t.Identity.Seed()
	}
	return numeric38(types.NewBigInt(n))
}

func identSeed(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	if t := x.identityTable(a); t != nil && t.Identity != nil {
		return numeric38(types.NewBigInt(t.Identity.Seed()))
	}
	return nothing()
}

func identIncr(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	if t := x.identityTable(a); t != nil && t.Identity != nil {
		return numeric38(types.NewBigInt(t.Identity.Increment()))
	}
	return nothing()
}

func suserName(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	if len(a) == 0 {
		return text(x.ident.login.Name)
	}
	for _, l := range x.srv.cat.Logins() {
		if a[0].Kind() == types.KindVarBinary || a[0].Kind() == types.KindBinary {
			if string(catalog.LoginSID(l)) == a[0].Raw() {
				return text(l.Name)
			}
		} else if id, ok := argInt(a[0]); ok && int64(l.ID) == id {
			return text(l.Name)
		}
	}
	return nothing()
}

func suserID(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	if len(a) == 0 {
		return whole(int64(x.ident.login.ID))
	}
	name, _ := argText(a[0])
	if l, ok := x.srv.cat.Login(name); ok {
		return whole(int64(l.ID))
	}
	return nothing()
}

func suserSID(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	if len(a) == 0 {
		return types.NewVarBinary(catalog.LoginSID(x.ident.login)), nil
	}
	name, _ := argText(a[0])
	if l, ok := x.srv.cat.Login(name); ok {
		return types.NewVarBinary(catalog.LoginSID(l)), nil
	}
	return nothing()
}

func principalID(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	if len(a) == 0 {
		return whole(int64(x.ident.user.ID))
	}
	name, _ := argText(a[0])
	if p, ok := x.db.Principal(name); ok {
		return whole(int64(p.ID))
	}
	return nothing()
}

func hasPermsByName(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	name, named := argText(a[0])
	class, classed := argText(a[1])
	permission, ok := argText(a[2])
	if !ok {
		return nothing()
	}
	permission = strings.ToUpper(permission)
	switch strings.ToUpper(class) {
	case "OBJECT":
		n, ok := parseName(name)
		if !ok {
			return nothing()
		}
		o, db, err := x.objectAt(n)
		if err != nil || o == nil {
			return nothing()
		}
		user := x.userIn(db)
		return yesNo(user != nil && (x.owns(db) || db.Allowed(user.ID, permission, o)))
	case "DATABASE":
		db := x.db
		if named {
			d, ok := x.srv.cat.Database(name)
			if !ok {
				return nothing()
			}
			db = d
		}
		user := x.userIn(db)
		return yesNo(user != nil && (x.owns(db) || db.AllowedInDatabase(user.ID, permission)))
	}
	if !classed {
		return yesNo(x.ident.login.Sysadmin())
	}
	return nothing()
}

package builtin

import "loopbroker/engine/types"

// Types of session functions.
var (
	sysname    = types.NVarChar(128)
	numeric380 = types.Decimal(38, 0)
)

// answered is a function that Env.Property answers.
func answered(name string, least, most int, t types.Type) *Func {
	return &Func{Name: name, Min: least, Max: most, Type: fixed(t), FromSession: true}
}

// variable is a global variable or niladic function that Env.Property answers.
func variable(name string, t types.Type) *Func {
	f := answered(name, 0, 0, t)
	f.Variable = true
	return f
}

// sessionFuncs are the functions and variables of the session: its state, its
// last error and who it is.
func sessionFuncs() []*Func {
	update := answered("UPDATE", 1, 1, types.TypeBit)
	update.ColumnArg = true
	return []*Func{
		variable("@@CONNECTIONS", types.TypeInt),
		variable("@@CPU_BUSY", types.TypeInt),
		variable("@@CURSOR_ROWS", types.TypeInt),
		variable("@@DATEFIRST", types.TypeTinyInt),
		variable("@@DBTS", types.VarBinary(8)),
		variable("@@ERROR", types.TypeInt),
		variable("@@FETCH_STATUS", types.TypeInt),
		variable("@@IDENTITY", numeric380),
		variable("@@LANGID", types.TypeSmallInt),
		variable("@@LANGUAGE", sysname),
		variable("@@LOCK_TIMEOUT", types.TypeInt),
		variable("@@MAX_CONNECTIONS", types.TypeInt),
		variable("@@MAX_PRECISION", types.TypeTinyInt),
		variable("@@MICROSOFTVERSION", types.TypeInt),
		variable("@@NESTLEVEL", types.TypeInt),
		variable("@@OPTIONS", types.TypeInt),
		variable("@@PROCID", types.TypeInt),
		variable("@@REMSERVER", sysname),
		variable("@@ROWCOUNT", types.TypeInt),
		variable("@@SERVERNAME", sysname),
		variable("@@SERVICENAME", sysname),
		variable("@@SPID", types.TypeSmallInt),
		variable("@@TEXTSIZE", types.TypeInt),
		variable("@@TIMETICKS", types.TypeInt),
		variable("@@TRANCOUNT", types.TypeInt),
		variable("@@VERSION", types.NVarChar(300)),

		answered("ERROR_LINE", 0, 0, types.TypeInt),
		answered("ERROR_MESSAGE", 0, 0, types.NVarChar(4000)),
		answered("ERROR_NUMBER", 0, 0, types.TypeInt),
		answered("ERROR_PROCEDURE", 0, 0, sysname),
		answered("ERROR_SEVERITY", 0, 0, types.TypeInt),
		answered("ERROR_STATE", 0, 0, types.TypeInt),

		answered("APPLOCK_MODE", 3, 3, types.NVarChar(32)),
		answered("APPLOCK_TEST", 4, 4, types.TypeSmallInt),
		answered("COLUMNS_UPDATED", 0, 0, types.VarBinary(128)),
		answered("CONNECTIONPROPERTY", 1, 1, types.TypeVariant),
		answered("CONTEXT_INFO", 0, 0, types.VarBinary(128)),
		answered("CURRENT_REQUEST_ID", 0, 0, types.TypeSmallInt),
		answered("CURRENT_TRANSACTION_ID", 0, 0, types.TypeBigInt),
		answered("CURSOR_STATUS", 2, 2, types.TypeSmallInt),
		answered("GETANSINULL", 0, 1, types.TypeSmallInt),
		answered("IDENT_CURRENT", 1, 1, numeric380),
		answered("IDENT_INCR", 1, 1, numeric380),
		answered("IDENT_SEED", 1, 1, numeric380),
		answered("MIN_ACTIVE_ROWVERSION", 0, 0, types.Binary(8)),
		answered("ROWCOUNT_BIG", 0, 0, types.TypeBigInt),
		answered("SCOPE_IDENTITY", 0, 0, numeric380),
		answered("SESSION_CONTEXT", 1, 1, types.TypeVariant),
		answered("SESSIONPROPERTY", 1, 1, types.TypeVariant),
		answered("TRIGGER_NESTLEVEL", 0, 3, types.TypeInt),
		answered("XACT_STATE", 0, 0, types.TypeSmallInt),
		update,
	}
}

// catalogFuncs are the functions of the catalog and of principals.
func catalogFuncs() []*Func {
	return []*Func{
		answered("COL_LENGTH", 2, 2, types.TypeSmallInt),
		answered("COL_NAME", 2, 2, sysname),
		answered("COLUMNPROPERTY", 3, 3, types.TypeInt),
		answered("DATABASEPROPERTYEX", 2, 2, types.TypeVariant),
		answered("DB_ID", 0, 1, types.TypeSmallInt),
		answered("DB_NAME", 0, 1, sysname),
		answered("FILE_NAME", 1, 1, sysname),
		answered("INDEX_COL", 3, 3, sysname),
		answered("INDEXPROPERTY", 3, 3, types.TypeInt),
		answered("OBJECT_DEFINITION", 1, 1, types.NVarChar(types.Max)),
		answered("OBJECT_ID", 1, 2, types.TypeInt),
		answered("OBJECT_NAME", 1, 2, sysname),
		answered("OBJECT_SCHEMA_NAME", 1, 2, sysname),
		answered("OBJECTPROPERTY", 2, 2, types.TypeInt),
		answered("OBJECTPROPERTYEX", 2, 2, types.TypeVariant),
		answered("SCHEMA_ID", 0, 1, types.TypeInt),
		answered("SCHEMA_NAME", 0, 1, sysname),
		answered("SERVERPROPERTY", 1, 1, types.TypeVariant),
		answered("STATS_DATE", 2, 2, types.TypeDateTime),
		answered("TYPE_ID", 1, 1, types.TypeInt),
		answered("TYPE_NAME", 1, 1, sysname),
		answered("TYPEPROPERTY", 2, 2, types.TypeInt),

		answered("APP_NAME", 0, 0, sysname),
		answered("DATABASE_PRINCIPAL_ID", 0, 1, types.TypeInt),
		answered("HAS_DBACCESS", 1, 1, types.TypeInt),
		answered("HAS_PERMS_BY_NAME", 3, 5, types.TypeInt),
		answered("HOST_ID", 0, 0, types.Char(10)),
		answered("HOST_NAME", 0, 0, sysname),
		answered("IS_MEMBER", 1, 1, types.TypeInt),
		answered("IS_ROLEMEMBER", 1, 2, types.TypeInt),
		answered("IS_SRVROLEMEMBER", 1, 2, types.TypeInt),
		answered("ORIGINAL_LOGIN", 0, 0, sysname),
		answered("PERMISSIONS", 0, 2, types.TypeInt),
		answered("SUSER_ID", 0, 1, types.TypeInt),
		answered("SUSER_NAME", 0, 1, sysname),
		answered("SUSER_SID", 0, 2, types.VarBinary(85)),
		answered("SUSER_SNAME", 0, 1, sysname),
		answered("USER_ID", 0, 1, types.TypeInt),
		answered("USER_NAME", 0, 1, sysname),
		variable("CURRENT_USER", sysname),
		variable("SESSION_USER", sysname),
		variable("SYSTEM_USER", sysname),
		variable("USER", sysname),
	}
}

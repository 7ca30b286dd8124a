package main

import (
	"context"
	"database/sql"
	"fmt"

	"loopbroker/tsql"
)

// account is a SQL login and the role that says what it may do.
type account struct {
	login, password, role string
}

// The names that the accounts get unless somebody chooses others.
const (
	linkLogin   = "loopbroker_link"
	workerLogin = "loopbroker_worker"
	callerLogin = "loopbroker_app"
)

// linkAccount is what the loopback linked server logs in as.
func linkAccount(password string) account { return account{linkLogin, password, tsql.RoleLoopback} }

// workerAccount is what members of the fleet log in as.
func workerAccount(password string) account {
	return account{workerLogin, password, tsql.RoleWorker}
}

// callerAccount is what an application logs in as.
func callerAccount(password string) account {
	return account{callerLogin, password, tsql.RoleCaller}
}

// ensureLogin makes the login or sets its password, and makes its user. The
// password is a parameter and is quoted by the server, because CREATE LOGIN takes
// only a literal.
const ensureLogin = `
DECLARE @sql nvarchar(max) = CONCAT(
    CASE WHEN SUSER_ID(@login) IS NULL THEN N'CREATE LOGIN ' ELSE N'ALTER LOGIN ' END,
    QUOTENAME(@login), N' WITH PASSWORD = N''', REPLACE(@password, N'''', N''''''), N'''');
EXEC sys.sp_executesql @sql;
IF DATABASE_PRINCIPAL_ID(@login) IS NULL
BEGIN
    SET @sql = CONCAT(N'CREATE USER ', QUOTENAME(@login), N' FOR LOGIN ', QUOTENAME(@login));
    EXEC sys.sp_executesql @sql;
END;`

// ensure makes the account or corrects it; it can be called again.
func (a account) ensure(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, ensureLogin, sql.Named("login", a.login), sql.Named("password", a.password)); err != nil {
		return fmt.Errorf("make the login %s: %w", a.login, err)
	}
	if _, err := db.ExecContext(ctx, "ALTER ROLE ["+a.role+"] ADD MEMBER ["+a.login+"]"); err != nil {
		return fmt.Errorf("put %s into the role %s: %w", a.login, a.role, err)
	}
	return nil
}

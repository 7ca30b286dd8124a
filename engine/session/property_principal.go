package session

import (
	"slices"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/types"
)

// principalProperties are the functions of logins, users, roles and permissions.
func principalProperties() map[string]propertyFunc {
	return map[string]propertyFunc{
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
		"HAS_PERMS_BY_NAME": hasPermsByName,
	}
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
	if classed {
		return nothing()
	}
	switch permission {
	case "VIEW SERVER STATE", "VIEW SERVER PERFORMANCE STATE", "VIEW SERVER SECURITY STATE":
		return yesNo(x.viewsState())
	case "ALTER ANY CONNECTION":
		return yesNo(x.mayKill())
	}
	return yesNo(x.ident.login.Sysadmin())
}

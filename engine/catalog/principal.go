package catalog

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"slices"
)

// Login is a server principal.
type Login struct {
	ID       int32 // principal_id
	Name     string
	Salt     []byte
	Hash     []byte // SHA-256 of salt and password
	Disabled bool
	Database string // default database
	// Roles are the fixed server roles, such as sysadmin, folded.
	Roles []string
}

// SetPassword replaces the password.
func (l *Login) SetPassword(password string) {
	l.Salt = make([]byte, 16)
	_, _ = rand.Read(l.Salt) // never fails, see crypto/rand
	l.Hash = passwordHash(l.Salt, password)
}

// Verify reports whether password is the login's. It takes the same time for
// every wrong password.
func (l *Login) Verify(password string) bool {
	return subtle.ConstantTimeCompare(l.Hash, passwordHash(l.Salt, password)) == 1
}

func passwordHash(salt []byte, password string) []byte {
	h := sha256.New()
	h.Write(salt)
	h.Write([]byte(password))
	return h.Sum(nil)
}

// Sysadmin reports whether the login is a member of sysadmin.
func (l *Login) Sysadmin() bool { return slices.Contains(l.Roles, "sysadmin") }

// PrincipalKind is the type of a database principal.
type PrincipalKind string

// The kinds of database principals, with the codes of sys.database_principals.
const (
	SQLUser      PrincipalKind = "S"
	DatabaseRole PrincipalKind = "R"
)

// The fixed database principals.
const (
	PublicID  int32 = 0
	DBOID     int32 = 1
	GuestID   int32 = 2
	InfoID    int32 = 3 // INFORMATION_SCHEMA
	SysID     int32 = 4
	firstUser int32 = 5

	// fixedRole is the principal id of db_owner; the other fixed roles follow.
	fixedRole int32 = 16384
)

// fixedRoles are the fixed database roles, in the order of their ids.
var fixedRoles = []string{
	"db_owner", "db_accessadmin", "db_securityadmin", "db_ddladmin",
	"db_backupoperator", "db_datareader", "db_datawriter", "db_denydatareader", "db_denydatawriter",
}

// Principal is a user or a role of a database.
type Principal struct {
	ID            int32
	Name          string
	Kind          PrincipalKind
	Login         string // login of a user; empty WITHOUT LOGIN and for roles
	DefaultSchema string
	Owner         int32
	// MemberOf are the ids of the roles the principal is a member of.
	MemberOf []int32
	Fixed    bool
}

// PermissionState is GRANT or DENY.
type PermissionState string

// The states of a permission.
const (
	Granted PermissionState = "GRANT"
	Denied  PermissionState = "DENY"
)

// Permission is one granted or denied permission.
type Permission struct {
	// Class is DATABASE, SCHEMA or OBJECT.
	Class string
	// Target is the id of the schema or the object, 0 for the database.
	Target int32
	// Name is in upper case, such as EXECUTE or SELECT.
	Name    string
	State   PermissionState
	Grantee int32
}

// Principal returns a user or role by name.
func (d *Database) Principal(name string) (*Principal, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	p, ok := d.principals[Fold(name)]
	return p, ok
}

// PrincipalByID returns a user or role by id.
func (d *Database) PrincipalByID(id int32) (*Principal, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	p, ok := d.byPrincID[id]
	return p, ok
}

// Principals returns all users and roles by id.
func (d *Database) Principals() []*Principal {
	d.mu.RLock()
	defer d.mu.RUnlock()
	out := make([]*Principal, 0, len(d.byPrincID))
	for _, p := range d.byPrincID {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *Principal) int { return int(a.ID - b.ID) })
	return out
}

// UserOf returns the user that a login has in the database. A member of
// sysadmin and the owner of the database are dbo everywhere.
func (d *Database) UserOf(l *Login) (*Principal, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if l.Sysadmin() || Fold(d.Owner) == Fold(l.Name) {
		return d.byPrincID[DBOID], true
	}
	for _, p := range d.byPrincID {
		if p.Kind == SQLUser && p.Login != "" && Fold(p.Login) == Fold(l.Name) {
			return p, true
		}
	}
	if d.ID <= MSDBID { // guest is enabled in the system databases
		return d.byPrincID[GuestID], true
	}
	return nil, false
}

// RolesOf returns the ids of the principal itself and of every role it is a
// member of, directly or through other roles, public included.
func (d *Database) RolesOf(id int32) []int32 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	ids := []int32{id}
	for i := 0; i < len(ids); i++ {
		if p, ok := d.byPrincID[ids[i]]; ok {
			for _, r := range p.MemberOf {
				if !slices.Contains(ids, r) {
					ids = append(ids, r)
				}
			}
		}
	}
	return append(ids, PublicID)
}

// IsMember reports whether the principal is a member of the named role.
func (d *Database) IsMember(id int32, role string) bool {
	p, ok := d.Principal(role)
	if !ok || p.Kind != DatabaseRole {
		return false
	}
	if id == DBOID {
		return p.Name == "db_owner" || p.ID == PublicID
	}
	return slices.Contains(d.RolesOf(id), p.ID)
}

// Allowed reports whether the principal holds a permission on an object. dbo
// and db_owner hold all; DENY wins over GRANT; a permission on the schema or
// the database covers the objects within, and CONTROL covers all.
func (d *Database) Allowed(id int32, permission string, o Object) bool {
	if id == DBOID {
		return true
	}
	roles := d.RolesOf(id)
	if d.hasRole(roles, "db_owner") {
		return true
	}
	h := o.Head()
	d.mu.RLock()
	granted := false
	for _, g := range d.grants {
		covers := g.Class == "DATABASE" || g.Class == "SCHEMA" && g.Target == h.SchemaID || g.Class == "OBJECT" && g.Target == h.ID
		if !covers || !slices.Contains(roles, g.Grantee) || g.Name != permission && g.Name != "CONTROL" {
			continue
		}
		if g.State == Denied {
			d.mu.RUnlock()
			return false
		}
		granted = true
	}
	d.mu.RUnlock()
	if granted {
		return true
	}
	switch permission {
	case "SELECT":
		return d.hasRole(roles, "db_datareader")
	case "INSERT", "UPDATE", "DELETE":
		return d.hasRole(roles, "db_datawriter")
	}
	return false
}

// AllowedInDatabase reports whether the principal holds a permission of the
// database itself, such as CREATE TABLE.
func (d *Database) AllowedInDatabase(id int32, permission string) bool {
	if id == DBOID {
		return true
	}
	roles := d.RolesOf(id)
	if d.hasRole(roles, "db_owner") || d.hasRole(roles, "db_ddladmin") {
		return true
	}
	granted, denied := d.GrantedInDatabase(id, permission)
	return granted && !denied
}

// GrantedInDatabase reports whether a permission on the database, or CONTROL, was
// granted or denied to a user or one of its roles. A denial prevails.
func (d *Database) GrantedInDatabase(id int32, permission string) (granted, denied bool) {
	roles := d.RolesOf(id)
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, g := range d.grants {
		if g.Class != "DATABASE" || !slices.Contains(roles, g.Grantee) || g.Name != permission && g.Name != "CONTROL" {
			continue
		}
		granted, denied = granted || g.State != Denied, denied || g.State == Denied
	}
	return granted, denied
}

func (d *Database) hasRole(roles []int32, name string) bool {
	i := slices.Index(fixedRoles, name)
	return i >= 0 && slices.Contains(roles, fixedRole+int32(i))
}

// Permissions returns all grants and denials.
func (d *Database) Permissions() []Permission {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Clone(d.grants)
}

// Login returns a login by name.
func (s *Server) Login(name string) (*Login, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l, ok := s.logins[Fold(name)]
	return l, ok
}

// Logins returns all logins by id.
func (s *Server) Logins() []*Login {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]*Login, 0, len(s.logins))
	for _, l := range s.logins {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b *Login) int { return int(a.ID - b.ID) })
	return out
}

package session

import (
	"bytes"
	"crypto/rand"
	"slices"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/exec"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// securityStatement compiles EXECUTE AS, REVERT and the statements about
// principals and permissions.
func (c *compiler) securityStatement(s syntax.Statement) bool {
	switch s := s.(type) {
	case *syntax.ExecuteAs:
		name := optionalExpr(s.Context.Name)
		cookie := -1
		if s.Context.CookieInto != "" {
			slot, ok := c.p.index[catalog.Fold(s.Context.CookieInto)]
			if !ok {
				missing := s.Context.CookieInto
				c.emit(s, func(*Session, *frame) error { return &scopeError{sqlerr.New(137, missing)} })
				return true
			}
			cookie = slot
		}
		c.emit(s, func(x *Session, f *frame) error { return x.executeAs(f, &s.Context, name, cookie) })
		return true
	case *syntax.Revert:
		cookie := optionalExpr(s.Cookie)
		c.emit(s, func(x *Session, f *frame) error { return x.revert(f, cookie) })
		return true
	}
	run := principalChange(s)
	if run == nil {
		return false
	}
	c.emit(s, func(x *Session, f *frame) error {
		return x.inStatement(f, access{writes: true}, func() error { return run(x, x.change()) })
	})
	return true
}

// principalChange returns what a statement about principals does.
func principalChange(s syntax.Statement) func(x *Session, ch *catalog.Change) error {
	switch s := s.(type) {
	case *syntax.CreateLogin:
		return func(x *Session, ch *catalog.Change) error { return x.createLogin(ch, s) }
	case *syntax.CreateUser:
		return func(x *Session, ch *catalog.Change) error { return x.createUser(ch, s) }
	case *syntax.CreateRole:
		return func(x *Session, ch *catalog.Change) error { return x.createRole(ch, s) }
	case *syntax.AlterRole:
		return func(x *Session, ch *catalog.Change) error { return x.alterRole(ch, s) }
	case *syntax.Grant:
		return func(x *Session, ch *catalog.Change) error { return x.grant(ch, s) }
	}
	return nil
}

// executeAs runs the statement EXECUTE AS, error 15406 and 15517.
func (x *Session) executeAs(f *frame, c *syntax.ExecuteContext, name *lazyExpr, cookie int) error {
	if c.Kind == "CALLER" {
		return nil
	}
	text, err := x.textOf(f, name, 128)
	if err != nil {
		return err
	}
	next := identity{impersonating: true, noRevert: c.NoRevert, frame: x.scopeFrame()}
	switch c.Kind {
	case "LOGIN":
		l, ok := x.srv.cat.Login(text)
		if !ok || !x.ident.login.Sysadmin() && catalog.Fold(l.Name) != catalog.Fold(x.ident.login.Name) {
			return sqlerr.New(15406, text)
		}
		user, ok := x.db.UserOf(l)
		if !ok {
			return sqlerr.New(916, l.Name, x.db.Name)
		}
		next.login, next.user = l, user
	case "USER":
		p, ok := x.db.Principal(text)
		if !ok || p.Kind != catalog.SQLUser || !x.mayImpersonate(p) {
			return sqlerr.New(15517, text)
		}
		next.login, next.user, next.database = x.userLogin(p), p, x.db
	default:
		return sqlerr.Unsupported("EXECUTE AS " + c.Kind + " as a statement")
	}
	if cookie >= 0 {
		next.cookie = make([]byte, 100)
		_, _ = rand.Read(next.cookie) // never fails, see crypto/rand
		if f.vars[cookie], err = types.Assign(types.NewVarBinary(next.cookie), f.prog.vars[cookie].typ); err != nil {
			return err
		}
	}
	x.impersonate(next)
	return nil
}

func (x *Session) impersonate(next identity) {
	x.impersonated = append(x.impersonated, x.ident)
	x.ident = next
}

// userLogin is the login behind a database user. A user without a login gets a
// login of its own that no linked server maps.
func (x *Session) userLogin(p *catalog.Principal) *catalog.Login {
	if l, ok := x.srv.cat.Login(p.Login); ok && p.Login != "" {
		return l
	}
	if p.ID == catalog.DBOID {
		if l, ok := x.srv.cat.Login(x.db.Owner); ok {
			return &catalog.Login{ID: l.ID, Name: l.Name, Database: x.db.Name}
		}
	}
	return &catalog.Login{Name: p.Name, Database: x.db.Name}
}

// mayImpersonate reports whether the session may run as a user.
func (x *Session) mayImpersonate(p *catalog.Principal) bool {
	return x.owns(x.db) || p.ID == x.ident.user.ID
}

// owns reports whether the session has all rights in a database.
func (x *Session) owns(db *catalog.Database) bool {
	if x.ident.database == nil && x.ident.login.Sysadmin() {
		return true
	}
	user := x.userIn(db)
	return user != nil && (user.ID == catalog.DBOID || db.IsMember(user.ID, "db_owner"))
}

// userIn is who the session is in a database; nil when it may not enter.
func (x *Session) userIn(db *catalog.Database) *catalog.Principal {
	if db == x.db {
		return x.ident.user
	}
	if x.ident.database != nil && x.ident.database != db {
		return nil
	}
	user, _ := db.UserOf(x.ident.login)
	return user
}

// revert runs REVERT, error 15357 and 15590. An impersonation that was set in a
// module ends with the module, so REVERT inside one reaches no further.
func (x *Session) revert(f *frame, cookie *lazyExpr) error {
	n := len(x.impersonated)
	if n == 0 || x.ident.frame != x.scopeFrame() {
		return nil
	}
	if x.ident.noRevert {
		return sqlerr.New(15196)
	}
	if x.ident.cookie != nil {
		if cookie == nil {
			return sqlerr.New(15590)
		}
		v, err := cookie.eval(x, f)
		if err != nil {
			return err
		}
		if !bytes.Equal([]byte(v.Raw()), x.ident.cookie) {
			return sqlerr.New(15590)
		}
	}
	if x.ident.database != nil && x.ident.database != x.db {
		return sqlerr.New(15357, x.ident.database.Name)
	}
	x.ident = x.impersonated[n-1]
	x.impersonated = x.impersonated[:n-1]
	return nil
}

// endImpersonation ends what a frame has impersonated.
func (x *Session) endImpersonation(f *frame) {
	for len(x.impersonated) > 0 && x.ident.frame == f && f.caller != nil {
		n := len(x.impersonated) - 1
		x.ident = x.impersonated[n]
		x.impersonated = x.impersonated[:n]
	}
}

// impersonateFor applies the EXECUTE AS clause of a module.
func (x *Session) impersonateFor(m *catalog.Module, f *frame) error {
	if m.ExecuteAs == "" || m.ExecuteAs == "CALLER" {
		return nil
	}
	name := "dbo" // OWNER and SELF: modules belong to the owner of the schema
	if user, ok := strings.CutPrefix(m.ExecuteAs, "USER:"); ok {
		name = user
	}
	p, ok := x.db.Principal(name)
	if !ok {
		return sqlerr.New(15517, name)
	}
	x.impersonate(identity{login: x.userLogin(p), user: p, database: x.db, impersonating: true, frame: f})
	return nil
}

func (x *Session) createLogin(ch *catalog.Change, s *syntax.CreateLogin) error {
	own := catalog.Fold(s.Name.Name) == catalog.Fold(x.ident.login.Name)
	if !x.ident.login.Sysadmin() && !(s.Alter && own && s.Password != nil) {
		return sqlerr.New(15247)
	}
	if s.FromWindows {
		return sqlerr.Unsupported("CREATE LOGIN … FROM WINDOWS")
	}
	old, exists := x.srv.cat.Login(s.Name.Name)
	switch {
	case exists && !s.Alter:
		return sqlerr.New(15025, s.Name.Name)
	case !exists && s.Alter:
		return sqlerr.New(15151, "alter", "login", s.Name.Name)
	}
	l := &catalog.Login{Name: s.Name.Name, Database: "master"}
	if exists {
		c := *old
		l = &c
	}
	if s.Password != nil {
		l.SetPassword(*s.Password)
	}
	l.Disabled = (l.Disabled || s.Disable) && !s.Enable
	for _, o := range s.Options {
		switch o.Name {
		case "DEFAULT_DATABASE":
			db, err := x.srv.cat.MustDatabase(strings.Trim(o.Value, "[]"))
			if err != nil {
				return err
			}
			l.Database = db.Name
		case "CHECK_POLICY", "CHECK_EXPIRATION", "DEFAULT_LANGUAGE", "OLD_PASSWORD":
			// There is no password policy of an operating system to apply.
		default:
			return sqlerr.Unsupported("login option " + o.Name)
		}
	}
	return ch.PutLogin(l)
}

func (x *Session) createUser(ch *catalog.Change, s *syntax.CreateUser) error {
	if !x.owns(x.db) && !x.db.IsMember(x.ident.user.ID, "db_accessadmin") {
		return sqlerr.New(15247)
	}
	old, exists := x.db.Principal(s.Name.Name)
	switch {
	case exists && !s.Alter:
		return sqlerr.New(15023, s.Name.Name)
	case !exists && s.Alter:
		return sqlerr.New(15151, "alter", "user", s.Name.Name)
	}
	p := &catalog.Principal{Name: s.Name.Name, Kind: catalog.SQLUser, DefaultSchema: "dbo"}
	if exists {
		c := *old
		p = &c
	}
	if !s.WithoutLogin && !s.Alter {
		p.Login = s.Name.Name
	}
	if s.Login.Name != "" {
		p.Login = s.Login.Name
	}
	if p.Login != "" {
		l, ok := x.srv.cat.Login(p.Login)
		if !ok {
			return sqlerr.New(15007, p.Login)
		}
		p.Login = l.Name
		for _, other := range x.db.Principals() {
			if other.ID != p.ID && other.Login != "" && catalog.Fold(other.Login) == catalog.Fold(p.Login) {
				return sqlerr.New(15063)
			}
		}
	}
	if s.DefaultSchema.Name != "" {
		p.DefaultSchema = s.DefaultSchema.Name
	}
	if s.NewName.Name != "" {
		p.Name = s.NewName.Name
	}
	return ch.PutPrincipal(x.db, p)
}

func (x *Session) createRole(ch *catalog.Change, s *syntax.CreateRole) error {
	if !x.owns(x.db) && !x.db.IsMember(x.ident.user.ID, "db_securityadmin") {
		return sqlerr.New(15247)
	}
	if _, exists := x.db.Principal(s.Name.Name); exists {
		return sqlerr.New(15023, s.Name.Name)
	}
	return ch.PutPrincipal(x.db, &catalog.Principal{Name: s.Name.Name, Kind: catalog.DatabaseRole, Owner: catalog.DBOID})
}

func (x *Session) alterRole(ch *catalog.Change, s *syntax.AlterRole) error {
	if s.Server {
		return x.alterServerRole(ch, s)
	}
	role, ok := x.db.Principal(s.Name.Name)
	if !ok || role.Kind != catalog.DatabaseRole || role.ID == catalog.PublicID {
		return sqlerr.New(15151, "find", "role", s.Name.Name)
	}
	if !x.owns(x.db) && (role.Fixed || !x.db.IsMember(x.ident.user.ID, "db_securityadmin")) {
		return sqlerr.New(15151, "find", "role", s.Name.Name)
	}
	name := s.Add.Name + s.Drop.Name
	member, ok := x.db.Principal(name)
	if !ok {
		return sqlerr.New(15151, "find", "principal", name)
	}
	c := *member
	c.MemberOf = slices.DeleteFunc(slices.Clone(member.MemberOf), func(id int32) bool { return id == role.ID })
	if s.Add.Name != "" {
		if slices.Contains(x.db.RolesOf(role.ID), member.ID) && member.ID != catalog.PublicID {
			return sqlerr.New(15413)
		}
		c.MemberOf = append(c.MemberOf, role.ID)
	}
	return ch.PutPrincipal(x.db, &c)
}

// serverRoles are the fixed server roles.
var serverRoles = []string{
	"sysadmin", "securityadmin", "serveradmin", "setupadmin", "processadmin", "diskadmin", "dbcreator", "bulkadmin",
}

func (x *Session) alterServerRole(ch *catalog.Change, s *syntax.AlterRole) error {
	role := catalog.Fold(s.Name.Name)
	if !slices.Contains(serverRoles, role) || !x.ident.login.Sysadmin() {
		return sqlerr.New(15151, "find", "server role", s.Name.Name)
	}
	if role != "sysadmin" {
		return sqlerr.Unsupported("server role " + role)
	}
	l, ok := x.srv.cat.Login(s.Add.Name + s.Drop.Name)
	if !ok {
		return sqlerr.New(15151, "find", "login", s.Add.Name+s.Drop.Name)
	}
	c := *l
	c.Roles = slices.DeleteFunc(slices.Clone(l.Roles), func(r string) bool { return r == role })
	if s.Add.Name != "" {
		c.Roles = append(c.Roles, role)
	}
	return ch.PutLogin(&c)
}

// dropPrincipal runs DROP USER, DROP ROLE and DROP LOGIN.
func (x *Session) dropPrincipal(ch *catalog.Change, s *syntax.Drop, n syntax.Name) error {
	name, kind := n.Object.Name, strings.ToLower(s.Kind)
	missing := func() error {
		if s.IfExists {
			return nil
		}
		return sqlerr.New(15151, "drop", kind, name)
	}
	if s.Kind == "LOGIN" {
		l, ok := x.srv.cat.Login(name)
		if !ok || !x.ident.login.Sysadmin() {
			return missing()
		}
		if catalog.Fold(l.Name) == "sa" {
			return sqlerr.New(15405, l.Name)
		}
		if x.srv.loggedIn(l) {
			return sqlerr.New(15434, l.Name)
		}
		return ch.DropLogin(l)
	}
	p, ok := x.db.Principal(name)
	if !ok || (p.Kind == catalog.DatabaseRole) != (s.Kind == "ROLE") || !x.owns(x.db) {
		return missing()
	}
	if p.Fixed || p.ID <= catalog.SysID {
		return sqlerr.New(15150, kind, name)
	}
	for _, sc := range x.db.Schemas() {
		if sc.Owner == p.ID {
			return sqlerr.New(15138)
		}
	}
	for _, other := range x.db.Principals() {
		if s.Kind == "ROLE" && slices.Contains(other.MemberOf, p.ID) {
			return sqlerr.New(15144)
		}
	}
	return ch.DropPrincipal(x.db, p)
}

// grant runs GRANT, DENY and REVOKE.
func (x *Session) grant(ch *catalog.Change, s *syntax.Grant) error {
	if len(s.Columns) > 0 {
		return sqlerr.Unsupported("permission on columns")
	}
	if s.Class == "SERVER" || s.Class == "LOGIN" || s.Class == "ENDPOINT" || s.On == nil && serverPermission(s.Permissions) {
		return sqlerr.Unsupported("server permission")
	}
	class, target, err := x.securable(s)
	if err != nil {
		return err
	}
	if !x.owns(x.db) && !x.db.IsMember(x.ident.user.ID, "db_securityadmin") {
		return sqlerr.New(15151, "find", strings.ToLower(class), grantTarget(s))
	}
	all := x.db.Permissions()
	for _, to := range s.To {
		p, ok := x.db.Principal(to.Name)
		if !ok {
			return sqlerr.New(15151, "find", "user", to.Name)
		}
		for _, perm := range expandPermissions(s.Permissions, class) {
			all = slices.DeleteFunc(all, func(g catalog.Permission) bool {
				return g.Class == class && g.Target == target && g.Name == perm && g.Grantee == p.ID
			})
			if s.Verb != "REVOKE" {
				all = append(all, catalog.Permission{Class: class, Target: target, Name: perm, State: catalog.PermissionState(s.Verb), Grantee: p.ID})
			}
		}
	}
	return ch.SetPermissions(x.db, all)
}

func serverPermission(list []string) bool {
	for _, p := range list {
		if strings.Contains(p, "SERVER") || strings.Contains(p, "ANY LOGIN") || strings.Contains(p, "ANY DATABASE") {
			return true
		}
	}
	return false
}

func grantTarget(s *syntax.Grant) string {
	if s.On == nil {
		return ""
	}
	return displayName(*s.On)
}

func expandPermissions(list []string, class string) []string {
	var out []string
	for _, p := range list {
		switch {
		case p == "EXEC":
			p = "EXECUTE"
		case (p == "ALL" || p == "ALL PRIVILEGES") && class == "OBJECT":
			out = append(out, "SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES", "EXECUTE")
			continue
		}
		out = append(out, p)
	}
	return out
}

// securable resolves what a permission is about.
func (x *Session) securable(s *syntax.Grant) (class string, target int32, err error) {
	if s.On == nil || s.Class == "DATABASE" {
		return "DATABASE", 0, nil
	}
	switch s.Class {
	case "SCHEMA":
		sc, ok := x.db.Schema(s.On.Object.Name)
		if !ok {
			return "", 0, sqlerr.New(15151, "find", "schema", s.On.Object.Name)
		}
		return "SCHEMA", sc.ID, nil
	case "", "OBJECT":
		o, _, err := x.objectAt(*s.On)
		if err != nil {
			return "", 0, err
		}
		if o == nil {
			return "", 0, sqlerr.New(15151, "find", "object", s.On.Object.Name)
		}
		return "OBJECT", o.Head().ID, nil
	case "TYPE":
		u, ok := x.userType(*s.On)
		if !ok {
			return "", 0, sqlerr.New(15151, "find", "type", s.On.Object.Name)
		}
		return "TYPE", u.ID, nil
	case "USER", "ROLE":
		p, ok := x.db.Principal(s.On.Object.Name)
		if !ok {
			return "", 0, sqlerr.New(15151, "find", strings.ToLower(s.Class), s.On.Object.Name)
		}
		return "PRINCIPAL", p.ID, nil
	}
	return "", 0, sqlerr.Unsupported("permission on " + s.Class)
}

// Permission checks. A statement of a module needs none on objects of the same
// owner (ownership chaining): all schemas that are not given to another user
// belong to dbo. Dynamic SQL begins a chain of its own.

// chained reports whether the running code's owner also owns the object.
func (x *Session) chained(f *frame, o catalog.Object) bool {
	if f == nil || f.module == nil || f.module.DatabaseID != o.Head().DatabaseID {
		return false
	}
	return x.ownerOf(f.module) == x.ownerOf(o)
}

// ownerOf is the principal that owns an object: the owner of its schema.
func (x *Session) ownerOf(o catalog.Object) int32 {
	h := o.Head()
	if h.Owner != 0 {
		return h.Owner
	}
	if db, ok := x.srv.cat.DatabaseByID(h.DatabaseID); ok {
		if sc, ok := db.SchemaByID(h.SchemaID); ok {
			return sc.Owner
		}
	}
	return catalog.DBOID
}

// permitted checks the permissions of a query or data modification, error 229.
func (x *Session) permitted(f *frame, stmt *exec.Statement) error {
	return x.permittedUses(f, stmt.Uses())
}

// permittedUses checks the permissions of an expression or statement, error 229.
func (x *Session) permittedUses(f *frame, uses []exec.Use) error {
	if x.ident.user.ID == catalog.DBOID {
		return nil
	}
	for _, p := range uses {
		if err := x.allowed(f, p.Permission, p.Object); err != nil {
			return err
		}
	}
	return nil
}

// allowed checks one permission on one object.
func (x *Session) allowed(f *frame, permission string, o catalog.Object) error {
	if t, ok := o.(*catalog.Table); ok && (t.Temporary || t.TypeOnly) {
		return nil
	}
	if o.Kind() == catalog.KindSystemView || x.chained(f, o) {
		return nil
	}
	h := o.Head()
	db, ok := x.srv.cat.DatabaseByID(h.DatabaseID)
	if !ok {
		return nil
	}
	user := x.userIn(db)
	if user == nil {
		return sqlerr.New(916, x.ident.login.Name, db.Name)
	}
	if !db.Allowed(user.ID, permission, o) {
		return sqlerr.New(229, permission, h.Name, db.Name, h.Schema)
	}
	return nil
}

// mayExecute checks the right to run a procedure.
func (x *Session) mayExecute(m *catalog.Module) error {
	if x.ident.user.ID == catalog.DBOID && m.DatabaseID == x.db.ID {
		return nil
	}
	return x.allowed(x.frame, "EXECUTE", m)
}

// mayCreate checks the right to create objects, error 262.
func (x *Session) mayCreate(db *catalog.Database, permission string) error {
	user := x.userIn(db)
	if user == nil {
		return sqlerr.New(916, x.ident.login.Name, db.Name)
	}
	if x.owns(db) || db.AllowedInDatabase(user.ID, permission) {
		return nil
	}
	return sqlerr.New(262, permission, db.Name)
}

// mayAlter checks the right to change or drop an object.
func (x *Session) mayAlter(db *catalog.Database, o catalog.Object) error {
	user := x.userIn(db)
	if user != nil && (x.owns(db) || db.Allowed(user.ID, "ALTER", o) || db.IsMember(user.ID, "db_ddladmin")) {
		return nil
	}
	return sqlerr.New(1088, o.Head().Name)
}

// mayDrop is mayAlter with the error of DROP.
func (x *Session) mayDrop(db *catalog.Database, o catalog.Object, word, name string) error {
	if x.mayAlter(db, o) != nil {
		return sqlerr.New(3701, "drop", word, name)
	}
	return nil
}

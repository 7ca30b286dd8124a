package session

import (
	"errors"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// displayName is an object name as errors show it: the parts that were written.
func displayName(n syntax.Name) string {
	var parts []string
	for _, p := range []syntax.Ident{n.Server, n.Database, n.Schema, n.Object} {
		if p.Name != "" || len(parts) > 0 {
			parts = append(parts, p.Name)
		}
	}
	return strings.Join(parts, ".")
}

// defaultSchema is the schema in which names without one are looked up first.
func (x *Session) defaultSchema() string {
	if s := x.ident.user.DefaultSchema; s != "" {
		return s
	}
	return "dbo"
}

// maxSynonyms bounds a chain of synonyms.
const maxSynonyms = 8

// lookup finds an object by name. Without a schema it looks in the schema of
// the module that names it, or in the user's default schema, then in dbo; the
// sys schema is found in every database. A nil object means that there is none.
func (x *Session) lookup(n syntax.Name, moduleSchema string) (catalog.Object, *catalog.Database, error) {
	db := x.db
	if n.Database.Name != "" {
		var err error
		if db, err = x.otherDatabase(n.Database.Name); err != nil {
			return nil, nil, err
		}
	}
	schemas := []string{n.Schema.Name}
	if n.Schema.Name == "" {
		schemas = []string{x.defaultSchema(), "dbo"}
		if moduleSchema != "" {
			schemas = []string{moduleSchema, "dbo"}
		}
	}
	for _, s := range schemas {
		if f := catalog.Fold(s); f == "sys" || f == "information_schema" {
			if v, ok := x.systemView(f, n.Object.Name); ok {
				return x.viewOf(v, db), db, nil
			}
			if m, ok := systemFunctions[catalog.Fold(n.Object.Name)]; ok && f == "sys" {
				return m, db, nil
			}
			continue
		}
		o, ok := db.Object(s, n.Object.Name)
		if !ok {
			continue
		}
		if syn, ok := o.(*catalog.Synonym); ok {
			return x.followSynonym(syn, 0)
		}
		return o, db, nil
	}
	if s := catalog.Fold(n.Schema.Name); (s == "" || s == "dbo") && catalog.Fold(db.Name) == "master" {
		// The processes are a table of master's as well.
		if v, ok := dynamicViews[catalog.Fold(n.Object.Name)]; ok && v.Name == "sysprocesses" {
			return v, db, nil
		}
	}
	return nil, db, nil
}

// followSynonym finds what a synonym stands for.
func (x *Session) followSynonym(s *catalog.Synonym, depth int) (catalog.Object, *catalog.Database, error) {
	if s.Target[0] != "" {
		return nil, nil, sqlerr.Unsupported("synonym for an object of a linked server")
	}
	db := x.db
	if s.Target[1] != "" {
		var err error
		if db, err = x.otherDatabase(s.Target[1]); err != nil {
			return nil, nil, err
		}
	}
	schema := s.Target[2]
	if schema == "" {
		schema = "dbo"
	}
	o, ok := db.Object(schema, s.Target[3])
	if !ok {
		return nil, db, nil
	}
	if next, ok := o.(*catalog.Synonym); ok {
		if depth >= maxSynonyms {
			return nil, db, nil
		}
		return x.followSynonym(next, depth+1)
	}
	return o, db, nil
}

// otherDatabase is a database named in an object name, error 911 and 916.
func (x *Session) otherDatabase(name string) (*catalog.Database, error) {
	db, err := x.srv.cat.MustDatabase(name)
	if err != nil || db == x.db {
		return db, err
	}
	if x.ident.database != nil && x.ident.database != db {
		return nil, sqlerr.New(916, x.ident.login.Name, name)
	}
	if _, ok := db.UserOf(x.ident.login); !ok {
		return nil, sqlerr.New(916, x.ident.login.Name, name)
	}
	return db, nil
}

// dataType resolves a type as written: a system type or an alias type.
func (x *Session) dataType(dt syntax.DataType) (types.Type, error) {
	if dt.Cursor {
		return types.Type{Kind: types.KindCursor}, nil
	}
	if dt.Name.Schema.Name == "" || catalog.Fold(dt.Name.Schema.Name) == "sys" {
		t, err := types.TypeFromName(dt.Name.Object.Name, dt.Args, dt.Max, 1)
		if e := (*sqlerr.Error)(nil); errors.As(err, &e) && e.Number != 2715 {
			return t, e.At(dt.Line)
		}
		if err == nil {
			if t.Collation != nil {
				t.Collation = x.db.Collation
			}
			return t, nil
		}
	}
	if u, ok := x.userType(dt.Name); ok && u.Table == nil {
		return u.Base, nil
	}
	return types.Type{}, sqlerr.New(2715, 1, displayName(dt.Name)).At(dt.Line)
}

// userType finds a user-defined type.
func (x *Session) userType(n syntax.Name) (*catalog.UserType, bool) {
	if n.Schema.Name != "" {
		return x.db.Type(n.Schema.Name, n.Object.Name)
	}
	if u, ok := x.db.Type(x.defaultSchema(), n.Object.Name); ok {
		return u, true
	}
	return x.db.Type("dbo", n.Object.Name)
}

// tableType returns the shape of a table type, nil when the type is not one.
func (x *Session) tableType(dt syntax.DataType) (*catalog.Table, error) {
	if dt.Cursor {
		return nil, nil
	}
	if u, ok := x.userType(dt.Name); ok && u.Table != nil {
		return u.Table, nil
	}
	return nil, nil
}

// parseName reads an object name of up to four parts from a string, as
// OBJECT_ID and EXEC @name take it. A part may be quoted by brackets or double
// quotes.
func parseName(text string) (n syntax.Name, ok bool) {
	parts := make([]syntax.Ident, 0, 4)
	rest := strings.TrimSpace(text)
	for {
		part, tail, ok := namePart(rest)
		if !ok {
			return n, false
		}
		parts = append(parts, part)
		if tail == "" {
			break
		}
		if tail[0] != '.' {
			return n, false
		}
		rest = tail[1:]
	}
	if len(parts) > 4 || parts[len(parts)-1].Name == "" {
		return n, false
	}
	for i, p := range []*syntax.Ident{&n.Object, &n.Schema, &n.Database, &n.Server} {
		if at := len(parts) - 1 - i; at >= 0 {
			*p = parts[at]
		}
	}
	return n, true
}

// namePart reads one part of a name, which may be empty.
func namePart(s string) (part syntax.Ident, rest string, ok bool) {
	if s == "" || s[0] == '.' {
		return part, s, true
	}
	closing := map[byte]byte{'[': ']', '"': '"'}[s[0]]
	if closing == 0 {
		end := strings.IndexByte(s, '.')
		if end < 0 {
			end = len(s)
		}
		return syntax.Ident{Name: strings.TrimSpace(s[:end])}, s[end:], true
	}
	if end := strings.IndexByte(s[1:], closing) + 1; end > 0 && (end+1 == len(s) || s[end+1] != closing) {
		return syntax.Ident{Name: s[1:end], Quoted: true}, strings.TrimLeft(s[end+1:], " "), true
	}
	var sb strings.Builder // a doubled closing character stands for itself
	for i := 1; i < len(s); i++ {
		if s[i] != closing {
			sb.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == closing {
			sb.WriteByte(closing)
			i++
			continue
		}
		return syntax.Ident{Name: sb.String(), Quoted: true}, strings.TrimLeft(s[i+1:], " "), true
	}
	return part, s, false
}
